// SPDX-License-Identifier: MIT
//
// Sleds and gates, see sleds.c: what its files share.
//
// A function that is about to begin, or that has its result, has registers in use that no other
// function must keep. So the hooks are in assembly, sled_hooks.c is compiled without vector
// registers and calls nothing but ouro_native_sled_slowly, and that saves them all. Which ones are
// free is said in sleds_x86_64.S.

#ifndef OURO_NATIVE_SLEDS_H
#define OURO_NATIVE_SLEDS_H

#include "native.h"

typedef struct {
    uintptr_t function;
    uint64_t
        way; // its block << 32, which may be OURO_PHANTOM: not known yet, or a slice begins here
} sled_function;

static inline ouro_block sled_block(const sled_function *f) { return (ouro_block)(f->way >> 32); }

#define SLED_SHARED __attribute__((visibility("hidden")))

// The gates of a module. They stay when it is unloaded.
typedef struct {
    uintptr_t low, size;
    uintptr_t step; // from one gate to the next
} sled_gates;

enum { SLED_MODULES_MOST = 4096 };
extern sled_gates ouro_native_gates[SLED_MODULES_MOST] SLED_SHARED;
extern size_t ouro_native_gates_count SLED_SHARED;

static inline bool is_gate(uintptr_t at) {
    size_t n = __atomic_load_n(&ouro_native_gates_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < n; i++)
        if (at - ouro_native_gates[i].low < ouro_native_gates[i].size) return true;
    return false;
}

// sleds_x86_64.S: the template of the hooks, to be copied, and the places where the distance of
// ouro_native_self is to be added. Parts of it, in their order.
#define SLED_PART extern const unsigned char SLED_SHARED
SLED_PART ouro_native_sled_hooks[], ouro_native_sled_size[], ouro_native_sled_enter[],
    ouro_native_sled_leave_keeping[], ouro_native_sled_leave_keeping_pushed[],
    ouro_native_sled_leave_kept[], ouro_native_sled_leave_slowly[], ouro_native_sled_leave[],
    ouro_native_sled_leave_end[], ouro_native_sled_hooks_end[];
extern const uint32_t ouro_native_sled_places[] SLED_SHARED;
extern const uint32_t ouro_native_sled_places_end[] SLED_SHARED;

// sled_hooks.c: what these leave to others. `to` is where the return address is. An enter returns
// whether the function is to return to its gate.
SLED_SHARED bool ouro_native_sled_other(sled_function *f, uintptr_t *to);
SLED_SHARED bool ouro_native_sled_learn(sled_function *f, uintptr_t *to);
SLED_SHARED void ouro_native_sled_left(uintptr_t *to);

// What these do not do themselves. SLED_SEARCH and SLED_REPLACE complete what was begun.
enum { SLED_ENTER, SLED_LEAVE, SLED_SEARCH, SLED_REPLACE };

// sleds_x86_64.S: saves the vector registers, and calls the other (sleds.c).
SLED_SHARED bool ouro_native_sled_slowly(sled_function *f, uintptr_t *to, int what);
SLED_SHARED bool ouro_native_sled_event(sled_function *f, uintptr_t *to, int what);
extern bool ouro_native_sled_has_xsave SLED_SHARED;

#endif

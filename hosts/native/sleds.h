// SPDX-License-Identifier: MIT
//
// Sleds and gates, see sleds.c: what its files share.
//
// A function that is about to begin, or that has its result, has registers in use that no other
// function must keep. So the hooks are in assembly, sled_hooks.c is compiled without vector
// registers and calls nothing but ouro_native_sled_slowly, and that saves them all.

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

// Where the return address of a function goes that returns to its gate: to the mirror of its place.
static inline uintptr_t *mirror_of(uintptr_t sp) { return (uintptr_t *)(sp ^ NATIVE_MIRROR); }

// What a gate has pushed, and above it the return address. The hook clears `function` if the
// function is not to return to the gate.
typedef struct {
    sled_function *function;
    uintptr_t to;
} sled_call;

// The gates of a module. They stay when it is unloaded.
typedef struct {
    uintptr_t low, size;
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

// sleds_x86_64.S: called by gates.
SLED_SHARED void ouro_native_sled_enter(void);
SLED_SHARED void ouro_native_sled_leave(void);

// sled_hooks.c: called by those.
SLED_SHARED void ouro_native_sled_other(sled_call *call);
SLED_SHARED void ouro_native_sled_learn(sled_call *call);
SLED_SHARED void ouro_native_sled_left(uintptr_t *to);

// What these do not do themselves. SLED_SEARCH and SLED_REPLACE complete what was begun.
enum { SLED_ENTER, SLED_LEAVE, SLED_SEARCH, SLED_REPLACE };

// sleds_x86_64.S: saves the vector registers, and calls the other (sleds.c).
SLED_SHARED void ouro_native_sled_slowly(sled_call *call, int what);
SLED_SHARED void ouro_native_sled_event(sled_call *call, int what);
extern bool ouro_native_sled_has_xsave SLED_SHARED;

#endif

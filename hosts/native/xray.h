// SPDX-License-Identifier: MIT
//
// XRay, see xray.c: what its three files share.
//
// The hooks of xray_hooks.c run in the middle of a function, whose vector registers are not saved:
// that file is compiled without them, and may call nothing but itself and ouro_native_xray_slowly.

#ifndef OURO_NATIVE_XRAY_H
#define OURO_NATIVE_XRAY_H

#include "native.h"

typedef struct {
    uintptr_t function;
    ouro_block block; // OURO_PHANTOM: not known yet, or a slice begins with it
} xray_function;

#define XRAY_SHARED __attribute__((visibility("hidden")))

extern xray_function *ouro_native_xray_functions XRAY_SHARED; // by id

// Tail calls that were seen lately, by the address of the jump. An entry is the address << 1, and 1
// if the target is instrumented.
enum { XRAY_JUMPS = 1024 };
extern uintptr_t ouro_native_xray_jumps[XRAY_JUMPS] XRAY_SHARED;

static inline uintptr_t *xray_jump(uintptr_t at) {
    return &ouro_native_xray_jumps[(at ^ at >> 10) % XRAY_JUMPS];
}

// xray_x86_64.S: where the sleds lead to. They save what a function may use at that place and call
// the hooks below.
XRAY_SHARED void ouro_native_xray_at_entry(void);
XRAY_SHARED void ouro_native_xray_at_exit(void);
XRAY_SHARED void ouro_native_xray_at_tail(void);

// xray_hooks.c. `sp` is where the function's return address is.
XRAY_SHARED void ouro_native_xray_enter(uint32_t id, uintptr_t sp);
XRAY_SHARED void ouro_native_xray_leave(uint32_t id, uintptr_t sp);
XRAY_SHARED void ouro_native_xray_jump(uint32_t id, uintptr_t sp);

// What the hooks do not do themselves. XRAY_SEARCH and XRAY_REPLACE complete an enter that the hook
// has begun.
enum { XRAY_ENTER, XRAY_LEAVE, XRAY_JUMP, XRAY_SEARCH, XRAY_REPLACE };

// xray_x86_64.S: saves the vector registers, and calls the other (xray.c).
XRAY_SHARED void ouro_native_xray_slowly(uint32_t id, uintptr_t sp, int what);
XRAY_SHARED void ouro_native_xray_event(uint32_t id, uintptr_t sp, int what);
extern bool ouro_native_xray_has_xsave XRAY_SHARED;

#endif

// SPDX-License-Identifier: MIT
//
// What the hooks in sleds_x86_64.S leave to others: calls that neither of their places knows, and
// tail calls that lead to something else than the last time. No vector register may be used here,
// see sleds.h.

#include "sleds.h"
#include "top_frame.h"

#if defined(__x86_64__)

// A place for tail calls, which all have the same return address: the sled_function's own, since
// sled_functions are as large as places.
static inline ouro_place *place_of(const ouro_thread *thread, const sled_function *f) {
    return ouro_place_at(thread, (uintptr_t)f / sizeof *f * 2);
}

// The callee of a tail call takes the place of its caller's frame, and returns to its gate.
static HOOK_SECTION bool replace(const sled_function *f, native_frame *top) {
    native_self *self = &ouro_native_self;
    ouro_thread *thread = frame_thread(self);
    ouro_position from = ouro_thread_position(thread);
    ouro_place *place = place_of(thread, f);
    frame_begin(self, top);
    top[-1].key = (uint32_t)f->function;
    if (LIKELY(ouro_place_knows(place, from, sled_block(f)))) {
        ouro_place_follow(thread, place);
    } else if (UNLIKELY(!ouro_place_recall(thread, place, (uintptr_t)f, sled_block(f)) &&
                        !ouro_place_learn(thread, place, (uintptr_t)f, sled_block(f)))) {
        return false;
    }
    ouro_place_leave(thread, from);
    frame_end(self, top);
    return true;
}

HOOK_SECTION bool ouro_native_sled_other(sled_function *f, uintptr_t *to) {
    const native_self *self = &ouro_native_self;
    native_frame *top = self->top;
    bool tail = LIKELY(top < self->limit) && (uintptr_t)to - self->low == top[-1].height &&
                is_gate(*to) && sled_block(f) != OURO_PHANTOM;
    if (!tail) return ouro_native_sled_slowly(f, to, SLED_ENTER);
    return !replace(f, top) && ouro_native_sled_slowly(f, to, SLED_REPLACE);
}

// The enter has begun, and neither place knows where it leads to.
HOOK_SECTION bool ouro_native_sled_learn(sled_function *f, uintptr_t *to) {
    native_self *self = &ouro_native_self;
    native_frame *top = unmarked(self->top);
    ouro_thread *thread = frame_thread(self);
    ouro_block block = sled_block(f);
    if (UNLIKELY(block == OURO_PHANTOM)) {
        frame_end(self, top);
        return ouro_native_sled_slowly(f, to, SLED_ENTER);
    }
    if (UNLIKELY(!ouro_place_learn(thread, ouro_place_at(thread, *to), (uintptr_t)f, block)))
        return ouro_native_sled_slowly(f, to, SLED_SEARCH);
    frame_end(self, top + 1);
    return true;
}

HOOK_SECTION void ouro_native_sled_left(uintptr_t *to) {
    ouro_native_sled_slowly(NULL, to, SLED_LEAVE);
}

#endif

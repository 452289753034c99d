// SPDX-License-Identifier: MIT
//
// What the hooks in sleds_x86_64.S leave to others: places that lead to something else than the
// last time, and tail calls. No vector register may be used here, see sleds.h.

#include "sleds.h"
#include "top_frame.h"

#if defined(__x86_64__)

// The callee of a tail call takes the place of its caller's frame, and returns to its gate.
static HOOK_SECTION bool replace(const sled_call *call, native_frame *top) {
    native_self *self = &ouro_native_self;
    const sled_function *f = call->function;
    ouro_thread *thread = frame_thread(self);
    ouro_position from = ouro_thread_position(thread);
    ouro_place *place = ouro_place_at(thread, f->function);
    frame_begin(self, top);
    top[-1].key = (uint32_t)f->function;
    if (LIKELY(ouro_place_knows(place, from, sled_block(f)))) {
        ouro_place_follow(thread, place);
    } else if (UNLIKELY(!ouro_place_learn(thread, place, sled_block(f)))) {
        return false;
    }
    ouro_place_leave(thread, from);
    frame_end(self, top);
    return true;
}

HOOK_SECTION void ouro_native_sled_other(sled_call *call) {
    const native_self *self = &ouro_native_self;
    native_frame *top = self->top;
    bool tail = LIKELY(top < self->limit) && (uintptr_t)&call->to - self->low == top[-1].height &&
                is_gate(call->to) && sled_block(call->function) != OURO_PHANTOM;
    if (!tail) {
        ouro_native_sled_slowly(call, SLED_ENTER);
    } else if (replace(call, top)) {
        call->function = NULL;
    } else {
        ouro_native_sled_slowly(call, SLED_REPLACE);
    }
}

// The enter has begun.
HOOK_SECTION void ouro_native_sled_learn(sled_call *call) {
    native_self *self = &ouro_native_self;
    native_frame *top = (native_frame *)~(uintptr_t)self->top;
    ouro_thread *thread = frame_thread(self);
    ouro_block block = sled_block(call->function);
    if (UNLIKELY(block == OURO_PHANTOM)) {
        frame_end(self, top);
        ouro_native_sled_slowly(call, SLED_ENTER);
    } else if (UNLIKELY(!ouro_place_learn(thread, ouro_place_at(thread, call->to), block))) {
        ouro_native_sled_slowly(call, SLED_SEARCH);
    } else {
        frame_end(self, top + 1);
    }
}

HOOK_SECTION void ouro_native_sled_left(uintptr_t *to) {
    ouro_native_sled_slowly((sled_call *)(to - 1), SLED_LEAVE);
}

#endif

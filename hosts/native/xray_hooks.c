// SPDX-License-Identifier: MIT
//
// The hooks of XRay: the hot path, as in hooks.c, but with the exact height of each function. No
// vector register may be used here, see xray.h.

#include "top_frame.h"
#include "xray.h"

#if defined(__x86_64__)

// The callee of a tail call takes the place of its caller's frame.
static APART void replace(uint32_t id, uintptr_t sp, native_frame *top) {
    native_self *self = &ouro_native_self;
    const xray_function *f = &ouro_native_xray_functions[id];
    frame_begin(self, top);
    top[-1].height = sp - self->low;
    top[-1].key = (uint32_t)f->function;
    if (UNLIKELY(!ouro_try_replace(frame_thread(self), f->block))) {
        ouro_native_xray_slowly(id, sp, XRAY_REPLACE);
        return;
    }
    frame_end(self, top);
}

static APART void enter_other(uint32_t id, uintptr_t sp, native_frame *top) {
    native_self *self = &ouro_native_self;
    if (UNLIKELY(!ouro_try_lately(self->thread, ouro_native_xray_functions[id].block))) {
        ouro_native_xray_slowly(id, sp, XRAY_SEARCH);
        return;
    }
    frame_end(self, top + 1);
}

HOOK_SECTION void ouro_native_xray_enter(uint32_t id, uintptr_t sp) {
    native_self *self = &ouro_native_self;
    const xray_function *f = &ouro_native_xray_functions[id];
    native_frame *top = self->top;
    if (UNLIKELY(top >= self->limit) || UNLIKELY(f->block == OURO_PHANTOM)) {
        ouro_native_xray_slowly(id, sp, XRAY_ENTER);
        return;
    }
    uint64_t height = sp - self->low;
    if (UNLIKELY(height + LEFT_BY_TAIL_CALL >= top[-1].height)) {
        if (top[-1].height == (height | LEFT_BY_TAIL_CALL)) {
            replace(id, sp, top);
        } else {
            ouro_native_xray_slowly(id, sp, XRAY_ENTER);
        }
        return;
    }
    ouro_thread *thread = frame_thread(self);
    frame_begin(self, top);
    frame_put(top, height, (uint32_t)f->function, ouro_thread_position(thread));
    if (!ouro_try_again(thread, f->block)) {
        enter_other(id, sp, top);
        return;
    }
    frame_end(self, top + 1);
}

HOOK_SECTION void ouro_native_xray_leave(uint32_t id, uintptr_t sp) {
    native_self *self = &ouro_native_self;
    native_frame *top = self->top;
    if (UNLIKELY(top >= self->limit) || UNLIKELY(top[-1].height != sp - self->low)) {
        ouro_native_xray_slowly(id, sp, XRAY_LEAVE);
        return;
    }
    frame_leave(self, top);
}

// The sled, from which we were called, returns to the jump.
HOOK_SECTION void ouro_native_xray_jump(uint32_t id, uintptr_t sp) {
    native_self *self = &ouro_native_self;
    native_frame *top = self->top;
    uintptr_t at = ((const uintptr_t *)sp)[-1];
    uintptr_t known = __atomic_load_n(xray_jump(at), __ATOMIC_RELAXED);
    if (UNLIKELY(known >> 1 != at)) {
        ouro_native_xray_slowly(id, sp, XRAY_JUMP);
    } else if (!(known & 1)) {
        ouro_native_xray_leave(id, sp);
    } else if (UNLIKELY(top >= self->limit) || UNLIKELY(top[-1].height != sp - self->low)) {
        ouro_native_xray_slowly(id, sp, XRAY_JUMP);
    } else {
        top[-1].height |= LEFT_BY_TAIL_CALL; // one store: a handler's frames come above
    }
}

#endif

// SPDX-License-Identifier: MIT
//
// The frame on top: what the hooks of -finstrument-functions and those of sleds do alike. `top` is
// the next free frame. All of it is inline, because a hook makes no call.

#ifndef OURO_NATIVE_TOP_FRAME_H
#define OURO_NATIVE_TOP_FRAME_H

#include "native.h"
#include "ouro_site.h"

// A compiler barrier: memory accesses do not move across it.
#define SIGNAL_FENCE __atomic_signal_fence(__ATOMIC_SEQ_CST)

// Not NULL on hot paths: `limit` is NULL then.
static inline ouro_thread *frame_thread(const native_self *self) {
    ouro_thread *thread = self->thread;
    if (!thread) __builtin_unreachable();
    return thread;
}

// An enter begins: until frame_end, events go to the queue.
static inline void frame_begin(native_self *self, native_frame *top) {
#if defined(__x86_64__)
    (void)top; // one instruction: the highest byte
    __atomic_store_n((unsigned char *)&self->top + 7, 255, __ATOMIC_RELAXED);
#else
    self->top = (native_frame *)((uintptr_t)top | (uintptr_t)NATIVE_ENTERING);
#endif
    SIGNAL_FENCE;
}

static inline void frame_end(native_self *self, native_frame *top) {
    SIGNAL_FENCE;
    self->top = top;
}

static inline void frame_put(native_frame *top, uint64_t height, uint32_t key,
                             ouro_position token) {
    top->height = height;
    top->key = key;
    // Atomic only so that the compiler does not combine key and token in a vector register.
    __atomic_store_n(&top->token, token, __ATOMIC_RELAXED);
}

static inline void frame_leave(native_self *self, native_frame *top) {
    ouro_exit(frame_thread(self), top[-1].token);
    frame_end(self, top - 1);
}

#endif

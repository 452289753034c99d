// SPDX-License-Identifier: MIT
//
// The entry points from outside: the functions of ouro-native.h, and the callback of the interposed
// malloc. The hooks themselves start everything.

#include "native.h"
#include "ouro-native.h"

// Called by memory.c, but not for allocations of the recorder itself.
OURO_API void ouro_native_allocated_(size_t bytes);

ouro_profile *ouro_native_profile(void) {
    ouro_native_thread_now();
    return ouro_native_session.off ? NULL : ouro_native_session.counted;
}

ouro_thread *ouro_native_thread(void) { return ouro_native_thread_now(); }

void ouro_native_stack(void *low, size_t size) { ouro_native_stack_add((uintptr_t)low, size); }

void ouro_native_allocated_(size_t bytes) {
    const native_self *self = &ouro_native_self;
    if (!self->started || self->busy || is_entering(self) || !ouro_native_session.memory) return;
    ouro_count(self->thread, METRIC_ALLOCATED, bytes);
    ouro_count(self->thread, METRIC_ALLOCATIONS, 1);
}

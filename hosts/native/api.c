// SPDX-License-Identifier: MIT
//
// The entry points from outside: the functions of ouro-native.h, the callback of the interposed
// malloc, and the start of XRay. The hooks themselves start everything else.

#include "native.h"
#include "ouro-native.h"

#include <dlfcn.h>
#include <stdlib.h>

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

// Weak, because a static program may not have it.
__attribute__((weak)) extern __typeof__(dlsym) dlsym;

// A program may have this code twice: linked, and preloaded by `ouro run`. Only the copy whose
// hooks are called records.
static bool is_the_one(void) {
    extern void __cyg_profile_func_enter(void *, void *);
    if (!dlsym) return true;
    void *bound = dlsym(RTLD_DEFAULT, "__cyg_profile_func_enter");
    return !bound || bound == (void *)__cyg_profile_func_enter;
}

__attribute__((constructor(101))) static void start(void) {
    const char *folder = secure_getenv("OURO_NATIVE");
    if (folder && *folder && is_the_one()) ouro_native_xray_start();
}

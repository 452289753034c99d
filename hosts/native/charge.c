// SPDX-License-Identifier: MIT
//
// Where a tick of the clock goes. The hooks take time that the program without them does not take.
// A tick that comes while a hook runs is charged to the metric `recording`, any other to `time`, at
// the position where the thread stands. So `time` has no part of the hooks, on neither side of a
// call, and nobody has to estimate what a hook costs: time is never negative, and both metrics add
// up to the processor time that was used. A tick in a function that is not counted goes to that
// function, see uncounted.c.
//
// A hook runs if the instruction that was interrupted is one of the hooks' own (they are in a
// section by themselves) or of a gate, if an enter has begun, or if the thread is on a slow path.

#include "sleds.h"

#include <ucontext.h>

// The bounds of HOOK_SECTION, by the linker.
extern const char __start_ouro_hooks[] __attribute__((weak, visibility("hidden")));
extern const char __stop_ouro_hooks[] __attribute__((weak, visibility("hidden")));

static uintptr_t interrupted(const void *context) {
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

static bool is_between(uintptr_t at, const char *from, const char *to) {
    return at - (uintptr_t)from < (uintptr_t)to - (uintptr_t)from;
}

static bool hits_hook(const void *context) {
    const native_self *self = &ouro_native_self;
    uintptr_t at = interrupted(context);
    return self->slow || is_entering(self) ||
           is_between(at, __start_ouro_hooks, __stop_ouro_hooks) || is_gate(at);
}

void ouro_native_count_tick(ouro_thread *thread, ouro_metric metric, uint64_t amount) {
    ouro_count(thread, metric, amount);
    ouro_count(thread, METRIC_SAMPLES, 1);
}

void ouro_native_charge(ouro_thread *thread, ouro_metric metric, uint64_t amount,
                        const void *context) {
    if (hits_hook(context)) {
        ouro_count(thread, METRIC_RECORDING, amount);
    } else if (!ouro_native_uncounted_tick(interrupted(context), thread, amount)) {
        ouro_native_count_tick(thread, metric, amount);
    }
}

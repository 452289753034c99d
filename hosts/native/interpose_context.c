// SPDX-License-Identifier: MIT
//
// Coroutines by ucontext. Before a switch it registers the bounds of the stack that is switched to.
// After the switch, when another context has switched back, this stack is current again though no
// function was entered.

#include "interpose.h"

#include <errno.h>
#include <ucontext.h>

PART(context)
DECLARE(swapcontext);
DECLARE(setcontext);
REAL_OF(swapcontext)
REAL_OF(setcontext)

// A context filled by getcontext has no stack, or stale bounds: the stack pointer must lie in them.
static void tell(const ucontext_t *to) {
#if defined(__x86_64__)
    uintptr_t low = (uintptr_t)to->uc_stack.ss_sp, size = to->uc_stack.ss_size;
    uintptr_t pointer = (uintptr_t)to->uc_mcontext.gregs[REG_RSP];
    if (low && size && size < UINTPTR_MAX - low && pointer - low <= size)
        ouro_native_stack_add(low, size);
#else
    (void)to;
#endif
}

int OURS(swapcontext)(ucontext_t *from, const ucontext_t *to) {
    if (ouro_native_self.started) tell(to);
    int result = real_swapcontext()(from, to);
    int error = errno;
    ouro_native_settle((uintptr_t)__builtin_frame_address(0));
    errno = error;
    return result;
}

int OURS(setcontext)(const ucontext_t *to) {
    if (ouro_native_self.started) tell(to);
    return real_setcontext()(to);
}

// SPDX-License-Identifier: MIT
//
// longjmp and its variants: the frames that are jumped over are left at once. Otherwise they would
// be left at the next enter above them, and a function that is entered at exactly their height
// would look inlined.

#include "interpose.h"

#include <setjmp.h>
#include <stdlib.h>

// The name of longjmp in fortified programs. No header declares it.
void __longjmp_chk(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn));

PART(longjmp)
DECLARE(longjmp);
DECLARE(_longjmp);
DECLARE(siglongjmp);
DECLARE(__longjmp_chk);
REAL_OF(longjmp)
REAL_OF(_longjmp)
REAL_OF(siglongjmp)
REAL_OF(__longjmp_chk)

#ifndef OURO_NATIVE_WRAP
// A constructor, because the first jump may be made by a signal handler.
__attribute__((constructor)) static void find(void) {
    real_longjmp();
    real__longjmp();
    real_siglongjmp();
    real___longjmp_chk();
}
#endif

// glibc on x86-64 mangles the stack pointer: word 6, rotated and xored with a secret word.
static void leave_frames(const struct __jmp_buf_tag *env) {
#if defined(__x86_64__) && defined(__GLIBC__)
    uintptr_t sp = (uintptr_t)env->__jmpbuf[6], secret;
    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    ouro_native_unwind((sp >> 17 | sp << 47) ^ secret);
#else
    (void)env;
#endif
}

void OURS(longjmp)(struct __jmp_buf_tag env[1], int value) {
    leave_frames(env);
    real_longjmp()(env, value);
    abort();
}

void OURS(_longjmp)(struct __jmp_buf_tag env[1], int value) {
    leave_frames(env);
    real__longjmp()(env, value);
    abort();
}

void OURS(siglongjmp)(sigjmp_buf env, int value) {
    leave_frames(env);
    real_siglongjmp()(env, value);
    abort();
}

void OURS(__longjmp_chk)(struct __jmp_buf_tag env[1], int value) {
    leave_frames(env);
    real___longjmp_chk()(env, value);
    abort();
}

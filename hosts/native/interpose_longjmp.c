// SPDX-License-Identifier: MIT
//
// longjmp and its kin: the frames that are jumped over are left at once. Without this they would be
// left when something is next entered above them; but what is entered at exactly their height would
// be taken for inlined.

#include "interpose.h"

#include <setjmp.h>
#include <stdlib.h>

// In fortified programs longjmp is this. No header declares it.
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
// Early: a signal handler may be the first to jump.
__attribute__((constructor)) static void find(void) {
    real_longjmp();
    real__longjmp();
    real_siglongjmp();
    real___longjmp_chk();
}
#endif

// glibc keeps the stack pointer mangled, x86-64: word 6, rotated and mixed with a secret word.
static void leave_frames(const struct __jmp_buf_tag *env) {
#if defined(__x86_64__) && defined(__GLIBC__)
    uintptr_t place = (uintptr_t)env->__jmpbuf[6], secret;
    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    ouro_native_unwind((place >> 17 | place << 47) ^ secret);
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

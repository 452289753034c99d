// SPDX-License-Identifier: MIT
//
// The hooks that gates call: the hot path. What hooks.c does in C is in assembly here, because it
// keeps all registers, and so has to use few. A compiler may know that a function leaves more of
// them alone than it must (gcc -fipa-ra), or have a convention of its own (preserve_most).
//
// What is less usual goes to sled_hooks.c, which uses no vector registers, and from there to
// sleds.c, before which these are saved. sled_layout.h has the offsets, and sleds.c checks them.

#include "sled_layout.h"

#if defined(__x86_64__)

// x87, SSE, AVX, AVX-512: all of what can hold an argument or a result. No processor needs more
// bytes for them.
#define STATE 0xe7
#define STATE_BYTES 2752
#define STATE_HEADER 512

    .macro keep register
    push \register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
    .endm

    .macro give register
    pop \register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
    .endm

    .macro begin name
    .globl \name
    .hidden \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    .endm

    .macro end name
    .cfi_endproc
    .size \name, . - \name
    .endm

    .macro load_self register
    mov ouro_native_self@gottpoff(%rip), \register
    .endm

    // An address becomes its mirror.
    .macro reflect register
    btc $MIRROR_BIT, \register
    xor $MIRROR_LOW, \register
    .endm

    // Calls a hook of sled_hooks.c with the address of the sled_call.
    .macro hook_in_c hook
    .irp register, %rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9, %r10, %r11
    keep \register
    .endr
    lea 80(%rsp), %rdi
    call \hook
    .irp register, %r11, %r10, %r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax
    give \register
    .endr
    ret
    .endm

    .section ouro_hooks, "ax", @progbits

// Above its return address: the sled_call.
    begin ouro_native_sled_enter
    keep %rax
    keep %rcx
    keep %rdx
    keep %rsi
    keep %r11
    load_self %r11
    mov %fs:SELF_TOP(%r11), %rax
    cmp %fs:SELF_LIMIT(%r11), %rax
    jae 1f
    lea 56(%rsp), %rcx // where the return address of the function is
    mov %rcx, %rdx
    sub %fs:SELF_LOW(%r11), %rdx // its height
    cmp -FRAME_BYTES + FRAME_HEIGHT(%rax), %rdx
    jae 1f
    mov 56(%rsp), %rsi
    reflect %rcx
    mov %rsi, (%rcx)
    not %rax
    mov %rax, %fs:SELF_TOP(%r11) // begins, see native.h
    not %rax
    mov %rdx, FRAME_HEIGHT(%rax)
    mov 48(%rsp), %rcx
    mov FUNCTION_ADDRESS(%rcx), %edx
    mov %edx, FRAME_KEY(%rax)
    mov FUNCTION_WAY(%rcx), %rcx
    mov %fs:SELF_THREAD(%r11), %rdx
    shl $3, %esi // ouro_place_at
    and $(OURO_PLACES - 1) * OURO_PLACE_BYTES, %esi
    add %fs:SELF_PLACES(%r11), %rsi
    mov OURO_THREAD_POSITION(%rdx), %r11d
    mov %r11d, FRAME_TOKEN(%rax)
    or %r11, %rcx // ouro_place_knows
    cmp %rcx, OURO_PLACE_WAY(%rsi)
    jne 2f
    mov OURO_PLACE_SLOT(%rsi), %rcx // ouro_place_follow
    mov OURO_THREAD_NODES(%rdx), %rsi
    incq (%rsi, %rcx, 8)
    and $-4, %ecx
    mov %ecx, OURO_THREAD_POSITION(%rdx)
    load_self %r11
    add $FRAME_BYTES, %rax
    mov %rax, %fs:SELF_TOP(%r11) // has ended
    .cfi_remember_state
    give %r11
    give %rsi
    give %rdx
    give %rcx
    give %rax
    ret
    .cfi_restore_state
1:  .cfi_remember_state
    give %r11
    give %rsi
    give %rdx
    give %rcx
    give %rax
    jmp ouro_native_sled_at_other
    .cfi_restore_state
2:  give %r11
    give %rsi
    give %rdx
    give %rcx
    give %rax
    jmp ouro_native_sled_at_learn
    end ouro_native_sled_enter

    begin ouro_native_sled_at_other
    hook_in_c ouro_native_sled_other
    end ouro_native_sled_at_other

    begin ouro_native_sled_at_learn
    hook_in_c ouro_native_sled_learn
    end ouro_native_sled_at_learn

// Above its return address: the place of the function's.
    begin ouro_native_sled_leave
    keep %rcx
    keep %rsi
    keep %rdi
    keep %r11
    lea 40(%rsp), %rcx
    mov %rcx, %rsi
    reflect %rsi
    mov (%rsi), %rsi
    mov %rsi, (%rcx)
    load_self %r11
    mov %fs:SELF_TOP(%r11), %rdi
    cmp %fs:SELF_LIMIT(%r11), %rdi
    jae 1f
    sub %fs:SELF_LOW(%r11), %rcx
    cmp %rcx, -FRAME_BYTES + FRAME_HEIGHT(%rdi)
    jne 1f
    mov %fs:SELF_THREAD(%r11), %rsi
    mov OURO_THREAD_NODES(%rsi), %rcx
    mov OURO_THREAD_POSITION(%rsi), %r11d // ouro_exit
    decq OURO_NODE_BALANCE(%rcx, %r11, 8)
    mov -FRAME_BYTES + FRAME_TOKEN(%rdi), %ecx
    mov %ecx, OURO_THREAD_POSITION(%rsi)
    load_self %r11
    sub $FRAME_BYTES, %rdi
    mov %rdi, %fs:SELF_TOP(%r11)
    .cfi_remember_state
    give %r11
    give %rdi
    give %rsi
    give %rcx
    ret
    .cfi_restore_state
1:  give %r11
    give %rdi
    give %rsi
    give %rcx
    hook_in_c ouro_native_sled_left
    end ouro_native_sled_leave

    begin ouro_native_sled_slowly
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $STATE_BYTES, %rsp
    and $-64, %rsp
    cmpb $0, ouro_native_sled_has_xsave(%rip)
    je 1f
    xor %eax, %eax
    .irp at, 0, 8, 16, 24, 32, 40, 48, 56
    mov %rax, STATE_HEADER + \at(%rsp)
    .endr
    xor %edx, %edx
    mov $STATE, %eax
    xsave64 (%rsp)
    call ouro_native_sled_event
    xor %edx, %edx
    mov $STATE, %eax
    xrstor64 (%rsp)
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_restore_state
1:  fxsave64 (%rsp)
    call ouro_native_sled_event
    fxrstor64 (%rsp)
    leave
    .cfi_def_cfa %rsp, 8
    ret
    end ouro_native_sled_slowly

#endif

    .section .note.GNU-stack, "", @progbits

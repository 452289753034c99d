// SPDX-License-Identifier: MIT
//
// Where XRay's sleds lead to. A sled puts the function's id into %r10, which is lost, and calls (at
// an entry or before a tail call) or jumps (at a return). All else that the function may use at
// that place is kept: at entries and tail calls the arguments, a variadic function's %al and the
// register that a tail call jumps through; at returns the results. Vector registers are saved only
// on slow paths: the hooks do not use them.

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

    .macro at_call name, hook
    begin \name
    keep %rax
    keep %rcx
    keep %rdx
    keep %rsi
    keep %rdi
    keep %r8
    keep %r9
    keep %r11
    mov %r10d, %edi
    lea 72(%rsp), %rsi
    call \hook
    give %r11
    give %r9
    give %r8
    give %rdi
    give %rsi
    give %rdx
    give %rcx
    give %rax
    ret
    end \name
    .endm

    .section ouro_hooks, "ax", @progbits

    at_call ouro_native_xray_at_entry, ouro_native_xray_enter
    at_call ouro_native_xray_at_tail, ouro_native_xray_jump

    begin ouro_native_xray_at_exit
    keep %rax
    keep %rdx
    keep %rcx
    mov %r10d, %edi
    lea 24(%rsp), %rsi
    call ouro_native_xray_leave
    give %rcx
    give %rdx
    give %rax
    ret
    end ouro_native_xray_at_exit

    begin ouro_native_xray_slowly
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $STATE_BYTES, %rsp
    and $-64, %rsp
    cmpb $0, ouro_native_xray_has_xsave(%rip)
    je 1f
    mov %edx, %r8d
    xor %eax, %eax
    .irp at, 0, 8, 16, 24, 32, 40, 48, 56
    mov %rax, STATE_HEADER + \at(%rsp)
    .endr
    xor %edx, %edx
    mov $STATE, %eax
    xsave64 (%rsp)
    mov %r8d, %edx
    call ouro_native_xray_event
    xor %edx, %edx
    mov $STATE, %eax
    xrstor64 (%rsp)
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_restore_state
1:  fxsave64 (%rsp)
    call ouro_native_xray_event
    fxrstor64 (%rsp)
    leave
    .cfi_def_cfa %rsp, 8
    ret
    end ouro_native_xray_slowly

#endif

    .section .note.GNU-stack, "", @progbits

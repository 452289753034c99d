// SPDX-License-Identifier: MIT
//
// The hooks of sleds: the hot path. What hooks.c does in C is in assembly here, because a function
// that begins has its arguments in registers, and one that ends its result. Free are:
//
//   %r11                    always: no convention of gcc or clang has anything in it
//   %rcx %rsi %rdi %r8-%r10 at the end of a function by gcc. One by clang may promise its callers
//                           more (preserve_most), and gcc did so without -fno-ipa-ra
//
// ouro_native_sled_hooks is a template: data. sleds.c copies it before the gates of each module, so
// that these reach it, and adds the place of ouro_native_self in a thread's memory to each
// instruction that has `of_self` before it. A hook so needs neither a register nor a load for it.
// It leaves the stack pointer alone and keeps registers below it, where signals leave 128 bytes.
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

    .macro hidden name
    .globl \name
    .hidden \name
\name:
    .endm

    // The return address of a function, from the mirror. It does not depend on what the thread has
    // for its stack, which may be another one after a signal.
    .macro push_return register
    lea -8(%rsp), \register
    btc $MIRROR_BIT, \register
    push MIRROR_SHIFT(\register)
    .endm

// ---------------------------------------------------------------- the template

    // An instruction that ends with an address in ouro_native_self, or with that and a byte.
    .macro of_self instruction:vararg
    \instruction
7:  .pushsection .rodata.ouro_sleds, "a", @progbits
    .long 7b - 4 - ouro_native_sled_hooks
    .popsection
    .endm

    .macro of_self_byte instruction:vararg
    \instruction
7:  .pushsection .rodata.ouro_sleds, "a", @progbits
    .long 7b - 5 - ouro_native_sled_hooks
    .popsection
    .endm

    .pushsection .rodata.ouro_sleds, "a", @progbits
    .p2align 2
    hidden ouro_native_sled_places
    .popsection

    .section .data.rel.ro.ouro_sleds, "aw", @progbits
    .p2align 7
    hidden ouro_native_sled_hooks
other:
    .quad ouro_native_sled_at_other
learn:
    .quad ouro_native_sled_at_learn
left:
    .quad ouro_native_sled_at_left
    hidden ouro_native_sled_size
    .quad 0 // of all gates of the module, with this

    // The place of a call that returns to the address in %rdx: ouro_place_at.
    .macro find_place
    shl $3, %edx
    and $(OURO_PLACES - 1) * OURO_PLACE_BYTES, %edx
    of_self add %fs:SELF_PLACES, %rdx
    .endm

    .macro give_back
    mov -24(%rsp), %rdx
    mov -16(%rsp), %rcx
    mov -8(%rsp), %rax
    .endm

// Called with a sled_function in %r11. Above the return address: that of the function. With the
// carry flag, the function is not to return to its gate.
    .p2align 6
    hidden ouro_native_sled_enter
    mov %rax, -8(%rsp)
    mov %rcx, -16(%rsp)
    mov %rdx, -24(%rsp)
    of_self mov %fs:SELF_TOP, %rax
    of_self cmp %fs:SELF_LIMIT, %rax
    jae 1f
    lea 8(%rsp), %rcx
    of_self sub %fs:SELF_LOW, %rcx // the height
    cmp %rcx, -FRAME_BYTES + FRAME_HEIGHT(%rax)
    jbe 3f
    mov 8(%rsp), %rdx
    of_self_byte movb $-1, %fs:SELF_TOP_MARK // begins, see native.h
    mov %rcx, FRAME_HEIGHT(%rax)
    of_self mov %fs:SELF_MIRROR, %rcx
    mov %rdx, 8(%rsp, %rcx)
    mov FUNCTION_ADDRESS(%r11), %ecx
    mov %ecx, FRAME_KEY(%rax)
    find_place
    of_self mov %fs:SELF_THREAD, %rcx
    mov OURO_THREAD_POSITION(%rcx), %ecx
    mov %ecx, FRAME_TOKEN(%rax)
    or FUNCTION_WAY(%r11), %rcx // ouro_place_knows
    cmp %rcx, OURO_PLACE_WAY(%rdx)
    jne 2f
5:  mov OURO_PLACE_SLOT(%rdx), %rcx // ouro_place_follow
    of_self mov %fs:SELF_THREAD, %r11
    mov OURO_THREAD_NODES(%r11), %rdx
    incq (%rdx, %rcx, 8)
    and $-4, %ecx
    mov %ecx, OURO_THREAD_POSITION(%r11)
    add $FRAME_BYTES, %rax // clears the carry flag
    of_self mov %rax, %fs:SELF_TOP // has ended
    give_back
    ret

1:  give_back
    jmp *other(%rip)

// The first place does not know it. If the second does, the first gets to know it.
2:  imul $OURO_PLACE_FACTOR, %ecx, %edx // ouro_place_from_
    shr $OURO_PLACE_SHIFT, %edx
    add %r11d, %edx
    and $(OURO_PLACES - 1) * OURO_PLACE_BYTES, %edx
    of_self add %fs:SELF_PLACES, %rdx
    cmp %rcx, OURO_SECOND_PLACES + OURO_PLACE_WAY(%rdx)
    jne 6f
    mov OURO_SECOND_PLACES + OURO_PLACE_SLOT(%rdx), %r11
    mov 8(%rsp), %edx
    find_place
    movq $OURO_NO_WAY, OURO_PLACE_WAY(%rdx) // a handler may interrupt it and never return
    mov %r11, OURO_PLACE_SLOT(%rdx)
    mov %rcx, OURO_PLACE_WAY(%rdx)
    jmp 5b
6:  give_back
    jmp *learn(%rip)

// A frame is at this height, or below it: a tail call, if the function returns to a gate, here one
// of the same module.
3:  jne 1b
    mov 8(%rsp), %rdx
    lea ouro_native_sled_hooks(%rip), %rcx
    sub %rcx, %rdx
    cmp ouro_native_sled_size(%rip), %rdx
    jae 1b
    mov %r11d, %edx // the place: see replace in sled_hooks.c
    and $(OURO_PLACES - 1) * OURO_PLACE_BYTES, %edx
    of_self add %fs:SELF_PLACES, %rdx
    of_self_byte movb $-1, %fs:SELF_TOP_MARK
    of_self mov %fs:SELF_THREAD, %rcx
    mov OURO_THREAD_POSITION(%rcx), %ecx
    or FUNCTION_WAY(%r11), %rcx
    cmp %rcx, OURO_PLACE_WAY(%rdx)
    jne 4f
    mov OURO_PLACE_SLOT(%rdx), %rdx
    mov FUNCTION_ADDRESS(%r11), %r11d
    mov %r11d, -FRAME_BYTES + FRAME_KEY(%rax)
    of_self mov %fs:SELF_THREAD, %r11
    mov OURO_THREAD_NODES(%r11), %r11
    incq (%r11, %rdx, 8)
    mov %ecx, %ecx // the position, without the block
    decq OURO_NODE_BALANCE(%r11, %rcx, 8) // ouro_place_leave
    and $-4, %edx
    of_self mov %fs:SELF_THREAD, %r11
    mov %edx, OURO_THREAD_POSITION(%r11)
    of_self mov %rax, %fs:SELF_TOP
    stc
    give_back
    ret
4:  of_self mov %rax, %fs:SELF_TOP
    jmp 1b

    // The frame on top, above %rsi, must be that of the function.
    .macro find_frame other
    of_self mov %fs:SELF_TOP, %rsi
    of_self cmp %fs:SELF_LIMIT, %rsi
    jae \other
    lea -8(%rsp), %rcx
    of_self sub %fs:SELF_LOW, %rcx
    cmp %rcx, -FRAME_BYTES + FRAME_HEIGHT(%rsi)
    jne \other
    .endm

// Jumped to when a function has returned to its gate. It ends by returning to where that was called
// from, so calls and returns are paired. Until the return address is back, it is as in a gate for
// unwinders, so that comes last.
    .p2align 6
    hidden ouro_native_sled_leave_keeping
    mov %rcx, -16(%rsp)
    mov %rsi, -24(%rsp)
    find_frame 1f
    of_self mov %fs:SELF_THREAD, %r11
    mov OURO_THREAD_POSITION(%r11), %ecx // ouro_exit
    shl $3, %rcx
    add OURO_THREAD_NODES(%r11), %rcx
    decq OURO_NODE_BALANCE(%rcx)
    mov -FRAME_BYTES + FRAME_TOKEN(%rsi), %ecx
    mov %ecx, OURO_THREAD_POSITION(%r11)
    sub $FRAME_BYTES, %rsi
    of_self mov %rsi, %fs:SELF_TOP
    mov -16(%rsp), %rcx
    mov -24(%rsp), %rsi
    push_return %r11
    hidden ouro_native_sled_leave_keeping_pushed
    ret
    hidden ouro_native_sled_leave_kept
1:  mov -16(%rsp), %rcx
    mov -24(%rsp), %rsi
    hidden ouro_native_sled_leave_slowly
    jmp *left(%rip)

// The same, where more registers are free. It is copied once more, to the end of each gate, because
// a jump more would cost as much as ten other instructions. Behind it is one to `slowly`.
    hidden ouro_native_sled_leave
    find_frame 1f
    of_self mov %fs:SELF_THREAD, %rdi
    mov OURO_THREAD_POSITION(%rdi), %ecx
    mov OURO_THREAD_NODES(%rdi), %r8
    decq OURO_NODE_BALANCE(%r8, %rcx, 8)
    mov -FRAME_BYTES + FRAME_TOKEN(%rsi), %ecx
    mov %ecx, OURO_THREAD_POSITION(%rdi)
    sub $FRAME_BYTES, %rsi
    of_self mov %rsi, %fs:SELF_TOP
    push_return %rcx
    ret
1:
    hidden ouro_native_sled_leave_end

    .p2align 7
    hidden ouro_native_sled_hooks_end

    .pushsection .rodata.ouro_sleds, "a", @progbits
    hidden ouro_native_sled_places_end
    .popsection

// ---------------------------------------------------------------- what hooks leave to C

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

    .section ouro_hooks, "ax", @progbits

    // Calls a function of sled_hooks.c with the sled_function, and where the return address is. It
    // returns whether the function returns to its gate.
    .macro enter_in_c function
    .cfi_def_cfa_offset 16
    .irp register, %rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9, %r10
    keep \register
    .endr
    mov %r11, %rdi
    lea 72(%rsp), %rsi
    call \function
    cmp $1, %al
    .irp register, %r10, %r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax
    give \register
    .endr
    ret
    .endm

    begin ouro_native_sled_at_other
    enter_in_c ouro_native_sled_other
    end ouro_native_sled_at_other

    begin ouro_native_sled_at_learn
    enter_in_c ouro_native_sled_learn
    end ouro_native_sled_at_learn

    begin ouro_native_sled_at_left
    .cfi_undefined %rip // for three instructions
    push_return %r11
    .cfi_offset %rip, -8
    .irp register, %rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9, %r10, %r11
    keep \register
    .endr
    lea 72(%rsp), %rdi
    call ouro_native_sled_left
    .irp register, %r11, %r10, %r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax
    give \register
    .endr
    ret
    end ouro_native_sled_at_left

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
    mov %edx, %ecx
    xor %edx, %edx
    mov $STATE, %eax
    xsave64 (%rsp)
    mov %ecx, %edx
    call ouro_native_sled_event
    mov %eax, %ecx
    xor %edx, %edx
    mov $STATE, %eax
    xrstor64 (%rsp)
    mov %ecx, %eax
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

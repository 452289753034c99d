// SPDX-License-Identifier: MIT
//
// XRay (clang -fxray-instrument): functions have sleds of nops at entry, exit and tail calls, which
// its runtime patches into calls of its trampolines. Nothing is patched, and nothing costs time,
// until a session starts. XRay's runtime is in the program; it is found by its weak names.
//
// Its trampolines save all vector registers, at every event. Ours do not (xray_x86_64.S), and know
// where the function's return address is: its height. So theirs begin with a jump to ours.
//
// Tail calls. The event comes before the jump and does not tell its target. A direct jump is
// decoded from the code. If its target is instrumented, the next enter at this height becomes
// `replace`. If it is not, or if the jump goes through a register, the function is simply left, and
// functions that the target calls are called by its caller's caller, as on the machine stack.
// Nothing is guessed.

#include "xray.h"
#include "top_frame.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XRAY_WEAK __attribute__((weak, visibility("default")))
XRAY_WEAK int __xray_patch(void);
XRAY_WEAK uintptr_t __xray_function_address(int32_t id);
XRAY_WEAK size_t __xray_max_function_id(void);
XRAY_WEAK void __xray_FunctionEntry(void);
XRAY_WEAK void __xray_FunctionExit(void);
XRAY_WEAK void __xray_FunctionTailExit(void);

xray_function *ouro_native_xray_functions;
uintptr_t ouro_native_xray_jumps[XRAY_JUMPS];
bool ouro_native_xray_has_xsave;

static uintptr_t *addresses; // sorted
static size_t count;

static int compare(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_instrumented(uintptr_t function) {
    return bsearch(&function, addresses, count, sizeof *addresses, compare) != NULL;
}

// ---------------------------------------------------------------- slow paths

// The target of the jump after a tail call's sled; 0 if the instruction does not tell it.
static uintptr_t jump_target(uintptr_t at) {
    const unsigned char *code = (const unsigned char *)at;
    int32_t far;
    memcpy(&far, code + 1, sizeof far);
    if (code[0] == 0xe9) return at + 5 + (uintptr_t)(intptr_t)far;
    if (code[0] == 0xeb) return at + 2 + (uintptr_t)(intptr_t)(signed char)code[1];
    return 0;
}

static bool leads_to_instrumented(uintptr_t at) {
    uintptr_t *known = xray_jump(at), word = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (word >> 1 != at) {
        word = at << 1 | is_instrumented(jump_target(at));
        __atomic_store_n(known, word, __ATOMIC_RELAXED);
    }
    return word & 1;
}

static void enter(xray_function *f, uintptr_t sp) {
    ouro_native_event(f->function, sp, NATIVE_XRAY_ENTER);
    native_section section;
    if (f->block != OURO_PHANTOM || ouro_native_is_sliced(f->function) ||
        !ouro_native_section_begin(&section))
        return;
    f->block = ouro_native_block_of(f->function);
    ouro_native_section_end(&section);
}

static void leave_by_jump(uintptr_t function, uintptr_t sp) {
    uintptr_t at = ((const uintptr_t *)sp)[-1];
    ouro_native_event(function, sp,
                      leads_to_instrumented(at) ? NATIVE_XRAY_TAIL : NATIVE_XRAY_EXIT);
}

// The hook has inverted `top`.
static void complete(ouro_block block, int what) {
    native_self *self = &ouro_native_self;
    native_frame *top = (native_frame *)~(uintptr_t)self->top;
    if (what == XRAY_REPLACE) {
        ouro_replace(self->thread, block);
    } else {
        ouro_enter(self->thread, block);
        top++;
    }
    frame_end(self, top);
}

void ouro_native_xray_event(uint32_t id, uintptr_t sp, int what) {
    xray_function *f = &ouro_native_xray_functions[id];
    if (what == XRAY_ENTER) {
        enter(f, sp);
    } else if (what == XRAY_LEAVE) {
        ouro_native_event(f->function, sp, NATIVE_XRAY_EXIT);
    } else if (what == XRAY_JUMP) {
        leave_by_jump(f->function, sp);
    } else {
        complete(f->block, what);
    }
}

// ---------------------------------------------------------------- the beginning

static bool list_functions(void) {
    count = __xray_max_function_id();
    size_t bytes = (count + 1) * (sizeof(xray_function) + sizeof *addresses);
    xray_function *functions =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (functions == MAP_FAILED) return false;
    addresses = (uintptr_t *)(functions + count + 1);
    for (size_t i = 1; i <= count; i++)
        addresses[i - 1] = functions[i].function = __xray_function_address((int32_t)i);
    qsort(addresses, count, sizeof *addresses, compare);
    ouro_native_xray_functions = functions;
    return true;
}

// The code of a jump from one place to another: jmp where it reaches, else jmp *0(%rip) and the
// address. Its size.
static size_t jump(unsigned char code[static 14], uintptr_t from, uintptr_t to) {
    int64_t far = (int64_t)(to - (from + 5));
    if (far == (int32_t)far) {
        code[0] = 0xe9;
        memcpy(code + 1, &(int32_t){(int32_t)far}, 4);
        return 5;
    }
    memcpy(code, (const unsigned char[]){0xff, 0x25, 0, 0, 0, 0}, 6);
    memcpy(code + 6, &to, sizeof to);
    return 14;
}

// Lets a trampoline begin with a jump to ours.
static bool redirect(void (*from)(void), void (*to)(void)) {
    unsigned char code[14];
    uintptr_t at = (uintptr_t)from, page = (uintptr_t)getpagesize(), first = at & -page;
    size_t size = jump(code, at, (uintptr_t)to);
    if (mprotect((void *)first, at + size - first, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    memcpy((void *)at, code, size);
    return mprotect((void *)first, at + size - first, PROT_READ | PROT_EXEC) == 0;
}

static bool has_xsave(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE;
}

void ouro_native_xray_start(void) {
    if (!__xray_patch || !__xray_function_address || !__xray_max_function_id ||
        !__xray_FunctionEntry || !__xray_FunctionExit || !__xray_FunctionTailExit ||
        !__xray_max_function_id() || !list_functions())
        return;
    ouro_native_xray_has_xsave = has_xsave();
    if (redirect(__xray_FunctionEntry, ouro_native_xray_at_entry) &&
        redirect(__xray_FunctionExit, ouro_native_xray_at_exit) &&
        redirect(__xray_FunctionTailExit, ouro_native_xray_at_tail))
        __xray_patch();
}

#else
void ouro_native_xray_start(void) {}
#endif

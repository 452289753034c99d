// SPDX-License-Identifier: MIT
//
// XRay (clang -fxray-instrument): functions have sleds of nops at entry, exit and tail calls, which
// its runtime patches into calls of a handler. Nothing is patched, and nothing costs time, until a
// session starts. XRay's runtime is in the program; it is found by its weak names.
//
// The height of a function. The sled calls (entry, tail call) or jumps to (exit) a trampoline,
// which calls the handler; at that point the stack pointer is at the function's return address. The
// distance from there to the handler's own frame is measured at the first event of each kind. At
// entries and tail calls, the sled's return address is recognised by the eleven bytes of the sled
// before it; at exits, by the frame that was entered.
//
// Tail calls. The event comes before the jump and does not tell its target. A direct jump is
// decoded from the code. If its target is instrumented, the next enter at this height becomes
// `replace`. If it is not, or if the jump goes through a register, the function is simply left, and
// functions that the target calls are called by its caller's caller, as on the machine stack.
// Nothing is guessed.

#include "native.h"
#include "ouro_site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)

enum { XRAY_ENTRY = 0, XRAY_EXIT = 1, XRAY_TAIL = 2 };
enum { SLED = 11, WORDS_SEARCHED = 96 };

#define XRAY_WEAK __attribute__((weak, visibility("default")))
XRAY_WEAK int __xray_set_handler(void (*handler)(int32_t id, int kind));
XRAY_WEAK int __xray_patch(void);
XRAY_WEAK uintptr_t __xray_function_address(int32_t id);
XRAY_WEAK size_t __xray_max_function_id(void);

typedef struct {
    uintptr_t function;
    ouro_block block; // OURO_PHANTOM: not known yet
} xray_function;

static xray_function *functions; // by id
static uintptr_t *addresses;     // sorted
static size_t count;
static uintptr_t distance[3]; // from the handler's frame to the return address; 0: not known

static int compare(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_instrumented(uintptr_t function) {
    return bsearch(&function, addresses, count, sizeof *addresses, compare) != NULL;
}

// ---------------------------------------------------------------- sleds

// Patched, a sled is: mov $id, %r10d; call trampoline.
static bool follows_sled(uintptr_t address, uint32_t id) {
    uintptr_t function = functions[id].function;
    if (address < function || address - function > UINT32_MAX) return false;
    const unsigned char *sled = (const unsigned char *)address - SLED;
    return sled[0] == 0x41 && sled[1] == 0xba && memcmp(sled + 2, &id, 4) == 0 && sled[6] == 0xe8;
}

// The distance of the sled's return address above the handler's frame; 0 if there is none.
static uintptr_t find_sled(uintptr_t frame, uint32_t id, int kind) {
    if (distance[kind]) {
        uintptr_t at = frame + distance[kind] - sizeof(uintptr_t);
        if (follows_sled(*(uintptr_t *)at, id)) return at;
    }
    const uintptr_t *words = (const uintptr_t *)frame;
    for (int i = 2; i < WORDS_SEARCHED; i++) {
        uintptr_t low = functions[id].function;
        if (words[i] < low + SLED || words[i] > low + (1 << 28)) continue;
        if (follows_sled(words[i], id)) return (uintptr_t)&words[i];
    }
    return 0;
}

// The target of the jump after a tail call's sled; 0 if the instruction does not tell it.
static uintptr_t jump_target(uintptr_t at) {
    const unsigned char *code = (const unsigned char *)at;
    int32_t far;
    memcpy(&far, code + 1, sizeof far);
    if (code[0] == 0xe9) return at + 5 + (uintptr_t)(intptr_t)far;
    if (code[0] == 0xeb) return at + 2 + (uintptr_t)(intptr_t)(signed char)code[1];
    return 0;
}

// ---------------------------------------------------------------- the handler

static NATIVE_COLD void measure(uintptr_t frame, uint32_t id, int kind) {
    const native_self *self = &ouro_native_self;
    if (kind != XRAY_EXIT) {
        uintptr_t sled = find_sled(frame, id, kind);
        if (sled) distance[kind] = sled + sizeof(uintptr_t) - frame;
    } else if (self->started && !is_entering(self) &&
               self->top[-1].key == (uint32_t)functions[id].function) {
        uintptr_t far = self->low + self->top[-1].height - frame;
        if (far < WORDS_SEARCHED * sizeof(uintptr_t)) distance[kind] = far;
    }
}

static NATIVE_COLD void enter_slowly(uint32_t id, uintptr_t sp) {
    ouro_native_event(functions[id].function, sp, NATIVE_XRAY_ENTER);
    native_section section;
    if (functions[id].block != OURO_PHANTOM || ouro_native_is_sliced(functions[id].function) ||
        !ouro_native_section_begin(&section))
        return;
    functions[id].block = ouro_native_block_of(functions[id].function);
    ouro_native_section_end(&section);
}

// The callee of a tail call takes the place of its caller's frame.
static APART void replace(native_self *self, native_frame *top, uint64_t height, xray_function f) {
    self->top = (native_frame *)~(uintptr_t)top;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ouro_replace(self->thread, f.block);
    top[-1].height = height;
    top[-1].key = (uint32_t)f.function;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->top = top;
}

static HOOK_SECTION void enter(uint32_t id, uintptr_t sp) {
    native_self *self = &ouro_native_self;
    xray_function f = functions[id];
    native_frame *top = self->top;
    uint64_t height = sp - self->low;
    if (top < self->limit && top[-1].height == (height | LEFT_BY_TAIL_CALL) &&
        f.block != OURO_PHANTOM) {
        replace(self, top, height, f);
        return;
    }
    if (UNLIKELY(top >= self->limit) || UNLIKELY(height + 1 >= top[-1].height) ||
        UNLIKELY(f.block == OURO_PHANTOM)) {
        enter_slowly(id, sp);
        return;
    }
    self->top = (native_frame *)~(uintptr_t)top;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    top->height = height;
    top->key = (uint32_t)f.function;
    top->token = ouro_thread_position(self->thread);
    if (UNLIKELY(!ouro_try_enter(self->thread, f.block))) ouro_enter(self->thread, f.block);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->top = top + 1;
}

static HOOK_SECTION void leave(uint32_t id, uintptr_t sp) {
    native_self *self = &ouro_native_self;
    native_frame *top = self->top;
    if (UNLIKELY(top >= self->limit) || UNLIKELY(top[-1].height != sp - self->low)) {
        ouro_native_event(functions[id].function, sp, NATIVE_XRAY_EXIT);
        return;
    }
    ouro_exit(self->thread, top[-1].token);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self->top = top - 1;
}

static APART void leave_by_jump(uint32_t id, uintptr_t frame, uintptr_t sp) {
    uintptr_t sled = find_sled(frame, id, XRAY_TAIL);
    uintptr_t target = sled ? jump_target(*(uintptr_t *)sled) : 0;
    if (!target || !is_instrumented(target)) {
        leave(id, sp);
        return;
    }
    native_self *self = &ouro_native_self;
    native_frame *top = self->top;
    if (top < self->limit && top[-1].height == sp - self->low)
        top[-1].height |= LEFT_BY_TAIL_CALL; // one store: a handler's frames come above
    else
        ouro_native_event(functions[id].function, sp, NATIVE_XRAY_TAIL);
}

static HOOK_SECTION void handle(int32_t number, int kind) {
    uint32_t id = (uint32_t)number;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (kind > XRAY_TAIL || id > count) return;
    if (UNLIKELY(!distance[kind])) measure(frame, id, kind);
    uintptr_t sp = frame + distance[kind];
    if (kind == XRAY_ENTRY) {
        enter(id, sp);
    } else if (kind == XRAY_EXIT) {
        leave(id, sp);
    } else {
        leave_by_jump(id, frame, sp);
    }
}

// ---------------------------------------------------------------- the beginning

static bool list_functions(void) {
    count = __xray_max_function_id();
    size_t bytes = (count + 1) * (sizeof *functions + sizeof *addresses);
    functions = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (functions == MAP_FAILED) return false;
    addresses = (uintptr_t *)(functions + count + 1);
    for (size_t i = 1; i <= count; i++)
        addresses[i - 1] = functions[i].function = __xray_function_address((int32_t)i);
    qsort(addresses, count, sizeof *addresses, compare);
    return true;
}

void ouro_native_xray_start(void) {
    if (!__xray_set_handler || !__xray_patch || !__xray_function_address ||
        !__xray_max_function_id || !__xray_max_function_id() || !list_functions())
        return;
    __xray_set_handler(handle);
    __xray_patch();
}

#else
void ouro_native_xray_start(void) {}
#endif

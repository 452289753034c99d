// SPDX-License-Identifier: MIT
//
// Sleds: five nops at the beginning of each function (-fpatchable-function-entry). They cost next
// to nothing until a session starts; then each becomes a jump to the function's gate:
//
//     mov     $f, %r11d        its sled_function, which is below 2 GB
//     call    enter            of the copy of sleds_x86_64.S that is before the module's gates
//     jc      function         a tail call: it returns to where it was called from
//     pop     %r11             the return address, which is in the mirror now
//     call    function         behind its sled; puts another return address there
//     jmp     leave            takes the first from the mirror and returns
//
// Calls and returns are paired, so the processor foresees them. No compiler has to mark where a
// function ends. A tail call is a jump to another gate, with the return address of the first gate
// on the stack: the function takes the place of the one that jumped, however it did that.
//
// The mirror of an address is one that depends on nothing else, where nothing else is. It has the
// return addresses of all functions that were called by gates, so the unwinder can be told where to
// find them (put_frame_info), for all gates of a module alike.

#include "sleds.h"
#include "code_table.h"
#include "sled_layout.h"
#include "tiny_code.h"
#include "top_frame.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GATE_BYTES = 32,
    GATE_BYTES_MOST = 128,
    FRAME_INFO_BYTES = 320,
    FUNCTIONS_MOST = 1 << 22,
    WITHOUT_MOST = 256
};

sled_gates ouro_native_gates[SLED_MODULES_MOST];
size_t ouro_native_gates_count;
bool ouro_native_sled_has_xsave;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sled_function *functions;
static uint32_t count;

// ---------------------------------------------------------------- what assembly knows

#define IS_AT(type, field, at) _Static_assert(offsetof(type, field) == (at), #field)
IS_AT(native_self, top, SELF_TOP);
IS_AT(native_self, limit, SELF_LIMIT);
IS_AT(native_self, low, SELF_LOW);
IS_AT(native_self, thread, SELF_THREAD);
IS_AT(native_self, places, SELF_PLACES);
IS_AT(native_self, mirror, SELF_MIRROR);
IS_AT(native_frame, height, FRAME_HEIGHT);
IS_AT(native_frame, key, FRAME_KEY);
IS_AT(native_frame, token, FRAME_TOKEN);
IS_AT(sled_function, function, FUNCTION_ADDRESS);
IS_AT(sled_function, way, FUNCTION_WAY);
_Static_assert(sizeof(native_frame) == FRAME_BYTES, "frames");
_Static_assert(sizeof(sled_function) == FUNCTION_BYTES, "functions");
_Static_assert(FUNCTION_BYTES == OURO_PLACE_BYTES, "places of tail calls");
_Static_assert(SELF_TOP_MARK == SELF_TOP + 7 && NATIVE_ENTERING >> 56 == 255, "mark");
_Static_assert(NATIVE_MIRROR_BIT == MIRROR_BIT && NATIVE_MIRROR_SHIFT == MIRROR_SHIFT, "mirror");

// ---------------------------------------------------------------- slow paths

static void find_block(sled_function *f) {
    native_section section;
    if (sled_block(f) != OURO_PHANTOM || ouro_native_is_sliced(f->function) ||
        !ouro_native_section_begin(&section))
        return;
    f->way = (uint64_t)ouro_native_block_of(f->function) << 32;
    ouro_native_section_end(&section);
}

static bool enter(sled_function *f, const uintptr_t *to) {
    bool tail = is_gate(*to);
    bool taken = ouro_native_sled_entered(f->function, (uintptr_t)to, tail);
    find_block(f);
    return taken && !tail;
}

// The hook has marked `top`.
static void complete(ouro_block block, bool replaces) {
    native_self *self = &ouro_native_self;
    native_frame *top = unmarked(self->top);
    if (replaces) {
        ouro_replace(self->thread, block);
    } else {
        ouro_enter(self->thread, block);
        top++;
    }
    frame_end(self, top);
}

bool ouro_native_sled_event(sled_function *f, uintptr_t *to, int what) {
    if (what == SLED_ENTER) return enter(f, to);
    if (what == SLED_LEAVE)
        ouro_native_event(0, (uintptr_t)to, NATIVE_SLED_LEAVE);
    else
        complete(sled_block(f), what == SLED_REPLACE);
    return what == SLED_SEARCH;
}

// ---------------------------------------------------------------- gates

static unsigned char *put(unsigned char *at, const char *code, size_t size) {
    return (unsigned char *)memcpy(at, code, size) + size;
}
#define PUT(at, code) put(at, code, sizeof(code) - 1)

// A distance, of which the instruction is the last part.
static unsigned char *put_far(unsigned char *at, uintptr_t to) {
    int32_t far = (int32_t)(to - ((uintptr_t)at + 4));
    return put(at, (const char *)&far, 4);
}

// Where a part of the template is in the copy of a module.
static uintptr_t copy_of(const sled_gates *g, const unsigned char *part) {
    return g->low + (uintptr_t)(part - ouro_native_sled_hooks);
}

static size_t hooks_bytes(void) {
    return (size_t)(ouro_native_sled_hooks_end - ouro_native_sled_hooks);
}

// Where a thread has its own memory is the same in all threads.
static uint32_t distance_of_self(void) {
    uintptr_t thread;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    return (uint32_t)((uintptr_t)&ouro_native_self - thread);
}

static void put_hooks(const sled_gates *g) {
    unsigned char *copy = (unsigned char *)g->low;
    uint32_t distance = distance_of_self(), there;
    memcpy(copy, ouro_native_sled_hooks, hooks_bytes());
    memcpy((void *)copy_of(g, ouro_native_sled_size), &g->size, sizeof g->size);
    for (const uint32_t *at = ouro_native_sled_places; at < ouro_native_sled_places_end; at++) {
        memcpy(&there, copy + *at, sizeof there);
        there += distance;
        memcpy(copy + *at, &there, sizeof there);
    }
}

// A function by gcc, see sleds_x86_64.S, has the leave in its gate. clang has a long nop.
static bool has_leave(uintptr_t sled) { return *(const unsigned char *)sled == 0x90; }

// The offset of `leave` in a gate, and of the return at its end.
enum { GATE_LEAVE = 24 };
static size_t gate_return(void) {
    return GATE_LEAVE + (size_t)(ouro_native_sled_leave_end - ouro_native_sled_leave) - 1;
}

static void put_gate(unsigned char *at, const sled_gates *g, const sled_function *f,
                     uintptr_t sled) {
    const unsigned char *leave = ouro_native_sled_leave, *end = ouro_native_sled_leave_end;
    at = put(PUT(at, "\x41\xbb"), (const char *)&f, 4);
    at = put_far(PUT(at, "\xe8"), copy_of(g, ouro_native_sled_enter));
    at = put_far(PUT(at, "\x0f\x82"), sled + SLED_BYTES);
    at = PUT(at, "\x41\x5b");
    at = put_far(PUT(at, "\xe8"), sled + SLED_BYTES);
    if (!has_leave(sled)) {
        put_far(PUT(at, "\xe9"), copy_of(g, ouro_native_sled_leave_keeping));
        return;
    }
    at = put(at, (const char *)copy_of(g, leave), (size_t)(end - leave));
    put_far(PUT(at, "\xe9"), copy_of(g, ouro_native_sled_leave_slowly));
}

// ---------------------------------------------------------------- for unwinders

// DWARF. The CFA, the caller's stack pointer, is above the word where the return address was. That
// is in its mirror, or still there, or there again. In a leave it is in the mirror, and the CFA is
// %rsp. Before an unwinder, a gate and its caller may be the same frame, which no two are. So gates
// are signal frames, which makes a difference, and where these lead to is not behind a call: the
// return address is one less.
#define MIRRORED "\x0e\0\0\0\0\0\x10\0\0\x27\x23\xc0\x10" // of an address: ^ 1 << 44, + 0x840
#define LESS_ONE "\x06\x31\x1c"                           // what is there, - 1
#define BELOW "\x38\x1c"                                  // - 8
_Static_assert(MIRROR_BIT == 44 && MIRROR_SHIFT == 0x840, "in MIRRORED");

// Rules for the CFA and the return address; the first byte is that no others come before.
#define CFA_IS_SP "\x0c\x07\x00\x16\x10\x12" BELOW MIRRORED LESS_ONE
#define CFA_IS_SP_8 "\0\x0e\x08\x16\x10\x05" BELOW LESS_ONE "\0"
#define CFA_IS_SP_16 "\0\x0e\x10\x16\x10\x05" BELOW LESS_ONE "\0"
// In a gate it depends on the instruction: until the function is called, and at the return, the
// address is where it was, and the CFA is %rsp + 8. IS_THERE is 1 then; the two bytes that are 0
// are gate_step - 1 and gate_return.
#define IS_THERE "\x80\0\x08\0\x1a\x12\x08\0\x29\x16\x42\x2d\x21"
#define CFA_IN_GATE "\0\x0f\x12\x77\0" IS_THERE "\x33\x24\x22"
#define RETURN_IN_GATE "\x16\x10\x22" BELOW IS_THERE "\x28\x0d\0" MIRRORED LESS_ONE "\0\0"
enum { GATE_STEP_AT = 8, GATE_RETURN_AT = 12, AGAIN_AT = sizeof CFA_IN_GATE - 1 };

// What is known of the code from..to.
static unsigned char *put_piece(unsigned char *at, const unsigned char *common, uintptr_t from,
                                uintptr_t to, const char *rules, size_t size) {
    at = put(at, (const char *)&(uint32_t){20 + (uint32_t)size}, 4);
    at = put(at, (const char *)&(uint32_t){(uint32_t)(at - common)}, 4);
    at = put(at, (const char *)&from, 8);
    at = put(at, (const char *)&(uint64_t){to - from}, 8);
    return put(at, rules, size);
}
#define PUT_PIECE(at, common, g, from, to, rules) \
    put_piece(at, common, copy_of(g, from), copy_of(g, to), rules, sizeof(rules) - 1)

static void put_gates_piece(unsigned char *at, const unsigned char *common, const sled_gates *g) {
    char rules[] = CFA_IN_GATE RETURN_IN_GATE;
    rules[GATE_STEP_AT] = rules[AGAIN_AT + GATE_STEP_AT] = (char)(g->step - 1);
    rules[GATE_RETURN_AT] = rules[AGAIN_AT + GATE_RETURN_AT] = (char)gate_return();
    put_piece(at, common, copy_of(g, ouro_native_sled_hooks_end), g->low + g->size, rules,
              sizeof rules - 1);
}

static void put_frame_info(unsigned char *at, const sled_gates *g) {
    unsigned char *common = at;
    at = PUT(at, "\x24\0\0\0"               // bytes that follow
                 "\0\0\0\0"                 // common
                 "\x01zS\0\x01\x78\x10\x00" // version, signal frames, factors, register
             CFA_IS_SP);
    at = PUT_PIECE(at, common, g, ouro_native_sled_enter, ouro_native_sled_leave_keeping,
                   CFA_IS_SP_16);
    at = PUT_PIECE(at, common, g, ouro_native_sled_leave_keeping,
                   ouro_native_sled_leave_keeping_pushed, "\0\0\0\0");
    at = PUT_PIECE(at, common, g, ouro_native_sled_leave_keeping_pushed,
                   ouro_native_sled_leave_kept, CFA_IS_SP_8);
    at = PUT_PIECE(at, common, g, ouro_native_sled_leave_kept, ouro_native_sled_leave, "\0\0\0\0");
    put_gates_piece(at, common, g);
}

// C++ programs have an unwinder; others load one, to end a thread for instance. Weak, because
// static programs may have none.
__attribute__((weak)) extern void __register_frame(void *info);
__attribute__((weak)) extern __typeof__(ouro_native_unwinder) ouro_native_unwinder;

static void tell_unwinder(void *info) {
    void (*add)(void *) = __register_frame;
    if (!add && ouro_native_unwinder) *(void **)&add = ouro_native_unwinder("__register_frame");
    if (add) add(info);
}

static void *map_at(uintptr_t at, size_t size) {
    void *memory = mmap((void *)at, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED || memory == (void *)at) return memory == MAP_FAILED ? NULL : memory;
    munmap(memory, size); // by an old kernel
    return NULL;
}

// Memory that a jump from a module reaches: below it, else far above, where its heap does not grow.
static void *map_near(uintptr_t low, uintptr_t high, size_t size) {
    const uintptr_t step = 1 << 20, reach = UINT64_C(1800) << 20;
    void *found = NULL;
    for (uintptr_t at = (low & -step) - (size & -step) - step;
         !found && at < low && high - at < reach; at -= step)
        found = map_at(at, size);
    for (uintptr_t at = (high & -step) + (UINT64_C(1) << 30); !found && at + size - low < reach;
         at += step)
        found = map_at(at, size);
    return found;
}

// ---------------------------------------------------------------- sleds

typedef struct {
    uintptr_t *sleds; // sorted
    size_t count, bytes;
    uintptr_t low, high; // the first and the last
} table;

static int compare(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static void sort(table *t) {
    size_t kept = 0;
    qsort(t->sleds, t->count, sizeof *t->sleds, compare);
    for (size_t i = 0; i < t->count; i++)
        if (!kept || t->sleds[i] != t->sleds[kept - 1]) t->sleds[kept++] = t->sleds[i];
    t->count = kept;
    if (kept) t->low = t->sleds[0], t->high = t->sleds[kept - 1];
}

// A 0 is a function that the linker has left out. Some versions of gcc (12.2) list all sleds of a
// file in a section that belongs to one function, and is dropped with it. So we also look where
// functions begin.
static bool look_at(table *t, const uintptr_t *from, const uintptr_t *to, const code_table *code) {
    t->bytes = ((size_t)(to - from) + code->count) * sizeof *t->sleds;
    void *copy =
        t->bytes ? mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                 : MAP_FAILED;
    if (copy == MAP_FAILED) return false;
    t->sleds = copy;
    for (; from < to; from++)
        if (*from) t->sleds[t->count++] = *from;
    for (size_t i = 0; i < code->count; i++) {
        uintptr_t at = ouro_native_code_start(code, i);
        if (is_landing((const unsigned char *)at)) at += LANDING_BYTES;
        if (ouro_native_is_sled((const unsigned char *)at)) t->sleds[t->count++] = at;
    }
    sort(t);
    return t->count > 0;
}

static uintptr_t function_of(uintptr_t sled) {
    uintptr_t before = sled - LANDING_BYTES;
    return is_landing((const unsigned char *)before) ? before : sled;
}

// ---------------------------------------------------------------- what is left out

// Of the module that is added now: what is not wanted, and what is, though it may be tiny.
static uintptr_t without[WITHOUT_MOST], sliced[WITHOUT_MOST];
static size_t without_count, sliced_count;
static bool all_wanted; // tiny ones, too

static void leave_out(uintptr_t base, const char *path) {
    const char *names = secure_getenv("OURO_NATIVE_WITHOUT");
    const char *slice = secure_getenv("OURO_NATIVE_SLICE");
    const char *tiny = secure_getenv("OURO_NATIVE_TINY");
    static char name[512];
    all_wanted = tiny && *tiny == '1';
    without_count = 0;
    sliced_count =
        slice && *slice ? ouro_native_functions_named(base, path, slice, sliced, WITHOUT_MOST) : 0;
    for (const char *at = names ? names : ""; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        without_count += ouro_native_functions_named(base, path, name, without + without_count,
                                                     WITHOUT_MOST - without_count);
        at += length;
    }
}

typedef struct {
    uintptr_t at; // in the module
    code_table code;
} search;

static int find_module(struct dl_phdr_info *info, size_t bytes, void *user) {
    search *s = user;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || s->at - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz) continue;
        bool named = info->dlpi_name && *info->dlpi_name;
        leave_out(info->dlpi_addr, named ? info->dlpi_name : "/proc/self/exe");
        ouro_native_code_table(info, &s->code);
        return 1;
    }
    return 0;
}

static bool has(const uintptr_t *list, size_t n, uintptr_t function) {
    while (n && list[n - 1] != function) n--;
    return n > 0;
}

// The last function has no end that is known.
static tiny_code code_at(const table *t, size_t i) {
    uintptr_t at = t->sleds[i] + SLED_BYTES, end = i + 1 < t->count ? t->sleds[i + 1] : at;
    return (tiny_code){at, (const unsigned char *)at, end - at};
}

// It may lead to its gate already.
static bool was_sled(const unsigned char *at) { return ouro_native_is_sled(at) || *at == 0xe9; }

static bool find_code(const void *user, uint64_t address, tiny_code *found) {
    const table *t = user;
    uintptr_t sled = address;
    if (sled - t->low > t->high - t->low) return false;
    if (is_landing((const unsigned char *)sled)) sled += LANDING_BYTES;
    const uintptr_t *at = bsearch(&sled, t->sleds, t->count, sizeof *t->sleds, compare);
    if (!at || !was_sled((const unsigned char *)sled)) return false;
    *found = code_at(t, (size_t)(at - t->sleds));
    return true;
}

static bool is_wanted(const table *t, size_t i) {
    uintptr_t at = t->sleds[i];
    if (!ouro_native_is_sled((const unsigned char *)at)) return false;
    if (has(without, without_count, function_of(at))) return false;
    if (all_wanted || has(sliced, sliced_count, function_of(at))) return true;
    tiny_code code = code_at(t, i);
    return !ouro_native_is_tiny(&code, find_code, t);
}

static bool make_code_writable(const table *t, bool yes) {
    uintptr_t page = (uintptr_t)getpagesize(), from = t->low & -page;
    return mprotect((void *)from, t->high + SLED_BYTES - from,
                    PROT_READ | PROT_EXEC | (yes ? PROT_WRITE : 0)) == 0;
}

// ---------------------------------------------------------------- modules

static void patch(const table *t, const sled_gates *g) {
    unsigned char *gate = (unsigned char *)g->low + hooks_bytes();
    for (size_t i = 0; i < t->count; i++) {
        uintptr_t at = t->sleds[i];
        if (!is_wanted(t, i) || count == FUNCTIONS_MOST) continue;
        functions[count] = (sled_function){function_of(at), 0};
        put_gate(gate, g, &functions[count++], at);
        put_far(PUT((unsigned char *)at, "\xe9"), (uintptr_t)gate);
        gate += g->step;
    }
}

static bool prepare(void) {
    unsigned a, b, c = 0, d;
    if (functions) return true;
    void *memory = mmap(NULL, FUNCTIONS_MOST * sizeof *functions, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT, -1, 0);
    if (memory == MAP_FAILED) return false;
    ouro_native_sled_has_xsave = __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE;
    functions = memory;
    return true;
}

static size_t gate_step(const table *t) {
    for (size_t i = 0; i < t->count; i++)
        if (has_leave(t->sleds[i])) return GATE_BYTES_MOST;
    return GATE_BYTES;
}

// Gates become code before the sleds lead to them.
static void add_module(const table *t) {
    uintptr_t page = (uintptr_t)getpagesize();
    size_t step = gate_step(t), size = hooks_bytes() + t->count * step + FRAME_INFO_BYTES;
    size = (size + page - 1) & -page;
    if (ouro_native_gates_count == SLED_MODULES_MOST || !prepare()) return;
    void *memory = map_near(t->low, t->high, size);
    if (!memory) return;
    sled_gates g = {(uintptr_t)memory, size, step};
    unsigned char *info = (unsigned char *)memory + size - FRAME_INFO_BYTES;
    put_hooks(&g);
    put_frame_info(info, &g);
    if (!make_code_writable(t, true)) return;
    ouro_native_gates[ouro_native_gates_count] = g;
    __atomic_store_n(&ouro_native_gates_count, ouro_native_gates_count + 1, __ATOMIC_RELEASE);
    ouro_native_switch_slow(); // they need mirrors now
    mprotect(memory, size, PROT_READ | PROT_WRITE | PROT_EXEC);
    patch(t, &g);
    mprotect(memory, size, PROT_READ | PROT_EXEC);
    make_code_writable(t, false);
    tell_unwinder(info);
}

void ouro_native_sleds_(const uintptr_t *from, const uintptr_t *to) {
    const char *folder = secure_getenv("OURO_NATIVE");
    if (!folder || !*folder) return;
    table t = {0};
    search s = {.at = from != to ? (uintptr_t)from : (uintptr_t)__builtin_return_address(0)};
    pthread_mutex_lock(&lock);
    dl_iterate_phdr(find_module, &s);
    if (look_at(&t, from, to, &s.code)) add_module(&t);
    pthread_mutex_unlock(&lock);
    if (t.sleds) munmap(t.sleds, t.bytes);
}

#else
sled_gates ouro_native_gates[SLED_MODULES_MOST];
size_t ouro_native_gates_count;
void ouro_native_sleds_(const uintptr_t *from, const uintptr_t *to) { (void)from, (void)to; }
#endif

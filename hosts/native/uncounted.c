// SPDX-License-Identifier: MIT
//
// Time in functions that are not counted: tiny ones, those that were left out, those of libc and
// other libraries. A tick is charged to a block of the function that was interrupted, below the
// counted one that called it. The block has no calls: nobody counts them.
//
// The handler of the clock must not allocate. A tick in a function without a block is charged to
// the module, or else to the caller, and noted. The thread's next event makes the block and moves
// there what was noted. So a program that is killed before has the time in the wrong place, but
// loses none.

#include "code_table.h"
#include "native.h"

#include "ouro_site.h"

#include <pthread.h>
#include <string.h>

enum { MODULES = 256, FUNCTIONS = 1 << 14, FUNCTIONS_MOST = FUNCTIONS / 4 * 3 };

typedef struct {
    uintptr_t start, size; // of its code; no size: it was unloaded
    code_table code;
    ouro_block block; // of code without a function; OURO_PHANTOM: the caller
} module;

// Entries stay where they are. The lock of functions.c is for whoever writes.
static module modules[MODULES];
static size_t module_count;

// A hash table. A block of OURO_PHANTOM: the function is counted, and stands for itself.
static struct {
    uintptr_t function; // 0: free; 1: its module is gone
    ouro_block block;
} functions[FUNCTIONS];
static size_t function_count;

static module *module_of(uintptr_t at) {
    size_t n = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
    for (module *m = modules; m < modules + n; m++)
        if (at - m->start < __atomic_load_n(&m->size, __ATOMIC_RELAXED)) return m;
    return NULL;
}

// Where the function is, or the free place for it.
static size_t place_of(uintptr_t function) {
    size_t i = (function * UINT64_C(0x9e3779b97f4a7c15) >> 40) % FUNCTIONS;
    uintptr_t there;
    while ((there = __atomic_load_n(&functions[i].function, __ATOMIC_ACQUIRE)) && there != function)
        i = (i + 1) % FUNCTIONS;
    return i;
}

static bool find_function(uintptr_t function, ouro_block *block) {
    size_t i = place_of(function);
    *block = __atomic_load_n(&functions[i].block, __ATOMIC_RELAXED);
    return __atomic_load_n(&functions[i].function, __ATOMIC_RELAXED) == function;
}

// ---------------------------------------------------------------- modules

typedef struct {
    module found[64];
    const char *paths[64]; // the loader's; "" for the program
    uintptr_t at;          // an address in the one that is looked for; 0: all of them
    size_t count;
} search;

static int look_at(struct dl_phdr_info *info, size_t bytes, void *user) {
    search *s = user;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum && s->count < 64; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        if (s->at && s->at - start >= p->p_memsz) continue;
        module *m = &s->found[s->count];
        *m = (module){.start = start, .size = p->p_memsz};
        s->paths[s->count++] = info->dlpi_name ? info->dlpi_name : "";
        ouro_native_code_table(info, &m->code);
    }
    return 0;
}

static ouro_block block_of_module(const char *path) {
    const char *slash = strrchr(path, '/');
    ouro_block block =
        ouro_add_block(ouro_native_session.counted,
                       &(ouro_block_info){slash ? slash + 1 : path, "[library]", 0, 0});
    ouro_native_switch_block(block);
    return block;
}

// The recorder itself, if it was preloaded, counts for whoever it interrupted.
static void add_module(module m, const char *path) {
    if (module_of(m.start) || module_count == MODULES) return;
    bool is_own = *path && (uintptr_t)look_at - m.start < m.size;
    m.block = is_own || !*path ? OURO_PHANTOM : block_of_module(path);
    if (is_own) m.code.count = 0;
    modules[module_count] = m;
    __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}

// The loader is asked first: see ouro_native_block_of.
static void add_modules(uintptr_t at) {
    static search s; // the stack may be small
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    s.count = 0;
    s.at = at;
    dl_iterate_phdr(look_at, &s);
    ouro_native_functions_lock(true);
    for (size_t i = 0; i < s.count; i++) add_module(s.found[i], s.paths[i]);
    ouro_native_functions_lock(false);
    pthread_mutex_unlock(&lock);
}

void ouro_native_uncounted_start(void) {
    if (ouro_native_session.hz) add_modules(0);
}

// ---------------------------------------------------------------- ticks

// A jump into another module (PLT), which is no function of its own.
static bool is_stub(uintptr_t function) {
    const unsigned char *code = (const unsigned char *)function;
#if defined(__x86_64__)
    static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (memcmp(code, landing, sizeof landing) == 0) code += sizeof landing;
    code += *code == 0xf2;
    return code[0] == 0xff && (code[1] == 0x25 || code[1] == 0x35);
#else
    return (void)code, false;
#endif
}

static void charge_at(ouro_thread *thread, ouro_block block, uint64_t time, uint64_t ticks) {
    ouro_position caller = ouro_reenter(thread, block);
    ouro_count(thread, METRIC_TIME, time);
    ouro_count(thread, METRIC_SAMPLES, ticks);
    ouro_exit(thread, caller);
}

// In the handler: false if there is no memory for the path.
static bool try_charge_at(ouro_thread *thread, ouro_block block, uint64_t time) {
    ouro_position caller = ouro_thread_position(thread);
    if (block == OURO_PHANTOM || !ouro_try_reenter(thread, block)) return false;
    ouro_native_count_tick(thread, METRIC_TIME, time);
    ouro_exit(thread, caller);
    return true;
}

static native_tick *tick_for(native_self *self, uintptr_t at) {
    size_t i = 0;
    while (i < self->tick_count && self->ticks[i].at != at) i++;
    if (i == NATIVE_TICKS) return NULL;
    if (i == self->tick_count) self->ticks[self->tick_count++] = (native_tick){.at = at};
    return &self->ticks[i];
}

// Charged already, to `block`: of a tick that has found another place before, that one.
static void note(native_self *self, uintptr_t at, ouro_block block, uint64_t time) {
    native_tick *tick = tick_for(self, at);
    if (!tick) return;
    bool same = !tick->count || tick->block == block;
    if (!same) return;
    tick->block = block;
    tick->time += time;
    tick->count++;
    self->limit = NULL;
}

bool ouro_native_uncounted_tick(uintptr_t at, ouro_thread *thread, uint64_t time) {
    native_self *self = &ouro_native_self;
    const module *m = module_of(at);
    uintptr_t function = m ? ouro_native_code_find(&m->code, at) : 0;
    if (!at) return false;
    if (m && !function) return try_charge_at(thread, m->block, time);
    uint32_t key = (uint32_t)function, top = self->top[-1].key;
    if (function && (top == key || top == ~key || is_stub(function))) return false;
    ouro_block block;
    if (function && find_function(function, &block)) return try_charge_at(thread, block, time);
    bool charged = m && try_charge_at(thread, m->block, time);
    if (!charged) ouro_native_count_tick(thread, METRIC_TIME, time);
    note(self, function ? function : at, charged ? m->block : OURO_PHANTOM, time);
    return true;
}

// ---------------------------------------------------------------- noted ticks

static void add_function(uintptr_t function) {
    ouro_block block;
    if (!ouro_native_block_of_uncounted(function, &block)) return;
    ouro_native_functions_lock(true);
    size_t i = place_of(function);
    if (!functions[i].function && function_count < FUNCTIONS_MOST) {
        function_count++;
        functions[i].block = block;
        __atomic_store_n(&functions[i].function, function, __ATOMIC_RELEASE);
    }
    ouro_native_functions_lock(false);
}

static void settle_one(native_self *self, native_tick tick) {
    if (!module_of(tick.at)) add_modules(tick.at);
    const module *m = module_of(tick.at);
    uintptr_t function = m ? ouro_native_code_find(&m->code, tick.at) : 0;
    ouro_block block = m ? m->block : OURO_PHANTOM;
    if (function) {
        ouro_block own;
        add_function(function);
        if (find_function(function, &own)) block = own;
    }
    if (block == tick.block) return;
    charge_at(self->thread, tick.block, -tick.time, -(uint64_t)tick.count);
    charge_at(self->thread, block, tick.time, tick.count);
}

void ouro_native_uncounted_settle(native_self *self) {
    for (size_t i = 0; i < self->tick_count; i++) settle_one(self, self->ticks[i]);
    self->tick_count = 0;
}

// A program that ends without another event.
__attribute__((destructor)) static void settle_at_exit(void) {
    native_section section;
    if (!ouro_native_self.tick_count || !ouro_native_section_begin(&section)) return;
    ouro_native_section_end(&section);
}

// ---------------------------------------------------------------- changes, under the lock

void ouro_native_uncounted_entered(uintptr_t function) {
    size_t i = place_of(function);
    if (functions[i].function)
        __atomic_store_n(&functions[i].block, OURO_PHANTOM, __ATOMIC_RELAXED);
}

void ouro_native_uncounted_forget(bool (*is_loaded)(const void *user, uintptr_t at),
                                  const void *user) {
    for (module *m = modules; m < modules + module_count; m++)
        if (!is_loaded(user, m->start)) __atomic_store_n(&m->size, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (functions[i].function > 1 && !is_loaded(user, functions[i].function))
            __atomic_store_n(&functions[i].function, 1, __ATOMIC_RELAXED);
}

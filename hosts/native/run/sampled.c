// SPDX-License-Identifier: MIT
//
// From records to paths. The addresses of a sample are those that the kernel found by frame
// pointers, or what unwind.c makes of the copy of the stack. At first both are made: if they agree,
// the program has frame pointers, and unwinding, which is dearer, ends. Each address belongs to a
// function, whose block is kept by address; the path of blocks is entered again in the profile
// (without calls, nobody counted any), and what the sample weighs is charged there.
//
// Waiting: when a thread leaves the processor there is a sample, whose path is kept; when the
// thread comes back, the time between is charged to it.
//
// Memory follows the code, the number of threads and the cap of the profile, not the running time.

#include "sampled.h"

#include "kernel.h"
#include "modules.h"
#include "unwind.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MOST = 4096,
    CHAIN_FULL = 127, // kernel.perf_event_max_stack
    BOTH_WAYS = 64,   // samples that are unwound both ways before one is chosen
    THREAD_BUCKETS = 1024
};
enum { METRIC_TIME, METRIC_SAMPLES, METRIC_WAITED };

typedef struct {
    uint64_t address; // as the file counts; the kernel's own
    uint32_t module;  // UINT32_MAX: the kernel
    ouro_block block; // 0: this place is free
    bool is_part;     // see symbols.h
} known_address;

typedef struct thread_state {
    struct thread_state *next;
    uint32_t tid;
    ouro_block root;  // its name; 0: none
    uint64_t left;    // when it left the processor; 0: it did not
    ouro_block *path; // where it was then, the innermost first
    size_t length, room;
} thread_state;

struct sampled {
    sampled_options options;
    ouro_profile *profile;
    ouro_thread *thread;
    symbols *symbols;
    modules modules;
    kernel kernel;
    bool kernel_is_read;
    known_address *known; // hash table
    size_t known_count, known_size;
    known_address *functions; // by the start of the function
    size_t function_count, function_size;
    known_address *named; // by a hash of name, file and line
    size_t named_count, named_size;
    thread_state *threads[THREAD_BUCKETS];
    ouro_block truncated, lost;
    unsigned both, agreed; // samples that were unwound both ways; of these with one result
    sampled_counts counts;
    uint64_t frames[FRAMES_MOST];
    ouro_block path[FRAMES_MOST + 4];      // the innermost first
    ouro_block from_root[FRAMES_MOST + 4]; // the path, the outermost first
    ouro_position tokens[FRAMES_MOST + 4];
};

// ---------------------------------------------------------------- life

sampled *sampled_new(const sampled_options *options) {
    ouro_metric_info metrics[] = {
        {options->event ? options->event : "time", options->event ? "count" : "nanoseconds"},
        {"samples", "count"},
        {"waited", "nanoseconds"}};
    sampled *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->options = *options;
    s->options.profile.metrics = metrics;
    s->options.profile.metric_count = options->waits ? 3 : 2;
    s->symbols = symbols_new(options->debug_folders);
    s->profile = s->symbols ? ouro_profile_new(&s->options.profile) : NULL;
    s->thread = s->profile ? ouro_thread_new(s->profile) : NULL;
    if (s->thread) return s;
    int error = errno;
    sampled_free(s);
    errno = error;
    return NULL;
}

void sampled_free(sampled *s) {
    for (size_t i = 0; i < THREAD_BUCKETS; i++) {
        for (thread_state *t = s->threads[i], *next; t; t = next) {
            next = t->next;
            free(t->path);
            free(t);
        }
    }
    ouro_thread_free(s->thread);
    ouro_profile_free(s->profile);
    if (s->symbols) symbols_free(s->symbols);
    modules_free(&s->modules);
    kernel_free(&s->kernel);
    free(s->known);
    free(s->functions);
    free(s->named);
    free(s);
}

sampled_counts sampled_count(const sampled *s) { return s->counts; }
ouro_profile *sampled_profile(sampled *s) { return s->profile; }

// ---------------------------------------------------------------- blocks

static size_t hash(uint32_t module, uint64_t address, size_t size) {
    uint64_t h = (address ^ (uint64_t)module << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 32) & (size - 1);
}

// The place of a key, or the free one where it belongs. The table has a free place always.
static known_address *slot(known_address *table, size_t size, uint32_t module, uint64_t address) {
    size_t i = hash(module, address, size);
    while (table[i].block && (table[i].address != address || table[i].module != module))
        i = (i + 1) & (size - 1);
    return &table[i];
}

// Makes room for one more. false without memory.
static bool reserve(known_address **table, size_t count, size_t *size) {
    if (count * 2 < *size) return true;
    size_t larger = *size ? *size * 2 : 1024;
    known_address *fresh = calloc(larger, sizeof *fresh);
    if (!fresh) return false;
    for (size_t i = 0; i < *size; i++) {
        const known_address *k = &(*table)[i];
        if (k->block) *slot(fresh, larger, k->module, k->address) = *k;
    }
    free(*table);
    *table = fresh;
    *size = larger;
    return true;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static ouro_block add_block(sampled *s, const char *name, const char *file, uint32_t line) {
    return ouro_add_block(s->profile, &(ouro_block_info){name, file, line, 0});
}

static uint64_t hash_text(uint64_t h, const char *text) {
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h * UINT64_C(0x100000001b3);
}

static bool is_named(const sampled *s, ouro_block block, const symbol *info) {
    ouro_block_info had;
    return ouro_block_get(s->profile, block, &had) && had.line == info->line &&
           strcmp(had.name, info->name) == 0 && strcmp(had.file, info->file) == 0;
}

// The block of a name, file and line: clones of a function have one.
static ouro_block named_block(sampled *s, const symbol *info) {
    uint64_t key = hash_text(hash_text(info->line, info->name), info->file);
    if (!reserve(&s->named, s->named_count, &s->named_size)) return OURO_PHANTOM;
    known_address *k = slot(s->named, s->named_size, 0, key);
    while (k->block && !is_named(s, k->block, info)) k = slot(s->named, s->named_size, 0, ++key);
    if (k->block) return k->block;
    *k = (known_address){key, 0, add_block(s, info->name, info->file, info->line), false};
    s->named_count += k->block != 0;
    return k->block;
}

// The block of the function that starts at `start` of a module.
static ouro_block function_block(sampled *s, uint32_t module, uint64_t start, const symbol *info) {
    if (!reserve(&s->functions, s->function_count, &s->function_size)) return OURO_PHANTOM;
    known_address *k = slot(s->functions, s->function_size, module, start);
    if (k->block) return k->block;
    *k = (known_address){start, module, named_block(s, info), false};
    s->function_count += k->block != 0;
    return k->block;
}

static ouro_block kernel_block(sampled *s, uint64_t address) {
    if (!s->kernel_is_read && !s->options.check_kernel) kernel_read(&s->kernel);
    s->kernel_is_read = true;
    const kernel_function *f = kernel_find(&s->kernel, address);
    symbol info = {.name = f ? f->name : "[kernel]", .file = f ? "[kernel]" : ""};
    return function_block(s, UINT32_MAX, f ? f->start : 0, &info);
}

// A function without a name is MODULE+0xSTART, as in programs with hooks, so that `ouro run
// --symbolise` can find its name later.
static ouro_block nameless_block(sampled *s, uint32_t module, uint64_t start) {
    const file_module *m = &s->modules.modules[module];
    char name[300], file[4400];
    snprintf(name, sizeof name, "%.250s+0x%llx", base_name(m->path), (unsigned long long)start);
    snprintf(file, sizeof file, m->build_id[0] ? "%.4096s (build id %s)" : "%.4096s", m->path,
             m->build_id);
    return function_block(s, module, start, &(symbol){.name = name, .file = file});
}

// Where not even that is known, the module stands for its functions.
static ouro_block module_block(sampled *s, uint32_t module, uint64_t address, bool *is_part) {
    const file_module *m = &s->modules.modules[module];
    symbol info = {0};
    char name[300];
    if (m->is_elf && symbols_containing(s->symbols, m->path, m->build_id, address, &info)) {
        *is_part = info.is_part;
        return function_block(s, module, info.start, &info);
    }
    if (info.start) return nameless_block(s, module, info.start);
    if (m->path[0] == '[')
        snprintf(name, sizeof name, "%.250s", m->path); // [vdso]
    else
        snprintf(name, sizeof name, "[%.250s]",
                 !m->path[0] || m->path[1] == '/' ? "anonymous" : base_name(m->path));
    return function_block(s, module, UINT64_MAX,
                          &(symbol){.name = name, .file = m->is_elf ? m->path : ""});
}

// The block of an address of a process, or of the kernel (p NULL).
static ouro_block block_of(sampled *s, const process *p, uint64_t address, bool *is_part) {
    const mapping *m = p ? modules_find(p, address) : NULL;
    *is_part = false;
    if (p && !m)
        return function_block(s, UINT32_MAX - 1, 0, &(symbol){.name = "[unknown]", .file = ""});
    uint32_t module = m ? m->module : UINT32_MAX;
    if (m) address -= m->bias;
    if (!reserve(&s->known, s->known_count, &s->known_size)) return OURO_PHANTOM;
    known_address *k = slot(s->known, s->known_size, module, address);
    if (!k->block) {
        ouro_block block = m ? module_block(s, module, address, is_part) : kernel_block(s, address);
        *k = (known_address){address, module, block, *is_part};
        s->known_count += block != 0;
    }
    *is_part = k->is_part;
    return k->block;
}

// ---------------------------------------------------------------- threads

static thread_state **thread_place(sampled *s, uint32_t tid) {
    thread_state **at = &s->threads[tid % THREAD_BUCKETS];
    while (*at && (*at)->tid != tid) at = &(*at)->next;
    return at;
}

static thread_state *thread_of(sampled *s, uint32_t tid) {
    thread_state **at = thread_place(s, tid);
    if (!*at && (*at = calloc(1, sizeof **at))) (*at)->tid = tid;
    return *at;
}

// Threads of one name share a block. There are few names; those of all threads are compared.
static ouro_block name_block(sampled *s, const char *name) {
    ouro_block_info info;
    for (size_t i = 0; i < THREAD_BUCKETS; i++) {
        for (thread_state *t = s->threads[i]; t; t = t->next) {
            if (t->root && ouro_block_get(s->profile, t->root, &info) && !strcmp(info.name, name))
                return t->root;
        }
    }
    return add_block(s, name, "[thread]", 0);
}

static void name_thread(sampled *s, uint32_t tid, const char *name) {
    thread_state *t = s->options.by_thread ? thread_of(s, tid) : NULL;
    if (t) t->root = name_block(s, name);
}

static void read_name(sampled *s, uint32_t pid, uint32_t tid) {
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
    FILE *in = fopen(path, "re");
    if (in && fgets(name, sizeof name, in)) {
        name[strcspn(name, "\n")] = '\0';
        name_thread(s, tid, name);
    }
    if (in) fclose(in);
}

static void thread_begins(sampled *s, const record *r) {
    thread_state *parent = *thread_place(s, r->parent_tid);
    ouro_block root = parent ? parent->root : 0;
    thread_state *t = root ? thread_of(s, r->tid) : NULL;
    if (t) t->root = root;
}

static void thread_ends(sampled *s, uint32_t tid) {
    thread_state **at = thread_place(s, tid), *t = *at;
    if (!t) return;
    *at = t->next;
    free(t->path);
    free(t);
}

// ---------------------------------------------------------------- paths

// Charges the path; the innermost block is the first.
static void charge(sampled *s, const ouro_block *path, size_t length, const uint64_t amounts[3]) {
    ouro_block *from_root = s->from_root;
    for (size_t i = length; i-- > 0;) {
        *from_root++ = path[i];
        s->tokens[i] = ouro_reenter(s->thread, path[i]);
    }
    ouro_note_stack(s->profile, s->from_root, length);
    for (ouro_metric m = 0; m < 3; m++) {
        if (amounts[m]) ouro_count(s->thread, m, amounts[m]);
    }
    for (size_t i = 0; i < length; i++) ouro_exit(s->thread, s->tokens[i]);
}

static bool is_context(uint64_t word) { return word >= (uint64_t)-4095; }

// The kernel's part of the chain goes into the path. The user's part begins at *user.
static size_t take_kernel(sampled *s, const record *r, size_t *user) {
    size_t n = 0;
    bool in_kernel = false;
    bool is_part;
    *user = r->chain_count;
    for (size_t i = 0; i < r->chain_count; i++) {
        uint64_t word = record_word(r->chain, i);
        if (is_context(word)) {
            in_kernel = word == (uint64_t)PERF_CONTEXT_KERNEL;
            if (word == (uint64_t)PERF_CONTEXT_USER) {
                *user = i + 1;
                return n;
            }
        } else if (in_kernel && n < FRAMES_MOST / 2) {
            s->path[n] = block_of(s, NULL, n ? word - 1 : word, &is_part);
            n++;
        }
    }
    return n;
}

// The user's part of the kernel's chain, by frame pointers.
static size_t take_chain(const record *r, size_t user, uint64_t *frames) {
    size_t n = 0;
    for (size_t i = user; i < r->chain_count && n < FRAMES_MOST; i++) {
        uint64_t word = record_word(r->chain, i);
        if (is_context(word)) break;
        frames[n] = n ? word - 1 : word;
        n++;
    }
    return n;
}

// The same, but for the caller of the innermost function: before that has made its frame, frame
// pointers skip it.
static bool agree(const record *r, size_t user, const uint64_t *frames, size_t count) {
    static uint64_t other[FRAMES_MOST];
    size_t n = take_chain(r, user, other);
    if (n == count) return memcmp(other, frames, n * sizeof *other) == 0;
    return n >= 2 && n + 1 == count && other[0] == frames[0] &&
           memcmp(other + 1, frames + 2, (n - 1) * sizeof *other) == 0;
}

static size_t take_user(sampled *s, const record_shape *shape, const record *r, process *p,
                        size_t user, bool *cut) {
    bool has_pointers = s->both >= BOTH_WAYS && s->agreed * 10 >= s->both * 9;
    size_t n = 0;
    if (!has_pointers || user >= r->chain_count) {
        n = unwind(&s->modules, p, r, shape->user_registers, s->frames, FRAMES_MOST, cut);
        if (n > 1 && s->both < BOTH_WAYS && user < r->chain_count) {
            s->both++;
            s->agreed += agree(r, user, s->frames, n);
        }
    }
    if (n > 1 || (n == 1 && user >= r->chain_count)) return n;
    n = take_chain(r, user, s->frames);
    *cut = r->chain_count >= CHAIN_FULL;
    if (!n && !r->in_kernel && r->ip) s->frames[n++] = r->ip;
    return n;
}

static size_t take_path(sampled *s, const record_shape *shape, const record *r) {
    process *p = modules_process(&s->modules, r->pid);
    size_t user;
    bool cut = false, is_part = false, was_part = false;
    size_t n = take_kernel(s, r, &user);
    if (!n && r->in_kernel && r->ip) s->path[n++] = block_of(s, NULL, r->ip, &is_part);
    size_t frames = p ? take_user(s, shape, r, p, user, &cut) : 0;
    for (size_t i = 0; i < frames && n < FRAMES_MOST; i++, was_part = is_part) {
        ouro_block block = block_of(s, p, s->frames[i], &is_part);
        // A function and its part are two frames of one call.
        bool is_same = was_part && !is_part && n && s->path[n - 1] == block;
        if (block != OURO_PHANTOM && !is_same) s->path[n++] = block;
    }
    if (cut) {
        if (!s->truncated) s->truncated = add_block(s, "[truncated]", "", 0);
        s->path[n++] = s->truncated;
        s->counts.cut++;
    }
    thread_state *t = s->options.by_thread ? thread_of(s, r->tid) : NULL;
    if (t && !t->root) read_name(s, r->pid, r->tid);
    if (t && t->root) s->path[n++] = t->root;
    return n;
}

// ---------------------------------------------------------------- waiting

// Samples of context switches have the period 1; those of the clock have thousands of nanoseconds.
static bool is_switch(const sampled *s, const record *r) {
    return s->options.waits && r->period == 1;
}

static void leave_processor(sampled *s, const record *r, size_t length) {
    thread_state *t = thread_of(s, r->tid);
    if (t && t->room < length) {
        ouro_block *grown = realloc(t->path, length * sizeof *grown);
        if (!grown) return;
        t->path = grown;
        t->room = length;
    }
    if (!t) return;
    if (length) memcpy(t->path, s->path, length * sizeof *t->path);
    t->length = length;
    t->left = r->time;
}

static void come_back(sampled *s, thread_state *t, uint64_t time) {
    if (!t || !t->left) return;
    uint64_t waited = time > t->left ? time - t->left : 0;
    charge(s, t->path, t->length, (uint64_t[]){waited, 0, waited});
    t->left = 0;
}

void sampled_end(sampled *s, uint64_t time) {
    for (size_t i = 0; i < THREAD_BUCKETS; i++) {
        for (thread_state *t = s->threads[i]; t; t = t->next) come_back(s, t, time);
    }
}

// ---------------------------------------------------------------- records

static void take_sample(sampled *s, const record_shape *shape, const record *r) {
    if (s->options.off && *s->options.off) return;
    size_t length = take_path(s, shape, r);
    if (is_switch(s, r)) {
        leave_processor(s, r, length);
        return;
    }
    s->counts.samples++;
    charge(s, s->path, length, (uint64_t[]){r->period, 1, 0});
}

void sampled_lost(sampled *s, uint64_t count) {
    s->counts.lost += count;
    if (!count || !s->options.lost_period) return;
    if (!s->lost) s->lost = add_block(s, "[lost]", "", 0);
    charge(s, &s->lost, 1, (uint64_t[]){count * s->options.lost_period, count, 0});
}

// The kernel is at another place after each boot, and only here its names are right.
static void check_kernel(sampled *s, const record *r) {
    if (!s->options.check_kernel || strncmp(r->name, "[kernel.kallsyms]", 17) != 0) return;
    if (!s->kernel.count) kernel_read(&s->kernel);
    s->kernel_is_read = true;
    const kernel_function *f = kernel_find(&s->kernel, r->start);
    if (!f || f->start != r->start) kernel_free(&s->kernel);
}

void sampled_expect(sampled *s, const char *path, const unsigned char *build_id, size_t size) {
    modules_expect(&s->modules, path, build_id, size);
}

void sampled_attach(sampled *s, uint32_t pid) { modules_read_maps(&s->modules, pid); }

void sampled_record(sampled *s, const record_shape *shape, const unsigned char *bytes,
                    size_t size) {
    record r;
    if (!record_parse(shape, bytes, size, &r)) {
        s->counts.broken++;
        return;
    }
    switch (r.kind) {
    case RECORD_SAMPLE:
        take_sample(s, shape, &r);
        break;
    case RECORD_MAP:
        if (r.in_kernel)
            check_kernel(s, &r);
        else
            modules_map(&s->modules, r.pid, r.start, r.length, r.offset, r.name);
        break;
    case RECORD_NAME:
        if (r.fresh) {
            process *p = modules_process(&s->modules, r.pid);
            if (p) modules_clear(p);
        }
        name_thread(s, r.tid, r.name);
        break;
    case RECORD_FORK:
        modules_fork(&s->modules, r.parent_pid, r.pid);
        thread_begins(s, &r);
        break;
    case RECORD_EXIT:
        if (r.pid == r.tid) modules_exit(&s->modules, r.pid);
        thread_ends(s, r.tid);
        break;
    case RECORD_SWITCH:
        if (!r.out) come_back(s, *thread_place(s, r.tid), r.time);
        break;
    case RECORD_LOST:
        sampled_lost(s, r.lost);
        break;
    case RECORD_OTHER:
        break;
    }
}

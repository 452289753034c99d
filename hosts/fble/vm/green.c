// SPDX-License-Identifier: MIT
//
// Green threads, for /Std/Io/Thread%: many stacks, one OS thread, and a switch only where a thread
// waits, yields or ends. The ready threads are in a queue. A link is an unbounded queue of values
// with two ends: `put` never waits, `get` waits while it is empty. A thread that waits is in the
// list of the link or of the thread that it waits for, and is woken with the value. If no thread is
// ready, the program has failed: deadlock.
//
// In a profile, a forked thread starts where its parent stood, and a link's get and put carry the
// name and location of the call that made the link. All of that is done by natives that only
// machines with a profile register.

#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { FORKED_CHUNK = 128 };

static const struct fble_site start_site;
// A thread that has not run yet: the function and, as an immediate, its argument.
static const struct fble_site start_call = {.slots = FBLE_FP_ARGS + 1, .live = {1 << FBLE_FP_SELF}};
static uint64_t thread_end[4];

__attribute__((constructor)) static void make_thread_end(void) {
    thread_end[0] = fble_return_word(FBLE_FP_SELF, 0, 0);
    thread_end[1] = fble_pointer(&start_site);
    thread_end[2] = (uint64_t)(uintptr_t)fble_interpret;
    thread_end[3] = FBLE_OP_THREAD_END;
}

struct fble_thread *fble_thread_new(struct fble_machine *m, size_t slots) {
    struct fble_thread *t = fble_take(sizeof *t);
    *t = (struct fble_thread){.older = m->threads};
    t->last_waiter = &t->waiters;
    if (m->threads) m->threads->newer = t;
    m->threads = t;
    fble_stack_start(m, t, slots);
    return t;
}

void fble_thread_free(struct fble_machine *m, struct fble_thread *t) {
    if (t->newer)
        t->newer->older = t->older;
    else
        m->threads = t->older;
    if (t->older) t->older->newer = t->newer;
    fble_stack_free(m, t);
    ouro_thread_free(t->profile);
    free(t);
}

static void make_ready(struct fble_machine *m, struct fble_thread *t, fble_value value) {
    t->value = value;
    t->state = FBLE_THREAD_READY;
    t->touched = true; // a collection must see the value
    t->next = NULL;
    *m->last_ready = t;
    m->last_ready = &t->next;
}

// The next ready thread runs. The result is what a native returns then.
static fble_value run_next(struct fble_machine *m) {
    struct fble_thread *t = m->ready;
    if (!t) {
        fble_fail_native(m, "deadlock: all threads wait");
        return 0;
    }
    m->ready = t->next;
    if (!m->ready) m->last_ready = &m->ready;
    t->next = NULL;
    t->touched = true;
    fble_set_running(m, t);
    m->fp = t->fp;
    m->pc = t->pc;
    m->site = t->site;
    fble_set_stack_limit(m, t->chunk->limit);
    return 0;
}

// The running thread, which is in a native, stops; it will return what it is woken with.
static bool stop_here(struct fble_machine *m) {
    struct fble_thread *t = m->thread;
    if (m->runs > 1) {
        fble_fail_native(m, "a function that was called by C cannot wait for other threads");
        return false;
    }
    t->fp = m->fp;
    t->pc = fble_resume_code;
    t->site = m->site;
    t->state = FBLE_THREAD_WAITING;
    t->touched = true; // also if it has run on after a collection
    t->next = NULL;
    return true;
}

// Returns (function, unit) to be called by a new thread when its turn comes.
static struct fble_thread *fork_thread(struct fble_machine *m, fble_value function) {
    struct fble_thread *t = fble_thread_new(m, FORKED_CHUNK);
    uint64_t *callee = t->fp + FBLE_FP_ARGS + 1;
    callee[FBLE_FP_RETURN] = fble_pointer(thread_end + 3);
    callee[FBLE_FP_CALLER] = fble_pointer(t->fp);
    callee[FBLE_FP_SELF] = function;
    callee[FBLE_FP_ARGS] = 3; // one argument, see apply.c
    callee[FBLE_FP_ARGS + 1] = FBLE_UNIT;
    t->fp = callee;
    t->pc = fble_rests[FBLE_BY_CALL] + FBLE_REST_PC;
    t->site = &start_call;
    return t;
}

static __attribute__((noinline)) fble_value native_fork(struct fble_machine *m,
                                                        fble_value *arguments) {
    fble_reserve(m, 16);
    struct fble_object *object = fble_new(m, FBLE_HEADER(FBLE_THREAD, 0, 1));
    struct fble_thread *t = fork_thread(m, arguments[0]);
    object->words[0] = fble_pointer(t) | 1;
    t->object = object;
    make_ready(m, t, 0);
    return fble_pointer(object);
}

static fble_value native_wait(struct fble_machine *m, fble_value *arguments) {
    struct fble_thread *t = fble_thread_of(fble_object(fble_force(arguments[0])));
    if (t->state == FBLE_THREAD_DONE) return t->value;
    if (!stop_here(m)) return 0;
    *t->last_waiter = m->thread;
    t->last_waiter = &m->thread->next;
    return run_next(m);
}

static fble_value native_yield(struct fble_machine *m, fble_value *arguments) {
    (void)arguments;
    if (!m->ready) return FBLE_UNIT;
    if (!stop_here(m)) return 0;
    make_ready(m, m->thread, FBLE_UNIT);
    return run_next(m);
}

void fble_thread_ended(struct fble_machine *m) {
    struct fble_thread *t = m->thread;
    t->state = FBLE_THREAD_DONE;
    t->value = m->value;
    t->touched = true;
    m->value = 0;
    for (struct fble_thread *next, *w = t->waiters; w; w = next) {
        next = w->next;
        make_ready(m, w, t->value);
    }
    t->waiters = NULL;
    t->last_waiter = &t->waiters;
    run_next(m);
    if (m->failed) return;
    fble_stack_free(m, t);
}

// ---------------------------------------------------------------- links

enum { FIRST, LAST, WAITERS, LAST_WAITER, LINK_WORDS };

static struct fble_object *link_of(const struct fble_machine *m) {
    return fble_object(fble_object(m->fp[FBLE_FP_SELF])->words[1]);
}

static struct fble_thread *waiter(const struct fble_object *link, unsigned which) {
    return (struct fble_thread *)(uintptr_t)(link->words[which] & ~(fble_value)1);
}

static fble_value native_get(struct fble_machine *m, fble_value *arguments) {
    struct fble_object *link = link_of(m);
    (void)arguments;
    if (link->words[FIRST] != FBLE_UNIT) {
        struct fble_object *cell = fble_object(link->words[FIRST]);
        link->words[FIRST] = cell->words[1];
        if (cell->words[1] == FBLE_UNIT) link->words[LAST] = FBLE_UNIT;
        fble_changed(m, link);
        return cell->words[0];
    }
    if (!stop_here(m)) return 0;
    if (waiter(link, WAITERS))
        waiter(link, LAST_WAITER)->next = m->thread;
    else
        link->words[WAITERS] = fble_pointer(m->thread) | 1;
    link->words[LAST_WAITER] = fble_pointer(m->thread) | 1;
    return run_next(m);
}

static fble_value native_put(struct fble_machine *m, fble_value *arguments) {
    struct fble_object *link = link_of(m);
    struct fble_thread *first = waiter(link, WAITERS);
    if (first) {
        link->words[WAITERS] = fble_pointer(first->next) | 1;
        make_ready(m, first, arguments[0]);
        return FBLE_UNIT;
    }
    fble_reserve(m, FBLE_LIST_CELL_BYTES);
    link = link_of(m);
    struct fble_object *cell = fble_new(m, FBLE_HEADER(FBLE_STRUCT, 0, 2));
    cell->words[0] = arguments[0];
    cell->words[1] = FBLE_UNIT;
    if (link->words[LAST] == FBLE_UNIT) {
        link->words[FIRST] = fble_pointer(cell);
    } else {
        struct fble_object *last = fble_object(link->words[LAST]);
        last->words[1] = fble_pointer(cell);
        fble_changed(m, last);
    }
    link->words[LAST] = fble_pointer(cell);
    fble_changed(m, link);
    return FBLE_UNIT;
}

// The two functions of a link, for links made at one site.
struct link_block {
    const struct fble_site *site;
    const struct fble_code *get, *put;
};

static struct fble_object *end_of_link(struct fble_machine *m, const struct fble_code *code,
                                       const struct fble_object *link) {
    struct fble_object *end = fble_new(m, FBLE_HEADER(FBLE_CLOSURE, code->arity, 2));
    end->words[0] = fble_pointer(code);
    end->words[1] = fble_pointer(link);
    return end;
}

// Not inlined, so that a build without profiling has the same instructions.
static __attribute__((noinline)) fble_value make_link(struct fble_machine *m,
                                                      const struct link_block *block) {
    fble_reserve(m, fble_bytes_of_words(LINK_WORDS) + 3 * fble_bytes_of_words(2));
    struct fble_object *link = fble_new(m, FBLE_HEADER(FBLE_LINK, 0, LINK_WORDS));
    link->words[FIRST] = link->words[LAST] = FBLE_UNIT;
    link->words[WAITERS] = link->words[LAST_WAITER] = 1;
    struct fble_object *get = end_of_link(m, block->get, link);
    struct fble_object *put = end_of_link(m, block->put, link);
    struct fble_object *both = fble_new(m, FBLE_HEADER(FBLE_STRUCT, 0, 2));
    both->words[0] = fble_pointer(get);
    both->words[1] = fble_pointer(put);
    return fble_pointer(both);
}

static struct link_block *add_block(struct fble_machine *m, const struct fble_site *site,
                                    ouro_block get, ouro_block put) {
    struct link_block *block = fble_take(sizeof *block);
    *block = (struct link_block){site, &fble_native_code(m, "get", native_get, 1, get)->code,
                                 &fble_native_code(m, "put", native_put, 2, put)->code};
    fble_vector_add(&m->link_blocks, block);
    return block;
}

// The first one is for links whose site is not known or does not matter.
static fble_value native_link(struct fble_machine *m, fble_value *arguments) {
    (void)arguments;
    return make_link(m, m->link_blocks.at[0]);
}

// ---------------------------------------------------------------- with a profile

#ifndef FBLE_NO_PROFILE
static fble_value native_fork_profiled(struct fble_machine *m, fble_value *arguments) {
    fble_value thread = native_fork(m, arguments);
    fble_thread_of(fble_object(thread))->profile = ouro_thread_fork(m->thread->profile);
    return thread;
}

static ouro_block end_block(struct fble_machine *m, const struct fble_site *site, const char *end) {
    char *name = NULL;
    if (asprintf(&name, "%s.%s", site->code->name, end) < 0) fble_no_memory();
    ouro_block block = ouro_add_block(
        m->profile, &(ouro_block_info){name, site->code->file, site->line, site->column});
    free(name);
    return block;
}

static struct link_block *block_of(struct fble_machine *m, const struct fble_site *site) {
    for (size_t i = 0; i < m->link_blocks.count; i++)
        if (((struct link_block *)m->link_blocks.at[i])->site == site) return m->link_blocks.at[i];
    ouro_block get = end_block(m, site, "get"), put = end_block(m, site, "put");
    return add_block(m, site, get, put);
}

// The newest frame of the program itself is the link's site.
static fble_value native_link_profiled(struct fble_machine *m, fble_value *arguments) {
    struct fble_frame frame = {m->fp, NULL};
    while (fble_frame_next(&frame))
        if (frame.site->code) break; // natives have none
    if (!frame.site || !frame.site->code) return native_link(m, arguments);
    return make_link(m, block_of(m, frame.site));
}
#endif

void fble_register_threads(struct fble_machine *m, const char *module) {
    if (!m->link_blocks.count) add_block(m, NULL, OURO_PHANTOM, OURO_PHANTOM);
    fble_register_native(m, module, "Fork", 2, native_fork);
    fble_register_native(m, module, "Wait", 2, native_wait);
    fble_register_native(m, module, "Link", 1, native_link);
    fble_register_native(m, module, "Yield", 1, native_yield);
#ifndef FBLE_NO_PROFILE
    if (!m->profile) return;
    fble_register_native(m, module, "Fork", 2, native_fork_profiled);
    fble_register_native(m, module, "Link", 1, native_link_profiled);
#endif
}

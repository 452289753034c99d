// SPDX-License-Identifier: MIT
//
// The collector: copying, in two generations. A small collection moves what is alive in the nursery
// to the old part; a full one moves everything that is alive to new blocks and frees the others.
// Objects wait to be scanned in the order in which they were copied, so there is no recursion and
// no stack, however long a list is. Cycles need no care.
//
// Values never change, so an old object can refer to the nursery only if it is one of the few that
// do change: placeholders, links. Those are remembered when they change. Globals change while their
// module is evaluated. Frames below a thread's barrier were seen by the last collection and have
// not run since (stack.c), so a deep stack is not scanned again and again.
//
// Roots: live slots of frames as their sites say, globals, references of the C API, threads that
// can run. A thread that waits is kept by what it waits for.

#include "machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LITTLE = 4 << 20, // bytes of the old part that may be dead for ever
    // Bytes that are allocated per byte that a full collection looks at without need.
    PATIENCE = 2,
    MOST_PATIENCE = 512,
};

struct collection {
    struct fble_machine *machine;
    struct fble_blocks *to;
    struct fble_block *block; // being scanned,
    size_t at;                // from here
    bool full;
    struct fble_vector threads; // marked, not scanned
};

static void *old_alloc(struct fble_blocks *blocks, size_t bytes) {
    struct fble_block *last = blocks->last;
    if (!last || last->size - last->used < bytes) last = fble_blocks_add(blocks, bytes);
    void *object = last->data + last->used;
    last->used += bytes;
    blocks->bytes += bytes;
    return object;
}

// Most objects have two words or three: calling memcpy takes longer than copying them.
static void copy_words(fble_value *to, const fble_value *from, uint32_t count) {
    if (count > 8) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        __asm__("" : "+r"(i)); // else gcc calls memcpy here, too
        to[i] = from[i];
    }
}

static struct fble_object *move(struct collection *c, struct fble_object *object) {
    uint64_t header = object->header;
    struct fble_object *copy = old_alloc(c->to, fble_object_bytes(header));
    copy->header = header;
    copy_words(copy->words, object->words, fble_count(header));
    object->header = fble_pointer(copy);
    return copy;
}

static fble_value forward(struct collection *c, fble_value value) {
    for (;;) {
        if (fble_is_immediate(value)) return value;
        struct fble_object *object = fble_object(value);
        if (!c->full && !fble_in_nursery(c->machine, object)) return value;
        uint64_t header = object->header;
        if (!(header & 1)) return header;
        if (header & FBLE_STATIC_FLAG) return value;
        if (fble_kind(header) != FBLE_PLACEHOLDER || object->words[0] == FBLE_NOT_YET)
            return fble_pointer(move(c, object));
        value = object->words[0];
    }
}

static void forward_all(struct collection *c, fble_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) values[i] = forward(c, values[i]);
}

static void mark_thread(struct collection *c, struct fble_thread *thread) {
    if (!thread || thread->marked) return;
    thread->marked = true;
    fble_vector_add(&c->threads, thread);
}

static void mark_threads(struct collection *c, struct fble_thread *first) {
    for (; first; first = first->next) mark_thread(c, first);
}

static void scan_object(struct collection *c, struct fble_object *object) {
    uint32_t count = fble_count(object->header);
    switch (fble_kind(object->header)) {
    case FBLE_CLOSURE: // the first word is the code
        forward_all(c, object->words + 1, count - 1);
        break;
    case FBLE_PLACEHOLDER: // not resolved, or remembered because it was
        object->words[0] = forward(c, object->words[0]);
        break;
    case FBLE_LINK:
        forward_all(c, object->words, 2);
        if (c->full)
            mark_threads(c, (struct fble_thread *)(uintptr_t)(object->words[2] & ~(fble_value)1));
        break;
    case FBLE_THREAD:
        if (c->full) mark_thread(c, fble_thread_of(object));
        break;
    case FBLE_HANDLE:
        break;
    default:
        forward_all(c, object->words, count);
    }
}

static void scan_frame(struct collection *c, uint64_t *fp, const struct fble_site *site) {
    if (site->slots == FBLE_SITE_REST) { // fp[4] says how many
        forward_all(c, fp + FBLE_FP_ARGS + 1, (size_t)(fp[FBLE_FP_ARGS] >> 1));
        return;
    }
    if (site->slots == FBLE_SITE_ARGS) { // of a call that is being made
        fp[FBLE_FP_SELF] = forward(c, fp[FBLE_FP_SELF]);
        forward_all(c, fp + FBLE_FP_ARGS, c->machine->argument_count);
        return;
    }
    for (uint32_t word = 0; word * 64 < site->slots; word++)
        for (uint64_t bits = site->live[word]; bits; bits &= bits - 1) {
            fble_value *slot = fp + word * 64 + (unsigned)__builtin_ctzll(bits);
            *slot = forward(c, *slot);
        }
}

// Frames below the barrier have no pointers into the nursery. The new barrier stands below the
// newest frame, so that most of them are not seen a second time.
static void scan_stack(struct collection *c, struct fble_thread *thread) {
    uint64_t *seen = c->full ? NULL : thread->barrier_fp;
    struct fble_frame frame = {thread->fp, thread->site};
    fble_barrier_clear(thread);
    do {
        scan_frame(c, frame.fp, frame.site);
        if (frame.fp == seen) break;
    } while (fble_frame_next(&frame));
    fble_barrier_set(thread, thread->fp);
    thread->touched = false;
}

static void scan_thread(struct collection *c, struct fble_thread *thread) {
    if (thread->value) thread->value = forward(c, thread->value);
    if (thread->state != FBLE_THREAD_DONE) scan_stack(c, thread);
    if (c->full) mark_threads(c, thread->waiters);
}

static void scan_roots(struct collection *c) {
    struct fble_machine *m = c->machine;
    for (size_t i = c->full ? 0 : m->roots_seen; i < m->roots.count; i += 2)
        forward_all(c, m->roots.at[i], (size_t)(uintptr_t)m->roots.at[i + 1]);
    forward_all(c, m->refs, m->ref_count);
    if (m->value) m->value = forward(c, m->value);
    if (!c->full)
        for (size_t i = 0; i < m->remembered.count; i++) scan_object(c, m->remembered.at[i]);
    for (struct fble_thread *t = m->threads; t; t = t->older)
        if (c->full ? t == m->thread || t == m->main_thread || t->state == FBLE_THREAD_READY
                    : t->touched)
            mark_thread(c, t);
}

// Until nothing is left that was copied and not looked at.
static void scan_copies(struct collection *c) {
    for (;;) {
        if (c->threads.count) {
            scan_thread(c, c->threads.at[--c->threads.count]);
        } else if (!c->block) {
            if (!c->to->first) return;
            c->block = c->to->first;
            c->at = 0;
        } else if (c->at < c->block->used) {
            struct fble_object *object = (struct fble_object *)(void *)(c->block->data + c->at);
            c->at += fble_object_bytes(object->header);
            scan_object(c, object);
        } else if (c->block->next) {
            c->block = c->block->next;
            c->at = 0;
        } else {
            return;
        }
    }
}

// True: the object is still there, at its new address.
static bool survived(struct collection *c, struct fble_object **object) {
    if (!c->full && !fble_in_nursery(c->machine, *object)) return true;
    if ((*object)->header & 1) return false;
    *object = fble_object((*object)->header);
    return true;
}

static void free_handles(struct collection *c) {
    struct fble_vector *handles = &c->machine->handles;
    size_t kept = 0;
    for (size_t i = 0; i < handles->count; i++) {
        struct fble_handle *handle = handles->at[i];
        if (survived(c, &handle->object)) {
            handles->at[kept++] = handle;
            continue;
        }
        if (handle->free) handle->free(handle->data);
        free(handle);
    }
    handles->count = kept;
}

// Threads that ended and that nobody can ask for their result, and, in a full collection, threads
// that wait for what cannot come.
static void free_threads(struct collection *c) {
    struct fble_machine *m = c->machine;
    for (struct fble_thread *older, *t = m->threads; t; t = older) {
        older = t->older;
        if (t->object && !survived(c, &t->object)) t->object = NULL;
        bool needed = t->state == FBLE_THREAD_DONE ? t->object != NULL : !c->full || t->marked;
        if (t != m->main_thread && t != m->thread && !needed)
            fble_thread_free(m, t);
        else
            t->marked = false;
    }
}

static void collect(struct fble_machine *m, bool full) {
    struct fble_blocks fresh = {.spare = m->old.spare, .spares = m->old.spares};
    struct collection c = {.machine = m, .to = full ? &fresh : &m->old, .full = full};
    struct fble_block *last = full ? NULL : m->old.last; // what is copied comes after it
    size_t used = last ? last->used : 0;
    c.block = last;
    c.at = used;
    m->thread->fp = m->fp;
    m->thread->site = m->site;
    m->thread->touched = true;
    scan_roots(&c);
    scan_copies(&c);
    free_handles(&c);
    free_threads(&c);
    if (full) {
        fble_blocks_replace(&m->old, &fresh, !m->step);
        m->full_collections++;
    }
    m->collections++;
    m->remembered.count = 0;
    // Only the newest module can still be in evaluation.
    m->roots_seen = m->roots.count ? m->roots.count - 2 : 0;
    free(c.threads.at);
    assert(fble_heap_is_valid(m, last ? last : m->old.first, used));
}

// Peak of the bytes in use. Between collections it can only be the sum of what was there after the
// last one and what has come since.
static void measure(struct fble_machine *m) {
    size_t now = m->old.bytes + (size_t)(m->hp - m->nursery) + m->stack_bytes;
    if (now > m->peak) m->peak = now;
}

// Tests that collect at every turn also get a new nursery each time, and no spare blocks: what was
// forgotten is then in freed memory.
static void restart_nursery(struct fble_machine *m, size_t bytes) {
    size_t size = (size_t)(m->nursery_end - m->nursery);
    size_t wanted = bytes > m->nursery_size ? bytes : m->nursery_size;
    if (m->step || size != wanted) {
        fble_nursery_free(m);
        fble_nursery_new(m, wanted);
    }
    m->hp = m->counted = m->nursery;
    m->heap_limit = m->nursery_end;
    if (m->step && bytes + m->step < wanted) m->heap_limit = m->nursery + bytes + m->step;
}

// The old part has not grown much, but it may be dead, and a program that keeps nothing would never
// see it grow. So it is looked at from time to time, ever more seldom if that was for nothing.
static bool is_long_ago(const struct fble_machine *m) {
    return m->old.bytes > LITTLE &&
           m->since_full / (m->patience + PATIENCE) > m->old.bytes + m->stack_bytes;
}

static void collect_fully(struct fble_machine *m, bool for_age) {
    size_t before = m->old.bytes;
    collect(m, true);
    m->since_full = 0;
    size_t twice = 2 * m->old.bytes;
    m->full_at = twice > ((size_t)8 << 20) ? twice : (size_t)8 << 20;
    m->full_at += m->nursery_size;
    if (!for_age) return;
    m->patience = m->old.bytes < before / 2 ? 0 : 4 * (m->patience + PATIENCE);
    if (m->patience > MOST_PATIENCE) m->patience = MOST_PATIENCE;
}

void fble_collect(struct fble_machine *m, size_t bytes) {
    assert(m->hp <= m->heap_limit); // whoever allocated had made room for it
    m->collecting = true;
    size_t young = (size_t)(m->hp - m->nursery);
    measure(m);
    m->since_full += young;
    bool grown = m->old.bytes + young > m->full_at;
    if (m->step)
        collect(m, true);
    else if (grown || is_long_ago(m))
        collect_fully(m, !grown);
    else
        collect(m, false);
    restart_nursery(m, bytes);
    m->collecting = false;
}

void fble_collect_all(struct fble_machine *m) {
    measure(m);
    collect(m, true);
    restart_nursery(m, 0);
}

void fble_add_root(struct fble_machine *machine, fble_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) values[i] = FBLE_UNIT;
    fble_vector_add(&machine->roots, values);
    fble_vector_add(&machine->roots, (void *)(uintptr_t)count);
}

size_t fble_peak(const fble_machine *machine) { return machine->peak; }

void fble_peak_reset(fble_machine *machine) {
    fble_collect_all(machine);
    machine->peak = machine->old.bytes + machine->stack_bytes;
}

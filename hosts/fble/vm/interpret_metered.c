// SPDX-License-Identifier: MIT
//
// The interpreter with any metrics: instructions all or by period, objects, bytes. What was
// allocated is charged when the position changes, so that it costs an addition per object.

#include "machine.h"

#ifndef FBLE_NO_PROFILE

// With a period, instructions are charged that many at a time, to the place where the last of them
// falls.
static inline void charge(struct fble_machine *m, ouro_thread *thread, uint64_t n) {
    m->pending += n;
    if (m->pending < m->period) return;
    uint64_t rest = m->pending % m->period;
    ouro_count(thread, m->metric_instructions, m->pending - rest);
    m->pending = rest;
}

static inline void flush(const struct fble_machine *m, ouro_thread *thread, uint64_t *objects,
                         uint64_t *bytes) {
    if (!*objects) return;
    ouro_count(thread, m->metric_objects, *objects);
    ouro_count(thread, m->metric_bytes, *bytes);
    *objects = *bytes = 0;
}

// What a native allocated: everything between two places of the nursery. What it allocated before
// a collection that it caused is not counted.
static void count_new(const struct fble_machine *m, const char *from, uint64_t *objects,
                      uint64_t *bytes) {
    if (from < m->nursery || from > m->hp) from = m->nursery;
    while (from < m->hp) {
        size_t size = fble_object_bytes(((const struct fble_object *)(const void *)from)->header);
        ++*objects;
        *bytes += size;
        from += size;
    }
}

#define MODE 2
#define INTERPRET fble_interpret_metered
#include "loop.h"
#endif

// SPDX-License-Identifier: MIT
//
// The interpreter with any metrics: instructions all or by period, objects, bytes. What was
// allocated is charged when the position changes, so that it costs an addition per object.

#include "machine.h"

#ifndef FBLE_NO_PROFILE

// With a period, instructions are charged that many at a time, to the place where the last of
// them falls.
static inline void charge(struct fble_machine *m, ouro_thread *thread, uint64_t n) {
    uint64_t *pending = fble_pending(m);
    *pending += n;
    if (*pending < m->period) return;
    uint64_t rest = *pending % m->period;
    ouro_count(thread, m->metric_instructions, *pending - rest);
    *pending = rest;
}

static inline void flush(const struct fble_machine *m, ouro_thread *thread, uint64_t *objects,
                         uint64_t *bytes) {
    if (!*objects) return;
    ouro_count(thread, m->metric_objects, *objects);
    ouro_count(thread, m->metric_bytes, *bytes);
    *objects = *bytes = 0;
}

// What C code allocated, that is natives and partial applications: everything that is new in the
// nursery and that no run which it asked for has counted. What a native allocated before a
// collection that it caused is not counted.
static void count_new(struct fble_machine *m, uint64_t *objects, uint64_t *bytes) {
    while (m->counted < m->hp) {
        size_t size =
            fble_object_bytes(((const struct fble_object *)(const void *)m->counted)->header);
        ++*objects;
        *bytes += size;
        m->counted += size;
    }
}

#define MODE METERED
#define INTERPRET fble_interpret_metered
#include "loop.h"
#endif

// SPDX-License-Identifier: MIT
//
// Which trees are kept, and how they fit. Each kind has `slots` trees and one spare slot, which the
// next tree is written to; the slot of the tree that goes is the new spare one. A slice that is
// kept for several reasons has several copies.
//
// A tree that is larger than the largest slot loses its smallest paths, by what slow means: they
// are added up in `rest`, so that the totals stay exact. The inclusive weight of a path is at least
// that of each path below it, so what stays is a tree. Not the exact order, but their powers of two
// tell which go: that takes a few passes and no sort.

#include "live_format.h"
#include "slices.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Zeroed memory: in the live file if there is one. NULL: none.
void *ouro__slices_memory(ouro__lane *lane, uint32_t part, size_t bytes, uint64_t *offset,
                          bool *mapped) {
    *offset = 0;
    *mapped = !ouro__live_has_file(lane->profile->live);
    if (!*mapped)
        return ouro__live_add_part(lane->profile->live, lane, LIVE_SLICES, part, bytes, offset);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// ---------------------------------------------------------------- trees that are too large

typedef struct {
    uint32_t *pending; // children that are not in `order`
    uint32_t *order;   // children before parents, without the root
    uint32_t *to;      // where a record goes; NO_RECORD: nowhere
    uint64_t *weights; // inclusive
} fitting;

#define NO_RECORD UINT32_MAX

static bool fit_reserve(struct ouro__slices *s, uint32_t n, fitting *f) {
    if (n > s->fit_room) {
        uint32_t room = n + n / 2;
        uint32_t *fit = realloc(s->fit, 3 * (size_t)room * sizeof *fit);
        if (fit) s->fit = fit;
        uint64_t *weights = fit ? realloc(s->fit_weights, room * sizeof *weights) : NULL;
        if (!weights) return false;
        s->fit_weights = weights;
        s->fit_room = room;
    }
    *f = (fitting){s->fit, s->fit + s->fit_room, s->fit + 2 * (size_t)s->fit_room, s->fit_weights};
    memset(f->pending, 0, n * sizeof *f->pending);
    return true;
}

// The value that tells what is small: what slow means, or the first metric that has anything.
static uint32_t measure(const struct ouro__slices *s, const slices_ended *ended) {
    uint32_t by = s->area->by;
    if (by && ended->totals[ENTRY_KINDS + by - 1]) return ENTRY_KINDS + by - 1;
    for (uint32_t v = ENTRY_KINDS; v < s->width; v++) {
        if (ended->totals[v]) return v;
    }
    return ENTRY_TREE;
}

static void sum_weights(const struct ouro__slices *s, fitting *f, uint32_t value) {
    uint32_t n = s->record_count, count = 0;
    for (uint32_t i = 0; i < n; i++) {
        const slices_record *r = slices_record_at(s->records, s->width, i);
        f->weights[i] = r->values[value];
        if (i > 0) f->pending[r->parent]++;
    }
    for (uint32_t i = 1; i < n; i++) {
        if (!f->pending[i]) f->order[count++] = i;
    }
    for (uint32_t head = 0; head < count; head++) {
        uint32_t parent = slices_record_at(s->records, s->width, f->order[head])->parent;
        f->weights[parent] += f->weights[f->order[head]];
        if (--f->pending[parent] == 0 && parent != 0) f->order[count++] = parent;
    }
}

static uint32_t power_of(uint64_t weight) {
    return weight ? 64 - (uint32_t)__builtin_clzll(weight) : 0;
}

// All above a power of two stay. Of that power itself as many stay as there is room for, and
// parents come before their children.
static void choose(const struct ouro__slices *s, fitting *f, uint32_t room) {
    uint32_t n = s->record_count, counts[65] = {0}, above = 0, cut = 64;
    for (uint32_t i = 0; i < n; i++) counts[power_of(f->weights[i])]++;
    while (cut > 0 && above + counts[cut] <= room) above += counts[cut--];
    uint32_t left = room - above;
    for (uint32_t k = n; k-- > 0;) {
        uint32_t i = k == n - 1 ? 0 : f->order[k];
        uint32_t parent = slices_record_at(s->records, s->width, i)->parent;
        uint32_t power = power_of(f->weights[i]);
        bool stays = (i == 0 || f->to[parent] != NO_RECORD) && power >= cut;
        if (stays && power == cut) {
            stays = left > 0;
            if (stays) left--;
        }
        f->to[i] = stays ? 0 : NO_RECORD;
    }
}

static void move_records(struct ouro__slices *s, const fitting *f, slices_ended *ended) {
    uint32_t n = s->record_count, count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (f->to[i] != NO_RECORD) f->to[i] = count++;
    }
    for (uint32_t i = 0; i < n; i++) {
        slices_record *r = slices_record_at(s->records, s->width, i);
        if (f->to[i] == NO_RECORD) {
            for (uint32_t v = 0; v < s->width; v++) ended->rest[v] += r->values[v];
            continue;
        }
        r->parent = f->to[r->parent];
        if (f->to[i] != i)
            memcpy(slices_record_at(s->records, s->width, f->to[i]), r,
                   slices_record_bytes(s->width));
    }
    s->record_count = count;
}

// Without memory only the root stays.
static void fit(struct ouro__slices *s, uint32_t room, slices_ended *ended) {
    fitting f;
    if (s->record_count <= room) return;
    if (fit_reserve(s, s->record_count, &f)) {
        sum_weights(s, &f, measure(s, ended));
        choose(s, &f, room);
        move_records(s, &f, ended);
        return;
    }
    for (uint32_t i = 1; i < s->record_count; i++) {
        const slices_record *r = slices_record_at(s->records, s->width, i);
        for (uint32_t v = 0; v < s->width; v++) ended->rest[v] += r->values[v];
    }
    s->record_count = 1;
}

// ---------------------------------------------------------------- slots

static slices_slot *slot_at(const struct ouro__slices *s, const slices_state *state, uint32_t kind,
                            uint32_t slot) {
    size_t number = kind * ((size_t)s->area->slots + 1) + slot;
    return (slices_slot *)(void *)(s->trees +
                                   number * slices_slot_bytes(s->width, state->trees.room));
}

static void trees_grow(ouro__lane *lane, slices_state *next) {
    struct ouro__slices *s = lane->slices;
    uint32_t room = next->trees.room, slots = s->area->slots;
    if (s->record_count <= room || room >= s->room_most) return;
    while (room < s->record_count && room < s->room_most)
        room = room > s->room_most / 2 ? s->room_most : 2 * room;
    size_t bytes = slices_trees_bytes(s->width, slots, room);
    uint64_t offset = 0;
    bool mapped = false;
    unsigned char *trees = ouro__slices_memory(lane, SLICES_TREES, bytes, &offset, &mapped);
    if (!trees) return;
    size_t was = slices_slot_bytes(s->width, next->trees.room),
           is = slices_slot_bytes(s->width, room);
    for (size_t i = 0; i < SLICE_KINDS * ((size_t)slots + 1); i++) {
        const slices_slot *slot = (const slices_slot *)(const void *)(s->trees + i * was);
        if (slot->number)
            memcpy(trees + i * is, slot,
                   sizeof *slot + slot->count * slices_record_bytes(s->width));
    }
    if (s->trees_mapped) munmap(s->trees, s->trees_bytes);
    s->trees = trees;
    s->trees_bytes = bytes;
    s->trees_mapped = mapped;
    next->trees = (slices_part){offset, room, 0};
}

static void put(struct ouro__slices *s, slices_state *next, uint32_t kind, uint32_t goes,
                uint64_t key, const slices_ended *ended) {
    uint32_t spare = next->spare[kind];
    slices_slot *slot = slot_at(s, next, kind, spare);
    __atomic_store_n(&slot->sequence, slot->sequence + 1, __ATOMIC_SEQ_CST);
    slot->number = ended->number;
    slot->start = ended->start;
    slot->duration = ended->duration;
    slot->count = s->record_count;
    memcpy(slot->totals, ended->totals, sizeof slot->totals);
    memcpy(slot->rest, ended->rest, sizeof slot->rest);
    memcpy(slot + 1, s->records, s->record_count * slices_record_bytes(s->width));
    __atomic_store_n(&slot->sequence, slot->sequence + 1, __ATOMIC_SEQ_CST);
    uint64_t *keys = s->keys + kind * ((size_t)s->area->slots + 1);
    keys[spare] = key;
    next->spare[kind] = goes;
}

// The slot with the smallest key, but not the spare one.
static uint32_t smallest(const struct ouro__slices *s, const slices_state *next, uint32_t kind) {
    const uint64_t *keys = s->keys + kind * ((size_t)s->area->slots + 1);
    uint32_t spare = next->spare[kind], best = spare == 0 ? 1 : 0;
    for (uint32_t i = best + 1; i <= s->area->slots; i++) {
        if (i != spare && keys[i] < keys[best]) best = i;
    }
    return best;
}

static uint64_t random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

// Each of the n slices so far is kept with the same probability.
static bool is_drawn(const struct ouro__slices *s, slices_state *next, uint32_t *goes) {
    uint32_t slots = s->area->slots;
    uint64_t n = next->count;
    if (n <= slots) {
        *goes = smallest(s, next, KIND_EVENLY);
        return true;
    }
    uint64_t drawn = random_next(&next->random) % n;
    *goes = (uint32_t)drawn + (drawn >= next->spare[KIND_EVENLY]);
    return drawn < slots;
}

void ouro__slices_keep(ouro__lane *lane, slices_state *next, slices_ended *ended) {
    struct ouro__slices *s = lane->slices;
    trees_grow(lane, next);
    fit(s, next->trees.room, ended);
    uint32_t goes = smallest(s, next, KIND_SLOWEST);
    // An empty slot has the key 0.
    uint64_t key = slices_weight(s->area->by, ended->duration, ended->totals) + 1;
    if (key > s->keys[KIND_SLOWEST * ((size_t)s->area->slots + 1) + goes])
        put(s, next, KIND_SLOWEST, goes, key, ended);
    put(s, next, KIND_LAST, smallest(s, next, KIND_LAST), ended->number, ended);
    if (is_drawn(s, next, &goes)) put(s, next, KIND_EVENLY, goes, ended->number, ended);
}

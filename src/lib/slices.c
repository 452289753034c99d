// SPDX-License-Identifier: MIT
//
// Slices: slices.h says what is kept and how. Nothing happens while the program records. At the end
// of a slice all counters of the lane are compared with their values at the last call. What has
// changed is the slice.
//
// An eviction moves the counts of a node to an account, and so it does here with their values at
// the last call: a difference is never negative, and no sum changes.

#include "slices.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    UNROLLED = 6,
    FIRST_ROWS = 256,
    FIRST_RECORDS = 16,
    FIT_LEAST = 16,
    HEAT_FIRST_STEP = 1 << 20
};

// ---------------------------------------------------------------- buckets

uint32_t ouro__slice_bucket(uint64_t value) {
    if (value < 128) return (uint32_t)value;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value);
    return (octave - 7) * 128 + (uint32_t)(value >> (octave - 7));
}

uint64_t ouro_slice_bucket_least(uint32_t bucket) {
    if (bucket >= OURO_SLICE_BUCKETS) return UINT64_MAX;
    return bucket < 128 ? bucket : (UINT64_C(128) + bucket % 128) << (bucket / 128 - 1);
}

static uint32_t heat_row(uint64_t duration) {
    if (duration < 256) return 0;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(duration);
    uint32_t row = (octave - 8) * 4 + (uint32_t)(duration >> (octave - 2) & 3);
    return row < OURO_SLICE_HEAT_ROWS ? row : OURO_SLICE_HEAT_ROWS - 1;
}

uint64_t ouro_slice_heat_least(uint32_t row) {
    if (row >= OURO_SLICE_HEAT_ROWS) return UINT64_MAX;
    return row == 0 ? 0 : (UINT64_C(4) + row % 4) << (row / 4 + 6);
}

// ---------------------------------------------------------------- memory

static bool region_map(ouro__lane *lane, struct ouro__slices *s) {
    if (s->region) return true;
    size_t places = 2 * (size_t)lane->profile->capacity;
    size_t before = places * s->width * sizeof *s->before;
    size_t records = places * slices_record_bytes(s->width);
    size_t bytes = before + records + places * (sizeof *s->mark + sizeof *s->where);
    void *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return false;
    madvise(region, bytes, MADV_NOHUGEPAGE);
    s->region = region;
    s->region_bytes = bytes;
    s->before = region;
    s->records = (unsigned char *)region + before;
    s->mark = (uint32_t *)(void *)(s->records + records);
    s->where = s->mark + places;
    return true;
}

// Fewer trees where the cap is small: a tree needs room for some records.
static uint32_t slots_of(const ouro_profile *profile, uint32_t *room_most) {
    uint32_t share = profile->max_nodes / 8, slots = profile->slices.kept;
    if (slots > share / FIT_LEAST) slots = share / FIT_LEAST;
    if (slots == 0) slots = 1;
    *room_most = share / slots > FIT_LEAST ? share / slots : FIT_LEAST;
    return slots;
}

static bool area_make(ouro__lane *lane, struct ouro__slices *s) {
    const ouro_profile *profile = lane->profile;
    uint64_t offset = 0;
    if (s->area) return true;
    size_t bytes = slices_area_bytes(profile->slices.by);
    slices_area *area = ouro__slices_memory(lane, SLICES_AREA, bytes, &offset, &s->area_mapped);
    if (!area) return false;
    area->by = profile->slices.by;
    area->slots = slots_of(profile, &s->room_most);
    strncpy(area->name, profile->slices.name, sizeof area->name - 1);
    s->area = area;
    return true;
}

// The current state already says where these are: nobody looks before there is a slice.
static bool parts_make(ouro__lane *lane, struct ouro__slices *s) {
    slices_state *state = &s->area->states[s->area->sequence & 1];
    uint32_t slots = s->area->slots;
    if (!s->keys) s->keys = calloc(SLICE_KINDS * ((size_t)slots + 1), sizeof *s->keys);
    if (!s->table) {
        uint32_t rows =
            lane->profile->slices.rows < FIRST_ROWS ? lane->profile->slices.rows : FIRST_ROWS;
        s->table_bytes = rows * slices_row_bytes(s->width);
        s->table = ouro__slices_memory(lane, SLICES_TABLE, s->table_bytes, &state->table.offset,
                                       &s->table_mapped);
        if (s->table) state->table.room = rows;
    }
    if (!s->trees) {
        uint32_t room = s->room_most < FIRST_RECORDS ? s->room_most : FIRST_RECORDS;
        s->trees_bytes = slices_trees_bytes(s->width, slots, room);
        s->trees = ouro__slices_memory(lane, SLICES_TREES, s->trees_bytes, &state->trees.offset,
                                       &s->trees_mapped);
        if (s->trees) state->trees.room = room;
    }
    return s->keys && s->table && s->trees;
}

static uint64_t seed_of(const ouro__lane *lane) {
    return (lane->profile->start_clock ^ (uint64_t)lane->id << 32) | 1;
}

static void state_clear(const ouro__lane *lane, slices_state *state) {
    slices_part table = state->table, trees = state->trees;
    *state = (slices_state){
        .table = table, .trees = trees, .heat_step = HEAT_FIRST_STEP, .random = seed_of(lane)};
    for (int i = 0; i < SLICE_CELLS; i++) state->cells[i].cell = NO_CELL;
}

static uint64_t *before_of(const ouro__lane *lane, ouro_position position) {
    size_t place = position / lane->stride; // accounts come behind the nodes
    return lane->slices->before + place * lane->slices->width;
}

// The counters as they were at the last reset: from there on something counts.
static void before_reset(ouro__lane *lane, ouro_position position) {
    uint64_t *before = before_of(lane, position);
    const uint64_t *baseline = lane->baseline + position;
    for (uint32_t v = 0; v < lane->slices->width; v++) {
        uint64_t value = counter_load(baseline + value_word(v));
        if (before[v] != value) before[v] = value;
    }
}

static void all_before_reset(ouro__lane *lane) {
    for (uint32_t i = 0; lane->baseline && i < lane->state->used; i++) {
        before_reset(lane, i * lane->stride);
        if (lane->has_accounts) before_reset(lane, account_of(lane, i * lane->stride));
    }
}

// false: there is not enough memory. What was made is used the next time.
static bool slices_ready(ouro__lane *lane) {
    struct ouro__slices *s = lane->slices;
    if (s && s->ready) return true;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s) return false;
        s->width = ouro__row_width(lane->profile->metric_count);
        if (!region_map(lane, s)) {
            free(s);
            return false;
        }
        lane->slices = s;
        all_before_reset(lane);
    }
    if (!area_make(lane, s) || !parts_make(lane, s)) return false;
    state_clear(lane, &s->area->states[s->area->sequence & 1]);
    return s->ready = true;
}

// ---------------------------------------------------------------- what has changed

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE slices_record *record_add(struct ouro__slices *s, uint32_t width,
                                               uint32_t block, uint32_t parent) {
    slices_record *record = slices_record_at(s->records, width, s->record_count++);
    record->block = block;
    record->parent = parent; // a node, until records_link
    return record;
}

// The place of a value among the words of a node.
#define VALUE_AT(node, v) ((node) + ((v) < ENTRY_KINDS ? (v) : NODE_HEAD_WORDS - ENTRY_KINDS + (v)))

static ALWAYS_INLINE uint64_t differs(const uint64_t *node, const uint64_t *before, uint32_t width,
                                      uint32_t v) {
    return v < width ? counter_load(VALUE_AT(node, v)) ^ before[v] : 0;
}

// Has any of them changed? All are compared, without a branch. Written out, because compilers do
// not unroll such a loop.
static ALWAYS_INLINE bool has_changed(const uint64_t *node, const uint64_t *before,
                                      uint32_t width) {
    uint64_t any = differs(node, before, width, 0) | differs(node, before, width, 1) |
                   differs(node, before, width, 2) | differs(node, before, width, 3) |
                   differs(node, before, width, 4) | differs(node, before, width, 5);
    for (uint32_t v = UNROLLED; v < width; v++) any |= differs(node, before, width, v);
    return any != 0;
}

static ALWAYS_INLINE void take_value(const uint64_t *node, uint64_t *before, uint32_t width,
                                     uint32_t v, uint64_t *change, uint64_t *totals) {
    if (v >= width) return;
    uint64_t value = counter_load(VALUE_AT(node, v)); // a clock may have added to it
    change[v] = value - before[v];
    before[v] = value;
    totals[v] += change[v];
}

// The difference of a node or account.
static ALWAYS_INLINE void take_change(const uint64_t *node, uint64_t *before, uint32_t width,
                                      uint64_t *change, uint64_t *totals) {
    take_value(node, before, width, 0, change, totals);
    take_value(node, before, width, 1, change, totals);
    take_value(node, before, width, 2, change, totals);
    take_value(node, before, width, 3, change, totals);
    take_value(node, before, width, 4, change, totals);
    take_value(node, before, width, 5, change, totals);
    for (uint32_t v = UNROLLED; v < width; v++) take_value(node, before, width, v, change, totals);
}

// What an unused place has is what it had.
static ALWAYS_INLINE void scan(ouro__lane *lane, bool accounts, uint64_t *totals, uint32_t width) {
    struct ouro__slices *s = lane->slices;
    uint32_t stride = lane->stride, used = lane->state->used;
    const uint64_t *node = lane->nodes + (accounts ? lane->account_offset : 0);
    uint64_t *before = before_of(lane, accounts ? lane->account_offset : 0);
    for (uint32_t i = 0; i < used; i++, node += stride, before += width) {
        if (OURO_LIKELY_(!has_changed(node, before, width))) continue;
        const ouro_node_ *head = (const ouro_node_ *)(const void *)node;
        if (!head->block) continue;
        if (!accounts && i == 0) {
            slices_record *root = slices_record_at(s->records, width, 0);
            uint64_t entries[ENTRY_KINDS];
            memcpy(entries, totals, sizeof entries);
            take_change(node, before, width, root->values, totals);
            memset(root->values, 0, sizeof entries); // the root is not called
            memcpy(totals, entries, sizeof entries);
            continue;
        }
        if (!accounts) {
            s->where[s->record_count] = i;
            s->mark[i] = s->record_count + 1;
        }
        slices_record *record =
            record_add(s, width, head->block, accounts ? i : head->parent / stride);
        take_change(node, before, width, record->values, totals);
    }
}

// Most profiles have one to three metrics: a loop for each, which the compiler unrolls.
static void scan_all(ouro__lane *lane, bool accounts, uint64_t *totals) {
    uint32_t width = lane->slices->width;
    switch (width) {
    case ENTRY_KINDS + 1:
        scan(lane, accounts, totals, ENTRY_KINDS + 1);
        break;
    case ENTRY_KINDS + 2:
        scan(lane, accounts, totals, ENTRY_KINDS + 2);
        break;
    case ENTRY_KINDS + 3:
        scan(lane, accounts, totals, ENTRY_KINDS + 3);
        break;
    default:
        scan(lane, accounts, totals, width);
    }
}

// Parents from nodes to records; those that have not changed get records of zeros.
static void records_link(ouro__lane *lane) {
    struct ouro__slices *s = lane->slices;
    for (uint32_t i = 1; i < s->record_count; i++) {
        slices_record *record = slices_record_at(s->records, s->width, i);
        uint32_t parent = record->parent;
        if (!s->mark[parent]) {
            const ouro_node_ *node = node_at(lane, parent * lane->stride);
            s->where[s->record_count] = parent;
            s->mark[parent] = s->record_count + 1;
            slices_record *added =
                record_add(s, s->width, node->block, node->parent / lane->stride);
            memset(added->values, 0, s->width * sizeof *added->values);
        }
        record->parent = s->mark[parent] - 1;
    }
}

// What call sites have counted is not in the nodes. It is taken from `before` while these two are
// compared, and given back.
static void gain_away(void *user, ouro_position position, uint32_t value, uint64_t n) {
    const ouro__lane *lane = user;
    if (value < lane->slices->width) before_of(lane, position)[value] -= n;
}

static void gain_back(void *user, ouro_position position, uint32_t value, uint64_t n) {
    const ouro__lane *lane = user;
    if (value < lane->slices->width) before_of(lane, position)[value] += n;
}

// The tree of what has changed since the last call, and its totals.
static void collect(ouro__lane *lane, uint64_t *totals) {
    struct ouro__slices *s = lane->slices;
    s->record_count = 0;
    slices_record *root = record_add(s, s->width, ROOT_BLOCK, 0);
    memset(root->values, 0, s->width * sizeof *root->values);
    s->mark[0] = 1;
    s->where[0] = 0;
    ouro__sites_visit(lane, gain_away, lane);
    scan_all(lane, false, totals);
    uint32_t nodes = s->record_count;
    if (lane->has_accounts) scan_all(lane, true, totals);
    ouro__sites_visit(lane, gain_back, lane);
    uint32_t accounts = s->record_count;
    records_link(lane);
    for (uint32_t i = 0; i < s->record_count; i++) {
        if (i < nodes || i >= accounts) s->mark[s->where[i]] = 0;
    }
}

// ---------------------------------------------------------------- counting a slice

static uint64_t *histogram_cell(slices_area *area, uint32_t cell) {
    return &area->histograms[cell / OURO_SLICE_BUCKETS][cell % OURO_SLICE_BUCKETS];
}

// Each column of the coarser map is the sum of some of the finer one.
static void heat_thin(slices_area *area, slices_state *next, uint32_t shift) {
    const uint32_t *from = area->heats[next->heat];
    uint32_t *to = area->heats[next->heat ^ 1];
    memset(to, 0, sizeof area->heats[0]);
    for (uint32_t i = 0; i < HEAT_CELLS; i++) {
        uint32_t column = i / OURO_SLICE_HEAT_ROWS, row = i % OURO_SLICE_HEAT_ROWS;
        if (shift < 32) to[(column >> shift) * OURO_SLICE_HEAT_ROWS + row] += from[i];
        if (shift >= 32) to[row] += from[i];
    }
    next->heat ^= 1;
    next->heat_step <<= shift;
}

static void heat_count(slices_area *area, slices_state *next, const slices_ended *ended) {
    uint64_t since = ended->start - next->first;
    uint32_t shift = 0;
    while (since / next->heat_step >> shift >= OURO_SLICE_HEAT_COLUMNS) shift++;
    if (shift) heat_thin(area, next, shift);
    uint32_t column = (uint32_t)(since / next->heat_step);
    uint32_t cell = column * OURO_SLICE_HEAT_ROWS + heat_row(ended->duration);
    next->cells[2] = (slices_cell){2 * OURO_SLICE_BUCKETS + cell, 0,
                                   (uint64_t)area->heats[next->heat][cell] + 1};
}

static void histogram_count(slices_area *area, slices_state *next, uint32_t h, uint64_t value) {
    uint32_t cell = h * OURO_SLICE_BUCKETS + ouro__slice_bucket(value);
    next->cells[h] = (slices_cell){cell, 0, *histogram_cell(area, cell) + 1};
}

static void cells_apply(slices_area *area, const slices_state *state) {
    for (int i = 0; i < SLICE_CELLS; i++) {
        const slices_cell *c = &state->cells[i];
        if (c->cell == NO_CELL) continue;
        if (c->cell < 2 * OURO_SLICE_BUCKETS) {
            counter_store(histogram_cell(area, c->cell), c->value);
        } else {
            __atomic_store_n(&area->heats[state->heat][c->cell - 2 * OURO_SLICE_BUCKETS],
                             (uint32_t)c->value, __ATOMIC_RELAXED);
        }
    }
}

// A copy of the current state, to be changed and committed.
static slices_state *next_state(slices_area *area) {
    slices_state *next = &area->states[(area->sequence + 1) & 1];
    *next = area->states[area->sequence & 1];
    for (int i = 0; i < SLICE_CELLS; i++) next->cells[i].cell = NO_CELL;
    return next;
}

static void commit(slices_area *area, const slices_state *next) {
    __atomic_store_n(&area->sequence, area->sequence + 1, __ATOMIC_SEQ_CST);
    cells_apply(area, next);
}

static void table_grow(ouro__lane *lane, slices_state *next) {
    struct ouro__slices *s = lane->slices;
    uint32_t most = lane->profile->slices.rows, room = next->table.room;
    if (next->rows < room || room >= most) return;
    uint32_t larger = room > most / 2 ? most : 2 * room;
    size_t bytes = larger * slices_row_bytes(s->width);
    uint64_t offset = 0;
    bool mapped = false;
    uint64_t *table = ouro__slices_memory(lane, SLICES_TABLE, bytes, &offset, &mapped);
    if (!table) return;
    memcpy(table, s->table, s->table_bytes);
    if (s->table_mapped) munmap(s->table, s->table_bytes);
    s->table = table;
    s->table_bytes = bytes;
    s->table_mapped = mapped;
    next->table = (slices_part){offset, larger, 0};
}

static void table_add(ouro__lane *lane, slices_state *next, const slices_ended *ended) {
    struct ouro__slices *s = lane->slices;
    // A row that is missing would shift those behind it.
    if (next->rows + 1 != ended->number) return;
    table_grow(lane, next);
    if (next->rows == next->table.room) return;
    uint64_t *row = s->table + next->rows++ * (2 + (size_t)s->width);
    row[0] = ended->start;
    row[1] = ended->duration;
    memcpy(row + 2, ended->totals, s->width * sizeof *row);
}

static void slice_end(ouro__lane *lane, slices_state *next, uint64_t now, const uint64_t *totals) {
    slices_area *area = lane->slices->area;
    slices_ended ended = {.number = ++next->count, .start = next->began};
    ended.duration = now - next->began;
    memcpy(ended.totals, totals, sizeof ended.totals);
    uint64_t weight = slices_weight(area->by, ended.duration, totals);
    if (weight > next->slowest) next->slowest = weight;
    table_add(lane, next, &ended);
    histogram_count(area, next, 0, ended.duration);
    if (area->by) histogram_count(area, next, 1, weight);
    heat_count(area, next, &ended);
    ouro__slices_keep(lane, next, &ended);
}

static void slice(ouro__lane *lane, bool begin) {
    if (!slices_ready(lane)) return;
    slices_area *area = lane->slices->area;
    slices_state *next = next_state(area);
    if (!next->open && !begin) return;
    uint64_t totals[SLICE_VALUES] = {0};
    uint64_t now = ouro__now(CLOCK_MONOTONIC) - counter_load(&lane->profile->start_clock);
    collect(lane, totals);
    for (uint32_t v = 0; v < lane->slices->width; v++) {
        next->ended[v] += totals[v];
        if (!next->open) next->outside[v] += totals[v];
    }
    if (next->open) slice_end(lane, next, now, totals);
    if (!next->open && next->count == 0) next->first = now;
    next->open = begin;
    next->began = now;
    commit(area, next);
}

void ouro_slice_(ouro_thread *thread, bool begin) {
    ouro__lane *lane = lane_of(thread);
    pthread_mutex_lock(&lane->lock);
    slice(lane, begin);
    pthread_mutex_unlock(&lane->lock);
}

// ---------------------------------------------------------------- what else happens to a lane

// The counts of a node and of its account are moved to the account `to`. The caller holds the
// lane's lock, and clears the counters and baselines afterwards.
void ouro__slices_evict(ouro__lane *lane, ouro_position position, ouro_position to) {
    uint64_t *account = before_of(lane, to);
    ouro_position places[] = {position, account_of(lane, position)};
    for (int i = 0; i < 2; i++) {
        uint64_t *before = before_of(lane, places[i]);
        const uint64_t *baseline = lane->baseline ? lane->baseline + places[i] : NULL;
        for (uint32_t v = 0; v < lane->slices->width; v++) {
            account[v] += before[v] - (baseline ? counter_load(baseline + value_word(v)) : 0);
            before[v] = 0;
        }
    }
}

// A place that a node is about to take has zeros. It may have had strays, which are in its baseline
// and so were in `before`.
void ouro__slices_forget(ouro__lane *lane, ouro_position position) {
    uint64_t *before = before_of(lane, position);
    for (uint32_t v = 0; v < lane->slices->width; v++) {
        if (before[v]) before[v] = 0;
    }
}

// The caller holds the lane's lock; the baselines are new.
void ouro__slices_reset(ouro__lane *lane) {
    struct ouro__slices *s = lane->slices;
    if (!s) return;
    all_before_reset(lane);
    if (!s->ready) return;
    slices_area *area = s->area;
    slices_state *next = next_state(area);
    state_clear(lane, next);
    memset(area->heats[0], 0, sizeof area->heats[0]);
    memset(area->histograms[0], 0, sizeof area->histograms[0]);
    if (area->by) memset(area->histograms[1], 0, sizeof area->histograms[1]);
    memset(s->keys, 0, SLICE_KINDS * ((size_t)area->slots + 1) * sizeof *s->keys);
    commit(area, next);
    size_t slot_bytes = slices_slot_bytes(s->width, next->trees.room);
    for (uint32_t i = 0; i < SLICE_KINDS * (area->slots + 1); i++)
        ((slices_slot *)(void *)(s->trees + i * slot_bytes))->number = 0;
}

// Other threads begin to use the lane: what was left open was not ended.
void ouro__slices_leave(ouro__lane *lane) {
    struct ouro__slices *s = lane->slices;
    if (!s || !s->ready || !s->area->states[s->area->sequence & 1].open) return;
    slices_state *next = next_state(s->area);
    next->open = 0;
    commit(s->area, next);
}

uint64_t ouro__slices_bytes(const ouro__lane *lane) {
    const struct ouro__slices *s = lane->slices;
    if (!s) return 0;
    uint64_t per_node = 2 * s->width * sizeof *s->before + sizeof *s->mark + sizeof *s->where;
    return sizeof *s + lane->state->used * per_node + s->table_bytes + s->trees_bytes +
           (s->area ? slices_area_bytes(s->area->by) : 0);
}

void ouro__slices_free(ouro__lane *lane) {
    struct ouro__slices *s = lane->slices;
    if (!s) return;
    if (s->area && s->area_mapped) munmap(s->area, slices_area_bytes(s->area->by));
    if (s->table && s->table_mapped) munmap(s->table, s->table_bytes);
    if (s->trees && s->trees_mapped) munmap(s->trees, s->trees_bytes);
    if (s->region) munmap(s->region, s->region_bytes);
    free(s->keys);
    free(s->fit);
    free(s->fit_weights);
    free(s);
}

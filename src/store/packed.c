// SPDX-License-Identifier: MIT
//
// Samples in few bytes, and sums over them. What is read is not trusted: it may come from a file
// that is damaged.

#include "packed.h"

#include <errno.h>
#include <stdlib.h>

enum { VARINT_MOST = 10 };

// ---------------------------------------------------------------- bytes

static void put_varint(packed *p, uint64_t n) {
    for (; n >= 128; n >>= 7) p->bytes[p->used++] = (unsigned char)(n | 128);
    p->bytes[p->used++] = (unsigned char)n;
}

bool ouro__packed_put(packed *p, int64_t step, int64_t value) {
    if (p->room - p->used < 2 * VARINT_MOST) {
        size_t room = p->room * 2 + 4096;
        unsigned char *bytes = realloc(p->bytes, room);
        if (!bytes) return false;
        p->bytes = bytes;
        p->room = room;
    }
    put_varint(p, (uint64_t)step);
    put_varint(p, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
    return true;
}

static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *n) {
    *n = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        *n |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

static int64_t of_zigzag(uint64_t n) { return (int64_t)(n >> 1) ^ -(int64_t)(n & 1); }

static bool fail_overflow(error *e) {
    return ouro__fail(e, EOVERFLOW, "the sum needs more than 63 bits");
}

bool ouro__packed_sum(const void *bytes, size_t size, int64_t *sum, error *e) {
    const unsigned char *at = bytes, *end = at + size;
    uint64_t step, zigzag;
    for (*sum = 0; at < end;) {
        if (!get_varint(&at, end, &step) || !get_varint(&at, end, &zigzag))
            return ouro__fail(e, EILSEQ, "the store is damaged: samples end in the middle");
        if (__builtin_add_overflow(*sum, of_zigzag(zigzag), sum)) return fail_overflow(e);
    }
    return true;
}

// ---------------------------------------------------------------- order

// By one byte of the number, stable. Most often all have the same, and nothing moves.
static void sort_by_byte(order *o, const uint64_t *numbers, int shift) {
    size_t starts[257] = {0};
    for (size_t i = 0; i < o->count; i++) starts[(numbers[o->nodes[i]] >> shift & 255) + 1]++;
    for (int d = 0; d < 256; d++) {
        if (starts[d + 1] == o->count) return;
        starts[d + 1] += starts[d];
    }
    for (size_t i = 0; i < o->count; i++)
        o->spare[starts[numbers[o->nodes[i]] >> shift & 255]++] = o->nodes[i];
    uint32_t *sorted = o->spare;
    o->spare = o->nodes;
    o->nodes = sorted;
}

bool ouro__order_make(order *o, const unsigned char *needed, const uint64_t *numbers,
                      uint32_t count) {
    uint64_t all = 0;
    *o = (order){malloc(count * sizeof *o->nodes), malloc(count * sizeof *o->spare), 0};
    if (!o->nodes || !o->spare) return false;
    for (uint32_t n = 1; n < count; n++) {
        if (!needed[n]) continue;
        all |= numbers[n];
        o->nodes[o->count++] = n;
    }
    for (int shift = 0; shift < 64 && all >> shift; shift += 8) sort_by_byte(o, numbers, shift);
    return true;
}

void ouro__order_free(order *o) {
    free(o->nodes);
    free(o->spare);
}

// ---------------------------------------------------------------- sums

bool ouro__sums_init(sums *s, int64_t node_count, size_t metric_count) {
    *s = (sums){NULL, node_count, metric_count};
    s->values = calloc((size_t)node_count * (metric_count + 1), sizeof *s->values);
    return s->values != NULL;
}

void ouro__sums_free(sums *s) { free(s->values); }

bool ouro__sums_has(const sums *s, int64_t node) {
    bool any = false;
    for (size_t m = 0; m < s->metric_count && !any; m++) any = *ouro__sums_at(s, m, node) != 0;
    return any;
}

bool ouro__sums_add(sums *s, size_t m, const void *bytes, size_t size, error *e) {
    const unsigned char *at = bytes, *end = at + size;
    int64_t *values = ouro__sums_at(s, m, 0);
    uint64_t node = 0, step, zigzag;
    while (at < end) {
        if (!get_varint(&at, end, &step) || !get_varint(&at, end, &zigzag) ||
            step >= (uint64_t)s->node_count - node)
            return ouro__fail(e, EILSEQ,
                              "the store is damaged: samples of nodes that are not there");
        node += step;
        if (__builtin_add_overflow(values[node], of_zigzag(zigzag), &values[node]))
            return fail_overflow(e);
    }
    return true;
}

bool ouro__sums_pack(const sums *s, size_t m, packed *to, error *e) {
    int64_t last = 0;
    for (int64_t n = 1; n < s->node_count; n++) {
        int64_t value = *ouro__sums_at(s, m, n);
        if (!value) continue;
        if (!ouro__packed_put(to, n - last, value)) return ouro__fail_memory(e);
        last = n;
    }
    return true;
}

// ---------------------------------------------------------------- small paths

typedef struct {
    double share;
    int64_t node;
} ranked;

static int by_share(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static double absolute(int64_t value) { return value < 0 ? -(double)value : (double)value; }

static double total_of(const sums *s, size_t m) {
    double total = 0;
    for (int64_t n = 1; n < s->node_count; n++) total += absolute(*ouro__sums_at(s, m, n));
    return total;
}

// The nodes with values, with their largest share of any metric, the largest first.
static size_t rank_nodes(const sums *s, ranked *list) {
    size_t count = 0;
    for (int64_t n = 1; n < s->node_count; n++) {
        if (ouro__sums_has(s, n)) list[count++] = (ranked){0, n};
    }
    for (size_t m = 0; m < s->metric_count; m++) {
        double total = total_of(s, m);
        for (size_t i = 0; total > 0 && i < count; i++) {
            double share = absolute(*ouro__sums_at(s, m, list[i].node)) / total;
            if (share > list[i].share) list[i].share = share;
        }
    }
    qsort(list, count, sizeof *list, by_share);
    return count;
}

static bool move_to_small(sums *s, int64_t *small, int64_t node, error *e) {
    for (size_t m = 0; m < s->metric_count; m++) {
        int64_t *value = ouro__sums_at(s, m, node);
        if (__builtin_add_overflow(small[m], *value, &small[m])) return fail_overflow(e);
        *value = 0;
    }
    return true;
}

bool ouro__sums_cut(sums *s, uint32_t most, int64_t *small, bool *cut, error *e) {
    ranked *list = malloc((size_t)s->node_count * sizeof *list);
    if (!list) return ouro__fail_memory(e);
    size_t count = rank_nodes(s, list);
    bool ok = true;
    for (size_t i = most; ok && i < count; i++) ok = move_to_small(s, small, list[i].node, e);
    free(list);
    *cut = count > most;
    return ok;
}

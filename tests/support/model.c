// SPDX-License-Identifier: MIT
#include "model.h"

#include <stdlib.h>
#include <string.h>

model *model_new(int compaction, int edge_length) {
    model *m = calloc(1, sizeof *m);
    m->compaction = compaction;
    m->edge_length = edge_length ? edge_length : 2;
    return m;
}

void model_free(model *m) {
    free(m->nodes);
    free(m->table);
    free(m);
}

// ---------------------------------------------------------------- nodes by path

static size_t place(const model *m, const model_path *path) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < path->length; i++) hash = (hash ^ path->blocks[i]) * 1099511628211u;
    size_t i = hash % m->table_size;
    for (; m->table[i]; i = (i + 1) % m->table_size) {
        const model_path *other = &m->nodes[m->table[i] - 1].path;
        if (other->length == path->length && !memcmp(other->blocks, path->blocks, path->length))
            break;
    }
    return i;
}

static void grow(model *m) {
    if (m->node_count < m->node_room) return;
    m->node_room = m->node_room ? m->node_room * 2 : 64;
    m->nodes = realloc(m->nodes, m->node_room * sizeof *m->nodes);
    free(m->table);
    m->table_size = m->node_room * 2;
    m->table = calloc(m->table_size, sizeof *m->table);
    for (size_t i = 0; i < m->node_count; i++) m->table[place(m, &m->nodes[i].path)] = i + 1;
}

model_node *model_find(model *m, const model_path *path) {
    if (!m->table_size) return NULL;
    size_t i = m->table[place(m, path)];
    return i ? &m->nodes[i - 1] : NULL;
}

static model_node *find_or_add(model *m, const model_path *path) {
    model_node *node = model_find(m, path);
    if (node) return node;
    grow(m);
    m->nodes[m->node_count] = (model_node){.path = *path};
    m->table[place(m, path)] = m->node_count + 1;
    return &m->nodes[m->node_count++];
}

// ---------------------------------------------------------------- the rules

typedef struct {
    uint8_t caller, callee;
} step;

static step step_at(const model_path *path, size_t i) {
    return (step){i ? path->blocks[i - 1] : 0, path->blocks[i]};
}

static bool same_step(step a, step b) { return a.caller == b.caller && a.callee == b.callee; }

static bool stood_before(const model_path *path, size_t i) {
    for (size_t j = 0; j < i; j++) {
        if (same_step(step_at(path, j), step_at(path, i))) return true;
    }
    return false;
}

// The length to cut path + block back to; 0 = do not.
static size_t loops(const model_path *path, uint8_t block) {
    size_t n = path->length;
    if (n == 0) return 0;
    if (path->blocks[n - 1] == block) return n;
    size_t q = n - 1;
    while (stood_before(path, q)) q--;
    step wanted = {path->blocks[n - 1], block};
    for (size_t i = q; i < n; i++) {
        if (same_step(step_at(path, i), wanted)) return i + 1;
    }
    return 0;
}

static size_t cycles(const model_path *longer) {
    size_t n = longer->length;
    for (size_t k = 1; 2 * k <= n; k++) {
        if (!memcmp(longer->blocks + n - k, longer->blocks + n - 2 * k, k)) return n - k;
    }
    return 0;
}

static size_t edges(const model_path *longer, size_t k) {
    size_t n = longer->length;
    if (n < k) return 0;
    for (size_t end = n - 1; end >= k; end--) {
        if (!memcmp(longer->blocks + end - k, longer->blocks + n - k, k)) return end;
    }
    return 0;
}

static void append(model_path *path, uint8_t block) {
    if (path->length == MODEL_PATH) abort();
    path->blocks[path->length++] = block;
}

static void move(const model *m, model_path *path, uint8_t block) {
    size_t cut = m->compaction == OURO_LOOPS ? loops(path, block) : 0;
    append(path, block);
    if (m->compaction == OURO_CYCLES) cut = cycles(path);
    if (m->compaction == OURO_EDGES) cut = edges(path, (size_t)m->edge_length);
    if (cut) path->length = cut;
}

// ---------------------------------------------------------------- events

void model_enter(model *m, model_position *at, uint8_t block) {
    size_t before = at->canonical.length;
    uint8_t caller = at->raw.length ? at->raw.blocks[at->raw.length - 1] : 0;
    m->pair_calls[caller][block]++;
    m->calls++;
    move(m, &at->canonical, block);
    append(&at->raw, block);
    model_node *node = find_or_add(m, &at->canonical);
    node->calls++;
    if (at->canonical.length <= before) node->recursions++;
    if (at->canonical.length == before) node->direct++;
}

void model_count(model *m, const model_position *at, int metric, uint64_t n) {
    m->totals[metric] += n;
    if (at->canonical.length || n) find_or_add(m, &at->canonical)->metrics[metric] += n;
    if (metric != 0 || !at->raw.length) return;
    const model_path *raw = &at->raw;
    bool seen[MODEL_BLOCKS] = {0};
    bool pairs[MODEL_BLOCKS][MODEL_BLOCKS] = {{0}};
    m->self[raw->blocks[raw->length - 1]] += n;
    for (size_t i = 0; i < raw->length; i++) {
        step s = step_at(raw, i);
        if (!seen[s.callee]) m->overall[s.callee] += n;
        if (!pairs[s.caller][s.callee]) m->pair_inclusive[s.caller][s.callee] += n;
        seen[s.callee] = pairs[s.caller][s.callee] = true;
    }
}

void model_reset(model *m) {
    for (size_t i = 0; i < m->node_count; i++) m->nodes[i] = (model_node){.path = m->nodes[i].path};
    memset(m->self, 0, sizeof m->self);
    memset(m->overall, 0, sizeof m->overall);
    memset(m->pair_calls, 0, sizeof m->pair_calls);
    memset(m->pair_inclusive, 0, sizeof m->pair_inclusive);
    memset(m->totals, 0, sizeof m->totals);
    m->calls = 0;
}

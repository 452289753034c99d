// SPDX-License-Identifier: MIT
//
// Reads .cpuprofile, as Chrome and V8 write it, in both forms: a list of nodes with the ids of
// their children (or of their parent), and the older one where nodes are nested below `head`.
// Metrics: `samples`, and `time` if there are times: each sample gets the interval that it ended.

#include "builder.h"
#include "json.h"
#include "readers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const json *value;
    double id;
    uint32_t parent; // row; NO_ROW: a root
    uint32_t place;  // node of the profile; NO_NODE: not yet
    uint32_t depth;  // of the builder's stack there
} node;

typedef struct {
    profile *profile;
    builder *builder;
    error *error;
    const json *root;
    node *nodes;
    uint32_t count;
    size_t room;
    lookup ids;
} reader;

// ---------------------------------------------------------------- nodes

static uint32_t id_hash(double id) {
    uint64_t bits;
    memcpy(&bits, &id, sizeof bits);
    return ouro__hash_number(bits);
}

static uint32_t find_node(const reader *r, double id) {
    uint32_t hash = id_hash(id), row;
    for (uint64_t at = ouro__lookup_first(&r->ids, hash);
         (row = ouro__lookup_next(&r->ids, hash, &at)) != NO_ROW;) {
        if (r->nodes[row].id == id) return row;
    }
    return NO_ROW;
}

static bool add_node(reader *r, const json *value, uint32_t parent) {
    const json *id = ouro__json_get(value, "id");
    if (!ouro__json_is_object(value) || !ouro__json_is_number(id))
        return ouro__fail(r->error, EILSEQ, "node %u: expected an object with an id", r->count);
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 256;
        node *nodes = realloc(r->nodes, room * sizeof *nodes);
        if (!nodes) return ouro__fail_memory(r->error);
        r->nodes = nodes;
        r->room = room;
    }
    node n = {value, ouro__json_number(id, 0), parent, NO_NODE, 0};
    if (find_node(r, n.id) != NO_ROW)
        return ouro__fail(r->error, EILSEQ, "node %u: the id %.0f stands twice", r->count, n.id);
    r->nodes[r->count] = n;
    return ouro__lookup_add(&r->ids, id_hash(n.id), r->count++) || ouro__fail_memory(r->error);
}

static bool link_children(reader *r, uint32_t row) {
    const json *children = ouro__json_get(r->nodes[row].value, "children");
    for (size_t i = 0; i < ouro__json_size(children); i++) {
        double id = ouro__json_number(ouro__json_at(children, i), NAN);
        uint32_t child = find_node(r, id);
        if (child == NO_ROW)
            return ouro__fail(r->error, EILSEQ,
                              "nodes[%u]: child %.0f is not in the file; is it cut off?", row, id);
        if (r->nodes[child].parent != NO_ROW || child == row)
            return ouro__fail(r->error, EILSEQ, "nodes[%u]: child %.0f has two parents", row, id);
        r->nodes[child].parent = row;
    }
    const json *parent = ouro__json_get(r->nodes[row].value, "parent");
    if (!ouro__json_is_number(parent)) return true;
    uint32_t up = find_node(r, ouro__json_number(parent, 0));
    if (up == NO_ROW || up == row)
        return ouro__fail(r->error, EILSEQ,
                          "nodes[%u]: its parent is not in the file; is it cut off?", row);
    r->nodes[row].parent = up;
    return true;
}

static bool read_list(reader *r, const json *list) {
    for (size_t i = 0; i < ouro__json_size(list); i++) {
        if (!add_node(r, ouro__json_at(list, i), NO_ROW)) return false;
    }
    for (uint32_t row = 0; row < r->count; row++) {
        if (!link_children(r, row)) return false;
    }
    return true;
}

// Rows serve as the queue: children are appended behind.
static bool read_nested(reader *r, const json *head) {
    if (!add_node(r, head, NO_ROW)) return false;
    for (uint32_t row = 0; row < r->count; row++) {
        const json *children = ouro__json_get(r->nodes[row].value, "children");
        for (size_t i = 0; i < ouro__json_size(children); i++) {
            if (!add_node(r, ouro__json_at(children, i), row)) return false;
        }
    }
    return true;
}

// ---------------------------------------------------------------- paths

static uint32_t positive(const json *value, double plus) {
    double number = ouro__json_number(value, -1) + plus;
    return number > 0 && number < 4e9 ? (uint32_t)number : 0;
}

// Lines and columns of the newer form count from 0.
static uint32_t node_block(profile *p, const json *value) {
    const json *frame = ouro__json_get(value, "callFrame");
    double plus = frame ? 1 : 0;
    if (!frame) frame = value;
    const char *name = ouro__json_text(ouro__json_get(frame, "functionName"));
    const char *url = ouro__json_text(ouro__json_get(frame, "url"));
    return ouro__profile_add_block(
        p, &(block_info){ouro__profile_add_text(p, name && *name ? name : "(anonymous)"),
                         ouro__profile_add_text(p, url ? url : ""),
                         positive(ouro__json_get(frame, "lineNumber"), plus),
                         positive(ouro__json_get(frame, "columnNumber"), plus)});
}

static bool is_root(const node *n) {
    const json *frame = ouro__json_get(n->value, "callFrame");
    const char *name = ouro__json_text(ouro__json_get(frame ? frame : n->value, "functionName"));
    return n->parent == NO_ROW && name && strcmp(name, "(root)") == 0;
}

static void find_place(reader *r, uint32_t row) {
    node *here = &r->nodes[row];
    ouro__builder_pop_to(r->builder, here->parent == NO_ROW ? 0 : r->nodes[here->parent].depth);
    here->place =
        is_root(here) ? 0 : ouro__builder_push(r->builder, node_block(r->profile, here->value));
    here->depth = (uint32_t)ouro__builder_depth(r->builder);
}

// Lists of children in the order of the file: first[row] and next[row], the roots at first[count].
static void list_children(const reader *r, uint32_t *first, uint32_t *next) {
    for (uint32_t row = 0; row <= r->count; row++) first[row] = NO_ROW;
    for (uint32_t row = r->count; row-- > 0;) {
        uint32_t above = r->nodes[row].parent == NO_ROW ? r->count : r->nodes[row].parent;
        next[row] = first[above];
        first[above] = row;
    }
}

// Each path before its neighbours: a builder follows the path that it made last, and going back and
// forth between two long ones for each child would be quadratic. What cannot be reached from a root
// hangs on itself.
static bool walk_nodes(reader *r, const uint32_t *first, const uint32_t *next) {
    uint32_t done = 0, row = first[r->count];
    while (row != NO_ROW) {
        find_place(r, row);
        done++;
        if (first[row] != NO_ROW) {
            row = first[row];
            continue;
        }
        while (row != NO_ROW && next[row] == NO_ROW) row = r->nodes[row].parent;
        if (row != NO_ROW) row = next[row];
    }
    for (uint32_t n = 0; done < r->count && n < r->count; n++) {
        if (r->nodes[n].place == NO_NODE)
            return ouro__fail(r->error, EILSEQ, "nodes[%u]: it is its own ancestor", n);
    }
    return true;
}

static bool find_places(reader *r) {
    uint32_t *first = malloc(((size_t)r->count + 1) * sizeof *first),
             *next = malloc(((size_t)r->count + 1) * sizeof *next);
    bool ok = (first && next) || ouro__fail_memory(r->error);
    if (ok) list_children(r, first, next);
    ok = ok && walk_nodes(r, first, next);
    free(first);
    free(next);
    return ok;
}

// ---------------------------------------------------------------- samples

static uint32_t charged_node(reader *r, uint32_t row) {
    if (r->nodes[row].place) return r->nodes[row].place;
    r->nodes[row].place =
        ouro__builder_enter(r->builder, 0, ouro__profile_add_named(r->profile, "(root)", 6));
    return r->nodes[row].place;
}

// The time before sample i, in microseconds; the older form has times, not differences.
static double interval(const json *deltas, const json *times, size_t i, double start) {
    if (ouro__json_is_array(deltas)) return ouro__json_number(ouro__json_at(deltas, i), 0);
    double before = i ? ouro__json_number(ouro__json_at(times, i - 1), 0) : start;
    return ouro__json_number(ouro__json_at(times, i), 0) - before;
}

static bool read_samples(reader *r, const json *samples) {
    const json *deltas = ouro__json_get(r->root, "timeDeltas"),
               *times = ouro__json_get(r->root, "timestamps");
    bool timed = ouro__json_is_array(deltas) || ouro__json_is_array(times);
    double start = ouro__json_number(ouro__json_at(times, 0), 0), carry = 0;
    uint32_t time = timed ? ouro__profile_add_metric(r->profile, "time", "nanoseconds") : 0;
    for (size_t i = 0; i < ouro__json_size(samples) && !r->profile->failed; i++) {
        double id = ouro__json_number(ouro__json_at(samples, i), NAN);
        uint32_t row = find_node(r, id);
        if (row == NO_ROW)
            return ouro__fail(r->error, EILSEQ,
                              "samples[%zu]: node %.0f is not in the file; is it cut off?", i, id);
        uint32_t n = charged_node(r, row);
        ouro__charge(r->profile, 0, n, 1);
        if (!timed) continue;
        // Clocks of several cores differ: a step back is taken from the next interval.
        carry += interval(deltas, times, i, start) * 1000;
        if (!(fabs(carry) < 9e18))
            return ouro__fail(r->error, EILSEQ, "samples[%zu]: expected a time below 9e18", i);
        int64_t whole = carry > 0 ? llround(carry) : 0;
        carry -= (double)whole;
        ouro__charge(r->profile, time, n, whole);
    }
    return true;
}

static bool read_hits(reader *r) {
    for (uint32_t row = 0; row < r->count && !r->profile->failed; row++) {
        double hits = ouro__json_number(ouro__json_get(r->nodes[row].value, "hitCount"), 0);
        if (!(hits >= 0 && hits < 9e18))
            return ouro__fail(r->error, EILSEQ, "node %u: expected a hitCount", row);
        if (hits > 0) ouro__charge(r->profile, 0, charged_node(r, row), (int64_t)hits);
    }
    return true;
}

static bool read_all(reader *r) {
    const json *list = ouro__json_get(r->root, "nodes"), *head = ouro__json_get(r->root, "head");
    const json *samples = ouro__json_get(r->root, "samples");
    if (!ouro__json_is_array(list) && !ouro__json_is_object(head))
        return ouro__fail(r->error, EILSEQ, "expected a list of nodes, or a head");
    ouro__profile_add_metric(r->profile, "samples", "count");
    bool ok = ouro__json_is_array(list) ? read_list(r, list) : read_nested(r, head);
    ok = ok && find_places(r);
    return ok && (ouro__json_size(samples) ? read_samples(r, samples) : read_hits(r));
}

profile *ouro__cpuprofile_read(input *in, const read_options *options, error *e) {
    json *root = ouro__json_read(in, options->limit, e);
    if (!root) return NULL;
    reader r = {.profile = ouro__profile_for(in, options), .error = e, .root = root};
    r.builder = r.profile ? ouro__builder_new(r.profile, ouro__rule(options, RULE_LOOPS),
                                              options->edge_length)
                          : NULL;
    bool ok = r.builder || ouro__fail_memory(e);
    ok = ok && read_all(&r) && ouro__profile_finish(r.profile, e);
    ouro__builder_free(r.builder);
    ouro__lookup_free(&r.ids);
    free(r.nodes);
    ouro__json_free(root);
    if (ok) ouro__profile_prefer_time(r.profile);
    if (ok) return r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

bool ouro__cpuprofile_probe(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at])) at++;
    if (at == size || bytes[at] != '{') return false;
    return memmem(bytes, size, "\"functionName\"", 14) != NULL;
}

// SPDX-License-Identifier: MIT
//
// What a live file has more than the store, over and over. A track has a tree of all paths that the
// file has or the store has something of, and `sent`: what the store has, in the tree's places. The
// difference of the two is the next slice; once the store has it, it is added to `sent`. So an
// outage makes the next slice longer and nothing else, and the memory follows the number of paths.
//
// If it is not certain what the store has, it is asked, and its answer is the tree and `sent`. The
// tree is made anew when the paths of the file change. Keys of paths that were in the tree are
// taken over. Paths that were evicted come as less than nothing, so that the sum is that of the
// file; when the store has nothing of them any more, they leave the tree.

#include "track.h"

#include "builder.h"
#include "keys.h"
#include "naming.h"

#include <stdlib.h>
#include <string.h>

// The columns of a live file; the program's own metrics follow.
enum { CALLS, RECURSIONS, DIRECT, OWN_METRICS };

struct track {
    profile *tree; // its values are the difference, while a slice is made
    keys keys;
    uint64_t *known;    // by node: the engine's, see slice
    int64_t **sent;     // by metric of the tree
    uint32_t *place;    // the node of each row of the live file
    uint32_t *column;   // of the tree, for each of the live file
    uint32_t root_node; // has what was charged to the root; 0: nothing was
    key recording;
    uint64_t next;     // number of the next slice
    uint64_t until;    // of the last slice
    char *root;        // that was found
    uint32_t searched; // blocks there were when it was looked for
    bool certain;
};

static void free_columns(int64_t **columns, uint32_t count) {
    for (uint32_t m = 0; columns && m < count; m++) free(columns[m]);
    free(columns);
}

static int64_t **new_columns(uint32_t count, uint32_t nodes) {
    int64_t **columns = calloc((size_t)count + 1, sizeof *columns);
    bool ok = columns != NULL;
    for (uint32_t m = 0; ok && m < count; m++)
        ok = (columns[m] = calloc(nodes, sizeof *columns[m])) != NULL;
    if (ok) return columns;
    free_columns(columns, count);
    return NULL;
}

static void drop_tree(track *t) {
    free_columns(t->sent, t->tree ? t->tree->metric_count : 0);
    ouro__keys_free(&t->keys);
    ouro__profile_free(t->tree);
    free(t->known);
    free(t->place);
    free(t->column);
    t->tree = NULL;
    t->sent = NULL;
    t->known = NULL;
    t->place = t->column = NULL;
}

track *ouro__track_new(void) { return calloc(1, sizeof(track)); }

void ouro__track_doubt(track *t) { t->certain = false; }

void ouro__track_free(track *t) {
    if (!t) return;
    drop_tree(t);
    free(t->root);
    free(t);
}

// ---------------------------------------------------------------- a tree

static bool tree_init(track *t, profile *tree, error *e) {
    *t = (track){.tree = tree,
                 .recording = t->recording,
                 .next = t->next,
                 .until = t->until,
                 .root = t->root,
                 .searched = t->searched};
    t->sent = new_columns(tree->metric_count, tree->node_count);
    t->known = calloc(tree->node_count, sizeof *t->known);
    t->keys.blocks = calloc((size_t)tree->block_count + 1, sizeof *t->keys.blocks);
    t->keys.nodes = calloc(tree->node_count, sizeof *t->keys.nodes);
    return (t->sent && t->known && t->keys.blocks && t->keys.nodes) || ouro__fail_memory(e);
}

static bool is_none(key k) { return memcmp(&k, &(key){{0}}, sizeof k) == 0; }

// Those that are not there yet.
static void fill_keys(track *t) {
    const profile *p = t->tree;
    for (uint32_t b = 0; b < p->block_count; b++) {
        const block_info *i = &p->blocks[b];
        if (is_none(t->keys.blocks[b]))
            t->keys.blocks[b] =
                ouro__block_key(ouro__block_name(p, b), ouro__block_file(p, b), i->line, i->column);
    }
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (is_none(t->keys.nodes[n]))
            t->keys.nodes[n] =
                ouro__node_key(t->keys.nodes[p->parent[n]], t->keys.blocks[p->block[n]]);
    }
}

// The column of the same metric, new if there is none.
static uint32_t find_column(profile *p, const char *name, const char *unit, uint32_t decimals) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        if (strcmp(ouro__metric_name(p, m), name) == 0 &&
            strcmp(ouro__metric_unit(p, m), unit) == 0 && p->metrics[m].decimals == decimals)
            return m;
    }
    uint32_t m = ouro__profile_add_metric(p, name, unit);
    if (!p->failed) p->metrics[m].decimals = decimals;
    return m;
}

// ---------------------------------------------------------------- the paths of the file

// The blocks of the file, with the names of functions that it knows by module and offset only.
static ouro_block_info *named_blocks(const ouro__live_profile *live) {
    ouro_block_info *named = calloc((size_t)live->block_count + 1, sizeof *named);
    if (named && ouro__name_functions)
        ouro__name_functions(live->blocks, live->block_count, named);
    else if (named && live->block_count)
        memcpy(named, live->blocks, live->block_count * sizeof *named);
    return named;
}

static uint32_t row_block(profile *p, const ouro_block_info *infos, uint32_t count, uint32_t id,
                          const char *root) {
    if (id >= count) return ouro__profile_add_named(p, "[unknown]", 9);
    const ouro_block_info *i = &infos[id];
    block_info info = {.line = i->line, .column = i->column};
    info.name = ouro__profile_add_text(p, i->name);
    info.file = ouro__profile_add_text(p, ouro__relative_file(i->file, root));
    return ouro__profile_add_block(p, &info);
}

static bool has_values(const ouro__rows *rows, uint32_t row) {
    uint64_t any = 0;
    for (uint32_t v = 0; v < ouro__row_width(rows->metric_count); v++)
        any |= ouro__row_values(rows, row)[v];
    return any != 0;
}

static uint32_t *row_columns(profile *p, const ouro__live_profile *live) {
    static const char *const names[] = {"calls", "recursions", "direct"};
    uint32_t *columns = calloc(OWN_METRICS + OURO_METRICS_MAX, sizeof *columns);
    if (!columns) return NULL;
    for (uint32_t m = 0; m < OWN_METRICS; m++) columns[m] = find_column(p, names[m], "count", 0);
    for (uint32_t m = 0; m < live->metric_count; m++)
        columns[OWN_METRICS + m] = find_column(p, live->metrics[m].name, live->metrics[m].unit, 0);
    return columns;
}

// Blocks are added when a path has them: a block that is not used needs no key.
static uint32_t *row_places(profile *p, builder *b, const ouro__live_profile *live,
                            const ouro_block_info *infos, const char *root) {
    const ouro__rows *rows = live->rows;
    uint32_t *place = calloc(rows->count, sizeof *place),
             *blocks = calloc((size_t)live->block_count + 1, sizeof *blocks); // + 1; 0: none yet
    for (uint32_t row = 1; place && blocks && row < rows->count && !p->failed; row++) {
        uint32_t id = rows->block[row], seen = id < live->block_count ? id : live->block_count;
        if (!blocks[seen]) blocks[seen] = row_block(p, infos, live->block_count, id, root) + 1;
        place[row] = ouro__builder_enter(b, place[rows->parent[row]], blocks[seen] - 1);
    }
    if (place && blocks && has_values(rows, 0))
        place[0] = ouro__builder_enter(b, 0, ouro__profile_add_named(p, "(root)", 6));
    bool ok = place && blocks;
    free(blocks);
    if (ok) return place;
    free(place);
    return NULL;
}

// ---------------------------------------------------------------- what the store has

// Marks the nodes that something was sent of, and what is above them.
static bool *find_needed(const track *t) {
    const profile *p = t->tree;
    bool *needed = calloc(p->node_count, sizeof *needed);
    for (uint32_t n = needed ? p->node_count : 0; n-- > 1;) {
        for (uint32_t m = 0; m < p->metric_count && !needed[n]; m++) needed[n] = t->sent[m][n] != 0;
        if (needed[n]) needed[p->parent[n]] = true;
    }
    return needed;
}

typedef struct {
    uint32_t *nodes, *blocks, *columns; // of the new tree, by those of the old one; NO_ROW: none
} moved;

static void moved_free(moved *m) {
    free(m->nodes);
    free(m->blocks);
    free(m->columns);
}

static uint32_t *no_rows(size_t count) {
    uint32_t *rows = malloc((count + 1) * sizeof *rows);
    if (rows) memset(rows, 0xff, (count + 1) * sizeof *rows);
    return rows;
}

static uint32_t move_block(profile *to, const profile *from, uint32_t b) {
    block_info info = from->blocks[b];
    info.name = ouro__profile_add_text(to, ouro__block_name(from, b));
    info.file = ouro__profile_add_text(to, ouro__block_file(from, b));
    return ouro__profile_add_block(to, &info);
}

// Enters what is needed of the old tree into the new one.
static bool move_nodes(const track *old, profile *to, builder *b, moved *m) {
    const profile *from = old->tree;
    bool *needed = find_needed(old);
    *m =
        (moved){no_rows(from->node_count), no_rows(from->block_count), no_rows(from->metric_count)};
    bool ok = needed && m->nodes && m->blocks && m->columns;
    if (ok) m->nodes[0] = 0;
    for (uint32_t c = 0; ok && c < from->metric_count; c++)
        m->columns[c] = find_column(to, ouro__metric_name(from, c), ouro__metric_unit(from, c),
                                    from->metrics[c].decimals);
    for (uint32_t n = 1; ok && n < from->node_count && !to->failed; n++) {
        uint32_t block = from->block[n];
        if (!needed[n]) continue;
        if (m->blocks[block] == NO_ROW) m->blocks[block] = move_block(to, from, block);
        m->nodes[n] = ouro__builder_enter(b, m->nodes[from->parent[n]], m->blocks[block]);
    }
    free(needed);
    return ok;
}

// What a foreign writer sent may have been compacted to another path.
static bool is_same_path(const track *old, const track *new, const moved *m, uint32_t n) {
    uint32_t above = old->tree->parent[n], to = m->nodes[n];
    return new->tree->parent[to] == m->nodes[above] &&
           memcmp(&new->keys.nodes[m->nodes[above]], &old->keys.nodes[above], sizeof(key)) == 0;
}

// Adds up: two old paths may be one by the rule.
static void move_values(const track *old, track *new, const moved *m) {
    for (uint32_t b = 0; b < old->tree->block_count; b++) {
        if (m->blocks[b] != NO_ROW) new->keys.blocks[m->blocks[b]] = old->keys.blocks[b];
    }
    for (uint32_t n = 1; n < old->tree->node_count; n++) {
        uint32_t to = m->nodes[n];
        if (to == NO_ROW) continue;
        if (is_same_path(old, new, m, n)) {
            new->keys.nodes[to] = old->keys.nodes[n];
            new->known[to] = old->known[n];
        }
        for (uint32_t c = 0; c < old->tree->metric_count; c++)
            new->sent[m->columns[c]][to] += old->sent[c][n];
    }
}

// The root of the sources is looked for when there are many more blocks than before.
static const char *find_root(track *t, const ouro_block_info *infos, uint32_t count,
                             const char *given) {
    enum { LOOKED_AT = 200 };
    if (given || t->root || count < 2 * t->searched) return given ? given : t->root;
    t->searched = count;
    uint32_t step = count / LOOKED_AT + 1;
    for (uint32_t b = 0; b < count && !t->root; b += step) t->root = ouro__root_of(infos[b].file);
    return t->root;
}

// The paths of the file, and those that the store has something of.
static bool make_tree(track *t, const ouro__live_profile *live, const track_options *o, error *e) {
    track old = *t;
    moved m = {0};
    profile *p = ouro__profile_new();
    builder *b =
        p ? ouro__builder_new(p, live->compaction == RULE_LOOPS ? RULE_AS_IT_IS : RULE_LOOPS, 0)
          : NULL;
    ouro_block_info *infos = named_blocks(live);
    const char *root = infos ? find_root(t, infos, live->block_count, o->root) : NULL;
    old.root = t->root;
    uint32_t *column = b && infos ? row_columns(p, live) : NULL;
    uint32_t *place = column && !p->failed ? row_places(p, b, live, infos, root) : NULL;
    bool ok = place && (!old.tree || move_nodes(&old, p, b, &m));
    ouro__builder_free(b);
    ok = (ok && !p->failed) || ouro__fail_memory(e);
    bool taken = ok; // the new one takes the old one's place
    if (taken) {
        ok = tree_init(t, p, e);
        t->place = place;
        t->column = column;
        t->root_node = place[0];
        t->certain = ok;
        place[0] = 0;
        place = column = NULL;
        p = NULL;
    }
    if (ok && old.tree) move_values(&old, t, &m);
    if (ok) fill_keys(t);
    if (taken) drop_tree(&old);
    moved_free(&m);
    free(infos);
    free(place);
    free(column);
    ouro__profile_free(p);
    return ok;
}

// The store's answer is the tree, and all of it was sent.
static bool ask_store(track *t, store *from, key recording, error *e) {
    profile *had;
    if (memcmp(&recording, &t->recording, sizeof recording) != 0) t->until = 0;
    drop_tree(t);
    t->recording = recording;
    if (!ouro__store_recorded(from, recording, &t->next, &had, e)) return false;
    if (!tree_init(t, had, e)) return false;
    for (uint32_t m = 0; m < had->metric_count; m++)
        memcpy(t->sent[m], had->values[m], had->node_count * sizeof *t->sent[m]);
    return true;
}

// ---------------------------------------------------------------- the difference

static void add_row(track *t, const uint64_t *v, uint32_t metrics, uint32_t node) {
    int64_t **to = t->tree->values;
    const uint32_t *c = t->column;
    to[c[CALLS]][node] += (int64_t)ouro__row_calls(v);
    to[c[RECURSIONS]][node] += (int64_t)ouro__row_recursions(v);
    to[c[DIRECT]][node] += (int64_t)ouro__row_direct(v);
    for (uint32_t m = 0; m < metrics; m++)
        to[c[OWN_METRICS + m]][node] += (int64_t)v[ENTRY_KINDS + m];
}

// Leaves the difference in the tree's values, and says how many paths have one.
static uint64_t subtract(track *t, const ouro__rows *rows) {
    profile *p = t->tree;
    uint64_t paths = 0;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        for (uint32_t n = 0; n < p->node_count; n++) p->values[m][n] = -t->sent[m][n];
    }
    for (uint32_t row = 1; row < rows->count; row++)
        add_row(t, ouro__row_values(rows, row), rows->metric_count, t->place[row]);
    if (t->root_node) add_row(t, ouro__row_values(rows, 0), rows->metric_count, t->root_node);
    for (uint32_t n = 1; n < p->node_count; n++) {
        int64_t any = 0;
        for (uint32_t m = 0; m < p->metric_count; m++) any |= p->values[m][n];
        paths += any != 0;
    }
    return paths;
}

static void acknowledge(track *t, uint64_t until) {
    const profile *p = t->tree;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        for (uint32_t n = 0; n < p->node_count; n++) t->sent[m][n] += p->values[m][n];
    }
    t->next++;
    t->until = until;
}

// A clock that was set back makes a slice of no length.
static slice make_slice(const track *t, const track_options *o) {
    slice s = {.recording = t->recording,
               .number = t->next,
               .from = t->until  ? t->until
                       : t->next ? o->seen
                                 : o->from,
               .until = o->until,
               .labels = o->labels,
               .profile = t->tree,
               .keys = &t->keys,
               .known = t->known};
    if (s.from > s.until) s.from = s.until;
    return s;
}

static bool make_certain(track *t, store *to, const ouro__live_profile *live,
                         const track_options *o, bool *reached, error *e) {
    key recording = ouro__recording_key(live->recording, live->resets);
    bool same = t->certain && memcmp(&recording, &t->recording, sizeof recording) == 0;
    bool root_missing = t->certain && !t->root_node && has_values(live->rows, 0);
    if (same && o->same_paths && !root_missing) return true;
    t->certain = false;
    if (!same && !ask_store(t, to, recording, e)) return false;
    *reached |= !same;
    return make_tree(t, live, o, e);
}

bool ouro__track_send(track *t, store *to, const ouro__live_profile *live, const track_options *o,
                      track_result *done, error *e) {
    enum { TRIES = 3 };
    *done = (track_result){0};
    for (int i = 0; i < TRIES; i++) {
        bool known = false;
        if (!make_certain(t, to, live, o, &done->reached, e)) return false;
        done->paths = subtract(t, live->rows);
        if (!done->paths) return true;
        slice s = make_slice(t, o);
        bool ok = ouro__store_put(to, &s, &known, e);
        done->reached = ok;
        t->certain = ok && !known; // known: another one sent a slice of this number
        if (t->certain) acknowledge(t, o->until);
        if (!ok || t->certain) return ok;
    }
    return ouro__fail(e, EAGAIN, "another process sends the same recording");
}

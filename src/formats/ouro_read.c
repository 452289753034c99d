// SPDX-License-Identifier: MIT
//
// Live files (.ouro), through the library's own reader: of a running program, a finished or a
// killed one. The metrics are calls, recursions and direct (as ouro.h has them), then the profile's
// own. [pruned] and [lost] are blocks like any other.

#include "live_format.h"
#include "live_read.h"
#include "slices_message.h"

#include "builder.h"
#include "naming.h"
#include "pprof_slices.h"
#include "readers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool ouro__live_probe(const unsigned char *bytes, size_t size) {
    return size >= 8 && memcmp(bytes, "OUROLIVE", 8) == 0;
}

bool ouro__live_start_time(int fd, uint64_t *nanoseconds) {
    live_header header;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header) return false;
    *nanoseconds = header.start_time;
    return memcmp(header.magic, LIVE_MAGIC, sizeof header.magic) == 0;
}

// A pipe has no file to read again: its bytes go into one.
static int file_of(const input *in) {
    if (in->fd > STDERR_FILENO) return dup(in->fd);
    int fd = memfd_create("ouro", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < in->size;) {
        ssize_t n = write(fd, in->bytes + done, in->size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

ouro__namer *ouro__name_functions;

// `infos`: one for each block of the file.
static uint32_t add_block(profile *p, const ouro__live_profile *live, const ouro_block_info *infos,
                          uint32_t id) {
    if (id >= live->block_count) return ouro__profile_add_named(p, "[unknown]", 9);
    const ouro_block_info *info = &infos[id];
    return ouro__profile_add_block(p, &(block_info){ouro__profile_add_text(p, info->name),
                                                    ouro__profile_add_text(p, info->file),
                                                    info->line, info->column});
}

// Samples do not tell how often a block recursed: 1 stands for some.
static void add_noted(profile *p, uint32_t block, const ouro__noted *noted) {
    recursion *r = noted->kinds ? ouro__profile_recursed(p, block) : NULL;
    if (!r) return;
    r->direct |= noted->kinds & NOTED_DIRECT ? 1 : 0;
    r->through |= noted->kinds & NOTED_THROUGH ? 1 : 0;
    if (noted->deepest > r->deepest) r->deepest = noted->deepest;
}

// The columns of a profile that was read from a live file; the program's own metrics follow.
enum { CALLS, RECURSIONS, DIRECT, OWN_METRICS };

static void add_metrics(profile *p, const ouro__live_profile *live) {
    static const char *const names[] = {"calls", "recursions", "direct"};
    for (uint32_t m = CALLS; m < OWN_METRICS; m++) ouro__profile_add_metric(p, names[m], "count");
    for (uint32_t m = 0; m < live->metric_count; m++)
        ouro__profile_add_metric(p, live->metrics[m].name, live->metrics[m].unit);
}

// The first metric that has anything, else the calls. Never what recording took: a short run may
// have no tick of the clock but one that hit a hook.
static void choose_default(profile *p) {
    for (uint32_t m = OWN_METRICS; m < p->metric_count; m++) {
        if (strcmp(ouro__metric_name(p, m), "recording") == 0) continue;
        for (uint32_t n = 0; n < p->node_count; n++) {
            if (!p->values[m][n]) continue;
            p->default_metric = m;
            return;
        }
    }
}

static void add_row(profile *p, const ouro__rows *rows, uint32_t row, uint32_t node) {
    const uint64_t *v = ouro__row_values(rows, row);
    ouro__charge(p, CALLS, node, (int64_t)ouro__row_calls(v));
    ouro__charge(p, RECURSIONS, node, (int64_t)ouro__row_recursions(v));
    ouro__charge(p, DIRECT, node, (int64_t)ouro__row_direct(v));
    for (uint32_t m = 0; m < rows->metric_count; m++)
        ouro__charge(p, OWN_METRICS + m, node, (int64_t)v[ENTRY_KINDS + m]);
}

// ---------------------------------------------------------------- slices

static void put_tag(profile *p, const char *key, const char *value) {
    ouro__tags_put(p, ouro__profile_add_text(p, key), ouro__profile_add_text(p, value));
}

// The labels that pprof output has.
static uint32_t tree_tags(profile *p, const ouro__lane_slices *l, const ouro__slice_tree *tree) {
    static const char *const kinds[] = {"slowest", "last", "evenly"};
    char text[64];
    snprintf(text, sizeof text, l->lane ? "%llu/%u" : "%llu", (unsigned long long)tree->number,
             l->lane);
    put_tag(p, "slice", text);
    for (int k = 0; k < 3; k++) {
        if (tree->why >> k & 1) put_tag(p, "slice_kind", kinds[k]);
    }
    snprintf(text, sizeof text, "%llu nanoseconds", (unsigned long long)tree->duration);
    put_tag(p, "slice_duration", text);
    return ouro__tags_close(p);
}

// A row has at least what its slices have; who reads a running program takes what is there.
static void tag_row(profile *p, const ouro__rows *rows, uint32_t row, const uint64_t *values,
                    uint32_t node, uint32_t set) {
    uint32_t width = ouro__row_width(rows->metric_count);
    uint64_t *has = rows->values + (size_t)row * width, v[SLICE_VALUES];
    for (uint32_t i = 0; i < width; i++) {
        v[i] = values[i] < has[i] ? values[i] : has[i];
        has[i] -= v[i];
    }
    ouro__tags_charge(p, CALLS, node, set, (int64_t)ouro__row_calls(v));
    ouro__tags_charge(p, RECURSIONS, node, set, (int64_t)ouro__row_recursions(v));
    ouro__tags_charge(p, DIRECT, node, set, (int64_t)ouro__row_direct(v));
    for (uint32_t m = 0; m < rows->metric_count; m++)
        ouro__tags_charge(p, OWN_METRICS + m, node, set, (int64_t)v[ENTRY_KINDS + m]);
}

// After the rows were charged. place: the node of each row.
static void add_trees(profile *p, const ouro__live_profile *live, const uint32_t *place) {
    for (uint32_t i = 0; i < live->slices.count; i++) {
        const ouro__lane_slices *l = &live->slices.lanes[i];
        for (uint32_t t = 0; t < l->tree_count && !p->failed; t++) {
            const ouro__slice_tree *tree = &l->trees[t];
            uint32_t set = tree_tags(p, l, tree);
            for (uint32_t row = 0; row < tree->rows->count; row++)
                tag_row(p, live->rows, tree->place[row], ouro__row_values(tree->rows, row),
                        place[tree->place[row]], set);
        }
    }
}

static bool add_summaries(profile *p, const ouro__live_profile *live, error *e) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < live->slices.count; i++) {
        ouro__message m;
        if (!ouro__slices_message(&live->slices.lanes[i], live->metric_count, &m))
            return ouro__fail_memory(e);
        wire in = {m.bytes, m.bytes, m.bytes + m.used, e, false, 0};
        ok = ouro__pprof_slices_read(p, live->metric_count, OWN_METRICS, in);
        free(m.bytes);
    }
    return ok;
}

// ---------------------------------------------------------------- the tree

static bool add_rows(profile *p, builder *b, const ouro__live_profile *live, bool labels) {
    const ouro__rows *rows = live->rows;
    uint32_t *place = calloc(rows->count, sizeof *place),
             *blocks = calloc((size_t)live->block_count + 1, sizeof *blocks);
    ouro_block_info *named =
        ouro__name_functions ? calloc((size_t)live->block_count + 1, sizeof *named) : NULL;
    const ouro_block_info *infos = named ? named : live->blocks;
    bool ok = place && blocks;
    uint32_t root = 0;
    if (named) ouro__name_functions(live->blocks, live->block_count, named);
    for (uint32_t i = 0; ok && i < live->block_count; i++) {
        blocks[i] = add_block(p, live, infos, i);
        add_noted(p, blocks[i], &live->noted[i]);
    }
    for (uint32_t row = 0; ok && row < rows->count && !p->failed; row++) {
        uint32_t id = rows->block[row];
        if (row)
            place[row] = ouro__builder_enter(
                b, place[rows->parent[row]],
                id < live->block_count ? blocks[id] : add_block(p, live, infos, id));
        bool any = false;
        for (uint32_t v = 0; v < ouro__row_width(rows->metric_count); v++)
            any |= ouro__row_values(rows, row)[v] != 0;
        if (any && row == 0)
            root = ouro__builder_enter(b, 0, ouro__profile_add_named(p, "(root)", 6));
        if (any) add_row(p, rows, row, row ? place[row] : root);
    }
    if (ok) place[0] = root;
    if (ok && labels) add_trees(p, live, place);
    free(place);
    free(blocks);
    free(named);
    return ok;
}

static profile *build(ouro__live_profile *live, const budget *cost, const read_options *options,
                      error *e) {
    profile *p = ouro__profile_new();
    if (p) p->budget = *cost;
    builder *b = p ? ouro__builder_new(p, RULE_AS_IT_IS, 0) : NULL;
    bool ok = b != NULL;
    if (ok) add_metrics(p, live);
    bool labels = live->slices.count > 0; // few, and a file that is made of it has them
    if (ok && labels) ok = ouro__slices_place(&live->rows, &live->slices);
    ok = ok && !p->failed && add_rows(p, b, live, labels);
    if (ok) {
        p->rule = live->compaction;
        p->edge_length = live->edge_length;
    }
    if (ok && live->end_time > live->start_time) p->duration = live->end_time - live->start_time;
    if (ok) p->start_time = live->start_time;
    if (ok) {
        p->running = live->running;
        p->no_space = live->full;
        p->resets = live->resets;
        memcpy(p->recording, live->recording, sizeof p->recording);
        p->process = live->process;
        ok = (p->program = strdup(live->program)) && (p->title = strdup(live->program));
    }
    ouro__builder_free(b);
    if (!ok) ouro__error_memory(e);
    ok = ok && ouro__profile_finish(p, e) && add_summaries(p, live, e);
    if (ok) choose_default(p);
    if (ok) return ouro__compacted_as_asked(p, options, e);
    ouro__profile_free(p);
    return NULL;
}

// Live files have holes, which cost nothing on the disk and are read like anything else. What is
// read is kept as it is, with what it counted before a reset, as an image and as rows.
static bool check_size(int fd, const read_options *options, budget *cost, error *e) {
    enum { COPIES = 4, DISK_BLOCK = 512 };
    struct stat info;
    if (fstat(fd, &info) != 0) return ouro__fail(e, errno, "cannot read: %s", strerror(errno));
    uint64_t size = (uint64_t)info.st_size, there = (uint64_t)info.st_blocks * DISK_BLOCK;
    *cost = ouro__budget_of(there < size ? there : size, 0, options->limit);
    return size <= cost->memory / COPIES || ouro__budget_fail(cost, EFBIG, e);
}

profile *ouro__live_profile_read(input *in, const read_options *options, error *e) {
    int fd = file_of(in);
    if (fd < 0) {
        ouro__error_set(e, errno, "cannot read: %s", strerror(errno));
        return NULL;
    }
    budget cost;
    if (!check_size(fd, options, &cost, e)) {
        close(fd);
        return NULL;
    }
    ouro__live_profile live;
    ouro__live_error problem = {0};
    profile *p = NULL;
    if (ouro__live_read_fd(fd, &live, &problem) == 0) {
        p = build(&live, &cost, options, e);
        ouro__live_profile_free(&live);
    } else if (problem.code == EILSEQ) {
        ouro__error_at_byte(e, problem.offset, "%s", problem.message);
    } else {
        ouro__error_set(e, problem.code, "%s", problem.message);
    }
    close(fd);
    return p;
}

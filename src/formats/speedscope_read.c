// SPDX-License-Identifier: MIT
//
// Reads speedscope's JSON, both kinds of profile: sampled (stacks with weights) and evented (opens
// and closes of frames). Profiles of one file that measure the same unit (threads, mostly) are
// summed; in files that we wrote, each profile is a metric of its own.

#include "builder.h"
#include "json.h"
#include "readers.h"
#include "scale.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    profile *profile;
    builder *builder;
    error *error;
    const json *root;
    uint32_t *blocks; // by frame
    size_t frame_count;
    bool ours, labels;
    uint32_t set;   // the label of the profile that is being read
    uint32_t empty; // node of samples without frames; 0 until it is needed
} reader;

// Where in the document something is: profiles[2].samples[7].
typedef struct {
    const char *list;
    size_t profile, item;
} place;

static bool fail_at(const reader *r, place at, const char *expected) {
    return ouro__fail(r->error, EILSEQ, "profiles[%zu].%s[%zu]: expected %s", at.profile, at.list,
                      at.item, expected);
}

static uint32_t frame_block(profile *p, const json *frame) {
    const char *name = ouro__json_text(ouro__json_get(frame, "name"));
    const char *file = ouro__json_text(ouro__json_get(frame, "file"));
    double line = ouro__json_number(ouro__json_get(frame, "line"), 0);
    double column = ouro__json_number(ouro__json_get(frame, "col"), 0);
    block_info info = {.name = ouro__profile_add_text(p, name && *name ? name : "[unknown]"),
                       .file = ouro__profile_add_text(p, file ? file : "")};
    if (line > 0 && line < 4e9) info.line = (uint32_t)line;
    if (column > 0 && column < 4e9) info.column = (uint32_t)column;
    return ouro__profile_add_block(p, &info);
}

static bool read_frames(reader *r) {
    const json *frames = ouro__json_get(ouro__json_get(r->root, "shared"), "frames");
    if (!ouro__json_is_array(frames))
        return ouro__fail(r->error, EILSEQ, "expected a list shared.frames");
    r->frame_count = ouro__json_size(frames);
    r->blocks = malloc((r->frame_count + 1) * sizeof *r->blocks);
    if (!r->blocks) return ouro__fail_memory(r->error);
    for (size_t i = 0; i < r->frame_count; i++)
        r->blocks[i] = frame_block(r->profile, ouro__json_at(frames, i));
    return true;
}

static bool frame_at(const reader *r, const json *value, place at, uint32_t *found) {
    double number = ouro__json_number(value, -1);
    if (number >= 0 && number < (double)r->frame_count && number == floor(number)) {
        *found = r->blocks[(size_t)number];
        return true;
    }
    return ouro__fail(r->error, EILSEQ, "profiles[%zu].%s[%zu]: frame %.0f of %zu", at.profile,
                      at.list, at.item, number, r->frame_count);
}

// ---------------------------------------------------------------- metrics

static bool has_fractions(const json *weights) {
    for (size_t i = 0; i < ouro__json_size(weights); i++) {
        double w = ouro__json_number(ouro__json_at(weights, i), 0);
        if (w != floor(w)) return true;
    }
    return false;
}

static uint32_t find_metric(reader *r, const json *from, scale *s) {
    profile *p = r->profile;
    const char *name = ouro__json_text(ouro__json_get(from, "name"));
    uint32_t m = r->ours ? NO_ROW : ouro__profile_find_metric(p, s->name);
    if (m == NO_ROW) m = ouro__profile_add_metric(p, r->ours && name ? name : s->name, s->unit);
    // Times are in nanoseconds, which is fine enough; counts get three decimals.
    if (strcmp(s->unit, "count") == 0 && !p->failed &&
        has_fractions(ouro__json_get(from, "weights")))
        ouro__profile_rescale(p, m, 3);
    for (uint32_t d = 0; !p->failed && d < p->metrics[m].decimals; d++) s->factor *= 10;
    return m;
}

static void charge(reader *r, uint32_t m, uint32_t node, int64_t value) {
    ouro__charge(r->profile, m, node, value);
    ouro__tags_charge(r->profile, m, node, r->set, value);
}

// Several profiles in a file of another tool are threads, mostly.
static void put_thread(reader *r, const json *from, size_t index) {
    const char *name = ouro__json_text(ouro__json_get(from, "name"));
    char number[32];
    snprintf(number, sizeof number, "profile %zu", index + 1);
    uint32_t key = ouro__profile_add_text(r->profile, "thread");
    ouro__tags_put(r->profile, key,
                   ouro__profile_add_text(r->profile, name && *name ? name : number));
    r->set = ouro__tags_close(r->profile);
}

// ---------------------------------------------------------------- sampled

static uint32_t empty_stack(reader *r) {
    if (!r->empty)
        r->empty =
            ouro__builder_enter(r->builder, 0, ouro__profile_add_named(r->profile, "(root)", 6));
    return r->empty;
}

static bool read_sample(reader *r, const json *sample, place at, uint32_t **stack, size_t *room,
                        uint32_t *node) {
    size_t depth = ouro__json_size(sample);
    if (!ouro__json_is_array(sample)) return fail_at(r, at, "a list of frames");
    if (depth > *room) {
        uint32_t *grown = realloc(*stack, depth * 2 * sizeof *grown);
        if (!grown) return ouro__fail_memory(r->error);
        *stack = grown;
        *room = depth * 2;
    }
    for (size_t i = 0; i < depth; i++) {
        if (!frame_at(r, ouro__json_at(sample, i), at, &(*stack)[i])) return false;
    }
    *node = depth ? ouro__builder_stack(r->builder, *stack, depth) : empty_stack(r);
    return true;
}

static bool read_sampled(reader *r, const json *from, size_t index) {
    const json *samples = ouro__json_get(from, "samples"),
               *weights = ouro__json_get(from, "weights");
    scale s = ouro__scale_of(ouro__json_text(ouro__json_get(from, "unit")));
    uint32_t m = find_metric(r, from, &s), *stack = NULL, node;
    size_t room = 0, count = ouro__json_size(samples);
    bool ok = ouro__json_is_array(samples) ||
              ouro__fail(r->error, EILSEQ, "profiles[%zu]: expected a list of samples", index);
    if (ok && ouro__json_is_array(weights) && ouro__json_size(weights) != count)
        ok = ouro__fail(r->error, EILSEQ, "profiles[%zu]: %zu weights for %zu samples", index,
                        ouro__json_size(weights), count);
    for (size_t i = 0; ok && i < count && !r->profile->failed; i++) {
        place at = {"samples", index, i};
        int64_t value = 0;
        ok = read_sample(r, ouro__json_at(samples, i), at, &stack, &room, &node);
        ok = ok && (ouro__scaled(&s, ouro__json_number(ouro__json_at(weights, i), 1), &value) ||
                    fail_at(r, (place){"weights", index, i}, "a number below 9e18"));
        if (ok) charge(r, m, node, value);
    }
    free(stack);
    return ok;
}

// ---------------------------------------------------------------- evented

typedef struct {
    uint32_t *positions, *blocks; // where each open frame was entered from, and its block
    size_t depth, room;
    uint32_t position;
    double last;
} events;

static bool open_frame(reader *r, events *v, uint32_t b) {
    if (v->depth == v->room) {
        size_t room = v->room ? v->room * 2 : 256;
        uint32_t *positions = realloc(v->positions, room * sizeof *positions);
        if (positions) v->positions = positions;
        uint32_t *blocks = realloc(v->blocks, room * sizeof *blocks);
        if (blocks) v->blocks = blocks;
        if (!positions || !blocks) return ouro__fail_memory(r->error);
        v->room = room;
    }
    v->positions[v->depth] = v->position;
    v->blocks[v->depth++] = b;
    v->position = ouro__builder_enter(r->builder, v->position, b);
    return true;
}

static bool close_frame(const reader *r, events *v, uint32_t b, place at) {
    if (v->depth == 0) return fail_at(r, at, "no close: no frame is open");
    if (v->blocks[v->depth - 1] != b)
        return fail_at(r, at, "a close of the frame that was opened last");
    v->position = v->positions[--v->depth];
    return true;
}

static bool read_event(reader *r, events *v, const json *event, place at, scale *s, uint32_t m) {
    const char *type = ouro__json_text(ouro__json_get(event, "type"));
    double time = ouro__json_number(ouro__json_get(event, "at"), NAN);
    uint32_t b;
    int64_t value;
    if (!type || (strcmp(type, "O") != 0 && strcmp(type, "C") != 0))
        return fail_at(r, at, "the type O or C");
    if (!(time >= v->last)) return fail_at(r, at, "a time `at` that is not before the last one");
    if (!frame_at(r, ouro__json_get(event, "frame"), at, &b)) return false;
    if (!ouro__scaled(s, time - v->last, &value)) return fail_at(r, at, "a time below 9e18");
    if (v->depth && !r->profile->failed) charge(r, m, v->position, value);
    v->last = time;
    return *type == 'O' ? open_frame(r, v, b) : close_frame(r, v, b, at);
}

static bool read_evented(reader *r, const json *from, size_t index) {
    const json *list = ouro__json_get(from, "events");
    scale s = ouro__scale_of(ouro__json_text(ouro__json_get(from, "unit")));
    uint32_t m = find_metric(r, from, &s);
    events v = {.last = ouro__json_number(ouro__json_get(from, "startValue"), 0)};
    bool ok = ouro__json_is_array(list) ||
              ouro__fail(r->error, EILSEQ, "profiles[%zu]: expected a list of events", index);
    for (size_t i = 0; ok && i < ouro__json_size(list); i++)
        ok = read_event(r, &v, ouro__json_at(list, i), (place){"events", index, i}, &s, m);
    if (ok && v.depth)
        ok = ouro__fail(r->error, EILSEQ, "profiles[%zu]: %zu frames are never closed", index,
                        v.depth);
    free(v.positions);
    free(v.blocks);
    return ok;
}

static bool read_profiles(reader *r) {
    const json *profiles = ouro__json_get(r->root, "profiles");
    if (!ouro__json_is_array(profiles))
        return ouro__fail(r->error, EILSEQ, "expected a list of profiles");
    for (size_t i = 0; i < ouro__json_size(profiles); i++) {
        const json *one = ouro__json_at(profiles, i);
        const char *type = ouro__json_text(ouro__json_get(one, "type"));
        bool sampled = type && strcmp(type, "sampled") == 0,
             evented = type && strcmp(type, "evented") == 0;
        if (!sampled && !evented)
            return ouro__fail(r->error, EILSEQ,
                              "profiles[%zu]: expected the type sampled or evented", i);
        if (r->labels && !r->ours) put_thread(r, one, i);
        if (sampled ? !read_sampled(r, one, i) : !read_evented(r, one, i)) return false;
    }
    if (r->profile->metric_count == 0) ouro__profile_add_metric(r->profile, "samples", "count");
    return true;
}

profile *ouro__speedscope_read(input *in, const read_options *options, error *e) {
    json *root = ouro__json_read(in, options->limit, e);
    if (!root) return NULL;
    const char *exporter = ouro__json_text(ouro__json_get(root, "exporter"));
    reader r = {.profile = ouro__profile_for(in, options),
                .error = e,
                .root = root,
                .labels = options->keep_labels,
                .ours = exporter && strncmp(exporter, "ouro", 4) == 0};
    r.builder = r.profile ? ouro__builder_new(r.profile, ouro__rule(options, RULE_LOOPS),
                                              options->edge_length)
                          : NULL;
    bool ok = r.builder || ouro__fail_memory(e);
    ok = ok && read_frames(&r) && read_profiles(&r) && ouro__profile_finish(r.profile, e);
    double active = ouro__json_number(ouro__json_get(root, "activeProfileIndex"), 0);
    if (ok && r.ours && active >= 0 && active < r.profile->metric_count)
        r.profile->default_metric = (uint32_t)active;
    ouro__builder_free(r.builder);
    free(r.blocks);
    ouro__json_free(root);
    if (ok) return r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

static bool contains(const unsigned char *bytes, size_t size, const char *word) {
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

bool ouro__speedscope_probe(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at])) at++;
    if (at == size || bytes[at] != '{') return false;
    return contains(bytes, size < 4096 ? size : 4096, "speedscope") ||
           (contains(bytes, size, "\"profiles\"") && contains(bytes, size, "\"frames\""));
}

// SPDX-License-Identifier: MIT
//
// A profile becomes a slice. That of a file is a recording of its own, whose id is made of what it
// holds and of its labels, so the same profile counts once. That of a live file is what its
// recording has and the store does not: counters only grow, so after an outage the next slice is
// longer, and nothing is lost or doubled.

#include "keys.h"

#include "questions.h"

#include <stdlib.h>
#include <string.h>

enum { MILLISECOND = 1000000 }; // nanoseconds

static void add_text(sha256 *s, const char *text) { ouro__sha256_add(s, text, strlen(text) + 1); }

static key content_key(const profile *p, const keys *k, const label_set *labels) {
    sha256 s;
    key set = ouro__label_set_key(labels);
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, set.bytes, sizeof set.bytes);
    for (uint32_t m = 0; m < p->metric_count; m++) {
        add_text(&s, ouro__metric_name(p, m));
        add_text(&s, ouro__metric_unit(p, m));
        ouro__sha256_add(&s, p->values[m], p->node_count * sizeof *p->values[m]);
    }
    ouro__sha256_add(&s, k->nodes, p->node_count * sizeof *k->nodes);
    ouro__sha256_add(&s, &p->start_time, sizeof p->start_time);
    return ouro__key_end(&s);
}

// Files are named relative to the root from here on.
static bool use_relative_files(profile *p, const char *root, error *e) {
    for (uint32_t b = 0; root && b < p->block_count; b++) {
        char *file = strdup(ouro__relative_file(ouro__block_file(p, b), root));
        if (!file) return ouro__fail_memory(e);
        p->blocks[b].file = ouro__profile_add_text(p, file);
        free(file);
    }
    return !p->failed || ouro__fail_memory(e);
}

// What `now` has more than the store; takes `had`. Nodes that were pruned since come with less than
// nothing, so that the sum is that of now.
static profile *added_since(profile *had, const profile *now, error *e) {
    merger *m = ouro__merger_new(RULE_AS_IT_IS, 0);
    for (uint32_t i = 0; i < had->metric_count; i++) {
        for (uint32_t n = 0; n < had->node_count; n++) had->values[i][n] = -had->values[i][n];
    }
    bool ok = m || ouro__fail_memory(e);
    ok = ok && ouro__merger_add(m, now, e) && ouro__merger_add(m, had, e);
    ouro__profile_free(had);
    if (ok) return ouro__merger_end(m, e);
    ouro__merger_free(m);
    return NULL;
}

// As a report of the slice counts them: paths that have a value, and those above them.
static bool count_paths(const profile *p, uint64_t *count) {
    unsigned char *needed = calloc(p->node_count, 1);
    *count = 0;
    for (uint32_t n = p->node_count; needed && n-- > 1;) {
        for (uint32_t m = 0; m < p->metric_count && !needed[n]; m++)
            needed[n] = p->values[m][n] != 0;
        needed[p->parent[n]] |= needed[n];
        *count += needed[n];
    }
    free(needed);
    return needed;
}

// A time of the profile that is not known is the one that the caller knows.
static void set_times(slice *s, const profile *p, const push_options *o) {
    s->from = p->start_time ? p->start_time / MILLISECOND : o->time;
    s->until = p->duration ? s->from + p->duration / MILLISECOND : o->time;
    if (s->until < s->from) s->until = s->from; // a clock that was set back
}

static bool put_slice(store *to, const profile *p, slice *s, pushed *done, error *e) {
    keys k;
    s->profile = p;
    s->keys = &k;
    if (!ouro__keys_make(p, &k)) return ouro__fail_memory(e);
    if (!done->live) s->recording = content_key(p, &k, s->labels);
    done->recording = s->recording;
    done->number = s->number;
    bool ok = count_paths(p, &done->paths) || ouro__fail_memory(e);
    ok = ok && ((done->live && done->paths == 0) || ouro__store_put(to, s, &done->known, e));
    ouro__keys_free(&k);
    return ok;
}

static bool push_difference(store *to, const profile *p, slice *s, pushed *done, error *e) {
    profile *had;
    s->recording = ouro__recording_key(p->recording, p->resets);
    if (!ouro__store_recorded(to, s->recording, &s->number, &had, e)) return false;
    profile *added = added_since(had, p, e);
    if (!added) return false;
    bool ok = put_slice(to, added, s, done, e);
    ouro__profile_free(added);
    return ok;
}

bool ouro__store_push(store *to, profile *p, const push_options *o, pushed *done, error *e) {
    static const unsigned char none[sizeof p->recording];
    slice s = {.labels = o->labels};
    *done = (pushed){.live = memcmp(p->recording, none, sizeof none) != 0};
    set_times(&s, p, o);
    if (!use_relative_files(p, o->root, e)) return false;
    return done->live ? push_difference(to, p, &s, done, e) : put_slice(to, p, &s, done, e);
}

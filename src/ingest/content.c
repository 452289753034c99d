// SPDX-License-Identifier: MIT
//
// A profile from the bytes that an agent sent: pprof, folded stacks, lines (a stack each, without
// counts), or speedscope. Texts do not say what they count: that is told by the type in the
// application's name and by `units`. Samples of a processor or a wall clock become time, by the
// sample rate, so that they add up with those of agents that send times.

#include "posted.h"

#include "json.h"
#include "questions.h"
#include "readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ouro__unpack(piece *content, unsigned char **unpacked, error *e) {
    size_t size;
    *unpacked = NULL;
    if (!ouro__is_gzip(content->bytes, content->size)) return true;
    if (!ouro__gunzip(content->bytes, content->size, UNPACKED_MOST, unpacked, &size, e))
        return false;
    *content = (piece){*unpacked, size};
    return true;
}

// ---------------------------------------------------------------- texts

// " 1" behind each line. NULL: out of memory.
static unsigned char *count_lines(piece *text) {
    size_t lines = 1, used = 0;
    for (size_t i = 0; i < text->size; i++) lines += text->bytes[i] == '\n';
    unsigned char *counted = malloc(text->size + 2 * lines + 1);
    for (size_t at = 0; counted && at < text->size;) {
        const unsigned char *newline = memchr(text->bytes + at, '\n', text->size - at);
        size_t end = newline ? (size_t)(newline - text->bytes) : text->size, length = end - at;
        if (length && text->bytes[end - 1] == '\r') length--;
        memcpy(counted + used, text->bytes + at, length);
        used += length;
        if (length) memcpy(counted + used, " 1", 2);
        used += length ? 2 : 0;
        counted[used++] = '\n';
        at = end + 1;
    }
    *text = (piece){counted, used};
    return counted;
}

// All values times `by`. false: their sum is too large.
static bool scale(profile *p, int64_t by) {
    int64_t sum = 0, *values = p->values[0];
    for (uint32_t n = 0; n < p->node_count; n++) {
        if (__builtin_mul_overflow(values[n], by, &values[n]) ||
            __builtin_add_overflow(sum, llabs(values[n]), &sum))
            return false;
    }
    return true;
}

static const char *unit_of(const char *units) {
    return strcmp(units, "bytes") == 0            ? "bytes"
           : strstr(units, "nanoseconds") != NULL ? "nanoseconds"
                                                  : "count";
}

// What the counts of a text are.
static bool name_metric(profile *p, const content_rules *r, error *e) {
    static const profile_type unknown = {"cpu", "cpu", "nanoseconds", true};
    bool plain = !r->units || strcmp(r->units, "samples") == 0;
    const profile_type *t = r->type && r->type->name ? r->type : plain ? &unknown : NULL;
    if (p->metric_count != 1)
        return ouro__fail(e, EILSEQ, "each line has two counts; agents send one");
    if (t && t->sampled && plain && !scale(p, 1000000000 / r->sample_rate))
        return ouro__fail(e, EINVAL, "the counts are too large");
    p->metrics[0].name = ouro__profile_add_text(p, t ? t->metric : r->units);
    p->metrics[0].unit = ouro__profile_add_text(p, t ? t->unit : unit_of(r->units));
    return !p->failed || ouro__fail_memory(e);
}

// ---------------------------------------------------------------- formats

typedef enum { PPROF, FOLDED, LINES, SPEEDSCOPE, UNKNOWN } kind;

static kind kind_of(const content_rules *r, piece content) {
    static const struct {
        const char *name;
        kind kind;
    } known[] = {{"pprof", PPROF}, {"folded", FOLDED},         {"collapsed", FOLDED},
                 {"lines", LINES}, {"speedscope", SPEEDSCOPE}, {"groups", FOLDED}};
    if (!r->format || !*r->format)
        return content.size && ouro__pprof_probe(content.bytes, content.size) ? PPROF : FOLDED;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(r->format, known[i].name) == 0) return known[i].kind;
    }
    return UNKNOWN;
}

static profile *canonical(profile *p, error *e) {
    if (!p || p->rule == RULE_LOOPS) return p;
    profile *compacted = ouro__compacted(p, RULE_LOOPS, 0, e);
    ouro__profile_free(p);
    return compacted;
}

static profile *read_as(kind k, piece content, const content_rules *r, error *e) {
    input in = {.bytes = content.bytes, .size = content.size, .fd = -1, .limit = r->limit};
    read_options how = {.rule = RULE_LOOPS, .limit = r->limit};
    if (k == PPROF) return canonical(ouro__pprof_read(&in, &how, e), e);
    if (k == SPEEDSCOPE) return canonical(ouro__speedscope_read(&in, &how, e), e);
    profile *p = ouro__folded_read(&in, &how, e);
    if (!p || name_metric(p, r, e)) return p;
    ouro__profile_free(p);
    return NULL;
}

profile *ouro__content_read(piece content, const content_rules *r, error *e) {
    unsigned char *unpacked, *counted = NULL;
    profile *p = NULL;
    if (!ouro__unpack(&content, &unpacked, e)) return NULL;
    kind k = kind_of(r, content);
    if (k == UNKNOWN) {
        ouro__error_set(e, ENOTSUP,
                        "the format %.20s is not taken; there are pprof, folded, lines and "
                        "speedscope",
                        r->format);
    } else if (k == LINES && !(counted = count_lines(&content))) {
        ouro__error_memory(e);
    } else {
        p = read_as(k, content, r, e);
    }
    free(unpacked);
    free(counted);
    return p;
}

// ---------------------------------------------------------------- since a profile before

static bool is_cumulative(const json *config, const char *name) {
    static const char *const known[] = {"alloc_objects", "alloc_space", "contentions", "delay"};
    const json *said = ouro__json_get(config, name);
    if (said) return ouro__json_is_true(ouro__json_get(said, "cumulative"));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i]) == 0) return true;
    }
    return false;
}

static void negate(profile *p, const json *config) {
    for (uint32_t m = 0; m < p->metric_count; m++) {
        bool counts = is_cumulative(config, ouro__metric_name(p, m));
        for (uint32_t n = 0; n < p->node_count; n++)
            p->values[m][n] = counts ? -p->values[m][n] : 0;
    }
}

static profile *sum_of(profile *a, profile *b, error *e) {
    merger *m = ouro__merger_new(RULE_AS_IT_IS, 0);
    bool ok = m || ouro__fail_memory(e);
    if (ok && ouro__merger_add(m, a, e) && ouro__merger_add(m, b, e)) return ouro__merger_end(m, e);
    ouro__merger_free(m);
    return NULL;
}

profile *ouro__content_since(profile *now, profile *before, piece config, error *e) {
    input in = {.bytes = config.bytes, .size = config.size, .fd = -1};
    json *said = config.size ? ouro__json_read(&in, 0, e) : NULL;
    profile *added = NULL;
    if (said || !config.size) {
        negate(before, said);
        added = sum_of(now, before, e);
        if (added) added->rule = RULE_LOOPS; // as the paths of both were
    }
    if (said) ouro__json_free(said);
    ouro__profile_free(now);
    ouro__profile_free(before);
    return added;
}

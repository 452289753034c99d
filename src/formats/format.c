// SPDX-License-Identifier: MIT
//
// Reading and writing by the table of formats.

#include "format.h"
#include "questions.h"
#include "readers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const format *ouro__format_named(const char *name) {
    for (size_t i = 0; i < ouro__format_count; i++) {
        if (strcmp(ouro__formats[i].name, name) == 0) return &ouro__formats[i];
    }
    return NULL;
}

static bool is_packed(const char *path) {
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

// `extension` is n long; with a dot at its end it is how the file's name begins.
static bool fits(const char *path, size_t length, const char *extension, size_t n) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (extension[n - 1] == '.') return strncmp(name, extension, n) == 0;
    return n <= length && memcmp(path + length - n, extension, n) == 0;
}

// The longest extension that fits: .speedscope.json is not .json.
const format *ouro__format_of_path(const char *path) {
    const format *best = NULL;
    size_t best_length = 0, length = strlen(path) - (is_packed(path) ? 3 : 0);
    for (size_t i = 0; i < ouro__format_count; i++) {
        if (!ouro__formats[i].write) continue;
        for (const char *at = ouro__formats[i].extensions, *space; (space = strchr(at, ' '));
             at = space + 1) {
            size_t n = (size_t)(space - at);
            if (n > best_length && fits(path, length, at, n)) {
                best = &ouro__formats[i];
                best_length = n;
            }
        }
    }
    return best;
}

// ---------------------------------------------------------------- probing

static const struct {
    const char *begins;
    size_t length;
    const char *sentence;
} others[] = {
    {"\177ELF", 4, "an executable (ELF), not a profile; to make one, run it under a profiler"},
    {"PERFILE2", 8, "perf.data as perf record writes it; try: perf script -i FILE | ouro report -"},
    {"# callgrind", 11,
     "a callgrind file, which can only be written; pprof and folded stacks can be read"},
    {"<!DOCTYPE", 9, "an HTML page, not a profile"},
    {"<svg", 4, "a picture (SVG), not a profile"},
    {"<?xml", 5, "XML, not a profile"},
    {"PK\3\4", 4, "a zip archive; unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, "packed with zstd; unpack it first (zstd -d)"},
    {"\xfd"
     "7zXZ",
     5, "packed with xz; unpack it first (xz -d)"},
    {"BZh", 3, "packed with bzip2; unpack it first (bzip2 -d)"},
    {"\x89PNG", 4, "a picture (PNG), not a profile"},
};

static bool fail_unknown(const unsigned char *bytes, size_t size, error *e) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (size >= others[i].length && memcmp(bytes, others[i].begins, others[i].length) == 0)
            return ouro__fail(e, EILSEQ, "%s", others[i].sentence);
    }
    char begin[64] = "";
    for (size_t i = 0, used = 0; i < size && i < 12; i++)
        used += (size_t)sprintf(begin + used, bytes[i] > ' ' && bytes[i] < 127 ? "%c" : "\\x%02x",
                                bytes[i]);
    return ouro__fail(
        e, EILSEQ,
        "not a profile of a known kind; it begins with %s (--from says which kind it is)", begin);
}

const format *ouro__format_probe(const unsigned char *bytes, size_t size, error *e) {
    for (size_t i = 0; i < ouro__format_count; i++) {
        if (ouro__formats[i].probe && ouro__formats[i].probe(bytes, size)) return &ouro__formats[i];
    }
    fail_unknown(bytes, size, e);
    return NULL;
}

// ---------------------------------------------------------------- whole files

// Can the beginning of a large file tell what it is? JSON may tell it anywhere, and of a text the
// first line must be there.
static bool is_telling(const input *in) {
    size_t blank = 0;
    while (blank < in->size && strchr(" \t\r\n", in->bytes[blank])) blank++;
    if (blank == in->size || in->bytes[blank] == '{') return false;
    return ouro__pprof_probe(in->bytes, in->size) || memchr(in->bytes, '\n', in->size);
}

// Formats that are not read forward get all bytes.
static const format *find_format(input *in, const format *from, error *e) {
    const format *f = from;
    if (!f && in->more && is_telling(in)) {
        if (!ouro__input_more(in, 0, e)) return NULL;
        f = ouro__format_probe(in->bytes, in->size, e);
        if (!f) return NULL;
    }
    if (!(f && f->forward) && !ouro__input_all(in, e)) return NULL;
    if (!f) f = ouro__format_probe(in->bytes, in->size, e);
    if (f && !f->read) ouro__error_set(e, EINVAL, "%s can be written but not read", f->name);
    return f && f->read ? f : NULL;
}

profile *ouro__profile_read(const char *path, const format *from, const read_options *options,
                            error *e) {
    input in;
    if (!ouro__input_open(&in, path, options->limit, e)) return NULL;
    const format *f = find_format(&in, from, e);
    profile *p = f ? f->read(&in, options, e) : NULL;
    if (p) p->format = f->name;
    ouro__input_close(&in);
    return p;
}

profile *ouro__compacted_as_asked(profile *p, const read_options *options, error *e) {
    int rule = ouro__rule(options, RULE_AS_IT_IS);
    if (rule == RULE_AS_IT_IS) return p;
    profile *compacted = ouro__compacted(p, rule, options->edge_length, e);
    ouro__profile_free(p);
    return compacted;
}

profile *ouro__profile_for(input *in, const read_options *options) {
    profile *p = ouro__profile_new();
    if (!p) return NULL;
    p->budget = ouro__budget_of(ouro__input_size(in), in->packed, options->limit);
    in->budget = &p->budget;
    return p;
}

void ouro__tell_reading(const input *in, size_t at, const read_options *options) {
    if (options->progress && in->total)
        options->progress(options->user, (double)(in->offset + at) / (double)in->total);
}

bool ouro__profile_write(const profile *p, const char *path, const format *to,
                         const write_options *options, error *e) {
    output *out = ouro__output_open(path, is_packed(path), e);
    if (!out) return false;
    ouro__output_watch(out, options->progress, options->user);
    ouro__output_limit(out, &p->budget);
    bool ok = to->write(p, options, out, e);
    return ouro__output_close(out, ok, e);
}

// ---------------------------------------------------------------- for writers

bool ouro__walk_to(walk *w, const profile *p, uint32_t n) {
    if (n == 0) {
        w->depth = 0;
    } else {
        while (w->nodes[w->depth] != p->parent[n]) w->depth--;
        w->depth++;
    }
    if (w->depth >= w->room) {
        uint32_t room = w->room ? w->room * 2 : 256;
        uint32_t *nodes = realloc(w->nodes, room * sizeof *nodes);
        if (!nodes) return false;
        w->nodes = nodes;
        w->room = room;
    }
    w->nodes[w->depth] = n;
    return true;
}

void ouro__walk_free(walk *w) {
    free(w->nodes);
    *w = (walk){0};
}

static int64_t power_of_ten(uint32_t n) {
    int64_t power = 1;
    for (; n > 0; n--) power *= 10;
    return power;
}

int64_t ouro__whole(const profile *p, uint32_t m, uint32_t node, int64_t *carry) {
    if (p->metrics[m].decimals == 0) return p->values[m][node];
    int64_t unit = power_of_ten(p->metrics[m].decimals), value = p->values[m][node] + *carry;
    // To the nearest: half a unit is lent to the first and given back by the last.
    int64_t whole = (value + unit / 2) / unit;
    *carry = value - whole * unit;
    return whole;
}

char *ouro__decimal(char text[static DECIMAL_ROOM], int64_t value, uint32_t decimals) {
    int64_t unit = power_of_ten(decimals);
    const char *sign = value < 0 ? "-" : "";
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int n =
        snprintf(text, DECIMAL_ROOM, "%s%llu", sign, (unsigned long long)(size / (uint64_t)unit));
    uint64_t fraction = size % (uint64_t)unit;
    if (!fraction) return text;
    n += snprintf(text + n, DECIMAL_ROOM - (size_t)n, ".%0*llu", (int)decimals,
                  (unsigned long long)fraction);
    while (text[n - 1] == '0') text[--n] = '\0';
    return text;
}

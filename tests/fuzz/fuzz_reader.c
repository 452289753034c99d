// SPDX-License-Identifier: MIT
//
// One fuzz target per reader, chosen by READER when it is compiled: a format's name; "probe", which
// finds it; or "gzip", which opens a file as the tools do, so that packed ones are unpacked. The
// first byte chooses the compaction rule and a format to write; the rest is the file. Whatever
// comes in, a reader gives a valid profile or an error with a message; a profile that was read is
// asked everything and written.

#include "format.h"
#include "questions.h"
#include "slice_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef READER
#error "compile with -DREADER=\"pprof\""
#endif

static const int rules[] = {RULE_DEFAULT, RULE_LOOPS, RULE_CYCLES, RULE_EDGES, RULE_NONE};

static void ask(profile *p) {
    totals t;
    knots k;
    around a;
    error e;
    uint32_t blocks[] = {0, 0};
    if (!p->metric_count) return;
    if (ouro__totals(p, 0, NULL, 0, &t)) ouro__totals_free(&t);
    if (ouro__knots(p, 0, &k)) ouro__knots_free(&k);
    if (!p->block_count) return;
    if (ouro__around(p, 0, blocks, 2, &a)) ouro__around_free(&a);
    ouro__profile_free(ouro__filter(p, &(filter){.fold = blocks, .fold_count = 1}, &e));
    ouro__profile_free(ouro__divided(p, 3, &e));
    ouro__profile_free(ouro__pruned(p, 0.1, &e));
}

static void write_as(const profile *p, const format *f) {
    if (!f->write || !p->metric_count) return;
    error e;
    output *out = ouro__output_open("/dev/null", false, &e);
    if (!out) abort();
    write_options options = {.title = "t", .metric = p->default_metric, .share = 0.001};
    bool ok = f->write(p, &options, out, &e);
    ouro__output_close(out, ok, &e);
}

static profile *read_bytes(const unsigned char *bytes, size_t size, const read_options *options,
                           error *e) {
    input in = {.bytes = bytes, .size = size, .fd = -1};
    const format *f = strcmp(READER, "probe") == 0 ? ouro__format_probe(bytes, size, e)
                                                   : ouro__format_named(READER);
    return f ? f->read(&in, options, e) : NULL;
}

// The heat map, and what choices mean.
static void ask_slices(profile *p) {
    static const char *const choices[] = {"slowest", "typical", "last", "1", "0.1-2,0.001-"};
    slice_grid g;
    if (ouro__slice_grid(p->slices, &g)) ouro__grid_free(&g);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        slice_choice c;
        chosen_slices chosen;
        if (!ouro__slice_choice_parse(choices[i], &c, NULL)) abort();
        if (!ouro__choose_slices(p, &c, &chosen)) continue;
        filter f = {.labels = chosen.labels, .label_count = chosen.label_count};
        profile *left = ouro__filter(p, &f, NULL);
        if (left) ouro__per_slice(left, chosen.kept);
        ouro__profile_free(left);
        ouro__chosen_free(&chosen);
    }
}

// A filter by the first label, and what each label has.
static void ask_labels(profile *p) {
    label_condition c = {0, 0, p->tags->tag_count & 1};
    filter f = {.labels = &c, .label_count = 1};
    label_amounts a;
    error e;
    if (p->metric_count && ouro__label_amounts(p, 0, &f, &a)) ouro__label_amounts_free(&a);
    profile *left = ouro__filter(p, &f, &e);
    if (left && !ouro__profile_is_valid(left)) abort();
    ouro__profile_free(left);
}

static profile *read_file(const unsigned char *bytes, size_t size, const read_options *options,
                          error *e) {
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    profile *p = ouro__profile_read(path, NULL, options, e);
    close(fd);
    return p;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size < 2) return 0;
    error e = {0};
    read_options options = {.rule = rules[data[0] % 5],
                            .edge_length = 1 + data[0] % 3,
                            .keep_origin = data[0] >> 7,
                            .keep_labels = data[0] >> 6 & 1};
    // A copy of the exact size, so that the sanitizer sees a read behind its end.
    unsigned char *bytes = malloc(size - 1);
    memcpy(bytes, data + 1, size - 1);
    profile *p = strcmp(READER, "gzip") == 0 ? read_file(bytes, size - 1, &options, &e)
                                             : read_bytes(bytes, size - 1, &options, &e);
    if (!p && (!e.code || !e.message[0])) abort();
    if (p && !ouro__profile_is_valid(p)) abort();
    if (p) {
        ask(p);
        write_as(p, &ouro__formats[data[0] / 5 % ouro__format_count]);
        if (p->tags) ask_labels(p);
        if (p->slices) ask_slices(p);
    }
    ouro__profile_free(p);
    free(bytes);
    return 0;
}

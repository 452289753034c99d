// SPDX-License-Identifier: MIT
//
// Requests to the viewer, without its sockets: whatever the target, it is refused or answered, and
// what is answered as JSON is JSON. The first byte chooses whether one file is open or two. Host
// headers are tried with the same bytes. The file that is open alone has slices.

#include "api.h"
#include "format.h"
#include "json.h"
#include "secret.h"
#include "sliced.h"

#include <stdlib.h>
#include <string.h>

static const char stacks[] = "main;parse;lex 10\nmain;parse;parse;lex 5\nmain;eval;apply;eval 20\n"
                             "main;\xff\xfe;\xc3( 3\nmain;<b>;a@b.c:1 2.5\n";

static profile *read_stacks(void) {
    error e = {0};
    input in = {.bytes = (const unsigned char *)stacks, .size = sizeof stacks - 1, .fd = -1};
    const format *f = ouro__format_named("folded");
    profile *p = f->read(&in, &(read_options){.rule = RULE_DEFAULT}, &e);
    if (!p) abort();
    p->format = f->name;
    return p;
}

// Three of a millisecond or two; the tree of the second is kept.
static void add_slices(profile *p) {
    enum { WIDTH = 4, ROW = 2 + WIDTH };
    static const uint64_t rows[3 * ROW] = {
        100, 1000000, 1, 0, 0, 5, 1000100, 2000000, 1, 0, 0, 9, 3000100, 1000000, 1, 0, 0, 5};
    p->slices = ouro__slices_new(1, 0);
    lane_slices *l = p->slices ? ouro__slices_add_lane(p->slices) : NULL;
    if (!l) abort();
    *l = (lane_slices){.name = strdup("frame"),
                       .count = 3,
                       .slowest = 2000000,
                       .row_count = 3,
                       .outside = l->outside,
                       .open = l->open,
                       .durations = l->durations,
                       .heat = l->heat,
                       .heat_start = 100,
                       .heat_step = 1000000,
                       .kept_count = 1};
    l->table = malloc(sizeof rows);
    l->kept = calloc(1, sizeof *l->kept);
    if (!l->name || !l->table || !l->kept) abort();
    memcpy(l->table, rows, sizeof rows);
    l->durations[1700] = 2;
    l->durations[1828] = 1;
    l->heat[47] = l->heat[128 + 51] = l->heat[3 * 128 + 47] = 1;
    *l->kept = (kept_slice){.number = 2,
                            .start = 1000100,
                            .duration = 2000000,
                            .why = 7,
                            .totals = calloc(WIDTH, sizeof(uint64_t)),
                            .rest = calloc(WIDTH, sizeof(uint64_t))};
    if (!l->kept->totals || !l->kept->rest) abort();
}

typedef struct {
    shelf shelf;
    cache cache;
    api api;
} open_files;

static open_files *opened(unsigned count) {
    static open_files all[2];
    open_files *o = &all[count - 1];
    if (o->api.shelf) return o;
    server_options options = {.file_count = count};
    error e = {0};
    for (unsigned i = 0; i < count; i++)
        options.files[i] = (server_file){.path = "x", .profile = read_stacks()};
    if (count == 1) add_slices(options.files[0].profile);
    if (!ouro__shelf_open(&o->shelf, &options, &e)) abort();
    ouro__cache_init(&o->cache, &o->shelf);
    o->api = (api){.shelf = &o->shelf, .cache = &o->cache, .instance = "fuzz"};
    return o;
}

static void check(const answer *a) {
    const char *bytes = a->bytes ? a->bytes : a->lasting;
    if (a->status < 200 || a->status > 599 || (!bytes && !a->in_file)) abort();
    if (!a->type || strcmp(a->type, "application/json; charset=utf-8") != 0) return;
    error e = {0};
    json *parsed = ouro__json_read(
        &(input){.bytes = (const unsigned char *)bytes, .size = a->size, .fd = -1}, 0, &e);
    if (!parsed) abort();
    ouro__json_free(parsed);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const char *const names[] = {"localhost", "[::1]", NULL};
    if (size < 2) return 0;
    char *target = malloc(size);
    memcpy(target, data + 1, size - 1);
    target[size - 1] = '\0';
    ouro__host_is_ours(target, data[0], names);
    ouro__origin_is_ours(target, "localhost:1");
    ouro__secret_in_cookies("00000000000000000000000000000000", "n", target);
    char *clean = ouro__secret_removed(target);
    if (ouro__secret_in_target(clean, &(size_t){0})) abort();
    free(clean);
    request r;
    if (ouro__request_parse(&r, target) == 0 && strncmp(r.path, "/api/v1/", 8) == 0) {
        answer a = {0};
        ouro__api_answer(&opened(1 + data[0] % 2)->api, &r, NULL, &a);
        check(&a);
        ouro__answer_free(&a);
    }
    ouro__request_free(&r);
    free(target);
    return 0;
}

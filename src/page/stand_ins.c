// SPDX-License-Identifier: MIT
//
// What the sources of the module call and neither wasi-libc nor a page has: source files, zlib, a
// clock, the page itself. What asks the system for a file gets an error from the page's script.

#include "api.h"
#include "choices.h"
#include "output.h"
#include "page_pieces.h"
#include "readers.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const page_pieces *const ouro__page = NULL;

const format ouro__formats[] = {
    {.name = "pprof", .write = ouro__pprof_write},
    {.name = "speedscope", .write = ouro__speedscope_write},
    {.name = "folded", .write = ouro__folded_write},
    {.name = "svg", .write = ouro__svg_write},
};
const size_t ouro__format_count = sizeof ouro__formats / sizeof *ouro__formats;

// ---------------------------------------------------------------- files

static const char no_sources[] = "this page holds the profile without its sources; `ouro view "
                                 "PROFILE` shows them where they are";

char *ouro__source_read(const source_rules *rules, const char *name, size_t *size,
                        const char **reason) {
    (void)rules, (void)name, (void)size;
    *reason = no_sources;
    return NULL;
}

// Maps change nothing without sources.
bool ouro__is_source_map(const char *text) { return strchr(text, '=') != NULL; }

bool ouro__source_readable(const source_rules *rules, const char *name) {
    (void)rules, (void)name;
    return false;
}

int mkostemp(char *name, int flags) {
    (void)name, (void)flags;
    errno = ENOENT;
    return -1;
}

char *secure_getenv(const char *name) {
    (void)name;
    return NULL;
}

// ---------------------------------------------------------------- stores

// A page has no store, so nobody gets here.
bool ouro__api_store(question *q) { return ouro__refuse(q, 404, "no-store", "no store is open"); }
bool ouro__api_offer(question *q) { return ouro__api_store(q); }
bool ouro__api_series(question *q) { return ouro__api_store(q); }

generation *ouro__choices_generation(choices *c, cache *views, const chosen_sides *asked,
                                     error *e) {
    (void)c, (void)views, (void)asked;
    ouro__error_set(e, ENOENT, "no store is open");
    return NULL;
}

// ---------------------------------------------------------------- the rest

packer *ouro__packer_new(void (*sink)(void *user, const void *bytes, size_t size), void *user) {
    (void)sink, (void)user;
    return NULL;
}

bool ouro__packer_put(packer *p, const void *bytes, size_t size, bool last) {
    (void)p, (void)bytes, (void)size, (void)last;
    return false;
}

void ouro__packer_free(packer *p) { (void)p; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    (void)clock;
    *now = (struct timespec){0};
    return 0;
}

// Merge sort by halves from the bottom: rows of any size, without recursion.
void qsort_r(void *rows, size_t count, size_t size,
             int (*order)(const void *a, const void *b, void *user), void *user) {
    char *from = rows, *to = malloc(count * size + 1), *own = to;
    if (!to) __builtin_trap(); // the C library has no way to tell either
    for (size_t half = 1; half < count; half *= 2) {
        for (size_t at = 0; at < count; at += 2 * half) {
            size_t a = at, a_end = at + half < count ? at + half : count;
            size_t b = a_end, b_end = a_end + half < count ? a_end + half : count;
            for (size_t i = at; i < b_end; i++) {
                bool first =
                    a < a_end && (b == b_end || order(from + a * size, from + b * size, user) <= 0);
                memcpy(to + i * size, from + (first ? a++ : b++) * size, size);
            }
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows) memcpy(rows, from, count * size);
    free(own);
}

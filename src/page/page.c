// SPDX-License-Identifier: MIT
//
// What the script of a shared page calls (web/parts/inside.js): it gives the profile's columns, and
// asks the questions of docs/api.md, by the same targets as those of the server. The script writes
// into memory that it got by malloc. One thread, one question at a time.

#include "api.h"
#include "columns.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

// The views of a page; a tab of a browser has less memory than a server.
#define VIEWS_BYTES ((size_t)64 << 20)

static shelf page_shelf;
static cache page_cache;
static api page_api = {.shelf = &page_shelf, .cache = &page_cache, .no_files = true};
static answer last;
static error problem;

EXPORT(room) void *page_room(size_t size) { return malloc(size + 1); }
EXPORT(drop) void page_drop(void *room) { free(room); }

// Opens the columns of one file or two, which stay where they are. 0: see page_problem.
EXPORT(open) int page_open(const unsigned char *bytes, size_t size, unsigned count) {
    static columns files[2];
    const unsigned char *at = bytes, *end = bytes + size;
    server_options o = {.file_count = count};
    for (unsigned i = 0; i < count && i < 2; i++) {
        if (!ouro__columns_read(&files[i], &at, end, &problem)) return 0;
        o.files[i] = (server_file){files[i].title, files[i].profile, files[i].part};
        files[i].profile = NULL; // the shelf's now
    }
    if (!ouro__shelf_open(&page_shelf, &o, &problem)) return 0;
    ouro__cache_init(&page_cache, &page_shelf);
    page_cache.bytes_most = VIEWS_BYTES;
    return 1;
}

EXPORT(problem) const char *page_problem(void) { return problem.message; }

// Answers a target with a NUL behind it: the status. The answer stays until the next question.
EXPORT(ask) int page_ask(const char *target) {
    request r;
    ouro__answer_free(&last);
    int status = ouro__request_parse(&r, target);
    if (status || strncmp(r.path, API_PATH, strlen(API_PATH)) != 0) {
        ouro__answer_error(&last, status ? status : 404, "bad-request", "not a question");
    } else {
        ouro__api_answer(&page_api, &r, NULL, &last);
    }
    ouro__request_free(&r);
    return last.status;
}

EXPORT(bytes) const char *page_bytes(void) { return last.bytes ? last.bytes : last.lasting; }
EXPORT(size) size_t page_size(void) { return last.size; }
EXPORT(type) const char *page_type(void) { return last.type; }

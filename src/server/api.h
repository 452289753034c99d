// SPDX-License-Identifier: MIT
//
// Inside the API: a question on its way to an answer. Each api_*.c answers a group of questions;
// api.c finds the right one and does what all have in common. docs/api.md says what each means.

#ifndef OURO_API_H
#define OURO_API_H

#include "answer.h"
#include "request.h"
#include "view.h"

typedef struct {
    shelf *shelf;
    cache *cache;
    char instance[24]; // differs from run to run, for ETags
} api;

// Fills the answer. `known_etag` is what the client has, NULL if nothing. The path begins with
// /api/v1/.
void ouro__api_answer(api *a, const request *r, const char *known_etag, answer *to);

// ---------------------------------------------------------------- a question

typedef struct {
    api *api;
    const request *request;
    generation *generation;
    unsigned side_number;
    const side *side;
    view *view;       // NULL for questions that need none
    const profile *p; // of the view
    uint32_t metric;
    uint32_t calls, recursions; // metrics of these names, or NO_ROW
    int64_t total, left;
    output *out;
    bool csv;
    // Blocks that rows named so far: place_of[b] is 1 + the place in `blocks`.
    uint32_t *place_of, *blocks, block_count;
    answer *answer;
    bool refused;
} question;

// Every answer function writes members of the open object, each with a comma before it, and gives
// false if it was refused.
typedef bool answering(question *q);
answering ouro__api_profile, ouro__api_overview, ouro__api_blocks, ouro__api_sequences,
    ouro__api_around, ouro__api_flame, ouro__api_tree, ouro__api_knots, ouro__api_files,
    ouro__api_source, ouro__api_compare, ouro__api_find, ouro__api_total, ouro__api_export;

// Makes the answer an error; false, so that it can be returned.
bool ouro__refuse(question *q, int status, const char *code, const char *pattern, ...)
    __attribute__((format(printf, 4, 5)));
bool ouro__refuse_memory(question *q);

// The blocks that a parameter names, in order; freed by the caller. NULL: refused.
uint32_t *ouro__question_blocks(question *q, const char *name, size_t *count);
// The node at the path of the `at` parameters; false: refused.
bool ouro__question_node(question *q, uint32_t *node);
// The view with the question's filters, of any side. NULL: refused.
view *ouro__question_view(question *q, unsigned side_number);
// A metric of a side by the parameter or the side's own choice; false: refused.
bool ouro__question_metric(question *q, const profile *p, uint32_t *m);

// ---------------------------------------------------------------- tables

typedef struct {
    uint32_t offset, limit;
    const char *column; // sort by it
    bool ascending;
} paging;

// Reads offset, limit and sort; `columns` has the names that sort knows, a space behind each. The
// first is the default, descending. With `prefix` ("in_"), of in_offset and in_limit. false: refused.
bool ouro__question_paging(question *q, const char *columns, const char *prefix, paging *page);
// match[b] for the `search` parameter, NULL with *ok if there is none. Freed by the caller.
uint8_t *ouro__question_search(question *q, bool *ok);
// Rows with keep[i], by keys: those of the page. Freed by the caller. NULL: refused.
uint32_t *ouro__question_page(question *q, const int64_t *keys, uint32_t count, const uint8_t *keep,
                              const paging *page, uint32_t *rows);
// ,"rows":[ ... ],"count":N,"offset":N
void ouro__put_rows_open(question *q);
void ouro__put_rows_close(question *q, uint32_t count, uint32_t offset);

// ---------------------------------------------------------------- writing

void ouro__put_integer(output *out, int64_t number);
// ,"name":number
void ouro__put_member(question *q, const char *name, int64_t number);
void ouro__put_text_member(question *q, const char *name, const char *text);
// The place of a block in `blocks`, or null for the root.
void ouro__put_block(question *q, uint32_t block);
// calls or null
void ouro__put_calls(question *q, bool known, int64_t calls);
// CSV: name,file,line,column of a block, and one number more.
void ouro__csv_block(question *q, uint32_t block);
// A number of the metric with its decimals: 1.25
void ouro__csv_value(question *q, int64_t value);
// The label of a block of a side, or of `p`, what filters left of it. Freed by the caller. NULL: out
// of memory.
char *ouro__view_label(const side *s, const profile *p, uint32_t block);

// Rows of the overview.
bool ouro__put_block_rows(question *q, const uint32_t *blocks, uint32_t count);
bool ouro__put_top(question *q, const char *name, bool overall, uint32_t top);
bool ouro__put_knot_rows(question *q, uint32_t offset, uint32_t limit, const uint8_t *match,
                         uint32_t *count);
bool ouro__put_flame(question *q, uint32_t node, uint32_t limit);

#endif

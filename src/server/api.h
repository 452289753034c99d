// SPDX-License-Identifier: MIT
//
// Inside the API: a question on its way to an answer. api.c finds the question and does what all
// have in common; question.c reads parameters; each api_*.c answers a group of questions, most of
// them as tables (table.h). docs/api.md says what each means.
//
// OUT OF MEMORY is told in one way: a function that needs memory returns false or NULL without
// calling ouro__refuse, and what is being written is marked by ouro__output_fail_memory. api.c
// makes either the same answer with status 503.

#ifndef OURO_API_H
#define OURO_API_H

#include "answer.h"
#include "json_writer.h"
#include "request.h"
#include "view.h"

typedef struct {
    shelf *shelf;
    cache *cache;
    char instance[24]; // differs from run to run, for ETags
    bool no_files;     // files to save are made in memory
} api;

// Fills the answer. `known_etag` is what the client has, NULL if nothing. The path begins
// with API_PATH.
void ouro__api_answer(api *a, const request *r, const char *known_etag, answer *to);

#define API_PATH "/api/v1/"

// ---------------------------------------------------------------- a question

// How many slices a choice means. `rest` is what is on no path of theirs, in the question's metric.
typedef struct {
    bool asked, exact;
    uint64_t count, kept;
    int64_t rest;
} slice_counts;

typedef struct {
    api *api;
    const request *request;
    generation *generation;
    unsigned side_number; // 0: before, 1: after
    bool versus;          // both are slices of one file: `against` before, `slices` after
    unsigned file;        // of the generation: the side's number, or 0 of slices
    const side *side;
    slice_counts slices[2]; // what was chosen of each side
    view *view;             // NULL for questions that need none
    const profile *p;       // of the view
    uint32_t metric;
    uint32_t recursions;       // the metric of this name, or NO_ROW
    const recursion *recursed; // by block
    int64_t total, left;       // without filters, and with them
    bool csv;
    output *out;
    json_writer json; // into `out`
    // Blocks that were written so far: place_of[b] is 1 + the place in `blocks`.
    uint32_t *place_of, *blocks, block_count;
    const char *type; // of a file: its media type and name
    char file_name[sizeof((answer *)0)->file_name];
    answer *answer; // of a refusal
    bool refused;
} question;

// Writes members into the open object, or the lines of CSV. false: refused, or out of memory.
typedef bool answering(question *q);
answering ouro__api_profile, ouro__api_overview, ouro__api_blocks, ouro__api_sequences,
    ouro__api_around, ouro__api_flame, ouro__api_sandwich, ouro__api_tree, ouro__api_matches,
    ouro__api_knots, ouro__api_files, ouro__api_source, ouro__api_compare, ouro__api_difference,
    ouro__api_neighbourhood, ouro__api_find, ouro__api_total, ouro__api_export, ouro__api_labels,
    ouro__api_history, ouro__api_slices, ouro__api_store, ouro__api_offer, ouro__api_series;

// Makes the answer an error; false, so that it can be returned.
bool ouro__refuse(question *q, int status, const char *code, const char *pattern, ...)
    __attribute__((format(printf, 4, 5)));
// The same with the message of an error, unless that is out of memory.
bool ouro__refuse_error(question *q, int status, const char *code, const error *e);

// ---------------------------------------------------------------- parameters

// The blocks that a parameter names, in order; freed by the caller. NULL: refused.
uint32_t *ouro__question_blocks(question *q, const char *name, size_t *count);
// The node of the parameter `path`, an id, else at the path of the `at` parameters, which are
// labels; false: refused. With nearest=true it is the end of the longest prefix that there is.
bool ouro__question_node(question *q, uint32_t *node);
bool ouro__question_nearest(const question *q);
// How many boxes a flame graph may have; false: refused.
bool ouro__question_boxes(question *q, uint32_t *limit);
// The node that an id names, NO_NODE if there is none; false: refused.
bool ouro__question_node_of_id(question *q, const char *text, uint32_t *node);
// The view with the question's filters, of any side. NULL: refused.
view *ouro__question_view(question *q, unsigned side_number);
// The question's filters for a side; freed by the caller. *nothing: they select a block that only
// the other side has. false: refused.
bool ouro__question_filter(question *q, unsigned side_number, filter *f, bool *nothing);
void ouro__question_filter_free(filter *f);
// A choice of slices as conditions on labels, added to the filter's; see slice_choice.h. false:
// refused, or out of memory.
bool ouro__question_slices(question *q, unsigned side_number, filter *f);
// Whether the parameters of slices and of time make sense together; sets `versus`. false: refused.
bool ouro__question_times(question *q);
// The part of the time that is asked for, behind ouro__question_filter. false: refused.
bool ouro__question_when(question *q, unsigned side_number, view_when *w);
// The file of a side, and what it holds.
unsigned ouro__question_file(const question *q, unsigned side_number);
// A metric of a side by the parameter or the side's own choice; false: refused.
bool ouro__question_metric(question *q, const profile *p, uint32_t *m);
// match[b] for what is searched for: a part of a name or file, or a /regular expression/. Freed by
// the caller. NULL: refused.
uint8_t *ouro__question_matching(question *q, const char *text, uint32_t *count);
// match[b] for the `search` parameter, NULL with *ok if there is none. Freed by the caller.
uint8_t *ouro__question_search(question *q, bool *ok);

// ---------------------------------------------------------------- writing

// A block as its place in the answer's `blocks`; the root is null.
void ouro__write_block(question *q, const char *name, uint32_t block);
// Where a block is, as members of an open object. `p` is what filters left of the side.
void ouro__write_block_info(question *q, const side *s, const profile *p, uint32_t block);
// {direct, through, deepest}, or null for a block that never recursed.
void ouro__write_recursion(question *q, const char *name, const recursion *r);
// What is measured, as members: metric, unit and decimals.
void ouro__write_metric(question *q, const char *name, const profile *p, uint32_t m,
                        uint32_t decimals);

// How many slices a side has, and how many of them have trees, as a member.
void ouro__write_slice_counts(question *q, const char *name, const slice_counts *c);

// Parts of what is open.
void ouro__write_source(question *q);
void ouro__write_store(question *q);

// Parts of the overview.
bool ouro__write_top(question *q, const char *name, bool overall, uint32_t top);
bool ouro__write_knots(question *q, uint32_t most);
bool ouro__write_findings(question *q);
bool ouro__write_flame(question *q, uint32_t node, uint32_t limit);
// Which of the blocks that were written so far the search finds, as a member `found`.
bool ouro__write_found(question *q);

// Where in the tree an answer looks, as a member `at`.
bool ouro__write_place(question *q, uint32_t node);
// The id of a path as a member; the root's is null.
void ouro__write_id(question *q, const char *name, const uint64_t *ids, uint32_t node);

#endif

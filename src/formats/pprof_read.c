// SPDX-License-Identifier: MIT
//
// Reads pprof profiles (profile.proto), from bytes that are already unpacked.
//
// Two passes over the top level: tables first (samples come before them in most files), then the
// samples. A large file goes through a window that moves; what the tables need of it is kept.
// pprof_reader.h has the steps. This file puts them together, and adds the title and what comments
// of ours tell of recursion.
//
// Call sites (a location's own line and address), mappings and labels are not in the tree; they
// live in the origin, see pprof_write.c. Labels are also kept as tags if somebody may filter by
// them, see pprof_samples.c.

#include "pprof_reader.h"
#include "questions.h"
#include "readers.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS_PROBED = 8, BYTES_PROBED = 256 };

// ---------------------------------------------------------------- recursion

// A number and the space behind it; false: there is none, or it is too large to be counted.
static bool take_number(slice *text, uint64_t *number) {
    const uint64_t most = UINT64_C(1) << 53;
    size_t at = 0;
    for (*number = 0; at < text->size && text->bytes[at] >= '0' && text->bytes[at] <= '9'; at++) {
        *number = *number * 10 + (text->bytes[at] - '0');
        if (*number > most) return false;
    }
    if (at == 0 || at == text->size || text->bytes[at] != ' ') return false;
    *text = (slice){text->bytes + at + 1, text->size - at - 1};
    return true;
}

// A comment of ours, see pprof_write.c: the paths of the file are compacted, and do not tell how
// often the block recursed. Others are skipped.
static void take_recursion(reader *r, slice text) {
    enum { DIRECT, THROUGH, DEEPEST, LINE, COLUMN, NAME_SIZE, NUMBERS };
    static const char start[] = RECURSION_COMMENT;
    uint64_t numbers[NUMBERS];
    if (text.size < strlen(start) || memcmp(text.bytes, start, strlen(start)) != 0) return;
    text = (slice){text.bytes + strlen(start), text.size - strlen(start)};
    for (int i = 0; i < NUMBERS; i++) {
        if (!take_number(&text, &numbers[i])) return;
    }
    uint64_t size = numbers[NAME_SIZE];
    if (size >= text.size || text.bytes[size] != ' ' || numbers[DEEPEST] > UINT32_MAX) return;
    slice file = {text.bytes + size + 1, text.size - size - 1};
    block_info info = {ouro__pprof_add_text(r, (slice){text.bytes, size}),
                       ouro__pprof_add_text(r, file), (uint32_t)numbers[LINE],
                       (uint32_t)numbers[COLUMN]};
    recursion *to = ouro__profile_recursed(r->profile, ouro__profile_add_block(r->profile, &info));
    if (to) *to = (recursion){numbers[DIRECT], numbers[THROUGH], (uint32_t)numbers[DEEPEST]};
    r->profile->recursion_told = true;
}

static void take_recursions(reader *r) {
    for (size_t i = 0; i < r->comment_count && !r->profile->failed; i++) {
        if (r->comments[i] < r->string_count) take_recursion(r, r->strings[r->comments[i]]);
    }
}

// ---------------------------------------------------------------- the whole

// The first mapping is the program, by the rule of `go tool pprof`.
static bool take_title(reader *r) {
    uint64_t file = r->mapping_ids.count ? r->mappings[0].file : 0;
    if (file == 0 || file >= r->string_count || r->strings[file].size == 0) return true;
    r->profile->title = strndup((const char *)r->strings[file].bytes, r->strings[file].size);
    return r->profile->title || ouro__fail_memory(r->error);
}

static void reader_free(reader *r) {
    ouro__builder_free(r->builder);
    free(r->strings);
    free(r->functions);
    free(r->locations);
    free(r->blocks);
    free(r->mappings);
    free(r->types);
    free(r->comments);
    ouro__id_free(&r->function_ids);
    ouro__id_free(&r->location_ids);
    ouro__id_free(&r->mapping_ids);
    free(r->depth_after);
    free(r->ids);
    free(r->unpacked[0]);
    free(r->unpacked[1]);
    free(r->saved);
    free(r->text_of);
    while (r->kept) {
        chunk *next = r->kept->next;
        free(r->kept);
        r->kept = next;
    }
}

// Where metrics count recursions, stacks do not: what the file has was compacted.
static bool make_builder(reader *r, int rule) {
    r->counted = ouro__counts_calls(r->profile);
    r->builder =
        ouro__builder_new(r->profile, r->counted ? RULE_AS_IT_IS : rule, r->options->edge_length);
    if (!r->builder) return ouro__fail_memory(r->error);
    if (r->counted) ouro__builder_count_none(r->builder);
    return true;
}

profile *ouro__pprof_read(input *in, const read_options *options, error *e) {
    int rule = ouro__rule(options, RULE_AS_IT_IS);
    // The origin is all of the file, and a pipe cannot be read twice.
    bool whole = (options->keep_origin && rule == RULE_AS_IT_IS) || !in->total;
    if (whole && !ouro__input_all(in, e)) return NULL;
    reader r = {.in = in,
                .moves = in->more,
                .options = options,
                .error = e,
                .profile = ouro__profile_for(in, options),
                .before = {in->bytes, 0}};
    bool ok = r.profile || ouro__fail_memory(e);
    ok = ok && ouro__pprof_read_tables(&r) && ouro__pprof_add_types(&r) && make_builder(&r, rule) &&
         ouro__pprof_resolve(&r);
    if (ok && !r.profile->failed && options->keep_origin && rule == RULE_AS_IT_IS)
        ok = ouro__pprof_keep_origin(&r);
    ok = ok && (r.profile->failed || ouro__pprof_read_samples(&r));
    if (ok) take_recursions(&r);
    ok = ok && take_title(&r) && ouro__profile_finish(r.profile, e);
    reader_free(&r);
    if (ok) return r.counted ? ouro__compacted_as_asked(r.profile, options, e) : r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

// Of the bytes below 32 a text has tabs and ends of lines alone; a message has tags and lengths.
static bool is_text(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size && i < BYTES_PROBED; i++) {
        if (bytes[i] < ' ' && (bytes[i] == '\0' || !strchr("\t\n\r", bytes[i]))) return false;
    }
    return true;
}

// Fields that hang together, at least one of them a message: text can look like some fields too.
bool ouro__pprof_probe(const unsigned char *bytes, size_t size) {
    if (is_text(bytes, size)) return false;
    wire w = {bytes, bytes, bytes + size, NULL, false, 0};
    wire_field field;
    int messages = 0;
    for (int seen = 0; seen < FIELDS_PROBED && ouro__wire_next(&w, &field); seen++) {
        bool message = field.number >= PROFILE_SAMPLE_TYPE && field.number <= PROFILE_STRING;
        bool known = field.number <= PROFILE_FIELDS && field.type != WIRE_FIXED32;
        if (message ? field.type != WIRE_BYTES : !known) return false;
        messages += message;
    }
    if (!w.failed) return messages > 0;
    // A file that is cut in its first fields is better called cut than unknown: most begin with a
    // sample type.
    return size > 4 && bytes[0] == 0x0a && bytes[1] < 32 && bytes[2] == 8;
}

// SPDX-License-Identifier: MIT
//
// Between byte offsets and positions of the protocol. There a line ends at LF, CR LF or CR, and
// characters are counted as UTF-16 does: two for what takes four bytes of UTF-8. A byte that is no
// UTF-8 counts as one character, as editors show it. The checker's lines end at LF alone.

#include "lsp.h"
#include "syntax/diagnostics.h"
#include "syntax/lexer.h"

static bool ends_line(const char *text, size_t length, size_t at) {
    return text[at] == '\n' || (text[at] == '\r' && (at + 1 == length || text[at + 1] != '\n'));
}

struct lsp_text lsp_text(struct fble_arena *arena, const char *at, size_t length) {
    struct lsp_text text = {.at = at, .length = length, .count = 1};
    uint32_t line = 0, returns = 0;
    for (size_t i = 0; i < length; i++) text.count += at[i] == '\n';
    text.starts = fble_alloc(arena, text.count * sizeof *text.starts);
    text.returns = fble_alloc(arena, text.count * sizeof *text.returns);
    for (size_t i = 0; i < length; i++) {
        if (!ends_line(at, length, i)) continue;
        returns += at[i] == '\r';
        if (at[i] == '\r') continue;
        text.starts[++line] = (uint32_t)(i + 1);
        text.returns[line] = returns;
    }
    return text;
}

struct lsp_text lsp_unit_text(struct fble_arena *arena, const struct fble_unit *unit) {
    return lsp_text(arena, unit->text ? unit->text : "", unit->text ? unit->length : 0);
}

// The bytes of the character at the start, and how many UTF-16 units it is.
static size_t character(const char *text, size_t length, uint32_t *units) {
    size_t n = fble_utf8_length(text, length);
    *units = n == 4 ? 2 : 1;
    return n ? n : 1;
}

size_t lsp_offset(const char *text, size_t length, struct lsp_position position) {
    size_t at = 0;
    for (uint32_t line = 0; line < position.line; line++) {
        while (at < length && !ends_line(text, length, at)) at++;
        if (at == length) return length;
        at++;
    }
    uint32_t left = position.character;
    while (left && at < length && text[at] != '\n' && text[at] != '\r') {
        uint32_t units;
        size_t n = character(text + at, length - at, &units);
        if (units > left) break; // in the middle of a pair
        at += n;
        left -= units;
    }
    return at;
}

static uint32_t line_of(const struct lsp_text *text, size_t offset) {
    uint32_t low = 0, high = text->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (text->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct lsp_position lsp_position(const struct lsp_text *text, size_t offset) {
    uint32_t line = line_of(text, offset), units;
    struct lsp_position position = {line + text->returns[line], 0};
    for (size_t at = text->starts[line]; at < offset && at < text->length;) {
        bool ends = ends_line(text->at, text->length, at);
        at += character(text->at + at, text->length - at, &units);
        position.character += units;
        if (ends) position = (struct lsp_position){position.line + 1, 0};
    }
    return position;
}

size_t lsp_offset_of_loc(const struct lsp_text *text, struct fble_loc loc) {
    if (!loc.line || loc.line > text->count) return loc.line ? text->length : 0;
    size_t at = text->starts[loc.line - 1] + (loc.column ? loc.column - 1 : 0);
    return at < text->length ? at : text->length;
}

static size_t quoted_end(const struct lsp_text *text, size_t at) {
    for (at++; at < text->length; at++) {
        if (text->at[at] != '\'') continue;
        if (at + 1 == text->length || text->at[at + 1] != '\'') return at + 1;
        at++;
    }
    return at;
}

size_t lsp_token_end(const struct lsp_text *text, size_t offset) {
    size_t at = offset;
    if (at >= text->length) return at;
    if (text->at[at] == '\'')
        at = quoted_end(text, at);
    else
        while (at < text->length && fble_word_byte(text->at[at])) at++;
    if (at == offset) return at + 1;
    return at < text->length && text->at[at] == '@' ? at + 1 : at;
}

bool lsp_moved(const struct lsp_text *old, const struct lsp_text *new, size_t *from,
               size_t *until) {
    size_t least = old->length < new->length ? old->length : new->length, start = 0, end = 0;
    while (start < least && old->at[start] == new->at[start]) start++;
    while (end < least - start && old->at[old->length - end - 1] == new->at[new->length - end - 1])
        end++;
    if (*until < start || start == old->length) return true;
    if (*from <= old->length - end) return false;
    *from = *from + new->length - old->length;
    *until = *until + new->length - old->length;
    return true;
}

static void print_position(FILE *to, const struct lsp_text *text, size_t offset) {
    struct lsp_position position = lsp_position(text, offset);
    fprintf(to, "{\"line\":%u,\"character\":%u}", position.line, position.character);
}

void lsp_print_range(FILE *to, const struct lsp_text *text, size_t from, size_t until) {
    fputs("{\"start\":", to);
    print_position(to, text, from);
    fputs(",\"end\":", to);
    print_position(to, text, until);
    fputs("}", to);
}

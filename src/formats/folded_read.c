// SPDX-License-Identifier: MIT
//
// Reads folded stacks: `main;read;parse 12`, one path per line, root first.
//
// Lines that follow each other share most of their text, so each is compared with the one
// before, and only blocks behind the shared part are looked up. Names may hold spaces (the count
// stands behind the last one); `\;` is a semicolon and `\\` a backslash, as folded_write.c
// writes them. Counts may have decimals. Two counts on every line are a comparison: metrics
// `before` and `after`.

#include "builder.h"
#include "readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DECIMALS_MAX = 9, LINES_PROBED = 200 };

typedef struct {
    const char *at, *end;
} text;

typedef struct {
    profile *profile;
    builder *builder;
    error *error;
    input *in;
    size_t at; // in the input's bytes
    uint64_t line;
    int counts;

    text before;      // the stack of the line before
    uint32_t *frames; // where each of its blocks ends, from the stack's beginning
    uint32_t *depths; // of the builder's stack then
    size_t frame_count, room;
    uint32_t *block_of; // by text: the block of that name, NO_BLOCK = not yet
    size_t block_of_room;
    char *unescaped;
    size_t unescaped_room;
} reader;

static bool fail_line(const reader *r, text line, const char *expected) {
    uint64_t offset = r->in->offset + (uint64_t)(line.at - (const char *)r->in->bytes);
    return ouro__fail_at_line(r->error, offset, r->line, "expected %s", expected);
}

// ---------------------------------------------------------------- numbers

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text from the last space on, cut off *line; empty if it is no number.
static text last_number(text *line) {
    const char *end = line->end;
    while (end > line->at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    const char *at = end;
    int dots = 0, digits = 0;
    for (; at > line->at && (is_digit(at[-1]) || at[-1] == '.'); at--) {
        dots += at[-1] == '.';
        digits += at[-1] != '.';
    }
    if (at > line->at && at[-1] == '-') at--;
    bool good = digits && dots <= 1 && at > line->at && (at[-1] == ' ' || at[-1] == '\t');
    if (!good) return (text){end, end};
    text number = {at, end};
    while (at > line->at && (at[-1] == ' ' || at[-1] == '\t')) at--;
    line->end = at;
    return number;
}

// In units of 10^-decimals; *decimals grows to what the number has.
static bool parse_number(text number, uint32_t *decimals, int64_t *value) {
    bool negative = *number.at == '-';
    int64_t sum = 0;
    uint32_t places = 0;
    bool fraction = false;
    for (const char *at = number.at + negative; at < number.end; at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (fraction && places == DECIMALS_MAX) break;
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, *at - '0', &sum))
            return false;
        places += fraction;
    }
    for (; places < *decimals; places++) {
        if (__builtin_mul_overflow(sum, 10, &sum)) return false;
    }
    *decimals = places;
    *value = negative ? -sum : sum;
    return true;
}

static bool charge(reader *r, text line, uint32_t m, uint32_t node, text number) {
    uint32_t decimals = r->profile->metrics[m].decimals;
    int64_t value;
    if (!parse_number(number, &decimals, &value) || !ouro__profile_rescale(r->profile, m, decimals))
        return fail_line(r, line, "a count that fits into 63 bits");
    ouro__charge(r->profile, m, node, value);
    return true;
}

// ---------------------------------------------------------------- stacks

static size_t shared_start(text a, text b) {
    size_t size_a = (size_t)(a.end - a.at), size_b = (size_t)(b.end - b.at),
           most = size_a < size_b ? size_a : size_b;
    size_t same = 0;
    while (same + 8 <= most && memcmp(a.at + same, b.at + same, 8) == 0) same += 8;
    while (same < most && a.at[same] == b.at[same]) same++;
    return same;
}

static bool room_for_frame(reader *r) {
    if (r->frame_count < r->room) return true;
    size_t room = r->room ? r->room * 2 : 256;
    uint32_t *frames = realloc(r->frames, room * sizeof *frames);
    if (frames) r->frames = frames;
    uint32_t *depths = realloc(r->depths, room * sizeof *depths);
    if (depths) r->depths = depths;
    if (!frames || !depths) return ouro__fail_memory(r->error);
    r->room = room;
    return true;
}

// The semicolon that ends the block at `at`, or the end. *escaped: backslashes stand before it.
static const char *end_of_block(const char *at, const char *end, bool *escaped) {
    const char *from = at;
    *escaped = false;
    for (;;) {
        const char *found = memchr(from, ';', (size_t)(end - from));
        const char *stop = found ? found : end;
        if (memchr(from, '\\', (size_t)(stop - from))) *escaped = true;
        if (!found) return end;
        size_t slashes = 0;
        while (stop - slashes > at && stop[-(ptrdiff_t)slashes - 1] == '\\') slashes++;
        if (slashes % 2 == 0) return found;
        from = found + 1;
    }
}

static bool unescape(reader *r, text *name) {
    size_t size = (size_t)(name->end - name->at), used = 0;
    if (size > r->unescaped_room) {
        char *grown = realloc(r->unescaped, size * 2);
        if (!grown) return ouro__fail_memory(r->error);
        r->unescaped = grown;
        r->unescaped_room = size * 2;
    }
    for (const char *at = name->at; at < name->end; at++) {
        bool escape = *at == '\\' && at + 1 < name->end && (at[1] == ';' || at[1] == '\\');
        r->unescaped[used++] = escape ? *++at : *at;
    }
    *name = (text){r->unescaped, r->unescaped + used};
    return true;
}

// The block of a name, found in one step.
static bool find_block(reader *r, text name, uint32_t *block) {
    size_t size = (size_t)(name.end - name.at);
    uint32_t number = ouro__texts_add(&r->profile->texts, name.at, size);
    if (number == NO_ROW) return ouro__fail_memory(r->error);
    if (number >= r->block_of_room) {
        size_t room = (size_t)number * 2 + 256;
        uint32_t *grown = realloc(r->block_of, room * sizeof *grown);
        if (!grown) return ouro__fail_memory(r->error);
        r->block_of = grown;
        for (; r->block_of_room < room; r->block_of_room++)
            r->block_of[r->block_of_room] = NO_BLOCK;
    }
    if (r->block_of[number] == NO_BLOCK)
        r->block_of[number] = ouro__profile_add_block(r->profile, &(block_info){.name = number});
    *block = r->block_of[number];
    return true;
}

static bool enter_stack(reader *r, text stack, uint32_t *node) {
    if (stack.end - stack.at > UINT32_MAX / 2)
        return ouro__fail(r->error, EFBIG, "a line of more than 2 GB");
    size_t same = shared_start(stack, r->before), kept = 0;
    while (kept < r->frame_count && r->frames[kept] < same) kept++;
    // Blocks that end at a semicolon of both lines are shared; that of the last block may be the
    // end of the line.
    r->frame_count = kept;
    ouro__builder_pop_to(r->builder, kept ? r->depths[kept - 1] : 0);
    const char *at = kept ? stack.at + r->frames[kept - 1] + 1 : stack.at;
    r->before = stack;
    while (at <= stack.end) {
        bool escaped;
        const char *end = end_of_block(at, stack.end, &escaped);
        text name = {at, end};
        if (escaped && !unescape(r, &name)) return false;
        if (!room_for_frame(r)) return false;
        // An empty block comes from a doubled semicolon and says nothing.
        uint32_t block;
        if (name.end > name.at) {
            if (!find_block(r, name, &block)) return false;
            ouro__builder_push(r->builder, block);
        }
        r->frames[r->frame_count] = (uint32_t)(end - stack.at);
        r->depths[r->frame_count++] = (uint32_t)ouro__builder_depth(r->builder);
        at = end + 1;
    }
    *node = ouro__builder_node(r->builder);
    return true;
}

static bool read_line(reader *r, text line) {
    text whole = line, counts[2];
    for (int i = r->counts; i-- > 0;) {
        counts[i] = last_number(&line);
        if (counts[i].at == counts[i].end)
            return fail_line(r, whole,
                             r->counts == 2 ? "two counts at the end, as on the lines before"
                                            : "a path, a space and a count");
    }
    uint32_t node;
    if (!enter_stack(r, line, &node)) return false;
    if (r->profile->failed) return true; // finishing the profile tells it
    if (node == 0) return fail_line(r, whole, "a path before the count");
    for (int i = 0; i < r->counts; i++) {
        if (!charge(r, whole, (uint32_t)i, node, counts[i])) return false;
    }
    return true;
}

static text next_line(const char **at, const char *end) {
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    text line = {*at, newline ? newline : end};
    *at = newline ? newline + 1 : end;
    if (line.end > line.at && line.end[-1] == '\r') line.end--;
    return line;
}

static bool is_skipped(text line) { return line.at == line.end || *line.at == '#'; }

// Two if the first lines all have two: a name may end with a number, but not all do.
static int find_counts(const char *at, const char *end) {
    int seen = 0;
    while (at < end && seen < LINES_PROBED) {
        text line = next_line(&at, end);
        if (is_skipped(line)) continue;
        text last = last_number(&line), other = last_number(&line);
        if (last.at == last.end || other.at == other.end) return 1;
        seen++;
    }
    return seen ? 2 : 1;
}

// Reads on. The stack of the line before stays, for the next to be compared with.
static bool more_lines(reader *r) {
    const char *bytes = (const char *)r->in->bytes;
    size_t length = (size_t)(r->before.end - r->before.at);
    size_t kept = length ? (size_t)(r->before.at - bytes) : r->at;
    if (!ouro__input_more(r->in, kept, r->error)) return false;
    bytes = (const char *)r->in->bytes;
    if (length) r->before = (text){bytes, bytes + length};
    r->at -= kept;
    return true;
}

// The next line, which is whole: its end, or that of the file, is there.
static bool take_line(reader *r, text *line) {
    for (;;) {
        const char *bytes = (const char *)r->in->bytes, *end = bytes + r->in->size,
                   *at = bytes + r->at;
        *line = next_line(&at, end);
        if (at == end && r->in->more) {
            if (!more_lines(r)) return false;
            continue;
        }
        r->at = (size_t)(at - bytes);
        r->line++;
        return true;
    }
}

// As many lines as are looked at for their counts.
static bool first_lines(reader *r) {
    size_t at = 0;
    for (int lines = 0; lines < 2 * LINES_PROBED && r->in->more;) {
        const unsigned char *end = memchr(r->in->bytes + at, '\n', r->in->size - at);
        if (end) at = (size_t)(end - r->in->bytes) + 1;
        lines += end != NULL;
        if (!end && !ouro__input_more(r->in, 0, r->error)) return false;
    }
    const char *bytes = (const char *)r->in->bytes;
    r->counts = find_counts(bytes, bytes + (r->in->more ? at : r->in->size));
    return true;
}

static bool read_lines(reader *r, const read_options *options) {
    text line;
    if (!first_lines(r)) return false;
    ouro__profile_add_metric(r->profile, r->counts == 2 ? "before" : "samples", "count");
    if (r->counts == 2) ouro__profile_add_metric(r->profile, "after", "count");
    while ((r->at < r->in->size || r->in->more) && !r->profile->failed) {
        if (!take_line(r, &line)) return false;
        if (!is_skipped(line) && !read_line(r, line)) return false;
        if (r->line % 65536 == 0) ouro__tell_reading(r->in, r->at, options);
    }
    return true;
}

profile *ouro__folded_read(input *in, const read_options *options, error *e) {
    reader r = {.profile = ouro__profile_for(in, options), .error = e, .in = in};
    r.builder = r.profile ? ouro__builder_new(r.profile, ouro__rule(options, RULE_LOOPS),
                                              options->edge_length)
                          : NULL;
    bool ok = r.builder || ouro__fail_memory(e);
    ok = ok && read_lines(&r, options) && ouro__profile_finish(r.profile, e);
    ouro__builder_free(r.builder);
    free(r.frames);
    free(r.depths);
    free(r.block_of);
    free(r.unescaped);
    if (ok) return r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

// Text whose first line that says something ends with a count.
bool ouro__folded_probe(const unsigned char *bytes, size_t size) {
    const char *at = (const char *)bytes, *end = at + size;
    for (int seen = 0; at < end && seen < LINES_PROBED; seen++) {
        text line = next_line(&at, end);
        if (is_skipped(line)) continue;
        for (const char *c = line.at; c < line.end; c++) {
            if ((unsigned char)*c < ' ' && *c != '\t') return false;
        }
        text number = last_number(&line);
        return number.at < number.end && line.at < line.end;
    }
    return false;
}

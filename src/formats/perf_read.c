// SPDX-License-Identifier: MIT
//
// Reads the text of `perf script`: a header line per sample, then its stack, leaf first, then an
// empty line.
//
//     comm with spaces  1234/1235 [003] 4298.204134:    1001001 cpu-clock:
//     <tab>            1160 fib+0x7 (/usr/bin/program)
//
// The same frame lines come again and again, so a line is parsed once and then found by its bytes.
// The root of every path is the command. Metrics: `samples`, and the periods of each event if they
// are there. A block's file is its object; an inlined frame (perf prints it before the one that it
// is part of) has the object of its container. Labels of the samples: comm, pid, tid, cpu.

#include "builder.h"
#include "clone_name.h"
#include "readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// perf record keeps so many frames of a stack; one that is full has lost its root.
enum { STACK_FULL = 127, EVENTS_MAX = 64 };

typedef struct {
    const char *at, *end;
} text;

typedef struct {
    uint32_t name;   // text
    uint32_t block;  // NO_BLOCK: inlined
    uint32_t object; // text
} frame;

typedef struct {
    profile *profile;
    builder *builder;
    error *error;
    input *in;
    size_t at; // in the input's bytes
    uint64_t line;

    texts lines;   // of frames that were seen
    frame *frames; // by text
    size_t frame_room;

    uint32_t *stack; // of the running sample: rows of frames, leaf first; then blocks, root first
    uint32_t *path;
    size_t depth, room;
    bool open;   // there is a running sample
    bool labels; // are kept
    uint32_t command, event, set;
    int64_t period;
    uint32_t truncated; // block; NO_BLOCK until it is needed
    struct {
        uint32_t name; // text of the profile
        uint32_t metric;
    } events[EVENTS_MAX];
    uint32_t event_count;
} reader;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_space(char c) { return c == ' ' || c == '\t'; }
static size_t length(text t) { return (size_t)(t.end - t.at); }

static text trimmed(text t) {
    while (t.at < t.end && is_space(*t.at)) t.at++;
    while (t.end > t.at && (is_space(t.end[-1]) || t.end[-1] == '\r')) t.end--;
    return t;
}

static bool fail_line(const reader *r, text line, const char *expected) {
    uint64_t offset = r->in->offset + (uint64_t)(line.at - (const char *)r->in->bytes);
    return ouro__fail_at_line(r->error, offset, r->line, "expected %s", expected);
}

static uint32_t add_text(reader *r, text t) {
    uint32_t number = ouro__texts_add(&r->profile->texts, t.at, length(t));
    if (number == NO_ROW) r->profile->failed = ENOMEM;
    return number == NO_ROW ? 0 : number;
}

// ---------------------------------------------------------------- frames

// The group in parentheses at the end, without them; names may hold parentheses too. Empty: there
// is none.
static text last_group(text line) {
    if (line.at == line.end || line.end[-1] != ')') return (text){line.end, line.end};
    int depth = 0;
    for (const char *at = line.end; at > line.at; at--) {
        depth += at[-1] == ')';
        depth -= at[-1] == '(';
        if (depth == 0 && (at - 1 == line.at || is_space(at[-2]))) return (text){at, line.end - 1};
        if (depth == 0) break;
    }
    return (text){line.end, line.end};
}

// Without the `+0x1f` at the end.
static text without_offset(text name) {
    const char *at = name.end;
    while (at > name.at && is_hex(at[-1])) at--;
    if (at - name.at >= 3 && at < name.end && at[-1] == 'x' && at[-2] == '0' && at[-3] == '+')
        name.end = at - 3;
    return name;
}

// `ADDRESS NAME+0xOFFSET (OBJECT)`; false if it does not begin with an address.
static bool parse_frame(text line, text *name, text *object) {
    static const char unknown[] = "[unknown]";
    line = trimmed(line);
    const char *at = line.at;
    while (at < line.end && is_hex(*at)) at++;
    if (at == line.at || (at < line.end && !is_space(*at))) return false;
    text rest = trimmed((text){at, line.end});
    *object = last_group(rest);
    if (object->at < object->end) rest.end = object->at - 1;
    *name = without_offset(trimmed(rest));
    for (size_t cut; (cut = ouro__clone_cut(name->at, length(*name)));) name->end = name->at + cut;
    if (name->at == name->end) *name = (text){unknown, unknown + strlen(unknown)};
    return true;
}

static bool grow_frames(reader *r) {
    if (r->lines.count < r->frame_room) return true;
    size_t room = r->frame_room ? r->frame_room * 2 : 1024;
    frame *frames = realloc(r->frames, room * sizeof *frames);
    if (!frames) return ouro__fail_memory(r->error);
    r->frames = frames;
    r->frame_room = room;
    return true;
}

// The row of a frame line; NO_ROW and no error: it is none.
static bool find_frame(reader *r, text line, uint32_t *row) {
    *row = ouro__texts_find(&r->lines, line.at, length(line));
    if (*row != NO_ROW) return true;
    text name, object;
    if (!parse_frame(line, &name, &object)) return true;
    if (!grow_frames(r)) return false;
    bool inlined = length(object) == 7 && memcmp(object.at, "inlined", 7) == 0;
    frame f = {add_text(r, name), NO_BLOCK, inlined ? 0 : add_text(r, object)};
    if (!inlined)
        f.block = ouro__profile_add_block(r->profile, &(block_info){f.name, f.object, 0, 0});
    *row = ouro__texts_add(&r->lines, line.at, length(line));
    if (*row == NO_ROW) return ouro__fail_memory(r->error);
    r->frames[*row] = f;
    return true;
}

// The path has two blocks more than the stack: the command, and [truncated].
static bool room_for_frame(reader *r) {
    if (r->depth < r->room) return true;
    size_t room = r->room ? r->room * 2 : 256;
    uint32_t *stack = realloc(r->stack, room * sizeof *stack);
    if (stack) r->stack = stack;
    uint32_t *path = realloc(r->path, (room + 2) * sizeof *path);
    if (path) r->path = path;
    if (!stack || !path) return ouro__fail_memory(r->error);
    r->room = room;
    return true;
}

static bool push_frame(reader *r, uint32_t row) {
    if (!room_for_frame(r)) return false;
    r->stack[r->depth++] = row;
    return true;
}

// ---------------------------------------------------------------- samples

static void end_sample(reader *r) {
    if (!r->open) return;
    r->open = false;
    size_t n = 0, physical = 0;
    uint32_t object = 0;
    for (size_t i = 0; i < r->depth; i++) physical += r->frames[r->stack[i]].block != NO_BLOCK;
    if (physical >= STACK_FULL) {
        if (r->truncated == NO_BLOCK)
            r->truncated = ouro__profile_add_named(r->profile, "[truncated]", 11);
        r->path[n++] = r->truncated;
    }
    r->path[n++] = r->command;
    for (size_t i = r->depth; i-- > 0;) {
        const frame *f = &r->frames[r->stack[i]];
        if (f->block != NO_BLOCK) object = f->object;
        r->path[n++] =
            f->block != NO_BLOCK
                ? f->block
                : ouro__profile_add_block(r->profile, &(block_info){f->name, object, 0, 0});
    }
    uint32_t node = ouro__builder_stack(r->builder, r->path, n);
    if (r->profile->failed) return;
    ouro__charge(r->profile, 0, node, 1);
    ouro__tags_charge(r->profile, 0, node, r->set, 1);
    if (r->event == NO_ROW) return;
    ouro__charge(r->profile, r->event, node, r->period);
    ouro__tags_charge(r->profile, r->event, node, r->set, r->period);
}

// The token that ends before `at`, from `line.at` on.
static text token_before(text line, const char *at) {
    while (at > line.at && is_space(at[-1])) at--;
    const char *start = at;
    while (start > line.at && !is_space(start[-1])) start--;
    return (text){start, at};
}

static text token_after(text line, const char *at) {
    while (at < line.end && is_space(*at)) at++;
    const char *end = at;
    while (end < line.end && !is_space(*end)) end++;
    return (text){at, end};
}

// Only digits, and characters of `also`.
static bool is_number(text t, const char *also) {
    if (t.at == t.end || !is_digit(*t.at)) return false;
    for (const char *at = t.at; at < t.end; at++) {
        if (!is_digit(*at) && !strchr(also, *at)) return false;
    }
    return true;
}

static bool is_time(text t) {
    return length(t) > 3 && t.end[-1] == ':' && memchr(t.at, '.', length(t)) &&
           is_number((text){t.at, t.end - 1}, ".");
}

typedef struct {
    text comm, event, period, rest; // event and period may be empty
    text process, cpu;              // 1234/1235, 003; the latter may be empty
} header;

// `PID`, `PID/TID`; an optional `[CPU]` stands behind it, and the command before.
static bool split_command(text line, const char *before, header *h) {
    text token = token_before(line, before);
    h->cpu = (text){line.end, line.end};
    if (length(token) > 2 && *token.at == '[' &&
        is_number((text){token.at + 1, token.end - 1}, "")) {
        h->cpu = (text){token.at + 1, token.end - 1};
        token = token_before(line, token.at);
    }
    bool negative = length(token) > 1 && *token.at == '-'; // perf's -1 for what it does not know
    if (!is_number((text){token.at + negative, token.end}, "/-")) return false;
    h->process = token;
    h->comm = trimmed((text){line.at, token.at});
    return h->comm.at < h->comm.end;
}

// With a time it is easy: the command is before it, the event behind. Without one, the event is the
// first token with a colon at its end.
static bool parse_header(text line, header *h) {
    *h = (header){.event = {line.end, line.end},
                  .period = {line.end, line.end},
                  .rest = {line.end, line.end}};
    text time = {line.end, line.end}, colon = time;
    for (text token = token_after(line, line.at); token.at < token.end;
         token = token_after(line, token.end)) {
        if (is_time(token)) time = token;
        if (is_time(token)) break;
        if (colon.at == colon.end && token.end[-1] == ':' && length(token) > 1) colon = token;
    }
    if (time.at < time.end) {
        text token = token_after(line, time.end);
        if (is_number(token, "")) {
            h->period = token;
            token = token_after(line, token.end);
        }
        if (token.at < token.end && token.end[-1] == ':')
            h->event = (text){token.at, token.end - 1};
        h->rest =
            trimmed((text){h->event.at < h->event.end ? h->event.end + 1 : token.at, line.end});
        return split_command(line, time.at, h);
    }
    if (colon.at == colon.end) return split_command(line, line.end, h);
    h->event = (text){colon.at, colon.end - 1};
    h->rest = trimmed((text){colon.end, line.end});
    if (split_command(line, colon.at, h)) {
        // `comm 1234 1001001 event:`: the last number is a period if another one stands before it.
        text last = token_before(line, colon.at);
        header other = *h;
        if (is_number(last, "") && split_command(line, last.at, &other)) {
            *h = other;
            h->period = last;
        }
        return true;
    }
    return false;
}

static bool begins_with(text t, const char *word) {
    return length(t) >= strlen(word) && memcmp(t.at, word, strlen(word)) == 0;
}

static bool find_event(reader *r, const header *h) {
    r->event = NO_ROW;
    r->period = 0;
    for (const char *at = h->period.at; at < h->period.end; at++) {
        if (__builtin_mul_overflow(r->period, 10, &r->period) ||
            __builtin_add_overflow(r->period, *at - '0', &r->period))
            return fail_line(r, h->comm, "a period that fits into 63 bits");
    }
    if (h->period.at == h->period.end || h->event.at == h->event.end) return true;
    uint32_t name = ouro__texts_find(&r->profile->texts, h->event.at, length(h->event));
    for (uint32_t i = 0; name != NO_ROW && i < r->event_count; i++) {
        if (r->events[i].name != name) continue;
        r->event = r->events[i].metric;
        return true;
    }
    if (r->event_count == EVENTS_MAX) return true;
    bool time = begins_with(h->event, "cpu-clock") || begins_with(h->event, "task-clock");
    uint32_t m = ouro__profile_add_metric(r->profile, "", time ? "nanoseconds" : "count");
    if (r->profile->failed) return true;
    r->profile->metrics[m].name = r->events[r->event_count].name = add_text(r, h->event);
    r->events[r->event_count++].metric = m;
    r->event = m;
    return true;
}

static void put_label(reader *r, const char *key, text value) {
    if (value.at == value.end) return;
    uint32_t key_text = ouro__profile_add_text(r->profile, key);
    ouro__tags_put(r->profile, key_text, add_text(r, value));
}

// A single number is the thread's, as perf prints it.
static void read_labels(reader *r, const header *h) {
    const char *slash = memchr(h->process.at, '/', length(h->process));
    put_label(r, "comm", h->comm);
    if (slash) put_label(r, "pid", (text){h->process.at, slash});
    put_label(r, "tid", slash ? (text){slash + 1, h->process.end} : h->process);
    put_label(r, "cpu", h->cpu);
    r->set = ouro__tags_close(r->profile);
}

static bool begin_sample(reader *r, text line) {
    header h;
    end_sample(r);
    if (!parse_header(line, &h))
        return fail_line(r, line, "a sample: command, process id, time, event; or an empty line");
    r->open = true;
    r->depth = 0;
    r->command = ouro__profile_add_named(r->profile, h.comm.at, length(h.comm));
    if (r->labels) read_labels(r, &h);
    uint32_t row = NO_ROW;
    if (!find_event(r, &h) || !room_for_frame(r)) return false;
    // Without call chains the only frame stands on the same line.
    if (h.rest.at < h.rest.end && !find_frame(r, h.rest, &row)) return false;
    return row == NO_ROW || push_frame(r, row);
}

// `  file.c:12` below a frame, from perf script -F +srcline.
static bool is_source_line(text line) {
    line = trimmed(line);
    const char *at = line.end;
    while (at > line.at && is_digit(at[-1])) at--;
    return at < line.end && at > line.at && at[-1] == ':';
}

// perf pads short commands on the left, so a line that begins with a space may be a header.
static bool is_padded_header(text line) {
    header h;
    return *line.at == ' ' && parse_header(line, &h) && h.event.at < h.event.end;
}

static bool read_line(reader *r, text line) {
    if (line.at == line.end || (length(line) == 1 && *line.at == '\r')) {
        end_sample(r);
        return true;
    }
    if (*line.at == '#') return true;
    if (!is_space(*line.at) || is_padded_header(line)) return begin_sample(r, line);
    if (!r->open) return fail_line(r, line, "a sample before its frames");
    uint32_t row;
    if (!find_frame(r, line, &row)) return false;
    if (row != NO_ROW) return push_frame(r, row);
    return is_source_line(line) || fail_line(r, line, "a frame: address, name, (object)");
}

static void reader_free(reader *r) {
    ouro__builder_free(r->builder);
    ouro__texts_free(&r->lines);
    free(r->frames);
    free(r->stack);
    free(r->path);
}

// The next line, which is whole: its end, or that of the file, is there.
static bool take_line(reader *r, text *line) {
    const unsigned char *newline;
    while (!(newline = memchr(r->in->bytes + r->at, '\n', r->in->size - r->at)) && r->in->more) {
        if (!ouro__input_more(r->in, r->at, r->error)) return false;
        r->at = 0;
    }
    const char *bytes = (const char *)r->in->bytes;
    *line = (text){bytes + r->at, newline ? (const char *)newline : bytes + r->in->size};
    r->at = (size_t)(line->end - bytes) + (newline != NULL);
    r->line++;
    return true;
}

static bool read_lines(reader *r, const read_options *options) {
    text line;
    ouro__profile_add_metric(r->profile, "samples", "count");
    while ((r->at < r->in->size || r->in->more) && !r->profile->failed) {
        if (!take_line(r, &line) || !read_line(r, line)) return false;
        if (r->line % (1 << 18) == 0) ouro__tell_reading(r->in, r->at, options);
    }
    end_sample(r);
    return true;
}

profile *ouro__perf_read(input *in, const read_options *options, error *e) {
    reader r = {.profile = ouro__profile_for(in, options),
                .error = e,
                .in = in,
                .labels = options->keep_labels,
                .truncated = NO_BLOCK,
                .event = NO_ROW};
    r.builder = r.profile ? ouro__builder_new(r.profile, ouro__rule(options, RULE_LOOPS),
                                              options->edge_length)
                          : NULL;
    bool ok = (r.builder && ouro__texts_init(&r.lines)) || ouro__fail_memory(e);
    ok = ok && read_lines(&r, options) && ouro__profile_finish(r.profile, e);
    reader_free(&r);
    if (ok) ouro__profile_prefer_time(r.profile);
    if (ok) return r.profile;
    ouro__profile_free(r.profile);
    return NULL;
}

// The first line that is no comment is a header, and a frame follows, on its line or below; or, if
// it names an event, another header.
bool ouro__perf_probe(const unsigned char *bytes, size_t size) {
    const char *at = (const char *)bytes, *end = at + size;
    bool seen = false, event = false;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        text line = {at, newline ? newline : end}, name, object;
        at = newline ? newline + 1 : end;
        if (line.at == line.end || *line.at == '#') continue;
        header h;
        if (seen)
            return (is_space(*line.at) && parse_frame(line, &name, &object)) ||
                   (event && parse_header(line, &h));
        if (!parse_header(line, &h)) return false;
        if (h.rest.at < h.rest.end) return parse_frame(h.rest, &name, &object);
        event = h.event.at < h.event.end;
        seen = true;
    }
    return event;
}

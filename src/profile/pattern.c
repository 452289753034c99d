// SPDX-License-Identifier: MIT
//
// Regular expressions without backtracking.
//
// An expression is compiled to instructions whose jumps are relative, so that a part of the program
// can be moved and copied: x{3} is three copies. Running it keeps the set of all instructions that
// could be next. A set is a state; where a state leads to is kept in a table for ASCII, so that
// most characters cost one look. The states are bounded in number: when the table is full, it
// begins anew. Each character outside the table costs at most one pass over the program.
//
// The program never runs for longer than WORK_MOST steps in all: names are as long as the file's
// author likes, and the expression comes from an address.

#include "pattern.h"

#include "questions.h"
#include "utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

enum { PROGRAM_MOST = 2000, RANGES_MOST = 1000, REPEATS_MOST = 1000, NESTED_MOST = 50 };
enum { STATES_MOST = 256, ASCII = 128 };
#define WORK_MOST UINT64_C(100000000)

typedef enum { CHARACTER, ANY, SET, SPLIT, JUMP, ASSERT, MATCH } operation;
typedef enum { AT_START, AT_END, AT_WORD_EDGE, INSIDE } assertion;

typedef struct {
    operation op;
    uint32_t character;   // CHARACTER, in lower case if case does not matter; ASSERT: which
    int32_t first, other; // SPLIT and JUMP: where to, from here. SET: its ranges
    bool negated;         // SET
} instruction;

typedef struct {
    uint32_t from, to;
} range;

// Places of the program that may be next, in order, before jumps are followed.
typedef struct {
    uint16_t *places;
    uint32_t count;
    bool at_start, after_word;
    int8_t at_end;        // does it match at the end of the text? -1: not known yet
    uint16_t next[ASCII]; // a state + 1, or MATCHED; 0: not known yet
} state;

enum { MATCHED = UINT16_MAX };

struct name_pattern {
    char *part; // not a regular expression: this text
    bool any_case, words;
    instruction *program;
    uint32_t count;
    range *ranges;
    uint32_t range_count;
    state *states;
    uint32_t state_count;
    uint32_t times_full;          // how often the states were forgotten
    uint8_t *reached, *following; // by place of the program
    uint16_t *stack, *collected;
    uint64_t work;
    int gave_up; // errno
};

// ---------------------------------------------------------------- characters

// The next character; bytes that are none stand beyond Unicode.
static uint32_t next_character(const char **at) {
    size_t n = ouro__utf8_length(*at);
    uint32_t c = n ? ouro__utf8_decode(*at, n) : 0x110000u + (unsigned char)**at;
    *at += n ? n : 1;
    return c;
}

static uint32_t lower(uint32_t c) { return c < 0x110000 ? (uint32_t)towlower((wint_t)c) : c; }
static uint32_t upper(uint32_t c) { return c < 0x110000 ? (uint32_t)towupper((wint_t)c) : c; }

static bool is_word(uint32_t c) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (c >= '0' && c <= '9') || (c >= 0x80 && c < 0x110000);
}

// ---------------------------------------------------------------- compiling

typedef struct {
    name_pattern *pattern;
    const char *start, *at;
    error *error;
    int depth;
} compiler;

static bool wrong(const compiler *c, const char *what) {
    return ouro__fail(c->error, EINVAL, "regular expression, character %zu: %s",
                      (size_t)(c->at - c->start) + 1, what);
}

static bool emit(compiler *c, instruction i) {
    name_pattern *p = c->pattern;
    if (p->count == PROGRAM_MOST) return wrong(c, "it is too large when it is written out");
    p->program[p->count++] = i;
    return true;
}

// Makes room for an instruction at `place`, in front of what was compiled last.
static bool insert(compiler *c, uint32_t place, instruction i) {
    name_pattern *p = c->pattern;
    if (!emit(c, i)) return false;
    memmove(p->program + place + 1, p->program + place, (p->count - 1 - place) * sizeof i);
    p->program[place] = i;
    return true;
}

static bool add_range(compiler *c, instruction *set, uint32_t from, uint32_t to) {
    name_pattern *p = c->pattern;
    if (p->range_count == RANGES_MOST) return wrong(c, "too many characters in brackets");
    p->ranges[p->range_count++] = (range){from, to};
    set->other = (int32_t)p->range_count;
    return true;
}

// The ranges of \d, \w or \s, and of what is between them for \D, \W, \S.
static bool add_class(compiler *c, instruction *set, char kind) {
    static const range digits[] = {{'0', '9'}}, spaces[] = {{'\t', '\r'}, {' ', ' '}},
                       words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}, {0x80, 0x10ffff}};
    bool digit = kind == 'd' || kind == 'D', space = kind == 's' || kind == 'S';
    const range *ranges = digit ? digits : space ? spaces : words;
    size_t count = digit ? 1 : space ? 2 : 5;
    bool negated = kind >= 'A' && kind <= 'Z';
    uint32_t from = 0;
    for (size_t i = 0; i < count; i++) {
        if (!negated && !add_range(c, set, ranges[i].from, ranges[i].to)) return false;
        if (negated && from < ranges[i].from && !add_range(c, set, from, ranges[i].from - 1))
            return false;
        from = ranges[i].to + 1;
    }
    return !negated || add_range(c, set, from, UINT32_MAX);
}

static bool is_class(char c) { return c && strchr("dDwWsS", c); }

static bool take_escaped(compiler *c, uint32_t *character) {
    if (!*c->at) return wrong(c, "a backslash at the end");
    char sign = *c->at;
    if ((sign >= '0' && sign <= '9') || sign == 'k')
        return wrong(c, "back references are not possible here");
    if (sign == 't' || sign == 'n') {
        *character = sign == 't' ? '\t' : '\n';
        c->at++;
        return true;
    }
    bool letter = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z');
    if (letter) return wrong(c, "an unknown letter after a backslash");
    *character = next_character(&c->at);
    return true;
}

// One character in brackets, or a class: then *is_range is false and it is added.
static bool take_member(compiler *c, instruction *set, uint32_t *character, bool *is_range) {
    *is_range = true;
    if (!*c->at) return wrong(c, "a [ without its ]");
    if (c->at[0] == '[' && (c->at[1] == ':' || c->at[1] == '.' || c->at[1] == '='))
        return wrong(c, "named classes are not possible here; use \\w, \\d or \\s");
    if (*c->at != '\\') {
        *character = next_character(&c->at);
        return true;
    }
    c->at++;
    if (!is_class(*c->at)) return take_escaped(c, character);
    *is_range = false;
    return add_class(c, set, *c->at++);
}

static bool compile_set(compiler *c) {
    int32_t first = (int32_t)c->pattern->range_count;
    instruction set = {.op = SET, .first = first, .other = first};
    if (*c->at == '^') {
        set.negated = true;
        c->at++;
    }
    for (bool any = false; *c->at != ']' || !any; any = true) {
        uint32_t from, to;
        bool is_range;
        if (!take_member(c, &set, &from, &is_range)) return false;
        if (!is_range) continue;
        to = from;
        if (c->at[0] == '-' && c->at[1] != ']' && c->at[1]) {
            c->at++;
            if (!take_member(c, &set, &to, &is_range)) return false;
            if (!is_range || to < from) return wrong(c, "a range in brackets that goes backwards");
        }
        if (!add_range(c, &set, from, to)) return false;
    }
    c->at++;
    return emit(c, set);
}

static bool compile_escape(compiler *c) {
    uint32_t character;
    char sign = *c->at;
    if (sign == 'b' || sign == 'B') {
        c->at++;
        c->pattern->words = true;
        return emit(c,
                    (instruction){.op = ASSERT, .character = sign == 'b' ? AT_WORD_EDGE : INSIDE});
    }
    if (is_class(sign)) {
        int32_t first = (int32_t)c->pattern->range_count;
        instruction set = {.op = SET, .first = first, .other = first};
        c->at++;
        return add_class(c, &set, sign) && emit(c, set);
    }
    if (!take_escaped(c, &character)) return false;
    return emit(c, (instruction){.op = CHARACTER,
                                 .character = c->pattern->any_case ? lower(character) : character});
}

static bool compile_choice(compiler *c);

static bool compile_group(compiler *c) {
    if (c->at[0] == '?' && c->at[1] != ':')
        return wrong(c, "only (?: is known, and (?-i) at the beginning");
    if (*c->at == '?') c->at += 2;
    if (++c->depth > NESTED_MOST) return wrong(c, "too many parentheses in each other");
    if (!compile_choice(c)) return false;
    if (*c->at != ')') return wrong(c, "a ( without its )");
    c->at++;
    c->depth--;
    return true;
}

static bool compile_atom(compiler *c) {
    switch (*c->at) {
    case '(':
        c->at++;
        return compile_group(c);
    case '[':
        c->at++;
        return compile_set(c);
    case '\\':
        c->at++;
        return compile_escape(c);
    case '.':
        c->at++;
        return emit(c, (instruction){.op = ANY});
    case '^':
    case '$':
        return emit(c,
                    (instruction){.op = ASSERT, .character = *c->at++ == '^' ? AT_START : AT_END});
    case '*':
    case '+':
    case '?':
        return wrong(c, "nothing stands before the sign of repetition; a backslash before it means "
                        "the sign itself");
    default: {
        uint32_t character = next_character(&c->at);
        if (c->pattern->any_case) character = lower(character);
        return emit(c, (instruction){.op = CHARACTER, .character = character});
    }
    }
}

// ---------------------------------------------------------------- repetition

static bool make_optional(compiler *c, uint32_t from) {
    int32_t size = (int32_t)(c->pattern->count - from);
    return insert(c, from, (instruction){.op = SPLIT, .first = 1, .other = size + 1});
}

static bool make_many(compiler *c, uint32_t from) { // one or more
    int32_t size = (int32_t)(c->pattern->count - from);
    return emit(c, (instruction){.op = SPLIT, .first = -size, .other = 1});
}

static bool copy(compiler *c, uint32_t from, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) {
        if (!emit(c, c->pattern->program[from + i])) return false;
    }
    return true;
}

// {least,most}; most UINT32_MAX: no end. What was compiled from `from` on stands for one.
static bool repeat(compiler *c, uint32_t from, uint32_t least, uint32_t most) {
    uint32_t size = c->pattern->count - from, last = from;
    bool endless = most == UINT32_MAX;
    uint32_t copies = endless ? (least ? least : 1) : most;
    if (copies == 0) c->pattern->count = from;
    if (copies == 0 || size == 0) return true;
    // The first may be made longer, so it is copied before.
    for (uint32_t i = 1; i < copies; i++) {
        last = c->pattern->count;
        if (!copy(c, from, size)) return false;
    }
    if (endless) return make_many(c, last) && (least || make_optional(c, from));
    // Backwards, so that what stands in front is not moved: x{1,3} is x(x(x)?)?
    for (uint32_t i = copies; i-- > least;) {
        if (!make_optional(c, from + i * size)) return false;
    }
    return true;
}

static bool take_number(compiler *c, uint32_t *number) {
    for (*number = 0; *c->at >= '0' && *c->at <= '9'; c->at++) {
        *number = *number * 10 + (uint32_t)(*c->at - '0');
        if (*number > REPEATS_MOST) return wrong(c, "more than 1,000 repetitions");
    }
    return true;
}

// A brace that no number follows is a brace.
static bool is_count(const char *at) { return at[0] == '{' && at[1] >= '0' && at[1] <= '9'; }

static bool compile_count(compiler *c, uint32_t from) {
    uint32_t least, most;
    c->at++;
    if (!take_number(c, &least)) return false;
    most = least;
    if (*c->at == ',') {
        c->at++;
        most = UINT32_MAX;
        if (*c->at != '}' && !take_number(c, &most)) return false;
    }
    if (*c->at != '}') return wrong(c, "a { without its }");
    if (most < least) return wrong(c, "a repetition whose end is before its beginning");
    c->at++;
    return repeat(c, from, least, most);
}

static bool compile_repeated(compiler *c) {
    uint32_t from = c->pattern->count;
    if (!compile_atom(c)) return false;
    for (;;) {
        bool ok;
        if (is_count(c->at)) {
            ok = compile_count(c, from);
        } else if (*c->at == '*' || *c->at == '+' || *c->at == '?') {
            char sign = *c->at++;
            ok = repeat(c, from, sign == '+', sign == '?' ? 1 : UINT32_MAX);
        } else {
            return true;
        }
        if (!ok) return false;
        if (*c->at == '?') c->at++; // as few as possible: the same, for a yes or no
    }
}

static bool compile_sequence(compiler *c) {
    while (*c->at && *c->at != '|' && *c->at != ')') {
        if (!compile_repeated(c)) return false;
    }
    return true;
}

// a|b|c: each alternative ends with a jump behind the next.
static bool compile_choice(compiler *c) {
    name_pattern *p = c->pattern;
    uint32_t from = p->count;
    if (!compile_sequence(c)) return false;
    while (*c->at == '|') {
        c->at++;
        if (!make_optional(c, from)) return false;
        uint32_t jump = p->count;
        p->program[from].other++;
        if (!emit(c, (instruction){.op = JUMP}) || !compile_sequence(c)) return false;
        p->program[jump].first = (int32_t)(p->count - jump);
    }
    return true;
}

static bool compile(name_pattern *p, const char *expression, error *e) {
    compiler c = {.pattern = p, .start = expression, .at = expression, .error = e};
    if (strlen(expression) > EXPRESSION_LONGEST)
        return ouro__fail(e, EINVAL, "a regular expression of more than %d bytes",
                          EXPRESSION_LONGEST);
    p->any_case = strncmp(expression, "(?-i)", 5) != 0;
    if (!p->any_case) c.at += 5;
    if (p->any_case && strncmp(expression, "(?i)", 4) == 0) c.at += 4;
    if (!compile_choice(&c)) return false;
    if (*c.at == ')') return wrong(&c, "a ) without its (");
    return emit(&c, (instruction){.op = MATCH});
}

// ---------------------------------------------------------------- running

static bool in_ranges(const name_pattern *p, const instruction *i, uint32_t c) {
    for (int32_t r = i->first; r < i->other; r++) {
        if (c >= p->ranges[r].from && c <= p->ranges[r].to) return true;
    }
    return false;
}

static bool accepts(const name_pattern *p, const instruction *i, uint32_t c) {
    if (i->op == ANY) return true;
    if (i->op == CHARACTER) return i->character == (p->any_case ? lower(c) : c);
    bool in = in_ranges(p, i, c);
    if (!in && p->any_case) in = in_ranges(p, i, lower(c)) || in_ranges(p, i, upper(c));
    return in != i->negated;
}

// `c` is the next character, 0 at the end.
static bool holds(const state *s, uint32_t which, uint32_t c) {
    bool word = c && is_word(c);
    switch (which) {
    case AT_START:
        return s->at_start;
    case AT_END:
        return !c;
    default:
        return (s->after_word != word) == (which == AT_WORD_EDGE);
    }
}

static void reach(name_pattern *p, uint32_t place, uint32_t *depth) {
    if (p->reached[place]) return;
    p->reached[place] = 1;
    p->stack[(*depth)++] = (uint16_t)place;
}

// Marks all that is reached from a place without reading a character. true: the match is.
static bool follow(name_pattern *p, const state *s, uint32_t from, uint32_t c) {
    uint32_t depth = 0;
    bool matched = false;
    reach(p, from, &depth);
    while (depth) {
        uint32_t place = p->stack[--depth];
        const instruction *i = &p->program[place];
        matched |= i->op == MATCH;
        if (i->op == SPLIT || i->op == JUMP)
            reach(p, (uint32_t)((int32_t)place + i->first), &depth);
        if (i->op == SPLIT) reach(p, (uint32_t)((int32_t)place + i->other), &depth);
        if (i->op == ASSERT && holds(s, i->character, c)) reach(p, place + 1, &depth);
    }
    return matched;
}

static bool follow_all(name_pattern *p, const state *s, uint32_t c) {
    bool matched = false;
    memset(p->reached, 0, p->count);
    p->work += p->count;
    for (uint32_t i = 0; i < s->count && !matched; i++) matched = follow(p, s, s->places[i], c);
    return matched;
}

static bool is_state(const state *s, const uint16_t *places, uint32_t count, bool after_word) {
    return s->count == count && !s->at_start && s->after_word == after_word &&
           memcmp(s->places, places, count * sizeof *places) == 0;
}

static void forget_states(name_pattern *p, uint32_t from) {
    for (uint32_t i = from; i < p->state_count; i++) free(p->states[i].places);
    p->state_count = from;
    p->times_full++;
    for (uint32_t i = 0; i < from; i++) memset(p->states[i].next, 0, sizeof p->states[i].next);
}

// The state of these places; the first of all is kept for good. NO_ROW: out of memory.
static uint32_t find_state(name_pattern *p, const uint16_t *places, uint32_t count, bool at_start,
                           bool after_word) {
    p->work += p->state_count;
    for (uint32_t i = 1; i < p->state_count; i++) {
        if (is_state(&p->states[i], places, count, after_word)) return i;
    }
    if (p->state_count == STATES_MOST) forget_states(p, 1);
    uint16_t *kept = malloc((count + 1) * sizeof *kept);
    if (!kept) return NO_ROW;
    memcpy(kept, places, count * sizeof *kept);
    p->states[p->state_count] = (state){kept, count, at_start, after_word, -1, {0}};
    return p->state_count++;
}

// Reads a character. A match may begin anywhere, so the beginning is always among the places.
static uint32_t step(name_pattern *p, uint32_t from, uint32_t c) {
    if (follow_all(p, &p->states[from], c)) return MATCHED;
    memset(p->following, 0, p->count);
    p->following[0] = 1;
    for (uint32_t i = 0; i < p->count; i++) {
        operation op = p->program[i].op;
        if (p->reached[i] && (op == CHARACTER || op == ANY || op == SET) &&
            accepts(p, &p->program[i], c))
            p->following[i + 1] = 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->following[i]) p->collected[count++] = (uint16_t)i;
    }
    return find_state(p, p->collected, count, false, p->words && is_word(c));
}

static uint32_t advance(name_pattern *p, uint32_t from, uint32_t c) {
    uint32_t known = c < ASCII ? p->states[from].next[c] : 0;
    p->work++;
    if (known) return known == MATCHED ? MATCHED : known - 1;
    uint32_t times_full = p->times_full, to = step(p, from, c);
    // If the table began anew, `from` is another state now, or none.
    if (c < ASCII && times_full == p->times_full && to != NO_ROW)
        p->states[from].next[c] = (uint16_t)(to == MATCHED ? MATCHED : to + 1);
    return to;
}

static bool matches_at_end(name_pattern *p, uint32_t at) {
    state *s = &p->states[at];
    if (s->at_end < 0) s->at_end = follow_all(p, s, 0);
    return s->at_end;
}

bool ouro__pattern_matches(name_pattern *p, const char *text) {
    if (p->part) return ouro__contains(text, p->part);
    uint32_t at = 0;
    while (*text && !p->gave_up) {
        at = advance(p, at, next_character(&text));
        if (at == MATCHED) return true;
        if (at == NO_ROW || p->work > WORK_MOST) p->gave_up = at == NO_ROW ? ENOMEM : EINVAL;
    }
    return !p->gave_up && matches_at_end(p, at);
}

bool ouro__pattern_gave_up(const name_pattern *p, error *e) {
    if (p->gave_up == ENOMEM) ouro__error_memory(e);
    if (p->gave_up == EINVAL)
        ouro__error_set(e, EINVAL, "the regular expression takes too long; use a simpler one");
    return p->gave_up != 0;
}

// ---------------------------------------------------------------- life

void ouro__pattern_free(name_pattern *p) {
    if (!p) return;
    if (p->states) forget_states(p, 0);
    free(p->part);
    free(p->program);
    free(p->ranges);
    free(p->states);
    free(p->reached);
    free(p->following);
    free(p->stack);
    free(p->collected);
    free(p);
}

static bool make_room(name_pattern *p) {
    p->program = malloc(PROGRAM_MOST * sizeof *p->program);
    p->ranges = malloc(RANGES_MOST * sizeof *p->ranges);
    p->states = malloc(STATES_MOST * sizeof *p->states);
    p->reached = malloc(PROGRAM_MOST);
    p->following = malloc(PROGRAM_MOST);
    p->stack = malloc(PROGRAM_MOST * sizeof *p->stack);
    p->collected = malloc(PROGRAM_MOST * sizeof *p->collected);
    return p->program && p->ranges && p->states && p->reached && p->following && p->stack &&
           p->collected;
}

name_pattern *ouro__pattern_new(const char *expression, error *e) {
    name_pattern *p = calloc(1, sizeof *p);
    bool ok = (p && make_room(p)) || ouro__fail_memory(e);
    ok = ok && compile(p, expression, e);
    ok = ok && (find_state(p, &(uint16_t){0}, 1, true, false) == 0 || ouro__fail_memory(e));
    if (ok) return p;
    ouro__pattern_free(p);
    return NULL;
}

static name_pattern *part_new(const char *text, error *e) {
    name_pattern *p = calloc(1, sizeof *p);
    if (p && (p->part = strdup(text))) return p;
    free(p);
    ouro__error_memory(e);
    return NULL;
}

name_pattern *ouro__pattern_of_search(const char *text, error *e) {
    size_t length = strlen(text);
    if (length < 3 || text[0] != '/' || text[length - 1] != '/') return part_new(text, e);
    char *expression = strndup(text + 1, length - 2);
    name_pattern *p = expression ? ouro__pattern_new(expression, e) : NULL;
    if (!expression) ouro__error_memory(e);
    free(expression);
    return p;
}

// SPDX-License-Identifier: MIT
//
// Random input for the parser and the checker, under the sanitizers: bytes, soups of tokens, and
// valid programs with changes that respect the brackets. No crash, no leak, no hang, every message
// has a location inside the text, and whatever parses survives printing. The programs come from the
// files of test cases. FBLE_FUZZ_SECONDS says how long (3 for each way), OURO_SEED repeats a run.

#include "cases.h"
#include "one_file.h"
#include "syntax/parser.h"
#include "test.h"
#include "tree_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 4000, MOST_TOKENS = 1500, HANG_SECONDS = 60 };

static struct fble_arena arena;
static struct fble_list corpus; // struct case_file *

static void load_corpus(void) {
    if (corpus.count) return;
    const char *folder = getenv("FBLE_CASES") ? getenv("FBLE_CASES") : FBLE_CASES;
    const char *const names[] = {"reference.cases", "rules.cases"};
    for (int i = 0; i < 2; i++) {
        struct test_case *test = cases_read(&arena, fble_format(&arena, "%s/%s", folder, names[i]));
        for (; test; test = test->next)
            for (struct case_file *file = test->files; file; file = file->next)
                if (file->length < LONGEST) fble_push(&arena, &corpus, file);
    }
    CHECK(corpus.count > 300);
}

// The end of the text as a line and column, which is the last location a message may have.
static bool inside(struct fble_loc loc, const char *text, size_t length) {
    uint32_t line = 1;
    size_t start = 0, width;
    for (size_t i = 0; i < length && line < loc.line; i++)
        if (text[i] == '\n') line++, start = i + 1;
    const char *end = memchr(text + start, '\n', length - start);
    width = end ? (size_t)(end - text) - start : length - start;
    return loc.line == line && loc.column >= 1 && loc.column <= width + 1;
}

// Messages inside a literal count the word without its quotes, so they may be beyond the line.
static bool about_a_letter(const struct fble_diagnostic *d) {
    return !strncmp(d->message, "no letter", 9);
}

// What the checker says does not depend on blanks and comments: the printed program gets as many
// errors and warnings, and they begin alike.
static bool printed_is_the_same(struct fble_program *program, const struct fble_module *module) {
    if (!module->value->body) return true;
    struct fble_text text = {.arena = &program->arena};
    fble_print_body(&text, module->value->body);
    struct fble_program again;
    check_text(&again, text.at, text.length);
    bool good = CHECK_EQUAL(program->diagnostics.errors, again.diagnostics.errors) &&
                CHECK_EQUAL(program->diagnostics.warnings, again.diagnostics.warnings);
    if (good && program->diagnostics.count == 1)
        good = CHECK_TEXT(program->diagnostics.first->message, again.diagnostics.first->message);
    fble_program_free(&again);
    return good;
}

static bool check_one(const char *text, size_t length) {
    struct fble_program program;
    alarm(HANG_SECONDS);
    struct fble_module *module = check_text(&program, text, length);
    bool good = CHECK(survives_printing(&program, module->value));
    good = good && printed_is_the_same(&program, module);
    for (struct fble_diagnostic *d = program.diagnostics.first; d; d = d->next)
        good &= CHECK(about_a_letter(d) || inside(d->loc, text, length)) &&
                CHECK(!strstr(d->message, "without a reason"));
    good &= CHECK(program.diagnostics.errors > 0 || module->labels.count > 0);
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere) {
        fble_diagnostics_print(&program.diagnostics, nowhere);
        fble_diagnostics_print_json(&program.diagnostics, nowhere);
        fclose(nowhere);
    }
    fble_program_free(&program);
    alarm(0);
    if (!good) fprintf(stderr, "the text was:\n%.*s\n", (int)length, text);
    return good;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void repeat(size_t (*make)(char *text)) {
    const char *given = getenv("FBLE_FUZZ_SECONDS");
    double until = now() + (given ? atof(given) : 3);
    static char text[8 * LONGEST];
    unsigned long count = 0;
    bool good = true;
    load_corpus();
    for (; good && now() < until; count++) {
        size_t length = make(text);
        char *exact = malloc(length ? length : 1); // so that reading beyond the end is seen
        memcpy(exact, text, length);
        good = check_one(exact, length);
        free(exact);
    }
    printf("# %lu inputs\n", count);
    CHECK(count > 10);
}

static size_t random_bytes(char *text) {
    size_t length = random_below(200);
    for (size_t i = 0; i < length; i++) text[i] = (char)random_below(256);
    return length;
}

static const char *const soup[] = {"(",    ")",     "{",           "}",    "[",      "]",
                                   "<",    ">",     ";",           ";",    ";",      ",",
                                   ":",    "=",     ".",           "|",    "/",      "%",
                                   "@",    "@",     "*(",          "+(",   ".?(",    ".@(",
                                   ".%(",  ".=",    ":=",          "(.",   "a",      "b",
                                   "T",    "U",     "'x y'",       " ",    "\n",     "# c\n",
                                   "*()",  "*()()", "@(a: *()())", "@/A%", "<@ T@>", "(T@ a) {",
                                   "a = ", "T@ = ", "''"};

static size_t random_soup(char *text) {
    size_t length = 0;
    for (uint32_t n = random_below(60); n--;) {
        const char *token = soup[random_below(sizeof soup / sizeof *soup)];
        memcpy(text + length, token, strlen(token));
        length += strlen(token);
        if (random_below(3) == 0) text[length++] = ' ';
    }
    return length;
}

// A program as pieces of text: a token with the blanks before it.
struct pieces {
    uint32_t count;
    struct piece {
        const char *at;
        uint32_t length;
        int kind;
    } at[MOST_TOKENS];
};

static void cut(struct pieces *pieces, const struct case_file *file) {
    struct fble_words words = {0};
    struct fble_arena scratch = {0};
    struct fble_lexer lexer;
    fble_lexer_start(&lexer, &scratch, &words, file->text, file->length);
    pieces->count = 0;
    while (pieces->count < MOST_TOKENS - 1) {
        const char *start = lexer.at;
        int kind = fble_lex(&lexer).kind;
        if (kind == FBLE_END) break;
        pieces->at[pieces->count++] = (struct piece){start, (uint32_t)(lexer.at - start), kind};
    }
    fble_arena_free(&scratch);
}

static bool opens(int kind) {
    return kind == '(' || kind == '{' || kind == '[' || kind == FBLE_STRUCT_OPEN ||
           kind == FBLE_UNION_OPEN || kind == FBLE_SELECT_OPEN || kind == FBLE_COPY_OPEN ||
           kind == FBLE_PRIVATE_OPEN || kind == FBLE_FIELD_OPEN;
}

static bool closes(int kind) { return kind == ')' || kind == '}' || kind == ']'; }

// A stretch that begins somewhere and ends before a separator or bracket that is not its own.
static void stretch(const struct pieces *p, uint32_t *from, uint32_t *count) {
    *from = random_below(p->count);
    uint32_t i = *from, depth = 0;
    for (; i < p->count; i++) {
        int kind = p->at[i].kind;
        if (depth == 0 && i > *from && (kind == ';' || kind == ',' || closes(kind))) break;
        if (opens(kind)) depth++;
        if (closes(kind) && depth) depth--;
        if (depth == 0 && random_below(8) == 0) {
            i++;
            break;
        }
    }
    *count = i - *from;
}

static void replace(struct pieces *p, uint32_t at, uint32_t old, const struct piece *by,
                    uint32_t count) {
    if (p->count - old + count >= MOST_TOKENS) return;
    struct piece copy[MOST_TOKENS];
    if (count) memcpy(copy, by, count * sizeof *by); // it may be part of what moves
    memmove(p->at + at + count, p->at + at + old, (p->count - at - old) * sizeof *by);
    if (count) memcpy(p->at + at, copy, count * sizeof *by);
    p->count = p->count - old + count;
}

static void change(struct pieces *p, const struct pieces *other) {
    uint32_t a, n, b, m;
    if (!p->count || !other->count) return;
    stretch(p, &a, &n);
    switch (random_below(7)) {
    case 0:
        replace(p, a, n, NULL, 0);
        break;
    case 1:
        stretch(other, &b, &m);
        replace(p, a, n, other->at + b, m);
        break;
    case 2:
        stretch(p, &b, &m);
        replace(p, a, n, p->at + b, m);
        break;
    case 3:
        replace(p, a, 0, p->at + a, n);
        break;
    case 4: // another word of the same program: it parses, and the checker has to think
    case 5:
        for (b = random_below(p->count); b < p->count && p->at[b].kind != FBLE_WORD;) b++;
        for (a = random_below(p->count); a < p->count && p->at[a].kind != FBLE_WORD;) a++;
        if (a < p->count && b < p->count) p->at[a] = p->at[b];
        break;
    case 6:
        stretch(other, &b, &m);
        replace(p, a, 0, other->at + b, m);
        break;
    }
}

static size_t mutant(char *text) {
    static struct pieces program, other;
    cut(&program, corpus.at[random_below(corpus.count)]);
    cut(&other, corpus.at[random_below(corpus.count)]);
    for (uint32_t n = 1 + random_below(4); n--;) change(&program, &other);
    size_t length = 0;
    for (uint32_t i = 0; i < program.count && length < 7 * LONGEST; i++) {
        struct piece *piece = &program.at[i];
        bool glued = length && fble_word_byte(text[length - 1]) && fble_word_byte(*piece->at);
        if (glued || piece->at[0] == '\'') text[length++] = ' ';
        memcpy(text + length, piece->at, piece->length);
        length += piece->length;
    }
    return length;
}

TEST(random_bytes_end_with_a_result) { repeat(random_bytes); }
TEST(random_tokens_end_with_a_result) { repeat(random_soup); }
TEST(changed_programs_end_with_a_result) { repeat(mutant); }

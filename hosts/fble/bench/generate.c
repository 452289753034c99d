// SPDX-License-Identifier: MIT
//
// Sources for measurements. The modules look like library code that people write: a base module
// with booleans, numbers, lists and options; then modules that import it and each other and define
// records, recursive functions with guards, polymorphic helpers, literals and calls of them, with
// the comments and blank lines that such code has.

#include "generate.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char base[] =
    "# What every module needs.\n"
    "U@ = *();\n"
    "U@ u = U@();\n"
    "\n"
    "Bool@ = +(U@ true, U@ false);\n"
    "Bool@ true = Bool@(true: u);\n"
    "Bool@ false = Bool@(false: u);\n"
    "\n"
    "Nat@ = +(U@ zero, Nat@ succ);\n"
    "Nat@ zero = Nat@(zero: u);\n"
    "Succ = (Nat@ n) { Nat@(succ: n); };\n"
    "\n"
    "Maybe@ = <@ T@> { +(T@ just, U@ nothing); };\n"
    "List@ = <@ T@> { L@ = +(*(T@ head, L@ tail) cons, U@ nil); L@; };\n"
    "\n"
    "Digit@ = +(U@ 0, U@ 1, U@ 2, U@ 3, U@ 4, U@ 5, U@ 6, U@ 7, U@ 8, U@ 9);\n"
    "Digits = (List@<Digit@> digits) { digits; };\n"
    "\n"
    "ListT@ = <@ T@>(List@<T@>) { List@<T@>; };\n"
    "ListT@ List = <@ T@>(List@<T@> l) { l; };\n"
    "\n"
    "MapT@ = <@ A@, @ B@>(List@<A@>, (A@) { B@; }) { List@<B@>; };\n"
    "MapT@ Map = <@ A@, @ B@>(List@<A@> l, (A@) { B@; } f) {\n"
    "  l.?(nil: List@<B@>(nil: u));\n"
    "  List@<B@>(cons: @(head: f(l.cons.head), tail: Map<A@, B@>(l.cons.tail, f)));\n"
    "};\n"
    "\n"
    "FoldT@ = <@ S@>(S@)<@ A@>(List@<A@>, (S@, A@) { S@; }) { S@; };\n"
    "FoldT@ Fold = <@ S@>(S@ s)<@ A@>(List@<A@> l, (S@, A@) { S@; } f) {\n"
    "  l.?(nil: s);\n"
    "  Fold(f(s, l.cons.head))(l.cons.tail, f);\n"
    "};\n"
    "\n"
    "@(U@, u, Bool@, true, false, Nat@, zero, Succ, Maybe@, List@, List, Digit@, Digits, Map, "
    "Fold);\n";

static const char head[] =
    "# Records and functions over them.\n"
    "U@, u, Bool@, true, false, Nat@, zero, Succ, Maybe@, List@, List, Digits, Map, Fold\n"
    "  .= /Base%;\n"
    "\n";

// One group of definitions. `#` stands for its number; 40 lines.
static const char group[] =
    "# The record number #, and what can be done with it.\n"
    "Rec#@ = *(\n"
    "  Nat@ count,\n"
    "  Bool@ open,\n"
    "  List@<Nat@> parts,\n"
    "  Maybe@<Nat@> next\n"
    ");\n"
    "\n"
    "# Adds two numbers, one step at a time.\n"
    "(Nat@, Nat@) { Nat@; } Add# = (Nat@ a, Nat@ b) {\n"
    "  a.?(zero: b);\n"
    "  Succ(Add#(a.succ, b));\n"
    "};\n"
    "\n"
    "# Opens a record if there is something in it.\n"
    "Open# = (Rec#@ rec) {\n"
    "  Nat@ more = Add#(rec.count, Succ(zero));\n"
    "  rec.open.?(true: rec);\n"
    "  rec.count.?(\n"
    "    zero: rec,\n"
    "    succ: rec.@(count: more, open: true)\n"
    "  );\n"
    "};\n"
    "\n"
    "# The sum of all parts, or nothing.\n"
    "Sum# = (Rec#@ rec) {\n"
    "  Nat@ sum = Fold(zero)(rec.parts, Add#);\n"
    "  rec.next.?(nothing: Maybe@(just: sum));\n"
    "  Maybe@(just: Add#(sum, rec.next.just));\n"
    "};\n"
    "\n"
    "# Some values to begin with.\n"
    "Rec#@ first# = Rec#@(zero, false, List[zero, Succ(zero)], Maybe@<Nat@>(nothing: u));\n"
    "Rec#@ last# = Open#(first#.@(parts: Map<Nat@, Nat@>(first#.parts, Succ)));\n"
    "digits# = Digits|31415926;\n"
    "U@ _check# = digits#.?(cons: u, nil: u);\n"
    "total# = Sum#(last#).?(\n"
    "  just: Succ(zero),\n"
    "  nothing: zero\n"
    ");\n"
    "\n";

static void add_group(struct fble_text *text, unsigned number) {
    char digits[16];
    snprintf(digits, sizeof digits, "%u", number);
    const char *at = group, *mark;
    bool comment = true;
    while ((mark = strpbrk(at, "#\n"))) {
        fble_add(text, at, (size_t)(mark - at));
        bool number_here = *mark == '#' && !(comment && mark == at);
        if (number_here)
            fble_add_string(text, digits);
        else
            fble_add(text, mark, 1);
        comment = *mark == '\n';
        at = mark + 1;
    }
    fble_add_string(text, at);
}

static bool write_file(const char *folder, const char *name, const struct fble_text *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s.fble", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool good = fwrite(text->at, 1, text->length, file) == text->length;
    return !fclose(file) && good;
}

static unsigned long count_lines(const struct fble_text *text) {
    unsigned long lines = 0;
    for (size_t i = 0; i < text->length; i++) lines += text->at[i] == '\n';
    return lines;
}

static void add_module(struct fble_text *text, unsigned groups) {
    char line[100];
    fble_add_string(text, head);
    for (unsigned i = 0; i < groups; i++) add_group(text, i);
    fble_add_string(text, "@(");
    for (unsigned i = 0; i < groups; i++) {
        snprintf(line, sizeof line, "%stotal%u, Rec%u@,\n  Open%u, Add%u", i ? ",\n  " : "", i, i,
                 i, i);
        fble_add_string(text, line);
    }
    fble_add_string(text, ");\n");
}

unsigned long generate_program(const char *folder, unsigned modules, unsigned long lines) {
    struct fble_arena arena = {0};
    struct fble_text text = {.arena = &arena}, main = {.arena = &arena};
    fble_add_string(&text, base);
    bool good = write_file(folder, "Base", &text);
    unsigned long written = count_lines(&text);
    unsigned groups = (unsigned)(lines / modules / 41);
    for (unsigned i = 0; good && i < modules; i++) {
        char name[30], line[60];
        text.length = 0;
        add_module(&text, groups);
        snprintf(name, sizeof name, "M%u", i);
        good = write_file(folder, name, &text);
        written += count_lines(&text);
        snprintf(line, sizeof line, "total%u(.total0) .= /M%u%%;\n", i, i);
        fble_add_string(&main, line);
    }
    fble_add_string(&main, "@(total0);\n");
    written += count_lines(&main);
    good = good && write_file(folder, "Main", &main);
    fble_arena_free(&arena);
    return good ? written : 0;
}

void remove_program(const char *folder, unsigned modules) {
    char path[300];
    for (unsigned i = 0; i < modules + 2; i++) {
        if (i < modules)
            snprintf(path, sizeof path, "%s/M%u.fble", folder, i);
        else
            snprintf(path, sizeof path, "%s/%s.fble", folder, i == modules ? "Base" : "Main");
        unlink(path);
    }
    rmdir(folder);
}

void generate_literal(struct fble_text *text, unsigned long letters) {
    fble_add_string(text, "U@ = *(); L@ = <@ T@> { X@ = +(*(T@ h, X@ t) c, U@ n); X@; };\nC@ = +(");
    char part[30];
    for (int i = 0; i < 26; i++) {
        snprintf(part, sizeof part, "U@ %c, U@ %c, ", 'a' + i, 'A' + i);
        fble_add_string(text, part);
    }
    fble_add_string(text, "U@ ' ', U@ '.', U@ ',', U@ '\n');\nStr = (L@<C@> s) { s; };\nStr|'");
    static const char words[] = "The quick brown fox jumps over the lazy dog, and again.\n";
    for (unsigned long done = 0; done < letters;) {
        unsigned long n = letters - done < sizeof words - 1 ? letters - done : sizeof words - 1;
        fble_add(text, words, n);
        done += n;
    }
    fble_add_string(text, "';\n");
}

const char *const equality_names[EQUAL_KINDS] = {"chain", "diamonds", "cycles", "poly"};

static void add_cycle(struct fble_text *text, char letter, unsigned n) {
    char part[100];
    for (unsigned i = 0; i < n; i++) {
        snprintf(part, sizeof part, "%c%u@ = +(%c%u@ s, U@ z)%s", letter, i, letter, (i + 1) % n,
                 i + 1 < n ? ",\n" : ";\n");
        fble_add_string(text, part);
    }
}

void generate_equality(struct fble_text *text, enum equality_kind kind, unsigned n) {
    char part[200];
    fble_add_string(text, "U@ = *(); L@ = <@ T@> { X@ = +(*(T@ h, X@ t) c, U@ n); X@; };\n"
                          "(L@<U@> _) { ");
    if (kind == EQUAL_CYCLES) {
        add_cycle(text, 'A', n);
        add_cycle(text, 'B', n + 1);
        fble_add_string(text, "(A0@ a) { B0@ b = a; b; }; };\n");
        return;
    }
    fble_add_string(text, "A0@ = U@; B0@ = U@;\n");
    for (unsigned i = 1; i <= n; i++) {
        if (kind == EQUAL_DIAMONDS)
            snprintf(part, sizeof part, "A%u@ = *(A%u@ x, A%u@ y);\nB%u@ = *(B%u@ x, B%u@ y);\n", i,
                     i - 1, i - 1, i, i - 1, i - 1);
        else if (kind == EQUAL_CHAIN)
            snprintf(part, sizeof part, "A%u@ = *(A%u@ x);\nB%u@ = *(B%u@ x);\n", i, i - 1, i,
                     i - 1);
        else
            snprintf(part, sizeof part, "A%u@ = L@<A%u@>;\nB%u@ = L@<B%u@>;\n", i, i - 1, i, i - 1);
        fble_add_string(text, part);
    }
    snprintf(part, sizeof part, "(A%u@ a) { B%u@ b = a; b; }; };\n", n, n);
    fble_add_string(text, part);
}

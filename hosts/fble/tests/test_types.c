// SPDX-License-Identifier: MIT
//
// Laws of types, on random ones. A random type is written twice from the same seed, once with the
// parameters of a poly and once with the arguments in their place: the poly's instance must equal
// what was written out, at the top, under other parameters and by inference; and with another
// argument it must not.

#include "one_file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1500 };

// What the parameters are written as, and whether the type mentions them.
struct writing {
    struct fble_text text;
    const char *type[2]; // of kind @
    const char *maker;   // of kind <@>@
    bool used[3];
    uint32_t names; // made up so far
};

static void add(struct writing *w, const char *text) { fble_add_string(&w->text, text); }

static void add_type(struct writing *w, int depth);

static void add_fields(struct writing *w, int depth) {
    static const char *const names[] = {" a", " b", " c"};
    uint32_t count = 1 + random_below(3);
    for (uint32_t i = 0; i < count; i++) {
        if (i) add(w, ", ");
        bool type = random_below(8) == 0;
        if (type) add(w, "@<");
        add_type(w, depth - 1);
        if (type) add(w, ">");
        add(w, names[i]);
        if (type) add(w, "@");
    }
}

// { X@ = +(... a, X@ s); X@; } or with the recursion inside another constructor.
static void add_recursive(struct writing *w, int depth) {
    char name[20];
    snprintf(name, sizeof name, "R%u@", w->names++);
    add(w, "{ ");
    add(w, name);
    add(w, random_below(2) ? " = +(" : " = *(");
    add_type(w, depth - 1);
    add(w, random_below(2) ? " a, (" : " a, *(");
    bool func = w->text.at[w->text.length - 2] != '*';
    add(w, name);
    add(w, func ? ") { U@; } s); " : " r) s); ");
    add(w, name);
    add(w, "; }");
}

static void add_poly(struct writing *w, int depth) {
    char name[20];
    snprintf(name, sizeof name, "Q%u@", w->names++);
    add(w, "<@ ");
    add(w, name);
    add(w, ">(");
    add(w, name);
    add(w, ", ");
    add_type(w, depth - 1);
    add(w, ") { Pair@<");
    add(w, name);
    add(w, ", ");
    add_type(w, depth - 1);
    add(w, ">; }");
}

static void add_made(struct writing *w, int depth) {
    static const char *const makers[] = {"Box@", "List@", "Opt@", "Pair@<U@>"};
    uint32_t which = random_below(6);
    if (which >= 4) w->used[2] = true;
    add(w, which < 4 ? makers[which] : w->maker);
    add(w, "<");
    add_type(w, depth - 1);
    add(w, ">");
}

static void add_type(struct writing *w, int depth) {
    uint32_t choice = random_below(depth > 0 ? 12 : 4);
    switch (choice) {
    case 0:
        add(w, "U@");
        break;
    case 1:
    case 2:
    case 3:
        w->used[choice & 1] = true;
        add(w, w->type[choice & 1]);
        break;
    case 4:
    case 5:
        add(w, choice == 4 ? "*(" : "+(");
        add_fields(w, depth);
        add(w, ")");
        break;
    case 6:
        add(w, "(");
        add_type(w, depth - 1);
        add(w, ") { ");
        add_type(w, depth - 1);
        add(w, "; }");
        break;
    case 7:
        add_recursive(w, depth);
        break;
    case 8:
        add_poly(w, depth);
        break;
    case 9:
        add(w, "{ Alias@ = ");
        add_type(w, depth - 1);
        add(w, "; Alias@; }");
        break;
    case 10:
        add(w, "*(");
        add_type(w, depth - 1);
        add(w, random_below(2) ? " p).%(@/X%)" : " p).%(@/Main%)");
        break;
    default:
        add_made(w, depth);
    }
}

static const char *type_text(struct fble_arena *arena, uint64_t seed, const char *a, const char *b,
                             const char *maker, bool *used) {
    struct writing w = {.text = {.arena = arena}, .type = {a, b}, .maker = maker};
    random_seed(seed);
    add_type(&w, 4);
    if (used) memcpy(used, w.used, sizeof w.used);
    return w.text.at;
}

static const char prelude[] =
    "U@ = *(); Box@ = <@ T@> { *(T@ v); }; Opt@ = <@ T@> { +(T@ some, U@ none); };\n"
    "List@ = <@ T@> { L@ = +(*(T@ h, L@ t) c, U@ n); L@; }; Pair@ = <@ A@, @ B@> { *(A@ a, B@ b); "
    "};\n"
    "X@ = Opt@<U@>; Y@ = List@<Box@<X@>>; Z@ = <@ T@> { (T@) { Opt@<T@>; }; };\n";

static uint32_t errors_of(struct fble_arena *arena, const char *program_text, const char **first) {
    const char *text = fble_format(arena, "%s%s\n", prelude, program_text);
    struct fble_program program;
    check_text(&program, text, strlen(text));
    uint32_t errors = program.diagnostics.errors;
    struct fble_diagnostic *d = program.diagnostics.first;
    while (d && d->severity != FBLE_ERROR) d = d->next;
    *first = d ? fble_format(arena, "%u:%u: %s", d->loc.line, d->loc.column, d->message) : "";
    fble_program_free(&program);
    return errors;
}

static bool expect(struct fble_arena *arena, bool good, const char *text) {
    const char *first;
    uint32_t errors = errors_of(arena, text, &first);
    if (CHECK((errors == 0) == good)) return true;
    fprintf(stderr, "%s was %s\n%s\n", text, good ? "refused" : "accepted", first);
    return false;
}

// The poly that was written with the parameters A@, B@ and M@.
static const char *poly(struct fble_arena *arena, uint64_t seed) {
    return fble_format(arena, "P@ = <@ A@, @ B@, <@>@ M@> { %s; };",
                       type_text(arena, seed, "A@", "B@", "M@", NULL));
}

static void for_random_seeds(bool (*law)(struct fble_arena *arena, uint64_t seed)) {
    uint64_t start = random_next();
    bool good = true;
    for (uint64_t i = 0; good && i < ROUNDS; i++) {
        struct fble_arena arena = {0};
        good = law(&arena, start + i);
        fble_arena_free(&arena);
    }
}

static bool instance_is_body(struct fble_arena *arena, uint64_t seed) {
    const char *body = type_text(arena, seed, "X@", "Y@", "Z@", NULL);
    return expect(
        arena, true,
        fble_format(arena, "%s (P@<X@, Y@, Z@> a) { %s b = a; b; };", poly(arena, seed), body));
}

TEST(an_instance_equals_its_body_with_the_arguments) { for_random_seeds(instance_is_body); }

static bool instance_under_parameters(struct fble_arena *arena, uint64_t seed) {
    const char *body = type_text(arena, seed, "S@", "*(S@ x, R@ y)", "N@", NULL);
    return expect(
        arena, true,
        fble_format(arena,
                    "%s <@ S@, @ R@, <@>@ N@>(P@<S@, *(S@ x, R@ y), N@> a) { %s b = a; b; };",
                    poly(arena, seed), body));
}

TEST(so_does_an_instance_under_other_parameters) { for_random_seeds(instance_under_parameters); }

// Q@ passes its parameters on to P@: an instance of an instance.
static bool instance_of_instance(struct fble_arena *arena, uint64_t seed) {
    const char *body = type_text(arena, seed, "List@<X@>", "Pair@<X@, Y@>", "Pair@<Y@>", NULL);
    return expect(arena, true,
                  fble_format(arena,
                              "%s Q@ = <@ B@, @ A@> { P@<List@<A@>, Pair@<A@, B@>, Pair@<B@>>; };"
                              " (Q@<Y@, X@> a) { %s b = a; b; };",
                              poly(arena, seed), body));
}

TEST(so_does_an_instance_through_another_poly) { for_random_seeds(instance_of_instance); }

// The result type of F is a part of an instance that was made deep inside other parameters.
static bool instance_made_deeper(struct fble_arena *arena, uint64_t seed) {
    const char *open = type_text(arena, seed, "A@", "A@", "List@", NULL);
    const char *closed = type_text(arena, seed, "X@", "X@", "List@", NULL);
    return expect(arena, true,
                  fble_format(arena,
                              "P@ = <@ A@> { *(%s v); };"
                              " F = <@ D@, @ E@, @ G@, @ S@>(P@<S@> x) { x.v; };"
                              " (P@<X@> a) { %s b = F<U@, U@, U@, X@>(a); b; };",
                              open, closed));
}

TEST(so_does_an_instance_made_under_parameters_and_applied_later) {
    for_random_seeds(instance_made_deeper);
}

// A chain of types, each a part of the next, that a struct has as fields in random order, with
// polys among them: nothing can be said about the order in which parts are copied.
static const char *scrambled(struct fble_arena *arena, uint64_t seed, const char *type) {
    enum { LINKS = 40 };
    struct fble_text text = {.arena = arena};
    int order[LINKS];
    random_seed(seed);
    fble_add_string(&text, fble_format(arena, "{ X0@ = *(%s v);", type));
    for (int i = 1; i < LINKS; i++) {
        static const char *const before[] = {"*(", "(", "<@ Q@>(Q@) { ", "Opt@<"};
        static const char *const after[] = {" p, U@ q)", ") { U@; }", "; }", ">"};
        uint32_t link = random_below(4);
        fble_add_string(
            &text, fble_format(arena, " X%d@ = %sX%d@%s;", i, before[link], i - 1, after[link]));
    }
    for (int i = 0; i < LINKS; i++) {
        int j = (int)random_below((uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < LINKS; i++)
        fble_add_string(&text, fble_format(arena, "%s X%d@ f%d", i ? "," : " *(", order[i], i));
    fble_add_string(&text, "); }");
    return text.at;
}

static bool instance_of_scrambled(struct fble_arena *arena, uint64_t seed) {
    const char *open = scrambled(arena, seed, "A@"), *closed = scrambled(arena, seed, "X@");
    const char *other = scrambled(arena, seed, "U@");
    const char *poly = fble_format(arena,
                                   "P@ = <@ A@> { *(%s v); };"
                                   " F = <@ D@, @ E@, @ S@>(P@<S@> x) { x.v; }; (P@<X@> a) {",
                                   open);
    const char *use = "b = F<U@, U@, X@>(a); b; };";
    return seed % 20 || (expect(arena, true, fble_format(arena, "%s %s %s", poly, closed, use)) &&
                         expect(arena, false, fble_format(arena, "%s %s %s", poly, other, use)));
}

TEST(so_does_an_instance_whose_parts_are_scrambled) { for_random_seeds(instance_of_scrambled); }

static bool another_argument(struct fble_arena *arena, uint64_t seed) {
    bool used[3];
    const char *body = type_text(arena, seed, "U@", "Y@", "Z@", used);
    return expect(
        arena, !used[0],
        fble_format(arena, "%s (P@<X@, Y@, Z@> a) { %s b = a; b; };", poly(arena, seed), body));
}

TEST(another_argument_makes_another_type) { for_random_seeds(another_argument); }

static bool another_maker(struct fble_arena *arena, uint64_t seed) {
    bool used[3];
    const char *body = type_text(arena, seed, "X@", "Y@", "Box@", used);
    return expect(
        arena, !used[2],
        fble_format(arena, "%s (P@<X@, Y@, Z@> a) { %s b = a; b; };", poly(arena, seed), body));
}

TEST(another_type_constructor_makes_another_type) { for_random_seeds(another_maker); }

// A@ stands for both types; the constructor is given, since it cannot be inferred.
static bool inference_finds_it(struct fble_arena *arena, uint64_t seed) {
    bool used[3];
    const char *open = type_text(arena, seed, "A@", "A@", "Z@", used);
    const char *closed = type_text(arena, seed, "Y@", "Y@", "Z@", NULL);
    return expect(arena, used[0] || used[1],
                  fble_format(arena, "F = <@ A@>(%s x) { x; }; (%s a) { %s b = F(a); b; };", open,
                              closed, closed));
}

TEST(inference_finds_the_argument) { for_random_seeds(inference_finds_it); }

// The first type decides, so a second one that differs is an error.
static bool inference_refuses(struct fble_arena *arena, uint64_t seed) {
    bool used[3];
    const char *open = type_text(arena, seed, "A@", "A@", "Z@", used);
    const char *closed = type_text(arena, seed, "X@", "Y@", "Z@", NULL);
    bool both = used[0] && used[1];
    return expect(arena, !both && (used[0] || used[1]),
                  fble_format(arena, "F = <@ A@>(%s x) { x; }; (%s a) { F(a); };", open, closed));
}

TEST(inference_refuses_two_answers) { for_random_seeds(inference_refuses); }

// The same type, written in two modules' worth of names, is the same type in both directions.
static bool equality_is_symmetric(struct fble_arena *arena, uint64_t seed) {
    const char *a = type_text(arena, seed, "X@", "Y@", "Z@", NULL);
    const char *b = type_text(arena, seed ^ 1, "X@", "Y@", "Z@", NULL), *first;
    uint32_t one = errors_of(arena, fble_format(arena, "(%s a) { %s b = a; b; };", a, b), &first);
    uint32_t two = errors_of(arena, fble_format(arena, "(%s a) { %s b = a; b; };", b, a), &first);
    return CHECK_EQUAL(one, two) &&
           expect(arena, true, fble_format(arena, "(%s a) { %s b = a; b; };", a, a));
}

TEST(equality_is_reflexive_and_symmetric) { for_random_seeds(equality_is_symmetric); }

// A system of mutually recursive types, as a model: a node is a struct, union or function with two
// parts, or another name for a node before it. Which nodes are equal is found by starting with all
// equal and taking apart what differs, until nothing changes: slow, short, and not how the checker
// does it.
struct model {
    int count;
    struct node {
        uint32_t sort; // of the constructor, with its field names; ALIAS: another name for part[0]
        int part[2];
    } at[8];
};

enum { SORTS = 4, ALIAS = SORTS };

static void random_model(struct model *m) {
    m->count = 2 + (int)random_below(6);
    for (int i = 0; i < m->count; i++) {
        struct node *node = &m->at[i];
        node->sort = random_below(i ? SORTS + 1 : SORTS);
        if (random_below(3)) node->sort = 0; // many of one sort, so that some are equal
        for (int j = 0; j < 2; j++) node->part[j] = (int)random_below((uint32_t)m->count);
        if (node->sort == ALIAS) node->part[0] = (int)random_below((uint32_t)i);
    }
}

static int meant(const struct model *m, int i) {
    while (m->at[i].sort == ALIAS) i = m->at[i].part[0];
    return i;
}

static void find_equal(const struct model *m, bool equal[8][8]) {
    for (int i = 0; i < 64; i++) equal[i / 8][i % 8] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < m->count * m->count; i++) {
            int x = i / m->count, y = i % m->count;
            const struct node *a = &m->at[meant(m, x)], *b = &m->at[meant(m, y)];
            bool same = a->sort == b->sort && equal[a->part[0]][b->part[0]] &&
                        equal[a->part[1]][b->part[1]];
            if (equal[x][y] && !same) changed = true;
            equal[x][y] = equal[x][y] && same;
        }
    }
}

static const char *model_text(struct fble_arena *arena, const struct model *m) {
    static const char *const before[] = {"*(", "+(", "*(", "("};
    static const char *const middle[] = {" a, ", " a, ", " b, ", ") { "};
    static const char *const after[] = {" b)", " b)", " a)", "; }"};
    struct fble_text text = {.arena = arena};
    for (int i = 0; i < m->count; i++) {
        const struct node *n = &m->at[i];
        fble_add_string(&text, fble_format(arena, "%sA%d@ = ", i ? ", " : "", i));
        if (n->sort == ALIAS)
            fble_add_string(&text, fble_format(arena, "A%d@", n->part[0]));
        else
            fble_add_string(&text, fble_format(arena, "%sA%d@%sA%d@%s", before[n->sort], n->part[0],
                                               middle[n->sort], n->part[1], after[n->sort]));
    }
    fble_add_string(&text, ";");
    return text.at;
}

static bool agrees_with_the_model(struct fble_arena *arena, uint64_t seed) {
    struct model m;
    bool equal[8][8], good = true;
    random_seed(seed);
    random_model(&m);
    find_equal(&m, equal);
    const char *types = model_text(arena, &m);
    for (int i = 0; i < m.count * m.count && good; i++) {
        int x = i / m.count, y = i % m.count;
        good = expect(arena, equal[x][y],
                      fble_format(arena, "%s (A%d@ a) { A%d@ b = a; b; };", types, x, y));
    }
    // All pairs in one module, where a comparison may build on those before it, if they were equal,
    // and must not if they were not.
    struct fble_text all = {.arena = arena};
    fble_add_string(&all, types);
    uint32_t differ = 0;
    for (int i = 0; i < m.count * m.count; i++) {
        differ += !equal[i / m.count][i % m.count];
        fble_add_string(&all, fble_format(arena, " _ = (A%d@ a) { A%d@ b = a; b; };", i / m.count,
                                          i % m.count));
    }
    fble_add_string(&all, " U@;");
    const char *first;
    return good && CHECK_EQUAL(errors_of(arena, all.at, &first), differ);
}

TEST(equality_agrees_with_a_simple_model) { for_random_seeds(agrees_with_the_model); }

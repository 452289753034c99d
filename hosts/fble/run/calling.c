// SPDX-License-Identifier: MIT
//
// Is the main module's value what it will be used as? The machine passes values without looking at
// them, so a value of another type would crash it. The types are written in Fble, below. A program
// need not have been written with our library: what counts is how values are laid out, so private
// types are seen through and fields may have other names.

#include "check/checker.h"
#include "runner.h"
#include "syntax/parser.h"

#include <string.h>

// The structure of /Std/Io/Cli%.Main@.
static const char program_text[] =
    "Unit@ = *();\n"
    "List@ = <@ T@> { L@ = +(*(T@ head, L@ tail) items, Unit@ empty); L@; };\n"
    "IntP@ = +(Unit@ 1, IntP@ 2p0, IntP@ 2p1);\n"
    "Int@ = +(IntP@ n, Unit@ 0, IntP@ p);\n"
    "Char@ = *(Int@ code);\n"
    "String@ = List@<Char@>;\n"
    "Monad@ = <<@>@ M@> { *(@<M@> M@, <@ A@>(A@) { M@<A@>; } return,\n"
    "  <@ A@>(M@<A@>)<@ B@>((A@) { M@<B@>; }) { M@<B@>; } do); };\n"
    "External@ = <@ A@> { (Unit@) { A@; }; };\n"
    "Io@ = <<@>@ M@> { *(<@ A@>(External@<A@>) { M@<A@>; } run); };\n"
    "<<@>@ M@>(Monad@<M@>, Io@<M@>, List@<String@>) { M@<Int@>; };\n";

static const char number_text[] =
    "Bit@ = +(*() 0, *() 1); Bits@ = +(*(Bit@ head, Bits@ tail) items, *() empty); Bits@;\n";

static struct fble_checker checker_for(struct fble_program *program, struct fble_unit *unit) {
    return (struct fble_checker){.arena = &program->arena,
                                 .types = &program->types,
                                 .words = &program->words,
                                 .diagnostics = &program->diagnostics,
                                 .unit = unit};
}

// The type that the text denotes.
static struct fble_type *type_of(struct fble_program *program, const char *text) {
    struct fble_unit *unit = fble_alloc(&program->arena, sizeof *unit);
    *unit =
        (struct fble_unit){.file = "the host", .host = true, .text = text, .length = strlen(text)};
    struct fble_checker checker = checker_for(program, unit);
    if (!fble_parse(unit, &program->arena, &program->words, &program->diagnostics)) return NULL;
    fble_check_unit(&checker);
    return unit->type ? unit->type->inner : NULL;
}

// The same function with the argument that will be passed. NULL: it is no function.
static struct fble_type *with_argument(struct fble_types *types, struct fble_type *type,
                                       struct fble_type *argument) {
    struct fble_type *normal = fble_normal(types, type);
    if (!normal || normal->kind != FBLE_T_FUNC) return NULL;
    return fble_func_type(types, argument, normal->func.result);
}

static void complain(struct fble_checker *checker, const char *what, struct fble_type *wanted,
                     struct fble_type *found) {
    struct fble_loc first = {1, 1}, loc = checker->unit->body ? checker->unit->body->loc : first;
    fble_complain_mismatch(checker, loc, what, wanted, found);
}

void fble_check_main(struct fble_program *program, const struct fble_module *main,
                     enum fble_calling calling) {
    if (calling == FBLE_NOT_CALLED) return;
    struct fble_types *types = &program->types;
    struct fble_checker checker = checker_for(program, main->value ? main->value : main->header);
    fble_types_enter_as_host(types);
    bool runs = calling == FBLE_CALLED_AS_PROGRAM;
    struct fble_type *found = main->path->type;
    struct fble_type *wanted = type_of(program, runs ? program_text : number_text);
    if (!wanted) return;
    const char *what = runs ? "the module's value cannot be run: a program, /Std/Io/Cli%.Main@,"
                            : "the module's value cannot be called with a number: it";
    if (!runs) {
        struct fble_type *function = with_argument(types, found, wanted);
        wanted = function ? function : fble_func_type(types, wanted, found);
    }
    if (!fble_equal(types, wanted, found)) complain(&checker, what, wanted, found);
}

// SPDX-License-Identifier: MIT
//
// A program of one module that never was a file, for tests that make their sources up by the
// thousand. Modules that the text mentions do not exist here, which is reported as it would be for
// files. Also what every test of a tree checks: printing it and reading it again changes nothing.

#include "one_file.h"

#include "syntax/parser.h"
#include "tree_print.h"

struct fble_module *check_text(struct fble_program *program, const char *text, size_t length) {
    fble_program_start(program);
    struct fble_module *module = fble_alloc(&program->arena, sizeof *module);
    struct fble_unit *unit = fble_alloc(&program->arena, sizeof *unit);
    module->path = fble_parse_path(&program->arena, &program->words, "/Main%");
    module->value = unit;
    module->state = FBLE_LOADED;
    unit->file = "Main.fble";
    unit->text = text;
    unit->length = length;
    fble_parse(unit, &program->arena, &program->words, &program->diagnostics);
    for (struct fble_mention *m = unit->mentions; m; m = m->next)
        fble_report(&program->diagnostics, FBLE_ERROR, unit, m->loc, "there are no other modules");
    fble_push(&program->arena, &program->modules, module);
    fble_program_check(program);
    fble_diagnostics_sort(&program->diagnostics);
    return module;
}

bool survives_printing(struct fble_program *program, const struct fble_unit *unit) {
    if (!unit || !unit->body) return true;
    struct fble_text text = {.arena = &program->arena};
    fble_print_body(&text, unit->body);
    struct fble_unit again = {.file = "printed", .text = text.at, .length = text.length};
    struct fble_diagnostics diagnostics = {.arena = &program->arena};
    fble_parse(&again, &program->arena, &program->words, &diagnostics);
    return again.body && fble_same_body(unit->body, again.body);
}

// SPDX-License-Identifier: MIT
//
// Checks a loaded program, module by module in the order of dependence. Dependents see a module by
// its header if it has one. Warnings and labels come after a module has no errors; modules that
// mention a broken one are checked all the same, and what depends on its type fails silently.

#include "check/checker.h"
#include "check/warnings.h"
#include "labels.h"
#include "loader.h"

static struct fble_checker checker_for(struct fble_program *program, struct fble_unit *unit) {
    return (struct fble_checker){.arena = &program->arena,
                                 .types = &program->types,
                                 .words = &program->words,
                                 .diagnostics = &program->diagnostics,
                                 .unit = unit};
}

static void check_unit(struct fble_program *program, struct fble_unit *unit) {
    struct fble_checker checker = checker_for(program, unit);
    uint32_t errors = program->diagnostics.errors;
    fble_check_unit(&checker);
    if (unit->type && program->diagnostics.errors == errors)
        fble_warn_unused(&program->diagnostics, unit);
}

static void compare_with_header(struct fble_program *program, struct fble_module *module) {
    struct fble_type *declared = module->header->type, *actual = module->value->type;
    if (!declared || !actual || fble_equal(&program->types, declared, actual)) return;
    struct fble_checker checker = checker_for(program, module->value);
    struct fble_diagnostic *d = fble_report(
        &program->diagnostics, FBLE_ERROR, module->value, module->value->body->loc,
        "the header says that the module has type %s, but it has type %s",
        fble_type_text(&program->types, declared), fble_type_text(&program->types, actual));
    fble_explain_mismatch(&checker, d, declared, actual);
}

static void check_module(struct fble_program *program, struct fble_module *module) {
    uint32_t errors = program->diagnostics.errors;
    fble_types_enter(&program->types, module->path);
    if (module->header) check_unit(program, module->header);
    if (module->value) check_unit(program, module->value);
    if (module->header && module->value) compare_with_header(program, module);
    module->path->type = module->header ? module->header->type : module->value->type;
    bool good = program->diagnostics.errors == errors;
    if (good && module->value && module->value->type) fble_label_module(program, module);
}

bool fble_program_check(struct fble_program *program) {
    for (uint32_t i = 0; i < program->modules.count; i++)
        check_module(program, program->modules.at[i]);
    return program->diagnostics.errors == 0;
}

bool fble_module_has_value(struct fble_program *program, const struct fble_module *module) {
    if (module->value) return true;
    fble_report(&program->diagnostics, FBLE_ERROR, module->header, (struct fble_loc){1, 1},
                "the module has a header but no implementation");
    return false;
}

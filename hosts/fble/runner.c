// SPDX-License-Identifier: MIT
//
// Runs programs for the command line: see runner.h. Functions in C come from shared objects, which
// stay loaded while the machine lives.

#include "runner.h"
#include "profile.h"

#include <dlfcn.h>
#include <string.h>

static int load_foreign(struct fble_runner *r) {
    const struct fble_list *files = &r->options->run.foreign;
    for (uint32_t i = 0; i < files->count; i++) {
        void *library = dlopen(files->at[i], RTLD_NOW);
        fble_foreign_entry *entry =
            library ? (fble_foreign_entry *)dlsym(library, FBLE_FOREIGN_ENTRY) : NULL;
        if (library) fble_push(&r->program->arena, &r->libraries, library);
        if (!entry) {
            fprintf(stderr, "fble %s: cannot load %s: %s\n", r->command, (const char *)files->at[i],
                    dlerror());
            return FBLE_OTHER;
        }
        entry(r->machine);
    }
    return FBLE_FINE;
}

static struct fble_type *without_polys(struct fble_types *types, struct fble_type *type) {
    for (;;) {
        type = fble_normal_inside(types, type);
        if (type->kind != FBLE_T_POLY) return type;
        type = type->poly.body;
    }
}

// Only the number of arguments: which ones they are is between the program and its host.
static bool can_be_called(const struct fble_runner *r, struct fble_type *type) {
    struct fble_types *types = &r->program->types;
    type = without_polys(types, type);
    for (uint32_t i = 0; i < r->arguments; i++) {
        if (type->kind != FBLE_T_FUNC) return false;
        type = without_polys(types, type->func.result);
    }
    return !r->gives_action || (type->kind != FBLE_T_STRUCT && type->kind != FBLE_T_UNION);
}

static int check(struct fble_runner *r) {
    fble_program_load(r->program, r->options->main);
    const struct fble_module *main = r->options->main->module;
    if (fble_program_check(r->program) && !can_be_called(r, main->type))
        fble_report(&r->program->diagnostics, FBLE_ERROR, main->value ? main->value : main->header,
                    (struct fble_loc){1, 1}, "the module's value cannot be %s",
                    r->gives_action ? "run: it must be a program, of type /Std/Io/Cli%.Main@"
                                    : "called: it must be a function of one argument");
    return fble_finish(r->program, r->options);
}

int fble_runner_start(struct fble_runner *r, const fble_machine_options *given, fble_ref *value) {
    fble_machine_options options = *given;
    int status = check(r);
    if (status == FBLE_FINE) status = fble_profile_start(r, &options);
    if (status != FBLE_FINE) return status;
    r->machine = fble_machine_new(&options);
    status = fble_profile_begin(r);
    if (status == FBLE_FINE) status = load_foreign(r);
    if (status != FBLE_FINE) return status;
    const char *blocks = r->options->run.blocks;
    struct fble_evaluation evaluation = {r->program, r->machine, blocks && !strcmp(blocks, "all")};
    *value = fble_evaluate(&evaluation);
    if (*value) return FBLE_FINE;
    if (fble_error(r->machine)) return FBLE_RUNTIME_ERROR;
    return fble_finish(r->program, r->options);
}

int fble_runner_end(struct fble_runner *r, int status) {
    if (!r->machine) return status;
    const char *error = fble_error(r->machine);
    if (error) {
        fflush(stdout);
        fputs(error, stderr);
        status = FBLE_RUNTIME_ERROR;
    }
    int written = fble_profile_finish(r);
    fble_machine_free(r->machine);
    ouro_profile_free(r->profile);
    for (uint32_t i = 0; i < r->libraries.count; i++) dlclose(r->libraries.at[i]);
    return written == FBLE_FINE ? status : written;
}

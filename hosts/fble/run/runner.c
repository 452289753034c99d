// SPDX-License-Identifier: MIT
//
// Runs programs from their sources: see runner.h.

#include "runner.h"
#include "gzip.h"
#include "printable.h"
#include "profile.h"
#include "program/labels.h"
#include "vm/compiled.h"

#include <dlfcn.h>
#include <string.h>

static int check(struct fble_runner *r) {
    fble_program_load(r->program, r->main);
    if (fble_program_check(r->program)) fble_check_main(r->program, r->main->module, r->calling);
    return fble_finish(r->program, false);
}

static int refuse(const struct fble_runner *r, const char *file, const char *why) {
    ouro__say("fble %s: cannot use %s: %s", r->command, file, why);
    return FBLE_OTHER;
}

// Their globals are one another's, so that a module that is in two of them is one module.
static int load_library(struct fble_runner *r, struct fble_evaluation *v, const char *file) {
    void *library = fble_runner_open(r, file, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return refuse(r, file, dlerror());
    const struct fble_compiled *compiled = dlsym(library, FBLE_COMPILED_LIBRARY);
    if (!compiled) return refuse(r, file, "fble compile --library did not make it");
    if (compiled->format != FBLE_COMPILED_FORMAT)
        return refuse(r, file, "it was compiled for another version of fble");
    if (r->profile && !compiled->profiled)
        return refuse(r, file, "it was compiled without --profile");
    if (r->profile && compiled->all_blocks != v->all_blocks)
        return refuse(r, file, "it was compiled with another --profile-blocks");
    for (uint32_t i = 0; i < compiled->count; i++)
        fble_push(r->arena, &v->compiled,
                  (void *)(r->profile ? compiled->profiled : compiled->modules)[i]);
    return FBLE_FINE;
}

static int load_compiled(struct fble_runner *r, struct fble_evaluation *v) {
    const struct fble_list *files = &r->options->compiled;
    int status = FBLE_FINE;
    for (uint32_t i = 0; i < files->count && status == FBLE_FINE; i++)
        status = load_library(r, v, files->at[i]);
    return status;
}

// The names that the profile will have, of all that can be called.
static int check_slice(struct fble_runner *r, bool all_blocks) {
    struct fble_list names = {0};
    if (!r->options->slice) return FBLE_FINE;
    for (uint32_t i = 0; i < r->program->modules.count; i++) {
        const struct fble_module *module = r->program->modules.at[i];
        for (uint32_t k = 0; k < module->labels.count; k++) {
            const struct fble_label *label = module->labels.at[k];
            if (label->kind == FBLE_LABEL_LET || label->kind == FBLE_LABEL_BRANCH) continue;
            fble_push(r->arena, &names,
                      (void *)(all_blocks ? fble_label_fine_name(r->arena, label)
                                          : fble_label_name(r->arena, label)));
        }
    }
    return fble_slice_check(r, &names);
}

int fble_runner_start(struct fble_runner *r, const fble_machine_options *given, fble_ref *value) {
    fble_machine_options options = *given;
    r->arena = &r->program->arena;
    r->pack = write_profile;
    int status = check(r);
    if (status == FBLE_FINE) status = fble_profile_start(r, &options);
    const char *blocks = r->options->blocks;
    bool all_blocks = blocks && !strcmp(blocks, "all");
    if (status == FBLE_FINE) status = check_slice(r, all_blocks);
    if (status != FBLE_FINE) return status;
    status = fble_runner_machine(r, &options);
    if (status != FBLE_FINE) return status;
    struct fble_evaluation evaluation = {
        .program = r->program,
        .machine = r->machine,
        .all_blocks = all_blocks,
    };
    status = load_compiled(r, &evaluation);
    if (status != FBLE_FINE) return status;
    *value = fble_evaluate(&evaluation);
    if (*value) return FBLE_FINE;
    if (fble_error(r->machine)) return FBLE_RUNTIME_ERROR;
    return fble_finish(r->program, false);
}

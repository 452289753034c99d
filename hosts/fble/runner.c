// SPDX-License-Identifier: MIT
//
// Runs programs from their sources: see runner.h.

#include "runner.h"
#include "profile.h"

#include <string.h>

static int check(struct fble_runner *r) {
    fble_program_load(r->program, r->options->main);
    fble_program_check(r->program);
    return fble_finish(r->program, r->options);
}

int fble_runner_start(struct fble_runner *r, const fble_machine_options *given, fble_ref *value) {
    fble_machine_options options = *given;
    int status = check(r);
    if (status == FBLE_FINE) status = fble_profile_start(r, &options);
    if (status != FBLE_FINE) return status;
    r->machine = fble_machine_new(&options);
    status = fble_profile_begin(r);
    if (status == FBLE_FINE) status = fble_runner_foreign(r);
    if (status != FBLE_FINE) return status;
    const char *blocks = r->options->run.blocks;
    struct fble_evaluation evaluation = {r->program, r->machine, blocks && !strcmp(blocks, "all")};
    *value = fble_evaluate(&evaluation);
    if (*value) return FBLE_FINE;
    if (fble_error(r->machine)) return FBLE_RUNTIME_ERROR;
    return fble_finish(r->program, r->options);
}

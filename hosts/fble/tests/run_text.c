// SPDX-License-Identifier: MIT
//
// Runs programs for tests, see run_text.h. Profiles have the metric of instructions.

#include "run_text.h"

#include <string.h>

const char run_prelude[] = "U@ = *(); U@ u = U@(); Flag@ = +(U@ on, U@ off); "
                           "Flag@ on = Flag@(on: u); Flag@ off = Flag@(off: u);\n";

void run_program(struct text_run *run, const struct run_how *how) {
    run_program_with(run, how, &(struct fble_list){0});
}

void run_program_with(struct text_run *run, const struct run_how *how,
                      const struct fble_list *compiled) {
    fble_machine_options options = how->options;
    static const ouro_metric_info metric[] = {{"instructions", "count"}};
    if (how->profile) {
        run->profile = ouro_profile_new(&(ouro_options){.metrics = metric, .metric_count = 1});
        options.profile = run->profile;
        if (!options.instructions) options.instructions = 1;
    }
    run->machine = fble_machine_new(&options);
    if (how->prepare) how->prepare(run->machine);
    struct fble_evaluation evaluation = {.program = &run->program,
                                         .machine = run->machine,
                                         .all_blocks = how->all_blocks,
                                         .compiled = *compiled};
    run->value = fble_evaluate(&evaluation);
}

bool run_text(struct text_run *run, const char *text, const struct run_how *how) {
    *run = (struct text_run){0};
    run->text = fble_format(&run->source, "%s%s", run_prelude, text);
    check_text(&run->program, run->text, strlen(run->text));
    bool good = run->program.diagnostics.errors == 0;
    if (!good) fble_diagnostics_print(&run->program.diagnostics, stderr);
    if (good) run_program(run, how);
    return good;
}

void run_end(struct text_run *run) {
    if (run->machine) fble_machine_free(run->machine);
    ouro_profile_free(run->profile);
    fble_program_free(&run->program);
    fble_arena_free(&run->source);
}

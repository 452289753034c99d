// SPDX-License-Identifier: MIT
//
// Shows the messages about a program and says which exit status they stand for.

#include "status.h"

int fble_finish(struct fble_program *program, bool json) {
    struct fble_diagnostics *d = &program->diagnostics;
    fble_diagnostics_sort(d);
    if (json)
        fble_diagnostics_print_json(d, stdout);
    else
        fble_diagnostics_print(d, stderr);
    int status = d->unreadable ? FBLE_OTHER : d->errors ? FBLE_COMPILE_ERROR : FBLE_FINE;
    *d = (struct fble_diagnostics){.arena = d->arena}; // what was shown is not shown again
    return status;
}

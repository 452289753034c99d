// SPDX-License-Identifier: MIT

#ifndef FBLE_WARNINGS_H
#define FBLE_WARNINGS_H

#include "syntax/diagnostics.h"

// Warns about names of a checked file that nothing uses.
void fble_warn_unused(struct fble_diagnostics *diagnostics, const struct fble_unit *unit);

#endif

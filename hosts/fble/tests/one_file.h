// SPDX-License-Identifier: MIT
//
// Checks one text as the module /Main%, without files.

#ifndef FBLE_ONE_FILE_H
#define FBLE_ONE_FILE_H

#include "program/loader.h"

// Starts the program and checks the text, which must live as long as it. Free the program after.
struct fble_module *check_text(struct fble_program *program, const char *text, size_t length);

// Does the text, if it parses, survive printing and parsing?
bool survives_printing(struct fble_program *program, const struct fble_unit *unit);

#endif

// SPDX-License-Identifier: MIT
//
// libFuzzer target for the parser and the checker: whatever the text is, it has errors or labels,
// and what parses survives printing. test_fuzz.c makes its own texts; this one follows the code.

#include "one_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *exact = malloc(size ? size : 1); // so that reading beyond the end is seen
    if (size) memcpy(exact, data, size);
    struct fble_program program;
    struct fble_module *module = check_text(&program, exact, size);
    if (!survives_printing(&program, module->value)) abort();
    if (!program.diagnostics.errors && !module->labels.count) abort();
    static FILE *nowhere;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    fble_diagnostics_print(&program.diagnostics, nowhere);
    fble_diagnostics_print_json(&program.diagnostics, nowhere);
    fble_program_free(&program);
    free(exact);
    return 0;
}

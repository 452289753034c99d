// SPDX-License-Identifier: MIT
//
// libFuzzer target for the names of functions in Lua's sources: whatever the text is, definitions
// are in order, inside the text, and end where they began or later.

#include "source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *exact = malloc(size ? size : 1); // so that reading beyond the end is seen
    if (size) memcpy(exact, data, size);
    source s = {0};
    if (source_read(&s, exact, size)) {
        size_t lines = 1;
        for (size_t i = 0; i < size; i++) lines += exact[i] == '\n' || exact[i] == '\r';
        for (size_t i = 0; i < s.count; i++) {
            const definition *d = &s.list[i];
            if (d->line < 1 || d->last_line < d->line || d->last_line > lines) abort();
            if (i > 0 && d->line < d[-1].line) abort();
        }
    }
    source_free(&s);
    free(exact);
    return 0;
}

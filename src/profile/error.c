// SPDX-License-Identifier: MIT
//
// Fills errors. Positions are part of the message, because the message is what people see; the
// number is kept beside it for programs and tests. Nothing here prints.

#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(error *e, int code, uint64_t offset, const char *position, const char *format,
                 va_list arguments) {
    if (!e) return;
    e->code = code;
    e->offset = offset;
    int n = snprintf(e->message, sizeof e->message, "%s", position);
    vsnprintf(e->message + n, sizeof e->message - (size_t)n, format, arguments);
}

void ouro__error_set(error *e, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(e, code, 0, "", format, arguments);
    va_end(arguments);
}

void ouro__error_at_byte(error *e, uint64_t offset, const char *format, ...) {
    char number[GROUPED_ROOM], position[48];
    snprintf(position, sizeof position, "byte %s: ", ouro__grouped(number, offset));
    va_list arguments;
    va_start(arguments, format);
    fill(e, EILSEQ, offset, position, format, arguments);
    va_end(arguments);
}

void ouro__error_at_line(error *e, uint64_t offset, uint64_t line, const char *format, ...) {
    char number[GROUPED_ROOM], position[48];
    snprintf(position, sizeof position, "line %s: ", ouro__grouped(number, line));
    va_list arguments;
    va_start(arguments, format);
    fill(e, EILSEQ, offset, position, format, arguments);
    va_end(arguments);
}

void ouro__error_memory(error *e) { ouro__error_set(e, ENOMEM, "out of memory"); }

char *ouro__grouped(char text[static GROUPED_ROOM], uint64_t number) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *to = text;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

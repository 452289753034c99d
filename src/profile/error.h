// SPDX-License-Identifier: MIT
//
// What went wrong, for people: tool code returns false or NULL and fills one of these. Only cli/
// prints it.

#ifndef OURO_ERROR_H
#define OURO_ERROR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int code; // errno; EILSEQ: the input is damaged or of another kind; EINVAL: what was asked
              // makes no sense
    uint64_t offset; // byte of the input where it was seen, 0 if that says nothing
    char message[480];
} error;

// All are false, so that a failing function can end with `return ouro__fail(...)`, and the compiler
// knows it. `e` may be NULL.
#define ouro__fail(...) (ouro__error_set(__VA_ARGS__), false)
// "byte 1,204: ..."
#define ouro__fail_at_byte(...) (ouro__error_at_byte(__VA_ARGS__), false)
// "line 12: ..."; `offset` is where the line begins.
#define ouro__fail_at_line(...) (ouro__error_at_line(__VA_ARGS__), false)
#define ouro__fail_memory(e) (ouro__error_memory(e), false)

void ouro__error_set(error *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ouro__error_at_byte(error *e, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ouro__error_at_line(error *e, uint64_t offset, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void ouro__error_memory(error *e);

// The digits in groups of three: 1,204. Returns `text`.
enum { GROUPED_ROOM = 32 };
char *ouro__grouped(char text[static GROUPED_ROOM], uint64_t number);

#endif

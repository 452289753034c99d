// SPDX-License-Identifier: MIT
//
// Files of test programs. A case is
//
//     === NAME (PRELUDE) EXPECTED : note
//     >>> text that the messages must contain          any number of these
//     lines of Main.fble, after the prelude
//     --- Other/File.fble
//     lines of that file, which gets no prelude
//
// EXPECTED is one of
//     ok                              no error; warnings are not looked at
//     clean                           neither errors nor warnings
//     error L:C error L:C@FILE ...    exactly these errors, in Main.fble unless a file is given
//     warning L:C ...                 no error, exactly these warnings
//     fails L:C                       no error; evaluation fails there
//     endless                         no error; evaluation does not end, so it is not tried
//     constant, growth                no error; memory for 1000 and for 2000 is the same, or is not
// A prelude is given by `=== prelude NAME` and its lines; (none) is the empty one. With
// (PRELUDE alone) only the main module is checked, others by their headers.

#ifndef FBLE_CASES_H
#define FBLE_CASES_H

#include "program/loader.h"

struct case_file {
    struct case_file *next;
    const char *name; // below the search path
    const char *text;
    size_t length;
};

struct test_case {
    struct test_case *next;
    const char *name, *expected;
    bool alone;
    struct case_file *files;
    struct fble_list says; // const char *
};

// NULL, with a message on stderr, if the file is not in the format.
struct test_case *cases_read(struct fble_arena *arena, const char *file);

// Puts the files of a case into a fresh folder `where`, and takes them away again.
bool cases_write(const struct test_case *test, const char *where);
void cases_remove(const struct test_case *test, const char *where);

#endif

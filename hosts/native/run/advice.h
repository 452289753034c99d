// SPDX-License-Identifier: MIT
//
// What `ouro run` says about an instrumented program after it ran.

#ifndef OURO_NATIVE_ADVICE_H
#define OURO_NATIVE_ADVICE_H

#include <stdbool.h>

// Says which functions of a program were left out because they are tiny: by `ouro cc`, or, unless
// `all`, by the recorder.
void tell_left_out(const char *program, bool all);

// Where few functions make most of the calls: says which, and the option that leaves them out.
// `rows` is what `ouro report --self --metric calls --csv` prints; it is changed.
void tell_most_called(char *rows, const char *program);

#endif

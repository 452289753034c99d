// SPDX-License-Identifier: MIT
//
// What ouro-run does for `ouro view` and `ouro report`, by standard input and output.

#ifndef OURO_NATIVE_ANSWERS_H
#define OURO_NATIVE_ANSWERS_H

int answer_names(void);   // of the functions in live files
int read_perf_data(void); // pprof in place of perf.data

#endif

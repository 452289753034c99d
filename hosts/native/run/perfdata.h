// SPDX-License-Identifier: MIT
//
// perf.data, the file of `perf record`, as a profile.

#ifndef OURO_NATIVE_PERFDATA_H
#define OURO_NATIVE_PERFDATA_H

#include "sampled.h"

// Reads the file into a new profile in memory. NULL: *problem says why, in a few words; the `perf`
// that made the file may still understand it.
sampled *perfdata_read(const unsigned char *bytes, size_t size, const sampled_options *options,
                       const char **problem);

#endif

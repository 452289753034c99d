// SPDX-License-Identifier: MIT
//
// A profile from records of perf events: samples become paths of functions, which are compacted as
// they come.

#ifndef OURO_NATIVE_SAMPLED_H
#define OURO_NATIVE_SAMPLED_H

#include "records.h"
#include "symbols.h"

#include "ouro.h"

typedef struct sampled sampled;

typedef struct {
    ouro_options profile;      // metrics are set here
    const char *debug_folders; // of symbols.h
    const char *event;         // what `period` counts; NULL: time in nanoseconds
    bool by_thread;            // the name of the thread is the root
    bool waits;                // charge waiting, from context switches
    bool no_kernel_names;      // the samples are of another boot
} sampled_options;

typedef struct {
    uint64_t samples, lost, cut, broken;
} sampled_counts;

// NULL with errno.
sampled *sampled_new(const sampled_options *options);
// Of a process that runs already.
void sampled_attach(sampled *s, uint32_t pid);
// In the order of their times.
void sampled_record(sampled *s, const record_shape *shape, const unsigned char *bytes, size_t size);
// Threads that wait are charged until `time`.
void sampled_end(sampled *s, uint64_t time);
sampled_counts sampled_count(const sampled *s);
ouro_profile *sampled_profile(sampled *s);
// A live file stays.
void sampled_free(sampled *s);

#endif

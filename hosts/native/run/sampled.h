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
    volatile bool *off;        // while it is true, samples are dropped; NULL: never
    uint64_t lost_period;      // what a lost sample weighs; 0: it is only counted
    bool check_kernel;         // the samples may be of another boot: names only if the kernel is
                               // mapped where it is now
} sampled_options;

typedef struct {
    uint64_t samples, lost, cut, broken;
} sampled_counts;

// NULL with errno.
sampled *sampled_new(const sampled_options *options);
// Of a process that runs already.
void sampled_attach(sampled *s, uint32_t pid);
// What ran had this build id; another file of the path gives no names.
void sampled_expect(sampled *s, const char *path, const unsigned char *build_id, size_t size);
// In the order of their times.
void sampled_record(sampled *s, const record_shape *shape, const unsigned char *bytes, size_t size);
// So many samples found no room: they are charged to [lost].
void sampled_lost(sampled *s, uint64_t count);
// Threads that wait are charged until `time`.
void sampled_end(sampled *s, uint64_t time);
sampled_counts sampled_count(const sampled *s);
ouro_profile *sampled_profile(sampled *s);
// A live file stays.
void sampled_free(sampled *s);

#endif

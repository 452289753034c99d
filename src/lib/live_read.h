// SPDX-License-Identifier: MIT
//
// Reads a live file: of a running program, a finished or a killed one. For the tools and the tests.

#ifndef OURO_LIVE_READ_H
#define OURO_LIVE_READ_H

#include "rows.h"
#include "slices_read.h"

typedef struct {
    ouro__rows *rows;
    ouro__slices_copy slices; // read a little before the rows
    ouro_block_info *blocks;  // by id; texts live in `texts`
    ouro__noted *noted;       // by id
    uint32_t block_count;
    ouro_metric_info metrics[OURO_METRICS_MAX];
    uint32_t metric_count;
    int compaction, edge_length;
    uint32_t max_nodes;
    bool full;     // there was no space for more nodes
    bool running;  // the writer is alive and has not finished
    bool finished; // the writer closed the profile; neither: it was killed
    uint64_t process, process_start;
    unsigned char recording[16];
    uint64_t start_time, end_time; // nanoseconds since 1970; end 0 = not known
    uint32_t resets;               // so many times it began to count again
    const char *program;
    char *texts;
    struct ouro__live_again *again; // for ouro__live_read_again; NULL: not asked, or not running
} ouro__live_profile;

typedef struct {
    int code;        // errno; EILSEQ: the file is not a live file, or is damaged
    uint64_t offset; // where in the file
    char message[192];
} ouro__live_error;

// 0, or -1 with *error filled and *profile empty. Nothing in the file is trusted.
int ouro__live_read(const char *path, ouro__live_profile *profile, ouro__live_error *error);
void ouro__live_profile_free(ouro__live_profile *profile);

// For a file that is open; the descriptor stays the caller's.
int ouro__live_read_fd(int fd, ouro__live_profile *profile, ouro__live_error *error);

// The same for who will read it again. A program that has the same paths as before is then read by
// its counters only, which takes a tenth of the time. false: something else changed, or the writer
// is gone; the rows are of no use, and the file must be read anew.
int ouro__live_read_first(int fd, ouro__live_profile *profile, ouro__live_error *error);
bool ouro__live_read_again(int fd, ouro__live_profile *profile);

// Does the writer of the file still run? Says so also of one whose process cannot be seen from
// here, as in another container: it holds a lock on the file.
bool ouro__live_has_writer(int fd, uint64_t process, uint64_t process_start);

#endif

// SPDX-License-Identifier: MIT
//
// The file that a recording is written to at its end, and the live file beside it that has the
// recording until then: however the program ends, one of the two is there. The tools read the live
// file where the output is missing or older (src/cli/unfinished.c).

#ifndef OURO_HOST_OUTPUT_H
#define OURO_HOST_OUTPUT_H

#include "ouro.h"

#include <sys/types.h>

typedef struct {
    char *path;   // absolute, whatever the working folder is by then; NULL if there is no output
    char *live;   // NULL if the recording is in memory, or in a file that the user named
    dev_t device; // of the live file: another recording may have put its own in that place
    ino_t inode;
} output_file;

// Whether a file can be written there. Leaves nothing behind. Returns 0 or an errno.
int output_check(const char *path);

// Sets `path`, absolute or not. Returns 0, or -1 with errno: a file cannot be written there.
int output_begin(output_file *o, const char *path);

// Makes a profile. If the options name no live file, it gets one beside the output. Where the file
// system takes the output but no live file, it says so on standard error, and the profile is in
// memory only. NULL with errno.
ouro_profile *output_profile(output_file *o, const ouro_options *options);

// Writes the profile and removes the live file. Returns 0, or -1 with errno; the live
// file stays then.
int output_write(output_file *o, ouro_profile *profile);

// Removes the live file: nothing was recorded.
void output_discard(output_file *o);
// The output stays.
void output_discard_live(output_file *o);

// Frees the names. The files stay.
void output_end(output_file *o);

#endif

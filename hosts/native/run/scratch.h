// SPDX-License-Identifier: MIT
//
// The folder for the live files of one run, in memory if there is room. `ouro run` removes it at
// its end; what a run that was killed left, the next run removes.

#ifndef OURO_NATIVE_SCRATCH_H
#define OURO_NATIVE_SCRATCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

// Makes a folder that only this user may enter. It counts as in use until this process ends.
// Returns 0, or -1 with errno; `folder` is its path either way.
int scratch_make(char folder[static PATH_MAX]);
void scratch_remove(const char *folder);

// A word that no other run has, for the names of files in a folder that runs share. Points into
// `folder`, which scratch_make made.
const char *scratch_mark(const char *folder);
// Is the word in the name of this file? NULL: every file is of this run.
bool scratch_is_marked(const char *name, const char *mark);

// Gives the folder a name under which later runs leave it alone. 0, or -1 with errno; `folder` is
// where it is now.
int scratch_keep(char folder[static PATH_MAX]);

// Removes the folders of runs that are dead, if no program records into them any more. Calls `told`
// for each, with the bytes that it took.
void scratch_clean(void (*told)(const char *folder, uint64_t bytes));

#endif

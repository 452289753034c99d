// SPDX-License-Identifier: MIT
//
// The folders and the live files of a run.

#ifndef OURO_NATIVE_LIVE_H
#define OURO_NATIVE_LIVE_H

#include "options.h"

#include <limits.h>
#include <stddef.h>

typedef struct {
    char own[PATH_MAX];  // of this run alone, for what is in between
    char live[PATH_MAX]; // of the live files: that of --live, or the same
    const char *mark;    // in the names of this run's files there; NULL: there are no others
} folders;

// wanted: the folder of the live files; NULL: our own.
void make_folders(const options *o, const char *wanted, folders *f);
int folder_problem(const char *folder);  // why no live file can be made there: an errno, or 0
void check_folder(const folders *f);     // ends us if there is one
void keep(const options *o, folders *f); // what was recorded and could not be written

typedef struct {
    char **names; // whole paths
    size_t count, room;
} files;

void add_file(files *all, char *name);
void list_files(const folders *f, const char *ending, files *all); // those of this run
void choose_files(files *all, bool sampled_too, bool asked);
void free_files(files *all);

bool ends_in(const char *name, const char *ending);

#endif

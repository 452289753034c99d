// SPDX-License-Identifier: MIT
//
// The folders and the live files of a run.

#include "live.h"

#include "ouro.h"
#include "printable.h"
#include "sampling.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODES_LEAST = 1 << 10 };

static void tell_cleaned(const char *folder, uint64_t bytes) {
    ouro__say("ouro run: removed %s (%.1f MB), left by a run that was killed", folder,
              (double)bytes / 1e6);
}

static void tell_no_one(const char *folder, uint64_t bytes) {
    (void)folder;
    (void)bytes;
}

void make_folders(const options *o, const char *wanted, folders *f) {
    scratch_clean(o->quiet ? tell_no_one : tell_cleaned);
    if (scratch_make(f->own)) fail("cannot make", f->own);
    strcpy(f->live, f->own);
    f->mark = wanted ? scratch_mark(f->own) : NULL;
    if (!wanted) return;
    bool made = mkdir(wanted, 0700) == 0 || errno == EEXIST;
    if (made && realpath(wanted, f->live)) return;
    int problem = errno;
    scratch_remove(f->own);
    errno = problem;
    fail(made ? "cannot use" : "cannot make", wanted);
}

// Can live files be made there? A small one is made to find out, with a name as long as they get.
// An errno, or 0.
int folder_problem(const char *folder) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%0230d.ouro", folder, getpid());
    if (n >= PATH_MAX) return ENAMETOOLONG;
    ouro_profile *profile =
        ouro_profile_new(&(ouro_options){.path = path, .max_nodes = NODES_LEAST});
    if (!profile) return errno;
    ouro_thread *thread = ouro_thread_new(profile); // takes room for the first nodes
    int problem = thread ? 0 : errno;
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    unlink(path);
    return problem;
}

// A program that does not start is better than one that runs for an hour in vain.
void check_folder(const folders *f) {
    int problem = folder_problem(f->live);
    if (!problem) return;
    scratch_remove(f->own);
    errno = problem;
    fail("cannot make live files in", f->live);
}

// What was recorded and could not be written.
void keep(const options *o, folders *f) {
    if (o->live) {
        scratch_remove(f->own);
        ouro__say("ouro run: the recording is kept: ouro run --symbolise %s/*.%s.*ouro -o FILE",
                  f->live, f->mark);
        return;
    }
    scratch_keep(f->own);
    ouro__say("ouro run: the recording is kept: ouro run --symbolise %s/*.ouro -o FILE", f->own);
}

// ---------------------------------------------------------------- live files

bool ends_in(const char *name, const char *ending) {
    size_t n = strlen(name), e = strlen(ending);
    return n >= e && strcmp(name + n - e, ending) == 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void add_file(files *all, char *name) {
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 64;
        all->names = realloc(all->names, all->room * sizeof *all->names);
        if (!all->names) fail("cannot list", "files");
    }
    all->names[all->count++] = name;
}

// Those of this run. A name that begins with a dot is a file that is not complete yet.
void list_files(const folders *f, const char *ending, files *all) {
    DIR *d = opendir(f->live);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *path;
        if (e->d_name[0] == '.' || !ends_in(e->d_name, ending)) continue;
        if (!scratch_is_marked(e->d_name, f->mark)) continue;
        if (asprintf(&path, "%s/%s", f->live, e->d_name) < 0) fail("cannot list", f->live);
        add_file(all, path);
    }
    if (d) closedir(d);
    if (all->count) qsort(all->names, all->count, sizeof *all->names, compare_names);
}

void free_files(files *all) {
    for (size_t i = 0; i < all->count; i++) free(all->names[i]);
    free(all->names);
}

// Counted calls say more than samples: where there are both, these are left out, unless they were
// asked for, and so is a file without a sample.
void choose_files(files *all, bool sampled_too, bool asked) {
    size_t counted = 0, kept = 0;
    for (size_t i = 0; i < all->count; i++) counted += !ends_in(all->names[i], SAMPLED_ENDING);
    for (size_t i = 0; i < all->count; i++) {
        bool is_sampled = ends_in(all->names[i], SAMPLED_ENDING);
        bool leave = is_sampled ? !sampled_too || (counted && !asked) : asked;
        if (leave) {
            unlink(all->names[i]);
            free(all->names[i]);
        } else {
            all->names[kept++] = all->names[i];
        }
    }
    all->count = kept;
}

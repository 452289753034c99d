// SPDX-License-Identifier: MIT
//
// Checks, names and writes the output of a recording, and looks after the live file beside it.

#include "output.h"

#include "gzip.h"
#include "live_name.h"
#include "printable.h"
#include "whole_file.h"

#include <sys/stat.h>

// Makes a file of another name in the folder, as writing does.
static int check_folder_of(const char *path) {
    char *beside;
    int fd = ouro__open_beside(path, 0600, &beside);
    if (fd < 0) return errno;
    close(fd);
    unlink(beside);
    free(beside);
    return 0;
}

int output_check(const char *path) {
    struct stat status;
    if (stat(path, &status)) return errno == ENOENT ? check_folder_of(path) : errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    if (!S_ISREG(status.st_mode)) return access(path, W_OK) ? errno : 0;
    char *target = realpath(path, NULL); // what a symbolic link points to is replaced
    int error = target ? check_folder_of(target) : errno;
    free(target);
    return error;
}

int output_begin(output_file *o, const char *path) {
    *o = (output_file){.path = ouro__absolute(path)};
    int error = o->path ? output_check(o->path) : errno;
    if (!error) return 0;
    output_end(o);
    errno = error;
    return -1;
}

// A pipe or a device has no live file beside it.
static bool may_have_live_file(const output_file *o) {
    struct stat status;
    return o->path && (stat(o->path, &status) || S_ISREG(status.st_mode));
}

// By one thread alone, since a signal may end the process while the output is written.
static char *take_live_name(output_file *o) {
    return __atomic_exchange_n(&o->live, NULL, __ATOMIC_ACQ_REL);
}

void output_discard_live(output_file *o) {
    char *live = take_live_name(o);
    struct stat status;
    bool ours = live && lstat(live, &status) == 0 && status.st_dev == o->device &&
                status.st_ino == o->inode;
    if (ours) unlink(live);
    free(live);
}

// Once for a program and its children: they record where it does.
static void say_in_memory(const char *live, int error) {
    static bool said;
    if (said) return;
    said = true;
    ouro__say("ouro: cannot make the live file %s: %s; the recording is in memory until the end, "
              "and kill -9 or a crash would lose it. --live FILE keeps it elsewhere.",
              live, strerror(error));
}

ouro_profile *output_profile(output_file *o, const ouro_options *options) {
    if (options->path || !may_have_live_file(o)) return ouro_profile_new(options);
    ouro_options with = *options;
    struct stat status;
    with.path = o->live = ouro__live_name(o->path);
    ouro_profile *profile = with.path ? ouro_profile_new(&with) : NULL;
    if (profile && stat(o->live, &status) == 0) {
        o->device = status.st_dev;
        o->inode = status.st_ino;
        return profile;
    }
    int error = errno;
    char *live = take_live_name(o);
    if (!profile) profile = ouro_profile_new(options);
    if (profile && live) say_in_memory(live, error);
    free(live);
    return profile;
}

int output_write(output_file *o, ouro_profile *profile) {
    if (write_profile(profile, o->path)) return -1;
    output_discard_live(o);
    return 0;
}

void output_discard(output_file *o) {
    output_discard_live(o);
    output_end(o);
}

void output_end(output_file *o) {
    free(take_live_name(o));
    free(o->path);
    *o = (output_file){0};
}

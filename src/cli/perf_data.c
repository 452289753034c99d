// SPDX-License-Identifier: MIT
//
// perf.data, the file of `perf record`. ouro-run reads it, with names and stacks by libdw, and
// gives a profile. What it does not read (several events, compressed records) is read by the `perf`
// that is installed, whose text we know; that is said, because its names and stacks are perf's own.

#include "cli.h"

#include "descriptors.h"
#include "host.h"
#include "printable.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_perf_data(int fd) {
    char magic[8];
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           pread(fd, magic, sizeof magic, 0) == sizeof magic &&
           (memcmp(magic, "PERFILE2", 8) == 0 || memcmp(magic, "2ELIFREP", 8) == 0);
}

// Starts a program with these streams. false: there is none.
static bool start(char **arguments, int in, int out, int err, pid_t *child) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return false;
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    int failed = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed;
}

static int status_of(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static profile *read_descriptor(int fd, const read_options *how, error *e) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return ouro__profile_read(path, NULL, how, e);
}

// What the program wrote into a file in memory, as a text.
static void first_words(int fd, char *text, size_t room) {
    ssize_t n = pread(fd, text, room - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

// By ouro-run. NULL and an empty *why: it was tried, and *e says what is wrong.
static profile *read_directly(int fd, const read_options *how, char why[static 200], error *e) {
    char program[4096], *arguments[] = {program, (char *)"--perf-data", NULL};
    strcpy(why, "ouro-run is not installed");
    if (!find_host("run", program)) return NULL;
    int out = memfd_create("profile", MFD_CLOEXEC), err = memfd_create("reason", MFD_CLOEXEC);
    pid_t child;
    profile *p = NULL;
    int status =
        out >= 0 && err >= 0 && start(arguments, fd, out, err, &child) ? status_of(child) : -1;
    if (err >= 0 && status) first_words(err, why, 200);
    if (status == 0) why[0] = '\0';
    if (status == 0) p = read_descriptor(out, how, e);
    if (out >= 0) close(out);
    if (err >= 0) close(err);
    return p;
}

// By `perf script`, whose text is read as it comes.
static profile *read_by_perf(int fd, const char *path, const read_options *how, error *e) {
    char *arguments[] = {(char *)"perf", (char *)"script", (char *)"-f",
                         (char *)"-i",   (char *)path,     NULL};
    int ends[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t child;
    if (pipe2(ends, O_CLOEXEC)) return NULL;
    bool started = nowhere >= 0 && start(arguments, fd, ends[1], nowhere, &child);
    close(ends[1]);
    profile *p = started ? read_descriptor(ends[0], how, e) : NULL;
    close(ends[0]);
    if (nowhere >= 0) close(nowhere);
    int status = started ? status_of(child) : -1;
    if (!started) ouro__error_set(e, ENOENT, "perf.data, and perf is not installed to read it");
    if (p && status == 0) return p;
    if (p) ouro__error_set(e, EILSEQ, "perf script cannot read it");
    ouro__profile_free(p);
    return NULL;
}

// -1: it is none, or cannot be opened. A pipe is not opened: who does that takes what is in it.
static int open_perf_data(const char *path) {
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode)) return -1;
    int fd = ouro__open(path, O_RDONLY, 0);
    if (fd < 0 || is_perf_data(fd)) return fd;
    close(fd);
    return -1;
}

profile *read_profile(const char *path, const format *from, const read_options *how, error *e) {
    char why[200] = "";
    int fd = from || strcmp(path, "-") == 0 ? -1 : open_perf_data(path);
    if (fd < 0) return ouro__profile_read(path, from, how, e);
    profile *p = read_directly(fd, how, why, e);
    if (!p && why[0]) {
        ouro__say("ouro: %s: read by perf script, because %s", path, why);
        p = read_by_perf(fd, path, how, e);
    }
    close(fd);
    if (p) p->format = "perf";
    return p;
}

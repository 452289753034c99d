// SPDX-License-Identifier: MIT
//
// What a user is told after a run: what failed, what could be better, and the profile.

#include "tell.h"

#include "advice.h"
#include "children.h"
#include "folders.h"
#include "printable.h"
#include "start.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// Says why processes could not make a profile; the names of their notes are PID.ERRNO.failed. How
// many there are.
size_t tell_failures(const folders *f) {
    files notes = {0};
    list_files(f, ".failed", &notes);
    for (size_t i = 0; i < notes.count; i++) {
        int process = 0, error = 0;
        sscanf(strrchr(notes.names[i], '/') + 1, "%d.%d", &process, &error);
        ouro__say("ouro run: process %d was not recorded: cannot make its live file in %s: %s",
                  process, f->live, strerror(error));
        unlink(notes.names[i]);
    }
    size_t count = notes.count;
    free_files(&notes);
    return count;
}

// Does the program get rights that its caller does not have?
static bool is_privileged(const char *program) {
    struct stat status;
    char rights[64];
    if (!strchr(program, '/') || stat(program, &status)) return false;
    return (status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
           getxattr(program, "security.capability", rights, sizeof rights) > 0;
}

// Says why nothing was recorded. false: there was nothing to record.
bool tell_nothing(const options *o, const char *folder) {
    int problem = folder_problem(folder);
    if (problem) {
        ouro__say("ouro run: nothing was recorded: cannot make live files in %s: %s", folder,
                  strerror(problem));
        return true;
    }
    if (is_privileged(o->rest[0])) {
        ouro__say("ouro run: nothing was recorded: %s has rights of its own (setuid, setgid or",
                  o->rest[0]);
        fputs("capabilities), and does not obey its caller. Run a copy without them.\n", stderr);
        return false;
    }
    if (wants_sampling(o)) {
        ouro__say("ouro run: nothing was recorded: %s ended before the first sample.", o->rest[0]);
        fputs("`--hz 10000` samples more often; `ouro cc` builds programs that count calls.\n",
              stderr);
        return false;
    }
    ouro__say("ouro run: nothing was recorded: %s entered no instrumented function.", o->rest[0]);
    fputs("Build it with `ouro cc` or `ouro c++`; `ouro run --help` says more.\n", stderr);
    return false;
}

// Removes the notes of an ending; how many there were.
static size_t take_notes(const folders *f, const char *ending) {
    files notes = {0};
    list_files(f, ending, &notes);
    size_t count = notes.count;
    for (size_t i = 0; i < count; i++) unlink(notes.names[i]);
    free_files(&notes);
    return count;
}

// The runtime leaves PID.deep when a stack has very many frames.
void tell_overflow(const folders *f, int status) {
    if (take_notes(f, ".deep") && status == 128 + SIGSEGV)
        fputs("ouro run: the program died of SIGSEGV, with many thousands of calls open: its stack "
              "may have overflowed.\nHooks keep tail calls from being jumps; `ouro cc` without "
              "--hooks, --tiny or --all keeps them.\nA larger stack: ulimit -s.\n",
              stderr);
}

// The runtime leaves PID.rare or PID.waits where perf events would give better ticks, see clock.c.
void tell_ticks(const folders *f, bool quiet) {
    static const char why[] =
        "(kernel.perf_event_paranoid is above 1, or a container forbids them)";
    struct timespec tick = {.tv_nsec = 1};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    long rate = 1000000000 / tick.tv_nsec;
    if (take_notes(f, ".rare") && !quiet)
        ouro__say("ouro run: without perf events %s time has only %ld ticks per second. `--hz N` "
                  "gets more from a timer, which may end a sleep or poll of the program early",
                  why, rate);
    if (take_notes(f, ".waits") && !quiet)
        ouro__say("ouro run: without perf events %s ticks may end a sleep or poll of the program "
                  "early. They do not without --hz, at %ld per second",
                  why, rate);
}

void advise(const options *o, const char *output) {
    char *report[] = {ouro, "report", "--self", "--metric", "calls", "--csv", (char *)output, NULL};
    char program[PATH_MAX] = "";
    if (find_program(o->rest[0], program)) tell_left_out(program, o->tiny);
    char *rows = heard_from_ouro(report);
    if (rows) tell_most_called(rows, program);
    free(rows);
}

void show(const options *o, const char *output) {
    char *report[] = {ouro, "report", (char *)output, o->slice ? "--slices" : NULL, NULL};
    char *view[] = {ouro, "view", (char *)output, NULL};
    if (o->view) {
        signal(SIGINT, pass_on); // a terminal sends it to the viewer as well
        status_of_ouro(view, SHOWN);
    } else if (!o->quiet) {
        ouro__say("ouro run: the profile is in %s", output);
        status_of_ouro(report, SHOWN);
    }
}

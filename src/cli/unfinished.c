// SPDX-License-Identifier: MIT
//
// Recordings that were not written. `ouro python` and `ouro lua` record into OUT.live, write OUT at
// the end, and remove OUT.live. If the program was killed, or still runs, only OUT.live has the
// recording. A command that is asked for OUT then reads OUT.live, and reports that.
//
// OUT may be there from an earlier run: it is out of date if it is older than the beginning of the
// recording. In a folder that others may write to, a live file of theirs is not taken.

#include "cli.h"

#include "descriptors.h"
#include "live_name.h"
#include "printable.h"

#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_later(uint64_t start_time, const struct timespec *written) {
    return start_time > (uint64_t)written->tv_sec * 1000000000u + (uint64_t)written->tv_nsec;
}

// Whether the live file has what `path` has not.
static bool is_unfinished(int live, const char *path) {
    struct stat status, of_output;
    uint64_t start_time;
    if (fstat(live, &status) || !S_ISREG(status.st_mode)) return false;
    bool there = stat(path, &of_output) == 0;
    if (status.st_uid != geteuid() && !(there && status.st_uid == of_output.st_uid)) return false;
    if (!ouro__live_start_time(live, &start_time)) return false;
    return !there || (S_ISREG(of_output.st_mode) && is_later(start_time, &of_output.st_mtim));
}

static void say(const char *path, const char *name, int live) {
    if (flock(live, LOCK_EX | LOCK_NB))
        ouro__say("ouro: %s: its program still runs: reading %s", path, name);
    else
        ouro__say("ouro: %s: its program ended without writing it: reading %s", path, name);
}

// The live file in place of `path`, or NULL.
static char *live_file_of(const char *path) {
    char *name = ouro__live_name(path);
    if (!name) fail_memory();
    int live = ouro__open(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    bool wanted = live >= 0 && is_unfinished(live, path);
    if (wanted) say(path, name, live);
    if (live >= 0) close(live);
    if (wanted) return name;
    free(name);
    return NULL;
}

void use_live_files(options *o, size_t count) {
    for (size_t i = 0; i < count && i < o->inputs.count; i++) {
        const char *path = o->inputs.items[i];
        char *live = strcmp(path, "-") == 0 ? NULL : live_file_of(path);
        if (!live) continue;
        add_name(&o->live, live);
        o->inputs.items[i] = live;
    }
}

// SPDX-License-Identifier: MIT
//
// After the script: prints `ouro report` of the profile and opens the viewer. If the program `ouro`
// is not found, prints a short report of our own.

#include "show.h"

#include "options.h"
#include "own_path.h"
#include "printable.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// The program `ouro`: $OURO, which `ouro lua` sets, else the file beside this program.
static bool find_ouro(char path[static PATH_MAX]) {
    const char *named = secure_getenv("OURO");
    if (named && *named) {
        snprintf(path, PATH_MAX, "%s", named);
        return access(path, X_OK) == 0;
    }
    char folder[PATH_MAX];
    if (!ouro__own_folder(folder)) return false;
    return snprintf(path, PATH_MAX, "%souro", folder) < PATH_MAX && access(path, X_OK) == 0;
}

// Runs `ouro COMMAND FILE` with its standard output redirected to standard error.
static bool run_ouro(const char *command, const char *file) {
    char path[PATH_MAX];
    if (!find_ouro(path)) return false;
    char *arguments[] = {path, (char *)command, (char *)file, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    pid_t pid;
    bool started = posix_spawn(&pid, path, &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    while (started && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void summary(ouro_profile *profile, const char *file, const char *hint) {
    ouro_stats stats = ouro_profile_stats(profile);
    if (stats.totals[0] == 0 && stats.calls == 0) {
        fprintf(stderr, OURO_LUA ": the script ended before the first tick%s\n", hint);
    } else if (!run_ouro("report", file)) {
        char *text = report_text(profile);
        if (text) fputs(text, stderr);
        free(text);
    }
    ouro__say(OURO_LUA ": the profile is in %s", file);
}

void show_profile(ouro_profile *profile, const char *file, bool quiet, bool view,
                  const char *hint) {
    if (!quiet) summary(profile, file, hint);
    if (view && !run_ouro("view", file))
        ouro__say(OURO_LUA ": cannot show %s: `ouro view` did not work", file);
}

// SPDX-License-Identifier: MIT
//
// ouro lua, luajit, python, run, cc, c++: the language hosts. Each is a program of its own,
// `ouro-NAME`, so that ouro itself needs no language to run. It is found beside ouro (the build
// folder), in ../libexec/ouro (where it is installed), or in the folder that OURO_LIBEXEC names.
// The host finds this program again in the variable OURO, for `ouro report` and `ouro view`.

#include "cli.h"

#include "own_path.h"
#include "printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const hosts[] = {"lua",    "lua5.1", "lua5.3", "lua5.4", "luajit",
                                    "python", "run",    "cc",     "c++"};

bool is_host(const char *command) {
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        if (strcmp(command, hosts[i]) == 0) return true;
    }
    return false;
}

// Comes back only if there is no such program.
static void try_folder(const char *folder, const char *below, const char *name, char **argv) {
    char path[PATH_MAX * 2];
    snprintf(path, sizeof path, "%s%souro-%s", folder, below, name);
    execv(path, argv);
    if (errno == ENOENT || errno == ENOTDIR) return;
    ouro__say("ouro: cannot run %s: %s", path, strerror(errno));
    exit(EXIT_FAILED);
}

int cmd_host(int argc, char **argv) {
    (void)argc;
    char path[PATH_MAX], folder[PATH_MAX];
    const char *program = strcmp(argv[0], "lua5.4") == 0 ? "lua" : argv[0];
    if (ouro__own_path(path)) setenv("OURO", path, 1);
    const char *named = secure_getenv("OURO_LIBEXEC");
    if (named && *named) try_folder(named, "/", program, argv);
    if (ouro__own_folder(folder)) {
        try_folder(folder, "", program, argv);
        try_folder(folder, "../libexec/ouro/", program, argv);
    }
    fprintf(stderr,
            "ouro: %s is not installed: there is no ouro-%s beside ouro or in ../libexec/ouro of "
            "it.\nSet OURO_LIBEXEC to its folder, or build Ouro with this host.\n",
            argv[0], program);
    return EXIT_FAILED;
}

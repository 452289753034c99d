// SPDX-License-Identifier: MIT
//
// ouro lua, luajit, python, run, record, cc, c++: the language hosts. Each is a program of its own,
// `ouro-NAME`, so that ouro itself needs no language to run. It is found beside ouro (the build
// folder), in ../libexec/ouro (where it is installed), or in the folder that OURO_LIBEXEC names.
// The host finds this program again in the variable OURO, for `ouro report` and `ouro view`.

#include "cli.h"

#include "host.h"
#include "own_path.h"
#include "printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const hosts[] = {"lua",    "lua5.1", "lua5.3", "lua5.4", "lua5.5", "luajit",
                                    "python", "run",    "record", "cc",     "c++"};

bool is_host(const char *command) {
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        if (strcmp(command, hosts[i]) == 0) return true;
    }
    return false;
}

static bool is_program(char path[static PATH_MAX], const char *folder, const char *below,
                       const char *name) {
    int n = snprintf(path, PATH_MAX, "%s%souro-%s", folder, below, name);
    return n < PATH_MAX && access(path, F_OK) == 0;
}

bool find_host(const char *name, char path[static PATH_MAX]) {
    char folder[PATH_MAX];
    const char *named = secure_getenv("OURO_LIBEXEC");
    if (named && *named && is_program(path, named, "/", name)) return true;
    return ouro__own_folder(folder) && (is_program(path, folder, "", name) ||
                                        is_program(path, folder, "../libexec/ouro/", name));
}

// `ouro record` is a part of the program that `ouro run` is.
static const char *program_of(const char *command) {
    if (strcmp(command, "record") == 0) return "run";
    return strcmp(command, "lua5.4") == 0 ? "lua" : command;
}

int cmd_host(int argc, char **argv) {
    (void)argc;
    char path[PATH_MAX];
    if (ouro__own_path(path)) setenv("OURO", path, 1);
    if (find_host(program_of(argv[0]), path)) {
        execv(path, argv);
        ouro__say("ouro: cannot run %s: %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    fprintf(stderr,
            "ouro: %s is not installed: there is no ouro-%s beside ouro or in ../libexec/ouro of "
            "it.\nSet OURO_LIBEXEC to its folder, or build Ouro with this host.\n",
            argv[0], program_of(argv[0]));
    return EXIT_FAILED;
}

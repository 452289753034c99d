// SPDX-License-Identifier: MIT
//
// Where the parts of the host are. OURO_LIBDIR and OURO_INCLUDEDIR are the folders of the installed
// libraries and headers, relative to PREFIX/libexec/ouro, the folder of these programs.

#include "folders.h"

#include "own_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(PATH_MAX == 4096, "as folders.h has it");

// The path of this program's folder + below + name, if there is such a file.
static bool try(const char *below, const char *name, char path[static PATH_MAX]) {
    char folder[PATH_MAX], together[PATH_MAX * 2];
    if (!ouro__own_folder(folder)) return false;
    snprintf(together, sizeof together, "%s%s%s", folder, below, name);
    return realpath(together, path) != NULL;
}

bool find_library(const char *name, char path[static PATH_MAX]) {
    if (try("", name, path) || try(OURO_LIBDIR "/", name, path)) return true;
    snprintf(path, PATH_MAX, "%s", name);
    return false;
}

// In a build folder within the source tree, the headers are beside it.
bool find_headers(const char *name, char folder[static PATH_MAX]) {
    static const char *const below[] = {"../hosts/native/", "../include/", OURO_INCLUDEDIR "/"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (!try(below[i], name, folder)) continue;
        *strrchr(folder, '/') = '\0';
        return true;
    }
    return false;
}

bool find_ouro(char path[static PATH_MAX]) {
    const char *named = secure_getenv("OURO");
    if (named && *named && access(named, X_OK) == 0) {
        snprintf(path, PATH_MAX, "%s", named);
        return true;
    }
    if (try("", "ouro", path) || try("../../bin/", "ouro", path)) return true;
    strcpy(path, "ouro");
    return false;
}

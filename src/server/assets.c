// SPDX-License-Identifier: MIT
//
// Serves the pages. Every page is the same index.html: its script reads from the address what to
// show. Files are found by their exact path in a table, so no path can lead elsewhere.

#include "assets.h"

#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const pages[] = {"/",        "/fleet",     "/time",   "/self",
                                    "/overall", "/paths",     "/block",  "/flame",
                                    "/tree",    "/recursion", "/source", "/compare"};

bool ouro__asset_is_page(const char *path) {
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(path, pages[i]) == 0) return true;
    }
    return false;
}

static const char *type_of(const char *path) {
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".svg", "image/svg+xml"},
                                           {".json", "application/json"},
                                           {".png", "image/png"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++) {
        if (strcmp(dot, types[i][0]) == 0) return types[i][1];
    }
    return NULL;
}

// From the folder, with the care that source files get.
static bool answer_from_folder(const char *folder, const char *path, answer *to) {
    const char *reason, *type = type_of(path);
    source_rules rules = {.roots = &folder, .root_count = 1, .any = true};
    size_t size;
    char *bytes = type ? ouro__source_read(&rules, path + 1, &size, &reason) : NULL;
    if (!bytes) return false;
    *to = (answer){.status = 200, .type = type, .bytes = bytes, .size = size, .ours = true};
    return true;
}

bool ouro__asset_answer(const char *folder, const char *path, const char *known_etag, answer *to) {
    if (ouro__asset_is_page(path)) path = "/index.html";
    if (folder) return answer_from_folder(folder, path, to);
    for (size_t i = 0; i < ouro__asset_count; i++) {
        const asset *a = &ouro__assets[i];
        if (strcmp(a->path, path) != 0) continue;
        bool known = known_etag && strcmp(known_etag, a->etag) == 0;
        *to = (answer){.status = known ? 304 : 200,
                       .type = a->type,
                       .lasting = known ? "" : a->bytes,
                       .size = known ? 0 : a->size,
                       .ours = true};
        snprintf(to->etag, sizeof to->etag, "%s", a->etag);
        return true;
    }
    return false;
}

// SPDX-License-Identifier: MIT
//
// Finds the modules of a folder. Hidden files and folders are not looked at, nor what links to
// folders lead to, which could be the folder itself.

#include "loader.h"

#include "syntax/parser.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_link(const char *path) {
    struct stat status;
    return !lstat(path, &status) && S_ISLNK(status.st_mode);
}

// The names of everything below the folder, in their order.
static void find_files(struct fble_program *program, const char *folder, struct fble_list *names) {
    struct fble_arena *arena = &program->arena;
    fble_push(arena, names, (void *)"");
    for (uint32_t i = 0; i < names->count; i++) {
        const char *name = names->at[i], *path = fble_format(arena, "%s%s", folder, name);
        DIR *open = *name && is_link(path) ? NULL : opendir(path);
        for (struct dirent *entry; open && (entry = readdir(open));)
            if (entry->d_name[0] != '.')
                fble_push(arena, names, fble_format(arena, "%s/%s", name, entry->d_name));
        if (open) closedir(open);
    }
    qsort(names->at, names->count, sizeof *names->at, by_name);
}

void fble_folder_modules(struct fble_program *program, const char *folder, const char *inside,
                         struct fble_list *paths) {
    struct fble_arena *arena = &program->arena;
    struct fble_list names = {0};
    find_files(program, folder, &names);
    for (uint32_t i = 0; i < names.count; i++) {
        const char *name = names.at[i];
        size_t length = strlen(name);
        if (length < 6 || strcmp(name + length - 5, ".fble")) continue;
        const char *text = fble_format(arena, "%s%.*s%%", inside, (int)length - 5, name);
        struct fble_path *path = fble_parse_path(arena, &program->words, text);
        if (path) fble_push(arena, paths, path);
    }
}

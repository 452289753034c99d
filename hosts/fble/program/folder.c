// SPDX-License-Identifier: MIT
//
// Finds the modules of a folder. Hidden files and folders are not looked at, nor what links to
// folders lead to, which could be the folder itself.

#include "loader.h"

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

// The path of the module in a file: its folders and its name are the words, whatever they hold.
static struct fble_path *path_of(struct fble_program *program, const char *file) {
    struct fble_arena *arena = &program->arena;
    struct fble_list words = {0};
    const char *end = file + strlen(file) - strlen(".fble");
    while (file < end) {
        const char *start = file + 1; // behind a slash
        for (file = start; file < end && *file != '/';) file++;
        fble_push(arena, &words, fble_word(arena, &program->words, start, (size_t)(file - start)));
    }
    return fble_path(arena, &program->words, (struct fble_word **)words.at, words.count);
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
        fble_push(arena, paths, path_of(program, fble_format(arena, "%s%s", inside, name)));
    }
}

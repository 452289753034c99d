// SPDX-License-Identifier: MIT
//
// Modules and programs: finding files, reading them, ordering them.

#ifndef FBLE_LOADER_H
#define FBLE_LOADER_H

#include "syntax/diagnostics.h"
#include "types/types.h"

enum fble_module_state { FBLE_NEW, FBLE_LOADING, FBLE_LOADED, FBLE_MISSING };

struct fble_module {
    struct fble_path *path;
    struct fble_unit *header, *value; // either may be missing, not both
    enum fble_module_state state;
    // [checker] every label of the module, in the order of the source; see labels.h
    struct fble_list labels;
    struct fble_emitted *emitted; // its code, see emit.h
};

// A text that stands in for a file, or for one that does not exist.
struct fble_overlay {
    struct fble_overlay *next;
    const char *file;  // that it replaces, as the search path leads to it
    const char *shown; // as messages name it
    const char *text;
    size_t length;
};

struct fble_program {
    struct fble_arena arena;
    struct fble_words words;
    struct fble_diagnostics diagnostics;
    struct fble_types types;
    struct fble_list search;  // const char *, directories
    struct fble_list modules; // struct fble_module *, each after its dependencies
    struct fble_list files;   // const char *, every file read, in that order
    struct fble_list units;   // struct fble_unit *, by their numbers
    struct fble_overlay *overlays;
    struct fble_pairs exports; // code -> struct emit_export, see emit/instructions.h
    // Only the main module is compiled: of the others headers are enough, and their values are
    // read only if there is no header.
    bool alone;
};

// A program lives in one arena; free it with fble_program_free, whatever happened.
void fble_program_start(struct fble_program *program);
void fble_program_free(struct fble_program *program);
void fble_program_search(struct fble_program *program, const char *directory);

// From now on the text is what the file contains. Both texts must live as long as the program.
void fble_program_overlay(struct fble_program *program, const char *file, const char *shown,
                          const char *text, size_t length);
// The file of a module in a directory of the search path; NULL if no file can have its name.
const char *fble_module_file(struct fble_program *program, const char *directory,
                             const struct fble_path *path);

// Reads the module and everything it mentions. False, with a message, if some of that failed; what
// could be read is there and can be checked nevertheless.
bool fble_program_load(struct fble_program *program, struct fble_path *main);

// The paths of all modules below a folder, which itself is `inside` a directory of the search path:
// "" or "/A/B". In the order of their names; files whose names are no path are left out.
void fble_folder_modules(struct fble_program *program, const char *folder, const char *inside,
                         struct fble_list *paths);

// Type-checks and labels what was loaded, and warns about unused names.
bool fble_program_check(struct fble_program *program);

// Can the module be evaluated? Reports it if there is only a header.
bool fble_module_has_value(struct fble_program *program, const struct fble_module *module);

#endif

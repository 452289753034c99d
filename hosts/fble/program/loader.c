// SPDX-License-Identifier: MIT
//
// Finds, reads and orders the modules of a program. Modules are visited depth first with an
// explicit stack, so that each comes after everything it mentions; a mention of a module that is
// still being visited closes a cycle. The file of /A/B% is A/B.fble in the first directory of the
// search path that has it, or its header A/B.fble.@, which stand side by side.

#include "loader.h"

#include "syntax/parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void fble_program_start(struct fble_program *program) {
    memset(program, 0, sizeof *program);
    program->diagnostics.arena = &program->arena;
    program->types.arena = &program->arena;
    program->types.budget = FBLE_MOST_COPIES;
}

void fble_program_free(struct fble_program *program) { fble_arena_free(&program->arena); }

void fble_program_search(struct fble_program *program, const char *directory) {
    fble_push(&program->arena, &program->search,
              fble_copy(&program->arena, directory, strlen(directory)));
}

// DIRECTORY/A/B plus the ending, or NULL for a path that no file can have.
static const char *file_name(struct fble_program *program, const char *directory,
                             const struct fble_path *path, const char *ending) {
    struct fble_text text = {.arena = &program->arena};
    if (strcmp(directory, ".")) fble_add_string(&text, directory);
    for (uint32_t i = 0; i < path->count; i++) {
        const struct fble_word *word = path->words[i];
        if (memchr(word->text, '/', word->length) || memchr(word->text, 0, word->length))
            return NULL;
        if (text.length && text.at[text.length - 1] != '/') fble_add(&text, "/", 1);
        fble_add(&text, word->text, word->length);
    }
    fble_add_string(&text, ending);
    return text.at;
}

const char *fble_module_file(struct fble_program *program, const char *directory,
                             const struct fble_path *path) {
    return file_name(program, directory, path, ".fble");
}

void fble_program_overlay(struct fble_program *program, const char *file, const char *shown,
                          const char *text, size_t length) {
    struct fble_overlay *overlay = fble_alloc(&program->arena, sizeof *overlay);
    *overlay = (struct fble_overlay){program->overlays, file, shown, text, length};
    program->overlays = overlay;
}

static const struct fble_overlay *overlay_of(const struct fble_program *program, const char *file) {
    const struct fble_overlay *overlay = program->overlays;
    while (overlay && strcmp(overlay->file, file)) overlay = overlay->next;
    return overlay;
}

static bool is_file(const struct fble_program *program, const char *name) {
    struct stat status;
    if (!name || overlay_of(program, name)) return name;
    return !stat(name, &status) && !S_ISDIR(status.st_mode);
}

// If the system does not say whether a file exists, as in a folder that may not be entered, it
// counts as found: another file could be the wrong one. Reading it then tells why.
static bool may_be_file(const struct fble_program *program, const char *name) {
    errno = 0;
    return is_file(program, name) || errno == EACCES || errno == ELOOP || errno == EIO;
}

static struct fble_unit *unreadable(struct fble_program *program, struct fble_unit *unit) {
    struct fble_loc nowhere = {1, 1};
    fble_report(&program->diagnostics, FBLE_ERROR, unit, nowhere, "cannot read the file: %s",
                strerror(errno));
    program->diagnostics.unreadable = true;
    return unit;
}

static char *read_all(struct fble_program *program, FILE *file, size_t *length) {
    struct fble_text text = {.arena = &program->arena};
    struct stat status;
    if (!fstat(fileno(file), &status) && status.st_size > 0) {
        // One read of the right size in the usual case; the loop below finds the end.
        size_t size = (size_t)status.st_size;
        text.at = fble_alloc(&program->arena, size + 1);
        text.capacity = size + 1;
        text.length = fread(text.at, 1, size, file);
    }
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) fble_add(&text, buffer, n);
    *length = text.length;
    return ferror(file) ? NULL : text.at ? text.at : fble_copy(&program->arena, "", 0);
}

// The text of the file or of what stands in for it. NULL, with errno, if it cannot be had.
static const char *read_text(struct fble_program *program, struct fble_unit *unit) {
    const struct fble_overlay *overlay = overlay_of(program, unit->file);
    if (overlay) {
        fble_push(&program->arena, &program->files, (void *)unit->file);
        unit->file = overlay->shown;
        unit->length = overlay->length;
        return overlay->text;
    }
    FILE *file = fopen(unit->file, "rb");
    if (!file) return NULL;
    fble_push(&program->arena, &program->files, (void *)unit->file);
    const char *text = read_all(program, file, &unit->length);
    fclose(file);
    return text;
}

// Reads and parses a file. The unit has no body if either failed, which has been reported then.
static struct fble_unit *read_unit(struct fble_program *program, const char *name, bool header) {
    struct fble_unit *unit = fble_alloc(&program->arena, sizeof *unit);
    unit->file = name;
    unit->header = header;
    unit->number = program->units.count;
    fble_push(&program->arena, &program->units, unit);
    unit->text = read_text(program, unit);
    if (!unit->text) return unreadable(program, unit);
    if (unit->length > UINT32_MAX / 2) {
        errno = EFBIG;
        return unreadable(program, unit);
    }
    fble_parse(unit, &program->arena, &program->words, &program->diagnostics);
    return unit;
}

// Reads what there is of a module. `needed`: its value is wanted even if there is a header.
static void read_module(struct fble_program *program, struct fble_module *module, bool needed) {
    module->state = FBLE_MISSING;
    for (uint32_t i = 0; i < program->search.count; i++) {
        const char *value = file_name(program, program->search.at[i], module->path, ".fble");
        const char *header = file_name(program, program->search.at[i], module->path, ".fble.@");
        bool has_value = value && may_be_file(program, value),
             has_header = is_file(program, header);
        if (!has_value && !has_header) continue;
        module->state = FBLE_LOADING;
        if (has_header) module->header = read_unit(program, header, true);
        if (has_value && (needed || !has_header)) module->value = read_unit(program, value, false);
        return;
    }
}

// A module on the stack: the file and the mention to look at next.
struct visit {
    struct fble_module *module;
    struct fble_unit *unit;
    struct fble_mention *mention;
};

struct loading {
    struct fble_program *program;
    struct fble_list stack;
    struct fble_unit *command_line;
};

static struct fble_module *new_module(struct loading *l, struct fble_path *path, bool needed) {
    struct fble_module *module = fble_alloc(&l->program->arena, sizeof *module);
    module->path = path;
    path->module = module;
    read_module(l->program, module, needed);
    if (module->state == FBLE_MISSING) return module;
    struct visit *visit = fble_alloc(&l->program->arena, sizeof *visit);
    visit->module = module;
    visit->unit = module->header ? module->header : module->value;
    visit->mention = visit->unit->mentions;
    fble_push(&l->program->arena, &l->stack, visit);
    return module;
}

// What a mention leads to: a module not yet seen is read and put on the stack.
static void follow(struct loading *l, struct fble_unit *unit, struct fble_path *path,
                   struct fble_loc loc, bool needed) {
    struct fble_program *program = l->program;
    struct fble_module *module = path->module;
    if (!module)
        module = new_module(l, path, needed);
    else if (module->state == FBLE_LOADING)
        fble_report(&program->diagnostics, FBLE_ERROR, unit, loc,
                    "the module %.200s depends on itself through this mention", path->text);
    if (module->state != FBLE_MISSING) return;
    struct fble_diagnostic *d = fble_report(&program->diagnostics, FBLE_ERROR, unit, loc,
                                            "there is no module %.200s", path->text);
    const char *wanted = file_name(program, ".", path, ".fble");
    if (wanted && program->search.count)
        fble_hint(&program->diagnostics, d, "no directory of the search path has %.200s", wanted);
    else if (wanted)
        fble_hint(&program->diagnostics, d, "the search path is empty; give it with -I");
}

// The next step for the module on top of the stack.
static void step(struct loading *l) {
    struct visit *visit = l->stack.at[l->stack.count - 1];
    struct fble_mention *mention = visit->mention;
    if (mention) {
        visit->mention = mention->next;
        follow(l, visit->unit, mention->path, mention->loc, !l->program->alone);
    } else if (visit->unit->header && visit->module->value) {
        visit->unit = visit->module->value;
        visit->mention = visit->unit->mentions;
    } else {
        visit->module->state = FBLE_LOADED;
        fble_push(&l->program->arena, &l->program->modules, visit->module);
        l->stack.count--;
    }
}

bool fble_program_load(struct fble_program *program, struct fble_path *main) {
    uint32_t errors = program->diagnostics.errors;
    struct loading l = {.program = program};
    struct fble_loc start = {1, 1};
    l.command_line = fble_alloc(&program->arena, sizeof *l.command_line);
    l.command_line->file = fble_format(&program->arena, "\"%s\"", main->text);
    follow(&l, l.command_line, main, start, true);
    while (l.stack.count) step(&l);
    return program->diagnostics.errors == errors;
}

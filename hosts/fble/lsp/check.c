// SPDX-License-Identifier: MIT
//
// Checks a document as a module of a program. Which module it is depends on where the search path
// begins: a directory of the command line if it lies below one, else that folder above it which
// has the most of the modules that it mentions, else its own folder.

#include "lsp.h"
#include "syntax/diagnostics.h"
#include "syntax/parser.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), n = strlen(end);
    return length > n && !strcmp(text + length - n, end);
}

// The part of the file's name behind a folder; NULL if it does not lie below it.
static const char *below(const char *folder, const char *file) {
    size_t length = strlen(folder);
    while (length && folder[length - 1] == '/') length--;
    return !strncmp(folder, file, length) && file[length] == '/' ? file + length + 1 : NULL;
}

// ---------------------------------------------------------------- which module it is

static bool exists(const struct lsp_document *open, const char *file) {
    while (open && strcmp(open->file, file)) open = open->next;
    return open || !access(file, F_OK);
}

static uint32_t count_found(struct fble_program *program, const struct lsp_document *open,
                            const struct fble_mention *mention, const char *folder) {
    uint32_t found = 0;
    for (; mention; mention = mention->next) {
        const char *file = fble_module_file(program, folder, mention->path);
        found += file && exists(open, file);
    }
    return found;
}

static struct fble_mention *mentions(struct fble_program *program,
                                     const struct lsp_document *document) {
    struct fble_diagnostics nowhere = {.arena = &program->arena};
    struct fble_unit *unit = fble_alloc(&program->arena, sizeof *unit);
    unit->text = fble_copy(&program->arena, document->text, document->length);
    unit->length = document->length;
    fble_parse(unit, &program->arena, &program->words, &nowhere);
    return unit->mentions;
}

static const char *guess_root(struct fble_program *program, const struct lsp_document *document,
                              const struct lsp_document *open) {
    const struct fble_mention *mentioned = mentions(program, document);
    char *folder = fble_copy(&program->arena, document->file, strlen(document->file));
    const char *best = NULL;
    uint32_t most = 0;
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = 0;
        const char *root = *folder ? folder : "/";
        uint32_t found = count_found(program, open, mentioned, root);
        if (!best || found > most) best = fble_copy(&program->arena, root, strlen(root));
        if (found > most) most = found;
    }
    return best ? best : "/";
}

static const char *root_of(struct fble_program *program, const struct lsp_document *document,
                           const struct lsp_document *open, const struct fble_list *search) {
    const char *best = NULL;
    for (uint32_t i = 0; i < search->count; i++)
        if (below(search->at[i], document->file) && (!best || strlen(search->at[i]) > strlen(best)))
            best = search->at[i];
    return best ? best : guess_root(program, document, open);
}

// The module of A/B.fble or A/B.fble.@ below the root.
static struct fble_path *path_of(struct fble_program *program, const char *inside) {
    struct fble_list words = {0};
    size_t length = strlen(inside);
    if (ends_with(inside, ".fble")) length -= 5;
    if (ends_with(inside, ".fble.@")) length -= 7;
    const char *text = fble_copy(&program->arena, inside, length), *end = text + length;
    for (const char *at = text; at <= end; at++) {
        size_t n = strcspn(at, "/");
        fble_push(&program->arena, &words, fble_word(&program->arena, &program->words, at, n));
        at += n;
    }
    return fble_path(&program->arena, &program->words, (struct fble_word **)words.at, words.count);
}

// ---------------------------------------------------------------- checking

// The program outlives the documents' texts.
static void overlay(struct fble_program *program, const struct lsp_document *open) {
    for (; open; open = open->next) {
        const char *file = fble_copy(&program->arena, open->file, strlen(open->file));
        const char *text = fble_copy(&program->arena, open->text, open->length);
        fble_program_overlay(program, file, file, text, open->length);
    }
}

static struct fble_unit *unit_of(struct fble_program *program, const char *file) {
    for (uint32_t i = 0; i < program->units.count; i++) {
        struct fble_unit *unit = program->units.at[i];
        if (!strcmp(unit->file, file)) return unit;
    }
    return NULL;
}

void lsp_check(struct lsp_document *document, const struct lsp_document *open,
               const struct fble_list *search) {
    struct lsp_check *check = lsp_allocate(sizeof *check);
    struct fble_program *program = &check->program;
    fble_program_start(program);
    const char *root = root_of(program, document, open, search);
    fble_program_search(program, root);
    for (uint32_t i = 0; i < search->count; i++) fble_program_search(program, search->at[i]);
    program->alone = ends_with(document->file, ".fble.@");
    overlay(program, open);
    check->path = path_of(program, below(root, document->file));
    fble_program_load(program, check->path);
    fble_program_check(program);
    fble_diagnostics_sort(&program->diagnostics);
    check->unit = unit_of(program, document->file);
    if (check->unit) check->text = lsp_unit_text(&program->arena, check->unit);
    if (document->check != document->good) lsp_check_free(document->check);
    document->check = check;
    document->stale = false;
    if (!check->unit || !check->unit->body) return;
    lsp_check_free(document->good);
    document->good = check;
}

void lsp_check_free(struct lsp_check *check) {
    if (check) fble_program_free(&check->program);
    free(check);
}

// After errors a file that was missing may be there now.
bool lsp_depends_on(const struct lsp_document *document, const char *file) {
    if (!document->check || document->check->program.diagnostics.errors) return true;
    const struct fble_list *files = &document->check->program.files;
    for (uint32_t i = 0; i < files->count; i++)
        if (!strcmp(files->at[i], file)) return true;
    return false;
}

// ---------------------------------------------------------------- messages

static void print_diagnostic(FILE *to, const struct fble_diagnostic *d,
                             const struct lsp_text *text) {
    size_t from = lsp_offset_of_loc(text, d->loc);
    fputs("{\"range\":", to);
    lsp_print_range(to, text, from, lsp_token_end(text, from));
    fprintf(to,
            ",\"severity\":%d,\"source\":\"fble\",\"message\":", d->severity == FBLE_ERROR ? 1 : 2);
    char *message = NULL;
    size_t length;
    FILE *whole = open_memstream(&message, &length);
    if (!whole) fble_out_of_memory();
    fprintf(whole, "%s%s%s", d->message, d->hint ? "\nhint: " : "", d->hint ? d->hint : "");
    fclose(whole);
    fble_print_json(to, message, length);
    free(message);
    fputs("}", to);
}

void lsp_print_diagnostics(FILE *to, const struct lsp_check *check, const struct fble_unit *unit) {
    struct fble_arena scratch = {0};
    struct lsp_text text = lsp_unit_text(&scratch, unit);
    uint32_t shown = 0;
    fputs("[", to);
    for (const struct fble_diagnostic *d = check->program.diagnostics.first; d; d = d->next) {
        if (d->unit != unit || shown == LSP_MOST_SHOWN) continue;
        if (shown++) fputs(",", to);
        print_diagnostic(to, d, &text);
    }
    fputs("]", to);
    fble_arena_free(&scratch);
}

// SPDX-License-Identifier: MIT
//
// Reads files of test programs (the format is in cases.h) and puts their programs on disk. Cases
// are files because that is what the loader is about: search paths, headers and names with blanks
// are tested by the same means as everything else.

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
    struct fble_arena *arena;
    const char *file;
    int line;
    struct fble_list preludes; // name, text, name, text ...
    struct test_case *first, **last;
    struct test_case *test; // being read; NULL: a prelude is
    struct fble_text text;  // of the file being read
    const char *file_name;  // its name, or the prelude's
    bool implicit;          // no line named it: it is there only if it has text
};

static const char *prelude(const struct reader *r, const char *name) {
    for (uint32_t i = 0; i < r->preludes.count; i += 2)
        if (!strcmp(r->preludes.at[i], name)) return r->preludes.at[i + 1];
    return strcmp(name, "none") ? NULL : "";
}

// The text that was read goes where it belongs.
static void finish_text(struct reader *r) {
    const char *text = r->text.at ? r->text.at : "";
    if (r->test && r->file_name && (r->text.length || !r->implicit)) {
        struct case_file *file = fble_alloc(r->arena, sizeof *file), **end = &r->test->files;
        *file = (struct case_file){.name = r->file_name, .text = text, .length = r->text.length};
        while (*end) end = &(*end)->next;
        *end = file;
    } else if (!r->test && r->file_name) {
        fble_push(r->arena, &r->preludes, (void *)r->file_name);
        fble_push(r->arena, &r->preludes, (void *)text);
    }
    r->text = (struct fble_text){.arena = r->arena};
}

static bool bad(const struct reader *r, const char *what) {
    fprintf(stderr, "%s:%d: %s\n", r->file, r->line, what);
    return false;
}

// `NAME (PRELUDE [alone]) EXPECTED [: note]`
static bool header(struct reader *r, const char *line) {
    char name[80], which[40], more[20] = "";
    int used = 0;
    if (!strncmp(line, "prelude ", 8)) {
        r->test = NULL;
        r->file_name = fble_copy(r->arena, line + 8, strlen(line + 8));
        return true;
    }
    if (sscanf(line, "%79s (%39[a-z]%n", name, which, &used) != 2) return bad(r, "no case header");
    if (sscanf(line + used, " %19[a-z]%n", more, &used) == 1 && strcmp(more, "alone"))
        return bad(r, "only 'alone' may follow the prelude");
    const char *expected = strchr(line, ')'), *note = strstr(line, " : "),
               *text = prelude(r, which);
    if (!expected || !text) return bad(r, "no such prelude");
    struct test_case *test = fble_alloc(r->arena, sizeof *test);
    test->name = fble_copy(r->arena, name, strlen(name));
    test->alone = more[0] != 0;
    expected += 2;
    test->expected =
        fble_copy(r->arena, expected, note ? (size_t)(note - expected) : strlen(expected));
    *r->last = test;
    r->last = &test->next;
    r->test = test;
    r->file_name = "Main.fble";
    r->implicit = true;
    fble_add_string(&r->text, text);
    return true;
}

static bool read_line(struct reader *r, char *line, size_t length) {
    line[length] = 0; // over the line feed
    if (!strncmp(line, "=== ", 4)) {
        finish_text(r);
        return header(r, line + 4);
    }
    if (!strncmp(line, ">>> ", 4) && r->test) {
        fble_push(r->arena, &r->test->says, fble_copy(r->arena, line + 4, length - 4));
    } else if (!strncmp(line, "--- ", 4) && r->test) {
        finish_text(r);
        r->file_name = fble_copy(r->arena, line + 4, length - 4);
        r->implicit = false;
    } else if (r->file_name) {
        line[length] = '\n';
        fble_add(&r->text, line, length + 1);
    }
    return true;
}

struct test_case *cases_read(struct fble_arena *arena, const char *file) {
    struct reader r = {.arena = arena, .file = file, .text = {.arena = arena}};
    r.last = &r.first;
    FILE *in = fopen(file, "rb");
    if (!in) return bad(&r, "cannot read the file"), NULL;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&line, &capacity, in)) > 0) {
        r.line++;
        good = line[length - 1] == '\n' ? read_line(&r, line, (size_t)length - 1)
                                        : bad(&r, "no line feed at the end");
    }
    finish_text(&r);
    free(line);
    fclose(in);
    return good ? r.first : NULL;
}

static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

bool cases_write(const struct test_case *test, const char *where) {
    for (const struct case_file *file = test->files; file; file = file->next) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", where, file->name);
        make_folders(path);
        FILE *out = fopen(path, "wb");
        if (!out) return false;
        bool good = fwrite(file->text, 1, file->length, out) == file->length;
        if (fclose(out) || !good) return false;
    }
    return true;
}

void cases_remove(const struct test_case *test, const char *where) {
    for (const struct case_file *file = test->files; file; file = file->next) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", where, file->name);
        remove(path);
        for (char *slash; strlen(path) > strlen(where) && (slash = strrchr(path, '/'));) {
            *slash = 0;
            rmdir(path);
        }
    }
    rmdir(where);
}

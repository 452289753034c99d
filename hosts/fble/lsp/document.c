// SPDX-License-Identifier: MIT
//
// The documents that an editor has open: their names and their texts.

#include "lsp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *lsp_allocate(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) fble_out_of_memory();
    return memory;
}

char *lsp_copy(const char *text, size_t length) {
    char *copy = lsp_allocate(length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

// ---------------------------------------------------------------- names

static int hex(char digit) {
    const char *digits = "0123456789abcdef0123456789ABCDEF", *found = strchr(digits, digit);
    return digit && found ? (int)((found - digits) % 16) : -1;
}

static char *unescape(const char *text) {
    char *result = lsp_allocate(strlen(text) + 1), *to = result;
    for (; *text; text++) {
        int high = *text == '%' ? hex(text[1]) : -1, low = high >= 0 ? hex(text[2]) : -1;
        bool escaped = low >= 0 && (high || low); // a NUL would end the name
        *to++ = (char)(escaped ? high * 16 + low : *text);
        if (escaped) text += 2;
    }
    *to = 0;
    return result;
}

// One name per file, so that the search path leads to it.
static char *canonical(char *file) {
    char *real = realpath(file, NULL);
    if (!real) return file;
    free(file);
    return real;
}

char *lsp_file_of_uri(const char *uri) {
    static const char scheme[] = "file://";
    if (!strncmp(uri, scheme, sizeof scheme - 1)) {
        const char *path = strchr(uri + sizeof scheme - 1, '/'); // behind the name of a host
        if (path) return canonical(unescape(path));
    }
    char *name = unescape(uri), *folder = getcwd(NULL, 0);
    char *file = lsp_allocate(strlen(name) + (folder ? strlen(folder) : 0) + 8);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '_';
    sprintf(file, "%s/%s.fble", folder ? folder : "", name);
    free(name);
    free(folder);
    return file;
}

char *lsp_uri_of_file(const char *file) {
    char *uri = lsp_allocate(strlen(file) * 3 + 8), *to = uri + sprintf(uri, "file://");
    static const char plain[] = "/-._~"
                                "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (; *file; file++)
        to += strchr(plain, *file) ? sprintf(to, "%c", *file)
                                   : sprintf(to, "%%%02X", (unsigned char)*file);
    *to = 0;
    return uri;
}

// ---------------------------------------------------------------- texts

struct lsp_document *lsp_document_new(const char *uri, const char *text, size_t length) {
    struct lsp_document *document = lsp_allocate(sizeof *document);
    *document = (struct lsp_document){.uri = lsp_copy(uri, strlen(uri)),
                                      .file = lsp_file_of_uri(uri),
                                      .text = lsp_copy(text, length),
                                      .length = length,
                                      .stale = true};
    return document;
}

void lsp_document_free(struct lsp_document *document) {
    if (document->check != document->good) lsp_check_free(document->check);
    lsp_check_free(document->good);
    free(document->uri);
    free(document->file);
    free(document->text);
    free(document->symbols);
    free(document);
}

void lsp_document_set(struct lsp_document *document, const char *text, size_t length) {
    char *copy = lsp_copy(text, length);
    free(document->text);
    document->text = copy;
    document->length = length;
}

bool lsp_document_edit(struct lsp_document *document, struct lsp_position from,
                       struct lsp_position until, const char *text, size_t length) {
    size_t start = lsp_offset(document->text, document->length, from);
    size_t end = lsp_offset(document->text, document->length, until);
    if (end < start) end = start;
    size_t rest = document->length - end;
    if (start + length + rest > LSP_LONGEST_MESSAGE) return false;
    char *result = lsp_allocate(start + length + rest + 1);
    memcpy(result, document->text, start);
    memcpy(result + start, text, length);
    memcpy(result + start + length, document->text + end, rest);
    document->length = start + length + rest;
    result[document->length] = 0;
    free(document->text);
    document->text = result;
    return true;
}

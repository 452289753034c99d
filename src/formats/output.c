// SPDX-License-Identifier: MIT
//
// Writes through one buffer, packed on the way if asked. A regular target is written beside and
// renamed; pipes and devices are written as they are, since a rename would replace them.

#include "output.h"

#include "utf8.h"
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

struct output {
    int fd, code; // code: errno of the first problem
    char *target; // NULL: written in place
    char *beside;
    packer *packer;
    void (*progress)(void *user, uint64_t bytes);
    void *user;
    uint64_t written;
    bool memory; // the bytes are kept
    char *bytes;
    size_t size, room;
    size_t used;
    char buffer[BUFFER];
};

static void keep(output *out, const void *bytes, size_t size) {
    if (out->size + size + 1 > out->room) {
        size_t room = 2 * out->room + size + 1;
        char *larger = realloc(out->bytes, room);
        if (!larger) return ouro__output_fail_memory(out);
        out->bytes = larger;
        out->room = room;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void write_raw(void *user, const void *bytes, size_t size) {
    output *out = user;
    if (out->memory) {
        if (!out->code) keep(out, bytes, size);
        return;
    }
    const char *at = bytes;
    while (size > 0 && !out->code) {
        ssize_t n = write(out->fd, at, size);
        if (n < 0 && errno != EINTR) out->code = errno;
        if (n < 0) continue;
        at += n;
        size -= (size_t)n;
    }
}

static void flush(output *out, bool last) {
    if (out->packer) {
        if (!out->code && !ouro__packer_put(out->packer, out->buffer, out->used, last))
            out->code = ENOMEM;
    } else {
        write_raw(out, out->buffer, out->used);
    }
    out->written += out->used;
    out->used = 0;
    if (out->progress) out->progress(out->user, out->written);
}

void ouro__output_watch(output *out, void (*progress)(void *user, uint64_t bytes), void *user) {
    out->progress = progress;
    out->user = user;
}

void ouro__put(output *out, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > BUFFER - out->used) {
        size_t part = BUFFER - out->used;
        memcpy(out->buffer + out->used, at, part);
        out->used = BUFFER;
        flush(out, false);
        at += part;
        size -= part;
    }
    memcpy(out->buffer + out->used, at, size);
    out->used += size;
}

void ouro__put_text(output *out, const char *text) { ouro__put(out, text, strlen(text)); }

void ouro__put_number(output *out, uint64_t number) {
    char digits[24], *at = digits + sizeof digits;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    ouro__put(out, at, (size_t)(digits + sizeof digits - at));
}

void ouro__put_integer(output *out, int64_t number) {
    if (number < 0) ouro__put(out, "-", 1);
    ouro__put_number(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void ouro__print(output *out, const char *format, ...) {
    char text[512], *longer = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < (int)sizeof text) {
        ouro__put(out, text, n > 0 ? (size_t)n : 0);
        return;
    }
    va_start(arguments, format);
    if (vasprintf(&longer, format, arguments) < 0) longer = NULL;
    va_end(arguments);
    if (!longer) ouro__output_fail_memory(out);
    if (longer) ouro__put_text(out, longer);
    free(longer);
}

bool ouro__output_failed(const output *out) { return out->code != 0; }

void ouro__output_fail_memory(output *out) {
    if (!out->code) out->code = ENOMEM;
}

// ---------------------------------------------------------------- opening and closing

// The file that a rename would replace: the end of symbolic links.
static bool find_target(output *out, const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return true;
    char *real = realpath(path, NULL);
    out->target = real ? real : strdup(path);
    return out->target != NULL;
}

static int open_for_writing(output *out, const char *path) {
    if (strcmp(path, "-") == 0) return STDOUT_FILENO;
    if (out->target) return ouro__open_beside(out->target, 0666, &out->beside);
    return ouro__open(path, O_WRONLY | O_TRUNC, 0);
}

output *ouro__output_open(const char *path, bool gzip, error *e) {
    output *out = calloc(1, sizeof *out);
    if (!out || (strcmp(path, "-") != 0 && !find_target(out, path))) {
        free(out);
        ouro__error_memory(e);
        return NULL;
    }
    out->fd = open_for_writing(out, path);
    int code = out->fd < 0 ? errno : 0;
    if (!code && gzip && !(out->packer = ouro__packer_new(write_raw, out))) code = ENOMEM;
    if (!code) return out;
    ouro__output_close(out, false, NULL);
    ouro__error_set(e, code, "cannot write: %s", strerror(code));
    return NULL;
}

output *ouro__output_memory(void) {
    output *out = malloc(sizeof *out);
    if (!out) return NULL;
    memset(out, 0, offsetof(output, buffer)); // the buffer is written before it is read
    out->fd = -1;
    out->memory = true;
    return out;
}

char *ouro__output_take(output *out, size_t *size, error *e) {
    flush(out, true);
    keep(out, "", 0);
    char *bytes = out->code ? NULL : out->bytes;
    if (bytes) bytes[out->size] = '\0';
    if (bytes) out->bytes = NULL;
    *size = out->size;
    if (!bytes) ouro__error_memory(e);
    ouro__output_close(out, false, NULL);
    return bytes;
}

bool ouro__output_close(output *out, bool good, error *e) {
    if (good) flush(out, true);
    if (good && !out->code && out->beside) {
        out->code = ouro__put_in_place(out->fd, out->beside, out->target);
    } else {
        bool put = out->fd > STDOUT_FILENO && close(out->fd) == 0;
        if (good && out->fd > STDOUT_FILENO && !put && !out->code) out->code = errno;
        if (out->beside) unlink(out->beside);
    }
    int code = out->code;
    ouro__packer_free(out->packer);
    free(out->target);
    free(out->beside);
    free(out->bytes);
    free(out);
    if (good && code) ouro__error_set(e, code, "cannot write: %s", strerror(code));
    return good && !code;
}

// ---------------------------------------------------------------- escapes

// Text with characters replaced by `escape`, which gives NULL for those that stay.
static void put_escaped(output *out, const char *text,
                        const char *escape(unsigned char c, char room[8])) {
    char room[8];
    while (*text) {
        size_t n = ouro__utf8_length(text);
        const char *other = n == 0   ? OURO_REPLACEMENT
                            : n == 1 ? escape((unsigned char)*text, room)
                                     : NULL;
        if (other) {
            ouro__put_text(out, other);
        } else {
            ouro__put(out, text, n);
        }
        text += n ? n : 1;
    }
}

static const char *json_escape(unsigned char c, char room[8]) {
    if (c == '"') return "\\\"";
    if (c == '\\') return "\\\\";
    if (c >= 0x20 && c != 0x7f) return NULL;
    snprintf(room, 8, "\\u%04x", c);
    return room;
}

static const char *xml_escape(unsigned char c, char room[8]) {
    (void)room;
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        // Other control characters may not stand in XML at all.
        return c < 0x20 && c != '\t' && c != '\n' ? "\xef\xbf\xbd" : NULL;
    }
}

void ouro__put_json(output *out, const char *text) {
    ouro__put(out, "\"", 1);
    put_escaped(out, text, json_escape);
    ouro__put(out, "\"", 1);
}

void ouro__put_csv(output *out, const char *text) {
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) ouro__put(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"') ouro__put(out, "\"", 1);
        ouro__put(out, text, 1);
    }
    if (quoted) ouro__put(out, "\"", 1);
}

void ouro__put_escaped(output *out, const char *text) { put_escaped(out, text, xml_escape); }

// SPDX-License-Identifier: MIT
//
// Writes through one buffer, packed on the way if asked. A regular target is written beside and
// renamed; pipes and devices are written as they are, since a rename would replace them.

#include "output.h"

#include "printable.h"
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
    uint64_t written, limit, source; // source: bytes of the profile's file, for the message
    bool memory;                     // the bytes are kept
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
    if (out->written > out->limit && !out->code) out->code = EFBIG;
    if (out->progress) out->progress(out->user, out->written);
}

void ouro__output_watch(output *out, void (*progress)(void *user, uint64_t bytes), void *user) {
    out->progress = progress;
    out->user = user;
}

void ouro__output_limit(output *out, const budget *b) {
    out->limit = b->output;
    out->source = b->bytes;
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

// Who could not read the file before cannot read what replaces it. A group that we may not give the
// file to is not the group that the mode speaks of.
static void take_mode(int fd, const struct stat *old) {
    struct stat new;
    mode_t mode = old->st_mode & 0777;
    bool given = fchown(fd, old->st_uid, old->st_gid) == 0;
    if (!given && (fstat(fd, &new) != 0 || new.st_gid != old->st_gid)) mode &= ~(mode_t)070;
    fchmod(fd, mode); // refused: it stays ours alone
}

static int open_for_writing(output *out, const char *path) {
    if (strcmp(path, "-") == 0) return STDOUT_FILENO;
    if (!out->target) return ouro__open(path, O_WRONLY | O_TRUNC, 0);
    struct stat old;
    bool replaces = stat(out->target, &old) == 0;
    int fd = ouro__open_beside(out->target, replaces ? 0600 : 0666, &out->beside);
    if (fd >= 0 && replaces) take_mode(fd, &old);
    return fd;
}

static output *new_output(void) {
    output *out = malloc(sizeof *out);
    if (!out) return NULL;
    memset(out, 0, offsetof(output, buffer)); // the buffer is written before it is read
    out->fd = -1;
    out->limit = UINT64_MAX;
    return out;
}

output *ouro__output_open(const char *path, bool gzip, error *e) {
    output *out = new_output();
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
    output *out = new_output();
    if (out) out->memory = true;
    return out;
}

// On file systems that have no files without names, it has one for a moment.
static int open_temporary(void) {
    const char *chosen = secure_getenv("TMPDIR"), *folder = chosen && *chosen ? chosen : "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *name = NULL;
    if (fd >= 0 || asprintf(&name, "%s/ouro-XXXXXX", folder) < 0) return fd;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) unlink(name);
    free(name);
    return fd;
}

output *ouro__output_temporary(error *e) {
    output *out = new_output();
    if (!out) ouro__error_memory(e);
    if (!out || (out->fd = open_temporary()) >= 0) return out;
    ouro__error_set(e, errno, "cannot write a temporary file: %s", strerror(errno));
    free(out);
    return NULL;
}

static void tell(const output *out, error *e) {
    if (out->code == EFBIG && out->written > out->limit) {
        ouro__limit_fail(out->limit, "B to write", out->source, e);
    } else {
        ouro__error_set(e, out->code, "cannot write: %s", strerror(out->code));
    }
}

int ouro__output_take_file(output *out, uint64_t *size, error *e) {
    flush(out, true);
    int fd = out->code ? -1 : out->fd;
    if (out->code) tell(out, e);
    if (!out->code) out->fd = -1;
    *size = out->written;
    ouro__output_close(out, false, NULL);
    return fd;
}

char *ouro__output_take(output *out, size_t *size, error *e) {
    flush(out, true);
    keep(out, "", 0);
    char *bytes = out->code ? NULL : out->bytes;
    if (bytes) bytes[out->size] = '\0';
    if (bytes) out->bytes = NULL;
    char *fitting = bytes ? realloc(bytes, out->size + 1) : NULL; // half may be for growing
    if (fitting) bytes = fitting;
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
    if (good && out->code) tell(out, e);
    bool ok = good && !out->code;
    ouro__packer_free(out->packer);
    free(out->target);
    free(out->beside);
    free(out->bytes);
    free(out);
    return ok;
}

// ---------------------------------------------------------------- escapes

enum { ESCAPE_ROOM = 16 };

// Text with characters replaced by `escape`, which gives NULL for those that stay.
static void put_escaped(output *out, const char *text,
                        const char *escape(uint32_t c, char room[ESCAPE_ROOM])) {
    char room[ESCAPE_ROOM];
    while (*text) {
        size_t n = ouro__utf8_length(text);
        const char *other = n ? escape(ouro__utf8_decode(text, n), room) : OURO_REPLACEMENT;
        if (other) {
            ouro__put_text(out, other);
        } else {
            ouro__put(out, text, n);
        }
        text += n ? n : 1;
    }
}

// JSON is often printed on a terminal, and loses nothing by escapes.
static const char *json_escape(uint32_t c, char room[ESCAPE_ROOM]) {
    if (c == '"') return "\\\"";
    if (c == '\\') return "\\\\";
    if (!ouro__is_hidden(c)) return NULL;
    if (c < 0x10000) {
        snprintf(room, ESCAPE_ROOM, "\\u%04x", c);
    } else {
        snprintf(room, ESCAPE_ROOM, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
    }
    return room;
}

static const char *xml_escape(uint32_t c, char room[ESCAPE_ROOM]) {
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
        return c < 0x20 && c != '\t' && c != '\n' ? OURO_REPLACEMENT : NULL;
    }
}

void ouro__put_json(output *out, const char *text) {
    ouro__put(out, "\"", 1);
    put_escaped(out, text, json_escape);
    ouro__put(out, "\"", 1);
}

// A spreadsheet takes a cell that begins so for a formula, quoted or not. Full-width signs are
// the same to it where Chinese or Japanese is written.
static bool is_formula(const char *text) {
    static const char *const begin[] = {"=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        if (strncmp(text, begin[i], strlen(begin[i])) == 0) return true;
    }
    return false;
}

// A semicolon separates cells in half of Europe.
void ouro__put_csv(output *out, const char *text) {
    bool quoted = strpbrk(text, ",;\"") != NULL;
    if (quoted) ouro__put(out, "\"", 1);
    if (is_formula(text)) ouro__put(out, "'", 1);
    for (size_t used, shown; *text; text += used) {
        const char *bytes = ouro__printable_at(text, &used, &shown);
        if (*bytes == '"') ouro__put(out, "\"", 1);
        ouro__put(out, bytes, shown);
    }
    if (quoted) ouro__put(out, "\"", 1);
}

void ouro__put_escaped(output *out, const char *text) { put_escaped(out, text, xml_escape); }

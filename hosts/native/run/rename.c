// SPDX-License-Identifier: MIT
//
// A pprof message (uncompressed, as `ouro merge` writes it) is a list of fields. Functions get
// other strings, locations get the line of their function, comments that tell of recursion get
// both, and the mapping gets the program's name; all other fields are copied byte by byte. New
// strings are added after the old ones, so every old index stays valid.

#include "rename.h"

#include "array.h"
#include "file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Field numbers of profile.proto.
enum { PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6 };
enum { MAPPING_FILE = 5 };
enum { LOCATION_LINES = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4, FUNCTION_START_LINE = 5 };
enum { WIRE_NUMBER = 0, WIRE_LONG = 1, WIRE_BYTES = 2, WIRE_SHORT = 5 };

typedef struct {
    const unsigned char *at, *end;
    bool failed;
} reader;

typedef struct {
    const unsigned char *start; // of the whole field
    size_t size;                // of the whole field
    unsigned number, type;
    uint64_t value; // of a number
    reader inside;  // of bytes
} field;

typedef struct {
    uint64_t id, line;
} function_line;

typedef struct {
    FILE *out;
    symbols *symbols;
    const char *program; // NULL: as it is
    rename_counts *counts;
    field *strings;
    size_t string_count, string_room;
    const char **added; // texts, numbered from string_count on
    size_t added_count, added_room;
    function_line *lines; // in the order of the file
    size_t line_count, line_room;
} rewriter;

// ---------------------------------------------------------------- reading

static uint64_t read_number(reader *r) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) break;
        unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    r->failed = true;
    return 0;
}

static bool next_field(reader *r, field *f) {
    if (r->at == r->end || r->failed) return false;
    f->start = r->at;
    uint64_t tag = read_number(r);
    f->number = (unsigned)(tag >> 3);
    f->type = (unsigned)(tag & 7);
    f->value = 0;
    uint64_t skip = 0;
    if (f->type == WIRE_NUMBER)
        f->value = read_number(r);
    else if (f->type == WIRE_BYTES)
        skip = read_number(r);
    else if (f->type == WIRE_LONG)
        skip = 8;
    else if (f->type == WIRE_SHORT)
        skip = 4;
    else
        r->failed = true;
    if (r->failed || skip > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return false;
    }
    f->inside = (reader){r->at, r->at + skip, false};
    r->at += skip;
    f->size = (size_t)(r->at - f->start);
    return true;
}

static uint64_t number_of(reader message, unsigned wanted) {
    uint64_t value = 0;
    for (field f; next_field(&message, &f);) {
        if (f.number == wanted) value = f.value;
    }
    return value;
}

// ---------------------------------------------------------------- writing

static void put_varint(FILE *out, uint64_t value) {
    for (; value > 127; value >>= 7) putc((int)(value & 127) | 128, out);
    putc((int)value, out);
}

static size_t varint_size(uint64_t value) {
    size_t size = 1;
    for (; value > 127; value >>= 7) size++;
    return size;
}

static void put_field(FILE *out, unsigned number, uint64_t value) {
    put_varint(out, (uint64_t)number << 3);
    put_varint(out, value);
}

static void put_bytes(FILE *out, unsigned number, const void *bytes, size_t size) {
    put_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
    put_varint(out, size);
    fwrite(bytes, 1, size, out);
}

// ---------------------------------------------------------------- texts

static bool read_strings(rewriter *w, reader message) {
    for (field f; next_field(&message, &f);) {
        if (f.number != PROFILE_STRING || f.type != WIRE_BYTES) continue;
        if (!array_reserve(&w->strings, w->string_count + 1, &w->string_room, sizeof f))
            return false;
        w->strings[w->string_count++] = f;
    }
    if (message.failed) errno = EILSEQ;
    return !message.failed;
}

static char *copy_string(const rewriter *w, uint64_t number) {
    if (number >= w->string_count) return strdup("");
    const reader *bytes = &w->strings[number].inside;
    return strndup((const char *)bytes->at, (size_t)(bytes->end - bytes->at));
}

static uint64_t add_string(rewriter *w, const char *text) {
    if (!text[0]) return 0;
    if (!array_reserve(&w->added, w->added_count + 1, &w->added_room, sizeof *w->added)) return 0;
    w->added[w->added_count++] = text;
    return w->string_count + w->added_count - 1;
}

// ---------------------------------------------------------------- functions

static bool find_name(rewriter *w, const char *name, char *file, symbol *found) {
    bool asks;
    bool known = rename_find(w->symbols, name, file, &asks, found);
    w->counts->functions++;
    w->counts->named += known || !asks; // while sampling, most got their names already
    return known;
}

static bool put_function(rewriter *w, const field *function) {
    uint64_t id = number_of(function->inside, FUNCTION_ID);
    char *name = copy_string(w, number_of(function->inside, FUNCTION_NAME));
    char *file = copy_string(w, number_of(function->inside, FUNCTION_FILE));
    symbol found;
    bool named = name && file && find_name(w, name, file, &found);
    free(name);
    free(file);
    if (!named) {
        fwrite(function->start, 1, function->size, w->out);
        return true;
    }
    if (!array_reserve(&w->lines, w->line_count + 1, &w->line_room, sizeof *w->lines)) return false;
    w->lines[w->line_count++] = (function_line){id, found.line};
    uint64_t texts[] = {add_string(w, found.name), add_string(w, found.file)};
    size_t size = 4 + varint_size(id) + varint_size(texts[0]) + varint_size(texts[1]) +
                  varint_size(found.line);
    put_varint(w->out, PROFILE_FUNCTION << 3 | WIRE_BYTES);
    put_varint(w->out, size);
    put_field(w->out, FUNCTION_ID, id);
    put_field(w->out, FUNCTION_NAME, texts[0]);
    put_field(w->out, FUNCTION_FILE, texts[1]);
    put_field(w->out, FUNCTION_START_LINE, found.line);
    return true;
}

static int compare_ids(const void *a, const void *b) {
    const function_line *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t line_of(const rewriter *w, uint64_t id) {
    function_line key = {id, 0};
    const function_line *l =
        w->line_count ? bsearch(&key, w->lines, w->line_count, sizeof key, compare_ids) : NULL;
    return l ? l->line : 0;
}

// A location of a function that has a name now gets the function's line; its own was 0.
static void put_location(rewriter *w, const field *location) {
    reader inside = location->inside;
    uint64_t id = 0, line = 0;
    for (field f; next_field(&inside, &f);) {
        if (f.number == LOCATION_LINES) id = number_of(f.inside, LINE_FUNCTION);
    }
    line = line_of(w, id);
    if (!line) {
        fwrite(location->start, 1, location->size, w->out);
        return;
    }
    size_t old = (size_t)(location->inside.end - location->inside.at), lines = 0;
    inside = location->inside;
    for (field f; next_field(&inside, &f);) lines += f.number == LOCATION_LINES ? f.size : 0;
    size_t size = 2 + varint_size(id) + varint_size(line);
    put_varint(w->out, PROFILE_LOCATION << 3 | WIRE_BYTES);
    put_varint(w->out, old - lines + 2 + size);
    inside = location->inside;
    for (field f; next_field(&inside, &f);) {
        if (f.number != LOCATION_LINES) fwrite(f.start, 1, f.size, w->out);
    }
    put_varint(w->out, LOCATION_LINES << 3 | WIRE_BYTES);
    put_varint(w->out, size);
    put_field(w->out, LINE_FUNCTION, id);
    put_field(w->out, LINE_LINE, line);
}

// `ouro merge` writes one mapping: `go tool pprof` shows its file as that of the profile.
static void put_mapping(rewriter *w, const field *mapping) {
    reader inside = mapping->inside;
    uint64_t file = add_string(w, w->program);
    size_t size = 1 + varint_size(file);
    for (field f; next_field(&inside, &f);) size += f.number == MAPPING_FILE ? 0 : f.size;
    put_varint(w->out, PROFILE_MAPPING << 3 | WIRE_BYTES);
    put_varint(w->out, size);
    inside = mapping->inside;
    for (field f; next_field(&inside, &f);) {
        if (f.number != MAPPING_FILE) fwrite(f.start, 1, f.size, w->out);
    }
    put_field(w->out, MAPPING_FILE, file);
}

// ---------------------------------------------------------------- comments

// A comment that tells of a block's recursion, see docs/pprof-mapping.md, names the block by the
// old name and file: it gets the new ones and the line. NULL: another text, or one without a name.
static char *rename_comment(rewriter *w, const char *text) {
    unsigned long long direct, through;
    unsigned deepest;
    size_t length;
    int size = 0;
    symbol found;
    sscanf(text, "# ouro recursion %llu %llu %u %*u %*u %zu%n", &direct, &through, &deepest,
           &length, &size);
    const char *place = text + size;
    if (!size || length + 2 > strlen(place) || place[1 + length] != ' ') return NULL;
    char *name = strndup(place + 1, length), *file = strdup(place + length + 2), *renamed = NULL;
    rename_counts counted = *w->counts; // the function itself is counted, not what tells of it
    if (!name || !file || !find_name(w, name, file, &found) ||
        asprintf(&renamed, "# ouro recursion %llu %llu %u %llu 0 %zu %s %s", direct, through,
                 deepest, (unsigned long long)found.line, strlen(found.name), found.name,
                 found.file) < 0)
        renamed = NULL;
    *w->counts = counted;
    free(name);
    free(file);
    return renamed;
}

static void put_string(rewriter *w, const field *string) {
    const reader *bytes = &string->inside;
    char *text = strndup((const char *)bytes->at, (size_t)(bytes->end - bytes->at));
    char *renamed = text ? rename_comment(w, text) : NULL;
    if (renamed)
        put_bytes(w->out, PROFILE_STRING, renamed, strlen(renamed));
    else
        fwrite(string->start, 1, string->size, w->out);
    free(renamed);
    free(text);
}

// ---------------------------------------------------------------- the message

// Functions first, because the locations need their lines. The order of fields with different
// numbers has no meaning in a message.
static bool rewrite(rewriter *w, reader message) {
    if (!read_strings(w, message)) return false;
    reader again = message;
    for (field f; next_field(&again, &f);) {
        if (f.number == PROFILE_FUNCTION && !put_function(w, &f)) return false;
    }
    if (w->line_count) qsort(w->lines, w->line_count, sizeof *w->lines, compare_ids);
    again = message;
    for (field f; next_field(&again, &f);) {
        if (f.number == PROFILE_LOCATION) {
            put_location(w, &f);
        } else if (f.number == PROFILE_STRING) {
            put_string(w, &f);
        } else if (f.number == PROFILE_MAPPING && f.type == WIRE_BYTES && w->program) {
            put_mapping(w, &f);
        } else if (f.number != PROFILE_FUNCTION) {
            fwrite(f.start, 1, f.size, w->out);
        }
    }
    for (size_t i = 0; i < w->added_count; i++)
        put_bytes(w->out, PROFILE_STRING, w->added[i], strlen(w->added[i]));
    return true;
}

static bool map_file(const char *path, reader *message) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0) return false;
    bool ok = fstat(fd, &status) == 0;
    size_t size = ok ? (size_t)status.st_size : 0;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : "";
    close(fd);
    if (!ok || bytes == MAP_FAILED) return false;
    *message = (reader){bytes, (unsigned char *)bytes + size, false};
    return true;
}

bool rename_find(symbols *all, const char *name, char *file, bool *asks, symbol *found) {
    static const char mark[] = " (build id ";
    const char *plus = strrchr(name, '+');
    char *end;
    *asks = false;
    if (!plus || strncmp(plus, "+0x", 3) || file[0] != '/') return false;
    uint64_t offset = strtoull(plus + 3, &end, 16);
    if (*end || end == plus + 3) return false;
    const char *build_id = "";
    char *id = strstr(file, mark);
    if (id) {
        *id = '\0';
        build_id = id + sizeof mark - 1;
        id[sizeof mark - 1 + strcspn(build_id, ")")] = '\0';
    }
    *asks = true;
    return symbols_find(all, file, build_id, offset, found);
}

int rename_functions(const char *from, const char *to, const char *program, symbols *all,
                     rename_counts *counts) {
    reader message;
    if (!map_file(from, &message)) return -1;
    *counts = (rename_counts){0};
    ouro__held_limit held = ouro__limit_hold();
    rewriter w = {.out = fopen(to, "we"), .symbols = all, .program = program, .counts = counts};
    bool ok = w.out && rewrite(&w, message);
    int error = errno;
    if (w.out && fclose(w.out)) {
        ok = false;
        error = errno;
    }
    ouro__limit_release(&held);
    free(w.strings);
    free(w.added);
    free(w.lines);
    if (message.end > message.at) munmap((void *)message.at, (size_t)(message.end - message.at));
    errno = error;
    return ok ? 0 : -1;
}

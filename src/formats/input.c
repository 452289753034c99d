// SPDX-License-Identifier: MIT
//
// Opens files and pipes, and reads them into memory of our own: a mapped file would show what
// others do to it meanwhile, and end the program if it is cut. Whatever is large is read through a
// window, since getting memory for all of it takes longer than reading it; readers that need all
// bytes at once ask for them. Packed files are read whole. Refuses what cannot be a profile with a
// sentence of its own.
//
// The size of a pipe is not known. Its budget is that of the bytes that have come, and until it
// ends, no more of it is held than the smallest file may cost.

#include "input.h"

#include "readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 1 << 16, WINDOW = 1 << 20, ZEROS_LOOKED_AT = 4096 };

// Reads up to `room` bytes, or to the end. -1: an error.
static ssize_t read_up_to(int fd, unsigned char *bytes, size_t room) {
    size_t used = 0;
    while (used < room) {
        ssize_t n = read(fd, bytes + used, room - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

static bool fail_reading(error *e) {
    return ouro__fail(e, errno, "cannot read: %s", strerror(errno));
}

// Bytes that are held at a time.
static uint64_t most_of(const input *in) {
    uint64_t otherwise = in->total ? MEMORY_MOST : ouro__budget_of(0, 0, 0).memory;
    return in->limit ? in->limit : otherwise;
}

static bool fail_size(const input *in, uint64_t most, error *e) {
    return ouro__limit_fail(most, "B to read", in->total, e);
}

static bool make_room(input *in, size_t room, error *e) {
    if (room > most_of(in) + WINDOW) return fail_size(in, most_of(in), e);
    unsigned char *bytes = realloc((void *)(uintptr_t)in->bytes, room);
    if (!bytes) return ouro__fail_memory(e);
    in->bytes = bytes;
    in->room = room;
    return true;
}

static bool fill(input *in, error *e) {
    unsigned char *bytes = (unsigned char *)(uintptr_t)in->bytes;
    ssize_t n = read_up_to(in->fd, bytes + in->size, in->room - in->size);
    if (n < 0) return fail_reading(e);
    in->size += (size_t)n;
    in->more = in->size == in->room;
    if (in->budget && !in->total) ouro__budget_follow(in->budget, ouro__input_size(in), in->limit);
    return true;
}

// A pipe without an end would be read for ever, however little of it is held.
static bool check_pipe(const input *in, error *e) {
    uint64_t most = in->limit ? in->limit : MEMORY_MOST;
    return in->total || ouro__input_size(in) <= most || fail_size(in, most, e);
}

bool ouro__input_more(input *in, size_t done, error *e) {
    unsigned char *bytes = (unsigned char *)(uintptr_t)in->bytes;
    memmove(bytes, bytes + done, in->size - done);
    in->offset += done;
    in->size -= done;
    if (!check_pipe(in, e)) return false;
    size_t room = in->room < WINDOW ? WINDOW : in->room;
    if (in->size > room / 2) room *= 2;
    return (room == in->room || make_room(in, room, e)) && fill(in, e);
}

bool ouro__input_all(input *in, error *e) {
    if (in->more && in->total >= in->room && !make_room(in, in->total + 1, e)) return false;
    bool ok = !in->more || fill(in, e);
    while (ok && in->more) {
        size_t room = in->room * 2, most = most_of(in) + WINDOW;
        ok = make_room(in, room < most || in->room == most ? room : most, e) && fill(in, e);
    }
    return ok;
}

bool ouro__input_rewind(input *in, error *e) {
    if (lseek(in->fd, 0, SEEK_SET) != 0) return fail_reading(e);
    in->offset = in->size = 0;
    return fill(in, e);
}

// A live file has holes and changes: its reader goes through fd.
static bool read_head(input *in, bool regular, error *e) {
    if (!make_room(in, HEAD, e) || !fill(in, e)) return false;
    if (regular && ouro__live_probe(in->bytes, in->size)) {
        in->more = false;
        return true;
    }
    return !ouro__is_gzip(in->bytes, in->size) || ouro__input_all(in, e);
}

static bool all_zero(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i]) return false;
    }
    return true;
}

static bool check_content(const input *in, error *e) {
    if (in->size == 0) return ouro__fail(e, EILSEQ, "the file is empty");
    size_t looked = in->size < ZEROS_LOOKED_AT ? in->size : ZEROS_LOOKED_AT;
    if (looked > 8 && all_zero(in->bytes, looked))
        return ouro__fail(e, EILSEQ, "nothing but zeros at the beginning: this is no profile");
    return true;
}

static bool unpack(input *in, error *e) {
    if (!ouro__is_gzip(in->bytes, in->size)) return true;
    unsigned char *bytes;
    size_t size, packed = in->size;
    uint64_t most = in->limit ? in->limit : ouro__unpacked_most(packed);
    if (!ouro__gunzip(in->bytes, in->size, most, &bytes, &size, e)) return false;
    ouro__input_close(in);
    *in = (input){.bytes = bytes, .size = size, .packed = packed, .fd = -1};
    if (size == 0) return ouro__fail(e, EILSEQ, "the file is empty, packed with gzip");
    return check_content(in, e);
}

// Pipes and sockets too, and what is typed. Devices have no end, or nothing to say.
static bool check_kind(int fd, const struct stat *info, error *e) {
    if (S_ISDIR(info->st_mode)) return ouro__fail(e, EISDIR, "a directory; a profile is a file");
    if (S_ISBLK(info->st_mode) || (S_ISCHR(info->st_mode) && !isatty(fd)))
        return ouro__fail(e, ENOTSUP, "a device; a profile is a file or comes through a pipe");
    return true;
}

bool ouro__input_open(input *in, const char *path, uint64_t limit, error *e) {
    *in = (input){.fd = -1, .limit = limit};
    in->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) return ouro__fail(e, errno, "cannot open: %s", strerror(errno));
    struct stat info;
    bool ok = fstat(in->fd, &info) == 0 || fail_reading(e);
    ok = ok && check_kind(in->fd, &info, e);
    bool regular = ok && S_ISREG(info.st_mode) && in->fd != STDIN_FILENO;
    if (regular && info.st_size > HEAD) in->total = (uint64_t)info.st_size;
    ok = ok && read_head(in, regular, e) && check_content(in, e) && unpack(in, e);
    if (!ok) ouro__input_close(in);
    return ok;
}

void ouro__input_close(input *in) {
    free((void *)(uintptr_t)in->bytes);
    if (in->fd > STDIN_FILENO) close(in->fd);
    *in = (input){.fd = -1};
}

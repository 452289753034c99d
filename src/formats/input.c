// SPDX-License-Identifier: MIT
//
// Opens files and pipes and reads them to their end, into memory of our own: a mapped file would
// show what others do to it meanwhile, and end the program if it is cut. gzip is unpacked at once,
// because every reader wants to look at all bytes, some of them twice. Refuses what cannot be a
// profile with a sentence of its own.

#include "input.h"

#include "budget.h"
#include "readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 1 << 16, ZEROS_LOOKED_AT = 4096 };

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

// What follows the bytes that are there, to the end. A file may grow or be cut meanwhile.
static bool read_rest(input *in, size_t room, uint64_t limit, error *e) {
    uint64_t most = limit ? limit : MEMORY_MOST;
    for (;;) {
        unsigned char *bytes = (unsigned char *)(uintptr_t)in->bytes;
        ssize_t n = read_up_to(in->fd, bytes + in->size, room - in->size);
        if (n < 0) return fail_reading(e);
        in->size += (size_t)n;
        if (in->size < room) return true;
        if (room > most) return ouro__limit_fail(most, "B to read", in->size, e);
        bytes = realloc(bytes, room *= 2);
        if (!bytes) return ouro__fail_memory(e);
        in->bytes = bytes;
    }
}

// A live file has holes and changes: of it only the beginning is read here, and its reader goes
// through fd.
static bool read_all(input *in, size_t expected, bool regular, uint64_t limit, error *e) {
    unsigned char head[HEAD];
    ssize_t n = read_up_to(in->fd, head, sizeof head);
    if (n < 0) return fail_reading(e);
    bool rest = n == HEAD && !(regular && ouro__live_probe(head, (size_t)n));
    size_t room = rest && expected > HEAD ? expected + 1 : HEAD + 1; // the end is seen by one more
    if (room > (limit ? limit : MEMORY_MOST) + 1)
        return ouro__limit_fail(limit ? limit : MEMORY_MOST, "B to read", expected, e);
    unsigned char *bytes = malloc(room);
    if (!bytes) return ouro__fail_memory(e);
    memcpy(bytes, head, (size_t)n);
    in->bytes = bytes;
    in->size = (size_t)n;
    return !rest || read_rest(in, room, limit, e);
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

static bool unpack(input *in, uint64_t limit, error *e) {
    if (!ouro__is_gzip(in->bytes, in->size)) return true;
    unsigned char *bytes;
    size_t size, packed = in->size;
    uint64_t most = limit ? limit : ouro__unpacked_most(packed);
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
    *in = (input){.fd = -1};
    in->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) return ouro__fail(e, errno, "cannot open: %s", strerror(errno));
    struct stat info;
    bool ok = fstat(in->fd, &info) == 0 || fail_reading(e);
    ok = ok && check_kind(in->fd, &info, e);
    if (ok) {
        bool regular = S_ISREG(info.st_mode) && in->fd != STDIN_FILENO;
        ok = read_all(in, S_ISREG(info.st_mode) ? (size_t)info.st_size : 0, regular, limit, e);
    }
    ok = ok && check_content(in, e) && unpack(in, limit, e);
    if (!ok) ouro__input_close(in);
    return ok;
}

void ouro__input_close(input *in) {
    free((void *)(uintptr_t)in->bytes);
    if (in->fd > STDIN_FILENO) close(in->fd);
    *in = (input){.fd = -1};
}

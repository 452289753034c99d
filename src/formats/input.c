// SPDX-License-Identifier: MIT
//
// Opens files and pipes. A regular file is mapped, a pipe is read to its end; gzip is unpacked at
// once, because every reader wants to look at all bytes, some of them twice. Refuses what cannot be
// a profile with a sentence of its own.

#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAP_FROM = 1 << 16, ZEROS_LOOKED_AT = 4096 };

static bool read_all(int fd, size_t expected, input *in, error *e) {
    size_t room = expected + 1, used = 0;
    unsigned char *bytes = malloc(room);
    if (!bytes) return ouro__fail_memory(e);
    for (;;) {
        if (used == room) {
            unsigned char *grown = realloc(bytes, room *= 2);
            if (!grown) {
                free(bytes);
                return ouro__fail_memory(e);
            }
            bytes = grown;
        }
        ssize_t n = read(fd, bytes + used, room - used);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int code = errno;
            free(bytes);
            return ouro__fail(e, code, "cannot read: %s", strerror(code));
        }
        if (n == 0) break;
        used += (size_t)n;
    }
    in->bytes = bytes;
    in->size = used;
    return true;
}

static bool map(int fd, size_t size, input *in, error *e) {
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return read_all(fd, size, in, e);
    madvise(at, size, MADV_SEQUENTIAL);
    in->bytes = at;
    in->size = size;
    in->mapped = true;
    return true;
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
    size_t size;
    if (!ouro__gunzip(in->bytes, in->size, &bytes, &size, e)) return false;
    int fd = in->fd;
    in->fd = -1;
    ouro__input_close(in);
    if (fd > STDIN_FILENO) close(fd);
    *in = (input){.bytes = bytes, .size = size, .fd = -1};
    if (size == 0) return ouro__fail(e, EILSEQ, "the file is empty, packed with gzip");
    return check_content(in, e);
}

bool ouro__input_open(input *in, const char *path, error *e) {
    *in = (input){.fd = -1};
    in->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) return ouro__fail(e, errno, "cannot open: %s", strerror(errno));
    struct stat info;
    bool ok = fstat(in->fd, &info) == 0 || ouro__fail(e, errno, "cannot read: %s", strerror(errno));
    if (ok && S_ISDIR(info.st_mode)) ok = ouro__fail(e, EISDIR, "a directory; a profile is a file");
    if (ok && S_ISREG(info.st_mode) && info.st_size >= MAP_FROM && lseek(in->fd, 0, SEEK_CUR) == 0)
        ok = map(in->fd, (size_t)info.st_size, in, e);
    else if (ok)
        ok = read_all(in->fd,
                      S_ISREG(info.st_mode) && info.st_size < MAP_FROM ? (size_t)info.st_size
                                                                       : MAP_FROM,
                      in, e);
    ok = ok && check_content(in, e) && unpack(in, e);
    if (!ok) ouro__input_close(in);
    return ok;
}

void ouro__input_close(input *in) {
    if (in->mapped) {
        munmap((void *)(uintptr_t)in->bytes, in->size);
    } else {
        free((void *)(uintptr_t)in->bytes);
    }
    if (in->fd > STDIN_FILENO) close(in->fd);
    *in = (input){.fd = -1};
}

// SPDX-License-Identifier: MIT
//
// gzip in both directions, and the only file that knows zlib. Unpacking stops early on what cannot
// be a profile (zeros without end are a few kilobytes when packed), and says at which byte of the
// packed file something is wrong.

#include "budget.h"
#include "input.h"
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 1 << 16, GZIP_WINDOW = 15 + 16 };

bool ouro__is_gzip(const unsigned char *bytes, size_t size) {
    return size >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

typedef struct {
    z_stream stream;
    const unsigned char *from;
    size_t size, taken; // of the packed bytes
    unsigned char *to;
    size_t used, room;
    uint64_t most; // that is unpacked
    bool zeros;    // the first CHUNK bytes are
} unpacker;

static bool make_room(unpacker *u, error *e) {
    if (u->room - u->used >= CHUNK) return true;
    if (u->used > u->most) return ouro__limit_fail(u->most, "B when it is unpacked", u->size, e);
    size_t room = u->room * 2 < u->most ? u->room * 2 : u->most + 2 * CHUNK;
    unsigned char *grown = realloc(u->to, room);
    if (!grown) return ouro__fail_memory(e);
    u->to = grown;
    u->room = room;
    return true;
}

static bool only_zeros(const unpacker *u) {
    for (size_t i = 0; i < CHUNK; i++) {
        if (u->to[i]) return false;
    }
    return true;
}

static void feed(unpacker *u) {
    size_t left = u->size - u->taken, part = left > (1u << 30) ? 1u << 30 : left;
    u->stream.next_in = (unsigned char *)(uintptr_t)(u->from + u->taken);
    u->stream.avail_in = (unsigned)part;
}

// One member. true: it ended well.
static bool unpack_member(unpacker *u, error *e) {
    for (;;) {
        if (!make_room(u, e)) return false;
        size_t space = u->room - u->used;
        feed(u);
        unsigned given = u->stream.avail_in;
        u->stream.next_out = u->to + u->used;
        u->stream.avail_out = space > (1u << 30) ? 1u << 30 : (unsigned)space;
        unsigned free_before = u->stream.avail_out;
        int status = inflate(&u->stream, Z_NO_FLUSH);
        u->taken += given - u->stream.avail_in;
        bool was_small = u->used < CHUNK;
        u->used += free_before - u->stream.avail_out;
        u->zeros = was_small && u->used >= CHUNK && only_zeros(u);
        if (u->zeros) return true; // the caller's check says it
        if (status == Z_STREAM_END) return true;
        if (status == Z_OK && (u->taken < u->size || u->stream.avail_out == 0)) continue;
        if (status == Z_OK || status == Z_BUF_ERROR)
            return ouro__fail_at_byte(e, u->size,
                                      "the gzip data ends in the middle; is the file cut off?");
        return ouro__fail_at_byte(e, u->taken, "damaged gzip data: %s",
                                  u->stream.msg ? u->stream.msg : "inflate failed");
    }
}

// Bytes after the last member that are no member are ignored, as gzip does.
bool ouro__gunzip(const unsigned char *bytes, size_t size, uint64_t most, unsigned char **out,
                  size_t *out_size, error *e) {
    unpacker u = {.from = bytes, .size = size, .most = most, .room = 4 * size + 2 * CHUNK};
    if (u.room > most + 2 * CHUNK) u.room = most + 2 * CHUNK;
    u.to = malloc(u.room);
    if (!u.to) return ouro__fail_memory(e);
    bool ok = inflateInit2(&u.stream, GZIP_WINDOW) == Z_OK || ouro__fail_memory(e);
    while (ok && ouro__is_gzip(bytes + u.taken, size - u.taken)) {
        ok = unpack_member(&u, e) && inflateReset(&u.stream) == Z_OK;
        if (u.zeros) break;
    }
    inflateEnd(&u.stream);
    if (!ok) {
        free(u.to);
        return false;
    }
    *out = u.to;
    *out_size = u.used;
    return true;
}

// ---------------------------------------------------------------- packing

struct packer {
    z_stream stream;
    void (*sink)(void *user, const void *bytes, size_t size);
    void *user;
    unsigned char buffer[CHUNK];
};

packer *ouro__packer_new(void (*sink)(void *user, const void *bytes, size_t size), void *user) {
    packer *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->sink = sink;
    p->user = user;
    // Half the time of zlib's own choice, 6, for 1% more bytes.
    if (deflateInit2(&p->stream, 5, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return p;
    free(p);
    return NULL;
}

bool ouro__packer_put(packer *p, const void *bytes, size_t size, bool last) {
    p->stream.next_in = (unsigned char *)(uintptr_t)bytes;
    p->stream.avail_in = (unsigned)size; // never more than the output's buffer
    int status;
    do {
        p->stream.next_out = p->buffer;
        p->stream.avail_out = CHUNK;
        status = deflate(&p->stream, last ? Z_FINISH : Z_NO_FLUSH);
        if (status == Z_STREAM_ERROR) return false;
        p->sink(p->user, p->buffer, CHUNK - p->stream.avail_out);
    } while (p->stream.avail_out == 0);
    return true;
}

void ouro__packer_free(packer *p) {
    if (!p) return;
    deflateEnd(&p->stream);
    free(p);
}

// SPDX-License-Identifier: MIT
//
// The top level of a pprof file, field by field; what is in a field is not looked at here. A large
// file goes through a window that moves. What is needed of the bytes behind it is copied: parts of
// tables, and the locations of the sample before.

#include "pprof_reader.h"

#include <stdlib.h>
#include <string.h>

bool ouro__pprof_keep(reader *r, slice *s) {
    enum { CHUNK = 1 << 18 };
    if (!r->moves || s->size == 0) return true;
    if (!r->kept || r->kept->room - r->kept->used < s->size) {
        size_t room = s->size > CHUNK ? s->size : CHUNK;
        chunk *added = malloc(sizeof *added + room);
        if (!added) return ouro__fail_memory(r->error);
        added->next = r->kept;
        added->used = 0;
        added->room = room;
        r->kept = added;
    }
    unsigned char *to = r->kept->bytes + r->kept->used;
    memcpy(to, s->bytes, s->size);
    r->kept->used += s->size;
    s->bytes = to;
    return true;
}

// The locations of the sample before stay, for the next to be compared with.
static bool save_before(reader *r) {
    const unsigned char *at = r->before.bytes, *bytes = r->in->bytes;
    if (at < bytes || at > bytes + r->in->size) return true;
    if (r->before.size > r->saved_room) {
        unsigned char *larger = realloc(r->saved, 2 * r->before.size);
        if (!larger) return ouro__fail_memory(r->error);
        r->saved = larger;
        r->saved_room = 2 * r->before.size;
    }
    if (r->before.size) memcpy(r->saved, at, r->before.size);
    if (r->saved) r->before.bytes = r->saved;
    return true;
}

// Is a field there to its end? One that is damaged counts as whole.
static bool is_whole(const unsigned char *at, const unsigned char *end) {
    wire w = {at, at, end, NULL, false, 0};
    uint64_t tag, value = 0;
    if (!ouro__wire_varint(&w, &tag)) return end - at >= VARINT_ROOM;
    if ((tag & 7) == WIRE_FIXED64 || (tag & 7) == WIRE_FIXED32) return end - w.at >= 8;
    if ((tag & 7) != WIRE_VARINT && (tag & 7) != WIRE_BYTES) return true;
    const unsigned char *number = w.at;
    if (!ouro__wire_varint(&w, &value)) return end - number >= VARINT_ROOM;
    return (tag & 7) == WIRE_VARINT || value <= (uint64_t)(end - w.at);
}

bool ouro__pprof_next(reader *r, wire *top, wire_field *field) {
    for (;;) {
        size_t start = (size_t)(top->at - r->in->bytes);
        bool more = r->in->more;
        top->error = more ? NULL : r->error; // what is cut by the window is no error yet
        if (ouro__wire_next(top, field)) {
            top->error = r->error;
            return true;
        }
        if (!more) return false;
        *top = ouro__pprof_window(r, start);
        if (top->at < top->end && is_whole(top->at, top->end)) return ouro__wire_next(top, field);
        if (!save_before(r) || !ouro__input_more(r->in, start, r->error)) {
            top->failed = true;
            return false;
        }
        *top = ouro__pprof_window(r, 0);
    }
}

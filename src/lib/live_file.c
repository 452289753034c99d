// SPDX-License-Identifier: MIT
//
// The bytes of a live file, its header, the list of its segments, and the error: every refusal is
// an ouro__live_fail. The header and the heads of the segments are checked here; what the segments
// hold is checked by the file that reads it.

#include "live_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// What a header may say. The writer stays far inside. The size of a node is a multiple of four
// words, because a slot keeps the kind of entry in the low two bits of a position.
enum {
    PAGE_LEAST = 4096,
    PAGE_MOST = 1 << 20,
    SEGMENT_NODES_MOST = 1 << 20,
    NODE_BYTES_MOST = 128,
    NODE_BYTES_STEP = 32
};

__attribute__((format(printf, 4, 5))) bool ouro__live_fail(reader *r, int code, uint64_t offset,
                                                           const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error->message, sizeof r->error->message, format, arguments);
    va_end(arguments);
    r->error->code = code;
    r->error->offset = offset;
    return false;
}

bool ouro__live_fail_memory(reader *r) { return ouro__live_fail(r, ENOMEM, 0, "out of memory"); }

bool ouro__live_read_at(reader *r, uint64_t offset, void *to, uint64_t bytes) {
    char *at = to;
    while (bytes > 0) {
        size_t part = bytes > (1u << 30) ? 1u << 30 : (size_t)bytes;
        ssize_t n = pread(r->fd, at, part, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return ouro__live_fail(r, errno, offset, "cannot read: %s", strerror(errno));
        if (n == 0) return ouro__live_fail(r, EILSEQ, offset, "the file ends here; is it cut off?");
        at += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

static bool check_version(reader *r) {
    const live_header *h = &r->header;
    if (memcmp(h->magic, LIVE_MAGIC, sizeof h->magic) != 0)
        return ouro__live_fail(r, EILSEQ, 0,
                               "not a live profile: it does not begin with " LIVE_MAGIC);
    if (h->byte_order == __builtin_bswap32(LIVE_BYTE_ORDER))
        return ouro__live_fail(r, EILSEQ, HEADER(byte_order),
                               "written on a machine with the other byte order; read it there");
    if (h->byte_order != LIVE_BYTE_ORDER)
        return ouro__live_fail(r, EILSEQ, HEADER(byte_order), "damaged: no byte order");
    if (h->version < LIVE_VERSION_LEAST || h->version > LIVE_VERSION)
        return ouro__live_fail(
            r, EILSEQ, HEADER(version),
            "version %u of the format, this is a reader of version %u: use the %s", h->version,
            LIVE_VERSION, h->version > LIVE_VERSION ? "newer program" : "program that wrote it");
    return true;
}

static bool check_header(reader *r) {
    const live_header *h = &r->header;
    if (h->page < PAGE_LEAST || h->page > PAGE_MOST || (h->page & (h->page - 1)))
        return ouro__live_fail(r, EILSEQ, HEADER(page), "damaged: pages of %u bytes", h->page);
    if (h->metric_count > OURO_METRICS_MAX)
        return ouro__live_fail(r, EILSEQ, HEADER(metric_count), "damaged: %u metrics of at most %d",
                               h->metric_count, OURO_METRICS_MAX);
    if (h->node_bytes % NODE_BYTES_STEP || h->node_bytes > NODE_BYTES_MOST ||
        h->node_bytes < (NODE_HEAD_WORDS + h->metric_count) * sizeof(uint64_t))
        return ouro__live_fail(r, EILSEQ, HEADER(node_bytes), "damaged: nodes of %u bytes",
                               h->node_bytes);
    if (h->segment_nodes == 0 || h->segment_nodes > SEGMENT_NODES_MOST)
        return ouro__live_fail(r, EILSEQ, HEADER(segment_nodes), "damaged: segments of %u nodes",
                               h->segment_nodes);
    if (h->capacity < 2 ||
        (uint64_t)h->capacity * 2 * (h->node_bytes / sizeof(uint64_t)) > UINT32_MAX)
        return ouro__live_fail(r, EILSEQ, HEADER(capacity), "damaged: room for %u nodes",
                               h->capacity);
    if (h->end > r->size)
        return ouro__live_fail(r, EILSEQ, r->size,
                               "the file has %llu bytes of %llu; is it cut off?",
                               (unsigned long long)r->size, (unsigned long long)h->end);
    r->stride = h->node_bytes / (uint32_t)sizeof(uint64_t);
    return true;
}

static bool ask_size(reader *r) {
    struct stat status;
    if (fstat(r->fd, &status))
        return ouro__live_fail(r, errno, 0, "cannot read: %s", strerror(errno));
    r->size = (uint64_t)status.st_size;
    return true;
}

// A running program makes the file longer and then says so in the header: the length that the
// header is checked with is taken after it.
static bool read_header(reader *r) {
    if (!ask_size(r)) return false;
    if (r->size == 0) return ouro__live_fail(r, EILSEQ, 0, "the file is empty");
    if (r->size < sizeof r->header)
        return ouro__live_fail(r, EILSEQ, r->size, "not a live profile, or cut off: %llu bytes",
                               (unsigned long long)r->size);
    return ouro__live_read_at(r, 0, &r->header, sizeof r->header) && ask_size(r) &&
           check_version(r) && check_header(r);
}

static bool check_segment(reader *r, const live_segment *head, uint64_t at) {
    const live_header *h = &r->header;
    if (head->magic != LIVE_SEGMENT_MAGIC)
        return ouro__live_fail(r, EILSEQ, at, "damaged: no segment begins here");
    if (head->data_bytes > h->end - at - h->page)
        return ouro__live_fail(r, EILSEQ, at + offsetof(live_segment, data_bytes),
                               "damaged: a segment of %llu bytes reaches beyond the end",
                               (unsigned long long)head->data_bytes);
    if (head->kind == LIVE_NODES || head->kind == LIVE_BASELINE) {
        uint64_t unit = 2 * (uint64_t)h->segment_nodes * h->node_bytes;
        uint64_t count = head->data_bytes / (2 * h->node_bytes);
        if (head->data_bytes == 0 || head->data_bytes % unit || head->first > h->capacity ||
            count > h->capacity - head->first)
            return ouro__live_fail(r, EILSEQ, at, "damaged: nodes from %u on", head->first);
    }
    if (head->kind == LIVE_SITES && head->data_bytes < sizeof(ouro_known_))
        return ouro__live_fail(r, EILSEQ, at + offsetof(live_segment, data_bytes),
                               "damaged: call sites of %llu bytes",
                               (unsigned long long)head->data_bytes);
    if (head->kind == LIVE_LANE && head->data_bytes < sizeof(ouro__lane_state))
        return ouro__live_fail(r, EILSEQ, at + offsetof(live_segment, data_bytes),
                               "damaged: a lane of %llu bytes",
                               (unsigned long long)head->data_bytes);
    return true;
}

// A file may have as many lanes as segments, so no lane looks through all of them.
static bool link_lanes(reader *r) {
    free(r->first_of_lane);
    r->first_of_lane = calloc((size_t)r->lane_count + 1, sizeof *r->first_of_lane);
    if (!r->first_of_lane) return ouro__live_fail_memory(r);
    for (size_t i = r->segment_count; i-- > 0;) {
        segment *s = &r->segments[i];
        bool of_lane = s->kind == LIVE_LANE || s->kind == LIVE_NODES || s->kind == LIVE_BASELINE ||
                       s->kind == LIVE_SLICES || s->kind == LIVE_SITES;
        if (!of_lane || s->lane >= r->lane_count) continue;
        s->next = r->first_of_lane[s->lane];
        r->first_of_lane[s->lane] = i + 1;
    }
    return true;
}

// Segments of kinds that we do not know are passed over.
static bool read_segments(reader *r) {
    size_t room = 0;
    for (uint64_t at = r->header.page; at < r->header.end;) {
        live_segment head;
        if (r->header.end - at < r->header.page)
            return ouro__live_fail(r, EILSEQ, at, "damaged: half a segment at the end");
        if (!ouro__live_read_at(r, at, &head, sizeof head) || !check_segment(r, &head, at))
            return false;
        if (r->segment_count == room) {
            room = room ? room * 2 : 64;
            segment *grown = realloc(r->segments, room * sizeof *grown);
            if (!grown) return ouro__live_fail_memory(r);
            r->segments = grown;
        }
        uint64_t data = at + r->header.page;
        uint32_t count = (uint32_t)(head.data_bytes / (2 * r->header.node_bytes));
        r->segments[r->segment_count++] =
            (segment){data, head.data_bytes, head.kind, head.lane, head.first, count, 0};
        if (head.kind == LIVE_LANE) r->lane_count++;
        at = data + head.data_bytes;
    }
    return link_lanes(r);
}

bool ouro__live_refresh(reader *r) {
    r->segment_count = 0;
    r->lane_count = 0;
    return read_header(r) && read_segments(r);
}

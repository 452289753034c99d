// SPDX-License-Identifier: MIT
//
// Reads the counters of a live file again, for who follows a program. Most of the time a program
// has the paths that it had a while ago: no segment was added, no node was made or evicted, and
// nothing was reset. Then the rows are those of the last reading, and each record's counters are
// added to its row. Nothing is trusted here either: all places are our own, and a file that was cut
// meanwhile is an error of read(2).
//
// A node is made by giving a hole a block, and is evicted while the lane's sequence is odd. So
// equal blocks between two equal, even sequences are the same nodes.

#include "live_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 32 * 1024 };

void ouro__live_again_free(struct ouro__live_again *again) {
    if (!again) return;
    for (uint32_t i = 0; i < again->lane_count; i++) {
        free(again->lanes[i].parts);
        free(again->lanes[i].slabs);
        free(again->lanes[i].block);
        free(again->lanes[i].place);
        free(again->lanes[i].baseline);
    }
    free(again->lanes);
    free(again);
}

static bool read_at(int fd, uint64_t offset, void *to, size_t bytes) {
    for (char *at = to; bytes > 0;) {
        ssize_t n = pread(fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

typedef struct {
    int fd;
    const live_header *header;
    ouro__rows *rows;
    uint32_t width;
} rereader;

static void add_record(const rereader *r, const ouro_node_ *node, const ouro_node_ *less,
                       uint32_t place) {
    uint64_t *sum = r->rows->values + (size_t)place * r->width;
    // The root is not called.
    for (uint32_t k = 0; place && k < ENTRY_KINDS; k++)
        sum[k] += node->entries[k] - (less ? less->entries[k] : 0);
    for (uint32_t m = 0; m < r->header->metric_count; m++)
        sum[ENTRY_KINDS + m] += node->metrics[m] - (less ? less->metrics[m] : 0);
}

static bool has_counts(const rereader *r, const ouro_node_ *node, const ouro_node_ *less) {
    uint64_t any = 0;
    for (uint32_t k = 0; k < ENTRY_KINDS; k++)
        any |= node->entries[k] - (less ? less->entries[k] : 0);
    for (uint32_t m = 0; m < r->header->metric_count; m++)
        any |= node->metrics[m] - (less ? less->metrics[m] : 0);
    return any != 0;
}

// false: the row is another one now. [lost] is a hole as long as it has no counts.
static bool take_record(const rereader *r, const ouro__again_lane *l, uint32_t row,
                        const char *bytes) {
    const ouro_node_ *node = (const ouro_node_ *)(const void *)bytes, *less = NULL;
    if (l->baseline)
        less =
            (const ouro_node_ *)(const void *)(l->baseline + (size_t)row * r->header->node_bytes);
    if (l->block[row]) {
        if (node->block != l->block[row] && row != 0) return false;
        add_record(r, node, less, l->place[row]);
        return true;
    }
    return node->block == 0 || (row == LOST_ROW && !has_counts(r, node, less));
}

// The nodes of a part, or their accounts.
static bool take_part(const rereader *r, const ouro__again_lane *l, const ouro__again_part *part,
                      bool accounts, char *chunk) {
    uint32_t bytes = r->header->node_bytes, at_once = CHUNK / bytes;
    if (part->first >= l->used) return true;
    uint32_t count = l->used - part->first < part->count ? l->used - part->first : part->count;
    uint64_t offset = part->data + (accounts ? (uint64_t)part->count * bytes : 0);
    uint32_t row = part->first + (accounts ? l->used : 0);
    for (uint32_t done = 0; done < count; done += at_once) {
        uint32_t n = count - done < at_once ? count - done : at_once;
        if (!read_at(r->fd, offset + (uint64_t)done * bytes, chunk, (size_t)n * bytes))
            return false;
        for (uint32_t i = 0; i < n; i++) {
            if (!take_record(r, l, row + done + i, chunk + (size_t)i * bytes)) return false;
        }
    }
    return true;
}

static bool same_state(const rereader *r, const ouro__again_lane *l) {
    ouro__lane_state state;
    return read_at(r->fd, l->state_offset, &state, sizeof state) && !state.active &&
           state.sequence == l->sequence && !(state.sequence & 1) && state.used == l->used;
}

typedef struct {
    const rereader *r;
    const ouro__again_lane *l;
    bool same;
} lane_gains;

// A node that was not there before is another one now.
static void add_gain(void *user, uint32_t row, uint32_t value, uint64_t n) {
    lane_gains *to = user;
    to->same = to->same && row < to->l->used && to->l->block[row];
    if (!to->same || value >= to->r->width) return;
    uint32_t place = to->l->place[row];
    if (place || value >= ENTRY_KINDS)
        to->r->rows->values[(size_t)place * to->r->width + value] += n;
}

// What call sites have counted: twice, see live_sites.c.
static bool take_slab(const rereader *r, const ouro__again_lane *l, const ouro__again_slab *at) {
    ouro__live_error ignored = {0};
    reader file = {.fd = r->fd, .error = &ignored};
    ouro__live_slab slab = {.at = *at};
    lane_gains into = {r, l, true};
    ouro__gains_to to = {r->header->node_bytes / (uint32_t)sizeof(uint64_t), NULL, add_gain, &into};
    uint64_t damaged;
    bool same = ouro__live_slab_read(&file, &slab, true) &&
                ouro__live_slab_read(&file, &slab, false) &&
                ouro__live_gains(&to, &slab, &damaged) && into.same;
    ouro__live_slab_free(&slab);
    return same;
}

static bool take_lane(const rereader *r, const ouro__again_lane *l, char *chunk) {
    bool same = same_state(r, l);
    for (size_t i = 0; same && i < l->part_count; i++)
        same = take_part(r, l, &l->parts[i], false, chunk) &&
               take_part(r, l, &l->parts[i], true, chunk);
    for (size_t i = 0; same && i < l->slab_count; i++) same = take_slab(r, l, &l->slabs[i]);
    return same && same_state(r, l);
}

// No segment, no reset and no other recording since then. Blocks without nodes do not matter.
static bool same_header(const rereader *r) {
    const live_header *was = r->header;
    live_header is;
    return read_at(r->fd, 0, &is, sizeof is) &&
           memcmp(is.magic, was->magic, sizeof is.magic) == 0 && is.version == was->version &&
           is.state == LIVE_RUNNING && is.end == was->end && is.resets == was->resets &&
           memcmp(is.recording, was->recording, sizeof is.recording) == 0;
}

bool ouro__live_read_again(int fd, ouro__live_profile *profile) {
    _Alignas(uint64_t) char chunk[CHUNK];
    const struct ouro__live_again *again = profile->again;
    if (!again) return false;
    rereader r = {fd, &again->header, profile->rows, ouro__row_width(profile->metric_count)};
    if (!same_header(&r)) return false;
    memset(r.rows->values, 0, (size_t)r.rows->count * r.width * sizeof *r.rows->values);
    bool same = true;
    for (uint32_t i = 0; same && i < again->lane_count; i++)
        same = take_lane(&r, &again->lanes[i], chunk);
    return same && same_header(&r);
}

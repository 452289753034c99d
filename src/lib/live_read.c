// SPDX-License-Identifier: MIT
//
// The live file, read: live_format.h is the layout. Everything is read with pread into memory of
// our own and checked before it is used, so a file that is cut, foreign, damaged, or cut while we
// read, is an error with a position and never a crash: every refusal is a `fail`. Memory follows
// what the file really holds, not what it claims. Begin with read_file.

#include "live_read.h"
#include "descriptors.h"
#include "live_again.h"
#include "live_slices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Fuzz targets change files that say that they are written now, and do not wait.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { TRIES = 3, TRY_NANOSECONDS = 1 };
#else
enum { TRIES = 1000, TRY_NANOSECONDS = 2 * 1000 * 1000 };
#endif

// What a header may say. The writer stays far inside. The size of a node is a multiple of four
// words, because a slot keeps the kind of entry in the low two bits of a position.
enum {
    PAGE_LEAST = 4096,
    PAGE_MOST = 1 << 20,
    SEGMENT_NODES_MOST = 1 << 20,
    NODE_BYTES_MOST = 128,
    NODE_BYTES_STEP = 32
};

// Where errors are: the offset of a member of the header in the file.
#define HEADER(member) offsetof(live_header, member)

typedef struct {
    uint64_t data; // offset in the file
    uint64_t bytes;
    uint32_t kind, lane, first;
    uint32_t count; // of nodes
    size_t next;    // 1 + the next segment of the same lane; 0: none
} segment;

typedef struct {
    int fd;
    uint64_t size; // of the file
    live_header header;
    segment *segments;
    size_t segment_count;
    size_t *first_of_lane; // 1 + its first segment; 0: it has none
    uint32_t lane_count;
    uint32_t stride;                // words per node
    uint32_t resets;                // header.resets as it was before the lanes were read
    struct ouro__live_again *again; // NULL: nobody will read it again
    ouro__live_error *error;
} reader;

__attribute__((format(printf, 4, 5))) static bool fail(reader *r, int code, uint64_t offset,
                                                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error->message, sizeof r->error->message, format, arguments);
    va_end(arguments);
    r->error->code = code;
    r->error->offset = offset;
    return false;
}

static bool fail_memory(reader *r) { return fail(r, ENOMEM, 0, "out of memory"); }

static bool read_at(reader *r, uint64_t offset, void *to, uint64_t bytes) {
    char *at = to;
    while (bytes > 0) {
        size_t part = bytes > (1u << 30) ? 1u << 30 : (size_t)bytes;
        ssize_t n = pread(r->fd, at, part, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(r, errno, offset, "cannot read: %s", strerror(errno));
        if (n == 0) return fail(r, EILSEQ, offset, "the file ends here; is it cut off?");
        at += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

// ---------------------------------------------------------------- header and segments

static bool check_version(reader *r) {
    const live_header *h = &r->header;
    if (memcmp(h->magic, LIVE_MAGIC, sizeof h->magic) != 0)
        return fail(r, EILSEQ, 0, "not a live profile: it does not begin with " LIVE_MAGIC);
    if (h->byte_order == __builtin_bswap32(LIVE_BYTE_ORDER))
        return fail(r, EILSEQ, HEADER(byte_order),
                    "written on a machine with the other byte order; read it there");
    if (h->byte_order != LIVE_BYTE_ORDER)
        return fail(r, EILSEQ, HEADER(byte_order), "damaged: no byte order");
    if (h->version < LIVE_VERSION_LEAST || h->version > LIVE_VERSION)
        return fail(r, EILSEQ, HEADER(version),
                    "version %u of the format, this is a reader of version %u: use the %s",
                    h->version, LIVE_VERSION,
                    h->version > LIVE_VERSION ? "newer program" : "program that wrote it");
    return true;
}

static bool ask_size(reader *r) {
    struct stat status;
    if (fstat(r->fd, &status)) return fail(r, errno, 0, "cannot read: %s", strerror(errno));
    r->size = (uint64_t)status.st_size;
    return true;
}

static bool check_header(reader *r) {
    const live_header *h = &r->header;
    // It may have grown before the header was read.
    if (h->end > r->size && !ask_size(r)) return false;
    if (h->page < PAGE_LEAST || h->page > PAGE_MOST || (h->page & (h->page - 1)))
        return fail(r, EILSEQ, HEADER(page), "damaged: pages of %u bytes", h->page);
    if (h->metric_count > OURO_METRICS_MAX)
        return fail(r, EILSEQ, HEADER(metric_count), "damaged: %u metrics of at most %d",
                    h->metric_count, OURO_METRICS_MAX);
    if (h->node_bytes % NODE_BYTES_STEP || h->node_bytes > NODE_BYTES_MOST ||
        h->node_bytes < (NODE_HEAD_WORDS + h->metric_count) * sizeof(uint64_t))
        return fail(r, EILSEQ, HEADER(node_bytes), "damaged: nodes of %u bytes", h->node_bytes);
    if (h->segment_nodes == 0 || h->segment_nodes > SEGMENT_NODES_MOST)
        return fail(r, EILSEQ, HEADER(segment_nodes), "damaged: segments of %u nodes",
                    h->segment_nodes);
    if (h->capacity < 2 ||
        (uint64_t)h->capacity * 2 * (h->node_bytes / sizeof(uint64_t)) > UINT32_MAX)
        return fail(r, EILSEQ, HEADER(capacity), "damaged: room for %u nodes", h->capacity);
    if (h->end > r->size)
        return fail(r, EILSEQ, r->size, "the file has %llu bytes of %llu; is it cut off?",
                    (unsigned long long)r->size, (unsigned long long)h->end);
    r->stride = h->node_bytes / (uint32_t)sizeof(uint64_t);
    return true;
}

static bool measure(reader *r) {
    struct stat status;
    if (fstat(r->fd, &status)) return fail(r, errno, 0, "cannot read: %s", strerror(errno));
    r->size = (uint64_t)status.st_size;
    return true;
}

// A running program makes the file longer and then says so in the header: the length that the
// header is checked with is taken after it.
static bool read_header(reader *r) {
    if (!measure(r)) return false;
    if (r->size == 0) return fail(r, EILSEQ, 0, "the file is empty");
    if (r->size < sizeof r->header)
        return fail(r, EILSEQ, r->size, "not a live profile, or cut off: %llu bytes",
                    (unsigned long long)r->size);
    return read_at(r, 0, &r->header, sizeof r->header) && measure(r) && check_version(r) &&
           check_header(r);
}

static bool check_segment(reader *r, const live_segment *head, uint64_t at) {
    const live_header *h = &r->header;
    if (head->magic != LIVE_SEGMENT_MAGIC)
        return fail(r, EILSEQ, at, "damaged: no segment begins here");
    if (head->data_bytes > h->end - at - h->page)
        return fail(r, EILSEQ, at + offsetof(live_segment, data_bytes),
                    "damaged: a segment of %llu bytes reaches beyond the end",
                    (unsigned long long)head->data_bytes);
    if (head->kind == LIVE_NODES || head->kind == LIVE_BASELINE) {
        uint64_t unit = 2 * (uint64_t)h->segment_nodes * h->node_bytes;
        uint64_t count = head->data_bytes / (2 * h->node_bytes);
        if (head->data_bytes == 0 || head->data_bytes % unit || head->first > h->capacity ||
            count > h->capacity - head->first)
            return fail(r, EILSEQ, at, "damaged: nodes from %u on", head->first);
    }
    if (head->kind == LIVE_LANE && head->data_bytes < sizeof(ouro__lane_state))
        return fail(r, EILSEQ, at + offsetof(live_segment, data_bytes),
                    "damaged: a lane of %llu bytes", (unsigned long long)head->data_bytes);
    return true;
}

// A file may have as many lanes as segments, so no lane looks through all of them.
static bool link_lanes(reader *r) {
    free(r->first_of_lane);
    r->first_of_lane = calloc((size_t)r->lane_count + 1, sizeof *r->first_of_lane);
    if (!r->first_of_lane) return fail_memory(r);
    for (size_t i = r->segment_count; i-- > 0;) {
        segment *s = &r->segments[i];
        bool of_lane = s->kind == LIVE_LANE || s->kind == LIVE_NODES || s->kind == LIVE_BASELINE ||
                       s->kind == LIVE_SLICES;
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
            return fail(r, EILSEQ, at, "damaged: half a segment at the end");
        if (!read_at(r, at, &head, sizeof head) || !check_segment(r, &head, at)) return false;
        if (r->segment_count == room) {
            room = room ? room * 2 : 64;
            segment *grown = realloc(r->segments, room * sizeof *grown);
            if (!grown) return fail_memory(r);
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

// ---------------------------------------------------------------- texts and blocks

// Segments stand in the file in the order of their offsets.
static const segment *segment_with(const reader *r, uint64_t offset) {
    size_t low = 0, high = r->segment_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->segments[middle].data <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low ? &r->segments[low - 1] : NULL;
}

// Texts are short and many: they are not read one by one, but segment by segment, and copied into
// one pool when all are known.
typedef struct {
    char **segments; // content of each TEXT segment, by index
    char *pool;
    size_t pool_used;
} text_reader;

static bool load_texts(reader *r, text_reader *t) {
    t->segments = calloc(r->segment_count + 1, sizeof *t->segments);
    if (!t->segments) return fail_memory(r);
    for (size_t i = 0; i < r->segment_count; i++) {
        const segment *s = &r->segments[i];
        if (s->kind != LIVE_TEXT) continue;
        t->segments[i] = malloc(s->bytes + 1);
        if (!t->segments[i]) return fail_memory(r);
        if (!read_at(r, s->data, t->segments[i], s->bytes)) return false;
    }
    return true;
}

static bool check_text(reader *r, const live_text *text, uint64_t at) {
    const segment *s = segment_with(r, text->offset);
    if (s && s->kind == LIVE_TEXT && text->offset - s->data <= s->bytes &&
        text->length <= s->bytes - (text->offset - s->data))
        return true;
    return fail(r, EILSEQ, at, "damaged: a text of %u bytes at %llu", text->length,
                (unsigned long long)text->offset);
}

// The text has been checked, and the pool has room for it.
static const char *copy_text(const reader *r, text_reader *t, const live_text *text) {
    const segment *s = segment_with(r, text->offset);
    char *copy = t->pool + t->pool_used;
    memcpy(copy, t->segments[s - r->segments] + (text->offset - s->data), text->length);
    copy[text->length] = '\0';
    t->pool_used += (size_t)text->length + 1;
    return copy;
}

// The records of all blocks. Those of a segment reach as far as the next segment of blocks, or the
// last block.
static bool load_blocks(reader *r, live_block *records, uint32_t count) {
    uint32_t end = count;
    for (size_t i = r->segment_count; i-- > 0;) {
        const segment *s = &r->segments[i];
        if (s->kind != LIVE_BLOCKS || s->first >= end) continue;
        if (end - s->first > s->bytes / sizeof *records)
            return fail(r, EILSEQ, s->data, "damaged: blocks are missing after block %u", s->first);
        if (!read_at(r, s->data, records + s->first, (uint64_t)(end - s->first) * sizeof *records))
            return false;
        for (uint32_t b = s->first; b < end; b++) {
            uint64_t at = s->data + (uint64_t)(b - s->first) * sizeof *records;
            if (!check_text(r, &records[b].name, at + offsetof(live_block, name)) ||
                !check_text(r, &records[b].file, at + offsetof(live_block, file)))
                return false;
        }
        end = s->first;
    }
    return end == 0 ||
           fail(r, EILSEQ, HEADER(block_count), "damaged: blocks before block %u are missing", end);
}

static live_block *read_block_records(reader *r) {
    uint64_t there = 0;
    for (size_t i = 0; i < r->segment_count; i++)
        there += r->segments[i].kind == LIVE_BLOCKS ? r->segments[i].bytes / sizeof(live_block) : 0;
    uint32_t count = r->header.block_count;
    if (count > there) {
        fail(r, EILSEQ, HEADER(block_count), "damaged: %u blocks, room for %llu", count,
             (unsigned long long)there);
        return NULL;
    }
    live_block *records = malloc(((size_t)count + 1) * sizeof *records);
    if (!records) fail_memory(r);
    if (records && load_blocks(r, records, count)) return records;
    free(records);
    return NULL;
}

static bool check_header_texts(reader *r) {
    const live_header *h = &r->header;
    for (uint32_t m = 0; m < h->metric_count; m++) {
        if (!check_text(r, &h->metric_names[m], HEADER(metric_names[m]))) return false;
        if (!check_text(r, &h->metric_units[m], HEADER(metric_units[m]))) return false;
    }
    return check_text(r, &h->program, HEADER(program));
}

static size_t pool_size(const live_header *h, const live_block *records) {
    size_t size = (size_t)h->program.length + 1;
    for (uint32_t m = 0; m < h->metric_count; m++)
        size += (size_t)h->metric_names[m].length + h->metric_units[m].length + 2;
    for (uint32_t b = 0; b < h->block_count; b++)
        size += (size_t)records[b].name.length + records[b].file.length + 2;
    return size;
}

static void copy_texts(const reader *r, text_reader *t, const live_block *records,
                       ouro__live_profile *p) {
    const live_header *h = &r->header;
    for (uint32_t m = 0; m < h->metric_count; m++) {
        p->metrics[m].name = copy_text(r, t, &h->metric_names[m]);
        p->metrics[m].unit = copy_text(r, t, &h->metric_units[m]);
    }
    p->program = copy_text(r, t, &h->program);
    for (uint32_t b = 0; b < h->block_count; b++) {
        p->blocks[b].name = copy_text(r, t, &records[b].name);
        p->blocks[b].file = copy_text(r, t, &records[b].file);
        p->blocks[b].line = records[b].line;
        p->blocks[b].column = records[b].column;
    }
}

// Overlapping texts in a damaged file could ask for more than the file has.
static bool read_texts_and_blocks(reader *r, ouro__live_profile *p) {
    text_reader t = {0};
    live_block *records = check_header_texts(r) ? read_block_records(r) : NULL;
    bool ok = records && load_texts(r, &t);
    size_t size = ok ? pool_size(&r->header, records) : 0;
    if (ok && size > r->header.end + 2 * (uint64_t)r->header.block_count + 64)
        ok = fail(r, EILSEQ, 0, "damaged: texts of %llu bytes", (unsigned long long)size);
    if (ok) {
        p->texts = t.pool = malloc(size);
        p->blocks = calloc((size_t)r->header.block_count + 1, sizeof *p->blocks);
        ok = p->texts && p->blocks ? true : fail_memory(r);
    }
    if (ok) {
        p->block_count = r->header.block_count;
        p->metric_count = r->header.metric_count;
        copy_texts(r, &t, records, p);
    }
    for (size_t i = 0; t.segments && i < r->segment_count; i++) free(t.segments[i]);
    free(t.segments);
    free(records);
    return ok;
}

// ---------------------------------------------------------------- lanes

typedef struct {
    uint32_t id;
    uint64_t state_offset;
    ouro__lane_state state;
    uint32_t used;
    const segment **parts; // NODES segments, each from where the one before it ends
    size_t part_count;
    const segment **baselines; // BASELINE segments, the same way: of the first nodes
    size_t baseline_count;
    uint32_t room, baseline_room; // nodes in them
    bool running;
    char *raw;      // the nodes and then the accounts, as in the file
    char *baseline; // the same of their baselines
    size_t raw_size;
    // By node: in use when it was read the first time; later: belongs to the tree.
    unsigned char *seen;
    ouro__image image; // nodes 0 .. used-1, then their accounts
} lane_reader;

// READ: done. CHANGED: it changed meanwhile, or does not hang together. ERROR: it will not go away.
typedef enum { LANE_ERROR, LANE_CHANGED, LANE_READ } lane_result;

// For errors: where a record stands in the file.
static uint64_t record_offset(const reader *r, const lane_reader *l, uint32_t index, bool account) {
    size_t part = 0;
    while (index - l->parts[part]->first >= l->parts[part]->count) part++;
    const segment *s = l->parts[part];
    uint64_t row = index - s->first + (account ? s->count : 0);
    return s->data + row * r->header.node_bytes;
}

// The records of a segment's nodes, or of their accounts, to the places of these in `to`.
static bool read_part(reader *r, const lane_reader *l, const segment *s, bool accounts, char *to) {
    uint64_t bytes = r->header.node_bytes;
    if (s->first >= l->used) return true;
    uint64_t n = l->used - s->first < s->count ? l->used - s->first : s->count;
    uint64_t at = s->data + (accounts ? s->count * bytes : 0);
    return read_at(r, at, to + ((accounts ? l->used : 0) + s->first) * bytes, n * bytes);
}

static bool read_records(reader *r, lane_reader *l, bool accounts) {
    bool ok = true;
    for (size_t i = 0; ok && i < l->part_count; i++)
        ok = read_part(r, l, l->parts[i], accounts, l->raw);
    return ok;
}

// Nodes without a baseline have counted from zero.
static bool read_baselines(reader *r, lane_reader *l) {
    bool ok = true;
    if (l->baseline_count) memset(l->baseline, 0, 2 * (size_t)l->used * r->header.node_bytes);
    for (size_t i = 0; ok && i < l->baseline_count; i++)
        ok = read_part(r, l, l->baselines[i], false, l->baseline) &&
             read_part(r, l, l->baselines[i], true, l->baseline);
    return ok;
}

static lane_result read_state(reader *r, lane_reader *l) {
    if (!read_at(r, l->state_offset, &l->state, sizeof l->state)) return LANE_ERROR;
    l->used = l->state.used;
    if (l->used <= l->room) return LANE_READ;
    // Damage, or a segment that is newer than our list of them.
    fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, used), "damaged: %u nodes of %u",
         l->used, l->room);
    return LANE_CHANGED;
}

static lane_result still_the_same(reader *r, const lane_reader *l) {
    uint32_t sequence;
    if (!read_at(r, l->state_offset, &sequence, sizeof sequence)) return LANE_ERROR;
    return sequence == l->state.sequence ? LANE_READ : LANE_CHANGED;
}

static bool raw_reserve(reader *r, lane_reader *l, size_t size) {
    if (size <= l->raw_size) return true;
    free(l->raw);
    free(l->baseline);
    free(l->seen);
    l->raw = malloc(size);
    l->baseline = malloc(size);
    l->seen = malloc(size / (2 * r->header.node_bytes));
    l->raw_size = l->raw && l->baseline && l->seen ? size : 0;
    return l->raw_size ? true : fail_memory(r);
}

static const ouro_node_ *raw_record(const reader *r, const lane_reader *l, uint32_t row) {
    return (const ouro_node_ *)(const void *)(l->raw + (size_t)row * r->header.node_bytes);
}

static void mark_seen(const reader *r, lane_reader *l) {
    for (uint32_t i = 0; i < l->used; i++) l->seen[i] = raw_record(r, l, i)->block != 0;
}

// Everything at once and nothing else, so that a busy writer leaves us time for it. A running
// program is read twice: one reading may find a node's block, which makes it a node, and miss what
// was written just before it. What was a node in the first reading is complete in the second.
static lane_result read_raw(reader *r, lane_reader *l) {
    lane_result result = read_state(r, l);
    if (result != LANE_READ) return result;
    size_t size = 2 * (size_t)l->used * r->header.node_bytes;
    if (!raw_reserve(r, l, size)) return LANE_ERROR;
    result = read_state(r, l);
    if (result != LANE_READ) return result;
    if (2 * (size_t)l->used * r->header.node_bytes > l->raw_size) return LANE_CHANGED;
    if (l->used == 0) return LANE_READ; // killed before it had a root
    if (!read_records(r, l, false)) return LANE_ERROR;
    mark_seen(r, l);
    if (l->running && !read_records(r, l, false)) return LANE_ERROR;
    if (!read_records(r, l, true) || !read_baselines(r, l)) return LANE_ERROR;
    return still_the_same(r, l);
}

static void take_record(const reader *r, lane_reader *l, uint32_t row) {
    const ouro_node_ *node = raw_record(r, l, row);
    uint32_t metrics = r->header.metric_count;
    uint64_t *values = l->image.values + (size_t)row * ouro__row_width(metrics);
    l->image.block[row] = node->block;
    l->image.parent[row] = row >= l->used ? row - l->used : node->parent;
    memcpy(values, node->entries, sizeof node->entries);
    memcpy(values + ENTRY_KINDS, node->metrics, metrics * sizeof *values);
}

// An eviction that was cut short is done again.
static bool finish_eviction(reader *r, lane_reader *l) {
    const ouro__lane_state *s = &l->state;
    if (!s->active) return true;
    uint32_t node = s->node / r->stride, account = s->account / r->stride - r->header.capacity;
    if (s->node % r->stride || s->account % r->stride || node >= l->used || account >= l->used ||
        node < 2)
        return fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, active),
                    "damaged: an eviction of node %u", node);
    uint32_t metrics = r->header.metric_count;
    uint64_t *values = l->image.values + ((size_t)l->used + account) * ouro__row_width(metrics);
    memcpy(values, s->entries, sizeof s->entries);
    memcpy(values + ENTRY_KINDS, s->metrics, metrics * sizeof *values);
    l->image.block[l->used + account] = OURO_PRUNED;
    l->image.parent[l->used + account] = account;
    l->image.block[node] = l->image.block[l->used + node] = 0;
    return true;
}

// Of value `v` of a row.
static uint64_t baseline_of(const reader *r, const lane_reader *l, uint32_t row, uint32_t v) {
    const ouro_node_ *node =
        (const ouro_node_ *)(const void *)(l->baseline + (size_t)row * r->header.node_bytes);
    if (!l->baseline_count) return 0;
    return v < ENTRY_KINDS ? node->entries[v] : node->metrics[v - ENTRY_KINDS];
}

static bool subtract(reader *r, lane_reader *l, uint32_t row, uint64_t *value, uint64_t baseline) {
    if (baseline <= *value) {
        *value -= baseline;
        return true;
    }
    bool account = row >= l->used;
    return fail(r, EILSEQ, record_offset(r, l, row % l->used, account),
                "damaged: a counter is less than at the last reset");
}

// Counts since the last reset. One that was cut short is done here: all is zero.
static bool subtract_baselines(reader *r, lane_reader *l) {
    uint32_t metrics = r->header.metric_count, width = ouro__row_width(metrics);
    if (!l->baseline_count && !(r->resets & 1)) return true;
    for (uint32_t row = 0; row < 2 * l->used; row++) {
        uint64_t *values = l->image.values + (size_t)row * width;
        if (l->image.block[row] == 0) continue;
        if (r->resets & 1) memset(values, 0, width * sizeof *values);
        for (uint32_t v = 0; v < width && !(r->resets & 1); v++) {
            uint64_t less = baseline_of(r, l, row, v);
            if (!subtract(r, l, row, &values[v], less)) return false;
        }
    }
    return true;
}

// What misuse charged to places that are not in use counts as [lost]; see stray.c. Only where
// nobody writes: else a place that becomes a node just now looks the same.
static void add_strays(const reader *r, lane_reader *l) {
    uint32_t width = ouro__row_width(r->header.metric_count);
    uint32_t evicted = l->state.active ? l->state.node / r->stride : 0;
    uint64_t *lost = l->image.values + LOST_ROW * width;
    if (l->running || (r->resets & 1)) return;
    for (uint32_t row = 1; row < 2 * l->used; row++) {
        if (l->image.block[row] || (evicted && row % l->used == evicted)) continue;
        const uint64_t *values = l->image.values + (size_t)row * width;
        for (uint32_t v = 0; v < width; v++) {
            uint64_t less = baseline_of(r, l, row, v);
            lost[v] += values[v] > less ? values[v] - less : 0;
        }
    }
}

static bool parent_in_range(reader *r, const lane_reader *l, uint32_t i) {
    uint32_t parent = l->image.parent[i];
    if (parent % r->stride == 0 && parent / r->stride < l->used) return true;
    return fail(r, EILSEQ, record_offset(r, l, i, false) + offsetof(ouro_node_, parent),
                "damaged: node %u has the parent %u", i, parent);
}

// Parents from word offsets to rows. A node's parent was a node before it: so it is complete, too,
// even if the first reading had passed its place. What came later is not taken.
static lane_result link_parents(reader *r, lane_reader *l) {
    ouro__image *image = &l->image;
    for (uint32_t i = 1; i < l->used; i++) {
        if (!l->seen[i] || image->block[i] == 0) continue;
        for (uint32_t child = i;;) {
            if (!parent_in_range(r, l, child)) return LANE_CHANGED;
            uint32_t parent = image->parent[child] / r->stride;
            if (image->block[parent] == 0) {
                fail(r, EILSEQ, record_offset(r, l, parent, false),
                     "damaged: node %u hangs on node %u, which is not there", child, parent);
                return LANE_CHANGED;
            }
            if (l->seen[parent]) break;
            l->seen[parent] = 1;
            child = parent;
        }
    }
    for (uint32_t i = 0; i < l->used; i++) {
        if (!l->seen[i]) image->block[i] = 0;
        image->parent[i] /= r->stride;
    }
    return LANE_READ;
}

// An account is an account and a node is none. That the blocks exist is checked when all lanes
// are read.
static bool check_accounts(reader *r, const lane_reader *l) {
    for (uint32_t i = 1; i < l->image.count; i++) {
        uint32_t block = l->image.block[i];
        bool in_accounts = i >= l->used;
        if (block == 0 || (block == OURO_PRUNED) == in_accounts) continue;
        return fail(r, EILSEQ,
                    record_offset(r, l, i % l->used, in_accounts) + offsetof(ouro_node_, block),
                    "damaged: block %u of a%s", block, in_accounts ? "n account" : " node");
    }
    return true;
}

// [lost] without counts, and accounts of nodes that are not there, are holes.
static void drop_empty(const reader *r, lane_reader *l) {
    uint32_t width = ouro__row_width(r->header.metric_count);
    uint64_t any = 0;
    for (uint32_t v = 0; v < width; v++) any |= l->image.values[LOST_ROW * width + v];
    if (!any) l->image.block[LOST_ROW] = 0;
    for (uint32_t i = 0; i < l->used; i++) {
        if (l->image.block[i] == 0) l->image.block[l->used + i] = 0;
    }
}

static lane_result make_image(reader *r, lane_reader *l) {
    if (l->used == 0) return LANE_READ;
    if (l->used < 2) {
        fail(r, EILSEQ, l->state_offset + offsetof(ouro__lane_state, used), "damaged: %u node",
             l->used);
        return LANE_CHANGED;
    }
    ouro__image_free(&l->image);
    if (!ouro__image_alloc(&l->image, 2 * l->used, r->header.metric_count)) {
        fail_memory(r);
        return LANE_ERROR;
    }
    for (uint32_t row = 0; row < 2 * l->used; row++) take_record(r, l, row);
    if (!finish_eviction(r, l) || !subtract_baselines(r, l)) return LANE_CHANGED;
    add_strays(r, l);
    lane_result linked = link_parents(r, l);
    if (linked != LANE_READ) return linked;
    if (!check_accounts(r, l)) return LANE_CHANGED;
    drop_empty(r, l);
    return LANE_READ;
}

// A segment of nodes goes on where the one before it ends.
static bool add_part(reader *r, const segment *s, const segment **list, size_t *count,
                     uint32_t *room) {
    if (s->first != *room)
        return fail(r, EILSEQ, s->data, "damaged: nodes from %u on, out of order", s->first);
    list[(*count)++] = s;
    *room += s->count;
    return true;
}

static bool take_part(reader *r, lane_reader *l, const segment *s) {
    if (s->kind == LIVE_LANE) l->state_offset = s->data;
    if (s->kind == LIVE_NODES) return add_part(r, s, l->parts, &l->part_count, &l->room);
    if (s->kind != LIVE_BASELINE) return true;
    if (!add_part(r, s, l->baselines, &l->baseline_count, &l->baseline_room)) return false;
    return l->baseline_room <= l->room ||
           fail(r, EILSEQ, s->data, "damaged: a baseline of nodes that are not there");
}

static bool find_parts(reader *r, lane_reader *l) {
    size_t first = l->id < r->lane_count ? r->first_of_lane[l->id] : 0, count = 0;
    for (size_t i = first; i; i = r->segments[i - 1].next) count++;
    free(l->parts);
    free(l->baselines);
    l->part_count = l->baseline_count = 0;
    l->room = l->baseline_room = 0;
    l->parts = calloc(count + 1, sizeof *l->parts);
    l->baselines = calloc(count + 1, sizeof *l->baselines);
    if (!l->parts || !l->baselines) return fail_memory(r);
    for (size_t i = first; i; i = r->segments[i - 1].next) {
        if (!take_part(r, l, &r->segments[i - 1])) return false;
    }
    return l->state_offset != 0 || fail(r, EILSEQ, 0, "damaged: lane %u has no state", l->id);
}

// A running program adds segments and blocks while we read.
static bool refresh(reader *r) {
    r->segment_count = 0;
    r->lane_count = 0;
    return ask_size(r) && read_header(r) && read_segments(r);
}

// In the middle of a pruning only a writer that is gone, or stands still, can be read.
static lane_result try_lane(reader *r, lane_reader *l, bool still) {
    if (!find_parts(r, l)) return LANE_ERROR;
    lane_result result = read_raw(r, l);
    if (result != LANE_READ) return result;
    if ((l->state.sequence & 1) && !still) return LANE_CHANGED;
    return make_image(r, l);
}

// What ouro__live_read_again needs; blocks and places follow when lanes are merged.
static bool remember_lane(reader *r, lane_reader *l) {
    ouro__again_lane *to = &r->again->lanes[l->id];
    *to = (ouro__again_lane){.state_offset = l->state_offset,
                             .sequence = l->state.sequence,
                             .used = l->used,
                             .parts = calloc(l->part_count + 1, sizeof *to->parts),
                             .part_count = l->part_count};
    if (!to->parts) return fail_memory(r);
    for (size_t i = 0; i < l->part_count; i++)
        to->parts[i] =
            (ouro__again_part){l->parts[i]->data, l->parts[i]->first, l->parts[i]->count};
    if (l->baseline_count) {
        to->baseline = l->baseline;
        l->baseline = NULL;
    }
    return true;
}

// Of a running program: again and again, without a pause at first, until nothing changed meanwhile.
// A pruning that does not end in all that time belongs to a program that was stopped.
static bool read_lane(reader *r, uint32_t id, bool running, ouro__image *image) {
    lane_reader l = {.id = id, .running = running};
    lane_result result = try_lane(r, &l, !running);
    for (int i = 0; i < TRIES && running && result == LANE_CHANGED; i++) {
        uint32_t sequence = l.state.sequence;
        if (i > TRIES / 2) nanosleep(&(struct timespec){0, TRY_NANOSECONDS}, NULL);
        bool stands =
            i == TRIES - 1 && still_the_same(r, &l) == LANE_READ && l.state.sequence == sequence;
        result = refresh(r) ? try_lane(r, &l, stands) : LANE_ERROR;
    }
    if (result == LANE_READ && r->again && !remember_lane(r, &l)) result = LANE_ERROR;
    free(l.parts);
    free(l.baselines);
    free(l.raw);
    free(l.baseline);
    free(l.seen);
    *image = l.image;
    if (result == LANE_CHANGED && r->error->message[0] == '\0')
        fail(r, EAGAIN, 0, "the program changes it faster than it can be read; try again");
    return result == LANE_READ;
}

static bool check_image_blocks(reader *r, const ouro__image *image) {
    for (uint32_t i = 1; i < image->count; i++) {
        if (image->block[i] >= r->header.block_count)
            return fail(r, EILSEQ, HEADER(block_count), "damaged: a node has block %u of %u",
                        image->block[i], r->header.block_count);
    }
    return true;
}

typedef struct {
    ouro__image *list;
    uint32_t count;
    ouro__slices_copy slices;
} images;

static void images_free(images *all) {
    for (uint32_t i = 0; i < all->count; i++) ouro__image_free(&all->list[i]);
    free(all->list);
    ouro__slices_copy_free(&all->slices);
    *all = (images){0};
}

// ---------------------------------------------------------------- slices

static ouro__slices_segment *slices_segments(const reader *r, uint32_t lane, size_t *count) {
    size_t first = lane < r->lane_count ? r->first_of_lane[lane] : 0, n = 0;
    for (size_t i = first; i; i = r->segments[i - 1].next) n++;
    ouro__slices_segment *list = malloc((n + 1) * sizeof *list);
    *count = 0;
    for (size_t i = first; list && i; i = r->segments[i - 1].next) {
        const segment *s = &r->segments[i - 1];
        if (s->kind == LIVE_SLICES)
            list[(*count)++] = (ouro__slices_segment){s->data, s->bytes, s->first};
    }
    return list;
}

static ouro__slices_result try_slices(reader *r, uint32_t lane, bool running,
                                      ouro__lane_slices *to) {
    ouro__slices_reader s = {
        .fd = r->fd, .lane = lane, .metric_count = r->header.metric_count, .running = running};
    ouro__slices_segment *segments = slices_segments(r, lane, &s.segment_count);
    s.segments = segments;
    ouro__slices_result result = SLICES_MEMORY;
    if (segments) result = ouro__live_slices_read(&s, to);
    if (result == SLICES_MEMORY) fail_memory(r);
    if (result == SLICES_DAMAGED || result == SLICES_CHANGED)
        fail(r, EILSEQ, s.offset, "%s", s.problem ? s.problem : "damaged: slices");
    free(segments);
    return result;
}

// Before the lane itself: so all that slices have counted is in the lane, too.
static bool read_slices(reader *r, uint32_t lane, bool running, images *all) {
    ouro__lane_slices *to = &all->slices.lanes[all->slices.count];
    if (r->resets & 1) return true;
    ouro__slices_result result = try_slices(r, lane, running, to);
    for (int i = 0; i < TRIES && running && result == SLICES_CHANGED; i++) {
        if (i > TRIES / 2) nanosleep(&(struct timespec){0, TRY_NANOSECONDS}, NULL);
        if (!refresh(r)) return false;
        result = try_slices(r, lane, running, to);
    }
    if (result == SLICES_READ) all->slices.count++;
    if (result == SLICES_READ || result == SLICES_NONE) r->error->message[0] = '\0';
    return result == SLICES_READ || result == SLICES_NONE;
}

// What is open has been so until now, or until the profile was finished. 0: nobody knows.
static uint64_t open_since(const reader *r, bool running, uint64_t start) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    uint64_t end = running ? now : r->header.end_time, began = r->header.start_time + start;
    return end > began ? end - began : 0;
}

static void slices_of_lane_end(const reader *r, bool running, images *all, uint32_t lane) {
    ouro__lane_slices *last = all->slices.count ? &all->slices.lanes[all->slices.count - 1] : NULL;
    if (!last || last->lane != lane) return;
    ouro__slices_open(last, &all->list[lane], r->header.metric_count);
    if (last->is_open) last->open_duration = open_since(r, running, last->open_start);
}

// Their blocks, and that they are trees.
static bool finish_slices(reader *r, images *all) {
    for (uint32_t i = 0; i < all->slices.count; i++) {
        const ouro__lane_slices *l = &all->slices.lanes[i];
        for (uint32_t t = 0; t < l->tree_count; t++) {
            if (!check_image_blocks(r, &l->trees[t].image)) return false;
        }
    }
    if (!ouro__slices_copy_finish(&all->slices)) return fail_memory(r);
    for (uint32_t i = 0; i < all->slices.count; i++) {
        const ouro__lane_slices *l = &all->slices.lanes[i];
        for (uint32_t t = 0; t < l->tree_count; t++) {
            if (l->trees[t].rows->unreached)
                return fail(r, EILSEQ, 0, "damaged: the tree of slice %llu hangs on no root",
                            (unsigned long long)l->trees[t].number);
        }
    }
    return true;
}

// ---------------------------------------------------------------- all lanes

// Begins anew: lanes may be read several times.
static bool remember_lanes(reader *r) {
    if (!r->again) return true;
    ouro__live_again_free(r->again);
    r->again = calloc(1, sizeof *r->again);
    if (!r->again) return false;
    r->again->lanes = calloc((size_t)r->lane_count + 1, sizeof *r->again->lanes);
    if (!r->again->lanes) return false;
    r->again->lane_count = r->lane_count;
    r->again->header = r->header;
    r->again->header.resets = r->resets;
    return true;
}

static bool ask_places(reader *r, const images *all) {
    bool ok = true;
    for (uint32_t i = 0; r->again && ok && i < all->count; i++)
        ok = ouro__image_ask_places(&all->list[i]) || fail_memory(r);
    return ok;
}

static void keep_places(reader *r, images *all) {
    for (uint32_t i = 0; r->again && i < all->count; i++) {
        ouro__again_lane *to = &r->again->lanes[i];
        to->block = all->list[i].block;
        to->place = all->list[i].place;
        all->list[i].block = all->list[i].place = NULL;
    }
}

static bool read_images(reader *r, bool running, images *all) {
    all->count = r->lane_count;
    all->list = calloc((size_t)all->count + 1, sizeof *all->list);
    if (!all->list || !remember_lanes(r) ||
        !ouro__slices_copy_begin(&all->slices, all->count, r->header.metric_count)) {
        all->count = 0;
        return fail_memory(r);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (!read_slices(r, i, running, all) || !read_lane(r, i, running, &all->list[i]))
            return false;
        slices_of_lane_end(r, running, all, i);
    }
    return true;
}

// The number of resets, before anything that it vouches for: the baselines were published before it
// was raised.
static bool read_resets(reader *r, uint32_t *resets) {
    return read_at(r, offsetof(live_header, resets), resets, sizeof *resets);
}

// All lanes between two resets. A reset that does not end belongs to a program that was stopped.
static bool read_between_resets(reader *r, bool running, images *all) {
    for (int i = 0; i < TRIES; i++) {
        uint32_t after;
        if (!read_resets(r, &r->resets)) return false;
        if ((r->resets & 1) && running && i < TRIES - 1) {
            nanosleep(&(struct timespec){0, TRY_NANOSECONDS}, NULL);
            continue;
        }
        if (running && !refresh(r)) return false;
        bool ok = read_images(r, running, all);
        if (!running) return ok;
        if (!read_resets(r, &after)) return false;
        if (after == r->resets) return ok;
        images_free(all);
    }
    return fail(r, EAGAIN, 0, "the program resets it faster than it can be read; try again");
}

static bool read_lanes(reader *r, ouro__live_profile *p) {
    images all = {0};
    bool ok = read_between_resets(r, p->running, &all);
    // The blocks that the nodes name were published before the nodes: read the header again.
    if (ok && p->running) ok = refresh(r);
    for (uint32_t i = 0; ok && i < all.count; i++) ok = check_image_blocks(r, &all.list[i]);
    ok = ok && ask_places(r, &all);
    if (ok) {
        p->rows = ouro__rows_merge(all.list, all.count, r->header.metric_count);
        ok = p->rows ? true : fail_memory(r);
    }
    if (ok && p->rows->unreached)
        ok = fail(r, EILSEQ, 0, "damaged: %u nodes hang in no tree", p->rows->unreached);
    ok = ok && finish_slices(r, &all);
    if (ok) {
        keep_places(r, &all);
        p->slices = all.slices;
        all.slices = (ouro__slices_copy){0};
    }
    images_free(&all);
    return ok;
}

// ---------------------------------------------------------------- the file

// The writer holds a lock as long as it runs. Who may not see its process finds that out by asking
// for another kind of lock, which is given back at once.
bool ouro__live_has_writer(int fd, uint64_t process, uint64_t process_start) {
    uint64_t started = ouro__process_start(process);
    if (started != 0 && started == process_start) return true;
    if (flock(fd, LOCK_EX | LOCK_NB)) return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

static bool read_file(reader *r, ouro__live_profile *p) {
    struct stat status;
    if (fstat(r->fd, &status)) return fail(r, errno, 0, "cannot read: %s", strerror(errno));
    if (!S_ISREG(status.st_mode)) return fail(r, EINVAL, 0, "not a regular file");
    if (!refresh(r)) return false;
    p->finished = r->header.state == LIVE_FINISHED;
    p->running =
        !p->finished && ouro__live_has_writer(r->fd, r->header.process, r->header.process_start);
    p->compaction = (int)r->header.compaction;
    p->edge_length = (int)r->header.edge_length;
    p->max_nodes = r->header.max_nodes;
    p->full = r->header.full;
    p->process = r->header.process;
    p->process_start = r->header.process_start;
    memcpy(p->recording, r->header.recording, sizeof p->recording);
    if (!read_lanes(r, p)) return false;
    p->resets = (r->resets + 1) / 2;
    p->start_time = r->header.start_time; // of the last reset
    p->end_time = r->header.end_time;
    return read_texts_and_blocks(r, p);
}

static bool has_slices(const reader *r) {
    for (size_t i = 0; i < r->segment_count; i++) {
        if (r->segments[i].kind == LIVE_SLICES) return true;
    }
    return false;
}

static int read_profile(reader *r, ouro__live_profile *profile) {
    memset(profile, 0, sizeof *profile);
    memset(r->error, 0, sizeof *r->error);
    bool ok = read_file(r, profile);
    if (r->again && has_slices(r)) {
        ouro__live_again_free(r->again); // there may be slices the next time
        r->again = NULL;
    }
    free(r->segments);
    free(r->first_of_lane);
    profile->again = r->again;
    if (ok) return 0;
    ouro__live_profile_free(profile);
    return -1;
}

int ouro__live_read_fd(int fd, ouro__live_profile *profile, ouro__live_error *error) {
    return read_profile(&(reader){.fd = fd, .error = error}, profile);
}

int ouro__live_read_first(int fd, ouro__live_profile *profile, ouro__live_error *error) {
    reader r = {.fd = fd, .error = error, .again = calloc(1, sizeof *r.again)};
    if (!r.again) {
        fail_memory(&r);
        memset(profile, 0, sizeof *profile);
        return -1;
    }
    int result = read_profile(&r, profile);
    if (result == 0 && (!profile->running || (r.resets & 1))) {
        ouro__live_again_free(profile->again);
        profile->again = NULL;
    }
    return result;
}

int ouro__live_read(const char *path, ouro__live_profile *profile, ouro__live_error *error) {
    int fd = ouro__open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) {
        memset(profile, 0, sizeof *profile);
        *error = (ouro__live_error){.code = errno};
        snprintf(error->message, sizeof error->message, "cannot open: %s", strerror(errno));
        return -1;
    }
    int result = ouro__live_read_fd(fd, profile, error);
    close(fd);
    return result;
}

void ouro__live_profile_free(ouro__live_profile *profile) {
    ouro__rows_free(profile->rows);
    ouro__slices_copy_free(&profile->slices);
    free(profile->blocks);
    free(profile->texts);
    ouro__live_again_free(profile->again);
    memset(profile, 0, sizeof *profile);
}

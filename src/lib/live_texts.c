// SPDX-License-Identifier: MIT
//
// The texts and the blocks of a live file: names of metrics, the program, and each block's name and
// place in its source. Every text is checked to lie in a segment of texts before it is copied.

#include "live_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    if (!t->segments) return ouro__live_fail_memory(r);
    for (size_t i = 0; i < r->segment_count; i++) {
        const segment *s = &r->segments[i];
        if (s->kind != LIVE_TEXT) continue;
        t->segments[i] = malloc(s->bytes + 1);
        if (!t->segments[i]) return ouro__live_fail_memory(r);
        if (!ouro__live_read_at(r, s->data, t->segments[i], s->bytes)) return false;
    }
    return true;
}

static bool check_text(reader *r, const live_text *text, uint64_t at) {
    const segment *s = segment_with(r, text->offset);
    if (s && s->kind == LIVE_TEXT && text->offset - s->data <= s->bytes &&
        text->length <= s->bytes - (text->offset - s->data))
        return true;
    return ouro__live_fail(r, EILSEQ, at, "damaged: a text of %u bytes at %llu", text->length,
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
            return ouro__live_fail(r, EILSEQ, s->data, "damaged: blocks are missing after block %u",
                                   s->first);
        if (!ouro__live_read_at(r, s->data, records + s->first,
                                (uint64_t)(end - s->first) * sizeof *records))
            return false;
        for (uint32_t b = s->first; b < end; b++) {
            uint64_t at = s->data + (uint64_t)(b - s->first) * sizeof *records;
            if (!check_text(r, &records[b].name, at + offsetof(live_block, name)) ||
                !check_text(r, &records[b].file, at + offsetof(live_block, file)))
                return false;
        }
        end = s->first;
    }
    return end == 0 || ouro__live_fail(r, EILSEQ, HEADER(block_count),
                                       "damaged: blocks before block %u are missing", end);
}

static live_block *read_block_records(reader *r) {
    uint64_t there = 0;
    for (size_t i = 0; i < r->segment_count; i++)
        there += r->segments[i].kind == LIVE_BLOCKS ? r->segments[i].bytes / sizeof(live_block) : 0;
    uint32_t count = r->header.block_count;
    if (count > there) {
        ouro__live_fail(r, EILSEQ, HEADER(block_count), "damaged: %u blocks, room for %llu", count,
                        (unsigned long long)there);
        return NULL;
    }
    live_block *records = malloc(((size_t)count + 1) * sizeof *records);
    if (!records) ouro__live_fail_memory(r);
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

static bool load_noted(reader *r, ouro__live_profile *p) {
    p->noted = calloc((size_t)p->block_count + 1, sizeof *p->noted);
    if (!p->noted) return ouro__live_fail_memory(r);
    for (size_t i = 0; i < r->segment_count; i++) {
        const segment *s = &r->segments[i];
        if (s->kind != LIVE_NOTED || s->first >= p->block_count) continue;
        uint64_t count = s->bytes / sizeof *p->noted, left = p->block_count - s->first;
        if (count > left) count = left;
        if (!ouro__live_read_at(r, s->data, p->noted + s->first, count * sizeof *p->noted))
            return false;
    }
    return true;
}

// Overlapping texts in a damaged file could ask for more than the file has.
bool ouro__live_read_texts(reader *r, ouro__live_profile *p) {
    text_reader t = {0};
    live_block *records = check_header_texts(r) ? read_block_records(r) : NULL;
    bool ok = records && load_texts(r, &t);
    size_t size = ok ? pool_size(&r->header, records) : 0;
    if (ok && size > r->header.end + 2 * (uint64_t)r->header.block_count + 64)
        ok =
            ouro__live_fail(r, EILSEQ, 0, "damaged: texts of %llu bytes", (unsigned long long)size);
    if (ok) {
        p->texts = t.pool = malloc(size);
        p->blocks = calloc((size_t)r->header.block_count + 1, sizeof *p->blocks);
        ok = p->texts && p->blocks ? true : ouro__live_fail_memory(r);
    }
    if (ok) {
        p->block_count = r->header.block_count;
        p->metric_count = r->header.metric_count;
        copy_texts(r, &t, records, p);
        ok = load_noted(r, p);
    }
    for (size_t i = 0; t.segments && i < r->segment_count; i++) free(t.segments[i]);
    free(t.segments);
    free(records);
    return ok;
}

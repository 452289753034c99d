// SPDX-License-Identifier: MIT
//
// The live file, written: live_format.h is the layout. The nodes of a lane are mapped from it into
// the lane's own address space, segment by segment, so the hot path does not know that there is a
// file. The file grows in steps that follow what is in use, each reserved before it is used:
// nothing is ever written to a page that the file system has not promised. Where there is no more
// space, the lanes keep the nodes that they have, and prune themselves.

#include "file_limit.h"
#include "live_format.h"
#include "own_path.h"
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

// Fuzz targets make many files, and small ones with many segments.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { NODES_LEAST = 32, STEP_LEAST = 4096 };
#else
enum { NODES_LEAST = 128, STEP_LEAST = 16 * 1024 };
#endif
// A segment, and the space that is reserved beyond it, are a part of what there is already.
enum { NODES_PART = 8, STEP_PART = 16, NODES_MOST = 1 << 16, STEP_MOST = 1 << 20 };

typedef struct {
    void *address;
    size_t bytes;
    bool in_lane; // unmapped with the lane's address space
    void *copy;   // private, while a fork(2) is under way
    uint64_t offset;
    bool has_addresses; // that are followed
} mapping;

struct ouro__live {
    pthread_mutex_t lock;
    int fd; // -1 in a child of fork(2): the file is the parent's
    live_header *header;
    uint32_t page;
    // Everything mapped, the header first; for unmapping and for fork(2).
    mapping *mappings;
    size_t mapping_count, mapping_room;
    // Where the next text and the next block go.
    char *text;
    uint64_t text_offset;
    size_t text_left;
    live_block *blocks;
    size_t blocks_left;
    ouro__lane_state *spare; // of a lane that found no space for nodes; the next one gets it
};

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static uint64_t bounded(uint64_t n, uint64_t least, uint64_t most) {
    return n < least ? least : n > most ? most : n;
}

// Whole pages, a part of what the file has in use.
static uint64_t step(const struct ouro__live *live) {
    return round_up(bounded(live->header->end / STEP_PART, STEP_LEAST, STEP_MOST), live->page);
}

// ---------------------------------------------------------------- space

// Some file systems give up when a signal is on its way, and a clock sends many: they wait.
static bool allocate(int fd, uint64_t from, uint64_t bytes) {
    sigset_t all;
    sigfillset(&all);
    ouro__held_limit held = ouro__limit_hold();
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    int error = EINTR;
    for (int i = 0; i < 10 && error == EINTR; i++)
        error = posix_fallocate(fd, (off_t)from, (off_t)bytes);
    ouro__limit_release(&held);
    errno = error;
    return error == 0;
}

static bool reserve(struct ouro__live *live, uint64_t end) {
    live_header *header = live->header;
    if (end <= header->reserved) return true;
    uint64_t wanted = end + step(live);
    if (!allocate(live->fd, header->reserved, wanted - header->reserved)) return false;
    header->reserved = wanted;
    return true;
}

static bool mappings_reserve(struct ouro__live *live, size_t more) {
    if (live->mapping_count + more > live->mapping_room) {
        size_t room = live->mapping_room ? live->mapping_room * 2 : 16;
        mapping *mappings = realloc(live->mappings, room * sizeof *mappings);
        if (!mappings) return false;
        live->mappings = mappings;
        live->mapping_room = room;
    }
    return true;
}

// Maps a part of the file, at `where` if that is given.
static void *map(struct ouro__live *live, uint64_t offset, size_t bytes, void *where) {
    if (!mappings_reserve(live, 1)) return NULL;
    int flags = where ? MAP_SHARED | MAP_FIXED : MAP_SHARED;
    void *address = mmap(where, bytes, PROT_READ | PROT_WRITE, flags, live->fd, (off_t)offset);
    if (address == MAP_FAILED) return NULL;
    live->mappings[live->mapping_count++] =
        (mapping){address, bytes, where != NULL, NULL, offset, false};
    return address;
}

// Takes back the last mapping, which was put over a lane's memory.
static void unmap_last(struct ouro__live *live) {
    mapping *last = &live->mappings[--live->mapping_count];
    mmap(last->address, last->bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static bool put_segment_head(struct ouro__live *live, uint64_t offset, live_segment head) {
    ouro__held_limit held = ouro__limit_hold(); // lowered since `allocate`?
    ssize_t n = pwrite(live->fd, &head, sizeof head, (off_t)offset);
    ouro__limit_release(&held);
    if (n == (ssize_t)sizeof head) return true;
    if (n >= 0) errno = EIO;
    return false;
}

// Begins a segment and returns the offset of its data; it counts when segment_publish is called. 0
// on failure.
static uint64_t segment_begin(struct ouro__live *live, uint32_t kind, uint32_t lane, uint32_t first,
                              uint64_t bytes) {
    uint64_t at = live->header->end;
    if (!reserve(live, at + live->page + bytes)) return 0;
    live_segment head = {LIVE_SEGMENT_MAGIC, kind, lane, first, bytes, 0};
    if (!put_segment_head(live, at, head)) return 0;
    return at + live->page;
}

static void segment_publish(struct ouro__live *live, uint64_t data, uint64_t bytes) {
    __atomic_store_n(&live->header->end, data + bytes, __ATOMIC_RELEASE);
}

static void *segment_mapped(struct ouro__live *live, uint32_t kind, uint32_t lane, uint32_t first,
                            uint64_t bytes, uint64_t *data) {
    *data = segment_begin(live, kind, lane, first, bytes);
    void *address = *data ? map(live, *data, bytes, NULL) : NULL;
    if (address) segment_publish(live, *data, bytes);
    return address;
}

// ---------------------------------------------------------------- texts and blocks

static bool put_text(struct ouro__live *live, const char *text, live_text *where) {
    size_t length = strlen(text ? text : "");
    if (length > UINT32_MAX) {
        errno = EOVERFLOW;
        return false;
    }
    if (live->text_left < length) {
        size_t bytes = (size_t)(length > step(live) ? round_up(length, live->page) : step(live));
        uint64_t data;
        char *address = segment_mapped(live, LIVE_TEXT, 0, 0, bytes, &data);
        if (!address) return false;
        live->text = address;
        live->text_offset = data;
        live->text_left = bytes;
    }
    memcpy(live->text, text ? text : "", length);
    *where = (live_text){live->text_offset, (uint32_t)length, 0};
    live->text += length;
    live->text_offset += length;
    live->text_left -= length;
    return true;
}

static bool put_block(struct ouro__live *live, ouro_block block, const ouro_block_info *info) {
    if (live->blocks_left == 0) {
        uint64_t data, bytes = step(live);
        live_block *blocks = segment_mapped(live, LIVE_BLOCKS, 0, block, bytes, &data);
        if (!blocks) return false;
        live->blocks = blocks;
        live->blocks_left = bytes / sizeof *blocks;
    }
    live_block *to = live->blocks;
    if (!put_text(live, info->name, &to->name) || !put_text(live, info->file, &to->file))
        return false;
    to->line = info->line;
    to->column = info->column;
    live->blocks++;
    live->blocks_left--;
    return true;
}

// On failure the blocks of this call are taken back, so that the next call puts the same ids.
bool ouro__live_add_blocks(struct ouro__live *live, ouro_block first, const ouro_block_info *infos,
                           size_t n) {
    pthread_mutex_lock(&live->lock);
    bool ok = true;
    if (live->fd >= 0) {
        for (size_t i = 0; ok && i < n; i++) ok = put_block(live, first + (ouro_block)i, &infos[i]);
        if (ok) __atomic_store_n(&live->header->block_count, first + (uint32_t)n, __ATOMIC_RELEASE);
        // A segment that began in the middle of this call says the id it began with: begin another.
        if (!ok) live->blocks_left = 0;
    }
    pthread_mutex_unlock(&live->lock);
    return ok;
}

// Returns zeros in the file for what is noted of `count` blocks, or NULL.
ouro__noted *ouro__live_add_noted(struct ouro__live *live, ouro_block first, uint32_t count) {
    pthread_mutex_lock(&live->lock);
    uint64_t data, bytes = round_up(count * sizeof(ouro__noted), live->page);
    void *noted = live->fd < 0 ? NULL : segment_mapped(live, LIVE_NOTED, 0, first, bytes, &data);
    pthread_mutex_unlock(&live->lock);
    return noted;
}

// ---------------------------------------------------------------- lanes

// A segment for the records of some nodes from `first` on and of their accounts, mapped over a
// lane's array of records.
static bool records_mapped(struct ouro__live *live, uint32_t kind, const ouro__lane *lane,
                           uint64_t *records, uint32_t first, uint32_t count) {
    size_t half = (size_t)count * live->header->node_bytes;
    uint64_t data = segment_begin(live, kind, lane->id, first, 2 * half);
    uint64_t *nodes = records + (size_t)first * lane->stride;
    if (!data || !map(live, data, half, nodes)) return false;
    if (!map(live, data + half, half, nodes + lane->account_offset)) {
        unmap_last(live);
        return false;
    }
    segment_publish(live, data, 2 * half);
    return true;
}

// How many nodes come next; capacity is a multiple of the unit.
static uint32_t next_nodes(const struct ouro__live *live, const ouro__lane *lane) {
    const ouro_profile *profile = lane->profile;
    uint32_t there = profile->space ? ouro__space_extent(profile->space, 0) : profile->capacity;
    uint32_t unit = live->header->segment_nodes, left = there - lane->mapped;
    uint64_t nodes = round_up(bounded(lane->mapped / NODES_PART, unit, NODES_MOST), unit);
    return nodes < left ? (uint32_t)nodes : left;
}

// Memory for the lane's next nodes and their accounts. Near the end of the space, for as few as can
// be. A child of fork(2) has it without the file.
bool ouro__live_grow_lane(struct ouro__live *live, ouro__lane *lane) {
    pthread_mutex_lock(&live->lock);
    uint32_t first = lane->mapped, unit = live->header->segment_nodes;
    uint32_t count = next_nodes(live, lane);
    if (first) ouro__strays_move_all(lane, first, first + count); // the file replaces them
    bool ok = live->fd < 0 || records_mapped(live, LIVE_NODES, lane, lane->nodes, first, count);
    if (!ok && count > unit) {
        count = unit;
        ok = records_mapped(live, LIVE_NODES, lane, lane->nodes, first, count);
    }
    if (ok) lane->mapped += count;
    if (live->fd >= 0) __atomic_store_n(&live->header->full, !ok, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&live->lock);
    return ok;
}

bool ouro__live_is_full(const struct ouro__live *live) {
    return live && __atomic_load_n(&live->header->full, __ATOMIC_RELAXED);
}

// A baseline for all nodes that the lane has room for now. Those that come later begin at zero and
// need none before the next reset.
bool ouro__live_grow_baseline(struct ouro__live *live, ouro__lane *lane) {
    if (!live) return true;
    pthread_mutex_lock(&live->lock);
    uint32_t first = lane->baseline_mapped, count = lane->mapped - first;
    bool ok = live->fd < 0 || count == 0 ||
              records_mapped(live, LIVE_BASELINE, lane, lane->baseline, first, count);
    if (ok && live->fd >= 0) lane->baseline_mapped = lane->mapped;
    pthread_mutex_unlock(&live->lock);
    return ok;
}

// Zeroed memory for a part of what a lane has beside its nodes, in the file. NULL in a child of
// fork(2), too.
void *ouro__live_add_part(struct ouro__live *live, const ouro__lane *lane, uint32_t kind,
                          uint32_t part, size_t bytes, uint64_t *offset) {
    void *address = NULL;
    pthread_mutex_lock(&live->lock);
    if (live->fd >= 0) {
        uint64_t whole = round_up(bytes, live->page);
        address = segment_mapped(live, kind, lane->id, part, whole, offset);
        if (address) live->mappings[live->mapping_count - 1].has_addresses = kind == LIVE_SITES;
    }
    pthread_mutex_unlock(&live->lock);
    return address;
}

bool ouro__live_has_file(const struct ouro__live *live) { return live && live->fd >= 0; }

// The beginning and the end of a reset. The caller holds all locks but ours.
void ouro__live_reset(struct ouro__live *live, uint64_t start_time, bool begin) {
    if (!live || live->fd < 0) return;
    live_header *header = live->header;
    if (!begin) __atomic_store_n(&header->start_time, start_time, __ATOMIC_RELAXED);
    __atomic_store_n(&header->resets, header->resets + 1, __ATOMIC_SEQ_CST);
}

// The caller holds the profile's lock, and gives the number of a lane that failed to the next one.
bool ouro__live_add_lane(struct ouro__live *live, ouro__lane *lane) {
    lane->mapped = 0;
    if (live->fd < 0) return ouro__live_grow_lane(live, lane);
    uint64_t data;
    size_t bytes = (size_t)round_up(sizeof *lane->state, live->page);
    pthread_mutex_lock(&live->lock);
    if (!live->spare) live->spare = segment_mapped(live, LIVE_LANE, lane->id, 0, bytes, &data);
    if (live->spare) lane->state = live->spare;
    pthread_mutex_unlock(&live->lock);
    if (!live->spare || !ouro__live_grow_lane(live, lane)) return false;
    live->spare = NULL;
    return true;
}

// ---------------------------------------------------------------- the file

static bool put_header(struct ouro__live *live, const ouro_profile *profile) {
    live_header *header = live->header;
    char program[PATH_MAX];
    if (!ouro__own_path(program)) strcpy(program, "program");
    header->version = LIVE_VERSION;
    header->byte_order = LIVE_BYTE_ORDER;
    header->page = live->page;
    header->capacity = profile->capacity;
    header->metric_count = profile->metric_count;
    header->compaction = (uint32_t)profile->compaction;
    header->edge_length = (uint32_t)profile->edge_length;
    header->max_nodes = profile->max_nodes;
    header->state = LIVE_RUNNING;
    header->process = (uint64_t)getpid();
    header->process_start = ouro__process_start((uint64_t)getpid());
    header->start_time = profile->start_time;
    if (getrandom(header->recording, sizeof header->recording, 0) < 0) return false;
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        if (!put_text(live, profile->metrics[m].name, &header->metric_names[m])) return false;
        if (!put_text(live, profile->metrics[m].unit, &header->metric_units[m])) return false;
    }
    if (!put_text(live, program, &header->program)) return false;
    memcpy(header->magic, LIVE_MAGIC, sizeof header->magic);
    return true;
}

// Nodes come from the file in segments of whole pages.
uint32_t ouro__live_segment_nodes(uint32_t stride) {
    uint32_t nodes = NODES_LEAST;
    uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
    while (nodes * stride * sizeof(uint64_t) % page) nodes *= 2;
    return nodes;
}

static bool file_begin(struct ouro__live *live, const ouro_profile *profile) {
    if (!allocate(live->fd, 0, live->page)) return false;
    live->header = map(live, 0, live->page, NULL);
    if (!live->header) return false;
    live->header->node_bytes = profile->stride * (uint32_t)sizeof(uint64_t);
    live->header->segment_nodes = ouro__live_segment_nodes(profile->stride);
    live->header->end = live->header->reserved = live->page;
    return put_header(live, profile);
}

// Written under another name and renamed: a program that writes to an older file of this name is
// not disturbed.
static bool file_create(struct ouro__live *live, const ouro_profile *profile, const char *path) {
    char *beside = NULL;
    live->fd = ouro__open_beside(path, 0600, &beside);
    // Says that the file has a writer, until the process is gone. Nothing depends on it here.
    if (live->fd >= 0) flock(live->fd, LOCK_SH | LOCK_NB);
    bool ok = live->fd >= 0 && file_begin(live, profile) && rename(beside, path) == 0;
    int error = errno;
    if (!ok && live->fd >= 0) unlink(beside);
    free(beside);
    errno = error;
    return ok;
}

static void live_free(struct ouro__live *live) {
    for (size_t i = 0; i < live->mapping_count; i++) {
        if (!live->mappings[i].in_lane) munmap(live->mappings[i].address, live->mappings[i].bytes);
    }
    free(live->mappings);
    if (live->fd >= 0) close(live->fd);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

struct ouro__live *ouro__live_create(const ouro_profile *profile, const char *path) {
    struct ouro__live *live = calloc(1, sizeof *live);
    if (!live) return NULL;
    pthread_mutex_init(&live->lock, NULL);
    live->fd = -1;
    live->page = (uint32_t)sysconf(_SC_PAGESIZE);
    if (file_create(live, profile, path)) return live;
    int error = errno;
    live_free(live);
    errno = error;
    return NULL;
}

void ouro__live_close(struct ouro__live *live) {
    if (!live) return;
    if (live->fd >= 0) {
        live->header->end_time = ouro__now(CLOCK_REALTIME);
        __atomic_store_n(&live->header->state, LIVE_FINISHED, __ATOMIC_RELEASE);
    }
    live_free(live);
}

// ---------------------------------------------------------------- fork(2)

void ouro__live_lock(struct ouro__live *live, bool lock) {
    if (!live) return;
    if (lock) {
        pthread_mutex_lock(&live->lock);
    } else {
        pthread_mutex_unlock(&live->lock);
    }
}

// Whole words, because other OS threads count meanwhile.
static void copy_words(uint64_t *to, const uint64_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *to; i++) to[i] = counter_load(from + i);
}

// Before the fork: what the child will have. Without memory for it, the child begins with zeros,
// but for addresses, which stay what they are.
void ouro__live_copy(struct ouro__live *live) {
    if (!live || live->fd < 0) return;
    for (size_t i = 0; i < live->mapping_count; i++) {
        mapping *m = &live->mappings[i];
        void *copy =
            mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        m->copy = copy == MAP_FAILED ? NULL : copy;
        if (m->copy) copy_words(m->copy, m->address, m->bytes);
    }
}

void ouro__live_drop_copy(struct ouro__live *live) {
    if (!live || live->fd < 0) return;
    for (size_t i = 0; i < live->mapping_count; i++) {
        if (live->mappings[i].copy) munmap(live->mappings[i].copy, live->mappings[i].bytes);
        live->mappings[i].copy = NULL;
    }
}

// In a child without a copy, which sees what the parent had when they are alone with the file.
void ouro__live_leave(struct ouro__live *live) {
    if (!live || live->fd < 0) return;
    for (size_t i = 0; i < live->mapping_count; i++) {
        const mapping *m = &live->mappings[i];
        mmap(m->address, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, live->fd,
             (off_t)m->offset);
    }
    close(live->fd);
    live->fd = -1;
}

// In the child: the profile goes on in memory, and the file is left to the parent.
void ouro__live_detach(struct ouro__live *live) {
    if (!live || live->fd < 0) return;
    for (size_t i = 0; i < live->mapping_count; i++) {
        mapping *m = &live->mappings[i];
        int move = MREMAP_MAYMOVE | MREMAP_FIXED;
        bool moved = m->copy && mremap(m->copy, m->bytes, m->bytes, move, m->address) == m->address;
        if (!moved && m->has_addresses)
            mmap(m->address, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, live->fd,
                 (off_t)m->offset);
        else if (!moved)
            mmap(m->address, m->bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        m->copy = NULL;
    }
    close(live->fd);
    live->fd = -1;
}

// SPDX-License-Identifier: MIT
//
// The live file, read: live_format.h is the layout. Everything is read with pread into memory of
// our own and checked before it is used, so a file that is cut, foreign, damaged, or cut while we
// read, is an error with a position and never a crash. Memory follows what the file really holds,
// not what it claims.
//
// This file reads all lanes and their slices between two resets, and the whole; live_reader.h has
// the steps. Begin with read_file.

#include "live_read.h"
#include "descriptors.h"
#include "live_reader.h"
#include "live_slices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool check_image_blocks(reader *r, const ouro__image *image) {
    for (uint32_t i = 1; i < image->count; i++) {
        if (image->block[i] >= r->header.block_count)
            return ouro__live_fail(r, EILSEQ, HEADER(block_count),
                                   "damaged: a node has block %u of %u", image->block[i],
                                   r->header.block_count);
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
    if (result == SLICES_MEMORY) ouro__live_fail_memory(r);
    if (result == SLICES_DAMAGED || result == SLICES_CHANGED)
        ouro__live_fail(r, EILSEQ, s.offset, "%s", s.problem ? s.problem : "damaged: slices");
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
        if (!ouro__live_refresh(r)) return false;
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
    if (!ouro__slices_copy_finish(&all->slices)) return ouro__live_fail_memory(r);
    for (uint32_t i = 0; i < all->slices.count; i++) {
        const ouro__lane_slices *l = &all->slices.lanes[i];
        for (uint32_t t = 0; t < l->tree_count; t++) {
            if (l->trees[t].rows->unreached)
                return ouro__live_fail(r, EILSEQ, 0,
                                       "damaged: the tree of slice %llu hangs on no root",
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
        ok = ouro__image_ask_places(&all->list[i]) || ouro__live_fail_memory(r);
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
        return ouro__live_fail_memory(r);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (!read_slices(r, i, running, all) || !ouro__live_read_lane(r, i, running, &all->list[i]))
            return false;
        slices_of_lane_end(r, running, all, i);
    }
    return true;
}

// The number of resets, before anything that it vouches for: the baselines were published before it
// was raised.
static bool read_resets(reader *r, uint32_t *resets) {
    return ouro__live_read_at(r, offsetof(live_header, resets), resets, sizeof *resets);
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
        if (running && !ouro__live_refresh(r)) return false;
        bool ok = read_images(r, running, all);
        if (!running) return ok;
        if (!read_resets(r, &after)) return false;
        if (after == r->resets) return ok;
        images_free(all);
    }
    return ouro__live_fail(r, EAGAIN, 0,
                           "the program resets it faster than it can be read; try again");
}

static bool read_lanes(reader *r, ouro__live_profile *p) {
    images all = {0};
    bool ok = read_between_resets(r, p->running, &all);
    // The blocks that the nodes name were published before the nodes: read the header again.
    if (ok && p->running) ok = ouro__live_refresh(r);
    for (uint32_t i = 0; ok && i < all.count; i++) ok = check_image_blocks(r, &all.list[i]);
    ok = ok && ask_places(r, &all);
    if (ok) {
        p->rows = ouro__rows_merge(all.list, all.count, r->header.metric_count);
        ok = p->rows ? true : ouro__live_fail_memory(r);
    }
    if (ok && p->rows->unreached)
        ok = ouro__live_fail(r, EILSEQ, 0, "damaged: %u nodes hang in no tree", p->rows->unreached);
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
    if (fstat(r->fd, &status))
        return ouro__live_fail(r, errno, 0, "cannot read: %s", strerror(errno));
    if (!S_ISREG(status.st_mode)) return ouro__live_fail(r, EINVAL, 0, "not a regular file");
    if (!ouro__live_refresh(r)) return false;
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
    return ouro__live_read_texts(r, p);
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
        ouro__live_fail_memory(&r);
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
    free(profile->noted);
    free(profile->texts);
    ouro__live_again_free(profile->again);
    memset(profile, 0, sizeof *profile);
}

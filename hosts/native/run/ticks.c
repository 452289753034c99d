// SPDX-License-Identifier: MIT
//
// Reads the rings of programs that sample themselves. Now and then the folder is searched for new
// rings, and all are emptied. A program is not trusted with what it writes there: a record is
// copied first, and then taken apart like one of a file.

#include "ticks.h"

#include "ring.h"
#include "scratch.h"
#include "unwind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUND_MS = 20 };

typedef struct reader {
    struct reader *next;
    char *name;
    ticks_ring *ring;
} reader;

struct ticks {
    sampled *to;
    const char *folder, *mark;
    int process; // pidfd
    reader *readers;
    record_shape shape;
    _Alignas(8) unsigned char record[65536];
};

ticks *ticks_open(sampled *to, const char *folder, const char *mark, pid_t pid) {
    ticks *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->to = to;
    t->folder = folder;
    t->mark = mark;
    t->process = (int)syscall(SYS_pidfd_open, pid, 0);
    t->shape = (record_shape){.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                             PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |
                                             PERF_SAMPLE_STACK_USER,
                              .user_registers = unwind_registers()};
    return t;
}

static void add_reader(ticks *t, int folder, const char *name) {
    struct stat status;
    for (reader *r = t->readers; r; r = r->next) {
        if (strcmp(r->name, name) == 0) return;
    }
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    // Too short: it is just being made.
    bool whole = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                 (size_t)status.st_size >= sizeof(ticks_ring);
    void *at = whole ? mmap(NULL, sizeof(ticks_ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
    close(fd);
    reader *r = at == MAP_FAILED ? NULL : calloc(1, sizeof *r);
    if (!r) return;
    *r = (reader){t->readers, strdup(name), at};
    if (r->name) t->readers = r;
}

static void find_readers(ticks *t) {
    DIR *d = opendir(t->folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), ending = strlen(RING_ENDING);
        if (n > ending && strcmp(e->d_name + n - ending, RING_ENDING) == 0 &&
            scratch_is_marked(e->d_name, t->mark))
            add_reader(t, dirfd(d), e->d_name);
    }
    if (d) closedir(d);
}

static void copy_from(const ticks_ring *r, uint64_t at, unsigned char *to, size_t size) {
    size_t place = (size_t)(at % RING_BYTES), first = RING_BYTES - place;
    if (first > size) first = size;
    memcpy(to, r->bytes + place, first);
    memcpy(to + first, r->bytes, size - first);
}

static void empty(ticks *t, ticks_ring *r) {
    uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE), tail = r->tail;
    struct perf_event_header h;
    while (head - tail >= sizeof h && head - tail <= RING_BYTES) {
        copy_from(r, tail, (unsigned char *)&h, sizeof h);
        if (h.size < sizeof h || h.size > head - tail) break;
        copy_from(r, tail, t->record, h.size);
        sampled_record(t->to, &t->shape, t->record, h.size);
        tail += h.size;
    }
    __atomic_store_n(&r->tail, head, __ATOMIC_RELEASE);
}

static void take_round(ticks *t) {
    find_readers(t);
    for (reader *r = t->readers; r; r = r->next) empty(t, r->ring);
}

void ticks_run(ticks *t, const volatile int *stop, double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    bool ended = false;
    while (!*stop && !ended) {
        struct pollfd p = {t->process, POLLIN, 0};
        poll(&p, 1, ROUND_MS);
        ended = p.revents & POLLIN;
        take_round(t);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (seconds > 0 && (double)now.tv_sec + (double)now.tv_nsec / 1e9 >= end) break;
    }
}

// The folder may be the user's: it keeps the live files alone.
static void remove_ring(const ticks *t, const reader *r) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", t->folder, r->name) < PATH_MAX) unlink(path);
}

void ticks_close(ticks *t) {
    take_round(t);
    for (reader *r = t->readers, *next; r; r = next) {
        next = r->next;
        sampled_lost(t->to, __atomic_load_n(&r->ring->lost, __ATOMIC_RELAXED));
        munmap(r->ring, sizeof *r->ring);
        remove_ring(t, r);
        free(r->name);
        free(r);
    }
    if (t->process >= 0) close(t->process);
    free(t);
}

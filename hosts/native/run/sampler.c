// SPDX-License-Identifier: MIT
//
// The kernel gives each processor a ring of records. An event that children inherit must belong to
// one processor, so there is one for each thread and processor, and those of a processor share its
// ring. The clock is the kernel's own (cpu-clock), which virtual machines have, too, and whose unit
// is time.
//
// Records of different rings come out of order. A round reads all rings, sorts what it read by time
// and hands on what is not newer than the newest record of the round before: by then nothing older
// can be missing.

#include "sampler.h"

#include "array.h"
#include "unwind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RING_MOST = 16 << 20,  // a second of samples, should nobody read for so long
    RING_LEAST = 64 << 10, // what a user may always lock is some 500 KB per processor
    STACK_LARGE = 16384,
    STACK_SMALL = 8192,
    PROCESSORS_MOST = 4096,
    ROUND_MS = 200
};

typedef struct {
    int fd;
    struct perf_event_mmap_page *page;
    size_t size; // of the data
} ring;

typedef struct {
    uint64_t time;
    size_t at, size, number;
} pending;

struct sampler {
    sampled *to;
    record_shape shape;
    pid_t pid;
    int process; // pidfd
    ring *rings;
    size_t ring_count;
    int *events;
    size_t event_count, event_room;
    bool has_kernel;
    unsigned char *bytes; // of pending records
    size_t byte_count, byte_room;
    pending *waiting;
    size_t waiting_count, waiting_room;
    uint64_t newest; // of the round before
};

// ---------------------------------------------------------------- opening

static struct perf_event_attr attributes(const sampler *s, unsigned hz, bool on_exec) {
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_SW_CPU_CLOCK,
                                .sample_period = 1000000000 / hz};
    a.sample_type = s->shape.sample_type;
    a.sample_regs_user = s->shape.user_registers;
    a.sample_stack_user = geteuid() == 0 ? STACK_LARGE : STACK_SMALL; // rings are small then
    a.disabled = on_exec;
    a.enable_on_exec = on_exec;
    a.inherit = 1;
    a.exclude_hv = 1;
    a.exclude_kernel = !s->has_kernel;
    a.exclude_callchain_kernel = !s->has_kernel;
    a.sample_id_all = 1;
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = 1;
    a.watermark = 1;
    a.wakeup_watermark = RING_LEAST;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    return a;
}

static int open_event(struct perf_event_attr *a, pid_t tid, int processor) {
    return (int)syscall(SYS_perf_event_open, a, tid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

// Larger rings lose less; a user without rights gets small ones.
static bool map_ring(ring *r) {
    long page = sysconf(_SC_PAGESIZE);
    for (size_t size = RING_MOST; size >= RING_LEAST; size /= 2) {
        void *at = mmap(NULL, size + (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
        if (at == MAP_FAILED) continue;
        r->page = at;
        r->size = size;
        return true;
    }
    return false;
}

static bool add_event(sampler *s, struct perf_event_attr *a, pid_t tid, size_t processor) {
    int fd = open_event(a, tid, (int)processor);
    if (fd < 0) return errno == ENODEV || errno == ESRCH; // no such processor, or it has ended
    if (!array_reserve(&s->events, s->event_count + 1, &s->event_room, sizeof fd)) {
        close(fd);
        errno = ENOMEM;
        return false;
    }
    s->events[s->event_count++] = fd;
    ring *r = &s->rings[processor];
    if (r->page) return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) == 0;
    r->fd = fd;
    return map_ring(r);
}

static bool add_events(sampler *s, pid_t tid, unsigned hz, bool waits, bool on_exec) {
    struct perf_event_attr clock = attributes(s, hz, on_exec), switches = clock;
    clock.context_switch = waits;
    switches.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    switches.sample_period = 1;
    switches.mmap = switches.mmap2 = switches.comm = switches.comm_exec = switches.task = 0;
    for (size_t p = 0; p < s->ring_count; p++) {
        if (!add_event(s, &clock, tid, p)) return false;
        if (waits && !add_event(s, &switches, tid, p)) return false;
    }
    return true;
}

// May we see the kernel's part of stacks?
static bool may_see_kernel(const sampler *s, pid_t pid) {
    sampler with = *s;
    with.has_kernel = true;
    struct perf_event_attr a = attributes(&with, 997, true);
    int fd = open_event(&a, pid, -1);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static bool add_all_threads(sampler *s, unsigned hz, bool waits, bool on_exec) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", s->pid);
    DIR *d = opendir(path);
    if (!d) errno = ESRCH;
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        if (tid > 0) ok = add_events(s, tid, hz, waits, on_exec);
    }
    int error = errno;
    if (d) closedir(d);
    errno = error;
    return ok;
}

sampler *sampler_open(sampled *to, pid_t pid, unsigned hz, bool waits, bool on_exec) {
    sampler *s = calloc(1, sizeof *s);
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    if (!s) return NULL;
    s->to = to;
    s->pid = pid;
    s->process = -1;
    s->ring_count = processors > 0 && processors < PROCESSORS_MOST ? (size_t)processors : 1;
    s->rings = calloc(s->ring_count, sizeof *s->rings);
    s->shape = (record_shape){.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                             PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
                              .user_registers = unwind_registers(),
                              .has_ids = true};
    if (s->shape.user_registers)
        s->shape.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    s->has_kernel = may_see_kernel(s, pid);
    if (!s->rings) s->ring_count = 0;
    bool ok = s->rings && add_all_threads(s, hz, waits, on_exec) && s->event_count;
    if (ok) s->process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (ok) return s;
    int error = errno ? errno : ESRCH;
    s->byte_count = s->waiting_count = 0;
    sampler_close(s);
    errno = error;
    return NULL;
}

bool sampler_has_kernel(const sampler *s) { return s->has_kernel; }

// ---------------------------------------------------------------- rounds

// Copies a record that may lie across the end of the ring.
static void copy_from(const ring *r, uint64_t at, unsigned char *to, size_t size) {
    const unsigned char *data = (const unsigned char *)r->page + r->page->data_offset;
    size_t place = (size_t)(at & (r->size - 1)), first = r->size - place;
    if (first > size) first = size;
    memcpy(to, data + place, first);
    memcpy(to + first, data, size - first);
}

static void take_record(sampler *s, const ring *r, uint64_t at, size_t size) {
    record parsed;
    if (!array_reserve(&s->bytes, s->byte_count + size, &s->byte_room, 1) ||
        !array_reserve(&s->waiting, s->waiting_count + 1, &s->waiting_room, sizeof *s->waiting))
        return;
    copy_from(r, at, s->bytes + s->byte_count, size);
    if (!record_parse(&s->shape, s->bytes + s->byte_count, size, &parsed)) parsed.time = 0;
    s->waiting[s->waiting_count] = (pending){parsed.time, s->byte_count, size, s->waiting_count};
    s->waiting_count++;
    s->byte_count += size;
}

static void read_ring(sampler *s, const ring *r) {
    uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = r->page->data_tail;
    while (head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        copy_from(r, tail, (unsigned char *)&h, sizeof h);
        if (h.size < sizeof h || h.size > head - tail) break;
        take_record(s, r, tail, h.size);
        tail += h.size;
    }
    __atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

static int compare(const void *a, const void *b) {
    const pending *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

// What is too new stays, at the beginning of the buffer.
static void keep_from(sampler *s, size_t first) {
    size_t bytes = 0, count = s->waiting_count - first;
    unsigned char *kept = NULL;
    for (size_t i = first; i < s->waiting_count; i++) bytes += s->waiting[i].size;
    if (count) kept = malloc(bytes ? bytes : 1);
    size_t at = 0;
    for (size_t i = 0; kept && i < count; i++) {
        pending p = s->waiting[first + i];
        memcpy(kept + at, s->bytes + p.at, p.size);
        s->waiting[i] = (pending){p.time, at, p.size, i};
        at += p.size;
    }
    if (kept) memcpy(s->bytes, kept, at);
    free(kept);
    s->waiting_count = kept ? count : 0;
    s->byte_count = at;
}

static void take_round(sampler *s, bool last) {
    uint64_t newest = s->newest;
    for (size_t i = 0; i < s->ring_count; i++) {
        if (s->rings[i].page) read_ring(s, &s->rings[i]);
    }
    if (s->waiting_count) qsort(s->waiting, s->waiting_count, sizeof *s->waiting, compare);
    if (s->waiting_count) s->newest = s->waiting[s->waiting_count - 1].time;
    size_t done = 0;
    while (done < s->waiting_count && (last || s->waiting[done].time <= newest)) {
        const pending *p = &s->waiting[done++];
        sampled_record(s->to, &s->shape, s->bytes + p->at, p->size);
    }
    keep_from(s, done);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void sampler_run(sampler *s, const volatile int *stop, double seconds) {
    double end = seconds > 0 ? now() + seconds : 0;
    struct pollfd *fds = calloc(s->ring_count + 1, sizeof *fds);
    bool ended = false;
    while (!*stop && !ended) {
        nfds_t n = 0;
        int wait = ROUND_MS;
        if (end > 0 && (end - now()) * 1000 < wait) wait = (int)((end - now()) * 1000) + 1;
        if (end > 0 && now() >= end) break;
        if (fds) fds[n++] = (struct pollfd){s->process, POLLIN, 0};
        for (size_t i = 0; fds && i < s->ring_count; i++) {
            if (s->rings[i].page) fds[n++] = (struct pollfd){s->rings[i].fd, POLLIN, 0};
        }
        if (poll(fds, n, wait) < 0 && errno != EINTR) break;
        ended = fds && (fds[0].revents & POLLIN);
        take_round(s, false);
    }
    free(fds);
}

void sampler_close(sampler *s) {
    struct timespec t;
    for (size_t i = 0; i < s->event_count; i++) ioctl(s->events[i], PERF_EVENT_IOC_DISABLE, 0);
    clock_gettime(CLOCK_MONOTONIC, &t);
    take_round(s, true);
    sampled_end(s->to, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
    for (size_t i = 0; i < s->ring_count; i++) {
        long page = sysconf(_SC_PAGESIZE);
        if (s->rings[i].page) munmap(s->rings[i].page, s->rings[i].size + (size_t)page);
    }
    for (size_t i = 0; i < s->event_count; i++) close(s->events[i]);
    if (s->process >= 0) close(s->process);
    free(s->rings);
    free(s->events);
    free(s->bytes);
    free(s->waiting);
    free(s);
}

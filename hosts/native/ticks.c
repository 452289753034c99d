// SPDX-License-Identifier: MIT
//
// Sampling without perf events, where the system forbids them: a timer of the process's processor
// time sends a signal, whose handler writes the registers and a part of the stack into a ring that
// `ouro run` reads. It unwinds there, as it does with samples of the kernel. The program is
// preloaded with this library, so static programs have no ticks.
//
//   OURO_NATIVE_TICKS  ticks per second; not set: none
//
// The handler makes no call but two or three system calls, and takes no lock: a tick that comes
// while another thread writes one is counted as lost.

#include "native.h"

#include "descriptors.h"
#include "file_limit.h"
#include "own_path.h"
#include "run/ring.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

enum { RECORD_MMAP = 1, RECORD_SAMPLE = 9, MODE_USER = 2, ABI_64 = 2, REGISTERS = 17, PAGE = 4096 };

// The words of a sample before the stack; see parse_sample of run/records.c.
typedef struct {
    uint32_t type;
    uint16_t misc, size;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, period, abi, registers[REGISTERS], stack_size;
} tick;

// In the order of perf's numbers: ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15.
static const unsigned char order[REGISTERS] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                               REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                               REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static ticks_ring *ring;
static unsigned hz;
static uint64_t period; // nanoseconds
static bool writing;
static uint32_t process;

// ---------------------------------------------------------------- the ring

static void put(uint64_t at, const void *bytes, size_t size) {
    size_t place = (size_t)(at % RING_BYTES), first = RING_BYTES - place;
    if (first > size) first = size;
    memcpy(ring->bytes + place, bytes, first);
    memcpy(ring->bytes, (const unsigned char *)bytes + first, size - first);
}

static bool has_room(size_t size) {
    uint64_t used = ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    return used <= RING_BYTES && RING_BYTES - used >= size;
}

static void publish(size_t size) {
    __atomic_store_n(&ring->head, ring->head + size, __ATOMIC_RELEASE);
}

// ---------------------------------------------------------------- the handler

// How much of the stack may be read: mincore fails where nothing is mapped.
static size_t readable(uintptr_t sp) {
    static const size_t sizes[] = {RING_STACK, RING_STACK / 4, 0};
    unsigned char pages[RING_STACK / PAGE + 2];
    uintptr_t start = sp & ~(uintptr_t)(PAGE - 1);
    for (size_t i = 0; sizes[i]; i++) {
        if (syscall(SYS_mincore, start, sp + sizes[i] - start, pages) == 0) return sizes[i];
    }
    return start + PAGE - sp;
}

static void write_tick(const greg_t *registers, uint64_t time) {
    struct timespec now;
    uintptr_t sp = (uintptr_t)registers[REG_RSP];
    uint64_t size = readable(sp) & ~(uint64_t)7, used = size;
    clock_gettime(CLOCK_MONOTONIC, &now);
    tick t = {.type = RECORD_SAMPLE,
              .misc = MODE_USER,
              .size = (uint16_t)(sizeof t + size + sizeof used),
              .ip = (uint64_t)registers[REG_RIP],
              .pid = process,
              .tid = (uint32_t)syscall(SYS_gettid),
              .time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
              .period = time,
              .abi = ABI_64,
              .stack_size = size};
    for (int i = 0; i < REGISTERS; i++) t.registers[i] = (uint64_t)registers[order[i]];
    if (!has_room(t.size)) {
        ring->lost++;
        return;
    }
    put(ring->head, &t, sizeof t);
    put(ring->head + sizeof t, (const void *)sp, size);
    put(ring->head + sizeof t + size, &used, sizeof used);
    publish(t.size);
}

static bool on_tick(const siginfo_t *info, void *context) {
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &ring) return false;
    uint64_t time = period * (1 + (uint64_t)(info->si_overrun > 0 ? info->si_overrun : 0));
    if (__atomic_exchange_n(&writing, true, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
    } else {
        write_tick(((ucontext_t *)context)->uc_mcontext.gregs, time);
        __atomic_store_n(&writing, false, __ATOMIC_RELEASE);
    }
    return true;
}

// ---------------------------------------------------------------- the beginning

// Tells where a module has its code, as the kernel would.
static int write_module(struct dl_phdr_info *info, size_t bytes, void *user) {
    static char path[PATH_MAX];
    (void)bytes, (void)user;
    if (info->dlpi_name && info->dlpi_name[0])
        snprintf(path, sizeof path, "%s", info->dlpi_name);
    else if (!ouro__own_path(path))
        return 0;
    size_t name = (strlen(path) + 8) & ~(size_t)7;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || path[0] != '/') continue;
        uint64_t start = (info->dlpi_addr + p->p_vaddr) & ~(uint64_t)(PAGE - 1);
        uint64_t end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        struct {
            uint32_t type;
            uint16_t misc, size;
            uint32_t pid, tid;
            uint64_t start, length, offset;
        } m = {RECORD_MMAP, MODE_USER,   (uint16_t)(sizeof m + name),        process, process,
               start,       end - start, p->p_offset & ~(uint64_t)(PAGE - 1)};
        if (!has_room(m.size)) return 1;
        put(ring->head, &m, sizeof m);
        memset(path + strlen(path), 0, name - strlen(path));
        put(ring->head + sizeof m, path, name);
        publish(m.size);
    }
    return 0;
}

static bool open_ring(const char *folder) {
    static char path[PATH_MAX];
    int fd = -1;
    for (int i = 0; i < 1000 && fd < 0; i++) {
        int n = snprintf(path, sizeof path, "%s/%d.%d%s" RING_ENDING, folder, getpid(), i,
                         ouro_native_mark());
        if (n >= PATH_MAX) return false;
        fd = ouro__open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST) return false;
    }
    if (fd < 0) return false;
    void *at = MAP_FAILED;
    ouro__held_limit held = ouro__limit_hold();
    if (ftruncate(fd, sizeof *ring) == 0 && posix_fallocate(fd, 0, sizeof *ring) == 0)
        at = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ouro__limit_release(&held);
    close(fd);
    if (at == MAP_FAILED) return false;
    ring = at;
    return true;
}

static bool start_timer(void) {
    timer_t timer;
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = TICK_SIGNAL, .sigev_value.sival_ptr = &ring};
    struct itimerspec often = {.it_interval = {0, (long)period}, .it_value = {0, (long)period}};
    return timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0 &&
           timer_settime(timer, 0, &often, NULL) == 0;
}

static void begin(void) {
    const char *folder = secure_getenv("OURO_NATIVE");
    process = (uint32_t)getpid();
    writing = false;
    if (!folder || !open_ring(folder)) return;
    dl_iterate_phdr(write_module, NULL);
    if (ouro_native_signal_take(TICK_SIGNAL, on_tick)) start_timer();
}

// A child has no timers, and writes to a ring of its own.
static void in_child(void) {
    if (ring) munmap(ring, sizeof *ring);
    ring = NULL;
    begin();
}

__attribute__((constructor)) static void start_ticks(void) {
    const char *wanted = secure_getenv("OURO_NATIVE_TICKS");
    int error = errno;
    hz = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 0;
    if (hz < 1 || hz > 100000) return;
    period = 1000000000 / hz;
    if (hz == 1) period--;
    begin();
    pthread_atfork(NULL, NULL, in_child);
    errno = error;
}

#endif

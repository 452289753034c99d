// SPDX-License-Identifier: MIT
//
// Shared by all benchmarks; see support.h.

#include "support.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_resident(void) {
    unsigned long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2) bench_fail("/proc/self/statm");
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t bench_resident_peak(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

uint64_t bench_heap(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// xorshift64*: the same stream on every machine.
uint64_t bench_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (x * UINT64_C(2685821657736338717)) >> 32;
}

ouro_block bench_add_blocks(ouro_profile *profile, size_t n) {
    ouro_block first = ouro_add_blocks(profile, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "block_%zu", i);
        ouro_block_info info = {name, "bench.x", (uint32_t)i + 1, 1};
        if (ouro_add_block(profile, &info) != first + i) bench_fail("ouro_add_block");
    }
    return first;
}

void bench_fail(const char *what) {
    fprintf(stderr, "bench: %s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(1);
}

void bench_usage(const char *usage) {
    fprintf(stderr, "usage: %s\n", usage);
    exit(2);
}

void *bench_alloc(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) bench_fail("malloc");
    return memory;
}

uint64_t bench_number(const char *argument) {
    char *end;
    errno = 0;
    unsigned long long n = strtoull(argument, &end, 10);
    if (errno || end == argument || *end) bench_fail(argument);
    return n;
}

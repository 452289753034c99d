// SPDX-License-Identifier: MIT
//
// What it takes to begin: `bench_start FILE ROUNDS` makes a profile with a live file and a thread,
// over and over, and prints the median of its nanoseconds and the bytes that the file has then.

#include "ouro.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 10000 };

static int by_size(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv) {
    static uint64_t taken[MOST];
    struct stat file = {0};
    if (argc != 3) return 2;
    uint64_t rounds = bench_number(argv[2]);
    if (rounds < 1 || rounds > MOST) return 2;
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t start = now();
        ouro_profile *p = ouro_profile_new(&(ouro_options){.path = argv[1]});
        ouro_thread *t = p ? ouro_thread_new(p) : NULL;
        taken[i] = now() - start;
        if (!t || stat(argv[1], &file)) return 1;
        ouro_thread_free(t);
        ouro_profile_free(p);
    }
    unlink(argv[1]);
    qsort(taken, rounds, sizeof *taken, by_size);
    printf("%llu %llu\n", (unsigned long long)taken[rounds / 2], (unsigned long long)file.st_size);
    return 0;
}

// SPDX-License-Identifier: MIT
//
// Two OS threads and the clock. The workers are spawned at the main thread's position, so they
// appear below main/parallel, each recorded without locks in a lane of its own. Each OS thread
// starts its own clock, which charges wall-clock time: main/parallel is the time of waiting.
//
// With a file name as argument the profile is live: another process can read the file at any
// moment, and it is still there after kill -9. A name under /dev/shm keeps it off the disk.

#include <ouro.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { MAIN, PARALLEL, WORKER, PRIMES, COLLATZ, BLOCKS };
enum { WORKERS = 2, ROUNDS_MS = 250 };

static ouro_block first; // block i is first + i

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static unsigned count_primes(ouro_thread *thread, unsigned below) {
    ouro_position caller = ouro_enter(thread, first + PRIMES);
    unsigned found = 0;
    for (unsigned n = 2; n < below; n++) {
        unsigned divisor = 2;
        while (divisor * divisor <= n && n % divisor) divisor++;
        found += divisor * divisor > n;
    }
    ouro_exit(thread, caller);
    return found;
}

static unsigned longest_collatz(ouro_thread *thread, unsigned below) {
    ouro_position caller = ouro_enter(thread, first + COLLATZ);
    unsigned longest = 0;
    for (unsigned start = 1; start < below; start++) {
        unsigned length = 1;
        for (unsigned long n = start; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) length++;
        if (length > longest) longest = length;
    }
    ouro_exit(thread, caller);
    return longest;
}

typedef struct {
    pthread_t id;
    ouro_thread *thread; // made by the parent, used and freed here
    bool right;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    if (ouro_clock_start(w->thread, 0, 0) != 0) perror("threads: no clock");
    ouro_position caller = ouro_enter(w->thread, first + WORKER);
    w->right = true;
    for (double end = milliseconds() + ROUNDS_MS; milliseconds() < end;) {
        w->right &= count_primes(w->thread, 10000) == 1229;
        w->right &= longest_collatz(w->thread, 1000) == 179;
    }
    ouro_exit(w->thread, caller);
    ouro_thread_free(w->thread); // stops its clock, too
    return NULL;
}

static bool run_workers(ouro_thread *parent) {
    worker workers[WORKERS] = {0};
    bool right = true;
    int started = 0;
    for (; started < WORKERS; started++) {
        worker *w = &workers[started];
        w->thread = ouro_thread_spawn(parent); // before pthread_create: on the parent's OS thread
        if (pthread_create(&w->id, NULL, work, w) == 0) continue;
        ouro_thread_free(w->thread);
        break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].id, NULL);
        right &= workers[i].right;
    }
    return right && started == WORKERS;
}

static void print_path(void *profile, const ouro_visit *visit) {
    ouro_block_info info = {"(root)", "", 0, 0};
    if (visit->length) ouro_block_get(profile, visit->path[visit->length - 1], &info);
    int indent = visit->length ? 2 * (int)visit->length - 2 : 0;
    printf("%8.1f ms%8llu calls   %*s%s\n", (double)visit->metrics[0] / 1e6,
           (unsigned long long)visit->calls, indent, "", info.name);
}

static void register_blocks(ouro_profile *profile) {
    static const char *const names[BLOCKS] = {"main", "parallel", "worker", "primes", "collatz"};
    ouro_block_info infos[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) infos[i] = (ouro_block_info){names[i], "threads.c", 0, 0};
    first = ouro_add_blocks(profile, infos, BLOCKS);
}

int main(int argc, char **argv) {
    ouro_metric_info time_metric = {"time", "nanoseconds"};
    ouro_options options = {.metrics = &time_metric, .metric_count = 1};
    if (argc > 1) options.path = argv[1];
    ouro_profile *profile = ouro_profile_new(&options);
    if (!profile) {
        perror(argc > 1 ? argv[1] : "threads");
        return 1;
    }
    register_blocks(profile);
    if (first == OURO_PHANTOM) return 1;

    ouro_thread *thread = ouro_thread_new(profile);
    if (ouro_clock_start(thread, 0, 0) != 0) perror("threads: no clock");
    ouro_position root = ouro_enter(thread, first + MAIN);
    ouro_position caller = ouro_enter(thread, first + PARALLEL);
    bool right = run_workers(thread);
    ouro_exit(thread, caller);
    ouro_exit(thread, root);
    ouro_thread_free(thread);

    printf("Two workers on OS threads of their own; self time by the clock, lanes merged:\n\n");
    ouro_profile_visit(profile, print_path, profile);
    printf("\n%llu lanes were recorded.\n", (unsigned long long)ouro_profile_stats(profile).lanes);
    if (argc > 1) printf("The live file %s stays, marked as finished.\n", argv[1]);
    ouro_profile_free(profile);
    return right ? 0 : 1;
}

// SPDX-License-Identifier: MIT
// Threads: 8 at once, 3,000 short ones, detached ones, ended by pthread_exit and by cancelling, and
// functions called by destructors of keys (pthread_exit calls those too).
// want: main 1
// want: work 8
// want: work;step 800000
// want: brief 3000
// want: brief;step 3000
// want: loose 50
// want: loose;step 50
// want: leaver 20
// want: leaver;deep 20
// want: goodbye 50
// want: leaver;deep;goodbye 20
#include <pthread.h>
#include <semaphore.h>

#define NOINLINE __attribute__((noinline))
static pthread_key_t key;
static sem_t done;

NOINLINE static void step(void) { __asm__ volatile(""); }
static void *work(void *unused) {
    for (int i = 0; i < 100000; i++) step();
    return unused;
}
static void *brief(void *unused) {
    step();
    return unused;
}
static void goodbye(void *unused) {
    (void)unused;
    sem_post(&done);
}
static void *loose(void *unused) {
    pthread_setspecific(key, &key);
    step();
    return unused;
}
NOINLINE static void deep(void) {
    pthread_setspecific(key, &key);
    pthread_exit(NULL);
}
static void *leaver(void *unused) {
    deep();
    __asm__ volatile("");
    return unused;
}

__attribute__((noinline)) static void run(void *(*start)(void *), int count, int at_once) {
    pthread_t ids[8];
    for (int i = 0; i < count; i += at_once) {
        for (int k = 0; k < at_once; k++) pthread_create(&ids[k], NULL, start, NULL);
        for (int k = 0; k < at_once; k++) pthread_join(ids[k], NULL);
    }
}

// Its own functions are not the point.
__attribute__((no_instrument_function, patchable_function_entry(0))) static void run_loose(
    int count) {
    pthread_attr_t detached;
    pthread_t id;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < count; i++) {
        pthread_create(&id, &detached, loose, NULL);
        sem_wait(&done);
    }
}

// want: main;run 3
int main(void) {
    pthread_key_create(&key, goodbye);
    sem_init(&done, 0, 0);
    run(work, 8, 8);
    run(brief, 3000, 4);
    run(leaver, 20, 4);
    sem_init(&done, 0, 0); // those have posted, too
    run_loose(50);
    return 0;
}

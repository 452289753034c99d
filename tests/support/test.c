// SPDX-License-Identifier: MIT
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CASES_MAX = 256, FAILURES_SHOWN = 10 };

static struct {
    const char *name;
    void (*run)(void);
} cases[CASES_MAX];
static int case_count, failures;
static uint64_t seed, state;
static char folder[] = "/tmp/ouro-test-XXXXXX";
static bool folder_made;
static pid_t owner;

void test_register(const char *name, void (*run)(void)) {
    if (case_count == CASES_MAX) abort();
    cases[case_count].name = name;
    cases[case_count++].run = run;
}

bool test_check(bool good, const char *file, int line, const char *format, ...) {
    if (good) return true;
    if (failures++ < FAILURES_SHOWN) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "%s:%d: ", file, line);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    return false;
}

bool test_check_equal(unsigned long long a, unsigned long long b, const char *a_text,
                      const char *b_text, const char *file, int line) {
    return test_check(a == b, file, line, "%s = %llu, not %s = %llu", a_text, a, b_text, b);
}

bool test_check_text(const char *a, const char *b, const char *file, int line) {
    return test_check(strcmp(a, b) == 0, file, line, "got  \"%s\"\n  want \"%s\"", a, b);
}

int test_failures(void) { return failures; }

// splitmix64
uint64_t random_next(void) {
    uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint32_t random_below(uint32_t n) { return (uint32_t)((random_next() >> 32) * n >> 32); }
void random_seed(uint64_t value) { state = value; }
uint64_t test_seed(void) { return seed; }

static void folder_remove(void) {
    if (!folder_made || getpid() != owner) return;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] != '.') unlinkat(dirfd(entries), entry->d_name, 0);
    }
    if (entries) closedir(entries);
    rmdir(folder);
}

const char *test_path(const char *name) {
    static char path[512];
    if (!folder_made) {
        if (!mkdtemp(folder)) abort();
        folder_made = true;
        owner = getpid();
        atexit(folder_remove);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

int main(int argc, char **argv) {
    const char *given = getenv("OURO_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    printf("# seed %llu\n", (unsigned long long)seed);
    int failed = 0;
    for (int i = 0; i < case_count; i++) {
        if (argc > 1 && !strstr(cases[i].name, argv[1])) continue;
        failures = 0;
        random_seed(seed);
        cases[i].run();
        if (failures)
            fprintf(stderr, "repeat with: OURO_SEED=%llu %s %s\n", (unsigned long long)seed,
                    argv[0], cases[i].name);
        printf("%s %s\n", failures ? "not ok" : "ok", cases[i].name);
        fflush(stdout);
        failed += failures > 0;
    }
    return failed > 0;
}

// SPDX-License-Identifier: MIT
//
// ouro: finds the command and runs it. Before that it sets up what all commands share: how memory
// is taken from the system, and the character set that names are measured in. Commands know their
// own options; see cmd_*.c.

#include "cli.h"

#include "descriptors.h"
#include "heap.h"
#include "host.h"
#include "http_client.h"

#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 1 << 21,
    HEAP_STEP = 8 << 20,
    HEAP_LARGEST = 32 << 20,
    HEAP_HUGE = 512 << 20,
    MAPPED_MAX = 65536
};

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"view", cmd_view},       {"report", cmd_report}, {"diff", cmd_diff},
                {"convert", cmd_convert}, {"merge", cmd_merge},   {"push", cmd_push},
                {"store", cmd_store},     {"serve", cmd_serve},   {"help", cmd_help}};

// Columns grow to many megabytes in a tenth of a second, and page faults would be a fifth of that.
// So arrays of middle size come from the heap, which keeps what is freed, and the heap's first part
// is asked for in huge pages. Larger ones are mapped: they grow without being copied. Untouched,
// the heap costs nothing; if any of this is refused, all works as well. A sanitizer's allocator
// does none of it, and would write to the shadow of the whole heap, which takes longer
// than a small command.
static void prepare_memory(void) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, HEAP_STEP);
    mallopt(M_MMAP_MAX, 0); // so that this one is the heap
    char *heap = malloc(HEAP_HUGE);
    if (heap) {
        uintptr_t first = ((uintptr_t)heap + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        madvise((void *)first, HEAP_HUGE - HUGE_PAGE, MADV_HUGEPAGE);
    }
    free(heap);
    mallopt(M_MMAP_MAX, MAPPED_MAX);
    mallopt(M_MMAP_THRESHOLD, HEAP_LARGEST);
#endif
}

// Other users can read the arguments of a process, so a password in a URL is taken out of them at
// once. The commands get a copy.
static void hide_passwords(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *url = strstr(argv[i], "://");
        if (!url || !strchr(url, '@')) continue;
        char *copy = strdup(argv[i]);
        if (!copy) fail_memory();
        ouro__url_hide_password(argv[i]);
        argv[i] = copy;
    }
}

int main(int argc, char **argv) {
    ouro__hold_streams();
    hide_passwords(argc, argv);
    prepare_memory();
    use_native_names();
    // Only for the width of characters: numbers are written the same everywhere.
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "");
    if (argc < 2)
        fail_usage(
            NULL,
            "expected a command: view, report, diff, convert, merge, push, store, serve or help");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name)) continue;
        signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error, with a message
        return commands[i].run(argc - 1, argv + 1);
    }
    if (is_host(argv[1])) return cmd_host(argc - 1, argv + 1);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(NULL);
        return EXIT_GOOD;
    }
    if (strcmp(argv[1], "--version") == 0) {
        print_version();
        return EXIT_GOOD;
    }
    fail_usage(NULL, "there is no command %s", argv[1]);
}

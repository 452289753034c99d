// SPDX-License-Identifier: MIT
//
// perf.data as `ouro run` reads it: the file, its records, the mappings of its processes. Whatever
// comes in, it ends, and the profile has as many samples as were counted. Names and unwinding are
// left out: they read the files that are mapped, not this one.

#include "kernel.h"
#include "perfdata.h"
#include "unwind.h"

#include <stdlib.h>

struct symbols {
    int none;
};

symbols *symbols_new(const char *debug_folders) {
    (void)debug_folders;
    return calloc(1, sizeof(symbols));
}

void symbols_free(symbols *all) { free(all); }

bool symbols_containing(symbols *all, const char *path, const char *build_id, uint64_t offset,
                        symbol *found) {
    (void)all, (void)path, (void)build_id;
    *found = (symbol){.name = "a name", .file = "", .start = offset & ~UINT64_C(15)};
    return offset % 3 != 0;
}

void kernel_read(kernel *k) { (void)k; }
void kernel_free(kernel *k) { (void)k; }

const kernel_function *kernel_find(const kernel *k, uint64_t address) {
    static kernel_function f = {0, (char *)"a function"};
    (void)k;
    f.start = address & ~UINT64_C(63);
    return address % 5 ? &f : NULL;
}

uint64_t unwind_registers(void) { return 0x1ff; }
void unwinder_free(void *unwinder) { (void)unwinder; }

// Reads what an unwinder would: all registers, and all of the stack.
size_t unwind(modules *all, process *p, const record *sample, uint64_t mask, uint64_t *frames,
              size_t most, bool *cut) {
    size_t n = 0;
    (void)all, (void)p;
    if (!sample->registers || !sample->stack) return 0;
    for (int i = 0; i < __builtin_popcountll(mask) && n < most; i++)
        frames[n++] = record_word(sample->registers, (size_t)i);
    for (size_t i = 0; i + 8 <= sample->stack_size && n < most; i += 8)
        frames[n++] = record_word(sample->stack + i, 0);
    *cut = sample->stack_is_cut;
    return n;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const char *problem;
    sampled_options options = {.profile = {.max_nodes = 4096}};
    if (size) options.waits = data[size - 1] & 1;
    if (size) options.by_thread = data[size - 1] & 2;
    unsigned char *copy = malloc(size ? size : 1); // so that a byte too far is noticed
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    sampled *s = perfdata_read(copy, size, &options, &problem);
    if (!s && !problem) abort();
    if (s) {
        sampled_end(s, UINT64_MAX);
        ouro_stats stats = ouro_profile_stats(sampled_profile(s));
        if (stats.totals[1] != sampled_count(s).samples) abort();
        sampled_free(s);
    }
    free(copy);
    return 0;
}

// SPDX-License-Identifier: MIT
//
// The amounts, and what is said when they do not suffice.
//
// A byte of a recorded profile makes one path at most, which takes some 60 bytes in memory, and
// most make none. BASE leaves small files alone. A packed byte counts as PACKED_RATE bytes at most:
// profiles are packed to a fifth or a tenth of their size, and texts with much recursion to less.

#include "budget.h"

#include <errno.h>
#include <stdio.h>

#define BASE (UINT64_C(256) << 20)
enum { RATE = 128, PACKED_RATE = 16, UNPACKED_RATE = 256 };

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

budget ouro__budget_of(uint64_t bytes, uint64_t packed, uint64_t limit) {
    uint64_t counted = packed ? least(bytes, packed * PACKED_RATE) : bytes;
    uint64_t amount = BASE + RATE * counted;
    return (budget){.bytes = packed ? packed : bytes,
                    .memory = limit ? limit : least(amount, MEMORY_MOST),
                    .output = limit ? limit : amount,
                    .work = amount > limit ? amount : limit};
}

void ouro__budget_follow(budget *b, uint64_t bytes, uint64_t limit) {
    uint64_t spent = b->spent;
    *b = ouro__budget_of(bytes, 0, limit);
    b->spent = spent;
}

budget ouro__budget_of_none(void) {
    return (budget){.memory = MEMORY_MOST, .output = UINT64_MAX, .work = UINT64_MAX};
}

uint64_t ouro__unpacked_most(uint64_t packed) {
    return least(BASE + UNPACKED_RATE * packed, MEMORY_MOST);
}

static uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

void ouro__budget_add(budget *to, const budget *b) {
    to->bytes = sum(to->bytes, b->bytes);
    to->memory =
        least(sum(to->memory, b->memory), b->memory > MEMORY_MOST ? b->memory : MEMORY_MOST);
    to->output = sum(to->output, b->output);
    to->work = sum(to->work, b->work);
}

// ---------------------------------------------------------------- errors

enum { SIZE_ROOM = 24 };

// "1G", as --limit takes it: the power of two that is four times as much, or more.
static void next_size(char text[SIZE_ROOM], uint64_t limit) {
    static const char units[] = "MGTPE";
    uint64_t size = 1;
    int unit = 0;
    while (unit < 4 && size << (20 + 10 * unit) < limit * 3) {
        size *= 2;
        unit += size == 1024;
        if (size == 1024) size = 1;
    }
    snprintf(text, SIZE_ROOM, "%llu%c", (unsigned long long)size, units[unit]);
}

static bool refuse(uint64_t limit, const char *what, uint64_t bytes, const char *also, error *e) {
    char more[SIZE_ROOM], amount[GROUPED_ROOM], size[GROUPED_ROOM];
    bool small = limit < (10 << 20);
    next_size(more, limit);
    return ouro__fail(e, EFBIG, "more than %s%s%s: too much for a %s%s%s; --limit %s allows more%s",
                      ouro__grouped(amount, small ? limit : limit >> 20), small ? " " : " M", what,
                      bytes ? "file of " : "pipe", bytes ? ouro__grouped(size, bytes) : "",
                      bytes ? " bytes" : "", more, also);
}

bool ouro__limit_fail(uint64_t limit, const char *what, uint64_t bytes, error *e) {
    return refuse(limit, what, bytes, "", e);
}

bool ouro__budget_fail(const budget *b, int code, error *e) {
    if (code == ETIME) return refuse(b->work, " steps of work", b->bytes, "", e);
    return refuse(b->memory, "B of memory for its paths", b->bytes,
                  ", and --compact edges makes fewer paths", e);
}

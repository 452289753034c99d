// SPDX-License-Identifier: MIT
//
// One long function, divided by hand: each phase has a block of its own, below the function and
// above the functions that the phase calls.

#include <ouro-native.h>
#include <ouro.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

static std::vector<unsigned> numbers(unsigned count) {
    std::vector<unsigned> all;
    for (unsigned i = 0, x = 1; i < count; i++) all.push_back(x = x * 1664525u + 1013904223u);
    return all;
}

static bool by_digits(unsigned a, unsigned b) { return a % 1000 < b % 1000; }

static unsigned report(unsigned count) {
    static const ouro_block make = ouro::add_block(ouro_native_profile(), "make", __FILE__, 26);
    static const ouro_block sort = ouro::add_block(ouro_native_profile(), "sort", __FILE__, 28);
    ouro_thread *thread = ouro_native_thread(); // NULL unless `ouro run` started this program
    ouro::block phase(thread, make);
    std::vector<unsigned> all = numbers(count);
    phase.replace(sort);
    std::sort(all.begin(), all.end(), by_digits);
    return all.front();
}

int main() {
    unsigned sum = 0;
    for (int i = 0; i < 20; i++) sum += report(20000);
    printf("%u\n", sum);
    return 0;
}

// SPDX-License-Identifier: MIT
//
// Measures memory. The machine that is measured collects all garbage after every few bytes, and its
// stacks grow in small chunks, so that the peak counts only memory that is really in use.

#include "measure.h"

enum { BITS = 16 };

// The same number of bits for any number that fits, so that two runs can be compared.
static fble_ref bit_list(struct fble_machine *m, uint64_t n) {
    fble_ref bits[64];
    uint32_t count = BITS;
    while (count < 64 && n >> count) count++;
    for (uint32_t i = 0; i < count; i++)
        bits[i] = fble_make_union(m, 2, (uint32_t)(n >> (count - 1 - i) & 1), fble_unit(m));
    return fble_make_list(m, count, bits);
}

bool fble_measure(struct fble_machine *m, fble_ref function, uint64_t n, size_t *bytes) {
    fble_ref argument = bit_list(m, n);
    fble_peak_reset(m);
    size_t before = fble_peak(m);
    if (!fble_call(m, function, 1, &argument)) return false;
    fble_collect_all(m); // looks at the peak, too
    *bytes = fble_peak(m) - before;
    return true;
}

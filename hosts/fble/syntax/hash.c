// SPDX-License-Identifier: MIT
//
// A hash of 128 bits, two lanes of multiplications. It tells texts apart that differ by accident;
// it is not cryptographic.

#include "hash.h"

static uint64_t mixed(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

const char *fble_hash(struct fble_arena *arena, const char *bytes, size_t length) {
    uint64_t one = 0x243f6a8885a308d3u ^ length, two = 0x13198a2e03707344u;
    for (size_t i = 0; i < length; i++) {
        one = (one ^ (unsigned char)bytes[i]) * 0x9e3779b97f4a7c15u;
        one ^= one >> 31;
        two = (two + (unsigned char)bytes[i]) * 0xc2b2ae3d27d4eb4fu;
        two ^= two >> 27;
    }
    return fble_format(arena, "%016llx%016llx", (unsigned long long)mixed(one),
                       (unsigned long long)mixed(two ^ one));
}

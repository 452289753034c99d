// SPDX-License-Identifier: MIT
//
// SHA-256 as FIPS 180-4 defines it, in its words. Names and constants are the standard's.

#include "sha256.h"

#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void schedule(uint32_t W[static 64], const unsigned char block[static 64]) {
    for (int t = 0; t < 16; t++) {
        const unsigned char *b = block + 4 * t;
        W[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int t = 16; t < 64; t++) {
        uint32_t a = W[t - 15], b = W[t - 2];
        uint32_t s0 = rotr(a, 7) ^ rotr(a, 18) ^ a >> 3, s1 = rotr(b, 17) ^ rotr(b, 19) ^ b >> 10;
        W[t] = W[t - 16] + s0 + W[t - 7] + s1;
    }
}

static void compress(uint32_t H[static 8], const unsigned char block[static 64]) {
    uint32_t W[64], a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
    schedule(W, block);
    for (int t = 0; t < 64; t++) {
        uint32_t S1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25), ch = (e & f) ^ (~e & g);
        uint32_t T1 = h + S1 + ch + K[t] + W[t];
        uint32_t S0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22), maj = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + T1;
        d = c, c = b, b = a, a = T1 + S0 + maj;
    }
    H[0] += a, H[1] += b, H[2] += c, H[3] += d;
    H[4] += e, H[5] += f, H[6] += g, H[7] += h;
}

void ouro__sha256_init(sha256 *s) {
    static const uint32_t H[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, H, sizeof H);
    s->bytes = 0;
}

void ouro__sha256_add(sha256 *s, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    while (size > 0) {
        size_t used = s->bytes % sizeof s->block, part = sizeof s->block - used;
        if (part > size) part = size;
        memcpy(s->block + used, from, part);
        s->bytes += part;
        from += part;
        size -= part;
        if (s->bytes % sizeof s->block == 0) compress(s->state, s->block);
    }
}

void ouro__sha256_end(sha256 *s, unsigned char digest[static 32]) {
    static const unsigned char padding[64] = {0x80};
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(s->bytes * 8 >> (56 - 8 * i));
    ouro__sha256_add(s, padding, 1 + (119 - s->bytes % 64) % 64);
    ouro__sha256_add(s, length, sizeof length);
    for (int i = 0; i < 32; i++) digest[i] = (unsigned char)(s->state[i / 4] >> (24 - i % 4 * 8));
}

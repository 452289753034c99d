// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4), for keys that are the same on every machine and in every language.

#ifndef OURO_SHA256_H
#define OURO_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} sha256;

void ouro__sha256_init(sha256 *s);
void ouro__sha256_add(sha256 *s, const void *bytes, size_t size);
void ouro__sha256_end(sha256 *s, unsigned char digest[static 32]);

#endif

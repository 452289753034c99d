// SPDX-License-Identifier: MIT
//
// The key of this process, and SipHash-1-3 of a run of bytes.

#include "siphash.h"

#include <endian.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

hash_key ouro__hash_key;

// The kernel gives every process 16 random bytes. They serve where getrandom is forbidden.
__attribute__((constructor)) static void draw_key(void) {
    if (getrandom(&ouro__hash_key, sizeof ouro__hash_key, GRND_NONBLOCK) ==
        (ssize_t)sizeof ouro__hash_key)
        return;
    const void *given = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (given) memcpy(&ouro__hash_key, given, sizeof ouro__hash_key);
}

static uint64_t load_8(const unsigned char *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return le64toh(word);
}

static uint64_t load_4(const unsigned char *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return le32toh(word);
}

// The bytes of a text that is shorter than a word, the first one lowest: by loads that overlap.
static uint64_t short_text(const unsigned char *from, size_t size) {
    if (size >= 4) return load_4(from) | load_4(from + size - 4) << (8 * (size - 4));
    if (size == 0) return 0;
    return from[0] | (uint64_t)from[size / 2] << (8 * (size / 2)) |
           (uint64_t)from[size - 1] << (8 * (size - 1));
}

// What is left after the whole words, and the size above it.
static uint64_t last_word(const unsigned char *from, size_t size) {
    size_t left = size % 8;
    uint64_t word = size < 8 ? short_text(from, size)
                    : left   ? load_8(from + size - 8) >> (8 * (8 - left))
                             : 0;
    return word | (uint64_t)size << 56;
}

uint64_t ouro__siphash(const hash_key *key, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    sip_state s = ouro__sip_start(key);
    for (size_t at = 0; at + 8 <= size; at += 8) ouro__sip_word(&s, load_8(from + at));
    ouro__sip_word(&s, last_word(from, size));
    return ouro__sip_end(&s);
}

// SPDX-License-Identifier: MIT
//
// The key of this process, and SipHash-1-3 of a run of bytes.

#include "siphash.h"

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

// The last word: what is left of the bytes, and their number above it.
static uint64_t last_word(const unsigned char *from, size_t left, size_t size) {
    uint64_t word = (uint64_t)size << 56;
    for (size_t i = 0; i < left; i++) word |= (uint64_t)from[i] << (8 * i);
    return word;
}

static uint64_t little_endian(const unsigned char *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

uint64_t ouro__siphash(const hash_key *key, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    sip_state s = ouro__sip_start(key);
    size_t left = size;
    for (; left >= 8; left -= 8, from += 8) ouro__sip_word(&s, little_endian(from));
    ouro__sip_word(&s, last_word(from, left, size));
    return ouro__sip_end(&s);
}

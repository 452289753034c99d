// SPDX-License-Identifier: MIT
//
// Keyed hashes of what files choose: names, ids, paths. Each process draws its key at random, so
// whoever writes a file cannot know which of its names collide. SipHash-1-3 (Aumasson and
// Bernstein, 2012) is made for this.
//
// Nothing that is shown may depend on a hash: rows are numbered in the order in which they come.

#ifndef OURO_SIPHASH_H
#define OURO_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t words[2];
} hash_key;

// Drawn before main begins, and never changed.
extern hash_key ouro__hash_key;

// The function itself, for any key.
uint64_t ouro__siphash(const hash_key *key, const void *bytes, size_t size);

static inline uint32_t ouro__hash_bytes(const void *bytes, size_t size) {
    return (uint32_t)ouro__siphash(&ouro__hash_key, bytes, size);
}

typedef struct {
    uint64_t a, b, c, d;
} sip_state;

static inline uint64_t ouro__rotated(uint64_t word, int by) {
    return word << by | word >> (64 - by);
}

static inline void ouro__sip_round(sip_state *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = ouro__rotated(s->b, 13) ^ s->a;
    s->d = ouro__rotated(s->d, 16) ^ s->c;
    s->a = ouro__rotated(s->a, 32) + s->d;
    s->c += s->b;
    s->d = ouro__rotated(s->d, 21) ^ s->a;
    s->b = ouro__rotated(s->b, 17) ^ s->c;
    s->c = ouro__rotated(s->c, 32);
}

static inline sip_state ouro__sip_start(const hash_key *key) {
    return (sip_state){
        key->words[0] ^ UINT64_C(0x736f6d6570736575), key->words[1] ^ UINT64_C(0x646f72616e646f6d),
        key->words[0] ^ UINT64_C(0x6c7967656e657261), key->words[1] ^ UINT64_C(0x7465646279746573)};
}

static inline void ouro__sip_word(sip_state *s, uint64_t word) {
    s->d ^= word;
    ouro__sip_round(s);
    s->a ^= word;
}

static inline uint64_t ouro__sip_end(sip_state *s) {
    s->c ^= 0xff;
    for (int i = 0; i < 3; i++) ouro__sip_round(s);
    return s->a ^ s->b ^ s->c ^ s->d;
}

// All numbers have the same length, so the word that would tell it is left out.
static inline uint32_t ouro__hash_number(uint64_t number) {
    sip_state s = ouro__sip_start(&ouro__hash_key);
    ouro__sip_word(&s, number);
    return (uint32_t)ouro__sip_end(&s);
}

static inline uint32_t ouro__hash_pair(uint32_t a, uint32_t b) {
    return ouro__hash_number((uint64_t)a << 32 | b);
}

#endif

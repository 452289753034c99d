// SPDX-License-Identifier: MIT
//
// The table of words. Chained buckets, because words are never removed and carry their own link;
// the table keeps the hash so that growing does not read the text again. Text is not copied: a
// word points into the source that mentioned it first.

#include "words.h"

#include "lexer.h"

#include <string.h>

static uint32_t hash_of(const char *text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u ^ length;
    while (length >= 8) {
        uint64_t eight;
        memcpy(&eight, text, 8);
        hash = (hash ^ eight) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        text += 8;
        length -= 8;
    }
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 29);
}

static void grow_words(struct fble_arena *arena, struct fble_words *words) {
    uint32_t capacity = words->capacity ? 2 * words->capacity : 1024;
    struct fble_word **buckets = fble_alloc(arena, capacity * sizeof *buckets);
    for (uint32_t i = 0; i < words->capacity; i++) {
        for (struct fble_word *word = words->buckets[i], *next; word; word = next) {
            next = word->next;
            word->next = buckets[word->hash & (capacity - 1)];
            buckets[word->hash & (capacity - 1)] = word;
        }
    }
    words->buckets = buckets;
    words->capacity = capacity;
}

struct fble_word *fble_word(struct fble_arena *arena, struct fble_words *words, const char *text,
                            size_t length) {
    if (words->count >= words->capacity) grow_words(arena, words);
    uint32_t hash = hash_of(text, length);
    struct fble_word **bucket = &words->buckets[hash & (words->capacity - 1)];
    for (struct fble_word *word = *bucket; word; word = word->next)
        if (word->hash == hash && word->length == length && !memcmp(word->text, text, length))
            return word;
    struct fble_word *word = fble_alloc(arena, sizeof *word);
    word->text = text;
    word->length = (uint32_t)length;
    word->hash = hash;
    word->next = *bucket;
    *bucket = word;
    words->count++;
    return word;
}

struct fble_path *fble_path(struct fble_arena *arena, struct fble_words *words,
                            struct fble_word **elements, uint32_t count) {
    struct fble_text text = {.arena = arena};
    for (uint32_t i = 0; i < count; i++) {
        fble_add(&text, "/", 1);
        fble_add_word(&text, elements[i]);
    }
    fble_add(&text, "%", 1);
    struct fble_word *key = fble_word(arena, words, text.at, text.length);
    if (!key->path) {
        key->path = fble_alloc(arena, sizeof *key->path);
        key->path->count = count;
        key->path->text = text.at;
        key->path->words = fble_alloc(arena, count * sizeof *elements);
        memcpy(key->path->words, elements, count * sizeof *elements);
    }
    return key->path;
}

bool fble_path_within(const struct fble_path *path, const struct fble_path *package) {
    if (path->count < package->count) return false;
    for (uint32_t i = 0; i < package->count; i++)
        if (path->words[i] != package->words[i]) return false;
    return true;
}

void fble_add_word(struct fble_text *text, const struct fble_word *word) {
    bool plain = word->length > 0;
    for (uint32_t i = 0; i < word->length && plain; i++) plain = fble_word_byte(word->text[i]);
    if (plain) {
        fble_add(text, word->text, word->length);
        return;
    }
    fble_add(text, "'", 1);
    const char *at = word->text, *end = at + word->length;
    while (at < end) {
        const char *quote = memchr(at, '\'', (size_t)(end - at));
        fble_add(text, at, (size_t)((quote ? quote : end) - at));
        if (quote) fble_add(text, "''", 2);
        at = quote ? quote + 1 : end;
    }
    fble_add(text, "'", 1);
}

void fble_add_name(struct fble_text *text, const struct fble_name *name) {
    fble_add_word(text, name->word);
    if (name->type) fble_add(text, "@", 1);
}

const char *fble_name_text(struct fble_arena *arena, const struct fble_name *name) {
    struct fble_text text = {.arena = arena};
    fble_add_name(&text, name);
    return text.at;
}

uint32_t fble_word_distance(const struct fble_word *a, const struct fble_word *b, uint32_t most) {
    enum { LONGEST = 40 };
    uint32_t n = a->length, m = b->length;
    if (n > LONGEST || m > LONGEST || n > m + most || m > n + most) return most + 1;
    uint32_t row[3][LONGEST + 1]; // two rows back for swapped neighbours
    for (uint32_t j = 0; j <= m; j++) row[0][j] = j;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= m; j++) {
            uint32_t best = last[j - 1] + (a->text[i - 1] != b->text[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a->text[i - 1] == b->text[j - 2] &&
                           a->text[i - 2] == b->text[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

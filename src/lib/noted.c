// SPDX-License-Identifier: MIT
//
// What sampled stacks show of recursion. A path in the tree is compacted, and a sample counts no
// call, so the depth of a stack would be lost. Each stack is gone through once, and the occurrences
// of its blocks are counted. Where the profile has a live file, the notes are in it, so that they
// survive a kill like everything else.

#include "noted.h"

#include "blocks.h"

#include <stdlib.h>
#include <string.h>

// Chunks as in blocks.c.
static ouro__noted **chunk_of(ouro_profile *profile, ouro_block block, uint32_t *k,
                              uint32_t *offset) {
    *k = 31 - (uint32_t)__builtin_clz(block / BLOCK_CHUNK_FIRST + 1);
    *offset = block - BLOCK_CHUNK_FIRST * ((UINT32_C(1) << *k) - 1);
    return &profile->noted[*k];
}

ouro__noted ouro__noted_of(ouro_profile *profile, ouro_block block) {
    uint32_t k, offset;
    pthread_mutex_lock(&profile->lock);
    const ouro__noted *chunk = *chunk_of(profile, block, &k, &offset);
    ouro__noted noted = chunk ? chunk[offset] : (ouro__noted){0};
    pthread_mutex_unlock(&profile->lock);
    return noted;
}

static ouro__noted *noted_at(ouro_profile *profile, ouro_block block) {
    uint32_t k, offset;
    ouro__noted **chunk = chunk_of(profile, block, &k, &offset);
    uint32_t count = BLOCK_CHUNK_FIRST << k;
    if (!*chunk && profile->live) {
        *chunk = ouro__live_add_noted(profile->live, block - offset, count);
        if (*chunk) profile->noted_in_file |= UINT32_C(1) << k;
    }
    if (!*chunk) *chunk = calloc(count, sizeof **chunk);
    return *chunk ? *chunk + offset : NULL;
}

static bool reserve(ouro_profile *profile, uint32_t count) {
    if (count <= profile->occurrence_room) return true;
    uint32_t room = count < BLOCK_CHUNK_FIRST ? BLOCK_CHUNK_FIRST : 2 * count;
    uint32_t *grown = calloc(room, sizeof *grown);
    if (!grown) return false;
    free(profile->occurrences);
    profile->occurrences = grown;
    profile->occurrence_room = room;
    return true;
}

static void note(ouro_profile *profile, ouro_block block, uint32_t times, bool direct) {
    ouro__noted *noted = noted_at(profile, block);
    if (!noted) return;
    // A reader of the live file sees one of them without the other at worst.
    if (times > noted->deepest) __atomic_store_n(&noted->deepest, times, __ATOMIC_RELAXED);
    uint32_t kinds = noted->kinds | (direct ? NOTED_DIRECT : NOTED_THROUGH);
    if (kinds != noted->kinds) __atomic_store_n(&noted->kinds, kinds, __ATOMIC_RELAXED);
}

void ouro_note_stack(ouro_profile *profile, const ouro_block *blocks, size_t n) {
    if (!profile) return;
    pthread_mutex_lock(&profile->lock);
    uint32_t count = ouro__block_count(profile);
    bool ok = reserve(profile, count);
    ouro_block above = OURO_PHANTOM;
    for (size_t i = 0; ok && i < n; i++) {
        if (blocks[i] < FIRST_USER_BLOCK || blocks[i] >= count) continue;
        uint32_t times = ++profile->occurrences[blocks[i]];
        if (times > 1) note(profile, blocks[i], times, blocks[i] == above);
        above = blocks[i];
    }
    for (size_t i = 0; ok && i < n; i++) {
        if (blocks[i] < count) profile->occurrences[blocks[i]] = 0;
    }
    pthread_mutex_unlock(&profile->lock);
}

void ouro__noted_reset(ouro_profile *profile) {
    for (uint32_t k = 0; k < BLOCK_CHUNKS; k++) {
        if (profile->noted[k])
            memset(profile->noted[k], 0, ((size_t)BLOCK_CHUNK_FIRST << k) * sizeof(ouro__noted));
    }
}

void ouro__noted_free(ouro_profile *profile) {
    for (uint32_t k = 0; k < BLOCK_CHUNKS; k++) {
        if (!(profile->noted_in_file >> k & 1)) free(profile->noted[k]);
    }
    free(profile->occurrences);
}

// SPDX-License-Identifier: MIT
//
// The blocks of a profile and their texts. Blocks stand in chunks that double in size and never
// move, so that an id can be checked and read while another thread adds. A block is published by
// raising block_count, after it is complete, and after the live file has it.

#include "blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_CHUNK = 16 * 1024 };

uint32_t ouro__block_count(const ouro_profile *profile) {
    return atomic_load_explicit(&((ouro_profile *)profile)->block_count, memory_order_acquire);
}

bool ouro__block_exists(const ouro_profile *profile, ouro_block block) {
    return block < ouro__block_count(profile);
}

// Chunk k begins at block FIRST * (2^k - 1).
static ouro_block_info **chunk_of(const ouro_profile *profile, ouro_block block, uint32_t *offset) {
    uint32_t k = 31 - (uint32_t)__builtin_clz(block / BLOCK_CHUNK_FIRST + 1);
    *offset = block - BLOCK_CHUNK_FIRST * ((UINT32_C(1) << k) - 1);
    return (ouro_block_info **)&profile->chunks[k];
}

const ouro_block_info *ouro__block_at(const ouro_profile *profile, ouro_block block) {
    uint32_t offset;
    return *chunk_of(profile, block, &offset) + offset;
}

// A copy that lives as long as the profile, or NULL. The caller holds the lock or owns the profile.
const char *ouro__text_add(ouro_profile *profile, const char *text) {
    size_t size = strlen(text ? text : "") + 1;
    ouro__text_chunk *last =
        profile->text_chunks ? &profile->texts[profile->text_chunks - 1] : NULL;
    if (!last || last->size - last->used < size) {
        size_t room = size > TEXT_CHUNK ? size : TEXT_CHUNK;
        ouro__text_chunk *chunks =
            realloc(profile->texts, (profile->text_chunks + 1) * sizeof *chunks);
        if (!chunks) return NULL;
        profile->texts = chunks;
        char *bytes = malloc(room);
        if (!bytes) return NULL;
        last = &chunks[profile->text_chunks++];
        last->text = bytes;
        last->used = 0;
        last->size = room;
        profile->text_bytes += room;
    }
    char *copy = memcpy(last->text + last->used, text ? text : "", size);
    last->used += size;
    return copy;
}

static bool store(ouro_profile *profile, ouro_block block, const ouro_block_info *info) {
    uint32_t offset;
    ouro_block_info **chunk = chunk_of(profile, block, &offset);
    if (!*chunk) {
        uint32_t k = (uint32_t)(chunk - profile->chunks);
        *chunk = malloc(((size_t)BLOCK_CHUNK_FIRST << k) * sizeof **chunk);
        if (!*chunk) return false;
    }
    ouro_block_info *to = *chunk + offset;
    *to = *info;
    to->name = ouro__text_add(profile, info->name);
    to->file = ouro__text_add(profile, info->file);
    return to->name && to->file;
}

// Takes back the texts of a call that failed.
static void texts_cut(ouro_profile *profile, size_t chunks, size_t used) {
    while (profile->text_chunks > chunks) {
        ouro__text_chunk *last = &profile->texts[--profile->text_chunks];
        profile->text_bytes -= last->size;
        free(last->text);
    }
    if (chunks) profile->texts[chunks - 1].used = used;
}

// What is stored beyond block_count was never published: the next try stores over it.
static bool store_all(ouro_profile *profile, ouro_block first, const ouro_block_info *infos,
                      size_t n) {
    uint64_t most = (uint64_t)BLOCK_CHUNK_FIRST * ((UINT64_C(1) << BLOCK_CHUNKS) - 1);
    if (n > most - first) {
        errno = EOVERFLOW;
        return false;
    }
    size_t chunks = profile->text_chunks, used = chunks ? profile->texts[chunks - 1].used : 0;
    size_t stored = 0;
    while (stored < n && store(profile, first + (ouro_block)stored, &infos[stored])) stored++;
    bool ok = stored == n;
    if (!ok) errno = ENOMEM;
    if (ok && profile->live) ok = ouro__live_add_blocks(profile->live, first, infos, n);
    if (!ok) texts_cut(profile, chunks, used);
    return ok;
}

ouro_block ouro_add_blocks(ouro_profile *profile, const ouro_block_info *infos, size_t n) {
    if (!profile) return OURO_PHANTOM;
    pthread_mutex_lock(&profile->lock);
    ouro_block first = ouro__block_count(profile);
    bool stored = store_all(profile, first, infos, n);
    if (stored) {
        atomic_store_explicit(&profile->block_count, first + (uint32_t)n, memory_order_release);
    }
    pthread_mutex_unlock(&profile->lock);
    return stored ? first : OURO_PHANTOM;
}

ouro_block ouro_add_block(ouro_profile *profile, const ouro_block_info *info) {
    return ouro_add_blocks(profile, info, 1);
}

bool ouro_block_get(const ouro_profile *profile, ouro_block block, ouro_block_info *info) {
    if (!profile || !ouro__block_exists(profile, block)) return false;
    *info = *ouro__block_at(profile, block);
    return true;
}

// ---------------------------------------------------------------- call sites

// How many, and what is known of them, or NULL.
uint32_t ouro__sites_of_block(const ouro_profile *profile, ouro_block block,
                              const ouro_site_info **infos) {
    uint32_t offset;
    size_t k = (size_t)(chunk_of(profile, block, &offset) - profile->chunks);
    const ouro__block_sites *all =
        atomic_load_explicit(&((ouro_profile *)profile)->sites[k], memory_order_acquire);
    uint32_t count = all ? __atomic_load_n(&all[offset].count, __ATOMIC_ACQUIRE) : 0;
    *infos = count ? all[offset].infos : NULL;
    return count ? count - 1 : OURO_SITES_MOST;
}

static ouro__block_sites *sites_at(ouro_profile *profile, ouro_block block) {
    uint32_t offset;
    size_t k = (size_t)(chunk_of(profile, block, &offset) - profile->chunks);
    ouro__block_sites *all = atomic_load_explicit(&profile->sites[k], memory_order_relaxed);
    if (!all) {
        all = calloc((size_t)BLOCK_CHUNK_FIRST << k, sizeof *all);
        atomic_store_explicit(&profile->sites[k], all, memory_order_release);
    }
    return all ? all + offset : NULL;
}

// A block keeps its first count: its nodes may have parts of that length.
static int add_sites(ouro_profile *profile, ouro_block block, uint32_t count,
                     const ouro_site_info *infos) {
    ouro__block_sites *to = sites_at(profile, block);
    if (!to || to->count) {
        errno = to ? EINVAL : ENOMEM;
        return -1;
    }
    if (count > OURO_SITES_MOST) count = OURO_SITES_MOST;
    to->infos = infos;
    __atomic_store_n(&to->count, count + 1, __ATOMIC_RELEASE);
    return 0;
}

static int check_blocks(const ouro_profile *profile, ouro_block first, size_t n) {
    uint32_t count = ouro__block_count(profile);
    if (first >= FIRST_USER_BLOCK && first <= count && n <= count - first) return 0;
    errno = EINVAL;
    return -1;
}

int ouro_add_sites(ouro_profile *profile, ouro_block first, const uint32_t *counts, size_t n) {
    if (!profile) return 0;
    pthread_mutex_lock(&profile->lock);
    int status = check_blocks(profile, first, n);
    for (size_t i = 0; i < n && !status; i++)
        status = add_sites(profile, first + (ouro_block)i, counts[i], NULL);
    pthread_mutex_unlock(&profile->lock);
    return status;
}

static bool are_possible(const ouro_site_info *infos, uint32_t n) {
    for (uint32_t i = 0; i < n && i < OURO_SITES_MOST; i++)
        if (infos[i].charge >> 30) return false;
    return n <= OURO_SITES_MOST;
}

int ouro_add_site_infos(ouro_profile *profile, ouro_block block, const ouro_site_info *infos,
                        uint32_t n) {
    if (!profile) return 0;
    pthread_mutex_lock(&profile->lock);
    int status = check_blocks(profile, block, 1);
    if (!status && !are_possible(infos, n)) {
        errno = EINVAL;
        status = -1;
    }
    if (!status) status = add_sites(profile, block, n, infos);
    pthread_mutex_unlock(&profile->lock);
    return status;
}

uint64_t ouro__blocks_bytes(const ouro_profile *profile) {
    return profile->text_bytes + (uint64_t)ouro__block_count(profile) * sizeof(ouro_block_info);
}

void ouro__blocks_free(ouro_profile *profile) {
    for (int k = 0; k < BLOCK_CHUNKS; k++) {
        free(profile->chunks[k]);
        free(atomic_load_explicit(&profile->sites[k], memory_order_relaxed));
    }
    for (size_t i = 0; i < profile->text_chunks; i++) free(profile->texts[i].text);
    free(profile->texts);
}

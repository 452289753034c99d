// SPDX-License-Identifier: MIT
//
// The id of a node is a hash of its parent's id and of its block's label: one pass over the rows,
// because parents come first. The key is a constant, unlike that of tables (siphash.h), because an
// address must mean the same tomorrow. Whoever writes a profile can thus make two paths collide;
// then neither is found by its id.

#include "path_ids.h"

#include <stdlib.h>
#include <string.h>

static const hash_key id_key = {{UINT64_C(0x6f75726f20706174), UINT64_C(0x6820696473207631)}};
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// By block. Blocks that a filter added stand behind the others; their name is their label.
static uint64_t *hash_labels(const profile *p, const labels *l) {
    uint64_t *hashes = malloc(((size_t)p->block_count + 1) * sizeof *hashes);
    for (uint32_t b = 0; hashes && b < p->block_count; b++) {
        char *label = b < l->profile->block_count ? ouro__label(l, b) : NULL;
        const char *text = b < l->profile->block_count ? label : ouro__block_name(p, b);
        if (text) {
            hashes[b] = ouro__siphash(&id_key, text, strlen(text));
        } else {
            free(hashes);
            hashes = NULL;
        }
        free(label);
    }
    return hashes;
}

uint64_t *ouro__path_ids_of(const profile *p, const labels *l, const uint8_t *wanted) {
    uint64_t *labelled = hash_labels(p, l), *ids = calloc(p->node_count, sizeof *ids);
    if (!labelled || !ids) {
        free(labelled);
        free(ids);
        return NULL;
    }
    for (uint32_t n = 1; n < p->node_count; n++) {
        if (wanted && !wanted[n]) continue;
        sip_state s = ouro__sip_start(&id_key);
        ouro__sip_word(&s, ids[p->parent[n]]);
        ouro__sip_word(&s, labelled[p->block[n]]);
        ids[n] = ouro__sip_end(&s);
    }
    free(labelled);
    return ids;
}

uint64_t *ouro__path_ids(const profile *p, const labels *l) {
    return ouro__path_ids_of(p, l, NULL);
}

// Six bits per character, the highest first; the first has four.
void ouro__path_id_print(uint64_t id, char text[PATH_ID_ROOM]) {
    for (int i = PATH_ID_LENGTH; i-- > 0; id >>= 6) text[i] = digits[id & 63];
    text[PATH_ID_LENGTH] = '\0';
}

bool ouro__path_id_parse(const char *text, uint64_t *id) {
    *id = 0;
    for (int i = 0; i < PATH_ID_LENGTH; i++) {
        const char *at = text[i] ? strchr(digits, text[i]) : NULL;
        if (!at || (i == 0 && at - digits >= 16)) return false;
        *id = *id << 6 | (uint64_t)(at - digits);
    }
    return true;
}

uint32_t ouro__path_id_find(const uint64_t *ids, uint32_t count, uint64_t id, bool *several) {
    uint32_t found = NO_NODE;
    *several = false;
    for (uint32_t n = 1; n < count; n++) {
        if (ids[n] != id) continue;
        *several = found != NO_NODE;
        if (*several) return NO_NODE;
        found = n;
    }
    return found;
}

// SPDX-License-Identifier: MIT
//
// What call sites have counted, in a live file: sites.c says what it means, live_format.h how it is
// laid out. A running program is read twice. What was counted is taken from the first reading, and
// what it stands for from the second: a site learns a transition before it counts it.

#include "live_reader.h"

#include <errno.h>
#include <stdlib.h>

enum { CELL = sizeof(ouro_known_), USED_AT = sizeof(uint64_t) };

// What an entry stands for. false: that cannot be.
static bool take_entry(const ouro__gains_to *to, const ouro_here *here, const ouro_known_ *entry,
                       uint64_t n) {
    uint64_t charge = ouro__site_charge(entry);
    uint32_t row = slot_position(entry->slot) / to->stride, kind = entry->slot & 3;
    if (!n) return true;
    if (entry->slot && (slot_position(entry->slot) % to->stride || kind >= ENTRY_KINDS))
        return false;
    if (entry->slot) to->gain(to->user, row, kind, n);
    if (charge) to->gain(to->user, here->position / to->stride, ENTRY_KINDS, n * charge);
    return true;
}

// A fold that was cut short: the entry has counted nothing.
static bool is_folded(const ouro__gains_to *to, const ouro_here *here, uint32_t site) {
    const ouro__lane_state *state = to->state;
    return state && state->active == LANE_FOLDS && state->account == here->position &&
           state->site == (site | (uint32_t)here->table << 8);
}

static const ouro_known_ *cell_at(const char *cells, uint64_t i) {
    return (const ouro_known_ *)(const void *)(cells + i * CELL);
}

bool ouro__live_gains(const ouro__gains_to *to, const ouro__live_slab *slab, uint64_t *damaged) {
    for (uint64_t i = 0; i < slab->counted;) {
        const ouro_here *here = (const ouro_here *)(const void *)cell_at(slab->cells, i);
        *damaged = slab->at.data + (1 + i) * CELL;
        if (here->position % to->stride || here->room > OURO_SITES_MOST ||
            here->room >= slab->used - i)
            return false;
        for (uint32_t site = 0; site < here->room && i + 1 + site < slab->counted; site++) {
            const ouro_known_ *counted = cell_at(slab->counts, i + 1 + site);
            uint64_t n = ouro__site_counted(counted->count, counted->slot);
            if (is_folded(to, here, site)) n = 0;
            if (!take_entry(to, here, here->known + site, n)) return false;
        }
        i += 1 + (uint64_t)here->room;
    }
    return true;
}

static bool read_used(reader *r, const ouro__again_slab *at, uint64_t *used) {
    if (!ouro__live_read_at(r, at->data + USED_AT, used, sizeof *used)) return false;
    return *used < at->bytes / CELL ||
           ouro__live_fail(r, EILSEQ, at->data + USED_AT, "damaged: %llu cells of %llu",
                           (unsigned long long)*used, (unsigned long long)(at->bytes / CELL));
}

static bool read_cells(reader *r, const ouro__again_slab *at, char **cells, uint64_t *used) {
    if (!read_used(r, at, used)) return false;
    *cells = malloc((*used + 1) * CELL);
    if (!*cells) return ouro__live_fail_memory(r);
    return ouro__live_read_at(r, at->data + CELL, *cells, *used * CELL);
}

bool ouro__live_slab_read(reader *r, ouro__live_slab *slab, bool counts) {
    if (counts) return read_cells(r, &slab->at, &slab->counts, &slab->counted);
    if (!read_cells(r, &slab->at, &slab->cells, &slab->used)) return false;
    return slab->used >= slab->counted || // they have only become more
           ouro__live_fail(r, EILSEQ, slab->at.data + USED_AT, "damaged: cells are gone");
}

void ouro__live_slab_free(ouro__live_slab *slab) {
    free(slab->counts);
    free(slab->cells);
    slab->counts = slab->cells = NULL;
}

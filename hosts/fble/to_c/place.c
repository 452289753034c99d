// SPDX-License-Identifier: MIT
//
// Places, for code that records: where it calls, tail-calls or returns. What a stretch has run when
// it ends there is a constant of the place. So a place is a call site of its block (ouro_site.h),
// of which the recorder knows what it charges and whether it leaves the block; code only counts
// that it went by.
//
// Numbers are counted per label, since a function may run in several blocks (--profile-blocks all).
// An instruction that is written several times has one number for each charge. Returns of a block
// with the same charge have one number; those that charge nothing need none. A label has few
// numbers: when they are used up, places share two and charge explicitly. Who enters and replaces
// blocks within a function charges explicitly, too, and leaves by itself.

#include "translate.h"
#include "vm/machine.h"

enum { SHARED_CALL = OURO_SITES_MOST - 2, SHARED_TAIL };

// Of one label. The first is FBLE_REST_SITE.
struct c_places {
    uint32_t count;
    bool shared; // the last two are used
    struct {
        const struct emit_ins *ins; // NULL: returns
        uint32_t charge;
        bool leaves;
    } at[OURO_SITES_MOST];
};

void c_begin_places(struct translator *t) {
    uint32_t labels = t->emitted->module->labels.count;
    t->places = fble_alloc(t->arena, labels * sizeof *t->places);
    for (uint32_t i = 0; i < labels; i++) t->places[i].count = FBLE_REST_SITE + 1;
}

// The number, or FBLE_REST_SITE if there are no more.
static uint32_t find(struct c_places *places, const struct emit_ins *ins, uint32_t charge,
                     bool leaves) {
    for (uint32_t i = FBLE_REST_SITE + 1; i < places->count; i++)
        if (places->at[i].ins == ins && places->at[i].charge == charge) return i;
    if (places->count == SHARED_CALL) return FBLE_REST_SITE;
    places->at[places->count].ins = ins;
    places->at[places->count].charge = charge;
    places->at[places->count].leaves = leaves;
    return places->count++;
}

struct c_place c_place_of(struct translator *t, const struct emit_ins *ins, uint32_t charge) {
    struct c_places *places = t->places + ins->label;
    bool leaves = ins->op == FBLE_OP_TAIL || ins->op == FBLE_OP_TAIL_CODE;
    if (t->quiet) return (struct c_place){0, charge};
    uint32_t site = find(places, ins, charge, leaves);
    if (site != FBLE_REST_SITE) return (struct c_place){site, charge};
    places->shared = true;
    if (charge) c_out(t, "FBLE_CHARGE(%u);", charge);
    return (struct c_place){leaves ? SHARED_TAIL : SHARED_CALL, 0};
}

uint32_t c_return_place(struct translator *t, const struct emit_ins *ins, uint32_t charge) {
    if (t->quiet || !charge) return FBLE_REST_SITE;
    return find(t->places + ins->label, NULL, charge, true);
}

static void write_infos(FILE *to, const struct c_places *places, uint32_t label) {
    fprintf(to, "static const ouro_site_info places%u[] = {{0, false}", label);
    for (uint32_t i = FBLE_REST_SITE + 1; i < places->count; i++)
        fprintf(to, ", {%u, %s}", places->at[i].charge, places->at[i].leaves ? "true" : "false");
    if (places->shared)
        fprintf(to, ", [%u] = {0, false}, [%u] = {0, true}", SHARED_CALL, SHARED_TAIL);
    fputs("};\n", to);
}

// Without FBLE_PROFILED nothing is written.
void c_write_places(struct translator *t) {
    uint32_t labels = t->emitted->module->labels.count;
    fputs("#ifdef FBLE_PROFILED\n", t->tables);
    for (uint32_t i = 0; i < labels; i++) write_infos(t->tables, t->places + i, i);
    fputs("static const struct fble_places places[] = {\n", t->tables);
    for (uint32_t i = 0; i < labels; i++)
        fprintf(t->tables, "    {places%u, %u},\n", i,
                t->places[i].shared ? OURO_SITES_MOST : t->places[i].count);
    fputs("};\n#define PLACES places\n#else\n#define PLACES NULL\n#endif\n", t->tables);
}

// SPDX-License-Identifier: MIT
//
// Places, for code that records: where it calls, tail-calls or returns. What a stretch has run when
// it ends there is a constant of the place. So a place is a call site of its block (ouro_site.h),
// of which the recorder knows what it charges and whether it leaves the block; code only counts
// that it went by.
//
// Numbers are counted per label, since a function may run in several blocks (--profile-blocks all).
// An instruction that is written several times has one number for each charge. Returns of a block
// with the same charge have one number. A label has few numbers: when they are used up, places
// share three and charge explicitly. Who enters and replaces blocks within a function charges
// explicitly, too, and leaves by itself.

#include "translate.h"
#include "vm/machine.h"

enum { SHARED_CALL = FBLE_SHARED_SITES, SHARED_TAIL, SHARED_RETURN };

// Of one label. The first is FBLE_REST_SITE.
struct c_places {
    uint32_t count;
    bool shared; // the last three are used
    struct {
        const struct emit_ins *ins; // NULL: returns
        uint32_t charge;
        bool leaves, fixed;
    } at[OURO_SITES_MOST];
};

void c_begin_places(struct translator *t) {
    uint32_t labels = t->emitted->module->labels.count;
    t->places = fble_alloc(t->arena, labels * sizeof *t->places);
    for (uint32_t i = 0; i < labels; i++) t->places[i].count = FBLE_REST_SITE + 1;
}

static bool enters_code(const struct emit_ins *ins) {
    return ins->op == FBLE_OP_CALL_CODE || ins->op == FBLE_OP_TAIL_CODE;
}

// The number, or a shared one if there are no more.
static uint32_t find(struct c_places *places, const struct emit_ins *ins, uint32_t charge,
                     bool leaves) {
    for (uint32_t i = FBLE_REST_SITE + 1; i < places->count; i++)
        if (places->at[i].ins == ins && places->at[i].charge == charge) return i;
    if (places->count == SHARED_CALL) {
        places->shared = true;
        return !ins ? SHARED_RETURN : leaves ? SHARED_TAIL : SHARED_CALL;
    }
    places->at[places->count].ins = ins;
    places->at[places->count].charge = charge;
    places->at[places->count].leaves = leaves;
    places->at[places->count].fixed = ins && enters_code(ins);
    return places->count++;
}

struct c_place c_place_of(struct translator *t, const struct emit_ins *ins, uint32_t charge) {
    struct c_places *places = t->places + ins->label;
    bool leaves = ins->op == FBLE_OP_TAIL || ins->op == FBLE_OP_TAIL_CODE;
    if (t->quiet) return (struct c_place){0, charge};
    uint32_t site = find(places, ins, charge, leaves);
    if (site < SHARED_CALL) return (struct c_place){site, charge};
    if (charge) c_out(t, "FBLE_CHARGE(%u);", charge);
    return (struct c_place){site, 0};
}

struct c_place c_return_place(struct translator *t, const struct emit_ins *ins, uint32_t charge) {
    uint32_t site = t->quiet ? 0 : find(t->places + ins->label, NULL, charge, true);
    return (struct c_place){site, site == SHARED_RETURN ? 0 : charge};
}

static void write_infos(FILE *to, const struct c_places *places, uint32_t label) {
    fprintf(to, "static const ouro_site_info places%u[] = {{0, 0, 0}", label);
    for (uint32_t i = FBLE_REST_SITE + 1; i < places->count; i++)
        fprintf(to, ", {%u, %d, %d}", places->at[i].charge, places->at[i].leaves,
                places->at[i].fixed);
    if (places->shared) fprintf(to, ", [%u] = {0, 0, 0}, {0, 1, 0}, {0, 1, 0}", SHARED_CALL);
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

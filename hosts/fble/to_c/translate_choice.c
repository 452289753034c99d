// SPDX-License-Identifier: MIT
//
// Selects as a table. A tree of selects that ends in constants and globals, which are returned, is
// a function of tags: a gate, an adder of bits. Where the tags are data, a processor cannot foresee
// its branches, and each that it gets wrong costs more than all the rest. So the tags together are
// the index into a table of what is returned. That is for immediates; others take the selects.

#include "translate.h"

enum { MOST_TESTED = 4, MOST_BITS = 6, MOST_NODES = 256 };

// The slots that are selected on, and where their tags are in the index.
struct choice {
    uint32_t count, bits, nodes;
    uint32_t slots[MOST_TESTED], widths[MOST_TESTED], shifts[MOST_TESTED];
};

uint32_t c_follow(const struct translator *t, uint32_t i, uint32_t tag, uint32_t *charge) {
    i = t->f->targets[t->f->ins[i].targets + tag];
    *charge += t->f->facts[i].charge;
    while (t->f->ins[i].op == FBLE_OP_JUMP) {
        i = t->f->targets[t->f->ins[i].targets];
        *charge += t->f->facts[i].charge;
    }
    return i;
}

static uint32_t branch(const struct translator *t, uint32_t i, uint32_t tag) {
    uint32_t charge = 0;
    return c_follow(t, i, tag, &charge);
}

static uint32_t find_slot(const struct choice *choice, uint32_t slot) {
    uint32_t k = 0;
    while (k < choice->count && choice->slots[k] != slot) k++;
    return k;
}

static bool is_leaf(const struct translator *t, uint32_t i) {
    const struct emit_ins *ins = t->f->ins + i;
    if (ins->op != FBLE_OP_GLOBAL && (ins->op != FBLE_OP_CONST || !(ins->word & 1))) return false;
    return ins[1].op == FBLE_OP_RETURN && ins[1].a == ins->a;
}

static bool add_slot(struct choice *choice, const struct emit_ins *ins) {
    uint32_t k = find_slot(choice, ins->b);
    if (k < choice->count) return true;
    if (k == MOST_TESTED || choice->bits + ins->x > MOST_BITS) return false;
    choice->slots[k] = ins->b;
    choice->widths[k] = ins->x;
    choice->shifts[k] = choice->bits;
    choice->bits += ins->x;
    choice->count++;
    return true;
}

// Is it such a tree? Several branches may lead to the same select, so its nodes are counted.
static bool find_slots(const struct translator *t, uint32_t i, uint32_t depth,
                       struct choice *choice) {
    const struct emit_ins *ins = t->f->ins + i;
    if (choice->nodes++ == MOST_NODES) return false;
    if (ins->op != FBLE_OP_SWITCH) return is_leaf(t, i);
    if (depth == MOST_TESTED || !add_slot(choice, ins)) return false;
    for (uint32_t tag = 0; tag < ins->target_count; tag++)
        if (!find_slots(t, branch(t, i, tag), depth + 1, choice)) return false;
    return true;
}

// Selects further down need no table of their own.
static void cover(struct translator *t, uint32_t i) {
    const struct emit_ins *ins = t->f->ins + i;
    t->covered[i] = true;
    for (uint32_t n = 0; ins->op == FBLE_OP_SWITCH && n < ins->target_count; n++)
        cover(t, branch(t, i, n));
}

// No value has a tag that its type has not; such places of the table get what the last tag gives.
static const struct emit_ins *leaf_at(const struct translator *t, uint32_t i,
                                      const struct choice *choice, uint32_t index,
                                      uint32_t *charge) {
    while (t->f->ins[i].op == FBLE_OP_SWITCH) {
        const struct emit_ins *ins = t->f->ins + i;
        uint32_t k = find_slot(choice, ins->b);
        uint32_t tag = index >> choice->shifts[k] & ((1u << choice->widths[k]) - 1);
        if (tag >= ins->target_count) tag = ins->target_count - 1;
        i = c_follow(t, i, tag, charge);
    }
    return t->f->ins + i;
}

// The charge of all returns of the table; 0: they differ.
static uint32_t common_charge(const struct translator *t, uint32_t i, const struct choice *choice) {
    uint32_t common = 0;
    for (uint32_t index = 0; index < 1u << choice->bits; index++) {
        uint32_t charge = t->now.charge;
        leaf_at(t, i, choice, index, &charge);
        if (index && charge != common) return 0;
        common = charge;
    }
    return common;
}

static void write_table(struct translator *t, uint32_t i, const struct choice *choice) {
    fprintf(t->tables, "static const struct fble_choice choices%u[] = {", t->choices);
    for (uint32_t index = 0; index < 1u << choice->bits; index++) {
        uint32_t charge = t->now.charge;
        const struct emit_ins *leaf = leaf_at(t, i, choice, index, &charge);
        if (leaf->op == FBLE_OP_GLOBAL)
            fprintf(t->tables, "{&%s, %u},%c", c_global_of(t, leaf), charge,
                    index % 8 == 7 ? '\n' : ' ');
        else
            fprintf(t->tables, "{&(const fble_value){%#llxu}, %u},%c",
                    (unsigned long long)leaf->word, charge, index % 8 == 7 ? '\n' : ' ');
    }
    fputs("};\n", t->tables);
}

// Where the charges differ, one place that charges nothing is better than a place for each: which
// one it is would be as random as the tags.
static void write_choice(struct translator *t, uint32_t i, const struct choice *choice) {
    uint32_t charge = common_charge(t, i, choice), none = 0;
    const struct emit_ins *leaf = leaf_at(t, i, choice, 0, &none);
    struct c_place place = c_return_place(t, leaf + 1, charge);
    if (place.charge)
        fprintf(t->code, "FBLE_CHOOSE(%u, %u, 1", place.site, place.charge);
    else
        fprintf(t->code, "FBLE_CHOOSE_CHARGING(%u, 1", place.site);
}

bool c_is_choice(const struct translator *t, uint32_t i) {
    return t->f->ins[i].op == FBLE_OP_SWITCH && find_slots(t, i, 0, &(struct choice){0});
}

bool c_choose_by_table(struct translator *t, uint32_t i) {
    struct choice choice = {0};
    if (t->covered[i] || !find_slots(t, i, 0, &choice)) return false;
    for (uint32_t n = 0; n < t->f->ins[i].target_count; n++) cover(t, branch(t, i, n));
    for (uint32_t k = 0; k < choice.count; k++) c_use(t, choice.slots[k]);
    if (t->quiet) return true;
    write_table(t, i, &choice);
    write_choice(t, i, &choice);
    for (uint32_t k = 0; k < choice.count; k++) fprintf(t->code, " & s%u", choice.slots[k]);
    fprintf(t->code, ", choices%u, 0", t->choices++);
    for (uint32_t k = 0; k < choice.count; k++)
        fprintf(t->code, " | fble_immediate_tag(s%u, %u) << %u", choice.slots[k], choice.widths[k],
                choice.shifts[k]);
    fputs(");\n", t->code);
    return true;
}

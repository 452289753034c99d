// SPDX-License-Identifier: MIT
//
// Branches that are alike. Add, of numbers that are chains of bits, selects on both bits, and in
// three of four cases calls itself with the rests and puts one bit or the other before the sum. The
// bits are data, so a processor foresees neither the branch nor, when the call returns, where it
// goes on. Here such branches become one call; what differs comes out of a table by both tags: the
// words of the return. Returns that only wrap the result go on at one step, which finds the tag
// there, too. That is for objects, of which large values are made: small ones come again and again,
// and a processor learns their branches. These, and all other tags, take the selects.

#include "translate.h"

enum { MOST_ARGUMENTS = 3, MOST_BITS = 6, MOST_PAYLOADS = 4 };

// Two selects, one after the other, and the tags of a branch.
struct tested {
    uint32_t slots[2], widths[2], tags[2];
};

// What a branch does: takes payloads, calls, and goes on with the result alone.
struct ending {
    uint32_t call, charge, index;     // instruction, of the stretches up to it, both tags
    uint32_t sources[MOST_ARGUMENTS]; // of the arguments: slot << 1, + 1: its payload
};

struct endings {
    struct ending all[1 << MOST_BITS];
    uint32_t count;
    struct tested tested;
};

static bool is_wrap(const struct translator *t, uint32_t call) {
    const struct emit_ins *ins = t->f->ins + call;
    return ins[1].op == FBLE_OP_UNION && ins[1].b == ins->a && ins[2].op == FBLE_OP_RETURN &&
           ins[2].a == ins[1].a;
}

static bool is_passed_on(const struct translator *t, uint32_t call) {
    const struct emit_ins *ins = t->f->ins + call;
    return ins[1].op == FBLE_OP_TAIL_CODE && ins[1].list_count == 1 &&
           t->f->lists[ins[1].list] == ins->a;
}

// A call of the function itself, after which nothing is needed but its result. Other calls gain
// nothing: what is selected once, and not again and again, is foreseen as well as not.
static bool is_last_call(struct translator *t, uint32_t i) {
    const struct emit_ins *ins = t->f->ins + i;
    if (ins->op != FBLE_OP_CALL_CODE || ins->pointer != t->f->code) return false;
    if (ins->list_count > MOST_ARGUMENTS) return false;
    if (c_called_leaf(t, ins) || t->f->facts[i + 1].dropped) return false;
    const struct fble_site *site = t->f->facts[i].site;
    for (uint32_t word = 0; word * 64 < site->slots; word++)
        if (site->live[word]) return false;
    return is_wrap(t, i) || is_passed_on(t, i);
}

// The payload of a slot whose tag is known.
static bool is_payload(const struct translator *t, uint32_t i, const struct tested *tested) {
    const struct emit_ins *ins = t->f->ins + i;
    uint32_t k = ins->b == tested->slots[1];
    return ins->op == FBLE_OP_PAYLOAD && ins->b == tested->slots[k] && ins->c == tested->tags[k] &&
           !t->f->facts[i].dropped;
}

// Where a slot comes from, after the payloads from `first` up to `end`.
static uint32_t source_of(const struct translator *t, uint32_t first, uint32_t end, uint32_t slot) {
    while (end-- > first)
        if (t->f->ins[end].a == slot) return t->f->ins[end].b << 1 | 1;
    return slot << 1;
}

static bool find_ending(struct translator *t, uint32_t i, const struct tested *tested,
                        struct ending *ending) {
    uint32_t first = i;
    for (; is_payload(t, i, tested); i++)
        if (i == first + MOST_PAYLOADS || source_of(t, first, i, t->f->ins[i].b) & 1) return false;
    if (!is_last_call(t, i)) return false;
    const struct emit_ins *ins = t->f->ins + i;
    ending->call = i;
    ending->index = tested->tags[0] | tested->tags[1] << tested->widths[0];
    for (uint32_t k = 0; k < ins->list_count; k++)
        ending->sources[k] = source_of(t, first, i, t->f->lists[ins->list + k]);
    return true;
}

// The last tag that a slot's bits allow stands for a placeholder, so no value may have it.
static bool test_slot(struct tested *tested, uint32_t k, const struct emit_ins *ins) {
    tested->slots[k] = ins->b;
    tested->widths[k] = ins->x;
    return ins->target_count < 1u << ins->x;
}

static void add_endings(struct translator *t, uint32_t select, uint32_t charge,
                        struct endings *to) {
    struct tested *tested = &to->tested;
    for (uint32_t *tag = &tested->tags[1]; *tag < t->f->ins[select].target_count; ++*tag) {
        struct ending *ending = to->all + to->count;
        ending->charge = charge;
        uint32_t i = c_follow(t, select, *tag, &ending->charge);
        if (find_ending(t, i, tested, ending)) to->count++;
    }
    tested->tags[1] = 0;
}

// All endings of the select i and those on another slot that its branches are.
static void find_endings(struct translator *t, uint32_t i, struct endings *to) {
    const struct emit_ins *first = t->f->ins + i, *second = NULL;
    *to = (struct endings){0};
    if (first->op != FBLE_OP_SWITCH || !test_slot(&to->tested, 0, first)) return;
    for (uint32_t *tag = &to->tested.tags[0]; *tag < first->target_count; ++*tag) {
        uint32_t charge = 0, next = c_follow(t, i, *tag, &charge);
        const struct emit_ins *ins = t->f->ins + next;
        if (ins->op != FBLE_OP_SWITCH || ins->b == first->b) continue;
        if (second && (second->b != ins->b || second->x != ins->x)) continue;
        if (first->x + ins->x > MOST_BITS || !test_slot(&to->tested, 1, ins)) continue;
        second = ins;
        add_endings(t, next, charge, to);
    }
}

static bool are_alike(const struct translator *t, const struct ending *a, const struct ending *b) {
    const struct emit_ins *x = t->f->ins + a->call, *y = t->f->ins + b->call;
    if (a->charge != b->charge) return false;
    for (uint32_t k = 0; k < x->list_count; k++)
        if (a->sources[k] != b->sources[k]) return false;
    if (is_wrap(t, a->call) != is_wrap(t, b->call)) return false;
    return is_wrap(t, a->call) ? x[1].x == y[1].x : x[1].pointer == y[1].pointer;
}

// How many calls are alike. Several tags may lead to the same one.
static uint32_t count_alike(const struct translator *t, const struct endings *of, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = 0, last = UINT32_MAX; k < of->count; k++) {
        if (of->all[k].call == last || !are_alike(t, of->all + i, of->all + k)) continue;
        last = of->all[k].call;
        n++;
    }
    return n;
}

// Leaves those that are alike and most; 0 if there are no two.
static uint32_t keep_most(const struct translator *t, struct endings *of) {
    uint32_t best = 0, most = 1, kept = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        uint32_t n = count_alike(t, of, i);
        if (n > most) best = i, most = n;
    }
    struct ending like = of->all[best];
    for (uint32_t i = 0; most > 1 && i < of->count; i++)
        if (are_alike(t, &like, of->all + i)) of->all[kept++] = of->all[i];
    return of->count = kept;
}

static bool find_alike(struct translator *t, uint32_t i, struct endings *found) {
    find_endings(t, i, found);
    return found->count && keep_most(t, found);
}

uint32_t c_find_wraps(struct translator *t) {
    struct endings found;
    for (uint32_t i = 0; i < t->f->count; i++)
        if (find_alike(t, i, &found) && is_wrap(t, found.all[0].call))
            return t->f->ins[found.all[0].call + 1].x;
    return 0;
}

// The words of a return. All go on with the same step.
static void write_return(struct translator *t, uint32_t call, uint32_t first) {
    const struct emit_ins *ins = t->f->ins + call;
    if (!is_wrap(t, call)) {
        c_write_return(t, call, first);
        return;
    }
    uint32_t site = c_write_site(t, t->f->facts[call].site);
    fprintf(t->tables,
            "static const struct fble_wrap return%u = {FBLE_RETURN_WORDS(%u, %u, &site%u, "
            "f%u_w0), f%u_%u, %u, %u};\n",
            t->returns++, ins->a, t->f->most, site, t->index, t->index, call + 1, ins[1].c,
            c_return_place(t, ins + 2, 0).site);
}

static void write_table(struct translator *t, const struct endings *found) {
    const struct tested *tested = &found->tested;
    uint32_t first = t->returns, call = found->all[0].call;
    for (uint32_t k = 0; k < found->count; k++) write_return(t, found->all[k].call, call);
    fprintf(t->tables, "static const uint64_t *const alike%u[%u] = {", t->alike++,
            1u << (tested->widths[0] + tested->widths[1]));
    for (uint32_t k = 0; k < found->count; k++)
        fprintf(t->tables, "[%u] = &return%u%s.op, ", found->all[k].index, first + k,
                is_wrap(t, call) ? ".words" : "");
    fputs("};\n", t->tables);
}

static const char *argument(struct translator *t, const struct endings *found, uint32_t k) {
    uint32_t source = found->all[0].sources[k], slot = source >> 1;
    if (k >= t->f->ins[found->all[0].call].list_count) return "FBLE_ANYTHING";
    if (!(source & 1)) return fble_format(t->arena, "s%u", slot);
    return fble_format(t->arena, "fble_payload(s%u, %u)", slot,
                       found->tested.widths[slot == found->tested.slots[1]]);
}

void c_join_alike(struct translator *t, uint32_t i) {
    struct endings found;
    if (!find_alike(t, i, &found)) return;
    const struct tested *tested = &found.tested;
    const struct emit_ins *ins = t->f->ins + found.all[0].call;
    if (t->now.tags[tested->slots[1]] ||
        (is_wrap(t, found.all[0].call) && ins[1].x != t->wrap_bits))
        return;
    c_use(t, tested->slots[1]);
    for (uint32_t k = 0; k < ins->list_count; k++) c_use(t, found.all[0].sources[k] >> 1);
    if (t->quiet) return;
    c_out(t, "if (!((s%u | s%u) & 1)) {", tested->slots[0], tested->slots[1]);
    c_out(
        t,
        "const uint64_t *pc = alike%u[fble_object_tag(s%u, %u) | fble_object_tag(s%u, %u) << %u];",
        t->alike, tested->slots[0], tested->widths[0], tested->slots[1], tested->widths[1],
        tested->widths[0]);
    write_table(t, &found);
    c_out(t, "if (pc) { uint64_t *frame = fp + %u;", t->f->most);
    c_out(t, "frame[FBLE_FP_RETURN] = fble_pointer(pc);");
    c_out(t, "frame[FBLE_FP_CALLER] = fble_pointer(fp);");
    struct c_place place = c_place_of(t, ins, t->now.charge + found.all[0].charge);
    c_out(t, "FBLE_JUMP_ENTERING(f%u, (&codes[%u]), %u, %u, frame, %u, %s, %s, %s);\n} }", t->index,
          t->index, place.site, place.charge, ins->list_count, argument(t, &found, 0),
          argument(t, &found, 1), argument(t, &found, 2));
}

// SPDX-License-Identifier: MIT
//
// While a function is emitted, every value gets a slot of its own. Here they get slots of the
// frame: a value needs one from the first to the last instruction that mentions it, in the order of
// the code. All branches go forward, so no path between the two leaves that stretch. Values whose
// stretches do not meet share a slot. An instruction may put its result where it has read.
//
// Arguments stay where the caller puts them; their slots are free after their last use.

#include "emit.h"

#include <string.h>

enum { NOWHERE = UINT32_MAX };

struct sharing {
    struct emit_function *f;
    uint32_t *first, *last;  // per value: instructions; NOWHERE: none
    uint32_t *slot;          // of the frame
    uint32_t *ending, *next; // per instruction: the values that end there, as a list of values + 1
    uint32_t *vacant, vacant_count;
    uint32_t most;
};

static bool is_dropped(const struct emit_ins *ins) {
    return ins->variable && !ins->variable->global;
}

typedef void visit(struct sharing *s, uint32_t *slot, uint32_t i);

// All slots that an instruction has as operands.
static void for_slots(struct sharing *s, uint32_t i, visit *results, visit *others) {
    struct emit_ins *ins = s->f->ins + i;
    const struct fble_operands *roles = fble_operands + ins->op;
    bool fields = roles->list == FBLE_ROLE_FIELDS; // every second is the number of a field
    for (uint32_t k = fields; k < ins->list_count; k += 1 + fields)
        others(s, s->f->lists + ins->list + k, i);
    if (roles->a == FBLE_ROLE_IN) others(s, &ins->a, i);
    if (roles->b == FBLE_ROLE_IN) others(s, &ins->b, i);
    if (roles->a == FBLE_ROLE_OUT) results(s, &ins->a, i);
}

static void note(struct sharing *s, uint32_t *slot, uint32_t i) {
    if (s->first[*slot] == NOWHERE) s->first[*slot] = i;
    s->last[*slot] = i;
}

static void vacate(struct sharing *s, uint32_t value) {
    if (s->slot[value] >= FBLE_FP_ARGS) s->vacant[s->vacant_count++] = s->slot[value];
}

static void rename_slot(struct sharing *s, uint32_t *slot, uint32_t i) {
    (void)i;
    *slot = s->slot[*slot];
}

static void place_result(struct sharing *s, uint32_t *slot, uint32_t i) {
    uint32_t value = *slot;
    if (s->first[value] == i && s->slot[value] == NOWHERE)
        s->slot[value] = s->vacant_count ? s->vacant[--s->vacant_count] : s->most++;
    *slot = s->slot[value];
}

// Operands end before the result begins, unless they are the same value.
static void place(struct sharing *s, uint32_t i) {
    uint32_t out = fble_operands[s->f->ins[i].op].a == FBLE_ROLE_OUT ? s->f->ins[i].a : NOWHERE;
    for (uint32_t v = s->ending[i]; v; v = s->next[v - 1])
        if (v - 1 != out) vacate(s, v - 1);
    for_slots(s, i, place_result, rename_slot);
    if (out != NOWHERE && s->last[out] == i) vacate(s, out);
}

// The header and the arguments are where they are from the beginning.
static void place_arguments(struct sharing *s) {
    s->most = FBLE_FP_ARGS + s->f->code->arity;
    for (uint32_t v = 0; v < s->most; v++) {
        s->slot[v] = v;
        if (s->last[v] == NOWHERE) vacate(s, v);
    }
}

static void find_stretches(struct sharing *s) {
    memset(s->first, 0xff, s->f->slots * sizeof *s->first);
    memset(s->last, 0xff, s->f->slots * sizeof *s->last);
    memset(s->slot, 0xff, s->f->slots * sizeof *s->slot);
    for (uint32_t i = 0; i < s->f->count; i++)
        if (!is_dropped(s->f->ins + i)) for_slots(s, i, note, note);
    for (uint32_t v = 0; v < s->f->slots; v++) {
        if (s->last[v] == NOWHERE) continue;
        s->next[v] = s->ending[s->last[v]];
        s->ending[s->last[v]] = v + 1;
    }
}

static void *numbers(struct emitter *e, uint32_t count) {
    return fble_alloc(e->arena, ((size_t)count + 1) * sizeof(uint32_t));
}

void emit_share_slots(struct emitter *e, struct emit_function *f) {
    struct sharing s = {.f = f,
                        .first = numbers(e, f->slots),
                        .last = numbers(e, f->slots),
                        .slot = numbers(e, f->slots),
                        .next = numbers(e, f->slots),
                        .vacant = numbers(e, f->slots),
                        .ending = numbers(e, f->count)};
    find_stretches(&s);
    place_arguments(&s);
    for (uint32_t i = 0; i < f->count; i++) {
        if (!is_dropped(f->ins + i)) place(&s, i);
        if (s.most <= FBLE_MOST_SLOTS) continue;
        emit_too_large(e, f->ins[i].near, "too many values are needed at the same time here");
        return;
    }
    f->most = s.most;
}

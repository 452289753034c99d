// SPDX-License-Identifier: MIT
//
// Selects and guards: a SWITCH, the arms one after the other, and what comes after them. Each arm
// ends in a jump to what follows the select, or in the function's own end. Also the blocks that
// profiles with --profile-blocks all have beyond functions: a branch in tail position replaces the
// block that it is in, just as a tail call does; everything else is entered and exited.

#include "emit.h"

void emit_enter(struct emitter *e, const struct fble_label *label, struct emit_want want,
                struct fble_list *tokens) {
    if (!e->all_blocks || !label) return;
    ouro_block block = e->first_block ? e->first_block + label->index : OURO_PHANTOM;
    if (want.kind == EMIT_AS_RESULT) {
        emit_add(e, FBLE_OP_REPLACE, 0, 0, 0)->word = block;
    } else {
        uint32_t token = emit_new_slot(e);
        emit_add(e, FBLE_OP_ENTER, token, 0, 0)->word = block;
        emit_push_slot(e, tokens, token);
    }
    e->function->block = label->index;
}

void emit_exits(struct emitter *e, const struct fble_list *tokens) {
    for (uint32_t i = tokens->count; i-- > 0;)
        emit_add(e, FBLE_OP_EXIT, emit_slot_at(tokens, i), 0, 0);
}

void emit_land_jumps(struct emitter *e, const struct fble_list *jumps) {
    for (uint32_t i = 0; i < jumps->count; i++)
        e->function->targets[emit_slot_at(jumps, i)] = e->function->count;
}

static void add_jump(struct emitter *e, struct fble_list *jumps) {
    uint32_t target = emit_add_target(e);
    struct emit_ins *ins = emit_add(e, FBLE_OP_JUMP, 0, 0, 0);
    ins->targets = target;
    ins->target_count = 1;
    emit_push_slot(e, jumps, target);
}

static void emit_branch(struct emitter *e, struct fble_expr *value, const struct fble_label *label,
                        struct emit_want want, struct fble_list *jumps,
                        const struct fble_list *open) {
    uint32_t block = e->function->block;
    struct fble_list tokens = {0};
    emit_enter(e, label, want, &tokens);
    emit_expr(e, value, want);
    emit_exits(e, &tokens);
    if (want.kind != EMIT_AS_RESULT) { // else what is open is of the function around a bind
        if (open) emit_exits(e, open);
        add_jump(e, jumps);
    }
    e->function->block = block;
}

void emit_arms(struct emitter *e, struct fble_suffix *select, uint32_t value, struct emit_want want,
               struct fble_loc loc, struct fble_list *jumps, const struct fble_list *open) {
    uint32_t tags = select->select.tags, first = e->function->target_count;
    for (uint32_t i = 0; i < tags; i++) emit_add_target(e);
    struct emit_ins *ins = emit_add(e, FBLE_OP_SWITCH, 0, value, tags);
    ins->targets = first;
    ins->target_count = tags;
    ins->x = (uint8_t)fble_tag_bits(tags);
    ins->loc = loc;
    uint32_t tag = 0;
    for (struct fble_arm *arm = select->select.arms; arm; arm = arm->next) {
        while (select->select.chosen[tag] != arm) tag++;
        e->function->targets[first + tag] = e->function->count;
        emit_branch(e, arm->value, arm->label, want, jumps, open);
    }
    for (uint32_t i = 0; i < tags; i++)
        if (!select->select.chosen[i]) e->function->targets[first + i] = e->function->count;
}

uint32_t emit_select(struct emitter *e, struct fble_suffix *select, uint32_t value,
                     struct emit_want want, struct fble_loc loc) {
    struct fble_list jumps = {0};
    if (want.kind == EMIT_ANYWHERE) want = (struct emit_want){EMIT_IN_SLOT, emit_new_slot(e)};
    emit_arms(e, select, value, want, loc, &jumps, NULL);
    bool used = false; // the default may be redundant
    for (uint32_t i = 0; i < select->select.tags; i++) used |= !select->select.chosen[i];
    if (used) emit_branch(e, select->select.other, select->select.label, want, &jumps, NULL);
    emit_land_jumps(e, &jumps);
    return want.slot;
}

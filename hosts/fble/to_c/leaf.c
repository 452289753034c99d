// SPDX-License-Identifier: MIT
//
// Which functions are computed in place. A leaf is a short function that calls nothing and needs
// nothing of its frame but three arguments. Where its code is known, a call of it computes the
// result and goes on with what comes after the call: no frame, and no jump that a processor has to
// guess. If that is short it is in the same step, so nothing is stored and loaded again
// (go_on_after_leaf in translate_step.c). In whatever is rare (a placeholder, too little memory, a
// profile that does not know the call yet), the leaf gives up, and the call is made as any other:
// nothing has happened by then.

#include "translate.h"

enum { LONGEST_LEAF = 24, MOST_ARGUMENTS = 3, MOST_FIELDS = 8 };

static bool is_simple(const struct emit_ins *ins) {
    switch (ins->op) {
    case FBLE_OP_MOVE:
    case FBLE_OP_CONST:
    case FBLE_OP_GLOBAL:
    case FBLE_OP_FIELD:
    case FBLE_OP_FIELD_ONLY:
    case FBLE_OP_STRUCT:
    case FBLE_OP_STRUCT_ONE:
    case FBLE_OP_UNION:
    case FBLE_OP_CELL:
    case FBLE_OP_PAYLOAD:
    case FBLE_OP_SWITCH:
    case FBLE_OP_JUMP:
    case FBLE_OP_RETURN:
        return ins->list_count <= MOST_FIELDS && ins->target_count <= MOST_FIELDS;
    default:
        return false;
    }
}

// All that is done of selects with a table is to look it up.
static bool is_leaf(struct translator *t, const struct emit_function *f) {
    t->f = f;
    if (f->code->arity > MOST_ARGUMENTS) return false;
    if (c_is_choice(t, 0)) return true;
    if (f->count > LONGEST_LEAF) return false;
    for (uint32_t i = 0; i < f->count; i++)
        if (!is_simple(f->ins + i)) return false;
    return true;
}

// Only those that are called where their code is known.
void c_find_leaves(struct translator *t) {
    const struct fble_list *functions = &t->emitted->functions;
    t->is_leaf = fble_alloc(t->arena, (functions->count + 1) * sizeof *t->is_leaf);
    for (uint32_t k = 0; k < functions->count; k++) {
        const struct emit_function *f = functions->at[k];
        for (uint32_t i = 0; i < f->count; i++) {
            if (fble_operands[f->ins[i].op].word != FBLE_ROLE_CODE) continue;
            if (fble_operands[f->ins[i].op].list != FBLE_ROLE_ARGS) continue;
            if (c_import_of(t, f->ins[i].pointer)) continue;
            uint32_t callee = c_index_of(t, f->ins[i].pointer);
            t->is_leaf[callee] = is_leaf(t, functions->at[callee]);
        }
    }
}

const struct emit_function *c_called_leaf(struct translator *t, const struct emit_ins *ins) {
    if (ins->op != FBLE_OP_CALL_CODE && ins->op != FBLE_OP_TAIL_CODE) return NULL;
    if (c_import_of(t, ins->pointer)) return NULL;
    uint32_t callee = c_index_of(t, ins->pointer);
    return t->is_leaf[callee] ? t->emitted->functions.at[callee] : NULL;
}

// SPDX-License-Identifier: MIT
//
// Gives every function body, let definition, branch, bind, foreign name and module body its label.
// Names are not built here, they would be quadratic in the nesting; a label keeps the steps to it
// and the name is made when it is asked for. Directly nested function literals, also with poly
// brackets between them, are one function: the chain gets one label at its innermost body.

#include "labels.h"

struct labeller {
    struct fble_program *program;
    struct fble_module *module;
    struct fble_unit *unit;
};

static void label_expr(struct labeller *l, struct fble_expr *expr, const struct fble_step *at);
static void label_body(struct labeller *l, struct fble_body *body, const struct fble_step *at);

static struct fble_label *new_label(struct labeller *l, enum fble_label_kind kind,
                                    const struct fble_step *step, struct fble_loc loc) {
    struct fble_label *label = fble_alloc(&l->program->arena, sizeof *label);
    *label = (struct fble_label){.kind = kind,
                                 .index = l->module->labels.count,
                                 .module = l->module,
                                 .unit = l->unit,
                                 .step = step,
                                 .loc = loc};
    fble_push(&l->program->arena, &l->module->labels, label);
    return label;
}

static const struct fble_step *inside(struct labeller *l, const struct fble_step *outer,
                                      enum fble_step_kind kind, const struct fble_name *name) {
    struct fble_step *step = fble_alloc(&l->program->arena, sizeof *step);
    step->outer = outer;
    step->kind = kind;
    if (name) step->name = *name;
    return step;
}

static void label_all(struct labeller *l, struct fble_expr *list, const struct fble_step *at) {
    for (; list; list = list->next) label_expr(l, list, at);
}

static void label_params(struct labeller *l, struct fble_param *params,
                         const struct fble_step *at) {
    for (; params; params = params->next) label_expr(l, params->type, at);
}

struct fble_expr *fble_chained(struct fble_expr *body) {
    while (!body->suffixes) {
        if (body->kind == FBLE_FUNC) return body;
        if (body->kind == FBLE_POLY)
            body = body->poly.body;
        else if (body->kind == FBLE_BLOCK && !body->block->statements)
            body = body->block->result;
        else
            break;
    }
    return NULL;
}

// From the function with this body inwards along the chain, to the body that has code.
static struct fble_expr *label_chain(struct labeller *l, struct fble_expr *body,
                                     struct fble_label *label, const struct fble_step *at) {
    for (struct fble_expr *next; (next = fble_chained(body)); body = next->func.body) {
        next->func.label = label;
        next->func.chained = true;
        label_params(l, next->func.params, at);
    }
    return body;
}

static void label_func(struct labeller *l, struct fble_expr *expr, const struct fble_step *at) {
    const struct fble_step *body_step = inside(l, at, FBLE_STEP_FUNCTION, NULL);
    expr->func.label = new_label(l, FBLE_LABEL_FUNCTION, body_step, expr->func.body->loc);
    label_params(l, expr->func.params, at);
    struct fble_expr *body = label_chain(l, expr->func.body, expr->func.label, at);
    expr->func.label->loc = fble_expr_loc(body);
    label_expr(l, body, body_step);
}

static void label_slots(struct labeller *l, struct fble_slot *slots, const struct fble_step *at) {
    for (; slots; slots = slots->next) label_expr(l, slots->value, at);
}

static void label_arms(struct labeller *l, struct fble_suffix *select, const struct fble_step *at) {
    const struct fble_step *step;
    for (struct fble_arm *arm = select->select.arms; arm; arm = arm->next) {
        step = inside(l, at, FBLE_STEP_TAG, &arm->name);
        arm->label = new_label(l, FBLE_LABEL_BRANCH, step, fble_expr_loc(arm->value));
        label_expr(l, arm->value, step);
    }
    if (!select->select.other) return;
    step = inside(l, at, FBLE_STEP_DEFAULT, NULL);
    select->select.label =
        new_label(l, FBLE_LABEL_BRANCH, step, fble_expr_loc(select->select.other));
    label_expr(l, select->select.other, step);
}

static void label_suffix(struct labeller *l, struct fble_suffix *suffix,
                         const struct fble_step *at) {
    switch (suffix->kind) {
    case FBLE_CALL:
    case FBLE_LIST:
    case FBLE_TYPE_APPLY:
        label_all(l, suffix->call.args, at);
        break;
    case FBLE_UNION_VALUE:
        label_expr(l, suffix->field.value, at);
        break;
    case FBLE_COPY:
        label_slots(l, suffix->copy, at);
        break;
    case FBLE_SELECT:
        label_arms(l, suffix, at);
        break;
    case FBLE_PRIVATE:
        label_expr(l, suffix->package, at);
        break;
    case FBLE_ACCESS:
    case FBLE_LITERAL:
        break;
    }
}

static void label_atom(struct labeller *l, struct fble_expr *expr, const struct fble_step *at) {
    switch (expr->kind) {
    case FBLE_EXPORT:
        label_slots(l, expr->exported.slots, at);
        break;
    case FBLE_BLOCK:
        label_body(l, expr->block, at);
        break;
    case FBLE_FUNC:
        label_func(l, expr, at);
        break;
    case FBLE_POLY:
        label_expr(l, expr->poly.body, at);
        break;
    case FBLE_STRUCT_TYPE:
    case FBLE_UNION_TYPE:
        label_params(l, expr->data.fields, at);
        break;
    case FBLE_FUNC_TYPE:
        label_all(l, expr->func_type.args, at);
        label_expr(l, expr->func_type.result, at);
        break;
    case FBLE_TYPEOF: // never evaluated
    case FBLE_NAME:
    case FBLE_MODULE:
    case FBLE_PACKAGE:
        break;
    }
}

static void label_expr(struct labeller *l, struct fble_expr *expr, const struct fble_step *at) {
    label_atom(l, expr, at);
    for (struct fble_suffix *s = expr->suffixes; s; s = s->next) label_suffix(l, s, at);
}

static void label_let(struct labeller *l, struct fble_statement *s, const struct fble_step *at) {
    for (struct fble_definition *d = s->let.definitions; d; d = d->next) {
        if (d->annotation) label_expr(l, d->annotation, at);
        const struct fble_step *step = inside(l, at, FBLE_STEP_VARIABLE, &d->name);
        d->label = new_label(l, FBLE_LABEL_LET, step, fble_expr_loc(d->value));
        label_expr(l, d->value, step);
    }
}

static struct fble_loc rest_loc(const struct fble_statement *s, const struct fble_body *body) {
    return s->next ? s->next->loc : fble_expr_loc(body->result);
}

// A bind's function may go on as a literal, if nothing but that follows.
static const struct fble_step *label_bind(struct labeller *l, struct fble_statement *s,
                                          struct fble_body *body, const struct fble_step *at,
                                          struct fble_expr **result) {
    const struct fble_step *step = inside(l, at, FBLE_STEP_FUNCTION, NULL);
    label_params(l, s->bind.func.params, at);
    label_expr(l, s->bind.callee, at);
    s->bind.func.label = new_label(l, FBLE_LABEL_BIND, step, rest_loc(s, body));
    if (!s->next) {
        *result = label_chain(l, body->result, s->bind.func.label, at);
        s->bind.func.label->loc = fble_expr_loc(*result);
    }
    return step;
}

static const struct fble_step *label_guard(struct labeller *l, struct fble_statement *s,
                                           struct fble_body *body, const struct fble_step *at) {
    label_expr(l, s->guard, at);
    struct fble_suffix *last = s->guard->suffixes;
    while (last->next) last = last->next;
    const struct fble_step *step = inside(l, at, FBLE_STEP_DEFAULT, NULL);
    last->select.label = new_label(l, FBLE_LABEL_BRANCH, step, rest_loc(s, body));
    return step;
}

static void label_body(struct labeller *l, struct fble_body *body, const struct fble_step *at) {
    struct fble_expr *result = body->result;
    for (struct fble_statement *s = body->statements; s; s = s->next) {
        switch (s->kind) {
        case FBLE_LET:
            label_let(l, s, at);
            break;
        case FBLE_STRUCT_IMPORT:
            label_expr(l, s->import.value, at);
            break;
        case FBLE_BIND_STMT:
            at = label_bind(l, s, body, at, &result);
            break;
        case FBLE_GUARD:
            at = label_guard(l, s, body, at);
            break;
        case FBLE_FOREIGN:
            s->foreign.label = new_label(l, FBLE_LABEL_FOREIGN, at, s->foreign.param->name.loc);
            break;
        }
    }
    label_expr(l, result, at);
}

void fble_label_module(struct fble_program *program, struct fble_module *module) {
    struct labeller l = {program, module, module->value};
    struct fble_loc top = {1, 0};
    new_label(&l, FBLE_LABEL_MODULE, NULL, top);
    label_body(&l, module->value->body, NULL);
}

static void add_steps(struct fble_text *text, const struct fble_step *step, bool fine) {
    struct fble_list steps = {0};
    for (; step; step = step->outer) fble_push(text->arena, &steps, (void *)step);
    while (steps.count--) {
        step = steps.at[steps.count];
        if (!fine && step->kind != FBLE_STEP_VARIABLE) continue;
        if (step->kind == FBLE_STEP_FUNCTION) {
            fble_add_string(text, "!");
            continue;
        }
        fble_add_string(text, step->kind == FBLE_STEP_DEFAULT ? ".:" : ".");
        if (step->kind == FBLE_STEP_DEFAULT) continue;
        fble_add(text, step->name.word->text, step->name.word->length);
        if (step->name.type) fble_add_string(text, "@");
    }
}

static const char *name_of(struct fble_arena *arena, const struct fble_label *label, bool fine) {
    struct fble_text text = {.arena = arena};
    const struct fble_path *path = label->module->path;
    for (uint32_t i = 0; i < path->count; i++) {
        fble_add_string(&text, "/");
        fble_add(&text, path->words[i]->text, path->words[i]->length);
    }
    fble_add_string(&text, "%");
    add_steps(&text, label->step, fine);
    return text.at;
}

const char *fble_label_name(struct fble_arena *arena, const struct fble_label *label) {
    return name_of(arena, label, false);
}

const char *fble_label_fine_name(struct fble_arena *arena, const struct fble_label *label) {
    return name_of(arena, label, true);
}

// SPDX-License-Identifier: MIT
//
// Making types, their fields and their kinds. Applications are made once per head and argument, so
// a type that is written a thousand times, such as List@<Int@>, is one node whose normal form is
// found once. What a type is equal to, or reduces to, is asked elsewhere.

#include "types.h"

void fble_types_enter(struct fble_types *types, const struct fble_path *module) {
    types->module = module;
    types->module_stamp++;
    types->as_host = false;
}

void fble_types_enter_as_host(struct fble_types *types) {
    types->module_stamp++;
    types->as_host = true;
}

bool fble_has_access(const struct fble_types *types, const struct fble_path *package) {
    return types->as_host || fble_path_within(types->module, package);
}

static struct fble_type *new_type(struct fble_types *types, enum fble_kind_of_type kind,
                                  uint32_t depth) {
    struct fble_type *type = fble_alloc(types->arena, sizeof *type);
    type->kind = kind;
    type->depth = depth;
    type->unit = types->unit;
    return type;
}

static uint32_t deeper(uint32_t a, uint32_t b) { return a > b ? a : b; }

struct fble_type *fble_data_type(struct fble_types *types, enum fble_kind_of_type kind,
                                 struct fble_field *fields, uint32_t count, struct fble_loc loc) {
    struct fble_type *type = new_type(types, kind, 0);
    type->loc = loc;
    type->data.fields = fields;
    type->data.count = count;
    for (uint32_t i = 0; i < count; i++) type->depth = deeper(type->depth, fields[i].type->depth);
    return type;
}

struct fble_type *fble_func_type(struct fble_types *types, struct fble_type *arg,
                                 struct fble_type *result) {
    struct fble_type *type = new_type(types, FBLE_T_FUNC, deeper(arg->depth, result->depth));
    type->func.arg = arg;
    type->func.result = result;
    return type;
}

// The body's depth without the parameter is not known; it is below the parameter's.
struct fble_type *fble_poly_type(struct fble_types *types, struct fble_type *param,
                                 struct fble_type *body) {
    uint32_t depth = body->depth < param->depth ? body->depth : param->depth - 1;
    struct fble_type *type = new_type(types, FBLE_T_POLY, depth);
    type->poly.param = param;
    type->poly.body = body;
    return type;
}

struct fble_type *fble_apply_type(struct fble_types *types, struct fble_type *head,
                                  struct fble_type *arg) {
    void **memo = fble_pair(types->arena, &types->applications, head, arg);
    struct fble_type *known = *memo;
    if (known) return known;
    struct fble_type *type = new_type(types, FBLE_T_APPLY, deeper(head->depth, arg->depth));
    type->apply.head = head;
    type->apply.arg = arg;
    return *memo = type;
}

struct fble_type *fble_package_type(struct fble_types *types, struct fble_path *package) {
    struct fble_type *type = new_type(types, FBLE_T_PACKAGE, 0);
    type->package = package;
    return type;
}

struct fble_type *fble_private_type(struct fble_types *types, struct fble_type *inner,
                                    struct fble_path *package) {
    struct fble_type *type = new_type(types, FBLE_T_PRIVATE, inner->depth);
    type->private.inner = inner;
    type->private.package = package;
    return type;
}

struct fble_type *fble_parameter(struct fble_types *types, const struct fble_name *name,
                                 struct fble_kind *kind, uint32_t depth) {
    struct fble_type *type = new_type(types, FBLE_T_VARIABLE, depth);
    type->loc = name->loc;
    type->variable.kind = FBLE_V_PARAMETER;
    type->variable.name = *name;
    type->variable.type_kind = kind;
    return type;
}

struct fble_type *fble_let_variable(struct fble_types *types, const struct fble_name *name,
                                    uint32_t depth) {
    struct fble_type *type = new_type(types, FBLE_T_VARIABLE, depth);
    type->loc = name->loc;
    type->variable.kind = name->type ? FBLE_V_TYPE : FBLE_V_VALUE;
    type->variable.name = *name;
    return type;
}

const struct fble_type *fble_declaration_of(struct fble_type *type) {
    for (;;) {
        if (type->written) type = type->written;
        if (type->kind == FBLE_T_TYPEOF)
            type = type->inner;
        else if (type->kind == FBLE_T_APPLY)
            type = type->apply.head;
        else if (type->kind == FBLE_T_PRIVATE)
            type = type->private.inner;
        else if (type->kind == FBLE_T_VARIABLE && type->variable.kind == FBLE_V_VALUE &&
                 type->variable.definition)
            type = type->variable.definition;
        else
            return type->loc.line && type->unit && !type->unit->host ? type : NULL;
    }
}

// The variable's depth was a guess from above. A definition with a smaller depth does not mention
// the variable, so its own depth is the right one.
void fble_define(struct fble_type *variable, struct fble_type *definition) {
    variable->variable.definition = definition;
    if (definition && definition->depth < variable->depth) variable->depth = definition->depth;
}

struct fble_type *fble_type_of(struct fble_types *types, struct fble_type *type) {
    if (type->type_of) return type->type_of;
    struct fble_type *outer = new_type(types, FBLE_T_TYPEOF, type->depth);
    outer->inner = type;
    return type->type_of = outer;
}

// Types with many fields get an index when they are first searched: a union with thousands of tags
// is used thousands of times. The word and its namespace are one key.
enum { FEW_FIELDS = 16 };

static const void *field_key(const struct fble_name *name) {
    return (const char *)name->word + name->type;
}

static void index_fields(struct fble_types *types, struct fble_type *type) {
    for (uint32_t i = type->data.count; i-- > 0;)
        *fble_pair(types->arena, &types->fields, type, field_key(&type->data.fields[i].name)) =
            &type->data.fields[i];
    type->indexed = true;
}

const struct fble_field *fble_find_field(struct fble_types *types, struct fble_type *type,
                                         const struct fble_name *name, uint32_t *index) {
    const struct fble_field *fields = type->data.fields, *found = NULL;
    if (type->data.count > FEW_FIELDS) {
        if (!type->indexed) index_fields(types, type);
        found = *fble_pair(types->arena, &types->fields, type, field_key(name));
    }
    for (uint32_t i = 0; i < type->data.count && type->data.count <= FEW_FIELDS && !found; i++)
        if (fble_same_name(&fields[i].name, name)) found = &fields[i];
    if (found) *index = (uint32_t)(found - fields);
    return found;
}

uint32_t fble_level(const struct fble_type *type) {
    uint32_t level = 0;
    for (; type->kind == FBLE_T_TYPEOF; type = type->inner) level++;
    return level;
}

struct fble_type *fble_strip(struct fble_type *type, uint32_t *level) {
    for (*level = 0; type->kind == FBLE_T_TYPEOF; type = type->inner) ++*level;
    return type;
}

struct fble_type *fble_wrap(struct fble_types *types, struct fble_type *type, uint32_t level) {
    while (level--) type = fble_type_of(types, type);
    return type;
}

// Of a normal form that is no poly: a parameter applied to some arguments, or plain "@". Each
// application remembers its kind, since a long chain is asked for it at every step.
static struct fble_kind *kind_of_rest(struct fble_type *type) {
    struct fble_type *known = type;
    uint32_t args = 0;
    for (; known->kind == FBLE_T_APPLY && !known->kind_known; known = known->apply.head) args++;
    struct fble_kind *kind = known->kind == FBLE_T_APPLY      ? known->kind_memory
                             : known->kind == FBLE_T_VARIABLE ? known->variable.type_kind
                                                              : NULL;
    bool lasting = known->kind == FBLE_T_APPLY || known->kind == FBLE_T_VARIABLE;
    while (args-- && kind) kind = kind->result;
    if (type->kind == FBLE_T_APPLY && lasting) {
        type->kind_known = true;
        type->kind_memory = kind;
    }
    return kind;
}

struct fble_kind *fble_kind_of(struct fble_types *types, struct fble_type *type) {
    uint32_t level;
    struct fble_kind *first = NULL, **end = &first;
    type = fble_normal(types, fble_strip(type, &level));
    while (type && type->kind == FBLE_T_POLY) {
        *end = fble_alloc(types->arena, sizeof **end);
        (*end)->arg = type->poly.param->variable.type_kind;
        end = &(*end)->result;
        type = fble_normal(types, type->poly.body);
    }
    if (type) *end = kind_of_rest(type);
    return first;
}

bool fble_kind_equal(const struct fble_kind *a, const struct fble_kind *b) {
    for (; a && b; a = a->result, b = b->result)
        if (!fble_kind_equal(a->arg, b->arg)) return false;
    return a == b;
}

bool fble_kind_fits(const struct fble_kind *expected, const struct fble_kind *actual) {
    for (; expected; expected = expected->result, actual = actual->result)
        if (!actual || !fble_kind_fits(expected->arg, actual->arg)) return false;
    return true;
}

void fble_add_kind(struct fble_text *text, const struct fble_kind *kind) {
    for (bool first = true; kind; kind = kind->result, first = false) {
        fble_add_string(text, first ? "<" : ", ");
        fble_add_kind(text, kind->arg);
        if (!kind->result) fble_add_string(text, ">");
    }
    fble_add_string(text, "@");
}

const char *fble_kind_text(struct fble_arena *arena, const struct fble_kind *kind) {
    struct fble_text text = {.arena = arena};
    fble_add_kind(&text, kind);
    return text.at;
}

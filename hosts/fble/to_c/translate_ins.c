// SPDX-License-Identifier: MIT
//
// Single instructions as C. What the interpreter checks is checked here too, unless the step knows
// it already: a slot that was selected on has its tag, one that a field was taken of is a struct.

#include "translate.h"
#include "vm/machine.h"

uint32_t index_of(struct translator *t, const void *item) {
    return (uint32_t)(uintptr_t)*fble_pair(t->arena, &t->indices, item, NULL) - 1;
}

static uint32_t place_of(const struct translator *t, uint32_t i) {
    return t->first_place + t->f->facts[i].place;
}

static const uint16_t *list_of(const struct translator *t, const struct ins *ins) {
    return t->f->lists + ins->list;
}

static void use_list(struct translator *t, const struct ins *ins) {
    for (uint32_t i = 0; i < ins->list_count; i++) use(t, list_of(t, ins)[i]);
}

// ---------------------------------------------------------------- values

static void constant(struct translator *t, const struct ins *ins) {
    define(t, ins->a);
    if (ins->word & 1)
        out(t, "s%u = %#llxu;", ins->a, (unsigned long long)ins->word);
    else
        out(t, "s%u = fble_pointer(&codes[%u].self);", ins->a,
            index_of(t, (void *)(uintptr_t)fble_object(ins->word)->words[0]));
}

static const char *global_of(struct translator *t, const struct ins *ins) {
    if (ins->variable) return fble_format(t->arena, "globals[%u]", ins->variable->global);
    const struct fble_emitted *other = ins->pointer;
    return fble_format(t->arena, "FBLE_NAME(fble_globals%s)[0]",
                       fble_c_name(t->arena, other->module->path->text));
}

static void field(struct translator *t, const struct ins *ins, uint32_t i) {
    use(t, ins->b);
    if (!(t->now.flags[ins->b] & IS_STRUCT))
        out(t, "FBLE_NEED_STRUCT(s%u, places + %u, %u);", ins->b, place_of(t, i), t->now.charge);
    t->now.flags[ins->b] |= IS_STRUCT;
    define(t, ins->a);
    out(t, "s%u = FBLE_WORD(s%u, %u);", ins->a, ins->b, ins->c);
}

static void new_struct(struct translator *t, const struct ins *ins, uint32_t tag) {
    use_list(t, ins);
    out(t, "{ fble_value o; FBLE_NEW(o, FBLE_HEADER(FBLE_STRUCT, %u, %u));", tag, ins->c);
    for (uint32_t i = 0; i < ins->c; i++) out(t, " FBLE_WORD(o, %u) = s%u;", i, list_of(t, ins)[i]);
    define(t, ins->a);
    out(t, " s%u = o; }", ins->a);
    t->now.flags[ins->a] |= IS_STRUCT;
    if (ins->op == FBLE_OP_CELL) t->now.tags[ins->a] = (uint16_t)(tag + 1);
}

static void payload(struct translator *t, const struct ins *ins, uint32_t i) {
    use(t, ins->b);
    bool known = t->now.tags[ins->b] == ins->c + 1;
    if (!known) t->now.tags[ins->b] = (uint16_t)(ins->c + 1);
    define(t, ins->a);
    if (known)
        out(t, "s%u = fble_payload(s%u, %u);", ins->a, ins->b, ins->x);
    else
        out(t, "FBLE_PAYLOAD(s%u, s%u, %u, %u, places + %u, %u);", ins->a, ins->b, ins->c, ins->x,
            place_of(t, i), t->now.charge);
}

static void copy(struct translator *t, const struct ins *ins, uint32_t i) {
    const uint16_t *list = list_of(t, ins);
    use(t, ins->b);
    for (uint32_t k = 0; k < ins->c; k++) use(t, list[2 * k + 1]);
    out(t, "FBLE_NEED_UNION(s%u, FBLE_NO_COPY, places + %u, %u);", ins->b, place_of(t, i),
        t->now.charge);
    out(t, "{ fble_value o = fble_pointer(hp); hp = fble_copy_struct(hp, s%u);", ins->b);
    for (uint32_t k = 0; k < ins->c; k++)
        out(t, " FBLE_WORD(o, %u) = s%u;", list[2 * k], list[2 * k + 1]);
    define(t, ins->a);
    out(t, " s%u = o; }", ins->a);
    t->now.flags[ins->a] |= IS_STRUCT;
}

static void closure(struct translator *t, const struct ins *ins) {
    const struct fble_code *code = ins->pointer;
    use_list(t, ins);
    out(t, "{ fble_value o; FBLE_NEW(o, FBLE_HEADER(FBLE_CLOSURE, %u, %u));", code->arity,
        ins->c + 1);
    out(t, " FBLE_WORD(o, 0) = fble_pointer(&codes[%u]);", index_of(t, code));
    for (uint32_t i = 0; i < ins->list_count; i++)
        out(t, " FBLE_WORD(o, %u) = s%u;", i + 1, list_of(t, ins)[i]);
    define(t, ins->a);
    out(t, " s%u = o; }", ins->a);
}

static void fill(struct translator *t, const struct ins *ins) {
    use(t, ins->a);
    use_list(t, ins);
    for (uint32_t i = 0; i < ins->c; i++)
        out(t, "FBLE_WORD(s%u, %u) = s%u;", ins->a, i + 1, list_of(t, ins)[i]);
}

static void placeholder(struct translator *t, const struct ins *ins) {
    define(t, ins->a);
    out(t, "FBLE_NEW(s%u, FBLE_HEADER(FBLE_PLACEHOLDER, 0, 1)); FBLE_WORD(s%u, 0) = 0;", ins->a,
        ins->a);
}

static uint32_t write_list(struct translator *t, const struct ins *ins) {
    if (t->quiet) return 0;
    fprintf(t->tables, "static const uint16_t list%u[] = {", t->lists);
    for (uint32_t i = 0; i < ins->list_count; i++)
        fprintf(t->tables, "%s%u", i ? ", " : "", list_of(t, ins)[i]);
    fputs("};\n", t->tables);
    return t->lists++;
}

// The list has pairs: the slot of a placeholder, the slot of a value, which may change.
static void resolve(struct translator *t, const struct ins *ins, uint32_t i) {
    for (uint32_t k = 0; k < ins->list_count; k++) store(t, list_of(t, ins)[k]);
    charge(t);
    out(t, "FBLE_STAND;\nif (!fble_resolve_now(m, fp, list%u, %u, places + %u)) return NULL;",
        write_list(t, ins), ins->c, place_of(t, i));
    for (uint32_t k = 1; k < ins->list_count; k += 2) {
        uint32_t slot = list_of(t, ins)[k];
        t->now.flags[slot] = IN_FRAME;
        t->now.tags[slot] = 0;
    }
}

static void foreign(struct translator *t, const struct ins *ins, uint32_t i) {
    uint32_t n = index_of(t, ins->pointer);
    define(t, ins->a);
    out(t, "if (!foreign[%u].value) FBLE_FAIL(FBLE_NO_FOREIGN, places + %u, %u, foreign + %u);", n,
        place_of(t, i), t->now.charge, n);
    out(t, "s%u = foreign[%u].value;", ins->a, n);
}

static void list(struct translator *t, const struct ins *ins) {
    use(t, ins->b);
    use_list(t, ins);
    out(t, "{ fble_value l = s%u, o;", ins->b);
    for (uint32_t i = ins->c; i-- > 0;)
        out(t,
            " FBLE_NEW(o, FBLE_HEADER(FBLE_STRUCT, 0, 2)); FBLE_WORD(o, 0) = s%u;"
            " FBLE_WORD(o, 1) = l; l = o;",
            list_of(t, ins)[i]);
    define(t, ins->a);
    out(t, " s%u = l; }", ins->a);
}

static void literal(struct translator *t, const struct ins *ins) {
    const struct fble_literal *letters = ins->pointer;
    define(t, ins->a);
    out(t, "hp = fble_letters(hp, &literal%u); s%u = fble_pointer(hp - 24);", t->literals, ins->a);
    if (t->quiet) return;
    fprintf(t->tables, "static const struct fble_literal literal%u = {%u, {", t->literals++,
            letters->count);
    for (uint32_t i = 0; i < letters->count; i++)
        fprintf(t->tables, "%s%llu", i ? "," : "", (unsigned long long)letters->letters[i]);
    fputs("}};\n", t->tables);
}

// ---------------------------------------------------------------- control

static void choose(struct translator *t, const struct ins *ins, uint32_t i) {
    use(t, ins->b);
    uint8_t *flags = t->now.flags;
    uint16_t *tags = t->now.tags;
    if (!tags[ins->b])
        out(t, "FBLE_NEED_UNION(s%u, FBLE_NO_SELECT, places + %u, %u);", ins->b, place_of(t, i),
            t->now.charge);
    out(t, "switch (fble_tag_of(s%u, %u)) {", ins->b, ins->x);
    uint8_t flags_before = flags[ins->b];
    uint16_t tag_before = tags[ins->b];
    uint32_t before = t->now.charge;
    for (uint32_t tag = 0; tag < ins->target_count; tag++) {
        tags[ins->b] = (uint16_t)(tag + 1);
        if (tag + 1 < ins->target_count)
            out(t, "case %u:", tag);
        else
            out(t, "default:");
        uint32_t target = t->f->targets[ins->targets + tag];
        t->now.charge = before + t->f->facts[target].charge;
        jump_to(t, target);
        flags[ins->b] = flags_before;
        tags[ins->b] = tag_before;
    }
    out(t, "}");
}

static const char *argument(struct translator *t, const struct ins *ins, uint32_t i) {
    return i < ins->list_count ? fble_format(t->arena, "s%u", list_of(t, ins)[i]) : "0";
}

static void write_return(struct translator *t, uint32_t i) {
    const struct ins *ins = t->f->ins + i;
    if (t->quiet) return;
    uint32_t site = write_site(t, t->f->facts[i].site);
    fprintf(t->tables,
            "static const struct fble_return return%u = FBLE_RETURN_WORDS(%u, %u, &site%u, "
            "f%u_%u);\n",
            t->returns, ins->a, t->f->most, site, t->index, i + 1);
}

// All that is needed after the call goes to the frame; the callee's frame is above.
static void call(struct translator *t, uint32_t i) {
    const struct ins *ins = t->f->ins + i;
    const struct fble_site *site = t->f->facts[i].site;
    bool known = ins->op == FBLE_OP_CALL_CODE;
    use_list(t, ins);
    if (!known) use(t, ins->b);
    for (uint32_t slot = 0; slot < t->f->most; slot++)
        if (is_live(site->live, site->slots, slot)) store(t, slot);
    out(t, "{ uint64_t *frame = fp + %u;", t->f->most);
    write_return(t, i);
    out(t, "frame[FBLE_FP_RETURN] = fble_pointer(&return%u.op);", t->returns);
    out(t, "frame[FBLE_FP_CALLER] = fble_pointer(fp);");
    for (uint32_t k = 3; k < ins->list_count; k++)
        out(t, "frame[%u] = s%u;", FBLE_FP_ARGS + k, list_of(t, ins)[k]);
    const char *a = argument(t, ins, 0), *b = argument(t, ins, 1), *c = argument(t, ins, 2);
    uint32_t callee = known ? index_of(t, ins->pointer) : 0;
    if (known)
        out(t, "FBLE_JUMP_ENTERING(f%u, &codes[%u], %u, %u, frame, %u, %s, %s, %s);", callee,
            callee, ins->call_site, t->now.charge, ins->list_count, a, b, c);
    else
        out(t, "FBLE_CALL_VALUE(s%u, %u, %u, frame, %u, %s, %s, %s);", ins->b, ins->call_site,
            t->now.charge, ins->list_count, a, b, c);
    out(t, "}");
    if (!t->quiet) t->returns++;
}

static void tail_call(struct translator *t, uint32_t i) {
    const struct ins *ins = t->f->ins + i;
    bool known = ins->op == FBLE_OP_TAIL_CODE;
    use_list(t, ins);
    if (!known) use(t, ins->b);
    for (uint32_t k = 3; k < ins->list_count; k++)
        out(t, "fp[%u] = s%u;", FBLE_FP_ARGS + k, list_of(t, ins)[k]);
    const char *a = argument(t, ins, 0), *b = argument(t, ins, 1), *c = argument(t, ins, 2);
    uint32_t callee = known ? index_of(t, ins->pointer) : 0;
    if (known)
        out(t, "FBLE_JUMP_REPLACING(f%u, &codes[%u], %u, %u, %u, %s, %s, %s);", callee, callee,
            ins->call_site, t->now.charge, ins->list_count, a, b, c);
    else
        out(t, "FBLE_TAIL_VALUE(s%u, %u, %u, places + %u, %u, %s, %s, %s);", ins->b, ins->call_site,
            t->now.charge, place_of(t, i), ins->list_count, a, b, c);
}

static void block(struct translator *t, const struct ins *ins, uint32_t i) {
    unsigned label = (unsigned)ins->word - FBLE_RELATIVE_BLOCK;
    if (ins->op == FBLE_OP_EXIT) use(t, ins->a);
    charge(t);
    if (ins->op == FBLE_OP_ENTER) {
        define(t, ins->a);
        out(t, "FBLE_BLOCK_ENTER(s%u, first_block + %u, %u);", ins->a, label, ins->call_site);
    } else if (ins->op == FBLE_OP_REPLACE) {
        out(t, "FBLE_BLOCK_REPLACE(first_block + %u, %u);", label, ins->call_site);
    } else {
        out(t, "FBLE_BLOCK_EXIT(s%u);", ins->a);
    }
    t->now.charge = t->f->facts[i].after;
}

// ---------------------------------------------------------------- all

static void simple(struct translator *t, const struct ins *ins) {
    if (ins->op == FBLE_OP_SET_GLOBAL) {
        use(t, ins->a);
        out(t, "%s = s%u;", global_of(t, ins), ins->a);
        return;
    }
    if (ins->op == FBLE_OP_CAPTURE) use(t, FBLE_FP_SELF);
    if (ins->op == FBLE_OP_MOVE || ins->op == FBLE_OP_STRUCT_ONE || ins->op == FBLE_OP_UNION)
        use(t, ins->b);
    uint8_t flags = ins->op == FBLE_OP_MOVE ? t->now.flags[ins->b] & IS_STRUCT : 0;
    uint16_t tag = ins->op == FBLE_OP_MOVE ? t->now.tags[ins->b] : 0;
    define(t, ins->a);
    t->now.flags[ins->a] |= flags;
    t->now.tags[ins->a] = tag;
    if (ins->op == FBLE_OP_MOVE)
        out(t, "s%u = s%u;", ins->a, ins->b);
    else if (ins->op == FBLE_OP_GLOBAL)
        out(t, "s%u = %s;", ins->a, global_of(t, ins));
    else if (ins->op == FBLE_OP_CAPTURE)
        out(t, "s%u = FBLE_WORD(s%u, %u);", ins->a, FBLE_FP_SELF, 1 + ins->b);
    else if (ins->op == FBLE_OP_STRUCT_ONE)
        out(t, "FBLE_STRUCT_ONE(s%u, s%u);", ins->a, ins->b);
    else
        out(t, "FBLE_MAKE_UNION(s%u, s%u, %u, %u);", ins->a, ins->b, ins->c, ins->x);
}

void translate_ins(struct translator *t, uint32_t i) {
    const struct ins *ins = t->f->ins + i;
    switch (ins->op) {
    case FBLE_OP_CONST:
        constant(t, ins);
        break;
    case FBLE_OP_FIELD:
        field(t, ins, i);
        break;
    case FBLE_OP_FIELD_ONLY:
        use(t, ins->b);
        define(t, ins->a);
        out(t, "FBLE_FIELD_ONLY(s%u, s%u, places + %u, %u);", ins->a, ins->b, place_of(t, i),
            t->now.charge);
        break;
    case FBLE_OP_STRUCT:
        new_struct(t, ins, 0);
        break;
    case FBLE_OP_CELL:
        new_struct(t, ins, ins->b);
        break;
    case FBLE_OP_PAYLOAD:
        payload(t, ins, i);
        break;
    case FBLE_OP_COPY:
        copy(t, ins, i);
        break;
    case FBLE_OP_SWITCH:
        choose(t, ins, i);
        break;
    case FBLE_OP_JUMP:
        t->now.charge += t->f->facts[t->f->targets[ins->targets]].charge;
        jump_to(t, t->f->targets[ins->targets]);
        break;
    case FBLE_OP_RETURN:
        use(t, ins->a);
        out(t, "FBLE_RETURN(s%u, %u);", ins->a, t->now.charge);
        break;
    case FBLE_OP_CALL:
    case FBLE_OP_CALL_CODE:
        call(t, i);
        break;
    case FBLE_OP_TAIL:
    case FBLE_OP_TAIL_CODE:
        tail_call(t, i);
        break;
    case FBLE_OP_FUNC:
    case FBLE_OP_FUNC_ALLOC:
        closure(t, ins);
        break;
    case FBLE_OP_FUNC_FILL:
        fill(t, ins);
        break;
    case FBLE_OP_PLACEHOLDER:
        placeholder(t, ins);
        break;
    case FBLE_OP_RESOLVE:
        resolve(t, ins, i);
        break;
    case FBLE_OP_FOREIGN:
        foreign(t, ins, i);
        break;
    case FBLE_OP_LIST:
        list(t, ins);
        break;
    case FBLE_OP_LITERAL:
        literal(t, ins);
        break;
    case FBLE_OP_ENTER:
    case FBLE_OP_EXIT:
    case FBLE_OP_REPLACE:
        block(t, ins, i);
        break;
    default:
        simple(t, ins);
    }
}

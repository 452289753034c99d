// SPDX-License-Identifier: MIT
//
// Single instructions as C. They check what the interpreter checks, unless the step knows it
// already: after a select the tag of the slot is known, after a field access it is known to be
// a struct.

#include "translate.h"
#include "vm/machine.h"

#include <stdlib.h>

enum { MANY_OPERANDS = 32 };

uint32_t c_index_of(struct translator *t, const void *item) {
    return (uint32_t)(uintptr_t)*fble_pair(t->arena, &t->indices, item, NULL) - 1;
}

const struct emit_export *c_import_of(struct translator *t, const struct fble_code *code) {
    if (*fble_pair(t->arena, &t->indices, code, NULL)) return NULL;
    return *fble_pair(t->arena, &t->program->exports, code, NULL);
}

// The address of a code, and its step. Those of other modules are found by their exports, which
// change less often than the order of their functions.
static const char *code_of(struct translator *t, const struct fble_code *code) {
    const struct emit_export *import = c_import_of(t, code);
    if (!import) return fble_format(t->arena, "(&codes[%u])", c_index_of(t, code));
    return fble_format(t->arena, "FBLE_NAME(fble_exports%s)[%u]",
                       fble_c_name(t->arena, import->emitted->module->path->text), import->field);
}

static const char *step_of(struct translator *t, const struct fble_code *code) {
    if (c_import_of(t, code)) return fble_format(t->arena, "%s->enter", code_of(t, code));
    return fble_format(t->arena, "f%u", c_index_of(t, code));
}

// The macro AT gives the spot's address: where an instruction that fails stands in the source.
static uint32_t spot_of(const struct translator *t, uint32_t i) {
    return t->first_spot + t->f->facts[i].spot;
}

static const uint32_t *list_of(const struct translator *t, const struct emit_ins *ins) {
    return t->f->lists + ins->list;
}

static uint32_t write_list(struct translator *t, const struct emit_ins *ins) {
    if (t->quiet) return 0;
    fprintf(t->tables, "static const uint16_t list%u[] = {", t->lists);
    for (uint32_t i = 0; i < ins->list_count; i++)
        fprintf(t->tables, "%s%u", i ? ", " : "", list_of(t, ins)[i]);
    fputs("};\n", t->tables);
    return t->lists++;
}

// Many operands are read from the frame, in a loop. Calls have few enough.
static bool reads_frame(const struct emit_ins *ins) {
    uint8_t list = fble_operands[ins->op].list;
    return list == FBLE_ROLE_PAIRS || (list != FBLE_ROLE_ARGS && ins->list_count > MANY_OPERANDS);
}

// Writes the operands of a list into the words of the object o, from `first` on.
static void fill_words(struct translator *t, const struct emit_ins *ins, const char *o,
                       uint32_t first) {
    if (reads_frame(ins))
        c_out(t, " FBLE_FILL(%s, %u, fp, list%u, %u);", o, first, write_list(t, ins),
              ins->list_count);
    for (uint32_t i = 0; i < ins->list_count && !reads_frame(ins); i++)
        c_out(t, " FBLE_WORD(%s, %u) = s%u;", o, first + i, list_of(t, ins)[i]);
}

// ---------------------------------------------------------------- values

static void constant(struct translator *t, const struct emit_ins *ins) {
    if (ins->word & 1)
        c_out(t, "s%u = %#llxu;", ins->a, (unsigned long long)ins->word);
    else
        c_out(t, "s%u = fble_pointer(&%s->self);", ins->a,
              code_of(t, (void *)(uintptr_t)fble_object(ins->word)->words[0]));
}

const char *c_global_of(struct translator *t, const struct emit_ins *ins) {
    const struct fble_emitted *other = ins->pointer;
    if (!other) return fble_format(t->arena, "globals[%u]", (unsigned)ins->word);
    return fble_format(t->arena, "FBLE_NAME(fble_globals%s)[0]",
                       fble_c_name(t->arena, other->module->path->text));
}

static void field(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    if (!(t->now.flags[ins->b] & C_IS_STRUCT))
        c_out(t, "FBLE_NEED_STRUCT(s%u, AT(%u), %u);", ins->b, spot_of(t, i), t->now.charge);
    t->now.flags[ins->b] |= C_IS_STRUCT;
    c_out(t, "s%u = FBLE_WORD(s%u, %u);", ins->a, ins->b, ins->c);
}

static void new_struct(struct translator *t, const struct emit_ins *ins, uint32_t tag) {
    c_out(t, "{ fble_value o; FBLE_NEW(o, FBLE_HEADER(FBLE_STRUCT, %u, %u));", tag, ins->c);
    fill_words(t, ins, "o", 0);
    c_out(t, " s%u = o; }", ins->a);
    t->result_flags = C_IS_STRUCT;
    if (ins->op == FBLE_OP_CELL) t->result_tag = (uint16_t)(tag + 1);
}

static void payload(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    bool known = t->now.tags[ins->b] == ins->c + 1;
    if (!known) t->now.tags[ins->b] = (uint16_t)(ins->c + 1);
    if (known)
        c_out(t, "s%u = fble_payload(s%u, %u);", ins->a, ins->b, ins->x);
    else
        c_out(t, "FBLE_PAYLOAD(s%u, s%u, %u, %u, AT(%u), %u);", ins->a, ins->b, ins->c, ins->x,
              spot_of(t, i), t->now.charge);
}

static void copy(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    const uint32_t *list = list_of(t, ins);
    c_out(t, "FBLE_NEED_UNION(s%u, FBLE_NO_COPY, AT(%u), %u);", ins->b, spot_of(t, i),
          t->now.charge);
    c_out(t, "{ fble_value o = fble_pointer(hp); hp = fble_copy_struct(hp, s%u);", ins->b);
    if (reads_frame(ins))
        c_out(t, " FBLE_REPLACE_FIELDS(o, fp, list%u, %u);", write_list(t, ins), ins->c);
    for (uint32_t k = 0; k < ins->c && !reads_frame(ins); k++)
        c_out(t, " FBLE_WORD(o, %u) = s%u;", list[2 * k], list[2 * k + 1]);
    c_out(t, " s%u = o; }", ins->a);
    t->result_flags = C_IS_STRUCT;
}

static void closure(struct translator *t, const struct emit_ins *ins) {
    const struct fble_code *code = ins->pointer;
    c_out(t, "{ fble_value o; FBLE_NEW(o, FBLE_HEADER(FBLE_CLOSURE, %u, %u));", code->arity,
          ins->c + 1);
    c_out(t, " FBLE_WORD(o, 0) = fble_pointer(&codes[%u]);", c_index_of(t, code));
    fill_words(t, ins, "o", 1);
    c_out(t, " s%u = o; }", ins->a);
}

static void fill(struct translator *t, const struct emit_ins *ins) {
    fill_words(t, ins, fble_format(t->arena, "s%u", ins->a), 1);
}

static void placeholder(struct translator *t, const struct emit_ins *ins) {
    c_out(t, "FBLE_NEW(s%u, FBLE_HEADER(FBLE_PLACEHOLDER, 0, 1));", ins->a);
    c_out(t, "FBLE_WORD(s%u, 0) = FBLE_NOT_YET;", ins->a);
}

// The list has pairs: the slot of a placeholder, the slot of a value, which may change.
static void resolve(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    c_charge(t);
    c_out(t, "if (!fble_resolve_now(m, fp, list%u, %u, AT(%u))) return NULL;", write_list(t, ins),
          ins->c, spot_of(t, i));
    for (uint32_t k = 1; k < ins->list_count; k += 2) {
        uint32_t slot = list_of(t, ins)[k];
        t->now.flags[slot] = C_IN_FRAME;
        t->now.tags[slot] = 0;
    }
}

static void foreign(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    uint32_t n = c_index_of(t, ins->pointer);
    c_out(t, "if (!foreign[%u].value) FBLE_FAIL(FBLE_NO_FOREIGN, AT(%u), %u, foreign + %u);", n,
          spot_of(t, i), t->now.charge, n);
    c_out(t, "s%u = foreign[%u].value;", ins->a, n);
}

static void list(struct translator *t, const struct emit_ins *ins) {
    if (reads_frame(ins)) {
        c_out(t, "{ fble_value l = s%u; FBLE_CELLS(l, fp, list%u, %u); s%u = l; }", ins->b,
              write_list(t, ins), ins->c, ins->a);
        return;
    }
    c_out(t, "{ fble_value l = s%u, o;", ins->b);
    for (uint32_t i = ins->c; i-- > 0;)
        c_out(t,
              " FBLE_NEW(o, FBLE_HEADER(FBLE_STRUCT, 0, 2)); FBLE_WORD(o, 0) = s%u;"
              " FBLE_WORD(o, 1) = l; l = o;",
              list_of(t, ins)[i]);
    c_out(t, " s%u = l; }", ins->a);
}

static void literal(struct translator *t, const struct emit_ins *ins) {
    const struct fble_literal *letters = ins->pointer;
    c_out(t, "hp = fble_letters(hp, &literal%u); s%u = fble_pointer(hp - FBLE_LIST_CELL_BYTES);",
          t->literals, ins->a);
    if (t->quiet) return;
    fprintf(t->tables, "static const struct fble_literal literal%u = {%u, {", t->literals++,
            letters->count);
    for (uint32_t i = 0; i < letters->count; i++)
        fprintf(t->tables, "%s%llu", i ? "," : "", (unsigned long long)letters->letters[i]);
    fputs("}};\n", t->tables);
}

// ---------------------------------------------------------------- control

// A select whose branches are steps: a table of them. All that one of them needs is stored before.
static void choose_by_table(struct translator *t, const struct emit_ins *ins) {
    const uint32_t *targets = t->f->targets + ins->targets;
    for (uint32_t tag = 0; tag < ins->target_count; tag++)
        if (!tag || targets[tag] != targets[tag - 1]) c_store_for(t, targets[tag]);
    c_charge(t);
    c_out(t, "FBLE_BRANCH(branches%u + fble_tag_of(s%u, %u));", t->branches, ins->b, ins->x);
    if (t->quiet) return;
    fprintf(t->tables, "static const struct fble_branch branches%u[] = {", t->branches++);
    for (uint32_t tag = 0; tag < ins->target_count; tag++)
        fprintf(t->tables, "{f%u_j%u, %u},%c", t->index, targets[tag],
                t->f->facts[targets[tag]].charge, tag % 8 == 7 ? '\n' : ' ');
    fputs("};\n", t->tables);
}

struct branch {
    uint32_t target, tag;
};

static int by_target(const void *a, const void *b) {
    const struct branch *x = a, *y = b;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

// The branches of a select, those with the same target one after the other.
static struct branch *sorted_branches(struct translator *t, const struct emit_ins *ins) {
    struct branch *all = fble_alloc(t->arena, ins->target_count * sizeof *all);
    for (uint32_t tag = 0; tag < ins->target_count; tag++)
        all[tag] = (struct branch){t->f->targets[ins->targets + tag], tag};
    qsort(all, ins->target_count, sizeof *all, by_target);
    return all;
}

static uint32_t same_target(const struct branch *all, uint32_t from, uint32_t count) {
    uint32_t end = from;
    while (end < count && all[end].target == all[from].target) end++;
    return end;
}

// Where the longest run of tags with the same target begins: it is the default of the switch.
static uint32_t find_default(const struct branch *all, uint32_t count) {
    uint32_t best = 0, most = 0;
    for (uint32_t from = 0, end; from < count; from = end) {
        end = same_target(all, from, count);
        if (end - from >= most) best = from, most = end - from;
    }
    return best;
}

static void write_labels(struct translator *t, const struct branch *all, uint32_t from,
                         uint32_t end, bool is_default) {
    if (t->quiet) return;
    if (is_default) fputs("default:", t->code);
    for (uint32_t i = from; i < end && !is_default; i++)
        fprintf(t->code, "case %u:%s", all[i].tag, i % 16 == 15 ? "\n" : " ");
    fputc('\n', t->code);
}

// A select: its branches become the cases of a switch.
static void choose(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    uint8_t *flags = t->now.flags;
    uint16_t *tags = t->now.tags;
    bool known = tags[ins->b] != 0, by_table = c_branches_by_table(t, ins);
    if (!known && by_table)
        c_out(t, "FBLE_NEED_UNION(s%u, FBLE_NO_SELECT, AT(%u), %u);", ins->b, spot_of(t, i),
              t->now.charge);
    if (by_table) {
        choose_by_table(t, ins);
        return;
    }
    if (!known) c_join_alike(t, i);
    if (!known && c_choose_by_table(t, i) && t->step->kind == C_AS_LEAF) {
        c_out(t, "return 0;"); // the function itself has the selects
        return;
    }
    if (known)
        c_out(t, "switch (fble_tag_of(s%u, %u)) {", ins->b, ins->x);
    else
        c_out(t,
              "{ uint32_t tag; FBLE_TAG(tag, s%u, %u, FBLE_NO_SELECT, AT(%u), %u);"
              " switch (tag) {",
              ins->b, ins->x, spot_of(t, i), t->now.charge);
    uint8_t flags_before = flags[ins->b];
    uint16_t tag_before = tags[ins->b];
    uint32_t before = t->now.charge, count = ins->target_count;
    const struct branch *all = sorted_branches(t, ins);
    uint32_t other = find_default(all, count);
    for (uint32_t from = 0, end; from < count; from = end) {
        end = same_target(all, from, count);
        write_labels(t, all, from, end, from == other);
        if (end == from + 1) tags[ins->b] = (uint16_t)(all[from].tag + 1);
        t->now.charge = before + t->f->facts[all[from].target].charge;
        c_jump_to(t, all[from].target);
        flags[ins->b] = flags_before;
        tags[ins->b] = tag_before;
    }
    c_out(t, known ? "}" : "} }");
}

static const char *argument(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    return i < ins->list_count ? fble_format(t->arena, "s%u", list_of(t, ins)[i]) : "FBLE_ANYTHING";
}

void c_write_return(struct translator *t, uint32_t i, uint32_t as) {
    const struct emit_ins *ins = t->f->ins + i;
    if (t->quiet) return;
    uint32_t site = c_write_site(t, t->f->facts[i].site);
    fprintf(t->tables,
            "static const struct fble_return return%u = FBLE_RETURN_WORDS(%u, %u, &site%u, "
            "f%u_%u);\n",
            t->returns++, ins->a, t->f->most, site, t->index, as + 1);
}

// All that is needed after the call goes to the frame.
static void store_live(struct translator *t, const struct fble_site *site) {
    for (uint32_t slot = 0; slot < t->f->most; slot++)
        if (c_is_live(site->live, site->slots, slot)) c_store(t, slot);
}

// The callee's frame is above.
static void make_call(struct translator *t, uint32_t i, struct c_place place) {
    const struct emit_ins *ins = t->f->ins + i;
    const char *a = argument(t, ins, 0), *b = argument(t, ins, 1), *c = argument(t, ins, 2);
    store_live(t, t->f->facts[i].site);
    c_out(t, "{ uint64_t *frame = fp + %u;", t->f->most);
    c_out(t, "frame[FBLE_FP_RETURN] = fble_pointer(&return%u.op);", t->returns);
    c_write_return(t, i, i);
    c_out(t, "frame[FBLE_FP_CALLER] = fble_pointer(fp);");
    for (uint32_t k = 3; k < ins->list_count; k++)
        c_out(t, "frame[%u] = s%u;", FBLE_FP_ARGS + k, list_of(t, ins)[k]);
    if (ins->op == FBLE_OP_CALL_CODE)
        c_out(t, "FBLE_JUMP_ENTERING(%s, %s, %u, %u, frame, %u, %s, %s, %s);",
              step_of(t, ins->pointer), code_of(t, ins->pointer), place.site, place.charge,
              ins->list_count, a, b, c);
    else
        c_out(t, "FBLE_CALL_VALUE(s%u, %u, %u, frame, %u, %s, %s, %s);", ins->b, place.site,
              place.charge, ins->list_count, a, b, c);
    c_out(t, "}");
}

// Computes a leaf where it is called, and goes on. Nothing is stored, unless the call is made. By
// both, what was run up to here is charged.
static void leaf_here(struct translator *t, uint32_t i, struct c_place place) {
    const struct emit_ins *ins = t->f->ins + i;
    t->used[ins->a] = true;
    c_out(t, "FBLE_LEAF_HERE(s%u, r%u, v%u, %s, %u, %s, %s, %s);", ins->a, i,
          c_index_of(t, ins->pointer), code_of(t, ins->pointer), place.site, argument(t, ins, 0),
          argument(t, ins, 1), argument(t, ins, 2));
    uint8_t *before = c_keep_flags(t);
    make_call(t, i, place);
    c_restore_flags(t, before);
    c_out(t, "r%u:;", i);
    t->now.charge = 0;
    c_define(t, ins->a);
}

static void call(struct translator *t, uint32_t i) {
    const struct emit_ins *ins = t->f->ins + i;
    struct c_place place = c_place_of(t, ins, t->now.charge);
    if (c_goes_on(t, i)) {
        leaf_here(t, i, place);
        return;
    }
    store_live(t, t->f->facts[i].site);
    if (c_called_leaf(t, ins))
        c_out(t, "FBLE_CALL_LEAF(v%u, %s, %u, f%u_%u, fp + %u, %s, %s, %s);",
              c_index_of(t, ins->pointer), code_of(t, ins->pointer), place.site, t->index, i + 1,
              t->f->most, argument(t, ins, 0), argument(t, ins, 1), argument(t, ins, 2));
    make_call(t, i, place);
}

static void tail_call(struct translator *t, uint32_t i) {
    const struct emit_ins *ins = t->f->ins + i;
    bool known = ins->op == FBLE_OP_TAIL_CODE;
    const char *a = argument(t, ins, 0), *b = argument(t, ins, 1), *c = argument(t, ins, 2);
    struct c_place place = c_place_of(t, ins, t->now.charge);
    if (c_called_leaf(t, ins))
        c_out(t, "FBLE_TAIL_LEAF(v%u, %s, %u, %s, %s, %s);", c_index_of(t, ins->pointer),
              code_of(t, ins->pointer), place.site, a, b, c);
    for (uint32_t k = 3; k < ins->list_count; k++)
        c_out(t, "fp[%u] = s%u;", FBLE_FP_ARGS + k, list_of(t, ins)[k]);
    if (known)
        c_out(t, "FBLE_JUMP_REPLACING(%s, %s, %u, %u, %u, %s, %s, %s);", step_of(t, ins->pointer),
              code_of(t, ins->pointer), place.site, place.charge, ins->list_count, a, b, c);
    else
        c_out(t, "FBLE_TAIL_VALUE(s%u, %u, %u, AT(%u), %u, %s, %s, %s);", ins->b, place.site,
              place.charge, spot_of(t, i), ins->list_count, a, b, c);
}

static void return_value(struct translator *t, const struct emit_ins *ins) {
    struct c_place place = c_return_place(t, ins, t->now.charge);
    if (place.charge != t->now.charge) c_out(t, "FBLE_CHARGE(%u);", t->now.charge);
    c_out(t, "FBLE_RETURN(%u, s%u, %u);", place.site, ins->a, place.charge);
}

static void block(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    unsigned label = (unsigned)ins->word - FBLE_RELATIVE_BLOCK;
    c_charge(t);
    uint32_t site = ins->op == FBLE_OP_EXIT ? 0 : c_place_of(t, ins, 0).site;
    if (ins->op == FBLE_OP_ENTER) {
        c_out(t, "FBLE_BLOCK_ENTER(s%u, first_block + %u, %u);", ins->a, label, site);
    } else if (ins->op == FBLE_OP_REPLACE) {
        c_out(t, "FBLE_BLOCK_REPLACE(first_block + %u, %u);", label, site);
    } else {
        c_out(t, "FBLE_BLOCK_EXIT(s%u);", ins->a);
    }
    t->now.charge = t->f->facts[i].after;
}

// ---------------------------------------------------------------- all

static void simple(struct translator *t, const struct emit_ins *ins) {
    if (ins->op == FBLE_OP_MOVE)
        c_out(t, "s%u = s%u;", ins->a, ins->b);
    else if (ins->op == FBLE_OP_GLOBAL)
        c_out(t, "s%u = %s;", ins->a, c_global_of(t, ins));
    else if (ins->op == FBLE_OP_SET_GLOBAL)
        c_out(t, "%s = s%u;", c_global_of(t, ins), ins->a);
    else if (ins->op == FBLE_OP_CAPTURE)
        c_out(t, "s%u = FBLE_WORD(s%u, %u);", ins->a, FBLE_FP_SELF, 1 + ins->b);
    else if (ins->op == FBLE_OP_STRUCT_ONE)
        c_out(t, "FBLE_STRUCT_ONE(s%u, s%u);", ins->a, ins->b);
    else
        c_out(t, "FBLE_MAKE_UNION(s%u, s%u, %u, %u);", ins->a, ins->b, ins->c, ins->x);
    if (ins->op != FBLE_OP_MOVE) return;
    t->result_flags = t->now.flags[ins->b] & C_IS_STRUCT;
    t->result_tag = t->now.tags[ins->b];
}

// Loads the slots that the instruction reads into their locals, or stores them to the frame.
static void use_operands(struct translator *t, const struct emit_ins *ins) {
    const struct fble_operands *roles = fble_operands + ins->op;
    if (roles->a == FBLE_ROLE_IN) c_use(t, ins->a);
    if (roles->b == FBLE_ROLE_IN) c_use(t, ins->b);
    if (roles->b == FBLE_ROLE_CAPTURED) c_use(t, FBLE_FP_SELF);
    bool fields = roles->list == FBLE_ROLE_FIELDS; // every second is the number of a field
    void (*read)(struct translator *, uint32_t) = reads_frame(ins) ? c_store : c_use;
    for (uint32_t i = fields; i < ins->list_count; i += 1 + fields) read(t, list_of(t, ins)[i]);
}

static void write_ins(struct translator *t, const struct emit_ins *ins, uint32_t i) {
    switch (ins->op) {
    case FBLE_OP_CONST:
        constant(t, ins);
        break;
    case FBLE_OP_FIELD:
        field(t, ins, i);
        break;
    case FBLE_OP_FIELD_ONLY:
        c_out(t, "FBLE_FIELD_ONLY(s%u, s%u, AT(%u), %u);", ins->a, ins->b, spot_of(t, i),
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
        c_jump_to(t, t->f->targets[ins->targets]);
        break;
    case FBLE_OP_RETURN:
        return_value(t, ins);
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

// The result of a call is defined where the call returns to.
void c_write_ins(struct translator *t, uint32_t i) {
    const struct emit_ins *ins = t->f->ins + i;
    use_operands(t, ins);
    t->result_flags = 0;
    t->result_tag = 0;
    write_ins(t, ins, i);
    if (fble_operands[ins->op].a == FBLE_ROLE_OUT && !fble_op_is_call(ins->op)) c_define(t, ins->a);
}

// SPDX-License-Identifier: MIT
//
// Cuts a function into steps. A step begins where the function is entered, where a call returns to,
// or at a join, where branches of several steps meet. Short code after a join is repeated in each
// of them instead. Long steps are cut, as if there were a join.
//
// Within a step all branches go forward, so two passes in the order of the code are enough. The
// first, quiet one finds out which slots are in locals at each target: those that are on all
// branches that lead there. The second writes; before a jump it stores what the target expects in
// the frame.
//
// A step reserves memory once, at its beginning, for the path through it that needs most. So the
// collector runs where all live slots are known, and the step can simply be started again.

#include "translate.h"
#include "vm/machine.h"

#include <stdlib.h>
#include <string.h>

// Instructions from which on code is a step of its own: where several steps meet, where only one
// leads, of a select with all its branches, and after a leaf that is computed in place.
enum { LONG_JOIN = 16, LONG_STEP = 400, LONG_SELECT = 1000, LONG_AFTER_LEAF = 24 };
enum { MANY_BRANCHES = 8, MOST_HOISTED = 1 << 15, LONGEST_NAME = 1000 };
enum { SEVERAL = UINT32_MAX };

void c_out(struct translator *t, const char *format, ...) {
    if (t->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(t->code, format, arguments);
    va_end(arguments);
    fputc('\n', t->code);
}

bool c_is_live(const uint64_t *live, uint32_t slots, uint32_t slot) {
    return slot < slots && live[slot / 64] >> slot % 64 & 1;
}

static uint32_t live_words(const struct translator *t) { return (t->f->most + 63) / 64; }

static bool live_at(const struct translator *t, uint32_t i, uint32_t slot) {
    return c_is_live(t->f->facts[i].live, 64 * live_words(t), slot);
}

// ---------------------------------------------------------------- slots

void c_use(struct translator *t, uint32_t slot) {
    t->used[slot] = true;
    if (t->now.flags[slot] & C_IN_LOCAL) return;
    c_out(t, "s%u = fp[%u];", slot, slot);
    t->now.flags[slot] |= C_IN_LOCAL;
}

void c_define(struct translator *t, uint32_t slot) {
    t->used[slot] = true;
    t->now.flags[slot] = C_IN_LOCAL | t->result_flags;
    t->now.tags[slot] = t->result_tag;
}

void c_store(struct translator *t, uint32_t slot) {
    if (t->now.flags[slot] & C_IN_FRAME || !(t->now.flags[slot] & C_IN_LOCAL)) return;
    t->used[slot] = true;
    c_out(t, "fp[%u] = s%u;", slot, slot);
    t->now.flags[slot] |= C_IN_FRAME;
}

uint8_t *c_keep_flags(const struct translator *t) {
    uint8_t *before = malloc(t->f->most);
    if (!before) fble_out_of_memory();
    return memcpy(before, t->now.flags, t->f->most);
}

void c_restore_flags(struct translator *t, uint8_t *before) {
    memcpy(t->now.flags, before, t->f->most);
    free(before);
}

void c_charge(struct translator *t) {
    if (t->now.charge) c_out(t, "FBLE_CHARGE(%u);", t->now.charge);
    t->now.charge = 0;
}

static struct c_slots slots_new(const struct translator *t) {
    struct c_slots slots = {calloc(t->f->most, 1), calloc(t->f->most, sizeof *slots.tags), 0, 0};
    if (!slots.flags || !slots.tags) fble_out_of_memory();
    return slots;
}

static void slots_free(struct c_slots *slots) {
    free(slots->flags);
    free(slots->tags);
    *slots = (struct c_slots){0};
}

static void slots_copy(const struct translator *t, struct c_slots *to, const struct c_slots *from) {
    memcpy(to->flags, from->flags, t->f->most);
    memcpy(to->tags, from->tags, t->f->most * sizeof *to->tags);
}

// Another branch leads to the target. A slot that is not in its local on every branch is in the
// frame, unchanged or stored by c_jump_to.
static void meet(struct translator *t, uint32_t target) {
    struct c_slots *at = t->at + target;
    if (!at->flags) {
        *at = slots_new(t);
        slots_copy(t, at, &t->now);
        at->charge = t->now.charge;
        at->arrivals = 1;
        return;
    }
    at->arrivals++;
    at->charge = 0; // each branch charges before it jumps
    for (uint32_t i = 0; i < t->f->most; i++) {
        at->flags[i] &= t->now.flags[i];
        if (!(at->flags[i] & C_IN_LOCAL)) at->flags[i] = C_IN_FRAME;
        if (at->tags[i] != t->now.tags[i] || !(at->flags[i] & C_IN_LOCAL)) at->tags[i] = 0;
    }
}

// ---------------------------------------------------------------- between steps

// A call may return to where a join is, so the two kinds of steps have names of their own.
static const char *const step_marks[] = {
    [C_AFTER_CALL] = "", [C_AT_JOIN] = "j", [C_WRAPPING] = "w"};

// The arguments of the function are those of the step.
static bool begins_function(const struct c_step *step) {
    return step->kind == C_ENTERING || step->kind == C_AS_LEAF;
}

static void write_step_name(const struct translator *t, FILE *to, const struct c_step *step) {
    fprintf(to, "f%u", t->index);
    if (step->kind != C_ENTERING) fprintf(to, "_%s%u", step_marks[step->kind], step->start);
}

bool c_branches_by_table(const struct translator *t, const struct emit_ins *ins) {
    for (uint32_t i = 0; i < ins->target_count; i++)
        if (!t->join[t->f->targets[ins->targets + i]]) return false;
    return ins->target_count >= MANY_BRANCHES;
}

void c_store_for(struct translator *t, uint32_t target) {
    bool away = t->join[target];
    for (uint32_t slot = 0; slot < t->f->most; slot++)
        if (live_at(t, target, slot) && (away || !(t->at[target].flags[slot] & C_IN_LOCAL)))
            c_store(t, slot);
}

void c_jump_to(struct translator *t, uint32_t target) {
    bool away = t->join[target];
    if (!away && t->quiet) {
        meet(t, target);
        return;
    }
    // Other branches may have to store the same slots again.
    uint8_t *before = c_keep_flags(t);
    c_store_for(t, target);
    c_restore_flags(t, before);
    if (away || t->at[target].arrivals > 1) c_charge(t);
    if (away)
        c_out(t, "FBLE_JUMP(f%u_j%u, fp, hp, 0, 0, c);", t->index, target);
    else
        c_out(t, "goto l%u;", target);
}

uint32_t c_write_site(struct translator *t, const struct fble_site *site) {
    fprintf(t->tables, "static const struct fble_site site%u = {codes + %u, %u, %u, %u, {",
            t->sites, t->index, site->line, site->column, site->slots);
    for (uint32_t i = 0; i * 64 < site->slots; i++)
        fprintf(t->tables, "%s%#llxu", i ? ", " : "", (unsigned long long)site->live[i]);
    fputs("}};\n", t->tables);
    return t->sites++;
}

// ---------------------------------------------------------------- which steps there are

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void add_member(struct translator *t, uint32_t i, uint32_t mark) {
    if (t->mark[i] == mark || t->join[i]) return;
    t->mark[i] = mark;
    t->members[t->member_count++] = i;
}

bool c_goes_on(const struct translator *t, uint32_t i) {
    return fble_op_goes_on(t->f->ins[i].op) || (t->on_after[i] && !t->rare);
}

// Finds what belongs to the step that begins at `start`, and gives the number of instructions.
static uint32_t find_members(struct translator *t, uint32_t start, uint32_t mark) {
    bool was_join = t->join[start]; // a step does not jump to itself
    t->join[start] = false;
    t->member_count = 0;
    add_member(t, start, mark);
    for (uint32_t k = 0; k < t->member_count; k++) {
        const struct emit_ins *ins = t->f->ins + t->members[k];
        for (uint32_t n = 0; fble_op_is_branch(ins->op) && n < ins->target_count; n++)
            add_member(t, t->f->targets[ins->targets + n], mark);
        if (c_goes_on(t, t->members[k])) add_member(t, t->members[k] + 1, mark);
    }
    t->join[start] = was_join;
    return t->member_count;
}

static void add_step(struct translator *t, uint32_t start, enum c_step_kind kind) {
    t->all[t->count++] = (struct c_step){start, kind};
}

// Steps are cut at all branches of a long select, which so begin steps of their own.
static uint32_t own_branches(struct translator *t, const struct emit_ins *ins, uint32_t *owner,
                             uint32_t last) {
    for (uint32_t n = 0; n < ins->target_count; n++)
        if (!owner[t->f->targets[ins->targets + n]])
            owner[t->f->targets[ins->targets + n]] = ++last;
    return last;
}

// Per instruction: the only step that leads there, as a number, or SEVERAL. All branches go
// forward, so one pass is enough.
static void find_owners(struct translator *t, uint32_t *owner) {
    const struct emit_function *f = t->f;
    uint32_t last = t->count;
    memset(owner, 0, (f->count + 1) * sizeof *owner);
    for (uint32_t i = 0; i < t->count; i++) owner[t->all[i].start] = i + 1;
    for (uint32_t i = 0; i < f->count; i++)
        if (t->long_select[i]) last = own_branches(t, f->ins + i, owner, last);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct emit_ins *ins = f->ins + i;
        for (uint32_t n = 0; n < ins->target_count && !t->long_select[i]; n++) {
            uint32_t *to = owner + f->targets[ins->targets + n];
            *to = !*to || *to == owner[i] ? owner[i] : SEVERAL;
        }
        if (!c_goes_on(t, i)) continue;
        owner[i + 1] = !owner[i + 1] || owner[i + 1] == owner[i] ? owner[i] : SEVERAL;
    }
}

static void cut_at(struct translator *t, uint32_t i) { t->join[i] = true; }

static void cut_branches(struct translator *t, const struct emit_ins *ins) {
    for (uint32_t n = 0; n < ins->target_count; n++) cut_at(t, t->f->targets[ins->targets + n]);
}

// A call of a leaf is in the middle of its step, if what follows it is short.
static void go_on_after_leaf(struct translator *t, uint32_t i) {
    t->on_after[i] = !t->join[i + 1] && find_members(t, i + 1, ++t->marks) < LONG_AFTER_LEAF;
}

// The time that a compiler needs grows faster than the size of functions. So steps are cut where
// they become too long, and selects that do are cut at all their branches.
static void cut_steps(struct translator *t, const uint32_t *owner) {
    const struct emit_function *f = t->f;
    memset(t->join, 0, (f->count + 1) * sizeof *t->join);
    memset(t->on_after, 0, (f->count + 1) * sizeof *t->on_after);
    for (uint32_t i = f->count; i-- > 0;) {
        const struct emit_ins *ins = f->ins + i;
        bool several = owner[i] == SEVERAL && f->facts[i].target;
        bool flows = f->facts[i].target || (i && c_goes_on(t, i - 1));
        if (ins->target_count > 1 && find_members(t, i, ++t->marks) >= LONG_SELECT)
            t->long_select[i] = true;
        if (t->long_select[i]) cut_branches(t, ins);
        if (fble_op_is_call(ins->op) && c_called_leaf(t, ins)) go_on_after_leaf(t, i);
        if (i && flows && f->facts[i].live &&
            find_members(t, i, ++t->marks) >= (several ? LONG_JOIN : LONG_STEP))
            cut_at(t, i);
    }
}

static void find_steps(struct translator *t) {
    const struct emit_function *f = t->f;
    t->marks = 0;
    t->mark = fble_alloc(t->arena, (f->count + 1) * sizeof *t->mark);
    t->join = fble_alloc(t->arena, (f->count + 1) * sizeof *t->join);
    t->long_select = fble_alloc(t->arena, (f->count + 1) * sizeof *t->long_select);
    t->on_after = fble_alloc(t->arena, (f->count + 1) * sizeof *t->on_after);
    t->covered = fble_alloc(t->arena, (f->count + 1) * sizeof *t->covered);
    t->members = fble_alloc(t->arena, (f->count + 1) * sizeof *t->members);
    t->need = fble_alloc(t->arena, (f->count + 1) * sizeof *t->need);
    t->all = fble_alloc(t->arena, (2 * (size_t)f->count + 1) * sizeof *t->all);
    t->count = 0;
    add_step(t, 0, C_ENTERING);
    for (uint32_t i = 0; i < f->count; i++)
        if (fble_op_is_call(f->ins[i].op)) add_step(t, i + 1, C_AFTER_CALL);
    // Where a long select was cut, what follows it is reached by several steps.
    uint32_t *owner = fble_alloc(t->arena, (f->count + 1) * sizeof *owner);
    for (int pass = 0; pass < 2; pass++) {
        find_owners(t, owner);
        cut_steps(t, owner);
    }
    for (uint32_t i = 0; i < f->count; i++)
        if (t->join[i]) add_step(t, i, C_AT_JOIN);
}

// At least what a leaf allocates. It has a few instructions, so their sum is as good as the most
// demanding path.
static uint64_t leaf_bytes(const struct emit_function *leaf) {
    uint64_t bytes = leaf ? leaf->facts[0].rest : 0;
    for (uint32_t i = 0; leaf && i < leaf->count; i++)
        bytes += leaf->facts[i].heap ? leaf->facts[i].bytes : 0;
    return bytes;
}

// Bytes that the most demanding path through the step needs.
static uint64_t most_bytes(struct translator *t) {
    const struct emit_function *f = t->f;
    uint64_t most = 0;
    for (uint32_t k = t->member_count; k-- > 0;) {
        uint32_t i = t->members[k];
        const struct emit_ins *ins = f->ins + i;
        most = 0;
        if (fble_op_is_branch(ins->op)) {
            for (uint32_t n = 0; n < ins->target_count; n++) {
                uint32_t next = f->targets[ins->targets + n];
                if (!t->join[next] && t->need[next] > most) most = t->need[next];
            }
        } else if (c_goes_on(t, i) && !t->join[i + 1]) {
            most = t->need[i + 1] + leaf_bytes(c_called_leaf(t, ins));
        }
        t->need[i] = most += f->facts[i].heap ? f->facts[i].bytes : 0;
    }
    return most + f->facts[t->step->start].rest;
}

// ---------------------------------------------------------------- the beginning of a step

static void begin_slots(struct translator *t) {
    const struct c_step *step = t->step;
    for (uint32_t i = 0; i < t->f->most; i++) {
        t->now.flags[i] = live_at(t, step->start, i) ? C_IN_FRAME : 0;
        t->now.tags[i] = 0;
    }
    t->now.charge = begins_function(step) ? t->f->facts[0].charge : 0; // calls end no stretch
    if (step->kind == C_AFTER_CALL) t->now.flags[t->f->ins[step->start - 1].a] = C_IN_LOCAL;
    for (uint32_t i = 0; begins_function(step) && i < 3 && i < t->f->code->arity; i++)
        t->now.flags[FBLE_FP_ARGS + i] = C_IN_LOCAL;
}

// Where a step says that memory has run out: at what allocates first, in the order of the code.
static struct fble_loc room_loc(const struct translator *t) {
    for (uint32_t k = 0; k < t->member_count; k++) {
        const struct fble_site *heap = t->f->facts[t->members[k]].heap;
        if (heap) return (struct fble_loc){heap->line, heap->column};
    }
    return t->f->ins[t->step->start].near;
}

static void write_room(struct translator *t, uint64_t bytes) {
    const struct c_step *step = t->step;
    struct fble_loc loc = room_loc(t);
    uint32_t first = FBLE_FP_ARGS;
    struct fble_site *site = fble_alloc(t->arena, sizeof *site + 8 * (size_t)live_words(t));
    site->line = loc.line;
    site->column = loc.column;
    site->slots = 64 * live_words(t);
    memcpy(site->live, t->f->facts[step->start].live, 8 * (size_t)live_words(t));
    c_out(t, "if (FBLE_FULL(%llu)) {", (unsigned long long)bytes);
    if (step->kind == C_ENTERING && t->f->code->arity)
        c_out(t, "FBLE_SPILL_ARGUMENTS(%u);", t->f->code->arity);
    if (step->kind == C_AFTER_CALL) {
        first = t->f->ins[step->start - 1].a;
        c_out(t, "fp[%u] = a;", first);
    }
    fprintf(t->code, "FBLE_COLLECT(&site%u, ", c_write_site(t, site));
    write_step_name(t, t->code, step);
    c_out(t, ", %u, %u, %llu);\n}", first, step->kind == C_AFTER_CALL ? t->f->most : 0,
          (unsigned long long)bytes);
}

static void write_locals(struct translator *t) {
    const char *before = "fble_value ";
    for (uint32_t i = 0; i < t->f->most; i++) {
        if (!t->used[i]) continue;
        fprintf(t->code, "%ss%u", before, i);
        before = ", ";
        if (begins_function(t->step) && i >= FBLE_FP_ARGS && i < FBLE_FP_ARGS + 3 &&
            i < (uint32_t)FBLE_FP_ARGS + t->f->code->arity)
            fputs(i == FBLE_FP_ARGS       ? " = a"
                  : i == FBLE_FP_ARGS + 1 ? " = b"
                                          : " = FBLE_THIRD",
                  t->code);
        if (t->step->kind == C_AFTER_CALL && i == t->f->ins[t->step->start - 1].a)
            fputs(" = a", t->code);
    }
    if (*before == ',') fputs(";\n", t->code);
}

static void write_line(struct translator *t, uint32_t line) {
    if (!line || t->quiet || (line == t->line && t->file == t->f->code->file)) return;
    t->line = line;
    t->file = t->f->code->file;
    fprintf(t->code, "#line %u ", line);
    fble_write_c_string(t->code, t->file);
    fputc('\n', t->code);
}

// A function that calls nothing needs no more stack than is left in any case, and it ends.
static bool is_small_leaf(const struct emit_function *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        unsigned op = f->ins[i].op;
        if (fble_op_is_call(op) || op == FBLE_OP_TAIL || op == FBLE_OP_TAIL_CODE) return false;
    }
    return f->most <= FBLE_STACK_RESERVE;
}

static void write_leaf_beginning(struct translator *t, uint64_t bytes) {
    fprintf(t->code, "\nFBLE_LEAF(v%u) {\nchar *hp = *top;\n", t->index);
    if (bytes) c_out(t, "if (FBLE_FULL(%llu)) return 0;", (unsigned long long)bytes);
    write_locals(t);
}

static void write_beginning(struct translator *t, uint64_t bytes) {
    const struct fble_code *code = t->f->code;
    const struct c_step *step = t->step;
    uint32_t line = step->kind == C_AFTER_CALL ? t->f->ins[step->start - 1].loc.line : code->line;
    t->line = 0;
    fputc('\n', t->code);
    write_line(t, line);
    fputs("static fble_any_step ", t->code);
    write_step_name(t, t->code, step);
    fputs("(FBLE_STEP_PARAMETERS) {\n", t->code);
    if (step->kind == C_ENTERING && !is_small_leaf(t->f))
        c_out(t, "FBLE_NEED_STACK(codes + %u, %u);", t->index, t->f->most);
    if (step->kind == C_AFTER_CALL)
        c_out(t, "FBLE_GO_ON(%u);", t->f->most);
    else
        c_out(t, "FBLE_BEGIN;");
    if (t->hoisted && bytes) write_room(t, bytes);
    write_locals(t);
}

// ---------------------------------------------------------------- a step

// Memory for a stretch of a step that needs very much.
static void collect_here(struct translator *t, uint32_t i) {
    const struct emit_facts *facts = t->f->facts + i;
    if (!facts->heap || t->hoisted) return;
    c_out(t, "if (FBLE_FULL(%u)) {", facts->bytes);
    for (uint32_t slot = 0; slot < t->f->most; slot++)
        if (live_at(t, i, slot) && t->now.flags[slot] & C_IN_LOCAL) {
            t->used[slot] = true;
            c_out(t, "fp[%u] = s%u;", slot, slot);
        }
    if (!t->quiet)
        c_out(t, "hp = fble_collect_now(m, fp, hp, &site%u, %u);", c_write_site(t, facts->heap),
              facts->bytes);
    for (uint32_t slot = 0; slot < t->f->most; slot++)
        if (live_at(t, i, slot) && t->now.flags[slot] & C_IN_LOCAL)
            c_out(t, "s%u = fp[%u];", slot, slot);
    c_out(t, "}");
}

static void walk(struct translator *t) {
    const struct emit_function *f = t->f;
    bool open = true; // the instruction before leads on to this one
    for (uint32_t k = 0; k < t->member_count; k++) {
        uint32_t i = t->members[k];
        const struct emit_ins *ins = f->ins + i;
        if (f->facts[i].target && (i != t->step->start || t->at[i].flags)) {
            if (open && t->at[i].flags) c_jump_to(t, i);
            if (t->at[i].flags) {
                c_out(t, "l%u:;", i);
                slots_copy(t, &t->now, t->at + i);
                t->now.charge = t->at[i].charge;
            }
        }
        write_line(t, ins->loc.line);
        collect_here(t, i);
        if (!f->facts[i].dropped) c_write_ins(t, i);
        open = c_goes_on(t, i);
        if (open && t->join[i + 1]) {
            c_jump_to(t, i + 1);
            open = false;
        }
    }
}

static void translate_step(struct translator *t, const struct c_step *step) {
    t->step = step;
    t->rare = step->kind == C_AFTER_CALL && t->on_after[step->start - 1];
    find_members(t, step->start, ++t->marks);
    qsort(t->members, t->member_count, sizeof *t->members, by_number);
    if (step->kind == C_AS_LEAF && c_is_choice(t, 0)) t->member_count = 1;
    bool was_join = t->join[step->start]; // a step does not jump to itself
    t->join[step->start] = false;
    uint64_t bytes = most_bytes(t);
    t->hoisted = bytes <= MOST_HOISTED;
    memset(t->used, 0, t->f->most);
    begin_slots(t);
    t->quiet = true;
    walk(t);
    begin_slots(t);
    t->quiet = false;
    if (step->kind == C_AS_LEAF)
        write_leaf_beginning(t, bytes);
    else
        write_beginning(t, bytes);
    walk(t);
    fputs("}\n", t->code);
    t->join[step->start] = was_join;
    t->rare = false;
    for (uint32_t k = 0; k < t->member_count; k++) slots_free(t->at + t->members[k]);
}

// Assemblers differ in what they take within quotes. What none of them minds stays, everything else
// is % and two hex digits. The numbers at the end tell symbols apart, whatever the names are.
static const char *symbol_of(struct translator *t, const struct c_step *step) {
    struct fble_text text = {.arena = t->arena};
    const unsigned char *p = (const unsigned char *)t->f->code->name;
    // A long name ends after a whole character.
    for (; *p && (text.length < LONGEST_NAME || (*p & 0xc0) == 0x80); p++) {
        char hex[8];
        if (*p < ' ' || *p == 127 || strchr("\"\\@", *p))
            fble_add(&text, hex, (size_t)snprintf(hex, sizeof hex, "%%%02x", *p));
        else
            fble_add(&text, (const char *)p, 1);
    }
    fble_add_string(&text, fble_format(t->arena, "~%u", t->index));
    if (step->kind != C_ENTERING)
        fble_add_string(&text, fble_format(t->arena, ".%s%u", step_marks[step->kind], step->start));
    return text.at;
}

static void declare_step(struct translator *t, const struct c_step *step) {
    fputs("FBLE_STEP(", t->steps);
    write_step_name(t, t->steps, step);
    fputs(", ", t->steps);
    fble_write_c_string(t->steps, symbol_of(t, step));
    fputs(");\n", t->steps);
}

// For returns whose result is wrapped and returned.
static void write_wrapping(struct translator *t) {
    const struct c_step step = {0, C_WRAPPING};
    declare_step(t, &step);
    fputs("\nstatic fble_any_step ", t->code);
    write_step_name(t, t->code, &step);
    fprintf(t->code, "(FBLE_STEP_PARAMETERS) {\nFBLE_WRAP(%u, %u);\n}\n", t->f->most, t->wrap_bits);
}

static void write_leaf(struct translator *t) {
    FILE *code = t->code;
    t->code = t->leaves;
    t->line = 0;
    memset(t->covered, 0, (t->f->count + 1) * sizeof *t->covered);
    translate_step(t, &(struct c_step){0, C_AS_LEAF});
    t->code = code;
}

void c_write_function(struct translator *t, uint32_t index) {
    t->f = t->emitted->functions.at[index];
    t->index = index;
    t->first_spot = t->spots;
    t->spots += t->f->code->spot_count;
    find_steps(t);
    t->wrap_bits = c_find_wraps(t);
    if (t->wrap_bits) write_wrapping(t);
    t->used = fble_alloc(t->arena, t->f->most);
    t->at = fble_alloc(t->arena, (t->f->count + 1) * sizeof *t->at);
    t->now = slots_new(t);
    for (uint32_t i = 0; i < t->count; i++) {
        declare_step(t, t->all + i);
        translate_step(t, t->all + i);
    }
    if (t->is_leaf[index]) write_leaf(t);
    slots_free(&t->now);
}

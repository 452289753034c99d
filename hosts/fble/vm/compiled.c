// SPDX-License-Identifier: MIT
//
// The slow side of compiled code: steps that are jumped to where something is not plain, and that
// jump on; entering and leaving the interpreter and natives; loading compiled modules. compiled.h
// explains steps, calls.c has what is about calls. Here one version serves programs with and
// without a profile.

#include "compiled.h"

// ---------------------------------------------------------------- memory

fble_any_step fble_more_stack(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    m->fp = fp;
    m->hp = hp;
    fble_settle(m);
    if (m->interrupted) {
        fble_fail_native(m, "interrupted");
        return NULL;
    }
    fble_stack_grow(m, FBLE_FP_ARGS + code->arity, code->frame_slots);
    FBLE_JUMP(code->enter, m->fp, hp, a, b, c);
}

char *fble_collect_now(struct fble_machine *m, uint64_t *fp, char *hp, const struct fble_site *site,
                       size_t bytes) {
    m->fp = fp;
    m->hp = hp;
    m->site = site;
    fble_flush(m);
    fble_collect(m, bytes);
    m->counted = m->hp;
    return m->hp;
}

fble_any_step fble_collect_step(FBLE_STEP_PARAMETERS) {
    fble_settle(m);
    hp = fble_collect_now(m, fp, hp, (const struct fble_site *)(uintptr_t)a, (size_t)(c >> 32));
    uint64_t *first = fp + (c & 0xffff);
    FBLE_JUMP((fble_step *)(uintptr_t)b, fp + (c >> 16 & 0xffff), hp, first[0], first[1],
              m->profile ? fble_here(m) : first[2]);
}

// ---------------------------------------------------------------- between the kinds of code

// `c` of a step that is entered.
static fble_value third(struct fble_machine *m, const uint64_t *fp) {
    return m->profile ? fble_here(m) : fp[FBLE_FP_ARGS + 2];
}

static void spill(const struct fble_machine *m, uint64_t *fp, const struct fble_code *code,
                  fble_value a, fble_value b, fble_value c) {
    fp[FBLE_FP_ARGS] = a;
    if (code->arity > 1) fp[FBLE_FP_ARGS + 1] = b;
    if (code->arity > 2 && !m->profile) fp[FBLE_FP_ARGS + 2] = c;
}

// From the interpreter into a function. What its first instructions need is loaded here.
fble_any_step fble_enter_compiled(FBLE_STEP_PARAMETERS) {
    const uint64_t *pc = (const uint64_t *)(uintptr_t)b;
    const struct fble_code *code = (const struct fble_code *)(uintptr_t)pc[1];
    FBLE_JUMP(code->enter, fp, hp, fp[FBLE_FP_ARGS], fp[FBLE_FP_ARGS + 1], third(m, fp));
    (void)a, (void)c;
}

static fble_any_step go_on_interpreted(struct fble_machine *m, uint64_t *fp, char *hp,
                                       const uint64_t *pc, uint64_t instructions) {
    m->fp = fp;
    m->hp = hp;
    m->pc = pc;
    if (m->profile) {
        fble_charge(m, instructions);
        fble_flush(m);
    }
    return m->interpret(m);
}

// Back into bytecode, with a result.
fble_any_step fble_interpret(FBLE_STEP_PARAMETERS) {
    const uint64_t *pc = (const uint64_t *)(uintptr_t)b;
    fp = FBLE_CALLER_OF(fp);
    fp[fble_return_slot(pc)] = a;
    if (m->profile) {
        ouro_thread_stand(m->recorder, (const ouro_here *)(uintptr_t)fp[FBLE_FP_HERE]);
        fble_move(m, NULL);
    }
    return go_on_interpreted(m, fp, hp, pc, 0);
    (void)c;
}

static const struct fble_code *code_of(const uint64_t *fp) {
    return FBLE_CODE_OF(fp[FBLE_FP_SELF]);
}

// Functions that are not compiled are always called as values, so fp[2] is theirs.
fble_any_step fble_interpret_enter(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = code_of(fp);
    FBLE_NEED_STACK(code, code->frame_slots);
    spill(m, fp, code, a, b, c);
    fble_settle(m);
    return go_on_interpreted(m, fp, hp, code->start, code->charge);
}

fble_any_step fble_enter_native(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = code_of(fp);
    FBLE_NEED_STACK(code, code->frame_slots);
    spill(m, fp, code, a, b, c);
    fble_settle(m);
    m->fp = fp;
    m->hp = hp;
    m->pc = code->start;
    m->site = (const struct fble_site *)(uintptr_t)code->start[2];
    if (m->profile) {
        fble_charge(m, code->charge);
        fble_flush(m);
    }
    ouro_thread *recorder = m->recorder;
    a = ((fble_native *)(uintptr_t)code->start[1])(m, fp + FBLE_FP_ARGS);
    if (a && m->profile && !m->stepwise && recorder == m->recorder) {
        ouro_here_leave((const ouro_here *)(uintptr_t)c);
        hp = m->hp;
        FBLE_JUMP_BACK(a);
    }
    if (a) FBLE_JUMP(fble_return_slowly, fp, m->hp, a, 0, 0);
    if (m->failed) return NULL;
    // Somebody else's turn.
    if (recorder != m->recorder) ouro_clock_move(recorder, m->recorder);
    return m->interpret(m);
}

// ---------------------------------------------------------------- instructions

bool fble_resolve_now(struct fble_machine *m, uint64_t *fp, const uint16_t *list, uint32_t count,
                      const uint64_t *place) {
    uint32_t vacuous;
    m->fp = fp;
    if (fble_resolve(m, fp, list, count, &vacuous)) return true;
    fble_settle(m);
    m->pc = place;
    fble_fail_spot(m, vacuous, "the value is defined as itself");
    return false;
}

fble_any_step fble_fail_step(FBLE_STEP_PARAMETERS) {
    static const char *const texts[] = {
        [FBLE_NO_STRUCT] = "the value is not there yet: its let is being evaluated",
        [FBLE_NO_SELECT] = "the value to select on is not there yet: its let is being evaluated",
        [FBLE_NO_COPY] = "the struct to copy is not there yet: its let is being evaluated",
        [FBLE_WRONG_TAG] = "the union has another tag",
    };
    m->pc = (const uint64_t *)(uintptr_t)b;
    m->fp = fp;
    m->hp = hp;
    fble_settle(m);
    if (a == FBLE_NO_FOREIGN) {
        const struct fble_foreign_use *use = (const struct fble_foreign_use *)(uintptr_t)c;
        fble_fail_here(m, "nobody has supplied the foreign value %s of %s", use->name, use->module);
    } else {
        fble_fail_here(m, "%s", texts[a]);
    }
    fble_flush(m);
    return NULL;
}

// ---------------------------------------------------------------- modules

static void load_codes(struct fble_machine *m, const struct fble_compiled_module *module,
                       ouro_block first) {
    for (uint32_t i = 0; i < module->code_count; i++) {
        struct fble_code *code = module->codes + i;
        code->block = first ? first + code->label : OURO_PHANTOM;
        fble_code_own_value(code);
        fble_add_code(m, code);
    }
}

// Without them the code would charge nothing.
static void add_places(const struct fble_machine *m, const struct fble_compiled_module *module,
                       ouro_block first) {
    for (uint32_t i = 0; module->places && i < module->block_count; i++) {
        const struct fble_places *places = module->places + i;
        if (ouro_add_site_infos(m->profile, first + i, places->infos, places->count))
            fble_no_memory();
    }
}

bool fble_compiled_load(struct fble_machine *m, const struct fble_compiled_module *module) {
    ouro_block first = OURO_PHANTOM;
    if (m->profile) first = ouro_add_blocks(m->profile, module->blocks, module->block_count);
    if (m->profile && !first) fble_no_memory();
    if (first) add_places(m, module, first);
    fble_slice_blocks(m, first, module->blocks, module->block_count);
    *module->first_block = first;
    load_codes(m, module, first);
    for (uint32_t i = 0; i < module->foreign_count; i++) {
        ouro_block block = first ? first + module->foreign_labels[i] : OURO_PHANTOM;
        if (!fble_find_foreign(m, module->foreign + i, block)) return false;
    }
    fble_add_root(m, module->globals, module->global_count);
    return true;
}

// SPDX-License-Identifier: MIT
//
// The slow side of compiled code: steps that are jumped to where something is not plain, and that
// jump on; entering and leaving the interpreter and natives; loading compiled modules. compiled.h
// explains steps. Here one version serves programs with and without a profile.
//
// With metrics other than the usual compiled code only adds up instructions. They are charged here,
// before the position changes, together with the objects that have come since: those from
// machine->counted to hp. With the usual ones and more, of a clock, it charges as ever but calls and
// returns here (machine->recorder is NULL), so that the thread is up to date.

#include "compiled.h"

// ---------------------------------------------------------------- profiles

// Calls and instructions: there is nothing to do but to enter, leave and charge at once.
static bool is_usual(const struct fble_machine *m) {
#ifdef FBLE_NO_PROFILE
    return !m->profile;
#else
    return m->interpret == fble_interpret_profiled;
#endif
}

static void charge(struct fble_machine *m, uint64_t n) {
    if (is_usual(m))
        ouro_sample(m->thread->profile, n);
    else
        *fble_pending(m) += n;
}

static void count_objects(struct fble_machine *m) {
    uint64_t objects = 0, bytes = 0;
    const char *from = m->counted;
    if (from < m->nursery || from > m->hp) from = m->nursery;
    for (; from < m->hp; objects++) {
        size_t size = fble_object_bytes(((const struct fble_object *)(const void *)from)->header);
        bytes += size;
        from += size;
    }
    m->counted = m->hp;
    if (!objects) return;
    ouro_count(m->thread->profile, m->metric_objects, objects);
    ouro_count(m->thread->profile, m->metric_bytes, bytes);
}

// Everything that belongs to where the thread stands.
static void flush(struct fble_machine *m) {
    if (!m->profile || is_usual(m)) return;
    uint64_t *pending = fble_pending(m), rest = *pending % m->period;
    if (*pending != rest) ouro_count(m->thread->profile, m->metric_instructions, *pending - rest);
    *pending = rest;
    count_objects(m);
}

// A clock looks at the thread at any time, so then the thread must be up to date.
void fble_record(struct fble_machine *m, ouro_thread *thread) {
    m->recorder = thread->metric_count_ == 1 ? thread : NULL;
}

ouro_place fble_place(const struct fble_machine *m) {
    if (!m->profile) return 0;
    return is_usual(m) ? ouro_thread_place(m->thread->profile) : (ouro_place)&m->aside;
}

// `c` of a step that is entered.
static fble_value third(const struct fble_machine *m, const uint64_t *fp) {
    return m->profile ? fble_place(m) : fp[FBLE_FP_ARGS + 2];
}

static void spill(const struct fble_machine *m, uint64_t *fp, const struct fble_code *code,
                  fble_value a, fble_value b, fble_value c) {
    fp[FBLE_FP_ARGS] = a;
    if (code->arity > 1) fp[FBLE_FP_ARGS + 1] = b;
    if (code->arity > 2 && !m->profile) fp[FBLE_FP_ARGS + 2] = c;
}

static bool fits(const ouro_way *way, ouro_place place, const struct fble_code *code) {
    return FBLE_LIKELY(way->callee == code) && ouro_way_fits(way, place);
}

// Enters a block by a way, which learns.
static void go(struct fble_machine *m, ouro_way *way, ouro_block block,
               const struct fble_code *code, enum fble_entering how) {
    ouro_thread *thread = m->thread->profile;
    ouro_place from = ouro_thread_place(thread);
    if (fits(way, from, code)) {
        if (how == FBLE_BY_TAIL) ouro_place_leave(from);
        ouro_thread_move(thread, ouro_way_follow(way));
    } else if (how == FBLE_BY_CALL) {
        ouro_way_enter(way, thread, block, code);
    } else {
        ouro_way_replace(way, thread, block, code);
    }
}

uint64_t fble_block_enter(struct fble_machine *m, char *hp, ouro_block block, ouro_way *way) {
    uint64_t token = (uint64_t)ouro_thread_position(m->thread->profile) << 1 | 1;
    m->hp = hp;
    flush(m);
    go(m, way, block, NULL, FBLE_BY_CALL);
    return token;
}

void fble_block_exit(struct fble_machine *m, char *hp, uint64_t token) {
    m->hp = hp;
    flush(m);
    ouro_exit(m->thread->profile, (ouro_position)(token >> 1));
}

void fble_block_replace(struct fble_machine *m, char *hp, ouro_block block, ouro_way *way) {
    m->hp = hp;
    flush(m);
    go(m, way, block, NULL, FBLE_BY_TAIL);
}

static ouro_way *way_to(struct fble_machine *m, ouro_place place, const struct fble_code *code) {
    return &m->way_table[((place >> 6) + code->block * 37) % FBLE_WAYS];
}

// By the table of all sites.
static void record(struct fble_machine *m, uint64_t *frame, const struct fble_code *code,
                   enum fble_entering how) {
    ouro_place from = ouro_thread_place(m->thread->profile);
    if (how == FBLE_BY_CALL) frame[FBLE_FP_TOKEN] = from;
    flush(m);
    go(m, way_to(m, from, code), code->block, code, how);
}

static fble_any_step enter_new(FBLE_STEP_PARAMETERS) {
    m->hp = hp;
    fble_publish(m, c);
    record(m, fp, m->applied, FBLE_BY_CALL);
    FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_place(m));
}

static fble_any_step replace_new(FBLE_STEP_PARAMETERS) {
    m->hp = hp;
    fble_publish(m, c);
    record(m, fp, m->applied, FBLE_BY_TAIL);
    FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_place(m));
}

static void found(struct fble_machine *m, const ouro_way *way) {
    if (m->recorder)
        *m->way_at = *way;
    else
        ouro_thread_move(m->thread->profile, way->to_);
}

fble_any_step fble_enter_slowly(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    const ouro_way *way = way_to(m, c, code);
    if (!fits(way, c, code)) FBLE_JUMP(enter_new, fp, hp, a, b, c);
    found(m, way);
    fp[FBLE_FP_TOKEN] = c;
    FBLE_JUMP(code->enter, fp, hp, a, b, ouro_way_follow(way));
}

fble_any_step fble_replace_slowly(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    const ouro_way *way = way_to(m, c, code);
    if (!fits(way, c, code)) FBLE_JUMP(replace_new, fp, hp, a, b, c);
    found(m, way);
    ouro_place_leave(c);
    FBLE_JUMP(code->enter, fp, hp, a, b, ouro_way_follow(way));
}

fble_any_step fble_return_slowly(FBLE_STEP_PARAMETERS) {
    m->hp = hp;
    if (m->profile) {
        flush(m);
        ouro_exit(m->thread->profile, fble_caller_position(m->thread->profile, fp));
    }
    FBLE_JUMP_BACK(a, fble_place(m));
    (void)b, (void)c;
}

// ---------------------------------------------------------------- memory

fble_any_step fble_more_stack(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    m->fp = fp;
    m->hp = hp;
    fble_publish(m, c);
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
    flush(m);
    fble_collect(m, bytes);
    m->counted = m->hp;
    return m->hp;
}

fble_any_step fble_collect_step(FBLE_STEP_PARAMETERS) {
    hp = fble_collect_now(m, fp, hp, (const struct fble_site *)(uintptr_t)a, (size_t)(c >> 32));
    uint64_t *first = fp + (c & 0xffff);
    FBLE_JUMP((fble_step *)(uintptr_t)b, fp + (c >> 16 & 0xffff), hp, first[0], first[1],
              m->profile ? fble_place(m) : first[2]);
}

// ---------------------------------------------------------------- calls that are not plain

// Applies m->argument_count arguments in the frame at fp, by a: call or tail call.
static fble_any_step apply(FBLE_STEP_PARAMETERS) {
    m->fp = fp;
    m->hp = hp;
    if (m->profile) {
        fble_publish(m, c);
        flush(m);
    }
    if (fble_apply_args(m, (enum fble_entering)a)) {
        fp = m->fp;
        if (m->profile) record(m, fp, m->applied, m->entering);
        FBLE_JUMP(m->applied->enter, fp, m->hp, fp[FBLE_FP_ARGS], fp[FBLE_FP_ARGS + 1],
                  third(m, fp));
    }
    if (m->failed) return NULL;
    fp = m->fp;
    hp = m->hp;
    b = m->value;
    m->value = 0;
    if (a == FBLE_BY_TAIL) FBLE_JUMP(fble_return_slowly, fp, hp, b, 0, 0);
    FBLE_JUMP_BACK(b, fble_place(m));
    (void)c;
}

fble_any_step fble_call_slowly(FBLE_STEP_PARAMETERS) {
    m->argument_count = (uint32_t)a;
    FBLE_JUMP(apply, fp, hp, FBLE_BY_CALL, b, c);
}

fble_any_step fble_tail_slowly(FBLE_STEP_PARAMETERS) {
    m->argument_count = (uint32_t)a;
    m->pc = (const uint64_t *)(uintptr_t)b;
    FBLE_JUMP(apply, fp, hp, FBLE_BY_TAIL, b, c);
}

// A function was returned to a frame where the rest of its arguments waits: see apply.c.
static void take_rest(struct fble_machine *m, uint64_t *fp, fble_value function, fble_value pc) {
    m->pc = (const uint64_t *)(uintptr_t)pc;
    m->argument_count = (uint32_t)(fp[FBLE_FP_ARGS] >> 1);
    for (uint32_t i = 0; i < m->argument_count; i++)
        fp[FBLE_FP_ARGS + i] = fp[FBLE_FP_ARGS + 1 + i];
    fp[FBLE_FP_SELF] = function;
}

fble_any_step fble_rest_enter(FBLE_STEP_PARAMETERS) {
    fp = FBLE_CALLER_OF(fp);
    take_rest(m, fp, a, b);
    FBLE_JUMP(apply, fp, hp, FBLE_BY_CALL, b, c);
}

fble_any_step fble_rest_tail(FBLE_STEP_PARAMETERS) {
    fp = FBLE_CALLER_OF(fp);
    take_rest(m, fp, a, b);
    FBLE_JUMP(apply, fp, hp, FBLE_BY_TAIL, b, c);
}

// ---------------------------------------------------------------- between the kinds of code

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
        charge(m, instructions);
        flush(m);
    }
    return m->interpret(m);
}

// Back into bytecode, with a result.
fble_any_step fble_interpret(FBLE_STEP_PARAMETERS) {
    const uint64_t *pc = (const uint64_t *)(uintptr_t)b;
    fp = FBLE_CALLER_OF(fp);
    fp[pc[-3] & 0xffff] = a;
    fble_publish(m, c);
    return go_on_interpreted(m, fp, hp, pc, 0);
}

static const struct fble_code *code_of(const uint64_t *fp) {
    return FBLE_CODE_OF(fp[FBLE_FP_SELF]);
}

// Functions that are not compiled are always called as values, so fp[2] is theirs.
fble_any_step fble_interpret_enter(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = code_of(fp);
    FBLE_NEED_STACK(code, code->frame_slots);
    spill(m, fp, code, a, b, c);
    fble_publish(m, c);
    return go_on_interpreted(m, fp, hp, code->start, code->charge);
}

fble_any_step fble_enter_native(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = code_of(fp);
    FBLE_NEED_STACK(code, code->frame_slots);
    spill(m, fp, code, a, b, c);
    fble_publish(m, c);
    m->fp = fp;
    m->hp = hp;
    m->pc = code->start;
    m->site = (const struct fble_site *)(uintptr_t)code->start[2];
    if (m->profile) {
        charge(m, code->charge);
        flush(m);
    }
    ouro_thread *thread = m->thread->profile;
    a = ((fble_native *)(uintptr_t)code->start[1])(m, fp + FBLE_FP_ARGS);
    if (m->recorder) m->recorder = m->thread->profile;
    if (a) FBLE_JUMP(fble_return_slowly, fp, m->hp, a, 0, 0);
    if (m->failed) return NULL;
    // Somebody else's turn.
    if (thread != m->thread->profile) ouro_clock_move(thread, m->thread->profile);
    return m->interpret(m);
}

// ---------------------------------------------------------------- instructions

bool fble_resolve_now(struct fble_machine *m, uint64_t *fp, const uint16_t *list, uint32_t count,
                      const uint64_t *place) {
    uint32_t vacuous;
    if (fble_resolve(m, fp, list, count, &vacuous)) return true;
    m->pc = place;
    m->fp = fp;
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
    if (a == FBLE_NO_FOREIGN) {
        const struct fble_foreign_use *use = (const struct fble_foreign_use *)(uintptr_t)c;
        fble_fail_here(m, "nobody has supplied the foreign value %s of %s", use->name, use->module);
    } else {
        fble_fail_here(m, "%s", texts[a]);
    }
    flush(m);
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

bool fble_compiled_load(struct fble_machine *m, const struct fble_compiled_module *module) {
    ouro_block first = OURO_PHANTOM;
    if (m->profile) first = ouro_add_blocks(m->profile, module->blocks, module->block_count);
    *module->first_block = first;
    if (module->ways) ouro_ways_add(m->thread->profile, module->ways);
    load_codes(m, module, first);
    for (uint32_t i = 0; i < module->foreign_count; i++) {
        ouro_block block = first ? first + module->foreign_labels[i] : OURO_PHANTOM;
        if (!fble_find_foreign(m, module->foreign + i, block)) return false;
    }
    fble_add_root(m, module->globals, module->global_count);
    return true;
}

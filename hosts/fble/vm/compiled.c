// SPDX-License-Identifier: MIT
//
// The slow side of compiled code: steps that are jumped to where something is not plain, and that
// jump on; entering and leaving the interpreter and natives; loading compiled modules. compiled.h
// explains steps. Here one version serves programs with and without a profile.
//
// A profile that is recorded step by step (machine->stepwise) needs more than a step of compiled
// code can do: its calls and returns come by here. Instructions are added up aside and charged
// before the position changes, together with the objects that have come since: those from
// machine->counted to hp.

#include "compiled.h"

// ---------------------------------------------------------------- profiles

static void charge(struct fble_machine *m, uint64_t n) {
    if (m->stepwise)
        *fble_pending(m) += n;
    else
        ouro_sample(m->recorder, n);
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
    ouro_count(m->recorder, m->metric_objects, objects);
    ouro_count(m->recorder, m->metric_bytes, bytes);
}

// Charges everything that belongs to where the thread stands.
static void flush(struct fble_machine *m) {
    if (!m->stepwise) return;
    uint64_t *pending = fble_pending(m), rest = *pending % m->period;
    if (*pending != rest) ouro_count(m->recorder, m->metric_instructions, *pending - rest);
    *pending = rest;
    count_objects(m);
}

static ouro_here *here_of(const struct fble_machine *m) { return ouro_thread_here(m->recorder); }

fble_value fble_here(struct fble_machine *m) {
    if (!m->profile) return 0;
    return fble_pointer(m->stepwise ? ouro_aside_here(&m->aside) : here_of(m));
}

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

// Records an event from where the thread stands, and moves it.
static void enter(struct fble_machine *m, ouro_site site, const void *key, ouro_block block) {
    ouro_here *here = ouro_site_enter(m->recorder, here_of(m), site, key, block);
    ouro_thread_stand(m->recorder, here);
}

static void replace(struct fble_machine *m, ouro_site site, const void *key, ouro_block block) {
    ouro_here *here = ouro_site_replace(m->recorder, here_of(m), site, key, block);
    ouro_thread_stand(m->recorder, here);
}

static const void *key_of(ouro_block block) { return (const void *)(uintptr_t)(block + 1); }

static void leave(struct fble_machine *m, ouro_here *caller) {
    ouro_here_leave(here_of(m));
    ouro_thread_stand(m->recorder, caller);
}

fble_value fble_block_enter(struct fble_machine *m, char *hp, ouro_site site, ouro_block block) {
    fble_value token = fble_pointer(here_of(m)) | 1;
    m->hp = hp;
    flush(m);
    enter(m, site, key_of(block), block);
    return token;
}

void fble_block_exit(struct fble_machine *m, char *hp, fble_value token) {
    m->hp = hp;
    flush(m);
    leave(m, (ouro_here *)(uintptr_t)(token - 1));
}

void fble_block_replace(struct fble_machine *m, char *hp, ouro_site site, ouro_block block) {
    m->hp = hp;
    flush(m);
    replace(m, site, key_of(block), block);
}

static fble_any_step enter_stepwise(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    m->hp = hp;
    flush(m);
    fp[FBLE_FP_TOKEN] = fble_pointer(here_of(m));
    enter(m, m->call_site, fble_call_key(m, fp, code), code->block);
    FBLE_JUMP(code->enter, fp, hp, a, b, c);
}

static fble_any_step replace_stepwise(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    m->hp = hp;
    flush(m);
    replace(m, m->call_site, fble_call_key(m, fp, code), code->block);
    FBLE_JUMP(code->enter, fp, hp, a, b, c);
}

// The last resort, with what `m->call_key` says.
static fble_any_step enter_by_search(FBLE_STEP_PARAMETERS) {
    if (m->stepwise) FBLE_JUMP(enter_stepwise, fp, hp, a, b, c);
    const struct fble_code *code = m->applied;
    ouro_here *here = (ouro_here *)(uintptr_t)c;
    here = ouro_site_search(m->recorder, here, m->call_site, m->call_key, code->block);
    fble_move(m, here);
    FBLE_JUMP(code->enter, fp, hp, a, b, fble_pointer(here));
}

static fble_any_step replace_by_search(FBLE_STEP_PARAMETERS) {
    if (m->stepwise) FBLE_JUMP(replace_stepwise, fp, hp, a, b, c);
    const struct fble_code *code = m->applied;
    ouro_here *here = (ouro_here *)(uintptr_t)c, *to;
    to = ouro_site_search(m->recorder, here, m->call_site, m->call_key, code->block);
    ouro_here_leave(here);
    fble_move(m, to);
    FBLE_JUMP(code->enter, fp, hp, a, b, fble_pointer(to));
}

// As the two above, of a function whose calls are slices.
static fble_any_step enter_slice(FBLE_STEP_PARAMETERS) {
    if (!m->stepwise) m->call_key = fble_call_key(m, fp, m->applied);
    fp[FBLE_FP_TOKEN] = c;
    FBLE_JUMP(enter_by_search, fp, hp, a, b, c);
}

static fble_any_step replace_slice(FBLE_STEP_PARAMETERS) {
    if (!m->stepwise) m->call_key = fble_call_key(m, fp, m->applied);
    FBLE_JUMP(replace_by_search, fp, hp, a, b, c);
}

// Enters m->applied by what is remembered of the key. These steps call nothing, so that they need
// no stack frame.
#define GO_BY_KEY(key, before, event, search, slice)                                 \
    do {                                                                             \
        if (fble_is_sliced(m, m->applied->block)) FBLE_JUMP(slice, fp, hp, a, b, c); \
        ouro_here *here_ = (ouro_here *)(uintptr_t)c;                                \
        ouro_here *to_ = ouro_site_recall(m->recorder, here_, key);                  \
        before;                                                                      \
        if (!to_) {                                                                  \
            m->call_key = (key);                                                     \
            FBLE_JUMP(search, fp, hp, a, b, c);                                      \
        }                                                                            \
        event;                                                                       \
        fble_move(m, to_);                                                           \
        FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_pointer(to_));               \
    } while (0)
#define ENTER_BY_KEY(key) \
    GO_BY_KEY(key, fp[FBLE_FP_TOKEN] = c, (void)0, enter_by_search, enter_slice)
#define REPLACE_BY_KEY(key) \
    GO_BY_KEY(key, (void)0, ouro_here_leave(here_), replace_by_search, replace_slice)

fble_any_step fble_enter_slowly(FBLE_STEP_PARAMETERS) { ENTER_BY_KEY(m->applied); }
fble_any_step fble_replace_slowly(FBLE_STEP_PARAMETERS) { REPLACE_BY_KEY(m->applied); }

fble_any_step fble_return_slowly(FBLE_STEP_PARAMETERS) {
    m->hp = hp;
    flush(m);
    if (m->profile) leave(m, fble_caller_here(fp));
    FBLE_JUMP_BACK(a, fble_here(m));
    (void)b, (void)c;
}

// ---------------------------------------------------------------- memory

fble_any_step fble_more_stack(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    m->fp = fp;
    m->hp = hp;
    fble_stand(m, c);
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
              m->profile ? fble_here(m) : first[2]);
}

// ---------------------------------------------------------------- calls that are not plain

static void record(struct fble_machine *m, uint64_t *frame) {
    if (fble_is_sliced(m, m->applied->block)) fble_slice_call(m, frame);
    if (m->entering == FBLE_BY_CALL) {
        frame[FBLE_FP_TOKEN] = fble_pointer(here_of(m));
        ouro_enter(m->recorder, m->applied->block);
    } else {
        ouro_replace(m->recorder, m->applied->block);
    }
}

// Applies m->argument_count arguments in the frame at fp, by a: call or tail call.
static fble_any_step apply(FBLE_STEP_PARAMETERS) {
    m->fp = fp;
    m->hp = hp;
    fble_stand(m, c);
    flush(m);
    if (fble_apply_args(m, (enum fble_entering)a)) {
        fp = m->fp;
        if (m->profile) record(m, fp);
        FBLE_JUMP(m->applied->enter, fp, m->hp, fp[FBLE_FP_ARGS], fp[FBLE_FP_ARGS + 1],
                  third(m, fp));
    }
    if (m->failed) return NULL;
    fp = m->fp;
    hp = m->hp;
    b = m->value;
    m->value = 0;
    if (m->entering == FBLE_BY_TAIL) FBLE_JUMP(fble_return_slowly, fp, hp, b, 0, 0);
    FBLE_JUMP_BACK(b, fble_here(m));
}

// A code is also the key of plain calls, which take from it that the number of arguments is right.
// So calls that are not plain have another one.
static const void *other_key(const struct fble_code *code) { return (const char *)code + 1; }

static fble_any_step enter_otherwise(FBLE_STEP_PARAMETERS) { ENTER_BY_KEY(other_key(m->applied)); }
static fble_any_step replace_otherwise(FBLE_STEP_PARAMETERS) {
    REPLACE_BY_KEY(other_key(m->applied));
}

// Enters m->applied, whose arguments are in the frame.
static fble_any_step enter_applied(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    const ouro_here *here = (const ouro_here *)(uintptr_t)c;
    a = fp[FBLE_FP_ARGS];
    b = fp[FBLE_FP_ARGS + 1];
    if (!m->profile) FBLE_JUMP(code->enter, fp, hp, a, b, fp[FBLE_FP_ARGS + 2]);
    if (!ouro_site_knows(here, m->call_site, other_key(code)))
        FBLE_JUMP(enter_otherwise, fp, hp, a, b, c);
    fp[FBLE_FP_TOKEN] = c;
    ouro_here *to = ouro_site_follow(here, m->call_site);
    fble_move(m, to);
    FBLE_JUMP(code->enter, fp, hp, a, b, fble_pointer(to));
}

static fble_any_step replace_applied(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = m->applied;
    const ouro_here *here = (const ouro_here *)(uintptr_t)c;
    a = fp[FBLE_FP_ARGS];
    b = fp[FBLE_FP_ARGS + 1];
    if (!m->profile) FBLE_JUMP(code->enter, fp, hp, a, b, fp[FBLE_FP_ARGS + 2]);
    if (!ouro_site_knows(here, m->call_site, other_key(code)))
        FBLE_JUMP(replace_otherwise, fp, hp, a, b, c);
    ouro_here_leave(here);
    ouro_here *to = ouro_site_follow(here, m->call_site);
    fble_move(m, to);
    FBLE_JUMP(code->enter, fp, hp, a, b, fble_pointer(to));
}

// A partial application that gets all that its function still wants: puts the arguments together.
// False: it is something else, or there is too little room.
static inline bool unfold(struct fble_machine *m, uint64_t *fp) {
    const struct fble_object *partial = fble_object(fp[FBLE_FP_SELF]);
    if (fble_kind(partial->header) != FBLE_PARTIAL) return false;
    uint32_t more = fble_count(partial->header) - 1, n = m->argument_count;
    fble_value function = partial->words[0];
    if (FBLE_SHAPE_OF(function) != FBLE_SHAPE(FBLE_CLOSURE, n + more)) return false;
    m->applied = FBLE_CODE_OF(function);
    if (fp + m->applied->frame_slots > m->stack_limit) return false;
    for (uint32_t i = n; i-- > 0;) fp[FBLE_FP_ARGS + more + i] = fp[FBLE_FP_ARGS + i];
    for (uint32_t i = 0; i < more; i++) fp[FBLE_FP_ARGS + i] = partial->words[1 + i];
    fp[FBLE_FP_SELF] = function;
    return true;
}

// A function of up to three arguments that gets more: leaves the rest in the frame, as apply.c
// says, and gives the frame above it, for the function. NULL as above.
static inline uint64_t *leave_rest(struct fble_machine *m, uint64_t *fp, enum fble_entering how) {
    fble_value function = fp[FBLE_FP_SELF];
    uint32_t arity = fble_tag(fble_object(function)->header), rest = m->argument_count - arity;
    if (fble_kind(fble_object(function)->header) != FBLE_CLOSURE) return NULL;
    if (arity > 3 || arity >= m->argument_count) return NULL;
    uint64_t *callee = fp + FBLE_FP_ARGS + 1 + rest;
    m->applied = FBLE_CODE_OF(function);
    if (callee + m->applied->frame_slots > m->stack_limit) return NULL;
    fble_value x = fp[FBLE_FP_ARGS], y = fp[FBLE_FP_ARGS + 1], z = fp[FBLE_FP_ARGS + 2];
    fp[FBLE_FP_ARGS] = (fble_value)rest << 1 | 1;
    for (uint32_t i = 0; i < rest; i++) fp[FBLE_FP_ARGS + 1 + i] = fp[FBLE_FP_ARGS + arity + i];
    callee[FBLE_FP_RETURN] = fble_pointer(fble_rests[how] + FBLE_REST_PC);
    callee[FBLE_FP_CALLER] = fble_pointer(fp);
    callee[FBLE_FP_SELF] = function;
    FBLE_SPILL(callee, 3, x, y, z);
    return callee;
}

// The arguments of a function that wants more. 0 as above.
static inline fble_value partial(const struct fble_machine *m, const uint64_t *fp, char *hp) {
    const struct fble_object *function = fble_object(fp[FBLE_FP_SELF]);
    uint32_t n = m->argument_count;
    if (fble_kind(function->header) != FBLE_CLOSURE || fble_tag(function->header) <= n) return 0;
    if (FBLE_FULL(fble_bytes_of_words(n + 1))) return 0;
    struct fble_object *made = (struct fble_object *)(void *)hp;
    made->header = FBLE_HEADER(FBLE_PARTIAL, 0, n + 1);
    made->words[0] = fble_pointer(function);
    for (uint32_t i = 0; i < n; i++) made->words[1 + i] = fp[FBLE_FP_ARGS + i];
    return fble_pointer(made);
}

// The three ways that are not plain and yet common, then all the others.
fble_any_step fble_call_slowly(FBLE_STEP_PARAMETERS) {
    m->argument_count = (uint16_t)a;
    m->call_site = (ouro_site)(a >> 16);
    if (unfold(m, fp)) FBLE_JUMP(enter_applied, fp, hp, a, b, c);
    uint64_t *callee = leave_rest(m, fp, FBLE_BY_CALL);
    if (callee) FBLE_JUMP(enter_applied, callee, hp, a, b, c);
    a = partial(m, fp, hp);
    if (!a) FBLE_JUMP(apply, fp, hp, FBLE_BY_CALL, b, c);
    hp += fble_object_bytes(fble_object(a)->header);
    FBLE_JUMP_BACK(a, c);
}

fble_any_step fble_tail_slowly(FBLE_STEP_PARAMETERS) {
    m->argument_count = (uint16_t)a;
    m->call_site = (ouro_site)(a >> 16);
    if (unfold(m, fp)) FBLE_JUMP(replace_applied, fp, hp, a, b, c);
    uint64_t *callee = leave_rest(m, fp, FBLE_BY_TAIL);
    if (callee) FBLE_JUMP(enter_applied, callee, hp, a, b, c);
    a = m->stepwise ? 0 : partial(m, fp, hp);
    m->pc = (const uint64_t *)(uintptr_t)b;
    if (!a) FBLE_JUMP(apply, fp, hp, FBLE_BY_TAIL, b, c);
    hp += fble_object_bytes(fble_object(a)->header);
    if (m->profile) {
        ouro_here_leave((const ouro_here *)(uintptr_t)c);
        c = fp[FBLE_FP_TOKEN];
        fble_move(m, fble_caller_here(fp));
    }
    FBLE_JUMP_BACK(a, c);
}

// A function was returned to a frame where the rest of its arguments waits: see apply.c.
static inline void take_rest(struct fble_machine *m, uint64_t *fp, fble_value function,
                             fble_value pc) {
    m->pc = (const uint64_t *)(uintptr_t)pc;
    m->argument_count = (uint32_t)(fp[FBLE_FP_ARGS] >> 1);
    for (uint32_t i = 0; i < m->argument_count; i++)
        fp[FBLE_FP_ARGS + i] = fp[FBLE_FP_ARGS + 1 + i];
    fp[FBLE_FP_SELF] = function;
}

// True if it is a function, or a partial application, that wants just these, and there is room. No
// site of the block is meant: the number must not be asked for what it knows.
static inline bool is_plain(struct fble_machine *m, uint64_t *fp) {
    fble_value function = fp[FBLE_FP_SELF];
    if (m->stepwise) return false;
    m->call_site = OURO_SITES_MOST - 1;
    if (unfold(m, fp)) return true;
    if (FBLE_SHAPE_OF(function) != FBLE_SHAPE(FBLE_CLOSURE, m->argument_count)) return false;
    m->applied = FBLE_CODE_OF(function);
    return fp + m->applied->frame_slots <= m->stack_limit;
}

fble_any_step fble_rest_enter(FBLE_STEP_PARAMETERS) {
    fp = FBLE_CALLER_OF(fp);
    take_rest(m, fp, a, b);
    if (!is_plain(m, fp)) FBLE_JUMP(apply, fp, hp, FBLE_BY_CALL, b, c);
    a = fp[FBLE_FP_ARGS];
    b = fp[FBLE_FP_ARGS + 1];
    if (!m->profile) FBLE_JUMP(m->applied->enter, fp, hp, a, b, fp[FBLE_FP_ARGS + 2]);
    FBLE_JUMP(enter_otherwise, fp, hp, a, b, c);
}

fble_any_step fble_rest_tail(FBLE_STEP_PARAMETERS) {
    fp = FBLE_CALLER_OF(fp);
    take_rest(m, fp, a, b);
    if (!is_plain(m, fp)) FBLE_JUMP(apply, fp, hp, FBLE_BY_TAIL, b, c);
    a = fp[FBLE_FP_ARGS];
    b = fp[FBLE_FP_ARGS + 1];
    if (!m->profile) FBLE_JUMP(m->applied->enter, fp, hp, a, b, fp[FBLE_FP_ARGS + 2]);
    FBLE_JUMP(replace_otherwise, fp, hp, a, b, c);
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
    fp[fble_return_slot(pc)] = a;
    fble_stand(m, c);
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
    fble_stand(m, c);
    return go_on_interpreted(m, fp, hp, code->start, code->charge);
}

fble_any_step fble_enter_native(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = code_of(fp);
    FBLE_NEED_STACK(code, code->frame_slots);
    spill(m, fp, code, a, b, c);
    fble_stand(m, c);
    m->fp = fp;
    m->hp = hp;
    m->pc = code->start;
    m->site = (const struct fble_site *)(uintptr_t)code->start[2];
    if (m->profile) {
        charge(m, code->charge);
        flush(m);
    }
    ouro_thread *recorder = m->recorder;
    a = ((fble_native *)(uintptr_t)code->start[1])(m, fp + FBLE_FP_ARGS);
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
    if (m->profile && !first) fble_no_memory();
    if (first) ouro_add_sites(m->profile, first, module->call_sites, module->block_count);
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

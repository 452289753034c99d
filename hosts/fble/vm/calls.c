// SPDX-License-Identifier: MIT
//
// Calls of compiled code whose site does not know them, and those that are not plain: of partial
// applications, and with too few or too many arguments. One version serves programs with and
// without a profile.
//
// Charges. What the caller has run is in machine->call_charge. Whoever follows the call site has
// charged that, and has left the caller if the site says so (ouro_site_leaves). Every other end
// charges it to where the thread stands, before the position changes, and leaves as it is.
//
// A profile that is recorded step by step (machine->stepwise) needs more than a step of compiled
// code can do: its calls and returns come by here. Instructions are added up aside and charged
// before the position changes, together with the objects that have come since: those from
// machine->counted to hp.

#include "compiled.h"

// A step that is not to be put into the one that jumps to it: that one would need a stack frame.
#define STEP static __attribute__((noinline)) fble_any_step

// ---------------------------------------------------------------- profiles

void fble_charge(struct fble_machine *m, uint64_t n) {
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
void fble_flush(struct fble_machine *m) {
    if (!m->stepwise) return;
    uint64_t *pending = fble_pending(m), rest = *pending % m->period;
    if (*pending != rest) ouro_count(m->recorder, m->metric_instructions, *pending - rest);
    *pending = rest;
    count_objects(m);
}

static ouro_here *here_of(const struct fble_machine *m) { return ouro_thread_here(m->recorder); }

fble_value fble_here(struct fble_machine *m) {
    if (!m->profile) return 0;
    return fble_pointer(m->stepwise ? ouro_aside_here(&m->aside, m->recorder) : here_of(m));
}

// `c` of a step that is entered.
fble_value fble_third(struct fble_machine *m, const uint64_t *fp) {
    return m->profile ? fble_here(m) : fp[FBLE_FP_ARGS + 2];
}

// Records an event from where the thread stands, and moves it.
static void enter(struct fble_machine *m, ouro_site site, ouro_block block) {
    ouro_here *here = ouro_site_enter(m->recorder, here_of(m), site, block);
    ouro_thread_stand(m->recorder, here);
}

static void replace(struct fble_machine *m, ouro_site site, ouro_block block) {
    ouro_here *here = ouro_site_replace(m->recorder, here_of(m), site, block);
    ouro_thread_stand(m->recorder, here);
}

static void leave(struct fble_machine *m, ouro_here *caller) {
    ouro_here_leave(here_of(m));
    ouro_thread_stand(m->recorder, caller);
}

fble_value fble_block_enter(struct fble_machine *m, char *hp, ouro_site site, ouro_block block) {
    fble_settle(m);
    fble_value token = fble_pointer(here_of(m)) | 1;
    m->hp = hp;
    fble_flush(m);
    enter(m, site, block);
    return token;
}

void fble_block_exit(struct fble_machine *m, char *hp, fble_value token) {
    fble_settle(m);
    m->hp = hp;
    fble_flush(m);
    leave(m, (ouro_here *)(uintptr_t)(token - 1));
}

void fble_block_replace(struct fble_machine *m, char *hp, ouro_site site, ouro_block block) {
    fble_settle(m);
    m->hp = hp;
    fble_flush(m);
    replace(m, site, block);
}

// Not by the call site, which would charge again what fble_flush has charged.
static void record(struct fble_machine *m, uint64_t *frame, enum fble_entering how) {
    if (fble_is_sliced(m, m->applied->block)) fble_slice_call(m, frame);
    if (how == FBLE_BY_CALL) {
        fble_keep_here(frame, fble_pointer(here_of(m)));
        ouro_enter(m->recorder, m->applied->block);
    } else {
        ouro_replace(m->recorder, m->applied->block);
    }
}

STEP enter_stepwise(FBLE_STEP_PARAMETERS) {
    fble_settle(m);
    m->hp = hp;
    fble_flush(m);
    record(m, fp, FBLE_BY_CALL);
    FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_here(m));
    (void)c;
}

STEP replace_stepwise(FBLE_STEP_PARAMETERS) {
    fble_settle(m);
    m->hp = hp;
    fble_flush(m);
    record(m, fp, FBLE_BY_TAIL);
    FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_here(m));
    (void)c;
}

// Charges what the caller has run, for a call that does not follow its site.
static inline void charge_call(const struct fble_machine *m, fble_value c) {
    ouro_here_sample((const ouro_here *)(uintptr_t)c, m->call_charge);
}

// The last resort, with what m->call_key says. If calls of the function are slices, no site may
// know it.
static ouro_here *search(struct fble_machine *m, uint64_t *fp, fble_value c) {
    const struct fble_code *code = m->applied;
    ouro_site site = m->call_site;
    if (fble_is_sliced(m, code->block)) {
        m->call_key = fble_call_key(m, fp, code);
        site = OURO_SITES_MOST;
    }
    return ouro_site_search(m->recorder, (ouro_here *)(uintptr_t)c, site, m->call_key, code->block);
}

STEP enter_by_search(FBLE_STEP_PARAMETERS) {
    if (m->stepwise) FBLE_JUMP(enter_stepwise, fp, hp, a, b, c);
    ouro_here *to = search(m, fp, c);
    fble_move(m, to);
    FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_pointer(to));
}

STEP replace_by_search(FBLE_STEP_PARAMETERS) {
    if (m->stepwise) FBLE_JUMP(replace_stepwise, fp, hp, a, b, c);
    ouro_here *to = search(m, fp, c);
    ouro_here_leave((const ouro_here *)(uintptr_t)c);
    fble_move(m, to);
    FBLE_JUMP(m->applied->enter, fp, hp, a, b, fble_pointer(to));
}

// Enters m->applied by what is remembered of the key. The site does not know it.
#define RECALL(event, search)                                               \
    do {                                                                    \
        const struct fble_code *const code_ = m->applied;                   \
        ouro_here *here_ = (ouro_here *)(uintptr_t)c;                       \
        charge_call(m, c);                                                  \
        ouro_here *to_ = ouro_site_recall(m->recorder, here_, m->call_key); \
        if (!to_) FBLE_JUMP(search, fp, hp, a, b, c);                       \
        fble_step *const step_ = code_->enter;                              \
        event;                                                              \
        fble_move(m, to_);                                                  \
        FBLE_JUMP(step_, fp, hp, a, b, fble_pointer(to_));                  \
    } while (0)

STEP enter_by_recall(FBLE_STEP_PARAMETERS) { RECALL((void)0, enter_by_search); }
STEP replace_by_recall(FBLE_STEP_PARAMETERS) { RECALL(ouro_here_leave(here_), replace_by_search); }

#define STANDS ((const ouro_here *)(uintptr_t)c)

// The same, but by what ouro_site_find gave, unless that is nothing.
#define GO_BY(found, key, event, step, recall)             \
    do {                                                   \
        if (FBLE_RARELY(!(found))) {                       \
            m->call_key = (key);                           \
            FBLE_JUMP(recall, fp, hp, a, b, c);            \
        }                                                  \
        event;                                             \
        ouro_here *const to_ = ouro_site_follow(found, 0); \
        fble_move(m, to_);                                 \
        FBLE_JUMP(step, fp, hp, a, b, fble_pointer(to_));  \
    } while (0)
#define GO_BY_TABLE(recall)                                                                    \
    do {                                                                                       \
        const struct fble_code *const code_ = m->applied;                                      \
        const ouro_here *const found_ = ouro_site_find(STANDS, m->call_site, fble_key(code_)); \
        GO_BY(found_, fble_key(code_), (void)0, code_->enter, recall);                         \
    } while (0)

fble_any_step fble_enter_slowly(FBLE_STEP_PARAMETERS) { GO_BY_TABLE(enter_by_recall); }
fble_any_step fble_replace_slowly(FBLE_STEP_PARAMETERS) { GO_BY_TABLE(replace_by_recall); }

// Goes back to the caller of a frame, which finds where it stands in its own.
STEP go_back(FBLE_STEP_PARAMETERS) {
    if (m->profile) fble_keep_here(fp, fble_here(m));
    FBLE_JUMP_BACK(a);
    (void)b, (void)c;
}

fble_any_step fble_return_slowly(FBLE_STEP_PARAMETERS) {
    fble_settle(m);
    m->hp = hp;
    fble_flush(m);
    if (m->profile) leave(m, fble_caller_here(fp));
    FBLE_JUMP(go_back, fp, hp, a, b, c);
}

// `c` of a step that goes on in a frame which a callee has returned to.
static inline fble_value here_again(struct fble_machine *m, const uint64_t *fp, fble_value c) {
    if (!m->profile) return c;
    fble_move(m, (ouro_here *)(uintptr_t)fp[FBLE_FP_HERE]);
    return fp[FBLE_FP_HERE];
}

// ---------------------------------------------------------------- calls that are not plain

// Applies m->argument_count arguments in the frame at fp, by a: call or tail call.
STEP apply(FBLE_STEP_PARAMETERS) {
    m->fp = fp;
    m->hp = hp;
    if (m->profile) charge_call(m, c);
    fble_settle(m);
    fble_flush(m);
    if (fble_apply_args(m, (enum fble_entering)a)) {
        fp = m->fp;
        if (m->profile) record(m, fp, m->entering);
        FBLE_JUMP(m->applied->enter, fp, m->hp, fp[FBLE_FP_ARGS], fp[FBLE_FP_ARGS + 1],
                  fble_third(m, fp));
    }
    if (m->failed) return NULL;
    fp = m->fp;
    hp = m->hp;
    b = m->value;
    m->value = 0;
    if (m->entering == FBLE_BY_TAIL) FBLE_JUMP(fble_return_slowly, fp, hp, b, 0, 0);
    FBLE_JUMP(go_back, fp, hp, b, 0, 0);
}

// What follows is for up to three arguments: a, b, and what is in the frame. How many there are is
// often not asked: a slot too many does no harm, because the stack has a reserve.
enum { FEW = 3 };

static inline fble_value third_of(const uint64_t *fp) { return fp[FBLE_FP_ARGS + 2]; }

static inline void put_down(uint64_t *fp, fble_value x, fble_value y, fble_value z) {
    fp[FBLE_FP_ARGS] = x;
    fp[FBLE_FP_ARGS + 1] = y;
    fp[FBLE_FP_ARGS + 2] = z;
}

STEP apply_call(FBLE_STEP_PARAMETERS) {
    put_down(fp, a, b, third_of(fp));
    FBLE_JUMP(apply, fp, hp, FBLE_BY_CALL, b, c);
}

STEP apply_tail(FBLE_STEP_PARAMETERS) {
    put_down(fp, a, b, third_of(fp));
    FBLE_JUMP(apply, fp, hp, FBLE_BY_TAIL, b, c);
}

// A code is also the key of plain calls, which take from it that the number of arguments is right.
// So calls that are not plain have another one.
static ouro_key other_key(const struct fble_code *code) { return fble_key(code) + 1; }

// A block is left or not, whatever its site says: a tail call with too many arguments leaves it
// open. Sites of tail calls leave it, but some of them are not in compiled code.
static inline void stay(const ouro_here *here, const ouro_here *found) {
    if (FBLE_RARELY(ouro_site_leaves(found, 0))) ouro_here_stay(here);
}
static inline void go(const ouro_here *here, const ouro_here *found) {
    if (!ouro_site_leaves(found, 0)) ouro_here_leave(here);
}

// Enters m->applied, whose third argument and those after it are in the frame. It is loaded again
// at the end, so that no register must be saved.
#define GO_OTHERWISE(event, recall)                                                   \
    do {                                                                              \
        const struct fble_code *const code_ = m->applied;                             \
        if (!m->profile) FBLE_JUMP(code_->enter, fp, hp, a, b, fp[FBLE_FP_ARGS + 2]); \
        const ouro_key key_ = other_key(code_);                                       \
        const ouro_here *const found_ = ouro_site_try(STANDS, m->call_site, key_);    \
        GO_BY(found_, key_, event(STANDS, found_), m->applied->enter, recall);        \
    } while (0)

STEP enter_applied(FBLE_STEP_PARAMETERS) { GO_OTHERWISE(stay, enter_by_recall); }
STEP replace_applied(FBLE_STEP_PARAMETERS) { GO_OTHERWISE(go, replace_by_recall); }

static inline bool has_room(struct fble_machine *m, const uint64_t *frame, fble_value function) {
    m->applied = FBLE_CODE_OF(function);
    return FBLE_LIKELY(frame + m->applied->frame_slots <= m->stack_limit);
}

// A partial application that holds some arguments and gets all that its function still wants: its
// own come first. False: it is something else, or there is too little room.
static inline bool unfold(struct fble_machine *m, uint64_t *fp, uint32_t held, fble_value x,
                          fble_value y) {
    const struct fble_object *partial = fble_object(fp[FBLE_FP_SELF]);
    fble_value function = partial->words[0];
    if (!FBLE_IS_FUNCTION(function, m->argument_count + held) || !has_room(m, fp, function))
        return false;
    fp[FBLE_FP_SELF] = function;
    put_down(fp + held, x, y, third_of(fp));
    for (uint32_t i = 2; i < held; i++) fp[FBLE_FP_ARGS + i] = partial->words[1 + i];
    return true;
}

static inline uint32_t held_by(fble_value partial) {
    return fble_count(fble_object(partial)->header) - 1;
}

// Most hold one argument or two, and have steps of their own.
#define UNFOLD(held, second, enter, otherwise)                                              \
    do {                                                                                    \
        fble_value partial_ = fp[FBLE_FP_SELF];                                             \
        if (FBLE_RARELY(!unfold(m, fp, held, a, b))) FBLE_JUMP(otherwise, fp, hp, a, b, c); \
        FBLE_JUMP(enter, fp, hp, FBLE_WORD(partial_, 1), second, c);                        \
    } while (0)
#define UNFOLD_TWO(held, enter, otherwise) UNFOLD(held, FBLE_WORD(partial_, 2), enter, otherwise)

STEP unfold_many_call(FBLE_STEP_PARAMETERS) {
    UNFOLD_TWO(held_by(partial_), enter_applied, apply_call);
}
STEP unfold_many_tail(FBLE_STEP_PARAMETERS) {
    UNFOLD_TWO(held_by(partial_), replace_applied, apply_tail);
}
STEP unfold_two_call(FBLE_STEP_PARAMETERS) { UNFOLD_TWO(2, enter_applied, apply_call); }
STEP unfold_two_tail(FBLE_STEP_PARAMETERS) { UNFOLD_TWO(2, replace_applied, apply_tail); }

STEP unfold_call(FBLE_STEP_PARAMETERS) {
    uint32_t held = held_by(fp[FBLE_FP_SELF]);
    if (held == 2) FBLE_JUMP(unfold_two_call, fp, hp, a, b, c);
    if (held > 2) FBLE_JUMP(unfold_many_call, fp, hp, a, b, c);
    UNFOLD(1, a, enter_applied, apply_call);
}

STEP unfold_tail(FBLE_STEP_PARAMETERS) {
    uint32_t held = held_by(fp[FBLE_FP_SELF]);
    if (held == 2) FBLE_JUMP(unfold_two_tail, fp, hp, a, b, c);
    if (held > 2) FBLE_JUMP(unfold_many_tail, fp, hp, a, b, c);
    UNFOLD(1, a, replace_applied, apply_tail);
}

// A function that gets more arguments than it takes, one or two: leaves the rest in the frame, as
// apply.c says, and gives the frame above it, for the function. NULL as above.
static inline uint64_t *leave_rest(struct fble_machine *m, uint64_t *fp, fble_value y,
                                   fble_value here) {
    fble_value function = fp[FBLE_FP_SELF];
    uint32_t arity = fble_tag(fble_object(function)->header), rest = m->argument_count - arity;
    uint64_t *callee = fp + FBLE_FP_ARGS + 1 + rest;
    if (!arity || !has_room(m, callee, function)) return NULL;
    fp[FBLE_FP_HERE] = here;
    fp[FBLE_FP_ARGS] = (fble_value)rest << 1 | 1;
    fp[FBLE_FP_ARGS + 1] = arity == 1 ? y : third_of(fp);
    callee[FBLE_FP_CALLER] = fble_pointer(fp);
    callee[FBLE_FP_SELF] = function;
    return callee;
}

static inline fble_value rest_pc(enum fble_entering how) {
    return fble_pointer(fble_rests[how] + FBLE_REST_PC);
}

STEP leave_rest_call(FBLE_STEP_PARAMETERS) {
    uint64_t *callee = leave_rest(m, fp, b, c);
    if (FBLE_RARELY(!callee)) FBLE_JUMP(apply_call, fp, hp, a, b, c);
    callee[FBLE_FP_RETURN] = rest_pc(FBLE_BY_CALL);
    FBLE_JUMP(enter_applied, callee, hp, a, b, c);
}

STEP leave_rest_tail(FBLE_STEP_PARAMETERS) {
    uint64_t *callee = leave_rest(m, fp, b, c);
    if (FBLE_RARELY(!callee)) FBLE_JUMP(apply_tail, fp, hp, a, b, c);
    callee[FBLE_FP_RETURN] = rest_pc(FBLE_BY_TAIL);
    FBLE_JUMP(enter_applied, callee, hp, a, b, c);
}

// A function that wants more than it gets, with what it has got. Room for it is there.
static inline char *make_partial(const struct fble_machine *m, char *hp, fble_value function,
                                 fble_value x, fble_value y, fble_value z) {
    struct fble_object *made = (struct fble_object *)(void *)hp;
    uint32_t n = m->argument_count;
    made->header = FBLE_HEADER(FBLE_PARTIAL, 0, n + 1);
    made->words[0] = function;
    made->words[1] = x;
    made->words[2] = y;
    made->words[3] = z;
    return hp + fble_bytes_of_words(n + 1);
}

STEP partial_call(FBLE_STEP_PARAMETERS) {
    fble_value made = fble_pointer(hp);
    if (FBLE_FULL(fble_bytes_of_words(FEW + 1))) FBLE_JUMP(apply_call, fp, hp, a, b, c);
    if (m->profile) charge_call(m, c);
    hp = make_partial(m, hp, fp[FBLE_FP_SELF], a, b, third_of(fp));
    FBLE_JUMP_BACK(made);
}

STEP partial_tail(FBLE_STEP_PARAMETERS) {
    fble_value made = fble_pointer(hp);
    if (m->stepwise || FBLE_FULL(fble_bytes_of_words(FEW + 1)))
        FBLE_JUMP(apply_tail, fp, hp, a, b, c);
    hp = make_partial(m, hp, fp[FBLE_FP_SELF], a, b, third_of(fp));
    if (m->profile) ouro_here_leave_after(STANDS, m->call_charge);
    FBLE_JUMP_BACK(made);
}

// True if all that is missing waits. These arguments stay where they are, or there are one or two.
static inline bool waits(struct fble_machine *m, const uint64_t *waiting, fble_value function) {
    uint32_t rest = (uint32_t)(waiting[FBLE_FP_ARGS] >> 1), n = m->argument_count;
    return (n == 1 || rest <= 2) && FBLE_IS_FUNCTION(function, n + rest) &&
           has_room(m, waiting, function);
}

// A tail call with too few arguments, in a frame that returns to where others wait: the function is
// entered there. Otherwise a partial application would be made, and used up at once. All that is
// read of the frame is read first, because the one below grows into it.
STEP take_waiting(FBLE_STEP_PARAMETERS) {
    uint64_t *waiting = FBLE_CALLER_OF(fp);
    fble_value function = fp[FBLE_FP_SELF], z = third_of(fp), pc = fp[FBLE_FP_RETURN];
    if (m->stepwise || !waits(m, waiting, function)) FBLE_JUMP(apply_tail, fp, hp, a, b, c);
    if (m->profile) {
        ouro_here_leave_after(STANDS, m->call_charge);
        c = waiting[FBLE_FP_HERE];
    }
    m->pc = (const uint64_t *)(uintptr_t)pc;
    m->call_site = FBLE_REST_SITE;
    m->call_charge = 0;
    waiting[FBLE_FP_SELF] = function;
    fble_value next = waiting[FBLE_FP_ARGS + 1], last = waiting[FBLE_FP_ARGS + 2];
    if (m->argument_count == 1) {
        b = next;
    } else {
        waiting[FBLE_FP_ARGS + 2] = z;
        waiting[FBLE_FP_ARGS + m->argument_count] = next;
        waiting[FBLE_FP_ARGS + m->argument_count + 1] = last;
    }
    if (pc == rest_pc(FBLE_BY_TAIL)) FBLE_JUMP(replace_applied, waiting, hp, a, b, c);
    FBLE_JUMP(enter_applied, waiting, hp, a, b, c);
}

// The ways that are not plain and yet common, then all the others.
fble_any_step fble_call_slowly(FBLE_STEP_PARAMETERS) {
    uint64_t header = fble_object(fp[FBLE_FP_SELF])->header;
    uint32_t n = m->argument_count;
    if (n > FEW) FBLE_JUMP(apply_call, fp, hp, a, b, c);
    if (fble_kind(header) == FBLE_PARTIAL) FBLE_JUMP(unfold_call, fp, hp, a, b, c);
    if (fble_kind(header) != FBLE_CLOSURE || fble_tag(header) == n)
        FBLE_JUMP(apply_call, fp, hp, a, b, c);
    if (fble_tag(header) > n) FBLE_JUMP(partial_call, fp, hp, a, b, c);
    FBLE_JUMP(leave_rest_call, fp, hp, a, b, c);
}

fble_any_step fble_tail_slowly(FBLE_STEP_PARAMETERS) {
    uint64_t header = fble_object(fp[FBLE_FP_SELF])->header;
    uint32_t n = m->argument_count;
    if (n > FEW) FBLE_JUMP(apply_tail, fp, hp, a, b, c);
    if (fble_kind(header) == FBLE_PARTIAL) FBLE_JUMP(unfold_tail, fp, hp, a, b, c);
    if (fble_kind(header) != FBLE_CLOSURE || fble_tag(header) == n)
        FBLE_JUMP(apply_tail, fp, hp, a, b, c);
    if (fble_tag(header) < n) FBLE_JUMP(leave_rest_tail, fp, hp, a, b, c);
    if (fp[FBLE_FP_RETURN] == rest_pc(FBLE_BY_TAIL) || fp[FBLE_FP_RETURN] == rest_pc(FBLE_BY_CALL))
        FBLE_JUMP(take_waiting, fp, hp, a, b, c);
    FBLE_JUMP(partial_tail, fp, hp, a, b, c);
}

// A function was returned to a frame where the rest of its arguments waits: see apply.c. These are
// more than a few.
static void take_rest(struct fble_machine *m, uint64_t *fp) {
    for (uint32_t i = 0; i < m->argument_count; i++)
        fp[FBLE_FP_ARGS + i] = fp[FBLE_FP_ARGS + 1 + i];
}

STEP rest_enter_many(FBLE_STEP_PARAMETERS) {
    take_rest(m, fp);
    FBLE_JUMP(apply, fp, hp, FBLE_BY_CALL, b, c);
    (void)a;
}

STEP rest_tail_many(FBLE_STEP_PARAMETERS) {
    take_rest(m, fp);
    FBLE_JUMP(apply, fp, hp, FBLE_BY_TAIL, b, c);
    (void)a;
}

// The frame at fp, the function in it, and how many arguments there are.
static inline uint32_t find_rest(struct fble_machine *m, uint64_t *fp, fble_value function,
                                 fble_value pc) {
    m->pc = (const uint64_t *)(uintptr_t)pc;
    m->call_site = FBLE_REST_SITE;
    m->call_charge = 0;
    fp[FBLE_FP_SELF] = function;
    return m->argument_count = (uint32_t)(fp[FBLE_FP_ARGS] >> 1);
}

// True if the function wants just these, and there is room.
static inline bool is_plain(struct fble_machine *m, const uint64_t *fp, uint32_t n) {
    fble_value function = fp[FBLE_FP_SELF];
    return !m->stepwise && FBLE_IS_FUNCTION(function, n) && has_room(m, fp, function);
}

fble_any_step fble_rest_enter(FBLE_STEP_PARAMETERS) {
    fp = FBLE_CALLER_OF(fp);
    c = here_again(m, fp, c);
    uint32_t n = find_rest(m, fp, a, b);
    if (n > FEW) FBLE_JUMP(rest_enter_many, fp, hp, a, b, c);
    a = fp[FBLE_FP_ARGS + 1];
    b = fp[FBLE_FP_ARGS + 2];
    fp[FBLE_FP_ARGS + 2] = fp[FBLE_FP_ARGS + 3];
    if (is_plain(m, fp, n)) FBLE_JUMP(enter_applied, fp, hp, a, b, c);
    FBLE_JUMP(fble_call_slowly, fp, hp, a, b, c);
}

fble_any_step fble_rest_tail(FBLE_STEP_PARAMETERS) {
    fp = FBLE_CALLER_OF(fp);
    c = here_again(m, fp, c);
    uint32_t n = find_rest(m, fp, a, b);
    if (n > FEW) FBLE_JUMP(rest_tail_many, fp, hp, a, b, c);
    a = fp[FBLE_FP_ARGS + 1];
    b = fp[FBLE_FP_ARGS + 2];
    fp[FBLE_FP_ARGS + 2] = fp[FBLE_FP_ARGS + 3];
    if (is_plain(m, fp, n)) FBLE_JUMP(replace_applied, fp, hp, a, b, c);
    FBLE_JUMP(fble_tail_slowly, fp, hp, a, b, c);
}

// ---------------------------------------------------------------- do

// The `do` of actions, see std_natives.c, as steps: else every action of a compiled program would
// go by the interpreter. It does what is recorded step by step.
fble_any_step fble_do_enter(FBLE_STEP_PARAMETERS) {
    const struct fble_code *code = FBLE_CODE_OF(fp[FBLE_FP_SELF]);
    uint64_t *callee = fp + FBLE_DO_SLOTS;
    if (m->stepwise) FBLE_JUMP(fble_interpret_enter, fp, hp, a, b, c);
    FBLE_NEED_STACK(code, code->frame_slots);
    if (m->profile)
        ouro_here_sample(STANDS, code->charge);
    else
        fp[FBLE_DO_UNIT] = c;
    fp[FBLE_DO_F] = b;
    callee[FBLE_FP_RETURN] = fble_pointer(code->start + FBLE_DO_PC);
    callee[FBLE_FP_CALLER] = fble_pointer(fp);
    callee[FBLE_FP_SELF] = a;
    fp[FBLE_FP_HERE] = c;
    m->argument_count = 1;
    m->call_site = FBLE_DO_FIRST;
    m->call_charge = 0;
    a = fp[FBLE_DO_UNIT];
    if (is_plain(m, callee, 1)) FBLE_JUMP(enter_applied, callee, hp, a, b, c);
    FBLE_JUMP(fble_call_slowly, callee, hp, a, b, c);
}

fble_any_step fble_do_go_on(FBLE_STEP_PARAMETERS) {
    if (m->stepwise) FBLE_JUMP(fble_interpret, fp, hp, a, b, c);
    fp = FBLE_CALLER_OF(fp);
    c = here_again(m, fp, c);
    fp[FBLE_FP_SELF] = fp[FBLE_DO_F];
    m->argument_count = 2;
    m->call_site = FBLE_DO_SECOND;
    m->call_charge = 0;
    m->pc = (const uint64_t *)(uintptr_t)b;
    b = fp[FBLE_DO_UNIT];
    if (is_plain(m, fp, 2)) FBLE_JUMP(replace_applied, fp, hp, a, b, c);
    FBLE_JUMP(fble_tail_slowly, fp, hp, a, b, c);
}

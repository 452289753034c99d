// SPDX-License-Identifier: MIT
//
// The interpreter's loop, included once per way of running: INTERPRET is the function's name, MODE
// what it records: PLAIN, PROFILED or METERED.
//
// pc, fp and hp are in registers, and so are the recorder and where it stands; SAVE and LOAD take
// them to and from the machine around calls of C. Control that is not plain leaves the fast path
// at the labels at the end. Frames, calls and charges are explained in code.h.

#define PLAIN 0    // nothing: not an instruction is spent on profiles
#define PROFILED 1 // calls and instructions
#define METERED 2  // also objects and bytes, and instructions by period

#if MODE == PLAIN
#define PROFILE(x)
#define CHARGE(n)
#else
#define PROFILE(x) x
#endif
#if MODE == PROFILED
#define CHARGE(n) ouro_here_sample(here, n)
#define FLUSH
#elif MODE == METERED
#define CHARGE(n) charge(m, recorder, n)
#define FLUSH flush(m, recorder, &objects, &bytes)
#endif
#if MODE != PLAIN
// The clock goes with the thread that runs.
static inline ouro_thread *switch_recorder(ouro_thread *from, ouro_thread *to) {
    if (from != to) ouro_clock_move(from, to);
    return to;
}
#endif
#if MODE == METERED
#define ALLOCATED(size) (objects++, bytes += (size))
#else
#define ALLOCATED(size) ((void)0)
#endif

#define R(i) fp[i]
#define SAVE (m->pc = pc, m->fp = fp, m->hp = hp)
#define LOAD                                                       \
    do {                                                           \
        pc = m->pc;                                                \
        fp = m->fp;                                                \
        hp = m->hp;                                                \
        PROFILE(recorder = switch_recorder(recorder, m->recorder); \
                here = ouro_thread_here(recorder);)                \
    } while (0)
#ifdef FBLE_COUNT_EXECUTED
#define COUNT_EXECUTED (m->executed += fble_counts[fble_op(w)])
#else
#define COUNT_EXECUTED ((void)0)
#endif
#define DISPATCH                  \
    do {                          \
        w = *pc;                  \
        COUNT_EXECUTED;           \
        goto *labels[fble_op(w)]; \
    } while (0)
#define NEXT(words)    \
    do {               \
        pc += (words); \
        DISPATCH;      \
    } while (0)
#define OP(name) op_##name
#define LIST(at) ((const uint16_t *)(at))
#define POINTER(type, word) ((type *)(uintptr_t)(word))
#define ALLOCATE(object, head)                       \
    do {                                             \
        (object) = (struct fble_object *)(void *)hp; \
        (object)->header = (head);                   \
        hp += fble_object_bytes(head);               \
        ALLOCATED(fble_object_bytes(head));          \
    } while (0)

// The ends of calls: what is not plain goes to `apply`, by a call or by a tail call.
#define APPLY_IF(condition, n, by)          \
    if (__builtin_expect((condition), 0)) { \
        how = (by);                         \
        m->argument_count = (n);            \
        goto apply;                         \
    }
#define NEED_FUNCTION(n, by) \
    APPLY_IF((object->header & FBLE_SHAPE_MASK) != FBLE_SHAPE(FBLE_CLOSURE, n), n, by)
#define NEED_STACK(n, by) APPLY_IF(fp + code->frame_slots > m->stack_limit, n, by)
// The same for a function that is known, and so not in its frame yet.
#define NEED_STACK_FOR(code, n, by)                                \
    APPLY_IF(fp + (code)->frame_slots > m->stack_limit &&          \
                 (fp[FBLE_FP_SELF] = fble_pointer(&(code)->self)), \
             n, by)
// The thread is always up to date: a clock may look at it.
#define STAND(there) (here = (there), ouro_thread_stand(recorder, here))
// What the site does not know may be the beginning of a slice.
#define GO_FROM(site)                                         \
    (ouro_site_knows(here, (ouro_site)(site), fble_key(code)) \
         ? ouro_site_follow(here, (ouro_site)(site))          \
         : fble_enter_miss(m, fp, here, (ouro_site)(site), code))
#define KEEP_HERE fp[FBLE_FP_HERE] = fble_pointer(here);
#define ENTER_FROM(site) \
    FLUSH;               \
    STAND(GO_FROM(site));
#define REPLACE_FROM(site)             \
    do {                               \
        FLUSH;                         \
        ouro_here *to = GO_FROM(site); \
        ouro_here_leave(here);         \
        STAND(to);                     \
    } while (0);
#define START(code)             \
    do {                        \
        CHARGE((code)->charge); \
        pc = (code)->start;     \
        DISPATCH;               \
    } while (0)

#define LABEL(name, ...) &&op_##name,

fble_any_step INTERPRET(struct fble_machine *m) {
    static const void *const labels[] = {FBLE_OPCODES(LABEL)};
    const uint64_t *pc = m->pc;
    uint64_t *fp = m->fp, w;
    char *hp = m->hp;
    fble_value value = m->value;
    struct fble_object *object;
    const struct fble_code *code;
    enum fble_entering how;
    PROFILE(ouro_thread *recorder = m->recorder; ouro_here *here = ouro_thread_here(recorder);)
#if MODE == METERED
    uint64_t objects = 0, bytes = 0;
    if (m->runs > 1) count_new(m, &objects, &bytes);
#endif
    DISPATCH;

    OP(MOVE) : R(fble_a(w)) = R(fble_b(w));
    NEXT(1);

    OP(CONST) : R(fble_a(w)) = pc[1];
    NEXT(2);

    OP(GLOBAL) : R(fble_a(w)) = *POINTER(fble_value, pc[1]);
    NEXT(2);

    OP(SET_GLOBAL) : *POINTER(fble_value, pc[1]) = R(fble_a(w));
    NEXT(2);

    OP(CAPTURE) : R(fble_a(w)) = fble_object(R(FBLE_FP_SELF))->words[1 + fble_b(w)];
    NEXT(1);

    OP(FIELD) : value = R(fble_b(w));
    object = fble_object(value);
    if (__builtin_expect(fble_kind(object->header) != FBLE_STRUCT, 0)) {
        object = fble_object(fble_force(value));
        if (fble_kind(object->header) != FBLE_STRUCT) goto no_struct;
    }
    R(fble_a(w)) = object->words[fble_c(w)];
    NEXT(1);

    OP(FIELD_ONLY) : value = R(fble_b(w));
    if (!fble_is_immediate(value)) {
        value = fble_force(value);
        if (fble_is_placeholder(value)) goto no_struct;
        if (!fble_is_immediate(value)) value = fble_object(value)->words[0];
    }
    R(fble_a(w)) = value;
    NEXT(1);

    OP(STRUCT) : {
        const uint16_t *list = LIST(pc + 1);
        unsigned n = fble_c(w);
        ALLOCATE(object, FBLE_HEADER(FBLE_STRUCT, 0, n));
        for (unsigned i = 0; i < n; i++) object->words[i] = R(list[i]);
        R(fble_a(w)) = fble_pointer(object);
        NEXT(1 + fble_list_words(n));
    }

    OP(STRUCT_ONE) : value = R(fble_b(w));
    if (!fble_is_immediate(value)) {
        ALLOCATE(object, FBLE_HEADER(FBLE_STRUCT, 0, 1));
        object->words[0] = value;
        value = fble_pointer(object);
    }
    R(fble_a(w)) = value;
    NEXT(1);

    OP(UNION) : value = R(fble_b(w));
    if (fble_wraps(value, fble_x(w))) {
        R(fble_a(w)) = fble_wrap_immediate(value, fble_c(w), fble_x(w));
    } else {
        ALLOCATE(object, FBLE_HEADER(FBLE_UNION, fble_c(w), 1));
        object->words[0] = value;
        R(fble_a(w)) = fble_pointer(object);
    }
    NEXT(1);

    OP(CELL) : {
        const uint16_t *list = LIST(pc + 1);
        unsigned n = fble_c(w);
        ALLOCATE(object, FBLE_HEADER(FBLE_STRUCT, fble_b(w), n));
        for (unsigned i = 0; i < n; i++) object->words[i] = R(list[i]);
        R(fble_a(w)) = fble_pointer(object);
        NEXT(1 + fble_list_words(n));
    }

    OP(PAYLOAD) : value = R(fble_b(w));
payload:
    if (fble_is_immediate(value)) {
        if (fble_immediate_tag(value, fble_x(w)) != fble_c(w)) goto wrong_tag;
        R(fble_a(w)) = fble_immediate_payload(value, fble_x(w));
        NEXT(1);
    }
    object = fble_object(value);
    if ((object->header & FBLE_SHAPE_MASK) == FBLE_SHAPE(FBLE_STRUCT, fble_c(w))) {
        R(fble_a(w)) = value;
        NEXT(1);
    }
    if ((object->header & FBLE_SHAPE_MASK) == FBLE_SHAPE(FBLE_UNION, fble_c(w))) {
        R(fble_a(w)) = object->words[0];
        NEXT(1);
    }
    if (fble_kind(object->header) != FBLE_PLACEHOLDER) goto wrong_tag;
    value = fble_force(value);
    if (fble_is_placeholder(value)) goto no_struct;
    goto payload;

    OP(COPY) : {
        const uint16_t *list = LIST(pc + 1);
        value = fble_force(R(fble_b(w)));
        if (fble_is_placeholder(value)) goto no_copy;
        struct fble_object *source = fble_object(value);
        uint32_t n = fble_count(source->header);
        ALLOCATE(object, FBLE_HEADER(FBLE_STRUCT, 0, n));
        for (uint32_t i = 0; i < n; i++) object->words[i] = source->words[i];
        for (unsigned i = 0; i < fble_c(w); i++) object->words[list[2 * i]] = R(list[2 * i + 1]);
        R(fble_a(w)) = fble_pointer(object);
        NEXT(1 + fble_list_words(2 * fble_c(w)));
    }

    OP(SWITCH) : {
        uint32_t tag;
        value = R(fble_b(w));
        if (fble_is_immediate(value)) {
            tag = fble_immediate_tag(value, fble_x(w));
        } else {
            uint64_t header = fble_object(value)->header;
            if (__builtin_expect(fble_kind(header) == FBLE_PLACEHOLDER, 0)) goto switch_slowly;
            tag = fble_tag(header);
        }
        pc += 1 + tag;
        CHARGE(fble_branch_charge(*pc));
        NEXT(fble_branch_offset(*pc));
    }

    OP(JUMP) : CHARGE(fble_branch_charge(pc[1]));
    NEXT(fble_branch_offset(pc[1]));

    OP(RETURN) : value = R(fble_a(w));
return_value:
    PROFILE(FLUSH; ouro_here_leave(here); STAND(fble_caller_here(fp));)
return_without_exit:
    pc = POINTER(const uint64_t, fp[FBLE_FP_RETURN]);
    fp = POINTER(uint64_t, fp[FBLE_FP_CALLER]);
    R(fble_return_slot(pc)) = value;
    DISPATCH;

    OP(CALL) : {
        unsigned n = fble_x(w);
        const uint64_t *back = pc + 4;
        if (__builtin_expect(n > 2, 0)) back += fble_list_words(n - 2);
        uint64_t *callee = fp + fble_return_frame(back);
        value = R(fble_a(w));
        object = fble_object(value);
        callee[FBLE_FP_RETURN] = fble_pointer(back);
        callee[FBLE_FP_CALLER] = fble_pointer(fp);
        callee[FBLE_FP_SELF] = value;
        callee[FBLE_FP_ARGS] = R(fble_b(w));
        callee[FBLE_FP_ARGS + 1] = R(fble_c(w));
        const uint16_t *list = LIST(pc + 1);
        for (unsigned i = 2; __builtin_expect(i < n, 0); i++)
            callee[FBLE_FP_ARGS + i] = R(list[i - 2]);
        PROFILE(KEEP_HERE)
        fp = callee;
        NEED_FUNCTION(n, FBLE_BY_CALL);
        code = POINTER(const struct fble_code, object->words[0]);
        NEED_STACK(n, FBLE_BY_CALL);
        PROFILE(ENTER_FROM(fble_return_call_site(back));)
        START(code);
    }

    OP(CALL_CODE) : {
        unsigned n = fble_x(w);
        const uint64_t *back = pc + 5;
        if (__builtin_expect(n > 3, 0)) back += fble_list_words(n - 3);
        code = POINTER(const struct fble_code, back[-4]);
        uint64_t *callee = fp + fble_return_frame(back);
        callee[FBLE_FP_RETURN] = fble_pointer(back);
        callee[FBLE_FP_CALLER] = fble_pointer(fp);
        callee[FBLE_FP_ARGS] = R(fble_a(w));
        callee[FBLE_FP_ARGS + 1] = R(fble_b(w));
        callee[FBLE_FP_ARGS + 2] = R(fble_c(w));
        for (unsigned i = 3; __builtin_expect(i < n, 0); i++)
            callee[FBLE_FP_ARGS + i] = R(LIST(pc + 1)[i - 3]);
        PROFILE(KEEP_HERE)
        fp = callee;
        NEED_STACK_FOR(code, n, FBLE_BY_CALL);
        PROFILE(ENTER_FROM(fble_return_call_site(back));)
        START(code);
    }

    OP(TAIL) : {
        unsigned n = fble_x(w);
        fble_value first = R(fble_b(w)), second = R(fble_c(w));
        value = R(fble_a(w));
        object = fble_object(value);
        if (__builtin_expect(n > 2, 0)) {
            fble_value rest[FBLE_MOST_ARGUMENTS];
            const uint16_t *list = LIST(pc + 2);
            for (unsigned i = 2; i < n; i++) rest[i - 2] = R(list[i - 2]);
            for (unsigned i = 2; i < n; i++) fp[FBLE_FP_ARGS + i] = rest[i - 2];
        }
        fp[FBLE_FP_SELF] = value;
        fp[FBLE_FP_ARGS] = first;
        fp[FBLE_FP_ARGS + 1] = second;
        NEED_FUNCTION(n, FBLE_BY_TAIL);
        code = POINTER(const struct fble_code, object->words[0]);
        NEED_STACK(n, FBLE_BY_TAIL);
        PROFILE(REPLACE_FROM(pc[1]);)
        START(code);
    }

    OP(TAIL_CODE) : {
        unsigned n = fble_x(w);
        fble_value first = R(fble_a(w)), second = R(fble_b(w)), third = R(fble_c(w));
        code = POINTER(const struct fble_code, pc[1]);
        if (__builtin_expect(n > 3, 0)) {
            fble_value rest[FBLE_MOST_ARGUMENTS];
            const uint16_t *list = LIST(pc + 3);
            for (unsigned i = 3; i < n; i++) rest[i - 3] = R(list[i - 3]);
            for (unsigned i = 3; i < n; i++) fp[FBLE_FP_ARGS + i] = rest[i - 3];
        }
        fp[FBLE_FP_ARGS] = first;
        fp[FBLE_FP_ARGS + 1] = second;
        fp[FBLE_FP_ARGS + 2] = third;
        NEED_STACK_FOR(code, n, FBLE_BY_TAIL);
        PROFILE(REPLACE_FROM(pc[2]);)
        START(code);
    }

    OP(FUNC) : {
        const uint16_t *list = LIST(pc + 2);
        unsigned n = fble_c(w);
        code = POINTER(const struct fble_code, pc[1]);
        ALLOCATE(object, FBLE_HEADER(FBLE_CLOSURE, code->arity, n + 1));
        object->words[0] = pc[1];
        for (unsigned i = 0; i < n; i++) object->words[1 + i] = R(list[i]);
        R(fble_a(w)) = fble_pointer(object);
        NEXT(2 + fble_list_words(n));
    }

    OP(FUNC_ALLOC) : code = POINTER(const struct fble_code, pc[1]);
    ALLOCATE(object, FBLE_HEADER(FBLE_CLOSURE, code->arity, fble_c(w) + 1));
    object->words[0] = pc[1];
    R(fble_a(w)) = fble_pointer(object);
    NEXT(2);

    OP(FUNC_FILL) : {
        const uint16_t *list = LIST(pc + 1);
        unsigned n = fble_c(w);
        object = fble_object(R(fble_a(w)));
        for (unsigned i = 0; i < n; i++) object->words[1 + i] = R(list[i]);
        NEXT(1 + fble_list_words(n));
    }

    OP(PLACEHOLDER) : ALLOCATE(object, FBLE_HEADER(FBLE_PLACEHOLDER, 0, 1));
    object->words[0] = FBLE_NOT_YET;
    R(fble_a(w)) = fble_pointer(object);
    NEXT(1);

    OP(RESOLVE) : {
        uint32_t vacuous;
        SAVE;
        if (!fble_resolve(m, fp, LIST(pc + 1), fble_c(w), &vacuous)) {
            fble_fail_spot(m, vacuous, "the value is defined as itself");
            goto failed;
        }
        NEXT(1 + fble_list_words(2 * fble_c(w)));
    }

    OP(FOREIGN) : value = POINTER(const struct fble_foreign_use, pc[1])->value;
    if (!value) goto no_foreign;
    R(fble_a(w)) = value;
    NEXT(2);

    OP(LIST) : {
        const uint16_t *list = LIST(pc + 1);
        unsigned n = fble_c(w);
        value = R(fble_b(w));
        for (unsigned i = n; i-- > 0;) {
            ALLOCATE(object, FBLE_HEADER(FBLE_STRUCT, 0, 2));
            object->words[0] = R(list[i]);
            object->words[1] = value;
            value = fble_pointer(object);
        }
        R(fble_a(w)) = value;
        NEXT(1 + fble_list_words(n));
    }

    OP(LITERAL) : {
        const struct fble_literal *literal = POINTER(const struct fble_literal, pc[1]);
        value = fble_wrap_immediate(FBLE_UNIT, 1, 1);
        for (uint32_t i = literal->count; i-- > 0;) {
            ALLOCATE(object, FBLE_HEADER(FBLE_STRUCT, 0, 2));
            object->words[0] = literal->letters[i];
            object->words[1] = value;
            value = fble_pointer(object);
        }
        R(fble_a(w)) = value;
        NEXT(2);
    }

    OP(HEAP) : if (__builtin_expect((size_t)(m->heap_limit - hp) < w >> 32, 0)) {
        SAVE;
        m->site = POINTER(const struct fble_site, pc[1]);
        fble_collect(m, w >> 32);
        hp = m->hp;
    }
    NEXT(2);

#if MODE == PLAIN
    OP(ENTER) : R(fble_a(w)) = 1; // the slot is live
    OP(REPLACE) : NEXT(3);
    OP(EXIT) : NEXT(2);
#else
    OP(ENTER) : FLUSH;
    R(fble_a(w)) = fble_pointer(here) | 1;
    STAND(ouro_site_enter(recorder, here, (ouro_site)pc[2], (ouro_block)pc[1]));
    CHARGE(pc[1] >> 32);
    NEXT(3);

    OP(EXIT) : FLUSH;
    ouro_here_leave(here);
    STAND(POINTER(ouro_here, R(fble_a(w)) - 1));
    CHARGE(pc[1] >> 32);
    NEXT(2);

    OP(REPLACE) : FLUSH;
    STAND(ouro_site_replace(recorder, here, (ouro_site)pc[2], (ouro_block)pc[1]));
    CHARGE(pc[1] >> 32);
    NEXT(3);
#endif

    OP(NATIVE) : SAVE;
    PROFILE(FLUSH;) // it may end a slice
    m->site = POINTER(const struct fble_site, pc[2]);
#if MODE == METERED
    m->counted = hp;
#endif
    value = POINTER(fble_native, pc[1])(m, fp + FBLE_FP_ARGS);
#if MODE == METERED
    count_new(m, &objects, &bytes);
#endif
    hp = m->hp;
    if (value) goto return_value;
    if (m->failed) goto failed;
    LOAD;
    DISPATCH;

    OP(COMPILED) : SAVE;
    m->value = value;
    m->second = fble_pointer(pc);
    m->fp += fble_return_frame(pc); // a frame that returned; 0: one that is entered
    PROFILE(m->third = fp[FBLE_FP_HERE] = fble_here(m);)
    m->counted = hp;
    PROFILE(FLUSH;)
    return (fble_any_step)fble_return_step(pc);

    OP(RESUME) : value = m->thread->value;
    m->thread->value = 0;
    goto return_value;

    OP(APPLY) : how = FBLE_BY_TAIL;
    goto apply;

    OP(REST_ENTER) : how = FBLE_BY_CALL;
    goto rest;

    OP(REST_TAIL) : how = FBLE_BY_TAIL;
rest:
    m->argument_count = (uint32_t)(R(FBLE_FP_ARGS) >> 1);
    for (uint32_t i = 0; i < m->argument_count; i++) R(FBLE_FP_ARGS + i) = R(FBLE_FP_ARGS + 1 + i);
    goto apply;

    OP(BARRIER) : SAVE;
    pc = fble_stack_barrier(m);
    DISPATCH;

    OP(UNDERFLOW) : SAVE;
    pc = fble_stack_underflow(m);
    DISPATCH;

    OP(SLICE_END) : SAVE;
    pc = fble_slice_end(m);
    DISPATCH;

    OP(HALT) : m->value = R(FBLE_FP_SELF);
    SAVE;
    PROFILE(FLUSH;)
#if MODE == METERED
    m->counted = hp;
#endif
    return NULL;

    OP(THREAD_END) : m->value = R(FBLE_FP_SELF);
    SAVE;
    PROFILE(FLUSH;)
#if MODE != PLAIN
    struct fble_thread *ended = m->thread;
#endif
    fble_thread_ended(m);
    if (m->failed) goto failed;
    LOAD;
#if MODE != PLAIN
    ouro_thread_free(ended->profile);
    ended->profile = NULL;
#endif
    DISPATCH;

switch_slowly:
    R(fble_b(w)) = fble_force(value);
    if (!fble_is_placeholder(R(fble_b(w)))) goto *labels[fble_op(w)];
    SAVE;
    fble_fail_here(m, "the value to select on is not there yet: its let is being evaluated");
    goto failed;

apply:
    SAVE;
    PROFILE(FLUSH;)
#if MODE == METERED
    m->counted = hp;
#endif
    if (!fble_apply_args(m, how)) {
#if MODE == METERED
        count_new(m, &objects, &bytes); // a partial application
#endif
        hp = m->hp;
        fp = m->fp;
        value = m->value;
        PROFILE(here = ouro_thread_here(recorder);)
        if (m->failed) goto failed;
        if (m->entering == FBLE_BY_TAIL) goto return_value;
        goto return_without_exit;
    }
    fp = m->fp;
    code = m->applied;
#if MODE != PLAIN
    here = ouro_thread_here(recorder);
    if (fble_is_sliced(m, code->block)) fble_slice_call(m, fp);
    if (m->entering == FBLE_BY_CALL) fble_keep_here(fp, fble_pointer(here));
    if (m->entering == FBLE_BY_CALL)
        ouro_enter(recorder, code->block);
    else
        ouro_replace(recorder, code->block);
    here = ouro_thread_here(recorder);
#endif
    START(code);

no_struct:
    SAVE;
    fble_fail_here(m, "the value is not there yet: its let is being evaluated");
    goto failed;
no_copy:
    SAVE;
    fble_fail_here(m, "the struct to copy is not there yet: its let is being evaluated");
    goto failed;
wrong_tag:
    SAVE;
    fble_fail_here(m, "the union has another tag");
    goto failed;
no_foreign:
    SAVE;
    fble_fail_here(m, "nobody has supplied the foreign value %s of %s",
                   POINTER(const struct fble_foreign_use, pc[1])->name,
                   POINTER(const struct fble_foreign_use, pc[1])->module);
failed:
    PROFILE(FLUSH;)
#if MODE == METERED
    m->counted = m->hp;
#endif
    return NULL;
}

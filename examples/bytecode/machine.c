// SPDX-License-Identifier: MIT
//
// The interpreter, which shows everything about embedding Ouro:
//
//   call    ouro_enter, and the token goes into the machine's frame
//   tail    ouro_replace: the frame stays, and so does its token
//   ret     ouro_exit with the frame's token
//   throw   ouro_exit with the token of the frame that catches, however many frames are between
//   spawn   ouro_thread_fork: the green thread begins where its parent stands
//
// Instructions are counted in a local variable and charged once per stretch, just before the
// position moves. Without a profile every `ouro_thread *` is NULL and nothing else changes.

#include "bytecode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 16, FRAMES_MAX = 1 << 14, CHANNEL_CAPACITY = 8 };

typedef struct {
    const instruction *resume; // where the caller goes on
    int base;                  // its first local among the values
    bool catches;
    ouro_position caller; // the token
} frame;

// A green thread. All are in a ring; the current one runs until it waits.
typedef struct task {
    struct task *next;
    ouro_thread *thread;
    const instruction *pc;
    int top, depth;
    frame frames[FRAMES_MAX];
    int64_t values[VALUES_MAX];
} task;

typedef struct {
    int64_t values[CHANNEL_CAPACITY];
    int first, count;
} channel;

typedef struct {
    const program *program;
    result *result;
    task *current, *last; // last->next == current
    int tasks, waiting;   // waiting: turns in a row that did nothing
    channel channels[CHANNELS_MAX];
    uint64_t stretch; // instructions not yet charged
    bool failed;
} machine;

static void fail(machine *m, const char *what) {
    fprintf(stderr, "%s: %s\n", m->program->file, what);
    m->failed = true;
}

static void push(machine *m, int64_t value) {
    task *t = m->current;
    if (t->top == VALUES_MAX) {
        fail(m, "too many values");
    } else {
        t->values[t->top++] = value;
    }
}

static int64_t pop(machine *m) {
    task *t = m->current;
    if (t->top > 0) return t->values[--t->top];
    fail(m, "no value to take");
    return 0;
}

// Before the position moves: charges the instructions since its last move.
static void charge(machine *m) {
    ouro_sample(m->current->thread, m->stretch);
    m->result->instructions += m->stretch;
    m->stretch = 0;
}

// ---------------------------------------------------------------- green threads

// Takes the callee's arguments from the values of `from`.
static void begin(machine *m, task *t, const function *callee, task *from, bool catches) {
    if (t->depth == FRAMES_MAX || from->top < callee->parameters) {
        fail(m, t->depth == FRAMES_MAX ? "too many frames" : "too few arguments");
        return;
    }
    from->top -= callee->parameters;
    memmove(t->values + t->top, from->values + from->top,
            (size_t)callee->parameters * sizeof *t->values);
    t->frames[t->depth++] = (frame){.resume = t->pc,
                                    .base = t->top,
                                    .catches = catches,
                                    .caller = ouro_enter(t->thread, callee->block)};
    t->top += callee->parameters;
    t->pc = m->program->code + callee->start;
    m->result->calls++;
}

static task *task_new(machine *m, ouro_thread *thread) {
    task *t = malloc(sizeof *t); // large, and mostly never touched
    if (!t) {
        ouro_thread_free(thread);
        fail(m, "no memory for a green thread");
        return NULL;
    }
    t->thread = thread;
    t->top = t->depth = 0;
    t->pc = NULL;
    t->next = m->current ? m->current : t;
    if (m->last) m->last->next = t;
    m->last = t;
    m->tasks++;
    return t;
}

// Exits the frames that are still open: a task may be ended from outside.
static void task_free(task *t) {
    while (t->depth > 0) ouro_exit(t->thread, t->frames[--t->depth].caller);
    ouro_thread_free(t->thread);
    free(t);
}

static void spawn(machine *m, const function *callee) {
    task *parent = m->current;
    task *t = task_new(m, ouro_thread_fork(parent->thread));
    if (t) begin(m, t, callee, parent, false);
    m->result->green_threads++;
}

static void end_current(machine *m) {
    task *ended = m->current;
    m->tasks--;
    m->waiting = 0;
    m->current = m->tasks ? ended->next : NULL;
    m->last->next = m->current;
    if (!m->tasks) m->last = NULL;
    task_free(ended);
}

// Switches to the next task. The profile needs no call: each green thread has its own position.
static void yield(machine *m) {
    charge(m);
    m->last = m->current;
    m->current = m->current->next;
}

// The instruction was not executed: it is tried again on the task's next turn.
static void wait(machine *m) {
    m->current->pc--;
    m->stretch--;
    if (++m->waiting > m->tasks) fail(m, "every green thread waits");
    yield(m);
}

static void send(machine *m, channel *c) {
    if (c->count == CHANNEL_CAPACITY) {
        wait(m);
        return;
    }
    c->values[(c->first + c->count++) % CHANNEL_CAPACITY] = pop(m);
    m->waiting = 0;
}

static void receive(machine *m, channel *c) {
    if (c->count == 0) {
        wait(m);
        return;
    }
    push(m, c->values[c->first]);
    c->first = (c->first + 1) % CHANNEL_CAPACITY;
    c->count--;
    m->waiting = 0;
}

// ---------------------------------------------------------------- calls

static void call(machine *m, const function *callee, bool catches) {
    charge(m);
    begin(m, m->current, callee, m->current, catches);
}

static void tail_call(machine *m, const function *callee) {
    task *t = m->current;
    frame *f = &t->frames[t->depth - 1];
    if (t->top < f->base + callee->parameters) {
        fail(m, "too few arguments");
        return;
    }
    charge(m);
    ouro_replace(t->thread, callee->block);
    memmove(t->values + f->base, t->values + t->top - callee->parameters,
            (size_t)callee->parameters * sizeof *t->values);
    t->top = f->base + callee->parameters;
    t->pc = m->program->code + callee->start;
    m->result->calls++;
    m->result->tail_calls++;
}

// Returns to the caller of frame number `depth`: of the top frame for a return, of a lower one for
// an error. One exit serves both, because the token is the position of that caller.
static void leave(machine *m, int depth, int64_t value) {
    task *t = m->current;
    const frame *f = &t->frames[depth];
    charge(m);
    ouro_exit(t->thread, f->caller);
    t->depth = depth;
    t->top = f->base;
    t->pc = f->resume;
    if (depth > 0) {
        push(m, value);
    } else {
        end_current(m);
    }
}

static void throw_error(machine *m, int64_t value) {
    task *t = m->current;
    int depth = t->depth - 1;
    while (depth >= 0 && !t->frames[depth].catches) depth--;
    if (depth < 0) {
        fail(m, "an error that nobody catches");
        return;
    }
    m->result->unwound += (uint64_t)(t->depth - depth);
    leave(m, depth, value);
}

// A phantom native leaves the position alone, so its cost is charged to its caller.
static void call_native(machine *m, const native *n) {
    task *t = m->current;
    if (t->top < n->parameters) {
        fail(m, "too few arguments");
        return;
    }
    charge(m);
    ouro_position caller = ouro_enter(t->thread, n->block);
    t->top -= n->parameters;
    push(m, n->function(t->values + t->top));
    m->stretch += n->cost;
    charge(m);
    ouro_exit(t->thread, caller);
    m->result->calls += n->has_block;
}

// ---------------------------------------------------------------- instructions

static void duplicate(machine *m) {
    int64_t value = pop(m);
    push(m, value);
    push(m, value);
}

static int64_t divide(machine *m, int64_t a, int64_t b, bool rest) {
    if (b > 0) return rest ? a % b : a / b;
    fail(m, "division by zero or less");
    return 0;
}

static void arithmetic(machine *m, int32_t op) {
    int64_t b = pop(m), a = pop(m);
    switch (op) {
    case OP_ADD:
        push(m, a + b);
        break;
    case OP_SUB:
        push(m, a - b);
        break;
    case OP_MUL:
        push(m, a * b);
        break;
    case OP_LESS:
        push(m, a < b);
        break;
    default:
        push(m, divide(m, a, b, op == OP_MOD));
    }
}

static void answer(machine *m) {
    result *r = m->result;
    if (r->answer_count == ANSWERS_MAX) {
        fail(m, "too many answers");
    } else {
        r->answers[r->answer_count++] = pop(m);
    }
}

static void jump(machine *m, const instruction *i) {
    m->current->pc = m->program->code + i->operand;
}

static const function *callee_of(const machine *m, const instruction *i) {
    return &m->program->functions[i->operand];
}

// One line per instruction reads best.
// clang-format off
static void step(machine *m) {
    task *t = m->current;
    const instruction *i = t->pc++;
    int64_t *locals = t->values + t->frames[t->depth - 1].base;
    m->stretch++;
    switch ((opcode)i->opcode) {
    case OP_PUSH:   push(m, i->operand); break;
    case OP_GET:    push(m, locals[i->operand]); break;
    case OP_SET:    locals[i->operand] = pop(m); break;
    case OP_DUP:    duplicate(m); break;
    case OP_DROP:   pop(m); break;
    case OP_JUMP:   jump(m, i); break;
    case OP_IFZERO: if (pop(m) == 0) jump(m, i); break;
    case OP_CALL:   call(m, callee_of(m, i), false); break;
    case OP_TRY:    call(m, callee_of(m, i), true); break;
    case OP_TAIL:   tail_call(m, callee_of(m, i)); break;
    case OP_RET:    leave(m, t->depth - 1, pop(m)); break;
    case OP_THROW:  throw_error(m, pop(m)); break;
    case OP_NATIVE: call_native(m, &natives[i->operand]); break;
    case OP_SPAWN:  spawn(m, callee_of(m, i)); break;
    case OP_YIELD:  m->waiting = 0; yield(m); break;
    case OP_SEND:   send(m, &m->channels[i->operand]); break;
    case OP_RECV:   receive(m, &m->channels[i->operand]); break;
    case OP_OUT:    answer(m); break;
    default:        arithmetic(m, i->opcode);
    }
}
// clang-format on

// One range of ids for the module: function i is first + i. If that fails, all functions are
// phantom: OURO_PHANTOM is 0 and must not be added to.
static void register_blocks(program *p, ouro_profile *profile) {
    ouro_block_info infos[FUNCTIONS_MAX];
    for (int i = 0; i < p->function_count; i++)
        infos[i] = (ouro_block_info){p->functions[i].name, p->file, p->functions[i].line, 1};
    ouro_block first = ouro_add_blocks(profile, infos, (size_t)p->function_count);
    for (int i = 0; i < p->function_count; i++)
        p->functions[i].block = first == OURO_PHANTOM ? OURO_PHANTOM : first + (ouro_block)i;
    for (int i = 0; i < native_count; i++) {
        if (!natives[i].has_block) continue;
        natives[i].block =
            ouro_add_block(profile, &(ouro_block_info){natives[i].name, "native", 0, 0});
    }
}

bool machine_run(program *p, ouro_profile *profile, result *result) {
    machine m = {.program = p, .result = result};
    register_blocks(p, profile);
    m.current = task_new(&m, ouro_thread_new(profile));
    if (m.current) begin(&m, m.current, &p->functions[0], m.current, false);
    while (m.current && !m.failed) step(&m);
    while (m.current) end_current(&m);
    return !m.failed;
}

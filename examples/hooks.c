// SPDX-License-Identifier: MIT
//
// A host that cannot be changed: it has no room for a token in its frames, but it calls a hook when
// a rule begins and ends. ouro_stack is for such hosts: it keeps the tokens. The host here is a
// recursive-descent calculator. If the input is wrong, it leaves by longjmp and calls no hook, so
// the caller unwinds the stack to the depth that it had before.

#include <ouro.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

// ---------------------------------------------------------------- the host: it knows no profiler

typedef enum { SUM, PRODUCT, ATOM, RULES } rule;
typedef enum { RULE_BEGINS, RULE_ENDS } event;
typedef void hook(void *user, event what, rule which);

typedef struct {
    const char *at;
    jmp_buf error;
    hook *hook;
    void *user;
} calculator;

static long sum(calculator *c);

static long atom(calculator *c) {
    c->hook(c->user, RULE_BEGINS, ATOM);
    long value;
    if (*c->at == '(') {
        c->at++;
        value = sum(c);
        if (*c->at++ != ')') longjmp(c->error, 1);
    } else {
        char *end;
        value = strtol(c->at, &end, 10);
        if (end == c->at) longjmp(c->error, 1);
        c->at = end;
    }
    c->hook(c->user, RULE_ENDS, ATOM);
    return value;
}

static long product(calculator *c) {
    c->hook(c->user, RULE_BEGINS, PRODUCT);
    long value = atom(c);
    while (*c->at == '*') {
        c->at++;
        value *= atom(c);
    }
    c->hook(c->user, RULE_ENDS, PRODUCT);
    return value;
}

static long sum(calculator *c) {
    c->hook(c->user, RULE_BEGINS, SUM);
    long value = product(c);
    while (*c->at == '+') {
        c->at++;
        value += product(c);
    }
    c->hook(c->user, RULE_ENDS, SUM);
    return value;
}

// ---------------------------------------------------------------- the profiler, hooked in

typedef struct {
    ouro_stack stack;
    ouro_block first; // rule r is block first + r
} recorder;

static void on_event(void *user, event what, rule which) {
    recorder *r = user;
    if (what == RULE_BEGINS) {
        ouro_stack_push(&r->stack, r->first + (ouro_block)which);
        ouro_sample(r->stack.thread, 1);
    } else {
        ouro_stack_pop(&r->stack);
    }
}

// False if the text is wrong.
static bool calculate(recorder *r, const char *text, long *value) {
    calculator c = {.at = text, .hook = on_event, .user = r};
    size_t depth = ouro_stack_depth(&r->stack);
    if (setjmp(c.error)) {
        ouro_stack_unwind(&r->stack, depth);
        return false;
    }
    *value = sum(&c);
    return *c.at == '\0';
}

static void print_path(void *profile, const ouro_visit *visit) {
    ouro_block_info info = {"(root)", "", 0, 0};
    if (visit->length) ouro_block_get(profile, visit->path[visit->length - 1], &info);
    int indent = visit->length ? 2 * (int)visit->length - 2 : 0;
    printf("%7llu calls%7llu recursions   %*s%s\n", (unsigned long long)visit->calls,
           (unsigned long long)visit->recursions, indent, "", info.name);
}

int main(void) {
    static const ouro_block_info rules[RULES] = {
        {"sum", "hooks.c", 0, 0}, {"product", "hooks.c", 0, 0}, {"atom", "hooks.c", 0, 0}};
    ouro_profile *profile = ouro_profile_new(NULL);
    ouro_thread *thread = ouro_thread_new(profile);
    recorder r = {.first = ouro_add_blocks(profile, rules, RULES)};
    if (!thread || r.first == OURO_PHANTOM) return 1;
    ouro_stack_init(&r.stack, thread);

    long value = 0;
    bool right = calculate(&r, "2*(3+4*(5+6*(7+8)))", &value) && value == 766;
    printf("2*(3+4*(5+6*(7+8))) = %ld\n", value);
    right &= !calculate(&r, "1+(2*(3+(4*", &value) && ouro_stack_depth(&r.stack) == 0;
    printf("1+(2*(3+(4* is not a sum, and the stack is %zu deep again\n\n",
           ouro_stack_depth(&r.stack));
    ouro_profile_visit(profile, print_path, profile);

    ouro_stack_clear(&r.stack);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return right ? 0 : 1;
}

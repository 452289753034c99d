// SPDX-License-Identifier: MIT
//
// The hot path, one shape per case: `bench_hot CASE N ROUNDS` runs a loop of N turns and prints its
// nanoseconds per turn. bench/run counts its instructions with N and with 2N turns: the difference
// is N turns and nothing else. It also subtracts the empty loop of the same shape.
//
// Blocks come from an array and the thread from a struct, as in an interpreter, so the compiler
// knows neither; the empty loops make the same loads. No check for NULL can be moved out of a loop.

#include "ouro_site.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A turn takes the next block of a list of this length. Each loop runs once before it is measured,
// so that every transition is known.
enum { ORDER = 1 << 16 };

// CONTEXTS paths on which a function of SITES call sites runs; each site has its callee.
enum { CONTEXTS = 512, SITES = 4 };

typedef struct {
    ouro_here *here;
    const ouro_block *callee;
    ouro_site site;
} site_call;

typedef struct {
    ouro_thread *thread;
    ouro_block order[ORDER];
    site_call calls[ORDER];
    ouro_block callees[SITES];
} machine;

typedef void loop(machine *vm, uint64_t n);

// Other work of an interpreter between two calls: any memory may have been written.
#define BETWEEN() __asm__ volatile("" : : : "memory")

// Enter and exit in one function with other work between them: the thread's fields must be loaded
// again, but the compiler may remember that a local `thread` was not NULL.
static NOINLINE void pair(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_position caller = ouro_enter(thread, vm->order[i % ORDER]);
        BETWEEN();
        ouro_exit(thread, caller);
    }
}

// Enter and exit side by side: the compiler may keep values in registers from one to the other.
static NOINLINE void pair_plain(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_position caller = ouro_enter(thread, vm->order[i % ORDER]);
        ouro_exit(thread, caller);
    }
}

static NOINLINE void pair_empty(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_block block = vm->order[i % ORDER];
        OPAQUE(thread);
        OPAQUE(block);
    }
}

// Enter and exit in two handlers of an interpreter: every value is loaded again, NULL is
// checked twice.
static NOINLINE void apart(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_position caller = ouro_enter(vm->thread, vm->order[i % ORDER]);
        BETWEEN();
        ouro_exit(vm->thread, caller);
    }
}

static NOINLINE void apart_empty(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_block block = vm->order[i % ORDER];
        OPAQUE(thread);
        OPAQUE(block);
        BETWEEN();
        ouro_thread *again = vm->thread;
        OPAQUE(again);
    }
}

// Three tail calls a turn, in a cycle, each in a handler of its own.
static NOINLINE void replace(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_replace(vm->thread, vm->order[0]);
        BETWEEN();
        ouro_replace(vm->thread, vm->order[1]);
        BETWEEN();
        ouro_replace(vm->thread, vm->order[2]);
    }
}

static NOINLINE void replace_empty(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_block block = vm->order[0];
        OPAQUE(thread);
        OPAQUE(block);
        BETWEEN();
        thread = vm->thread;
        block = vm->order[1];
        OPAQUE(thread);
        OPAQUE(block);
        BETWEEN();
        thread = vm->thread;
        block = vm->order[2];
        OPAQUE(thread);
        OPAQUE(block);
    }
}

static NOINLINE void replace_plain(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_block a = vm->order[0], b = vm->order[1], c = vm->order[2];
        ouro_replace(thread, a);
        ouro_replace(thread, b);
        ouro_replace(thread, c);
    }
}

static NOINLINE void replace_plain_empty(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        ouro_block a = vm->order[0], b = vm->order[1], c = vm->order[2];
        OPAQUE(thread);
        OPAQUE(a);
        OPAQUE(b);
        OPAQUE(c);
    }
}

// The four calls a turn that a host makes when profiling is off, each in a handler of its own.
static NOINLINE void off(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_position caller = ouro_enter(vm->thread, 3);
        BETWEEN();
        ouro_replace(vm->thread, 4);
        BETWEEN();
        ouro_sample(vm->thread, 1);
        BETWEEN();
        ouro_exit(vm->thread, caller);
    }
}

static NOINLINE void off_empty(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        ouro_thread *thread = vm->thread;
        OPAQUE(thread);
        BETWEEN();
        thread = vm->thread;
        OPAQUE(thread);
        BETWEEN();
        thread = vm->thread;
        OPAQUE(thread);
        BETWEEN();
        thread = vm->thread;
        OPAQUE(thread);
    }
}

// A call and its return by call sites (ouro_site.h), at some node of many, from some site of it.
static NOINLINE void sites(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        const site_call *call = &vm->calls[i % ORDER];
        ouro_here *caller = call->here;
        ouro_here *here = ouro_site_enter(vm->thread, caller, call->site, *call->callee);
        BETWEEN();
        ouro_here_leave(here);
        OPAQUE(caller);
    }
}

static NOINLINE void sites_empty(machine *vm, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        BETWEEN();
        const site_call *call = &vm->calls[i % ORDER];
        ouro_here *here = call->here;
        ouro_site site = call->site;
        const ouro_block *callee = call->callee;
        OPAQUE(here);
        OPAQUE(site);
        OPAQUE(callee);
        BETWEEN();
    }
}

typedef enum { IN_TURN, RANDOM } order_kind;

static const struct {
    const char *name;
    loop *run;
    uint32_t callees; // 0: no thread at all
    order_kind order;
} cases[] = {
    {"pair", pair, 1, IN_TURN},
    {"pair-plain", pair_plain, 1, IN_TURN},
    {"pair-empty", pair_empty, 1, IN_TURN},
    {"apart", apart, 1, IN_TURN},
    {"apart-empty", apart_empty, 1, IN_TURN},
    {"turn-64", pair, 64, IN_TURN},
    {"turn-64-apart", apart, 64, IN_TURN},
    {"turn-64-plain", pair_plain, 64, IN_TURN},
    {"turn-1024", pair, 1024, IN_TURN},
    {"random-64", pair, 64, RANDOM},
    {"random-1024", pair, 1024, RANDOM},
    {"replace", replace, 3, IN_TURN},
    {"replace-plain", replace_plain, 3, IN_TURN},
    {"replace-empty", replace_empty, 3, IN_TURN},
    {"replace-plain-empty", replace_plain_empty, 3, IN_TURN},
    {"sites", sites, CONTEXTS, RANDOM},
    {"sites-empty", sites_empty, CONTEXTS, RANDOM},
    {"off", off, 0, IN_TURN},
    {"off-empty", off_empty, 0, IN_TURN},
};

static void order_fill(ouro_block *order, ouro_block first, uint32_t callees, order_kind kind) {
    uint64_t state = 1;
    for (uint32_t i = 0; i < ORDER; i++) {
        uint32_t which = kind == RANDOM ? (uint32_t)bench_random(&state) : i;
        order[i] = first + which % callees;
    }
}

// The callers are the blocks of `order`: each calls the function, at whose nodes the sites are.
static void calls_fill(machine *vm, ouro_profile *profile) {
    ouro_block function = bench_add_blocks(profile, 1 + SITES);
    ouro_add_sites(profile, function, &(uint32_t){SITES}, 1);
    for (uint32_t s = 0; s < SITES; s++) vm->callees[s] = function + 1 + s;
    uint64_t state = 2;
    for (uint32_t i = 0; i < ORDER; i++) {
        ouro_position before = ouro_enter(vm->thread, vm->order[i]);
        ouro_position caller = ouro_enter(vm->thread, function);
        ouro_site site = (ouro_site)(bench_random(&state) % SITES);
        vm->calls[i] = (site_call){ouro_thread_here(vm->thread), &vm->callees[site], site};
        ouro_exit(vm->thread, caller);
        ouro_exit(vm->thread, before);
    }
}

static void measure(size_t which, uint64_t n, uint64_t rounds) {
    static machine vm;
    ouro_profile *profile = ouro_profile_new(NULL);
    uint32_t callees = cases[which].callees;
    ouro_block first = bench_add_blocks(profile, 1 + callees);
    vm.thread = callees ? ouro_thread_new(profile) : NULL;
    if (!profile || (callees && !vm.thread)) bench_fail("making a thread");
    order_fill(vm.order, first + 1, callees ? callees : 1, cases[which].order);
    ouro_position root = ouro_enter(vm.thread, first);

    if (callees == CONTEXTS) calls_fill(&vm, profile);

    cases[which].run(&vm, ORDER);
    uint64_t best = UINT64_MAX;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t start = bench_now();
        cases[which].run(&vm, n);
        uint64_t time = bench_now() - start;
        if (time < best) best = time;
    }
    printf("ns %.3f\n", (double)best / (double)n);

    ouro_exit(vm.thread, root);
    ouro_thread_free(vm.thread);
    ouro_profile_free(profile);
}

int main(int argc, char **argv) {
    if (argc != 4) bench_usage("bench_hot CASE N ROUNDS");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        measure(i, bench_number(argv[2]), bench_number(argv[3]));
        return 0;
    }
    bench_fail("no such case");
}

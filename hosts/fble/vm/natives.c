// SPDX-License-Identifier: MIT
//
// Functions in C. A native is code like any other: its first instruction is NATIVE, which calls the
// C function and returns its result; calls, returns, profiles and the collector do not tell it from
// bytecode. Each foreign declaration makes code of its own, so that calls are charged to its block.

#include "compiled.h"

#include <stdlib.h>
#include <string.h>

struct fble_foreign_value {
    fble_foreign foreign;
    fble_native *native; // or foreign.function
};

void fble_code_own_value(struct fble_code *code) {
    code->self.header = FBLE_HEADER(FBLE_CLOSURE, code->arity, 1) | (uint64_t)FBLE_STATIC_FLAG;
    code->self.code = code;
}

// Its frame keeps the function and all arguments.
static struct fble_site *native_site(const struct fble_code *code) {
    uint32_t slots = FBLE_FP_ARGS + code->arity, words = (slots + 63) / 64;
    struct fble_site *site = fble_take(sizeof *site + 8 * (size_t)words);
    *site = (struct fble_site){.slots = slots};
    memset(site->live, 0, 8 * (size_t)words);
    site->live[0] = (uint64_t)1 << FBLE_FP_SELF;
    for (uint32_t i = FBLE_FP_ARGS; i < slots; i++) site->live[i / 64] |= (uint64_t)1 << i % 64;
    return site;
}

struct fble_native_code *fble_native_code(struct fble_machine *machine, const char *name,
                                          fble_native *native, uint32_t arity, ouro_block block) {
    struct fble_native_code *n = fble_take(sizeof *n);
    *n = (struct fble_native_code){.code = {.frame_slots = FBLE_FP_ARGS + arity,
                                            .charge = 1,
                                            .block = block,
                                            .arity = (uint16_t)arity,
                                            .name = name,
                                            .file = ""}};
    n->site = native_site(&n->code);
    n->code.start = n->words;
    n->code.enter = fble_enter_native;
    n->words[0] = FBLE_OP_NATIVE;
    n->words[1] = (uint64_t)(uintptr_t)native;
    n->words[2] = fble_pointer(n->site);
    // The words before a return pc at the end, for a run that the native asks for.
    n->words[4] = fble_pointer(n->site);
    n->words[5] = (uint64_t)(uintptr_t)fble_interpret;
    fble_code_own_value(&n->code);
    fble_vector_add(&machine->natives, n);
    return n;
}

static struct fble_foreign_value *find(const struct fble_machine *m, const char *module,
                                       const char *name) {
    for (size_t i = m->foreign.count; i-- > 0;) {
        struct fble_foreign_value *f = m->foreign.at[i];
        if (!strcmp(f->foreign.name, name) && !strcmp(f->foreign.module, module)) return f;
    }
    return NULL;
}

static void add(struct fble_machine *m, const fble_foreign *foreign, fble_native *native) {
    struct fble_foreign_value *value = fble_take(sizeof *value);
    *value = (struct fble_foreign_value){*foreign, native};
    fble_vector_add(&m->foreign, value);
}

void fble_register(fble_machine *machine, const fble_foreign *foreign) {
    add(machine, foreign, NULL);
}

void fble_register_native(struct fble_machine *machine, const char *module, const char *name,
                          uint32_t arity, fble_native *native) {
    add(machine, &(fble_foreign){.module = module, .name = name, .arity = arity}, native);
}

static fble_value call_function(struct fble_machine *m, fble_function *function,
                                const fble_value *arguments, uint32_t count) {
    fble_ref refs[FBLE_MOST_ARGUMENTS];
    uint32_t mark = fble_mark(m);
    for (uint32_t i = 0; i < count; i++) refs[i] = fble_ref_new(m, arguments[i]);
    fble_ref result = function(m, refs);
    fble_value value = result && !m->failed ? m->refs[result] : 0;
    if (!value && !m->failed) fble_fail(m, "a function in C has no result and no error");
    fble_release(m, mark);
    return value;
}

// The native behind every function of the C API.
fble_value fble_call_function(struct fble_machine *m, fble_value *arguments) {
    const struct fble_object *self = fble_object(m->fp[FBLE_FP_SELF]);
    const struct fble_native_code *native =
        (const struct fble_native_code *)(uintptr_t)self->words[0];
    return call_function(m, native->function, arguments, native->code.arity);
}

// A value without arguments is made now; it stays a root.
static bool make_value(struct fble_machine *m, const struct fble_foreign_value *f,
                       struct fble_foreign_use *use) {
    fble_add_root(m, &use->value, 1);
    fble_value value =
        f->native ? f->native(m, NULL) : call_function(m, f->foreign.function, NULL, 0);
    if (value) use->value = value;
    return value != 0;
}

bool fble_find_foreign(struct fble_machine *machine, struct fble_foreign_use *use,
                       ouro_block block) {
    const struct fble_foreign_value *f = find(machine, use->module, use->name);
    use->value = 0;
    if (!f) return true;
    if (!f->foreign.arity) return make_value(machine, f, use);
    if (f->foreign.phantom) block = OURO_PHANTOM;
    struct fble_native_code *native = fble_native_code(
        machine, use->name, f->native ? f->native : fble_call_function, f->foreign.arity, block);
    native->function = f->foreign.function;
    if (f->native == fble_native_do) fble_make_do(machine, native);
    use->value = fble_pointer(&native->code.self);
    return true;
}

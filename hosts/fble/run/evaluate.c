// SPDX-License-Identifier: MIT
//
// Loads modules into a machine and evaluates them. Loading registers a module's blocks with the
// profile as one range, finds its foreign values, and makes its globals roots of the collector.

#include "evaluate.h"
#include "syntax/hash.h"
#include "vm/compiled.h"

#include <stdlib.h>
#include <string.h>

static ouro_block add_blocks(const struct fble_evaluation *v, const struct fble_module *module) {
    struct fble_arena *arena = &v->program->arena;
    if (!v->machine->profile) return OURO_PHANTOM;
    uint32_t count = module->labels.count;
    ouro_block_info *infos = fble_alloc(arena, count * sizeof *infos);
    for (uint32_t i = 0; i < count; i++) {
        const struct fble_label *label = module->labels.at[i];
        infos[i] = (ouro_block_info){v->all_blocks ? fble_label_fine_name(arena, label)
                                                   : fble_label_name(arena, label),
                                     label->unit->file, label->loc.line, label->loc.column};
    }
    ouro_block first = ouro_add_blocks(v->machine->profile, infos, count);
    if (!first) fble_no_memory();
    fble_slice_blocks(v->machine, first, infos, count);
    return first;
}

static bool load(const struct fble_evaluation *v, struct fble_module *module) {
    struct fble_machine *m = v->machine;
    if (!fble_module_has_value(v->program, module)) return false;
    ouro_block first = add_blocks(v, module);
    struct fble_emitted *emitted = fble_emit(v->program, module, first, v->all_blocks);
    if (!emitted) return false;
    fble_encode(&v->program->arena, emitted);
    if (first) ouro_add_sites(m->profile, first, emitted->call_sites, module->labels.count);
    for (uint32_t i = 0; i < emitted->codes.count; i++) fble_add_code(m, emitted->codes.at[i]);
    for (uint32_t i = 0; i < emitted->foreign.count; i++) {
        struct emit_foreign *f = emitted->foreign.at[i];
        if (!fble_find_foreign(m, &f->use, first ? first + f->label->index : OURO_PHANTOM))
            return false;
    }
    fble_add_root(m, emitted->globals, emitted->global_count);
    return true;
}

// A module that was compiled takes part like any other: dependents only know its value's address
// and its functions.
static const struct fble_compiled_module *find_compiled(const struct fble_evaluation *v,
                                                        const struct fble_module *module) {
    for (uint32_t i = 0; i < v->compiled.count; i++) {
        const struct fble_compiled_module *compiled = v->compiled.at[i];
        if (!strcmp(compiled->path, module->path->text)) return compiled;
    }
    return NULL;
}

static struct fble_code **exports_of(struct fble_arena *arena,
                                     const struct fble_compiled_module *compiled) {
    struct fble_code **exports = fble_alloc(arena, (compiled->export_count + 1) * sizeof *exports);
    for (uint32_t i = 0; i < compiled->export_count; i++)
        if (compiled->exports[i]) exports[i] = (struct fble_code *)*compiled->exports[i];
    return exports;
}

static bool load_compiled(const struct fble_evaluation *v, struct fble_module *module,
                          const struct fble_compiled_module *compiled) {
    struct fble_arena *arena = &v->program->arena;
    if (!fble_module_has_value(v->program, module)) return false;
    const char *source = fble_hash(arena, module->value->text, module->value->length);
    if (strcmp(source, compiled->source)) {
        fble_report(&v->program->diagnostics, FBLE_ERROR, module->value, (struct fble_loc){1, 1},
                    "the module has changed since the library of --compiled was made");
        return false;
    }
    struct fble_emitted *emitted = fble_alloc(arena, sizeof *emitted);
    *emitted = (struct fble_emitted){.module = module,
                                     .main = compiled->codes,
                                     .globals = compiled->globals,
                                     .global_count = compiled->global_count,
                                     .exports = exports_of(arena, compiled),
                                     .export_count = compiled->export_count};
    module->emitted = emitted;
    return fble_compiled_load(v->machine, compiled);
}

static bool load_any(const struct fble_evaluation *v, struct fble_module *module) {
    const struct fble_compiled_module *compiled = find_compiled(v, module);
    return compiled ? load_compiled(v, module, compiled) : load(v, module);
}

fble_ref fble_evaluate(struct fble_evaluation *v) {
    fble_value value = 0;
    if (!v->machine->profile) v->all_blocks = false; // nothing would record them
    for (uint32_t i = 0; i < v->program->modules.count; i++) {
        struct fble_module *module = v->program->modules.at[i];
        if (!load_any(v, module)) return 0;
        value = fble_run(v->machine, fble_pointer(&module->emitted->main->self), NULL, 0);
        if (!value) return 0;
        module->emitted->globals[0] = value;
    }
    return value ? fble_ref_new(v->machine, value) : 0;
}

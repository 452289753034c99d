// SPDX-License-Identifier: MIT
//
// A module as a file of C: the tables (codes, sites, what the collector and error messages read),
// the steps, and last the module itself, by which it is loaded. Everything but the globals and the
// module is static.

#include "translate.h"
#include "vm/machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Letters and digits stay, / is __, everything else is _ and two hex digits.
const char *fble_c_name(struct fble_arena *arena, const char *path) {
    struct fble_text text = {.arena = arena};
    fble_add_string(&text, "");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        char hex[8];
        if (*p == '/')
            fble_add_string(&text, "__");
        else if (*p < 128 && isalnum(*p))
            fble_add(&text, (const char *)p, 1);
        else if (p[1]) // not the % at the end
            fble_add(&text, hex, (size_t)snprintf(hex, sizeof hex, "_%02x", *p));
    }
    return text.at;
}

// Three octal digits never run into the next character.
void fble_write_c_string(FILE *to, const char *text) {
    fputc('"', to);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\' || *p < ' ' || *p == 127)
            fprintf(to, "\\%03o", *p);
        else
            fputc(*p, to);
    }
    fputc('"', to);
}

// Of all functions, one after the other.
static void write_spots(struct translator *t) {
    const struct fble_list *codes = &t->emitted->codes;
    fprintf(t->tables, "static struct fble_spot spots[%u] = {\n", t->spots + 1);
    for (uint32_t i = 0; i < codes->count; i++) {
        const struct fble_code *code = codes->at[i];
        for (uint32_t k = 0; k < code->spot_count; k++)
            fprintf(t->tables, "{0, %u, %u},%c", code->spots[k].line, code->spots[k].column,
                    k + 1 < code->spot_count ? ' ' : '\n');
    }
    fputs("};\n", t->tables);
}

static void write_code(struct translator *t, const struct fble_code *code, uint32_t i,
                       uint32_t first_spot) {
    FILE *to = t->tables;
    fprintf(to, "    {.start = &entry%u.words.op, .enter = f%u, .frame_slots = %u, .arity = %u,\n",
            i, i, code->frame_slots, code->arity);
    fprintf(to, "     .captures = %u, .line = %u, .column = %u, .label = %u,\n", code->captures,
            code->line, code->column, code->label);
    fprintf(to, "     .spots = spots + %u, .spot_count = %u, ", first_spot, code->spot_count);
    fputs(".name = ", to);
    fble_write_c_string(to, code->name);
    fputs(", .file = ", to);
    fble_write_c_string(to, code->file);
    fputs("},\n", to);
}

static void write_codes(struct translator *t) {
    const struct fble_list *codes = &t->emitted->codes;
    uint32_t first_spot = 0;
    for (uint32_t i = 0; i < codes->count; i++)
        fprintf(t->tables,
                "static const struct fble_entry entry%u = FBLE_ENTRY_WORDS(codes + %u);\n", i, i);
    fprintf(t->tables, "static struct fble_code codes[%u] = {\n", codes->count);
    for (uint32_t i = 0; i < codes->count; i++) {
        const struct fble_code *code = codes->at[i];
        write_code(t, code, i, first_spot);
        first_spot += code->spot_count;
    }
    fputs("};\n", t->tables);
}

static void write_blocks(struct translator *t, bool all_blocks) {
    const struct fble_list *labels = &t->emitted->module->labels;
    fputs("static const ouro_block_info blocks[] = {\n", t->tables);
    for (uint32_t i = 0; i < labels->count; i++) {
        const struct fble_label *label = labels->at[i];
        fputs("    {", t->tables);
        fble_write_c_string(t->tables, all_blocks ? fble_label_fine_name(t->arena, label)
                                                  : fble_label_name(t->arena, label));
        fputs(", ", t->tables);
        fble_write_c_string(t->tables, label->unit->file);
        fprintf(t->tables, ", %u, %u},\n", label->loc.line, label->loc.column);
    }
    fputs("};\n", t->tables);
}

static void write_foreign(struct translator *t) {
    const struct fble_list *foreign = &t->emitted->foreign;
    fprintf(t->tables, "static struct fble_foreign_use foreign[%u] = {", foreign->count + 1);
    for (uint32_t i = 0; i < foreign->count; i++) {
        const struct emit_foreign *f = foreign->at[i];
        fputs("{", t->tables);
        fble_write_c_string(t->tables, f->use.module);
        fputs(", ", t->tables);
        fble_write_c_string(t->tables, f->use.name);
        fputs(", 0}, ", t->tables);
    }
    fprintf(t->tables, "{0}};\nstatic const uint32_t foreign_labels[%u] = {", foreign->count + 1);
    for (uint32_t i = 0; i < foreign->count; i++)
        fprintf(t->tables, "%u, ", ((struct emit_foreign *)foreign->at[i])->label->index);
    fputs("0};\n", t->tables);
}

// What other modules know of this one, in the order of its value's fields: its own functions for
// compiled ones, and all functions for those that are interpreted.
static void write_exports(struct translator *t, const char *name) {
    const struct fble_emitted *emitted = t->emitted;
    fprintf(t->code, "\nconst struct fble_code *const FBLE_NAME(fble_exports%s)[] = {", name);
    for (uint32_t i = 0; i < emitted->export_count; i++)
        if (emitted->exports[i] && !c_import_of(t, emitted->exports[i]))
            fprintf(t->code, "codes + %u, ", c_index_of(t, emitted->exports[i]));
        else
            fputs("0, ", t->code);
    fputs("0};\nstatic const struct fble_code *const *const exports[] = {", t->code);
    for (uint32_t i = 0; i < emitted->export_count; i++) {
        const struct emit_export own = {emitted, i}, *export = &own;
        if (emitted->exports[i] && c_import_of(t, emitted->exports[i]))
            export = c_import_of(t, emitted->exports[i]);
        if (emitted->exports[i])
            fprintf(t->code, "&FBLE_NAME(fble_exports%s)[%u], ",
                    fble_c_name(t->arena, export->emitted->module->path->text), export->field);
        else
            fputs("0, ", t->code);
    }
    fputs("0};\n", t->code);
}

static void write_module(const struct translator *t, const char *name, const char *source) {
    FILE *to = t->code;
    fprintf(to, "\nconst struct fble_compiled_module FBLE_NAME(fble_module%s) = {\n    ", name);
    fble_write_c_string(to, t->emitted->module->path->text);
    fputs(", ", to);
    fble_write_c_string(to, source);
    fprintf(to, ", codes, %u, %u, blocks, PLACES, &first_block, foreign, foreign_labels,\n",
            t->emitted->codes.count, t->emitted->module->labels.count);
    fprintf(to, "    FBLE_NAME(fble_globals%s), %u, %u, exports, %u};\n", name,
            t->emitted->foreign.count, t->emitted->global_count, t->emitted->export_count);
}

static void write_imports(struct translator *t, FILE *to, const struct fble_program *program) {
    for (uint32_t i = 0; i < program->modules.count; i++) {
        const struct fble_module *module = program->modules.at[i];
        if (module == t->emitted->module) break;
        if (*fble_pair(t->arena, &t->indices, module, t))
            fprintf(to, "extern fble_value FBLE_NAME(fble_globals%s)[];\n",
                    fble_c_name(t->arena, module->path->text));
        if (*fble_pair(t->arena, &t->indices, module, t->emitted))
            fprintf(to, "extern const struct fble_code *const FBLE_NAME(fble_exports%s)[];\n",
                    fble_c_name(t->arena, module->path->text));
    }
}

static void note_code(struct translator *t, const struct fble_code *code) {
    const struct emit_export *import = c_import_of(t, code);
    if (import) *fble_pair(t->arena, &t->indices, import->emitted->module, t->emitted) = t;
}

static void note_import(struct translator *t, const struct emit_ins *ins) {
    if (ins->op == FBLE_OP_GLOBAL && ins->pointer)
        *fble_pair(t->arena, &t->indices, ((const struct fble_emitted *)ins->pointer)->module, t) =
            t;
    if (fble_operands[ins->op].word == FBLE_ROLE_CODE) note_code(t, ins->pointer);
    if (ins->op == FBLE_OP_CONST && !(ins->word & 1))
        note_code(t, (const void *)(uintptr_t)fble_object(ins->word)->words[0]);
}

static void note_imports(struct translator *t) {
    for (uint32_t i = 0; i < t->emitted->functions.count; i++) {
        const struct emit_function *f = t->emitted->functions.at[i];
        for (uint32_t k = 0; k < f->count; k++) note_import(t, f->ins + k);
    }
    for (uint32_t i = 0; i < t->emitted->export_count; i++)
        if (t->emitted->exports[i]) note_code(t, t->emitted->exports[i]);
}

static void note_indices(struct translator *t) {
    const struct fble_emitted *emitted = t->emitted;
    for (uint32_t i = 0; i < emitted->codes.count; i++)
        *fble_pair(t->arena, &t->indices, emitted->codes.at[i], NULL) = (void *)(uintptr_t)(i + 1);
    for (uint32_t i = 0; i < emitted->foreign.count; i++) {
        struct emit_foreign *f = emitted->foreign.at[i];
        *fble_pair(t->arena, &t->indices, &f->use, NULL) = (void *)(uintptr_t)(i + 1);
    }
}

static void write_head(struct translator *t, FILE *to, const char *name) {
    fputs("// ", to);
    fble_write_c_string(to, t->emitted->module->path->text);
    fputs(", made from ", to);
    fble_write_c_string(to, t->emitted->module->value->file);
    fputs(" by fble compile.\n\n#include <compiled.h>\n\n", to);
    fprintf(to, "static struct fble_code codes[%u];\n", t->emitted->codes.count);
    fprintf(to, "static struct fble_spot spots[%u];\n", t->spots + 1);
    fprintf(to, "#define AT(spot) ((const uint64_t *)(spots + (spot)))\n");
    fprintf(to, "static ouro_block first_block;\n");
    fprintf(to, "fble_value FBLE_NAME(fble_globals%s)[%u];\n", name, t->emitted->global_count);
    fprintf(to, "#define globals FBLE_NAME(fble_globals%s)\n", name);
}

static FILE *stream(char **text, size_t *length) {
    FILE *to = open_memstream(text, length);
    if (!to) fble_out_of_memory();
    return to;
}

void fble_translate(FILE *to, struct fble_program *program, const struct fble_emitted *emitted,
                    const char *source, bool all_blocks) {
    char *texts[4] = {0};
    size_t lengths[4];
    struct translator t = {.arena = &program->arena,
                           .program = program,
                           .emitted = emitted,
                           .steps = stream(texts, lengths),
                           .tables = stream(texts + 1, lengths + 1),
                           .leaves = stream(texts + 2, lengths + 2),
                           .code = stream(texts + 3, lengths + 3)};
    const char *name = fble_c_name(t.arena, emitted->module->path->text);
    note_indices(&t);
    note_imports(&t);
    c_find_leaves(&t);
    c_begin_places(&t);
    fputs("\n#include <compiled_leaf.h>\n", t.leaves);
    for (uint32_t i = 0; i < emitted->functions.count; i++) c_write_function(&t, i);
    fputs("\n#include <compiled_leaf.h>\n", t.leaves);
    write_spots(&t);
    write_codes(&t);
    write_blocks(&t, all_blocks);
    c_write_places(&t);
    write_foreign(&t);
    write_exports(&t, name);
    write_module(&t, name, source);
    write_head(&t, to, name);
    write_imports(&t, to, program);
    FILE *streams[] = {t.steps, t.tables, t.leaves, t.code};
    for (int i = 0; i < 4; i++) {
        fclose(streams[i]);
        fwrite(texts[i], 1, lengths[i], to);
        free(texts[i]);
    }
}

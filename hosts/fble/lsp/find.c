// SPDX-License-Identifier: MIT
//
// What stands at a place of a document, and where it was declared. A name leads to its declaration;
// one that was imported, and a field, lead on to what they name: through the modules and
// definitions whose values the source shows, and else to the field of the struct or union type.

#include "lsp.h"
#include "syntax/diagnostics.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 64 }; // from one import to the next

static const struct fble_unit *unit_of_name(const struct lsp_check *check,
                                            const struct fble_name *name) {
    return check->program.units.at[name->file];
}

// ---------------------------------------------------------------- where it was declared

struct search {
    struct lsp_walk walk;
    const struct fble_declaration *wanted;
    struct lsp_use pick;
};

static void look_for_pick(struct lsp_walk *walk, const struct lsp_use *use) {
    struct search *search = (struct search *)walk;
    if (use->pick && use->declaration == search->wanted) search->pick = *use;
}

// The pick that made a declaration: of two names, the one of the field.
static struct lsp_use pick_of(const struct lsp_check *check, const struct fble_declaration *d) {
    struct search search = {.walk = {.use = look_for_pick}, .wanted = d};
    const struct fble_unit *unit = unit_of_name(check, &d->name);
    if (unit->body) lsp_walk(&search.walk, unit->body);
    return search.pick;
}

// The expression whose value an atom has, as far as the source says: NULL if it does not.
static struct fble_expr *leads_to(struct fble_expr *expr) {
    if (expr->kind == FBLE_BLOCK) return expr->block->result;
    if (expr->kind == FBLE_NAME && expr->name.declaration && expr->name.declaration->defined)
        return expr->name.declaration->defined->value;
    if (expr->kind != FBLE_MODULE || !expr->path->module) return NULL;
    const struct fble_module *module = expr->path->module;
    const struct fble_unit *unit = module->value ? module->value : module->header;
    return unit && unit->body ? unit->body->result : NULL;
}

static const struct fble_slot *slot_of(const struct fble_expr *expr, const struct fble_name *name) {
    const struct fble_slot *slot = expr->exported.slots;
    while (slot && !fble_same_name(&slot->name, name)) slot = slot->next;
    return slot;
}

// The slot that gives a field of the expression before `until` its value, or NULL.
static const struct fble_slot *slot_behind(struct fble_expr *expr, const struct fble_suffix *until,
                                           const struct fble_name *name) {
    for (int i = 0; expr && expr->suffixes == until && i < MOST_STEPS; i++) {
        if (expr->kind == FBLE_EXPORT) return slot_of(expr, name);
        expr = leads_to(expr);
        until = NULL;
    }
    return NULL;
}

static void set_name(const struct lsp_check *check, struct lsp_found *found,
                     const struct fble_name *name) {
    found->unit = unit_of_name(check, name);
    found->loc = name->loc;
    found->first_line = 0;
}

static void set_field(struct lsp_check *check, struct lsp_found *found, const struct lsp_use *use) {
    struct fble_types *types = &check->program.types;
    struct fble_type *owner = use->owner ? fble_normal_inside(types, use->owner) : NULL;
    uint32_t index;
    if (!owner || (owner->kind != FBLE_T_STRUCT && owner->kind != FBLE_T_UNION)) return;
    const struct fble_field *field = fble_find_field(types, owner, use->name, &index);
    if (!field) return;
    if (!found->type) found->type = field->type;
    set_name(check, found, &field->name);
}

static void set_declaration(const struct lsp_check *check, struct lsp_found *found,
                            const struct fble_declaration *declaration) {
    set_name(check, found, &declaration->name);
    const struct fble_definition *defined = declaration->defined;
    if (defined || declaration->kind == FBLE_FOREIGN_VALUE)
        found->first_line = declaration->name.loc.line;
    if (defined && defined->annotation) found->first_line = defined->annotation->start.line;
}

// Follows imports and exports until something is defined.
static void set_target(struct lsp_check *check, struct lsp_found *found, struct lsp_use use) {
    for (int i = 0; i < MOST_STEPS; i++) {
        if (use.declaration && !use.pick) {
            set_declaration(check, found, use.declaration);
            if (use.declaration->kind != FBLE_IMPORTED) return;
            use = pick_of(check, use.declaration);
            if (!use.name) return;
        }
        if (!use.owner && !use.head) {
            set_name(check, found, use.name);
            return;
        }
        const struct fble_slot *slot = slot_behind(use.head, use.until, use.name);
        if (!slot) {
            set_field(check, found, &use);
            return;
        }
        set_name(check, found, &slot->name);
        const struct fble_expr *value = slot->value;
        if (value->kind != FBLE_NAME || value->suffixes || !value->name.declaration) return;
        use = (struct lsp_use){.name = &value->name.name, .declaration = value->name.declaration};
    }
}

// ---------------------------------------------------------------- what stands there

struct finder {
    struct lsp_walk walk;
    const struct lsp_text *text;
    size_t offset;
    struct lsp_found *found;
    struct lsp_use use; // name NULL: no name stands there
    bool behind, any;
};

static void look_at_use(struct lsp_walk *walk, const struct lsp_use *use) {
    struct finder *f = (struct finder *)walk;
    size_t from = lsp_offset_of_loc(f->text, use->name->loc);
    size_t until = lsp_token_end(f->text, from);
    if (f->offset < from || f->offset >= until + f->behind) return;
    if (f->use.name && f->offset == until) return; // of two names, the one that begins here
    f->use = *use;
    f->any = true;
    f->found->from = from;
    f->found->until = until;
}

// The innermost expression around a place is the last that is met here.
static void look_at_expr(struct lsp_walk *walk, struct fble_expr *expr) {
    struct finder *f = (struct finder *)walk;
    size_t from = lsp_offset_of_loc(f->text, expr->start), until = expr->end;
    struct fble_type *type = expr->atom_type;
    const struct fble_suffix *suffix = expr->suffixes;
    for (; suffix && f->offset >= until; suffix = suffix->next) {
        until = suffix->end;
        type = suffix->type;
    }
    if (f->use.name || f->offset < from || f->offset >= until) return;
    bool module = expr->kind == FBLE_MODULE && f->offset < expr->end;
    *f->found = (struct lsp_found){
        .from = from, .until = until, .type = type, .module = module ? expr->path : NULL};
    f->any = true;
}

static void set_module(struct lsp_found *found) {
    const struct fble_module *module = found->module->module;
    found->unit = module ? (module->value ? module->value : module->header) : NULL;
    if (!found->unit) return;
    found->loc = (struct fble_loc){1, 1};
    found->first_line = 1;
}

static bool find(struct lsp_check *check, size_t offset, bool behind, struct lsp_found *found) {
    struct finder f = {.walk = {.use = look_at_use, .expr = look_at_expr},
                       .text = &check->text,
                       .offset = offset,
                       .behind = behind,
                       .found = found};
    lsp_walk(&f.walk, check->unit->body);
    if (!f.any) return false;
    fble_types_enter(&check->program.types, check->path);
    found->check = check;
    if (!f.use.name) {
        if (found->module) set_module(found);
        return true;
    }
    found->name = f.use.name;
    found->module = NULL;
    found->type = f.use.type;
    set_target(check, found, f.use);
    return true;
}

bool lsp_find(const struct lsp_document *document, struct lsp_position position, bool behind,
              struct lsp_found *found) {
    const struct lsp_text *now = &document->check->text;
    struct lsp_check *check = document->good;
    size_t offset = lsp_offset(now->at, now->length, position), until = offset;
    *found = (struct lsp_found){0};
    if (!check || !document->check->unit) return false;
    if (check == document->check) return find(check, offset, behind, found);
    return lsp_moved(now, &check->text, &offset, &until) && find(check, offset, behind, found) &&
           lsp_moved(&check->text, now, &found->from, &found->until);
}

// ---------------------------------------------------------------- hover

static const char *line_at(const struct lsp_text *text, uint32_t line, size_t *length) {
    size_t from = lsp_offset_of_loc(text, (struct fble_loc){line, 1});
    size_t until = lsp_offset_of_loc(text, (struct fble_loc){line + 1, 1});
    const char *at = text->at + from;
    *length = until - from;
    while (*length && strchr("\r\n", at[*length - 1])) --*length;
    while (*length && (*at == ' ' || *at == '\t')) at++, --*length;
    return at;
}

static bool is_comment(const struct lsp_text *text, uint32_t line) {
    size_t length;
    const char *at = line_at(text, line, &length);
    return length && *at == '#' && !memmem(at, length, "SPDX-", 5);
}

static void print_comments(FILE *to, const struct lsp_text *text, uint32_t first, uint32_t behind) {
    if (first < behind) fputs("\n\n", to);
    for (uint32_t line = first; line < behind; line++) {
        size_t length;
        const char *at = line_at(text, line, &length);
        size_t skip = length > 1 && at[1] == ' ' ? 2 : 1;
        fprintf(to, "%s%.*s", line > first ? "\n" : "", (int)(length - skip), at + skip);
    }
}

// The comment before a declaration, or at the top of a module.
static void print_comment(FILE *to, const struct lsp_found *found) {
    if (!found->unit || !found->unit->text || !found->first_line) return;
    struct fble_arena scratch = {0};
    struct lsp_text text = lsp_unit_text(&scratch, found->unit);
    uint32_t first = found->first_line, behind = first;
    if (found->module) {
        while (first < text.count && !is_comment(&text, first) && first < 3) first++;
        behind = first;
        while (behind <= text.count && is_comment(&text, behind)) behind++;
    } else {
        while (first > 1 && is_comment(&text, first - 1)) first--;
    }
    print_comments(to, &text, first, behind);
    fble_arena_free(&scratch);
}

// As one would write it: `TYPE name`, or `Name@ = TYPE` for a type.
static void print_type(FILE *to, const struct lsp_found *found) {
    struct fble_types *types = &found->check->program.types;
    const char *name = found->name ? fble_name_text(types->arena, found->name) : NULL;
    struct fble_type *type = found->type;
    if (name && type && type->kind == FBLE_T_TYPEOF)
        fprintf(to, "%s = %s", name, fble_type_text_open(types, type->inner));
    else if (name && type)
        fprintf(to, "%s %s", fble_type_text(types, type), name);
    else if (name)
        fputs(name, to);
    else
        fputs(type ? fble_type_text(types, type) : "the type is not known", to);
}

void lsp_print_hover(FILE *to, const struct lsp_document *document, const struct lsp_found *found) {
    char *shown = NULL;
    size_t length;
    FILE *text = open_memstream(&shown, &length);
    if (!text) fble_out_of_memory();
    fputs("```fble\n", text);
    print_type(text, found);
    fputs("\n```", text);
    print_comment(text, found);
    fclose(text);
    fputs("{\"contents\":{\"kind\":\"markdown\",\"value\":", to);
    fble_print_json(to, shown, length);
    free(shown);
    fputs("},\"range\":", to);
    lsp_print_range(to, &document->check->text, found->from, found->until);
    fputs("}", to);
}

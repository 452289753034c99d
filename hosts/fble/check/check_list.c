// SPDX-License-Identifier: MIT
//
// Lists and literals. A list type is recognised by its shape, since the language has no built-in
// one. For a literal the letters of the element type are collected once, in the order in which they
// are to be tried, and sorted into buckets by first byte, so that a word of a million letters is
// split in one pass.

#include "checker.h"

#include <string.h>

static bool is_unit(struct fble_types *types, struct fble_type *type) {
    type = fble_normal(types, type);
    return type && type->kind == FBLE_T_STRUCT && type->data.count == 0;
}

// The element type of a list type, or NULL.
static struct fble_type *element_of(struct fble_types *types, struct fble_type *type) {
    struct fble_type *list = fble_normal(types, type);
    if (!list || list->kind != FBLE_T_UNION || list->data.count != 2) return NULL;
    struct fble_type *cons = fble_normal(types, list->data.fields[0].type);
    if (!cons || cons->kind != FBLE_T_STRUCT || cons->data.count != 2) return NULL;
    if (!is_unit(types, list->data.fields[1].type)) return NULL;
    if (!fble_equal(types, cons->data.fields[1].type, list)) return NULL;
    return cons->data.fields[0].type;
}

// The element type for a function that takes a list; an error at `at` if it does not.
static struct fble_type *list_element(struct fble_checker *checker, struct fble_type *head,
                                      struct fble_type *func, struct fble_loc at,
                                      const char *what) {
    if (!func) return NULL;
    if (func->kind != FBLE_T_FUNC) {
        fble_complain(checker, at, "a %s needs a function in front of it; this %s %s", what,
                      func->kind == FBLE_T_TYPEOF ? "is the type" : "has type",
                      fble_show(checker, func->kind == FBLE_T_TYPEOF ? func->inner : head));
        return NULL;
    }
    struct fble_type *element = element_of(checker->types, func->func.arg);
    if (!element)
        fble_hint(checker->diagnostics,
                  fble_complain(checker, at, "a %s needs a function of a list, but this takes %s",
                                what, fble_show(checker, func->func.arg)),
                  "a list type looks like L@ = +(*(T@ head, L@ tail) cons, *() nil)");
    return element;
}

static struct fble_type *check_elements(struct fble_checker *checker, struct fble_suffix *suffix,
                                        struct fble_inferred *inferred, struct fble_loc at) {
    struct fble_type *func = inferred->inside;
    struct fble_type *element = list_element(checker, inferred->poly, func, at, "list");
    if (!element) return NULL;
    bool good = true;
    for (struct fble_expr *arg = suffix->call.args; arg; arg = arg->next) {
        good &= arg->type != NULL;
        fble_match(checker, inferred, element, arg->type);
    }
    if (!good || !fble_all_inferred(checker, inferred, at)) return NULL;
    if (inferred->count) {
        func = fble_normal(checker->types, fble_apply_inferred(checker, inferred));
        element =
            func && func->kind == FBLE_T_FUNC ? element_of(checker->types, func->func.arg) : NULL;
        if (!element) return NULL;
    }
    for (struct fble_expr *arg = suffix->call.args; arg; arg = arg->next) {
        if (fble_equal(checker->types, element, arg->type)) continue;
        fble_complain_mismatch(checker, fble_expr_loc(arg), "the element", element, arg->type);
        good = false;
    }
    return good && fble_inferred_fits(checker, inferred, at) ? func->func.result : NULL;
}

struct fble_type *fble_check_list(struct fble_checker *checker, struct fble_suffix *suffix,
                                  struct fble_type *head, struct fble_loc at) {
    fble_check_all(checker, suffix->call.args);
    if (!head) return NULL;
    struct fble_inferred inferred;
    fble_open_poly(checker, &inferred, head);
    struct fble_type *type = check_elements(checker, suffix, &inferred, at);
    fble_infer_end(inferred.params, inferred.count);
    return type;
}

// A letter table entry: letters with the same first byte, in the order of trying.
struct entry {
    struct entry *next;
    struct fble_letter *letter;
};

struct alphabet {
    struct entry *first[256], **last[256];
};

static void add_letter(struct fble_checker *checker, struct alphabet *alphabet,
                       struct fble_letter *letter) {
    if (!letter->word->length) return;
    unsigned char byte = (unsigned char)letter->word->text[0];
    struct entry *entry = fble_alloc(checker->arena, sizeof *entry);
    entry->letter = letter;
    *(alphabet->last[byte] ? alphabet->last[byte] : &alphabet->first[byte]) = entry;
    alphabet->last[byte] = &entry->next;
}

// A union on the way: the next field to look at.
struct visit {
    struct fble_type *type;
    struct fble_letter *as; // the field that it is of the union around it
    uint32_t next;
};

static void enter_union(struct fble_checker *checker, struct fble_list *stack,
                        struct fble_pairs *seen, struct fble_type *type, struct fble_letter *as) {
    // A union that was searched before, or is being searched, has no letter that is not earlier in
    // the table; so each is entered once, and the table stays linear in the size of the types.
    void **been = fble_pair(checker->arena, seen, type, NULL);
    if (*been) return;
    *been = type;
    struct visit *visit = fble_alloc(checker->arena, sizeof *visit);
    *visit = (struct visit){.type = type, .as = as};
    fble_push(checker->arena, stack, visit);
}

static void collect_letters(struct fble_checker *checker, struct alphabet *alphabet,
                            struct fble_type *type) {
    struct fble_list stack = {0};
    struct fble_pairs seen = {0};
    enter_union(checker, &stack, &seen, type, NULL);
    while (stack.count) {
        struct visit *visit = stack.at[stack.count - 1];
        if (visit->next == visit->type->data.count) {
            stack.count--;
            continue;
        }
        uint32_t i = visit->next++;
        struct fble_field *field = &visit->type->data.fields[i];
        struct fble_type *normal = fble_normal(checker->types, field->type);
        if (!normal) continue;
        bool unit = normal->kind == FBLE_T_STRUCT && normal->data.count == 0;
        if (!unit && normal->kind != FBLE_T_UNION) continue;
        struct fble_letter *letter = fble_alloc(checker->arena, sizeof *letter);
        *letter = (struct fble_letter){.parent = visit->as, .word = field->name.word, .field = i};
        if (unit)
            add_letter(checker, alphabet, letter);
        else
            enter_union(checker, &stack, &seen, normal, letter);
    }
}

static struct fble_letter *next_letter(const struct alphabet *alphabet, const char *at,
                                       size_t left) {
    for (struct entry *e = alphabet->first[(unsigned char)*at]; e; e = e->next) {
        const struct fble_word *word = e->letter->word;
        if (word->length <= left && !memcmp(word->text, at, word->length)) return e->letter;
    }
    return NULL;
}

static void complain_letter(struct fble_checker *checker, struct fble_suffix *suffix,
                            uint32_t offset, struct fble_type *element) {
    const char *text = suffix->literal.word->text;
    struct fble_loc loc = {suffix->literal.loc.line, suffix->literal.loc.column + offset};
    for (uint32_t i = 0; i < offset; i++) {
        if (text[i] != '\n') continue;
        loc.line++;
        loc.column = offset - i;
    }
    fble_complain(checker, loc, "no letter of %s begins with what stands here",
                  fble_show(checker, element));
}

// Collected once per file and element type: programs have many literals over few alphabets.
static struct alphabet *alphabet_of(struct fble_checker *checker, struct fble_type *normal) {
    struct alphabet *alphabet = *fble_pair(checker->arena, &checker->alphabets, normal, NULL);
    if (alphabet) return alphabet;
    alphabet = fble_alloc(checker->arena, sizeof *alphabet);
    collect_letters(checker, alphabet, normal);
    return *fble_pair(checker->arena, &checker->alphabets, normal, NULL) = alphabet;
}

static bool split(struct fble_checker *checker, struct fble_suffix *suffix,
                  struct fble_type *element, struct fble_type *normal) {
    struct alphabet *alphabet = alphabet_of(checker, normal);
    const struct fble_word *word = suffix->literal.word;
    struct fble_letter **letters = fble_alloc(checker->arena, word->length * sizeof *letters);
    suffix->literal.letters = letters;
    for (uint32_t i = 0; i < word->length;) {
        struct fble_letter *letter = next_letter(alphabet, word->text + i, word->length - i);
        if (!letter) {
            complain_letter(checker, suffix, i, element);
            return false;
        }
        letters[suffix->literal.count++] = letter;
        i += letter->word->length;
    }
    return true;
}

struct fble_type *fble_check_literal(struct fble_checker *checker, struct fble_suffix *suffix,
                                     struct fble_type *head, struct fble_loc at) {
    struct fble_type *func = head ? fble_normal(checker->types, head) : NULL;
    if (func && func->kind == FBLE_T_POLY) {
        fble_hint(checker->diagnostics,
                  fble_complain(checker, at, "a literal cannot infer the type parameter %s",
                                fble_show_name(checker, &func->poly.param->variable.name)),
                  "give it in angle brackets");
        return NULL;
    }
    struct fble_type *element = list_element(checker, head, func, at, "literal");
    struct fble_type *normal = element ? fble_normal(checker->types, element) : NULL;
    if (!normal) return NULL;
    if (normal->kind != FBLE_T_UNION) {
        fble_complain(checker, at, "the letters of a literal are the tags of a union, not of %s",
                      fble_show(checker, element));
        return NULL;
    }
    return split(checker, suffix, element, normal) ? func->func.result : NULL;
}

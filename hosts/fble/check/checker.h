// SPDX-License-Identifier: MIT
//
// The type checker's own header: what its files share. From outside only fble_check_unit is used.
//
// A function that computes a type returns NULL when there is none; the reason has been reported
// then, and whatever contains the expression fails silently. Parts are checked before the whole,
// so the inner error is the one that is seen.

#ifndef FBLE_CHECKER_H
#define FBLE_CHECKER_H

#include "syntax/diagnostics.h"
#include "types/types.h"

struct fble_checker {
    struct fble_arena *arena;
    struct fble_types *types;
    struct fble_words *words;
    struct fble_diagnostics *diagnostics;
    struct fble_unit *unit;
    uint32_t depth;                // type parameters in scope
    uint32_t in_typeof;            // @<...> around the expression, which will not be evaluated
    struct fble_list scope;        // declarations in scope, innermost last
    struct fble_list open;         // statements whose rest is being checked
    struct fble_pairs alphabets;   // of check_list.c
    struct fble_diagnostic unsaid; // stands for messages that are not given, see too_large
};

// Checks one file, as part of the module that `types` was entered for. Sets unit->type.
void fble_check_unit(struct fble_checker *checker);

// Type of an expression, also stored in it.
struct fble_type *fble_check(struct fble_checker *checker, struct fble_expr *expr);
// The same without `stop` and the suffixes after it; *at is where a message about that stands.
struct fble_type *fble_check_until(struct fble_checker *checker, struct fble_expr *expr,
                                   const struct fble_suffix *stop, struct fble_loc *at);
// The type that an expression denotes; an error at the expression if it denotes none.
struct fble_type *fble_check_type(struct fble_checker *checker, struct fble_expr *expr);
// Of all in a list; false if one of them has errors.
bool fble_check_all(struct fble_checker *checker, struct fble_expr *list);
// Parameters come into scope one after the other: each sees those before it.
bool fble_check_params(struct fble_checker *checker, struct fble_func *func,
                       enum fble_declaration_kind kind);
struct fble_type *fble_func_value_type(struct fble_checker *checker, struct fble_func *func,
                                       struct fble_type *result);
struct fble_type *fble_check_body(struct fble_checker *checker, struct fble_body *body);
// The suffix applied to a head with this type.
struct fble_type *fble_check_suffix(struct fble_checker *checker, struct fble_expr *expr,
                                    struct fble_suffix *suffix, struct fble_type *head,
                                    struct fble_loc at);
struct fble_type *fble_check_call(struct fble_checker *checker, struct fble_suffix *suffix,
                                  struct fble_type *head, struct fble_loc at,
                                  struct fble_loc whole);
struct fble_type *fble_check_union_value(struct fble_checker *checker, struct fble_suffix *suffix,
                                         struct fble_type *head, struct fble_loc at);
struct fble_type *fble_check_list(struct fble_checker *checker, struct fble_suffix *suffix,
                                  struct fble_type *head, struct fble_loc at);
struct fble_type *fble_check_literal(struct fble_checker *checker, struct fble_suffix *suffix,
                                     struct fble_type *head, struct fble_loc at);
// A select in two steps, since the default of a guard is checked last: the arms' expressions and
// their order, then their types against the default's, or the first arm's if there is no default.
bool fble_check_branches(struct fble_checker *checker, struct fble_suffix *suffix,
                         struct fble_type *head, struct fble_loc at, struct fble_loc whole,
                         bool other);
struct fble_type *fble_check_arms(struct fble_checker *checker, struct fble_suffix *suffix,
                                  struct fble_type *other, bool has_other);
// One argument to a function: infers, compares, gives the result type.
struct fble_type *fble_apply(struct fble_checker *checker, struct fble_type *func,
                             struct fble_type *arg, struct fble_loc at, struct fble_loc arg_loc);

// Inference for a head with poly parameters in front; see check_call.c.
struct fble_inferred {
    struct fble_type *poly;    // as given
    struct fble_type **params; // the removed parameters
    uint32_t count;
    struct fble_type *inside; // normal form without them; mentions them
};

void fble_open_poly(struct fble_checker *checker, struct fble_inferred *inferred,
                    struct fble_type *poly);
void fble_match(struct fble_checker *checker, struct fble_inferred *inferred,
                struct fble_type *expected, struct fble_type *actual);
// Are all parameters assigned? Otherwise an error at `at`.
bool fble_all_inferred(struct fble_checker *checker, struct fble_inferred *inferred,
                       struct fble_loc at);
// The poly applied to what was found. `fits` afterwards checks the kinds.
struct fble_type *fble_apply_inferred(struct fble_checker *checker, struct fble_inferred *inferred);
bool fble_inferred_fits(struct fble_checker *checker, struct fble_inferred *inferred,
                        struct fble_loc at);

// The scope is a stack of declarations.
struct fble_declaration *fble_declare(struct fble_checker *checker, const struct fble_name *name,
                                      enum fble_declaration_kind kind, struct fble_type *type);
void fble_leave_scope(struct fble_checker *checker, uint32_t count);

// Names must hold values of their namespace's level; an error at the name if this one does not.
bool fble_check_namespace(struct fble_checker *checker, const struct fble_name *name,
                          struct fble_type *type);

// Hints may take long to find; a program with very many errors goes without.
static inline bool fble_wants_hints(const struct fble_checker *checker) {
    return checker->diagnostics->errors <= 100;
}

// Messages, each at a location of the unit.
struct fble_diagnostic *fble_complain(struct fble_checker *checker, struct fble_loc at,
                                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Says, if it is so, why nothing can be done with a value of this type or with the type itself.
void fble_hint_opaque(struct fble_checker *checker, struct fble_diagnostic *diagnostic,
                      struct fble_type *type);
void fble_complain_mismatch(struct fble_checker *checker, struct fble_loc at, const char *what,
                            struct fble_type *expected, struct fble_type *actual);
// Says where the two types were declared, and how to get to the first difference.
void fble_explain_mismatch(struct fble_checker *checker, struct fble_diagnostic *diagnostic,
                           struct fble_type *expected, struct fble_type *actual);
void fble_complain_field(struct fble_checker *checker, const struct fble_name *name,
                         struct fble_type *type, const char *what);
const char *fble_show_name(struct fble_checker *checker, const struct fble_name *name);
const char *fble_show(struct fble_checker *checker, struct fble_type *type);

#endif

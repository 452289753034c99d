// SPDX-License-Identifier: MIT
//
// Types are nodes of a graph; every cycle passes through a let-bound variable. Nodes are never
// changed once made, but for a let-bound variable, which gets its definition when its let is done,
// and for the fields marked as memory of an algorithm.
//
// A type-of stands at the outside only, or as a field, argument or result: never under a poly, in
// an application, in a private type or as the definition of a variable. So whether an expression
// is a type can be read off the outermost node of its type.

#ifndef FBLE_TYPES_H
#define FBLE_TYPES_H

#include "syntax/tree.h"

enum fble_kind_of_type {
    FBLE_T_STRUCT,
    FBLE_T_UNION,
    FBLE_T_FUNC,
    FBLE_T_PACKAGE,
    FBLE_T_TYPEOF,
    // The kinds above are always in normal form, those below may not be.
    FBLE_T_POLY,
    FBLE_T_APPLY,
    FBLE_T_PRIVATE,
    FBLE_T_VARIABLE,
};

struct fble_field {
    struct fble_name name;
    struct fble_type *type;
};

enum fble_kind_of_variable {
    FBLE_V_PARAMETER, // abstract for ever
    FBLE_V_TYPE,      // T@ = ...: abstract until its let is done
    FBLE_V_VALUE,     // the type of x = ... while its let is being checked
};

struct fble_type {
    enum fble_kind_of_type kind;
    // No parameter mentioned in this type was declared deeper than this, counting the type
    // parameters around it; so a type whose depth is below V's does not mention V.
    uint32_t depth;
    union {
        struct {
            struct fble_field *fields;
            uint32_t count;
        } data;
        struct {
            struct fble_type *arg, *result;
        } func;
        struct {
            struct fble_type *param, *body;
        } poly;
        struct {
            struct fble_type *head, *arg;
        } apply;
        struct fble_path *package;
        struct {
            struct fble_type *inner;
            struct fble_path *package;
        } private;
        struct {
            enum fble_kind_of_variable kind;
            struct fble_name name;
            struct fble_kind *type_kind;  // of parameters
            struct fble_type *definition; // of let-bound variables, once there is one
        } variable;
        struct fble_type *inner; // of type-of
    };
    // For messages: where a variable or a struct or union was declared. line 0: nowhere.
    const struct fble_unit *unit;
    struct fble_loc loc;
    struct fble_type *type_of; // memory of fble_type_of
    struct fble_type *written; // the application it was made from, for messages
    // Memory of normal.c, equality.c and inference.c.
    struct fble_type *normal, *same, *copy, *assigned;
    uint64_t normal_stamp, same_stamp, copy_stamp, vacuous_stamp, solid_stamp;
    uint32_t same_rank;
    struct fble_kind *kind_memory; // of types.c
    bool busy, inferring, instance, kind_known, indexed;
};

// What the type algorithms share. Private types are transparent to modules of their package, so
// normal forms and equalities hold for one module: `module_stamp` changes with the module.
struct fble_types {
    struct fble_arena *arena;
    const struct fble_path *module;
    const struct fble_unit *unit; // the file that types are being made for
    uint64_t module_stamp, copy_stamp;
    bool as_host;    // see fble_types_enter_as_host
    uint64_t budget; // nodes that may still be copied, see FBLE_MOST_COPIES
    bool exhausted;  // the budget was not enough: types may be wrong from now on
    bool exhausted_said;
    struct fble_pairs applications, instances, fields;
    struct fble_list work, copies, unions, pending;
    struct fble_pairs matched, bound;
};

// A type-level program can grow without sense; the checker gives up beyond this many nodes.
enum { FBLE_MOST_COPIES = 1000000 };

void fble_types_enter(struct fble_types *types, const struct fble_path *module);
// As a host sees values: private types are open and the names of fields do not count, so types are
// equal if their values are laid out alike. Until a module is entered again.
void fble_types_enter_as_host(struct fble_types *types);

// Constructors. The depth is computed from the parts.
struct fble_type *fble_data_type(struct fble_types *types, enum fble_kind_of_type kind,
                                 struct fble_field *fields, uint32_t count, struct fble_loc loc);
struct fble_type *fble_func_type(struct fble_types *types, struct fble_type *arg,
                                 struct fble_type *result);
struct fble_type *fble_poly_type(struct fble_types *types, struct fble_type *param,
                                 struct fble_type *body);
struct fble_type *fble_apply_type(struct fble_types *types, struct fble_type *head,
                                  struct fble_type *arg);
struct fble_type *fble_package_type(struct fble_types *types, struct fble_path *package);
struct fble_type *fble_private_type(struct fble_types *types, struct fble_type *inner,
                                    struct fble_path *package);
struct fble_type *fble_parameter(struct fble_types *types, const struct fble_name *name,
                                 struct fble_kind *kind, uint32_t depth);
struct fble_type *fble_let_variable(struct fble_types *types, const struct fble_name *name,
                                    uint32_t depth);
void fble_define(struct fble_type *variable, struct fble_type *definition);
struct fble_type *fble_type_of(struct fble_types *types, struct fble_type *type);

// The number of type-ofs around a type, and the type without them and with them again.
uint32_t fble_level(const struct fble_type *type);
struct fble_type *fble_strip(struct fble_type *type, uint32_t *level);
struct fble_type *fble_wrap(struct fble_types *types, struct fble_type *type, uint32_t level);

// The field of a struct or union type, and its index, or NULL.
const struct fble_field *fble_find_field(struct fble_types *types, struct fble_type *type,
                                         const struct fble_name *name, uint32_t *index);

// Normal form of the head: never a defined variable, a private type with access, or an application
// that reduces. NULL for a vacuous type, whose normal form would need itself.
struct fble_type *fble_normal(struct fble_types *types, struct fble_type *type);
// The same without leading poly parameters; only for reading the shape.
struct fble_type *fble_normal_inside(struct fble_types *types, struct fble_type *type);
// `poly` is in normal form and a poly.
struct fble_type *fble_instance(struct fble_types *types, struct fble_type *poly,
                                struct fble_type *arg);
bool fble_mentions(struct fble_types *types, struct fble_type *type, const struct fble_type *param);
// Reached through any number of private layers, access or not.
bool fble_vacuous(struct fble_types *types, struct fble_type *type);

struct fble_kind *fble_kind_of(struct fble_types *types, struct fble_type *type);
bool fble_kind_equal(const struct fble_kind *a, const struct fble_kind *b);
// May something of kind `actual` stand where `expected` is asked for?
bool fble_kind_fits(const struct fble_kind *expected, const struct fble_kind *actual);

bool fble_equal(struct fble_types *types, struct fble_type *a, struct fble_type *b);
bool fble_has_access(const struct fble_types *types, const struct fble_path *package);

// Inference: mark the parameters, match expected against actual types, read `assigned`, unmark.
void fble_infer_start(struct fble_type **params, uint32_t count);
void fble_infer_match(struct fble_types *types, struct fble_type *expected,
                      struct fble_type *actual, uint32_t outermost);
void fble_infer_end(struct fble_type **params, uint32_t count);

// The declaration behind what a message calls the type: of a variable, of the head of an
// application, of a struct or union without a name. NULL: there is none.
const struct fble_type *fble_declaration_of(struct fble_type *type);

// A type as the programmer wrote it, with names, cut to a sensible length. The second form opens
// the outermost name, for telling apart two types of the same name.
const char *fble_type_text(struct fble_types *types, struct fble_type *type);
const char *fble_type_text_open(struct fble_types *types, struct fble_type *type);
const char *fble_kind_text(struct fble_arena *arena, const struct fble_kind *kind);
void fble_add_kind(struct fble_text *text, const struct fble_kind *kind);

#endif

// SPDX-License-Identifier: MIT
//
// The syntax tree, and what the checker writes into it. There is one tree: the parser builds it,
// the checker fills the fields marked [checker], and that is the typed, labelled program which the
// next stage compiles. After a run without errors every [checker] field holds what is said here.
//
// Shape. An expression is an atom with a list of suffixes, `a.b(c)` being the atom `a` with an
// access and a call, because chains may be very long and are worked off by a loop. A body is a list
// of statements and a result, for the same reason. Only brackets nest, at most FBLE_DEEPEST levels,
// so walks of the tree may recurse over brackets, and nothing else.
//
// Erasure. An expression whose `type` is a type-of (types.h) denotes a type: its value is a dummy,
// and a function does not capture what is mentioned only there. @<...> is never evaluated. Poly
// brackets, type applications and private casts do nothing. What a compiler needs is
//   name         -> declaration            access       -> field
//   call         -> form: struct or apply  union value  -> field
//   select       -> chosen                 literal      -> letters
//   path         -> path->module           let          -> recursive
// and the labels (labels.h) on bodies, definitions, arms and foreign names.
//
// Lists are linked through `next`, in the order of the source.

#ifndef FBLE_TREE_H
#define FBLE_TREE_H

#include "words.h"

enum { FBLE_DEEPEST = 2500 };

struct fble_type;
struct fble_label;
struct fble_statement;
struct fble_definition;

enum fble_declaration_kind {
    FBLE_LET_VARIABLE,
    FBLE_IMPORTED,
    FBLE_FOREIGN_VALUE,
    FBLE_PARAMETER,
    FBLE_BIND_PARAMETER,
    FBLE_TYPE_PARAMETER,
};

// What a name stands for, made by the checker where the name is introduced.
struct fble_declaration {
    struct fble_name name;
    enum fble_declaration_kind kind;
    struct fble_type *type;           // of the variable; NULL: it is broken, and that was reported
    struct fble_declaration *shadows; // what the name meant outside
    struct fble_statement *open_let;  // its let, while the definitions are being checked
    struct fble_definition *defined;  // of let variables
    bool used;                        // mentioned by something that is used itself
    uint32_t slot;                    // for the next stage, untouched here
};

enum fble_kind_of_expr {
    FBLE_NAME,        // x
    FBLE_MODULE,      // /A/B%
    FBLE_TYPEOF,      // @<e>
    FBLE_PACKAGE,     // @/A/B%
    FBLE_EXPORT,      // @(x, y: e)
    FBLE_STRUCT_TYPE, // *(T@ x)
    FBLE_UNION_TYPE,  // +(T@ x)
    FBLE_BLOCK,       // { ... }
    FBLE_FUNC_TYPE,   // (A@, B@) { R@; }
    FBLE_FUNC,        // (A@ a, B@ b) { ... }
    FBLE_POLY,        // <@ T@> { ... }
};

enum fble_kind_of_suffix {
    FBLE_CALL,        // (a, b)
    FBLE_UNION_VALUE, // (f: a)
    FBLE_ACCESS,      // .f
    FBLE_COPY,        // .@(f: a)
    FBLE_SELECT,      // .?(f: a, : b)
    FBLE_PRIVATE,     // .%(P@)
    FBLE_TYPE_APPLY,  // <A@, B@>
    FBLE_LIST,        // [a, b]
    FBLE_LITERAL,     // |word
};

// What a call turned out to be.
enum fble_call_form { FBLE_CALL_UNKNOWN, FBLE_CALL_STRUCT, FBLE_CALL_APPLY };

struct fble_expr;
struct fble_body;

// The kind of a type: NULL is "@", otherwise a type that expects an argument of kind `arg`.
struct fble_kind {
    struct fble_kind *arg, *result;
};

// The parameters of functions and binds, and the fields of struct and union types.
struct fble_param {
    struct fble_param *next;
    struct fble_expr *type;
    struct fble_name name;
    struct fble_declaration *declaration; // [checker] of parameters
};

struct fble_type_param {
    struct fble_type_param *next;
    struct fble_kind *kind;
    struct fble_name name;
    struct fble_type *variable; // [checker]
};

// `x: e` in exports and copies. `implicit`: written as `x` alone, the value being made up.
struct fble_slot {
    struct fble_slot *next;
    struct fble_name name;
    struct fble_expr *value;
    bool implicit;
    uint32_t field; // [checker] of copies: the index of the replaced field
};

struct fble_arm {
    struct fble_arm *next;
    struct fble_name name;
    struct fble_expr *value;
    struct fble_label *label; // [checker]
};

// The letters of a literal's element type: `parent` is the letter's union, as a field of a larger
// one, and NULL at the top. A letter's value is built from its own tag outwards.
struct fble_letter {
    struct fble_letter *parent;
    struct fble_word *word;
    uint32_t field;
};

struct fble_suffix {
    struct fble_suffix *next;
    enum fble_kind_of_suffix kind;
    uint32_t end;           // behind its last token, as an offset in the text
    struct fble_type *type; // [checker] of the chain up to here
    union {
        struct { // FBLE_CALL, FBLE_LIST, FBLE_TYPE_APPLY
            struct fble_expr *args;
            uint32_t count;
            enum fble_call_form form; // [checker] of calls
        } call;
        struct { // FBLE_UNION_VALUE, FBLE_ACCESS
            struct fble_name name;
            struct fble_expr *value; // of union values
            uint32_t field;          // [checker] index of the tag or field
            bool of_union;           // [checker] an access that must look at the tag
        } field;
        struct fble_slot *copy;
        struct {
            struct fble_arm *arms;
            uint32_t count;
            struct fble_expr *other;  // the default, or NULL
            struct fble_arm **chosen; // [checker] per tag; NULL: the default, or a guard's rest
            uint32_t tags;            // [checker]
            struct fble_label *label; // [checker] of the default
        } select;
        struct fble_expr *package; // FBLE_PRIVATE
        struct {
            struct fble_word *word;
            struct fble_loc loc;
            struct fble_letter **letters; // [checker]
            uint32_t count;               // [checker]
        } literal;
    };
};

struct fble_func {
    struct fble_param *params;
    uint32_t count;
    struct fble_expr *body;
    // [checker] Directly nested literals are one function: `chained` marks the inner ones, all
    // share the label, and the code runs when the last parameter of the chain has arrived.
    struct fble_label *label;
    bool chained;
};

struct fble_expr {
    struct fble_expr *next; // in a list of arguments
    enum fble_kind_of_expr kind;
    uint32_t end;          // behind the atom's last token, as an offset in the text
    struct fble_loc start; // the first token
    struct fble_loc loc;   // of the atom: differs from start for { ... }
    struct fble_suffix *suffixes;
    struct fble_type *atom_type; // [checker]
    struct fble_type *type;      // [checker] of the whole
    union {
        struct {
            struct fble_name name;
            struct fble_declaration *declaration; // [checker]
        } name;
        struct fble_path *path;  // FBLE_MODULE, FBLE_PACKAGE
        struct fble_expr *inner; // FBLE_TYPEOF
        struct {
            struct fble_slot *slots;
            uint32_t count;
        } exported;
        struct {
            struct fble_param *fields;
            uint32_t count;
        } data;
        struct fble_body *block;
        struct {
            struct fble_expr *args;
            struct fble_expr *result;
        } func_type;
        struct fble_func func;
        struct {
            struct fble_type_param *params;
            struct fble_expr *body;
        } poly;
    };
};

// Where a message about the expression stands.
static inline struct fble_loc fble_expr_loc(const struct fble_expr *expr) {
    return expr->suffixes ? expr->start : expr->loc;
}

enum fble_kind_of_statement {
    FBLE_LET,
    FBLE_STRUCT_IMPORT,
    FBLE_BIND_STMT,
    FBLE_FOREIGN,
    FBLE_GUARD
};

struct fble_definition {
    struct fble_definition *next;
    struct fble_expr *annotation; // or NULL
    struct fble_name name;
    struct fble_expr *value;
    struct fble_declaration *declaration; // [checker]
    struct fble_label *label;             // [checker] of the evaluation of the definition
    bool broken;                          // [checker] it has errors, so the variable has no type
    bool alias_cycle;                     // [checker] it is a type that is another name of itself
    uint32_t walk;                        // memory of check_body.c, which walk came here
    struct fble_statement *let;           // [checker]
    struct fble_definition *next_used;    // memory of warnings.c
};

struct fble_pick {
    struct fble_pick *next;
    struct fble_expr *annotation; // or NULL
    struct fble_name name;
    struct fble_name field;               // word NULL: as the variable
    struct fble_declaration *declaration; // [checker]
    struct fble_type *found;              // [checker] the field's type
    uint32_t index;                       // [checker] of the field
};

static inline const struct fble_name *fble_pick_field(const struct fble_pick *pick) {
    return pick->field.word ? &pick->field : &pick->name;
}

struct fble_statement {
    struct fble_statement *next;
    enum fble_kind_of_statement kind;
    struct fble_loc loc;
    struct fble_type *type; // [checker] of the rest of the body, from here on
    union {
        struct {
            struct fble_definition *definitions;
            bool recursive; // [checker] some definition mentions a variable of this let
            struct fble_definition *used; // memory of warnings.c
        } let;
        struct {
            struct fble_pick *picks;
            struct fble_expr *value;
        } import;
        struct { // the rest of the body is the function's body
            struct fble_func func;
            struct fble_expr *callee;
        } bind;
        struct {
            struct fble_param *param;
            struct fble_label *label; // [checker]
        } foreign;
        struct fble_expr *guard; // its last suffix is a select whose default is the rest
    };
    bool guard_good; // [checker] the arms of the guard are in order
};

struct fble_body {
    struct fble_loc loc; // first token
    struct fble_statement *statements;
    struct fble_expr *result;
};

// A path that a file mentions, at its first mention.
struct fble_mention {
    struct fble_mention *next;
    struct fble_path *path;
    struct fble_loc loc;
};

// One source file: a module's value or its header.
struct fble_unit {
    const char *file; // as messages name it
    bool host;        // there is no such file: the text is the host's
    uint32_t number;  // among the files of the program, as its names have it
    const char *text;
    size_t length;
    bool header;
    struct fble_body *body; // NULL: it did not parse
    struct fble_mention *mentions;
    struct fble_type *type; // [checker] NULL: it has errors
};

#endif

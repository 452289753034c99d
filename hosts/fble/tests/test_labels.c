// SPDX-License-Identifier: MIT
//
// What the checker writes into the tree for the next stage: labels with both of their names and
// their locations, and what names, fields, selects, calls and letters refer to. The expected names
// are those of the reference's section on profiling.

#include "one_file.h"
#include "program/labels.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

// One line per label: kind line:column name fine-name.
static void check_labels(const char *text, const char *expected) {
    static const char *const kinds[] = {"module", "function", "bind", "foreign", "let", "branch"};
    struct fble_program program;
    struct fble_module *module = check_text(&program, text, strlen(text));
    struct fble_text got = {.arena = &program.arena};
    fble_add_string(&got, "");
    for (uint32_t i = 0; i < module->labels.count; i++) {
        const struct fble_label *label = module->labels.at[i];
        CHECK_EQUAL(label->index, i);
        CHECK_TEXT(label->unit->file, "Main.fble");
        fble_add_string(&got, fble_format(&program.arena, "%s %u:%u %s %s\n", kinds[label->kind],
                                          label->loc.line, label->loc.column,
                                          fble_label_name(&program.arena, label),
                                          fble_label_fine_name(&program.arena, label)));
    }
    CHECK_EQUAL(program.diagnostics.errors, 0);
    CHECK_TEXT(got.at, expected);
    fble_program_free(&program);
}

TEST(a_module_is_labelled_before_its_first_column) {
    check_labels("*()();", "module 1:0 /Main% /Main%\n");
}

TEST(functions_are_named_by_the_variables_around_them) {
    check_labels("F@ = +(*() a, *() b);\n"
                 "Twice = (F@ a) { Go = (F@ b) { b; }; Go(Go(a)); };\n"
                 "S = @(f: (F@ c) { c; });\n"
                 "(F@ d) { Twice(S.f(d)); };\n",
                 "module 1:0 /Main% /Main%\n"
                 "let 1:6 /Main%.F@ /Main%.F@\n"
                 "let 2:9 /Main%.Twice /Main%.Twice\n"
                 "function 2:18 /Main%.Twice /Main%.Twice!\n"
                 "let 2:23 /Main%.Twice.Go /Main%.Twice!.Go\n"
                 "function 2:32 /Main%.Twice.Go /Main%.Twice!.Go!\n"
                 "let 3:5 /Main%.S /Main%.S\n"
                 "function 3:19 /Main%.S /Main%.S!\n"
                 "function 4:10 /Main% /Main%!\n");
}

TEST(directly_nested_literals_are_one_function) {
    check_labels("U@ = *();\nF = <@ T@>(T@ a, U@ b) { <@ S@>(S@ c) { @(a, b, c); }; };\nF;\n",
                 "module 1:0 /Main% /Main%\n"
                 "let 1:6 /Main%.U@ /Main%.U@\n"
                 "let 2:5 /Main%.F /Main%.F\n"
                 "function 2:41 /Main%.F /Main%.F!\n");
}

TEST(a_statement_between_literals_makes_two_functions) {
    check_labels("U@ = *();\nF = (U@ a) { b = a; (U@ c) { @(b, c); }; };\nF;\n",
                 "module 1:0 /Main% /Main%\n"
                 "let 1:6 /Main%.U@ /Main%.U@\n"
                 "let 2:5 /Main%.F /Main%.F\n"
                 "function 2:14 /Main%.F /Main%.F!\n"
                 "let 2:18 /Main%.F.b /Main%.F!.b\n"
                 "function 2:30 /Main%.F /Main%.F!!\n");
}

TEST(branches_have_the_finer_names_only) {
    check_labels("F@ = +(*() a, *() b, *() c);\n"
                 "F = (F@ x) { x.?(a: x, : { x.?(b: x); x; }); };\nF;\n",
                 "module 1:0 /Main% /Main%\n"
                 "let 1:6 /Main%.F@ /Main%.F@\n"
                 "let 2:5 /Main%.F /Main%.F\n"
                 "function 2:14 /Main%.F /Main%.F!\n"
                 "branch 2:21 /Main%.F /Main%.F!.a\n"
                 "branch 2:28 /Main%.F /Main%.F!.:\n"
                 "branch 2:35 /Main%.F /Main%.F!.:.b\n"
                 "branch 2:39 /Main%.F /Main%.F!.:.:\n");
}

TEST(binds_and_foreign_values_carry_the_name_around_them) {
    check_labels("U@ = *();\n"
                 "X = { ((U@) { U@; }) { U@; } do; U@ x := do;\n  U@ y := do; @(x, y).y; };\nX;\n",
                 "module 1:0 /Main% /Main%\n"
                 "let 1:6 /Main%.U@ /Main%.U@\n"
                 "let 2:7 /Main%.X /Main%.X\n"
                 "foreign 2:30 /Main%.X /Main%.X\n"
                 "bind 3:3 /Main%.X /Main%.X!\n"
                 "bind 3:15 /Main%.X /Main%.X!!\n");
}

TEST(a_bind_continues_as_a_literal) {
    check_labels("U@ = *(); ((U@, U@) { U@; }) { U@; } do;\nU@ x := do; (U@ y) { @(x, y).y; };\n",
                 "module 1:0 /Main% /Main%\n"
                 "let 1:6 /Main%.U@ /Main%.U@\n"
                 "foreign 1:38 /Main% /Main%\n"
                 "bind 2:22 /Main% /Main%!\n");
}

TEST(names_are_without_quotes) {
    check_labels("'a b' = (*() x) { x; }; 'a b';\n", "module 1:0 /Main% /Main%\n"
                                                     "let 1:9 /Main%.a b /Main%.a b\n"
                                                     "function 1:19 /Main%.a b /Main%.a b!\n");
}

TEST(typeof_has_no_labels) { check_labels("@<(*() x) { x; }>;\n", "module 1:0 /Main% /Main%\n"); }

// The result of a module that is one expression, checked.
static struct fble_expr *result_of(struct fble_program *program, const char *text) {
    struct fble_module *module = check_text(program, text, strlen(text));
    if (!CHECK_EQUAL(program->diagnostics.errors, 0))
        fble_diagnostics_print(&program->diagnostics, stderr);
    return module->value->body->result;
}

TEST(calls_know_whether_they_make_a_struct) {
    struct fble_program program;
    struct fble_expr *e = result_of(&program, "*(*() a)(*()()).a;");
    CHECK_EQUAL(e->suffixes->call.form, FBLE_CALL_STRUCT);
    CHECK_EQUAL(e->suffixes->next->kind, FBLE_ACCESS);
    fble_program_free(&program);
    e = result_of(&program, "(*() x) { x; }(*()());");
    CHECK_EQUAL(e->suffixes->call.form, FBLE_CALL_APPLY);
    CHECK_TEXT(fble_type_text(&program.types, e->type), "*()");
    fble_program_free(&program);
}

TEST(fields_and_tags_have_their_index) {
    struct fble_program program;
    struct fble_expr *e = result_of(&program, "+(*() a, *() b)(b: *()()).b;");
    CHECK_EQUAL(e->suffixes->field.field, 1);
    CHECK_EQUAL(e->suffixes->next->field.field, 1);
    CHECK(e->suffixes->next->field.of_union);
    fble_program_free(&program);
    e = result_of(&program, "@(a: *()(), b: *()(), c: *()()).@(b: *()(), c: *()()).c;");
    CHECK_EQUAL(e->suffixes->copy->field, 1);
    CHECK_EQUAL(e->suffixes->copy->next->field, 2);
    CHECK(!e->suffixes->next->field.of_union);
    fble_program_free(&program);
}

TEST(selects_know_the_arm_of_each_tag) {
    struct fble_program program;
    struct fble_expr *e = result_of(
        &program, "U@ = *(); +(U@ a, U@ b, U@ c, U@ d)(c: U@()).?(b: U@(), c: U@(), : U@());");
    struct fble_suffix *select = e->suffixes->next;
    CHECK_EQUAL(select->select.tags, 4);
    CHECK(select->select.chosen[0] == NULL);
    CHECK(select->select.chosen[1] == select->select.arms);
    CHECK(select->select.chosen[2] == select->select.arms->next);
    CHECK(select->select.chosen[3] == NULL);
    CHECK(select->select.label && select->select.arms->label);
    fble_program_free(&program);
}

TEST(letters_know_their_way_through_nested_unions) {
    struct fble_program program;
    struct fble_expr *e = result_of(&program, "U@ = *(); D@ = +(U@ 0, U@ 1); E@ = +(U@ x, D@ d); "
                                              "L@ = +(*(E@ h, L@ t) c, U@ n); (L@ l) { l; }|1x;");
    struct fble_suffix *literal = e->suffixes;
    CHECK_EQUAL(literal->literal.count, 2);
    CHECK_EQUAL(literal->literal.letters[0]->field, 1);
    CHECK_EQUAL(literal->literal.letters[0]->parent->field, 1);
    CHECK(literal->literal.letters[0]->parent->parent == NULL);
    CHECK_EQUAL(literal->literal.letters[1]->field, 0);
    CHECK(literal->literal.letters[1]->parent == NULL);
    fble_program_free(&program);
}

static bool first_let_is_recursive(const char *text) {
    struct fble_program program;
    struct fble_module *module = check_text(&program, text, strlen(text));
    CHECK_EQUAL(program.diagnostics.errors, 0);
    bool recursive = module->value->body->statements->let.recursive;
    fble_program_free(&program);
    return recursive;
}

TEST(lets_know_whether_they_are_recursive) {
    CHECK(first_let_is_recursive("(*()) { *(); } f = (*() x) { f(x); }; f;"));
    CHECK(first_let_is_recursive("*() x = y, *() y = *()(); x;"));
    CHECK(!first_let_is_recursive("x = *()(), y = *()(); @(x, y);"));
    CHECK(!first_let_is_recursive("*() x = { @<x> y = *()(); y; }; x;"));
    CHECK(!first_let_is_recursive("R@ = *(R@ n); R@;"));
}

TEST(variables_know_their_declaration) {
    struct fble_program program;
    struct fble_expr *e = result_of(&program, "x = *()(); (*() x) { x; };");
    struct fble_declaration *param = e->func.params->declaration;
    struct fble_expr *body = e->func.body->block->result;
    CHECK(body->name.declaration == param);
    CHECK_EQUAL(param->kind, FBLE_PARAMETER);
    CHECK(param->shadows && param->shadows->kind == FBLE_LET_VARIABLE);
    CHECK(param->used && !param->shadows->used);
    fble_program_free(&program);
}

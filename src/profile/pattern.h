// SPDX-License-Identifier: MIT
//
// Regular expressions over names, for filters and search fields, in time that is linear in the
// text whatever the expression is: there is no backtracking, and the work is counted.
//
// What is understood: . [a-z] [^a-z] \d \w \s \D \W \S \b \B ^ $ | ( ) (?: ) * + ? {n} {n,} {n,m},
// and a backslash before any other sign for the sign itself. Upper and lower case are the same
// unless the expression begins with (?-i). Not understood, and refused: back references, looking
// ahead or behind, named classes like [:alpha:].

#ifndef OURO_PATTERN_H
#define OURO_PATTERN_H

#include "error.h"

typedef struct name_pattern name_pattern;

enum { EXPRESSION_LONGEST = 1000 }; // bytes

// NULL with *e filled: EINVAL if the expression is wrong, with a message that says where and why.
name_pattern *ouro__pattern_new(const char *expression, error *e);
// What people type into a search field: /expression/ is a regular expression, everything else a
// part of a text, without regard to case.
name_pattern *ouro__pattern_of_search(const char *text, error *e);
void ouro__pattern_free(name_pattern *p);

// Does a part of the text match? Not for two threads at once: what was found out about the
// expression is kept in it.
bool ouro__pattern_matches(name_pattern *p, const char *text);
// The work of all texts together was too much, or memory ran out; the answers since then are false.
// Fills *e, with EINVAL or ENOMEM.
bool ouro__pattern_gave_up(const name_pattern *p, error *e);

#endif

// SPDX-License-Identifier: MIT
//
// The invariants that run. The function that makes one of these things asserts that it is valid.
// Builds with assertions (the sanitizer suites, the fuzz targets) check it every time, others
// never. ouro__profile_is_valid is in profile.h, beside the invariants that it checks.

#ifndef OURO_VALID_H
#define OURO_VALID_H

#include "questions.h"

// The sum of all |values| of a metric fits into 63 bits.
bool ouro__values_fit(const profile *p, uint32_t m);
// Of a profile that has labels: tags, sets and rows name what is there, and sets are ascending.
bool ouro__tags_is_valid(const profile *p);
// Every value is in the self of one group; no group has more than the total, unless values
// are negative.
bool ouro__totals_is_valid(const profile *p, uint32_t m, const totals *t);
// Parents stand before their children, one level above.
bool ouro__flame_is_valid(const flame *rows, uint32_t count);
// No block is in two knots; the largest overall stands first.
bool ouro__knots_is_valid(const profile *p, const knots *k);
// Every block is in one pair, and pairs have one name.
bool ouro__matching_is_valid(const profile *before, const profile *after, const matching *m);

#endif

// SPDX-License-Identifier: MIT

#ifndef OURO_AMOUNT_H
#define OURO_AMOUNT_H

#include "profile.h"

enum { AMOUNT_ROOM = 64 };

// A value for people: 12.35 (of ms), 1,204. The unit is chosen by `largest`, so that a column has
// one unit.
void ouro__amount(char text[static AMOUNT_ROOM], const profile *p, uint32_t m, int64_t value,
                  int64_t largest);
// The unit that ouro__amount used: "ms", "" for counts.
const char *ouro__amount_unit(const profile *p, uint32_t m, int64_t largest);

#endif

// SPDX-License-Identifier: MIT
//
// States what a profile is a part of: the filters, and the share of the whole that is left.

#include "part.h"

#include "amount.h"
#include "questions.h"

#include <stdlib.h>
#include <string.h>

int64_t ouro__part_total(const profile *p, uint32_t m, const part_info *w) {
    return w ? w->totals[m] : ouro__total(p, m);
}

void ouro__put_part_amount(const profile *p, uint32_t m, const part_info *w, output *out) {
    int64_t left = ouro__total(p, m), all = ouro__part_total(p, m, w);
    const char *unit = ouro__amount_unit(p, m, all);
    char text[AMOUNT_ROOM];
    ouro__amount(text, p, m, left, all);
    ouro__print(out, " %s", text);
    ouro__amount(text, p, m, all, all);
    if (w) ouro__print(out, " of %s", text);
    if (*unit) ouro__put_text(out, " ");
    ouro__put_escaped(out, unit);
    if (w) ouro__print(out, " (%.2f%%)", all ? 100.0 * (double)left / (double)all : 0);
}

char *ouro__part_filters(const part_info *w) {
    size_t room = 1, used = 0;
    for (uint32_t i = 0; w && i < w->filter_count; i++) room += strlen(w->filters[i]) + 2;
    char *text = malloc(room);
    if (!text) return NULL;
    text[0] = '\0';
    for (uint32_t i = 0; w && i < w->filter_count; i++) {
        if (i) memcpy(text + used, ", ", 2), used += 2;
        size_t length = strlen(w->filters[i]);
        memcpy(text + used, w->filters[i], length + 1);
        used += length;
    }
    return text;
}

// SPDX-License-Identifier: MIT
//
// Values for people: thousands apart, times and sizes in a unit that fits the largest value, so
// that a column has one unit. A KiB is 1,024 bytes, as in the pages. Formats for programs
// use ouro__decimal.

#include "amount.h"

#include "format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *unit;
    double factor;
} unit_step;

// The largest unit in which `largest` is 10 or more.
static unit_step choose_unit(const profile *p, uint32_t m, int64_t largest) {
    static const unit_step times[] = {{"s", 1e-9}, {"ms", 1e-6}, {"us", 1e-3}};
    static const unit_step sizes[] = {{"GiB", 0x1p-30}, {"MiB", 0x1p-20}, {"KiB", 0x1p-10}};
    const char *unit = ouro__metric_unit(p, m);
    const unit_step *steps = strcmp(unit, "nanoseconds") == 0 ? times
                             : strcmp(unit, "bytes") == 0     ? sizes
                                                              : NULL;
    double size = (double)(largest < 0 ? -largest : largest);
    for (int i = 0; steps && i < 3; i++) {
        if (size * steps[i].factor >= 10) return steps[i];
    }
    return (unit_step){steps == times               ? "ns"
                       : steps == sizes             ? "B"
                       : strcmp(unit, "count") == 0 ? ""
                                                    : unit,
                       1};
}

const char *ouro__amount_unit(const profile *p, uint32_t m, int64_t largest) {
    return choose_unit(p, m, largest).unit;
}

void ouro__amount(char text[static AMOUNT_ROOM], const profile *p, uint32_t m, int64_t value,
                  int64_t largest) {
    unit_step u = choose_unit(p, m, largest);
    char digits[DECIMAL_ROOM];
    const char *sign = value < 0 ? "-" : "", *fraction = "";
    uint64_t whole = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (u.factor < 1) {
        snprintf(digits, sizeof digits, "%.2f", (double)whole * u.factor);
        whole = strtoull(digits, NULL, 10);
        fraction = strchr(digits, '.');
    } else if (p->metrics[m].decimals) {
        ouro__decimal(digits, (int64_t)whole, p->metrics[m].decimals);
        whole = strtoull(digits, NULL, 10);
        fraction = strchr(digits, '.') ? strchr(digits, '.') : "";
    }
    char grouped[GROUPED_ROOM];
    snprintf(text, AMOUNT_ROOM, "%s%s%s", sign, ouro__grouped(grouped, whole), fraction);
}

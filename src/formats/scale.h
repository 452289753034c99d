// SPDX-License-Identifier: MIT
//
// Values that come as floating point numbers, made whole: times become nanoseconds, and fractions
// of a count become decimals of the metric. What rounding cuts off is carried to the next value, so
// totals hold.

#ifndef OURO_SCALE_H
#define OURO_SCALE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *name, *unit; // of the metric
    double factor;
    double carry;
} scale;

static inline scale ouro__scale_of(const char *unit) {
    static const struct {
        const char *unit;
        double factor;
    } times[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
    for (int i = 0; unit && i < 4; i++) {
        if (strcmp(unit, times[i].unit) == 0)
            return (scale){"time", "nanoseconds", times[i].factor, 0};
    }
    if (unit && strcmp(unit, "bytes") == 0) return (scale){"bytes", "bytes", 1, 0};
    return (scale){"samples", "count", 1, 0};
}

// false: it does not fit.
static inline bool ouro__scaled(scale *s, double value, int64_t *whole) {
    double exact = value * s->factor + s->carry;
    if (!(fabs(exact) < 9e18)) return false;
    *whole = llround(exact);
    s->carry = exact - (double)*whole;
    return true;
}

#endif

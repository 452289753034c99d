// SPDX-License-Identifier: MIT
//
// Choices as a user writes them: `service=web build=7,8 host!=a* since=2h until=now`.

#include "store.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---------------------------------------------------------------- times

enum { SECOND = 1000 };

// An age: a number with its unit.
static bool parse_age(const char *text, uint64_t now, uint64_t *time) {
    static const struct {
        const char *unit;
        uint64_t milliseconds;
    } units[] = {{"s", SECOND},
                 {"m", 60 * SECOND},
                 {"h", 3600 * SECOND},
                 {"d", 86400 * SECOND},
                 {"w", 7 * 86400 * SECOND}};
    char *end;
    double amount = strtod(text, &end);
    if (end == text || !(amount >= 0)) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        double age = amount * (double)units[i].milliseconds;
        *time = age < (double)now ? now - (uint64_t)age : 1;
        return true;
    }
    return false;
}

static bool parse_date(const char *text, uint64_t *time) {
    static const char *const patterns[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct tm when = {0};
        const char *end = strptime(text, patterns[i], &when);
        if (end && *end == 'Z') end++;
        if (!end || *end) continue;
        time_t seconds = timegm(&when);
        *time = (uint64_t)seconds * SECOND;
        return seconds > 0;
    }
    return false;
}

static bool parse_seconds(const char *text, uint64_t *time) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 1 && seconds < 1e12)) return false;
    *time = (uint64_t)(seconds * SECOND);
    return true;
}

static bool parse_time(const char *text, uint64_t now, uint64_t *time, error *e) {
    if (strcmp(text, "now") == 0) {
        *time = now;
        return true;
    }
    return parse_age(text, now, time) || parse_date(text, time) || parse_seconds(text, time) ||
           ouro__fail(e, EINVAL,
                      "%s is no time: write an age such as 90s, 5m, 2h or 3d, now, "
                      "a date such as 2026-11-15T08:30, or seconds since 1970",
                      text);
}

// ---------------------------------------------------------------- terms

typedef struct {
    const char *at;
    bool quoted; // inside double quotes
} scanner;

// The next character of a value as a pattern: a backslash stays in front of what would have a
// meaning there. false: the value ends.
static bool next_character(scanner *s, char **to) {
    if (*s->at == '"') {
        s->quoted = !s->quoted;
        s->at++;
        return true;
    }
    if (*s->at == '\0' || (!s->quoted && (*s->at == ',' || isspace((unsigned char)*s->at))))
        return false;
    if (*s->at == '\\' && s->at[1]) *(*to)++ = *s->at++;
    *(*to)++ = *s->at++;
    return true;
}

static bool add_value(term *t, const char *text, size_t length) {
    char **values = realloc(t->values, (t->value_count + 1) * sizeof *values);
    if (values) t->values = values;
    char *copy = values ? strndup(text, length) : NULL;
    if (copy) t->values[t->value_count++] = copy;
    return copy != NULL;
}

static bool parse_values(const char **at, term *t, char *room, error *e) {
    scanner s = {*at, false};
    for (;;) {
        char *end = room;
        while (next_character(&s, &end)) continue;
        if (!add_value(t, room, (size_t)(end - room))) return ouro__fail_memory(e);
        if (s.quoted) return ouro__fail(e, EINVAL, "a quote is open at the end of %s", *at);
        if (*s.at != ',') break;
        s.at++;
    }
    *at = s.at;
    return true;
}

static void term_free(term *t) {
    for (size_t i = 0; i < t->value_count; i++) free(t->values[i]);
    free(t->values);
    free(t->name);
    *t = (term){0};
}

// Other query languages have braces around terms, and =~ before a regular expression.
static bool fail_term(const char *at, error *e) {
    return ouro__fail(e, EINVAL,
                      "expected NAME=VALUE or NAME!=VALUE at %s: write service=web host!=a*, with "
                      "spaces between terms, commas between values and * for any characters",
                      at);
}

// NAME=VALUES or NAME!=VALUES.
static bool parse_term(const char **at, term *t, char *room, error *e) {
    size_t length = strcspn(*at, "=!~<>{}, \t\n\"");
    const char *sign = *at + length;
    t->not = *sign == '!';
    bool has_sign = length > 0 && sign[t->not ] == '=';
    if (!has_sign || sign[t->not +1] == '=' || sign[t->not +1] == '~') return fail_term(*at, e);
    t->name = strndup(*at, length);
    if (!t->name) return ouro__fail_memory(e);
    *at = sign + t->not +1;
    return parse_values(at, t, room, e);
}

static bool add_term(choice *c, term *t, error *e) {
    term *terms = realloc(c->terms, (c->term_count + 1) * sizeof *terms);
    if (!terms) return ouro__fail_memory(e);
    c->terms = terms;
    c->terms[c->term_count++] = *t;
    *t = (term){0};
    return true;
}

// since= and until= are times, all others labels.
static bool take_term(choice *c, term *t, uint64_t now, error *e) {
    bool since = strcmp(t->name, "since") == 0;
    if (!since && strcmp(t->name, "until") != 0) return add_term(c, t, e);
    if (t->not || t->value_count != 1)
        return ouro__fail(e, EINVAL, "%s takes one time: %s=2h", t->name, t->name);
    return parse_time(t->values[0], now, since ? &c->since : &c->until, e);
}

bool ouro__choice_parse(const char *text, uint64_t now, choice *c, error *e) {
    char *room = malloc(strlen(text) + 1);
    bool ok = room || ouro__fail_memory(e);
    *c = (choice){0};
    for (const char *at = text; ok;) {
        while (isspace((unsigned char)*at)) at++;
        if (!*at) break;
        term t = {0};
        ok = parse_term(&at, &t, room, e) && take_term(c, &t, now, e);
        term_free(&t);
    }
    free(room);
    if (ok && c->since && c->until && c->since >= c->until)
        ok = ouro__fail(e, EINVAL, "since is not before until: nothing is meant");
    if (!ok) ouro__choice_free(c);
    return ok;
}

void ouro__choice_free(choice *c) {
    for (size_t i = 0; i < c->term_count; i++) term_free(&c->terms[i]);
    free(c->terms);
    *c = (choice){0};
}

// ---------------------------------------------------------------- matching

// One pass: after a mismatch the last star takes one character more.
static bool fits(const char *pattern, const char *text) {
    const char *star = NULL, *again = NULL;
    while (*text) {
        const char *literal = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*literal && *literal == *text) {
            pattern = literal + 1;
            text++;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

bool ouro__term_holds(const term *t, const char *value) {
    bool found = false;
    for (size_t i = 0; value && !found && i < t->value_count; i++)
        found = fits(t->values[i], value);
    return found != t->not ;
}

// A slice belongs to the moment of its end.
bool ouro__choice_holds(const choice *c, const label_set *labels, uint64_t until) {
    if ((c->since && until <= c->since) || (c->until && until > c->until)) return false;
    for (size_t i = 0; i < c->term_count; i++) {
        if (!ouro__term_holds(&c->terms[i], ouro__label_set_get(labels, c->terms[i].name)))
            return false;
    }
    return true;
}

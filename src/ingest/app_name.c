// SPDX-License-Identifier: MIT
//
// Names of applications, as agents write them: web.cpu{host=a1,zone="b, c"}. The last part of the
// name is the type of the profile if it is one that agents have; it is left out of the service.
// Values stand as they are up to the next comma, or in double quotes.

#include "posted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const profile_type types[] = {
    {"cpu", "cpu", "nanoseconds", true},
    {"itimer", "cpu", "nanoseconds", true},
    {"wall", "wall", "nanoseconds", true},
    {"inuse_objects", "inuse_objects", "count", false},
    {"inuse_space", "inuse_space", "bytes", false},
    {"alloc_objects", "alloc_objects", "count", false},
    {"alloc_space", "alloc_space", "bytes", false},
    {"alloc_in_new_tlab_objects", "alloc_in_new_tlab_objects", "count", false},
    {"alloc_in_new_tlab_bytes", "alloc_in_new_tlab_bytes", "bytes", false},
    {"alloc_outside_tlab_objects", "alloc_outside_tlab_objects", "count", false},
    {"alloc_outside_tlab_bytes", "alloc_outside_tlab_bytes", "bytes", false},
    {"goroutines", "goroutines", "count", false},
    {"mutex_count", "mutex_count", "count", false},
    {"mutex_duration", "mutex_duration", "nanoseconds", false},
    {"block_count", "block_count", "count", false},
    {"block_duration", "block_duration", "nanoseconds", false},
    {"lock_count", "lock_count", "count", false},
    {"lock_duration", "lock_duration", "nanoseconds", false},
    {"exceptions", "exceptions", "count", false},
    {"live", "live", "count", false},
};

static bool is_space(char c) { return c == ' ' || c == '\t'; }

static char *trimmed(char *text) {
    while (is_space(*text)) text++;
    size_t length = strlen(text);
    while (length && is_space(text[length - 1])) length--;
    text[length] = '\0';
    return text;
}

// ---------------------------------------------------------------- labels

static bool put(label_set *l, const char *name, const char *value, error *e) {
    return ouro__label_set_put(l, name, value) || ouro__fail_memory(e);
}

bool ouro__add_label(label_set *l, const char *name, const char *value, error *e) {
    if (!*name) return ouro__fail(e, EINVAL, "a label without a name");
    if (strlen(name) > LABEL_LONGEST || strlen(value) > LABEL_LONGEST)
        return ouro__fail(e, EINVAL, "a label of more than %d bytes", LABEL_LONGEST);
    if (strncmp(name, "__", 2) == 0 || !*value) return true;
    if (strcmp(name, "since") == 0 || strcmp(name, "until") == 0)
        return ouro__fail(e, EINVAL, "a label cannot be called %s: that is a time", name);
    if (l->count >= LABELS_MOST)
        return ouro__fail(e, EINVAL, "a profile has more than %d labels", LABELS_MOST);
    if (strcmp(name, "service_name") == 0) return put(l, "service", value, e);
    if (strcmp(name, "pyroscope_spy") == 0) return put(l, "spy", value, e);
    if (strcmp(name, "hostname") == 0 && !ouro__label_set_get(l, "host") &&
        !put(l, "host", value, e))
        return false;
    return put(l, name, value, e);
}

// A value in quotes, in place; gives what stands behind it. NULL: it does not end.
static char *unquote(char *text) {
    char *to = text;
    for (char *at = text + 1; *at; at++) {
        if (*at == '"') {
            *to = '\0';
            return at + 1;
        }
        if (*at == '\\' && at[1]) at++;
        *to++ = *at;
    }
    return NULL;
}

// The end of a value that begins at `value`: where its comma or brace is. NULL: it does not end.
static char *value_end(char *value, bool quoted) {
    char *end = quoted ? unquote(value) : value + strcspn(value, ",}");
    if (end && quoted) end += strspn(end, " \t");
    return end && (*end == ',' || *end == '}') ? end : NULL;
}

// One label; gives what stands behind its comma or brace, which is *end then. NULL: wrong.
static char *take_label(label_set *l, char *text, char *end, error *e) {
    char *sign = text + strcspn(text, "=,}");
    if (*sign != '=') {
        ouro__error_set(e, EINVAL, "expected LABEL=VALUE in the braces of the name");
        return NULL;
    }
    *sign = '\0';
    char *value = sign + 1 + strspn(sign + 1, " \t");
    bool quoted = *value == '"';
    char *stop = value_end(value, quoted);
    if (!stop) {
        ouro__error_set(e, EINVAL, "the labels of the name do not end");
        return NULL;
    }
    *end = *stop;
    *stop = '\0';
    bool ok = ouro__add_label(l, trimmed(text), quoted ? value : trimmed(value), e);
    return ok ? stop + 1 : NULL;
}

static bool take_labels(label_set *l, char *text, error *e) {
    for (char end = ','; end == ',';) {
        text += strspn(text, " \t,");
        if (*text == '}') {
            text++;
            break;
        }
        if (!(text = take_label(l, text, &end, e))) return false;
    }
    return !*trimmed(text) || ouro__fail(e, EINVAL, "the name goes on behind its labels");
}

// ---------------------------------------------------------------- the whole

// Cuts the type off the name.
static profile_type take_type(char *name) {
    char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && dot > name && i < sizeof types / sizeof *types; i++) {
        if (strcmp(dot + 1, types[i].name) != 0) continue;
        *dot = '\0';
        return types[i];
    }
    return (profile_type){0};
}

static bool parse(char *text, label_set *l, profile_type *type, error *e) {
    char *brace = strchr(text, '{');
    if (brace) *brace = '\0';
    char *name = trimmed(text);
    *type = take_type(name);
    if (brace && !take_labels(l, brace + 1, e)) return false;
    if (ouro__label_set_get(l, "service")) return true;
    if (!*name) return ouro__fail(e, EINVAL, "no name: give the agent the name of the application");
    if (strlen(name) > LABEL_LONGEST)
        return ouro__fail(e, EINVAL, "a name of more than %d bytes", LABEL_LONGEST);
    return put(l, "service", name, e);
}

bool ouro__app_name_parse(const char *text, label_set *l, profile_type *type, error *e) {
    char *copy = strdup(text);
    *l = (label_set){0};
    bool ok = copy || ouro__fail_memory(e);
    ok = ok && parse(copy, l, type, e);
    free(copy);
    if (!ok) ouro__label_set_free(l);
    return ok;
}

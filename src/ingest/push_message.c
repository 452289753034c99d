// SPDX-License-Identifier: MIT
//
// The push API's message: series, each with labels and profiles in pprof.

#include "posted.h"

#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    REQUEST_SERIES = 1,
    SERIES_LABEL = 1,
    SERIES_SAMPLE = 2,
    PAIR_NAME = 1,
    PAIR_VALUE = 2,
    SAMPLE_PROFILE = 1
};

// Texts end at a NUL, as everywhere in a store.
static char *text_of(const wire_field *f) { return strndup((const char *)f->bytes, f->size); }

static bool take_label(label_set *l, wire in, error *e) {
    char *name = NULL, *value = NULL;
    for (wire_field f; ouro__wire_next(&in, &f);) {
        if (f.type != WIRE_BYTES || (f.number != PAIR_NAME && f.number != PAIR_VALUE)) continue;
        char **to = f.number == PAIR_NAME ? &name : &value;
        free(*to);
        *to = text_of(&f);
        if (!*to) in.failed = !ouro__fail_memory(e);
    }
    bool ok = !in.failed && ouro__add_label(l, name ? name : "", value ? value : "", e);
    free(name);
    free(value);
    return ok;
}

static bool take_labels(label_set *l, wire in, error *e) {
    for (wire_field f; ouro__wire_next(&in, &f);) {
        if (f.number == SERIES_LABEL && f.type == WIRE_BYTES &&
            !take_label(l, ouro__wire_in(&in, &f), e))
            return false;
    }
    if (in.failed) return false;
    return ouro__label_set_get(l, "service") ||
           ouro__fail(e, EINVAL, "a series has no label service_name");
}

static bool take_sample(const label_set *l, wire in, take_profile take, void *user, error *e) {
    for (wire_field f; ouro__wire_next(&in, &f);) {
        if (f.number == SAMPLE_PROFILE && f.type == WIRE_BYTES &&
            !take(user, l, (piece){f.bytes, f.size}, e))
            return false;
    }
    return !in.failed;
}

// Labels may stand behind the profiles.
static bool take_series(wire in, take_profile take, void *user, error *e) {
    label_set l = {0};
    bool ok = take_labels(&l, in, e);
    for (wire_field f; ok && ouro__wire_next(&in, &f);) {
        if (f.number == SERIES_SAMPLE && f.type == WIRE_BYTES)
            ok = take_sample(&l, ouro__wire_in(&in, &f), take, user, e);
    }
    ouro__label_set_free(&l);
    return ok;
}

bool ouro__push_message_read(piece message, take_profile take, void *user, error *e) {
    wire top = {message.bytes, message.bytes, message.bytes + message.size, e, false, 0};
    for (wire_field f; ouro__wire_next(&top, &f);) {
        if (f.number == REQUEST_SERIES && f.type == WIRE_BYTES &&
            !take_series(ouro__wire_in(&top, &f), take, user, e))
            return false;
    }
    return !top.failed;
}

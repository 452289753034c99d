// SPDX-License-Identifier: MIT
//
// What agents send, without sockets: the first line is the target, the second the type of the
// content, and the rest the body. Whatever comes, it is refused with a sentence or gives profiles
// that are valid, with labels in order.

#include "posted.h"
#include "request.h"

#include <stdlib.h>
#include <string.h>

static bool check(void *user, delivery *d, error *e) {
    (void)user;
    (void)e;
    if (!ouro__profile_is_valid(d->profile) || d->profile->rule != RULE_LOOPS) abort();
    if (d->from > d->until || !ouro__label_set_get(&d->labels, "service")) abort();
    for (size_t i = 1; i < d->labels.count; i++) {
        if (strcmp(d->labels.items[i - 1].name, d->labels.items[i].name) >= 0) abort();
    }
    return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const unsigned char *type = memchr(data, '\n', size), *body = NULL;
    if (type) body = memchr(type + 1, '\n', size - (size_t)(type + 1 - data));
    if (!body) return 0;
    char *target = strndup((const char *)data, (size_t)(type - data));
    char *content_type = strndup((const char *)type + 1, (size_t)(body - type) - 1);
    size_t left = size - (size_t)(body + 1 - data);
    unsigned char *copy = malloc(left + 1);
    memcpy(copy, body + 1, left);
    posted p = {.target = target,
                .content_type = content_type,
                .body = {copy, left},
                .host = "h",
                .now = 1800000000000,
                .limit = 32 << 20};
    error e = {0};
    if (!ouro__posted_read(&p, check, NULL, &e) && !e.message[0]) abort();
    label_set l;
    profile_type t;
    if (ouro__app_name_parse(target, &l, &t, &e)) ouro__label_set_free(&l);
    free(copy);
    free(target);
    free(content_type);
    return 0;
}

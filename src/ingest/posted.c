// SPDX-License-Identifier: MIT
//
// From a request to deliveries: labels from the name of the application, times from the query, the
// profile from the body. The id of a delivery is a hash of what was sent, so a request that an
// agent repeats counts once.

#include "posted.h"

#include "keys.h"
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_RATE = 100, MILLISECOND = 1000000 }; // if it is not said; nanoseconds

// Between 2000 and 2100. Some agents write times of profiles in another unit.
static const uint64_t time_least = UINT64_C(946684800000), time_most = UINT64_C(4102444800000);

// ---------------------------------------------------------------- times

// Seconds since 1970, or milliseconds, microseconds or nanoseconds, by the number of digits.
static bool parse_time(const char *text, uint64_t *milliseconds, error *e) {
    uint64_t n = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] || digits > 19)
        return ouro__fail(e, EINVAL, "from and until: expected seconds since 1970");
    for (size_t i = 0; i < digits; i++) n = n * 10 + (uint64_t)(text[i] - '0');
    *milliseconds = digits < 12   ? n * 1000
                    : digits < 15 ? n
                    : digits < 18 ? n / 1000
                                  : n / MILLISECOND;
    return *milliseconds <= time_most || ouro__fail(e, EINVAL, "from and until: after 2100");
}

// What the request says, else what the profile says, else now.
static bool set_times(delivery *d, const request *r, uint64_t now, error *e) {
    const char *from = r ? ouro__request_value(r, "from") : NULL;
    const char *until = r ? ouro__request_value(r, "until") : NULL;
    const profile *p = d->profile;
    uint64_t start = p->start_time / MILLISECOND;
    bool known = start >= time_least && start <= time_most;
    d->from = d->until = known ? start : now;
    if (known && p->duration / MILLISECOND < time_most - d->from)
        d->until = d->from + p->duration / MILLISECOND;
    if (from && !parse_time(from, &d->from, e)) return false;
    if (!until && d->until < d->from) d->until = d->from;
    if (until && !parse_time(until, &d->until, e)) return false;
    if (!from && d->from > d->until) d->from = d->until;
    return d->from <= d->until || ouro__fail(e, EINVAL, "until is before from");
}

static void add_number(sha256 *s, uint64_t n) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(n >> 8 * i);
    ouro__sha256_add(s, bytes, sizeof bytes);
}

// Of the labels, what the request says of times, and the bytes.
static key recording_of(const delivery *d, const request *r, piece content) {
    sha256 s;
    key labels = ouro__label_set_key(&d->labels);
    bool timed = r && ouro__request_value(r, "from") && ouro__request_value(r, "until");
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, labels.bytes, sizeof labels.bytes);
    add_number(&s, timed ? d->from : 0);
    add_number(&s, timed ? d->until : 0);
    ouro__sha256_add(&s, content.bytes, content.size);
    return ouro__key_end(&s);
}

static bool add_host(label_set *l, const char *host, error *e) {
    return ouro__label_set_get(l, "host") || ouro__label_set_put(l, "host", host) ||
           ouro__fail_memory(e);
}

// ---------------------------------------------------------------- /ingest

typedef struct {
    piece profile, before, config;
} parts;

static bool take_part(parts *to, const part *p, error *e) {
    piece *found = strcmp(p->name, "profile") == 0              ? &to->profile
                   : strcmp(p->name, "prev_profile") == 0       ? &to->before
                   : strcmp(p->name, "sample_type_config") == 0 ? &to->config
                                                                : NULL;
    if (!found) return true;
    if (found->bytes) return ouro__fail(e, EINVAL, "the form has two parts %s", p->name);
    *found = p->content;
    return true;
}

static bool find_parts(const posted *p, piece body, parts *to, error *e) {
    multipart m;
    part one;
    error damaged = {0};
    *to = (parts){.profile = body};
    if (!ouro__is_multipart(p->content_type)) return true;
    to->profile = (piece){0};
    if (!ouro__multipart_open(&m, p->content_type, body, e)) return false;
    while (ouro__multipart_next(&m, &one, &damaged)) {
        if (!take_part(to, &one, e)) return false;
    }
    if (damaged.code) return ouro__fail(e, damaged.code, "%s", damaged.message);
    return to->profile.bytes || ouro__fail(e, EINVAL, "the form has no part `profile`");
}

static profile *read_parts(const parts *from, const content_rules *rules, error *e) {
    profile *now = ouro__content_read(from->profile, rules, e);
    if (!now || !from->before.size) return now;
    profile *before = ouro__content_read(from->before, rules, e);
    if (before) return ouro__content_since(now, before, from->config, e);
    ouro__profile_free(now);
    return NULL;
}

static bool deliver(delivery *d, const posted *p, const request *r, const parts *from,
                    const content_rules *rules, take_delivery take, void *user, error *e) {
    d->profile = read_parts(from, rules, e);
    if (!d->profile) return false;
    bool ok = set_times(d, r, p->now, e);
    if (ok) d->recording = recording_of(d, r, from->profile);
    ok = ok && take(user, d, e);
    ouro__profile_free(d->profile);
    return ok;
}

static bool add_spy(label_set *l, const char *spy, error *e) {
    return !spy || ouro__add_label(l, "spy", spy, e);
}

static bool read_ingest(const posted *p, const request *r, piece body, take_delivery take,
                        void *user, error *e) {
    const char *name = ouro__request_value(r, "name");
    profile_type type = {0};
    delivery d = {0};
    parts from;
    content_rules rules = {.format = ouro__request_value(r, "format"),
                           .units = ouro__request_value(r, "units"),
                           .type = &type,
                           .limit = p->limit};
    if (!name) return ouro__fail(e, EINVAL, "expected ?name=: the name of the application");
    if (!ouro__request_number(r, "sampleRate", 1, 1000000000, SAMPLE_RATE, &rules.sample_rate))
        rules.sample_rate = SAMPLE_RATE;
    if (!ouro__app_name_parse(name, &d.labels, &type, e)) return false;
    bool ok = add_spy(&d.labels, ouro__request_value(r, "spyName"), e) &&
              add_host(&d.labels, p->host, e) && find_parts(p, body, &from, e) &&
              deliver(&d, p, r, &from, &rules, take, user, e);
    ouro__label_set_free(&d.labels);
    return ok;
}

// ---------------------------------------------------------------- the push API

typedef struct {
    const posted *posted;
    take_delivery take;
    void *user;
    uint32_t count;
} pushing;

static bool copy_labels(label_set *to, const label_set *from) {
    for (size_t i = 0; i < from->count; i++) {
        if (!ouro__label_set_put(to, from->items[i].name, from->items[i].value)) return false;
    }
    return true;
}

static bool take_pushed(void *user, const label_set *labels, piece content, error *e) {
    pushing *p = user;
    delivery d = {0};
    if (p->count++ == PROFILES_MOST)
        return ouro__fail(e, EFBIG, "a message of more than %d profiles", PROFILES_MOST);
    parts from = {.profile = content};
    content_rules rules = {.format = "pprof", .limit = p->posted->limit};
    bool ok = copy_labels(&d.labels, labels) || ouro__fail_memory(e);
    ok = ok && add_host(&d.labels, p->posted->host, e) &&
         deliver(&d, p->posted, NULL, &from, &rules, p->take, p->user, e);
    ouro__label_set_free(&d.labels);
    return ok;
}

static bool read_push(const posted *p, piece body, take_delivery take, void *user, error *e) {
    static const char json[] = "application/json";
    pushing to = {.posted = p, .take = take, .user = user};
    if (p->content_type && strncmp(p->content_type, json, strlen(json)) == 0)
        return ouro__fail(e, ENOTSUP, "the push API is taken as application/proto, not as JSON");
    return ouro__push_message_read(body, take_pushed, &to, e);
}

// ---------------------------------------------------------------- the whole

static bool parse_target(request *r, const char *target, error *e) {
    int status = ouro__request_parse(r, target);
    if (status == 0) return true;
    return status == 503 ? ouro__fail_memory(e)
                         : ouro__fail(e, EINVAL, "the address is malformed or too long");
}

bool ouro__posted_read(const posted *p, take_delivery take, void *user, error *e) {
    request r;
    unsigned char *unpacked = NULL;
    piece body = p->body;
    bool ok = parse_target(&r, p->target, e) && ouro__unpack(&body, &unpacked, e);
    if (ok && strcmp(r.path, "/ingest") == 0)
        ok = read_ingest(p, &r, body, take, user, e);
    else if (ok && strcmp(r.path, "/push.v1.PusherService/Push") == 0)
        ok = read_push(p, body, take, user, e);
    else if (ok)
        ok = ouro__fail(e, ENOENT, "profiles go to /ingest or /push.v1.PusherService/Push");
    ouro__request_free(&r);
    free(unpacked);
    return ok;
}

uint64_t ouro__delivery_rows(const delivery *d) {
    const profile *p = d->profile;
    uint64_t rows = 0;
    for (uint32_t m = 0; m < p->metric_count; m++) {
        for (uint32_t n = 1; n < p->node_count; n++) rows += p->values[m][n] != 0;
    }
    return rows;
}

slice ouro__delivery_slice(const delivery *d, const keys *k) {
    return (slice){.recording = d->recording,
                   .from = d->from,
                   .until = d->until,
                   .labels = &d->labels,
                   .profile = d->profile,
                   .keys = k};
}

bool ouro__delivery_store(const delivery *d, store *to, uint64_t *rows, error *e) {
    keys k;
    bool known = false;
    *rows = ouro__delivery_rows(d);
    if (*rows == 0) return true;
    if (!ouro__keys_make(d->profile, &k)) return ouro__fail_memory(e);
    slice s = ouro__delivery_slice(d, &k);
    bool ok = ouro__store_put(to, &s, &known, e);
    if (known || !ok) *rows = 0;
    ouro__keys_free(&k);
    return ok;
}

// SPDX-License-Identifier: MIT
//
// The address of somebody else's server, and sending to it.

#include "remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- addresses

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// %XX in place; what is no such thing stays.
static void decode(char *text) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        int high = *at == '%' ? hex(at[1]) : -1, low = high < 0 ? -1 : hex(at[2]);
        *to++ = low < 0 ? *at : (char)(high * 16 + low);
        if (low >= 0) at += 2;
    }
    *to = '\0';
}

static bool take_user(remote *r, const char *text, size_t length) {
    const char *colon = memchr(text, ':', length);
    size_t user = colon ? (size_t)(colon - text) : length;
    r->user = strndup(text, user);
    const char *other = secure_getenv("OURO_STORE_PASSWORD");
    r->password = colon ? strndup(colon + 1, length - user - 1) : strdup(other ? other : "");
    if (r->user) decode(r->user);
    if (r->password && colon) decode(r->password);
    return r->user && r->password;
}

static bool take_token(remote *r) {
    const char *token = secure_getenv("OURO_TOKEN");
    if (r->user || !token || !*token) return true;
    return asprintf(&r->bearer, "Authorization: Bearer %s", token) >= 0 ||
           (r->bearer = NULL, false);
}

static bool parse(remote *r, const char *url, error *e) {
    const char *plus = strchr(url, '+'), *slashes = plus ? strstr(plus, "://") : NULL;
    if (!slashes || strpbrk(url, "?#"))
        return ouro__fail(e, EINVAL, "expected SCHEME://HOST:PORT, without parameters");
    const char *host = slashes + 3, *end = host + strcspn(host, "/");
    const char *at = memrchr(host, '@', (size_t)(end - host));
    if (at && !take_user(r, host, (size_t)(at - host))) return ouro__fail_memory(e);
    if (at) host = at + 1;
    if (host == end)
        return ouro__fail(e, EINVAL, "expected SCHEME://HOST:PORT: the host is missing");
    size_t length = strlen(host);
    while (length && host[length - 1] == '/') length--;
    if (asprintf(&r->base, "%.*s%.*s", (int)(slashes + 3 - (plus + 1)), plus + 1, (int)length,
                 host) < 0)
        r->base = NULL;
    return (r->base && take_token(r)) || ouro__fail_memory(e);
}

remote *ouro__remote_open(const char *url, error *e) {
    remote *r = calloc(1, sizeof *r);
    if (!r) ouro__error_memory(e);
    if (r && parse(r, url, e) && (r->client = ouro__http_new(e))) return r;
    ouro__remote_close(r);
    return NULL;
}

static void forget(char *text) {
    if (text) explicit_bzero(text, strlen(text));
    free(text);
}

void ouro__remote_close(void *opened) {
    remote *r = opened;
    if (!r) return;
    ouro__http_free(r->client);
    free(r->base);
    free(r->user);
    forget(r->password);
    forget(r->bearer);
    free(r);
}

const char *ouro__remote_note(const void *opened) { return ((const remote *)opened)->note; }

// ---------------------------------------------------------------- sending

// The first line of what the server says, cut.
static bool fail_status(const http_answer *a, error *e) {
    int code = a->status == 401 || a->status == 403   ? EACCES
               : a->status == 429 || a->status == 503 ? EAGAIN
                                                      : EIO;
    int length = (int)strcspn(a->body, "\r\n");
    return ouro__fail(e, code, "the server answers %ld%s%.*s", a->status, length ? ": " : "",
                      length < 200 ? length : 200, a->body);
}

bool ouro__remote_send(remote *r, const char *path, const char *type, const void *body, size_t size,
                       http_answer *got, error *e) {
    char *url = NULL, content_type[80];
    const char *headers[] = {content_type, r->bearer, NULL};
    snprintf(content_type, sizeof content_type, "Content-Type: %s", type);
    if (asprintf(&url, "%s%s", r->base, path) < 0) return ouro__fail_memory(e);
    http_request q = {.url = url,
                      .headers = headers,
                      .user = r->user,
                      .password = r->password,
                      .body = body,
                      .body_size = size,
                      .gzip = true,
                      .seconds = 60,
                      .answer_most = 1 << 20};
    bool ok = ouro__http(r->client, &q, got, e);
    free(url);
    if (!ok || got->status / 100 == 2) return ok;
    fail_status(got, e);
    ouro__http_answer_free(got);
    return false;
}

// ---------------------------------------------------------------- messages

static void put_note(remote *r, const folded_counts *c) {
    char deep[GROUPED_ROOM], small[GROUPED_ROOM], names[GROUPED_ROOM];
    r->note[0] = '\0';
    if (c->deep || c->small)
        snprintf(r->note, sizeof r->note,
                 "the server takes no more, so these are summed up in [pruned]: %s paths that are "
                 "too deep, %s of the smallest",
                 ouro__grouped(deep, c->deep), ouro__grouped(small, c->small));
    size_t used = strlen(r->note);
    if (c->texts)
        snprintf(r->note + used, sizeof r->note - used, "%s%s names are cut", used ? "; " : "",
                 ouro__grouped(names, c->texts));
}

char *ouro__remote_encode(remote *r, const slice *s, const taken_limits *l, encode_profile encode,
                          size_t *size, error *e) {
    taken_limits now = *l;
    for (;; now.paths /= 2) {
        folded_counts c;
        profile *p = ouro__profile_within(s, &now, &c, e);
        char *message = p ? encode(s, p, size, e) : NULL;
        ouro__profile_free(p);
        if (!message) return NULL;
        put_note(r, &c);
        if (*size <= l->bytes || now.paths < 4) return message;
        free(message);
    }
}

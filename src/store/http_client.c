// SPDX-License-Identifier: MIT
//
// HTTP by libcurl, and the only file that knows it. Redirects are not followed, because they would
// carry the password to another place. Messages say what to do next.

#include "http_client.h"

#include "ouro.h"
#include "output.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_SECONDS = 10,
    REQUEST_SECONDS = 300,
    ANSWER_MOST = 1 << 30,
    REFUSAL_MOST = 1 << 16, // of an answer that is no success, the rest is skipped
    PACKED_AT_ONCE = 1 << 20
};

struct http_client {
    CURL *curl;
    char detail[CURL_ERROR_SIZE];
};

// ---------------------------------------------------------------- one request

typedef struct {
    const http_request *r;
    http_client *c;
    struct curl_slist *headers;
    unsigned char *packed; // the body
    size_t packed_size, packed_room;
    char *answer;
    size_t size, room, most, taken; // taken: by the caller's function
    bool too_long, no_memory, refused;
} exchange;

static void take_packed(void *user, const void *bytes, size_t size) {
    exchange *x = user;
    if (x->packed_room - x->packed_size < size) {
        size_t room = 2 * x->packed_room + size;
        unsigned char *grown = realloc(x->packed, room);
        if (!grown) x->no_memory = true;
        if (x->no_memory) return;
        x->packed = grown;
        x->packed_room = room;
    }
    memcpy(x->packed + x->packed_size, bytes, size);
    x->packed_size += size;
}

static bool pack_body(exchange *x) {
    packer *p = ouro__packer_new(take_packed, x);
    const char *from = x->r->body;
    size_t left = x->r->body_size, part;
    bool ok = p != NULL, last = false;
    for (; ok && !last; from += part, left -= part) {
        part = left < PACKED_AT_ONCE ? left : PACKED_AT_ONCE;
        last = part == left;
        ok = ouro__packer_put(p, from, part, last);
    }
    ouro__packer_free(p);
    return ok && !x->no_memory;
}

static bool add_header(exchange *x, const char *line) {
    struct curl_slist *longer = curl_slist_append(x->headers, line);
    if (longer) x->headers = longer;
    return longer != NULL;
}

static bool add_headers(exchange *x) {
    bool ok = add_header(x, "Expect:"); // no question before a body
    if (x->r->gzip) ok = ok && add_header(x, "Content-Encoding: gzip");
    for (const char *const *h = x->r->headers; ok && h && *h; h++) ok = add_header(x, *h);
    return ok;
}

// ---------------------------------------------------------------- answers

static bool is_success(const exchange *x) {
    long status = 0;
    curl_easy_getinfo(x->c->curl, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300;
}

static bool make_room(exchange *x, size_t more) {
    if (x->room - x->size > more) return true;
    size_t room = 2 * x->room + more + 256;
    if (room > x->most && x->size + more <= x->most) room = x->most + 1; // with the NUL
    char *grown = realloc(x->answer, room);
    if (!grown) return false;
    x->answer = grown;
    x->room = room;
    return true;
}

static size_t give_to_caller(exchange *x, const void *bytes, size_t size) {
    x->taken += size;
    x->too_long = x->taken > x->most;
    x->refused = !x->too_long && !x->r->take(x->r->taker, bytes, size);
    return x->too_long || x->refused ? 0 : size;
}

// Returning less than what came ends the request.
static size_t take_answer(char *bytes, size_t one, size_t size, void *user) {
    exchange *x = user;
    size_t come = size * one, part = come;
    bool success = is_success(x);
    if (success && x->r->take) return give_to_caller(x, bytes, come);
    if (!success && part > REFUSAL_MOST - x->size) part = REFUSAL_MOST - x->size;
    x->too_long = success && part > x->most - x->size;
    x->no_memory = !x->too_long && !make_room(x, part);
    if (x->too_long || x->no_memory) return 0;
    memcpy(x->answer + x->size, bytes, part);
    x->size += part;
    return come;
}

// ---------------------------------------------------------------- what went wrong

// The host and its port, without a user; at most 200 characters.
static void name_host(const char *url, char name[static 204]) {
    const char *start = strstr(url, "://");
    start = start ? start + 3 : url;
    size_t length = strcspn(start, "/?#");
    for (const char *at; (at = memchr(start, '@', length));) {
        length -= (size_t)(at + 1 - start);
        start = at + 1;
    }
    snprintf(name, 204, "%.*s", length < 200 ? (int)length : 200, start);
}

static bool tell_limit(const exchange *x, const char *host, error *e) {
    char most[GROUPED_ROOM];
    return ouro__fail(e, EFBIG, "%s: the answer is longer than %s bytes; ask for less", host,
                      ouro__grouped(most, x->most));
}

static bool tell_caller(const char *host, error *e) {
    if (e && e->code) return false; // the caller's own words
    return ouro__fail(e, ECANCELED, "%s: the answer was not read to its end", host);
}

static bool was_connected(const exchange *x) {
    double connected = 0;
    curl_easy_getinfo(x->c->curl, CURLINFO_CONNECT_TIME, &connected);
    return connected > 0;
}

static bool tell_url(const exchange *x, const char *host, error *e) {
    if (was_connected(x))
        return ouro__fail(e, EPROTO, "%s does not speak HTTP; is the port right?", host);
    return ouro__fail(e, EINVAL, "%s: not a URL that can be asked: expected http://HOST:PORT/",
                      host);
}

static bool tell_timeout(const exchange *x, const char *host, error *e) {
    if (was_connected(x))
        return ouro__fail(e, ETIMEDOUT,
                          "%s did not answer in time; is it busy or stopped? Try again, or ask for "
                          "less",
                          host);
    // A port that is not for TLS waits for the rest of a request.
    bool greeted = strncmp(x->c->detail, "SSL", 3) == 0;
    return ouro__fail(e, ECONNREFUSED, "%s: no %s", host,
                      greeted ? "secure connection in time; is it a port for https?"
                              : "connection in time; is the host up, and no firewall between?");
}

static bool tell_tls(const exchange *x, const char *host, error *e) {
    return ouro__fail(
        e, EPROTO,
        "%s: no secure connection: %s; is it a port for https, and is its certificate one that "
        "this machine trusts? SSL_CERT_FILE names a file of certificates to trust",
        host, x->c->detail[0] ? x->c->detail : "TLS failed");
}

// libcurl's own words name hosts and files, never a password.
static bool tell(const exchange *x, CURLcode code, error *e) {
    char host[204];
    name_host(x->r->url, host);
    const char *detail = x->c->detail[0] ? x->c->detail : curl_easy_strerror(code);
    if (x->no_memory || code == CURLE_OUT_OF_MEMORY) return ouro__fail_memory(e);
    if (x->too_long) return tell_limit(x, host, e);
    if (x->refused) return tell_caller(host, e);
    switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return tell_url(x, host, e);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return ouro__fail(e, ECONNREFUSED, "%s: no such host is known; is the name right?", host);
    case CURLE_COULDNT_CONNECT:
        return ouro__fail(e, ECONNREFUSED,
                          "%s: nobody answers there; is the server started, and the port right?",
                          host);
    case CURLE_OPERATION_TIMEDOUT:
        return tell_timeout(x, host, e);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
        return tell_tls(x, host, e);
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return ouro__fail(e, ECONNRESET,
                          "%s: the connection was cut; was the server restarted? Try again", host);
    default:
        return ouro__fail(e, EPROTO, "%s: %s", host, detail);
    }
}

// ---------------------------------------------------------------- sending

static void set_protocols(CURL *curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

static void set_body(const exchange *x) {
    const http_request *r = x->r;
    CURL *curl = x->c->curl;
    if (r->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, x->packed ? (const char *)x->packed : r->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(x->packed ? x->packed_size : r->body_size));
    }
    if (r->method) curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
    if (r->method && strcmp(r->method, "HEAD") == 0) curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
}

// libcurl does not read the variable, which OpenSSL's programs and curl itself obey.
static void set_trust(const exchange *x) {
    const char *variable = secure_getenv("SSL_CERT_FILE");
    const char *file = x->r->ca_file ? x->r->ca_file : variable && *variable ? variable : NULL;
    if (file) curl_easy_setopt(x->c->curl, CURLOPT_CAINFO, file);
}

static void set_options(exchange *x) {
    const http_request *r = x->r;
    CURL *curl = x->c->curl;
    curl_easy_reset(curl); // keeps the connections
    set_protocols(curl);
    curl_easy_setopt(curl, CURLOPT_URL, r->url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, x->headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, x->c->detail);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "ouro/" OURO_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
                     (long)(r->connect_seconds ? r->connect_seconds : CONNECT_SECONDS));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)(r->seconds ? r->seconds : REQUEST_SECONDS));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, x);
    set_trust(x);
    if (r->user) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, r->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, r->password ? r->password : "");
    }
    set_body(x);
}

static bool take_over(exchange *x, http_answer *a, error *e) {
    curl_off_t wait = 0;
    if (!make_room(x, 0)) return ouro__fail_memory(e);
    x->answer[x->size] = '\0';
    curl_easy_getinfo(x->c->curl, CURLINFO_RESPONSE_CODE, &a->status);
    curl_easy_getinfo(x->c->curl, CURLINFO_RETRY_AFTER, &wait);
    a->retry_after = wait > 0 && wait < 86400 ? (unsigned)wait : 0;
    a->body = x->answer;
    a->size = x->size;
    x->answer = NULL;
    return true;
}

static bool send_request(exchange *x, http_answer *a, error *e) {
    if (strstr(x->r->url, "://") && memchr(x->r->url, '@', strcspn(x->r->url, "?#")))
        return ouro__fail(e, EINVAL, "a user and a password do not belong into the URL here");
    if (!add_headers(x) || (x->r->gzip && x->r->body && !pack_body(x))) return ouro__fail_memory(e);
    set_options(x);
    x->c->detail[0] = '\0';
    CURLcode code = curl_easy_perform(x->c->curl);
    return code == CURLE_OK ? take_over(x, a, e) : tell(x, code, e);
}

bool ouro__http(http_client *c, const http_request *r, http_answer *a, error *e) {
    exchange x = {.r = r, .c = c, .most = r->answer_most ? r->answer_most : ANSWER_MOST};
    *a = (http_answer){0};
    if (e) e->code = 0;
    bool ok = send_request(&x, a, e);
    curl_easy_reset(c->curl); // forgets the password
    curl_slist_free_all(x.headers);
    free(x.packed);
    free(x.answer);
    return ok;
}

void ouro__http_answer_free(http_answer *a) {
    free(a->body);
    *a = (http_answer){0};
}

// ---------------------------------------------------------------- clients

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void start_library(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

http_client *ouro__http_new(error *e) {
    http_client *c = calloc(1, sizeof *c);
    pthread_once(&once, start_library);
    if (c) c->curl = curl_easy_init();
    if (c && c->curl) return c;
    free(c);
    ouro__error_memory(e);
    return NULL;
}

void ouro__http_free(http_client *c) {
    if (!c) return;
    curl_easy_cleanup(c->curl);
    free(c);
}

// The password may hold an @: the last one before the path ends it. What is left over is zeros.
void ouro__url_hide_password(char *url) {
    char *start = strstr(url, "://");
    if (!start) return;
    start += 3;
    size_t length = strlen(start);
    char *at = memrchr(start, '@', strcspn(start, "/?#"));
    char *colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
    if (!colon || at - colon < 2) return;
    size_t rest = length - (size_t)(at - start);
    colon[1] = '*';
    memmove(colon + 2, at, rest);
    memset(colon + 2 + rest, 0, (size_t)(at - colon - 2));
}

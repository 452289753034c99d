// SPDX-License-Identifier: MIT
//
// One HTTP request after the other, over connections that stay open. A message about a request
// names the host and never the rest of the URL, the user or the password.

#ifndef OURO_HTTP_CLIENT_H
#define OURO_HTTP_CLIENT_H

#include "error.h"

#include <stddef.h>

typedef struct http_client http_client; // for one thread at a time

typedef struct {
    const char *method;         // NULL: POST with a body, GET without one
    const char *url;            // http:// or https://, without user and password
    const char *const *headers; // "Name: value", a NULL at the end; NULL: none
    const char *user, *password;
    const void *body;
    size_t body_size;
    bool gzip; // packs the body
    const char
        *ca_file; // certificates to trust, PEM; NULL: those of SSL_CERT_FILE, or the system's
    unsigned connect_seconds; // 0: 10
    unsigned seconds;         // for all of it; 0: 300
    size_t answer_most;       // bytes; 0: 1 GB
    // Gets the answer in pieces, if its status is 2xx; false ends the request, and then `take` may
    // have filled an error of its own. NULL: the answer goes to memory.
    bool (*take)(void *taker, const void *bytes, size_t size);
    void *taker;
} http_request;

typedef struct {
    long status;
    char *body; // with a NUL behind it; never NULL after success
    size_t size;
    unsigned retry_after; // seconds; 0: the server did not say
} http_answer;

http_client *ouro__http_new(error *e);
void ouro__http_free(http_client *c);

// Any status is success; false: there is no answer. e->code says why: ECONNREFUSED (nobody is
// there; nothing was sent), ETIMEDOUT, ECONNRESET (it may have been carried out or not), EFBIG (the
// answer is too long), ECANCELED (`take` said so), EPROTO (TLS or HTTP), EINVAL (the URL), ENOMEM.
bool ouro__http(http_client *c, const http_request *r, http_answer *a, error *e);
void ouro__http_answer_free(http_answer *a);

// Takes the password out of a URL where it stands, and leaves a star: for messages, and for argv,
// which other users can read.
void ouro__url_hide_password(char *url);

#endif

// SPDX-License-Identifier: MIT
//
// What a request asks: its path and its parameters, decoded. Knows nothing of sockets.

#ifndef OURO_REQUEST_H
#define OURO_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The library keeps each parameter of a target in its memory for the connection. When many small
// ones fill that, it closes the connection without an answer. None of them is asked for there, so
// once the target was copied, the library sees one long parameter instead.
void ouro__request_hide_query(const char *target);

enum { TARGET_LONGEST = 1 << 16, PARAMETERS_MOST = 1024 };

typedef struct {
    const char *name, *value;
} parameter;

typedef struct {
    char *bytes; // everything decoded, one text after the other
    const char *path;
    parameter *parameters;
    size_t count;
} request;

// 0, or an HTTP status: 400 malformed, 414 too long, 503 out of memory. `target` is the text
// between method and version: /path?name=value&...
int ouro__request_parse(request *r, const char *target);
void ouro__request_free(request *r);

// The first value, NULL if there is none.
const char *ouro__request_value(const request *r, const char *name);
size_t ouro__request_count(const request *r, const char *name);
// A whole number from `least` to `most`; `otherwise` if the parameter is not there. false: it is
// something else.
bool ouro__request_number(const request *r, const char *name, uint32_t least, uint32_t most,
                          uint32_t otherwise, uint32_t *number);

// Does the Host header name this server? `port` is the one it listens on; `names` are the hosts it
// answers to, in lower case, NULL at the end.
bool ouro__host_is_ours(const char *host, unsigned port, const char *const *names);
// Is the Origin header (NULL: none) this server under the name that the Host header gives?
bool ouro__origin_is_ours(const char *origin, const char *host);

#endif

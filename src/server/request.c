// SPDX-License-Identifier: MIT
//
// Takes a request's target apart, and decides whether a Host header names this server. Strict: what
// is malformed is refused, never repaired, so that nothing is read in two ways. Decoded texts are
// UTF-8 without NUL, hence plain C strings.

#include "request.h"

#include "utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_utf8(const char *text) {
    for (size_t n; *text; text += n) {
        if ((n = ouro__utf8_length(text)) == 0) return false;
    }
    return true;
}

// Decodes in place. In a query a plus is a space.
static bool decode(char *text, bool query) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        char c = *at;
        if (c == '%') {
            int high = hex(at[1]), low = high < 0 ? -1 : hex(at[2]);
            if (low < 0 || high + low == 0) return false;
            c = (char)(high * 16 + low);
            at += 2;
        } else if (c == '+' && query) {
            c = ' ';
        }
        *to++ = c;
    }
    *to = '\0';
    return is_utf8(text);
}

static bool add_parameter(request *r, char *text) {
    if (!*text) return true;
    char *value = strchr(text, '=');
    if (value) *value++ = '\0';
    if (r->count == PARAMETERS_MOST || !decode(text, true) || (value && !decode(value, true)))
        return false;
    r->parameters[r->count++] = (parameter){text, value ? value : ""};
    return true;
}

static int parse_query(request *r, char *query) {
    size_t most = 1;
    for (const char *at = query; *at; at++) most += *at == '&';
    if (most > PARAMETERS_MOST) most = PARAMETERS_MOST;
    r->parameters = malloc(most * sizeof *r->parameters);
    if (!r->parameters) return 503;
    for (char *next; query; query = next) {
        if ((next = strchr(query, '&'))) *next++ = '\0';
        if (!add_parameter(r, query)) return 400;
    }
    return 0;
}

// The library's own memory, which it writes to as well.
void ouro__request_hide_query(const char *target) {
    char *query = strchr((char *)(uintptr_t)target, '?');
    if (query) memset(query + 1, 'x', strlen(query + 1));
}

int ouro__request_parse(request *r, const char *target) {
    *r = (request){0};
    if (strlen(target) > TARGET_LONGEST) return 414;
    if (target[0] != '/') return 400;
    for (const char *at = target; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f || *at == '#') return 400;
    }
    r->bytes = strdup(target);
    if (!r->bytes) return 503;
    char *query = strchr(r->bytes, '?');
    if (query) *query++ = '\0';
    r->path = r->bytes;
    if (!decode(r->bytes, false)) return 400;
    return query ? parse_query(r, query) : 0;
}

void ouro__request_free(request *r) {
    free(r->bytes);
    free(r->parameters);
    *r = (request){0};
}

// ---------------------------------------------------------------- parameters

const char *ouro__request_value(const request *r, const char *name) {
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->parameters[i].name, name) == 0) return r->parameters[i].value;
    }
    return NULL;
}

size_t ouro__request_count(const request *r, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) count += strcmp(r->parameters[i].name, name) == 0;
    return count;
}

bool ouro__request_number(const request *r, const char *name, uint32_t least, uint32_t most,
                          uint32_t otherwise, uint32_t *number) {
    const char *text = ouro__request_value(r, name);
    uint64_t value = 0;
    *number = otherwise;
    if (!text) return true;
    if (!*text || strlen(text) > 10) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (value < least || value > most) return false;
    *number = (uint32_t)value;
    return true;
}

// ---------------------------------------------------------------- headers

// The end of the host in HOST or HOST:PORT; an IPv6 address stands in brackets.
static const char *host_end(const char *host) {
    const char *from = host;
    if (*host == '[' && !(from = strchr(host, ']'))) return NULL;
    const char *colon = strchr(from, ':');
    return colon ? colon : host + strlen(host);
}

static bool port_is(const char *text, unsigned port) {
    if (!*text) return port == 80;
    unsigned given = 0;
    if (*text++ != ':' || !*text || *text == '0' || strlen(text) > 5) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        given = given * 10 + (unsigned)(*text - '0');
    }
    return given == port;
}

bool ouro__host_is_ours(const char *host, unsigned port, const char *const *names) {
    const char *end = host ? host_end(host) : NULL;
    if (!end || !port_is(end, port)) return false;
    size_t length = (size_t)(end - host);
    for (; *names; names++) {
        if (strlen(*names) == length && strncasecmp(*names, host, length) == 0) return true;
    }
    return false;
}

bool ouro__origin_is_ours(const char *origin, const char *host) {
    if (!origin) return true;
    return strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

// SPDX-License-Identifier: MIT
//
// Sends slices to a Pyroscope server, as its agents do: POST /ingest with pprof. Labels stand in
// the name of the application, web{host=a1}, where commas and braces cannot be written.

#include "remote.h"

#include "engine.h"
#include "format.h"
#include "readers.h"

#include <stdlib.h>
#include <string.h>

// Its defaults. Deeper stacks would be cut by the server, more samples refused.
static const taken_limits limits = {
    .depth = 1000, .paths = 16000, .longest = 65535, .bytes = 4 << 20};

enum { VALUE_LONGEST = 2048 };

static void *open_pyroscope(const char *url, bool make, error *e) {
    (void)make;
    return ouro__remote_open(url, e);
}

static char *encode(const slice *s, const profile *p, size_t *size, error *e) {
    output *out = ouro__output_memory();
    if (!out) ouro__error_memory(e);
    if (!out) return NULL;
    write_options how = {.title = ouro__label_set_get(s->labels, "service"),
                         .metric = p->default_metric};
    if (!ouro__pprof_write(p, &how, out, e)) ouro__output_fail_memory(out);
    return ouro__output_take(out, size, e);
}

// ---------------------------------------------------------------- the address

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

// A text of the name; a name of a label has letters, digits, dots and _ alone.
static void put_text(output *to, const char *text, bool plain) {
    for (size_t i = 0; text[i] && i < VALUE_LONGEST; i++) {
        unsigned char c = (unsigned char)text[i];
        if (plain ? !is_plain(text[i]) : c < ' ' || strchr(",{}\"=", c)) c = '_';
        ouro__print(to, is_plain((char)c) || c == '-' ? "%c" : "%%%02X", c);
    }
}

static void put_label(output *to, const label_pair *l) {
    bool digit = l->name[0] >= '0' && l->name[0] <= '9';
    if (digit) ouro__put_text(to, "_");
    put_text(to, l->name, true);
    ouro__put_text(to, "%3D");
    put_text(to, l->value, false);
}

// The path and the query; NULL with *e filled.
static char *address_of(const slice *s, error *e) {
    output *to = ouro__output_memory();
    const char *service = ouro__label_set_get(s->labels, "service");
    size_t size, put = 0;
    if (!to) ouro__error_memory(e);
    if (!to) return NULL;
    ouro__put_text(to, "/ingest?format=pprof&spyName=ouro&name=");
    put_text(to, service && *service ? service : "unknown", false);
    for (size_t i = 0; i < s->labels->count; i++) {
        const label_pair *l = &s->labels->items[i];
        if (strcmp(l->name, "service") == 0 || !*l->value) continue;
        ouro__put_text(to, put++ ? "%2C" : "%7B");
        put_label(to, l);
    }
    if (put) ouro__put_text(to, "%7D");
    ouro__print(to, "&from=%llu&until=%llu", (unsigned long long)(s->from / 1000),
                (unsigned long long)((s->until + 999) / 1000));
    return ouro__output_take(to, &size, e);
}

// ---------------------------------------------------------------- sending

static bool put_slice(void *opened, const slice *s, bool *known, error *e) {
    http_answer got;
    size_t size = 0;
    char *address = address_of(s, e);
    char *body = address ? ouro__remote_encode(opened, s, &limits, encode, &size, e) : NULL;
    bool ok =
        body && ouro__remote_send(opened, address, "application/octet-stream", body, size, &got, e);
    if (ok) ouro__http_answer_free(&got);
    *known = false; // nobody can tell
    free(address);
    free(body);
    return ok;
}

const engine ouro__pyroscope = {.scheme = "pyroscope+http",
                                .open = open_pyroscope,
                                .close = ouro__remote_close,
                                .put = put_slice,
                                .note = ouro__remote_note};
const engine ouro__pyroscope_tls = {.scheme = "pyroscope+https",
                                    .open = open_pyroscope,
                                    .close = ouro__remote_close,
                                    .put = put_slice,
                                    .note = ouro__remote_note};

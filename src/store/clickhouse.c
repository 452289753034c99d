// SPDX-License-Identifier: MIT
//
// The store on servers of ClickHouse, by their HTTP interface: one server, or the shards of a
// cluster. See clickhouse.h for what is where.

#include "clickhouse.h"

#include <errno.h>
#include <stdlib.h>

enum {
    PATIENCE = 10000,        // milliseconds; servers restart within that
    GREETING_MOST = 1 << 20, // bytes of an answer while a store is opened
    ANSWER_MOST = 1 << 30    // without a limit
};

static void close_link(void *opened) {
    clickhouse *c = opened;
    ouro__http_free(c->http);
    ouro__clickhouse_url_free(&c->url);
    ouro__lookup_free(&c->known_lookup);
    free(c->known);
    free(c);
}

static void limit(void *opened, uint64_t bytes) {
    clickhouse *c = opened;
    c->limit = bytes;
    c->answer_most = bytes ? bytes : ANSWER_MOST;
}

static void *open_link(const char *url, bool make, error *e) {
    clickhouse *c = calloc(1, sizeof *c);
    if (!c) {
        ouro__error_memory(e);
        return NULL;
    }
    c->patience = PATIENCE;
    c->answer_most = GREETING_MOST;
    if (ouro__clickhouse_url_parse(url, &c->url, e) && (c->http = ouro__http_new(e)) &&
        ouro__clickhouse_prepare(c, make, e)) {
        limit(c, 0);
        return c;
    }
    if (e && e->code == EFBIG) ouro__clickhouse_damaged(e);
    close_link(c);
    return NULL;
}

static void set_patience(void *opened, uint32_t milliseconds) {
    ((clickhouse *)opened)->patience = milliseconds;
}

#define CLICKHOUSE(name)                                                                         \
    {                                                                                            \
        .scheme = (name), .open = open_link, .close = close_link, .patience = set_patience,      \
        .limit = limit, .put_many = ouro__clickhouse_put, .recorded = ouro__clickhouse_recorded, \
        .ask = ouro__clickhouse_ask, .offer = ouro__clickhouse_offer,                            \
        .metrics = ouro__clickhouse_metrics, .series = ouro__clickhouse_series,                  \
        .summary = ouro__clickhouse_summary, .keep = ouro__clickhouse_keep                       \
    }

const engine ouro__clickhouse = CLICKHOUSE("http"), ouro__clickhouse_tls = CLICKHOUSE("https");

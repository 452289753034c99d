// SPDX-License-Identifier: MIT
//
// What a ClickHouse server answers, without the network: the input is cut into answers, and every
// question of the engine gets them one after the other. It ends with a profile that is valid, or
// with an error that has a message.

#include "clickhouse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const engine ouro__sqlite = {.scheme = "sqlite"}; // not in this program
struct http_client {
    const uint8_t *at, *end;
};
static struct http_client bytes;

http_client *ouro__http_new(error *e) {
    (void)e;
    return &bytes;
}

void ouro__http_free(http_client *c) { (void)c; }

// Two bytes: how long the answer is, and in the highest bits whether it is a refusal.
bool ouro__http(http_client *c, const http_request *r, http_answer *a, error *e) {
    static const unsigned char version[] = "\7version\0011";
    bool first = strstr(r->url, "version") != NULL;
    if (!first && c->end - c->at < 2) return ouro__fail(e, EPROTO, "it ends");
    size_t word = first ? 0 : (size_t)(c->at[0] | c->at[1] << 8), size = word & 0x3fff;
    if (!first) c->at += 2;
    if (size > (size_t)(c->end - c->at)) size = (size_t)(c->end - c->at);
    if (first) size = sizeof version - 1;
    *a = (http_answer){
        .status = word >> 14 == 3 ? 500 : 200, .body = malloc(size + 1), .size = size};
    memcpy(a->body, first ? version : c->at, size);
    a->body[size] = '\0';
    if (!first) c->at += size;
    return true;
}

void ouro__http_answer_free(http_answer *a) {
    free(a->body);
    *a = (http_answer){0};
}

static void check(bool ok, const error *e) {
    if (!ok && !e->message[0]) abort();
}

static void ask(store *s, const choice *c, unsigned what) {
    error e = {0};
    uint64_t next;
    profile *p = NULL;
    if (what & 1)
        check(ouro__store_recorded(s, (key){{1}}, &next, &p, &e), &e);
    else
        check((p = ouro__store_ask(s, c, &e)) != NULL, &e);
    if (p && !ouro__profile_is_valid(p)) abort();
    for (uint32_t m = 0; p && m < p->metric_count; m++)
        if (p->metrics[m].decimals > DECIMALS_MOST) abort();
    ouro__profile_free(p);
}

static void look(store *s, const choice *c, unsigned what) {
    error e = {0};
    store_offer offer;
    series chart;
    store_summary summary;
    store_metric metric = {.name = (char *)"time", .unit = (char *)"ns"};
    series_question q = {
        .metric = &metric, .label = "host", .from = 5, .step = 7, .steps = 9, .most = 2};
    bool ok = false;
    if (what % 3 == 0 && (ok = ouro__store_offer(s, c, &offer, &e))) ouro__store_offer_free(&offer);
    if (what % 3 == 1 && (ok = ouro__store_series(s, c, &q, &chart, &e))) ouro__series_free(&chart);
    if (what % 3 == 2 && (ok = ouro__store_summary(s, what % 2, &summary, &e)))
        ouro__store_summary_free(&summary);
    check(ok, &e);
}

static void forget(const char *url) {
    error e = {0};
    remembered sums = {0};
    clickhouse *c = ouro__clickhouse.open(url, false, &e);
    check(c && ouro__clickhouse_remember(c, 1000, &sums, &e), &e);
    free(sums.before);
    if (c) ouro__clickhouse.close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    error e = {0};
    choice c;
    if (size < 1) return 0;
    unsigned what = data[0];
    bytes = (struct http_client){data + 1, data + size};
    const char *url = what & 64 ? "http://a,b/c?cluster=d" : "http://a/c";
    if (what & 128) {
        forget(url);
        return 0;
    }
    store *s = ouro__store_open(url, false, &e);
    check(s != NULL, &e);
    if (!s) return 0;
    if (!ouro__choice_parse(what & 32 ? "host=a*,b service!=x" : "", 1000, &c, &e)) abort();
    c.paths_most = what & 16 ? 1 : 0;
    if (what & 8)
        look(s, &c, what & 7);
    else
        ask(s, &c, what);
    ouro__choice_free(&c);
    ouro__store_close(s);
    return 0;
}

// SPDX-License-Identifier: MIT
//
// Statements over ClickHouse's HTTP interface. If a host does not answer, the next one is asked;
// what must not happen twice is only sent again if nothing was sent before. A refusal becomes a
// sentence that says what to do.

#include "clickhouse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PACKED_FROM = 16384, CONNECT_SECONDS = 5 };

#define BOUNDARY "ouro-keys-b7d2a0c61f"

// ---------------------------------------------------------------- refusals

static const struct {
    int number, code;
    const char *words;
} refusals[] = {
    {60, ENOENT, "there are no tables of ouro; `ouro push --store` makes them"},
    {81, ENOENT, "there is no such database; `ouro push --store` makes one, or is its name wrong?"},
    {159, ETIMEDOUT, "the server gave up after its own limit of time; ask for less"},
    {164, EROFS, "the user may only read; push as a user who may write"},
    {192, EACCES, "user or password is wrong"},
    {193, EACCES, "user or password is wrong"},
    {194, EACCES, "user or password is wrong"},
    {195, EACCES, "the user may not come from this machine"},
    {516, EACCES, "user or password is wrong"},
    {241, E2BIG,
     "the server has not enough memory for this; ask for a shorter time or fewer labels"},
    {242, EROFS, "a table is read-only now; look into the server's log"},
    {243, ENOSPC, "the server's disk is full; make room there, then push again: nothing is lost"},
    {252, EAGAIN, "the server is behind with merging; push less often (--every 60s)"},
    {202, EAGAIN, "the server has too many questions at once; try again"},
    {497, EACCES, "the user has not the rights for this"},
    {291, EACCES, "the user may not use this database"},
    {32, EHOSTUNREACH, "a shard does not answer"},
    {170, EINVAL, "the server knows no such cluster; look into its <remote_servers>"},
    {209, EHOSTUNREACH, "a shard does not answer"},
    {210, EHOSTUNREACH, "a shard does not answer"},
    {279, EHOSTUNREACH, "a shard does not answer"},
    {519, EHOSTUNREACH, "a shard does not answer"},
};

// The text of the exception without the parts for the server's developers.
static void tell_other(const char *host, const char *body, error *e) {
    const char *text = strstr(body, "DB::Exception: ");
    text = text ? text + 15 : body;
    size_t length = strcspn(text, "\n");
    const char *stop = memmem(text, length, ", e.what() =", 12);
    if (stop) length = (size_t)(stop - text);
    ouro__error_set(e, EIO, "%s refused: %.*s", host, length < 300 ? (int)length : 300, text);
}

static bool refused(const clickhouse *c, const http_answer *a, error *e) {
    const char *host = c->url.hosts[c->host], *code = strstr(a->body, "Code: ");
    int number = code ? atoi(code + 6) : 0;
    if (a->status == 401 || a->status == 403) number = number ? number : 516;
    if (strstr(a->body, "No space left on device")) number = 243;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (refusals[i].number == number)
            return ouro__fail(e, refusals[i].code, "%s: %s", host, refusals[i].words);
    }
    if (!code && a->status != 500)
        return ouro__fail(e, EPROTO, "%s answered with HTTP status %ld; is it a ClickHouse server?",
                          host, a->status);
    tell_other(host, a->body, e);
    return false;
}

bool ouro__clickhouse_damaged(error *e) {
    return ouro__fail(e, EILSEQ, "the server's answer makes no sense; is it a ClickHouse server?");
}

bool ouro__clickhouse_too_long(const clickhouse *c, error *e) {
    char most[GROUPED_ROOM];
    return ouro__fail(e, EFBIG,
                      "%s answers with more than %s bytes; ask for less, or allow more by --limit",
                      c->url.hosts[c->host], ouro__grouped(most, c->answer_most));
}

bool ouro__clickhouse_passing(int code) {
    return code == ECONNREFUSED || code == ECONNRESET || code == ETIMEDOUT || code == EAGAIN ||
           code == EHOSTUNREACH;
}

uint32_t ouro__clickhouse_pause(unsigned attempt) {
    uint32_t milliseconds = 250u << (attempt < 4 ? attempt : 4);
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&pause, NULL);
    return milliseconds;
}

const char *ouro__clickhouse_suffix(const clickhouse *c) { return c->url.cluster ? "_all" : ""; }

// ---------------------------------------------------------------- requests

static void put_escaped(FILE *to, const char *text) {
    for (; *text; text++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", *text))
            fputc(*text, to);
        else
            fprintf(to, "%%%02X", (unsigned char)*text);
    }
}

// Between shards: who does not send anything for a twelfth of our patience is down, because one
// question may meet such a shard several times. Healthy shards tell their progress several times
// per second.
static void put_settings(FILE *to, const clickhouse *c, const statement *s) {
    unsigned patience = c->url.seconds / 12 ? c->url.seconds / 12 : 1;
    fprintf(to, "&wait_end_of_query=1&connect_timeout_with_failover_ms=2000");
    if (!c->url.cluster) return;
    fprintf(to, "&receive_timeout=%u&send_timeout=%u&insert_distributed_sync=1", patience,
            patience);
    fprintf(to, "&connections_with_failover_max_tries=1&skip_unavailable_shards=%d", s->skip);
}

static char *request_url(const clickhouse *c, const statement *s) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    fprintf(to, "http%s://%s/?query=", c->url.tls ? "s" : "", c->url.hosts[c->host]);
    put_escaped(to, s->sql);
    if (!s->no_database) fprintf(to, "&database=%s", c->url.database);
    if (!c->no_settings) put_settings(to, c, s);
    if (s->keys)
        fprintf(to, "&keys_format=RowBinary&keys_structure=k+FixedString(16)%s",
                s->numbers ? ",n+UInt32" : "");
    if (fclose(to) == 0) return text;
    free(text);
    return NULL;
}

// A form with one file in it: the table `keys`.
static void put_keys(row_writer *w, const statement *s) {
    static const char head[] =
        "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"keys\"; "
        "filename=\"keys\"\r\nContent-Type: application/octet-stream\r\n\r\n";
    static const char foot[] = "\r\n--" BOUNDARY "--\r\n";
    ouro__binary_bytes(w, head, sizeof head - 1);
    for (size_t i = 0; i < s->key_count; i++) {
        ouro__binary_key(w, s->keys[i]);
        if (s->numbers) ouro__binary_u32(w, s->numbers[i]);
    }
    ouro__binary_bytes(w, foot, sizeof foot - 1);
}

// Within this machine, packing costs more than it saves.
static bool is_local(const char *host) {
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost:", 10) == 0 ||
           strncmp(host, "[::1]", 5) == 0;
}

static bool is_worth_packing(const clickhouse *c, const row_writer *body) {
    return body && body->used >= PACKED_FROM && !is_local(c->url.hosts[c->host]);
}

static bool send_to_host(clickhouse *c, const statement *s, const row_writer *form, http_answer *a,
                         error *e) {
    static const char *const form_headers[] = {
        "Content-Type: multipart/form-data; boundary=" BOUNDARY, NULL};
    const row_writer *body = s->keys ? form : s->rows;
    char *url = request_url(c, s);
    if (!url) return ouro__fail_memory(e);
    http_request r = {.method = "POST",
                      .url = url,
                      .headers = s->keys ? form_headers : NULL,
                      .user = c->url.user,
                      .password = c->url.password,
                      .body = body ? (const void *)body->bytes : "",
                      .body_size = body ? body->used : 0,
                      .gzip = !s->keys && is_worth_packing(c, body),
                      .ca_file = c->url.ca_file,
                      .connect_seconds = CONNECT_SECONDS,
                      .seconds = c->url.seconds,
                      .answer_most = c->answer_most};
    bool ok = ouro__http(c->http, &r, a, e);
    free(url);
    if (!ok && e->code == EFBIG) return ouro__clickhouse_too_long(c, e);
    if (!ok || a->status == 200) return ok;
    refused(c, a, e);
    ouro__http_answer_free(a);
    return false;
}

// Was nothing carried out for sure?
static bool may_go_on(const statement *s, int code) {
    return code == ECONNREFUSED || (!s->once && (code == ECONNRESET || code == ETIMEDOUT));
}

static bool try_hosts(clickhouse *c, const statement *s, const row_writer *form, http_answer *a,
                      error *e) {
    size_t left = s->this_host ? 1 : c->url.host_count;
    error of_host = {0};
    for (;; c->host = (c->host + 1) % c->url.host_count) {
        if (send_to_host(c, s, form, a, &of_host)) return true;
        if (--left == 0 || !may_go_on(s, of_host.code)) break;
    }
    if (e) *e = of_host;
    return false;
}

// Who may only read may perhaps not choose settings, either; the server's own will do.
bool ouro__clickhouse_run(clickhouse *c, const statement *s, http_answer *a, error *e) {
    row_writer form = {0};
    if (s->keys) put_keys(&form, s);
    bool ok = !form.failed || ouro__fail_memory(e);
    if (ok) {
        error first = {0};
        ok = try_hosts(c, s, &form, a, &first);
        if (!ok && first.code == EROFS && !c->no_settings && !s->rows) {
            c->no_settings = true;
            ok = try_hosts(c, s, &form, a, &first);
        }
        if (!ok && e) *e = first;
    }
    ouro__binary_free(&form);
    return ok;
}

static bool run_arguments(clickhouse *c, statement s, http_answer *a, error *e, const char *format,
                          va_list arguments) {
    char *sql = NULL;
    if (vasprintf(&sql, format, arguments) < 0) return ouro__fail_memory(e);
    s.sql = sql;
    bool ok = ouro__clickhouse_run(c, &s, a, e);
    free(sql);
    return ok;
}

bool ouro__clickhouse_runf(clickhouse *c, statement s, http_answer *a, error *e, const char *format,
                           ...) {
    va_list arguments;
    va_start(arguments, format);
    bool ok = run_arguments(c, s, a, e, format, arguments);
    va_end(arguments);
    return ok;
}

bool ouro__clickhouse_number(clickhouse *c, statement s, uint64_t *number, error *e,
                             const char *format, ...) {
    http_answer a;
    va_list arguments;
    va_start(arguments, format);
    bool ok = run_arguments(c, s, &a, e, format, arguments);
    va_end(arguments);
    if (!ok) return false;
    row_reader r = ouro__binary_of(&a);
    *number = ouro__binary_get_u64(&r);
    ouro__http_answer_free(&a);
    return !r.damaged || ouro__clickhouse_damaged(e);
}

bool ouro__clickhouse_insert(clickhouse *c, const char *table, const char *columns,
                             row_writer *rows, bool once, error *e) {
    http_answer a;
    bool ok = !rows->failed || ouro__fail_memory(e);
    if (ok && rows->used) {
        statement s = {.rows = rows, .once = once};
        ok = ouro__clickhouse_runf(c, s, &a, e, "INSERT INTO ouro_%s%s (%s) FORMAT RowBinary",
                                   table, ouro__clickhouse_suffix(c), columns);
        if (ok) ouro__http_answer_free(&a);
    }
    ouro__binary_free(rows);
    return ok;
}

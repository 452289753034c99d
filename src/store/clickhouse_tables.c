// SPDX-License-Identifier: MIT
//
// The tables of a store, and their version. With a cluster every shard has the same tables, and
// beside each one a table for all shards, whose name ends in _all. The statements are those that
// version 18.16 and later ones understand, and mean the same there: both sides of a JOIN have
// names, and a JOIN is ALL, because ANY INNER keeps one row per key of both sides since version 20.
//
//   ouro_blocks, ouro_nodes, ouro_metrics, ouro_label_sets
//                  names, by the key that is made of them; a row that came twice says the same.
//                  Every shard has all of them, by the column `copy`
//   ouro_samples   what nodes have, sorted so that a service's hours are found at once, equal keys
//                  stand together, and so do the slices of a node, once per metric: they compress
//   ouro_slices    a row makes the samples of a slice count
//   ouro_forgotten the sums of slices that are gone, of recordings that go on
//   ouro_meta      the version; of a cluster, which shards there are; which parts of ouro_forgotten
//                  count

#include "clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, SHARDS_MOST = 1000, ATTEMPTS = 6 };

static const struct {
    const char *name, *columns, *engine, *shard_by;
} tables[] = {
    {"blocks",
     "copy UInt16, block FixedString(16), name String, file String, line UInt32, col UInt32",
     "ReplacingMergeTree() ORDER BY block", "copy"},
    {"nodes",
     "copy UInt16, node FixedString(16), parent FixedString(16), block FixedString(16),"
     " up Array(FixedString(16))",
     "ReplacingMergeTree() ORDER BY node", "copy"},
    {"metrics",
     "copy UInt16, metric_key FixedString(16), metric UInt64, name String, unit String, decimals "
     "UInt32",
     "ReplacingMergeTree() ORDER BY metric_key", "copy"},
    {"label_sets",
     "copy UInt16, label_set FixedString(16), names Array(String), texts Array(String)",
     "ReplacingMergeTree() ORDER BY label_set", "copy"},
    {"samples",
     "service UInt64, metric UInt64, hour UInt32, node FixedString(16), slice UInt64, value Int64",
     "MergeTree() PARTITION BY intDiv(hour, 24) ORDER BY (service, hour, node, metric, slice)",
     "cityHash64(node)"},
    {"slices",
     "recording FixedString(16), number UInt64, slice UInt64, hour UInt32, began UInt64,"
     " ended UInt64, service UInt64, label_set FixedString(16), samples UInt64,"
     " metrics Array(UInt64), totals Array(Int64)",
     "MergeTree() PARTITION BY intDiv(hour, 24) ORDER BY (recording, number)",
     "cityHash64(recording)"},
    {"forgotten",
     "part UInt64, recording FixedString(16), upto UInt64, metric UInt64, node FixedString(16),"
     " value Int64",
     "MergeTree() PARTITION BY part ORDER BY (recording, metric, node)", "cityHash64(node)"},
    {"meta", "name String, value String", "MergeTree() ORDER BY name", "rand()"},
};
enum { TABLES = sizeof tables / sizeof *tables };

// For a statement without an answer.
static bool execute(clickhouse *c, statement s, const char *sql, error *e) {
    http_answer a;
    s.sql = sql;
    if (!ouro__clickhouse_run(c, &s, &a, e)) return false;
    ouro__http_answer_free(&a);
    return true;
}

static bool make_table(clickhouse *c, size_t i, error *e) {
    char sql[1024];
    snprintf(sql, sizeof sql, "CREATE TABLE IF NOT EXISTS ouro_%s (%s) ENGINE = %s", tables[i].name,
             tables[i].columns, tables[i].engine);
    if (!execute(c, (statement){.this_host = true}, sql, e)) return false;
    if (!c->url.cluster) return true;
    snprintf(sql, sizeof sql,
             "CREATE TABLE IF NOT EXISTS ouro_%s_all (%s) ENGINE = Distributed('%s', '%s', "
             "'ouro_%s', %s)",
             tables[i].name, tables[i].columns, c->url.cluster, c->url.database, tables[i].name,
             tables[i].shard_by);
    return execute(c, (statement){.this_host = true}, sql, e);
}

static bool make_database(clickhouse *c, error *e) {
    http_answer a;
    statement s = {.this_host = true, .no_database = true};
    if (!ouro__clickhouse_runf(
            c, s, &a, e, "SELECT name FROM system.databases WHERE name = '%s' FORMAT RowBinary",
            c->url.database))
        return false;
    bool there = a.size > 0;
    ouro__http_answer_free(&a);
    if (there) return true;
    if (!ouro__clickhouse_runf(c, s, &a, e, "CREATE DATABASE IF NOT EXISTS `%s`", c->url.database))
        return false;
    ouro__http_answer_free(&a);
    return true;
}

static void put_meta(row_writer *w, const char *name, const char *value) {
    ouro__binary_text(w, name);
    ouro__binary_text(w, value);
}

// The version comes last: with it, all tables are there. A shard is called as the URL calls it, and
// every shard knows how all are called.
static bool make_meta(clickhouse *c, error *e) {
    row_writer w = {0};
    char version[16];
    snprintf(version, sizeof version, "%d", SCHEMA_VERSION);
    put_meta(&w, "version", version);
    if (c->url.cluster) put_meta(&w, "shard", c->url.hosts[c->host]);
    for (size_t i = 0; c->url.cluster && i < c->url.host_count; i++)
        put_meta(&w, "member", c->url.hosts[i]);
    bool ok = !w.failed || ouro__fail_memory(e);
    ok = ok && execute(c, (statement){.rows = &w, .this_host = true},
                       "INSERT INTO ouro_meta (name, value) FORMAT RowBinary", e);
    ouro__binary_free(&w);
    return ok;
}

static bool make_tables(clickhouse *c, error *e) {
    bool ok = make_database(c, e);
    for (size_t i = 0; ok && i < TABLES; i++) ok = make_table(c, i, e);
    return ok;
}

// ---------------------------------------------------------------- the version

// What ouro_meta has here. *found false: there are no tables.
static bool read_meta(clickhouse *c, bool this_host, const char *columns, http_answer *a,
                      bool *found, error *e) {
    error first = {0};
    *found = ouro__clickhouse_runf(c, (statement){.this_host = this_host}, a, &first,
                                   "SELECT DISTINCT name, value FROM ouro_meta WHERE name IN (%s)"
                                   " ORDER BY name, value FORMAT RowBinary",
                                   columns);
    if (*found || first.code == ENOENT) return true;
    if (e) *e = first;
    return false;
}

static bool check_version(const http_answer *a, bool *there, error *e) {
    row_reader r = ouro__binary_of(a);
    *there = false;
    while (ouro__binary_left(&r)) {
        char *name = ouro__binary_get_text(&r), *value = ouro__binary_get_text(&r);
        long version = value ? atol(value) : 0;
        bool is_version = name && strcmp(name, "version") == 0;
        free(name);
        free(value);
        if (!is_version) continue;
        *there = true;
        if (version != SCHEMA_VERSION)
            return ouro__fail(
                e, EILSEQ, "a store of version %ld, this is a program for version %d%s", version,
                SCHEMA_VERSION,
                version > SCHEMA_VERSION ? ": use a newer ouro" : ": use the ouro that made it");
    }
    return !r.damaged || ouro__clickhouse_damaged(e);
}

// The version on the host that is asked now. *there false: it has none.
static bool look_for_version(clickhouse *c, bool this_host, bool *there, error *e) {
    http_answer a;
    *there = false;
    if (!read_meta(c, this_host, "'version'", &a, there, e)) return false;
    if (!*there) return true;
    bool ok = check_version(&a, there, e);
    ouro__http_answer_free(&a);
    return ok;
}

// Several may make the same tables at once: who is refused looks again.
static bool make_here(clickhouse *c, bool (*make)(clickhouse *, error *), error *e) {
    error first = {0};
    bool ok = false, there = false;
    for (unsigned i = 0; !ok && i < ATTEMPTS; i++) {
        if (i) ouro__clickhouse_pause(i);
        ok = look_for_version(c, true, &there, &first) && (there || make(c, &first));
        if (first.code != EIO) break;
    }
    if (!ok && e) *e = first;
    return ok;
}

// On every host of a cluster where they are not; else on one. The versions come when all tables are
// there, and that of the first host last: who is killed on the way has made nothing that looks
// complete to the next one.
static bool make_everywhere(clickhouse *c, error *e) {
    size_t first = c->host, count = c->url.cluster ? c->url.host_count : 1;
    bool ok = true;
    for (size_t i = 0; ok && i < 2 * count; i++) {
        c->host = c->url.cluster ? (i < count ? i : 2 * count - 1 - i) : first;
        ok = make_here(c, i < count ? make_tables : make_meta, e);
    }
    c->host = first;
    return ok;
}

// A store of the first days does not have all tables.
bool ouro__clickhouse_make_table(clickhouse *c, const char *name, error *e) {
    size_t first = c->host, count = c->url.cluster ? c->url.host_count : 1, i = 0;
    bool ok = true;
    while (strcmp(tables[i].name, name) != 0) i++;
    for (size_t host = 0; ok && host < count; host++) {
        if (c->url.cluster) c->host = host;
        ok = make_table(c, i, e);
    }
    c->host = first;
    return ok;
}

// How many copies of a row reach every shard once at least.
static bool count_shards(clickhouse *c, error *e) {
    http_answer a;
    c->copies = 1;
    if (!c->url.cluster) return true;
    if (!ouro__clickhouse_runf(c, (statement){.no_database = true}, &a, e,
                               "SELECT toUInt32(sum(weight)) FROM (SELECT shard_num,"
                               " any(shard_weight) AS weight FROM system.clusters"
                               " WHERE cluster = '%s' GROUP BY shard_num) FORMAT RowBinary",
                               c->url.cluster))
        return false;
    row_reader r = ouro__binary_of(&a);
    c->copies = ouro__binary_get_u32(&r);
    ouro__http_answer_free(&a);
    if (r.damaged) return ouro__clickhouse_damaged(e);
    if (c->copies && c->copies <= SHARDS_MOST) return true;
    return ouro__fail(e, EINVAL,
                      "%s knows no cluster %s (or one of more than %d shards); look into its "
                      "<remote_servers>",
                      c->url.hosts[c->host], c->url.cluster, SHARDS_MOST);
}

bool ouro__clickhouse_prepare(clickhouse *c, bool make, error *e) {
    bool there;
    if (!look_for_version(c, false, &there, e) || !count_shards(c, e)) return false;
    if (there) return true;
    if (make) return make_everywhere(c, e);
    return ouro__fail(
        e, ENOENT,
        "%s has no store in the database %s; `ouro push --store` makes one, or is the "
        "name wrong?",
        c->url.hosts[c->host], c->url.database);
}

// ---------------------------------------------------------------- shards

// The members that did not say that they are a shard. Rows come sorted: all members, then shards.
static char *names_missing(row_reader *r) {
    char *members[HOSTS_MAX], *text = NULL;
    size_t count = 0, size;
    FILE *to = open_memstream(&text, &size);
    while (ouro__binary_left(r)) {
        char *name = ouro__binary_get_text(r), *value = ouro__binary_get_text(r);
        bool shard = name && value && strcmp(name, "shard") == 0;
        free(name);
        for (size_t i = 0; shard && i < count; i++) {
            if (strcmp(members[i], value) == 0) members[i][0] = '\0';
        }
        if (value && !shard && count < HOSTS_MAX)
            members[count++] = value;
        else
            free(value);
    }
    const char *between = "";
    for (size_t i = 0; i < count; i++) {
        if (to && members[i][0]) fprintf(to, "%s%s", between, members[i]);
        if (members[i][0]) between = ", ";
        free(members[i]);
    }
    if (to && fclose(to) == 0) return text;
    free(text);
    return NULL;
}

char *ouro__clickhouse_missing(clickhouse *c, error *e) {
    http_answer a;
    error asked = {0};
    if (e) e->code = 0;
    if (!c->url.cluster) return NULL;
    statement s = {.sql =
                       "SELECT DISTINCT name, value FROM ouro_meta_all"
                       " WHERE name IN ('member', 'shard') ORDER BY name, value FORMAT RowBinary",
                   .skip = true};
    if (!ouro__clickhouse_run(c, &s, &a, &asked)) {
        if (e) *e = asked;
        return NULL;
    }
    row_reader r = ouro__binary_of(&a);
    char *names = names_missing(&r), *words = NULL;
    ouro__http_answer_free(&a);
    if (!names) ouro__error_memory(e);
    if (names && *names && asprintf(&words, "the shard %s does not answer", names) < 0)
        ouro__error_memory(e);
    free(names);
    return words;
}

bool ouro__clickhouse_goes_without(clickhouse *c, bool strict, char **missing, error *e) {
    error asked = {0};
    *missing = NULL;
    if (e->code != EHOSTUNREACH || !c->url.cluster) return false;
    *missing = ouro__clickhouse_missing(c, &asked);
    if (asked.code == EHOSTUNREACH)
        return ouro__fail(e, EHOSTUNREACH,
                          "no shard of the cluster %s answers; are its servers up?",
                          c->url.cluster);
    if (*missing && !strict) return true;
    if (*missing) ouro__error_set(e, EHOSTUNREACH, "%s, and --strict wants all", *missing);
    return false;
}

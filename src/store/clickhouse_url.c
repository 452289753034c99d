// SPDX-License-Identifier: MIT
//
// http[s]://[user[:password]@]host[:port][,host[:port]]/database[?cluster=NAME&...]
//
// A password does not have to stand there: ?password_file=PATH names a file that holds it, and
// OURO_STORE_PASSWORD is asked if neither says it. Names of databases and clusters go into
// statements, so they have letters, digits, _ and - only.

#include "clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 60 };

static int hex_digit(char c) {
    static const char digits[] = "0123456789abcdef";
    char lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
    const char *at = lower ? strchr(digits, lower) : NULL;
    return at ? (int)(at - digits) : -1;
}

// A copy in which %41 is A. NULL: out of memory.
static char *decoded(const char *from, size_t length) {
    char *copy = strndup(from, length), *to = copy;
    for (const char *at = copy; copy && *at; at++) {
        bool escape = *at == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0;
        *to++ = escape ? (char)(hex_digit(at[1]) * 16 + hex_digit(at[2])) : *at;
        if (escape) at += 2;
    }
    if (copy) *to = '\0';
    return copy;
}

static bool is_name(const char *text) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return *text && text[strspn(text, letters)] == '\0' && strlen(text) <= 200;
}

static bool add_host(clickhouse_url *u, const char *from, size_t length, error *e) {
    const char *port = memchr(from, ']', length); // of an IPv6 address
    port = memchr(port ? port : from, ':', length - (size_t)(port ? port - from : 0));
    char *host = NULL;
    if (!length)
        return ouro__fail(e, EINVAL, "a host is empty: expected http://HOST:PORT/DATABASE");
    if (u->host_count == HOSTS_MAX) return ouro__fail(e, EINVAL, "more than %d hosts", HOSTS_MAX);
    if (asprintf(&host, "%.*s%s", (int)length, from, port ? "" : u->tls ? ":8443" : ":8123") < 0)
        return ouro__fail_memory(e);
    u->hosts[u->host_count++] = host;
    return true;
}

static bool parse_hosts(clickhouse_url *u, const char *from, const char *end, error *e) {
    for (;;) {
        const char *comma = memchr(from, ',', (size_t)(end - from));
        const char *stop = comma ? comma : end;
        if (!add_host(u, from, (size_t)(stop - from), e)) return false;
        if (!comma) return true;
        from = comma + 1;
    }
}

static bool parse_user(clickhouse_url *u, const char *from, const char *end, error *e) {
    const char *colon = memchr(from, ':', (size_t)(end - from));
    u->user = decoded(from, (size_t)((colon ? colon : end) - from));
    if (colon) u->password = decoded(colon + 1, (size_t)(end - colon - 1));
    return (u->user && (!colon || u->password)) || ouro__fail_memory(e);
}

// The first line.
static bool read_password(clickhouse_url *u, const char *path, error *e) {
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file) return ouro__fail(e, errno, "password_file %s: %s", path, strerror(errno));
    ssize_t length = getline(&line, &size, file);
    fclose(file);
    if (length < 0) {
        free(line);
        return ouro__fail(e, EINVAL, "password_file %s: the file is empty", path);
    }
    line[strcspn(line, "\r\n")] = '\0';
    free(u->password);
    u->password = line;
    return true;
}

static bool parse_seconds(clickhouse_url *u, const char *text, error *e) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || n < 1 || n > 86400)
        return ouro__fail(e, EINVAL, "timeout=%s: expected seconds, 1 to 86400", text);
    u->seconds = (unsigned)n;
    return true;
}

// One NAME=VALUE behind the question mark; takes the value.
static bool take_parameter(clickhouse_url *u, const char *name, size_t length, char *value,
                           error *e) {
    bool ok = true;
    if (length == 7 && memcmp(name, "cluster", 7) == 0) {
        free(u->cluster);
        u->cluster = value;
        return is_name(value) ||
               ouro__fail(e, EINVAL, "cluster=%s: expected letters, digits, _ and -", value);
    }
    if (length == 7 && memcmp(name, "ca_file", 7) == 0) {
        free(u->ca_file);
        u->ca_file = value;
        return true;
    }
    if (length == 13 && memcmp(name, "password_file", 13) == 0)
        ok = read_password(u, value, e);
    else if (length == 7 && memcmp(name, "timeout", 7) == 0)
        ok = parse_seconds(u, value, e);
    else
        ok = ouro__fail(e, EINVAL,
                        "a store's URL has no %.*s; it has cluster, password_file, ca_file and "
                        "timeout",
                        (int)length, name);
    free(value);
    return ok;
}

static bool parse_parameters(clickhouse_url *u, const char *at, error *e) {
    bool ok = true;
    while (ok && *at) {
        size_t length = strcspn(at, "&"), name = strcspn(at, "=&");
        char *value = name < length ? decoded(at + name + 1, length - name - 1) : strdup("");
        ok = value ? take_parameter(u, at, name, value, e) : ouro__fail_memory(e);
        at += length + (at[length] == '&');
    }
    return ok;
}

static bool parse(clickhouse_url *u, const char *text, error *e) {
    const char *start = strstr(text, "://") + 3, *end = start + strcspn(start, "/?#");
    const char *at = memrchr(start, '@', (size_t)(end - start));
    if (at && !parse_user(u, start, at, e)) return false;
    if (!parse_hosts(u, at ? at + 1 : start, end, e)) return false;
    size_t length = *end == '/' ? strcspn(end + 1, "?#") : 0;
    u->database = length ? decoded(end + 1, length) : strdup("");
    if (!u->database) return ouro__fail_memory(e);
    if (!is_name(u->database))
        return ouro__fail(e, EINVAL,
                          "expected http://HOST:PORT/DATABASE; the name of a database has letters, "
                          "digits, _ and -");
    const char *question = strchr(end, '?');
    return !question || parse_parameters(u, question + 1, e);
}

bool ouro__clickhouse_url_parse(const char *text, clickhouse_url *u, error *e) {
    *u = (clickhouse_url){.tls = strncmp(text, "https:", 6) == 0, .seconds = SECONDS};
    bool ok = parse(u, text, e);
    const char *secret = secure_getenv("OURO_STORE_PASSWORD");
    if (ok && !u->password && secret)
        ok = (u->password = strdup(secret)) != NULL || ouro__fail_memory(e);
    if (ok && u->password && !u->user) // the name that a server has of itself
        ok = (u->user = strdup("default")) != NULL || ouro__fail_memory(e);
    if (!ok) ouro__clickhouse_url_free(u);
    return ok;
}

void ouro__clickhouse_url_free(clickhouse_url *u) {
    for (size_t i = 0; i < u->host_count; i++) free(u->hosts[i]);
    if (u->password) explicit_bzero(u->password, strlen(u->password));
    free(u->user);
    free(u->password);
    free(u->database);
    free(u->cluster);
    free(u->ca_file);
    *u = (clickhouse_url){0};
}

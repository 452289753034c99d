// SPDX-License-Identifier: MIT
//
// ouro view: loads, starts the server, prints its address, opens the browser, and waits until it is
// told to end. What it was asked to show first goes into the address, as everything that the pages
// show does.

#include "cli.h"
#include "heap.h"
#include "pattern.h"
#include "printable.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const allowed[] = {"no-open",
                                      "port",
                                      "host",
                                      "source",
                                      "metric",
                                      "select",
                                      "exclude",
                                      "fold",
                                      "from",
                                      "compact",
                                      "period",
                                      "min",
                                      "limit",
                                      "no-secret",
                                      "source-extension",
                                      "select-match",
                                      "exclude-match",
                                      "fold-match",
                                      "label",
                                      "source-map",
                                      "store",
                                      "where",
                                      "with",
                                      "paths",
                                      "strict",
                                      NULL};

// ---------------------------------------------------------------- profiles

static profile *shrunk(profile *p, profile *smaller) {
    ouro__profile_free(p);
    return smaller;
}

// Whatever stands at the path by now: opening it does not wait, as for the writer of a pipe, and
// reading it comes to an end. Devices do not; files of the kernel may wait, and tell no size.
static int open_regular(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

// For a live file; the same as the first reading, but nothing is printed and nothing exits, and
// only a regular file is read.
static profile *read_again(void *user, const char *path, error *e) {
    const options *o = user;
    const format *from = o->from ? ouro__format_named(o->from) : NULL;
    read_options r = {
        .rule = o->rule, .edge_length = o->edge_length, .keep_labels = true, .limit = o->limit};
    char opened[64];
    int fd = open_regular(path);
    if (fd < 0) {
        ouro__error_set(e, errno, "cannot open it again: %s", strerror(errno));
        return NULL;
    }
    snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd); // the same file, whatever was renamed
    profile *p = read_profile(opened, from, &r, e);
    close(fd);
    if (p && o->period > 1) p = shrunk(p, ouro__divided(p, o->period, e));
    if (p && o->min > 0) p = shrunk(p, ouro__pruned(p, o->min / 100, e));
    return p;
}

// ---------------------------------------------------------------- the first address

static void put_parameter(FILE *to, const char *name, const char *value, int *count) {
    fprintf(to, "%c%s=", (*count)++ ? '&' : '?', name);
    put_encoded(to, value);
}

static void put_parameters(FILE *to, const char *name, const names *values, int *count) {
    for (size_t i = 0; i < values->count; i++) put_parameter(to, name, values->items[i], count);
}

static char *first_address(const options *o, const server *s) {
    char *text = NULL;
    size_t size;
    int count = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    const char *page = o->with || o->inputs.count == 2 ? "/compare" : o->store ? "/fleet" : "/";
    fprintf(to, "%s%s", ouro__server_address(s), page);
    if (ouro__server_secret(s)) put_parameter(to, "secret", ouro__server_secret(s), &count);
    if (o->where) put_parameter(to, "where", o->where, &count);
    if (o->with) put_parameter(to, "with", o->with, &count);
    if (o->metric) put_parameter(to, "metric", o->metric, &count);
    put_parameters(to, "select", &o->select, &count);
    put_parameters(to, "exclude", &o->exclude, &count);
    put_parameters(to, "fold", &o->fold, &count);
    put_parameters(to, "select-match", &o->select_match, &count);
    put_parameters(to, "exclude-match", &o->exclude_match, &count);
    put_parameters(to, "fold-match", &o->fold_match, &count);
    put_parameters(to, "label", &o->label, &count);
    fclose(to);
    return text;
}

static void fail_start(const server_options *s, const error *e) {
    ouro__say("ouro: %s: %s", s->files[0].path, e->message);
    exit(EXIT_USAGE);
}

static void check_expressions(const names *expressions, const server_options *s) {
    for (size_t i = 0; i < expressions->count; i++) {
        error e = {0};
        name_pattern *what = ouro__pattern_new(expressions->items[i], &e);
        if (!what) fail_start(s, &e);
        ouro__pattern_free(what);
    }
}

static void check_labels(const names *labels, const server_options *s) {
    for (size_t i = 0; i < labels->count; i++) {
        bool found = false;
        error e = {0};
        label_condition unused;
        for (unsigned f = 0; f < s->file_count && !found; f++)
            found = ouro__find_label(s->files[f].profile, labels->items[i], &unused, &e);
        if (!found) fail_start(s, &e);
    }
}

// Mistakes are told before a page is opened on them. Two files: one of them has it.
static void check_start(const options *o, const server_options *s) {
    const names *lists[] = {&o->select, &o->exclude, &o->fold};
    for (size_t l = 0; l < 3; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            bool found = false;
            error e = {0};
            uint32_t block;
            for (unsigned f = 0; f < s->file_count && !found; f++)
                found = ouro__find_block(s->files[f].profile, lists[l]->items[i], &block, &e);
            if (!found) fail_start(s, &e);
        }
    }
    check_expressions(&o->select_match, s);
    check_expressions(&o->exclude_match, s);
    check_expressions(&o->fold_match, s);
    check_labels(&o->label, s);
    for (unsigned f = 0; f < s->file_count; f++)
        metric_option(s->files[f].profile, s->files[f].path, o->metric);
}

// ---------------------------------------------------------------- a store

enum { PATHS_MOST = 100000 };

// A file by its name; a URL without what is secret in it: user and password, and its parameters.
static char *store_title(const char *url) {
    const char *host = strstr(url, "://"), *slash = strrchr(url, '/');
    if (!host) return strdup(slash ? slash + 1 : url);
    host += 3;
    size_t length = strcspn(host, "?#");
    for (size_t i = 0; i < length; i++) {
        if (host[i] != '@') continue;
        host += i + 1;
        length -= i + 1;
        i = (size_t)-1;
    }
    return strndup(host, length);
}

// Mistakes in a choice are told before a page is opened on it.
static void check_choice(const char *where) {
    choice c;
    error e = {0};
    if (!where) return;
    if (!ouro__choice_parse(where, (uint64_t)time(NULL) * 1000, &c, &e))
        fail_usage("view", "%s", e.message);
    ouro__choice_free(&c);
}

static void open_store(const options *o, server_options *s) {
    error e = {0};
    check_choice(o->where);
    check_choice(o->with);
    s->store = ouro__store_open(o->store, false, &e);
    if (!s->store) fail_with(o->store, &e);
    ouro__store_limit(s->store, o->limit);
    char *title = store_title(o->store);
    if (!title) fail_memory();
    s->store_title = title;
    s->paths_most = o->paths ? o->paths : PATHS_MOST;
    s->strict = o->strict;
}

static void close_store(const server_options *s) {
    ouro__store_close(s->store);
    free((void *)(uintptr_t)s->store_title);
}

// ---------------------------------------------------------------- memory

// The first filters of a large profile would spend more time on getting pages from the system than
// on filtering. So pages for two of them are fetched while the user looks at the first page; freed,
// they stay with the process. What many requests left beyond that goes back to the system when
// there are none: ouro keeps its heap otherwise (main.c).
enum { PIECE = 8 << 20, PIECES_MOST = 40, LEFT_MOST = 64 << 20 }; // pieces come from the heap

static size_t kept_bytes; // at most PIECES_MOST pieces

static size_t take_pieces(char *pieces[PIECES_MOST], size_t bytes) {
    size_t count = 0;
    while (count < PIECES_MOST && count * PIECE < bytes && (pieces[count] = malloc(PIECE))) count++;
    return count;
}

static void fetch_pages(void) {
    char *pieces[PIECES_MOST];
    size_t count = take_pieces(pieces, kept_bytes);
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < PIECE; at += 4096) ((volatile char *)pieces[i])[at] = 0;
    }
    while (count > 0) free(pieces[--count]);
}

// Pieces that are taken meanwhile keep their pages.
static void give_back(void *user) {
    char *pieces[PIECES_MOST];
    (void)user;
    if (ouro__heap_free_bytes() < kept_bytes + LEFT_MOST) return;
    size_t count = take_pieces(pieces, kept_bytes);
    ouro__heap_give_back();
    while (count > 0) free(pieces[--count]);
}

static size_t bytes_of_filters(const server_options *s) {
    size_t nodes = 0;
    for (unsigned i = 0; i < s->file_count; i++) nodes += s->files[i].profile->node_count;
    size_t bytes = nodes < 100000 ? 0 : nodes * 150, most = (size_t)PIECES_MOST * PIECE;
    return bytes < most ? bytes : most;
}

// ---------------------------------------------------------------- the command

// Blocked before any thread starts, so that only the wait below gets them.
static sigset_t block_signals(void) {
    sigset_t awaited = ending_signals();
    sigaddset(&awaited, SIGCHLD); // of the browser
    pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    signal(SIGPIPE, SIG_IGN);
    return awaited;
}

// A sanitizer forks at the end and waits for its child, so SIGCHLD is not ignored.
static void wait_for_ending(const sigset_t *awaited) {
    int which;
    while (sigwait(awaited, &which) == 0 && which == SIGCHLD) {
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    }
}

// The folders of --source with all links followed, so that they stay what they are.
static char **find_roots(options *o) {
    static const char *here[] = {"."};
    if (!o->source.count) o->source = (names){.items = here, .count = 1};
    char **roots = calloc(o->source.count, sizeof *roots);
    if (!roots) fail_memory();
    for (size_t i = 0; i < o->source.count; i++) {
        struct stat info;
        const char *name = o->source.items[i];
        roots[i] = realpath(name, NULL);
        if (!roots[i] || stat(roots[i], &info) != 0)
            fail_usage("view", "--source %s: %s", name, strerror(errno));
        if (!S_ISDIR(info.st_mode)) fail_usage("view", "--source %s: not a folder", name);
    }
    if (o->source.items == here) o->source.items = NULL;
    return roots;
}

// The extensions of --source-extension, with or without their dot.
static void find_extensions(const options *o) {
    for (size_t i = 0; i < o->extensions.count; i++) {
        const char **extension = &o->extensions.items[i];
        if (**extension == '.') ++*extension;
        if (!**extension || strpbrk(*extension, "./"))
            fail_usage("view", "--source-extension %s: expected one like fble", *extension);
    }
}

static void check_maps(const options *o) {
    for (size_t i = 0; i < o->maps.count; i++) {
        if (!ouro__is_source_map(o->maps.items[i]))
            fail_usage("view", "--source-map %s: expected FROM=TO, like /build/x=.",
                       o->maps.items[i]);
    }
}

static server_options load_all(options *o, const char *const *roots, size_t root_count) {
    server_options s = {.file_count = (unsigned)o->inputs.count,
                        .read_again = read_again,
                        .rest = give_back,
                        .user = o,
                        .host = o->host,
                        .port = o->port,
                        .sources = {.roots = roots,
                                    .root_count = root_count,
                                    .extensions = o->extensions.items,
                                    .extension_count = o->extensions.count,
                                    .maps = o->maps.items,
                                    .map_count = o->maps.count},
                        .no_secret = o->no_secret,
                        .assets = secure_getenv("OURO_ASSETS")};
    for (unsigned i = 0; i < s.file_count; i++) {
        const char *path = o->inputs.items[i];
        s.files[i] = (server_file){
            .path = path, .profile = apply_shrinking(o, path, load_profile(o, path, false))};
    }
    return s;
}

int cmd_view(int argc, char **argv) {
    options o;
    options_parse(&o, argc, argv, "view", allowed);
    use_live_files(&o, o.inputs.count);
    if (!o.store && (o.where || o.with))
        fail_usage("view", "--where chooses from a store: --store FILE.db");
    if (o.store && o.inputs.count) fail_usage("view", "expected a store or files, found both");
    if (o.store && (o.from || o.rule != RULE_DEFAULT || o.period > 1 || o.min > 0))
        fail_usage("view", "--from, --compact, --period and --min are for files, not for a store");
    if (o.inputs.count == 0 && !o.store) fail_usage("view", "expected a file, or --store FILE.db");
    if (o.inputs.count > 2)
        fail_usage(
            "view",
            "expected one file, or two to compare, found %zu; `ouro merge` makes one of many",
            o.inputs.count);
    if (o.inputs.count == 2 && strcmp(o.inputs.items[0], "-") == 0 &&
        strcmp(o.inputs.items[1], "-") == 0)
        fail_usage("view", "standard input can be read once only");
    ouro__heap_is_shared();
    find_extensions(&o);
    o.keep_labels = true;
    check_maps(&o);
    char **roots = find_roots(&o);
    server_options start = load_all(&o, (const char *const *)roots, o.source.count);
    if (o.store) open_store(&o, &start);
    if (!o.store) check_start(&o, &start);
    kept_bytes = bytes_of_filters(&start);
    sigset_t awaited = block_signals();
    error e = {0};
    server *s = ouro__server_start(&start, &e);
    if (!s) {
        ouro__say("ouro view: %s", e.message);
        exit(EXIT_FAILED);
    }
    char *address = first_address(&o, s);
    printf("%s\n", address);
    fflush(stdout);
    if (!o.no_open) browser_open(address, !o.no_secret);
    fetch_pages();
    wait_for_ending(&awaited);
    browser_end();
    free(address);
    if (!ouro__server_stop(s)) _exit(EXIT_GOOD); // a request was still at work; nothing is lost
    close_store(&start);
    for (size_t i = 0; i < o.source.count; i++) free(roots[i]);
    free(roots);
    options_free(&o);
    return EXIT_GOOD;
}

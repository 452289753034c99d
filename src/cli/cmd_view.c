// SPDX-License-Identifier: MIT
//
// ouro view: loads, starts the server, prints its address, opens the browser, and waits until it is
// told to end. What it was asked to show first goes into the address, as everything that the pages
// show does.

#include "cli.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const allowed[] = {"no-open", "port",    "host", "source", "metric",
                                      "select",  "exclude", "fold", "from",   "compact",
                                      "period",  "min",     NULL};

extern char **environ;

// ---------------------------------------------------------------- profiles

static profile *shrunk(profile *p, profile *smaller) {
    ouro__profile_free(p);
    return smaller;
}

// For a live file; the same as the first reading, but nothing is printed and nothing exits.
static profile *read_again(void *user, const char *path, error *e) {
    const options *o = user;
    read_options r = {.rule = o->rule, .edge_length = o->edge_length};
    profile *p = ouro__profile_read(path, o->from ? ouro__format_named(o->from) : NULL, &r, e);
    if (p && o->period > 1) p = shrunk(p, ouro__divided(p, o->period, e));
    if (p && o->min > 0) p = shrunk(p, ouro__pruned(p, o->min / 100, e));
    return p;
}

// ---------------------------------------------------------------- the first address

static void put_encoded(FILE *to, const char *text) {
    for (; *text; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9') || strchr("-._~/", *text);
        fprintf(to, plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
}

static void put_parameter(FILE *to, const char *name, const char *value, int *count) {
    fprintf(to, "%c%s=", (*count)++ ? '&' : '?', name);
    put_encoded(to, value);
}

static char *first_address(const options *o, const server *s) {
    char *text = NULL;
    size_t size;
    int count = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) fail_memory();
    fprintf(to, "%s%s", ouro__server_address(s), o->inputs.count == 2 ? "/compare" : "/");
    if (o->metric) put_parameter(to, "metric", o->metric, &count);
    for (size_t i = 0; i < o->select.count; i++)
        put_parameter(to, "select", o->select.items[i], &count);
    for (size_t i = 0; i < o->exclude.count; i++)
        put_parameter(to, "exclude", o->exclude.items[i], &count);
    for (size_t i = 0; i < o->fold.count; i++) put_parameter(to, "fold", o->fold.items[i], &count);
    fclose(to);
    return text;
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
            if (found) continue;
            fprintf(stderr, "ouro: %s: %s\n", s->files[0].path, e.message);
            exit(EXIT_USAGE);
        }
    }
    for (unsigned f = 0; f < s->file_count; f++)
        metric_option(s->files[f].profile, s->files[f].path, o->metric);
}

// ---------------------------------------------------------------- the browser

// $BROWSER, or what the desktop chose if there is one. No shell is involved: the address is one
// argument, whatever it holds.
static void open_browser(const char *address) {
    const char *browser = secure_getenv("BROWSER");
    bool screen = secure_getenv("DISPLAY") || secure_getenv("WAYLAND_DISPLAY");
    if (!browser || !*browser) browser = screen ? "xdg-open" : NULL;
    if (!browser) return;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    pid_t child;
    char *arguments[] = {(char *)(uintptr_t)browser, (char *)(uintptr_t)address, NULL};
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    // A group of its own: Ctrl-C here does not end the browser.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int problem = posix_spawnp(&child, browser, &actions, &attributes, arguments, environ);
    if (problem) fprintf(stderr, "ouro: cannot start %s: %s\n", browser, strerror(problem));
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
}

// ---------------------------------------------------------------- memory

// The first filters of a large profile would spend more time on getting pages from the system than
// on filtering. So pages for two of them are fetched while the user looks at the first page; freed,
// they stay with the process.
static void fetch_pages(size_t bytes) {
    enum { PIECE = 8 << 20, PIECES = 40 }; // at most 320 MB, in pieces that come from the heap
    char *pieces[PIECES];
    size_t count = 0;
    while (count < PIECES && count * PIECE < bytes && (pieces[count] = malloc(PIECE))) {
        for (size_t at = 0; at < PIECE; at += 4096) ((volatile char *)pieces[count])[at] = 0;
        count++;
    }
    while (count > 0) free(pieces[--count]);
}

static size_t bytes_of_filters(const server_options *s) {
    size_t nodes = 0;
    for (unsigned i = 0; i < s->file_count; i++) nodes += s->files[i].profile->node_count;
    return nodes < 100000 ? 0 : nodes * 150;
}

// ---------------------------------------------------------------- the command

// Blocked before any thread starts, so that only the wait below gets them.
static sigset_t block_signals(void) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); // nobody waits for the browser
    return ending;
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

static server_options load_all(options *o, const char *const *roots, size_t root_count) {
    server_options s = {.file_count = (unsigned)o->inputs.count,
                        .read_again = read_again,
                        .user = o,
                        .host = o->host,
                        .port = o->port,
                        .roots = roots,
                        .root_count = root_count,
                        .assets = secure_getenv("OURO_ASSETS")};
    for (unsigned i = 0; i < s.file_count; i++) {
        const char *path = o->inputs.items[i];
        s.files[i] = (server_file){path, apply_shrinking(o, path, load_profile(o, path, false))};
    }
    return s;
}

int cmd_view(int argc, char **argv) {
    options o;
    options_parse(&o, argc, argv, "view", allowed);
    if (o.inputs.count == 0) fail_usage("view", "expected a file");
    if (o.inputs.count > 2)
        fail_usage(
            "view",
            "expected one file, or two to compare, found %zu; `ouro merge` makes one of many",
            o.inputs.count);
    if (o.inputs.count == 2 && strcmp(o.inputs.items[0], "-") == 0 &&
        strcmp(o.inputs.items[1], "-") == 0)
        fail_usage("view", "standard input can be read once only");
    mallopt(M_ARENA_MAX, 1); // memory that one request freed is there for the next
    char **roots = find_roots(&o);
    server_options start = load_all(&o, (const char *const *)roots, o.source.count);
    check_start(&o, &start);
    size_t memory = bytes_of_filters(&start);
    sigset_t ending = block_signals();
    error e = {0};
    server *s = ouro__server_start(&start, &e);
    if (!s) {
        fprintf(stderr, "ouro view: %s\n", e.message);
        exit(EXIT_FAILED);
    }
    char *address = first_address(&o, s);
    printf("%s\n", address);
    fflush(stdout);
    if (!o.no_open) open_browser(address);
    fetch_pages(memory);
    int which;
    sigwait(&ending, &which);
    free(address);
    if (!ouro__server_stop(s)) _exit(EXIT_GOOD); // a request was still at work; nothing is lost
    for (size_t i = 0; i < o.source.count; i++) free(roots[i]);
    free(roots);
    options_free(&o);
    return EXIT_GOOD;
}

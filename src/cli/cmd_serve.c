// SPDX-License-Identifier: MIT
//
// ouro serve: takes what profiling agents send into a store, until it is told to end. The token
// comes from a file, the environment or the command line, where it does not stay: `ps` shows it to
// all users of the machine.

#include "cli.h"
#include "heap.h"

#include "listener.h"
#include "printable.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const allowed[] = {"store", "listen", "token", "token-file", "limit", NULL};

enum { PORT = 4040, TOKEN_LONGEST = 1000 };

// ---------------------------------------------------------------- the token

// The first line of a file, without what is blank at its end.
static char *token_of_file(const char *path) {
    char line[TOKEN_LONGEST + 2];
    FILE *f = fopen(path, "re");
    if (!f) fail_usage("serve", "--token-file %s: %s", path, strerror(errno));
    bool there = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    size_t length = there ? strcspn(line, "\r\n") : 0;
    while (length && (line[length - 1] == ' ' || line[length - 1] == '\t')) length--;
    char *token = strndup(line, length);
    explicit_bzero(line, sizeof line);
    if (!token) fail_memory();
    return token;
}

// NULL: nobody is asked.
static char *find_token(options *o) {
    const char *environment = secure_getenv("OURO_TOKEN");
    if (o->token && o->token_file) fail_usage("serve", "--token or --token-file, not both");
    if (!o->token && !o->token_file && !environment) return NULL;
    char *token =
        o->token_file ? token_of_file(o->token_file) : strdup(o->token ? o->token : environment);
    if (!token) fail_memory();
    if (o->token) memset(o->token, '*', strlen(o->token)); // what `ps` shows
    size_t length = strlen(token);
    if (length == 0) fail_usage("serve", "the token is empty");
    if (length > TOKEN_LONGEST) fail_usage("serve", "the token is longer than %d", TOKEN_LONGEST);
    return token;
}

// ---------------------------------------------------------------- the address

// ADDRESS:PORT, ADDRESS, or :PORT; an IPv6 address with a port stands in brackets.
static char *split_address(const char *text, unsigned *port) {
    const char *colon = strrchr(text, ':'), *bracket = strchr(text, ']');
    bool six = *text == '[' || strchr(text, ':') != colon;
    bool has_port = colon && (bracket ? colon > bracket : !six);
    size_t length = has_port ? (size_t)(colon - text) : strlen(text);
    *port = PORT;
    if (has_port) {
        char *end;
        unsigned long given = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end || given > 65535)
            fail_usage("serve", "--listen %s: expected ADDRESS:PORT", text);
        *port = (unsigned)given;
    }
    bool bracketed = *text == '[' && length > 2 && text[length - 1] == ']';
    if (length == 0) return strdup("127.0.0.1");
    return bracketed ? strndup(text + 1, length - 2) : strndup(text, length);
}

// ---------------------------------------------------------------- the command

static sigset_t block_signals(void) {
    sigset_t ending = ending_signals();
    pthread_sigmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    return ending;
}

int cmd_serve(int argc, char **argv) {
    options o;
    error e = {0};
    options_parse(&o, argc, argv, "serve", allowed);
    if (!o.store) fail_usage("serve", "expected --store FILE.db");
    if (o.inputs.count) fail_usage("serve", "expected no file, found %s", o.inputs.items[0]);
    listener_options how = {.url = o.store, .limit = o.limit};
    char *token = find_token(&o), *host = split_address(o.listen ? o.listen : "", &how.port);
    if (!host) fail_memory();
    if (!token && !ouro__is_loopback(host))
        fail_usage("serve", "other machines reach %s: give a token, with --token-file", host);
    how.host = host;
    how.token = token;
    ouro__heap_is_shared();
    sigset_t ending = block_signals();
    listener *l = ouro__listener_start(&how, &e);
    if (!l) fail_with(o.store, &e);
    printf("%s\n", ouro__listener_address(l));
    fflush(stdout);
    int which;
    sigwait(&ending, &which);
    ouro__listener_stop(l);
    if (token) explicit_bzero(token, strlen(token));
    free(token);
    free(host);
    options_free(&o);
    return EXIT_GOOD;
}

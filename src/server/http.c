// SPDX-License-Identifier: MIT
//
// HTTP, by libmicrohttpd: the only file that knows it. A thread per connection, so that a slow
// request keeps nobody waiting; connections, sizes and times are bounded here. Who may ask is
// decided before anything else is looked at: the Host header must name this server, which is what
// stops a page of another site that had its own name pointed at this address, and a cookie must
// have the secret (secret.h), which stops other users of the machine.
//
// A thread of our own shuts connections that take too long (connections.h). It only shuts the
// socket: the library notices and frees what is its own.
//
// Few requests are at work at a time, because each takes memory: a view, sums, its answer. As many
// are let in as a browser asks for; others wait for their turn. Large answers wait until earlier
// ones are sent, if those are too many bytes together.

#include "api.h"
#include "assets.h"
#include "choices.h"
#include "connections.h"
#include "secret.h"
#include "server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CROWDED = 192,          // open connections from which on slow ones make room for new ones
    CONNECTIONS_MOST = 400, // with those that were shut and did not end yet; more are reset
    AT_WORK_MOST = 8,
    MEMORY_PER_CONNECTION = 160 << 10, // headers and target; more is refused by the library
    NAMES_MOST = 6,
    LARGE = 1 << 20,        // an answer of so many bytes
    UNSENT_MOST = 128 << 20 // bytes of such answers, unless it is one alone
};

#define MISSING_PAGE "/missing.html"
#define STORE_VIEWS_BYTES ((size_t)64 << 20)
#define READING_SECONDS 10.0 // for a whole request, and between two of them
#define ANSWERING_SECONDS 120.0
#define ROOM_SECONDS 2.0 // that a large answer waits for others to be sent
#define STOPPING_SECONDS 1.0
#define RESTING_SECONDS 1.0 // without a request: memory goes back to the system

struct server {
    shelf shelf;
    cache cache;
    api api;
    struct MHD_Daemon *daemon;
    char *host, *address, *bracketed;
    const char *names[NAMES_MOST + 1]; // that the Host header may have
    bool any_address;
    unsigned port;
    const char *assets;
    char secret[SECRET_ROOM]; // "": nobody is asked for it
    char cookie_name[16];     // has the port: browsers keep one jar for all ports of a host

    pthread_mutex_t lock;
    pthread_cond_t changed;
    connections connections;
    unsigned working, sharing; // sharing: those of them that wait for the answer of another one
    size_t unsent;             // bytes of large answers
    double last_request;
    bool rested; // since then
    bool stopping;
    void (*rest)(void *user);
    void *user;
    pthread_t watcher;
};

static struct timespec after(double seconds) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    double nanoseconds = (double)at.tv_nsec + seconds * 1e9;
    at.tv_sec += (time_t)(nanoseconds / 1e9);
    at.tv_nsec = (long)nanoseconds % 1000000000;
    return at;
}

// ---------------------------------------------------------------- connections

static void connection_changed(void *user, struct MHD_Connection *c, void **context,
                               enum MHD_ConnectionNotificationCode what) {
    server *s = user;
    pthread_mutex_lock(&s->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int socket = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *context = ouro__connection_open(&s->connections, socket, CROWDED);
    } else if (*context) {
        ouro__connection_close(&s->connections, *context);
        *context = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

static void note_step(server *s, struct MHD_Connection *c, connection_step step) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    pthread_mutex_lock(&s->lock);
    ouro__connection_step(&s->connections, info ? info->socket_context : NULL, step);
    pthread_mutex_unlock(&s->lock);
}

// With the lock, which is released meanwhile.
static void rest(server *s) {
    if (s->rested || s->working || ouro__seconds() - s->last_request < RESTING_SECONDS) return;
    s->rested = true;
    pthread_mutex_unlock(&s->lock);
    if (s->rest) s->rest(s->user);
    pthread_mutex_lock(&s->lock);
}

static void *watch(void *user) {
    server *s = user;
    pthread_mutex_lock(&s->lock);
    while (!s->stopping) {
        struct timespec until = after(0.25);
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
        ouro__connections_shut_slow(&s->connections, READING_SECONDS, ANSWERING_SECONDS);
        rest(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

// ---------------------------------------------------------------- who may ask

typedef struct {
    const server *server;
    const char *host, *origin, *site, *etag;
    unsigned hosts;
    bool trusted;       // whoever asks knows the secret
    bool accepts_pages; // a browser that opens an address
} headers;

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *name,
                                   const char *value) {
    headers *h = user;
    (void)kind;
    if (strcasecmp(name, "Host") == 0) {
        h->host = value;
        h->hosts++;
    } else if (strcasecmp(name, "Origin") == 0) {
        h->origin = value ? value : "";
    } else if (strcasecmp(name, "Sec-Fetch-Site") == 0) {
        h->site = value ? value : "";
    } else if (strcasecmp(name, "Accept") == 0) {
        h->accepts_pages = value && strstr(value, "text/html");
    } else if (strcasecmp(name, "If-None-Match") == 0) {
        h->etag = value;
    } else if (strcasecmp(name, "Cookie") == 0 && value) {
        h->trusted |= ouro__secret_in_cookies(h->server->secret, h->server->cookie_name, value);
    }
    return MHD_YES;
}

// Listening on every address, we are called by the one that the connection came to.
static bool is_own_address(const server *s, struct MHD_Connection *c, const char *host) {
    struct sockaddr_storage local;
    socklen_t size = sizeof local;
    char text[NI_MAXHOST], bracketed[NI_MAXHOST + 2];
    int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (getsockname(fd, (struct sockaddr *)&local, &size) != 0) return false;
    if (getnameinfo((struct sockaddr *)&local, size, text, sizeof text, NULL, 0, NI_NUMERICHOST))
        return false;
    const char *plain = strncmp(text, "::ffff:", 7) == 0 ? text + 7 : text;
    snprintf(bracketed, sizeof bracketed, strchr(plain, ':') ? "[%s]" : "%s", plain);
    return ouro__host_is_ours(host, s->port, (const char *const[]){bracketed, NULL});
}

static bool is_from_elsewhere(const headers *h) {
    return h->site && strcmp(h->site, "same-origin") != 0 && strcmp(h->site, "none") != 0;
}

static bool is_allowed(const server *s, struct MHD_Connection *c, const headers *h, bool is_api,
                       answer *to) {
    bool ours = h->hosts == 1 && h->host &&
                (ouro__host_is_ours(h->host, s->port, s->names) ||
                 (s->any_address && is_own_address(s, c, h->host)));
    if (!ours) {
        ouro__answer_error(to, 400, "wrong-host", "the Host header does not name this server");
        return false;
    }
    // A link from elsewhere may open a page; nothing from elsewhere may ask the API.
    if (!ouro__origin_is_ours(h->origin, h->host) || (is_api && is_from_elsewhere(h))) {
        ouro__answer_error(to, 403, "other-origin", "pages of other sites may not ask");
        return false;
    }
    return true;
}

// ---------------------------------------------------------------- the secret

// The first visit: the browser gets the cookie and asks again without the secret. It is a page that
// does this, not a redirection: a browser sends a strict cookie only if it was one of our own pages
// that led to the request, and the first one may come from anywhere.
static void answer_entry(const server *s, const char *target, bool right, answer *to) {
    if (!ouro__asset_answer(s->assets, "/entered.html", NULL, to))
        *to = (answer){.status = 200, .lasting = ""};
    to->etag[0] = '\0';
    to->secret = true;
    to->refresh = ouro__secret_removed(target);
    if (!to->refresh) return ouro__answer_memory(to);
    if (right)
        snprintf(to->cookie, sizeof to->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict",
                 s->cookie_name, s->secret);
}

// A link on another site led here: whether there is a cookie is seen when our own page asks again.
// Until then nothing is said of a lock, which most who follow a link would only see flash by.
static void answer_locked(const server *s, const char *target, const headers *h, bool is_page,
                          answer *to) {
    bool asks_again = is_from_elsewhere(h);
    const char *page = asks_again ? "/entered.html" : "/locked.html";
    if (is_page && ouro__asset_answer(s->assets, page, NULL, to)) {
        to->status = 403;
        to->etag[0] = '\0';
        to->refresh = asks_again ? ouro__secret_removed(target) : NULL;
    } else {
        ouro__answer_error(to, 403, "no-secret",
                           "only who has the address that `ouro view` printed may ask: open it "
                           "once, or send its secret as a cookie (docs/api.md)");
    }
    to->secret = true;
}

// false: it is answered. Files of the pages are the same for everybody.
static bool has_secret(const server *s, const char *target, const request *r, const headers *h,
                       bool is_api, answer *to) {
    if (!s->secret[0]) return true;
    size_t length = 0;
    bool is_page = r->path && ouro__asset_is_page(r->path);
    const char *given = is_page ? ouro__secret_in_target(target, &length) : NULL;
    bool right = given && ouro__secret_is(s->secret, given, length);
    if (right || (given && h->trusted)) {
        answer_entry(s, target, right, to);
        return false;
    }
    bool is_file = r->path && !is_page && ouro__asset_answer(s->assets, r->path, NULL, to);
    ouro__answer_free(to);
    if (h->trusted || is_file) return true;
    answer_locked(s, target, h, is_page || (h->accepts_pages && r->path && !is_api), to);
    return false;
}

// ---------------------------------------------------------------- answering

static void answer_request(server *s, const request *r, const headers *h, bool is_api, answer *to) {
    if (is_api) {
        ouro__api_answer(&s->api, r, h->etag, to);
    } else if (!ouro__asset_answer(s->assets, r->path, h->etag, to)) {
        bool is_page = h->accepts_pages && ouro__asset_answer(s->assets, MISSING_PAGE, NULL, to);
        if (!is_page) ouro__answer_error(to, 404, "no-such-page", "there is no such page");
        to->status = 404;
        to->etag[0] = '\0';
    }
}

static void decide(server *s, struct MHD_Connection *c, const char *target, const char *method,
                   bool body, answer *to) {
    headers h = {.server = s};
    request r = {0};
    MHD_get_connection_values(c, MHD_HEADER_KIND, take_header, &h);
    int status = ouro__request_parse(&r, target);
    bool is_api = status == 0 && strncmp(r.path, API_PATH, strlen(API_PATH)) == 0;
    if (!is_allowed(s, c, &h, is_api || status != 0, to) ||
        !has_secret(s, target, &r, &h, is_api, to)) {
        // It is answered.
    } else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        ouro__answer_error(to, 405, "only-get", "only GET and HEAD");
    } else if (body) {
        ouro__answer_error(to, 413, "no-body", "a request has no body");
    } else if (status == 414) {
        ouro__answer_error(to, 414, "too-long", "the address is too long");
    } else if (status == 503) {
        ouro__answer_memory(to);
    } else if (status) {
        ouro__answer_error(to, status, "bad-request", "the address is malformed");
    } else {
        answer_request(s, &r, &h, is_api, to);
    }
    ouro__request_free(&r);
}

static void add_refresh(struct MHD_Response *r, const char *target) {
    char *value = NULL;
    if (asprintf(&value, "0; url=%s", target) < 0) return;
    MHD_add_response_header(r, "Refresh", value);
    free(value);
}

static void add_headers(struct MHD_Response *r, const answer *a) {
    char disposition[160];
    // What is not a page of ours, an exported report say, may show itself and do nothing.
    MHD_add_response_header(
        r, "Content-Security-Policy",
        a->ours ? "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                  "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
                  "frame-ancestors 'none'"
                : "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                  "form-action 'none'; frame-ancestors 'none'; sandbox");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "X-Frame-Options", "DENY");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    MHD_add_response_header(r, "Cache-Control", a->secret ? "no-store" : "no-cache");
    if (a->cookie[0]) MHD_add_response_header(r, "Set-Cookie", a->cookie);
    if (a->refresh) add_refresh(r, a->refresh);
    if (a->type) MHD_add_response_header(r, "Content-Type", a->type);
    if (a->etag[0]) MHD_add_response_header(r, "ETag", a->etag);
    if (a->status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD");
    if (!a->file_name[0]) return;
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", a->file_name);
    MHD_add_response_header(r, "Content-Disposition", disposition);
}

static enum MHD_Result send_answer(struct MHD_Connection *c, answer *a) {
    struct MHD_Response *r =
        a->in_file ? MHD_create_response_from_fd64(a->size, a->fd) // which closes it
        : a->bytes ? MHD_create_response_from_buffer(a->size, a->bytes, MHD_RESPMEM_MUST_FREE)
                   : MHD_create_response_from_buffer(a->size, (void *)(uintptr_t)a->lasting,
                                                     MHD_RESPMEM_PERSISTENT);
    if (!r) {
        ouro__answer_free(a);
        return MHD_NO;
    }
    add_headers(r, a);
    free(a->refresh);
    enum MHD_Result result = MHD_queue_response(c, (unsigned)a->status, r);
    MHD_destroy_response(r);
    return result;
}

// A request on its way. The library cuts the target into a path and parameters of its own reading;
// ours is the one that counts.
typedef struct {
    bool begun;
    size_t unsent; // its part of the server's
    char target[];
} incoming;

static void *note_target(void *user, const char *target, struct MHD_Connection *c) {
    size_t size = strlen(target) + 1;
    incoming *in = malloc(sizeof *in + size);
    (void)user;
    (void)c;
    if (!in) return NULL;
    in->begun = false;
    in->unsent = 0;
    memcpy(in->target, target, size);
    ouro__request_hide_query(target);
    return in;
}

static bool has_body(struct MHD_Connection *c) {
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    return (length && strcmp(length, "0") != 0) ||
           MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding");
}

static bool has_turn(const server *s) { return s->working - s->sharing < AT_WORK_MOST; }

// A request that waits for the answer of another one gives its turn away, and takes one afterwards.
static void share_work(void *user, bool begins) {
    server *s = user;
    pthread_mutex_lock(&s->lock);
    while (!begins && !s->stopping && !has_turn(s)) pthread_cond_wait(&s->changed, &s->lock);
    s->sharing += begins ? 1 : -1;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

// false: the server ends.
static bool begin_work(server *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->stopping && !has_turn(s)) pthread_cond_wait(&s->changed, &s->lock);
    bool stopping = s->stopping;
    s->working += !stopping;
    pthread_mutex_unlock(&s->lock);
    return !stopping;
}

// Lets a large answer wait until there is room for it; after a while it becomes an error.
static void wait_for_room(server *s, incoming *in, answer *a) {
    struct timespec until = after(ROOM_SECONDS);
    int problem = 0;
    if (!a->bytes || a->size < LARGE) return;
    pthread_mutex_lock(&s->lock);
    while (!s->stopping && !problem && s->unsent && s->unsent + a->size > UNSENT_MOST)
        problem = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    if (!problem) s->unsent += in->unsent = a->size;
    pthread_mutex_unlock(&s->lock);
    if (problem)
        ouro__answer_error(a, 503, "busy", "large answers are waiting to be fetched; try again");
}

static void end_work(server *s) {
    pthread_mutex_lock(&s->lock);
    s->working--;
    s->last_request = ouro__seconds();
    s->rested = false;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context) {
    server *s = user;
    answer a = {0};
    incoming *in = *context;
    (void)url, (void)version, (void)upload;
    if (!in || *upload_size) return MHD_NO;
    // Called again when the request is there to its end, which keeps the connection. Nobody reads a
    // body: that is answered at once, and the connection ends.
    if (!in->begun && !has_body(c)) {
        in->begun = true;
        return MHD_YES;
    }
    note_step(s, c, IS_ANSWERED);
    if (!begin_work(s)) return MHD_NO;
    decide(s, c, in->target, method, !in->begun, &a);
    wait_for_room(s, in, &a);
    end_work(s);
    return send_answer(c, &a);
}

static void completed(void *user, struct MHD_Connection *c, void **context,
                      enum MHD_RequestTerminationCode how) {
    server *s = user;
    incoming *in = *context;
    (void)how;
    note_step(s, c, AWAITS_HEADERS);
    if (in && in->unsent) {
        pthread_mutex_lock(&s->lock);
        s->unsent -= in->unsent;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    free(in);
    *context = NULL;
}

// ---------------------------------------------------------------- listening

static int open_socket(const server_options *o, server *s, error *e) {
    char port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    snprintf(port, sizeof port, "%u", o->port);
    int problem = getaddrinfo(s->host, port, &hints, &found);
    if (problem) {
        ouro__error_set(e, EINVAL, "%s: %s", s->host, gai_strerror(problem));
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        ouro__error_set(e, errno, "cannot listen on %s port %u: %s", s->host, o->port,
                        strerror(errno));
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void name_loopback(server *s, unsigned *count) {
    static const char *const loopback[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < 3; i++) s->names[(*count)++] = loopback[i];
}

// The address to print, and the names that the Host header may have.
static bool name_server(server *s, int fd, error *e) {
    struct sockaddr_storage local;
    socklen_t size = sizeof local;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    unsigned count = 0;
    if (getsockname(fd, (struct sockaddr *)&local, &size) != 0 ||
        getnameinfo((struct sockaddr *)&local, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return ouro__fail(e, errno, "cannot find out the address: %s", strerror(errno));
    s->port = (unsigned)strtoul(port, NULL, 10);
    snprintf(s->cookie_name, sizeof s->cookie_name, "ouro-%u", s->port);
    s->any_address = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    if (s->any_address || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0)
        name_loopback(s, &count);
    const char *shown = s->any_address ? "127.0.0.1" : host;
    if (asprintf(&s->bracketed, strchr(shown, ':') ? "[%s]" : "%s", shown) < 0) s->bracketed = NULL;
    if (!s->bracketed || asprintf(&s->address, "http://%s:%u", s->bracketed, s->port) < 0)
        return ouro__fail_memory(e);
    s->names[count++] = s->bracketed;
    if (!s->any_address) s->names[count++] = s->host;
    return true;
}

static bool start_daemon(server *s, int fd, error *e) {
    s->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL,
        NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_PER_CONNECTION, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)8192,
        MHD_OPTION_URI_LOG_CALLBACK, note_target, s, MHD_OPTION_NOTIFY_COMPLETED, completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    return s->daemon || ouro__fail(e, errno, "cannot start the server: %s", strerror(errno));
}

static bool start(server *s, const server_options *o, error *e) {
    s->host = strdup(o->host ? o->host : "127.0.0.1");
    if (!s->host) return ouro__fail_memory(e);
    if (!o->no_secret && !ouro__secret_make(s->secret))
        return ouro__fail(e, errno, "cannot make a secret: %s", strerror(errno));
    int fd = open_socket(o, s, e);
    if (fd < 0) return false;
    if (!name_server(s, fd, e) || !start_daemon(s, fd, e)) {
        close(fd);
        return false;
    }
    int problem = pthread_create(&s->watcher, NULL, watch, s);
    return !problem || ouro__fail(e, problem, "cannot start a thread: %s", strerror(problem));
}

static void server_free(server *s) {
    if (s->daemon) MHD_stop_daemon(s->daemon);
    ouro__cache_free(&s->cache);
    ouro__choices_free(s->shelf.choices, &s->shelf);
    ouro__shelf_close(&s->shelf);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    explicit_bzero(s->secret, sizeof s->secret);
    free(s->host);
    free(s->address);
    free(s->bracketed);
    free(s);
}

// An answer of a store is asked for again when it is needed, so less is kept of it than of files.
static bool open_store(server *s, const server_options *o, error *e) {
    if (!o->store) return true;
    s->shelf.choices = ouro__choices_new(o->store, o->paths_most, o->strict);
    s->cache.bytes_most = STORE_VIEWS_BYTES;
    if (!s->shelf.choices) return ouro__fail_memory(e);
    ouro__choices_on_wait(s->shelf.choices, share_work, s);
    return true;
}

server *ouro__server_start(const server_options *options, error *e) {
    server *s = calloc(1, sizeof *s);
    if (!s) {
        for (unsigned i = 0; i < options->file_count; i++)
            ouro__profile_free(options->files[i].profile);
        ouro__error_memory(e);
        return NULL;
    }
    if (!ouro__shelf_open(&s->shelf, options, e)) {
        free(s);
        return NULL;
    }
    uint64_t instance = 0;
    if (getrandom(&instance, sizeof instance, 0) != sizeof instance) instance = (uint64_t)getpid();
    ouro__cache_init(&s->cache, &s->shelf);
    s->api = (api){.shelf = &s->shelf, .cache = &s->cache};
    snprintf(s->api.instance, sizeof s->api.instance, "%016llx", (unsigned long long)instance);
    s->assets = options->assets;
    s->rest = options->rest;
    s->user = options->user;
    s->rested = true;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (open_store(s, options, e) && start(s, options, e)) return s;
    server_free(s);
    return NULL;
}

const char *ouro__server_address(const server *s) { return s->address; }
const char *ouro__server_secret(const server *s) { return s->secret[0] ? s->secret : NULL; }

// Waits for the requests at work, but not for long: a question of a large profile cannot be
// interrupted, and a user who ends the viewer does not want its answer.
static bool wait_for_work(server *s) {
    struct timespec until = after(STOPPING_SECONDS);
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->changed);
    int problem = 0;
    while (s->working && problem != ETIMEDOUT)
        problem = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    bool idle = s->working == 0;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

bool ouro__server_stop(server *s) {
    bool idle = wait_for_work(s);
    pthread_join(s->watcher, NULL);
    if (!idle) return false;
    server_free(s);
    return true;
}

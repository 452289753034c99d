// SPDX-License-Identifier: MIT
//
// HTTP for agents, by libmicrohttpd. A thread per connection reads a request, makes profiles of it,
// and puts them into the store, one at a time. For a store that takes many at once the request goes
// to the journal instead.
//
// What agents may cost is bounded: connections, requests on their way, bytes of their bodies in
// memory, requests at work, seconds that a request may take to come. What is too much is refused
// with a status that agents know: 413 never comes back, 429 and 503 are to be tried again. A body
// that is refused is read to its end without being kept, so that the agent gets the answer.
//
// A page of another site may send forms to any address, also to this machine. Browsers say where
// such a request comes from, and agents do not: whatever has an Origin is refused.

#include "listener.h"

#include "connections.h"
#include "heap.h"
#include "journal.h"
#include "request.h"
#include "sha256.h"

#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CROWDED = 192,           // open connections from which on slow ones make room for new ones
    CONNECTIONS_MOST = 1024, // with those that were shut and did not end yet; more are reset
    IN_FLIGHT_MOST = 64,     // requests whose body is read, or which are at work
    AT_WORK_MOST = 4,        // requests whose profiles are made
    BODY_MOST = 16 << 20,    // bytes
    BODIES_MOST = 128 << 20, // bytes of all requests in flight
    MEMORY_PER_CONNECTION = 96 << 10,
    MEMORY_OF_A_PROFILE = 256 << 20,
    STATUSES = 600
};

#define READING_SECONDS 30.0 // for a whole request, and between two of them

struct listener {
    listener_options options;
    store *store;     // NULL: it failed, and is opened again; or the journal has it
    journal *journal; // NULL: the store takes profiles one by one
    pthread_mutex_t storing;
    struct MHD_Daemon *daemon;
    char *url, *address, *token, *own_host;

    pthread_mutex_t lock; // of all below
    pthread_cond_t changed;
    connections connections;
    unsigned in_flight, working;
    size_t bytes;
    uint64_t accepted, again, rows, refused[STATUSES];
    bool stopping, used; // used: since memory was given back
    pthread_t watcher;
    bool watched;
};

// A request on its way.
typedef struct {
    unsigned char *body;
    size_t size, room, passed; // passed: bytes that were read and not kept
    int status;                // refused; 0: not yet
    const char *reason;
    bool begun, counted, got; // got: the method is GET
    char target[];
} incoming;

// ---------------------------------------------------------------- connections

static void connection_changed(void *user, struct MHD_Connection *c, void **context,
                               enum MHD_ConnectionNotificationCode what) {
    listener *l = user;
    pthread_mutex_lock(&l->lock);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int socket = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *context = ouro__connection_open(&l->connections, socket, CROWDED);
    } else if (*context) {
        ouro__connection_close(&l->connections, *context);
        *context = NULL;
    }
    pthread_mutex_unlock(&l->lock);
}

static void note_step(listener *l, struct MHD_Connection *c, connection_step step) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    pthread_mutex_lock(&l->lock);
    ouro__connection_step(&l->connections, info ? info->socket_context : NULL, step);
    pthread_mutex_unlock(&l->lock);
}

// With the lock, which is released meanwhile. What a request needed goes back to the system.
static void rest(listener *l) {
    if (!l->used || l->in_flight) return;
    l->used = false;
    pthread_mutex_unlock(&l->lock);
    ouro__heap_give_back();
    pthread_mutex_lock(&l->lock);
}

static void *watch(void *user) {
    listener *l = user;
    pthread_mutex_lock(&l->lock);
    while (!l->stopping || l->in_flight) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&l->changed, &l->lock, &until);
        ouro__connections_shut_slow(&l->connections, READING_SECONDS, INFINITY);
        rest(l);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

// ---------------------------------------------------------------- who may send

// The time tells nothing of the token: hashes are compared.
static bool is_token(const listener *l, const void *given, size_t length) {
    unsigned char a[32], b[32], different = 0;
    sha256 s;
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, l->token, strlen(l->token));
    ouro__sha256_end(&s, a);
    ouro__sha256_init(&s);
    ouro__sha256_add(&s, given, length);
    ouro__sha256_end(&s, b);
    for (size_t i = 0; i < sizeof a; i++) different |= a[i] ^ b[i];
    return different == 0;
}

static int base64_digit(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

// user:password in base64. The user may be anybody.
static bool is_password(const listener *l, const char *text) {
    char plain[1024], *colon;
    size_t used = 0;
    unsigned bits = 0, have = 0;
    for (int digit; (digit = base64_digit(*text)) >= 0; text++) {
        bits = bits << 6 | (unsigned)digit;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        if (used == sizeof plain) return false;
        plain[used++] = (char)(bits >> have);
    }
    colon = memchr(plain, ':', used);
    return colon && is_token(l, colon + 1, used - (size_t)(colon + 1 - plain));
}

static bool is_trusted(const listener *l, struct MHD_Connection *c) {
    const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    if (!l->token) return true;
    if (!given) return false;
    if (strncasecmp(given, "Bearer ", 7) == 0) return is_token(l, given + 7, strlen(given + 7));
    return strncasecmp(given, "Basic ", 6) == 0 && is_password(l, given + 6);
}

// Why a request is refused before its body is read; 0: it is not.
static int find_reason(const listener *l, struct MHD_Connection *c, const char *method,
                       const char **reason) {
    const char *encoding = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Encoding");
    *reason = "pages of other sites may not send";
    if (MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin")) return 403;
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) return 0;
    *reason = "send profiles with POST";
    if (strcmp(method, "POST") != 0) return 405;
    *reason = "the token is missing or wrong: send it as Authorization: Bearer, or as the password";
    if (!is_trusted(l, c)) return 401;
    *reason = "a body is packed with gzip or not at all";
    if (encoding && *encoding && strcasecmp(encoding, "gzip") && strcasecmp(encoding, "identity"))
        return 415;
    return 0;
}

// ---------------------------------------------------------------- bodies

static void refuse(incoming *in, int status, const char *reason) {
    if (in->status) return;
    in->status = status;
    in->reason = reason;
}

// With the body's bytes counted; they are given back when the request is done.
static bool grow(listener *l, incoming *in, size_t size) {
    size_t room = in->room ? in->room : 16384;
    while (room < size) room *= 2;
    if (room == in->room) return true;
    pthread_mutex_lock(&l->lock);
    bool fits = l->bytes + (room - in->room) <= BODIES_MOST;
    if (fits) l->bytes += room - in->room;
    pthread_mutex_unlock(&l->lock);
    if (!fits) {
        refuse(in, 429, "too many bytes are on their way; try again");
        return false;
    }
    unsigned char *grown = realloc(in->body, room);
    if (!grown) {
        pthread_mutex_lock(&l->lock);
        l->bytes -= room - in->room;
        pthread_mutex_unlock(&l->lock);
        refuse(in, 503, "out of memory; try again");
        return false;
    }
    in->body = grown;
    in->room = room;
    return true;
}

static void forget_body(listener *l, incoming *in) {
    free(in->body);
    in->body = NULL;
    pthread_mutex_lock(&l->lock);
    l->bytes -= in->room;
    pthread_mutex_unlock(&l->lock);
    in->room = in->size = 0;
}

// false: more came than anybody waits for.
static bool keep_bytes(listener *l, incoming *in, const char *bytes, size_t size) {
    if (in->size + size > BODY_MOST) refuse(in, 413, "a body of more than 16 MB");
    if (!in->status && grow(l, in, in->size + size)) {
        memcpy(in->body + in->size, bytes, size);
        in->size += size;
        return true;
    }
    if (in->room) forget_body(l, in);
    in->passed += size;
    return in->passed <= 4 * (size_t)BODY_MOST;
}

// ---------------------------------------------------------------- storing

typedef struct {
    listener *listener;
    uint64_t rows;
    bool store_failed;
} storing;

// One at a time, as engines write. A store that failed is opened anew for the next profile.
static bool store_one(void *user, delivery *d, error *e) {
    storing *to = user;
    listener *l = to->listener;
    uint64_t rows = 0;
    pthread_mutex_lock(&l->storing);
    if (!l->store) l->store = ouro__store_open(l->url, true, e);
    bool ok = l->store && ouro__delivery_store(d, l->store, &rows, e);
    if (!ok && l->store && e->code != ENOMEM) {
        ouro__store_close(l->store);
        l->store = NULL;
    }
    pthread_mutex_unlock(&l->storing);
    to->rows += rows;
    to->store_failed = !ok;
    return ok;
}

// A request for the journal is only read, to see whether it can be.
static bool pass(void *user, delivery *d, error *e) {
    (void)user, (void)d, (void)e;
    return true;
}

static int status_of(const error *e) {
    switch (e->code) {
    case EFBIG:
    case ETIME:
        return 413;
    case ENOTSUP:
        return 415;
    case ENOENT:
        return 404;
    case ENOMEM:
        return 503;
    default:
        return 400;
    }
}

static uint64_t milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// The machine of an agent that does not say it: this one, or the address it comes from.
static void host_of(const listener *l, struct MHD_Connection *c, char host[static NI_MAXHOST]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *peer = info ? info->client_addr : NULL;
    socklen_t size = peer && peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                         : sizeof(struct sockaddr_in);
    strcpy(host, "unknown");
    if (peer) getnameinfo(peer, size, host, NI_MAXHOST, NULL, 0, NI_NUMERICHOST);
    if (strncmp(host, "::ffff:", 7) == 0) memmove(host, host + 7, strlen(host + 7) + 1);
    if (ouro__is_loopback(host)) snprintf(host, NI_MAXHOST, "%s", l->own_host);
}

static void begin_work(listener *l) {
    pthread_mutex_lock(&l->lock);
    while (l->working == AT_WORK_MOST) pthread_cond_wait(&l->changed, &l->lock);
    l->working++;
    pthread_mutex_unlock(&l->lock);
}

static void end_work(listener *l) {
    pthread_mutex_lock(&l->lock);
    l->working--;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void count(listener *l, const storing *done) {
    pthread_mutex_lock(&l->lock);
    l->accepted++;
    l->rows += done->rows;
    l->again += done->rows == 0;
    pthread_mutex_unlock(&l->lock);
}

// The status; *e says why it is no success.
static int store_body(listener *l, struct MHD_Connection *c, const incoming *in, error *e) {
    char host[NI_MAXHOST];
    storing to = {.listener = l};
    host_of(l, c, host);
    posted p = {.target = in->target,
                .content_type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type"),
                .body = {in->body ? in->body : (const unsigned char *)"", in->size},
                .host = host,
                .now = milliseconds_now(),
                .limit = l->options.limit};
    begin_work(l);
    bool ok = ouro__posted_read(&p, l->journal ? pass : store_one, &to, e);
    end_work(l);
    if (l->journal && ok) {
        ok = ouro__journal_add(l->journal, &p, e);
        to.store_failed = !ok;
    }
    if (ok) count(l, &to);
    return ok ? 200 : to.store_failed ? 503 : status_of(e);
}

// ---------------------------------------------------------------- answering

static enum MHD_Result answer(struct MHD_Connection *c, int status, char *text,
                              enum MHD_ResponseMemoryMode mode, const char *type) {
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text, mode);
    if (!r) return MHD_NO;
    if (type) MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    if (status == 401) MHD_add_response_header(r, "WWW-Authenticate", "Basic realm=\"ouro\"");
    if (status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
    if (status == 429 || status == 503) MHD_add_response_header(r, "Retry-After", "5");
    enum MHD_Result result = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result answer_refusal(listener *l, struct MHD_Connection *c, int status,
                                      const char *reason) {
    char text[600];
    pthread_mutex_lock(&l->lock);
    l->refused[status]++;
    pthread_mutex_unlock(&l->lock);
    snprintf(text, sizeof text, "%s\n", reason);
    return answer(c, status, text, MHD_RESPMEM_MUST_COPY, "text/plain; charset=utf-8");
}

// The counters, in the layout that Prometheus reads.
static enum MHD_Result answer_counters(listener *l, struct MHD_Connection *c) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return MHD_NO;
    journal_counts late = {0};
    if (l->journal) late = ouro__journal_counts(l->journal);
    pthread_mutex_lock(&l->lock);
    fprintf(to,
            "ouro_serve_accepted_total %llu\nouro_serve_known_total %llu\n"
            "ouro_serve_rows_total %llu\nouro_serve_in_flight %u\n",
            (unsigned long long)l->accepted,
            (unsigned long long)(l->journal ? late.known : l->again),
            (unsigned long long)(l->journal ? late.rows : l->rows), l->in_flight);
    if (l->journal)
        fprintf(to, "ouro_serve_journal_bytes %llu\n", (unsigned long long)late.waiting);
    for (int i = 0; i < STATUSES; i++) {
        if (l->refused[i])
            fprintf(to, "ouro_serve_refused_total{status=\"%d\"} %llu\n", i,
                    (unsigned long long)l->refused[i]);
    }
    pthread_mutex_unlock(&l->lock);
    if (fclose(to) != 0) {
        free(text);
        return MHD_NO;
    }
    return answer(c, 200, text, MHD_RESPMEM_MUST_FREE, "text/plain; version=0.0.4");
}

static enum MHD_Result answer_request(listener *l, struct MHD_Connection *c, incoming *in) {
    error e = {0};
    if (in->status) return answer_refusal(l, c, in->status, in->reason);
    if (in->got) {
        size_t path = strcspn(in->target, "?");
        bool known = path == 1 || (path == 7 && memcmp(in->target, "/health", 7) == 0);
        return known ? answer_counters(l, c) : answer_refusal(l, c, 404, "see / or /health");
    }
    int status = store_body(l, c, in, &e);
    if (status != 200) return answer_refusal(l, c, status, e.message);
    bool is_message = strncmp(in->target, "/push", 5) == 0;
    return answer(c, 200, "", MHD_RESPMEM_PERSISTENT, is_message ? "application/proto" : NULL);
}

// The library cuts the target into a path and parameters of its own reading; ours counts.
static void *note_target(void *user, const char *target, struct MHD_Connection *c) {
    size_t size = strlen(target) + 1;
    incoming *in = calloc(1, sizeof *in + size);
    (void)user;
    (void)c;
    if (in) memcpy(in->target, target, size);
    ouro__request_hide_query(target);
    return in;
}

static bool is_too_long(struct MHD_Connection *c) {
    const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > BODY_MOST;
}

static void begin(listener *l, struct MHD_Connection *c, incoming *in, const char *method) {
    const char *reason;
    int status = find_reason(l, c, method, &reason);
    in->begun = true;
    in->got = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (status) refuse(in, status, reason);
    if (in->got || status) return; // a stranger's request takes nobody's place
    note_step(l, c, AWAITS_BODY);
    pthread_mutex_lock(&l->lock);
    bool full = l->in_flight >= IN_FLIGHT_MOST, stopping = l->stopping;
    in->counted = true;
    l->in_flight++;
    l->used = true;
    pthread_mutex_unlock(&l->lock);
    if (full) refuse(in, 429, "too many requests are on their way; try again");
    if (stopping) refuse(in, 503, "the server ends; try again");
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context) {
    listener *l = user;
    incoming *in = *context;
    (void)url, (void)version;
    if (!in) return MHD_NO;
    if (!in->begun) {
        begin(l, c, in, method);
        if (!is_too_long(c)) return MHD_YES;
        refuse(in, 413, "a body of more than 16 MB");
        return answer_request(l, c, in); // at once, and the connection ends
    }
    if (*upload_size) {
        bool ok = keep_bytes(l, in, upload, *upload_size);
        *upload_size = 0;
        return ok ? MHD_YES : MHD_NO;
    }
    note_step(l, c, IS_ANSWERED);
    return answer_request(l, c, in);
}

static void completed(void *user, struct MHD_Connection *c, void **context,
                      enum MHD_RequestTerminationCode how) {
    listener *l = user;
    incoming *in = *context;
    (void)how;
    note_step(l, c, AWAITS_HEADERS);
    if (!in) return;
    if (in->room) forget_body(l, in);
    pthread_mutex_lock(&l->lock);
    l->in_flight -= in->counted;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    free(in);
    *context = NULL;
}

// ---------------------------------------------------------------- listening

bool ouro__is_loopback(const char *host) {
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

static int open_socket(const listener_options *o, error *e) {
    char port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    snprintf(port, sizeof port, "%u", o->port);
    int problem = getaddrinfo(o->host, port, &hints, &found);
    if (problem) {
        ouro__error_set(e, EINVAL, "%s: %s", o->host, gai_strerror(problem));
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        ouro__error_set(e, errno, "cannot listen on %s port %u: %s", o->host, o->port,
                        strerror(errno));
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static bool name_listener(listener *l, int fd, error *e) {
    struct sockaddr_storage local;
    socklen_t size = sizeof local;
    char host[NI_MAXHOST], port[NI_MAXSERV], own[256] = "";
    if (getsockname(fd, (struct sockaddr *)&local, &size) != 0 ||
        getnameinfo((struct sockaddr *)&local, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return ouro__fail(e, errno, "cannot find out the address: %s", strerror(errno));
    gethostname(own, sizeof own - 1);
    l->own_host = strdup(*own ? own : "localhost");
    if (asprintf(&l->address, strchr(host, ':') ? "http://[%s]:%s" : "http://%s:%s", host, port) <
        0)
        l->address = NULL;
    return (l->own_host && l->address) || ouro__fail_memory(e);
}

static bool start_daemon(listener *l, int fd, error *e) {
    l->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC,
        0, NULL, NULL, handle, l, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_PER_CONNECTION, MHD_OPTION_URI_LOG_CALLBACK, note_target, l,
        MHD_OPTION_NOTIFY_COMPLETED, completed, l, MHD_OPTION_NOTIFY_CONNECTION, connection_changed,
        l, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    return l->daemon || ouro__fail(e, errno, "cannot start the server: %s", strerror(errno));
}

static bool start(listener *l, error *e) {
    l->url = strdup(l->options.url);
    l->token = l->options.token ? strdup(l->options.token) : NULL;
    if (!l->url || (l->options.token && !l->token)) return ouro__fail_memory(e);
    l->store = ouro__store_open(l->url, true, e);
    if (l->store && ouro__store_wants_many(l->store)) {
        l->journal = ouro__journal_open(l->store, l->url, l->options.limit, e);
        if (!l->journal) return false;
        l->store = NULL;
    }
    int fd = l->store || l->journal ? open_socket(&l->options, e) : -1;
    if (fd < 0) return false;
    if (!name_listener(l, fd, e) || !start_daemon(l, fd, e)) {
        close(fd);
        return false;
    }
    int problem = pthread_create(&l->watcher, NULL, watch, l);
    l->watched = !problem;
    return !problem || ouro__fail(e, problem, "cannot start a thread: %s", strerror(problem));
}

static void listener_free(listener *l) {
    if (l->daemon) MHD_stop_daemon(l->daemon);
    if (l->store) ouro__store_close(l->store);
    if (l->journal) ouro__journal_close(l->journal);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->storing);
    pthread_cond_destroy(&l->changed);
    if (l->token) explicit_bzero(l->token, strlen(l->token));
    free(l->token);
    free(l->url);
    free(l->address);
    free(l->own_host);
    free(l);
}

listener *ouro__listener_start(const listener_options *options, error *e) {
    listener *l = calloc(1, sizeof *l);
    if (!l) {
        ouro__error_memory(e);
        return NULL;
    }
    l->options = *options;
    if (!l->options.limit) l->options.limit = MEMORY_OF_A_PROFILE;
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->storing, NULL);
    pthread_cond_init(&l->changed, NULL);
    if (start(l, e)) return l;
    listener_free(l);
    return NULL;
}

const char *ouro__listener_address(const listener *l) { return l->address; }

void ouro__listener_stop(listener *l) {
    int fd = MHD_quiesce_daemon(l->daemon);
    if (fd >= 0) shutdown(fd, SHUT_RDWR); // or the kernel would go on to accept
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_broadcast(&l->changed);
    while (l->in_flight) pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    if (l->watched) pthread_join(l->watcher, NULL);
    if (fd >= 0) close(fd);
    listener_free(l);
}

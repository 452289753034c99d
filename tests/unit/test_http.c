// SPDX-License-Identifier: MIT
//
// Requests to a server of the test's own: a thread that reads one request after the other, keeps
// what it read, and answers with the bytes that it was given, whatever they are.

#include "http_client.h"
#include "input.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    int socket;
    char url[64];
    const char *answer; // "": the connection is closed without one
    size_t answer_size;
    char request[1 << 16];
    size_t size;
    pthread_t thread;
} served;

// The whole request: its head, and as much as it says that its body has.
static bool is_whole(const served *s) {
    const char *end = memmem(s->request, s->size, "\r\n\r\n", 4);
    const char *length = end ? strcasestr(s->request, "content-length:") : NULL;
    if (!end) return false;
    size_t body = length && length < end ? (size_t)atol(length + 15) : 0;
    return s->size >= (size_t)(end + 4 - s->request) + body;
}

static void *serve(void *user) {
    served *s = user;
    int c = accept(s->socket, NULL, NULL);
    if (c < 0) return NULL;
    while (!is_whole(s) && s->size < sizeof s->request - 1) {
        ssize_t n = read(c, s->request + s->size, sizeof s->request - 1 - s->size);
        if (n <= 0) break;
        s->size += (size_t)n;
    }
    for (size_t sent = 0; sent < s->answer_size;) {
        ssize_t n = send(c, s->answer + sent, s->answer_size - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += (size_t)n;
    }
    close(c);
    return NULL;
}

static void listen_at(served *s) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    s->socket = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(s->socket, (struct sockaddr *)&at, sizeof at) == 0 && listen(s->socket, 4) == 0);
    getsockname(s->socket, (struct sockaddr *)&at, &size);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/path?x=1", ntohs(at.sin_port));
}

static served *start(const char *answer, size_t size) {
    served *s = calloc(1, sizeof *s);
    s->answer = answer;
    s->answer_size = size;
    listen_at(s);
    CHECK(pthread_create(&s->thread, NULL, serve, s) == 0);
    return s;
}

static void stop(served *s) {
    shutdown(s->socket, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->socket);
    free(s);
}

static bool ask(const http_request *r, http_answer *a, error *e) {
    http_client *c = ouro__http_new(e);
    bool ok = CHECK(c != NULL) && ouro__http(c, r, a, e);
    ouro__http_free(c);
    return ok;
}

#define START(text) start(text, sizeof text - 1)
#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe\0lo"

TEST(an_answer_has_its_bytes_and_its_status) {
    served *s = START(GOOD);
    http_answer a;
    error e = {0};
    if (CHECK(ask(&(http_request){.url = s->url}, &a, &e))) {
        CHECK_EQUAL(a.status, 200);
        CHECK_EQUAL(a.size, 5);
        CHECK(memcmp(a.body, "he\0lo", 6) == 0);
    }
    CHECK(strncmp(s->request, "GET /path?x=1 HTTP/1.1\r\n", 24) == 0);
    CHECK(!strstr(s->request, "Authorization"));
    ouro__http_answer_free(&a);
    stop(s);
}

TEST(a_refusal_is_an_answer_and_says_when_to_come_again) {
    served *s = START("HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nlate");
    http_answer a;
    error e = {0};
    if (CHECK(ask(&(http_request){.url = s->url}, &a, &e))) {
        CHECK_EQUAL(a.status, 429);
        CHECK_EQUAL(a.retry_after, 7);
        CHECK_TEXT(a.body, "late");
    }
    ouro__http_answer_free(&a);
    stop(s);
}

TEST(method_headers_user_and_body_are_sent) {
    served *s = START(GOOD);
    http_answer a;
    error e = {0};
    const char *const headers[] = {"X-Odd: yes", NULL};
    http_request r = {.url = s->url,
                      .method = "PUT",
                      .headers = headers,
                      .user = "me",
                      .password = "p:w",
                      .body = "a\0b",
                      .body_size = 3};
    CHECK(ask(&r, &a, &e));
    CHECK(strncmp(s->request, "PUT /path", 9) == 0);
    CHECK(strstr(s->request, "\r\nX-Odd: yes\r\n") != NULL);
    CHECK(strstr(s->request, "\r\nAuthorization: Basic bWU6cDp3\r\n") != NULL); // me:p:w
    CHECK(memcmp(s->request + s->size - 7, "\r\n\r\na\0b", 7) == 0);
    ouro__http_answer_free(&a);
    stop(s);
}

TEST(a_packed_body_unpacks_to_what_it_was) {
    served *s = START(GOOD);
    http_answer a;
    error e = {0};
    size_t size = 3 << 20, unpacked_size = 0;
    char *body = malloc(size);
    unsigned char *unpacked = NULL;
    for (size_t i = 0; i < size; i++) body[i] = (char)(i / 5000);
    http_request r = {.url = s->url, .body = body, .body_size = size, .gzip = true};
    CHECK(ask(&r, &a, &e));
    CHECK(strstr(s->request, "\r\nContent-Encoding: gzip\r\n") != NULL);
    const char *packed = memmem(s->request, s->size, "\r\n\r\n", 4);
    if (CHECK(packed != NULL)) {
        packed += 4;
        CHECK(ouro__gunzip((const unsigned char *)packed, s->size - (size_t)(packed - s->request),
                           size, &unpacked, &unpacked_size, &e));
        CHECK(unpacked_size == size && memcmp(unpacked, body, size) == 0);
    }
    free(unpacked);
    free(body);
    ouro__http_answer_free(&a);
    stop(s);
}

static bool count_bytes(void *taker, const void *bytes, size_t size) {
    (void)bytes;
    *(size_t *)taker += size;
    return true;
}

static bool take_nothing(void *taker, const void *bytes, size_t size) {
    (void)taker, (void)bytes, (void)size;
    return false;
}

TEST(pieces_go_to_the_caller_who_may_end_it) {
    size_t taken = 0;
    http_answer a;
    error e = {0};
    served *s = START(GOOD);
    http_request r = {.url = s->url, .take = count_bytes, .taker = &taken};
    CHECK(ask(&r, &a, &e));
    CHECK_EQUAL(taken, 5);
    CHECK_EQUAL(a.size, 0);
    ouro__http_answer_free(&a);
    stop(s);

    s = START(GOOD);
    r = (http_request){.url = s->url, .take = take_nothing};
    CHECK(!ask(&r, &a, &e));
    CHECK_EQUAL(e.code, ECANCELED);
    stop(s);

    s = START("HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nwhy"); // a refusal does not go there
    r = (http_request){.url = s->url, .take = take_nothing};
    CHECK(ask(&r, &a, &e));
    CHECK_TEXT(a.body, "why");
    ouro__http_answer_free(&a);
    stop(s);
}

static void check_failure(const char *answer, size_t size, http_request r, int code,
                          const char *words) {
    http_answer a;
    error e = {0};
    served *s = start(answer, size);
    r.url = s->url;
    r.user = "me";
    r.password = "secret";
    CHECK(!ask(&r, &a, &e));
    CHECK_EQUAL(e.code, code);
    if (!CHECK(strstr(e.message, words) != NULL)) fprintf(stderr, "%s\n", e.message);
    CHECK(strstr(e.message, "127.0.0.1:") != NULL);
    CHECK(!strstr(e.message, "secret") && !strstr(e.message, "x=1"));
    ouro__http_answer_free(&a);
    stop(s);
}

TEST(every_failure_is_told_in_words_without_secrets) {
    http_request plain = {0};
    check_failure("", 0, plain, ECONNRESET, "Try again");
    check_failure(GOOD, sizeof GOOD - 3, plain, ECONNRESET, "was cut"); // in the middle of a body
    check_failure("what is this\r\n\r\n", 16, plain, EPROTO, "does not speak HTTP");
    check_failure(GOOD, sizeof GOOD - 1, (http_request){.answer_most = 4}, EFBIG,
                  "longer than 4 bytes");
    check_failure(GOOD, sizeof GOOD - 1,
                  (http_request){.answer_most = 4, .take = count_bytes, .taker = &(size_t){0}},
                  EFBIG, "ask for less");
}

TEST(where_nobody_is_nothing_was_sent) {
    served *s = START(GOOD);
    char url[64];
    http_answer a;
    error e = {0};
    strcpy(url, s->url);
    stop(s);
    CHECK(!ask(&(http_request){.url = url}, &a, &e));
    CHECK_EQUAL(e.code, ECONNREFUSED);
    CHECK(strstr(e.message, "is the server started") != NULL);
}

TEST(what_is_no_web_address_is_refused) {
    static const char *const urls[] = {"file:///etc/passwd", "gopher://x/", "http://u:secret@h/",
                                       "http://", "http://[::/"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        http_answer a;
        error e = {0};
        CHECK(!ask(&(http_request){.url = urls[i]}, &a, &e));
        CHECK_EQUAL(e.code, EINVAL);
        CHECK(!strstr(e.message, "secret"));
    }
}

TEST(a_password_is_hidden_where_it_stands) {
    static const char *const pairs[][2] = {
        {"http://me:secret@h:1/d?x=a:b@c", "http://me:*@h:1/d?x=a:b@c"},
        {"http://me:s@cr:t@h:1/", "http://me:*@h:1/"},
        {"http://me@h/", "http://me@h/"},
        {"http://me:@h/", "http://me:@h/"},
        {"http://me:x@h/", "http://me:*@h/"},
        {"--store=http://me:secret@h/d", "--store=http://me:*@h/d"},
        {"http://h:8123/x@y:z", "http://h:8123/x@y:z"},
        {"file.db", "file.db"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char url[80];
        strcpy(url, pairs[i][0]);
        ouro__url_hide_password(url);
        CHECK_TEXT(url, pairs[i][1]);
    }
}

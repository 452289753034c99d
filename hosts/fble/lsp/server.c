// SPDX-License-Identifier: MIT
//
// The server's loop. Messages are read ahead as far as they have arrived, so that a request can be
// cancelled before its turn, and are answered in their order. Documents that have changed are
// checked when the client has been silent for a moment, or when a request needs them. Whatever a
// client sends, the server answers or ignores it; only what is not a message at all, or is too
// long, ends it.

#include "json.h"
#include "lsp.h"
#include "syntax/diagnostics.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_HEADER = 4096, SILENCE = 150 /* milliseconds */ };

// Codes of errors, of the protocol.
enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    NOT_INITIALIZED = -32002,
    CANCELLED = -32800,
};

struct message {
    struct message *next;
    struct json_t *json;
    char *id; // as JSON; NULL: a notification
    const char *method;
    const struct json_t *params;
};

// What was last published about a file.
struct published {
    struct published *next;
    char *uri, *diagnostics;
    bool wanted; // something is to be said about it still
};

struct server {
    FILE *out;
    int in;
    const struct fble_list *search;
    const char *version;
    char *input; // what has been read and not been understood yet
    size_t length, capacity;
    bool at_end; // of the input
    struct message *waiting, **last;
    uint32_t count; // of those waiting
    struct lsp_document *documents;
    struct published *published;
    bool closed; // a document, since the last publication
    bool initialized, shutdown, exited;
    const char *broken; // why there is no going on
};

// ---------------------------------------------------------------- replies

struct reply {
    char *text;
    size_t length;
    FILE *to;
};

static struct reply *reply_new(void) {
    struct reply *reply = lsp_allocate(sizeof *reply);
    reply->to = open_memstream(&reply->text, &reply->length);
    if (!reply->to) fble_out_of_memory();
    fputs("{\"jsonrpc\":\"2.0\",", reply->to);
    return reply;
}

static struct reply *answer(const struct message *message) {
    struct reply *reply = reply_new();
    fprintf(reply->to, "\"id\":%s,\"result\":", message->id);
    return reply;
}

// A client that does not read any more has gone away: the end of the input will say so.
static void send(struct server *server, struct reply *reply) {
    fputs("}", reply->to);
    fclose(reply->to);
    fprintf(server->out, "Content-Length: %zu\r\n\r\n", reply->length);
    fwrite(reply->text, 1, reply->length, server->out);
    fflush(server->out);
    free(reply->text);
    free(reply);
}

static void refuse(struct server *server, const char *id, int code, const char *why) {
    struct reply *reply = reply_new();
    fprintf(reply->to, "\"id\":%s,\"error\":{\"code\":%d,\"message\":", id ? id : "null", code);
    fble_print_json(reply->to, why, strlen(why));
    fputs("}", reply->to);
    send(server, reply);
}

// ---------------------------------------------------------------- reading messages

static void message_free(struct message *message) {
    lsp_json_free(message->json);
    free(message->id);
    free(message);
}

// Of what waits, and says so; the message itself is done then.
static void cancel(struct server *server, const struct message *message) {
    char *id = lsp_identifier(lsp_get(message->params, "id"));
    for (struct message **link = &server->waiting; id && *link; link = &(*link)->next) {
        struct message *found = *link;
        if (!found->id || strcmp(found->id, id)) continue;
        refuse(server, id, CANCELLED, "the request was cancelled");
        *link = found->next;
        if (!*link) server->last = link;
        server->count--;
        message_free(found);
        break;
    }
    free(id);
}

static void enqueue(struct server *server, struct message *message) {
    if (!strcmp(message->method, "$/cancelRequest")) {
        cancel(server, message);
        message_free(message);
        return;
    }
    *(server->last ? server->last : &server->waiting) = message;
    server->last = &message->next;
    server->count++;
}

static void take_message(struct server *server, const char *text, size_t length) {
    struct json_t *json = lsp_json_read(text, length);
    if (!json) {
        refuse(server, NULL, PARSE_ERROR, "the message is not JSON");
        return;
    }
    struct message *message = lsp_allocate(sizeof *message);
    *message = (struct message){.json = json,
                                .id = lsp_identifier(lsp_get(json, "id")),
                                .method = lsp_string(lsp_get(json, "method"), NULL),
                                .params = lsp_get(json, "params")};
    if (message->method) {
        enqueue(server, message);
        return;
    }
    bool answers = lsp_get(json, "result") || lsp_get(json, "error"); // nothing was asked
    if (!answers) refuse(server, message->id, INVALID_REQUEST, "a message needs a method");
    message_free(message);
}

// The number of a Content-Length header; false if there is none, or one that is no number. Every
// line of the header ends in LF.
static bool content_length(const char *header, size_t length, size_t *result) {
    static const char name[] = "content-length:";
    const char *line = header, *end = header + length;
    while (line < end && strncasecmp(line, name, sizeof name - 1))
        line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
    if (line >= end) return false;
    const char *digits = line + sizeof name - 1;
    while (*digits == ' ' || *digits == '\t') digits++;
    char *behind = (char *)digits;
    if (*digits >= '0' && *digits <= '9') *result = strtoull(digits, &behind, 10);
    return behind > digits && (*behind == '\r' || *behind == ' ');
}

// Takes the first message from the input, if all of it is there. The input is ended by a NUL.
static bool take(struct server *server) {
    size_t limit = server->length < LONGEST_HEADER ? server->length : LONGEST_HEADER;
    const char *end = memmem(server->input, limit, "\r\n\r\n", 4);
    if (!end) {
        if (limit == LONGEST_HEADER) server->broken = "the header of a message has no end";
        return false;
    }
    size_t header = (size_t)(end - server->input) + 4, length;
    if (!content_length(server->input, header - 2, &length))
        server->broken = "a message has no Content-Length";
    else if (length > LSP_LONGEST_MESSAGE)
        server->broken = "a message is longer than 64 MiB";
    if (server->broken || server->length - header < length) return false;
    take_message(server, server->input + header, length);
    server->length -= header + length;
    memmove(server->input, server->input + header + length, server->length + 1);
    return true;
}

static bool readable(const struct server *server, int timeout) {
    struct pollfd one = {.fd = server->in, .events = POLLIN};
    return poll(&one, 1, timeout) != 0;
}

static void read_some(struct server *server) {
    if (server->capacity - server->length < 65536) {
        server->capacity = 2 * server->capacity + 131072;
        server->input = realloc(server->input, server->capacity);
        if (!server->input) fble_out_of_memory();
    }
    ssize_t n =
        read(server->in, server->input + server->length, server->capacity - server->length - 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) server->at_end = true;
    server->length += n > 0 ? (size_t)n : 0;
    server->input[server->length] = 0;
}

static void take_all(struct server *server) {
    while (server->input && !server->broken && server->count < LSP_MOST_WAITING && take(server))
        continue;
}

// Reads what has arrived; while nothing waits, until something has.
static void receive(struct server *server) {
    take_all(server);
    while (!server->broken && !server->at_end && server->count < LSP_MOST_WAITING &&
           readable(server, server->count ? 0 : -1)) {
        read_some(server);
        take_all(server);
    }
}

// ---------------------------------------------------------------- diagnostics

static void published_free(struct published *p) {
    free(p->uri);
    free(p->diagnostics);
    free(p);
}

static struct published *published_of(struct server *server, const char *uri) {
    struct published *p = server->published;
    while (p && strcmp(p->uri, uri)) p = p->next;
    if (p) return p;
    p = lsp_allocate(sizeof *p);
    *p = (struct published){server->published, lsp_copy(uri, strlen(uri)), lsp_copy("", 0), false};
    return server->published = p;
}

// Takes over `diagnostics`.
static void publish(struct server *server, struct published *p, char *diagnostics) {
    if (strcmp(p->diagnostics, diagnostics)) {
        struct reply *reply = reply_new();
        fputs("\"method\":\"textDocument/publishDiagnostics\",\"params\":{\"uri\":", reply->to);
        fble_print_json(reply->to, p->uri, strlen(p->uri));
        fprintf(reply->to, ",\"diagnostics\":%s}", diagnostics);
        send(server, reply);
    }
    free(p->diagnostics);
    p->diagnostics = diagnostics;
}

static struct lsp_document *document_of_file(const struct server *server, const char *file) {
    struct lsp_document *document = server->documents;
    while (document && strcmp(document->file, file)) document = document->next;
    return document;
}

// What a check says about one file. An open document is spoken of by its own check only.
static void publish_unit(struct server *server, struct lsp_document *document,
                         const struct fble_unit *unit) {
    struct lsp_document *owner = document_of_file(server, unit->file);
    if ((owner && owner != document) || *unit->file != '/') return;
    char *uri = owner ? lsp_copy(owner->uri, strlen(owner->uri)) : lsp_uri_of_file(unit->file);
    struct published *p = published_of(server, uri);
    free(uri);
    if (p->wanted) return; // by another document's check
    p->wanted = true;
    char *diagnostics = NULL;
    size_t length;
    FILE *to = open_memstream(&diagnostics, &length);
    if (!to) fble_out_of_memory();
    lsp_print_diagnostics(to, document->check, unit);
    fclose(to);
    publish(server, p, diagnostics);
}

static void publish_check(struct server *server, struct lsp_document *document) {
    if (!document->check) return;
    if (document->check->unit) publish_unit(server, document, document->check->unit);
    for (const struct fble_diagnostic *d = document->check->program.diagnostics.first; d;
         d = d->next)
        publish_unit(server, document, d->unit);
}

// Says what is new, and of files that nobody speaks of any more that they are fine.
static void publish_all(struct server *server) {
    for (struct published *p = server->published; p; p = p->next) p->wanted = false;
    for (struct lsp_document *d = server->documents; d; d = d->next) publish_check(server, d);
    for (struct published **link = &server->published, *p; (p = *link);) {
        if (p->wanted) {
            link = &p->next;
            continue;
        }
        publish(server, p, lsp_copy("[]", 2));
        *link = p->next;
        published_free(p);
    }
}

static bool has_news(const struct server *server) {
    const struct lsp_document *d = server->documents;
    while (d && !d->stale) d = d->next;
    return d || server->closed;
}

static void check_all(struct server *server) {
    for (struct lsp_document *d = server->documents; d; d = d->next)
        if (d->stale) lsp_check(d, server->documents, server->search);
    publish_all(server);
    server->closed = false;
}

// A file has changed, or NULL: any may have.
static void changed(struct server *server, const char *file) {
    for (struct lsp_document *d = server->documents; d; d = d->next)
        d->stale |= !file || lsp_depends_on(d, file);
}

// ---------------------------------------------------------------- documents

static struct lsp_document *document_of(const struct server *server, const struct json_t *params) {
    const char *uri = lsp_string(lsp_get(params, "textDocument.uri"), NULL);
    struct lsp_document *document = server->documents;
    while (document && uri && strcmp(document->uri, uri)) document = document->next;
    return uri ? document : NULL;
}

static void remove_document(struct server *server, struct lsp_document *document) {
    struct lsp_document **link = &server->documents;
    while (*link != document) link = &(*link)->next;
    *link = document->next;
    changed(server, document->file);
    server->closed = true;
    lsp_document_free(document);
}

static void did_open(struct server *server, const struct message *message) {
    size_t length;
    const char *uri = lsp_string(lsp_get(message->params, "textDocument.uri"), NULL);
    const char *text = lsp_string(lsp_get(message->params, "textDocument.text"), &length);
    if (!uri || !text) return;
    struct lsp_document *document = document_of(server, message->params);
    if (document) {
        lsp_document_set(document, text, length);
    } else {
        document = lsp_document_new(uri, text, length);
        document->next = server->documents;
        server->documents = document;
    }
    changed(server, document->file);
}

static bool get_position(const struct json_t *value, struct lsp_position *position) {
    return lsp_number(lsp_get(value, "line"), &position->line) &&
           lsp_number(lsp_get(value, "character"), &position->character);
}

// One change; false if the text is not the client's any more.
static bool apply(struct lsp_document *document, const struct json_t *change) {
    struct lsp_position from, until;
    size_t length;
    const char *text = lsp_string(lsp_get(change, "text"), &length);
    if (!text) return false;
    if (!lsp_get(change, "range")) {
        lsp_document_set(document, text, length);
        return true;
    }
    return get_position(lsp_get(change, "range.start"), &from) &&
           get_position(lsp_get(change, "range.end"), &until) &&
           lsp_document_edit(document, from, until, text, length);
}

static void did_change(struct server *server, const struct message *message) {
    struct lsp_document *document = document_of(server, message->params);
    const struct json_t *changes = lsp_get(message->params, "contentChanges"), *change;
    for (size_t i = 0; document && (change = lsp_at(changes, i)); i++) {
        if (apply(document, change)) continue;
        struct reply *reply = reply_new();
        fputs(
            "\"method\":\"window/showMessage\",\"params\":{\"type\":1,\"message\":\"fble: a change "
            "cannot be applied; please close the file and open it again\"}",
            reply->to);
        send(server, reply);
        remove_document(server, document);
        return;
    }
    if (document) changed(server, document->file);
}

static void did_close(struct server *server, const struct message *message) {
    struct lsp_document *document = document_of(server, message->params);
    if (document) remove_document(server, document);
}

static void did_change_files(struct server *server, const struct message *message) {
    (void)message;
    changed(server, NULL);
}

// ---------------------------------------------------------------- requests

static void initialize(struct server *server, const struct message *message) {
    struct reply *reply = answer(message);
    server->initialized = true;
    fputs("{\"capabilities\":{\"positionEncoding\":\"utf-16\",\"textDocumentSync\":{\"openClose\":"
          "true,"
          "\"change\":2,\"save\":true},\"hoverProvider\":true,\"definitionProvider\":true,"
          "\"documentSymbolProvider\":true},\"serverInfo\":{\"name\":\"fble\",\"version\":",
          reply->to);
    fble_print_json(reply->to, server->version, strlen(server->version));
    fputs("}}", reply->to);
    send(server, reply);
}

static void shut_down(struct server *server, const struct message *message) {
    struct reply *reply = answer(message);
    server->shutdown = true;
    fputs("null", reply->to);
    send(server, reply);
}

// The document of a request, checked. NULL, after a reply, if there is none.
static struct lsp_document *checked(struct server *server, const struct message *message) {
    struct lsp_document *document = document_of(server, message->params);
    if (!document)
        refuse(server, message->id, INVALID_PARAMS, "the document is not open");
    else if (document->stale)
        lsp_check(document, server->documents, server->search);
    return document;
}

// What stands at the position of a request. False, after a reply, if nothing does.
static bool found_at(struct server *server, const struct message *message, bool behind,
                     struct lsp_document **document, struct lsp_found *found) {
    struct lsp_position position;
    if (!get_position(lsp_get(message->params, "position"), &position)) {
        refuse(server, message->id, INVALID_PARAMS, "a position has a line and a character");
        return false;
    }
    *document = checked(server, message);
    if (!*document) return false;
    if (lsp_find(*document, position, behind, found)) return true;
    struct reply *reply = answer(message);
    fputs("null", reply->to);
    send(server, reply);
    return false;
}

static void hover(struct server *server, const struct message *message) {
    struct lsp_document *document;
    struct lsp_found found;
    if (!found_at(server, message, false, &document, &found)) return;
    struct reply *reply = answer(message);
    lsp_print_hover(reply->to, document, &found);
    send(server, reply);
}

// A place of the document itself may have moved, or gone, since its text parsed.
static void print_location(FILE *to, const struct server *server,
                           const struct lsp_document *document, const struct lsp_found *found) {
    const struct lsp_document *open = document_of_file(server, found->unit->file);
    char *uri = open ? lsp_copy(open->uri, strlen(open->uri)) : lsp_uri_of_file(found->unit->file);
    struct fble_arena scratch = {0};
    struct lsp_text text = lsp_unit_text(&scratch, found->unit);
    size_t from = lsp_offset_of_loc(&text, found->loc);
    size_t until = found->module ? from : lsp_token_end(&text, from);
    bool own = found->unit == found->check->unit && found->check != document->check;
    if (own && !lsp_moved(&text, &document->check->text, &from, &until)) {
        fputs("null", to);
    } else {
        fputs("{\"uri\":", to);
        fble_print_json(to, uri, strlen(uri));
        fputs(",\"range\":", to);
        lsp_print_range(to, own ? &document->check->text : &text, from, until);
        fputs("}", to);
    }
    free(uri);
    fble_arena_free(&scratch);
}

static void definition(struct server *server, const struct message *message) {
    struct lsp_document *document;
    struct lsp_found found;
    if (!found_at(server, message, true, &document, &found)) return;
    struct reply *reply = answer(message);
    if (found.unit && *found.unit->file == '/')
        print_location(reply->to, server, document, &found);
    else
        fputs("null", reply->to);
    send(server, reply);
}

// Of a text that does not parse, the last list: an outline should not vanish with every key.
static void symbols(struct server *server, const struct message *message) {
    struct lsp_document *document = checked(server, message);
    if (!document) return;
    if (document->check->unit && document->check->unit->body) {
        free(document->symbols);
        size_t length;
        FILE *to = open_memstream(&document->symbols, &length);
        if (!to) fble_out_of_memory();
        lsp_print_symbols(to, document->check);
        fclose(to);
    }
    struct reply *reply = answer(message);
    fputs(document->symbols ? document->symbols : "[]", reply->to);
    send(server, reply);
}

// ---------------------------------------------------------------- the loop

static const struct method {
    const char *name;
    bool request;
    void (*handle)(struct server *server, const struct message *message);
} methods[] = {
    {"initialize", true, initialize},
    {"shutdown", true, shut_down},
    {"textDocument/didOpen", false, did_open},
    {"textDocument/didChange", false, did_change},
    {"textDocument/didClose", false, did_close},
    {"textDocument/didSave", false, did_change_files},
    {"workspace/didChangeWatchedFiles", false, did_change_files},
    {"textDocument/hover", true, hover},
    {"textDocument/definition", true, definition},
    {"textDocument/documentSymbol", true, symbols},
};

static void handle(struct server *server, const struct message *message) {
    const struct method *method = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(methods[i].name, message->method)) method = methods + i;
    if (!strcmp(message->method, "exit"))
        server->exited = true;
    else if (!message->id && (!method || method->request || !server->initialized))
        return; // nobody waits for an answer
    else if (message->id && server->shutdown)
        refuse(server, message->id, INVALID_REQUEST, "the server is shutting down");
    else if (message->id && !server->initialized && (!method || method->handle != initialize))
        refuse(server, message->id, NOT_INITIALIZED, "initialize comes first");
    else if (!method || (message->id && !method->request))
        refuse(server, message->id, METHOD_NOT_FOUND, "there is no such method");
    else
        method->handle(server, message);
}

static void handle_first(struct server *server) {
    struct message *message = server->waiting;
    server->waiting = message->next;
    if (!server->waiting) server->last = NULL;
    server->count--;
    handle(server, message);
    message_free(message);
}

static void server_free(struct server *server) {
    for (struct message *m; (m = server->waiting);) {
        server->waiting = m->next;
        message_free(m);
    }
    for (struct lsp_document *d; (d = server->documents);) {
        server->documents = d->next;
        lsp_document_free(d);
    }
    for (struct published *p; (p = server->published);) {
        server->published = p->next;
        published_free(p);
    }
    free(server->input);
}

const char *fble_lsp(int in, FILE *out, const struct fble_list *search, const char *version,
                     bool *shut_down) {
    struct server server = {.in = in, .out = out, .search = search, .version = version};
    for (;;) {
        if (!server.waiting && has_news(&server) && !server.at_end && !readable(&server, SILENCE))
            check_all(&server);
        receive(&server);
        if (!server.waiting) break; // the end of the input, or of understanding
        handle_first(&server);
        if (server.exited) break;
    }
    server_free(&server);
    *shut_down = server.shutdown;
    return server.broken;
}

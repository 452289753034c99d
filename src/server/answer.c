// SPDX-License-Identifier: MIT
//
// Answers made of an output or of an error's few words.

#include "answer.h"

#include "json_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char json_type[] = "application/json; charset=utf-8";

void ouro__answer_free(answer *a) {
    free(a->bytes);
    free(a->refresh);
    if (a->in_file) close(a->fd);
    *a = (answer){0};
}

void ouro__answer_memory(answer *a) {
    static const char text[] =
        "{\"error\":{\"code\":\"out-of-memory\",\"message\":\"out of memory\"}}\n";
    ouro__answer_free(a);
    *a = (answer){.status = 503, .type = json_type, .lasting = text, .size = sizeof text - 1};
}

void ouro__answer_from(answer *a, int status, const char *type, output *out) {
    error e;
    ouro__answer_free(a);
    a->bytes = out ? ouro__output_take(out, &a->size, &e) : NULL;
    if (!a->bytes) return ouro__answer_memory(a);
    a->status = status;
    a->type = type ? type : json_type;
}

void ouro__answer_from_file(answer *a, const char *type, output *out) {
    error e = {0};
    uint64_t size;
    int fd = ouro__output_take_file(out, &size, &e);
    ouro__answer_free(a);
    if (fd < 0 && e.code == ENOMEM) return ouro__answer_memory(a);
    if (fd < 0) return ouro__answer_error(a, 500, "cannot-write", e.message);
    *a = (answer){.status = 200, .type = type, .size = size, .in_file = true, .fd = fd};
}

void ouro__answer_candidates(answer *a, int status, const char *code, const char *message,
                             char *const *candidates, size_t count) {
    json_writer w = {.out = ouro__output_memory()};
    if (!w.out) return ouro__answer_memory(a);
    ouro__write_object(&w, NULL);
    ouro__write_object(&w, "error");
    ouro__write_text(&w, "code", code);
    ouro__write_text(&w, "message", message);
    if (candidates) ouro__write_array(&w, "candidates");
    for (size_t i = 0; i < count; i++) ouro__write_text(&w, NULL, candidates[i]);
    if (candidates) ouro__write_end(&w);
    ouro__write_end(&w);
    ouro__write_end(&w);
    ouro__put_text(w.out, "\n");
    ouro__answer_from(a, status, NULL, w.out);
}

void ouro__answer_error(answer *a, int status, const char *code, const char *message) {
    ouro__answer_candidates(a, status, code, message, NULL, 0);
}

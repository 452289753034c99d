// SPDX-License-Identifier: MIT
//
// Answers made of an output or of an error's few words.

#include "answer.h"

#include <stdlib.h>
#include <string.h>

static const char json_type[] = "application/json; charset=utf-8";

void ouro__answer_free(answer *a) {
    free(a->bytes);
    *a = (answer){0};
}

static void out_of_memory(answer *a) {
    static const char text[] =
        "{\"error\":{\"code\":\"out-of-memory\",\"message\":\"out of memory\"}}\n";
    ouro__answer_free(a);
    *a = (answer){.status = 503, .type = json_type, .lasting = text, .size = sizeof text - 1};
}

void ouro__answer_from(answer *a, int status, const char *type, output *out) {
    error e;
    ouro__answer_free(a);
    a->bytes = out ? ouro__output_take(out, &a->size, &e) : NULL;
    if (!a->bytes) {
        out_of_memory(a);
        return;
    }
    a->status = status;
    a->type = type ? type : json_type;
}

void ouro__answer_error(answer *a, int status, const char *code, const char *message) {
    output *out = ouro__output_memory();
    if (out) {
        ouro__put_text(out, "{\"error\":{\"code\":");
        ouro__put_json(out, code);
        ouro__put_text(out, ",\"message\":");
        ouro__put_json(out, message);
        ouro__put_text(out, "}}\n");
    }
    ouro__answer_from(a, status, NULL, out);
}

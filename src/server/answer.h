// SPDX-License-Identifier: MIT
//
// What is sent back: a status, a media type and bytes. Knows nothing of sockets.

#ifndef OURO_ANSWER_H
#define OURO_ANSWER_H

#include "output.h"

typedef struct {
    int status;
    const char *type;
    char *bytes;         // freed by ouro__answer_free
    const char *lasting; // instead of `bytes`: they stay where they are
    size_t size;
    bool in_file; // instead of both: `size` bytes of the file `fd`
    int fd;
    char file_name[128]; // offered for saving under this name; "": shown
    char etag[64];       // with quotes; "": none
    bool ours;           // a page of ours: it may run scripts and ask us
    bool secret;         // says who has the secret: nobody may keep it
    char cookie[96];     // to be kept by the browser; "": none
    char *refresh;       // the page asks for this target at once; NULL: it stays. Freed
} answer;

void ouro__answer_free(answer *a);
// Takes the output; `type` NULL is JSON. An output that ran out of memory, or NULL,
// becomes ouro__answer_memory.
void ouro__answer_from(answer *a, int status, const char *type, output *out);
// The same of an output into a temporary file. One that could not be written is an error.
void ouro__answer_from_file(answer *a, const char *type, output *out);
// {"error": {"code": ..., "message": ...}}
void ouro__answer_error(answer *a, int status, const char *code, const char *message);
// The same with "candidates": what may have been meant.
void ouro__answer_candidates(answer *a, int status, const char *code, const char *message,
                             char *const *candidates, size_t count);
// Out of memory: status 503, and needs none itself.
void ouro__answer_memory(answer *a);

#endif

// SPDX-License-Identifier: MIT
//
// A fuzz target for fble lsp. If the first byte is even, each line of the rest is a message, which
// gets its header here; else the rest is what the server reads. It must end by itself. What it
// answers is not looked at: test_lsp.js does that.

#include "lsp/lsp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void write_messages(FILE *to, const char *text, size_t length) {
    static const char first[] = "{\"id\":1,\"method\":\"initialize\"}";
    fprintf(to, "Content-Length: %zu\r\n\r\n%s", sizeof first - 1, first);
    while (length) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        fprintf(to, "Content-Length: %zu\r\n\r\n", line);
        fwrite(text, 1, line, to);
        text += line + (end != NULL);
        length -= line + (end != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
    if (!length) return 0;
    FILE *input = fdopen(memfd_create("input", 0), "w+"), *output = fopen("/dev/null", "w");
    if (!input || !output) abort();
    if (*data % 2)
        fwrite(data + 1, 1, length - 1, input);
    else
        write_messages(input, (const char *)data + 1, length - 1);
    fflush(input);
    lseek(fileno(input), 0, SEEK_SET);
    bool shut_down;
    fble_lsp(fileno(input), output, &(struct fble_list){0}, "fuzz", &shut_down);
    fclose(input);
    fclose(output);
    return 0;
}

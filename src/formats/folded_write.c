// SPDX-License-Identifier: MIT
//
// Writes folded stacks of one metric: a line per path that something was charged to. A semicolon in
// a name is written as
// `\;` and a backslash as `\\`, which folded_read.c takes back; a newline becomes a space.

#include "readers.h"

#include <string.h>

static void put_name(output *out, const char *name) {
    for (const char *at = name; *at;) {
        size_t plain = strcspn(at, ";\\\n\r");
        ouro__put(out, at, plain);
        at += plain;
        if (!*at) break;
        if (*at == ';' || *at == '\\') ouro__put(out, "\\", 1);
        ouro__put(out, *at == ';' || *at == '\\' ? at : " ", 1);
        at++;
    }
    if (!*name) ouro__put_text(out, "[unknown]");
}

bool ouro__folded_write(const profile *p, const write_options *options, output *out, error *e) {
    walk w = {0};
    char number[DECIMAL_ROOM];
    uint32_t m = options->metric;
    bool ok = true;
    for (uint32_t n = 0; ok && n < p->node_count && !ouro__output_failed(out); n++) {
        ok = ouro__walk_to(&w, p, n);
        if (!ok || !p->values[m][n]) continue;
        if (w.depth == 0) ouro__put_text(out, "(root)");
        for (uint32_t d = 1; d <= w.depth; d++) {
            if (d > 1) ouro__put(out, ";", 1);
            put_name(out, ouro__block_name(p, p->block[w.nodes[d]]));
        }
        ouro__print(out, " %s\n", ouro__decimal(number, p->values[m][n], p->metrics[m].decimals));
    }
    ouro__walk_free(&w);
    return ok || ouro__fail_memory(e);
}

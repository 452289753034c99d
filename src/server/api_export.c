// SPDX-License-Identifier: MIT
//
// The filtered profile as a file, by the writers that `ouro convert` uses.

#include "api.h"

#include "format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_SHARE 0.0005 // as ouro convert

static const struct {
    const char *name, *type, *extension;
} exports[] = {{"svg", "image/svg+xml", "svg"},
               {"html", "text/html; charset=utf-8", "html"},
               {"pprof", "application/octet-stream", "pb"},
               {"folded", "text/plain; charset=utf-8", "folded"},
               {"speedscope", "application/json", "speedscope.json"}};

// What lies below a node, as a profile: the node is the one child of its root.
static profile *below(const profile *p, uint32_t node, error *e) {
    profile *to = ouro__profile_like_with_blocks(p);
    for (uint32_t n = node; to && n < p->end[node] && !to->failed; n++) {
        // Rows are in preorder, so a copy's number is its distance from the first, plus the root.
        uint32_t up = n == node ? 0 : p->parent[n] - node + 1;
        uint32_t copy = ouro__profile_add_node(to, up, p->block[n]);
        for (uint32_t m = 0; m < p->metric_count && !to->failed; m++)
            ouro__charge(to, m, copy, p->values[m][n]);
    }
    if (!to) ouro__error_memory(e);
    if (to && ouro__profile_finish(to, e)) return to;
    ouro__profile_free(to);
    return NULL;
}

// A name that is safe in a header and in any folder.
static void name_file(answer *a, const char *path, const char *extension) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char name[64] = "profile";
    size_t used = 0;
    for (; *base && used < sizeof name - 1; base++) {
        bool plain = (*base >= 'a' && *base <= 'z') || (*base >= 'A' && *base <= 'Z') ||
                     (*base >= '0' && *base <= '9') || (*base == '.' && used) || *base == '_' ||
                     (*base == '-' && used);
        if (plain) name[used++] = *base;
    }
    if (used) name[used] = '\0';
    snprintf(a->file_name, sizeof a->file_name, "%s.%s", name, extension);
}

static bool write_export(question *q, size_t which, const profile *p) {
    const char *path = q->api->shelf->files[q->side_number].path, *slash = strrchr(path, '/');
    error e = {0};
    write_options w = {.title = strcmp(path, "-") == 0 ? "standard input"
                                : slash                ? slash + 1
                                                       : path,
                       .metric = q->metric,
                       .share = PICTURE_SHARE};
    output *out = ouro__output_memory();
    if (!out) return false;
    if (!ouro__format_named(exports[which].name)->write(p, &w, out, &e)) {
        ouro__output_close(out, false, NULL);
        return ouro__refuse(q, 500, "cannot-write", "%s", e.message);
    }
    ouro__answer_from(q->answer, 200, exports[which].type, out);
    if (q->answer->status == 200) name_file(q->answer, path, exports[which].extension);
    return true;
}

bool ouro__api_export(question *q) {
    const char *as = ouro__request_value(q->request, "as");
    size_t count = sizeof exports / sizeof *exports, which = 0;
    while (which < count && (!as || strcmp(as, exports[which].name) != 0)) which++;
    if (which == count)
        return ouro__refuse(q, 400, "bad-export",
                            "as is one of svg, html, pprof, folded and speedscope");
    uint32_t node;
    if (!ouro__question_node(q, &node)) return false;
    error e = {0};
    profile *part = node ? below(q->p, node, &e) : NULL;
    if (node && !part) return ouro__refuse(q, 503, "cannot-write", "%s", e.message);
    bool ok = write_export(q, which, part ? part : q->p);
    ouro__profile_free(part);
    // The answer is made already: what was begun as JSON is thrown away.
    ouro__output_close(q->out, false, NULL);
    q->out = NULL;
    return ok;
}

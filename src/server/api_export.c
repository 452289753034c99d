// SPDX-License-Identifier: MIT
//
// The filtered profile as a file, by the writers that `ouro convert` uses.

#include "api.h"

#include "format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURE_SHARE 0.0005 // as ouro convert

typedef struct {
    const char *name, *type, *extension;
} export;

static const export exports[] = {{"svg", "image/svg+xml", "svg"},
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
static void name_file(question *q, const char *title, const char *extension) {
    char name[64] = "profile";
    size_t used = 0;
    for (const char *at = title; *at && used < sizeof name - 1; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || (*at == '.' && used) || *at == '_' ||
                     (*at == '-' && used);
        if (plain) name[used++] = *at;
    }
    if (used) name[used] = '\0';
    snprintf(q->file_name, sizeof q->file_name, "%s.%s", name, extension);
}

static bool write_export(question *q, const export *as, const profile *p) {
    const shelf_file *f = &q->api->shelf->files[q->side_number];
    error e = {0};
    write_options w = {.title = ouro__shelf_title(f), .metric = q->metric, .share = PICTURE_SHARE};
    if (!ouro__format_named(as->name)->write(p, &w, q->out, &e))
        return ouro__refuse_error(q, 500, "cannot-write", &e);
    q->type = as->type;
    name_file(q, strcmp(f->path, "-") == 0 ? "" : w.title, as->extension);
    return true;
}

static const export *find_export(const char *name) {
    for (size_t i = 0; name && i < sizeof exports / sizeof *exports; i++) {
        if (strcmp(name, exports[i].name) == 0) return &exports[i];
    }
    return NULL;
}

bool ouro__api_export(question *q) {
    const export *as = find_export(ouro__request_value(q->request, "as"));
    if (!as)
        return ouro__refuse(q, 400, "bad-export",
                            "as is one of svg, html, pprof, folded and speedscope");
    uint32_t node;
    if (!ouro__question_node(q, &node)) return false;
    error e = {0};
    profile *part = node ? below(q->p, node, &e) : NULL;
    if (node && !part) return ouro__refuse_error(q, 503, "cannot-write", &e);
    bool ok = write_export(q, as, part ? part : q->p);
    ouro__profile_free(part);
    return ok;
}

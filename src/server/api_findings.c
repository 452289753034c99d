// SPDX-License-Identifier: MIT
//
// The findings of the first page: sentences in parts, in which the page makes links of the blocks.

#include "api.h"

// The page to look closer at, by kind.
static const char *page_of(const finding *f) {
    switch (f->kind) {
    case FINDING_GROUP:
    case FINDING_RECURSION:
        return "recursion";
    case FINDING_PATH:
        return "paths";
    case FINDING_EMPTY:
    case FINDING_FEW:
    case FINDING_FLAT:
    case FINDING_CALLERS:
        return "self";
    default:
        return "block";
    }
}

static void write_text(question *q, const finding *f, int64_t total) {
    finding_part parts[FINDING_PARTS];
    uint32_t count = ouro__finding_parts(q->p, f, total, parts);
    ouro__write_array(&q->json, "text");
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].block == NO_BLOCK) {
            ouro__write_text(&q->json, NULL, parts[i].text);
            continue;
        }
        ouro__write_object(&q->json, NULL);
        ouro__write_block(q, "block", parts[i].block);
        ouro__write_end(&q->json);
    }
    ouro__write_end(&q->json);
}

static void write_finding(question *q, const finding *f, int64_t total) {
    ouro__write_object(&q->json, NULL);
    ouro__write_text(&q->json, "kind", ouro__finding_kind(f));
    write_text(q, f, total);
    if (f->value) ouro__write_integer(&q->json, "value", f->value);
    if (!f->value) ouro__write_null(&q->json, "value");
    ouro__write_object(&q->json, "link");
    ouro__write_text(&q->json, "page", page_of(f));
    ouro__write_block(q, "block", f->kind == FINDING_FLAT ? NO_BLOCK : f->block);
    ouro__write_end(&q->json);
    ouro__write_end(&q->json);
}

bool ouro__write_findings(question *q) {
    const findings *found = ouro__view_findings(q->view, q->metric);
    if (!found) return false;
    ouro__write_rows(&q->json, "findings");
    for (uint32_t i = 0; i < found->count; i++) write_finding(q, &found->rows[i], found->total);
    ouro__write_end(&q->json);
    return true;
}

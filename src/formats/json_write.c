// SPDX-License-Identifier: MIT
//
// Writes a profile's columns as JSON, for programs: metrics, blocks, and the tree with its values.
// Nodes are in preorder, node 0 is the root, whose block is null.

#include "readers.h"

static void put_metrics(const profile *p, output *out) {
    ouro__put_text(out, "\"metrics\":[");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        ouro__put_text(out, m ? ",{\"name\":" : "{\"name\":");
        ouro__put_json(out, ouro__metric_name(p, m));
        ouro__put_text(out, ",\"unit\":");
        ouro__put_json(out, ouro__metric_unit(p, m));
        ouro__put_text(out, "}");
    }
    ouro__print(out, "],\"default_metric\":%u,\n", p->default_metric);
}

static void put_blocks(const profile *p, output *out) {
    ouro__put_text(out, "\"blocks\":[");
    for (uint32_t b = 0; b < p->block_count; b++) {
        ouro__put_text(out, b ? ",\n{\"name\":" : "\n{\"name\":");
        ouro__put_json(out, ouro__block_name(p, b));
        ouro__put_text(out, ",\"file\":");
        ouro__put_json(out, ouro__block_file(p, b));
        ouro__print(out, ",\"line\":%u,\"column\":%u}", p->blocks[b].line, p->blocks[b].column);
    }
    ouro__put_text(out, "],\n");
}

static void put_column(const uint32_t *column, uint32_t count, output *out) {
    for (uint32_t n = 1; n < count; n++) {
        ouro__put(out, ",", 1);
        ouro__put_number(out, column[n]);
    }
}

bool ouro__json_write(const profile *p, const write_options *options, output *out, error *e) {
    char number[DECIMAL_ROOM];
    (void)e;
    ouro__put_text(out, "{\"format\":\"ouro\",\"version\":1,\"name\":");
    ouro__put_json(out, options->title ? options->title : "profile");
    ouro__put_text(out, ",\n");
    put_metrics(p, out);
    put_blocks(p, out);
    ouro__put_text(out, "\"nodes\":{\"parent\":[null");
    put_column(p->parent, p->node_count, out);
    ouro__put_text(out, "],\n\"block\":[null");
    put_column(p->block, p->node_count, out);
    ouro__put_text(out, "],\n\"self\":[");
    for (uint32_t m = 0; m < p->metric_count; m++) {
        ouro__put_text(out, m ? ",\n[" : "[");
        for (uint32_t n = 0; n < p->node_count; n++)
            ouro__print(out, n ? ",%s" : "%s",
                        ouro__decimal(number, p->values[m][n], p->metrics[m].decimals));
        ouro__put_text(out, "]");
    }
    ouro__put_text(out, "]}}\n");
    return true;
}

// SPDX-License-Identifier: MIT
//
// The call graph around a block, for the picture on its page.

#include "table.h"

#include <stdlib.h>

enum { PER_LAYER_USUAL = 5, PER_LAYER_MOST = 20 };

static const nearby *block_of(void *of, uint32_t i) { return &((neighbourhood *)of)->blocks[i]; }
static const flow *flow_of(void *of, uint32_t i) { return &((neighbourhood *)of)->flows[i]; }

static int64_t nearby_block(void *of, uint32_t i) { return block_of(of, i)->block; }
static int64_t nearby_layer(void *of, uint32_t i) { return block_of(of, i)->layer; }
static int64_t nearby_value(void *of, uint32_t i) { return block_of(of, i)->value; }
static int64_t flow_from(void *of, uint32_t i) { return flow_of(of, i)->from; }
static int64_t flow_to(void *of, uint32_t i) { return flow_of(of, i)->to; }
static int64_t flow_value(void *of, uint32_t i) { return flow_of(of, i)->value; }

static const column nearby_columns[] = {
    {"block", COLUMN_BLOCK, IN_JSON, .number = nearby_block},
    {"layer", COLUMN_COUNT, IN_JSON, .number = nearby_layer},
    {"value", COLUMN_VALUE, IN_JSON, .number = nearby_value},
    {0},
};
static const column flow_columns[] = {
    {"from", COLUMN_COUNT, IN_JSON, .number = flow_from},
    {"to", COLUMN_COUNT, IN_JSON, .number = flow_to},
    {"value", COLUMN_VALUE, IN_JSON, .number = flow_value},
    {0},
};

bool ouro__api_neighbourhood(question *q) {
    size_t length;
    uint32_t most;
    if (!ouro__request_number(q->request, "limit", 1, PER_LAYER_MOST, PER_LAYER_USUAL, &most))
        return ouro__refuse(q, 400, "bad-number", "limit is a whole number from 1 to %d",
                            PER_LAYER_MOST);
    uint32_t *block = ouro__question_blocks(q, "block", &length);
    neighbourhood h = {0};
    bool ok = block &&
              (length == 1 || ouro__refuse(q, 400, "no-block", "neighbourhood needs one block="));
    ok = ok && ouro__neighbourhood(q->p, q->metric, block[0], most, &h);
    if (ok) {
        table rows = {.columns = nearby_columns, .of = &h, .count = h.block_count};
        table flows = {.columns = flow_columns, .of = &h, .count = h.flow_count};
        ouro__table_rows(q, "rows", &rows, NULL, rows.count);
        ouro__table_rows(q, "flows", &flows, NULL, flows.count);
        ouro__write_integer(&q->json, "caller_count", h.caller_count);
        ouro__write_integer(&q->json, "callee_count", h.callee_count);
    }
    ouro__neighbourhood_free(&h);
    free(block);
    return ok;
}

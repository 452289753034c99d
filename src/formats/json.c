// SPDX-License-Identifier: MIT
//
// JSON through jansson, and the only file that knows it. Numbers are read as floating point, which
// is what JSON's own programs write; nesting is limited by jansson, so a hostile file cannot
// exhaust the stack. Writing JSON is done by hand, see ouro__put_json.

#include "json.h"

#include "budget.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>

// What the values of this thread take, and may take. A list of lists takes fifty times its text.
static _Thread_local struct {
    uint64_t used, most;
    bool refused;
} memory;

static void *take(size_t size) {
    memory.refused |= size > memory.most || memory.used > memory.most - size;
    void *at = memory.refused ? NULL : malloc(size);
    memory.used += malloc_usable_size(at);
    return at;
}

static void give_back(void *at) {
    size_t size = malloc_usable_size(at);
    memory.used -= size < memory.used ? size : memory.used; // it may be of an earlier reading
    free(at);
}

json *ouro__json_read(const input *in, uint64_t limit, error *e) {
    json_error_t problem;
    budget b = ouro__budget_of(in->size, in->packed, limit);
    memory.used = 0;
    memory.most = b.memory;
    memory.refused = false;
    json_set_alloc_funcs(take, give_back);
    // Names may hold a NUL in JSON; then they end there.
    json_t *root = json_loadb((const char *)in->bytes, in->size,
                              JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &problem);
    if (memory.refused) {
        ouro__limit_fail(b.memory, "B of memory for its values", b.bytes, e);
    } else if (!root) {
        ouro__error_at_byte(e, problem.position < 0 ? 0 : (uint64_t)problem.position,
                            "expected JSON: %s", problem.text);
    }
    return (json *)root;
}

void ouro__json_free(json *root) { json_decref((json_t *)root); }

const json *ouro__json_get(const json *object, const char *key) {
    return (const json *)json_object_get((const json_t *)object, key);
}

const json *ouro__json_at(const json *array, size_t index) {
    return (const json *)json_array_get((const json_t *)array, index);
}

size_t ouro__json_size(const json *array) { return json_array_size((const json_t *)array); }
bool ouro__json_is_array(const json *value) { return json_is_array((const json_t *)value); }
bool ouro__json_is_object(const json *value) { return json_is_object((const json_t *)value); }
bool ouro__json_is_number(const json *value) { return json_is_number((const json_t *)value); }
bool ouro__json_is_true(const json *value) { return json_is_true((const json_t *)value); }

double ouro__json_number(const json *value, double otherwise) {
    return json_is_number((const json_t *)value) ? json_number_value((const json_t *)value)
                                                 : otherwise;
}

const char *ouro__json_text(const json *value) { return json_string_value((const json_t *)value); }

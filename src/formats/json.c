// SPDX-License-Identifier: MIT
//
// JSON through jansson, and the only file that knows it. Numbers are read as floating point, which
// is what JSON's own programs write; nesting is limited by jansson, so a hostile file cannot
// exhaust the stack. Writing JSON is done by hand, see ouro__put_json.

#include "json.h"

#include <jansson.h>

json *ouro__json_read(const unsigned char *bytes, size_t size, error *e) {
    json_error_t problem;
    // Names may hold a NUL in JSON; then they end there.
    json_t *root =
        json_loadb((const char *)bytes, size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &problem);
    if (!root)
        ouro__error_at_byte(e, problem.position < 0 ? 0 : (uint64_t)problem.position,
                            "expected JSON: %s", problem.text);
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

double ouro__json_number(const json *value, double otherwise) {
    return json_is_number((const json_t *)value) ? json_number_value((const json_t *)value)
                                                 : otherwise;
}

const char *ouro__json_text(const json *value) { return json_string_value((const json_t *)value); }

// SPDX-License-Identifier: MIT
//
// Reads JSON with jansson, which limits how deep values nest. Replies are written as text, with
// fble_print_json for strings.

#include "json.h"

#include <jansson.h>
#include <string.h>

struct json_t *lsp_json_read(const char *text, size_t length) {
    return json_loadb(text, length, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
}

void lsp_json_free(struct json_t *value) { json_decref(value); }

const struct json_t *lsp_get(const struct json_t *value, const char *way) {
    char name[64];
    while (value && *way) {
        size_t length = strcspn(way, ".");
        if (length >= sizeof name) return NULL;
        memcpy(name, way, length);
        name[length] = 0;
        value = json_object_get(value, name);
        way += length + (way[length] == '.');
    }
    return value;
}

const struct json_t *lsp_at(const struct json_t *array, size_t index) {
    return json_array_get(array, index);
}

const char *lsp_string(const struct json_t *value, size_t *length) {
    if (length) *length = json_string_length(value);
    return json_string_value(value);
}

bool lsp_number(const struct json_t *value, uint32_t *number) {
    json_int_t given = json_integer_value(value);
    if (!json_is_integer(value) || given < 0 || given > UINT32_MAX) return false;
    *number = (uint32_t)given;
    return true;
}

bool lsp_is_object(const struct json_t *value) { return json_is_object(value); }

char *lsp_identifier(const struct json_t *value) {
    if (!json_is_string(value) && !json_is_integer(value)) return NULL;
    return json_dumps(value, JSON_ENCODE_ANY);
}

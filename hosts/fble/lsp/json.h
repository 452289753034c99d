// SPDX-License-Identifier: MIT
//
// JSON that a client sent. A value that is not there is NULL, and every function takes NULL, so
// that a message need not be looked at step by step.

#ifndef FBLE_LSP_JSON_H
#define FBLE_LSP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

// NULL if it is no JSON.
struct json_t *lsp_json_read(const char *text, size_t length);
void lsp_json_free(struct json_t *value);

// The member at the end of a way such as "textDocument.uri".
const struct json_t *lsp_get(const struct json_t *value, const char *way);
// The element of an array.
const struct json_t *lsp_at(const struct json_t *array, size_t index);
// NULL if it is no string.
const char *lsp_string(const struct json_t *value, size_t *length);
// False if it is no number from 0 to UINT32_MAX.
bool lsp_number(const struct json_t *value, uint32_t *number);
bool lsp_is_object(const struct json_t *value);
// As text, for an identifier: of a string or an integer; NULL for anything else. To be freed.
char *lsp_identifier(const struct json_t *value);

#endif

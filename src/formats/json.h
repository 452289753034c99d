// SPDX-License-Identifier: MIT
//
// JSON that was read, for the readers of JSON formats. A value that is not there is NULL, and every
// question to NULL has an empty answer, so readers ask for what they need and check the result.

#ifndef OURO_JSON_H
#define OURO_JSON_H

#include "input.h"

#include <stddef.h>

typedef struct json json;

// NULL with *e filled: the first byte that is no JSON, or more memory than the input may take, see
// budget.h. All values are freed with the root, by ouro__json_free.
json *ouro__json_read(const input *in, uint64_t limit, error *e);
void ouro__json_free(json *root);

const json *ouro__json_get(const json *object, const char *key);
const json *ouro__json_at(const json *array, size_t index);
size_t ouro__json_size(const json *array); // 0: not an array, or empty
bool ouro__json_is_array(const json *value);
bool ouro__json_is_object(const json *value);
bool ouro__json_is_number(const json *value);
bool ouro__json_is_true(const json *value);
double ouro__json_number(const json *value, double otherwise);
const char *ouro__json_text(const json *value); // NULL: not a string

#endif

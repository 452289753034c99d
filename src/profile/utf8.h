// SPDX-License-Identifier: MIT
//
// Names may hold any bytes; what leaves the tools as JSON, XML or a label is UTF-8.

#ifndef OURO_UTF8_H
#define OURO_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define OURO_REPLACEMENT "\xef\xbf\xbd" // U+FFFD, for a byte that is not part of a character

// The length of the character at `text`, 0 if there is none.
size_t ouro__utf8_length(const char *text);
// The code point of a character of `length` bytes.
uint32_t ouro__utf8_decode(const char *text, size_t length);
// A copy in which bytes that are no characters are replaced; freed by the caller. NULL: out
// of memory.
char *ouro__utf8_clean(const char *text);

#endif

// SPDX-License-Identifier: MIT
//
// Names may hold any bytes; what leaves our programs is UTF-8. Looks at one character at a time:
// what is overlong, a surrogate or beyond U+10FFFF is none. Never reads past the NUL, since a NUL
// is no continuation byte.

#ifndef OURO_UTF8_H
#define OURO_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OURO_REPLACEMENT "\xef\xbf\xbd" // U+FFFD, for a byte that is not part of a character

// The length of the character at `text`, 0 if there is none.
static inline size_t ouro__utf8_length(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) return 1;
    size_t n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool outside = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || outside ? 0 : n;
}

// The code point of a character of `length` bytes.
static inline uint32_t ouro__utf8_decode(const char *text, size_t length) {
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & first[length];
    for (size_t i = 1; i < length; i++) point = point << 6 | ((unsigned char)text[i] & 0x3f);
    return point;
}

// A copy in which bytes that are no characters are replaced; freed by the caller. NULL: out
// of memory.
static inline char *ouro__utf8_clean(const char *text) {
    size_t broken = 0, used = 0;
    for (const char *at = text; *at;) {
        size_t n = ouro__utf8_length(at);
        broken += n == 0;
        at += n ? n : 1;
    }
    char *copy = (char *)malloc(strlen(text) + 2 * broken + 1);
    if (!copy) return NULL;
    while (*text) {
        size_t n = ouro__utf8_length(text);
        memcpy(copy + used, n ? text : OURO_REPLACEMENT, n ? n : 3);
        used += n ? n : 3;
        text += n ? n : 1;
    }
    copy[used] = '\0';
    return copy;
}

#endif

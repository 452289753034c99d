// SPDX-License-Identifier: MIT
//
// Blocks by a part of their name or file, without regard to case, and what the paths contain that
// have one of them.
//
// Most searches are ASCII, and then the C library's search is right and fast. Others are compared
// character by character in lower case, so that any script can be typed either way.

#include "questions.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>
#include <wctype.h>

// The next character in lower case, 0 at the end; bytes that are none are themselves, out of
// Unicode's range.
static uint32_t lower(const char **at) {
    if (!**at) return 0;
    size_t n = ouro__utf8_length(*at);
    uint32_t point =
        n ? (uint32_t)towlower((wint_t)ouro__utf8_decode(*at, n)) : 0x110000u + (unsigned char)**at;
    *at += n ? n : 1;
    return point;
}

static bool begins_with(const char *text, const char *part) {
    for (uint32_t wanted; (wanted = lower(&part)) != 0;) {
        if (lower(&text) != wanted) return false;
    }
    return true;
}

static bool is_ascii(const char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text >= 0x80) return false;
    }
    return true;
}

bool ouro__contains(const char *text, const char *part) {
    if (is_ascii(part)) return strcasestr(text, part) != NULL;
    for (; *text; lower(&text)) {
        if (begins_with(text, part)) return true;
    }
    return false;
}

uint8_t *ouro__matching(const profile *p, const char *text, uint32_t *count) {
    uint8_t *match = calloc((size_t)p->block_count + 1, 1);
    *count = 0;
    for (uint32_t b = 0; match && b < p->block_count; b++) {
        match[b] = ouro__contains(ouro__block_name(p, b), text) ||
                   ouro__contains(ouro__block_file(p, b), text);
        *count += match[b];
    }
    return match;
}

int64_t ouro__matched(const profile *p, const int64_t *running, const uint8_t *match) {
    int64_t sum = 0;
    for (uint32_t n = 1; n < p->node_count;) {
        if (match[p->block[n]]) sum += ouro__inclusive(p, running, n);
        n = match[p->block[n]] ? p->end[n] : n + 1;
    }
    return sum;
}

uint32_t ouro__path_nearest(const profile *p, const uint32_t *path, size_t length, size_t *found) {
    uint32_t node = 0;
    for (*found = 0; *found < length; ++*found) {
        uint32_t child = node + 1;
        while (child < p->end[node] && p->block[child] != path[*found]) child = p->end[child];
        if (child >= p->end[node]) break;
        node = child;
    }
    return node;
}

uint32_t ouro__path_node(const profile *p, const uint32_t *path, size_t length) {
    size_t found;
    uint32_t node = ouro__path_nearest(p, path, length, &found);
    return found == length ? node : NO_NODE;
}

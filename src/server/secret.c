// SPDX-License-Identifier: MIT
//
// Makes the secret, and finds it in requests.

#include "secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

bool ouro__secret_make(char secret[static SECRET_ROOM]) {
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

// The time tells the length, which is no secret, and nothing of the contents.
bool ouro__secret_is(const char secret[static SECRET_ROOM], const char *text, size_t length) {
    volatile unsigned char different = 0;
    if (length != SECRET_ROOM - 1) return false;
    for (size_t i = 0; i < length; i++)
        different = (unsigned char)(different | (unsigned char)(secret[i] ^ text[i]));
    return different == 0;
}

bool ouro__secret_in_cookies(const char secret[static SECRET_ROOM], const char *name,
                             const char *header) {
    size_t length = strlen(name);
    for (const char *at = header; at; at = strchr(at, ';')) {
        at += strspn(at, "; \t");
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        const char *value = at + length + 1;
        if (ouro__secret_is(secret, value, strcspn(value, "; \t"))) return true;
    }
    return false;
}

// ---------------------------------------------------------------- addresses

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~/?=&%+:@,!$()*", c));
}

static char *put_encoded(char *to, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        to += sprintf(to, is_plain(text[i]) ? "%c" : "%%%02X", (unsigned char)text[i]);
    return to;
}

static bool is_secret(const char *parameter) {
    return strncmp(parameter, SECRET_PARAMETER "=", sizeof SECRET_PARAMETER) == 0;
}

// The parameter after this one; an empty text at the end.
static const char *next_parameter(const char *at) {
    at += strcspn(at, "&");
    return at + (*at == '&');
}

static const char *first_parameter(const char *target) {
    target += strcspn(target, "?");
    return target + (*target == '?');
}

const char *ouro__secret_in_target(const char *target, size_t *length) {
    for (const char *at = first_parameter(target); *at; at = next_parameter(at)) {
        if (!is_secret(at)) continue;
        at += sizeof SECRET_PARAMETER;
        *length = strcspn(at, "&");
        return at;
    }
    return NULL;
}

char *ouro__secret_removed(const char *target) {
    char *clean = malloc(3 * strlen(target) + 1), separator = '?';
    if (!clean) return NULL;
    char *to = put_encoded(clean, target, strcspn(target, "?"));
    for (const char *at = first_parameter(target); *at; at = next_parameter(at)) {
        size_t length = strcspn(at, "&");
        if (!length || is_secret(at)) continue;
        *to++ = separator;
        separator = '&';
        to = put_encoded(to, at, length);
    }
    *to = '\0';
    return clean;
}

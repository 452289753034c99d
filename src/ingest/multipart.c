// SPDX-License-Identifier: MIT
//
// Parts of a form: multipart/form-data. Each begins with the boundary on a line of its own, has
// headers, an empty line, and its content up to the next boundary. Nothing is copied but names, and
// each byte is looked at once.

#include "posted.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { BOUNDARY_LONGEST = 70 }; // as the standard has it

static const char form[] = "multipart/form-data";

bool ouro__is_multipart(const char *content_type) {
    return content_type && strncasecmp(content_type, form, strlen(form)) == 0;
}

// The value of a parameter of a header: name=value or name="value". Its length; 0: there is none.
static size_t find_parameter(const char *header, const char *end, const char *name,
                             const char **value) {
    size_t length = strlen(name);
    for (const char *at = header; (at = memchr(at, ';', (size_t)(end - at)));) {
        at++;
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if ((size_t)(end - at) <= length || strncasecmp(at, name, length) != 0 || at[length] != '=')
            continue;
        at += length + 1;
        bool quoted = at < end && *at == '"';
        at += quoted;
        *value = at;
        while (at < end && (quoted ? *at != '"' : !strchr("; \t\r", *at))) at++;
        return (size_t)(at - *value);
    }
    return 0;
}

bool ouro__multipart_open(multipart *m, const char *content_type, piece body, error *e) {
    const char *value;
    size_t length =
        find_parameter(content_type, content_type + strlen(content_type), "boundary", &value);
    if (length == 0 || length > BOUNDARY_LONGEST)
        return ouro__fail(e, EINVAL, "the form has no boundary, or one of more than %d characters",
                          BOUNDARY_LONGEST);
    *m = (multipart){.body = body};
    snprintf(m->boundary, sizeof m->boundary, "\r\n--%.*s", (int)length, value);
    // The first boundary may be the beginning of the body.
    const char *first = m->boundary + 2;
    if (body.size >= strlen(first) && memcmp(body.bytes, first, strlen(first)) == 0) {
        m->at = strlen(first);
        return true;
    }
    const unsigned char *at =
        body.size ? memmem(body.bytes, body.size, m->boundary, strlen(m->boundary)) : NULL;
    if (!at) return ouro__fail(e, EILSEQ, "the boundary of the form is not in the body");
    m->at = (size_t)(at - body.bytes) + strlen(m->boundary);
    return true;
}

// The header Content-Disposition: form-data; name="profile"
static void take_name(part *p, const char *headers, const char *end) {
    static const char wanted[] = "Content-Disposition:";
    for (const char *line = headers; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end, *value;
        if ((size_t)(stop - line) > strlen(wanted) &&
            strncasecmp(line, wanted, strlen(wanted)) == 0) {
            size_t length = find_parameter(line, stop, "name", &value);
            if (length) snprintf(p->name, sizeof p->name, "%.*s", (int)length, value);
        }
        line = newline ? newline + 1 : end;
    }
}

bool ouro__multipart_next(multipart *m, part *p, error *e) {
    const unsigned char *bytes = m->body.bytes, *end = bytes + m->body.size, *at = bytes + m->at;
    if (end - at >= 2 && at[0] == '-' && at[1] == '-') return false; // the last boundary
    const unsigned char *next =
        at < end ? memmem(at, (size_t)(end - at), m->boundary, strlen(m->boundary)) : NULL;
    const unsigned char *blank = next ? memmem(at, (size_t)(next - at), "\r\n\r\n", 4) : NULL;
    if (!blank) return ouro__fail(e, EILSEQ, "a part of the form does not end; is it cut off?");
    *p = (part){.content = {blank + 4, (size_t)(next - blank) - 4}};
    take_name(p, (const char *)at, (const char *)blank);
    m->at = (size_t)(next - bytes) + strlen(m->boundary);
    return true;
}

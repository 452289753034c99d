// SPDX-License-Identifier: MIT
//
// The files of web/, embedded by tools/embed_assets.

#ifndef OURO_ASSETS_H
#define OURO_ASSETS_H

#include "answer.h"

typedef struct {
    const char *path; // /style.css
    const char *type;
    const char *bytes;
    size_t size;
    const char *etag; // with quotes
} asset;

extern const asset ouro__assets[];
extern const size_t ouro__asset_count;

// Is this the path of a page? All other files are the same for everybody.
bool ouro__asset_is_page(const char *path);
// The page or file at a path; false: there is none. With a `folder`, files are read from there each
// time, to work on the pages.
bool ouro__asset_answer(const char *folder, const char *path, const char *known_etag, answer *to);

#endif

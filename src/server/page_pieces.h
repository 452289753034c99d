// SPDX-License-Identifier: MIT
//
// The viewer as one file, for the html format. tools/embed_page makes it of web/ and the module of
// src/page: see its README.

#ifndef OURO_PAGE_PIECES_H
#define OURO_PAGE_PIECES_H

#include "format.h"

// NULL: there was no compiler for WebAssembly when this program was built.
extern const page_pieces *const ouro__page;

#endif

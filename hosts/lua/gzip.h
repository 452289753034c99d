// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_GZIP_H
#define OURO_LUA_GZIP_H

// Packs a file, complete or not at all. 0, or -1 with errno.
int gzip_file(const char *from, const char *to);

#endif

// SPDX-License-Identifier: MIT
//
// Files of C made into a program or a shared object by the system's compiler.

#ifndef FBLE_BUILD_H
#define FBLE_BUILD_H

#include "cache.h"
#include "syntax/arena.h"

#include <stdbool.h>
#include <stdio.h>

struct fble_build {
    struct fble_arena *arena;
    const char *folder; // for objects; NULL: the user's cache
    struct fble_cache cache;
    const char *output;  // the file to make
    bool shared;         // a shared object
    bool verbose;        // show every command
    unsigned jobs;       // at a time
    const char *library; // the runtime, and where its headers are:
    const char *include[2];
    struct fble_list compiler; // words of CC and CFLAGS
    struct fble_list units;
    uint32_t stale;    // of them, not found in the cache
    uint32_t compiled; // of those, given to the compiler until now
};

// Makes everything ready: words of CC and CFLAGS, the runtime, the cache's folder. False, with a
// message on stderr.
bool fble_build_start(struct fble_build *build);
// Adds a file of C, to be compiled with a -D... or NULL; `name` is for messages.
void fble_build_add(struct fble_build *build, const char *name, const char *text, size_t length,
                    const char *definition);
// Compiles the units that are not in the cache, in parallel, and links. False, with a message.
bool fble_build_finish(struct fble_build *build);

// ---------------------------------------------------------------- shared with probe.c

// The words that compile a unit, but for its files.
struct fble_list fble_build_words(const struct fble_build *build);
// Adds the words that linking needs before its libraries.
void fble_build_link_words(const struct fble_build *build, struct fble_list *words);
// A hash of everything that an object depends on.
const char *fble_build_key(const struct fble_build *build, const char *text, size_t length,
                           const char *definition);
// Adds what the compiler can do, as -D words, to its words. Says so if that makes programs slow.
void fble_build_probe(struct fble_build *build);

#endif

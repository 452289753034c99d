// SPDX-License-Identifier: MIT
//
// The viewer's server, for the command line: give it profiles, get an address. docs/api.md says
// what it answers.

#ifndef OURO_SERVER_H
#define OURO_SERVER_H

#include "part.h"
#include "source.h"

#include <stddef.h>

typedef struct {
    const char *path;      // as it is shown; "-" is standard input
    profile *profile;      // the server's from now on
    const part_info *part; // what it is a part of; NULL: it is whole. Outlives the server
} server_file;

typedef struct {
    server_file files[2]; // two are compared
    unsigned file_count;
    // Instead of files: a store, of which the questions say what they mean. It stays the caller's.
    struct store *store;
    const char *store_title; // for people, without a password
    uint32_t paths_most;     // of an answer of the store; the smallest become [pruned]
    bool strict;             // no answer of which a part is missing
    // Reads a live file again, from any thread, and never waits for one that is none by now. NULL
    // with *e filled: the old contents stay.
    profile *(*read_again)(void *user, const char *path, error *e);
    // Called when nobody has asked for a second, from a thread of the server's. NULL: not called.
    void (*rest)(void *user);
    void *user;
    const char *host;     // NULL: 127.0.0.1
    unsigned port;        // 0: a free one
    source_rules sources; // which source files may be shown
    bool no_secret;       // whoever reaches the port may ask
    const char *assets;   // serve the pages from this folder instead of the embedded ones; NULL
} server_options;

typedef struct server server;

// Listens and answers in threads of its own. NULL with *e filled. Takes the profiles in any case.
server *ouro__server_start(const server_options *options, error *e);
// http://127.0.0.1:4711
const char *ouro__server_address(const server *s);
// What the first visit gives as the parameter `secret`; NULL: nothing is needed.
const char *ouro__server_secret(const server *s);
// Ends all connections. false: a request was still at work after a second. Then the server cannot
// be freed, and the process can only exit.
bool ouro__server_stop(server *s);

#endif

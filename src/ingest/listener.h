// SPDX-License-Identifier: MIT
//
// The server that agents send to, for the command line: give it a store, get an address.

#ifndef OURO_LISTENER_H
#define OURO_LISTENER_H

#include "store.h"

typedef struct {
    const char *url;   // of the store, which is made if it is not there
    const char *host;  // an address or a name
    unsigned port;     // 0: a free one
    const char *token; // who sends must know it; NULL: nobody is asked
    uint64_t limit;    // bytes of memory that a profile may take; 0: not asked
} listener_options;

typedef struct listener listener;

// Listens and answers in threads of its own. NULL with *e filled.
listener *ouro__listener_start(const listener_options *options, error *e);
// http://127.0.0.1:4040
const char *ouro__listener_address(const listener *l);
// Is it one that only this machine reaches?
bool ouro__is_loopback(const char *host);
// Takes no more connections, stores what is on its way, and ends.
void ouro__listener_stop(listener *l);

#endif

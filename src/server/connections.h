// SPDX-License-Identifier: MIT
//
// The open connections of a server, each with the time of its last step. libmicrohttpd bounds how
// long a connection may be silent, not how long a request may take; so a thread of the server looks
// at this list, and shuts those that are slow. All of it with the server's lock.

#ifndef OURO_CONNECTIONS_H
#define OURO_CONNECTIONS_H

#include <stdbool.h>

typedef struct connection connection;

typedef struct {
    connection *first;
    unsigned count;
} connections;

// NULL: out of memory. Such a connection is not watched.
connection *ouro__connection_open(connections *all, int socket);
void ouro__connection_close(connections *all, connection *one);
// A request begins to be read, or is answered from now on. `one` may be NULL.
void ouro__connection_step(connection *one, bool answering);
// Shuts those that have been reading or answering for longer, in seconds.
void ouro__connections_shut_slow(const connections *all, double reading, double answering);

#endif

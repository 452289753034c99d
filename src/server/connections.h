// SPDX-License-Identifier: MIT
//
// The open connections of a server, each with the time of its last step. libmicrohttpd bounds how
// long a connection may be silent, not how long a request may take; so a thread of the server looks
// at this list, and shuts those that are slow. When many are open, a new one takes the place of the
// slowest, so a crowd that sends nothing locks nobody out. All of it with the server's lock.

#ifndef OURO_CONNECTIONS_H
#define OURO_CONNECTIONS_H

#include <stdbool.h>

typedef struct connection connection;

typedef struct {
    connection *first;
    unsigned count;
    unsigned shut; // of them, here
} connections;

// The headers of a request are awaited; its body is, and may be sent; it is answered.
typedef enum { AWAITS_HEADERS, AWAITS_BODY, IS_ANSWERED } connection_step;

// Returns NULL if memory runs out: such a connection is not watched. With more than `most` open, it
// shuts the one that has been awaited for longest, first among those whose headers are awaited. If
// its request is complete, it is answered nevertheless.
connection *ouro__connection_open(connections *all, int socket, unsigned most);
void ouro__connection_close(connections *all, connection *one);
// What is awaited from now on. The time of a request begins with its headers. `one` may be NULL.
void ouro__connection_step(connections *all, connection *one, connection_step step);
// Shuts those whose request has been awaited or answered for longer, in seconds.
void ouro__connections_shut_slow(connections *all, double reading, double answering);

#endif

// SPDX-License-Identifier: MIT
//
// A list of open connections. A socket is closed only after it left the list, so its number is
// still its own when it is shut here.

#include "connections.h"

#include "generation.h"

#include <stdlib.h>
#include <sys/socket.h>

struct connection {
    connection *next, **before;
    int socket;
    bool answering;
    double since;
};

connection *ouro__connection_open(connections *all, int socket) {
    connection *one = calloc(1, sizeof *one);
    if (!one) return NULL;
    *one = (connection){.next = all->first, .before = &all->first, .socket = socket};
    one->since = ouro__seconds();
    if (one->next) one->next->before = &one->next;
    all->first = one;
    all->count++;
    return one;
}

void ouro__connection_close(connections *all, connection *one) {
    *one->before = one->next;
    if (one->next) one->next->before = one->before;
    all->count--;
    free(one);
}

void ouro__connection_step(connection *one, bool answering) {
    if (!one) return;
    one->answering = answering;
    one->since = ouro__seconds();
}

void ouro__connections_shut_slow(const connections *all, double reading, double answering) {
    double now = ouro__seconds();
    for (const connection *one = all->first; one; one = one->next) {
        if (now - one->since > (one->answering ? answering : reading))
            shutdown(one->socket, SHUT_RDWR);
    }
}

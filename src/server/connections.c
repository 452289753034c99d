// SPDX-License-Identifier: MIT
//
// A list of open connections. A socket is closed only after it left the list, so its number is
// still its own when it is shut here.
//
// While a request is awaited, its socket is shut for reading only: bytes that came before can still
// be read. So a request that is complete is answered, even if the server has read none of it yet,
// and one that is not complete ends there.

#include "connections.h"

#include "generation.h"

#include <stdlib.h>
#include <sys/socket.h>

struct connection {
    connection *next, **before;
    int socket;
    connection_step step;
    bool shut;
    double since;
};

static void set_shut(connections *all, connection *one, bool is_shut) {
    all->shut += is_shut;
    all->shut -= one->shut;
    one->shut = is_shut;
}

static void shut(connections *all, connection *one) {
    if (one->shut) return;
    set_shut(all, one, true);
    shutdown(one->socket, one->step == IS_ANSWERED ? SHUT_RDWR : SHUT_RD);
}

static bool is_slower(const connection *a, const connection *b) {
    if (!b) return true;
    return a->step != b->step ? a->step < b->step : a->since < b->since;
}

static void make_room(connections *all, unsigned most) {
    connection *slowest = NULL;
    if (all->count - all->shut <= most) return;
    for (connection *one = all->first; one; one = one->next) {
        if (!one->shut && one->step != IS_ANSWERED && is_slower(one, slowest)) slowest = one;
    }
    if (slowest) shut(all, slowest);
}

connection *ouro__connection_open(connections *all, int socket, unsigned most) {
    make_room(all, most);
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
    set_shut(all, one, false);
    free(one);
}

void ouro__connection_step(connections *all, connection *one, connection_step step) {
    if (!one) return;
    if (step == IS_ANSWERED) set_shut(all, one, false); // it was complete
    one->step = step;
    if (step != AWAITS_BODY) one->since = ouro__seconds();
}

void ouro__connections_shut_slow(connections *all, double reading, double answering) {
    double now = ouro__seconds();
    for (connection *one = all->first; one; one = one->next) {
        if (now - one->since > (one->step == IS_ANSWERED ? answering : reading)) shut(all, one);
    }
}

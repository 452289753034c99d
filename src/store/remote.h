// SPDX-License-Identifier: MIT
//
// For engines that send profiles to somebody else's server, which is never asked: its address, and
// what of a profile it takes.

#ifndef OURO_REMOTE_H
#define OURO_REMOTE_H

#include "http_client.h"
#include "store.h"

// What a server takes of a profile.
typedef struct {
    uint32_t depth; // blocks of a path
    uint32_t paths; // with values
    size_t longest; // bytes of a name or a file
    size_t bytes;   // of the message
} taken_limits;

// What was summed up because of that.
typedef struct {
    uint64_t deep, small, texts;
} folded_counts;

typedef struct {
    http_client *client;
    char *base; // http://host:4040/prefix, without user, password and a slash at the end
    char *user, *password, *bearer;
    char note[240]; // about the last slice; "": nothing
} remote;

// `url` is SCHEME+http[s]://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX]. The environment has what is not
// in it: OURO_STORE_PASSWORD of the user, or without a user OURO_TOKEN, the bearer token.
remote *ouro__remote_open(const char *url, error *e);
void ouro__remote_close(void *r);
const char *ouro__remote_note(const void *r);
// POST. Another status than 2xx is an error with what the server says. The answer is the caller's.
bool ouro__remote_send(remote *r, const char *path, const char *type, const void *body, size_t size,
                       http_answer *got, error *e);

// A copy that is within the limits, with the slice's times. What is deeper is summed up in a block
// [pruned] at the deepest place that is taken, and what the smallest paths have in one below the
// root; totals stay.
profile *ouro__profile_within(const slice *s, const taken_limits *l, folded_counts *c, error *e);
// Makes a message of a slice, with fewer paths each time until it is small enough; notes what was
// folded. NULL with *e filled. Freed by the caller.
typedef char *(*encode_profile)(const slice *s, const profile *p, size_t *size, error *e);
char *ouro__remote_encode(remote *r, const slice *s, const taken_limits *l, encode_profile encode,
                          size_t *size, error *e);

#endif

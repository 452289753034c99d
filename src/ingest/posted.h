// SPDX-License-Identifier: MIT
//
// What an agent sent, in Pyroscope's layout, as something that a store takes. No sockets here.
//
//   POST /ingest?name=web.cpu{host=a1}&from=1700000000&until=1700000010&format=pprof
//       The body is a profile, or a form with a part `profile`.
//   POST /push.v1.PusherService/Push
//       The body is a message with profiles and their labels.
//
// A body, and a profile in it, may be packed with gzip.

#ifndef OURO_POSTED_H
#define OURO_POSTED_H

#include "store.h"

enum {
    LABELS_MOST = 64,        // of a profile
    LABEL_LONGEST = 4096,    // bytes of a name or a value
    PROFILES_MOST = 1000,    // of a message
    UNPACKED_MOST = 64 << 20 // bytes of a body or a profile that was packed
};

// Bytes of somebody else's memory.
typedef struct {
    const unsigned char *bytes;
    size_t size;
} piece;

typedef struct {
    const char *target;       // /ingest?name=...
    const char *content_type; // NULL: not said
    piece body;
    const char *host; // the label of profiles that do not name one
    uint64_t now;     // milliseconds since 1970
    uint64_t limit;   // bytes of memory that a profile may take
} posted;

// A slice to be: a recording of its own, whose id is made of what was sent.
typedef struct {
    label_set labels;
    profile *profile; // canonical
    uint64_t from, until;
    key recording;
} delivery;

// Calls `take` for each profile of the request; it stops where that is false. false with *e filled:
// EINVAL and EILSEQ for what is wrong with the request, ENOTSUP for what is not known here, EFBIG
// and ETIME for too much, ENOENT for another path, ENOMEM, or what `take` says. Profiles that were
// taken before that stay; the request may come again, because each counts once.
//
// The delivery is freed after `take`, which may move its labels and its profile away and leaves
// zeros in their place.
typedef bool (*take_delivery)(void *user, delivery *d, error *e);
bool ouro__posted_read(const posted *p, take_delivery take, void *user, error *e);
// How many samples it has; without any it is not worth a slice.
uint64_t ouro__delivery_rows(const delivery *d);
// The delivery as a slice, with the keys of its profile.
slice ouro__delivery_slice(const delivery *d, const keys *k);
// Puts a delivery into a store. *rows: samples that were added; 0 if it was there already.
bool ouro__delivery_store(const delivery *d, store *to, uint64_t *rows, error *e);

// ---------------------------------------------------------------- names

// The type of a profile, by the last part of the name of an application: `cpu` of web.cpu.
typedef struct {
    const char *name; // NULL: the name does not tell
    const char *metric, *unit;
    bool sampled; // a count is a time: that between two samples
} profile_type;

// web.cpu{host=a1,zone="b, c"}: labels, with the application as `service`. Those that begin with
// two underscores are the agents' own and left out.
bool ouro__app_name_parse(const char *text, label_set *labels, profile_type *type, error *e);
// Adds a label as agents name it: service_name is `service`, pyroscope_spy is `spy`, hostname is
// also `host`.
bool ouro__add_label(label_set *labels, const char *name, const char *value, error *e);

// ---------------------------------------------------------------- forms

typedef struct {
    char boundary[80]; // with what stands before it in the body
    piece body;
    size_t at;
} multipart;

enum { PART_NAME_ROOM = 64 };
typedef struct {
    char name[PART_NAME_ROOM]; // cut if it is longer
    piece content;
} part;

bool ouro__is_multipart(const char *content_type);
bool ouro__multipart_open(multipart *m, const char *content_type, piece body, error *e);
// false at the end, and with e->code set if the form is damaged.
bool ouro__multipart_next(multipart *m, part *p, error *e);

// ---------------------------------------------------------------- messages

// The push API: calls `take` for each profile with the labels of its series, which stay the
// caller's. Stops if it is false.
typedef bool (*take_profile)(void *user, const label_set *labels, piece profile, error *e);
bool ouro__push_message_read(piece message, take_profile take, void *user, error *e);

// ---------------------------------------------------------------- contents

typedef struct {
    const char *format;       // NULL: not said
    const char *units;        // of what texts count; NULL: not said
    const profile_type *type; // of texts
    uint32_t sample_rate;     // samples per second of processor time, of texts
    uint64_t limit;
} content_rules;

// A canonical profile. NULL with *e filled.
profile *ouro__content_read(piece content, const content_rules *rules, error *e);
// Unpacks if it is packed; *unpacked is freed by the caller, NULL: it was not.
bool ouro__unpack(piece *content, unsigned char **unpacked, error *e);
// Takes what `before` had away from the metrics that count since the program's start. `config` says
// which; empty: those that are known. Takes both profiles.
profile *ouro__content_since(profile *now, profile *before, piece config, error *e);

#endif

// SPDX-License-Identifier: MIT
//
// WORDS
//   generation   what the open files held at one time. Immutable once made, and counted: a request
//                that began with a generation ends with it, whatever a live file does meanwhile
//   side         one of its one or two files
//   shelf        the open files and their newest generation

#ifndef OURO_GENERATION_H
#define OURO_GENERATION_H

#include "history.h"
#include "labels.h"
#include "server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

typedef struct {
    int references; // generations; under the shelf's lock
    profile *profile;
    labels labels;
    // By block: its rank among all names and files in alphabetical order, for sorting.
    int64_t *by_name, *by_file;
    int64_t *totals;       // by metric: without filters, of the whole if the file is a part
    const part_info *part; // NULL: the file is whole
    uint64_t look;         // of the file's history; 0: it is not live
    double seen;           // when it was read, or asked of a store; then under the shelf's lock
    char *choice;          // which part of a store it is, as it was asked for; NULL: a file
} side;

typedef struct {
    int references; // under the shelf's lock
    uint64_t number;
    double time;     // when the files held this, or were found not to have changed
    atomic_bool old; // there is a newer one in its place, or it was given up
    unsigned side_count;
    side *sides[2]; // shared with other generations if only one file changed
} generation;

typedef struct {
    const char *path;
    bool live;
    struct stat seen; // when it was read
    history *history; // NULL: it is not live
    double opened;    // when it was looked at first
} shelf_file;

typedef struct {
    server_options options;
    shelf_file files[2];
    pthread_mutex_t lock;    // of all below, held for moments
    pthread_mutex_t reading; // held while a live file is read again
    generation *newest;      // NULL: a store is open
    struct choices *choices; // of the store; NULL: files are open
    uint64_t number;         // of the last generation
    double next_look;        // when a live file may be looked at again
    double asked;            // when the last seconds of a live file were asked for
} shelf;

// Takes the profiles. false with *e filled: nothing is left to be closed.
bool ouro__shelf_open(shelf *s, const server_options *options, error *e);
void ouro__shelf_close(shelf *s);

// One side of a generation; takes the profile in any case.
side *ouro__side_new(profile *p, const part_info *of, error *e);
void ouro__side_free(side *s);
// A reference that no generation has, given back.
void ouro__side_release(shelf *s, side *one);
// With the shelf's lock, or before anybody else knows the shelf. Shares the sides; one reference is
// the caller's. NULL: out of memory.
generation *ouro__generation_new(shelf *s, side *const sides[2], unsigned count);
// For people: the file's name without its folder, or the choice.
const char *ouro__side_title(const shelf *s, const generation *g, unsigned side_number);

// The newest generation; reads live files again if that is due. Given back
// by ouro__generation_release.
generation *ouro__shelf_generation(shelf *s);
generation *ouro__generation_share(shelf *s, generation *g);
void ouro__generation_release(shelf *s, generation *g);

// The last seconds of a side. Of a program that has ended these are its last.
history_span ouro__last_span(shelf *s, const generation *g, const side *one, double seconds);

// Seconds on a clock that only goes forward.
double ouro__seconds(void);

#endif

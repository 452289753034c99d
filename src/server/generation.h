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
    double seen;           // when it was read
} side;

typedef struct {
    int references; // under the shelf's lock
    uint64_t number;
    double time; // when the files held this, or were found not to have changed
    unsigned side_count;
    side *sides[2]; // shared with other generations if only one file changed
} generation;

typedef struct {
    const char *path;
    bool live;
    struct stat seen; // when it was read
    history *history; // NULL: it is not live
} shelf_file;

// The file's name without its folder, for people.
const char *ouro__shelf_title(const shelf_file *f);

typedef struct {
    server_options options;
    shelf_file files[2];
    pthread_mutex_t lock;    // of all below, held for moments
    pthread_mutex_t reading; // held while a live file is read again
    generation *newest;
    double next_look; // when a live file may be looked at again
    double asked;     // when the last seconds of a live file were asked for
} shelf;

// Takes the profiles. false with *e filled: nothing is left to be closed.
bool ouro__shelf_open(shelf *s, const server_options *options, error *e);
void ouro__shelf_close(shelf *s);

// The newest generation; reads live files again if that is due. Given back
// by ouro__generation_release.
generation *ouro__shelf_generation(shelf *s);
generation *ouro__generation_share(shelf *s, generation *g);
void ouro__generation_release(shelf *s, generation *g);

// The moment before which nothing counts for somebody who asks for the last seconds of a side. Of a
// program that has ended these are its last.
double ouro__last_from(shelf *s, const generation *g, const side *one, double seconds);

// Seconds on a clock that only goes forward.
double ouro__seconds(void);

#endif

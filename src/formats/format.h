// SPDX-License-Identifier: MIT
//
// Formats: one table entry each, found by content (reading) or by name and extension (writing).

#ifndef OURO_FORMAT_H
#define OURO_FORMAT_H

#include "input.h"
#include "output.h"
#include "part.h"
#include "profile.h"

enum { RULE_DEFAULT = -1 }; // raw stacks: loops; profiles that are sums already: as they are

typedef struct {
    int rule, edge_length; // a RULE_* of profile.h, or RULE_DEFAULT
    bool keep_origin;      // for writing the same format again, see profile.h
    bool keep_labels;      // of samples, for filters by them, see tags.h
    uint64_t limit;        // bytes of memory; 0: in proportion to the file, see budget.h
    // Called now and then with the part that is done, 0 to 1. May be NULL.
    void (*progress)(void *user, double done);
    void *user;
} read_options;

// A profile on its way into a page.
typedef struct {
    const profile *profile;
    const char *title;
    const part_info *part; // NULL: it is whole itself
} shared_profile;

// The viewer as the pieces of an HTML file. The gaps between them take the title, a note for
// readers without scripts, and the data.
enum { PAGE_PIECES = 4 };
typedef struct {
    const char *pieces[PAGE_PIECES];
    size_t sizes[PAGE_PIECES];
} page_pieces;

typedef struct {
    const char *title;           // of the input, for formats that show one
    uint32_t metric;             // for formats that hold only one
    double share;                // pictures leave out boxes that are narrower than this
    const part_info *part;       // NULL: the profile is whole
    const page_pieces *page;     // NULL: this program was built without it, and html is a report
    const shared_profile *after; // a page that compares two profiles: the second one; NULL
    // Called now and then with the bytes written so far, before packing. May be NULL.
    void (*progress)(void *user, uint64_t bytes);
    void *user;
} write_options;

typedef struct {
    const char *name;
    const char *extensions; // for writing, without .gz, each with a space after it: ".pb .prof "
    const char *about;
    // Do the bytes look like it? Never called with none.
    bool (*probe)(const unsigned char *bytes, size_t size);
    // NULL with *e filled. NULL function: the format cannot be read.
    profile *(*read)(input *in, const read_options *options, error *e);
    // Problems of the output are kept in it. NULL function: cannot be written.
    bool (*write)(const profile *p, const write_options *options, output *out, error *e);
    bool picture; // leaves out by itself what is too small to be seen
    bool forward; // read forward: the input may have more than the bytes that are there
} format;

extern const format ouro__formats[];
extern const size_t ouro__format_count;

// By name, for --from and --to; NULL: there is none.
const format *ouro__format_named(const char *name);
// When a recording began, in nanoseconds since 1970. False: this is no live file.
bool ouro__live_start_time(int fd, uint64_t *nanoseconds);
// By the extension of a path, for writing; NULL: none fits.
const format *ouro__format_of_path(const char *path);
// By content. NULL with *e filled: a sentence about what the bytes are instead, if that can
// be seen.
const format *ouro__format_probe(const unsigned char *bytes, size_t size, error *e);

// Reads a profile from a file, or from standard input if path is "-". `from` may be NULL:
// by content.
profile *ouro__profile_read(const char *path, const format *from, const read_options *options,
                            error *e);
// Writes beside `path` and renames; "-" is standard output. Gzip if the path ends with .gz.
bool ouro__profile_write(const profile *p, const char *path, const format *to,
                         const write_options *options, error *e);

// For readers: an empty profile with the budget of the input. NULL: out of memory.
profile *ouro__profile_for(input *in, const read_options *options);
// For readers, now and then: they are at byte `at` of the window. Of a pipe nothing is told.
void ouro__tell_reading(const input *in, size_t at, const read_options *options);
// For readers: the rule to build with.
static inline int ouro__rule(const read_options *o, int otherwise) {
    return o->rule == RULE_DEFAULT ? otherwise : o->rule;
}

// For readers of profiles that count recursions: compacting moves nodes together, so it comes after
// reading, when their recursion can be told. Takes the profile; NULL with *e filled.
profile *ouro__compacted_as_asked(profile *p, const read_options *options, error *e);

// The walk of a writer. Nodes come in preorder, so the path of a node is the last path, cut off at
// the node's parent, and the node.
typedef struct {
    uint32_t *nodes; // by depth; [0] is the root
    uint32_t depth, room;
} walk;

// Steps to node n, which must be the next of the profile. false: out of memory.
bool ouro__walk_to(walk *w, const profile *p, uint32_t n);
void ouro__walk_free(walk *w);

// A value in whole units, for formats without decimals. The remainder is carried to the next value.
int64_t ouro__whole(const profile *p, uint32_t m, uint32_t node, int64_t *carry);
// A value with its decimals, as people write it: "1.25".
enum { DECIMAL_ROOM = 48 };
char *ouro__decimal(char text[static DECIMAL_ROOM], int64_t value, uint32_t decimals);

#endif

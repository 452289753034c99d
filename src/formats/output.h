// SPDX-License-Identifier: MIT
//
// A file that is being written: beside its target, and renamed onto it when it is complete. Errors
// are kept, so writers need not look at each call.

#ifndef OURO_OUTPUT_H
#define OURO_OUTPUT_H

#include "budget.h"
#include "error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct output output;

// "-" is standard output. NULL with *e filled.
output *ouro__output_open(const char *path, bool gzip, error *e);
// Into memory; ouro__output_take gives the bytes. NULL: out of memory.
output *ouro__output_memory(void);
// What was written, with a NUL behind it, freed by the caller; ends the output. NULL with *e filled
// if something went wrong on the way.
char *ouro__output_take(output *out, size_t *size, error *e);
// Into a file without a name, which goes away when it is closed; ouro__output_take_file gives it.
// NULL with *e filled.
output *ouro__output_temporary(error *e);
// The descriptor, to be closed by the caller; ends the output. -1 with *e filled if something went
// wrong on the way.
int ouro__output_take_file(output *out, uint64_t *size, error *e);
// Writing more than the budget allows, before packing, is an error. What is written of a tree can
// be much larger than the tree: each path is spelled out.
void ouro__output_limit(output *out, const budget *b);
// Calls `progress` now and then with the bytes written so far, before packing. NULL: no more.
void ouro__output_watch(output *out, void (*progress)(void *user, uint64_t bytes), void *user);
// Ends the file and puts it in place. `good` false: the file is thrown away, and the target stays
// as it was.
bool ouro__output_close(output *out, bool good, error *e);
// Did something go wrong already? For writers of much.
bool ouro__output_failed(const output *out);
// A writer could not make what it was to write: memory ran out. Told when the output ends.
void ouro__output_fail_memory(output *out);

void ouro__put(output *out, const void *bytes, size_t size);
void ouro__put_text(output *out, const char *text);
void ouro__put_number(output *out, uint64_t number);
void ouro__put_integer(output *out, int64_t number);
void ouro__print(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD, and what a terminal would
// obey (printable.h) is escaped.
void ouro__put_json(output *out, const char *text);
// A foreign text as a field of CSV, with quotes where it needs them: as a terminal would show it,
// and with a ' before what a spreadsheet would take for a formula. Numbers are put by ouro__print.
void ouro__put_csv(output *out, const char *text);
// Text for HTML and XML.
void ouro__put_escaped(output *out, const char *text);

// The packer, in gzip.c. `sink` gets the packed bytes.
typedef struct packer packer;
packer *ouro__packer_new(void (*sink)(void *user, const void *bytes, size_t size), void *user);
bool ouro__packer_put(packer *p, const void *bytes, size_t size, bool last);
void ouro__packer_free(packer *p);

#endif

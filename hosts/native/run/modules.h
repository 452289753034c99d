// SPDX-License-Identifier: MIT
//
// Which file an address belongs to: the modules (files with code) of all processes that are
// sampled, and where each process has mapped them.

#ifndef OURO_NATIVE_MODULES_H
#define OURO_NATIVE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A segment of code.
typedef struct {
    uint64_t offset, size, address; // in the file; where it is meant to be loaded
} module_load;

typedef struct {
    char *path;
    char build_id[65]; // hexadecimal; "" none
    module_load *loads;
    size_t load_count;
    bool is_elf; // else there are no addresses but offsets
} file_module;

typedef struct {
    uint64_t start, end;
    uint64_t bias; // the address in the process less the address in the file
    uint32_t module;
} mapping;

typedef struct process {
    struct process *next;
    uint32_t pid;
    mapping *mappings; // sorted by start, without overlaps
    size_t count, room;
    uint64_t changes; // of the mappings
    void *unwinder;   // of unwind.c; made when it is needed
    uint64_t unwinder_changes;
} process;

typedef struct {
    file_module *modules;
    size_t count, room;
    process *processes; // the one that was asked for last is the first
} modules;

void modules_free(modules *all);

// A file whose build id does not begin with this one is not the file that ran, and is not read.
// perf keeps the first 20 bytes of an id.
void modules_expect(modules *all, const char *path, const unsigned char *build_id, size_t size);

// Makes a process if there is none. NULL without memory.
process *modules_process(modules *all, uint32_t pid);
// Reads /proc/PID/maps, for a process that runs already.
void modules_read_maps(modules *all, uint32_t pid);
void modules_map(modules *all, uint32_t pid, uint64_t start, uint64_t length, uint64_t offset,
                 const char *path);
// A child has what its parent has.
void modules_fork(modules *all, uint32_t parent, uint32_t child);
// exec: nothing is mapped any more.
void modules_clear(process *p);
void modules_exit(modules *all, uint32_t pid);

// The mapping of an address, or NULL.
const mapping *modules_find(const process *p, uint64_t address);

#endif

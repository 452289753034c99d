// SPDX-License-Identifier: MIT
//
// Records of the kernel's perf events, as they come from its ring buffers and stand in perf.data.

#ifndef OURO_NATIVE_RECORDS_H
#define OURO_NATIVE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// What the event's attributes say about the layout of its records.
typedef struct {
    uint64_t sample_type, read_format, user_registers, branch_type;
    bool has_ids; // sample_id_all: every record ends with thread, time and so on
} record_shape;

typedef enum {
    RECORD_OTHER,
    RECORD_SAMPLE,
    RECORD_MAP,    // code was mapped
    RECORD_NAME,   // a thread has a name; after exec `fresh`
    RECORD_FORK,   // a thread or a process begins
    RECORD_EXIT,   // one ends
    RECORD_SWITCH, // a thread leaves the processor (`out`), or comes back
    RECORD_LOST    // the ring was full
} record_kind;

typedef struct {
    record_kind kind;
    uint32_t pid, tid, parent_pid, parent_tid;
    uint64_t time, id, lost;
    bool out, fresh, in_kernel;
    // Of a sample. The words of chain and registers may stand at any address: see record_word.
    uint64_t ip, period;
    const unsigned char *chain;
    size_t chain_count;
    const unsigned char *registers; // NULL: none; in the order of the bits of user_registers
    const unsigned char *stack;     // from the stack pointer on
    size_t stack_size;
    bool stack_is_cut; // there was more of it than was copied
    // Of a mapping, or of a name.
    uint64_t start, length, offset;
    const char *name; // ends with a zero inside the record
} record;

static inline uint64_t record_word(const unsigned char *words, size_t i) {
    uint64_t word;
    memcpy(&word, words + i * sizeof word, sizeof word);
    return word;
}

// The size of the record at `bytes`, or 0 if it is not whole there.
size_t record_size(const unsigned char *bytes, size_t room);

// Takes a whole record apart. false: it contradicts itself.
bool record_parse(const record_shape *shape, const unsigned char *bytes, size_t size, record *r);

#endif

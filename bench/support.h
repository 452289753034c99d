// SPDX-License-Identifier: MIT
//
// What all benchmarks share: the clock, the memory of this process, random numbers, blocks, and the
// two statements that keep the compiler honest. A benchmark prints lines of `name value`; bench/run
// reads them.

#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <ouro.h>

#include <stddef.h>
#include <stdint.h>

// An interpreter does not know, from one event to the next, what its thread pointer is, nor what
// the thread's fields hold: neither may stay in a register. Costs no instruction itself.
#define BARRIER(thread) __asm__ volatile("" : "+r"(thread) : : "memory")

// The value is used, or may have changed: the compiler cannot drop or foresee it.
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

// One function in the machine code, too: not merged into its caller, nor into itself.
#define NOINLINE __attribute__((noinline))

// Processor time of this OS thread in nanoseconds: what others do on a shared machine counts less
// than by the wall clock, page faults of our own count fully.
uint64_t bench_now(void);

// Resident pages now, resident pages at most so far, and bytes in use in the heap.
uint64_t bench_resident(void);
uint64_t bench_resident_peak(void);
uint64_t bench_heap(void);

uint64_t bench_random(uint64_t *state);

// n blocks with names of their own; returns the first.
ouro_block bench_add_blocks(ouro_profile *profile, size_t n);

// Stop with a message: no benchmark goes on after a failure.
_Noreturn void bench_fail(const char *what);
_Noreturn void bench_usage(const char *usage);
void *bench_alloc(size_t bytes);

// A whole argument as a number.
uint64_t bench_number(const char *argument);

#endif

// SPDX-License-Identifier: MIT
//
// Shared by all benchmarks: the clock, the memory of this process, random numbers, blocks, and two
// macros against optimisations. A benchmark prints lines of `name value`; bench/run reads them.

#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <ouro.h>

#include <stddef.h>
#include <stdint.h>

// From one event to the next, an interpreter knows neither its thread pointer nor the thread's
// fields, so neither may stay in a register. The barrier itself costs no instruction.
#define BARRIER(thread) __asm__ volatile("" : "+r"(thread) : : "memory")

// The compiler can neither drop nor predict the value.
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

// Keeps a function one function in the machine code: not inlined, not unrolled into itself.
#define NOINLINE __attribute__((noinline))

// Processor time of this OS thread in nanoseconds. Other processes on a shared machine disturb it
// less than the wall clock; our own page faults count fully.
uint64_t bench_now(void);

// Resident pages now, resident pages at most so far, and bytes in use in the heap.
uint64_t bench_resident(void);
uint64_t bench_resident_peak(void);
uint64_t bench_heap(void);

uint64_t bench_random(uint64_t *state);

// n blocks with names of their own; returns the first.
ouro_block bench_add_blocks(ouro_profile *profile, size_t n);

// Stop with a message: a benchmark does not continue after a failure.
_Noreturn void bench_fail(const char *what);
_Noreturn void bench_usage(const char *usage);
void *bench_alloc(size_t bytes);

// A whole argument as a number.
uint64_t bench_number(const char *argument);

#endif

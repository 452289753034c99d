// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_TICKER_H
#define OURO_LUA_TICKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct session;

// Tickers are in a fixed table and are never freed, because a signal may still be pending.
typedef struct ticker {
    struct session *session;    // NULL: not in use
    volatile sig_atomic_t busy; // the hook is running: count, but do not arm
    volatile uint32_t ticks;    // not yet charged
    volatile uint64_t rest;     // do not arm before this processor time, in nanoseconds,
    volatile uint32_t wait;     // unless there are this many ticks
    volatile uint32_t due;      // ticks to charge at the next event
    volatile uint64_t armed_at; // nanoseconds
    volatile uint64_t arm_cost; // nanoseconds
    uint64_t period;            // nanoseconds
    uintptr_t ticket;           // generation and index
    timer_t timer;
    bool started;
} ticker;

// Called by the signal handler when it is time to arm the hook of the running state.
typedef void ticker_arm(struct session *s, ticker *t);

// NULL with errno. The calling OS thread gets the signal. With `cpu` its processor time is
// measured, else time as it passes.
ticker *ticker_start(struct session *s, unsigned hz, bool cpu);
// Returns the nanoseconds that are not yet charged.
uint64_t ticker_stop(ticker *t);
// NULL if its session has ended.
ticker *ticker_of_ticket(const void *ticket);

// Processor time of this thread, in nanoseconds.
uint64_t ticker_now(void);
// That of all its threads. Async-signal-safe.
uint64_t ticker_process_time(void);
// Takes the ticks to charge.
uint32_t ticker_take(ticker *t);
// Called after charging, which began at `start`. The next charge waits for a hundred times as much
// processor time.
void ticker_rest(ticker *t, uint64_t start);
// Whether the interrupted instruction took so long that it must have collected garbage.
bool ticker_was_late(const ticker *t, uint64_t now);

#endif

// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_TICKER_H
#define OURO_LUA_TICKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct session;

// Tickers are a fixed table and are never freed: a signal may be on its way.
typedef struct ticker {
    struct session *session;    // NULL: not in use
    volatile sig_atomic_t busy; // the hook is at work: count, but do not arm
    volatile uint32_t ticks;    // not charged yet
    volatile uint32_t wait;     // not before there are so many
    volatile uint32_t due;      // they are to be charged at the next event
    volatile uint64_t armed_at; // nanoseconds
    volatile uint64_t arm_cost; // nanoseconds
    uint64_t period;            // nanoseconds
    uintptr_t ticket;           // generation and index
    timer_t timer;
    bool started;
} ticker;

// Called by the signal handler, when it is time to arm the hook of the state that runs.
typedef void ticker_arm(struct session *s, ticker *t);

// NULL with errno. The signal comes to the OS thread that calls this.
ticker *ticker_start(struct session *s, unsigned hz);
// Returns the nanoseconds that nobody has charged yet.
uint64_t ticker_stop(ticker *t);
// NULL if its session has ended.
ticker *ticker_of_ticket(const void *ticket);

// Nanoseconds of the processor's time that this thread has used.
uint64_t ticker_now(void);
// Takes the ticks that are to be charged.
uint32_t ticker_take(ticker *t);
// After charging, which began at `start`: the next time only when that is a hundredth of the time.
void ticker_rest(ticker *t, uint64_t start);
// Did the instruction that was interrupted take so long that it must have collected garbage?
bool ticker_was_late(const ticker *t, uint64_t now);

#endif

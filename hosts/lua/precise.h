// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_PRECISE_H
#define OURO_LUA_PRECISE_H

#include "session.h"

// The record that the last event of this OS thread came from. initial-exec: no call per access.
typedef struct {
    const lua_State *L;
    coroutine *co;
    uint64_t epoch; // sessions_ended at that time: another OS thread may have ended this one
} running_here;
extern _Thread_local __attribute__((tls_model("initial-exec"))) running_here here;
extern uint64_t sessions_ended;

// The record of the state that an event came from. NULL: there is no session, or no memory.
static inline coroutine *coroutine_here(lua_State *L) {
    uint64_t epoch = __atomic_load_n(&sessions_ended, __ATOMIC_RELAXED);
    return LIKELY(here.L == L && here.epoch == epoch) ? here.co : coroutine_arrive(L);
}

// Called when another function is made at this address.
void precise_forget_function(session *s, const void *function);

#endif

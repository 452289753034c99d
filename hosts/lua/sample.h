// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_SAMPLE_H
#define OURO_LUA_SAMPLE_H

#include "session.h"

// A coroutine that runs, or waits for one that it resumed. On the C stack of the function that
// resumed it.
typedef struct resume_link {
    lua_State *L;
    struct resume_link *from;
    chain saved; // what the hook was before ours was armed
    bool armed;
} resume_link;

typedef struct {
    uint64_t id;
    const lua_State *L;
    const void *ci, *function;
    ouro_block block;
} sample_mark_;

typedef struct sampler {
    resume_link *volatile link;
    resume_link base[2]; // the main state, and the one that started the session if it is another
    ouro_thread *thread;
    // The path that was charged last, outermost first, and the one that is being looked at,
    // innermost first.
    ouro_block *path, *walked;
    ouro_position *tokens;
    size_t length, walked_length, room;
    sample_mark_ *marks;
    size_t mark_count, mark_room;
} sampler;

// coroutine.resume and coroutine.wrap that keep `link`. May raise an error of Lua.
void resume_install(const session *s, lua_State *L);
void resume_remove(lua_State *L);

#endif

// SPDX-License-Identifier: MIT
#ifndef OURO_LUA_SAMPLE_H
#define OURO_LUA_SAMPLE_H

#include "session.h"

// A coroutine that runs, or waits for one that it resumed. Lives on the C stack of the function
// that resumed it.
typedef struct resume_link {
    lua_State *L;
    struct resume_link *from;
    chain saved; // the program's hook
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
    resume_link
        base[2]; // the main state, and the state that started the session if that is another
    ouro_thread *thread;
    // `path` was charged last, outermost first; `walked` is being read from Lua's stack,
    // innermost first.
    ouro_block *path, *walked;
    ouro_position *tokens;
    size_t length, walked_length, room;
    sample_mark_ *marks;
    size_t mark_count, mark_room;
} sampler;

// False without memory; sample_stop frees it.
bool sampler_new(session *s, lua_State *L);
// A walk: set walked_length to 0, add the blocks of the path, innermost first, then move there.
void walk_add(sampler *p, ouro_block block);
void walk_marks(sampler *p, const lua_State *L, const void *ci, const void *function);
void move_to_walked(sampler *p);

// Installs coroutine.resume and coroutine.wrap that keep `link`. May raise an error of Lua.
void resume_install(const session *s, lua_State *L);
void resume_remove(lua_State *L);

#endif

// SPDX-License-Identifier: MIT
//
// The allocator of the Lua state, with ours in front of it. Precise mode needs it for two events
// that Lua does not report: a new function is made at the address of an old one, and a coroutine is
// freed. On request it also charges allocated and freed bytes to the current position.
//
// The manual of Lua (lua_Alloc) says how objects are recognised: for a new object, the old size is
// its type. A coroutine's memory starts with its extra space (lua_getextraspace); its size is
// learnt when one is made. Lua 5.1 tells no types: there every new object may be a function. The
// size of a coroutine is that of the block at its address.

#include "precise.h"

#include <stdlib.h>
#include <string.h>

static void charge(session *s, size_t before, size_t after) {
    coroutine *co = s->current;
    if (!s->settings.memory || s->quiet || !co) return;
    if (after > before) {
        ouro_count(co->thread, s->allocations, 1);
        ouro_count(co->thread, s->allocated, after - before);
    } else if (after < before) {
        // Nearly always the collector. It has a block of its own, below the function
        // it interrupted.
        ouro_position caller = ouro_reenter(co->thread, s->gc);
        ouro_count(co->thread, s->freed, before - after);
        ouro_exit(co->thread, caller);
    }
}

static void *on_memory(void *ud, void *block, size_t old_size, size_t new_size) {
    allocator *a = ud;
    session *s = a->session;
    if (!s) return a->next(a->next_ud, block, old_size, new_size);
    if (block && new_size == 0 && old_size == a->thread_size) // the inverse of lua_getextraspace
        coroutine_forget(s, (lua_State *)(void *)((char *)block + LUA_EXTRASPACE));
    void *result = a->next(a->next_ud, block, old_size, new_size);
    if (!result && new_size) return NULL;
    if (!block) {
        if (LUA_VERSION_NUM < 502 || old_size == LUA_TFUNCTION) precise_forget_function(s, result);
        if (!a->thread_size) a->recent[a->made++ % RECENT] = (allocated){result, new_size};
    }
    if (s->settings.memory) charge(s, block ? old_size : 0, new_size);
    return result;
}

// Makes a coroutine to learn how large they are. May raise an error of Lua.
void memory_learn(session *s, lua_State *L) {
    allocator *a = s->allocator;
    const char *made = (const char *)lua_newthread(L) - LUA_EXTRASPACE;
    lua_pop(L, 1);
    for (int i = 0; i < RECENT; i++) {
        if (a->recent[i].block == made) a->thread_size = a->recent[i].size;
    }
}

// From 5.5 on, a long string keeps the allocator that it was made with (lua_pushexternalstring), so
// ours is never freed, and serves every session of its state.
static allocator *allocator_new(lua_State *L) {
#if LUA_VERSION_NUM >= 505
    static const char key = 0;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key);
    allocator *a = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (a && a->idle) return memset(a, 0, sizeof *a);
    a = calloc(1, sizeof *a);
    lua_pushlightuserdata(L, a);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    return a;
#else
    (void)L;
    return calloc(1, sizeof(allocator));
#endif
}

static void allocator_free(allocator *a) {
    a->idle = true;
    if (LUA_VERSION_NUM < 505) free(a);
}

bool memory_watch(session *s) {
    allocator *a = allocator_new(s->main);
    if (!a) return false;
    a->session = s;
    a->next = lua_getallocf(s->main, &a->next_ud);
    s->allocator = a;
    lua_setallocf(s->main, on_memory, a);
    return true;
}

void memory_unwatch(session *s) {
    allocator *a = s->allocator;
    s->allocator = NULL;
    if (!a) return;
    a->session = NULL;
    void *ud = NULL;
    if (s->main && lua_getallocf(s->main, &ud) == on_memory && ud == a) {
        lua_setallocf(s->main, a->next, a->next_ud);
        allocator_free(a);
    } // else another allocator still calls it, and it must stay to pass calls on
}

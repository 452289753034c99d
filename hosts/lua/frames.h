// SPDX-License-Identifier: MIT
//
// Lua's frames, from one to its caller, in a constant number of steps. lua_getstack counts from the
// innermost frame at every call, so a walk by it is quadratic in the depth.
//
// In Lua 5.1 a frame is an index, and its caller has the index before. From 5.3 on it is a
// record of Lua's, and we read two of its words: the frame's function and its caller. That is the
// only private memory of Lua that this host reads. frames_are_known compares both words with what
// Lua's own functions say, at every start of a session; where they differ, lua_getstack and
// lua_getinfo are used instead. LuaJIT's frames are never read.

#ifndef OURO_LUA_FRAMES_H
#define OURO_LUA_FRAMES_H

#include "lua_api.h"

#if LUA_VERSION_NUM == 501

enum { FRAMES_HAVE_FUNCTIONS = false };

static inline void *frame_caller(const void *id) {
    return (uintptr_t)id > 1 ? (void *)((uintptr_t)id - 1) : NULL;
}
static inline const void *frame_function(const void *id) { return (void)id, NULL; }
static inline void frame_set(lua_Debug *ar, const void *id) { ar->i_ci = (int)(uintptr_t)id; }

#else

enum { FRAMES_HAVE_FUNCTIONS = true };

// The beginning of Lua's CallInfo.
typedef struct private_frame {
    const struct { const void *value; } * function;
    const void *top;
    struct private_frame *previous;
} private_frame;

// NULL: none. The record before the outermost frame stands for the state itself.
static inline void *frame_caller(const void *id) {
    private_frame *caller = ((const private_frame *)id)->previous;
    return caller && caller->previous ? caller : NULL;
}

// As lua_topointer would say it.
static inline const void *frame_function(const void *id) {
    return ((const private_frame *)id)->function->value;
}

static inline void frame_set(lua_Debug *ar, const void *id) { ar->i_ci = (void *)id; }

#endif

static inline lua_Debug frame_debug(const void *id) {
    lua_Debug ar = {0};
    frame_set(&ar, id);
    return ar;
}

// Whether the functions above are right for this Lua. Needs two frames on the stack of L.
bool frames_are_known(lua_State *L);

// A walk outwards. `ar` is the frame for lua_getinfo.
typedef struct {
    lua_State *L;
    lua_Debug ar;
    int level;
    bool known;
} frame_walk;

static inline bool frames_begin(frame_walk *w, lua_State *L, int level, bool known) {
    *w = (frame_walk){.L = L, .level = level, .known = known};
    return lua_getstack(L, level, &w->ar);
}

static inline bool frames_next(frame_walk *w) {
    if (!w->known) return lua_getstack(w->L, ++w->level, &w->ar);
    const void *caller = frame_caller(frame_id(&w->ar));
    if (caller) frame_set(&w->ar, caller);
    return caller != NULL;
}

// Whether no frame follows.
static inline bool frames_at_end(const frame_walk *w) {
    lua_Debug below;
    return w->known ? !frame_caller(frame_id(&w->ar)) : !lua_getstack(w->L, w->level + 1, &below);
}

#endif

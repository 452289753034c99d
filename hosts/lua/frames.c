// SPDX-License-Identifier: MIT
//
// Compares what frames.h reads with what Lua's own functions say.

#include "frames.h"

enum { COMPARED = 8 };

static bool function_agrees(lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "f", ar);
    const void *function = lua_topointer(L, -1);
    lua_pop(L, 1);
    return !FRAMES_HAVE_FUNCTIONS || frame_function(frame_id(ar)) == function;
}

bool frames_are_known(lua_State *L) {
    lua_Debug ar, outer;
    if (lua_is_jit() || !lua_getstack(L, 0, &ar)) return false;
    for (int level = 0; level < COMPARED; level++) {
        bool more = lua_getstack(L, level + 1, &outer);
        if (LUA_VERSION_NUM == 501 && more && !frame_id(&outer)) break; // stands for a tail call
        if (frame_caller(frame_id(&ar)) != (more ? frame_id(&outer) : NULL)) return false;
        if (!function_agrees(L, &ar)) return false;
        if (!more) break;
        ar = outer;
    }
    return true;
}

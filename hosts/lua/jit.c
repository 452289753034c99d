// SPDX-License-Identifier: MIT
//
// LuaJIT: records what its own profiler samples.
//
// LuaJIT compiles calls away, so hooks do not see compiled code. Its profiler does: at every tick
// of processor time it stops compiled code at a place where the stack is whole, and calls back. It
// tells no more than that: calls are not counted, a coroutine's path begins at its own first
// function, and a function that ended in a tail call is not on the stack.
//
// The callback changes nothing of Lua: it reads frames with lua_getstack and lua_getinfo, and
// pushes nothing. lua_getstack counts from the innermost frame, so only DEEPEST frames are read.
//
// How many ticks a callback stands for cannot be trusted: the timer asks for a millisecond, and
// most kernels give four. So a path is charged with the processor time since the last callback.

#include "sample.h"

#if LUA_VERSION_NUM == 501

#include <stdio.h>

enum { DEEPEST = 200, HZ = 1000 };

static const char *state_name(int state) {
    if (state == 'G') return "(gc)";
    return state == 'J' ? "(jit compiler)" : NULL;
}

// The C function that started Lua is not shown.
static bool is_host(const session *s, lua_State *L, lua_Debug *ar, int level) {
    lua_Debug below;
    return L == s->main && *ar->what == 'C' && !lua_getstack(L, level + 1, &below);
}

static void charge(session *s, lua_State *L, int state) {
    sampler *p = s->sampler;
    lua_Debug ar;
    p->walked_length = 0;
    if (state_name(state)) {
        ouro_block_info info = {.name = state_name(state)};
        walk_add(p, block_of_text(&s->blocks, &info));
    }
    for (int level = 0; level < DEEPEST && lua_getstack(L, level, &ar); level++) {
        ouro_block block = names_block_of_frame(s, L, &ar);
        walk_marks(p, L, frame_id(&ar), NULL);
        if (!is_host(s, L, &ar, level)) walk_add(p, block);
    }
    move_to_walked(p);
    ouro_note_stack(s->profile, p->path, p->length);
    ouro_count(p->thread, s->time, s->jit_now - s->jit_charged);
    ouro_count(p->thread, s->samples, 1);
}

static void on_sample(void *data, lua_State *L, int samples, int state) {
    (void)samples;
    session *s = data;
    s->jit_now = ticker_process_time();
    charge(s, L, state);
    s->jit_charged = ticker_process_time(); // the walk is not the program's time
}

void jit_charge_rest(session *s) { charge(s, s->main, 'I'); }

bool jit_start(session *s, lua_State *L) {
    if (!sampler_new(s, L)) return false;
    unsigned hz = s->settings.hz ? s->settings.hz : HZ;
    s->jit_interval = hz < 1000 ? 1000 / hz : 1;
    char mode[32];
    snprintf(mode, sizeof mode, "fi%u", s->jit_interval);
    s->running = true;
    s->jit_charged = ticker_process_time();
    luaJIT_profile_start(L, mode, on_sample, s);
    return true;
}

void jit_stop(session *s) {
    if (s->jit_interval) luaJIT_profile_stop(s->main);
    s->jit_interval = 0;
}

#else

bool jit_start(session *s, lua_State *L) { return (void)s, (void)L, false; }
void jit_stop(session *s) { (void)s; }
void jit_charge_rest(session *s) { (void)s; }

#endif

// SPDX-License-Identifier: MIT
//
// require "ouro": the functions that a Lua program sees. They read arguments, call the session's
// functions, and turn failures into errors of Lua.

#include "ouro_lua.h"
#include "report.h"
#include "session.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK "ouro.block"

typedef struct {
    uint64_t session, mark;
} mark_handle;

// ---------------------------------------------------------------- options

static lua_Integer integer_option(lua_State *L, int table, const char *name, lua_Integer least,
                                  lua_Integer most) {
    lua_Integer value = 0;
    if (lua_getfield(L, table, name) != LUA_TNIL) {
        lua_Number given = lua_tonumber(L, -1);
        bool fits = lua_isnumber(L, -1) && given >= (lua_Number)least && given <= (lua_Number)most;
        if (fits) value = (lua_Integer)given;
        if (!fits || (lua_Number)value != given)
            luaL_error(L, "ouro.start: %s must be an integer from %d to %d", name, (int)least,
                       (int)most);
    }
    lua_pop(L, 1);
    return value;
}

static void metric_option(lua_State *L, settings *wanted, const char *name) {
    if (strcmp(name, "instructions") == 0) {
        wanted->instructions = true;
    } else if (strcmp(name, "memory") == 0) {
        wanted->memory = true;
    } else if (strcmp(name, "time") != 0) {
        luaL_error(L, "ouro.start: there is no metric \"%s\": time, instructions, memory", name);
    }
}

static void metrics_option(lua_State *L, int table, settings *wanted) {
    int type = lua_getfield(L, table, "metrics");
    if (type == LUA_TSTRING) metric_option(L, wanted, lua_tostring(L, -1));
    if (type == LUA_TTABLE) {
        for (int i = 1; lua_geti(L, -1, i) == LUA_TSTRING; i++, lua_pop(L, 1))
            metric_option(L, wanted, lua_tostring(L, -1));
        lua_pop(L, 1);
    } else if (type != LUA_TSTRING && type != LUA_TNIL) {
        luaL_error(L, "ouro.start: metrics must be a list of names");
    }
    lua_pop(L, 1);
}

static const char *string_option(lua_State *L, int table, const char *name) {
    int type = lua_getfield(L, table, name);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        luaL_error(L, "ouro.start: %s must be a string", name);
    const char *text = lua_tostring(L, -1); // the table keeps it
    lua_pop(L, 1);
    return text;
}

static void check_names(lua_State *L, int table) {
    static const char *const known[] = {"mode",   "hz",    "metrics", "live",    "max_nodes",
                                        "period", "clock", "slice",   "slice_by"};
    lua_pushnil(L);
    while (lua_next(L, table)) {
        size_t i = 0, n = sizeof known / sizeof *known;
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        while (i < n && strcmp(known[i], name) != 0) i++;
        if (i == n) luaL_error(L, "ouro.start: there is no option \"%s\"", name);
        lua_pop(L, 1);
    }
}

static void options_read(lua_State *L, int table, settings *wanted) {
    *wanted = (settings){0};
    if (lua_isnoneornil(L, table)) return;
    luaL_checktype(L, table, LUA_TTABLE);
    check_names(L, table);
    const char *mode = string_option(L, table, "mode");
    wanted->hz = (unsigned)integer_option(L, table, "hz", 1, 100000);
    wanted->max_nodes = (uint32_t)integer_option(L, table, "max_nodes", 2, OURO_MAX_NODES_MOST);
    wanted->period = (int)integer_option(L, table, "period", 1, 1000000000);
    wanted->live = string_option(L, table, "live");
    wanted->slice = string_option(L, table, "slice");
    wanted->slice_by = string_option(L, table, "slice_by");
    metrics_option(L, table, wanted);
    const char *clock = string_option(L, table, "clock");
    if (clock && strcmp(clock, "wall") != 0 && strcmp(clock, "cpu") != 0)
        luaL_error(L, "ouro.start: clock must be \"wall\" or \"cpu\"");
    wanted->cpu = clock && strcmp(clock, "cpu") == 0;
    if (mode && strcmp(mode, "sampling") != 0 && strcmp(mode, "precise") != 0)
        luaL_error(L, "ouro.start: mode must be \"sampling\" or \"precise\"");
    wanted->precise = mode && strcmp(mode, "precise") == 0;
    if (!wanted->precise && (wanted->instructions || wanted->memory))
        luaL_error(L, "ouro.start: instructions and memory need mode = \"precise\"");
    if (!wanted->precise && wanted->slice)
        luaL_error(L, "ouro.start: slice needs mode = \"precise\"; ouro.slice() does not");
}

// ---------------------------------------------------------------- functions

static int lua_start(lua_State *L) {
    settings wanted;
    options_read(L, 1, &wanted);
    if (!session_start(L, &wanted)) return luaL_error(L, "ouro.start: %s", lua_tostring(L, -1));
    return 0;
}

static session *recorded(lua_State *L, const char *function) {
    session *s = session_of(L);
    if (!s) luaL_error(L, "ouro.%s: nothing was recorded", function);
    return s;
}

// True if there was something to stop.
static int lua_stop(lua_State *L) {
    session *s = session_of(L);
    bool running = s && s->running;
    if (running) session_stop(s);
    lua_pushboolean(L, running);
    return 1;
}

static int lua_write(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    if (session_write(recorded(L, "write"), path) == 0) {
        lua_pushboolean(L, true);
        return 1;
    }
    return luaL_fileresult(L, 0, path);
}

static int lua_report(lua_State *L) {
    char *text = report_text(recorded(L, "report")->profile);
    if (!text) return luaL_error(L, "ouro.report: not enough memory");
    lua_pushstring(L, text);
    free(text);
    return 1;
}

// After fn. `context` is the session if ouro.profile started it and must stop it.
static int profile_end(lua_State *L, int status, lua_KContext context) {
    if (context) session_stop((session *)context);
    if (status != LUA_OK && status != LUA_YIELD) return lua_error(L);
    return lua_gettop(L);
}

static int lua_profile(lua_State *L) {
    luaL_checkany(L, 1);
    const session *before = session_of(L);
    session *s = NULL;
    if (!before || !before->running) {
        s = session_start(L, &(settings){0});
        if (!s) return luaL_error(L, "ouro.profile: %s", lua_tostring(L, -1));
    }
    lua_KContext context = (lua_KContext)s;
    int status = lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, context, profile_end);
    return profile_end(L, status, context);
}

static int lua_block(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    mark_handle *handle = lua_newuserdatauv(L, sizeof *handle, 0);
    *handle = (mark_handle){0};
    luaL_setmetatable(L, MARK);
    session *s = session_of(L);
    lua_Debug ar;
    if (!s || !s->running || !lua_getstack(L, 1, &ar)) return 1;
    lua_getinfo(L, "Sl", &ar);
    ouro_block_info info = {name, *ar.source == '@' ? ar.source + 1 : ar.short_src,
                            ar.currentline > 0 ? (uint32_t)ar.currentline : 0, 0};
    ouro_block block = block_of_text(&s->blocks, &info);
    handle->session = s->number;
    handle->mark = s->settings.precise ? precise_mark(s, L, block) : sample_mark(s, L, block);
    return 1;
}

// Closing a mark twice, or after its session, does nothing.
static int lua_unblock(lua_State *L) {
    mark_handle *handle = luaL_checkudata(L, 1, MARK);
    session *s = session_of(L);
    if (!s || !s->running || s->number != handle->session || !handle->mark) return 0;
    if (s->settings.precise) {
        precise_unmark(s, L, handle->mark);
    } else {
        sample_unmark(s, handle->mark);
    }
    handle->mark = 0;
    return 0;
}

// A frame or a request has ended, and the next begins; or none does, if the argument is false.
static int lua_slice(lua_State *L) {
    session *s = session_of(L);
    if (s && s->running) slices_say(s, lua_isnoneornil(L, 1) || lua_toboolean(L, 1));
    return 0;
}

// For a mark that was never closed. Sampling mode has no frame that would end it.
static int lua_block_gc(lua_State *L) {
    const session *s = session_of(L);
    return s && s->running && !s->settings.precise ? lua_unblock(L) : 0;
}

const luaL_Reg ouro_module_functions[] = {
    {"start", lua_start},     {"stop", lua_stop},       {"write", lua_write},
    {"report", lua_report},   {"profile", lua_profile}, {"block", lua_block},
    {"unblock", lua_unblock}, {"slice", lua_slice},     {NULL, NULL}};

// The Lua that has loaded us, by what each version added. 5.2 is not among ours.
static int version_here(void) {
#ifdef OURO_LUA_MODULE
    if (dlsym(RTLD_DEFAULT, "lua_numbertocstring")) return 505;
    if (dlsym(RTLD_DEFAULT, "lua_newuserdatauv")) return 504;
    if (dlsym(RTLD_DEFAULT, "lua_rotate")) return 503;
    return dlsym(RTLD_DEFAULT, "lua_rawgetp") ? 502 : 501;
#else
    return LUA_VERSION_NUM;
#endif
}

// Uses only what every version of Lua has.
static void check_pairing(lua_State *L) {
    int here = version_here();
    if (here == LUA_VERSION_NUM) return;
    luaL_error(L,
               "this ouro.so is the module for Lua 5.%d, but Lua 5.%d has loaded it; the one for "
               "Lua 5.%d is in the folder lib/lua/5.%d of Ouro, which LUA_CPATH can name",
               LUA_VERSION_NUM % 100, here % 100, here % 100, here % 100);
}

int luaopen_ouro(lua_State *L) {
#ifdef OURO_LUA_MODULE
    if (!luaL_error) return 0; // the program has Lua inside and does not show it to us
#endif
    check_pairing(L);
    luaL_checkversion(L);
    session_note_main(L);
    luaL_newmetatable(L, MARK);
    lua_pushcfunction(L, lua_unblock);
    lua_setfield(L, -2, "__close");
    lua_pushcfunction(L, lua_unblock);
    lua_setfield(L, -2, "__call");
    lua_pushcfunction(L, lua_block_gc);
    lua_setfield(L, -2, "__gc");
    lua_createtable(L, 0, 8);
    luaL_setfuncs(L, ouro_module_functions, 0);
    lua_pushnil(L); // programs call it through the handle
    lua_setfield(L, -2, "unblock");
    lua_pushliteral(L, OURO_VERSION);
    lua_setfield(L, -2, "_VERSION");
    return 1;
}

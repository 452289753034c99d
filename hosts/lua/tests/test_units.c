// SPDX-License-Identifier: MIT
//
// What scripts cannot reach: several Lua states at a time, in one OS thread and in many; a state
// that is closed while it is recorded; allocators that fail; names from odd sources.

#include "ouro_lua.h"
#include "session.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lua_State *state_new(void) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "ouro", luaopen_ouro, 1);
    lua_pop(L, 1);
    return L;
}

static void run(lua_State *L, const char *text) {
    bool failed = luaL_dostring(L, text);
    if (failed) printf("%s\n", lua_tostring(L, -1));
    CHECK(!failed);
}

// All calls of blocks with a name.
typedef struct {
    ouro_profile *profile;
    const char *name;
    uint64_t calls;
} sum;

static void on_path(void *user, const ouro_visit *visit) {
    sum *s = user;
    ouro_block_info info;
    if (visit->length && ouro_block_get(s->profile, visit->path[visit->length - 1], &info) &&
        strcmp(info.name, s->name) == 0)
        s->calls += visit->calls;
}

static uint64_t calls_of(lua_State *L, const char *name) {
    sum s = {session_of(L)->profile, name, 0};
    CHECK(ouro_profile_visit(s.profile, on_path, &s) == 0);
    return s.calls;
}

static const char program[] = "local function f(n) if n > 0 then return f(n - 1) end end "
                              "for i = 1, 100 do f(9) pcall(error) "
                              "coroutine.wrap(function() f(1) coroutine.yield() end)() end";

TEST(two_states_in_one_thread_do_not_mix) {
    lua_State *a = state_new(), *b = state_new();
    run(a, "ouro.start{mode = 'precise', max_nodes = 1000}");
    run(b, "ouro.start{mode = 'precise', max_nodes = 1000}");
    for (int i = 0; i < 3; i++) {
        run(a, program);
        run(b, "local function g() end g() g()");
    }
    CHECK_EQUAL(calls_of(a, "f"), 3 * 100 * 12);
    CHECK_EQUAL(calls_of(a, "g"), 0);
    CHECK_EQUAL(calls_of(b, "g"), 6);
    run(b, "ouro.stop()");
    run(a, program);
    CHECK_EQUAL(calls_of(a, "f"), 4 * 100 * 12);
    lua_close(b);
    run(a, program);
    CHECK_EQUAL(calls_of(a, "f"), 5 * 100 * 12);
    lua_close(a);
}

TEST(a_state_that_calls_another_one) {
    lua_State *a = state_new();
    run(a, "ouro.start{mode = 'precise', max_nodes = 1000}");
    run(a, "function f() end f()");
    lua_State *b = state_new();
    run(b, "ouro.start{mode = 'sampling', max_nodes = 1000} for i = 1, 3e6 do end ouro.stop()");
    run(a, "f()");
    CHECK_EQUAL(calls_of(a, "f"), 2);
    lua_close(b);
    lua_close(a);
}

static void *in_thread(void *mode) {
    for (int i = 0; i < 5; i++) {
        lua_State *L = state_new();
        run(L, mode ? "ouro.start{mode = 'precise', max_nodes = 1000}"
                    : "ouro.start{max_nodes = 1000, hz = 5000}");
        run(L, program);
        run(L, "local x = 0 for i = 1, 1e6 do x = x + i end");
        if (mode) CHECK_EQUAL(calls_of(L, "f"), 100 * 12);
        if (i % 2) run(L, "ouro.stop()");
        lua_close(L);
    }
    return NULL;
}

TEST(states_in_many_threads) {
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        CHECK(pthread_create(&threads[i], NULL, in_thread, i % 2 ? (void *)"precise" : NULL) == 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
}

TEST(a_session_outlives_its_state) {
    lua_State *L = state_new();
    run(L, "ouro.start{mode = 'precise', max_nodes = 1000, metrics = {'memory', 'instructions'}}");
    run(L, program);
    session *s = session_keep(session_of(L));
    lua_close(L);
    CHECK(!s->main && !s->running);
    CHECK(ouro_profile_stats(s->profile).calls > 1000);
    session_release(s);
}

// ---------------------------------------------------------------- memory that runs out

typedef struct {
    size_t used, limit;
} budget;

static void *limited(void *ud, void *block, size_t old_size, size_t new_size) {
    budget *b = ud;
    size_t before = block ? old_size : 0;
    if (new_size > before && b->used + (new_size - before) > b->limit) return NULL;
    b->used = b->used + new_size - before;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

// Whatever fails, and wherever: no crash, no leak, and the state can be closed.
TEST(the_allocator_fails_anywhere) {
    static const char *const modes[] = {"sampling", "precise"};
    for (size_t extra = 0; extra < 60000; extra += 331) {
        budget b = {0, 1 << 24};
        lua_State *L = lua_newstate(limited, &b);
        luaL_openlibs(L);
        luaL_requiref(L, "ouro", luaopen_ouro, 1);
        lua_settop(L, 0);
        lua_gc(L, LUA_GCCOLLECT);
        char text[400];
        snprintf(text, sizeof text,
                 "ouro.start{mode = '%s', max_nodes = 1000%s} local t = {} "
                 "for i = 1, 1e4 do t[i] = coroutine.wrap(function(...) coroutine.yield(...) end) "
                 "t[i](i) t[i .. ''] = function() end t[i .. '']() end",
                 modes[extra % 2], extra % 2 ? ", metrics = 'memory'" : "");
        b.limit = b.used + extra;
        int status = luaL_loadstring(L, text);
        if (status == LUA_OK) status = lua_pcall(L, 0, 0, 0);
        CHECK(status == LUA_ERRMEM || status == LUA_ERRRUN);
        b.limit = 1 << 24;
        lua_settop(L, 0);
        run(L, "ouro.stop() local function f() end f()");
        lua_close(L);
        CHECK_EQUAL(b.used, 0);
    }
}

// ---------------------------------------------------------------- hooks of a host in C

static int host_events;

static void host_hook(lua_State *L, lua_Debug *ar) {
    (void)L;
    if (ar->event == LUA_HOOKCALL) host_events++;
}

TEST(a_hook_of_the_host_goes_on_and_comes_back) {
    lua_State *L = state_new();
    lua_sethook(L, host_hook, LUA_MASKCALL, 0);
    run(L, "ouro.start{mode = 'precise', max_nodes = 1000} function f() end");
    int before = host_events;
    run(L, "for i = 1, 10 do f() end");
    CHECK(host_events >= before + 10);
    CHECK_EQUAL(calls_of(L, "f"), 10);
    run(L, "ouro.stop()");
    CHECK(lua_gethook(L) == host_hook && lua_gethookmask(L) == LUA_MASKCALL);
    lua_close(L);
}

// A coroutine that the host in C resumes, without any function of Lua in between.
TEST(a_host_that_resumes_by_itself) {
    lua_State *L = state_new();
    run(L, "ouro.start{mode = 'precise', max_nodes = 1000} function g() end\n"
           "function body() g() coroutine.yield() g() end");
    lua_State *a = lua_newthread(L), *b = lua_newthread(L);
    lua_getglobal(a, "body");
    lua_getglobal(b, "body");
    int results;
    CHECK_EQUAL(lua_resume(a, NULL, 0, &results), LUA_YIELD);
    CHECK_EQUAL(lua_resume(b, NULL, 0, &results), LUA_YIELD);
    CHECK_EQUAL(lua_resume(a, NULL, 0, &results), LUA_OK);
    CHECK_EQUAL(lua_resume(b, NULL, 0, &results), LUA_OK);
    CHECK_EQUAL(calls_of(L, "g"), 4);
    CHECK_EQUAL(calls_of(L, "body"), 2);
    lua_close(L);
}

// ---------------------------------------------------------------- names in sources

static const definition *nth(source *s, const char *text, size_t i) {
    *s = (source){0};
    source_read(s, text, strlen(text));
    return i < s->count ? &s->list[i] : NULL;
}

static void check_name(const char *text, size_t i, const char *name, uint32_t line, uint32_t last) {
    source s;
    const definition *d = nth(&s, text, i);
    CHECK(d != NULL);
    if (d) {
        CHECK_TEXT(d->name ? d->name : "-", name);
        CHECK_EQUAL(d->line, line);
        CHECK_EQUAL(d->last_line, last);
    }
    source_free(&s);
}

TEST(names_are_those_of_the_definitions) {
    check_name("function a.b.c:d(x) end", 0, "a.b.c:d", 1, 1);
    check_name("#!/usr/bin/lua\nlocal function f()\nend", 0, "f", 2, 3);
    check_name("--[==[ function no() end ]==] x = function() end", 0, "x", 1, 1);
    check_name("s = 'function' .. \"function\" .. [[function]] y = function() end", 0, "y", 1, 1);
    check_name("t = {\n  a = function() end,\n  {b = function() end}}", 0, "t.a", 2, 2);
    check_name("local M <const> = function()\n if x then do end end\n while x do end\nend", 0, "M",
               1, 4);
    check_name("return function() return function() end end", 1, "-", 1, 1);
    check_name("t[i] = function() end", 0, "-", 1, 1);
    check_name("t['i'] = function() end", 0, "t['i']", 1, 1);
    check_name("a, b = function() end", 0, "-", 1, 1);
    check_name("x = y == function() end", 0, "-", 1, 1);
    check_name("repeat local f = function() end until x g = function() end", 1, "g", 1, 1);
    check_name("n = 0x1p+4 .. 1e-3 h = function() end", 0, "h", 1, 1);
}

TEST(text_that_is_not_lua_does_no_harm) {
    static const char *const odd[] = {"",          "function", "function(", "end end end", "[[",
                                      "\"",        "--[[",     "{{{(((",    "function f(", "until",
                                      "local x <", "a.b.c.",   "\\",        "'\\",         "x = {"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        source s = {0};
        source_read(&s, odd[i], strlen(odd[i]));
        source_free(&s);
    }
    for (int round = 0; round < 2000; round++) {
        static const char *const words[] = {"function ", "end ", "x",   ".",   "=",  "{",  "}",
                                            "(",         ")",    "[",   "]",   "'",  "--", "[[",
                                            "]]",        ",",    "if ", "do ", "\n", "\\"};
        char text[400] = "";
        for (int i = 0; i < 30; i++) {
            strcat(text, words[random_below(sizeof words / sizeof *words)]);
        }
        source s = {0};
        source_read(&s, text, strlen(text));
        source_free(&s);
    }
}

// ---------------------------------------------------------------- frames

// Called at the bottom of a deep stack: each step of a walk must be what lua_getstack says.
static int walk_and_compare(lua_State *L) {
    frame_walk w;
    lua_Debug ar;
    int level = 0;
    CHECK(frames_are_known(L));
    for (bool more = frames_begin(&w, L, 0, true); more; more = frames_next(&w), level++) {
        CHECK(lua_getstack(L, level, &ar));
        CHECK(frame_id(&ar) == frame_id(&w.ar));
        lua_getinfo(L, "f", &ar);
        CHECK(lua_topointer(L, -1) == frame_function(frame_id(&w.ar)));
        lua_pop(L, 1);
        CHECK(frames_at_end(&w) == !lua_getstack(L, level + 1, &ar));
    }
    CHECK(!lua_getstack(L, level, &ar));
    lua_pushinteger(L, level);
    return 1;
}

// So that sampling a deep stack takes one step per frame.
TEST(a_walk_by_frames_goes_where_lua_getstack_goes) {
    lua_State *L = state_new();
    lua_register(L, "walk", walk_and_compare);
    run(L, "local function deep(n) if n == 0 then return (walk()) end return (deep(n - 1)) end\n"
           "assert(deep(700) == 703)\n"
           "local function tail(n) if n == 0 then return walk() end return tail(n - 1) end\n"
           "assert(tail(100) < 5)\n"
           "assert(coroutine.wrap(function() return (deep(50)) end)() == 53)\n"
           "assert(select(2, pcall(deep, 10)) == 14)\n"
           "local t = setmetatable({}, {__index = function() return (deep(3)) end})\n"
           "assert(t.x == 7)\n"
           "assert(coroutine.wrap(walk)() == 1)\n");
    lua_settop(L, 0);
    lua_pushcfunction(L, walk_and_compare);
    lua_call(L, 0, 1);
    CHECK_EQUAL(lua_tointeger(L, -1), 1);
    lua_close(L);
}

// SPDX-License-Identifier: MIT
//
// The life of a session. A Lua state has a holder in its registry, a userdata, which keeps the
// running session or the last one. When the state is closed, the holder's finalizer stops the
// session before any other object of ours is freed. main.c keeps a reference of its own and can
// still write the profile afterwards.

#include "session.h"

#include "gzip.h"
#include "sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char holder_key = 0, starter_key = 0, main_key = 0;

typedef struct {
    session *session;
} holder;

session *session_of(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &holder_key);
    const holder *h = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return h ? h->session : NULL;
}

session *session_keep(session *s) {
    if (s) s->references++;
    return s;
}

static void session_free(session *s) {
    ouro_thread_free(s->root);
    block_table_free(&s->blocks);
    source_cache_free(&s->sources);
    free((char *)s->settings.slice);
    ouro_profile_free(s->profile);
    free(s);
}

void session_release(session *s) {
    if (s && --s->references == 0) session_free(s);
}

// Runs when the state is closed.
static int holder_gc(lua_State *L) {
    holder *h = lua_touserdata(L, 1);
    session *s = h->session;
    h->session = NULL;
    if (!s) return 0;
    session_stop(s);
    s->main = NULL;
    session_release(s);
    return 0;
}

// Leaves nothing on the stack.
static holder *holder_get(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &holder_key) != LUA_TUSERDATA) {
        lua_pop(L, 1);
        holder *h = lua_newuserdatauv(L, sizeof *h, 0);
        h->session = NULL;
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, holder_gc);
        lua_setfield(L, -2, "__gc");
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &holder_key);
    }
    holder *h = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return h;
}

// Lua 5.1 does not tell which state is the main one, so it is remembered when it is seen.
void session_note_main(lua_State *L) {
#if LUA_VERSION_NUM < 502
    if (lua_pushthread(L)) {
        lua_rawsetp(L, LUA_REGISTRYINDEX, &main_key);
    } else {
        lua_pop(L, 1);
    }
#else
    (void)L;
    (void)main_key;
#endif
}

// Never seen: then the state that starts the session takes the place of the main one.
static lua_State *main_state(lua_State *L) {
#if LUA_VERSION_NUM < 502
    session_note_main(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &main_key);
#else
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
#endif
    lua_State *found = lua_tothread(L, -1);
    lua_pop(L, 1);
    return found ? found : L;
}

// ---------------------------------------------------------------- a profile for it

static ouro_metric metric_add(ouro_metric_info *list, size_t *count, const char *name,
                              const char *unit) {
    list[*count] = (ouro_metric_info){name, unit};
    return (ouro_metric)(*count)++;
}

// 0: the duration, or there is no such metric.
static uint32_t slow_by(const settings *wanted, const ouro_metric_info *metrics, size_t count) {
    for (uint32_t i = 0; wanted->slice_by && i < count; i++) {
        if (strcmp(metrics[i].name, wanted->slice_by) == 0) return i + 1;
    }
    return 0;
}

static bool profile_new(session *s) {
    const settings *wanted = &s->settings;
    ouro_metric_info metrics[OURO_METRICS_MAX];
    size_t count = 0;
    s->time = metric_add(metrics, &count, wanted->cpu ? "cpu" : "time", "nanoseconds");
    s->instructions = s->allocations = s->allocated = s->freed = NOWHERE;
    if (wanted->instructions)
        s->instructions = metric_add(metrics, &count, "instructions", "count");
    if (wanted->memory) {
        s->allocations = metric_add(metrics, &count, "allocations", "count");
        s->allocated = metric_add(metrics, &count, "allocated", "bytes");
        s->freed = metric_add(metrics, &count, "freed", "bytes");
    }
    if (lua_is_jit()) s->samples = metric_add(metrics, &count, "samples", "count");
    ouro_slice_options slices = {.name = wanted->slice, .by = slow_by(wanted, metrics, count)};
    if (wanted->slice_by && !slices.by && strcmp(wanted->slice_by, "duration") != 0) {
        errno = EDOM;
        return false;
    }
    ouro_options options = {.compaction = wanted->compaction,
                            .edge_length = wanted->edge_length,
                            .max_nodes = wanted->max_nodes,
                            .metrics = metrics,
                            .metric_count = count,
                            .path = wanted->live,
                            .slices = slices};
    s->profile =
        wanted->output ? output_profile(wanted->output, &options) : ouro_profile_new(&options);
    if (!s->profile) return false;
    s->blocks.profile = s->profile;
    s->gc = ouro_add_block(s->profile, &(ouro_block_info){.name = "(gc)"});
    s->anonymous = ouro_add_block(s->profile, &(ouro_block_info){.name = "(anonymous)"});
    s->root = ouro_thread_new(s->profile);
    return s->root != NULL;
}

static void hide_own_functions(session *s) {
    for (const luaL_Reg *f = ouro_module_functions; f->name; f++) {
        block_map_put(&s->blocks.by_pointer, hash_number(0, (uint64_t)(uintptr_t)f->func),
                      OURO_PHANTOM);
    }
}

static session *session_new(const settings *wanted) {
    static uint64_t numbers;
    session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->references = 1;
    s->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
    s->settings = *wanted;
    s->settings.slice = wanted->slice ? strdup(wanted->slice) : NULL;
    if (s->settings.period <= 0) s->settings.period = 1000;
    bool made = (s->settings.slice || !wanted->slice) && profile_new(s);
    s->settings.output = NULL; // belong to the caller
    s->settings.live = s->settings.slice_by = NULL;
    if (!made) {
        int error = errno;
        session_free(s);
        errno = error;
        return NULL;
    }
    hide_own_functions(s);
    return s;
}

// ---------------------------------------------------------------- start and stop

static lua_CFunction coroutine_function(lua_State *L, const char *name) {
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_CFunction function = NULL;
    if (lua_getfield(L, -1, LUA_COLIBNAME) == LUA_TTABLE) {
        lua_getfield(L, -1, name);
        function = lua_tocfunction(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return function;
}

// Called by lua_pcall with the session, because any step may raise an out-of-memory error. Records
// the state that called ouro.start. Returns whether the session runs; errno says why not.
static int start_protected(lua_State *L) {
    session *s = lua_touserdata(L, 1);
    s->frames_known = frames_are_known(L);
    s->resume = coroutine_function(L, "resume");
    s->close = coroutine_function(L, "close");
    lua_pushthread(L); // keeps it alive while the session refers to it
    lua_rawsetp(L, LUA_REGISTRYINDEX, &starter_key);
    bool runs = lua_is_jit()          ? jit_start(s, L)
                : s->settings.precise ? precise_start(s, L)
                                      : sample_start(s, L);
    lua_pushboolean(L, runs);
    return 1;
}

session *session_start(lua_State *L, const settings *wanted) {
    luaL_checkstack(L, LUA_MINSTACK, "to start a profile");
    holder *h = holder_get(L);
    if (h->session && h->session->running) {
        lua_pushliteral(L, "a profile is being recorded already");
        return NULL;
    }
    if (lua_is_jit() && wanted->precise) {
        lua_pushliteral(L, "LuaJIT calls no hooks in compiled code, so it can only be sampled: "
                           "leave out precise, instructions and memory");
        return NULL;
    }
    settings here = *wanted;
    if (lua_is_jit()) here.cpu = true; // its profiler has no other clock
    session *s = session_new(&here);
    if (!s) {
        if (errno == EDOM)
            lua_pushfstring(L, "there is no metric \"%s\" to slice by", wanted->slice_by);
        else
            lua_pushfstring(L, "cannot make a profile: %s", strerror(errno));
        return NULL;
    }
    session_release(h->session);
    h->session = s;
    s->main = main_state(L);
    block_map_put(&s->blocks.by_pointer, hash_number(0, (uint64_t)(uintptr_t)start_protected),
                  OURO_PHANTOM);
    lua_pushcfunction(L, start_protected);
    lua_pushlightuserdata(L, s);
    int status = lua_pcall(L, 1, 1, 0);
    int error = errno;
    if (status == LUA_OK && lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        return s;
    }
    session_stop(s);
    if (status == LUA_OK) {
        lua_pop(L, 1);
        lua_pushfstring(L, "cannot start the clock: %s%s", strerror(error),
                        error == EBUSY ? " (the program uses every signal that ticks could come by)"
                                       : "");
    }
    return NULL;
}

void session_stop(session *s) {
    if (!s->main) return;
    lua_State *L = s->main;
    s->running = false;
    if (lua_is_jit()) jit_stop(s);
    if (s->settings.precise) {
        precise_stop(s);
    } else {
        sample_stop(s);
    }
    if (!lua_checkstack(L, LUA_MINSTACK)) return;
    if (s->settings.precise) {
        hooks_remove(L);
    } else {
        resume_remove(L);
    }
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &starter_key);
}

void session_charge_rest(session *s) {
    if (s->jit_interval) jit_charge_rest(s);
    if (!s->ticker || s->ticker->busy) return;
    if (s->sampler) {
        sample_charge_rest(s);
    } else if (s->current) {
        uint64_t rest = ticker_take(s->ticker) * s->ticker->period;
        ouro_count(s->current->thread, s->time, rest);
    }
}

int session_write(session *s, const char *path) { return write_profile(s->profile, path); }

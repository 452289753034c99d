// SPDX-License-Identifier: MIT
//
// Precise mode: the hook that is called for every call, tail call and return.
//
// Lua does not tell of everything: an error leaves frames without a word, a hook may be away for a
// while, and recording may begin in the middle. So each event is compared with what we have: at a
// call, the caller must be the frame on top of ours; at a return or a tail call, the frame itself.
// That is one comparison of addresses. If it fails, frames are left until it holds, and if none
// fits, those that are missing are looked up in Lua's stack.
//
// A function is known by its address: once seen, its block is found with one look into a table.
// memory.c takes an address out when another function is made there.

#include "precise.h"

static bool is_marked(const frame *f) { return f->mark != 0; }

static size_t find_frame(const coroutine *co, const void *ci) {
    size_t d = co->depth;
    while (d && co->frames[d - 1].ci != ci) d--;
    return d;
}

static size_t cache_index(const void *function) {
    return (size_t)(((uint64_t)(uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15)) >>
                    (64 - CACHE_BITS));
}

void precise_forget_function(session *s, const void *function) {
    cached *entry = &s->cache[cache_index(function)];
    if (entry->function == function) entry->function = NULL;
}

static __attribute__((noinline)) void cache_fill(session *s, lua_State *L, lua_Debug *ar,
                                                 cached *entry, const void *function) {
    entry->block = names_block(s, L, ar, &entry->resumes);
    entry->function = function;
}

// The function of a frame stays on the stack.
static inline const cached *look_up(session *s, lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "f", ar);
    const void *function = lua_topointer(L, -1);
    cached *entry = &s->cache[cache_index(function)];
    if (__builtin_expect(entry->function != function, 0)) cache_fill(s, L, ar, entry, function);
    return entry;
}

// Whoever starts Lua is a C function without a name, below everything. It is not shown.
static bool is_host(lua_State *L, lua_Debug *ar, int level) {
    lua_Debug below;
    if (lua_getstack(L, level + 1, &below) || !lua_getinfo(L, "Sn", ar)) return false;
    return *ar->what == 'C' && !ar->name;
}

// Looks for the frames from `first` outwards that we do not have, and enters them.
static void look_up_frames(coroutine *co, lua_State *L, int first) {
    lua_Debug ar;
    size_t depth = 0;
    int level = first;
    for (; lua_getstack(L, level, &ar); level++) {
        depth = find_frame(co, ar.i_ci);
        if (depth) break;
    }
    coroutine_unwind(co, depth);
    while (--level >= first && lua_getstack(L, level, &ar)) {
        ouro_block block = OURO_PHANTOM;
        if (!is_host(L, &ar, level)) {
            block = look_up(co->session, L, &ar)->block;
            lua_pop(L, 1);
        }
        coroutine_push(co, ar.i_ci, block, false);
    }
}

// Makes `ci`, which is Lua's frame at `level`, the frame on top; NULL: there is no such frame.
static __attribute__((noinline)) void synchronise(coroutine *co, lua_State *L, void *ci,
                                                  int level) {
    size_t depth = ci ? find_frame(co, ci) : 0;
    if (ci && !depth) {
        look_up_frames(co, L, level);
    } else {
        coroutine_unwind(co, depth);
    }
}

static inline void *top_ci(const coroutine *co) {
    return co->depth ? co->frames[co->depth - 1].ci : NULL;
}

// A coroutine that was made before the session, or by somebody who hides it, has no hook.
static void before_resume(session *s, lua_State *L, lua_Debug *ar) {
    bool pushed = lua_getupvalue(L, -1, 1) != NULL;
    if (!pushed) pushed = lua_getlocal(L, ar, 1) != NULL;
    lua_State *other = pushed ? lua_tothread(L, -1) : NULL;
    if (pushed) lua_pop(L, 1);
    if (!other || lua_gethook(other) == precise_hook) return;
    coroutine *co = coroutine_find(s, other);
    if (!co) co = coroutine_add(s, other);
    if (!co) return;
    co->chain = (chain){lua_gethook(other), lua_gethookmask(other), lua_gethookcount(other)};
    precise_rehook(co);
}

static inline void on_call(coroutine *co, lua_State *L, lua_Debug *ar) {
    lua_Debug caller;
    void *caller_ci = lua_getstack(L, 1, &caller) ? caller.i_ci : NULL;
    if (!LIKELY(caller_ci == top_ci(co))) synchronise(co, L, caller_ci, 1);
    const cached *found = look_up(co->session, L, ar);
    if (__builtin_expect(found->resumes, 0)) before_resume(co->session, L, ar);
    lua_pop(L, 1);
    if (LIKELY(co->depth < co->capacity)) {
        ouro_position token = ouro_enter(co->thread, found->block);
        co->frames[co->depth++] = (frame){ar->i_ci, token, found->block, 0};
    } else {
        coroutine_push(co, ar->i_ci, found->block, true);
    }
}

static inline void on_tail_call(coroutine *co, lua_State *L, lua_Debug *ar) {
    if (!LIKELY(top_ci(co) == ar->i_ci)) {
        size_t depth = find_frame(co, ar->i_ci);
        if (!depth) { // we never saw the frame that is replaced
            on_call(co, L, ar);
            return;
        }
        coroutine_unwind(co, depth);
    }
    while (is_marked(&co->frames[co->depth - 1])) coroutine_unwind(co, co->depth - 1);
    ouro_block block = look_up(co->session, L, ar)->block;
    lua_pop(L, 1);
    ouro_replace(co->thread, block);
    co->frames[co->depth - 1].block = block;
}

static inline void on_return(coroutine *co, const lua_Debug *ar) {
    if (!LIKELY(top_ci(co) == ar->i_ci)) {
        size_t depth = find_frame(co, ar->i_ci);
        if (!depth) return; // never saw it: nothing to leave
        coroutine_unwind(co, depth);
    }
    bool marked;
    do { // marks that are still open end with their function
        const frame *f = &co->frames[--co->depth];
        marked = is_marked(f);
        ouro_exit(co->thread, f->token);
    } while (__builtin_expect(marked, 0));
}

void precise_hook(lua_State *L, lua_Debug *ar) {
    coroutine *co = coroutine_here(L);
    if (!co) {
        const session *s = session_of(L);
        if (!s || !s->running) lua_sethook(L, NULL, 0, 0);
        return;
    }
    if (ar->event == LUA_HOOKCALL) {
        on_call(co, L, ar);
    } else if (ar->event == LUA_HOOKRET) {
        on_return(co, ar);
    } else if (ar->event == LUA_HOOKTAILCALL) {
        on_tail_call(co, L, ar);
    } else if (ar->event == LUA_HOOKCOUNT && co->session->settings.instructions) {
        ouro_count(co->thread, co->session->instructions, (uint64_t)co->session->settings.period);
    }
    if (__builtin_expect(co->chain.hook != NULL, 0)) hooks_call(co, L, ar);
}

// Sets our hook, with what the program's own asks for as well.
void precise_rehook(coroutine *co) {
    const session *s = co->session;
    int mask = LUA_MASKCALL | LUA_MASKRET | co->chain.mask, count = co->chain.count;
    if (s->settings.instructions) {
        mask |= LUA_MASKCOUNT;
        count = s->settings.period;
    }
    lua_sethook(co->L, precise_hook, mask, count);
}

static coroutine *adopt(session *s, lua_State *L) {
    coroutine *co = coroutine_add(s, L);
    if (!co) return NULL;
    co->chain = (chain){lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
    precise_rehook(co);
    return co;
}

// ---------------------------------------------------------------- garbage collection

// An object that nobody refers to, with the session's number in it: its finalizer runs at the end
// of each collection, and by setting the metatable again asks for the next one.
static const char sentinel_key = 0;

static int sentinel_gc(lua_State *L) {
    const session *s = session_of(L);
    const uint64_t *number = lua_touserdata(L, 1);
    if (!s || !s->running || s->number != *number) return 0;
    if (s->current) ouro_exit(s->current->thread, ouro_enter(s->current->thread, s->gc));
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sentinel_key);
    lua_setmetatable(L, 1);
    return 0;
}

static void sentinel_start(lua_State *L, uint64_t number) {
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, sentinel_gc);
    lua_setfield(L, -2, "__gc");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sentinel_key);
    *(uint64_t *)lua_newuserdatauv(L, sizeof number, 0) = number;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sentinel_key);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

// ---------------------------------------------------------------- start and stop

bool precise_start(session *s, lua_State *L) {
    if (!memory_watch(s)) return false;
    sentinel_start(L, s->number);
    lua_newthread(L); // to learn its size
    lua_pop(L, 1);
    hooks_install(L);
    s->foreign = (chain){lua_gethook(s->main), lua_gethookmask(s->main), lua_gethookcount(s->main)};
    if (!adopt(s, s->main)) return false;
    coroutine *co = s->main == L ? coroutine_find(s, L) : adopt(s, L);
    s->running = true;
    // Below the main one, as if it were resumed from there: who resumed it is not to be found out.
    if (!co || !coroutine_arrive(s->main)) return false;
    look_up_frames(s->current, s->main, 0);
    co = coroutine_arrive(L);
    if (!co) return false;
    if (L != s->main) look_up_frames(co, L, 0);
    return ouro_clock_start(co->thread, s->time, s->settings.hz) == 0;
}

void precise_stop(session *s) {
    for (size_t i = 0; i < BUCKETS && s->main; i++) {
        for (const coroutine *co = s->buckets[i]; co; co = co->next) {
            if (lua_gethook(co->L) == precise_hook)
                lua_sethook(co->L, co->chain.hook, co->chain.mask, co->chain.count);
        }
    }
    coroutines_free(s);
    memory_unwatch(s);
}

// ---------------------------------------------------------------- marks

// Called by a function of ours, which is the frame on top: the mark belongs to its caller.
uint64_t precise_mark(session *s, lua_State *L, ouro_block block) {
    coroutine *co = coroutine_here(L);
    lua_Debug caller;
    if (!co || !lua_getstack(L, 1, &caller)) return 0;
    if (top_ci(co) != caller.i_ci) synchronise(co, L, caller.i_ci, 1);
    coroutine_push(co, caller.i_ci, block, true);
    if (top_ci(co) != caller.i_ci) return 0;
    return co->frames[co->depth - 1].mark = ++s->next_mark;
}

// It may stand in a frame further up than the caller, or be gone already.
void precise_unmark(session *s, lua_State *L, uint64_t mark) {
    (void)s;
    coroutine *co = coroutine_here(L);
    for (size_t d = co ? co->depth : 0; d; d--) {
        if (co->frames[d - 1].mark == mark) {
            coroutine_unwind(co, d - 1);
            return;
        }
    }
}

// SPDX-License-Identifier: MIT
//
// Precise mode: the hook that is called for every call and tail call.
//
// It is not called for returns: that would cost as much again, and would miss the frames that an
// error unwinds. Instead, a call names its caller by the address of the caller's frame, and the
// frames that we have above it have ended. If the caller is missing (recording began in the middle,
// or the hook was removed for a while), it is looked up in Lua's stack. Between a return and the
// next call our position is too deep, so ticks and instructions are charged only after comparing
// with Lua's stack. An allocation cannot do that: with memory as a metric, the hook is called for
// returns as well.
//
// A direct-mapped cache finds the block of a function by the function's address. memory.c removes
// an address when another function is made there.

#include "precise.h"

#include <stdlib.h>

static bool is_marked(const frame *f) { return f->mark != 0; }

static size_t find_frame(const coroutine *co, const void *ci) {
    size_t d = co->depth;
    while (d && co->frames[d - 1].ci != ci) d--;
    return d;
}

void precise_forget_function(session *s, const void *function) {
    cached *entry = &s->cache[cache_index(function)];
    if (entry->function == function) entry->function = NULL;
}

static const void *function_pointer(lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "f", ar);
    const void *function = lua_topointer(L, -1);
    lua_pop(L, 1);
    return function;
}

static __attribute__((noinline)) void cache_fill(session *s, lua_State *L, lua_Debug *ar,
                                                 cached *entry, const void *function) {
    lua_getinfo(L, "f", ar);
    entry->block = names_block(s, L, ar, &entry->resumes);
    entry->function = function;
    lua_pop(L, 1);
}

static inline const cached *look_up(session *s, lua_State *L, lua_Debug *ar) {
    const void *function = FRAMES_HAVE_FUNCTIONS && LIKELY(s->frames_known)
                               ? frame_function(frame_id(ar))
                               : function_pointer(L, ar);
    cached *entry = &s->cache[cache_index(function)];
    if (__builtin_expect(entry->function != function, 0)) cache_fill(s, L, ar, entry, function);
    return entry;
}

// The outermost frame is the nameless C function that started Lua. It is not shown.
static bool is_host(lua_State *L, lua_Debug *ar) {
    return lua_getinfo(L, "Sn", ar) && *ar->what == 'C' && !ar->name;
}

// Enters the frames from level `first` outwards that have no record yet. Without memory for all of
// them, the outer ones are left out.
static void look_up_frames(coroutine *co, lua_State *L, int first) {
    const void **ids = NULL;
    size_t count = 0, room = 0, depth = 0;
    frame_walk w;
    bool more = frames_begin(&w, L, first, co->session->frames_known), host = false;
    for (; more && !(depth = find_frame(co, frame_id(&w.ar))); more = frames_next(&w)) {
        if (count == room) {
            const void **larger = realloc(ids, (room = room ? room * 2 : 64) * sizeof *ids);
            if (!larger) break;
            ids = larger;
        }
        ids[count++] = frame_id(&w.ar);
        host = frames_at_end(&w);
    }
    coroutine_unwind(co, depth);
    for (; count > 0; count--, host = false) {
        lua_Debug ar = frame_debug(ids[count - 1]);
        ouro_block block =
            host && is_host(L, &ar) ? OURO_PHANTOM : look_up(co->session, L, &ar)->block;
        coroutine_push(co, frame_id(&ar), block, false);
    }
    free(ids);
}

// Lua 5.1 reports a tail call as a call, in a frame above the one that it replaces; the new frame
// takes the other's place after the event. So if a frame of a Lua function is the caller or the
// running one, and the frame above it has not returned, that frame has moved there. An error could
// also have ended it without a return, but then only a C function can go on. The path is right
// already: a function that is tail called stands below the one that called it.
static void move_tail_calls(coroutine *co, lua_State *L, const void *ci, size_t depth) {
    lua_Debug ar = frame_debug(ci);
    if (co->depth <= depth || frame_caller(co->frames[depth].ci) != ci ||
        !lua_getinfo(L, "S", &ar) || *ar.what == 'C') {
        coroutine_unwind(co, depth);
        return;
    }
    coroutine_unwind(co, depth + 1);
    size_t replaced = depth;
    while (replaced && co->frames[replaced - 1].ci == ci) replaced--;
    frame moved = co->frames[depth];
    moved.ci = (void *)ci;
    moved.token = co->frames[replaced].token;
    co->frames[replaced] = moved;
    co->depth = replaced + 1;
}

// Exits the frames that ended above the frame `ci`, Lua's frame at `level`. NULL: all have ended.
static inline void synchronise(coroutine *co, lua_State *L, const void *ci, int level) {
    size_t depth = ci ? find_frame(co, ci) : 0;
    if (__builtin_expect(ci && !depth, 0)) {
        look_up_frames(co, L, level);
    } else if (LUA_VERSION_NUM == 501 && ci) {
        if (co->depth > depth) move_tail_calls(co, L, ci, depth);
    } else {
        coroutine_unwind(co, depth);
    }
}

static inline void *top_ci(const coroutine *co) {
    return co->depth ? co->frames[co->depth - 1].ci : NULL;
}

// Charges the ticks to the current position, which agrees with Lua's stack now, and disarms.
static __attribute__((noinline)) void on_tick(coroutine *co, const lua_Debug *ar) {
    session *s = co->session;
    ticker *t = s->ticker;
    uint64_t start = ticker_now();
    t->busy = 1;
    bool collecting =
        ar->event == LUA_HOOKCOUNT && !s->settings.instructions && ticker_was_late(t, start);
    ouro_position caller = 0;
    if (collecting) caller = ouro_reenter(co->thread, s->gc);
    ouro_count(co->thread, s->time, ticker_take(t) * t->period);
    if (collecting) ouro_exit(co->thread, caller);
    if (!s->settings.instructions) precise_rehook(co);
    ticker_rest(t, start);
    t->busy = 0;
}

static inline bool is_due(const coroutine *co) { return co->session->ticker->due != 0; }

// A coroutine that was made before the session, or by C code, may have no hook yet.
static __attribute__((noinline)) void before_resume(session *s, lua_State *L, lua_Debug *ar) {
    int top = lua_gettop(L);
    lua_getinfo(L, "f", ar);
    bool pushed = lua_getupvalue(L, -1, 1) != NULL;
    if (!pushed) pushed = lua_getlocal(L, ar, 1) != NULL;
    lua_State *other = pushed ? lua_tothread(L, -1) : NULL;
    lua_settop(L, top);
    if (!other || lua_gethook(other) == precise_hook) return;
    coroutine *co = coroutine_find(s, other);
    if (!co) co = coroutine_add(s, other);
    if (!co) return;
    co->chain = (chain){lua_gethook(other), lua_gethookmask(other), lua_gethookcount(other)};
    precise_rehook(co);
}

static inline void *caller_of(const coroutine *co, lua_State *L, const lua_Debug *ar) {
    if (LIKELY(co->session->frames_known)) return frame_caller(frame_id(ar));
    lua_Debug caller;
    return lua_getstack(L, 1, &caller) ? frame_id(&caller) : NULL;
}

static inline void on_call(coroutine *co, lua_State *L, lua_Debug *ar) {
    synchronise(co, L, caller_of(co, L, ar), 1);
    if (__builtin_expect(is_due(co), 0)) on_tick(co, ar);
    const cached *found = look_up(co->session, L, ar);
    if (__builtin_expect(found->resumes, 0)) before_resume(co->session, L, ar);
    if (LIKELY(co->depth < co->capacity)) {
        ouro_position token = ouro_enter(co->thread, found->block);
        co->frames[co->depth++] = (frame){frame_id(ar), token, found->block, 0};
    } else {
        coroutine_push(co, frame_id(ar), found->block, true);
    }
}

// In 5.3 the event comes from a frame above the one that is replaced.
static void on_tail_call(coroutine *co, lua_State *L, lua_Debug *ar) {
    const void *replaced = event_is_in_callee(ar) ? caller_of(co, L, ar) : frame_id(ar);
    size_t depth = find_frame(co, replaced);
    if (!depth) { // the frame that is replaced has no record
        on_call(co, L, ar);
        return;
    }
    coroutine_unwind(co, depth);
    while (is_marked(&co->frames[co->depth - 1])) coroutine_unwind(co, co->depth - 1);
    if (is_due(co)) on_tick(co, ar);
    ouro_block block = look_up(co->session, L, ar)->block;
    ouro_replace(co->thread, block);
    co->frames[co->depth - 1].block = block;
}

static void on_return(coroutine *co, lua_State *L, lua_Debug *ar) {
    synchronise(co, L, frame_id(ar), 0);
    if (is_due(co)) on_tick(co, ar);
    if (!co->session->returns) return; // the next call will show it
    while (co->depth && top_ci(co) == frame_id(ar)) coroutine_unwind(co, co->depth - 1);
}

static void on_count(coroutine *co, lua_State *L, lua_Debug *ar) {
    const session *s = co->session;
    synchronise(co, L, frame_id(ar), 0);
    if (s->settings.instructions)
        ouro_count(co->thread, s->instructions, (uint64_t)s->settings.period);
    if (is_due(co)) on_tick(co, ar);
}

void precise_hook(lua_State *L, lua_Debug *ar) {
    coroutine *co = coroutine_here(L);
    if (!co) {
        const session *s = session_of(L);
        if (!s || !s->running) lua_sethook(L, NULL, 0, 0);
        return;
    }
    if (LIKELY(ar->event == LUA_HOOKCALL)) {
        on_call(co, L, ar);
    } else if (ar->event == LUA_HOOKTAILCALL) {
        on_tail_call(co, L, ar);
    } else if (ar->event == LUA_HOOKRET) {
        on_return(co, L, ar);
    } else if (ar->event == LUA_HOOKCOUNT) {
        on_count(co, L, ar);
    }
    if (__builtin_expect(co->chain.hook != NULL, 0)) hooks_call(co, L, ar);
}

static int usual_mask(const coroutine *co) {
    const session *s = co->session;
    return LUA_MASKCALL | co->chain.mask | (s->returns ? LUA_MASKRET : 0) |
           (s->settings.instructions ? LUA_MASKCOUNT : 0);
}

// In the signal handler: the hook is called for the next event of any kind. If instructions are
// counted, it is called often enough anyway, and setting it would restart the count.
static void precise_arm(session *s, ticker *t) {
    (void)t;
    const coroutine *co = s->current;
    while (co && co->resumer && !coroutine_is_active(co->L)) co = co->resumer;
    if (!co || s->settings.instructions || lua_gethook(co->L) != precise_hook) return;
    lua_sethook(co->L, precise_hook, usual_mask(co) | LUA_MASKRET | LUA_MASKCOUNT, 1);
    session_urgent(s, co->L);
}

// Sets our hook for our events and for those that the program's own hook asks for.
void precise_rehook(const coroutine *co) {
    const session *s = co->session;
    int count = s->settings.instructions ? s->settings.period : co->chain.count;
    lua_sethook(co->L, precise_hook, usual_mask(co), count);
    session_urgent(s, co->L);
}

static coroutine *adopt(session *s, lua_State *L) {
    coroutine *co = coroutine_add(s, L);
    if (!co) return NULL;
    co->chain = (chain){lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
    precise_rehook(co);
    return co;
}

// ---------------------------------------------------------------- garbage collection

// An object without references, with the session's number in it. Its finalizer runs at the end of
// each collection; it is then used again, or another one made, for the next.
static const char sentinel_key = 0;

static void sentinel_new(lua_State *L, uint64_t number) {
    *(uint64_t *)lua_newuserdatauv(L, sizeof number, 0) = number;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sentinel_key);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

static int sentinel_gc(lua_State *L) {
    const session *s = session_of(L);
    const uint64_t *number = lua_touserdata(L, 1);
    if (!s || !s->running || s->number != *number) return 0;
    if (s->current) ouro_exit(s->current->thread, ouro_enter(s->current->thread, s->gc));
#if LUA_VERSION_NUM >= 502
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sentinel_key);
    lua_setmetatable(L, 1); // marks it for the next one
#else
    sentinel_new(L, s->number);
#endif
    return 0;
}

static void sentinel_start(lua_State *L, uint64_t number) {
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, sentinel_gc);
    lua_setfield(L, -2, "__gc");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sentinel_key);
    sentinel_new(L, number);
}

// ---------------------------------------------------------------- start and stop

bool precise_start(session *s, lua_State *L) {
    if (!memory_watch(s)) return false;
    memory_learn(s, L);
    sentinel_start(L, s->number);
    hooks_install(L);
    s->arm = precise_arm;
    s->ticker = ticker_start(s, s->settings.hz, s->settings.cpu);
    if (!s->ticker) return false;
    s->foreign = (chain){lua_gethook(s->main), lua_gethookmask(s->main), lua_gethookcount(s->main)};
    s->returns = s->settings.memory || LUA_VERSION_NUM == 501;
    if (!adopt(s, s->main)) return false;
    coroutine *co = s->main == L ? coroutine_find(s, L) : adopt(s, L);
    s->running = true;
    // As if the main state had resumed it: Lua does not tell who did.
    if (!co || !coroutine_arrive(s->main)) return false;
    look_up_frames(s->current, s->main, 0);
    co = coroutine_arrive(L);
    if (!co) return false;
    if (L != s->main) look_up_frames(co, L, 0);
    return true;
}

void precise_stop(session *s) {
    uint64_t rest = ticker_stop(s->ticker);
    s->ticker = NULL;
    if (s->current && s->current->depth) ouro_count(s->current->thread, s->time, rest);
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

// The frame on top is our own C function; the mark belongs to its caller.
uint64_t precise_mark(session *s, lua_State *L, ouro_block block) {
    coroutine *co = coroutine_here(L);
    lua_Debug caller;
    if (!co || !lua_getstack(L, 1, &caller)) return 0;
    synchronise(co, L, frame_id(&caller), 1);
    coroutine_push(co, frame_id(&caller), block, true);
    if (top_ci(co) != frame_id(&caller)) return 0;
    return co->frames[co->depth - 1].mark = ++s->next_mark;
}

// The mark may stand in a frame outside the caller's, or be gone already.
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

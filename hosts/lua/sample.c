// SPDX-License-Identifier: MIT
//
// Sampling mode. A timer's signal arms a hook. Lua calls the hook at its next event; the hook
// charges the current path and disarms itself. Between two ticks the program runs at full speed.
//
// The event tells where the program was when the signal came. An instruction: in the running
// function. A return: in the function that returns, so long C functions are seen. A call: in
// the caller.
//
// ticker.c has the timer, and says what is charged to `(gc)`.

#include "sample.h"

#include <stdlib.h>
#include <string.h>

static void sample_hook(lua_State *L, lua_Debug *ar);

// In the signal handler.
static void sample_arm(session *s, ticker *t) {
    (void)t;
    resume_link *link = s->sampler->link;
    // The coroutine that began the session may have ended while no hook was set.
    while (link->from && !coroutine_is_active(link->L)) link = link->from;
    if (lua_gethook(link->L) != sample_hook) {
        link->saved =
            (chain){lua_gethook(link->L), lua_gethookmask(link->L), lua_gethookcount(link->L)};
    }
    link->armed = true;
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT | link->saved.mask;
    lua_sethook(link->L, sample_hook, mask, 1);
    session_urgent(s, link->L);
}

// ---------------------------------------------------------------- the walk

// All arrays double at once. Without memory the path is cut at its outer end.
static bool make_room(sampler *p) {
    if (p->walked_length < p->room) return true;
    size_t room = p->room ? p->room * 2 : 64;
    ouro_block *walked = realloc(p->walked, room * sizeof *walked);
    if (walked) p->walked = walked;
    ouro_block *path = realloc(p->path, room * sizeof *path);
    if (path) p->path = path;
    ouro_position *tokens = realloc(p->tokens, room * sizeof *tokens);
    if (tokens) p->tokens = tokens;
    if (!walked || !path || !tokens) return false;
    p->room = room;
    return true;
}

static void walk_add(sampler *p, ouro_block block) {
    if (block != OURO_PHANTOM && make_room(p)) p->walked[p->walked_length++] = block;
}

static void walk_marks(sampler *p, const lua_State *L, const void *ci, const void *function) {
    for (size_t i = p->mark_count; i > 0; i--) {
        const sample_mark_ *m = &p->marks[i - 1];
        if (m->L == L && m->ci == ci && m->function == function) walk_add(p, m->block);
    }
}

static void walk_state(session *s, sampler *p, lua_State *L, int level, bool outermost) {
    lua_Debug ar;
    if (!lua_checkstack(L, LUA_MINSTACK)) return;
    for (; lua_getstack(L, level, &ar); level++) {
        bool resumes;
        lua_getinfo(L, "f", &ar);
        const void *function = lua_topointer(L, -1);
        ouro_block block = names_block(s, L, &ar, &resumes);
        lua_pop(L, 1);
        lua_Debug below;
        bool host = outermost && *ar.what == 'C' && !lua_getstack(L, level + 1, &below) &&
                    lua_getinfo(L, "n", &ar) && !ar.name;
        walk_marks(p, L, ar.i_ci, function);
        if (!host) walk_add(p, block);
    }
}

// Exits the blocks that are not on the new path and enters its new ones.
static void move_to_walked(sampler *p) {
    size_t n = p->walked_length, same = 0;
    while (same < p->length && same < n && p->path[same] == p->walked[n - 1 - same]) same++;
    while (p->length > same) ouro_exit(p->thread, p->tokens[--p->length]);
    for (; p->length < n; p->length++) {
        p->path[p->length] = p->walked[n - 1 - p->length];
        p->tokens[p->length] = ouro_reenter(p->thread, p->path[p->length]);
    }
}

static void charge(session *s, lua_State *L, const lua_Debug *ar, bool collecting) {
    sampler *p = s->sampler;
    p->walked_length = 0;
    if (collecting) walk_add(p, s->gc);
    for (const resume_link *link = p->link; link; link = link->from) {
        int level = link->L == L && ar->event == LUA_HOOKCALL ? 1 : 0;
        walk_state(s, p, link->L, level, link->from == NULL);
    }
    move_to_walked(p);
    ouro_count(p->thread, s->time, ticker_take(s->ticker) * s->ticker->period);
}

// Returns the program's hook for L. L may have no hook now, or be new and have inherited ours.
static chain disarm(const sampler *p, lua_State *L) {
    resume_link *link = p->link;
    while (link && link->L != L) link = link->from;
    chain saved = link && link->armed ? link->saved : (chain){0};
    if (link) link->armed = false;
    lua_sethook(L, saved.hook, saved.mask, saved.count);
    return saved;
}

// A count event is ours alone: we set the count to 1, so the program's count has not elapsed.
static bool is_wanted(const chain *saved, int event) {
    if (event == LUA_HOOKCALL || event == LUA_HOOKTAILCALL) return saved->mask & LUA_MASKCALL;
    if (event == LUA_HOOKRET) return saved->mask & LUA_MASKRET;
    return event == LUA_HOOKLINE && saved->mask & LUA_MASKLINE;
}

static void sample_hook(lua_State *L, lua_Debug *ar) {
    session *s = session_of(L);
    if (!s || !s->running || !s->sampler || !s->ticker) {
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    ticker *t = s->ticker;
    uint64_t start = ticker_now();
    t->busy = 1;
    chain saved = disarm(s->sampler, L);
    session_urgent(s, L);
    if (t->ticks) {
        charge(s, L, ar, ar->event == LUA_HOOKCOUNT && ticker_was_late(t, start));
        ticker_rest(t, start);
    }
    t->busy = 0;
    if (is_wanted(&saved, ar->event)) saved.hook(L, ar);
}

// ---------------------------------------------------------------- start and stop

bool sample_start(session *s, lua_State *L) {
    sampler *p = calloc(1, sizeof *p);
    if (!p) return false;
    s->sampler = p;
    p->base[0] = (resume_link){.L = s->main};
    p->base[1] = (resume_link){.L = L, .from = &p->base[0]};
    p->link = &p->base[L == s->main ? 0 : 1];
    p->thread = ouro_thread_new(s->profile);
    if (!p->thread) return false;
    s->running = true;
    s->arm = sample_arm;
    s->ticker = ticker_start(s, s->settings.hz);
    if (!s->ticker) return false;
    resume_install(s, L);
    return true;
}

void sample_stop(session *s) {
    uint64_t rest = ticker_stop(s->ticker);
    s->ticker = NULL;
    sampler *p = s->sampler;
    s->sampler = NULL;
    if (!p) return;
    if (p->length) ouro_count(p->thread, s->time, rest); // where it was seen last
    for (const resume_link *link = p->link; link && s->main; link = link->from) {
        if (link->armed && lua_gethook(link->L) == sample_hook)
            lua_sethook(link->L, link->saved.hook, link->saved.mask, link->saved.count);
    }
    while (p->length) ouro_exit(p->thread, p->tokens[--p->length]);
    ouro_thread_free(p->thread);
    free(p->path);
    free(p->walked);
    free(p->tokens);
    free(p->marks);
    free(p);
}

// ---------------------------------------------------------------- marks

uint64_t sample_mark(session *s, lua_State *L, ouro_block block) {
    sampler *p = s->sampler;
    lua_Debug caller;
    if (!p || !lua_getstack(L, 1, &caller)) return 0;
    if (p->mark_count == p->mark_room) {
        size_t room = p->mark_room ? p->mark_room * 2 : 16;
        sample_mark_ *marks = realloc(p->marks, room * sizeof *marks);
        if (!marks) return 0;
        p->marks = marks;
        p->mark_room = room;
    }
    lua_getinfo(L, "f", &caller);
    const void *function = lua_topointer(L, -1);
    lua_pop(L, 1);
    p->marks[p->mark_count++] = (sample_mark_){++s->next_mark, L, caller.i_ci, function, block};
    return s->next_mark;
}

void sample_unmark(session *s, uint64_t mark) {
    sampler *p = s->sampler;
    for (size_t i = p ? p->mark_count : 0; i > 0; i--) {
        if (p->marks[i - 1].id != mark) continue;
        p->mark_count--;
        memmove(&p->marks[i - 1], &p->marks[i], (p->mark_count - (i - 1)) * sizeof *p->marks);
        return;
    }
}

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

void walk_add(sampler *p, ouro_block block) {
    if (block != OURO_PHANTOM && make_room(p)) p->walked[p->walked_length++] = block;
}

void walk_marks(sampler *p, const lua_State *L, const void *ci, const void *function) {
    for (size_t i = p->mark_count; i > 0; i--) {
        const sample_mark_ *m = &p->marks[i - 1];
        if (m->L == L && m->ci == ci && m->function == function) walk_add(p, m->block);
    }
}

static __attribute__((noinline)) void cache_fill(session *s, frame_walk *w, cached *entry,
                                                 const void *function) {
    lua_getinfo(w->L, "f", &w->ar);
    *entry = (cached){.function = function, .walk = s->walk};
    entry->block = names_block(s, w->L, &w->ar, &entry->resumes);
    lua_pop(w->L, 1);
}

static const void *function_pointer(frame_walk *w) {
    if (FRAMES_HAVE_FUNCTIONS && w->known) return frame_function(frame_id(&w->ar));
    lua_getinfo(w->L, "f", &w->ar);
    const void *function = lua_topointer(w->L, -1);
    lua_pop(w->L, 1);
    return function;
}

// The outermost frame is the nameless C function that started Lua. It is not shown.
static bool is_host(frame_walk *w) {
    return frames_at_end(w) && lua_getinfo(w->L, "Sn", &w->ar) && *w->ar.what == 'C' && !w->ar.name;
}

// Nothing is collected during a walk, so a function's address stands for it.
static void walk_state(session *s, sampler *p, lua_State *L, int level, bool outermost) {
    if (!lua_checkstack(L, LUA_MINSTACK)) return;
    frame_walk w;
    for (bool more = frames_begin(&w, L, level, s->frames_known); more; more = frames_next(&w)) {
        if (LUA_VERSION_NUM == 501 && !frame_id(&w.ar)) continue; // stands for a tail call
        const void *function = function_pointer(&w);
        cached *entry = &s->cache[cache_index(function)];
        if (entry->function != function || entry->walk != s->walk)
            cache_fill(s, &w, entry, function);
        walk_marks(p, L, frame_id(&w.ar), function);
        if (!outermost || !is_host(&w)) walk_add(p, entry->block);
    }
}

// Exits the blocks that are not on the new path and enters its new ones.
void move_to_walked(sampler *p) {
    size_t n = p->walked_length, same = 0;
    while (same < p->length && same < n && p->path[same] == p->walked[n - 1 - same]) same++;
    while (p->length > same) ouro_exit(p->thread, p->tokens[--p->length]);
    for (; p->length < n; p->length++) {
        p->path[p->length] = p->walked[n - 1 - p->length];
        p->tokens[p->length] = ouro_reenter(p->thread, p->path[p->length]);
    }
}

// The ticks are taken first: those that come during the walk are the profiler's own time.
static void charge(session *s, lua_State *L, const lua_Debug *ar, bool collecting) {
    sampler *p = s->sampler;
    uint64_t time = ticker_take(s->ticker) * s->ticker->period;
    p->walked_length = 0;
    s->walk++;
    if (collecting) walk_add(p, s->gc);
    for (const resume_link *link = p->link; link; link = link->from) {
        int level = link->L == L && event_is_in_callee(ar) ? 1 : 0;
        walk_state(s, p, link->L, level, link->from == NULL);
    }
    move_to_walked(p);
    ouro_note_stack(s->profile, p->path, p->length);
    ouro_count(p->thread, s->time, time);
    ticker_take(s->ticker);
}

void sample_charge_rest(session *s) {
    charge(s, s->sampler->link->L, &(lua_Debug){.event = LUA_HOOKCOUNT}, false);
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

bool sampler_new(session *s, lua_State *L) {
    sampler *p = calloc(1, sizeof *p);
    if (!p) return false;
    s->sampler = p;
    p->base[0] = (resume_link){.L = s->main};
    p->base[1] = (resume_link){.L = L, .from = &p->base[0]};
    p->link = &p->base[L == s->main ? 0 : 1];
    p->thread = ouro_thread_new(s->profile);
    return p->thread != NULL;
}

bool sample_start(session *s, lua_State *L) {
    if (!sampler_new(s, L)) return false;
    s->running = true;
    s->arm = sample_arm;
    s->ticker = ticker_start(s, s->settings.hz, s->settings.cpu);
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
    const void *function = lua_is_jit() ? NULL : lua_topointer(L, -1); // jit.c does not know it
    lua_pop(L, 1);
    p->marks[p->mark_count++] =
        (sample_mark_){++s->next_mark, L, frame_id(&caller), function, block};
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

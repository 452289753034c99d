// SPDX-License-Identifier: MIT
//
// Coroutines in precise mode: a record per lua_State, found by its address, with its open frames
// and a green thread of the profile.
//
// Lua has no event for resume, yield or the end of a coroutine. But every event comes from the
// lua_State that runs. If that is not the one that ran before, there are two cases. Either it is
// among those that wait for the one that ran; then all above it have yielded or ended. Or it was
// resumed, by the last state that is neither suspended nor dead.
//
// A path starts where the coroutine was resumed. If it is resumed from another position than
// before, its frames are entered again there, without counting calls.
//
// A record is freed with its lua_State: memory.c sees that.

#include "precise.h"

#include <stdlib.h>

_Thread_local __attribute__((tls_model("initial-exec"))) running_here here;
uint64_t sessions_ended;

static size_t bucket_of(const lua_State *L) {
    return (size_t)(hash_number(0, (uint64_t)(uintptr_t)L) % BUCKETS);
}

coroutine *coroutine_find(const session *s, const lua_State *L) {
    coroutine *co = s->buckets[bucket_of(L)];
    while (co && co->L != L) co = co->next;
    return co;
}

coroutine *coroutine_add(session *s, lua_State *L) {
    coroutine *co = calloc(1, sizeof *co);
    if (!co) return NULL;
    coroutine **bucket = &s->buckets[bucket_of(L)];
    *co = (coroutine){.L = L, .session = s, .chain = s->foreign, .next = *bucket};
    *bucket = co;
    return co;
}

// ---------------------------------------------------------------- frames

static bool frames_grow(coroutine *co) {
    size_t capacity = co->capacity ? co->capacity * 2 : 16;
    frame *frames = realloc(co->frames, capacity * sizeof *frames);
    if (!frames) return false;
    co->frames = frames;
    co->capacity = capacity;
    return true;
}

// Without memory the frame is not recorded. Its costs are charged to its caller, and a later event
// looks for it again.
void coroutine_push(coroutine *co, void *ci, ouro_block block, bool counted) {
    if (co->depth == co->capacity && !frames_grow(co)) return;
    ouro_position token = counted ? ouro_enter(co->thread, block) : ouro_reenter(co->thread, block);
    co->frames[co->depth++] = (frame){ci, token, block, 0};
}

// ---------------------------------------------------------------- who runs

// Moves the open frames of a coroutine to the position of `parent`.
static void set_base(coroutine *co, ouro_thread *parent) {
    ouro_position base = ouro_thread_position(parent);
    if (co->thread && co->base == base) return;
    size_t depth = co->depth, sliced = co->sliced;
    co->sliced = 0; // no frame ends
    coroutine_unwind(co, 0);
    co->sliced = sliced;
    ouro_thread_free(co->thread);
    co->thread = ouro_thread_fork(parent);
    co->base = base;
    for (; co->depth < depth; co->depth++) {
        frame *f = &co->frames[co->depth];
        f->token = ouro_reenter(co->thread, f->block);
    }
}

bool coroutine_is_active(lua_State *L) {
    lua_Debug ar;
    return lua_status(L) == LUA_OK && lua_getstack(L, 0, &ar);
}

static void unlink_record(session *s, coroutine *co) {
    coroutine **at = &s->buckets[bucket_of(co->L)];
    while (*at != co) at = &(*at)->next;
    *at = co->next;
}

static void record_free(coroutine *co) {
    if (here.co == co) here = (running_here){0};
    coroutine_unwind(co, 0);
    ouro_thread_free(co->thread);
    free(co->frames);
    free(co);
}

// The state that ran gives back control. If it has ended, its record is freed.
static void leave_current(session *s) {
    coroutine *co = s->current;
    s->current = co->resumer;
    co->running = false;
    co->resumer = NULL;
    int status = lua_status(co->L);
    if (co->chain.hook || status == LUA_YIELD || coroutine_is_active(co->L)) return;
    unlink_record(s, co);
    record_free(co);
}

static coroutine *resumed(session *s, lua_State *L, coroutine *co) {
    while (s->current && !coroutine_is_active(s->current->L)) leave_current(s);
    if (!co) co = coroutine_add(s, L);
    if (!co) return NULL;
    co->resumer = s->current;
    co->running = true;
    set_base(co, s->current ? s->current->thread : s->root);
    s->current = co;
    return co;
}

coroutine *coroutine_arrive(lua_State *L) {
    uint64_t epoch = __atomic_load_n(&sessions_ended, __ATOMIC_RELAXED);
    // Mostly another coroutine of the same session.
    session *s = here.co && here.epoch == epoch ? here.co->session : NULL;
    coroutine *co = s ? coroutine_find(s, L) : NULL;
    if (!co) {
        s = session_of(L);
        if (!s || !s->running) return NULL;
        co = coroutine_find(s, L);
    }
    if (co && co->running) {
        while (s->current != co) leave_current(s);
    } else {
        co = resumed(s, L, co);
    }
    here = (running_here){co ? L : NULL, co, epoch};
    return co;
}

void coroutine_forget(session *s, const lua_State *L) {
    coroutine *co = coroutine_find(s, L);
    if (!co) return;
    if (s->current == co) s->current = co->resumer; // it ended, and no event came since
    for (coroutine *c = s->current; c; c = c->resumer) {
        if (c->resumer == co) c->resumer = co->resumer;
    }
    unlink_record(s, co);
    record_free(co);
}

void coroutines_free(session *s) {
    slices_leave_open(s);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (s->buckets[i]) {
            coroutine *co = s->buckets[i];
            s->buckets[i] = co->next;
            record_free(co);
        }
    }
    s->current = NULL;
    here = (running_here){0};
    __atomic_add_fetch(&sessions_ended, 1, __ATOMIC_RELAXED);
}

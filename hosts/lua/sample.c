// SPDX-License-Identifier: MIT
//
// Sampling mode. A timer's signal arms a hook, the hook is called at the next thing that Lua does,
// charges the path where the program stands, and disarms itself. In between nothing is added to the
// program.
//
// Where it stood when the signal came: if the hook is called for an instruction, in the function
// that runs; for a return, in the function that returns, so long C functions are seen; for a call,
// in the caller.
//
// The handler may run between any two instructions. lua_sethook is made for that. What else it
// touches is one word each, and where two must change together, `busy` keeps it from arming.
//
// A walk costs what the stack is deep, and Lua's interface makes it the square of that. So after a
// walk the next one waits for a hundred times as long; the ticks of the meantime are charged to it.
//
// One VM instruction takes nanoseconds, unless it makes Lua collect garbage. So an instruction that
// was interrupted by the signal and took GC_NANOSECONDS more is charged to `(gc)`. That is a
// conclusion and no report: an instruction that copies a very large string or table looks the same.

#include "sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SAMPLERS = 256, GC_NANOSECONDS = 3000, SHARE = 100, HZ = 997, SIGNAL = SIGVTALRM };

static sampler samplers[SAMPLERS];

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_active(lua_State *L) {
    lua_Debug ar;
    return lua_status(L) == LUA_OK && lua_getstack(L, 0, &ar);
}

sampler *sampler_of_ticket(const void *ticket) {
    sampler *p = &samplers[(uintptr_t)ticket % SAMPLERS];
    return p->ticket == (uintptr_t)ticket && p->session ? p : NULL;
}

static void sample_hook(lua_State *L, lua_Debug *ar);

// In the handler.
static void arm(sampler *p) {
    resume_link *link = p->link;
    // The one that began the session may have ended without us.
    while (link->from && !is_active(link->L)) link = link->from;
    if (lua_gethook(link->L) != sample_hook) {
        link->saved =
            (chain){lua_gethook(link->L), lua_gethookmask(link->L), lua_gethookcount(link->L)};
    }
    link->armed = true;
    p->armed_at = now();
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT | link->saved.mask;
    lua_sethook(link->L, sample_hook, mask, 1);
}

static void on_tick(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    (void)context;
    int error = errno;
    sampler *p = sampler_of_ticket(info->si_value.sival_ptr);
    if (info->si_code == SI_TIMER && p) {
        p->ticks = p->ticks + 1 + (uint32_t)(info->si_overrun > 0 ? info->si_overrun : 0);
        if (!p->busy && p->ticks >= p->wait) arm(p);
    }
    errno = error;
}

// ---------------------------------------------------------------- the walk

// One allocation per array and doubling; without memory the path stays shorter at its outer end.
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

static void walk_marks(sampler *p, const lua_State *L, const void *ci) {
    for (size_t i = p->mark_count; i > 0; i--) {
        if (p->marks[i - 1].L == L && p->marks[i - 1].ci == ci) walk_add(p, p->marks[i - 1].block);
    }
}

static void walk_state(sampler *p, lua_State *L, int level, bool outermost) {
    lua_Debug ar;
    if (!lua_checkstack(L, LUA_MINSTACK)) return;
    for (; lua_getstack(L, level, &ar); level++) {
        bool resumes;
        lua_getinfo(L, "f", &ar);
        ouro_block block = names_block(p->session, L, &ar, &resumes);
        lua_pop(L, 1);
        lua_Debug below;
        bool host = outermost && *ar.what == 'C' && !lua_getstack(L, level + 1, &below) &&
                    lua_getinfo(L, "n", &ar) && !ar.name;
        walk_marks(p, L, ar.i_ci);
        if (!host) walk_add(p, block);
    }
}

// Leaves what is not on the new path any more and enters what is new on it.
static void move_to_walked(sampler *p) {
    size_t n = p->walked_length, same = 0;
    while (same < p->length && same < n && p->path[same] == p->walked[n - 1 - same]) same++;
    while (p->length > same) ouro_exit(p->thread, p->tokens[--p->length]);
    for (; p->length < n; p->length++) {
        p->path[p->length] = p->walked[n - 1 - p->length];
        p->tokens[p->length] = ouro_reenter(p->thread, p->path[p->length]);
    }
}

static void charge(sampler *p, lua_State *L, lua_Debug *ar, uint32_t ticks, bool collecting) {
    p->walked_length = 0;
    if (collecting) walk_add(p, p->session->gc);
    for (const resume_link *link = p->link; link; link = link->from) {
        int level = link->L == L && ar->event == LUA_HOOKCALL ? 1 : 0;
        walk_state(p, link->L, level, link->from == NULL);
    }
    move_to_walked(p);
    ouro_count(p->thread, p->session->time, ticks * p->period);
}

static void sample_hook(lua_State *L, lua_Debug *ar) {
    const session *s = session_of(L);
    if (!s || !s->running || !s->sampler) {
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    uint64_t start = now();
    sampler *p = s->sampler;
    p->busy = 1;
    resume_link *link = p->link;
    while (link && link->L != L) link = link->from;
    chain saved = link && link->armed ? link->saved : (chain){0};
    if (link) link->armed = false;
    lua_sethook(L, saved.hook, saved.mask, saved.count);
    uint32_t ticks = p->ticks;
    p->ticks = 0;
    bool collecting = ar->event == LUA_HOOKCOUNT && start - p->armed_at > GC_NANOSECONDS;
    if (ticks && link) {
        charge(p, L, ar, ticks, collecting);
        p->wait = 1 + (uint32_t)((now() - start) * SHARE / p->period);
    }
    p->busy = 0;
    bool wanted = (saved.mask & LUA_MASKCALL &&
                   (ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL)) ||
                  (saved.mask & LUA_MASKRET && ar->event == LUA_HOOKRET) ||
                  (saved.mask & LUA_MASKLINE && ar->event == LUA_HOOKLINE);
    if (wanted) saved.hook(L, ar);
}

// ---------------------------------------------------------------- start and stop

static bool handler_install(void) {
    struct sigaction action, before;
    if (sigaction(SIGNAL, NULL, &before)) return false;
    bool ours = (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_tick;
    if (ours) return true;
    if ((before.sa_flags & SA_SIGINFO) ||
        (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)) {
        errno = EBUSY;
        return false;
    }
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGNAL, &action, NULL) == 0;
}

static bool timer_begin(sampler *p, unsigned hz) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGNAL;
    event.sigev_value.sival_ptr = (void *)p->ticket;
#ifdef sigev_notify_thread_id
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
    if (timer_create(CLOCK_MONOTONIC, &event, &p->timer)) return false;
    p->period = 1000000000u / hz;
    struct itimerspec times = {.it_interval = {.tv_sec = (time_t)(p->period / 1000000000u),
                                               .tv_nsec = (long)(p->period % 1000000000u)}};
    times.it_value = times.it_interval;
    return timer_settime(p->timer, 0, &times, NULL) == 0;
}

static sampler *sampler_take(session *s) {
    for (int i = 0; i < SAMPLERS; i++) {
        sampler *p = &samplers[i];
        session *nobody = NULL;
        if (!__atomic_compare_exchange_n(&p->session, &nobody, s, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        p->ticket = p->ticket ? p->ticket + SAMPLERS : (uintptr_t)(SAMPLERS + i);
        return p;
    }
    errno = EAGAIN;
    return NULL;
}

bool sample_start(session *s, lua_State *L) {
    sampler *p = sampler_take(s);
    if (!p) return false;
    s->sampler = p;
    p->base[0] = (resume_link){.L = s->main};
    p->base[1] = (resume_link){.L = L, .from = &p->base[0]};
    p->link = &p->base[L == s->main ? 0 : 1];
    p->busy = 0;
    p->ticks = 0;
    p->wait = 1;
    p->thread = ouro_thread_new(s->profile);
    if (!p->thread) return false;
    s->running = true;
    resume_install(p, L);
    return handler_install() && timer_begin(p, s->settings.hz ? s->settings.hz : HZ);
}

void sample_stop(session *s) {
    sampler *p = s->sampler;
    if (!p) return;
    p->busy = 1;
    timer_delete(p->timer);
    for (resume_link *link = p->link; link && s->main; link = link->from) {
        if (link->armed && lua_gethook(link->L) == sample_hook)
            lua_sethook(link->L, link->saved.hook, link->saved.mask, link->saved.count);
        link->armed = false;
    }
    while (p->length) ouro_exit(p->thread, p->tokens[--p->length]);
    ouro_thread_free(p->thread);
    free(p->path);
    free(p->walked);
    free(p->tokens);
    free(p->marks);
    p->path = p->walked = NULL;
    p->tokens = NULL;
    p->marks = NULL;
    p->room = p->mark_count = p->mark_room = 0;
    p->length = 0;
    s->sampler = NULL;
    __atomic_store_n(&p->session, NULL, __ATOMIC_RELEASE);
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
    p->marks[p->mark_count++] = (sample_mark_){++s->next_mark, L, caller.i_ci, block};
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

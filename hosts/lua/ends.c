// SPDX-License-Identifier: MIT
//
// How a script is ended by signals. The signal sets a hook, and Lua calls it before the script's
// next instruction: there the profile is written, and the process ends by the same signal. A signal
// may also come just before the script waits for input, and the wait goes on; so a timer sends
// another one every PAUSE.
//
// A script may stay in a C function for longer than we wait. Then a child process writes the
// profile: it has a copy of all that the script had, and whatever the C function was in the middle
// of (malloc, a change of Lua's stack) can spoil the copy only. If that happens the script runs for
// another PAUSE and the next child tries again.

#include "ends.h"

#include "sample.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE = 50000000, // nanoseconds
    PATIENCE = 40,    // pauses before a child is tried: two seconds
    IMPATIENCE = 4,   // after the second interrupt: somebody is waiting
    TRIES = 10,
    CHILD_SECONDS = 20
};

#define AGAIN (SIGRTMAX - 3)

static struct {
    ends_of_script of;
    pid_t pid;             // a child of fork(2) writes nothing
    volatile int ended_by; // a signal
    volatile int pauses;   // since then
    volatile int interrupts;
    timer_t again;
} ends;

static void stop_timer(void) { timer_settime(ends.again, 0, &(struct itimerspec){0}, NULL); }

static void die(void) {
    stop_timer();
    signal(ends.ended_by, SIG_DFL);
    raise(ends.ended_by);
}

static void interrupt_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    if (ends.of.session) ends.of.session->urgent = NULL;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

// Ends the process. An error would not do, because the script could catch it.
static void end_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    stop_timer();
    if (ends.of.session) ends.of.session->urgent = NULL;
    lua_sethook(L, NULL, 0, 0);
    signal(ends.ended_by, SIG_DFL);
    ends.of.finish();
    die();
}

// Calls the hook before the next instruction of the script. False if none runs.
static bool call_soon(lua_Hook hook) {
    session *s = ends.of.session;
    if (!s || getpid() != ends.pid) return false;
    s->urgent = hook;
    lua_State *L = s->main;
    if (s->current) L = s->current->L;
    if (s->sampler) L = s->sampler->link->L;
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    if (L) lua_sethook(L, hook, mask, 1);
    return L != NULL;
}

// Async-signal-safe in this process; the child does what it likes. True: it wrote the profile.
static bool rescue(void) {
    ends.of.session->jit_now = ticker_process_time(); // the child has a clock of its own
    pid_t child = _Fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        signal(ends.ended_by, SIG_DFL);
        alarm(CHILD_SECONDS);
        ouro_profile_detach(ends.of.session->profile); // the live file stays as it is
        ends.of.rescue(ends.pauses < PATIENCE + TRIES / 2);
        _exit(0);
    }
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void on_again(int signal_number) {
    (void)signal_number;
    int error = errno;
    int pauses = ++ends.pauses;
    bool waits = pauses < PATIENCE && call_soon(end_hook);
    if (!waits && (!ends.of.session || rescue() || pauses >= PATIENCE + TRIES)) die();
    errno = error;
}

static void on_end(int signal_number) {
    struct timespec soon = {.tv_nsec = PAUSE};
    if (!ends.ended_by) ends.ended_by = signal_number;
    bool waits = call_soon(end_hook) &&
                 timer_settime(ends.again, 0, &(struct itimerspec){soon, soon}, NULL) == 0;
    if (!waits) die();
}

// As in lua: the first interrupt raises an error in the script, the second ends the process. The
// third does not even wait for the profile.
static void on_interrupt(int signal_number) {
    int times = ++ends.interrupts;
    if (times == 1 && call_soon(interrupt_hook)) return;
    if (times > 2 || !ends.of.session) {
        ends.ended_by = signal_number;
        die();
        return;
    }
    ends.pauses = PATIENCE - IMPATIENCE;
    on_end(signal_number);
}

void ends_catch_interrupts(bool on) {
    ends.interrupts = 0;
    signal(SIGINT, on ? on_interrupt : SIG_DFL);
}

// Without SA_RESTART: a script that waits for input goes on to its next instruction. A signal that
// the caller of this program ignores stays ignored.
static void take(int number, void (*handler)(int)) {
    struct sigaction before, ours = {.sa_handler = handler};
    sigemptyset(&ours.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(number, &ours, NULL);
}

void ends_begin(const ends_of_script *what) {
    ends.of = *what;
    ends.pid = getpid();
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = AGAIN};
    if (timer_create(CLOCK_MONOTONIC, &event, &ends.again)) return;
    take(AGAIN, on_again);
    static const int ending[] = {SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) take(ending[i], on_end);
    ends_catch_interrupts(true);
}

void ends_forget(void) { ends.of.session = NULL; }

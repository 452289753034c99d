// SPDX-License-Identifier: MIT
//
// ouro-lua: runs a script as `lua` does and records a profile of it. The script gets the same
// arguments, streams, messages and exit status as under lua. The profile is written however the
// process ends: at the end of the script, or by an error, os.exit, an interrupt or SIGTERM.

#include "descriptors.h"
#include "options.h"
#include "ouro_lua.h"
#include "printable.h"
#include "sample.h"
#include "session.h"
#include "show.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A script that gets SIGTERM is signalled this often, at this distance: for two seconds.
enum { PATIENCE = 40, PATIENCE_NS = 50000000 };

// What the end of the process needs, wherever it is reached.
static struct {
    command_line command;
    session *session;
    pid_t pid;             // a child of fork(2) writes nothing
    volatile int ended_by; // a signal
    volatile int ends;     // how many signals
    timer_t patience;      // sends the signal again
} run;

static void complain(const char *message) {
    fflush(stdout);
    fprintf(stderr, "lua: %s\n", message); // the script's own words, as Lua prints them
    fflush(stderr);
}

// ---------------------------------------------------------------- after the script

static void finish(void) {
    session *s = run.session;
    run.session = NULL;
    if (!s || getpid() != run.pid) return;
    session_stop(s);
    const char *file = run.command.output;
    if (session_write(s, file)) {
        ouro__say("ouro lua: cannot write %s: %s", file, strerror(errno));
        fflush(NULL);
        _exit(1);
    }
    show_profile(s->profile, file, run.command.quiet, run.command.view);
    session_release(s);
}

// ---------------------------------------------------------------- the script

static void interrupt_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    if (run.session) run.session->urgent = NULL;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

// Ends the process. An error would not do, because the script could catch it.
static void end_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    timer_settime(run.patience, 0, &(struct itimerspec){0}, NULL);
    if (run.session) run.session->urgent = NULL;
    lua_sethook(L, NULL, 0, 0);
    run.command.view = false;
    signal(run.ended_by, SIG_DFL);
    finish();
    raise(run.ended_by);
}

// Calls the hook before the next instruction of the script. False if none runs.
static bool call_soon(lua_Hook hook) {
    session *s = run.session;
    if (s) s->urgent = hook;
    lua_State *L = s ? s->main : NULL;
    if (s && s->current) L = s->current->L;
    if (s && s->sampler) L = s->sampler->link->L;
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    if (L) lua_sethook(L, hook, mask, 1);
    return L != NULL;
}

// As in lua: the first interrupt raises an error in the script, the second ends the process.
static void on_interrupt(int signal_number) {
    signal(signal_number, SIG_DFL);
    call_soon(interrupt_hook);
}

// The first signal writes the profile and then ends the process. It may arrive just before the
// script waits for input, and then the wait goes on, so a timer sends the signal again. A script
// that stays in a C function for two seconds is ended without a profile.
static void on_end(int signal_number) {
    if (!run.ended_by) run.ended_by = signal_number;
    struct timespec soon = {.tv_nsec = PATIENCE_NS};
    int times = ++run.ends;
    bool armed =
        times > 1 || timer_settime(run.patience, 0, &(struct itimerspec){soon, soon}, NULL) == 0;
    if (armed && times < PATIENCE && call_soon(end_hook)) return;
    signal(run.ended_by, SIG_DFL);
    raise(run.ended_by);
}

// Without SA_RESTART: a script that waits for input goes on to its next instruction.
static void handle_signals(void) {
    static const int ends[] = {SIGTERM, SIGHUP};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    signal(SIGINT, on_interrupt);
    if (timer_create(CLOCK_MONOTONIC, &event, &run.patience)) return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction before, ours = {.sa_handler = on_end};
        sigemptyset(&ours.sa_mask);
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ends[i], &ours, NULL);
    }
}

// The message of an error with a traceback, as lua prints it.
static int on_error(lua_State *L) {
    const char *message = lua_tostring(L, 1);
    if (!message) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
        message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    luaL_traceback(L, L, message, 1);
    return 1;
}

static void set_arg(lua_State *L, int count, char **arguments, int script) {
    lua_createtable(L, count - script - 1, script + 1);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, arguments[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

static bool begin(lua_State *L) {
    session *s = session_start(L, &run.command.settings);
    if (!s) {
        ouro__say("ouro lua: %s", lua_tostring(L, -1));
        return false;
    }
    run.session = session_keep(s);
    handle_signals();
    return true;
}

// Called with lua_pcall, as in lua, so that tracebacks end alike. Returns whether all went well.
static int protected_main(lua_State *L) {
    const command_line *command = &run.command;
    luaL_checkversion(L);
    luaL_openlibs(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_ouro);
    lua_setfield(L, -2, "ouro");
    lua_pop(L, 1);
    set_arg(L, command->count, command->arguments, command->script);
    const char *name = command->arguments[command->script];
    bool from_input = strcmp(name, "-") == 0;
    if (luaL_loadfile(L, from_input ? NULL : name) != LUA_OK) {
        complain(lua_tostring(L, -1));
        return 0;
    }
    int count = command->count - command->script - 1;
    luaL_checkstack(L, count + 3, "too many arguments to script");
    for (int i = 0; i < count; i++) lua_pushstring(L, command->arguments[command->script + 1 + i]);
    if (!begin(L)) return 0;
    int base = lua_gettop(L) - count;
    lua_pushcfunction(L, on_error);
    lua_insert(L, base);
    int status = lua_pcall(L, count, 0, base);
    signal(SIGINT, SIG_DFL);
    if (status != LUA_OK) complain(lua_tostring(L, -1));
    lua_pushboolean(L, status == LUA_OK);
    return 1;
}

int main(int count, char **arguments) {
    ouro__hold_streams();
    int ended = options_parse(&run.command, count, arguments);
    if (ended >= 0) return ended;
    run.pid = getpid();
    lua_State *L = luaL_newstate();
    if (!L) {
        complain("cannot create state: not enough memory");
        return EXIT_FAILURE;
    }
    atexit(finish);
    lua_gc(L, LUA_GCGEN, 0, 0); // as in lua
    lua_pushcfunction(L, protected_main);
    int status = lua_pcall(L, 0, 1, 0);
    if (status != LUA_OK) complain(lua_tostring(L, -1));
    bool good = status == LUA_OK && lua_toboolean(L, -1);
    finish();
    lua_close(L);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

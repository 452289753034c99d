// SPDX-License-Identifier: MIT
//
// ouro-lua, ouro-lua5.1, ouro-lua5.3, ouro-lua5.5, ouro-luajit: run a script as the interpreter
// does, and record a profile of it. The script gets the same arguments, streams, messages and exit
// status. The profile is written however the process ends: at the end of the script, or by an
// error, os.exit, an interrupt or SIGTERM.

#include "descriptors.h"
#include "ends.h"
#include "interpreter.h"
#include "live_name.h"
#include "printable.h"
#include "sample.h"
#include "session.h"
#include "show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What the end of the process needs, wherever it is reached.
static struct {
    command_line command;
    session *session;
    output_file output;
    pid_t pid; // a child of fork(2) writes nothing
} run;

// As it was given, unless the script has changed the working folder.
static const char *shown_output(void) {
    char *here = ouro__absolute(run.command.output);
    bool same = here && strcmp(here, run.output.path) == 0;
    free(here);
    return same ? run.command.output : run.output.path;
}

static bool write_and_show(session *s, bool view) {
    const char *file = shown_output();
    if (output_write(&run.output, s->profile)) {
        ouro__say(OURO_LUA ": cannot write %s: %s", file, strerror(errno));
        if (run.output.live) ouro__say("The recording is in %s.", run.output.live);
        return false;
    }
    show_profile(s->profile, file, run.command.quiet, view,
                 lua_is_jit() ? ", of which LuaJIT has one per millisecond of processor time"
                              : "; --precise sees all");
    return true;
}

// A name that nobody had is said even if nothing else is to be.
static void explain_slices(const session *s) {
    if (!s->settings.slice || s->slices) return;
    char *near = slices_near(s);
    ouro__say(OURO_LUA ": no function %s was called, so there are no slices%s%s", s->settings.slice,
              near && *near ? "; there are " : "", near ? near : "");
    free(near);
}

static void finish_with(bool view) {
    session *s = run.session;
    run.session = NULL;
    if (!s || getpid() != run.pid) return;
    ends_forget();
    session_stop(s);
    fflush(stdout);
    fflush(stderr);
    explain_slices(s);
    if (!write_and_show(s, view)) {
        fflush(NULL);
        _exit(1);
    }
    session_release(s);
}

static void finish(void) { finish_with(run.command.view); }
static void finish_by_signal(void) { finish_with(false); }

// In a child process, which was made while the script was in the middle of something.
static void rescue(bool charge) {
    if (charge) session_charge_rest(run.session);
    if (!write_and_show(run.session, false)) _exit(1);
}

static bool begin(lua_State *L) {
    session *s = session_start(L, &run.command.settings);
    if (!s) {
        ouro__say(OURO_LUA ": %s", lua_tostring(L, -1));
        return false;
    }
    run.session = session_keep(s);
    ends_begin(&(ends_of_script){s, finish_by_signal, rescue});
    return true;
}

// Called with lua_pcall, as in lua, so that tracebacks end alike. Returns whether all went well.
static int protected_main(lua_State *L) {
    luaL_checkversion(L);
    lua_pushboolean(L, interpreter_run(L, &run.command, begin));
    return 1;
}

// Before anything of the user's runs, which may change the working folder.
static bool prepare_files(void) {
    settings *s = &run.command.settings;
    if (output_begin(&run.output, run.command.output)) {
        ouro__say(OURO_LUA ": cannot write %s: %s; name another file with -o", run.command.output,
                  strerror(errno));
        return false;
    }
    s->output = &run.output;
    if (s->live) s->live = ouro__absolute(s->live); // for as long as the program runs
    return true;
}

int main(int count, char **arguments) {
    ouro__hold_streams();
    int ended = options_parse(&run.command, count, arguments);
    if (ended >= 0) return free(run.command.before), ended;
    run.pid = getpid();
    if (!prepare_files()) return free(run.command.before), EXIT_FAILURE;
    lua_State *L = luaL_newstate();
    if (!L) {
        interpreter_complain("cannot create state: not enough memory");
        return EXIT_FAILURE;
    }
    atexit(finish);
#if LUA_VERSION_NUM >= 504
    lua_gc(L, LUA_GCGEN, 0, 0); // as in lua
#endif
    lua_pushcfunction(L, protected_main);
    int status = lua_pcall(L, 0, 1, 0);
    if (status != LUA_OK) interpreter_complain(lua_tostring(L, -1));
    bool good = status == LUA_OK && lua_toboolean(L, -1);
    finish();
    lua_close(L);
    free(run.command.before);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

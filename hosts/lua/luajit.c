// SPDX-License-Identifier: MIT
//
// ouro-luajit: runs a script with LuaJIT and records what LuaJIT's own profiler samples.
//
// LuaJIT compiles calls away, so hooks do not see compiled code. Its profiler does: at every tick
// it calls back with the stack as text and with the state of the virtual machine. It tells no more
// than that: calls are not counted, a coroutine's path begins at its own first function, a
// function that ended in a tail call is not on the stack, and a C function is an address, which is
// not shown.
//
// The callback may use nothing of Lua but luaJIT_profile_dumpstack.

#include "blocks.h"
#include "descriptors.h"
#include "gzip.h"
#include "ouro.h"
#include "printable.h"
#include "show.h"

#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 200, EXIT_USAGE = 2 };

static struct {
    ouro_profile *profile;
    ouro_thread *thread;
    block_table blocks;
    char output[4096];
    bool quiet, view;
    long interval; // milliseconds
    pid_t pid;
} run;

// A frame is `file:name`, or `file:line` of a function without a name; line 0 is the main chunk. A
// C function is `@0x...`.
static ouro_block frame_block(char *text) {
    ouro_block_info info = {.name = text, .file = ""};
    if (*text == '@') {
        info = (ouro_block_info){.name = "(C function)", .file = "[C]"};
        return block_of_text(&run.blocks, &info);
    }
    char *colon = strrchr(text, ':');
    if (colon) {
        *colon = '\0';
        info.file = text;
        info.name = colon + 1;
        if (isdigit((unsigned char)*info.name)) {
            info.line = (uint32_t)strtoul(info.name, NULL, 10);
            info.name = info.line ? "(anonymous)" : "main chunk";
        }
    }
    return block_of_text(&run.blocks, &info);
}

static const char *state_name(int state) {
    if (state == 'G') return "(gc)";
    return state == 'J' ? "(jit compiler)" : NULL;
}

static void charge(char *stack, int state, uint64_t time) {
    ouro_position tokens[DEEPEST + 1];
    size_t depth = 0;
    bool first = true;
    for (char *f; depth < DEEPEST && (f = strsep(&stack, ";")); first = false) {
        bool host = first && *f == '@'; // the C function that started Lua
        if (*f && !host) tokens[depth++] = ouro_reenter(run.thread, frame_block(f));
    }
    if (state_name(state)) {
        ouro_block_info info = {.name = state_name(state)};
        tokens[depth++] = ouro_reenter(run.thread, block_of_text(&run.blocks, &info));
    }
    ouro_sample(run.thread, time);
    while (depth > 0) ouro_exit(run.thread, tokens[--depth]);
}

static void on_sample(void *data, lua_State *L, int samples, int state) {
    (void)data;
    size_t length;
    const char *dump = luaJIT_profile_dumpstack(L, "pF;", -DEEPEST, &length);
    char *stack = malloc(length + 1);
    if (!stack) return;
    memcpy(stack, dump, length);
    stack[length] = '\0';
    charge(stack, state, (uint64_t)samples * (uint64_t)run.interval * 1000000u);
    free(stack);
}

// Registered with atexit, so that it runs at every ordinary end of the script.
static void finish(void) {
    ouro_profile *profile = run.profile;
    run.profile = NULL;
    if (!profile || getpid() != run.pid) return;
    ouro_thread_free(run.thread);
    if (write_profile(profile, run.output)) {
        ouro__say("ouro lua: cannot write %s: %s", run.output, strerror(errno));
        _exit(1);
    }
    show_profile(profile, run.output, run.quiet, run.view);
    block_table_free(&run.blocks);
    ouro_profile_free(profile);
}

static bool begin(void) {
    static const ouro_metric_info time = {"time", "nanoseconds"};
    run.profile = ouro_profile_new(&(ouro_options){.metrics = &time, .metric_count = 1});
    run.thread = ouro_thread_new(run.profile);
    run.blocks.profile = run.profile;
    run.pid = getpid();
    return run.thread != NULL;
}

static int on_error(lua_State *L) {
    const char *message = lua_tostring(L, 1);
    if (!message) return 1;
    luaL_traceback(L, L, message, 1);
    return 1;
}

static int run_script(lua_State *L, int count, char **arguments, int script) {
    luaL_openlibs(L);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, arguments[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
    lua_pushcfunction(L, on_error);
    if (luaL_loadfile(L, arguments[script])) {
        fprintf(stderr, "luajit: %s\n", lua_tostring(L, -1));
        return EXIT_FAILURE;
    }
    for (int i = script + 1; i < count; i++) lua_pushstring(L, arguments[i]);
    if (!begin()) {
        ouro__say("ouro lua: cannot make a profile: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    atexit(finish);
    char mode[32];
    snprintf(mode, sizeof mode, "fi%ld", run.interval);
    luaJIT_profile_start(L, mode, on_sample, NULL);
    int status = lua_pcall(L, count - script - 1, 0, 1);
    luaJIT_profile_stop(L);
    fflush(stdout);
    if (status) fprintf(stderr, "luajit: %s\n", lua_tostring(L, -1));
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int usage(const char *message, const char *what) {
    ouro__say("ouro lua --luajit: %s%s", message, what);
    fputs("Try `ouro help lua`.\n", stderr);
    return EXIT_USAGE;
}

// The index of the script; 0 after a message.
static int options_parse(int count, char **arguments) {
    int i = 1;
    for (; i < count && arguments[i][0] == '-' && arguments[i][1]; i++) {
        const char *option = arguments[i];
        bool output = strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0;
        if (strcmp(option, "--version") == 0) {
            puts("ouro lua " OURO_VERSION ", " LUAJIT_VERSION);
            exit(EXIT_SUCCESS);
        }
        if (strcmp(option, "--quiet") == 0 || strcmp(option, "-q") == 0) {
            run.quiet = true;
        } else if (strcmp(option, "--view") == 0) {
            run.view = true;
        } else if ((output || strcmp(option, "--hz") == 0) && i + 1 < count) {
            const char *value = arguments[++i];
            if (output) snprintf(run.output, sizeof run.output, "%s", value);
            if (!output) run.interval = 1000 / (atol(value) > 0 ? atol(value) : 1);
        } else {
            return usage("LuaJIT's profiler cannot do ", option), 0;
        }
    }
    if (i >= count) return usage("which script?", ""), 0;
    return i;
}

int main(int count, char **arguments) {
    ouro__hold_streams();
    run.interval = 1;
    int script = options_parse(count, arguments);
    if (!script) return EXIT_USAGE;
    if (run.interval < 1) run.interval = 1;
    if (!*run.output) {
        const char *slash = strrchr(arguments[script], '/');
        const char *base = slash ? slash + 1 : arguments[script];
        size_t length = strlen(base);
        if (length > 4 && strcmp(base + length - 4, ".lua") == 0) length -= 4;
        snprintf(run.output, sizeof run.output, "%.*s.pb.gz", (int)length, base);
    }
    lua_State *L = luaL_newstate();
    if (!L) return EXIT_FAILURE;
    int status = run_script(L, count, arguments, script);
    finish();
    lua_close(L);
    return status;
}

// SPDX-License-Identifier: MIT
//
// The interpreter: what lua does, as its manual says, in each version. Lines that are typed (-i)
// are read without history.

#include "interpreter.h"

#include "ends.h"
#include "ouro_lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void interpreter_complain(const char *message) {
    fflush(stdout);
    // The script's own words, as Lua prints them.
    fprintf(stderr, OURO_LUA_NAME ": %s\n", message ? message : "(error object is not a string)");
    fflush(stderr);
}

// ---------------------------------------------------------------- calls

// The message of an error with a traceback, as lua prints it.
static int on_error(lua_State *L) {
#if LUA_VERSION_NUM >= 502
    const char *message = lua_tostring(L, 1);
    if (!message) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
        message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    luaL_traceback(L, L, message, 1);
#else
    if (!lua_isstring(L, 1)) return 1;
    lua_getglobal(L, "debug");
    if (!lua_istable(L, -1)) return lua_settop(L, 1), 1;
    lua_getfield(L, -1, "traceback");
    if (!lua_isfunction(L, -1)) return lua_settop(L, 1), 1;
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 2);
    lua_call(L, 2, 1);
#endif
    return 1;
}

static bool report(lua_State *L, int status) {
    if (status == LUA_OK) return true;
    interpreter_complain(lua_tostring(L, -1));
    lua_pop(L, 1);
    return false;
}

// Calls the function below its arguments.
static int call(lua_State *L, int arguments, int results) {
    int base = lua_gettop(L) - arguments;
    lua_pushcfunction(L, on_error);
    lua_insert(L, base);
    ends_catch_interrupts(true);
    int status = lua_pcall(L, arguments, results, base);
    ends_catch_interrupts(false);
    lua_remove(L, base);
    return status;
}

// ---------------------------------------------------------------- before the script

static bool run_text(lua_State *L, const char *text, const char *name) {
    int status = luaL_loadbuffer(L, text, strlen(text), name);
    if (status == LUA_OK) status = call(L, 0, 0);
    return report(L, status);
}

// lua -l MODULE, or NAME=MODULE in 5.4. Since 5.2 the module becomes a global variable.
static bool run_library(lua_State *L, const char *text) {
    const char *equals = LUA_VERSION_NUM >= 504 ? strchr(text, '=') : NULL;
    const char *module = equals ? equals + 1 : text;
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    int status = call(L, 1, 1);
    if (status != LUA_OK) return report(L, status);
    lua_pushlstring(L, text, equals ? (size_t)(equals - text) : strlen(text));
    lua_insert(L, -2);
    if (LUA_VERSION_NUM >= 502) {
        lua_setglobal(L, lua_tostring(L, -2));
        lua_pop(L, 1);
    } else {
        lua_pop(L, 2);
    }
    return true;
}

static bool run_before(lua_State *L, const command_line *command) {
    for (int i = 0; i < command->before_count; i++) {
        const lua_option *option = &command->before[i];
        if (option->kind == 'e' && !run_text(L, option->text, "=(command line)")) return false;
        if (option->kind == 'l' && !run_library(L, option->text)) return false;
#if LUA_VERSION_NUM >= 504
        if (option->kind == 'W') lua_warning(L, "@on", 0);
#endif
    }
    return true;
}

static bool run_init(lua_State *L) {
    char versioned[32];
    snprintf(versioned, sizeof versioned, "LUA_INIT_5_%d", LUA_VERSION_NUM % 100);
    const char *text = LUA_VERSION_NUM >= 502 ? secure_getenv(versioned) : NULL;
    const char *name = text ? versioned : "LUA_INIT";
    if (!text) text = secure_getenv("LUA_INIT");
    if (!text) return true;
    if (*text == '@') {
        int status = luaL_loadfile(L, text + 1);
        if (status == LUA_OK) status = call(L, 0, 0);
        return report(L, status);
    }
    char chunk[40];
    snprintf(chunk, sizeof chunk, "=%s", name);
    return run_text(L, text, chunk);
}

static void open_libraries(lua_State *L, const command_line *command) {
    if (command->ignore_environment) {
        lua_pushboolean(L, true);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    luaL_openlibs(L);
#if LUA_VERSION_NUM >= 505
    lua_warning(L, "@off", 0); // as lua does; before 5.5 that is how a state begins
#endif
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "preload");
    lua_pushcfunction(L, luaopen_ouro);
    lua_setfield(L, -2, "ouro");
    lua_pop(L, 2);
}

static void set_arg(lua_State *L, const command_line *command) {
    int script = command->script < command->count ? command->script : 0;
    lua_createtable(L, command->count - script, script + 1);
    for (int i = 0; i < command->count; i++) {
        lua_pushstring(L, command->arguments[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

// ---------------------------------------------------------------- what is typed

static const char *prompt(lua_State *L, bool first) {
    lua_getglobal(L, first ? "_PROMPT" : "_PROMPT2");
    const char *text = lua_tostring(L, -1);
    if (!text) text = first ? "> " : ">> ";
    lua_pop(L, 1); // the variable keeps it
    return text;
}

// Pushes a line without its end. False at the end of the input.
static bool read_line(lua_State *L, bool first) {
    fputs(prompt(L, first), stdout);
    fflush(stdout);
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, stdin);
    if (length > 0 && line[length - 1] == '\n') length--;
    if (length >= 0 && first && LUA_VERSION_NUM < 503 && *line == '=') {
        lua_pushliteral(L, "return ");
        lua_pushlstring(L, line + 1, (size_t)(length - 1));
        lua_concat(L, 2);
    } else if (length >= 0) {
        lua_pushlstring(L, line, (size_t)length);
    }
    free(line);
    return length >= 0;
}

static bool is_incomplete(lua_State *L, int status) {
    if (status != LUA_ERRSYNTAX) return false;
    const char *message = lua_tostring(L, -1);
    size_t length = message ? strlen(message) : 0;
    if (length && message[length - 1] == '\'') length--; // 5.1 quotes it
    return length >= 5 && strncmp(message + length - 5, "<eof>", 5) == 0;
}

// The text on top of the stack becomes a function or a message. Since 5.3 an expression will do.
static int compile(lua_State *L) {
    size_t length;
    const char *text;
#if LUA_VERSION_NUM >= 503
    lua_pushfstring(L, "return %s", lua_tostring(L, -1));
    text = lua_tolstring(L, -1, &length);
    if (luaL_loadbuffer(L, text, length, "=stdin") == LUA_OK) {
        lua_replace(L, -3);
        lua_pop(L, 1);
        return LUA_OK;
    }
    lua_pop(L, 2);
#endif
    text = lua_tolstring(L, -1, &length);
    return luaL_loadbuffer(L, text, length, "=stdin");
}

// Leaves a function or a message on the stack; -1 at the end of the input.
static int read_statement(lua_State *L) {
    if (!read_line(L, true)) return -1;
    for (;;) {
        int status = compile(L);
        if (!is_incomplete(L, status) || (lua_pop(L, 1), !read_line(L, false))) {
            if (status == LUA_OK && lua_gettop(L) > 1) lua_remove(L, 1);
            return status;
        }
        lua_pushliteral(L, "\n");
        lua_insert(L, -2);
        lua_concat(L, 3);
    }
}

static void print_results(lua_State *L) {
    int count = lua_gettop(L);
    if (count == 0) return;
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_getglobal(L, "print");
    lua_insert(L, 1);
    if (lua_pcall(L, count, 0, 0) != LUA_OK)
        interpreter_complain(lua_pushfstring(L, "error calling 'print' (%s)", lua_tostring(L, -1)));
}

// Time that passes while somebody types is nobody's.
static void forget_waiting(lua_State *L) {
    const session *s = session_of(L);
    if (s && s->running && s->ticker) ticker_take(s->ticker);
}

static void run_lines(lua_State *L) {
    int status;
    lua_settop(L, 0);
    while ((status = read_statement(L)) != -1) {
        forget_waiting(L);
        if (status == LUA_OK) status = call(L, 0, LUA_MULTRET);
        if (report(L, status)) print_results(L);
        lua_settop(L, 0);
    }
    putchar('\n');
}

// ---------------------------------------------------------------- all of it

static bool load_script(lua_State *L, const command_line *command) {
    const char *name = command->arguments[command->script];
    bool from_input = strcmp(name, "-") == 0;
    return report(L, luaL_loadfile(L, from_input ? NULL : name));
}

static bool call_script(lua_State *L, const command_line *command) {
    int count = command->count - command->script - 1;
    luaL_checkstack(L, count + 3, "too many arguments to script");
    for (int i = 0; i < count; i++) lua_pushstring(L, command->arguments[command->script + 1 + i]);
    return report(L, call(L, count, 0));
}

bool interpreter_run(lua_State *L, const command_line *command, bool (*begin)(lua_State *L)) {
    bool script = command->script<command->count, early = command->before_count> 0;
    open_libraries(L, command);
    set_arg(L, command);
    if (command->show_version) puts(OURO_LUA_COPYRIGHT);
    if (!command->ignore_environment && !run_init(L)) return false;
    // A script alone is read before recording begins.
    if (script && !early && !load_script(L, command)) return false;
    if (!begin(L)) return false;
    if (!run_before(L, command)) return false;
    if (script && early && !load_script(L, command)) return false;
    bool good = !script || call_script(L, command);
    if (command->interactive) {
        run_lines(L);
        good = true;
    }
    return good;
}

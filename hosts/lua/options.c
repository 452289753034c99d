// SPDX-License-Identifier: MIT
//
// The command line of ouro-lua. The first word that is not an option is the script's name, and
// everything after it belongs to the script.

#include "options.h"

#include "option_value.h"
#include "own_path.h"
#include "printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

static const char help[] = OURO_LUA
    " [options] [lua's options] SCRIPT [args]\n"
    "\n"
    "Runs a script as the interpreter does (" OURO_LUA_RELEASE
    "), records a profile, and prints a\n"
    "summary on standard error. SCRIPT may be `-` for standard input.\n"
    "`ouro lua5.1`, `lua5.3`, `lua5.4`, `lua5.5` and `luajit` do the same with that Lua; `ouro "
    "lua` is\nLua 5.4.\n"
    "\n"
    "  -o, --output FILE  where to write the profile (SCRIPT.pb.gz here); .gz packs it\n"
    "  --view             open the viewer afterwards\n"
    "  --quiet            no summary\n"
    "  --hz N             ticks per second (251; LuaJIT: 1000, and no more)\n"
    "  --cpu              processor time; else time as it passes, waiting included. LuaJIT: "
    "always\n"
    "  --precise          record every call, tail call and return instead of sampling; not LuaJIT\n"
    "  --instructions[=N] count instructions of the virtual machine, N at a time (1000); implies\n"
    "                     --precise\n"
    "  --memory           count allocations and bytes; implies --precise\n"
    "  --slice FUNCTION   every call of it is a slice (ouro report --slices); implies --precise\n"
    "  --slice-by METRIC  which slices are slow: time, instructions, allocated... (duration)\n"
    "  --live FILE        keep the profile in FILE while it grows, not beside the output\n"
    "  --max-nodes N      the most paths that are kept (1000000)\n"
    "  --compact RULE     loops, cycles, edges, edges:1 to edges:3, or none\n"
    "  --luajit           the same as `ouro luajit`\n"
    "  --help, --version\n"
    "\n"
    "Options of lua: -e CODE, -l MODULE, -i, -v, -W (from 5.4 on) and -E (not 5.1). Then no SCRIPT "
    "is\nneeded.\n"
    "\n"
    "The exit status is the script's. 2: the command line makes no sense.\n"
    "\n"
    "Examples:\n"
    "  ouro lua script.lua one two\n"
    "  ouro lua --precise -o calls.pb.gz script.lua\n"
    "  ouro lua --memory --view script.lua\n"
    "  ouro lua --slice update -o game.pb.gz game.lua && ouro report --slices game.pb.gz\n"
    "  ouro luajit -e 'for i = 1, 1e8 do end'\n";

static int usage(const char *message, const char *what) {
    ouro__say(OURO_LUA ": %s%s", message, what);
    fputs("Try `ouro help lua`.\n", stderr);
    return EXIT_USAGE;
}

static bool number(const char *text, long least, long most, long *result) {
    char *end;
    errno = 0;
    *result = strtol(text, &end, 10);
    return *text && !*end && !errno && *result >= least && *result <= most;
}

static bool take_rule(settings *s, const char *text) {
    ouro_options rule;
    if (ouro_compaction_from_name(text, &rule) != 0) return false;
    s->compaction = rule.compaction;
    s->edge_length = rule.edge_length;
    return true;
}

// An option with a value: 1 if it was one, 0 if not, -1 after a message.
static int option_with_value(command_line *c, int *at) {
    settings *s = &c->settings;
    const char *value;
    long n;
    if ((value = ouro__option_value(c->count, c->arguments, at, "--output")) ||
        (value = ouro__option_value(c->count, c->arguments, at, "-o"))) {
        c->output = value;
        return *value ? 1 : (usage("--output needs a file", ""), -1);
    }
    if ((value = ouro__option_value(c->count, c->arguments, at, "--live"))) {
        s->live = value;
        return *value ? 1 : (usage("--live needs a file", ""), -1);
    }
    if ((value = ouro__option_value(c->count, c->arguments, at, "--slice"))) {
        s->slice = value;
        s->precise = true;
        return *value ? 1 : (usage("--slice needs a function's name", ""), -1);
    }
    if ((value = ouro__option_value(c->count, c->arguments, at, "--slice-by"))) {
        s->slice_by = value;
        return *value ? 1 : (usage("--slice-by needs a metric", ""), -1);
    }
    if ((value = ouro__option_value(c->count, c->arguments, at, "--hz"))) {
        if (!number(value, 1, 100000, &n)) return usage("--hz needs 1 to 100000, not ", value), -1;
        s->hz = (unsigned)n;
        return 1;
    }
    if ((value = ouro__option_value(c->count, c->arguments, at, "--max-nodes"))) {
        if (!number(value, 2, OURO_MAX_NODES_MOST, &n))
            return usage("--max-nodes needs 2 to 134000000, not ", value), -1;
        s->max_nodes = (uint32_t)n;
        return 1;
    }
    if ((value = ouro__option_value(c->count, c->arguments, at, "--compact"))) {
        return take_rule(s, value) ? 1 : (usage("there is no rule ", value), -1);
    }
    return 0;
}

static bool flag(command_line *c, const char *argument) {
    long n = 1000;
    if (strcmp(argument, "--view") == 0) {
        c->view = true;
    } else if (strcmp(argument, "--quiet") == 0 || strcmp(argument, "-q") == 0) {
        c->quiet = true;
    } else if (strcmp(argument, "--cpu") == 0) {
        c->settings.cpu = true;
    } else if (strcmp(argument, "--precise") == 0) {
        c->settings.precise = true;
    } else if (strcmp(argument, "--memory") == 0) {
        c->settings.precise = c->settings.memory = true;
    } else if (strcmp(argument, "--instructions") == 0 ||
               (strncmp(argument, "--instructions=", 15) == 0 &&
                number(argument + 15, 1, INT_MAX, &n))) {
        c->settings.precise = c->settings.instructions = true;
        c->settings.period = (int)n;
    } else {
        return false;
    }
    return true;
}

// An option of lua: 1 if it was one, 0 if not, -1 after a message.
static int option_of_lua(command_line *c, int *at) {
    const char *argument = c->arguments[*at];
    char kind = argument[1];
    if (kind == 'e' || kind == 'l') {
        const char *text = argument[2] ? argument + 2 : NULL;
        if (!text && *at + 1 < c->count) text = c->arguments[++*at];
        if (!text || (!argument[2] && *text == '-'))
            return usage("this option needs an argument: ", argument), -1;
        c->before[c->before_count++] = (lua_option){kind, text};
        return 1;
    }
    if (argument[2]) return 0;
    if (kind == 'W' && LUA_VERSION_NUM >= 504) {
        c->before[c->before_count++] = (lua_option){kind, NULL};
    } else if (kind == 'E' && LUA_VERSION_NUM >= 502) {
        c->ignore_environment = true;
    } else if (kind == 'i' || kind == 'v') {
        c->show_version = true;
        if (kind == 'i') c->interactive = true;
    } else {
        return 0;
    }
    return 1;
}

// script.lua -> script.pb.gz, in the current folder.
static const char *default_output(const char *script) {
    static char name[NAME_MAX + 16];
    const char *slash = strrchr(script, '/');
    const char *base = slash ? slash + 1 : script;
    if (strcmp(base, "-") == 0) base = "stdin";
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".lua") == 0) length -= 4;
    snprintf(name, sizeof name, "%.*s.pb.gz", (int)length, base);
    return name;
}

// ouro-luajit is installed beside this program and takes the same options, except these.
static int run_luajit(int count, char **arguments, int at) {
    char folder[PATH_MAX], path[PATH_MAX + 16];
    if (!ouro__own_folder(folder)) return usage("cannot find ouro-luajit", "");
    snprintf(path, sizeof path, "%souro-luajit", folder);
    for (; at + 1 < count; at++) arguments[at] = arguments[at + 1];
    arguments[count - 1] = NULL;
    execv(path, arguments);
    ouro__say(OURO_LUA ": cannot run %s: %s", path, strerror(errno));
    fputs("Ouro was built without LuaJIT.\n", stderr);
    return EXIT_FAILURE;
}

// 1 if an option was taken, 0 if there is none of this name, -1 after a message.
static int take_option(command_line *c, int *at) {
    const char *argument = c->arguments[*at];
    if (argument[1] != '-' && strncmp(argument, "-o", 2) != 0 && strcmp(argument, "-q") != 0)
        return option_of_lua(c, at);
    int taken = option_with_value(c, at);
    return taken ? taken : flag(c, argument);
}

static int refuse_what_luajit_cannot(const command_line *c) {
    if (!lua_is_jit() || !c->settings.precise) return -1;
    return usage("LuaJIT calls no hooks in compiled code, so it can only be sampled: leave out ",
                 c->settings.memory         ? "--memory"
                 : c->settings.instructions ? "--instructions"
                 : c->settings.slice        ? "--slice"
                                            : "--precise");
}

int options_parse(command_line *c, int count, char **arguments) {
    *c = (command_line){.count = count, .arguments = arguments};
    c->before = calloc((size_t)count + 1, sizeof *c->before);
    if (!c->before) return usage("not enough memory", "");
    int i = 1;
    for (; i < count && arguments[i][0] == '-' && arguments[i][1]; i++) {
        if (strcmp(arguments[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0)
            return fputs(help, stdout) < 0;
        if (strcmp(arguments[i], "--version") == 0)
            return puts(OURO_LUA " " OURO_VERSION ", " OURO_LUA_RELEASE) < 0;
        if (strcmp(arguments[i], "--luajit") == 0 && !lua_is_jit())
            return run_luajit(count, arguments, i);
        const char *argument = arguments[i];
        int taken = take_option(c, &i);
        if (taken < 0) return EXIT_USAGE;
        if (!taken && strcmp(argument, "--luajit") != 0)
            return usage("there is no option ", argument);
    }
    if (i >= count && !c->before_count && !c->show_version) return usage("which script?", "");
    c->script = i < count ? i : count;
    if (!c->output) c->output = default_output(i < count ? arguments[i] : OURO_LUA_NAME);
    return refuse_what_luajit_cannot(c);
}

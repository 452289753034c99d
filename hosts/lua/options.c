// SPDX-License-Identifier: MIT
//
// The command line of ouro-lua. The first word that is not an option is the script's name, and
// everything after it belongs to the script.

#include "options.h"

#include "own_path.h"
#include "printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

static const char help[] =
    "ouro lua [options] SCRIPT [args]\n"
    "\n"
    "Runs a Lua 5.4 script as lua does, records a profile, and prints a summary on standard "
    "error.\n"
    "SCRIPT may be `-` for standard input.\n"
    "\n"
    "  -o, --output FILE  where to write the profile (SCRIPT.pb.gz here); .gz packs it\n"
    "  --view             open the viewer afterwards\n"
    "  --quiet            no summary\n"
    "  --hz N             ticks per second (251)\n"
    "  --precise          record every call, tail call and return instead of sampling\n"
    "  --instructions[=N] count instructions of the virtual machine, N at a time (1000); implies\n"
    "                     --precise\n"
    "  --memory           count allocations and bytes; implies --precise\n"
    "  --live FILE        keep the profile in FILE while it grows, for `ouro view FILE`\n"
    "  --max-nodes N      the most paths that are kept (1000000)\n"
    "  --compact RULE     loops, cycles, edges, edges:1 to edges:3, or none\n"
    "  --luajit           run with LuaJIT and its own profiler (sampling only)\n"
    "  --help, --version\n"
    "\n"
    "The exit status is the script's. 2: the command line makes no sense.\n"
    "\n"
    "Examples:\n"
    "  ouro lua script.lua one two\n"
    "  ouro lua --precise -o calls.pb.gz script.lua\n"
    "  ouro lua --memory --view script.lua\n";

static int usage(const char *message, const char *what) {
    ouro__say("ouro lua: %s%s", message, what);
    fputs("Try `ouro help lua`.\n", stderr);
    return EXIT_USAGE;
}

// The value of an option that is `name VALUE` or `name=VALUE`. NULL: it is another option.
static const char *value_of(int count, char **arguments, int *at, const char *name) {
    const char *argument = arguments[*at];
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return NULL;
    if (argument[length] == '=') return argument + length + 1;
    if (argument[length] != '\0') return NULL;
    if (*at + 1 < count) return arguments[++*at];
    return "";
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
    if ((value = value_of(c->count, c->arguments, at, "--output")) ||
        (value = value_of(c->count, c->arguments, at, "-o"))) {
        c->output = value;
        return *value ? 1 : (usage("--output needs a file", ""), -1);
    }
    if ((value = value_of(c->count, c->arguments, at, "--live"))) {
        s->live = value;
        return *value ? 1 : (usage("--live needs a file", ""), -1);
    }
    if ((value = value_of(c->count, c->arguments, at, "--hz"))) {
        if (!number(value, 1, 100000, &n)) return usage("--hz needs 1 to 100000, not ", value), -1;
        s->hz = (unsigned)n;
        return 1;
    }
    if ((value = value_of(c->count, c->arguments, at, "--max-nodes"))) {
        if (!number(value, 2, OURO_MAX_NODES_MOST, &n))
            return usage("--max-nodes needs 2 to 134000000, not ", value), -1;
        s->max_nodes = (uint32_t)n;
        return 1;
    }
    if ((value = value_of(c->count, c->arguments, at, "--compact"))) {
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
    ouro__say("ouro lua: cannot run %s: %s", path, strerror(errno));
    fputs("Ouro was built without LuaJIT.\n", stderr);
    return EXIT_FAILURE;
}

int options_parse(command_line *c, int count, char **arguments) {
    *c = (command_line){.count = count, .arguments = arguments};
    int i = 1;
    for (; i < count && arguments[i][0] == '-' && arguments[i][1]; i++) {
        if (strcmp(arguments[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0)
            return fputs(help, stdout) < 0;
        if (strcmp(arguments[i], "--version") == 0)
            return puts("ouro lua " OURO_VERSION ", " LUA_RELEASE) < 0;
        if (strcmp(arguments[i], "--luajit") == 0) return run_luajit(count, arguments, i);
        const char *argument = arguments[i];
        int taken = option_with_value(c, &i);
        if (taken < 0) return EXIT_USAGE;
        if (!taken && !flag(c, argument)) return usage("there is no option ", argument);
    }
    if (i >= count) return usage("which script?", "");
    c->script = i;
    if (!c->output) c->output = default_output(arguments[i]);
    return -1;
}

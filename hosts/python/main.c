// SPDX-License-Identifier: MIT
//
// ouro-python: becomes Python, with Ouro inside. Python itself then runs the script, the module or
// the code, so that arguments, streams, tracebacks, signals and the exit status are its own.
//
// Ouro gets in by a module `sitecustomize`, which Python imports before the program begins: its
// folder is put before PYTHONPATH. That module takes the folder and our variables out again, loads
// the real sitecustomize if there is one, and starts the recording.

#include "descriptors.h"
#include "live_name.h"
#include "option_value.h"
#include "own_path.h"
#include "printable.h"

#include "ouro.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, SETTINGS_MOST = 3 * PATH_MAX };
#define SEPARATOR "\x1f" // between settings; start/sitecustomize.py splits there

static const char help[] =
    "ouro python [options] SCRIPT [args]\n"
    "ouro python [options] -m MODULE [args]\n"
    "ouro python [options] -c CODE [args]\n"
    "\n"
    "Runs a Python program as python3 does, records a profile of all its threads, and prints a "
    "summary\non standard error. SCRIPT may be `-` for standard input, a folder or a zip file.\n"
    "\n"
    "  -o, --output FILE  where to write the profile (SCRIPT.pb.gz here); .gz packs it. A child "
    "of\n"
    "                     os.fork or multiprocessing writes its own, with its process id: "
    "SCRIPT-PID.pb.gz\n"
    "  --view             open the viewer afterwards\n"
    "  -q, --quiet        no summary\n"
    "  --precise          record every call, resume and return instead of sampling\n"
    "  --memory           count allocations and bytes; implies --precise\n"
    "  --gil              sampling: tell waiting for the GIL and native time apart\n"
    "  --wall, --cpu      what time is: time that passes (default), or processor time\n"
    "  --hz N             ticks per second (251)\n"
    "  --slice FUNCTION   every call of it is a slice (ouro report --slices); implies --precise\n"
    "  --slice-by METRIC  which slices are slow: time, allocated... (duration)\n"
    "  --live FILE        keep the profile in FILE while it grows, not beside the output\n"
    "  --max-nodes N      the most paths that are kept (1000000)\n"
    "  --compact RULE     loops, cycles, edges, edges:1 to edges:3, or none\n"
    "  --python PATH      the Python to run; else that of the active virtual environment, else the "
    "first\n"
    "                     python3 in PATH. It has to be a Python 3.11\n"
    "  -b -B -d -O -OO -P -s -u -v -x, -W ARG, -X ARG   as of python3\n"
    "  --help, --version\n"
    "\n"
    "The exit status is the program's. 2: the command line makes no sense.\n"
    "\n"
    "Examples:\n"
    "  ouro python script.py one two\n"
    "  ouro python --precise -o calls.pb.gz -m unittest\n"
    "  ouro python --cpu --view -c 'import this'\n"
    "  ouro python --slice update -o game.pb.gz game.py && ouro report --slices game.pb.gz\n";

typedef struct {
    char settings[SETTINGS_MOST];
    const char *python, *output, *live;
} command;

static int usage(const char *message, const char *what) {
    ouro__say("ouro python: %s%s", message, what);
    fputs("Try `ouro help python`.\n", stderr);
    return EXIT_USAGE;
}

static void add(command *c, const char *name, const char *value) {
    size_t used = strlen(c->settings);
    snprintf(c->settings + used, sizeof c->settings - used, "%s=%s" SEPARATOR, name, value);
}

static bool number(const char *text, long least, long most) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    return *text && !*end && !errno && value >= least && value <= most;
}

// An option with a value: 1 if it was one, 0 if not, -1 after a message.
static int option_with_value(command *c, int count, char **arguments, int *at) {
    ouro_options rule;
    const char *value;
    if ((value = ouro__option_value(count, arguments, at, "--output")) ||
        (value = ouro__option_value(count, arguments, at, "-o"))) {
        c->output = value;
        return *value ? 1 : (usage("--output needs a file", ""), -1);
    }
    if ((value = ouro__option_value(count, arguments, at, "--live"))) {
        c->live = value;
        return *value ? 1 : (usage("--live needs a file", ""), -1);
    }
    if ((value = ouro__option_value(count, arguments, at, "--slice"))) {
        add(c, "slice", value);
        return *value ? 1 : (usage("--slice needs a function's name", ""), -1);
    }
    if ((value = ouro__option_value(count, arguments, at, "--slice-by"))) {
        add(c, "slice_by", value);
        return *value ? 1 : (usage("--slice-by needs a metric", ""), -1);
    }
    if ((value = ouro__option_value(count, arguments, at, "--python"))) {
        c->python = value;
        return *value ? 1 : (usage("--python needs the path of a Python", ""), -1);
    }
    if ((value = ouro__option_value(count, arguments, at, "--hz"))) {
        if (!number(value, 1, 100000)) return usage("--hz needs 1 to 100000, not ", value), -1;
        return add(c, "hz", value), 1;
    }
    if ((value = ouro__option_value(count, arguments, at, "--max-nodes"))) {
        if (!number(value, 2, OURO_MAX_NODES_MOST))
            return usage("--max-nodes needs 2 to 134000000, not ", value), -1;
        return add(c, "max_nodes", value), 1;
    }
    if ((value = ouro__option_value(count, arguments, at, "--compact"))) {
        if (ouro_compaction_from_name(value, &rule)) return usage("there is no rule ", value), -1;
        return add(c, "compact", value), 1;
    }
    return 0;
}

static bool flag(command *c, const char *argument) {
    static const char *const flags[] = {"view", "quiet", "precise", "memory", "gil"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strncmp(argument, "--", 2) == 0 && strcmp(argument + 2, flags[i]) == 0)
            return add(c, flags[i], "1"), true;
    }
    if (strcmp(argument, "-q") == 0) return add(c, "quiet", "1"), true;
    if (strcmp(argument, "--cpu") == 0) return add(c, "clock", "cpu"), true;
    if (strcmp(argument, "--wall") == 0) return add(c, "clock", "wall"), true;
    return false;
}

// Options of Python that are passed on. The number of arguments it takes, or 0.
static int of_python(const char *argument) {
    if (strcmp(argument, "-W") == 0 || strcmp(argument, "-X") == 0) return 2;
    if (strncmp(argument, "-W", 2) == 0 || strncmp(argument, "-X", 2) == 0) return 1;
    return argument[1] && strspn(argument + 1, "bBdOPsuvx") == strlen(argument + 1);
}

// script.py -> script.pb.gz, in the current folder.
static const char *default_output(int count, char **arguments, int at) {
    static char name[NAME_MAX + 16];
    const char *word = arguments[at], *base = word;
    if (strcmp(word, "-c") == 0 || strcmp(word, "-") == 0) base = "python";
    if (strcmp(word, "-m") == 0 && at + 1 < count) base = arguments[at + 1];
    const char *slash = strrchr(base, '/');
    if (slash && slash[1]) base = slash + 1;
    size_t length = strlen(base);
    if (length > 3 && strcmp(base + length - 3, ".py") == 0) length -= 3;
    snprintf(name, sizeof name, "%.*s.pb.gz", length > NAME_MAX ? NAME_MAX : (int)length, base);
    return name;
}

static bool is_program(const char *argument) {
    return argument[0] != '-' || !argument[1] || strncmp(argument, "-m", 2) == 0 ||
           strncmp(argument, "-c", 2) == 0;
}

// Options of ours are taken, those of Python go to `kept`. -1: go on; else the status to exit with.
static int options_parse(command *c, int count, char **arguments, char **kept, int *kept_count) {
    int i = 1;
    for (; i < count && !is_program(arguments[i]); i++) {
        const char *argument = arguments[i];
        if (strcmp(argument, "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            return fputs(help, stdout) < 0;
        if (strcmp(argument, "--version") == 0) return puts("ouro python " OURO_VERSION) < 0;
        int taken = option_with_value(c, count, arguments, &i);
        if (taken < 0) return EXIT_USAGE;
        if (taken || flag(c, argument)) continue;
        int words = of_python(argument);
        if (!words && strlen(argument) == 2 && strchr("EIS", argument[1]))
            return usage("Python would not load Ouro under ", argument);
        if (!words) return usage("there is no option ", argument);
        for (; words && i < count; words--) kept[(*kept_count)++] = arguments[words > 1 ? i++ : i];
    }
    if (i >= count) return usage("which script, module (-m) or code (-c)?", "");
    if (!c->output) c->output = default_output(count, arguments, i);
    for (; i < count; i++) kept[(*kept_count)++] = arguments[i];
    return -1;
}

// ---------------------------------------------------------------- becoming Python

// Beside this program: in the build folder, or where both are installed.
static bool find_folder(char folder[static PATH_MAX]) {
    static const char *const places[] = {"python", "hosts/python"};
    char own[PATH_MAX], probe[2 * PATH_MAX];
    if (!ouro__own_folder(own)) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(probe, sizeof probe, "%s%s/start/sitecustomize.py", own, places[i]);
        if (access(probe, R_OK)) continue;
        return snprintf(folder, PATH_MAX, "%s%s", own, places[i]) < PATH_MAX;
    }
    return false;
}

static bool set_environment(command *c, const char *folder) {
    const char *before = secure_getenv("PYTHONPATH");
    char *path = NULL;
    char *output = ouro__absolute(c->output); // whatever is done before the recording begins
    if (!output) return false;
    add(c, "shown", c->output);
    add(c, "output", output);
    free(output);
    char *live = c->live ? ouro__absolute(c->live) : NULL;
    if (c->live && !live) return false;
    if (live) add(c, "live", live);
    free(live);
    add(c, "folder", folder);
    if (strlen(c->settings) + 1 >= sizeof c->settings) return false;
    if (asprintf(&path, "%s/start%s%s", folder, before ? ":" : "", before ? before : "") < 0)
        return false;
    bool good = !setenv("PYTHONPATH", path, 1) && !setenv("OURO_PYTHON", c->settings, 1) &&
                !(before ? setenv("OURO_PYTHONPATH", before, 1) : unsetenv("OURO_PYTHONPATH"));
    free(path);
    return good;
}

static const char *which_python(const command *c, char path[static PATH_MAX]) {
    if (c->python) return c->python;
    const char *environment = secure_getenv("VIRTUAL_ENV");
    if (!environment || !*environment) return "python3";
    if (snprintf(path, PATH_MAX, "%s/bin/python3", environment) >= PATH_MAX) return "python3";
    return access(path, X_OK) ? "python3" : path;
}

int main(int count, char **arguments) {
    ouro__hold_streams();
    static command c;
    char folder[PATH_MAX], path[PATH_MAX];
    char **kept = calloc((size_t)count + 2, sizeof *kept);
    int kept_count = 1;
    if (!kept) return EXIT_FAILURE;
    int ended = options_parse(&c, count, arguments, kept, &kept_count);
    if (ended >= 0) return ended;
    if (!find_folder(folder) || !set_environment(&c, folder)) {
        ouro__say("ouro python: cannot find its folder `python` beside this program");
        return EXIT_FAILURE;
    }
    const char *python = which_python(&c, path);
    kept[0] = (char *)python;
    execvp(python, kept);
    ouro__say("ouro python: cannot run %s: %s", python, strerror(errno));
    return EXIT_FAILURE;
}

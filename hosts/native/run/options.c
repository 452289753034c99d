// SPDX-License-Identifier: MIT
//
// The options of `ouro run`, up to the name of the program: what follows is the program's.

#include "options.h"

#include "ouro.h"
#include "printable.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "ouro run [options] PROGRAM [arguments]\n"
    "ouro run --pid PID [options]\n"
    "ouro run --symbolise [options] FILE...\n"
    "\n"
    "Runs any program, writes its profile, and shows a summary. Its other processes are in it, "
    "too.\n"
    "A C or C++ program that was built with `ouro cc` or `ouro c++` (or with "
    "-finstrument-functions)\n"
    "has all its calls counted; any other program is sampled.\n"
    "\n"
    "  -o, --output FILE   the profile (PROGRAM.pb); the extension tells the format\n"
    "  --view              show it in the viewer\n"
    "  -q, --quiet         show nothing\n"
    "  --pid PID           sample a process that runs, until Ctrl-C; it goes on\n"
    "  --duration SECONDS  sample so long\n"
    "  --cpu, --wall       processor time (the default), or also time while waiting\n"
    "  --sample            sample, also if the program is instrumented\n"
    "  --timer             sample by a timer inside the program, without perf events\n"
    "  --by thread         the names of threads are roots\n"
    "  --off               begin switched off; `ouro record on PID` switches on\n"
    "  --memory            count allocations and their bytes (instrumented programs)\n"
    "  --tiny              count calls of tiny functions, too (programs by `ouro cc`)\n"
    "  --without NAMES     do not count these functions, `,` between them (programs by `ouro cc`)\n"
    "  --clock WHICH       time by a timer: cpu (processor time), wall, or off\n"
    "  --hz N              samples, or ticks of the timer, per second (997)\n"
    "  --compact RULE      loops, cycles, edges, edges:1 to edges:3, or none\n"
    "  --max-nodes N       the most paths to keep, of each process (262,144)\n"
    "  --slice FUNCTION    every call of it is a slice: the report says what slow ones do\n"
    "  --slice-by METRIC   which slices are slow: time, allocated, allocations (duration)\n"
    "  --live FOLDER       keep the live files there; `ouro view` can look at them meanwhile\n"
    "  --debug-folder DIR  where separate debug files are, `:` between several (/usr/lib/debug)\n"
    "  --symbolise         put names into live files or profiles of an earlier run\n"
    "  --help, --version\n"
    "\n"
    "Exit status: that of PROGRAM, 128 + N if signal N ended it; 1 if the profile cannot be "
    "written,\n"
    "127 if there is no such program.\n"
    "\n"
    "Examples:\n"
    "  ouro run gzip -9 file\n"
    "  ouro run --pid 1234 --wall --duration 10 --view\n"
    "  CC='ouro cc' make && ouro run ./program input.txt\n"
    "  ouro run --memory --view -o program.pb.gz -- ./program -x\n"
    "  ouro run --slice Game::frame -o game.pb.gz ./game\n"
    "  ouro run --live /dev/shm/mine ./server; ouro run --symbolise /dev/shm/mine/*.ouro -o s.pb\n";

_Noreturn void fail(const char *what, const char *which) {
    ouro__say("ouro run: %s %s: %s", what, which, strerror(errno));
    exit(EXIT_FAILED);
}

static _Noreturn void fail_usage(const char *message, const char *word) {
    ouro__say("ouro run: %s%s", message, word);
    fputs("`ouro run --help` tells how it is used.\n", stderr);
    exit(EXIT_USAGE);
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word)) words++;
    return *words != NULL;
}

static bool is_number(const char *text, unsigned long most) {
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && n >= 1 && n <= most;
}

static void check_options(const options *o) {
    static const char *const clocks[] = {"cpu", "wall", "off", NULL};
    ouro_options rule;
    if (o->clock && !is_one_of(o->clock, clocks))
        fail_usage("--clock is cpu, wall or off, not ", o->clock);
    if (o->rule && ouro_compaction_from_name(o->rule, &rule) != 0)
        fail_usage("--compact is loops, cycles, edges, edges:1 to edges:3 or none, not ", o->rule);
    if (o->hz && !is_number(o->hz, 100000)) fail_usage("--hz is 1 to 100000, not ", o->hz);
    if (o->nodes && (!is_number(o->nodes, OURO_MAX_NODES_MOST) || atol(o->nodes) < 2))
        fail_usage("--max-nodes is 2 to 134000000, not ", o->nodes);
    static const char *const metrics[] = {"duration", "time", "allocated", "allocations", NULL};
    if (o->slice && !*o->slice) fail_usage("--slice needs a function's name", "");
    if (o->slice_by && !is_one_of(o->slice_by, metrics))
        fail_usage("--slice-by is duration, time, allocated or allocations, not ", o->slice_by);
    if (o->pid && !is_number(o->pid, INT_MAX)) fail_usage("--pid is a process, not ", o->pid);
    if (o->duration && !(strtod(o->duration, NULL) > 0))
        fail_usage("--duration is in seconds, not ", o->duration);
    if (o->pid && (o->rest[0] || o->memory)) fail_usage("--pid samples a process that runs", "");
    if (!o->rest[0] && !o->pid) fail_usage(o->symbolise ? "which files?" : "which program?", "");
    if (o->symbolise && !o->output) fail_usage("--symbolise needs -o FILE", "");
}

// What getopt_long gives: a letter, one of these, or the place of a field behind FLAGS or WORDS.
enum { HELP = 256, VERSION, CPU, WALL, TIMER, BY, FLAGS = 1000, WORDS = 2000 };
#define FLAG(name, field) \
    { name, no_argument, NULL, FLAGS + (int)offsetof(options, field) }
#define WORD(name, field) \
    { name, required_argument, NULL, WORDS + (int)offsetof(options, field) }

static const struct option longs[] = {WORD("output", output),
                                      FLAG("view", view),
                                      FLAG("quiet", quiet),
                                      FLAG("memory", memory),
                                      FLAG("tiny", tiny),
                                      WORD("without", without),
                                      WORD("clock", clock),
                                      WORD("hz", hz),
                                      WORD("compact", rule),
                                      WORD("max-nodes", nodes),
                                      WORD("live", live),
                                      WORD("debug-folder", debug_folders),
                                      FLAG("symbolise", symbolise),
                                      FLAG("sample", sample),
                                      WORD("pid", pid),
                                      WORD("duration", duration),
                                      {"cpu", no_argument, NULL, CPU},
                                      {"wall", no_argument, NULL, WALL},
                                      {"timer", no_argument, NULL, TIMER},
                                      FLAG("off", off),
                                      {"by", required_argument, NULL, BY},
                                      WORD("slice", slice),
                                      WORD("slice-by", slice_by),
                                      {"help", no_argument, NULL, HELP},
                                      {"version", no_argument, NULL, VERSION},
                                      {NULL, 0, NULL, 0}};

// false: there is no such option.
static bool take_option(options *o, int c) {
    char *fields = (char *)o;
    if (c >= WORDS) {
        memcpy(fields + c - WORDS, &optarg, sizeof optarg);
    } else if (c >= FLAGS) {
        memcpy(fields + c - FLAGS, &(bool){true}, sizeof(bool));
    } else if (c == 'o') {
        o->output = optarg;
    } else if (c == 'q') {
        o->quiet = true;
    } else if (c == CPU || c == WALL) {
        o->clock = c == CPU ? "cpu" : "wall";
    } else if (c == TIMER) {
        o->timer = o->sample = true;
    } else if (c == BY) {
        if (strcmp(optarg, "thread")) fail_usage("--by is thread, not ", optarg);
        o->by_thread = true;
    } else {
        return false;
    }
    return true;
}

static _Noreturn void say_and_end(const char *text) {
    fputs(text, stdout);
    exit(0);
}

void read_options(options *o, int argc, char **argv) {
    bool symbolise = argc > 1 && strcmp(argv[1], "--symbolise") == 0;
    // Stop at the program's name: the options after it are the program's.
    const char *shorts = symbolise ? ":o:q" : "+:o:q";
    opterr = 0; // getopt would print the option as it is
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (c == HELP) say_and_end(help);
        if (c == VERSION) say_and_end("ouro run " OURO_VERSION "\n");
        if (c == ':') fail_usage("a value is missing for ", argv[optind - 1]);
        if (!take_option(o, c)) fail_usage("there is no option ", argv[optind - 1]);
    }
    o->rest = argv + optind;
    check_options(o);
}

double duration_of(const options *o) { return o->duration ? strtod(o->duration, NULL) : 0; }

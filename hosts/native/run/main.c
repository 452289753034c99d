// SPDX-License-Identifier: MIT
//
// ouro-run: `ouro run [options] PROGRAM [arguments]`. Tells the program's run-time part where
// to put its live files, runs it, and turns the files of all its processes into one profile
// with names:
//
//     PROGRAM.PID.ouro ... -> ouro merge -> names (rename.c, symbols.c) -> ouro convert -> OUT
//
// The live files are complete at any moment, so it does not matter how the program ends.
// `ouro run --symbolise FILES -o OUT` makes the same profile from them later.

#include "advice.h"
#include "descriptors.h"
#include "folders.h"
#include "ouro.h"
#include "perfdata.h"
#include "printable.h"
#include "record.h"
#include "rename.h"
#include "sampling.h"
#include "scratch.h"
#include "whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    FILES_AT_ONCE = 200,
    NODES_LEAST = 1 << 10,
    HZ_DEFAULT = 997
};

static const char help[] =
    "ouro run [options] PROGRAM [arguments]\n"
    "ouro run --pid PID [options]\n"
    "ouro run --symbolise [options] FILE...\n"
    "\n"
    "Runs any program, writes its profile, and shows a summary. Its other processes are in it, "
    "too.\n"
    "A C or C++ program that was built with `ouro cc` or `ouro c++` (or with "
    "-finstrument-functions,\n"
    "or clang's -fxray-instrument) has all its calls counted; any other program is sampled.\n"
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

typedef struct {
    const char *output, *live, *debug_folders, *clock, *hz, *rule, *nodes;
    bool view, quiet, memory, symbolise, sample, by_thread, off, timer;
    const char *pid, *duration, *slice, *slice_by;
    char **rest;
} options;

static char ouro[PATH_MAX];

static _Noreturn void fail(const char *what, const char *which) {
    ouro__say("ouro run: %s %s: %s", what, which, strerror(errno));
    exit(EXIT_FAILED);
}

static _Noreturn void fail_usage(const char *message, const char *word) {
    ouro__say("ouro run: %s%s", message, word);
    fputs("`ouro run --help` tells how it is used.\n", stderr);
    exit(EXIT_USAGE);
}

// ---------------------------------------------------------------- options

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

static void read_options(options *o, int argc, char **argv) {
    enum {
        VIEW = 256,
        MEMORY,
        CLOCK,
        HZ,
        COMPACT,
        NODES,
        LIVE,
        DEBUG,
        SYMBOLISE,
        HELP,
        VERSION,
        SAMPLE,
        PID,
        DURATION,
        CPU,
        WALL,
        TIMER,
        OFF,
        BY,
        SLICE,
        SLICE_BY
    };
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"view", no_argument, NULL, VIEW},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"memory", no_argument, NULL, MEMORY},
                                          {"clock", required_argument, NULL, CLOCK},
                                          {"hz", required_argument, NULL, HZ},
                                          {"compact", required_argument, NULL, COMPACT},
                                          {"max-nodes", required_argument, NULL, NODES},
                                          {"live", required_argument, NULL, LIVE},
                                          {"debug-folder", required_argument, NULL, DEBUG},
                                          {"symbolise", no_argument, NULL, SYMBOLISE},
                                          {"sample", no_argument, NULL, SAMPLE},
                                          {"pid", required_argument, NULL, PID},
                                          {"duration", required_argument, NULL, DURATION},
                                          {"cpu", no_argument, NULL, CPU},
                                          {"wall", no_argument, NULL, WALL},
                                          {"timer", no_argument, NULL, TIMER},
                                          {"off", no_argument, NULL, OFF},
                                          {"by", required_argument, NULL, BY},
                                          {"slice", required_argument, NULL, SLICE},
                                          {"slice-by", required_argument, NULL, SLICE_BY},
                                          {"help", no_argument, NULL, HELP},
                                          {"version", no_argument, NULL, VERSION},
                                          {NULL, 0, NULL, 0}};
    bool symbolise = argc > 1 && strcmp(argv[1], "--symbolise") == 0;
    // Stop at the program's name: the options after it are the program's.
    const char *shorts = symbolise ? ":o:q" : "+:o:q";
    opterr = 0; // getopt would print the option as it is
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        switch (c) {
        case 'o':
            o->output = optarg;
            break;
        case 'q':
            o->quiet = true;
            break;
        case VIEW:
            o->view = true;
            break;
        case MEMORY:
            o->memory = true;
            break;
        case CLOCK:
            o->clock = optarg;
            break;
        case HZ:
            o->hz = optarg;
            break;
        case COMPACT:
            o->rule = optarg;
            break;
        case NODES:
            o->nodes = optarg;
            break;
        case LIVE:
            o->live = optarg;
            break;
        case SLICE:
            o->slice = optarg;
            break;
        case SLICE_BY:
            o->slice_by = optarg;
            break;
        case DEBUG:
            o->debug_folders = optarg;
            break;
        case SYMBOLISE:
            o->symbolise = true;
            break;
        case SAMPLE:
            o->sample = true;
            break;
        case PID:
            o->pid = optarg;
            break;
        case DURATION:
            o->duration = optarg;
            break;
        case CPU:
            o->clock = "cpu";
            break;
        case OFF:
            o->off = true;
            break;
        case BY:
            if (strcmp(optarg, "thread")) fail_usage("--by is thread, not ", optarg);
            o->by_thread = true;
            break;
        case TIMER:
            o->timer = o->sample = true;
            break;
        case WALL:
            o->clock = "wall";
            break;
        case HELP:
            fputs(help, stdout);
            exit(0);
        case VERSION:
            puts("ouro run " OURO_VERSION);
            exit(0);
        case ':':
            fail_usage("a value is missing for ", argv[optind - 1]);
        default:
            fail_usage("there is no option ", argv[optind - 1]);
        }
    }
    o->rest = argv + optind;
    check_options(o);
}

// ---------------------------------------------------------------- the folder

static void tell_cleaned(const char *folder, uint64_t bytes) {
    ouro__say("ouro run: removed %s (%.1f MB), left by a run that was killed", folder,
              (double)bytes / 1e6);
}

static void tell_no_one(const char *folder, uint64_t bytes) {
    (void)folder;
    (void)bytes;
}

typedef struct {
    char own[PATH_MAX];  // of this run alone, for what is in between
    char live[PATH_MAX]; // of the live files: that of --live, or the same
    const char *mark;    // in the names of this run's files there; NULL: there are no others
} folders;

static void make_folders(const options *o, const char *wanted, folders *f) {
    scratch_clean(o->quiet ? tell_no_one : tell_cleaned);
    if (scratch_make(f->own)) fail("cannot make", f->own);
    strcpy(f->live, f->own);
    f->mark = wanted ? scratch_mark(f->own) : NULL;
    if (!wanted) return;
    bool made = mkdir(wanted, 0700) == 0 || errno == EEXIST;
    if (made && realpath(wanted, f->live)) return;
    int problem = errno;
    scratch_remove(f->own);
    errno = problem;
    fail(made ? "cannot use" : "cannot make", wanted);
}

// Can live files be made there? A small one is made to find out, with a name as long as they get.
// An errno, or 0.
static int folder_problem(const char *folder) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%0230d.ouro", folder, getpid());
    if (n >= PATH_MAX) return ENAMETOOLONG;
    ouro_profile *profile =
        ouro_profile_new(&(ouro_options){.path = path, .max_nodes = NODES_LEAST});
    if (!profile) return errno;
    ouro_thread *thread = ouro_thread_new(profile); // takes room for the first nodes
    int problem = thread ? 0 : errno;
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    unlink(path);
    return problem;
}

// A program that does not start is better than one that runs for an hour in vain.
static void check_folder(const folders *f) {
    int problem = folder_problem(f->live);
    if (!problem) return;
    scratch_remove(f->own);
    errno = problem;
    fail("cannot make live files in", f->live);
}

typedef struct {
    char **names; // whole paths
    size_t count, room;
} files;

static bool ends_in(const char *name, const char *ending) {
    size_t n = strlen(name), e = strlen(ending);
    return n >= e && strcmp(name + n - e, ending) == 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_file(files *all, char *name) {
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 64;
        all->names = realloc(all->names, all->room * sizeof *all->names);
        if (!all->names) fail("cannot list", "files");
    }
    all->names[all->count++] = name;
}

// Those of this run. A name that begins with a dot is a file that is not complete yet.
static void list_files(const folders *f, const char *ending, files *all) {
    DIR *d = opendir(f->live);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *path;
        if (e->d_name[0] == '.' || !ends_in(e->d_name, ending)) continue;
        if (!scratch_is_marked(e->d_name, f->mark)) continue;
        if (asprintf(&path, "%s/%s", f->live, e->d_name) < 0) fail("cannot list", f->live);
        add_file(all, path);
    }
    if (d) closedir(d);
    if (all->count) qsort(all->names, all->count, sizeof *all->names, compare_names);
}

static void free_files(files *all) {
    for (size_t i = 0; i < all->count; i++) free(all->names[i]);
    free(all->names);
}

// ---------------------------------------------------------------- the program

static volatile sig_atomic_t child; // 0: none
static volatile sig_atomic_t ended; // a signal that came while there was none
static const int passed[] = {SIGTERM, SIGHUP};
enum { PASSED = sizeof passed / sizeof *passed };
static struct sigaction actions_before[PASSED]; // a child has what our caller chose, as under nohup

static void pass_on(int signal_number) {
    if (child > 0) {
        kill(child, signal_number);
    } else {
        ended = signal_number;
    }
}

// Signals that would end us are passed on to the child. Without one they wait for the next, which
// is not started then: so our folder is removed.
static void pass_signals(void) {
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    for (int i = 0; i < PASSED; i++) sigaction(passed[i], &pass, &actions_before[i]);
}

// No signal comes between the birth of the child and our knowing of it.
static pid_t start_child(void) {
    sigset_t all, before;
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = ended ? -1 : fork();
    if (pid > 0) child = pid;
    for (int i = 0; i < PASSED && pid == 0; i++) sigaction(passed[i], &actions_before[i], NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (ended) errno = EINTR;
    return pid;
}

static int wait_for_child(void) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void set(const char *name, const char *value) {
    if (value) setenv(name, value, 1);
}

static void set_or_remove(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

// In the child. Keeps libraries that are preloaded already.
static void preload(const char *name) {
    char library[PATH_MAX], list[PATH_MAX * 2];
    const char *before = secure_getenv("LD_PRELOAD");
    if (!find_library(name, library)) return;
    snprintf(list, sizeof list, "%s%s%s", library, before && *before ? ":" : "",
             before ? before : "");
    setenv("LD_PRELOAD", list, 1);
}

// A program with gcc's address sanitizer refuses to run if another library is loaded before it.
// Such a program must be linked with ours, by `ouro cc`.
static bool must_come_first(const char *program) {
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0) return false;
    bool found = false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        found = bytes != MAP_FAILED && memmem(bytes, size, "libasan.so.", 11) != NULL;
        if (bytes != MAP_FAILED) munmap(bytes, size);
    }
    close(fd);
    return found;
}

static int start_pipe[2]; // its end is closed by exec; an errno comes through it if that fails
static int gate[2];       // the program starts when it is closed

static _Noreturn void become_program(const options *o, const folders *f) {
    char none;
    close(gate[1]);
    // Where perf events are forbidden, the program samples itself, and is told so through the gate.
    bool ticks = read(gate[0], &none, 1) == 1;
    if (ticks) set("OURO_NATIVE_TICKS", o->hz ? o->hz : "997");
    if (!must_come_first(o->rest[0]) && (ticks || !o->sample)) {
        preload("libouro-native.so");
        if (o->memory) preload("libouro-native-memory.so");
    }
    unsetenv("OURO_NATIVE_NAMES");
    // Else an instrumented program would count its calls, which samples are asked for in place of.
    set_or_remove("OURO_NATIVE", ticks || !o->sample ? f->live : NULL);
    set_or_remove("OURO_NATIVE_RUN", f->mark);
    set("OURO_NATIVE_NODES", o->nodes);
    set("OURO_NATIVE_COMPACT", o->rule);
    set("OURO_NATIVE_CLOCK", o->clock);
    set("OURO_NATIVE_HZ", o->hz);
    set("OURO_NATIVE_MEMORY", o->memory ? "1" : NULL);
    set("OURO_NATIVE_OFF", o->off ? "1" : NULL);
    set("OURO_NATIVE_BY", o->by_thread ? "thread" : NULL);
    set("OURO_NATIVE_SLICE", o->slice);
    set("OURO_NATIVE_SLICE_BY", o->slice_by);
    execvp(o->rest[0], o->rest);
    int error = errno;
    ouro__say("ouro run: cannot run %s: %s", o->rest[0], strerror(error));
    if (write(start_pipe[1], &error, sizeof error) < 0) _exit(126);
    _exit(error == ENOENT ? 127 : 126);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static sampling *start_sampling(const options *o, const folders *f, const char *name, pid_t pid,
                                bool on_exec, bool by_timer) {
    sampling_options so = {.folder = f->live,
                           .name = name,
                           .mark = f->mark,
                           .rule = o->rule,
                           .nodes = o->nodes,
                           .debug_folders = o->debug_folders,
                           .hz = o->hz ? (unsigned)atoi(o->hz) : HZ_DEFAULT,
                           .waits = o->clock && strcmp(o->clock, "wall") == 0,
                           .by_thread = o->by_thread,
                           .by_timer = by_timer,
                           .off = o->off};
    return sampling_start(&so, pid, on_exec);
}

// Programs whose calls are not counted are sampled. A script may start one of either kind.
static bool wants_sampling(const options *o) {
    if (o->sample) return true;
    bool timeless = o->memory || (o->clock && strcmp(o->clock, "off") == 0);
    return !timeless && !is_instrumented(o->rest[0]);
}

static double duration_of(const options *o) { return o->duration ? strtod(o->duration, NULL) : 0; }

static int stop; // sampling; set by signals

// *started: it ran; its own status may be 126 or 127, too. *sampled_too: see wants_sampling.
// Ctrl-C ends the program, not us: its profile up to then is still to be written.
static int run_program(const options *o, const folders *f, bool *started, bool *sampled_too) {
    int error;
    if (pipe2(start_pipe, O_CLOEXEC) || pipe2(gate, O_CLOEXEC)) fail("cannot run", o->rest[0]);
    pid_t pid = start_child();
    if (pid < 0) fail("cannot run", o->rest[0]);
    if (pid == 0) become_program(o, f);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    close(start_pipe[1]);
    sampling *s = NULL;
    const char *name = base_name(o->rest[0]);
    if (*sampled_too && !o->timer) {
        s = start_sampling(o, f, name, pid, true, false);
        if (!s) tell_not_permitted(errno, true);
    }
    if (*sampled_too && !s) {
        s = start_sampling(o, f, name, pid, true, true);
        if (s && write(gate[1], "t", 1) < 0) fail("cannot run", o->rest[0]);
    }
    close(gate[0]);
    close(gate[1]);
    *started = read(start_pipe[0], &error, sizeof error) <= 0;
    close(start_pipe[0]);
    if (s) sampling_run(s, &stop, duration_of(o));
    if (s) *sampled_too = sampling_end(s, o->quiet) > 0;
    return wait_for_child();
}

// ---------------------------------------------------------------- the profile

// Runs ouro. Its output goes to standard error, because standard output is the program's.
enum how { QUIETLY, HEARD, SHOWN }; // SHOWN: Ctrl-C ends it

static int status_of_ouro(char **arguments, enum how how) {
    pid_t pid = start_child();
    if (pid < 0) return EXIT_FAILED;
    if (pid == 0) {
        int nowhere = how != QUIETLY ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        if (how == SHOWN) signal(SIGINT, SIG_DFL);
        execvp(ouro, arguments);
        ouro__say("ouro run: cannot run %s: %s", ouro, strerror(errno));
        _exit(127);
    }
    return wait_for_child();
}

static bool run_ouro(char **arguments) { return status_of_ouro(arguments, HEARD) == 0; }

// The sum of some files, as pprof.
static bool merge(char **names, size_t count, const char *sum, const char *to) {
    char *arguments[FILES_AT_ONCE + 10] = {ouro, "merge", "--to", "pprof", "-o", (char *)to};
    size_t n = 6;
    if (sum) arguments[n++] = (char *)sum;
    for (size_t i = 0; i < count; i++) arguments[n++] = names[i];
    return run_ouro(arguments);
}

static bool merge_all(const files *all, const char *folder, char merged[static PATH_MAX]) {
    char sums[2][PATH_MAX];
    const char *sum = NULL;
    int turn = 0;
    for (size_t i = 0; i < all->count; i += FILES_AT_ONCE, turn = 1 - turn) {
        size_t n = all->count - i < FILES_AT_ONCE ? all->count - i : FILES_AT_ONCE;
        snprintf(sums[turn], PATH_MAX, "%.4000s/.sum.%d", folder, turn);
        if (!merge(all->names + i, n, sum, sums[turn])) return false;
        sum = sums[turn];
    }
    strcpy(merged, sum);
    return true;
}

static void tell_names(const rename_counts *counts) {
    if (counts->functions == counts->named) return;
    fprintf(
        stderr,
        "ouro run: %llu of %llu functions have no name: the program was stripped, or is gone.\n"
        "Debian has debug symbols in packages NAME-dbgsym; --debug-folder names other places.\n",
        (unsigned long long)(counts->functions - counts->named),
        (unsigned long long)counts->functions);
}

// The name of the file in between is the title in most formats. `program`: what the profile is of;
// NULL: what the files say.
static bool write_profile(const options *o, const files *all, const char *folder,
                          const char *program, const char *output) {
    char merged[PATH_MAX], named[PATH_MAX];
    rename_counts counts;
    if (!merge_all(all, folder, merged)) return false;
    snprintf(named, sizeof named, "%.3000s/%.1000s", folder, program ? program : base_name(output));
    symbols *known = symbols_new(o->debug_folders);
    bool renamed = known && rename_functions(merged, named, program, known, &counts) == 0;
    if (!renamed) ouro__say("ouro run: cannot write %s: %s", named, strerror(errno));
    if (known) symbols_free(known);
    if (!renamed) return false;
    if (!o->quiet) tell_names(&counts);
    char *convert[] = {ouro, "convert", named, (char *)output, NULL};
    return run_ouro(convert);
}

// Says why processes could not make a profile; the names of their notes are PID.ERRNO.failed. How
// many there are.
static size_t tell_failures(const folders *f) {
    files notes = {0};
    list_files(f, ".failed", &notes);
    for (size_t i = 0; i < notes.count; i++) {
        int process = 0, error = 0;
        sscanf(strrchr(notes.names[i], '/') + 1, "%d.%d", &process, &error);
        ouro__say("ouro run: process %d was not recorded: cannot make its live file in %s: %s",
                  process, f->live, strerror(error));
        unlink(notes.names[i]);
    }
    size_t count = notes.count;
    free_files(&notes);
    return count;
}

// Does the program get rights that its caller does not have?
static bool is_privileged(const char *program) {
    struct stat status;
    char rights[64];
    if (!strchr(program, '/') || stat(program, &status)) return false;
    return (status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
           getxattr(program, "security.capability", rights, sizeof rights) > 0;
}

// Says why nothing was recorded. false: there was nothing to record.
static bool tell_nothing(const options *o, const char *folder) {
    int problem = folder_problem(folder);
    if (problem) {
        ouro__say("ouro run: nothing was recorded: cannot make live files in %s: %s", folder,
                  strerror(problem));
        return true;
    }
    if (is_privileged(o->rest[0])) {
        ouro__say("ouro run: nothing was recorded: %s has rights of its own (setuid, setgid or",
                  o->rest[0]);
        fputs("capabilities), and does not obey its caller. Run a copy without them.\n", stderr);
        return false;
    }
    if (wants_sampling(o)) {
        ouro__say("ouro run: nothing was recorded: %s ended before the first sample.", o->rest[0]);
        fputs("`--hz 10000` samples more often; `ouro cc` builds programs that count calls.\n",
              stderr);
        return false;
    }
    ouro__say("ouro run: nothing was recorded: %s entered no instrumented function.", o->rest[0]);
    fputs("Build it with `ouro cc` or `ouro c++`; `ouro run --help` says more.\n", stderr);
    return false;
}

static void show(const options *o, const char *output) {
    char *report[] = {ouro, "report", (char *)output, o->slice ? "--slices" : NULL, NULL};
    char *view[] = {ouro, "view", (char *)output, NULL};
    if (o->view) {
        signal(SIGINT, pass_on); // a terminal sends it to the viewer as well
        status_of_ouro(view, SHOWN);
    } else if (!o->quiet) {
        ouro__say("ouro run: the profile is in %s", output);
        status_of_ouro(report, SHOWN);
    }
}

// What `ouro` prints; freed by the caller.
static char *heard_from_ouro(char **arguments) {
    char *text = NULL;
    size_t size = 0, n;
    char buffer[4096];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return NULL;
    pid_t pid = start_child();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); // not every output can be read again
        if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execvp(ouro, arguments);
        _exit(127);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r"), *to = open_memstream(&text, &size);
    while (from && to && (n = fread(buffer, 1, sizeof buffer, from)) > 0) fwrite(buffer, 1, n, to);
    if (to) fclose(to);
    if (from) fclose(from);
    if (pid > 0) wait_for_child();
    return text;
}

// About a program whose calls were counted.
static void advise(const options *o, const char *output) {
    char *report[] = {ouro, "report", "--self", "--metric", "calls", "--csv", (char *)output, NULL};
    char program[PATH_MAX];
    if (find_program(o->rest[0], program)) tell_left_out(program);
    char *rows = heard_from_ouro(report);
    if (rows) tell_most_called(rows);
    free(rows);
}

static const char *default_output(const char *program) {
    static char name[PATH_MAX];
    snprintf(name, sizeof name, "%.4000s.pb", base_name(program));
    return name;
}

// An hour of recording must not be lost for a name: the extension and the folder of the output are
// tried with an empty profile first. Says what is wrong.
static bool can_write(const char *folder, const char *output) {
    char empty[PATH_MAX], trial[PATH_MAX], *beside;
    struct stat status;
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    snprintf(empty, sizeof empty, "%.4000s/empty.pb", folder);
    snprintf(trial, sizeof trial, "%.2000s/.trial-%.2000s", folder, name);
    ouro_profile *profile = ouro_profile_new(NULL);
    bool made = profile && ouro_profile_write(profile, empty) == 0;
    ouro_profile_free(profile);
    char *convert[] = {ouro, "convert", empty, trial, NULL};
    int tried = made ? status_of_ouro(convert, QUIETLY) : 0;
    unlink(empty);
    unlink(trial);
    if (tried == EXIT_USAGE) {
        ouro__say("ouro run: cannot write %s: its extension names no format that can be written "
                  "(`ouro help convert`)",
                  output);
        return false;
    }
    errno = stat(output, &status) == 0 && S_ISDIR(status.st_mode) ? EISDIR : 0;
    int fd = errno ? -1 : ouro__open_beside(output, 0600, &beside);
    if (fd < 0) {
        ouro__say("ouro run: cannot write %s: %s", output, strerror(errno));
        return false;
    }
    close(fd);
    unlink(beside);
    free(beside);
    return true;
}

static void check_output(const folders *f, const char *output) {
    if (can_write(f->own, output)) return;
    scratch_remove(f->own);
    exit(EXIT_FAILED);
}

// What was recorded and could not be written.
static void keep(const options *o, folders *f) {
    if (o->live) {
        scratch_remove(f->own);
        ouro__say("ouro run: the recording is kept: ouro run --symbolise %s/*.%s.*ouro -o FILE",
                  f->live, f->mark);
        return;
    }
    scratch_keep(f->own);
    ouro__say("ouro run: the recording is kept: ouro run --symbolise %s/*.ouro -o FILE", f->own);
}

// The runtime leaves PID.deep when a stack has very many frames.
static void tell_overflow(const folders *f, int status) {
    files notes = {0};
    list_files(f, ".deep", &notes);
    if (notes.count && status == 128 + SIGSEGV)
        fputs("ouro run: the program died of SIGSEGV, with many thousands of calls open: its stack "
              "may have overflowed.\nHooks keep tail calls from being jumps; `ouro cc --xray` "
              "keeps them. A larger stack: ulimit -s.\n",
              stderr);
    for (size_t i = 0; i < notes.count; i++) unlink(notes.names[i]);
    free_files(&notes);
}

// Counted calls say more than samples: where there are both, these are left out, unless they were
// asked for, and so is a file without a sample.
static void choose_files(files *all, bool sampled_too, bool asked) {
    size_t counted = 0, kept = 0;
    for (size_t i = 0; i < all->count; i++) counted += !ends_in(all->names[i], SAMPLED_ENDING);
    for (size_t i = 0; i < all->count; i++) {
        bool is_sampled = ends_in(all->names[i], SAMPLED_ENDING);
        bool leave = is_sampled ? !sampled_too || (counted && !asked) : asked;
        if (leave) {
            unlink(all->names[i]);
            free(all->names[i]);
        } else {
            all->names[kept++] = all->names[i];
        }
    }
    all->count = kept;
}

static int run(const options *o) {
    folders f;
    files all = {0};
    bool started, sampled_too = wants_sampling(o);
    const char *output = o->output ? o->output : default_output(o->rest[0]);
    make_folders(o, o->live, &f);
    check_folder(&f);
    check_output(&f, output);
    int status = run_program(o, &f, &started, &sampled_too);
    list_files(&f, ".ouro", &all);
    choose_files(&all, sampled_too, o->sample);
    size_t failed = tell_failures(&f);
    tell_overflow(&f, status);
    bool written = all.count && write_profile(o, &all, f.own, base_name(o->rest[0]), output);
    if (!all.count && !failed && started) failed = tell_nothing(o, f.live);
    if ((all.count || failed) && !written) status = status ? status : EXIT_FAILED;
    if (all.count && !written)
        keep(o, &f);
    else
        scratch_remove(f.own);
    if (written && !o->quiet && !ends_in(all.names[0], SAMPLED_ENDING)) advise(o, output);
    if (written) show(o, output);
    free_files(&all);
    return status;
}

static void stop_now(int signal_number) {
    (void)signal_number;
    stop = 1;
}

// The name of a process, for its profile.
static void name_of(const char *pid, char name[static 64]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    FILE *in = fopen(path, "re");
    if (!in || !fgets(name, 64, in)) strcpy(name, "process");
    name[strcspn(name, "\n/")] = '\0';
    if (in) fclose(in);
}

// `ouro run --pid`: the process goes on when we end.
static int attach(const options *o) {
    folders f;
    char name[64];
    files all = {0};
    name_of(o->pid, name);
    const char *output = o->output ? o->output : default_output(name);
    make_folders(o, o->live, &f);
    check_folder(&f);
    check_output(&f, output);
    struct sigaction end = {.sa_handler = stop_now};
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    sampling *s = start_sampling(o, &f, name, atoi(o->pid), false, false);
    if (!s) {
        if (errno == ESRCH)
            ouro__say("ouro run: there is no process %s", o->pid);
        else
            tell_not_permitted(errno, false);
        scratch_remove(f.own);
        return EXIT_FAILED;
    }
    if (!o->quiet && !o->duration)
        ouro__say("ouro run: sampling %s (%s); Ctrl-C ends and shows", o->pid, name);
    sampling_run(s, &stop, duration_of(o));
    bool any = sampling_end(s, o->quiet) > 0;
    signal(SIGINT, SIG_IGN);
    pass_signals();
    list_files(&f, ".ouro", &all);
    if (!any) ouro__say("ouro run: %s did not run in that time: no samples (--wall?)", name);
    bool written = any && write_profile(o, &all, f.own, name, output);
    if (any && !written)
        keep(o, &f);
    else
        scratch_remove(f.own);
    if (written) show(o, output);
    free_files(&all);
    return written ? 0 : EXIT_FAILED;
}

static int symbolise(const options *o) {
    folders f;
    files all = {0};
    for (char **name = o->rest; *name; name++) add_file(&all, *name);
    make_folders(o, NULL, &f);
    bool written = write_profile(o, &all, f.own, NULL, o->output);
    scratch_remove(f.own);
    if (written) show(o, o->output);
    free(all.names);
    return written ? 0 : EXIT_FAILED;
}

// For `ouro view` and `ouro report` of live files: a line `NAME TAB FILE` for each function, which
// is answered by `name TAB file TAB line`, or by an empty line.
static int answer_names(void) {
    char *line = NULL;
    size_t room = 0;
    symbols *known = symbols_new(NULL);
    for (ssize_t n; known && (n = getline(&line, &room, stdin)) > 0;) {
        symbol found;
        bool asks;
        if (line[n - 1] == '\n') line[n - 1] = '\0';
        char *file = strchr(line, '\t');
        if (file) *file++ = '\0';
        if (file && rename_find(known, line, file, &asks, &found) && !strpbrk(found.name, "\t\n") &&
            !strpbrk(found.file, "\t\n"))
            printf("%s\t%s\t%u", found.name, found.file, found.line);
        putchar('\n');
    }
    free(line);
    if (known) symbols_free(known);
    return fflush(stdout) || !known ? EXIT_FAILED : 0;
}

// Copies a file to standard output.
static bool copy_out(const char *path) {
    char buffer[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
        if (fwrite(buffer, 1, (size_t)n, stdout) != (size_t)n) break;
    }
    if (fd >= 0) close(fd);
    return n == 0 && fflush(stdout) == 0;
}

// For `ouro view perf.data`: the file is standard input, and the profile goes to standard output,
// as pprof. EXIT_USAGE: it has what we do not read, and what that is.
static int read_perf_data(void) {
    char folder[PATH_MAX], path[PATH_MAX];
    struct stat status;
    const char *problem = "it cannot be mapped";
    bool is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    size_t size = is_file ? (size_t)status.st_size : 0;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0) : MAP_FAILED;
    sampled *s = NULL;
    if (bytes != MAP_FAILED) s = perfdata_read(bytes, size, &(sampled_options){0}, &problem);
    if (!s) {
        fprintf(stderr, "%s", problem);
        return EXIT_USAGE;
    }
    if (scratch_make(folder)) return EXIT_FAILED;
    snprintf(path, sizeof path, "%.4000s/perf.pb", folder);
    bool written = ouro_profile_write(sampled_profile(s), path) == 0 && copy_out(path);
    scratch_remove(folder);
    sampled_free(s);
    return written ? 0 : EXIT_FAILED;
}

int main(int argc, char **argv) {
    options o = {0};
    ouro__hold_streams();
    if (strcmp(base_name(argv[0]), "record") == 0) return record_switch(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--names") == 0) return answer_names();
    if (argc == 2 && strcmp(argv[1], "--perf-data") == 0) return read_perf_data();
    setenv("OURO_NATIVE_NAMES", "off", 1); // of the merges below; the program's is what it was
    argv[0] = "ouro run";
    read_options(&o, argc, argv);
    find_ouro(ouro);
    pass_signals();
    if (o.pid) return attach(&o);
    return o.symbolise ? symbolise(&o) : run(&o);
}

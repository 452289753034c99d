// SPDX-License-Identifier: MIT
//
// Profiles of programs: the options, the clock, signals, and writing. The recorder itself writes
// pprof, and fble packs it; compiled programs have no zlib. Every other format is what `ouro
// convert` makes of that, so the tool has to be beside fble or in PATH, and is looked for before
// the program runs. SIGINT and SIGTERM let the program fail at
// its next call, so that the profile is written; then the signal does what it always does.

#include "profile.h"
#include "printable.h"
#include "syntax/beside.h"
#include "whole_file.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// What can be asked for with --profile-metrics.
enum { INSTRUCTIONS, TIME, OBJECTS, BYTES, METRICS };

static fble_machine *interrupted_machine;
static volatile sig_atomic_t caught;

static int usage(const struct fble_runner *r, const char *option, const char *value,
                 const char *expected) {
    ouro__say("fble %s: --profile-%s %s: expected %s", r->command, option, value, expected);
    return FBLE_USAGE;
}

// ---------------------------------------------------------------- options

const char **fble_profile_option(struct fble_run_options *run, const char *name, size_t length) {
    const struct {
        const char *name;
        const char **value;
    } all[] = {
        {"profile", &run->profile},         {"profile-live", &run->live},
        {"profile-metrics", &run->metrics}, {"profile-blocks", &run->blocks},
        {"profile-compact", &run->compact}, {"profile-max-nodes", &run->max_nodes},
        {"profile-period", &run->period},   {"slice", &run->slice},
        {"slice-by", &run->slice_by},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == length && !strncmp(all[i].name, name, length))
            return all[i].value;
    return NULL;
}

static bool read_number(const char *text, uint64_t most, uint64_t *n) {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9') return false;
    *n = strtoull(text, &end, 10);
    return !*end && !errno && *n > 0 && *n <= most;
}

static int read_rule(const struct fble_runner *r, ouro_options *options) {
    const char *name = r->options->compact;
    if (!name || ouro_compaction_from_name(name, options) == 0) return FBLE_FINE;
    return usage(r, "compact", name, "loops, cycles, edges, edges:1, edges:2, edges:3 or none");
}

static const ouro_metric_info known_metrics[METRICS] = {[INSTRUCTIONS] = {"instructions", "count"},
                                                        [TIME] = {"time", "nanoseconds"},
                                                        [OBJECTS] = {"objects", "count"},
                                                        [BYTES] = {"bytes", "bytes"}};

// Names with commas, as numbers. FBLE_FINE, or it was said what is wrong.
static int read_names(const struct fble_runner *r, unsigned *metrics, size_t *count) {
    const char *names = r->options->metrics ? r->options->metrics : "instructions";
    unsigned seen = 0;
    for (const char *at = names;; at++) {
        size_t length = strcspn(at, ",");
        unsigned i = 0;
        while (i < METRICS && (strlen(known_metrics[i].name) != length ||
                               strncmp(known_metrics[i].name, at, length)))
            i++;
        if (i == METRICS || seen >> i & 1)
            return usage(r, "metrics", names, "some of instructions,time,objects,bytes");
        seen |= 1u << i;
        metrics[(*count)++] = i;
        at += length;
        if (!*at) return FBLE_FINE;
    }
}

// The machine is fastest if it counts instructions as metric 0 and nothing else. A clock does not
// disturb that, so a profile of time has them, too.
static void put_instructions_first(unsigned *metrics, size_t *count) {
    size_t at = 0;
    for (size_t i = 0; i < *count; i++)
        if (metrics[i] == OBJECTS || metrics[i] == BYTES) return;
    while (at < *count && metrics[at] != INSTRUCTIONS) at++;
    if (at == *count) ++*count;
    for (; at > 0; at--) metrics[at] = metrics[at - 1];
    metrics[0] = INSTRUCTIONS;
}

// Each of the four goes to where it is counted. What was asked for first is shown first.
static int read_metrics(struct fble_runner *r, ouro_metric_info *infos, ouro_options *options,
                        fble_machine_options *machine) {
    unsigned metrics[METRICS];
    size_t count = 0;
    int status = read_names(r, metrics, &count);
    if (status != FBLE_FINE) return status;
    unsigned first = metrics[0];
    put_instructions_first(metrics, &count);
    for (unsigned i = 0; i < count; i++) {
        ouro_metric *numbers[METRICS] = {[INSTRUCTIONS] = &machine->instructions,
                                         [TIME] = &r->time,
                                         [OBJECTS] = &machine->objects,
                                         [BYTES] = &machine->bytes};
        infos[i] = known_metrics[metrics[i]];
        *numbers[metrics[i]] = metrics[i] == TIME ? i : i + 1; // the machine counts from 1
        if (metrics[i] == TIME) r->clock = true;
        if (metrics[i] == first) options->shown_metric = i;
    }
    options->metric_count = count;
    return FBLE_FINE;
}

static int read_numbers(const struct fble_runner *r, ouro_options *options,
                        fble_machine_options *machine) {
    const struct fble_run_options *run = r->options;
    uint64_t n;
    if (run->max_nodes) {
        if (!read_number(run->max_nodes, OURO_MAX_NODES_MOST, &n) || n < 2)
            return usage(r, "max-nodes", run->max_nodes, "a number from 2 to 134000000");
        options->max_nodes = (uint32_t)n;
    }
    if (run->period && !read_number(run->period, UINT64_MAX / 4, &machine->period))
        return usage(r, "period", run->period, "a number of instructions");
    if (run->blocks && strcmp(run->blocks, "all") && strcmp(run->blocks, "functions"))
        return usage(r, "blocks", run->blocks, "functions or all");
    return FBLE_FINE;
}

// ---------------------------------------------------------------- formats

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

typedef int (*writer)(ouro_profile *profile, const char *path);

// What writes pprof under that name; NULL: another format. Names without an extension are pprof.
static writer find_writer(const struct fble_runner *r) {
    const char *file = r->options->profile, *slash = strrchr(file, '/');
    if (ends_with(file, ".pb.gz") || ends_with(file, ".pprof.gz")) return r->pack;
    if (ends_with(file, ".pb") || ends_with(file, ".pprof")) return ouro_profile_write;
    return strchr(slash ? slash + 1 : file, '.') ? NULL : ouro_profile_write;
}

// The tool beside this program, or just its name, to be found in PATH.
static const char *find_tool(struct fble_arena *arena) {
    const char *beside = fble_beside(arena, "ouro"), *path = secure_getenv("PATH");
    if (beside && !access(beside, X_OK)) return beside;
    for (const char *end; path && *path; path = *end ? end + 1 : end) {
        end = path + strcspn(path, ":");
        const char *there = fble_format(arena, "%.*s/ouro", (int)(end - path), path);
        if (end > path && !access(there, X_OK)) return there;
    }
    return NULL;
}

static int check_file(const struct fble_runner *r) {
    const char *file = r->options->profile;
    if (!file || find_writer(r) || find_tool(r->arena)) return FBLE_FINE;
    ouro__say("fble %s: cannot write %s: this format is made by the program ouro, which is neither "
              "beside "
              "fble nor in PATH; .pb is not",
              r->command, file);
    return FBLE_OTHER;
}

static int convert(const struct fble_runner *r, const char *from, const char *to) {
    char *arguments[] = {(char *)find_tool(r->arena),
                         (char *)"convert",
                         (char *)"--",
                         (char *)from,
                         (char *)to,
                         NULL};
    pid_t child;
    int status = -1;
    int failed =
        arguments[0] ? posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) : ENOENT;
    if (failed) {
        ouro__say("fble %s: cannot run ouro: %s", r->command, strerror(failed));
        return FBLE_OTHER;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return status == 0 ? FBLE_FINE : FBLE_OTHER; // it said why
}

// The name of a new, empty file beside `file`. NULL with errno.
static const char *new_name(const struct fble_runner *r, const char *file) {
    char *name;
    int fd = ouro__open_beside(file, 0600, &name);
    if (fd < 0) return NULL;
    close(fd);
    const char *copy = fble_copy(r->arena, name, strlen(name));
    free(name);
    return copy;
}

// The run may have been long, so a profile that cannot be converted is kept, under a name that says
// what it is. A link replaces nothing and follows nothing; where there is such a file, the name
// stays as it is.
static void keep(const struct fble_runner *r, const char *first, const char *file) {
    const char *name = fble_format(r->arena, "%s.tmp.pb", file);
    if (link(first, name))
        name = first;
    else
        unlink(first);
    ouro__say("fble %s: the profile is in %s, as pprof", r->command, name);
}

static int write_file(const struct fble_runner *r) {
    const char *file = r->options->profile;
    writer write = find_writer(r);
    const char *first = write ? file : new_name(r, file);
    if (!first) {
        ouro__say("fble %s: cannot write %s: %s", r->command, file, strerror(errno));
        return FBLE_OTHER;
    }
    if ((write ? write : ouro_profile_write)(r->profile, first)) {
        ouro__say("fble %s: cannot write %s: %s", r->command, first, strerror(errno));
        return FBLE_OTHER;
    }
    if (write) return FBLE_FINE;
    int status = convert(r, first, file);
    if (status == FBLE_FINE)
        unlink(first);
    else
        keep(r, first, file);
    return status;
}

// ---------------------------------------------------------------- start and end

int fble_profile_start(struct fble_runner *r, fble_machine_options *machine) {
    const struct fble_run_options *run = r->options;
    ouro_metric_info metrics[METRICS];
    ouro_options options = {.metrics = metrics, .path = run->live};
    int status = read_metrics(r, metrics, &options, machine);
    if (status == FBLE_FINE) status = read_rule(r, &options);
    if (status == FBLE_FINE) status = read_numbers(r, &options, machine);
    if (status == FBLE_FINE) status = fble_slice_option(r, &options, machine);
    if (status != FBLE_FINE || (!run->profile && !run->live)) {
        r->clock = false;
        return status;
    }
    status = check_file(r);
    if (status != FBLE_FINE) return status;
    r->profile = machine->profile = ouro_profile_new(&options);
    if (r->profile) return FBLE_FINE;
    ouro__say("fble %s: cannot make the profile%s%s: %s", r->command, run->live ? " " : "",
              run->live ? run->live : "", strerror(errno));
    return FBLE_OTHER;
}

static void on_signal(int number) {
    caught = number;
    fble_interrupt(interrupted_machine);
}

int fble_profile_begin(struct fble_runner *r) {
    if (!r->profile) return FBLE_FINE;
    // The second one ends the program at once. No SA_RESTART: a program that waits for input stops.
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    interrupted_machine = r->machine;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!r->clock || !ouro_clock_start(r->machine->thread->profile, r->time, 0)) return FBLE_FINE;
    ouro__say("fble %s: cannot start the clock: %s", r->command, strerror(errno));
    return FBLE_OTHER;
}

int fble_profile_finish(struct fble_runner *r) {
    if (!r->profile) return FBLE_FINE;
    if (r->clock) ouro_clock_stop(r->machine->thread->profile);
    if (r->options->slice && !r->machine->slices)
        ouro__say("fble %s: %s was not called: the profile has no slices", r->command,
                  r->options->slice);
    int status = r->options->profile ? write_file(r) : FBLE_FINE;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (caught) {
        fflush(NULL);
        raise(caught);
    }
    return status;
}

// SPDX-License-Identifier: MIT
//
// Sampling for `ouro run`: is it wanted, is it permitted, and what is said about it.

#include "sampling.h"

#include "printable.h"
#include "record.h"
#include "sampler.h"
#include "ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile bool switched_off; // by `ouro record`

struct sampling {
    sampled *to;
    sampler *events; // or
    ticks *ticks;    // the program's own
    unsigned hz;
};

// ---------------------------------------------------------------- is it wanted?

static bool holds(const char *path, const char *const *words) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool found = false;
    if (fd < 0) return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        for (; bytes != MAP_FAILED && *words && !found; words++)
            found = memmem(bytes, size, *words, strlen(*words)) != NULL;
        if (bytes != MAP_FAILED) munmap(bytes, size);
    }
    close(fd);
    return found;
}

bool find_program(const char *program, char path[static PATH_MAX]) {
    const char *folder = secure_getenv("PATH");
    if (strchr(program, '/')) return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX;
    while (folder && *folder) {
        int length = (int)strcspn(folder, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", length, folder, program);
        if (access(path, X_OK) == 0) return true;
        folder += length;
        folder += *folder == ':';
    }
    return false;
}

bool is_instrumented(const char *program) {
    static const char *const words[] = {"__cyg_profile_func_enter", "ouro_sled_table", NULL};
    char path[PATH_MAX];
    return find_program(program, path) && holds(path, words);
}

// ---------------------------------------------------------------- is it permitted?

static int paranoid(void) {
    int level = -1;
    FILE *in = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (in && fscanf(in, "%d", &level) != 1) level = -1;
    if (in) fclose(in);
    return level;
}

void tell_not_permitted(int error, bool instead) {
    const char *then = instead ? "; a timer samples instead" : "";
    int level = paranoid();
    if ((error == EACCES || error == EPERM) && level > 2)
        ouro__say("ouro run: the system permits no perf events (kernel.perf_event_paranoid is %d): "
                  "sysctl kernel.perf_event_paranoid=1, or run it as root%s",
                  level, then);
    else
        ouro__say("ouro run: cannot open perf events: %s (a container may forbid them: allow "
                  "perf_event_open, or give it CAP_PERFMON)%s",
                  strerror(error), then);
}

// ---------------------------------------------------------------- sampling

sampling *sampling_start(const sampling_options *options, pid_t pid, bool on_exec) {
    enum { NODES = 1 << 18 };
    char path[PATH_MAX];
    sampled_options so = {.debug_folders = options->debug_folders,
                          .by_thread = options->by_thread,
                          .waits = options->waits,
                          .off = &switched_off,
                          .lost_period = 1000000000u / options->hz};
    switched_off = options->off;
    record_listen(&switched_off);
    snprintf(path, sizeof path, "%.3000s/%.200s.%d%s%s" SAMPLED_ENDING, options->folder,
             options->name, pid, options->mark ? "." : "", options->mark ? options->mark : "");
    so.profile.path = path;
    so.profile.max_nodes = options->nodes ? (uint32_t)strtoul(options->nodes, NULL, 10) : NODES;
    if (options->rule) ouro_compaction_from_name(options->rule, &so.profile);
    sampling *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->hz = options->hz;
    s->to = sampled_new(&so);
    if (s->to && !on_exec) sampled_attach(s->to, (uint32_t)pid);
    if (s->to && options->by_timer)
        s->ticks = ticks_open(s->to, options->folder, options->mark, pid);
    if (s->to && !options->by_timer)
        s->events = sampler_open(s->to, pid, options->hz, options->waits, on_exec);
    if (s->events || s->ticks) return s;
    int error = errno;
    if (s->to) sampled_free(s->to);
    unlink(path);
    free(s);
    errno = error;
    return NULL;
}

void sampling_run(sampling *s, const volatile int *stop, double seconds) {
    if (s->events) sampler_run(s->events, stop, seconds);
    if (s->ticks) ticks_run(s->ticks, stop, seconds);
}

static const char no_kernel[] = ", without the kernel's part (kernel.perf_event_paranoid)";

static void tell(const sampling *s, const sampled_counts *n, const char *more) {
    fprintf(stderr, "ouro run: not instrumented, so sampled: %llu sample%s at %u Hz",
            (unsigned long long)n->samples, n->samples == 1 ? "" : "s", s->hz);
    if (n->lost) fprintf(stderr, ", %llu lost", (unsigned long long)n->lost);
    if (n->cut)
        fprintf(stderr, ", %llu stack%s cut", (unsigned long long)n->cut, n->cut == 1 ? "" : "s");
    fprintf(stderr, "%s\n", more);
}

uint64_t sampling_end(sampling *s, bool quiet) {
    bool has_kernel = s->events && sampler_has_kernel(s->events);
    bool by_timer = s->ticks != NULL;
    if (s->events) sampler_close(s->events);
    if (s->ticks) ticks_close(s->ticks);
    sampled_counts n = sampled_count(s->to);
    if (!quiet && n.samples) tell(s, &n, by_timer ? ", by a timer" : has_kernel ? "" : no_kernel);
    sampled_free(s->to);
    free(s);
    return n.samples;
}

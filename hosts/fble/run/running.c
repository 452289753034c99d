// SPDX-License-Identifier: MIT
//
// What all programs that run have in common, from sources or compiled: functions in C from shared
// objects, which stay loaded while the machine lives; the arguments and the exit status of a
// command-line program; the end of a run.

#include "printable.h"
#include "profile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// dlopen looks for a name without a folder among the system's libraries.
static struct fble_runner *running; // its machine may run out of memory

void *fble_runner_open(struct fble_runner *r, const char *file, int flags) {
    if (!strchr(file, '/')) file = fble_format(r->arena, "./%s", file);
    void *library = dlopen(file, flags);
    if (library) fble_push(r->arena, &r->libraries, library);
    return library;
}

static int load_foreign(struct fble_runner *r) {
    const struct fble_list *files = &r->options->foreign;
    for (uint32_t i = 0; i < files->count; i++) {
        void *library = fble_runner_open(r, files->at[i], RTLD_NOW);
        fble_foreign_entry *entry =
            library ? (fble_foreign_entry *)dlsym(library, FBLE_FOREIGN_ENTRY) : NULL;
        if (!entry) {
            ouro__say("fble %s: cannot load %s: %s", r->command, (const char *)files->at[i],
                      dlerror());
            return FBLE_OTHER;
        }
        entry(r->machine);
    }
    return FBLE_FINE;
}

int fble_runner_machine(struct fble_runner *r, const fble_machine_options *options) {
    r->machine = fble_machine_new(options);
    running = r;
    int status = fble_profile_begin(r);
    return status == FBLE_FINE ? load_foreign(r) : status;
}

static void show_error(const char *error) {
    fflush(stdout);
    ouro__print_foreign_lines(stderr, error);
}

// Nothing is freed but what the machine can do without: the process ends.
bool fble_runner_no_memory(void) {
    struct fble_runner *r = running;
    running = NULL; // memory may run out here, too
    if (!r) return false;
    fble_fail_no_memory(r->machine);
    const char *error = fble_error(r->machine);
    if (error) show_error(error);
    fble_profile_finish(r);
    return error != NULL;
}

int fble_runner_end(struct fble_runner *r, int status) {
    running = NULL;
    if (!r->machine) return status;
    const char *error = fble_error(r->machine);
    if (error) {
        show_error(error);
        status = FBLE_RUNTIME_ERROR;
    }
    int written = fble_profile_finish(r);
    fble_machine_free(r->machine);
    ouro_profile_free(r->profile);
    for (uint32_t i = 0; i < r->libraries.count; i++) dlclose(r->libraries.at[i]);
    return written == FBLE_FINE ? status : written;
}

enum { LAST_STATUS = 111, OUT_OF_RANGE = 112 };

const int fble_run_statuses[] = {[FBLE_FINE] = 0,
                                 [FBLE_COMPILE_ERROR] = 114,
                                 [FBLE_RUNTIME_ERROR] = 115,
                                 [FBLE_USAGE] = 116,
                                 [FBLE_OTHER] = 117};

static fble_ref argument_list(struct fble_machine *m, struct fble_arena *arena, char **arguments) {
    uint32_t count = 0;
    while (arguments && arguments[count]) count++;
    fble_ref *items = fble_alloc(arena, (count + 1) * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = fble_make_string(m, arguments[i], strlen(arguments[i]));
    return fble_make_list(m, count, items);
}

// Applies main and turns its result into an exit status.
static int run_main(struct fble_runner *r, fble_ref main) {
    struct fble_machine *m = r->machine;
    fble_ref arguments[] = {
        fble_ref_new(m, fble_monad_value(m)),
        fble_ref_new(m, fble_io_value(m)),
        argument_list(m, r->arena, r->options->arguments),
        fble_unit(m),
    };
    fble_ref result = fble_call(m, main, 4, arguments);
    int64_t status;
    if (!result) return FBLE_RUNTIME_ERROR;
    if (fble_get_int(m, result, &status) && status >= 0 && status <= LAST_STATUS)
        return (int)status;
    return OUT_OF_RANGE;
}

int fble_run_main(struct fble_runner *r, fble_ref main) {
    int status = run_main(r, main);
    bool failed = fble_error(r->machine) != NULL;
    int end = fble_runner_end(r, FBLE_FINE);
    return failed || end != FBLE_FINE ? fble_run_statuses[end] : status;
}

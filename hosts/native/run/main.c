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

#include "answers.h"
#include "children.h"
#include "descriptors.h"
#include "printable.h"
#include "record.h"
#include "scratch.h"
#include "start.h"
#include "tell.h"
#include "write.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    tell_ticks(&f, o->quiet);
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

static int stop; // sampling; set by signals

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

int main(int argc, char **argv) {
    options o = {0};
    ouro__hold_streams();
    if (strcmp(base_name(argv[0]), "record") == 0) return record_switch(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--names") == 0) return answer_names();
    if (argc == 2 && strcmp(argv[1], "--perf-data") == 0) return read_perf_data();
    setenv("OURO_NATIVE_NAMES", "off", 1); // of the merges below; the program's is what it was
    argv[0] = "ouro run";
    read_options(&o, argc, argv);
    find_ouro_once();
    pass_signals();
    if (o.pid) return attach(&o);
    return o.symbolise ? symbolise(&o) : run(&o);
}

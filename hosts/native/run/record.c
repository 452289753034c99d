// SPDX-License-Identifier: MIT
//
// `ouro record on PID`: a queued signal to the program, or, if that is sampled, to the `ouro run`
// that started it. A process that does not wait for the signal would be ended by it, so /proc is
// asked first.

#include "record.h"

#include "printable.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, WANTED_ON = 1, WANTED_OFF = 2 };

static const char help[] =
    "ouro record on PID\n"
    "ouro record off PID\n"
    "\n"
    "Switches the recording of a program that runs under `ouro run`; `ouro run --off` starts one\n"
    "switched off. Its other processes are switched by their own numbers. Paths stay complete: "
    "what\n"
    "was entered while it was off is on them.\n"
    "\n"
    "Exit status: 1 if there is no such process, or if it does not record.\n"
    "\n"
    "Example:\n"
    "  ouro run --off ./server & sleep 60; ouro record on $(pidof server)\n";

// Does the process wait for the signal? *parent: who started it.
static bool listens(long pid, long *parent) {
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *in = fopen(path, "re");
    *parent = 0;
    while (in && fgets(line, sizeof line, in)) {
        sscanf(line, "PPid: %ld", parent);
        sscanf(line, "SigCgt: %llx", &caught);
    }
    if (in) fclose(in);
    return caught >> (SIGRTMAX - 3 - 1) & 1;
}

int record_switch(int argc, char **argv) {
    bool on = argc == 3 && strcmp(argv[1], "on") == 0, off = argc == 3 && !strcmp(argv[1], "off");
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    char *end = NULL;
    long pid = on || off ? strtol(argv[2], &end, 10) : 0, parent, above;
    if (pid <= 1 || *end) {
        fputs("ouro record: expected on or off, and a process\n"
              "`ouro record --help` tells how it is used.\n",
              stderr);
        return EXIT_USAGE;
    }
    union sigval value = {.sival_int = on ? WANTED_ON : WANTED_OFF};
    long to = listens(pid, &parent) ? pid : parent > 1 && listens(parent, &above) ? parent : 0;
    errno = to || parent ? 0 : ESRCH;
    if (to && sigqueue((pid_t)to, SIGRTMAX - 3, value) == 0) return 0;
    ouro__say("ouro record: process %ld: %s", pid,
              errno ? strerror(errno) : "it does not record; start it with `ouro run`");
    return EXIT_FAILED;
}

static volatile bool *listening;

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (info->si_code == SI_QUEUE) *listening = info->si_value.sival_int == WANTED_OFF;
}

void record_listen(volatile bool *off) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    listening = off;
    sigaction(SIGRTMAX - 3, &action, NULL);
}

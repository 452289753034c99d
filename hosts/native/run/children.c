// SPDX-License-Identifier: MIT
//
// Child processes, one at a time.

#include "children.h"

#include "folders.h"
#include "options.h"
#include "printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child; // 0: none
static volatile sig_atomic_t ended; // a signal that came while there was none
static const int passed[] = {SIGTERM, SIGHUP};
enum { PASSED = sizeof passed / sizeof *passed };
static struct sigaction actions_before[PASSED]; // a child has what our caller chose, as under nohup

void pass_on(int signal_number) {
    if (child > 0) {
        kill(child, signal_number);
    } else {
        ended = signal_number;
    }
}

// Signals that would end us are passed on to the child. Without one they wait for the next, which
// is not started then: so our folder is removed.
void pass_signals(void) {
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    for (int i = 0; i < PASSED; i++) sigaction(passed[i], &pass, &actions_before[i]);
}

// No signal comes between the birth of the child and our knowing of it.
pid_t start_child(void) {
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

int wait_for_child(void) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// ---------------------------------------------------------------- ouro

char ouro[PATH_MAX];

void find_ouro_once(void) { find_ouro(ouro); }

int status_of_ouro(char **arguments, enum how how) {
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

bool run_ouro(char **arguments) { return status_of_ouro(arguments, HEARD) == 0; }

char *heard_from_ouro(char **arguments) {
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

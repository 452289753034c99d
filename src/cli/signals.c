// SPDX-License-Identifier: MIT
//
// Signals of commands that run on until somebody ends them: view, serve, push --follow. They block
// these and wait for them, so that what is begun is finished.

#include "cli.h"

sigset_t ending_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

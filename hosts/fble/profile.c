// SPDX-License-Identifier: MIT
//
// The options of profiles, and writing them.

#include "profile.h"

int fble_profile_start(struct fble_runner *r, fble_machine_options *options) {
    (void)r;
    (void)options;
    return FBLE_FINE;
}

int fble_profile_begin(struct fble_runner *r) {
    (void)r;
    return FBLE_FINE;
}

int fble_profile_finish(struct fble_runner *r) {
    (void)r;
    return FBLE_FINE;
}

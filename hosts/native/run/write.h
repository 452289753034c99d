// SPDX-License-Identifier: MIT
//
// Live files become one profile with names.

#ifndef OURO_NATIVE_WRITE_H
#define OURO_NATIVE_WRITE_H

#include "live.h"

// Ends us if the output could not be written.
void check_output(const folders *f, const char *output);
const char *default_output(const char *program);
// `program`: what the profile is of; NULL: what the files say.
bool write_profile(const options *o, const files *all, const char *folder, const char *program,
                   const char *output);

#endif

// SPDX-License-Identifier: MIT
//
// What a user is told after a run.

#ifndef OURO_NATIVE_TELL_H
#define OURO_NATIVE_TELL_H

#include "live.h"

size_t tell_failures(const folders *f); // why processes were not recorded; how many there are
bool tell_nothing(const options *o, const char *folder); // why nothing was recorded
void tell_overflow(const folders *f, int status);        // of the stack
void tell_ticks(const folders *f, bool quiet);           // that there were few
void advise(const options *o, const char *output);       // about a program whose calls were counted
void show(const options *o, const char *output);

#endif

// SPDX-License-Identifier: MIT
//
// Which functions of a program have sleds and are too tiny to be recorded, by its file.

#ifndef OURO_NATIVE_TINY_SLEDS_H
#define OURO_NATIVE_TINY_SLEDS_H

#include <stdbool.h>

// Calls `add` for each, with its name. As the recorder finds them (sleds.c), but by symbols: those
// of a program without symbols have no names.
void sleds_tiny(const char *program, void (*add)(void *user, const char *name), void *user);
bool sleds_has(const char *program);

#endif

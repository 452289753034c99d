// SPDX-License-Identifier: MIT
//
// Where the parts of the host are: beside each other in a build folder, or as they are installed.

#ifndef OURO_NATIVE_FOLDERS_H
#define OURO_NATIVE_FOLDERS_H

#include <stdbool.h>

// The path of a library (libouro-native.so ...) or of `ouro`. False if it is not found; then the
// path is the name alone.
bool find_library(const char *name, char path[static 4096]);
// The folder of a header of ours. False if it is not found.
bool find_headers(const char *name, char folder[static 4096]);
bool find_ouro(char path[static 4096]);

#endif

// SPDX-License-Identifier: MIT
//
// Programs of language hosts, `ouro-NAME`.

#ifndef OURO_HOST_H
#define OURO_HOST_H

#include <stdbool.h>

// Where the program of a host is. false: it is not installed.
bool find_host(const char *name, char path[static 4096]);

// Lets live files of native programs have names: native_names.c.
void use_native_names(void);

#endif

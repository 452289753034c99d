// SPDX-License-Identifier: MIT
//
// Can this machine make the module? Compiled and linked when the build is set up.

#include <stdio.h>
#include <stdlib.h>

__attribute__((export_name("probe"))) int probe(int n) {
    char text[16];
    return snprintf(text, sizeof text, "%d", n * abs(n));
}

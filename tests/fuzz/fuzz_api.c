// SPDX-License-Identifier: MIT
//
// libFuzzer target for the recorder's API: the bytes are a sequence of calls, see machine.h. The
// invariants of the lanes are asserted after every pruning.

#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *folder = getenv("TMPDIR");
    const char *failure = machine_run(data, size, folder ? folder : "/tmp");
    if (!failure) return 0;
    fprintf(stderr, "%s\n", failure);
    abort();
}

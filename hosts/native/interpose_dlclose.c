// SPDX-License-Identifier: MIT
//
// dlclose: forgets the functions of an unloaded library, because another library may be loaded at
// the same addresses. Only for programs with shared libraries.

#include "interpose.h"

DECLARE(dlclose);
REAL_OF(dlclose)

extern const char ouro_native_part_longjmp, ouro_native_part_context, ouro_native_part_exception;

// Named on the linker's command line (-u), so that a static library brings its interposers along
// even if another library has functions of the same names.
extern INTERPOSED const char *const ouro_native_interposed_[];
const char *const ouro_native_interposed_[] = {&ouro_native_part_longjmp, &ouro_native_part_context,
                                               &ouro_native_part_exception};

int dlclose(void *handle) {
    int result = real_dlclose()(handle);
    if (ouro_native_self.started) ouro_native_forget_unloaded();
    return result;
}

// SPDX-License-Identifier: MIT
//
// dlclose: what was at the addresses of an unloaded library must be forgotten, another library may
// come there. Only for programs with shared libraries.

#include "interpose.h"

#include <setjmp.h>
#include <ucontext.h>

int __gxx_personality_v0(int version, int actions, uint64_t exception_class, void *exception,
                         void *context);

DECLARE(dlclose);
REAL_OF(dlclose)

// Named by the linker's command line (-u), so that a static library brings its interposers along.
extern INTERPOSED void *const ouro_native_interposed_[];
void *const ouro_native_interposed_[] = {(void *)longjmp, (void *)swapcontext,
                                         (void *)__gxx_personality_v0};

int dlclose(void *handle) {
    int result = real_dlclose()(handle);
    if (ouro_native_self.started) ouro_native_forget_unloaded();
    return result;
}

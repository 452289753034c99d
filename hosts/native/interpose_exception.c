// SPDX-License-Identifier: MIT
//
// C++ exceptions. The unwinder asks the personality routine about each frame. When the routine says
// that the program continues in a frame (a handler or a cleanup), the frames below have been left.
// Hooks by gcc leave functions themselves, in a cleanup; hooks by clang and sleds do not.

#include "interpose.h"

struct _Unwind_Exception;
struct _Unwind_Context;
uintptr_t _Unwind_GetCFA(struct _Unwind_Context *context);
int __gxx_personality_v0(int version, int actions, uint64_t exception_class,
                         struct _Unwind_Exception *exception, struct _Unwind_Context *context);

enum { INSTALL_CONTEXT = 7, FATAL_PHASE_1_ERROR = 3 };

PART(exception)
DECLARE(__gxx_personality_v0);

#ifdef OURO_NATIVE_WRAP
REAL_OF(__gxx_personality_v0)
static uintptr_t stack_pointer(struct _Unwind_Context *context) { return _Unwind_GetCFA(context); }
#else
static __typeof__(__gxx_personality_v0) *found;
static __typeof__(_Unwind_GetCFA) *get_cfa;

// The C++ library may have been loaded later, with dlopen and without RTLD_GLOBAL.
static __typeof__(__gxx_personality_v0) *real___gxx_personality_v0(void) {
    if (found) return found;
    *(void **)&get_cfa = dlsym(RTLD_DEFAULT, "_Unwind_GetCFA");
    void *real = dlsym(RTLD_NEXT, "__gxx_personality_v0");
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (int i = 0; i < 2 && !real; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        real = dlsym(library, "__gxx_personality_v0");
        if (!get_cfa) *(void **)&get_cfa = dlsym(library, "_Unwind_GetCFA");
    }
    *(void **)&found = real;
    return found;
}

static uintptr_t stack_pointer(struct _Unwind_Context *context) {
    return get_cfa ? get_cfa(context) : 0;
}
#endif

int OURS(__gxx_personality_v0)(int version, int actions, uint64_t exception_class,
                               struct _Unwind_Exception *exception,
                               struct _Unwind_Context *context) {
    __typeof__(__gxx_personality_v0) *real = real___gxx_personality_v0();
    if (!real) return FATAL_PHASE_1_ERROR;
    int result = real(version, actions, exception_class, exception, context);
    if (result == INSTALL_CONTEXT) ouro_native_unwind(stack_pointer(context));
    return result;
}

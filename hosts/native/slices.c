// SPDX-License-Identifier: MIT
//
// Slices by calls: every call of a function is a slice, from its enter to its exit, in each OS
// thread. The hooks pay nothing for it. The function is kept out of their cache, so each enter of
// it takes the slow path. The frame of the call that is a slice has the inverted key, which no
// function has, so its exit takes the slow path, too. A recursive call belongs to the outermost
// one, and so does a call of another coroutine of the thread.
//
// The function is found by its symbol, when a function of its module is entered for the first time.

#include "native.h"
#include "ouro-slice.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MOST = 64, MODULES_MOST = 256 };

static uintptr_t functions[FUNCTIONS_MOST], modules[MODULES_MOST];
static size_t function_count, module_count;

// ---------------------------------------------------------------- the function

void ouro_native_slice_module(uintptr_t base, const char *path) {
    const char *name = secure_getenv("OURO_NATIVE_SLICE");
    if (!name || !*name || module_count == MODULES_MOST) return;
    for (size_t i = 0; i < module_count; i++) {
        if (modules[i] == base) return;
    }
    modules[module_count++] = base;
    size_t count = ouro_native_functions_named(base, path, name, functions + function_count,
                                               FUNCTIONS_MOST - function_count);
    __atomic_store_n(&function_count, function_count + count, __ATOMIC_RELEASE);
}

bool ouro_native_is_sliced(uintptr_t function) {
    size_t count = __atomic_load_n(&function_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < count; i++) {
        if (functions[i] == function) return true;
    }
    return false;
}

// ---------------------------------------------------------------- calls

uint32_t ouro_native_slice_enter(native_self *self, uintptr_t function) {
    if (self->slice_stack || !ouro_native_is_sliced(function)) return (uint32_t)function;
    self->slice_stack = self->stack;
    self->slice_frame = (size_t)(self->top - self->stack->frames);
    ouro_slice(self->thread);
    return ~(uint32_t)function;
}

void ouro_native_slice_exit(native_self *self) {
    self->slice_stack = NULL;
    ouro_slice_stop(self->thread);
}

ouro_slice_options ouro_native_slice_options(const ouro_metric_info *metrics, size_t count) {
    const char *by = secure_getenv("OURO_NATIVE_SLICE_BY");
    ouro_slice_options options = {.name = secure_getenv("OURO_NATIVE_SLICE")};
    for (uint32_t i = 0; by && i < count; i++) {
        if (strcmp(metrics[i].name, by) == 0) options.by = i + 1;
    }
    return options;
}

// ---------------------------------------------------------------- from outside

// What `ouro run --slice` asks for goes before what the program says.
static void say(bool next) {
    native_section section;
    const char *name = secure_getenv("OURO_NATIVE_SLICE");
    if ((name && *name) || !ouro_native_section_begin(&section)) return;
    if (next) ouro_slice(ouro_native_self.thread);
    if (!next) ouro_slice_stop(ouro_native_self.thread);
    ouro_native_section_end(&section);
}

void ouro_native_slice_here_(void) { say(true); }
void ouro_native_slice_stop_here_(void) { say(false); }

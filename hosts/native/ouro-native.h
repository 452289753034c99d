// SPDX-License-Identifier: MIT
//
// The native host by hand: for C and C++ programs that name blocks of their own, charge metrics of
// their own, or switch machine stacks by themselves. A program can be profiled without this header.
// Link with libouro-native (pkg-config ouro-native).
//
//     ouro_thread *thread = ouro_native_thread();             // NULL unless run by `ouro run`
//     ouro_position caller = ouro_enter(thread, parse_block);
//     ...
//     ouro_exit(thread, caller);
//
// Blocks entered by hand are in the same tree as instrumented functions. In C++, ouro.hpp leaves
// blocks at the end of a scope.

#ifndef OURO_NATIVE_H
#define OURO_NATIVE_H

#include <ouro.h>

#ifdef __cplusplus
extern "C" {
#endif

// The profile of this process, which is created by the first call. NULL if profiling is off. A
// child of fork(2) has another one, with the same blocks. Its metrics are time, and with `ouro run
// --memory` allocated and allocations. Any OS thread; not in a signal handler.
OURO_API ouro_profile *ouro_native_profile(void);

// The thread that records for the calling OS thread, or for the coroutine that it runs. NULL if
// profiling is off: then every function that takes it costs a branch. Do not free it, and do not
// use it on another OS thread or another machine stack. O(1).
OURO_API ouro_thread *ouro_native_thread(void);

// Registers a machine stack that the program has made for a coroutine: `size` bytes from `low`
// on. Needed where several stacks lie in one mapping; not needed for makecontext, nor for a
// stack that is a mapping of its own. Registering it again is harmless. Any OS thread; not in a
// signal handler.
OURO_API void ouro_native_stack(void *low, size_t size);

#ifdef __cplusplus
}
#endif

#endif

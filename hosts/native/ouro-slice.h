// SPDX-License-Identifier: MIT
//
// Slices of a C or C++ program: it says where a frame, a request or a turn of its loop begins, and
// `ouro run` records what each of them did.
//
//     for (;;) { ouro_slice_here(); draw_a_frame(); }
//
// Nothing has to be linked for it: where the program is not run by `ouro run`, a call costs a load
// and a branch. Programs that are linked statically have to be built by `ouro cc`. `ouro run
// --slice FUNCTION` does without this header.

#ifndef OURO_SLICE_H
#define OURO_SLICE_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak, visibility("default"))) void ouro_native_slice_here_(void);
__attribute__((weak, visibility("default"))) void ouro_native_slice_stop_here_(void);

// Ends the calling OS thread's slice, if there is one, and begins the next. The first call begins
// the first slice. Not in a signal handler.
__attribute__((no_instrument_function)) static inline void ouro_slice_here(void) {
    if (ouro_native_slice_here_) ouro_native_slice_here_();
}

// Ends the slice and begins none.
__attribute__((no_instrument_function)) static inline void ouro_slice_stop_here(void) {
    if (ouro_native_slice_stop_here_) ouro_native_slice_stop_here_();
}

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: MIT
//
// pthread_setname_np: where names of threads are roots (`ouro run --by thread`), a thread that gets
// another name goes on below that: its open frames are entered again at its next event. Only for
// programs with shared libraries; in others a thread has the name that it had at its first event.

#include "interpose.h"

#include <pthread.h>

DECLARE(pthread_setname_np);
REAL_OF(pthread_setname_np)

int pthread_setname_np(pthread_t thread, const char *name) {
    int result = real_pthread_setname_np()(thread, name);
    if (!result && ouro_native_session.by_thread) ouro_native_switch_rename();
    return result;
}

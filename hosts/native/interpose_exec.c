// SPDX-License-Identifier: MIT
//
// exec and its variants: the clock of the calling thread stops first, see clock.c.

#include "interpose.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

PART(exec)
DECLARE(execve);
DECLARE(execv);
DECLARE(execvp);
DECLARE(execvpe);
DECLARE(fexecve);
DECLARE(execl);
DECLARE(execlp);
DECLARE(execle);
REAL_OF(execve)
REAL_OF(execv)
REAL_OF(execvp)
REAL_OF(execvpe)
REAL_OF(fexecve)

#ifndef OURO_NATIVE_WRAP
// A constructor, because children of vfork call these.
__attribute__((constructor)) static void find(void) {
    real_execve();
    real_execv();
    real_execvp();
    real_execvpe();
    real_fexecve();
}
#endif

// It has failed if it returns.
#define WITHOUT_CLOCK(call)                         \
    bool stopped = ouro_native_clock_before_exec(); \
    call;                                           \
    int error = errno;                              \
    if (stopped) ouro_native_clock_after_exec();    \
    errno = error;                                  \
    return -1

int OURS(execve)(const char *path, char *const *words, char *const *variables) {
    WITHOUT_CLOCK(real_execve()(path, words, variables));
}

int OURS(execv)(const char *path, char *const *words) { WITHOUT_CLOCK(real_execv()(path, words)); }

int OURS(execvp)(const char *file, char *const *words) {
    WITHOUT_CLOCK(real_execvp()(file, words));
}

int OURS(execvpe)(const char *file, char *const *words, char *const *variables) {
    WITHOUT_CLOCK(real_execvpe()(file, words, variables));
}

int OURS(fexecve)(int fd, char *const *words, char *const *variables) {
    WITHOUT_CLOCK(real_fexecve()(fd, words, variables));
}

static size_t count_words(va_list more) {
    size_t n = 1;
    while (va_arg(more, char *)) n++;
    return n;
}

// The words of a call, as an array on its stack. `more` is after the last one then.
#define TAKE_WORDS(first)                                         \
    va_list more;                                                 \
    va_start(more, first);                                        \
    size_t count = count_words(more);                             \
    char **words = __builtin_alloca((count + 1) * sizeof *words); \
    va_end(more);                                                 \
    va_start(more, first);                                        \
    words[0] = (char *)first;                                     \
    for (size_t i = 1; i <= count; i++) words[i] = va_arg(more, char *)

int OURS(execl)(const char *path, const char *first, ...) {
    TAKE_WORDS(first);
    va_end(more);
    return OURS(execv)(path, words);
}

int OURS(execlp)(const char *file, const char *first, ...) {
    TAKE_WORDS(first);
    va_end(more);
    return OURS(execvp)(file, words);
}

int OURS(execle)(const char *path, const char *first, ...) {
    TAKE_WORDS(first);
    char *const *variables = va_arg(more, char *const *);
    va_end(more);
    return OURS(execve)(path, words, variables);
}

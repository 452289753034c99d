// SPDX-License-Identifier: MIT
//
// What is to be compiled, and the compiler's processes. The name of an object file is a hash of
// everything that it depends on: the C, the compiler's words, the runtime's headers. So an object
// that is found is up to date, and the folder can be deleted at any time. Files are written under
// another name and renamed, so builds at the same time do not disturb each other.

#include "build.h"
#include "printable.h"
#include "syntax/beside.h"
#include "syntax/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct unit {
    const char *name, *definition;
    const char *source, *object, *fresh; // files; fresh: the object, while it is being written
    pid_t child;
};

// ---------------------------------------------------------------- words

// As a shell would split them: spaces, quotes and backslashes, nothing else.
static bool split_words(struct fble_arena *arena, const char *text, struct fble_list *words) {
    while (*(text += strspn(text, " \t\n"))) {
        struct fble_text word = {.arena = arena};
        char quote = 0;
        fble_add_string(&word, "");
        for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
            if (*text == '\\' && quote != '\'' && text[1])
                fble_add(&word, ++text, 1);
            else if (*text == quote)
                quote = 0;
            else if (!quote && (*text == '"' || *text == '\''))
                quote = *text;
            else
                fble_add(&word, text, 1);
        }
        if (quote) return false;
        fble_push(arena, words, word.at);
    }
    return true;
}

static bool read_words(struct fble_build *b) {
    const char *cc = secure_getenv("CC"), *flags = secure_getenv("CFLAGS");
    if (!split_words(b->arena, cc && *cc ? cc : "cc", &b->compiler) || !b->compiler.count) {
        fprintf(stderr, "fble compile: CC has a quote without an end\n");
        return false;
    }
    // At a fixed address nothing has to be relocated at the start. CFLAGS can say otherwise.
    fble_push(b->arena, &b->compiler, (void *)(b->shared ? "-fPIC" : "-fno-pie"));
    if (!split_words(b->arena, flags ? flags : "-O1", &b->compiler)) {
        fprintf(stderr, "fble compile: CFLAGS has a quote without an end\n");
        return false;
    }
    return true;
}

// ---------------------------------------------------------------- the runtime and the cache

static bool exists(const char *file) { return !access(file, R_OK); }

// Beside this program: in a build folder, or where it was installed.
static bool find_runtime(struct fble_build *b) {
    static const char *const beside[][3] = {
        {"libfble_runtime.a", "packages/vm", "packages/../../include"},
        {"../lib/fble/libfble_runtime.a", "../lib/fble/include", "../lib/fble/include"},
    };
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        b->library = fble_beside(b->arena, beside[i][0]);
        b->include[0] = fble_beside(b->arena, beside[i][1]);
        b->include[1] = fble_beside(b->arena, beside[i][2]);
        if (!b->library) break;
        const char *header = fble_format(b->arena, "%s/compiled.h", b->include[0]);
        if (exists(b->library) && exists(header)) return true;
    }
    fprintf(stderr, "fble compile: the runtime (libfble_runtime.a and compiled.h) is not beside "
                    "fble, nor in ../lib/fble\n");
    return false;
}

bool fble_build_start(struct fble_build *b) {
    if (!b->jobs) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        b->jobs = cores > 0 ? (unsigned)cores : 1;
    }
    if (!read_words(b) || !find_runtime(b) || !fble_cache_open(b->arena, &b->cache, b->folder))
        return false;
    fble_build_probe(b);
    return true;
}

// ---------------------------------------------------------------- units

static void add_file(struct fble_text *text, const char *file) {
    char bytes[4096];
    size_t n;
    FILE *from = fopen(file, "r");
    while (from && (n = fread(bytes, 1, sizeof bytes, from))) fble_add(text, bytes, n);
    if (from) fclose(from);
}

const char *fble_build_key(const struct fble_build *b, const char *text, size_t length,
                           const char *definition) {
    static const char *const headers[] = {"compiled.h", "compiled_leaf.h", "machine.h", "code.h",
                                          "opcodes.h",  "value.h",         "fble.h"};
    struct fble_text all = {.arena = b->arena};
    for (uint32_t i = 0; i < b->compiler.count; i++) {
        fble_add_string(&all, b->compiler.at[i]);
        fble_add(&all, "", 1);
    }
    fble_add_string(&all, definition ? definition : "");
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        add_file(&all, fble_format(b->arena, "%s/%s", b->include[0], headers[i]));
    add_file(&all, fble_format(b->arena, "%s/ouro.h", b->include[1]));
    add_file(&all, fble_format(b->arena, "%s/ouro_site.h", b->include[1]));
    fble_add(&all, text, length);
    return fble_hash(b->arena, all.at, all.length);
}

static bool write_source(struct fble_arena *arena, const char *file, const char *text,
                         size_t length) {
    const char *fresh = fble_format(arena, "%s.%ld", file, (long)getpid());
    FILE *to = fopen(fresh, "w");
    bool good = to && fwrite(text, 1, length, to) == length;
    if (to && fclose(to)) good = false;
    if (good) good = !rename(fresh, file);
    if (!good) ouro__say("fble compile: cannot write %s: %s", file, strerror(errno));
    return good;
}

void fble_build_add(struct fble_build *b, const char *name, const char *text, size_t length,
                    const char *definition) {
    const char *key = fble_build_key(b, text, length, definition);
    struct unit *unit = fble_alloc(b->arena, sizeof *unit);
    unit->name = name;
    unit->definition = definition;
    unit->source = fble_format(b->arena, "%s/%s.c", b->cache.folder, key);
    unit->object = fble_format(b->arena, "%s/%s.o", b->cache.folder, key);
    unit->fresh = fble_format(b->arena, "%s/%s.%ld.o", b->cache.folder, key, (long)getpid());
    if (!fble_cache_has(unit->object)) {
        b->stale++;
        if (!write_source(b->arena, unit->source, text, length)) unit->source = NULL;
    }
    fble_push(b->arena, &b->units, unit);
}

// ---------------------------------------------------------------- processes

static pid_t start(const struct fble_build *b, struct fble_list *words) {
    fble_push(b->arena, words, NULL);
    for (uint32_t i = 0; b->verbose && i + 1 < words->count; i++) {
        ouro__print_foreign(stderr, words->at[i]);
        fputc(i + 2 < words->count ? ' ' : '\n', stderr);
    }
    pid_t child;
    int failed = posix_spawnp(&child, words->at[0], NULL, NULL, (char **)words->at, environ);
    if (!failed) return child;
    ouro__say("fble compile: cannot run %s: %s", (const char *)words->at[0], strerror(failed));
    return -1;
}

static struct fble_list compiler_words(const struct fble_build *b) {
    struct fble_list words = {0};
    for (uint32_t i = 0; i < b->compiler.count; i++) fble_push(b->arena, &words, b->compiler.at[i]);
    return words;
}

// Steps are jumped to by address, so optimizing at link time would gain nothing. It renames
// symbols, and whether calls become jumps would be decided only then.
struct fble_list fble_build_words(const struct fble_build *b) {
    struct fble_list words = compiler_words(b);
    const char *more[] = {"-fno-tree-slp-vectorize",
                          "-fno-lto",
                          "-std=gnu11",
                          "-w",
                          "-I",
                          b->include[0],
                          "-I",
                          b->include[1],
                          NULL};
    for (int i = 0; more[i]; i++) fble_push(b->arena, &words, (void *)more[i]);
    return words;
}

// With -pipe the assembler runs while the compiler does: a tenth of the time of a large module.
static bool start_unit(struct fble_build *b, struct unit *unit) {
    struct fble_list words = fble_build_words(b);
    const char *more[] = {"-pipe", "-c", "-o", unit->fresh, unit->source, unit->definition, NULL};
    for (int i = 0; more[i]; i++) fble_push(b->arena, &words, (void *)more[i]);
    unit->child = start(b, &words);
    b->compiled++;
    return unit->child > 0;
}

// For people who wait at a terminal: a line that counts, and is taken away at the end. It has no
// names of modules, which may have anything in them.
static void show_progress(const struct fble_build *b, uint32_t done) {
    if (b->verbose || !isatty(STDERR_FILENO)) return;
    if (done < b->stale)
        fprintf(stderr, "\r\033[Kfble compile: %u of %u files", done, b->stale);
    else
        fputs("\r\033[K", stderr);
}

static bool end_unit(struct fble_build *b, pid_t child, int status) {
    for (uint32_t i = 0; i < b->units.count; i++) {
        struct unit *unit = b->units.at[i];
        if (unit->child != child) continue;
        unit->child = 0;
        if (!status && !chmod(unit->fresh, 0600) && !rename(unit->fresh, unit->object)) return true;
        unlink(unit->fresh);
        show_progress(b, b->stale);
        ouro__say("fble compile: the C compiler failed on %s (%s)", unit->source, unit->name);
    }
    return false;
}

static bool wait_for_one(struct fble_build *b, uint32_t *running) {
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, 0)) < 0 && errno == EINTR) continue;
    --*running;
    bool good = child > 0 && end_unit(b, child, status);
    if (good) show_progress(b, b->compiled - *running);
    return good;
}

static bool compile_all(struct fble_build *b) {
    uint32_t running = 0;
    bool good = true;
    for (uint32_t i = 0; i < b->units.count && good; i++) {
        struct unit *unit = b->units.at[i];
        if (fble_cache_has(unit->object)) continue;
        while (good && running >= b->jobs) good = wait_for_one(b, &running);
        good = good && unit->source && start_unit(b, unit);
        if (good) running++;
        if (good && b->compiled == 1) show_progress(b, 0);
    }
    while (running) good &= wait_for_one(b, &running);
    return good;
}

void fble_build_link_words(const struct fble_build *b, struct fble_list *words) {
    const char *linker = secure_getenv("LDFLAGS");
    if (!b->shared) fble_push(b->arena, words, (void *)"-no-pie");
    if (linker) split_words(b->arena, linker, words);
}

static bool link_all(struct fble_build *b) {
    struct fble_list words = compiler_words(b);
    for (uint32_t i = 0; i < b->units.count; i++)
        fble_push(b->arena, &words, (void *)((struct unit *)b->units.at[i])->object);
    fble_build_link_words(b, &words);
    const char *program[] = {"-rdynamic", "-o",   b->output, b->library,
                             "-lpthread", "-ldl", "-lm",     NULL};
    const char *shared[] = {"-shared", "-o", b->output, NULL};
    for (const char **more = b->shared ? shared : program; *more; more++)
        fble_push(b->arena, &words, (void *)*more);
    int status = -1;
    pid_t child = start(b, &words);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (child > 0 && status) ouro__say("fble compile: linking %s failed", b->output);
    return child > 0 && !status;
}

bool fble_build_finish(struct fble_build *b) {
    if (!compile_all(b) || !link_all(b)) return false;
    if (b->verbose) ouro__say("fble compile: %u of %u files compiled", b->compiled, b->units.count);
    return true;
}

// SPDX-License-Identifier: MIT
//
// What can the compiler do with these flags? Not their text but a small program answers: a million
// steps that jump to each other on a small stack. Only where calls at the ends of steps become
// jumps does it come to its end. It also has symbols as steps have them, which some flags cannot
// take. The answer is kept in the cache.

#include "build.h"
#include "printable.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char text[] =
    "#include <compiled.h>\n"
    "#include <sys/resource.h>\n"
    "\n"
    "FBLE_STEP(here, \"/Probe%.here~0\");\n"
    "FBLE_STEP(there, \"/Probe%.there~1\");\n"
    "static fble_step *volatile steps[] = {here, there};\n"
    "static struct fble_machine machine;\n"
    "static uint64_t slots[8];\n"
    "\n"
    "static fble_any_step here(FBLE_STEP_PARAMETERS) {\n"
    "    if (!a) return NULL;\n"
    "    fp[4] = a;\n"
    "    FBLE_JUMP(steps[a & 1], fp, hp, a - 1, b, c);\n"
    "}\n"
    "static fble_any_step there(FBLE_STEP_PARAMETERS) {\n"
    "    if (!a) return NULL;\n"
    "    b = fp[4];\n"
    "    FBLE_JUMP(here, fp, hp, a - 1, b, c);\n"
    "}\n"
    "\n"
    "int main(void) {\n"
    "    struct rlimit none = {0, 0}, small = {1 << 20, RLIM_INFINITY};\n"
    "    setrlimit(RLIMIT_CORE, &none);\n"
    "    getrlimit(RLIMIT_STACK, &small);\n"
    "    small.rlim_cur = 1 << 20;\n"
    "    setrlimit(RLIMIT_STACK, &small);\n"
    "    struct fble_machine *m = &machine;\n"
    "    fble_any_step step = here(m, slots, NULL, 1000000, 0, 0);\n"
    "#ifdef FBLE_DIRECT\n"
    "    return step != NULL;\n"
    "#endif\n"
    "    while (step) step = ((fble_step *)step)(m, m->fp, m->hp, m->value, m->second, m->third);\n"
    "    return 0;\n"
    "}\n";

// From the best on.
static const char *const ways[][2] = {{"-DFBLE_DIRECT", NULL},
                                      {"-DFBLE_DIRECT", "-DFBLE_PLAIN_SYMBOLS"},
                                      {"-DFBLE_TRAMPOLINE", NULL},
                                      {"-DFBLE_TRAMPOLINE", "-DFBLE_PLAIN_SYMBOLS"}};
enum { WAYS = sizeof ways / sizeof *ways, FIRST_SLOW = 2 };

static void add_way(const struct fble_build *b, struct fble_list *words, int way) {
    for (int i = 0; i < 2 && ways[way][i]; i++) fble_push(b->arena, words, (void *)ways[way][i]);
}

// Nobody wants to see how the attempts fail: if a flag is wrong, compiling the units says so.
static bool runs_well(struct fble_list *words, struct fble_arena *arena) {
    posix_spawn_file_actions_t silently;
    pid_t child;
    int status = -1;
    fble_push(arena, words, NULL);
    if (posix_spawn_file_actions_init(&silently)) return false;
    for (int file = 0; file < 3; file++)
        posix_spawn_file_actions_addopen(&silently, file, "/dev/null", O_RDWR, 0);
    if (!posix_spawnp(&child, words->at[0], &silently, NULL, (char **)words->at, environ))
        while (waitpid(child, &status, 0) < 0) continue;
    posix_spawn_file_actions_destroy(&silently);
    return !status;
}

static bool works(const struct fble_build *b, const char *source, const char *program, int way) {
    struct fble_list words = fble_build_words(b), run = {0};
    add_way(b, &words, way);
    fble_build_link_words(b, &words);
    const char *more[] = {"-o", program, source, NULL};
    for (int i = 0; more[i]; i++) fble_push(b->arena, &words, (void *)more[i]);
    fble_push(b->arena, &run, (void *)program);
    bool good = runs_well(&words, b->arena) && runs_well(&run, b->arena);
    unlink(program);
    return good;
}

static bool write_file(const char *file, const char *bytes) {
    FILE *to = fopen(file, "w");
    if (!to) return false;
    bool good = fputs(bytes, to) >= 0;
    return !fclose(to) && good;
}

// The best way that works; if none does, WAYS.
static int try_all(const struct fble_build *b, const char *key) {
    const char *stem = fble_format(b->arena, "%s/%s.%ld", b->cache.folder, key, (long)getpid());
    const char *source = fble_format(b->arena, "%s.c", stem);
    const char *program = fble_format(b->arena, "%s%s", *stem == '/' ? "" : "./", stem);
    int way = 0;
    if (!write_file(source, text)) return WAYS;
    while (way < WAYS && !works(b, source, program, way)) way++;
    unlink(source);
    return way;
}

// A file with one digit.
static int read_answer(const char *file) {
    FILE *from = fopen(file, "r");
    int answer = from ? fgetc(from) - '0' : -1;
    if (from) fclose(from);
    return answer >= 0 && answer < WAYS ? answer : WAYS;
}

static void keep_answer(const struct fble_build *b, const char *file, int way) {
    const char *fresh = fble_format(b->arena, "%s.%ld", file, (long)getpid());
    if (write_file(fresh, fble_format(b->arena, "%d\n", way))) rename(fresh, file);
}

void fble_build_probe(struct fble_build *b) {
    const char *linker = secure_getenv("LDFLAGS"), *flags = secure_getenv("CFLAGS");
    const char *key = fble_build_key(b, text, strlen(text), linker);
    const char *file = fble_format(b->arena, "%s/%s.probe", b->cache.folder, key);
    int way = read_answer(file);
    if (way == WAYS && (way = try_all(b, key)) < WAYS) keep_answer(b, file, way);
    if (way >= FIRST_SLOW && way < WAYS)
        ouro__say(
            "fble compile: with CFLAGS=\"%s\" calls do not become jumps, so programs are about "
            "two times slower; -O1 is fine",
            flags ? flags : "");
    add_way(b, &b->compiler, way < WAYS ? way : FIRST_SLOW);
}

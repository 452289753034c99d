// SPDX-License-Identifier: MIT
//
// ouro-cc and ouro-c++: `ouro cc ...` is the compiler, with the flags for profiling. All arguments
// are passed on. Our flags come first, so that the project's own win, and our headers are looked
// for after all others; the run-time library comes last, if an executable is linked. Shared
// libraries get no library: they call the hooks of the program that loads them.

#include "descriptors.h"
#include "printable.h"
#include "tiny.h"

#include "../run/folders.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "ouro cc [--hooks] [--tiny] [--all] [--xray] [arguments of the compiler]\n"
    "ouro c++ [--hooks] [--tiny] [--all] [--xray] [arguments of the compiler]\n"
    "\n"
    "Compiles and links as cc and c++ do, so that `ouro run` can profile the program. Each\n"
    "function begins with a sled: five nops, which cost next to nothing, and of which `ouro run`\n"
    "makes a jump. Inlined functions are not seen.\n"
    "\n"
    "  --hooks   hooks in place of sleds (-finstrument-functions): they cost time also while\n"
    "            nothing records, and tail calls become calls; gcc's count inlined functions,\n"
    "            too. They are used in any case with sanitizers, -pg, -m32, -mcmodel= and the\n"
    "            like, and on processors other than x86-64.\n"
    "  --tiny    hooks, in tiny functions too. Without it, optimised code has none in functions\n"
    "            without loops that make no call and have at most 64 bytes of code, or that are\n"
    "            only inlined, with at most 256 bytes (gcc; each file is compiled twice to find\n"
    "            them; clang: all that are inlined). With sleds it is `ouro run --tiny`.\n"
    "  --all     hooks, in tiny functions and those of system headers too, such as inline ones\n"
    "            of std::\n"
    "  --xray    clang in place of cc, with sleds; XRay itself is not used\n"
    "\n"
    "The compiler underneath is $OURO_CC or $OURO_CXX, else $CC or $CXX unless that is this\n"
    "program, else cc or c++ (with --xray: clang or clang++). -g is added, for lines.\n"
    "OURO_CC_SHOW=1 shows the command. All else is the compiler's, also --version.\n"
    "\n"
    "Examples:\n"
    "  ouro cc -O2 program.c -o program && ouro run ./program\n"
    "  CC='ouro cc' CXX='ouro c++' make\n"
    "  ./configure CC='ouro cc' CXX='ouro c++'\n";

#if defined(__x86_64__)
#define HAS_SLEDS true
#else
#define HAS_SLEDS false
#endif

typedef struct {
    bool cxx, hooks, xray, tiny, all;
    bool links;      // an executable
    bool shares;     // a shared library
    bool is_static;  // without shared libraries
    bool has_inputs; // else the command only asks for a version or the like
    bool compiles;   // makes code, that is
    bool has_g, has_sections, has_gold, has_mold;
    bool has_no_tables; // for unwinders
    bool mixes;         // its compiler mixes the sleds of functions
    char **arguments;
    size_t count;
} command;

static void add(command *c, const char *argument) { c->arguments[c->count++] = (char *)argument; }

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word)) words++;
    return *words != NULL;
}

// With one of these options no code is made.
static bool forbids_code(const char *a) {
    static const char *const words[] = {"-E", "-M", "-MM", "-fsyntax-only", NULL};
    return is_one_of(a, words);
}

// With one of these options no executable with a C library is linked.
static bool forbids_linking(const char *a) {
    static const char *const words[] = {"-c",
                                        "-S",
                                        "-E",
                                        "-M",
                                        "-MM",
                                        "-r",
                                        "-fsyntax-only",
                                        "-nostdlib",
                                        "-nodefaultlibs",
                                        "--version",
                                        "-v",
                                        "-dumpversion",
                                        "-dumpmachine",
                                        NULL};
    return is_one_of(a, words) || begins(a, "-print-");
}

// With one of these options functions have hooks: sanitizers have a use of their own for the
// addresses where mirrors are, and read return addresses; the others use the same nops, or have
// something in registers that hooks use.
static bool forbids_sleds(const char *a) {
    static const char *const begin[] = {"-fsanitize", "-fpatchable-function-entry",
                                        "-mfentry",   "-m32",
                                        "-mx32",      "-mcmodel=",
                                        "-pg",        "-fsplit-stack",
                                        "-fipa-ra",   "-fcall-saved-",
                                        "-ffixed-",   NULL};
    const char *const *at = begin;
    while (*at && !begins(a, *at)) at++;
    return *at != NULL;
}

static void look_at(command *c, int argc, char **argv) {
    c->links = c->compiles = true;
    c->hooks = !HAS_SLEDS;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (forbids_linking(a)) c->links = false;
        if (forbids_code(a)) c->compiles = false;
        if (strcmp(a, "-static") == 0 || strcmp(a, "-static-pie") == 0) c->is_static = true;
        if (begins(a, "-g") && !begins(a, "-gcc") && !begins(a, "-gen")) c->has_g = true;
        if (strcmp(a, "-ffunction-sections") == 0) c->has_sections = true;
        if (strcmp(a, "-fuse-ld=gold") == 0) c->has_gold = true;
        if (strcmp(a, "-fuse-ld=mold") == 0) c->has_mold = true;
        if (strcmp(a, "-fno-asynchronous-unwind-tables") == 0) c->has_no_tables = true;
        if (strcmp(a, "--xray") == 0) c->xray = true;
        if (strcmp(a, "--hooks") == 0 || forbids_sleds(a)) c->hooks = true;
        if (strcmp(a, "--tiny") == 0) c->hooks = c->tiny = true;
        if (strcmp(a, "--all") == 0) c->hooks = c->all = c->tiny = true;
        if (strcmp(a, "-shared") == 0) c->shares = true;
        if (a[0] != '-' || !a[1]) c->has_inputs = true;
    }
    c->shares = c->shares && c->links;
    c->links = c->links && !c->shares;
}

// A value that names this program cannot be the compiler to run. CMake cuts `ouro cc` after its
// first word when it starts compilers.
static bool is_this(const char *value) {
    size_t length = strcspn(value, " "), name = length;
    while (name && value[name - 1] != '/') name--;
    bool is_ouro = length - name == 4 && strncmp(value + name, "ouro", 4) == 0;
    return is_ouro || strstr(value, "ouro cc") || strstr(value, "ouro c++") ||
           strstr(value, "ouro-cc") || strstr(value, "ouro-c++");
}

// The value may have arguments of its own (`ccache gcc`).
static char *compiler(const command *c) {
    const char *ours = secure_getenv(c->cxx ? "OURO_CXX" : "OURO_CC");
    const char *usual = secure_getenv(c->cxx ? "CXX" : "CC");
    if (ours && *ours) return strdup(ours);
    if (usual && *usual && !is_this(usual) && !c->xray) return strdup(usual);
    if (c->xray) return strdup(c->cxx ? "clang++" : "clang");
    return strdup(c->cxx ? "c++" : "cc");
}

// `cc` may be a link to clang, which has no option to exclude files.
static bool is_clang(const char *name) {
    const char *folder = secure_getenv("PATH");
    char path[PATH_MAX], whole[PATH_MAX];
    if (strstr(name, "clang")) return true;
    while (folder && *folder && !strchr(name, '/')) {
        int length = (int)strcspn(folder, ":");
        snprintf(path, sizeof path, "%.*s/%s", length, folder, name);
        if (realpath(path, whole)) return strstr(whole, "clang") != NULL;
        folder += length;
        folder += *folder == ':';
    }
    return false;
}

// `words`: the compiler's and the user's. What is tiny is found by compiling with them.
static void add_left_out(command *c, char *const *words) {
    static const char option[] = "-finstrument-functions-exclude-function-list=";
    char *list = tiny_functions(words, c->cxx), *whole;
    if (list && asprintf(&whole, "%s%s", option, list) > 0) add(c, whole);
    free(list);
}

// Some versions of gcc (12.2) say of all sleds of a file that they belong to one function. Then
// inline functions of C++, of which the linker keeps one copy, do not link, and if the linker drops
// that function, it drops all sleds. So C++ is linked without that list, and the recorder finds the
// sleds by the unwinding tables.
static bool mixes_sleds(const char *compiler) {
    char text[PATH_MAX + 256], line[256];
    int count = 0;
    snprintf(text, sizeof text,
             "echo '__attribute__((section(\"a\"))) void f(void) {}"
             "__attribute__((section(\"b\"))) void g(void) {}' |"
             "'%s' -fpatchable-function-entry=5 -x c -S -o - - 2>/dev/null",
             compiler);
    FILE *from = strchr(compiler, '\'') ? NULL : popen(text, "re");
    while (from && fgets(line, sizeof line, from))
        count += strstr(line, "__patchable_function_entries") && strstr(line, ",f\n");
    if (from) pclose(from);
    return count != 1;
}

static void add_flags(command *c, char *const *words) {
    if (!c->has_g) add(c, "-g");
    bool clang = is_clang(c->arguments[0]);
    bool mixes = !c->hooks && !clang && (c->cxx || c->has_sections) && mixes_sleds(c->arguments[0]);
    c->mixes = mixes && c->cxx;
    if (mixes && c->has_no_tables) c->hooks = true;
    if (c->hooks) {
        // clang's other flag makes hooks of functions that are only inlined refer to functions
        // that only other files have: programs with the standard library do not link then.
        add(c, clang && (c->cxx || !c->tiny) ? "-finstrument-functions-after-inlining"
                                             : "-finstrument-functions");
        if (!c->all && !clang)
            add(c, "-finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc");
        if (!c->tiny && !clang && c->compiles) add_left_out(c, words);
        return;
    }
    add(c, "-fpatchable-function-entry=5");
    if (clang) return;
    // Else one of several functions with the same code has the calls of all.
    add(c, "-fno-ipa-icf");
    // Else a caller may have something in a register that its callee does not use, but a hook does.
    add(c, "-fno-ipa-ra");
    // Else a function whose rest is split off and called by itself is counted twice.
    add(c, "-fno-partial-inlining");
}

// --sleds is the default, and may still be in build files.
static bool is_ours(const char *word) {
    static const char *const words[] = {"--hooks", "--sleds", "--xray", "--tiny", "--all", NULL};
    return is_one_of(word, words);
}

static void add_link_script(command *c) {
    static char script[PATH_MAX + 8] = "-Wl,-T,";
    if (c->has_mold || !find_library("ouro-native-sleds.ld", script + strlen(script))) return;
    if (c->has_gold) add(c, "-fuse-ld=bfd"); // gold has no such scripts
    add(c, script);
}

static void add_sled_table(command *c) {
    static char table[PATH_MAX];
    if (!find_library("libouro-native-sleds.a", table)) return;
    if (c->mixes) add_link_script(c);
    // gcc and clang want it for shared libraries only.
    if (c->is_static) add(c, "-Wl,--eh-frame-hdr");
    add(c, "-Wl,-u,ouro_sled_table_");
    // Else a language given by -x would apply to the library, too.
    add(c, "-x");
    add(c, "none");
    add(c, table);
}

// The library's names are exported for the libraries that `ouro run` preloads, and its interposers
// are linked though nothing refers to them. In a static program --wrap redirects calls to them.
static void add_library(command *c) {
    static char library[PATH_MAX];
    static const char *const wrapped[] = {
        "-Wl,--wrap=longjmp",       "-Wl,--wrap=_longjmp",       "-Wl,--wrap=siglongjmp",
        "-Wl,--wrap=__longjmp_chk", "-Wl,--wrap=swapcontext",    "-Wl,--wrap=setcontext",
        "-Wl,--wrap=malloc",        "-Wl,--wrap=calloc",         "-Wl,--wrap=realloc",
        "-Wl,--wrap=aligned_alloc", "-Wl,--wrap=posix_memalign", "-Wl,--wrap=memalign",
        "-Wl,--wrap=sigaction",     "-Wl,--wrap=signal",         "-Wl,--wrap=__sysv_signal",
        "-Wl,--wrap=sigset",        "-Wl,--wrap=sigignore",      "-Wl,--wrap=sigwait",
        "-Wl,--wrap=sigwaitinfo",   "-Wl,--wrap=sigtimedwait",   "-Wl,--wrap=signalfd"};
    if (!find_library(c->is_static ? "libouro-native-wrap.a" : "libouro-native.a", library)) return;
    add(c, "-Wl,-u,ouro_native_profile,-u,ouro_native_sleds_");
    if (c->is_static) {
        for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++) add(c, wrapped[i]);
        if (c->cxx) add(c, "-Wl,--wrap=__gxx_personality_v0");
    } else {
        add(c, "-Wl,-u,ouro_native_interposed_");
        add(c, "-Wl,--export-dynamic-symbol=ouro_native_*");
    }
    add_sled_table(c);
    add(c, library);
    add(c, "-pthread");
}

// Behind the folders of the user and of the system: no other header is hidden by it.
static size_t add_headers(char **words) {
    static char own[PATH_MAX + 16], library[PATH_MAX + 16];
    static const char option[] = "-idirafter";
    char folder[PATH_MAX];
    size_t count = 0;
    if (find_headers("ouro-native.h", folder)) {
        snprintf(own, sizeof own, "%s%s", option, folder);
        words[count++] = own;
    }
    if (find_headers("ouro.h", folder)) {
        snprintf(library, sizeof library, "%s%s", option, folder);
        if (strcmp(own, library) != 0) words[count++] = library;
    }
    return count;
}

int main(int argc, char **argv) {
    ouro__hold_streams();
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash ? slash + 1 : argv[0];
    command c = {.cxx = strstr(name, "++") != NULL};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    look_at(&c, argc, argv);
    char *value = compiler(&c), **words = calloc((size_t)argc + 8 + strlen(value), sizeof *words);
    c.arguments = calloc((size_t)argc + 64 + strlen(value), sizeof *c.arguments);
    if (!c.arguments || !words) return 1;
    size_t count = 0;
    for (char *word = strtok(value, " "); word; word = strtok(NULL, " ")) {
        add(&c, word);
        words[count++] = word;
    }
    if (c.has_inputs) count += add_headers(words + count);
    for (int i = 1; i < argc; i++) {
        if (!is_ours(argv[i])) words[count++] = argv[i];
    }
    char **own = words + c.count; // the headers' and the user's, after the compiler's
    if (c.has_inputs) add_flags(&c, words);
    while (*own) add(&c, *own++);
    if (c.has_inputs && c.links) add_library(&c);
    if (c.has_inputs && c.shares) add_sled_table(&c);
    if (secure_getenv("OURO_CC_SHOW")) {
        for (size_t i = 0; i < c.count; i++) {
            ouro__print_foreign(stderr, c.arguments[i]);
            fputc(i + 1 < c.count ? ' ' : '\n', stderr);
        }
    }
    execvp(c.arguments[0], c.arguments);
    ouro__say("ouro %s: cannot run %s: %s", c.cxx ? "c++" : "cc", c.arguments[0], strerror(errno));
    return 127;
}

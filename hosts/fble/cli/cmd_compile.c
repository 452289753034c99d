// SPDX-License-Identifier: MIT
//
// fble compile: a program, or a library of modules, through C. Every module becomes a file of C,
// which the system's compiler makes an object of, and with --profile another one, with profiling; a
// few lines of C put them together. A library without -m has all modules of its packages.

#include "command.h"
#include "printable.h"
#include "syntax/hash.h"
#include "to_c/build.h"
#include "to_c/translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct compilation {
    struct fble_program *program;
    const struct fble_options *options;
    struct fble_build build;
    bool profile, all_blocks;
};

// ---------------------------------------------------------------- which modules

static void load_package(struct compilation *c, const char *folder) {
    struct fble_list paths = {0};
    fble_folder_modules(c->program, folder, "", &paths);
    for (uint32_t i = 0; i < paths.count; i++) fble_program_load(c->program, paths.at[i]);
}

static int load(struct compilation *c) {
    if (c->options->main) fble_program_load(c->program, c->options->main);
    for (uint32_t i = 0; !c->options->main && i < c->options->packages.count; i++)
        load_package(c, c->options->packages.at[i]);
    bool runs = !c->options->compile.library && !c->options->compile.eval;
    if (fble_program_check(c->program) && runs)
        fble_check_main(c->program, c->options->main->module, FBLE_CALLED_AS_PROGRAM);
    int status = fble_finish(c->program, c->options->json);
    if (status != FBLE_FINE) return status;
    if (fble_emit_program(c->program, FBLE_RELATIVE_BLOCK, c->all_blocks)) return FBLE_FINE;
    return fble_finish(c->program, c->options->json);
}

// ---------------------------------------------------------------- C

// DIR/Foo/Bar.c for the module /Foo/Bar%, its folders included.
static bool emit(struct compilation *c, const char *name, const char *text, size_t length) {
    char *file = fble_format(&c->program->arena, "%s%s.c", c->options->compile.emit, name);
    for (char *p = file + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(file, 0777);
        *p = '/';
    }
    FILE *to = fopen(file, "w");
    bool good = to && fwrite(text, 1, length, to) == length;
    if (to && fclose(to)) good = false;
    if (!good) ouro__say("fble compile: cannot write %s: %s", file, strerror(errno));
    return good;
}

static bool add(struct compilation *c, const char *name, const char *text, size_t length,
                bool both) {
    if (c->options->compile.emit && !emit(c, name, text, length)) return false;
    if (!c->options->compile.output) return true;
    fble_build_add(&c->build, name, text, length, NULL);
    if (both && c->profile) fble_build_add(&c->build, name, text, length, "-DFBLE_PROFILED");
    return true;
}

static bool add_module(struct compilation *c, const struct fble_module *module) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) fble_out_of_memory();
    const char *source = fble_hash(&c->program->arena, module->value->text, module->value->length);
    fble_translate(to, c->program, module->emitted, source, c->all_blocks);
    fclose(to);
    const char *path = module->path->text;
    const char *name = fble_copy(&c->program->arena, path, strlen(path) - 1); // without %
    bool good = add(c, name, text, length, true);
    free(text);
    return good;
}

static void write_list(struct compilation *c, FILE *to, const char *suffix) {
    const struct fble_list *modules = &c->program->modules;
    for (int definition = 0; definition < 2; definition++) {
        if (definition)
            fprintf(to, "static const struct fble_compiled_module *const modules%s[] = {\n",
                    suffix);
        for (uint32_t i = 0; i < modules->count; i++) {
            const struct fble_module *module = modules->at[i];
            fprintf(to,
                    definition ? "    &fble_module%s%s,\n"
                               : "extern const struct fble_compiled_module fble_module%s%s;\n",
                    fble_c_name(&c->program->arena, module->path->text), suffix);
        }
    }
    fputs("};\n", to);
}

static bool add_main(struct compilation *c) {
    const struct fble_compile_options *options = &c->options->compile;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) fble_out_of_memory();
    fputs("#include <compiled.h>\n\n", to);
    write_list(c, to, "");
    if (c->profile) write_list(c, to, "_profiled");
    fputs("const struct fble_compiled fble_compiled_library = {\n", to);
    fprintf(to, "    FBLE_COMPILED_FORMAT, %u, modules, %s, %s, %s};\n", c->program->modules.count,
            c->profile ? "modules_profiled" : "NULL", options->eval ? "true" : "false",
            c->all_blocks ? "true" : "false");
    if (!options->library)
        fputs("\nint main(int argc, char **argv) {\n"
              "    return fble_compiled_main(argc, argv, &fble_compiled_library);\n}\n",
              to);
    fclose(to);
    bool good = add(c, "/main", text, length, false);
    free(text);
    return good;
}

// ---------------------------------------------------------------- the command

static int usage(const char *message) {
    fprintf(stderr, "fble compile: %s\n%s", message, fble_command_compile.usage);
    return FBLE_USAGE;
}

static int check_options(struct compilation *c) {
    const struct fble_compile_options *options = &c->options->compile;
    const char *blocks = c->options->run.blocks;
    if (!options->output && !options->emit) return usage("give -o FILE or --emit-c DIR");
    if (options->library && options->eval) return usage("a library does not evaluate anything");
    if (blocks && strcmp(blocks, "all") && strcmp(blocks, "functions"))
        return usage("--profile-blocks is functions or all");
    c->all_blocks = blocks && !strcmp(blocks, "all");
    c->profile = options->profile || blocks;
    if (!options->jobs) return FBLE_FINE;
    char *end;
    long jobs = strtol(options->jobs, &end, 10);
    if (*end || jobs < 1 || jobs > 1000) return usage("-j takes a number of processes");
    c->build.jobs = (unsigned)jobs;
    return FBLE_FINE;
}

static int run(struct fble_program *program, struct fble_options *options) {
    struct compilation c = {.program = program, .options = options};
    c.build = (struct fble_build){.arena = &program->arena,
                                  .folder = options->compile.folder,
                                  .output = options->compile.output,
                                  .shared = options->compile.library,
                                  .verbose = options->compile.verbose};
    int status = check_options(&c);
    if (status == FBLE_FINE) status = load(&c);
    if (status != FBLE_FINE) return status;
    if (options->compile.output && !fble_build_start(&c.build)) return FBLE_OTHER;
    bool good = true;
    for (uint32_t i = 0; i < program->modules.count && good; i++)
        good = add_module(&c, program->modules.at[i]);
    good = good && add_main(&c);
    if (good && options->compile.output) good = fble_build_finish(&c.build);
    fble_cache_close(&c.build.cache);
    return good ? FBLE_FINE : FBLE_OTHER;
}

const struct fble_command fble_command_compile = {
    .name = "compile",
    .summary = "make an executable, or a library of compiled modules",
    .usage =
        "usage: fble compile [options] -m /Module% -o PROGRAM\n"
        "       fble compile [options] FILE.fble -o PROGRAM\n"
        "       fble compile [options] --library -p PKG | -m /Module% -o LIB.so\n"
        "\n"
        "Makes a program of its own from a module of type /Std/Io/Cli%.Main@, by way of C. If it\n"
        "was compiled with --profile, its first arguments may be --profile FILE and the like, as\n"
        "of `fble run`, ended by --; FBLE_PROFILE in the environment is a profile's file, or such\n"
        "options.\n"
        "\n"
        "  -I DIR, --include DIR   look for modules in DIR too\n"
        "  -p PKG, --package PKG   and in the package PKG, found by FBLE_PACKAGE_PATH\n"
        "  -m PATH, --module PATH  the main module, such as /Foo/Bar%\n"
        "  -o FILE, --output FILE  what to make\n"
        "      --eval              a program that evaluates the module, like `fble eval`\n"
        "      --library           a shared object, for `fble run --compiled LIB.so`; without\n"
        "                          -m, of all modules of the packages\n"
        "      --emit-c DIR        write the C there, too\n"
        "      --profile           what is made can write profiles; takes three times as long\n"
        "      --profile-blocks functions|all   the same, and what the blocks are\n"
        "  -j N, --jobs N          that many compilers at a time; usual: one per core\n"
        "      --build-dir DIR     keep objects there, not in $XDG_CACHE_HOME/fble; a\n"
        "                          folder that is new, or was made by this option\n"
        "      --verbose           show the commands\n"
        "\n"
        "examples:\n"
        "  fble compile -p std Program.fble -o program && ./program one two\n"
        "  fble compile --profile -p std Program.fble -o program && ./program --profile p.pb\n"
        "  fble compile --library -p std -o std.so && fble run --compiled std.so -p std "
        "Program.fble\n"
        "\n"
        "environment: CC, CFLAGS (usual: -O1), LDFLAGS\n"
        "exit status: 0 fine, 2 compile error, 4 usage, 5 other\n",
    .takes = FBLE_TAKES_COMPILE,
    .run = run,
};

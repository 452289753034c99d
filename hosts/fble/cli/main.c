// SPDX-License-Identifier: MIT
//
// fble: finds the command, gives it a program to work with, and cleans up. The commands are a
// table; a new one is a file of its own and a line here. Only this part of the host prints or
// exits, the rest returns and reports.

#include "command.h"
#include "descriptors.h"
#include "printable.h"
#include "vm/fble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef FBLE_VERSION
#define FBLE_VERSION "unknown"
#endif

static const struct fble_command *const commands[] = {
    &fble_command_check,   &fble_command_deps,   &fble_command_eval,
    &fble_command_run,     &fble_command_memory, &fble_command_disassemble,
    &fble_command_compile, &fble_command_lsp,    &fble_command_test,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int other_status = FBLE_OTHER; // of the command that runs

static void no_memory(void) {
    if (!fble_runner_no_memory()) fputs("fble: out of memory\n", stderr);
    exit(other_status);
}

static const struct fble_command *find(const char *name) {
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static void print_help(FILE *to) {
    fputs("usage: fble COMMAND [options]\n\n", to);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n"
          "`fble help COMMAND` says more about one of them, `fble --version` which one this is.\n"
          "\n"
          "examples:\n"
          "  fble check -p std Program.fble\n"
          "  fble run --profile program.pb.gz -p std Program.fble -- one two\n",
          to);
}

static int help(const char *name) {
    const struct fble_command *command = name ? find(name) : NULL;
    if (command)
        fputs(command->usage, stdout);
    else if (!name)
        print_help(stdout);
    else
        ouro__say("fble: there is no command %s", name);
    return command || !name ? FBLE_FINE : FBLE_USAGE;
}

static int version(void) {
    puts("fble " FBLE_VERSION);
    return FBLE_FINE;
}

static int run(const struct fble_command *command, char **arguments) {
    struct fble_program program;
    struct fble_options options = {0};
    for (char **a = arguments; *a && strcmp(*a, "--"); a++) {
        if (!strcmp(*a, "-h") || !strcmp(*a, "--help")) return help(command->name);
        if (!strcmp(*a, "--version")) return version();
    }
    if (command->statuses) other_status = command->statuses[FBLE_OTHER];
    fble_program_start(&program);
    int status = fble_options_read(&program, &options, command, arguments);
    if (status != FBLE_FINE && command->statuses) status = command->statuses[status];
    if (status == FBLE_FINE) status = command->run(&program, &options);
    fble_program_free(&program);
    return status;
}

// Half a rule or half a JSON text must not look like success.
static int written(int status) {
    if (!fflush(stdout) && !ferror(stdout)) return status;
    ouro__say("fble: cannot write the output: %s", strerror(errno));
    return other_status;
}

int main(int argc, char **argv) {
    ouro__hold_streams();
    fble_out_of_memory = fble_no_memory = no_memory;
    const char *first = argc > 1 ? argv[1] : NULL;
    if (!first) {
        print_help(stderr);
        return FBLE_USAGE;
    }
    if (!strcmp(first, "--help") || !strcmp(first, "-h")) return written(help(NULL));
    if (!strcmp(first, "help")) return written(help(argc > 2 ? argv[2] : NULL));
    if (!strcmp(first, "--version") || !strcmp(first, "-v")) return written(version());
    const struct fble_command *command = find(first);
    if (command) return written(run(command, argv + 2));
    ouro__say("fble: there is no command %s", first);
    print_help(stderr);
    return FBLE_USAGE;
}

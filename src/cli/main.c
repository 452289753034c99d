// SPDX-License-Identifier: MIT
//
// ouro: finds the command and runs it.

#include "ouro.h"

#include "cli.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"report", cmd_report},
                {"diff", cmd_diff},
                {"convert", cmd_convert},
                {"merge", cmd_merge},
                {"help", cmd_help}};

int main(int argc, char **argv) {
    // Only for the width of characters: numbers are written the same everywhere.
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "");
    if (argc < 2) fail_usage(NULL, "expected a command: report, diff, convert, merge or help");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(NULL);
        return EXIT_GOOD;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ouro %s\n", OURO_VERSION);
        return EXIT_GOOD;
    }
    fail_usage(NULL, "there is no command %s", argv[1]);
}

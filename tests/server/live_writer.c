// SPDX-License-Identifier: MIT
//
// A program that is recorded into a live file, one step per line of its input: live_writer FILE. A
// line with a name enters a block of that name below the last ones of its dots ("main.parse"),
// charges 10 samples to it and leaves; "end" closes the profile. Prints `done` after each.

#include <ouro.h>

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 16 };

static void step(ouro_profile *profile, ouro_thread *thread, char *line) {
    ouro_position callers[DEEPEST];
    int depth = 0;
    for (char *name = strtok(line, "."); name && depth < DEEPEST; name = strtok(NULL, ".")) {
        // The same name again finds a new block only if its place differs.
        ouro_block block =
            ouro_add_block(profile, &(ouro_block_info){.name = name, .file = "live.c", .line = 1});
        callers[depth++] = ouro_enter(thread, block);
    }
    ouro_sample(thread, 10);
    while (depth > 0) ouro_exit(thread, callers[--depth]);
}

int main(int argc, char **argv) {
    char line[256];
    if (argc != 2) return 2;
    ouro_profile *profile = ouro_profile_new(&(ouro_options){.path = argv[1]});
    ouro_thread *thread = profile ? ouro_thread_new(profile) : NULL;
    if (!thread) return 1;
    puts("done");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "end") == 0) break;
        step(profile, thread, line);
        puts("done");
        fflush(stdout);
    }
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}

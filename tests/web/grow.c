// SPDX-License-Identifier: MIT
//
// A program with a live profile that does only what it is told: each line on standard input makes
// it recurse and charge once more, then it says so. The tests of the viewer watch its file grow,
// without waiting for any time to pass. At the end of its input it ends.

#include <ouro.h>
#include <stdio.h>

static void descend(ouro_thread *t, ouro_block f, ouro_block leaf, int n) {
    ouro_position caller = ouro_enter(t, f);
    if (n > 0) {
        descend(t, f, leaf, n - 1);
    } else {
        ouro_position here = ouro_enter(t, leaf);
        ouro_sample(t, 100);
        ouro_exit(t, here);
    }
    ouro_sample(t, 1);
    ouro_exit(t, caller);
}

int main(int argc, char **argv) {
    ouro_profile *profile = argc == 2 ? ouro_profile_new(&(ouro_options){.path = argv[1]}) : NULL;
    if (!profile) {
        fprintf(stderr, "usage: web_grow FILE.ouro\n");
        return 1;
    }
    ouro_block main_block = ouro_add_block(profile, &(ouro_block_info){"main", "grow.x", 1, 1});
    ouro_block f = ouro_add_block(profile, &(ouro_block_info){"descend", "grow.x", 5, 1});
    ouro_block leaf = ouro_add_block(profile, &(ouro_block_info){"leaf", "grow.x", 9, 1});
    ouro_block late = ouro_add_block(profile, &(ouro_block_info){"late", "grow.x", 12, 1});
    ouro_thread *thread = ouro_thread_new(profile);
    ouro_position outside = ouro_enter(thread, main_block);
    char line[64];
    for (int round = 1; fgets(line, sizeof line, stdin); round++) {
        descend(thread, f, round > 1 ? late : leaf, 9);
        printf("%d\n", round);
        fflush(stdout);
    }
    ouro_exit(thread, outside);
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return 0;
}

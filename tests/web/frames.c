// SPDX-License-Identifier: MIT
//
// A game loop with jank that has a cause, for the page Time: web_frames FILE FRAMES PACE. Every
// frame thinks and draws; its garbage is collected when there is enough of it, which takes longer
// than the frame may take, and now and then the level grows. FILE ends in .ouro: it is a live file.
// PACE 0 only counts; 1 takes the time that it counts, as a program does.

#include <ouro.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MS = 1000000 };

static ouro_thread *thread;
static ouro_block game, input, think, path_finding, draw, sprites, collect, mark, sweep, level;
static uint64_t seed = 88172645463325252, pace;

static uint64_t below(uint64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

static void spend(ouro_block block, uint64_t nanoseconds) {
    ouro_position caller = ouro_enter(thread, block);
    if (pace)
        nanosleep(&(struct timespec){(time_t)(nanoseconds / 1000000000),
                                     (long)(nanoseconds % 1000000000)},
                  NULL);
    ouro_count(thread, 0, nanoseconds);
    ouro_exit(thread, caller);
}

static void collect_garbage(uint64_t live) {
    ouro_position caller = ouro_enter(thread, collect);
    spend(mark, 9 * MS + live * MS / 8);
    spend(sweep, 6 * MS + below(2 * MS));
    ouro_exit(thread, caller);
}

static void think_once(int frame) {
    ouro_position caller = ouro_enter(thread, think);
    spend(path_finding, 2 * MS + below(2 * MS));
    if (frame % 211 == 210) spend(level, 11 * MS + below(4 * MS));
    ouro_exit(thread, caller);
}

static void draw_once(void) {
    ouro_position caller = ouro_enter(thread, draw);
    spend(sprites, 5 * MS + below(4 * MS));
    ouro_exit(thread, caller);
}

static void one_frame(int frame, uint64_t *garbage) {
    ouro_position caller = ouro_enter(thread, game);
    spend(input, MS / 2 + below(MS / 2));
    think_once(frame);
    draw_once();
    *garbage += 1 + below(3);
    if (*garbage > 120) {
        collect_garbage(*garbage / 2 + (uint64_t)frame / 10);
        *garbage = 0;
    }
    ouro_exit(thread, caller);
}

static ouro_block block(ouro_profile *profile, const char *name, uint32_t line) {
    return ouro_add_block(profile, &(ouro_block_info){name, "game.x", line, 1});
}

int main(int argc, char **argv) {
    static const ouro_metric_info time_metric = {"time", "nanoseconds"};
    if (argc != 4) {
        fprintf(stderr, "usage: web_frames FILE FRAMES PACE\n");
        return 1;
    }
    const char *dot = strrchr(argv[1], '.');
    bool live = dot && strcmp(dot, ".ouro") == 0;
    pace = strtoul(argv[3], NULL, 10);
    ouro_profile *profile =
        ouro_profile_new(&(ouro_options){.path = live ? argv[1] : NULL,
                                         .metrics = &time_metric,
                                         .metric_count = 1,
                                         .slices = {.name = "frame", .by = pace ? 0 : 1}});
    if (!profile) return 1;
    game = block(profile, "frame", 10);
    input = block(profile, "read_input", 12);
    think = block(profile, "think", 20);
    path_finding = block(profile, "find_path", 31);
    draw = block(profile, "draw", 50);
    sprites = block(profile, "draw_sprites", 58);
    collect = block(profile, "collect_garbage", 90);
    mark = block(profile, "mark", 97);
    sweep = block(profile, "sweep", 120);
    level = block(profile, "grow_level", 140);
    thread = ouro_thread_new(profile);
    uint64_t garbage = 0;
    int frames = atoi(argv[2]);
    for (int frame = 0; frame < frames; frame++) {
        ouro_slice(thread);
        one_frame(frame, &garbage);
    }
    ouro_slice_stop(thread);
    bool ok = live || ouro_profile_write(profile, argv[1]) == 0;
    ouro_thread_free(thread);
    ouro_profile_free(profile);
    return ok ? 0 : 1;
}

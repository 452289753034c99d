// SPDX-License-Identifier: MIT
//
// A game's loop without the pictures: sparks fly and fade. Most frames take the same time, some
// stutter. The sums over the whole run do not say why; the slow frames, beside the others, do:
//
//     ouro cc -O2 -g game.c -o game && ouro run --memory --slice frame -o game.pb ./game
//
// The reason: dead sparks are removed only when there are a thousand of them, into a new array that
// is sorted. Without --slice the program itself says where a frame ends.

#include <ouro-slice.h>

#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 600, BORN = 20, LIFE = 30, MOST_DEAD = 1000, ROOM = 4 * (MOST_DEAD + BORN * LIFE) };

typedef struct {
    int x, y, life;
} spark;

typedef struct {
    spark *sparks;
    int count, dead, sweeps;
} game;

static void spawn(game *g, int i) { g->sparks[g->count++] = (spark){i, 0, LIFE}; }

static void move(game *g) {
    for (int i = 0; i < g->count; i++) {
        spark *s = &g->sparks[i];
        if (s->life == 0) continue;
        s->x += s->x % 7 - 3;
        s->y++;
        if (--s->life == 0) g->dead++;
    }
}

static int oldest_first(const void *a, const void *b) {
    return ((const spark *)a)->life - ((const spark *)b)->life;
}

static void sweep(game *g) {
    spark *left = malloc(ROOM * sizeof *left);
    int n = 0;
    if (!left) exit(1);
    qsort(g->sparks, (size_t)g->count, sizeof *g->sparks, oldest_first);
    for (int i = 0; i < g->count; i++) {
        if (g->sparks[i].life) left[n++] = g->sparks[i];
    }
    free(g->sparks);
    *g = (game){left, n, 0, g->sweeps + 1};
}

__attribute__((noinline)) static void frame(game *g, int number) {
    for (int i = 0; i < BORN; i++) spawn(g, number * BORN + i);
    move(g);
    if (g->dead >= MOST_DEAD) sweep(g);
}

int main(void) {
    game g = {malloc(ROOM * sizeof *g.sparks), 0, 0, 0};
    if (!g.sparks) return 1;
    for (int i = 0; i < FRAMES; i++) {
        ouro_slice_here();
        frame(&g, i);
    }
    ouro_slice_stop_here();
    // Each spark that is there has lived for a while, or is dead.
    int alive = g.count - g.dead;
    printf("%d frames, %d of them slow\n", FRAMES, g.sweeps);
    free(g.sparks);
    return alive == BORN * (LIFE - 1) ? 0 : 1;
}

// SPDX-License-Identifier: MIT
//
// A ranking: the points of 2,000 players, the best first. All are loaded and sorted; then one more
// player joins, and they are sorted again, by a quicksort.
//
// docs/tutorial-c.md finds out which part of this is slow, and mends it.

#include <stdio.h>

enum { PLAYERS = 2000 };

static unsigned points[PLAYERS + 1];
static int count;

static int is_better(unsigned a, unsigned b) { return a > b; }

static void swap(int i, int j) {
    unsigned kept = points[i];
    points[i] = points[j];
    points[j] = kept;
}

// Moves all that are better than the pivot before it, and returns where the pivot is then.
static int divide(int first, int end) {
    int pivot = first;
    swap(first, pivot);
    int place = first;
    for (int i = first + 1; i < end; i++)
        if (is_better(points[i], points[first])) swap(++place, i);
    swap(first, place);
    return place;
}

static void sort(int first, int end) {
    if (end - first < 2) return;
    int middle = divide(first, end);
    sort(first, middle);
    sort(middle + 1, end);
}

// Points that look random, the same in every run.
static void load(void) {
    unsigned next = 1;
    for (count = 0; count < PLAYERS; count++) points[count] = next = next * 1664525 + 1013904223;
    sort(0, count);
}

static void join(void) {
    points[count++] = 0;
    sort(0, count);
}

int main(void) {
    load();
    join();
    for (int i = 1; i < count; i++)
        if (is_better(points[i], points[i - 1])) return 1;
    printf("%d players, the best has %u points\n", count, points[0]);
    return 0;
}

// SPDX-License-Identifier: MIT
// Allocations by every door. Bytes: make 100 * (10 + 3 * 8 + 64 + 128), grow 50 * (100 + 200),
// fresh 30 * 24.
#include <cstdlib>

#define NOINLINE __attribute__((noinline))
static void *volatile keep;
NOINLINE static void make() {
    keep = malloc(10);
    free(keep);
    keep = calloc(3, 8);
    free(keep);
    keep = aligned_alloc(64, 64);
    free(keep);
    void *p;
    if (posix_memalign(&p, 64, 128)) abort();
    free(p);
}
NOINLINE static void grow() {
    keep = malloc(100);
    keep = realloc(keep, 200);
    free(keep);
}
struct three {
    long a, b, c;
};
NOINLINE static void fresh() {
    three *p = new three();
    keep = p;
    delete p;
}
int main() {
    for (int i = 0; i < 100; i++) make();
    for (int i = 0; i < 50; i++) grow();
    for (int i = 0; i < 30; i++) fresh();
    return 0;
}

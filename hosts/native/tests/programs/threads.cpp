// SPDX-License-Identifier: MIT
// std::thread, and destructors of thread_local objects.
// Prints how often each function is called.
#include <cstdio>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function, patchable_function_entry(0)))
struct mark {
    int used = 0;
    QUIET mark() {}
    NOINLINE ~mark() { asm volatile(""); }
};
static thread_local mark own;
NOINLINE static void leaf() { asm volatile(""); }
static void work(int n) {
    own.used = 1;
    for (int i = 0; i < n; i++) leaf();
}
int main() {
    for (int round = 0; round < 10; round++) {
        std::vector<std::thread> all;
        for (int i = 0; i < 4; i++) all.emplace_back(work, 10);
        for (auto &t : all) t.join();
    }
    puts("work(int) 40\nleaf() 400\nmark::~mark() 40\nmain 1");
    return 0;
}

// SPDX-License-Identifier: MIT
// The library of catches.c.
extern "C" __attribute__((noinline)) void thrower(int n) { throw n + 1; }
extern "C" __attribute__((noinline)) int throws(int n, void (*f)(int)) {
    try {
        f(n);
    } catch (int got) {
        return got;
    }
    return 0;
}

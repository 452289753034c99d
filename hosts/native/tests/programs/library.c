// SPDX-License-Identifier: MIT
// A shared library whose functions call back into the program; see uses_library.c.
void library_each(int n, void (*call)(int));
__attribute__((noinline)) static void hidden(int i, void (*call)(int)) {
    call(i);
    __asm__ volatile("");
}
void library_each(int n, void (*call)(int)) {
    for (int i = 0; i < n; i++) hidden(i, call);
}

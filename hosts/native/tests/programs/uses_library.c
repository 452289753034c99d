// SPDX-License-Identifier: MIT
// A function of the program, called by a shared library.
// want: main 1
// want: main;library_each 1
// want: main;library_each;hidden 12
// want: main;library_each;hidden;callback 12
void library_each(int n, void (*call)(int));
static void callback(int i) { __asm__ volatile("" ::"r"(i)); }
int main(void) {
    library_each(12, callback);
    __asm__ volatile("");
    return 0;
}

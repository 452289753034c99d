// SPDX-License-Identifier: MIT
// dlopen and dlclose of two libraries in turn: they come to the same addresses.
// Each has a `plugin` of its own.
// want: main 1
// want: main;use 20
// want: main;use;plugin 10
// want: main;use;plugin;inner_one 30
// want: main;use;plugin [two.so] 10
// want: main;use;plugin [two.so];inner_two 50
// want: main;use;ending_one 10
// want: main;use;ending_two 10
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void *use(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void (*plugin)(void);
    *(void **)&plugin = dlsym(library, "plugin");
    plugin();
    dlclose(library);
    return (void *)plugin;
}
int main(int argc, char **argv) {
    int same = 0;
    if (argc < 3) return 2;
    for (int i = 0; i < 10; i++) same += use(argv[1]) == use(argv[2]);
    printf("%d times at the same address\n", same);
    return 0;
}

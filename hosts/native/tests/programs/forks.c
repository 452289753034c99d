// SPDX-License-Identifier: MIT
// fork: children go on where the parent stood and count only what is theirs; grandchildren; exec of
// the same program; vfork.
// want: main 2
// want: main;before 1
// want: main;parent 1
// want: main;parent;before 1
// want: main;parent;child 3
// want: main;parent;child;leaf 30
// want: main;parent;child;grandchild 3
// want: main;parent;child;grandchild;leaf 15
// want: main;executed 1
// want: main;executed;leaf 7
// want: main;spawner 1
// want: main;leaf 1
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define STAY __asm__ volatile("" ::: "memory")
NOINLINE static void leaf(void) { STAY; }
NOINLINE static void before(void) { STAY; }
NOINLINE static void executed(void) {
    for (int i = 0; i < 7; i++) leaf();
    STAY;
}
NOINLINE static void grandchild(void) {
    for (int i = 0; i < 5; i++) leaf();
    _exit(0);
}
NOINLINE static void child(void) {
    for (int i = 0; i < 10; i++) leaf();
    pid_t id = fork();
    if (id == 0) grandchild();
    waitpid(id, NULL, 0);
    STAY;
}
NOINLINE static void parent(void) {
    before();
    for (int i = 0; i < 3; i++) {
        pid_t id = fork();
        if (id == 0) {
            child();
            _exit(0);
        }
        waitpid(id, NULL, 0);
    }
}
NOINLINE static void spawner(char **argv) {
    pid_t id = vfork();
    if (id == 0) {
        execl(argv[0], argv[0], "again", (char *)NULL);
        _exit(1);
    }
    waitpid(id, NULL, 0);
}
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        executed();
        return 0;
    }
    before();
    parent();
    spawner(argv);
    leaf();
    return 0;
}

// SPDX-License-Identifier: MIT
//
// Names for live files of native programs. Such a program knows its functions by module and offset
// only; ouro-run finds names by libdw. It is started with the functions that were not asked for
// before, one per line, and answers each with name, file and line, separated by tabs. What it
// answers is kept, so that a viewer that looks again and again asks only for what is new.

#include "host.h"
#include "naming.h"
#include "texts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static texts keys;               // NAME\tFILE
static ouro_block_info *answers; // by row of the keys; name NULL: not known
static size_t answer_room;

// NAME is MODULE+0xOFFSET; FILE is an absolute path, with or without a build id.
static bool is_asked_for(const ouro_block_info *b) {
    const char *plus = b->file[0] == '/' && !b->line ? strrchr(b->name, '+') : NULL;
    return plus && strncmp(plus, "+0x", 3) == 0 && !strpbrk(b->name, "\t\n") &&
           !strpbrk(b->file, "\t\n");
}

static char *key_of(const ouro_block_info *b) {
    char *key;
    return asprintf(&key, "%s\t%s", b->name, b->file) < 0 ? NULL : key;
}

// The row of a function; NO_ROW without memory. *fresh: it was not asked for before.
static uint32_t row_of(const ouro_block_info *b, bool *fresh) {
    char *key = key_of(b);
    uint32_t row = key ? ouro__texts_find(&keys, key, strlen(key)) : NO_ROW;
    *fresh = key && row == NO_ROW;
    if (*fresh) row = ouro__texts_add(&keys, key, strlen(key));
    free(key);
    while (row != NO_ROW && row >= answer_room) {
        size_t room = answer_room ? answer_room * 2 : 256;
        ouro_block_info *grown = realloc(answers, room * sizeof *grown);
        if (!grown) return NO_ROW;
        memset(grown + answer_room, 0, (room - answer_room) * sizeof *grown);
        answers = grown;
        answer_room = room;
    }
    return row;
}

// name TAB file TAB line
static void take_answer(char *line, uint32_t row) {
    char *file = strchr(line, '\t'), *number = file ? strchr(file + 1, '\t') : NULL;
    if (!number || file == line || row >= answer_room) return;
    *file++ = *number++ = '\0';
    char *name = strdup(line), *place = strdup(file);
    if (!name || !place) {
        free(name);
        free(place);
        return;
    }
    answers[row] = (ouro_block_info){name, place, (uint32_t)strtoul(number, NULL, 10), 0};
}

static int start(const char *program, int in, int out, pid_t *child) {
    char *arguments[] = {(char *)program, (char *)"--names", NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return -1;
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int failed = posix_spawn(child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : 0;
}

// `rows`: of the questions, in their order.
static void ask(FILE *questions, const uint32_t *rows, size_t count) {
    char program[4096], *line = NULL;
    size_t room = 0;
    int ends[2];
    pid_t child;
    if (!find_host("run", program) || fflush(questions) || pipe2(ends, O_CLOEXEC)) return;
    lseek(fileno(questions), 0, SEEK_SET);
    bool started = start(program, fileno(questions), ends[1], &child) == 0;
    close(ends[1]);
    FILE *in = started ? fdopen(ends[0], "r") : NULL;
    for (size_t i = 0; in && i < count; i++) {
        ssize_t n = getline(&line, &room, in);
        if (n <= 0) break;
        line[n - 1] = '\0';
        take_answer(line, rows[i]);
    }
    free(line);
    if (in)
        fclose(in);
    else
        close(ends[0]);
    while (started && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

// Asks for what was never asked for.
static void learn(const ouro_block_info *blocks, size_t count) {
    FILE *questions = NULL;
    uint32_t *rows = NULL;
    size_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        bool fresh;
        uint32_t row = is_asked_for(&blocks[i]) ? row_of(&blocks[i], &fresh) : NO_ROW;
        if (row == NO_ROW || !fresh) continue;
        if (!rows) rows = malloc(count * sizeof *rows);
        if (!questions) {
            int fd = memfd_create("questions", MFD_CLOEXEC);
            questions = fd < 0 ? NULL : fdopen(fd, "w+");
        }
        if (!rows || !questions) break;
        rows[asked++] = row;
        fprintf(questions, "%s\t%s\n", blocks[i].name, blocks[i].file);
    }
    if (asked) ask(questions, rows, asked);
    if (questions) fclose(questions);
    free(rows);
}

static void name_functions(const ouro_block_info *blocks, size_t count, ouro_block_info *named) {
    if (count) memcpy(named, blocks, count * sizeof *named);
    const char *wanted = secure_getenv("OURO_NATIVE_NAMES"); // ouro-run finds them itself
    if (wanted && strcmp(wanted, "off") == 0) return;
    pthread_mutex_lock(&lock);
    if (keys.count || ouro__texts_init(&keys)) {
        learn(blocks, count);
        for (size_t i = 0; i < count; i++) {
            bool fresh = false;
            uint32_t row = is_asked_for(&blocks[i]) ? row_of(&blocks[i], &fresh) : NO_ROW;
            if (row != NO_ROW && row < answer_room && answers[row].name) named[i] = answers[row];
        }
    }
    pthread_mutex_unlock(&lock);
}

void use_native_names(void) { ouro__name_functions = name_functions; }

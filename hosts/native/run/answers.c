// SPDX-License-Identifier: MIT
//
// What ouro-run does for `ouro view` and `ouro report`, by standard input and output.

#include "answers.h"

#include "options.h"
#include "ouro.h"
#include "perfdata.h"
#include "rename.h"
#include "scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// For `ouro view` and `ouro report` of live files: a line `NAME TAB FILE` for each function, which
// is answered by `name TAB file TAB line`, or by an empty line.
int answer_names(void) {
    char *line = NULL;
    size_t room = 0;
    symbols *known = symbols_new(NULL);
    for (ssize_t n; known && (n = getline(&line, &room, stdin)) > 0;) {
        symbol found;
        bool asks;
        if (line[n - 1] == '\n') line[n - 1] = '\0';
        char *file = strchr(line, '\t');
        if (file) *file++ = '\0';
        if (file && rename_find(known, line, file, &asks, &found) && !strpbrk(found.name, "\t\n") &&
            !strpbrk(found.file, "\t\n"))
            printf("%s\t%s\t%u", found.name, found.file, found.line);
        putchar('\n');
    }
    free(line);
    if (known) symbols_free(known);
    return fflush(stdout) || !known ? EXIT_FAILED : 0;
}

// Copies a file to standard output.
static bool copy_out(const char *path) {
    char buffer[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
        if (fwrite(buffer, 1, (size_t)n, stdout) != (size_t)n) break;
    }
    if (fd >= 0) close(fd);
    return n == 0 && fflush(stdout) == 0;
}

// For `ouro view perf.data`: the file is standard input, and the profile goes to standard output,
// as pprof. EXIT_USAGE: it has what we do not read, and what that is.
int read_perf_data(void) {
    char folder[PATH_MAX], path[PATH_MAX];
    struct stat status;
    const char *problem = "it cannot be mapped";
    bool is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    size_t size = is_file ? (size_t)status.st_size : 0;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0) : MAP_FAILED;
    sampled *s = NULL;
    if (bytes != MAP_FAILED) s = perfdata_read(bytes, size, &(sampled_options){0}, &problem);
    if (!s) {
        fprintf(stderr, "%s", problem);
        return EXIT_USAGE;
    }
    if (scratch_make(folder)) return EXIT_FAILED;
    snprintf(path, sizeof path, "%.4000s/perf.pb", folder);
    bool written = ouro_profile_write(sampled_profile(s), path) == 0 && copy_out(path);
    scratch_remove(folder);
    sampled_free(s);
    return written ? 0 : EXIT_FAILED;
}

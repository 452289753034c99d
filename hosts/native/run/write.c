// SPDX-License-Identifier: MIT
//
// Live files become one profile: `ouro merge` adds them up, rename.c puts names into the sum, and
// `ouro convert` writes it.

#include "write.h"

#include "children.h"
#include "descriptors.h"
#include "ouro.h"
#include "printable.h"
#include "rename.h"
#include "scratch.h"
#include "start.h"
#include "whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_AT_ONCE = 200 };

// The sum of some files, as pprof.
static bool merge(char **names, size_t count, const char *sum, const char *to) {
    char *arguments[FILES_AT_ONCE + 10] = {ouro, "merge", "--to", "pprof", "-o", (char *)to};
    size_t n = 6;
    if (sum) arguments[n++] = (char *)sum;
    for (size_t i = 0; i < count; i++) arguments[n++] = names[i];
    return run_ouro(arguments);
}

static bool merge_all(const files *all, const char *folder, char merged[static PATH_MAX]) {
    char sums[2][PATH_MAX];
    const char *sum = NULL;
    int turn = 0;
    for (size_t i = 0; i < all->count; i += FILES_AT_ONCE, turn = 1 - turn) {
        size_t n = all->count - i < FILES_AT_ONCE ? all->count - i : FILES_AT_ONCE;
        snprintf(sums[turn], PATH_MAX, "%.4000s/.sum.%d", folder, turn);
        if (!merge(all->names + i, n, sum, sums[turn])) return false;
        sum = sums[turn];
    }
    strcpy(merged, sum);
    return true;
}

static void tell_names(const rename_counts *counts) {
    if (counts->functions == counts->named) return;
    fprintf(
        stderr,
        "ouro run: %llu of %llu functions have no name: the program was stripped, or is gone.\n"
        "Debian has debug symbols in packages NAME-dbgsym; --debug-folder names other places.\n",
        (unsigned long long)(counts->functions - counts->named),
        (unsigned long long)counts->functions);
}

// The name of the file in between is the title in most formats. `program`: what the profile is of;
// NULL: what the files say.
bool write_profile(const options *o, const files *all, const char *folder, const char *program,
                   const char *output) {
    char merged[PATH_MAX], named[PATH_MAX];
    rename_counts counts;
    if (!merge_all(all, folder, merged)) return false;
    snprintf(named, sizeof named, "%.3000s/%.1000s", folder, program ? program : base_name(output));
    symbols *known = symbols_new(o->debug_folders);
    bool renamed = known && rename_functions(merged, named, program, known, &counts) == 0;
    if (!renamed) ouro__say("ouro run: cannot write %s: %s", named, strerror(errno));
    if (known) symbols_free(known);
    if (!renamed) return false;
    if (!o->quiet) tell_names(&counts);
    char *convert[] = {ouro, "convert", named, (char *)output, NULL};
    return run_ouro(convert);
}

const char *default_output(const char *program) {
    static char name[PATH_MAX];
    snprintf(name, sizeof name, "%.4000s.pb", base_name(program));
    return name;
}

// An hour of recording must not be lost for a name: the extension and the folder of the output are
// tried with an empty profile first. Says what is wrong.
static bool can_write(const char *folder, const char *output) {
    char empty[PATH_MAX], trial[PATH_MAX], *beside;
    struct stat status;
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    snprintf(empty, sizeof empty, "%.4000s/empty.pb", folder);
    snprintf(trial, sizeof trial, "%.2000s/.trial-%.2000s", folder, name);
    ouro_profile *profile = ouro_profile_new(NULL);
    bool made = profile && ouro_profile_write(profile, empty) == 0;
    ouro_profile_free(profile);
    char *convert[] = {ouro, "convert", empty, trial, NULL};
    int tried = made ? status_of_ouro(convert, QUIETLY) : 0;
    unlink(empty);
    unlink(trial);
    if (tried == EXIT_USAGE) {
        ouro__say("ouro run: cannot write %s: its extension names no format that can be written "
                  "(`ouro help convert`)",
                  output);
        return false;
    }
    errno = stat(output, &status) == 0 && S_ISDIR(status.st_mode) ? EISDIR : 0;
    int fd = errno ? -1 : ouro__open_beside(output, 0600, &beside);
    if (fd < 0) {
        ouro__say("ouro run: cannot write %s: %s", output, strerror(errno));
        return false;
    }
    close(fd);
    unlink(beside);
    free(beside);
    return true;
}

void check_output(const folders *f, const char *output) {
    if (can_write(f->own, output)) return;
    scratch_remove(f->own);
    exit(EXIT_FAILED);
}

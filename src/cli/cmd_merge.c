// SPDX-License-Identifier: MIT
//
// ouro merge: the sum of profiles. One is read at a time, added, and freed, so memory follows
// the result.

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const allowed[] = {"from",   "to",  "output", "compact", "limit",
                                      "period", "min", "metric", NULL};

// ---------------------------------------------------------------- the title

static char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);
    if (!name) fail_memory();
    return name;
}

// The live files of `ouro run` are PROGRAM.PID and more. A sampler writes those that are sampled,
// so the program in such a file is the sampler.
static bool cut_at_pid(char *name) {
    for (char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (dot > name && digits && dot[1 + digits] == '.') {
            *dot = '\0';
            return true;
        }
    }
    return false;
}

// The program that a file is of, or else the name of the file; freed by the caller.
static char *title_of_input(const profile *p, const char *path) {
    char *name = base_name(strcmp(path, "-") == 0 ? "standard input" : path);
    bool live = p->format && strcmp(p->format, "ouro") == 0;
    if ((live && cut_at_pid(name)) || !p->title) return name;
    free(name);
    return base_name(p->title);
}

// What all inputs agree on. Takes both titles, `sum` is NULL at first.
static char *common_title(char *sum, char *next) {
    if (sum && strcmp(sum, next) != 0) {
        free(next);
        next = base_name("merged");
    }
    free(sum);
    return next;
}

// ---------------------------------------------------------------- the command

int cmd_merge(int argc, char **argv) {
    options o;
    error e = {0};
    char *title = NULL;
    options_parse(&o, argc, argv, "merge", allowed);
    use_live_files(&o, o.inputs.count);
    if (o.inputs.count == 0) fail_usage("merge", "expected at least one file");
    if (!o.out) fail_usage("merge", "expected -o OUT");
    const format *to = output_format(&o, o.out);
    o.keep_labels = strcmp(to->name, "html") == 0; // the page filters by them
    // Each profile is compacted as it is read, as its format asks; the sum only if it is asked for.
    merger *m = ouro__merger_new(o.rule == RULE_DEFAULT ? RULE_AS_IT_IS : o.rule, o.edge_length);
    if (!m) fail_memory();
    for (size_t i = 0; i < o.inputs.count; i++) {
        profile *p = load_profile(&o, o.inputs.items[i], false);
        if (!ouro__merger_add(m, p, &e)) fail_with(o.inputs.items[i], &e);
        title = common_title(title, title_of_input(p, o.inputs.items[i]));
        ouro__profile_free(p);
        show_merging(i + 1, o.inputs.count);
    }
    progress_end();
    if (ouro__merger_lost_slices(m))
        fputs("ouro merge: slices are kept only of files whose metrics are those of the first, in "
              "the "
              "same order\n",
              stderr);
    profile *sum = ouro__merger_end(m, &e);
    if (!sum) fail_with(o.out, &e);
    sum = apply_shrinking(&o, o.out, sum);
    write_output(&o, sum, title, NULL, o.out, to);
    free(title);
    ouro__profile_free(sum);
    options_free(&o);
    return EXIT_GOOD;
}

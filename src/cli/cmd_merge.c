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

int cmd_merge(int argc, char **argv) {
    options o;
    error e = {0};
    options_parse(&o, argc, argv, "merge", allowed);
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
    write_output(&o, sum, "merged", NULL, o.out, to);
    ouro__profile_free(sum);
    options_free(&o);
    return EXIT_GOOD;
}

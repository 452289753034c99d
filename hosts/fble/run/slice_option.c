// SPDX-License-Identifier: MIT
//
// --slice BLOCK: the calls of a function are slices of the profile. A name that no block has is an
// error before the program runs, and the names that have it as a part are told.

#include "printable.h"
#include "profile.h"

#include <string.h>

enum { SUGGESTED = 5 };

// What one slice is called: the last part of the block's name.
static const char *last_part(const char *name) {
    const char *last = strrchr(name, '.');
    return last && last[1] ? last + 1 : name;
}

static int slow_by(const struct fble_runner *r, ouro_options *options) {
    const char *by = r->options->slice_by;
    if (!by || !strcmp(by, "duration")) return FBLE_FINE;
    for (uint32_t i = 0; i < options->metric_count; i++) {
        options->slices.by = i + 1;
        if (!strcmp(options->metrics[i].name, by)) return FBLE_FINE;
    }
    ouro__say("fble %s: --slice-by %s: expected duration or a metric of --profile-metrics",
              r->command, by);
    return FBLE_USAGE;
}

int fble_slice_option(const struct fble_runner *r, ouro_options *options,
                      fble_machine_options *machine) {
    const struct fble_run_options *run = r->options;
    if (!run->slice) return slow_by(r, options);
    if (!run->profile && !run->live) {
        ouro__say("fble %s: --slice needs a profile: --profile FILE or --profile-live FILE",
                  r->command);
        return FBLE_USAGE;
    }
    machine->slice = run->slice;
    options->slices.name = last_part(run->slice);
    return slow_by(r, options);
}

static const char *suggestions(const struct fble_runner *r, const struct fble_list *names) {
    const char *text = "", *before = "", *part = last_part(r->options->slice);
    int count = 0;
    for (uint32_t i = 0; i < names->count && count < SUGGESTED; i++) {
        const char *name = names->at[i];
        if (!strcasestr(name, part) || !strcmp(name, before)) continue;
        text = fble_format(r->arena, "%s%s%s", text, count++ ? ", " : "", name);
        before = name;
    }
    return text;
}

int fble_slice_check(const struct fble_runner *r, const struct fble_list *names) {
    for (uint32_t i = 0; i < names->count; i++)
        if (!strcmp(names->at[i], r->options->slice)) return FBLE_FINE;
    const char *near = suggestions(r, names);
    if (*near)
        ouro__say("fble %s: --slice: no block is called %s; there are %s", r->command,
                  r->options->slice, near);
    else
        ouro__say("fble %s: --slice: no block is called %s; ouro report shows the names of a "
                  "profile, such as %s",
                  r->command, r->options->slice, (const char *)names->at[names->count - 1]);
    return FBLE_USAGE;
}

// SPDX-License-Identifier: MIT
//
// ouro store: what is in a store, and forgetting what is old.

#include "cli.h"

#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const allowed[] = {"keep", "json", "top", "strict", "limit", NULL};

enum { VALUES_SHOWN = 10, TIME_ROOM = 32 };

static void format_time(char text[static TIME_ROOM], uint64_t milliseconds) {
    time_t seconds = (time_t)(milliseconds / 1000);
    struct tm when;
    if (!gmtime_r(&seconds, &when) || !strftime(text, TIME_ROOM, "%Y-%m-%dT%H:%M:%SZ", &when))
        strcpy(text, "?");
}

// ---------------------------------------------------------------- text

static void put_count(output *out, const char *name, uint64_t count) {
    char number[GROUPED_ROOM];
    put_line(out, "%-12s %s", name, ouro__grouped(number, count));
}

static void put_times(output *out, const store_summary *s) {
    char from[TIME_ROOM], until[TIME_ROOM];
    if (!s->until) return;
    format_time(from, s->from);
    format_time(until, s->until);
    put_line(out, "%-12s %s to %s", "time", from, until);
}

// The values of a label from row i on; returns where the next label begins.
static size_t put_label(const options *o, output *out, const store_summary *s, size_t i) {
    size_t shown = 0, most = o->top >= 0 ? (size_t)o->top : VALUES_SHOWN, end = i;
    while (end < s->label_count && strcmp(s->labels[end].name, s->labels[i].name) == 0) end++;
    put_heading(o, out, "%s", s->labels[i].name);
    for (; i < end && shown < most; i++, shown++) {
        char number[GROUPED_ROOM];
        ouro__grouped(number, s->labels[i].slices);
        put_line(out, "  %s  (%s slice%s)", s->labels[i].value, number,
                 s->labels[i].slices == 1 ? "" : "s");
    }
    if (i < end) put_line(out, "  and %zu more; --top N shows more", end - i);
    return end;
}

static void put_text(const options *o, const store_summary *s, output *out) {
    put_count(out, "recordings", s->recordings);
    put_count(out, "slices", s->slices);
    put_count(out, "rows", s->rows);
    put_count(out, "paths", s->paths);
    put_count(out, "blocks", s->blocks);
    put_count(out, "bytes", s->bytes);
    put_times(out, s);
    for (size_t i = 0; i < s->label_count;) i = put_label(o, out, s, i);
    if (s->label_values > s->label_count)
        put_line(out, "%llu values of labels in all; the first %d of each label are listed",
                 (unsigned long long)s->label_values, LABELS_LISTED);
}

// ---------------------------------------------------------------- JSON

static void json_time(json_writer *w, const char *name, uint64_t time) {
    char text[TIME_ROOM];
    if (time) format_time(text, time);
    ouro__write_text(w, name, time ? text : NULL);
}

static void put_json(const store_summary *s, output *out) {
    json_writer w = {.out = out, .spread = true};
    ouro__write_object(&w, NULL);
    ouro__write_integer(&w, "recordings", (int64_t)s->recordings);
    ouro__write_integer(&w, "slices", (int64_t)s->slices);
    ouro__write_integer(&w, "rows", (int64_t)s->rows);
    ouro__write_integer(&w, "paths", (int64_t)s->paths);
    ouro__write_integer(&w, "blocks", (int64_t)s->blocks);
    ouro__write_integer(&w, "bytes", (int64_t)s->bytes);
    if (s->missing) ouro__write_text(&w, "missing", s->missing);
    json_time(&w, "from", s->from);
    json_time(&w, "until", s->until);
    ouro__write_integer(&w, "label_values", (int64_t)s->label_values);
    ouro__write_rows(&w, "labels");
    for (size_t i = 0; i < s->label_count; i++) {
        ouro__write_object(&w, NULL);
        ouro__write_text(&w, "name", s->labels[i].name);
        ouro__write_text(&w, "value", s->labels[i].value);
        ouro__write_integer(&w, "slices", (int64_t)s->labels[i].slices);
        ouro__write_end(&w);
    }
    json_foot(&w);
}

// ---------------------------------------------------------------- the command

static void forget_old(const options *o, store *s, const char *url) {
    struct timespec now;
    error e = {0};
    uint64_t slices;
    char number[GROUPED_ROOM];
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t milliseconds = (uint64_t)now.tv_sec * 1000;
    uint64_t since = milliseconds > o->keep ? milliseconds - o->keep : 0;
    if (!ouro__store_keep(s, since, &slices, &e)) fail_with(url, &e);
    fprintf(stderr, "ouro store: %s slices forgotten\n", ouro__grouped(number, slices));
}

int cmd_store(int argc, char **argv) {
    options o;
    error e = {0};
    store_summary summary;
    options_parse(&o, argc, argv, "store", allowed);
    if (o.inputs.count != 1) fail_usage("store", "expected one store, found %zu", o.inputs.count);
    const char *url = o.inputs.items[0];
    store *s = ouro__store_open(url, false, &e);
    if (!s) fail_with(url, &e);
    ouro__store_limit(s, o.limit);
    if (o.keep) forget_old(&o, s, url);
    if (!ouro__store_summary(s, o.strict, &summary, &e)) fail_with(url, &e);
    if (summary.missing) ouro__say("ouro: only a part of the store: %s", summary.missing);
    output *out = stdout_open();
    if (o.as == AS_JSON)
        put_json(&summary, out);
    else
        put_text(&o, &summary, out);
    stdout_close(out);
    ouro__store_summary_free(&summary);
    ouro__store_close(s);
    options_free(&o);
    return EXIT_GOOD;
}

// SPDX-License-Identifier: MIT
//
// The table of formats. Order matters for probing only: formats with a magic number come before
// those that are guessed from the shape of their text. A file of its own, because the module inside
// a shared page (src/page) has another table: it only writes.

#include "readers.h"

const format ouro__formats[] = {
    {"ouro", "", "live profile of a running, finished or killed program", ouro__live_probe,
     ouro__live_profile_read, NULL, false, false},
    {"pstats", "", ".prof of Python's cProfile: callers only, no paths", ouro__pstats_probe,
     ouro__pstats_read, NULL, false, false},
    {"pprof", ".pb .pprof .prof ", "pprof's profile.proto, raw or gzip", ouro__pprof_probe,
     ouro__pprof_read, ouro__pprof_write, false, true},
    {"speedscope", ".speedscope.json ", "speedscope JSON", ouro__speedscope_probe,
     ouro__speedscope_read, ouro__speedscope_write, false, false},
    {"cpuprofile", "", "Chrome and V8 .cpuprofile", ouro__cpuprofile_probe, ouro__cpuprofile_read,
     NULL, false, false},
    {"perf", "", "text of perf script", ouro__perf_probe, ouro__perf_read, NULL, false, true},
    {"folded", ".folded .txt .collapsed ", "folded stacks, one line per path", ouro__folded_probe,
     ouro__folded_read, ouro__folded_write, false, true},
    {"callgrind", ".callgrind callgrind.out callgrind.out. ",
     "for KCachegrind and callgrind_annotate", NULL, NULL, ouro__callgrind_write, true, false},
    {"html", ".html .htm ", "the viewer with the profile inside, one file for any browser", NULL,
     NULL, ouro__html_write, false, false},
    {"report", "", "tables and a flame graph, one HTML file without a script", NULL, NULL,
     ouro__report_write, true, false},
    {"svg", ".svg ", "flame graph", NULL, NULL, ouro__svg_write, true, false},
    {"json", ".json ", "the columns as JSON, for programs", NULL, NULL, ouro__json_write, true,
     false},
};
const size_t ouro__format_count = sizeof ouro__formats / sizeof *ouro__formats;

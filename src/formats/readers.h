// SPDX-License-Identifier: MIT
//
// The functions of the formats' table. One reader and one writer per file.

#ifndef OURO_READERS_H
#define OURO_READERS_H

#include "format.h"

bool ouro__live_probe(const unsigned char *bytes, size_t size);
bool ouro__pprof_probe(const unsigned char *bytes, size_t size);
bool ouro__pstats_probe(const unsigned char *bytes, size_t size);
bool ouro__speedscope_probe(const unsigned char *bytes, size_t size);
bool ouro__cpuprofile_probe(const unsigned char *bytes, size_t size);
bool ouro__perf_probe(const unsigned char *bytes, size_t size);
bool ouro__folded_probe(const unsigned char *bytes, size_t size);

profile *ouro__live_profile_read(input *in, const read_options *options, error *e);
profile *ouro__pprof_read(input *in, const read_options *options, error *e);
profile *ouro__pstats_read(input *in, const read_options *options, error *e);
profile *ouro__speedscope_read(input *in, const read_options *options, error *e);
profile *ouro__cpuprofile_read(input *in, const read_options *options, error *e);
profile *ouro__perf_read(input *in, const read_options *options, error *e);
profile *ouro__folded_read(input *in, const read_options *options, error *e);

bool ouro__pprof_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__speedscope_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__folded_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__callgrind_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__report_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__html_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__svg_write(const profile *p, const write_options *options, output *out, error *e);
bool ouro__json_write(const profile *p, const write_options *options, output *out, error *e);

#endif

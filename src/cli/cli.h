// SPDX-License-Identifier: MIT
//
// What the commands share: options, loading, and text for people. Only this folder prints
// and exits.

#ifndef OURO_CLI_H
#define OURO_CLI_H

#include "amount.h"
#include "format.h"
#include "json_writer.h"
#include "questions.h"
#include "store.h"

#include <signal.h>
#include <stdio.h>

// The exit statuses, as the manual has them.
enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_ABOVE = 3 };

typedef enum { AS_TEXT, AS_JSON, AS_CSV } rendering;

// What --self and the like ask for.
typedef enum {
    SHOW_SUMMARY,
    SHOW_SELF,
    SHOW_OVERALL,
    SHOW_SEQUENCES,
    SHOW_TREE,
    SHOW_BLOCK,
    SHOW_KNOTS,
    SHOW_SLICES
} showing;

typedef struct {
    const char **items;
    size_t count;
} names;

typedef struct {
    const char *command;
    names inputs;
    names live; // what stands for inputs that were not written
    names select, exclude, fold, block;
    names select_match, exclude_match, fold_match; // regular expressions
    names label;                                   // KEY=VALUE or KEY!=VALUE
    showing show;
    rendering as;
    const char *metric; // NULL: the profile's own choice
    const char *from, *to, *out;
    int rule, edge_length; // RULE_DEFAULT: not asked
    uint64_t limit;        // bytes; 0: not asked
    long top;              // -1: not asked
    int64_t period;        // 0: not asked
    double min;            // percent; below 0: not asked
    double fail_above;     // percent; below 0: not asked
    const char *colour;    // auto, always, never
    const char *host;      // NULL: not asked
    unsigned port;         // 0: any
    names source;          // folders
    const char *store;     // where profiles of many recordings are; NULL: not asked
    const char *where;     // which of them; NULL: all
    const char *with;      // diff: which of them to compare with
    size_t choices;        // so many of the inputs are choices from the store
    const char *service, *build, *root;
    const char *listen, *token_file;
    char *token;      // in the command line, to be overwritten
    uint64_t keep;    // milliseconds; 0: not asked
    uint64_t every;   // the same
    uint32_t paths;   // most paths of an answer
    bool strict;      // all of a store, or nothing
    names extensions; // of sources
    names maps;       // of sources: FROM=TO
    bool no_open, no_secret;
    bool follow, once;
    bool keep_labels; // of samples, even if --label is not given
    bool help, version;
} options;

// Exits with a message if the arguments are wrong. `allowed` lists the long options of the command.
void options_parse(options *o, int argc, char **argv, const char *command,
                   const char *const *allowed);
void options_free(options *o);
void add_name(names *n, const char *item);

bool has_filters(const options *o);

// A profile with the filters applied.
typedef struct {
    const char *path;
    profile *profile; // what is left
    uint32_t metric;
    int64_t total; // before the filters
    char *missing; // which part of a store did not answer; NULL: none
    bool filtered;
    bool no_space; // the live file could not grow
} loaded;

// Exits with a message if it cannot be loaded.
loaded load(const options *o, const char *path);
// The same of a profile that must not be empty.
loaded load_some(const options *o, const char *path);
void loaded_free(loaded *l);
// What was read, in words: the file, the choice from a store.
const char *title_of(const loaded *l);
// For commands that take --store where they take a file: what was chosen is an input like a file,
// by the text of the choice.
void use_store(options *o);
// Exits with a message if a choice from a store is empty. A file may be.
void need_something(const options *o, const char *where, const profile *p);
// Reads only: a file, or with --store what was chosen.
// A recording that was not written to its file is read from the live file beside it: for the first
// `count` inputs.
void use_live_files(options *o, size_t count);

profile *load_profile(const options *o, const char *path, bool keep_origin);
// Any file, also perf.data: perf_data.c.
profile *read_profile(const char *path, const format *from, const read_options *how, error *e);
// On stderr, if it is a terminal and the command takes long.
void show_merging(size_t done, size_t of);
void show_writing(void *user, uint64_t bytes);
void progress_end(void);
// Compaction, filters, period and min, in this order. Takes the profile and gives another back.
profile *apply_filters(const options *o, const char *path, profile *p);
profile *apply_shrinking(const options *o, const char *path, profile *p);
const format *format_option(const char *name);
// One after the other, with commas; freed by the caller.
char *metric_names(const profile *p);
uint32_t metric_option(const profile *p, const char *path, const char *name);

// The format to write: --to, or by the extension. Exits if there is none.
const format *output_format(const options *o, const char *path);
// `part`: what filters took the profile from; NULL: nothing.
void write_output(const options *o, const profile *p, const char *title, const part_info *part,
                  const char *path, const format *to);

// Message on stderr: `ouro: PATH: message`, and the exit.
void fail_with(const char *path, const error *e) __attribute__((noreturn));
void fail_usage(const char *command, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
void fail_memory(void) __attribute__((noreturn));

// ---------------------------------------------------------------- text

// Columns that the terminal needs.
size_t text_width(const char *text);
void format_percent(char text[static AMOUNT_ROOM], int64_t part, int64_t whole);

// Rows of cells, printed with their columns aligned, the last one to the left and the others to
// the right.
typedef struct table table;
table *table_new(const options *o, output *out);
void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Amount and percent; with filters, percent of the whole and of what is left.
void amount_cells(table *t, const loaded *l, int64_t value, int64_t left);
// A bar that is `share` (0 to 1) long; only on a terminal.
void table_bar(table *t, double share);
void table_row_end(table *t);
void table_heading_end(table *t);
// Prints and frees.
void table_end(table *t);

bool colours_wanted(const options *o);
// A line. Names in it may hold anything: what a terminal would obey is replaced.
void put_line(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The same in bold, if colours are wanted.
void put_heading(const options *o, output *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

output *stdout_open(void);
void stdout_close(output *out);

// A long name of C++ without its template arguments, then without its parameters; freed by the
// caller. A file from the working folder on.
char *short_name(const char *name);
const char *short_place(const char *file);

// How many samples a time rests on: false if the profile does not say. Then a cell for each row,
// and a line with what recording took, if that is known.
bool evidence_of(const loaded *l, totals *t);
void evidence_cell(table *text, int64_t samples);
void put_recording(const loaded *l, output *out);

// ---------------------------------------------------------------- tables for programs

// A row of the pinned shape: name, file, line, column, self, overall, calls; what it does not have
// is null.
typedef struct {
    uint32_t block;
    int64_t self, overall, calls;
    bool has_self, has_overall;
} block_row;

// Opens the object of a report: its metric and its totals.
json_writer json_head(output *out, const loaded *l);
// Ends everything that is open, and the line.
void json_foot(json_writer *w);
void json_row(json_writer *w, const loaded *l, const block_row *row);
// Open, for further members.
void json_row_open(json_writer *w, const loaded *l, const block_row *row);
// Members: metric and unit; name, file, line and column; a value with its decimals.
void json_metric(json_writer *w, const loaded *l);
void json_block(json_writer *w, const profile *p, uint32_t block);
void json_calls(json_writer *w, int64_t calls); // NOT_COUNTED: null
void csv_calls(output *out, int64_t calls);     // NOT_COUNTED: nothing
void json_amount(json_writer *w, const char *name, int64_t value, uint32_t decimals);
void csv_head(output *out, const char *more);
void csv_row(output *out, const loaded *l, const block_row *row, const char *more);

// ---------------------------------------------------------------- commands

int cmd_view(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_push(int argc, char **argv);
// What asks a command that runs on to end.
sigset_t ending_signals(void);

// Sends live files again and again, until a signal comes. Gives the exit status.
int follow_files(const options *o, const label_set *labels);
int cmd_store(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_help(int argc, char **argv);
// Runs the program of a language host: lua, python, run, cc or c++.
int cmd_host(int argc, char **argv);
bool is_host(const char *command);
// The help of a command, or of ouro itself if command is NULL.
void print_help(const char *command);
void print_version(void);

// Bytes that may not stand in an address become %XX.
void put_encoded(FILE *to, const char *text);
// Starts the browser, if there is one. `secret`: other users must not see the address.
void browser_open(const char *address, bool secret);
// Removes what was needed for that.
void browser_end(void);

// Parts of the report.
void report_block(const options *o, const loaded *l, output *out);
void report_knots(const options *o, const loaded *l, output *out, uint32_t top);
void report_slices(const options *o, const loaded *l, output *out, uint32_t top);
void knots_brief(const options *o, const loaded *l, const knots *k, uint32_t top, output *out);

#endif

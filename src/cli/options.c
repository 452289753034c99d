// SPDX-License-Identifier: MIT
//
// The command line: one table of options for all commands, of which each command allows some.
// Options and files may come in any order; `--` ends the options; `-` is a file.

#include "ouro.h"

#include "cli.h"
#include "printable.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    O_SELF = 256,
    O_OVERALL,
    O_SEQUENCES,
    O_TREE,
    O_BLOCK,
    O_KNOTS,
    O_SLICES,
    O_METRIC,
    O_SELECT,
    O_EXCLUDE,
    O_FOLD,
    O_SELECT_MATCH,
    O_EXCLUDE_MATCH,
    O_FOLD_MATCH,
    O_LABEL,
    O_TOP,
    O_JSON,
    O_CSV,
    O_FROM,
    O_TO,
    O_COMPACT,
    O_LIMIT,
    O_PERIOD,
    O_MIN,
    O_FAIL_ABOVE,
    O_COLOUR,
    O_HOST,
    O_PORT,
    O_SOURCE,
    O_SOURCE_EXTENSION,
    O_SOURCE_MAP,
    O_STORE,
    O_WHERE,
    O_WITH,
    O_PATHS,
    O_SERVICE,
    O_BUILD,
    O_ROOT,
    O_KEEP,
    O_EVERY,
    O_FOLLOW,
    O_ONCE,
    O_LISTEN,
    O_TOKEN,
    O_TOKEN_FILE,
    O_NO_OPEN,
    O_NO_SECRET,
    O_STRICT,
    O_VERSION
};

static const struct option table_of_options[] = {
    {"self", no_argument, NULL, O_SELF},
    {"overall", no_argument, NULL, O_OVERALL},
    {"sequences", no_argument, NULL, O_SEQUENCES},
    {"tree", no_argument, NULL, O_TREE},
    {"block", required_argument, NULL, O_BLOCK},
    {"knots", no_argument, NULL, O_KNOTS},
    {"slices", no_argument, NULL, O_SLICES},
    {"metric", required_argument, NULL, O_METRIC},
    {"select", required_argument, NULL, O_SELECT},
    {"exclude", required_argument, NULL, O_EXCLUDE},
    {"fold", required_argument, NULL, O_FOLD},
    {"select-match", required_argument, NULL, O_SELECT_MATCH},
    {"exclude-match", required_argument, NULL, O_EXCLUDE_MATCH},
    {"fold-match", required_argument, NULL, O_FOLD_MATCH},
    {"label", required_argument, NULL, O_LABEL},
    {"top", required_argument, NULL, O_TOP},
    {"json", no_argument, NULL, O_JSON},
    {"csv", no_argument, NULL, O_CSV},
    {"from", required_argument, NULL, O_FROM},
    {"to", required_argument, NULL, O_TO},
    {"compact", required_argument, NULL, O_COMPACT},
    {"limit", required_argument, NULL, O_LIMIT},
    {"period", required_argument, NULL, O_PERIOD},
    {"min", required_argument, NULL, O_MIN},
    {"fail-above", required_argument, NULL, O_FAIL_ABOVE},
    {"colour", required_argument, NULL, O_COLOUR},
    {"host", required_argument, NULL, O_HOST},
    {"port", required_argument, NULL, O_PORT},
    {"source", required_argument, NULL, O_SOURCE},
    {"source-extension", required_argument, NULL, O_SOURCE_EXTENSION},
    {"source-map", required_argument, NULL, O_SOURCE_MAP},
    {"store", required_argument, NULL, O_STORE},
    {"where", required_argument, NULL, O_WHERE},
    {"with", required_argument, NULL, O_WITH},
    {"paths", required_argument, NULL, O_PATHS},
    {"service", required_argument, NULL, O_SERVICE},
    {"build", required_argument, NULL, O_BUILD},
    {"root", required_argument, NULL, O_ROOT},
    {"keep", required_argument, NULL, O_KEEP},
    {"every", required_argument, NULL, O_EVERY},
    {"follow", no_argument, NULL, O_FOLLOW},
    {"once", no_argument, NULL, O_ONCE},
    {"listen", required_argument, NULL, O_LISTEN},
    {"token", required_argument, NULL, O_TOKEN},
    {"token-file", required_argument, NULL, O_TOKEN_FILE},
    {"no-open", no_argument, NULL, O_NO_OPEN},
    {"no-secret", no_argument, NULL, O_NO_SECRET},
    {"strict", no_argument, NULL, O_STRICT},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, O_VERSION},
    {0},
};

void fail_usage(const char *command, const char *pattern, ...) {
    char *text = NULL;
    const char *space = command ? " " : "", *name = command ? command : "";
    va_list arguments;
    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0) fail_memory();
    va_end(arguments);
    ouro__say("ouro%s%s: %s", space, name, text);
    fprintf(stderr, "`ouro help%s%s` shows how it is used.\n", space, name);
    exit(EXIT_USAGE);
}

void add_name(names *n, const char *item) {
    const char **items = realloc(n->items, (n->count + 1) * sizeof *items);
    if (!items) fail_memory();
    n->items = items;
    n->items[n->count++] = item;
}

// ---------------------------------------------------------------- values

static double parse_percent(const options *o, const char *option, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end > text && *end == '%') end++;
    if (end == text || *end || !(value >= 0 && value <= 1e9))
        fail_usage(o->command, "%s %s: expected a percentage", option, text);
    return value;
}

static int64_t parse_count(const options *o, const char *option, const char *text, int64_t least) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < least)
        fail_usage(o->command, "%s %s: expected a whole number from %lld on", option, text,
                   (long long)least);
    return value;
}

// A number of bytes, with K, M, G or T behind it for the powers of 1024.
static uint64_t parse_size(const options *o, const char *option, const char *text) {
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    bool good = *text >= '0' && *text <= '9' && !errno && value && value <= UINT64_MAX >> shift;
    if (!good || (*end && (!unit || end[1])))
        fail_usage(o->command, "%s %s: expected a size such as 500M or 4G", option, text);
    return (uint64_t)value << shift;
}

// 12h, 30d or 8w, in milliseconds.
static uint64_t parse_age(const options *o, const char *option, const char *text) {
    static const char units[] = "mhdw";
    static const uint64_t minutes[] = {1, 60, 1440, 10080};
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (*text < '0' || *text > '9' || !unit || end[1] || !value || value > 1000000)
        fail_usage(o->command, "%s %s: expected an age such as 12h, 30d or 8w", option, text);
    return value * minutes[unit - units] * 60000;
}

// 500ms, 10s, 5m or 1h, in milliseconds; at least 10ms, at most a day.
static uint64_t parse_pause(const options *o, const char *option, const char *text) {
    static const struct {
        const char *name;
        uint64_t milliseconds;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    char *end;
    unsigned long value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    for (size_t i = 0; value && value <= 86400000 && i < sizeof units / sizeof *units; i++) {
        uint64_t pause = value * units[i].milliseconds;
        if (strcmp(end, units[i].name) == 0 && pause >= 10 && pause <= 86400000) return pause;
    }
    fail_usage(o->command, "%s %s: expected a time such as 500ms, 10s or 5m, from 10ms to 24h",
               option, text);
}

static unsigned parse_port(const options *o, const char *text) {
    int64_t port = parse_count(o, "--port", text, 0);
    if (port > 65535) fail_usage(o->command, "--port %s: ports end at 65535", text);
    return (unsigned)port;
}

// loops, cycles, edges, edges:1 to edges:3, none
static void parse_rule(options *o, const char *text) {
    ouro_options rule;
    if (ouro_compaction_from_name(text, &rule) != 0)
        fail_usage(o->command,
                   "--compact %s: expected loops, cycles, edges, edges:1, edges:2, edges:3 or none",
                   text);
    o->rule = rule.compaction; // the numbers of the rules are those of ouro.h
    o->edge_length = rule.edge_length;
}

static void parse_colour(options *o, const char *text) {
    if (strcmp(text, "auto") != 0 && strcmp(text, "always") != 0 && strcmp(text, "never") != 0)
        fail_usage(o->command, "--colour %s: expected auto, always or never", text);
    o->colour = text;
}

// The options of filters and their lists are in the same order.
static void take_filter(options *o, int option, const char *value) {
    names *lists[] = {&o->select,        &o->exclude,    &o->fold, &o->select_match,
                      &o->exclude_match, &o->fold_match, &o->label};
    add_name(lists[option - O_SELECT], value);
}

static void take_value(options *o, int option, char *value) {
    switch (option) {
    case O_METRIC:
        o->metric = value;
        break;
    case O_TOP:
        o->top = (long)parse_count(o, "--top", value, 0);
        if (o->top > UINT32_MAX) o->top = UINT32_MAX;
        break;
    case O_FROM:
        o->from = value;
        break;
    case O_TO:
        o->to = value;
        break;
    case O_COMPACT:
        parse_rule(o, value);
        break;
    case O_LIMIT:
        o->limit = parse_size(o, "--limit", value);
        break;
    case O_PERIOD:
        o->period = parse_count(o, "--period", value, 1);
        break;
    case O_MIN:
        o->min = parse_percent(o, "--min", value);
        break;
    case O_FAIL_ABOVE:
        o->fail_above = parse_percent(o, "--fail-above", value);
        break;
    case O_COLOUR:
        parse_colour(o, value);
        break;
    case O_HOST:
        o->host = value;
        break;
    case O_PORT:
        o->port = parse_port(o, value);
        break;
    case O_SOURCE:
        add_name(&o->source, value);
        break;
    case O_STORE:
        o->store = value;
        break;
    case O_WHERE:
        o->where = value;
        break;
    case O_WITH:
        o->with = value;
        break;
    case O_PATHS:
        o->paths = (uint32_t)parse_count(o, "--paths", value, 1);
        break;
    case O_SERVICE:
        o->service = value;
        break;
    case O_BUILD:
        o->build = value;
        break;
    case O_ROOT:
        o->root = value;
        break;
    case O_KEEP:
        o->keep = parse_age(o, "--keep", value);
        break;
    case O_EVERY:
        o->every = parse_pause(o, "--every", value);
        break;
    case O_LISTEN:
        o->listen = value;
        break;
    case O_TOKEN:
        o->token = value;
        break;
    case O_TOKEN_FILE:
        o->token_file = value;
        break;
    case O_SOURCE_MAP:
        add_name(&o->maps, value);
        break;
    case O_SOURCE_EXTENSION:
        add_name(&o->extensions, value);
        break;
    default:
        o->out = value;
    }
}

static void take_show(options *o, int option, const char *value) {
    showing show = (showing)(option - O_SELF + SHOW_SELF);
    if (o->show != SHOW_SUMMARY && o->show != show)
        fail_usage(
            o->command,
            "one of --self, --overall, --sequences, --tree, --block, --knots and --slices at "
            "a time");
    o->show = show;
    if (option == O_BLOCK) add_name(&o->block, value);
}

static void take(options *o, int option, char *value) {
    if (option >= O_SELF && option <= O_SLICES) {
        take_show(o, option, value);
    } else if (option >= O_SELECT && option <= O_LABEL) {
        take_filter(o, option, value);
    } else if (option == O_JSON || option == O_CSV) {
        o->as = option == O_JSON ? AS_JSON : AS_CSV;
    } else if (option == O_NO_OPEN) {
        o->no_open = true;
    } else if (option == O_FOLLOW) {
        o->follow = true;
    } else if (option == O_ONCE) {
        o->once = true;
    } else if (option == O_NO_SECRET) {
        o->no_secret = true;
    } else if (option == O_STRICT) {
        o->strict = true;
    } else if (option == 'h') {
        o->help = true;
    } else if (option == O_VERSION) {
        o->version = true;
    } else {
        take_value(o, option, value);
    }
}

// ---------------------------------------------------------------- parsing

static bool is_allowed(const char *const *allowed, const char *name) {
    for (; *allowed; allowed++) {
        if (strcmp(*allowed, name) == 0) return true;
    }
    return strcmp(name, "help") == 0 || strcmp(name, "version") == 0;
}

// The command's part of the table, so that abbreviations are unique among what it knows.
static struct option *options_of(const char *const *allowed) {
    size_t count = sizeof table_of_options / sizeof *table_of_options, used = 0;
    struct option *list = calloc(count, sizeof *list);
    if (!list) fail_memory();
    for (size_t i = 0; i + 1 < count; i++) {
        if (is_allowed(allowed, table_of_options[i].name)) list[used++] = table_of_options[i];
    }
    return list;
}

void options_parse(options *o, int argc, char **argv, const char *command,
                   const char *const *allowed) {
    *o = (options){.command = command,
                   .rule = RULE_DEFAULT,
                   .top = -1,
                   .min = -1,
                   .fail_above = -1,
                   .colour = "auto"};
    struct option *list = options_of(allowed);
    const char *letters = is_allowed(allowed, "output") ? ":ho:" : ":h";
    opterr = 0;
    optind = 1;
    for (int found; (found = getopt_long(argc, argv, letters, list, NULL)) != -1;) {
        const char *given = argv[optind - 1];
        if (found == ':') fail_usage(command, "%s needs a value", given);
        if (found == '?') fail_usage(command, "there is no option %s here", given);
        take(o, found, optarg);
    }
    for (int i = optind; i < argc; i++) add_name(&o->inputs, argv[i]);
    free(list);
    if (o->help) print_help(command);
    if (o->version && !o->help) print_version();
    if (o->help || o->version) exit(EXIT_GOOD);
}

void print_version(void) { puts("ouro " OURO_VERSION); }

void options_free(options *o) {
    free(o->inputs.items);
    for (size_t i = 0; i < o->live.count; i++) free((char *)o->live.items[i]);
    free(o->live.items);
    free(o->select.items);
    free(o->exclude.items);
    free(o->fold.items);
    free(o->select_match.items);
    free(o->exclude_match.items);
    free(o->fold_match.items);
    free(o->label.items);
    free(o->block.items);
    free(o->source.items);
    free(o->extensions.items);
    free(o->maps.items);
}

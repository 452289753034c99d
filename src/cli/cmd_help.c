// SPDX-License-Identifier: MIT
//
// ouro help: how each command is used, with examples. The manual pages in docs/man say the same at
// more length.

#include "cli.h"

#include <stdio.h>
#include <string.h>

#define FILTERS                                                                                 \
    "  --select NAME      keep the paths that contain the block; again: contain all of them\n"  \
    "  --exclude NAME     drop the paths that contain it\n"                                     \
    "  --fold NAME        take the block out of its paths; what it was charged goes to its "    \
    "caller\n"                                                                                  \
    "                     A name that several blocks have is told apart by NAME@FILE:LINE.\n"   \
    "  --select-match RE, --exclude-match RE, --fold-match RE\n"                                \
    "                     the same for all blocks whose name or file matches the regular "      \
    "expression\n"                                                                              \
    "  --label KEY=VALUE  keep the samples with this label (thread, host: what the file has); " \
    "KEY!=VALUE\n"                                                                              \
    "                     drops them, KEY= are those without it. Several values of a key: any " \
    "of them\n"
#define READING                                                                                   \
    "  --from FORMAT      what the input is, if its content does not tell\n"                      \
    "  --compact RULE     loops, cycles, edges, edges:1 to edges:3, or none. Raw stacks are "     \
    "compacted\n"                                                                                 \
    "                     by loops unless asked otherwise; aggregated profiles are kept as they " \
    "are\n"                                                                                       \
    "  --limit SIZE       let the input take so much memory, and what is written have so many "   \
    "bytes,\n"                                                                                    \
    "                     such as 4G. Without it: 256M, and 128 for each byte of the input\n"

#define CHOOSING                                                                                 \
    "  --store FILE.db    instead of a file: the sum of what is in a store (`ouro help push`)\n" \
    "  --where CHOICE     of these labels and times only: 'service=web build=7,8 host=a* "       \
    "since=2h'\n"                                                                                \
    "  --paths N          at most so many paths; what the smallest have is in [pruned] "         \
    "(100,000)\n"                                                                                \
    "  --strict           fail if a part of the store does not answer; else it is said\n"

static const char general[] =
    "ouro: profiles with recursion, compacted\n"
    "\n"
    "  ouro view FILE...           a profile, or two compared, in the "
    "browser\n"
    "  ouro report FILE            what a profile says, as tables\n"
    "  ouro diff BEFORE AFTER      what got slower and faster\n"
    "  ouro convert IN OUT         from one format to another\n"
    "  ouro merge IN... -o OUT     the sum of profiles\n"
    "  ouro push --store S FILE... profiles of many machines into a store\n"
    "  ouro store S                what is in a store\n"
    "  ouro serve --store S        what profiling agents send into a store\n"
    "  ouro lua SCRIPT [args]      profile a Lua program; also lua5.1, 5.3, 5.5, luajit\n"
    "  ouro python SCRIPT [args]   run and profile a Python program\n"
    "  ouro run PROGRAM ...        profile any native program, or a process (--pid)\n"
    "  ouro record on|off PID      switch that while it runs\n"
    "  ouro cc, ouro c++ ...       compile one that can be profiled\n"
    "  ouro help [COMMAND]         this text, or how a command is used\n"
    "  ouro --version              also of each command\n"
    "\n"
    "FILE may be `-` for standard input. Formats are found by content:\n"
    "\n";

static const char general_examples[] = "\nExamples:\n"
                                       "  ouro view program.pb.gz\n"
                                       "  perf script | ouro report -\n"
                                       "  ouro convert program.cpuprofile flame.svg\n"
                                       "  ouro lua script.lua\n";

static const char statuses[] =
    "\nExit status: 0 done; 1 the profile could not be read or written; 2 the command line "
    "makes no\nsense; 3 `ouro diff --fail-above` found growth above its limit.\n";

static const char view[] =
    "ouro view [options] FILE\n"
    "ouro view [options] BEFORE AFTER\n"
    "ouro view [options] --store FILE.db [--where CHOICE] [--with CHOICE]\n"
    "\n"
    "Starts a small web server on this machine, prints its address and opens the browser. Ctrl-C "
    "ends "
    "it.\nThe address has a secret, so that no other user of the machine can read the profile; the "
    "browser\nkeeps it after the first visit. A live file is followed while its program runs. More "
    "than two files:\n`ouro merge` first. Of a store, a page lets you choose, and the others show "
    "the choice.\nThe page Time does the same for slices (frames, requests), and for the time that "
    "a "
    "live file is\nwatched.\n"
    "\n"
    "  --no-open          only print the address\n"
    "  --port N           listen on this port instead of a free one\n"
    "  --host ADDRESS     listen on this address instead of 127.0.0.1. There is no encryption: who "
    "sees\n"
    "                     the traffic has the secret\n"
    "  --no-secret        let everybody ask who can reach the port, also other users of this "
    "machine;\n"
    "                     for scripts\n"
    "  --source DIR       show source files below this folder; again: several. Without it, the "
    "working\n"
    "                     folder. Hidden files are not shown\n"
    "  --source-extension EXT  also show files with this extension as sources; again: several\n"
    "  --source-map FROM=TO    files that the profile has below FROM are below TO here; again: "
    "several\n"
    "  --metric NAME      what to show first, as are the filters:\n" FILTERS
    "  --period N         divide all values by N, carrying remainders; what becomes 0 is dropped\n"
    "  --min PERCENT      what is below in every metric goes to a [pruned] block of its "
    "caller\n" READING CHOOSING "  --with CHOICE      what to compare it with\n"
    "\n"
    "Examples:\n"
    "  ouro view program.pb.gz\n"
    "  ouro view --store fleet.db --where 'service=web since=1d'\n"
    "  ouro view --source ~/project before.pb after.pb\n"
    "  perf script | ouro view --fold malloc -\n"
    "  ouro view --no-open --port 8000 program.ouro &\n";

static const char report[] =
    "ouro report [options] FILE\n"
    "ouro report [options] --store FILE.db [--where CHOICE]\n"
    "\n"
    "Without a table option: a screen with the totals, findings, the top of self and overall, and "
    "what\nrecurses.\n"
    "\n"
    "  --self             blocks by what was charged to them\n"
    "  --overall          blocks by what was charged to the paths that contain them, each path "
    "once\n"
    "  --sequences        canonical paths\n"
    "  --tree             the call tree, down to a percent (--min PERCENT)\n"
    "  --block NAME       callers and callees; --block Y --block X is the sequence Y -> X\n"
    "  --knots            what recurses, how often and how deep: groups of blocks that call each "
    "other\n"
    "                     in a circle, and blocks that call themselves, with what flows in and "
    "out\n"
    "  --slices           frames, requests or turns that the program marked: how long they took, "
    "and\n"
    "                     what the slow ones do that typical ones do not\n"
    "  --metric NAME      which metric\n" FILTERS
    "  --top N            so many rows (text: 30; --json and --csv: all)\n"
    "  --json, --csv      for programs\n"
    "  --min PERCENT      leave out what is below (as [pruned], except in --tree)\n" READING
        CHOOSING "  --colour WHEN      auto, always or never\n"
    "\n"
    "Examples:\n"
    "  ouro report program.pb.gz\n"
    "  ouro report --overall --top 50 --metric time program.pb\n"
    "  ouro report --block parse --fold 'map@list.fble:12' program.ouro\n"
    "  perf script | ouro report --tree -\n"
    "  ouro report --slices game.pb.gz\n"
    "  ouro report --self --json program.folded | jq '.rows[0].name'\n"
    "  ouro report --store fleet.db --where 'service=web since=1d'\n";

static const char diff[] =
    "ouro diff [options] BEFORE AFTER\n"
    "ouro diff [options] FILE          folded stacks with two counts per line\n"
    "ouro diff [options] --store FILE.db --where CHOICE --with CHOICE\n"
    "\n"
    "The first line says what changed most. Blocks are the same if their names are; of several of "
    "a\n"
    "name, those with the longest common end of the file's path, then those of the nearest lines. "
    "Self\n"
    "and overall are the change, and share is the change of the block's part of its own total, in\n"
    "percentage points.\n"
    "\n"
    "  --fail-above PERCENT  exit with status 3 if self or overall of a block, or the total, grew "
    "by more\n"
    "                        than PERCENT of BEFORE's total\n"
    "  --metric NAME      which metric; both files must have it, in the same unit\n" FILTERS
    "  --top N            so many rows (text: 30; --json and --csv: all)\n"
    "  --json, --csv      for programs\n" READING CHOOSING
    "  --with CHOICE      what to compare it with\n"
    "  --colour WHEN      auto, always or never\n"
    "\n"
    "Examples:\n"
    "  ouro diff main.pb branch.pb\n"
    "  ouro diff --metric calls --fail-above 5 main.pb branch.pb || echo slower\n"
    "  ouro diff --store fleet.db --where build=7 --with build=8 --fail-above 5\n";

static const char convert[] =
    "ouro convert [options] IN OUT\n"
    "ouro convert [options] --store FILE.db [--where CHOICE] OUT\n"
    "\n"
    "The format of OUT is told by its extension or by --to; a .gz at the end packs it.\n"
    "\n"
    "  --to FORMAT        what to write\n"
    "  --metric NAME      for formats that hold one metric, and as the one to show first\n" FILTERS
    "  --period N         divide all values by N, carrying remainders; what becomes 0 is dropped\n"
    "  --min PERCENT      what is below in every metric goes to a [pruned] block of its "
    "caller\n" READING CHOOSING "\n"
    "Examples:\n"
    "  ouro convert program.pb flame.svg\n"
    "  ouro convert program.cpuprofile report.html\n"
    "  perf script | ouro convert --from perf - out.pb.gz\n"
    "  ouro convert --to folded --fold 'malloc' program.pb - | sort\n";

static const char merge[] =
    "ouro merge [options] IN... -o OUT\n"
    "\n"
    "Paths are added where all their blocks are the same, metrics where name and unit are.\n"
    "\n"
    "  -o, --output OUT   where to write; the extension tells the format\n"
    "  --to FORMAT        what to write\n"
    "  --metric NAME      for formats that hold one metric\n"
    "  --period N         divide all values by N, carrying remainders; what becomes 0 is dropped\n"
    "  --min PERCENT      what is below in every metric goes to a [pruned] block of its "
    "caller\n" READING "\n"
    "Examples:\n"
    "  ouro merge worker-*.pb.gz -o all.pb.gz\n"
    "  ouro merge --period 100 monday.pb tuesday.pb -o week.pb\n";

static const char push[] =
    "ouro push --store FILE.db [options] FILE...\n"
    "ouro push --store FILE.db --follow [--every 10s] PATH...\n"
    "\n"
    "Puts profiles of any format into a store, which is made if it is not there. Each becomes a "
    "slice with\nlabels, by which `report`, `diff` and `convert` choose. The same profile with the "
    "same labels counts\nonce, however often it is pushed; of a live file, what is new since it "
    "was "
    "pushed last is added.\n"
    "\n"
    "  --store FILE.db    where to; several processes may push at the same time\n"
    "  --store URL        a ClickHouse server, http[s]://[user[:password]@]host:8123/database, or "
    "several\n"
    "                     hosts with commas, and ?cluster=NAME for its shards. The password also "
    "by\n"
    "                     OURO_STORE_PASSWORD or ?password_file=FILE\n"
    "  --service NAME     the label `service`; without it the name of the file up to its first "
    "dot\n"
    "  --build NAME       the label `build`\n"
    "  --label NAME=VALUE another label; `host` is the name of this machine unless it is given\n"
    "  --root DIR         the folder of the sources: files are named relative to it, so that "
    "checkouts\n"
    "                     in different places are one. Without it: the folder above the sources "
    "that has\n"
    "                     .git or the like, if it is on this machine\n"
    "  --follow           PATH is a live file, or a folder of them (*.ouro): sends what was added, "
    "again and\n"
    "                     again, until SIGTERM or Ctrl-C. Nothing is lost or doubled, whatever is "
    "killed.\n"
    "                     A PATH that is missing is waited for if the folder it is in exists\n"
    "  --every TIME       so often: 500ms, 10s, 5m (10s)\n"
    "  --once             with --follow: one round, and the end; for cron. Each PATH must exist\n"
    "  --store pyroscope+http://HOST:4040, --store otlp+http://HOST:4318\n"
    "                     to a Pyroscope server, or as OTLP profiles (experimental): only written "
    "to\n" READING "\n"
    "Examples:\n"
    "  ouro push --store fleet.db --service web --build 7 web-*.pb.gz\n"
    "  ouro push --store fleet.db --build 7 --follow /dev/shm/ouro\n"
    "  ouro report --store fleet.db --where 'service=web since=1d'\n";

static const char store_page[] =
    "ouro store FILE.db [options]\n"
    "\n"
    "Shows what is in a store: recordings, slices, labels and their values, times, bytes.\n"
    "\n"
    "  --keep AGE         first forget the slices that ended longer ago: 12h, 30d, 8w\n"
    "  --top N            so many values of each label (10)\n"
    "  --json             for programs\n"
    "  --strict           fail if a part of the store does not answer; else it is said\n"
    "  --limit SIZE       let a question take so much memory (256M, more for a large store)\n"
    "\n"
    "Examples:\n"
    "  ouro store fleet.db\n"
    "  ouro store fleet.db --keep 30d\n";

static const char serve[] =
    "ouro serve --store FILE.db [options]\n"
    "\n"
    "Takes what Pyroscope's agents send (Node, Python, Ruby, Go, .NET) into a store, with their "
    "labels.\nPrints its address and goes on until Ctrl-C or SIGTERM; what is on its way "
    "then is stored first.\nGET / shows counters.\n"
    "\n"
    "  --store FILE.db    where to\n"
    "  --listen ADDRESS:PORT  instead of 127.0.0.1:4040; port 0 is a free one. An address that "
    "other\n"
    "                     machines reach needs a token\n"
    "  --token-file FILE  agents must send the token that is the first line of this file, as "
    "Bearer or\n"
    "                     as the password of any user\n"
    "  --token TOKEN      the same, but other users may see it for a moment: prefer the file, or "
    "the\n"
    "                     environment's OURO_TOKEN\n"
    "  --limit SIZE       let a profile take so much memory (256M)\n"
    "\n"
    "Examples:\n"
    "  ouro serve --store fleet.db\n"
    "  ouro serve --store fleet.db --listen 0.0.0.0:4040 --token-file /etc/ouro/token\n";

static const char help[] =
    "ouro help [COMMAND]\n\nShows how ouro, or one of its commands, is used.\n\nExamples:\n"
    "  ouro help\n  ouro help report\n";

static const struct {
    const char *command, *text;
} pages[] = {{"view", view},        {"report", report}, {"diff", diff},
             {"convert", convert},  {"merge", merge},   {"push", push},
             {"store", store_page}, {"serve", serve},   {"help", help}};

static void print_formats(void) {
    for (size_t i = 0; i < ouro__format_count; i++) {
        const format *f = &ouro__formats[i];
        printf("  %-12s %s%s  %s\n", f->name, f->read ? "r" : "-", f->write ? "w" : "-", f->about);
    }
}

static const char *page_of(const char *command) {
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(pages[i].command, command) == 0) return pages[i].text;
    }
    return NULL;
}

void print_help(const char *command) {
    if (command) {
        fputs(page_of(command), stdout);
    } else {
        fputs(general, stdout);
        print_formats();
        fputs(general_examples, stdout);
    }
    fputs(statuses, stdout);
}

int cmd_help(int argc, char **argv) {
    static const char *const none[] = {NULL};
    options o;
    options_parse(&o, argc, argv, "help", none);
    const char *command = o.inputs.count ? o.inputs.items[0] : NULL;
    if (command && is_host(command)) {
        char *ask[] = {(char *)command, "--help", NULL};
        return cmd_host(2, ask);
    }
    if (command && !page_of(command)) fail_usage(NULL, "there is no command %s", command);
    print_help(command);
    options_free(&o);
    return EXIT_GOOD;
}

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hard cases of native code, each a program of its own: test_hard.py BUILD [WORD]

A program says in `// want:` lines which paths it takes, and how often; the profile must have these and no others.
"""
import os, signal
from native import Failure, PROGRAMS, expect, run_cases, wanted

ALL = ["gcc", "gcc-O0", "clang", "static", "xray"]
cases = []


def case(name):
    def add(function):
        cases.append((name, function))
        return function
    return add


def program(source, ways, *flags, **run):
    """The program, built each way, takes the paths that it says."""
    for way in ways:
        def check(host, way=way):
            exe = host.compile(way, [source], "program", *flags)
            host.run(exe, **run)
            expect(host.paths(), wanted(source))
        cases.append((f"{source.replace('.', '_')}_{way}", check))


program("jump.c", ALL + ["static-pie", "no-pie", "xray-static", "asan"])
program("throw.cpp", ALL + ["xray-static", "asan"])
program("threads.c", ["gcc", "clang", "static", "asan"], "-pthread")
program("forks.c", ["gcc", "clang", "static", "xray"])
program("coroutines.c", ["gcc", "gcc-O0", "clang", "static", "xray"])
program("deep.c", ["gcc", "static", "xray"], "-pthread")
program("tail.c", ["xray", "xray-static"])
program("inlined.c", ["gcc", "gcc-O0", "clang"])


def totals_as_printed(host, way, source, *flags, **run):
    exe = host.compile(way, [source], "program", *flags)
    printed = dict(line.rsplit(" ", 1) for line in host.run(exe, **run).stdout.splitlines())
    got = host.totals()
    expect({k: got.get(k, 0) for k in printed}, {k: int(v) for k, v in printed.items()})


for way in ["gcc", "clang", "static", "xray"]:
    @case(f"signal_handlers_are_counted_exactly_{way}")
    def signals(host, way=way):
        totals_as_printed(host, way, "signals.c", "-pthread")

    @case(f"an_instrumented_malloc_is_no_trap_{way}")
    def own_malloc(host, way=way):
        totals_as_printed(host, way, "own_malloc.c", "-fno-builtin",
                          *(["-Wl,-z,muldefs"] if way == "static" else []))


for way in ["gcc", "clang", "static", "tsan", "xray"]:
    @case(f"threads_of_the_standard_library_{way}")
    def std_threads(host, way=way):
        totals_as_printed(host, way, "threads.cpp", "-pthread")


@case("signal_handlers_are_counted_exactly_with_the_clock_on")
def signals_and_clock(host):
    totals_as_printed(host, "gcc", "signals.c", "-pthread", options=("--hz", "10000"))


for way in ["gcc", "clang"]:
    @case(f"libraries_that_are_unloaded_are_forgotten_{way}")
    def unloaded(host, way=way):
        for name, times in (("one", 3), ("two", 5)):
            host.compile(way, ["plugin.c"], f"{name}.so", "-shared", "-fPIC", f"-DNAME={name}", f"-DTIMES={times}")
        exe = host.compile(way, ["loader.c"], "program")
        done = host.run(exe, host.path("one.so"), host.path("two.so"))
        expect(host.paths(), wanted("loader.c"))
        if int(done.stdout.split()[0]) == 0:
            raise Failure("the libraries never came to the same address: the test tests nothing")

    @case(f"functions_of_shared_libraries_are_seen_{way}")
    def shared(host, way=way):
        host.compile(way, ["library.c"], "liblibrary.so", "-shared", "-fPIC")
        exe = host.compile(way, ["uses_library.c"], "program", "-L", host.folder, "-llibrary",
                           "-Wl,-rpath," + host.folder)
        host.run(exe)
        expect(host.paths(), wanted("uses_library.c"))


@case("an_instrumented_library_in_a_program_that_is_not")
def library_alone(host):
    host.compile("gcc", ["library.c"], "liblibrary.so", "-shared", "-fPIC")
    host.sh(["gcc", "-O2", os.path.join(PROGRAMS, "uses_library.c"), "-o", host.path("plain"), "-L", host.folder,
             "-llibrary", "-Wl,-rpath," + host.folder])
    host.run(host.path("plain"))
    expect(host.paths(), {"library_each": 1, "library_each;hidden": 12})


@case("a_program_built_by_hand_with_the_flag_alone")
def by_hand(host):
    host.sh(["gcc", "-O2", "-g", "-finstrument-functions", os.path.join(PROGRAMS, "jump.c"), "-o", host.path("plain")])
    host.run(host.path("plain"))
    expect(host.paths(), wanted("jump.c"))


ENDS = {"return": 0, "exit": 3, "_exit": 4, "quick_exit": 5, "abort": 128 + signal.SIGABRT,
        "kill": 128 + signal.SIGKILL, "crash": 128 + signal.SIGSEGV}
for way in ["gcc", "static", "xray"]:
    for how, status in ENDS.items():
        @case(f"nothing_is_lost_at_the_end_by_{how}_{way}")
        def end(host, way=way, how=how, status=status):
            exe = host.compile(way, ["ends.c"], "program")
            host.run(exe, how, status=status)
            want = {"first": 1, "main": 1, "main;end": 1, "main;end;leaf": 1000}
            if how == "exit":
                want.update({"main;end;at_exit": 1, "main;end;at_exit;leaf": 1, "main;end;last": 1,
                             "main;end;last;leaf": 1})
            if how == "return":
                want.update({"at_exit": 1, "at_exit;leaf": 1, "last": 1, "last;leaf": 1})
            expect(host.paths(), want)


for way in ["gcc", "clang", "static", "xray"]:
    @case(f"allocations_and_their_bytes_{way}")
    def memory(host, way=way):
        exe = host.compile(way, ["memory.cpp"], "program", "-fno-builtin")
        host.run(exe, options=("--memory", "--clock", "off"))
        counts, sizes = host.totals(metric="allocations"), host.totals(metric="allocated")
        names = ["make()", "grow()", "fresh()"]
        expect({n: counts.get(n, 0) for n in names}, {"make()": 400, "grow()": 100, "fresh()": 30})
        expect({n: sizes.get(n, 0) for n in names},
               {"make()": 100 * (10 + 24 + 64 + 128), "grow()": 50 * 300, "fresh()": 30 * 24})


@case("blocks_by_hand")
def hand(host):
    root = os.path.join(PROGRAMS, "../../../..")
    exe = host.compile("gcc", ["hand.cpp"], "program", "-I" + os.path.join(root, "include"),
                       "-I" + os.path.join(root, "hosts/native"))
    host.run(exe)
    expect(host.paths(), wanted("hand.cpp"))
    host.sh([exe])  # and off, without `ouro run`


@case("the_clock_charges_who_runs_and_wakes_nobody")
def clock(host):
    source = host.path("clock.c")
    with open(source, "w") as f:
        f.write("""#include <time.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static void busy(void) {
    struct timespec t;
    do {
        for (int i = 0; i < 100000; i++) sink += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
}
__attribute__((noinline)) static unsigned waits(void) { return sleep(1); }
int main(void) { busy(); return (int)waits(); }
""")
    exe = host.compile("gcc", [source], "program")
    host.run(exe, options=())  # sleep(1) returns 0 only if no signal came
    time = host.paths(metric="time")
    if not 150e6 < time.get("main;busy", 0) < 600e6 or time.get("main;waits", 0) > 50e6:
        raise Failure(f"{time}")


run_cases(cases)

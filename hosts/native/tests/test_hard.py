#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hard cases of native code, each a program of its own: test_hard.py BUILD [WORD...]

A program says in `// want:` lines which paths it takes, and how often; the profile must have these and no others.
"""
import functools, os, platform, signal, tempfile
from native import OURO, PROGRAMS, build, paths, record, totals, wanted
from suite import ROOT, case, main, read, run, same, skip, write

SLEDS = ["sleds", "sleds-clang", "sleds-static", "sleds-clang-static"]
ALL = ["gcc", "gcc-O0", "clang", "static", "sleds-O0", *SLEDS]


def takes_its_paths(source, way, *flags):
    record(build(way, [source], "program", *flags))
    same(paths(), wanted(source))


def each_way(source, ways, *flags):
    for way in ways:
        case(takes_its_paths, f"{source.replace('.', '_')}_takes_the_paths_that_it_says_{way}", source, way, *flags)


each_way("jump.c", ALL + ["static-pie", "no-pie", "sleds-static-pie", "sleds-no-pie", "sleds-cet", "asan"])
each_way("throw.cpp", ALL + ["sleds-static-pie", "sleds-no-pie", "sleds-cet", "asan"])
each_way("threads.c", ["gcc", "clang", "static", *SLEDS], "-pthread")
each_way("forks.c", ["gcc", "clang", "static", *SLEDS])
each_way("coroutines.c", ALL)
each_way("deep.c", ["gcc", "static", *SLEDS], "-pthread")
each_way("tail.c", [*SLEDS, "sleds-cet"])
each_way("inlined.c", ["gcc", "gcc-O0", "clang"])


each_way("unwinds.c", ["gcc", "sleds", "sleds-O0", "sleds-no-pie"], "-pthread", "-fexceptions")
each_way("steps.c", [*SLEDS, "sleds-O0", "sleds-no-pie", "sleds-cet"])


def exceptions_pass_through_c_and_libraries(way):
    library = build(way, ["throws.cpp"], "libthrows.so", "-shared", "-fPIC")
    record(build(way, ["catches.c"], "program", "-fexceptions"), library)
    same(paths(), wanted("catches.c"))


for way in ["gcc", "sleds", "sleds-O0", "sleds-clang"]:
    case(exceptions_pass_through_c_and_libraries, f"exceptions_pass_through_c_and_libraries_{way}", way)


def keeps_registers(way):
    if platform.machine() != "x86_64":
        skip("the program is for x86-64")
    all_of_them = way in ("sleds", "sleds-clang")
    record(build(way, ["registers.c"], "program", *(["-DSLEDS", "-fno-pie", "-no-pie"] if all_of_them else [])),
           options=())
    same(totals()["doubles"], 2000)
    if all_of_them:
        same([totals()[name] for name in ("nothing", "everything")], [2000, 2000])


for way in ["gcc", "clang", "sleds-O0", *SLEDS]:
    case(keeps_registers, f"arguments_and_results_in_registers_are_kept_{way}", way)


@case
def threads_c_takes_the_paths_that_it_says_asan():
    """Here the destructor after pthread_exit may also be a root, which is right, and known by the stack: the frame of
    the function that has ended lies below that of the destructor if the sanitizer's own frames, which started the
    thread, take more room than the C library's. They do in gcc 14, and do not in gcc 12."""
    record(build("asan", ["threads.c"], "program", "-pthread"))
    got, want = paths(), wanted("threads.c")
    if "leaver;deep;goodbye" not in got:
        want["goodbye"] += want.pop("leaver;deep;goodbye")
    same(got, want)


@case
def a_tail_call_makes_no_system_call():
    """The same number of system calls for a hundred tail calls and for a hundred thousand."""
    exe = build("sleds", ["tail_loop.c"], "program")
    calls = []
    for n in "100", "100000":
        done = run("strace", "-f", "-c", "-o", "calls", OURO, "run", "-q", "--clock", "off", "-o", "out.pb", exe, n)
        if done.status:
            skip("strace cannot trace here")
        calls.append(sum(int(line.split()[3]) for line in read("calls").splitlines() if "rt_sigprocmask" in line))
    same(totals()["even"] + totals()["odd"], 100001)
    assert calls[1] < calls[0] + 1000, calls


def counts_what_it_prints(way, source, *flags, **more):
    exe = build(way, [source], "program", *flags)
    printed = dict(line.rsplit(" ", 1) for line in record(exe, **more).out.splitlines())
    got = totals()
    same({k: got.get(k, 0) for k in printed}, {k: int(v) for k, v in printed.items()})


for way in ["gcc", "clang", "static", "sleds", "sleds-clang"]:
    case(counts_what_it_prints, f"signal_handlers_are_counted_exactly_{way}", way, "signals.c", "-pthread")
    case(counts_what_it_prints, f"an_instrumented_malloc_is_no_trap_{way}", way, "own_malloc.c", "-fno-builtin",
         *(["-Wl,-z,muldefs"] if way == "static" else []))
for way in [*SLEDS, "sleds-O0", "sleds-cet"]:
    case(counts_what_it_prints, f"a_signal_at_any_instruction_is_counted_exactly_{way}", way, "steps_in.c")
for way in ["gcc", "clang", *SLEDS]:
    case(counts_what_it_prints, f"a_handler_at_any_instruction_may_go_deep_{way}", way, "steps_deep.c", "-pthread")
for way in ["gcc", "clang", "static", "tsan", *SLEDS]:
    case(counts_what_it_prints, f"threads_of_the_standard_library_are_counted_exactly_{way}", way, "threads.cpp",
         "-pthread")


@case
def signal_handlers_are_counted_exactly_with_the_clock_on():
    counts_what_it_prints("gcc", "signals.c", "-pthread", options=("--hz", "10000"))


def libraries_that_are_unloaded_are_forgotten(way):
    plugins = [build(way, ["plugin.c"], f"{name}.so", "-shared", "-fPIC", f"-DNAME={name}", f"-DTIMES={times}")
               for name, times in (("one", 3), ("two", 5))]
    done = record(build(way, ["loader.c"], "program"), *plugins)
    same(paths(), wanted("loader.c"))
    assert int(done.out.split()[0]) > 0, "the libraries never came to the same address: the test tests nothing"


def link_with_library():
    return "-L", os.getcwd(), "-llibrary", "-Wl,-rpath," + os.getcwd()


def functions_of_shared_libraries_are_seen(way):
    build(way, ["library.c"], "liblibrary.so", "-shared", "-fPIC")
    record(build(way, ["uses_library.c"], "program", *link_with_library()))
    same(paths(), wanted("uses_library.c"))


for way in ["gcc", "clang", "sleds", "sleds-clang"]:
    for check in libraries_that_are_unloaded_are_forgotten, functions_of_shared_libraries_are_seen:
        case(check, f"{check.__name__}_{way}", way)


def an_instrumented_library_in_a_program_that_is_not(way):
    build(way, ["library.c"], "liblibrary.so", "-shared", "-fPIC")
    run("gcc", "-O2", os.path.join(PROGRAMS, "uses_library.c"), "-o", "plain", *link_with_library(), status=0)
    record("./plain")
    same(paths(), {"library_each": 1, "library_each;hidden": 12})


for way in ["gcc", "sleds"]:
    check = an_instrumented_library_in_a_program_that_is_not
    case(check, f"{check.__name__}_{way}", way)


@case
def a_program_built_by_hand_with_the_flag_alone():
    run("gcc", "-O2", "-g", "-finstrument-functions", os.path.join(PROGRAMS, "jump.c"), "-o", "plain", status=0)
    record("./plain")
    same(paths(), wanted("jump.c"))


ENDS = {"return": 0, "exit": 3, "_exit": 4, "quick_exit": 5, "abort": 128 + signal.SIGABRT,
        "kill": 128 + signal.SIGKILL, "crash": 128 + signal.SIGSEGV}


WORK = tempfile.TemporaryDirectory()  # a program that several cases share


@functools.cache
def ending_program(way):
    return build(way, ["ends.c"], os.path.join(WORK.name, way))


def nothing_is_lost_at_the_end(way, how, status):
    record(ending_program(way), how, status=status)
    want = {"first": 1, "main": 1, "main;end": 1, "main;end;leaf": 1000}
    if how == "exit":
        want.update({"main;end;at_exit": 1, "main;end;at_exit;leaf": 1, "main;end;last": 1, "main;end;last;leaf": 1})
    if how == "return":
        want.update({"at_exit": 1, "at_exit;leaf": 1, "last": 1, "last;leaf": 1})
    found = paths()
    assert (found.pop("main;end;overflow", 0) > 1000) == (how == "overflow"), found
    same(found, want)


for way in ["gcc", "static", *SLEDS]:
    for how, status in ENDS.items():
        case(nothing_is_lost_at_the_end, f"nothing_is_lost_at_the_end_by_{how}_{way}", way, how, status)
for way in ["gcc", "sleds"]:
    for number in signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU, signal.SIGPROF, signal.SIGVTALRM:
        case(nothing_is_lost_at_the_end, f"nothing_is_lost_at_the_end_by_{number.name}_{way}", way,
             str(int(number)), 128 + number)
    case(nothing_is_lost_at_the_end, f"nothing_is_lost_at_the_end_by_exec_{way}", way, "exec", 0)
    case(nothing_is_lost_at_the_end, f"nothing_is_lost_at_the_end_by_overflow_{way}", way, "overflow",
         128 + signal.SIGSEGV)


def allocations_and_their_bytes_are_charged(way):
    record(build(way, ["memory.cpp"], "program", "-fno-builtin"), options=("--memory", "--clock", "off"))
    counts, sizes = totals(metric="allocations"), totals(metric="allocated")
    names = ["make()", "grow()", "fresh()"]
    same({n: counts.get(n, 0) for n in names}, {"make()": 400, "grow()": 100, "fresh()": 30})
    same({n: sizes.get(n, 0) for n in names},
         {"make()": 100 * (10 + 24 + 64 + 128), "grow()": 50 * 300, "fresh()": 30 * 24})


for way in ["gcc", "clang", "static", "sleds", "sleds-clang"]:
    case(allocations_and_their_bytes_are_charged, f"allocations_and_their_bytes_are_charged_{way}", way)


@case
def blocks_are_marked_by_hand():
    exe = build("gcc", ["hand.cpp"], "program", f"-I{ROOT}/include", f"-I{ROOT}/hosts/native")
    record(exe)
    same(paths(), wanted("hand.cpp"))
    run(exe, status=0)  # and off, without `ouro run`


@case
def the_clock_charges_who_runs_and_wakes_nobody():
    write("clock.c", """#include <time.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static void busy(void) {
    struct timespec t;
    do {
        for (int i = 0; i < 100000; i++) sink += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
}
__attribute__((noinline)) static int waits(void) {
    int ended = 0;
    for (int i = 0; i < 10; i++) ended += nanosleep(&(struct timespec){0, 100000000}, NULL) != 0;
    return ended;
}
int main(void) { busy(); return waits() > 1; }
""")
    # nanosleep fails if a signal came. A tick may hit the way into the kernel: of 500 waits, one is ended.
    record(build("gcc", ["clock.c"], "program"), options=())
    time = paths(metric="time")
    assert 150e6 < time.get("main;busy", 0) < 600e6, time
    assert time.get("main;waits", 0) <= 50e6, time


# ---------------------------------------------------------------- the signal of ticks

def ticks_program(way):
    return build(way, ["ticks.c"], os.path.join(WORK.name, "ticks-" + way), "-pthread")


def ms_charged():
    return sum(totals(metric="time").values()) / 1e6, sum(totals(metric="samples").values())


# What a program does to all signals, and what it prints then.
TAKES = {"sets_all_signals_to_default": (["default"], 100), "ignores_all_signals": (["ignore"], 100),
         "handles_all_signals": (["handler"], 100), "handles_all_signals_with_siginfo": (["siginfo"], 100),
         "closes_all_descriptors": (["close"], 100), "waits_for_all_signals": (["wait", "wait"], 100)}


def ticks_leave_alone_a_program_that(way, words, ms):
    """Its time is charged, and no tick ends it or reaches its handlers."""
    done = record(ticks_program(way), *words, str(ms), options=("--hz", "5000"))
    same(done.out, "handled 0, last of ours 0\n")
    charged, samples = ms_charged()
    assert 0.7 * ms < charged < 1.5 * ms and samples > ms / 10, (charged, samples)


def signals_of_the_same_numbers_are_the_programs(way):
    """It gets those that it sends to itself, once each: all but five that no program handles."""
    done = record(ticks_program(way), "50", "own", "50", options=("--hz", "5000"))
    assert done.out.startswith(f"handled {signal.NSIG - 1 - 4}, "), done.out
    record(ticks_program(way), "50", "die", status=128 + signal.SIGRTMAX - 3, options=("--hz", "5000"))
    assert ms_charged()[0] > 25, ms_charged()


def exec_by_a_program_that_has_ticks_is_safe(way):
    """Thirty programs, each for 3 ms: a tick that waited when one began would end it."""
    record(ticks_program(way), "exec", "30", options=("--hz", "20000"))
    assert ms_charged()[0] > 60, ms_charged()
    same(totals()["again"], 30)


for way in ["gcc", "static", "sleds", "sleds-clang-static"]:
    for name, how in TAKES.items():
        case(ticks_leave_alone_a_program_that, f"ticks_leave_alone_a_program_that_{name}_{way}", way, *how)
    for check in signals_of_the_same_numbers_are_the_programs, exec_by_a_program_that_has_ticks_is_safe:
        case(check, f"{check.__name__}_{way}", way)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices of C and C++ programs, by --slice and by ouro_slice_here: test_slices.py BUILD [WORD...]"""
import json, os
from native import HERE, OURO, build, record
from suite import case, has, main, run, same, write

NATIVE = os.path.dirname(HERE)
KEEP = "#define KEEP __attribute__((noinline))\n"
CALLS = KEEP + """
KEEP void work(int n) { __asm__ volatile("" ::: "memory"); if (n) work(n - 1); __asm__ volatile("" ::: "memory"); }
KEEP static void frame(int n) { work(n); __asm__ volatile("" ::: "memory"); }
int main(void) { for (int i = 1; i <= 7; i++) { frame(i); work(1); } return 0; }
"""


def slices(exe, *options, status=0):
    record(exe, options=("--clock", "off", "--compact", "none", *options), status=status)
    return report()["slices"]


def report(*options):
    return json.loads(run(OURO, "report", "--slices", "--json", *options, "out.pb", status=0).out)


def calls_of(number):
    rows = run(OURO, "report", "--metric", "calls", "--label", f"slice={number}", "--json", "out.pb", status=0).out
    return {row["name"]: row["calls"] for row in json.loads(rows)["rows"] if row["calls"]}


def every_call_of_a_function_is_a_slice(way):
    exe = build(way, [write("a.c", CALLS)], "a")
    same(slices(exe, "--slice", "frame"), 7)
    for number in (1, 4, 7):
        same(calls_of(number), {"frame": 1, "work": number + 1})
    # Recursive calls belong to the outermost one.
    same(slices(exe, "--slice", "work"), 14)
    same(calls_of(1), {"work": 2})


for way in ("gcc", "gcc-O0", "clang", "static", "no-pie", "asan", "sleds", "sleds-clang"):
    case(every_call_of_a_function_is_a_slice, f"every_call_of_a_function_is_a_slice_{way}", way)


@case
def names_of_cpp_are_found_with_and_without_their_classes():
    text = KEEP + """
        namespace play { struct Game { KEEP int frame(int n); int x = 0; }; }
        int play::Game::frame(int n) { x += n; __asm__ volatile("" ::: "memory"); return x; }
        template <typename T> KEEP T twice(T n) { __asm__ volatile("" ::: "memory"); return n + n; }
        static KEEP int frames(int n) { __asm__ volatile("" ::: "memory"); return n; }
        int main() { play::Game g; for (int i = 0; i < 3; i++) g.frame(frames(twice(i))); return twice(2L) - 4; }
    """
    exe = build("gcc", [write("a.cpp", text)], "a")
    for name, count in (("frame", 3), ("Game::frame", 3), ("play::Game::frame", 3), ("frames", 3), ("twice", 4),
                        ("Other::frame", 0), ("ram", 0)):
        same(slices(exe, "--slice", name), count, name)


@case
def an_exception_or_a_jump_ends_a_slice():
    text = KEEP + """
        #include <setjmp.h>
        static jmp_buf back;
        KEEP void work() { __asm__ volatile("" ::: "memory"); }
        KEEP void frame(int n) { work(); if (n == 1) throw 1; if (n == 2) longjmp(back, 1); work(); }
        KEEP void guarded(int n) { try { frame(n); } catch (int) {} }
        int main() { for (volatile int i = 0; i < 4; i = i + 1) { if (!setjmp(back)) guarded(i); work(); } return 0; }
    """
    same(slices(build("gcc", [write("a.cpp", text)], "a"), "--slice", "frame"), 4)
    same([calls_of(n).get("frame(int)", calls_of(n).get("frame")) for n in (1, 2, 3, 4)], [1, 1, 1, 1])


@case
def each_thread_has_its_own_slices():
    text = KEEP + """
        #include <pthread.h>
        KEEP static void frame(void) { __asm__ volatile("" ::: "memory"); }
        static void *run(void *p) { for (int i = 0; i < 5; i++) frame(); return p; }
        int main(void) {
            pthread_t t[3];
            for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, run, 0);
            for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
            frame();
            return 0;
        }
    """
    same(slices(build("gcc", [write("a.c", text)], "a", "-pthread"), "--slice", "frame"), 16)


@case
def processes_of_a_program_have_their_slices_in_one_profile():
    text = KEEP + """
        #include <sys/wait.h>
        #include <unistd.h>
        KEEP static void frame(void) { __asm__ volatile("" ::: "memory"); }
        int main(void) { frame(); if (!fork()) { frame(); frame(); _exit(0); } wait(0); frame(); return 0; }
    """
    same(slices(build("gcc", [write("a.c", text)], "a"), "--slice", "frame"), 4)


@case
def a_killed_program_has_its_slices_and_the_one_that_was_open():
    text = KEEP + """
        #include <signal.h>
        KEEP static void work(void) { __asm__ volatile("" ::: "memory"); }
        KEEP static void frame(int n) { work(); if (n == 3) raise(SIGKILL); work(); }
        int main(void) { for (int i = 0; i < 9; i++) frame(i); return 0; }
    """
    same(slices(build("gcc", [write("a.c", text)], "a"), "--slice", "frame", status=137), 3)
    has(run(OURO, "report", "--slices", "out.pb", status=0).out, "1 frame is still open")


@case
def a_name_that_nobody_has_is_said():
    exe = build("gcc", [write("a.c", CALLS)], "a")
    has(run(OURO, "run", "-o", "out.pb", "--slice", "nobody", exe, status=0).err, "has no slices")
    has(run(OURO, "run", "--slice-by", "calls", exe, status=2).err, "--slice-by is duration, time")
    has(run(OURO, "run", "--slice", "", exe, status=2).err, "--slice needs a function's name")


@case
def the_example_says_why_some_of_its_frames_are_slow():
    include = ["-I" + NATIVE]
    exe = build("gcc", [NATIVE + "/examples/game.c"], "game", *include)
    same(run(exe, status=0).out, "600 frames, 11 of them slow\n")
    for more in (["--slice", "frame"], []):
        slices(exe, "--memory", "--slice-by", "allocated", *more)
        got = report("--metric", "allocated")
        same((got["slices"], got["slow"]), (600, 11))
        same((got["rows"][0]["name"], got["rows"][0]["typical"]), ("sweep", 0))
    # Not linked with anything of ours: what is preloaded is found.
    run("gcc", "-O2", "-finstrument-functions", *include, NATIVE + "/examples/game.c", "-o", "plain", status=0)
    same(run("./plain", status=0).out, "600 frames, 11 of them slow\n")
    same(slices("./plain", "--memory"), 600)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
""".prof files of Python's cProfile, beside Python's own pstats: pstats.py OURO [WORD...]"""
import json, marshal, os, random, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]  # this file is no pstats
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import cProfile, pstats
import suite
from suite import arguments, case, has, main, same, write

OURO, = arguments("OURO")


def ouro(*words, status=0):
    return suite.run(OURO, *words, status=status)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def program():
    fib(12)
    even(30)
    json.loads(json.dumps({"a": [1, 2, {"b": None}]}, indent=1))
    sorted(range(20), key=lambda x: -x)


def record(name="a.prof"):
    profile = cProfile.Profile()
    profile.runcall(program)
    profile.dump_stats(name)
    return pstats.Stats(name).stats


def key(row):
    return (row["file"] or "~", row["line"], row["name"])


def rows(metric, *more):
    text = ouro("report", "--self", "--json", "--top", "1000000", "--metric", metric, *more, "a.prof").out
    return {key(row): row for row in json.loads(text)["rows"]}


@case
def calls_and_times_are_those_of_pstats():
    stats = record()
    calls, times, sums = rows("calls"), rows("time"), rows("cumulative")
    for function, (_, count, own, cumulative, callers) in stats.items():
        same(calls[function]["self"], count, function)
        assert abs(times.get(function, {"self": 0})["self"] - own * 1e9) <= len(callers) + 1, function
        if not callers or function not in callers and count == sum(c[0] for c in callers.values()):
            assert abs(sums[function]["self"] - sum(c[3] for c in callers.values()) * 1e9) <= len(callers) + 1 or \
                not callers, function
    same(set(calls), set(stats))


@case
def callers_are_those_of_pstats():
    stats = record()
    for function, (_, _, _, _, callers) in stats.items():
        if not callers or "<" in function[2]:
            continue
        text = ouro("report", "--block", function[2], "--json", "--metric", "calls", "--top", "1000", "a.prof").out
        found = {row["name"]: row["calls"] for row in json.loads(text)["callers"] if row["calls"]}
        want = {}
        for caller, counts in callers.items():
            want[caller[2]] = want.get(caller[2], 0) + counts[0]
        same({name: n for name, n in found.items() if name != "(root)"}, want, function)


@case
def it_is_said_that_there_are_callers_only():
    record()
    has(ouro("report", "a.prof").out, "callers only, no paths")


@case
def recursion_is_counted_as_pstats_counts_it():
    stats = record()
    (cc, nc, *_), = [value for name, value in stats.items() if name[2] == "fib"]
    has(ouro("report", "--block", "fib", "a.prof").out, f"recursed {nc - cc} times directly")


@case
def counts_of_the_module_profile_have_no_times_of_callers():
    function, caller = ("f.py", 1, "f"), ("f.py", 9, "main")
    write("a.prof", marshal.dumps({function: (3, 3, 0.5, 0.5, {caller: 3}), caller: (1, 1, 0.25, 0.75, {})}))
    same({name[2]: row["self"] for name, row in rows("calls").items()}, {"f": 3, "main": 1})
    same({name[2]: row["self"] for name, row in rows("time").items()}, {"f": 500000000, "main": 250000000})


@case
def an_empty_file_of_pstats_is_empty():
    write("a.prof", marshal.dumps({}))
    has(ouro("report", "a.prof").out, "nothing to show")


@case
def every_version_of_marshal_is_read():
    stats = {("é.py", 2**20, "ü"): (2**40, 2**40, 1.5, 2.5, {("a", 1, "b"): (2**40, 2**40, 1.5, 2.5)})}
    for version in (2, 3, 4):
        write("a.prof", marshal.dumps(stats, version))
        same(rows("calls")[("é.py", 2**20, "ü")]["self"], 2**40)


BROKEN = {
    "a number": marshal.dumps({("f", 1, "g"): 7}),
    "a function of two": marshal.dumps({("f", 1): (1, 1, 0.0, 0.0, {})}),
    "a name that is no text": marshal.dumps({("f", 1, 2): (1, 1, 0.0, 0.0, {})}),
    "callers that are a list": marshal.dumps({("f", 1, "g"): (1, 1, 0.0, 0.0, [])}),
    "no time": marshal.dumps({("f", 1, "g"): (1, 1, float("nan"), 0.0, {})}),
    "endless time": marshal.dumps({("f", 1, "g"): (1, 1, float("inf"), 0.0, {})}),
    "a reference to nothing": b"{)\x03r\x09\0\0\0",
    "a text of 4 GB": b"{)\x03u\xff\xff\xff\xff",
    "a tuple of 4 G": b"{(\xff\xff\xff\xff",
}


@case
def broken_files_say_at_which_byte():
    for name, data in BROKEN.items():
        write("a.prof", data)
        done = ouro("report", "a.prof", status=1)
        has(done.err, "a.prof: byte ", "expected", about=name)


@case
def a_file_that_is_cut_anywhere_is_refused():
    record()
    with open("a.prof", "rb") as f:
        whole = f.read()
    for size in sorted(random.Random(1).sample(range(2, len(whole)), 60)):
        write("a.prof", whole[:size])
        ouro("report", "--from", "pstats", "a.prof", status=1)


@case
def noise_does_not_break_the_reader():
    record()
    with open("a.prof", "rb") as f:
        whole = f.read()
    for seed in range(60):
        noise, r = bytearray(whole), random.Random(seed)
        for _ in range(r.randint(1, 8)):
            noise[r.randrange(len(noise))] = r.randrange(256)
        write("a.prof", bytes(noise))
        done = suite.run(OURO, "report", "--from", "pstats", "a.prof")
        assert done.status in (0, 1), (seed, done)


main()

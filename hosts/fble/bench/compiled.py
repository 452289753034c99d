#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs compiled: compiled.py BUILD [ROUNDS [WORD]]

For each program: CPU time interpreted and compiled, and their ratio; calls per second, compiled; the ratio of compiled
with --profile to without, and what that is in nanoseconds per call; the ratio of --profile-metrics time to --profile.
Then what callgrind counts, which no other work on the machine disturbs: instructions per call, and how many more with
--profile (between two small sizes, so that start and end do not count); and the instructions of a program without
--profile to those of one that was compiled without it. Before that, how long it takes to compile the standard library
from nothing, also as a ratio to both versions of every module at -O2, and with one module changed. The best counts, of
at least ROUNDS (3): what others do on the machine only adds to a time, so the ways of a program take turns until the
three best of each differ by less than 2%, or four times as often.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from programs import BUILD, HOST, KEPT, PROGRAMS, ROUNDS, WORD, calls_in, figure, mean, run

# Two small sizes, for callgrind.
SMALL = {"BinaryTrees": ("6", "9"), "Fannkuch": ("5", "6"), "Life": ("8", "16"), "Pi": ("10", "20"),
         "Queens": ("5", "7"), "Circuit": ("6", "10"), "Monads": ("10", "40"), "Parse": ("5", "50"),
         "Render": ("8", "16"), "Streams": ("4", "8")}
INTERPRETED = json.loads(pathlib.Path(KEPT).read_text()) if KEPT and os.path.exists(KEPT) else {}
OFF = ["BinaryTrees", "Fannkuch", "Life", "Pi", "Queens"]


def compiled(work, source, name, *options):
    program = os.path.join(work, name)
    subprocess.run([BUILD / "fble", "compile", "-p", "std", source, "-o", program, "--build-dir",
                    os.path.join(work, "objects"), *options], check=True)
    return program


def library_once(work, *options, flags=None):
    """Seconds to make a library of all of std, from what is there: wall clock and CPU."""
    line = [BUILD / "fble", "compile", "--library", "-p", "std", "-o", os.path.join(work, "std.so"), "--build-dir",
            os.path.join(work, "library"), "-j", "2", *options]
    environment = {**os.environ, "FBLE_PACKAGE_PATH": os.path.join(work, "packages"), "CFLAGS": flags or ""}
    if flags is None:
        del environment["CFLAGS"]
    start, child = time.monotonic(), subprocess.Popen(line, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{line}: exit status {child.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def library(work):
    """Of making std from nothing and after a change of one module: the times, and the ratio of CPU to what it takes to
    make both versions at -O2, without and with --profile."""
    shutil.copytree(HOST / "std", os.path.join(work, "packages/std"))
    both = from_nothing(work, "--profile", flags="-O2")[1]
    profiled = from_nothing(work, "--profile")[1]
    first = from_nothing(work)
    changed = min(with_a_change(work) for _ in range(3))
    return *first, *changed, first[1] / both, profiled / both


def from_nothing(work, *options, flags=None):
    """The better of two."""
    times = []
    for _ in range(2):
        shutil.rmtree(os.path.join(work, "library"), ignore_errors=True)
        times.append(library_once(work, *options, flags=flags))
    return min(times)


def with_a_change(work):
    with open(os.path.join(work, "packages/std/Std/List.fble"), "a") as f:
        f.write("# changed\n")
    return library_once(work)


def instructions(program, arguments):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def per_call(work, name, program):
    """Instructions per call, and how many more with --profile."""
    if name not in SMALL or not shutil.which("valgrind"):
        return "", ""
    profiles = {size: os.path.join(work, f"small.{size}.pb") for size in SMALL[name]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        plain = pool.map(lambda size: instructions(program, [size]), profiles)
        profiled = pool.map(lambda size: instructions(program, ["--profile", profiles[size], "--", size]), profiles)
    more = [b - a for a, b in (plain, profiled, map(calls_in, profiles.values()))]
    return f"{more[0] / more[2]:.1f}", f"{(more[1] - more[0]) / more[2]:.1f}"


def is_settled(times):
    return all(sorted(of)[min(2, len(of) - 1)] < 1.02 * min(of) for of in times.values())


def best_of(ways, arguments, text):
    """The least CPU time of each way."""
    times = {way: [] for way in ways}
    for turn in range(4 * ROUNDS):
        if turn >= ROUNDS and is_settled(times):
            break
        for way, line in ways.items():
            times[way].append(run([*line, *arguments], text)[0])
    return {way: min(of) for way, of in times.items()}


def measure(work, name, folder, arguments, text):
    title = " ".join([name, *arguments])
    source, profile = HOST / folder / (name + ".fble"), os.path.join(work, "profile.pb")
    program = compiled(work, source, name, "--profile")
    ways = {"interpreted": [BUILD / "fble", "run", "-p", "std", source, "--"], "compiled": [program, "--"],
            "profiled": [program, "--profile", profile, "--"],
            "clocked": [program, "--profile", os.path.join(work, "time.pb"), "--profile-metrics", "time", "--"]}
    known = {"interpreted": INTERPRETED[title]} if title in INTERPRETED else {}
    for way in known:
        del ways[way]
    best = {**best_of(ways, arguments, text), **known}
    calls = calls_in(profile)
    row = {"name": title, "interpreted": best["interpreted"], "compiled": best["compiled"],
           "faster": best["interpreted"] / best["compiled"], "profiled": best["profiled"] / best["compiled"],
           "added": (best["profiled"] - best["compiled"]) / calls * 1e9, "clocked": best["clocked"] / best["profiled"],
           "rate": calls / best["compiled"] / 1e6, "off": ""}
    row["instructions"], row["more"] = per_call(work, name, program)
    if name in OFF and shutil.which("valgrind"):
        without, size = compiled(work, source, name + ".without"), [SMALL[name][0]]
        row["off"] = f"{instructions(program, size) / instructions(without, size):.4f}"
    return row


def tell(times, rows):
    """What was to reach, for the table of all benchmarks."""
    part, faster, profiled = "fble, compiled", mean(rows, "faster"), mean(rows, "profiled")
    worst, fastest = max(row["profiled"] for row in rows), max(row["rate"] for row in rows)
    off = max((float(row["off"]) for row in rows if row["off"]), default=math.nan)
    added, clocked = max(row["added"] for row in rows), mean(rows, "clocked")
    figure(part, "against interpreted, geometric mean", ">= 5 times", f"{faster:.1f} times", faster >= 5)
    figure(part, "with --profile, geometric mean and worst", "<= 1.25, <= 1.45", f"{profiled:.2f}, {worst:.2f}",
           profiled <= 1.25 and worst <= 1.45)
    figure(part, "what --profile adds to a call, at most", "<= 2 ns", f"{added:.1f} ns", added <= 2)
    figure(part, "--profile-metrics time against --profile", "<= 1.1", f"{clocked:.2f}", clocked <= 1.1)
    figure(part, "profiling off against left out, instructions, at most", "<= 1.01", f"{off:.4f}", off <= 1.01)
    figure(part, "calls per second, the most", ">= 150 million", f"{fastest:.0f} million", fastest >= 150)
    figure(part, "std from nothing; one changed module", "< 60 s; < 0.7 s", f"{times[0]:.1f} s; {times[2]:.1f} s",
           times[0] < 60 and times[2] < 0.7)
    figure(part, "CPU to compile std, of two versions at -O2", "<= 1/3",
           f"{times[4]:.2f}, with --profile {times[5]:.2f}", times[4] <= 1 / 3)


def main():
    with tempfile.TemporaryDirectory() as work:
        times = library(work)
        print("std from nothing: {:.1f} s ({:.1f} s of CPU); one changed module: {:.1f} s ({:.1f} s of CPU); "
              "CPU of two versions at -O2: {:.2f}, with --profile {:.2f}\n".format(*times), flush=True)
        print("| program | interpreted s | compiled s | times faster | million calls/s | with profile | adds ns/call "
              "| with clock | instructions/call | profile adds | off / left out |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        rows = []
        for program in PROGRAMS:
            if WORD in program[0]:
                rows.append(measure(work, *program))
                print("| {name} | {interpreted:.2f} | {compiled:.3f} | {faster:.1f} | {rate:.0f} | {profiled:.2f} "
                      "| {added:.1f} | {clocked:.2f} | {instructions} | {more} "
                      "| {off} |".format(**rows[-1]), flush=True)
        print(f"| geometric mean | {mean(rows, 'interpreted'):.2f} | {mean(rows, 'compiled'):.3f} "
              f"| {mean(rows, 'faster'):.1f} | {mean(rows, 'rate'):.0f} | {mean(rows, 'profiled'):.2f} | "
              f"| {mean(rows, 'clocked'):.2f} | | | |")
        tell(times, rows)


main()

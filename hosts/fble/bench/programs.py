#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the programs without and with a profile: programs.py BUILD [ROUNDS [WORD]]

For each program: CPU time without a profile, and as ratios to it the times with --profile and with
--profile-blocks all; function calls per second; peak memory and what profiling adds to it; the size of the
profile, and how long `ouro report` takes to open it. Runs of one program take turns, and the best of ROUNDS (3)
counts. Ends with the geometric means. With WORD, only programs whose name contains it.
"""
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HOST = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOST.parent.parent / "bench"))
from figures import figure, rounds  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else rounds(3)
WORD = sys.argv[3] if len(sys.argv) > 3 else ""
# The seconds without a profile, for compiled.py, which is the next part of bench/all.
KEPT = os.environ.get("OURO_FIGURES", "") and os.environ["OURO_FIGURES"] + ".interpreted"
HARD = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"


def some_json(dice, depth):
    if not depth:
        return dice.choice([1, -25, "text \n é", None, True, 2.5])
    children = [some_json(dice, depth - 1) for _ in range(4)]
    return children if dice.random() < 0.5 else {f"key {i}": c for i, c in enumerate(children)}


def some_text(dice, words):
    return " ".join("".join(dice.choices("etaoin", k=dice.randrange(1, 5))) for _ in range(words)) + "\n"


# Name, folder, arguments, input. The sizes are such that each takes about a second.
PROGRAMS = [
    ("BinaryTrees", "bench/programs", ["15"], ""),
    ("Fannkuch", "bench/programs", ["9"], ""),
    ("Life", "bench/programs", ["100"], ""),
    ("Pi", "bench/programs", ["160"], ""),
    ("Queens", "bench/programs", ["12"], ""),
    ("Json", "examples", [], json.dumps([some_json(random.Random(1), 6)] * 2)),
    ("Md5", "examples", ["150000"], ""),
    ("Pipeline", "examples", ["2000"], ""),
    ("Sat", "examples", ["pigeons", "7"], ""),
    ("Sudoku", "examples", [], HARD * 5),
    ("TicTacToe", "examples", ["all", "8"], ""),
    ("WordCount", "examples", ["10"], some_text(random.Random(2), 40000)),
    # Their call sites have many targets.
    ("Circuit", "bench/programs", ["18"], ""),
    ("Monads", "bench/programs", ["400"], ""),
    ("Parse", "bench/programs", ["6000"], ""),
    ("Render", "bench/programs", ["130"], ""),
    ("Streams", "bench/programs", ["13"], ""),
]


def run(line, text=""):
    """CPU seconds and peak kilobytes of a command that must succeed."""
    with tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        child = subprocess.Popen(line, stdin=given, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(map(str, line))}: exit status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def calls_in(profile):
    """The number of function calls, as the report has it in its table of callers."""
    line = [BUILD / "ouro", "report", "--metric", "calls", profile]
    out = subprocess.run(line, capture_output=True, text=True, check=True)
    return int(re.search(r"([\d,]+) calls", out.stdout).group(1).replace(",", ""))


def measure(name, folder, arguments, text, work):
    profile = os.path.join(work, "profile.pb.gz")
    start = [BUILD / "fble", "run", "-p", "std", HOST / folder / (name + ".fble")]
    end = ["--", *arguments]
    ways = {"plain": [], "functions": ["--profile", profile],
            "all": ["--profile", profile + ".all.pb.gz", "--profile-blocks", "all"]}
    best = {}
    for turn in range(ROUNDS):
        for way, options in ways.items():
            if way == "all" and turn % 2:  # every second time: it takes the longest
                continue
            seconds, kilobytes = run(start + options + end, text)
            old = best.get(way, (math.inf, math.inf))
            best[way] = min(old[0], seconds), min(old[1], kilobytes)
    calls = calls_in(profile)
    report = min(run([BUILD / "ouro", "report", profile])[0] for _ in range(ROUNDS))
    return {"name": " ".join([name, *arguments]), "seconds": best["plain"][0],
            "functions": best["functions"][0] / best["plain"][0], "all": best["all"][0] / best["plain"][0],
            "rate": calls / best["plain"][0] / 1e6, "memory": best["plain"][1] / 1024,
            "more": (best["functions"][1] - best["plain"][1]) / 1024, "size": os.path.getsize(profile) / 1024,
            "report": report}


def mean(rows, key):
    return math.exp(sum(math.log(row[key]) for row in rows) / len(rows))


def tell(rows):
    """What was to reach, for the table of all benchmarks."""
    functions, blocks, worst = mean(rows, "functions"), mean(rows, "all"), max(row["functions"] for row in rows)
    slowest, most = min(row["rate"] for row in rows), max(row["more"] for row in rows)
    size, report = max(row["size"] for row in rows), max(row["report"] for row in rows)
    figure("fble", "with --profile, geometric mean and worst", "<= 1.10, <= 1.25", f"{functions:.2f}, {worst:.2f}",
           functions <= 1.10 and worst <= 1.25)
    figure("fble", "with --profile-blocks all, geometric mean", "<= 1.6", f"{blocks:.2f}", blocks <= 1.6)
    figure("fble", "calls per second, interpreted", ">= 40 million", f"{slowest:.0f} million at least", slowest >= 40)
    figure("fble", "memory that a profile adds, at most", "<= 20 MB", f"{most:.1f} MB", most <= 20)
    figure("fble", "largest profile, slowest report", "< 1 MB, < 0.2 s", f"{size:.0f} kB, {report:.2f} s",
           size < 1024 and report < 0.2)


def main():
    print("| program | CPU s | with profile | all blocks | million calls/s | peak MB | profile adds MB "
          "| profile kB | report s |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for program in PROGRAMS:
            if WORD not in program[0]:
                continue
            row = measure(*program, work)
            rows.append(row)
            print("| {name} | {seconds:.2f} | {functions:.2f} | {all:.2f} | {rate:.0f} | {memory:.0f} | {more:.1f} "
                  "| {size:.0f} | {report:.2f} |".format(**row), flush=True)
    print(f"| geometric mean | {mean(rows, 'seconds'):.2f} | {mean(rows, 'functions'):.2f} | {mean(rows, 'all'):.2f} | "
          f"{mean(rows, 'rate'):.0f} | | | | |")
    tell(rows)
    if KEPT:
        with open(KEPT, "w") as f:
            json.dump({row["name"]: row["seconds"] for row in rows}, f)


if __name__ == "__main__":
    main()

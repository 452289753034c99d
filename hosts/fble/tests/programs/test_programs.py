#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs: test_programs.py FBLE OURO RUN_PROGRAMS [WORD...]

Programs of generate.py do what model.py says, in every way of running them: interpreted and compiled, by gcc and clang
at several levels, without and with profiles of both kinds, and with the collector at every allocation. Exit status,
messages, and every path of a profile are the same, and every block is called as often as the model calls it. Values
that are not there yet are used in every way (undefined.py). Half of
the programs come from seed 1, half from OURO_SEED, or 2. FBLE_PROGRAMS=2000 makes that many, with as many more to
compile, and the second half from a new seed, which is printed; `make fuzz` does so. What fails is made small
(shrink.py) before it is shown.
"""
import collections
import itertools
import os
import re
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../../../tests/support"), os.path.join(HERE, "..")]
import objects
import suite
from cases import read_cases
from suite import Failure, arguments, case, main, same

import generate
import model
import shrink
import undefined

FBLE, OURO, RUN = arguments("FBLE", "OURO", "RUN_PROGRAMS")
MANY = int(os.environ.get("FBLE_PROGRAMS", 200))
FIXED, SEED = 1, int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000 if MANY > 200 else 2))
SHRINKING = 60 if MANY < 1000 else 300  # seconds, at most
# What compiles. Flags that are not known to make direct jumps are the trampoline.
COMPILERS = [("gcc", "-O2"), ("gcc", "-O0"), ("clang", "-O1"), ("gcc", "-O1"),
             ("gcc", "-O1 -fno-optimize-sibling-calls"), ("clang", "-O2")]
COMPILED = max(1, MANY // 120)  # programs for each of them, of each seed


def without_warnings(text):
    text = re.sub(r"^.*: warning: (?s:.*?)\n  hint: .*\n", "", text, flags=re.M)
    return re.sub(r"^\d+ more messages are not shown\n", "", text, flags=re.M)


def run(*line, **more):
    done = suite.run(*line, **more)
    return suite.Done(done.status, done.out, without_warnings(done.err))


def programs(seed, count, words=2, first=0):
    """Of all sizes; every third one may have to fail."""
    for i in range(first, first + count):
        size = 1000 if i % 500 == 499 else 150 if i % 50 == 49 else (3, 10, 20, 30, 20, 10)[i % 6]
        yield f"{seed}/{i}", generate.make(f"{seed}/{i}", size, words, 0.01 * (i % 3 == 2))


def both_seeds(count, words=2):
    print(f"# the seeds are {FIXED} and {SEED}", flush=True)
    yield from programs(FIXED, count // 2, words)
    yield from programs(SEED, count - count // 2, words)


def error_at(folder, place):
    """How the first line of an error begins."""
    file, (line, column) = place
    return f"{folder}/{file}:{line}:{column}: error: ".replace("\n", " ")


def expected(folder, made):
    """The same of a program; nothing if it does not fail."""
    return error_at(folder, made.fails) if made.fails else ""


def fails_small(problem, made, how):
    """Raises a failure with a program that is as small as can be and fails in the same way: how(made) says."""
    def fails(files):
        shutil.rmtree("small", ignore_errors=True)
        try:
            again = generate.evaluated(made.name, files)
        except (model.Malformed, model.TooMuch, AttributeError, KeyError, ValueError, TypeError, RecursionError):
            return False
        again.write("small")
        if suite.run(FBLE, "check", "-I", "small", "-m", f"/{made.name}%").status:
            return False
        return bool(how("small", again))

    # Most failures do not need the module that looks at the value, and without it more can be left out.
    unchecked = {n: t for n, t in made.files.items() if not n.endswith("/Check.fble")}
    unchecked[f"{made.name}.fble"] = made.body
    files = unchecked if made.body and fails(unchecked) else made.files
    small = shrink.shrink(files, fails, SHRINKING)
    raise Failure(f"{problem}\n{shrink.shown(small)}")


# ---------------------------------------------------------------- interpreted

# Five million calls; types of elements that the model does not know; values that nobody supplies.
BEYOND_THE_MODEL = {"D01", "literal-of-an-applied-poly", "unused-foreign", "header-without-value", "unused-in-a-header"}


@case
def the_model_does_what_the_reference_says():
    known = 0
    for file in ("reference.cases", "rules.cases"):
        for name, words, alone, files in read_cases(os.path.join(HERE, "..", file)):
            if alone or words[0] in ("error", "endless") or name in BEYOND_THE_MODEL:
                continue
            files = {file: text.encode(errors="surrogateescape").decode("latin-1") for file, text in files.items()}
            made, known = generate.evaluated("Main", files), known + 1
            want = ("Main.fble", tuple(map(int, words[1].split(":")))) if words[0] == "fails" else None
            same(made.fails, want, name)
    assert known > 200, known


def wrong_lines(folder, made, said):
    """Of what run.c says of one program."""
    want, wrong = expected(folder, made), []
    for line in said.split("\n")[:-1]:
        text = line.split(": ", 1)[1] if ": " in line else line
        if not (text.startswith(want) if want else line.startswith("ok ")):
            wrong.append(line)
    totals = set(re.findall(r"^ok profile(?:,.*)? (\d+)$", said, re.M))
    if len(totals) > 1:
        wrong.append(f"instructions of several profiles: {totals}")
    return "\n".join(wrong)


def ways_that_differ(*several, library=""):
    """What went wrong in any way of running the programs, each given by its folder: a text for each."""
    lines = [f"{'+' * (sum(map(len, made.files.values())) < 20_000)}{folder}\t/{made.name}%\t{library}\n"
             for folder, made in several]
    done = suite.run(RUN, stdin="".join(lines))
    parts = done.out.split(".\n")
    if len(parts) != len(several) + 1:
        return [done.out + done.err] * len(several)
    return [wrong_lines(folder, made, said) for (folder, made), said in zip(several, parts)]


def way_that_differs(folder, made, library=""):
    return ways_that_differ((folder, made), library=library)[0]


@case
def programs_do_what_the_model_says():
    """Many at a time: a program with sanitizers takes long to start."""
    every = both_seeds(MANY)
    while some := list(itertools.islice(every, 40)):
        for i, (_, made) in enumerate(some):
            made.write(f"p{i}")
        for (seed, made), wrong in zip(some, ways_that_differ(*[(f"p{i}", made) for i, (_, made) in enumerate(some)])):
            if wrong:
                fails_small(f"{seed}:\n{wrong}", made, way_that_differs)
        for i in range(len(some)):
            shutil.rmtree(f"p{i}")


def values(file, metric):
    """Path -> value, of a profile. Several blocks may have one name."""
    out = suite.run(OURO, "convert", "--to", "folded", "--metric", metric, file, "-", status=0).out
    found = collections.Counter()
    for path, value in (line.rsplit(" ", 1) for line in out.split("\n") if line):
        found[path] += int(value)
    return found


def in_blocks(paths):
    """Block -> value, of paths."""
    blocks = collections.Counter()
    for path, value in paths.items():
        blocks[path.rsplit(";", 1)[-1]] += value
    return blocks


@case
def blocks_are_called_as_often_as_the_model_calls_them():
    for seed, made in both_seeds(MANY // 4, words=0):
        if not made.fails:
            made.write("p")
            suite.run(FBLE, "eval", "-I", "p", "-m", f"/{made.name}%", "--profile", "p.pb", status=0)
            got = in_blocks(values("p.pb", "calls"))
            same({name: got[name] for name in made.calls}, dict(made.calls), seed)
            shutil.rmtree("p")


# ---------------------------------------------------------------- values that are not there yet

def said_of_functions(folder, made, count, library=""):
    """Way -> the errors of all functions of a module, by run.c, and way -> the calls and instructions on every path."""
    for file in os.listdir(folder):
        if file.endswith(".pb"):
            os.remove(f"{folder}/{file}")
    done = suite.run(RUN, stdin=f"+{folder}\t/{made.name}%\t{library}\t{count}\n", status=0)
    errors, way = collections.defaultdict(str), None
    for line in done.out.splitlines(keepends=True)[:-1]:
        if found := re.match("([a-z, ]+): ", line):
            way, line = found[1], line[found.end():]
        errors[way] += line
    same(done.out.endswith("\n.\n"), True, done.err)
    return dict(errors), {way: [values(f"{folder}/{way}.pb", metric) for metric in ("calls", "instructions")]
                          for way in errors if way.startswith("profile")}


def pairs_of(at):
    """Every use of undefined.py, each in another way."""
    uses, ways = list(undefined.USES), list(undefined.WAYS)
    return [(use, ways[(i * 5 + at) % len(ways)]) for i, use in enumerate(uses)]


def functions_that_fail(seed, pairs):
    """Writes them into the folder p. Gives the program, and what is said of it, after a look at whether it is right."""
    made = generate.undefined_values(seed, pairs)
    places = generate.failures(made)
    same(len(places), len(pairs), "functions that fail")
    made.write("p")
    errors, profiles = said_of_functions("p", made, len(pairs))
    same(len(errors), 7, errors.keys())
    for way, text in errors.items():
        firsts = re.findall("^.*?: error: ", text, flags=re.M)
        same(firsts, [error_at("p", place) for place in places], (seed, way))
        same(text, errors["plain"], (seed, way))
    for way in "profile, small nursery", "profile, collect always":
        same(profiles[way], profiles["profile"], (seed, way))
    return made, errors, profiles


@case
def values_that_are_not_there_yet_fail_in_every_use():
    """Each use with each way in which the variable comes there."""
    for seed in FIXED, SEED:
        functions_that_fail(f"{seed}", list(itertools.product(undefined.USES, undefined.WAYS)))


def compiled_values_that_are_not_there_yet(cc, flags, blocks, at):
    if not shutil.which(cc):
        suite.skip(f"there is no {cc}")
    for seed in (FIXED, SEED) if MANY > 200 else (FIXED,):
        pairs = list(itertools.product(undefined.USES, undefined.WAYS)) if MANY > 200 else pairs_of(at)
        made, errors, profiles = functions_that_fail(f"{seed} {cc} {flags}", pairs)
        options = "--library", "--profile-blocks", blocks, "-o", "made.so"
        same(compiled(cc, flags, "-I", "p", "-m", "/Main%", *options), "")
        mine, my_profiles = said_of_functions("p", made, len(pairs), "./made.so")
        assert len(mine) == (6 if blocks == "functions" else 4), mine.keys()
        same(mine, {way: errors[way] for way in mine}, seed)
        same(my_profiles, {way: profiles[way] for way in my_profiles}, seed)
        shutil.rmtree("p")
        for i, pair in enumerate(pairs_of(at + 1)[at::8] if MANY <= 200 else pairs):  # as programs
            made = generate.undefined_values(f"{seed} {cc} {flags} {i}", [pair])
            assert made.fails, pair
            made.write("p")
            problem = compiled_that_differs(cc, flags, blocks, True)("p", made)
            same(problem, "", (seed, pair))
            shutil.rmtree("p")


# ---------------------------------------------------------------- compiled

def compiled(cc, flags, *options):
    """What the compiler says, if it fails."""
    done = run(FBLE, "compile", "--build-dir", "objects", "-j", "1", *options, timeout=600,
               env={**os.environ, "CC": cc, "CFLAGS": flags})
    return done.err or f"exit status {done.status}" if done.status else ""


def runs_that_differ(folder, module, line, profile):
    """The same line with and without a profile, against the interpreter."""
    wrong = []
    for file in "i.pb", "c.pb":
        if os.path.exists(file):
            os.remove(file)
    for more in ((), ("--profile", "i.pb", *profile)):
        want = run(FBLE, "eval", *more, "-I", folder, "-m", module)
        got = run(*line, *[word.replace("i.pb", "c.pb") for word in more])
        if want != got:
            wrong.append(suite.difference(got, want))
    for metric in ("calls", "instructions"):
        want, got = values("i.pb", metric), values("c.pb", metric)
        if want != got:
            wrong.append(f"{metric}:\n{suite.difference(got, want)}")
    return wrong


def compiled_that_differs(cc, flags, blocks, as_program):
    """A function that says what is wrong with one program."""
    def look(folder, made):
        module, where = f"/{made.name}%", ("-I", folder, "-m", f"/{made.name}%")
        kind = "--eval" if as_program else "--library"
        if problem := compiled(cc, flags, *where, kind, "--profile-blocks", blocks, "-o", "made.so"):
            return problem
        profile = ("--profile-blocks", blocks)
        if as_program:
            return "\n".join(runs_that_differ(folder, module, ["./made.so"], profile))
        wrong = runs_that_differ(folder, module, [FBLE, "eval", "--compiled", "made.so", *where], profile)
        return "\n".join(wrong + [way_that_differs(folder, made, "./made.so")]).strip()
    return look


def compile_some(cc, flags, at):
    if not shutil.which(cc):
        suite.skip(f"there is no {cc}")
    blocks, as_program = ("functions", "all")[at % 2], at % 3 == 2
    look = compiled_that_differs(cc, flags, blocks, as_program)
    for seed, first in ((FIXED, at), (SEED, at + 3)):  # every compiler begins with another size
        print(f"# the seed is {seed}", flush=True)
        for number, made in programs(f"{seed} {cc} {flags}", COMPILED, first=first):
            made.write("p")
            if wrong := look("p", made):
                fails_small(f"{number}, {cc} {flags}, {blocks}:\n{wrong}", made, look)
            shutil.rmtree("p")


for at, (cc, flags, blocks) in enumerate((("gcc", "-O1", "functions"), ("gcc", "-O0", "all"),
                                          ("clang", "-O1", "functions"))):
    case(compiled_values_that_are_not_there_yet, f"values_that_are_not_there_yet_fail_the_same_by_{cc}_{flags[1:]}",
         cc, flags, blocks, at)

for at, (cc, flags) in enumerate(COMPILERS):
    way = flags.replace(" ", "_").replace("-", "")
    case(compile_some, f"compiled_by_{cc}_with_{way}_they_do_the_same", cc, flags, at)

# ---------------------------------------------------------------- programs of type Main@

STD = {**os.environ, "FBLE_PACKAGE_PATH": os.path.dirname(objects.STD), "CC": "cc", "CFLAGS": objects.FLAGS}
PROGRAM = ("-I", "p", "-p", "std", "-m", "/Main%")


def commands(count):
    print(f"# the seeds are {FIXED} and {SEED}", flush=True)
    for i in range(count):
        name = f"{(FIXED, SEED)[i % 2]}/{i}"
        made = generate.command(name, (3, 10, 20, 40)[i % 4], 2)
        made.made.write("p")
        yield name, made
        shutil.rmtree("p")


def says(made, name, profiled, *line):
    """The output, without and with a profile."""
    for more in ((), ("--profile", "c.pb"))[:1 + profiled]:
        got = run(*line, *more, "--", *made.words, stdin=made.stdin, env=STD)
        same(got, (made.status, made.out, made.err), f"{name}\n{shrink.shown(made.made.files)}")


@case
def programs_of_type_main_say_what_the_model_says():
    for name, made in commands(MANY // 8):
        says(made, name, True, FBLE, "run", *PROGRAM)


@case
def programs_of_type_main_say_the_same_compiled():
    """Profiles are for larger runs."""
    profiled = MANY > 200
    options = ["--profile"] * profiled + ["--build-dir", objects.with_library(FBLE)]
    for name, made in commands(max(2, MANY // 60)):
        suite.run(FBLE, "compile", *options, *PROGRAM, "-o", "made", env=STD, status=0)
        says(made, name, profiled, "./made")
        if profiled:
            calls = values("c.pb", "calls")
            says(made, name, True, FBLE, "run", *PROGRAM)
            same(calls, values("c.pb", "calls"), name)


generate.deep(main)

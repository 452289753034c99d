# SPDX-License-Identifier: MIT
"""For the suites of the native host: build a program, run it under `ouro run`, and look at its profile.

All of it happens in the folder of the case, so names of files are relative to it.
"""
import os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
sys.path.insert(0, HERE + "/../../../tests/support")
from suite import arguments, run

BUILD, = arguments("BUILD")
OURO = os.path.join(BUILD, "ouro")

# The ways to build, by name: options of `ouro cc`, the compiler underneath and its options. Functions have hooks, or
# sleds where the name says so.
WAYS = {
    "hooks": (["--hooks"], "gcc", ["-O2"]),
    "gcc": (["--tiny"], "gcc", ["-O2"]),
    "gcc-O0": (["--hooks"], "gcc", ["-O0"]),
    "clang": (["--tiny"], "clang", ["-O2"]),
    "static": (["--tiny"], "gcc", ["-O2", "-static"]),
    "static-pie": (["--tiny"], "gcc", ["-O2", "-static-pie"]),
    "no-pie": (["--tiny"], "gcc", ["-O2", "-no-pie", "-fno-pie"]),
    "asan": (["--tiny"], "gcc", ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
    "tsan": (["--tiny"], "gcc", ["-O1", "-fsanitize=thread"]),
    "sleds": ([], "gcc", ["-O2"]),
    "sleds-O0": ([], "gcc", ["-O0"]),
    "sleds-clang": ([], "clang", ["-O2"]),
    "sleds-static": ([], "gcc", ["-O2", "-static"]),
    "sleds-static-pie": ([], "gcc", ["-O2", "-static-pie"]),
    "sleds-no-pie": ([], "gcc", ["-O2", "-no-pie", "-fno-pie"]),
    "sleds-cet": ([], "gcc", ["-O2", "-fcf-protection"]),
    "sleds-clang-static": ([], "clang", ["-O2", "-static"]),
}


def build(way, sources, output, *flags):
    """The path of the program. Sources are files of the case's folder, or of programs/."""
    first, compiler, options = WAYS[way]
    cxx = any(s.endswith(".cpp") for s in sources)
    under = {"gcc": "g++", "clang": "clang++"}[compiler] if cxx else compiler
    sources = [s if os.path.exists(s) else os.path.join(PROGRAMS, s) for s in sources]
    run(OURO, "c++" if cxx else "cc", *first, *options, *sources, "-o", output, *flags, status=0,
        env=dict(os.environ, **{"OURO_CXX" if cxx else "OURO_CC": under}))
    return os.path.abspath(output)


def record(*command, status=0, options=("--clock", "off"), output="out.pb"):
    """Runs under `ouro run`, tiny functions included."""
    return run(OURO, "run", "-q", "--tiny", "-o", output, *options, "--", *command, status=status)


def paths(output="out.pb", metric="calls"):
    """{path: amount}, paths written a;b;c."""
    lines = run(OURO, "convert", "--to", "folded", "--metric", metric, output, "-", status=0).out.splitlines()
    return {path: int(n) for path, n in (line.rsplit(" ", 1) for line in lines)}


def totals(**more):
    """{block: amount}."""
    sums = {}
    for path, n in paths(**more).items():
        block = path.split(";")[-1]
        sums[block] = sums.get(block, 0) + n
    return sums


def wanted(source):
    """The lines `// want: a;b;c 12` of a program."""
    want = {}
    with open(os.path.join(PROGRAMS, source)) as f:
        for line in f:
            if line.startswith("// want: "):
                path, n = line[len("// want: "):].rsplit(" ", 1)
                want[path] = int(n)
    return want

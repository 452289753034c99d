#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Paths against a naive model, and counts against cProfile, on generated programs:
random_programs.py OURO PACKAGES [SEED [COUNT]]"""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import generate, oracle, suite
from suite import arguments, case, main, read, same, write

OURO, PACKAGES = arguments("OURO", "PACKAGES")
SEED = int(suite.words.pop(0)) if suite.words and suite.words[0].isdigit() else 1
COUNT = int(suite.words.pop(0)) if suite.words and suite.words[0].isdigit() else 12
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3")
ENVIRONMENT = dict(os.environ, PYTHONPATH=PACKAGES, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")


def harness(mode, output):
    suite.run(PYTHON, "-X", "utf8", HERE + "/harness.py", mode, output, "program.py", status=0, env=ENVIRONMENT)


def inside(paths):
    """Without what stands below the program, and without the threads' own bookkeeping, which depends on time."""
    result = {}
    for path, count in paths.items():
        blocks = path.split(";")
        for start in ("builtins.exec", "Thread.run"):
            if start in blocks:
                blocks = blocks[blocks.index(start) + 1:]
                break
        else:
            continue
        if blocks and not any(b.startswith(("Thread.", "Event.", "Condition.", "WeakSet.")) for b in blocks):
            key = ";".join(blocks)
            result[key] = result.get(key, 0) + count
    return {path: count for path, count in result.items() if count}


def folded(metric):
    text = suite.run(OURO, "convert", "--to", "folded", "--metric", metric, "ours.pb", "-", status=0).out
    result = {}
    for path, count in (line.rsplit(" ", 1) for line in text.splitlines()):
        result[path] = result.get(path, 0) + int(count)  # two lambdas of a function have one name
    return result


def is_as_the_model_says(seed):
    write("program.py", generate.Generator(seed).text())
    harness("model", "model.json")
    harness("ouro", "ours.pb")
    calls, resumes = json.loads(read("model.json"))
    assert inside(calls), "the program called nothing"
    same(inside(folded("calls")), inside(calls), f"calls, seed {seed}")
    same(inside(folded("resumes")), inside(resumes), f"resumes, seed {seed}")


for seed in range(SEED, SEED + COUNT):
    case(is_as_the_model_says, f"a_generated_program_is_recorded_as_the_model_says_seed_{seed}", seed)
main()

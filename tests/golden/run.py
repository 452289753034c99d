#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ouro prints, word for word: tests/golden/run.py OURO [--update] [WORD...]

cases.txt has a name and the arguments per line; NAME.want has what came out. --update writes the .want files anew:
look at the difference before it is committed.
"""
import os, shlex, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../support")
from suite import arguments, case, main, read, run, same, write

UPDATE = "--update" in sys.argv
if UPDATE:
    sys.argv.remove("--update")
OURO, = arguments("OURO")


def prints_what_is_wanted(name, words):
    done = run(OURO, *shlex.split(words), cwd=os.path.join(HERE, "inputs"),
               env={"PATH": os.environ["PATH"], "TERM": "xterm"})
    got = f"status {done.status}\n{done.out}" + (f"-- stderr\n{done.err}" if done.err else "")
    path = os.path.join(HERE, name + ".want")
    if UPDATE:
        write(path, got)
    same(got, read(path))


for line in open(os.path.join(HERE, "cases.txt")):
    if line.strip() and not line.startswith("#"):
        name, words = line.strip().split(":", 1)
        case(prints_what_is_wanted, f"ouro_prints_what_is_wanted_for_{name}", name, words)

main()

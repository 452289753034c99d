#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for fble, where test_std.py wants to run programs: compiles them first, and runs what comes out.

FBLE_REAL is the real fble, FBLE_BUILD a folder for programs, FBLE_OBJECTS one for objects. Other commands than run and
eval go to the real one. Folders are named by absolute paths. A program is compiled again if a file of its folder is
newer.
"""
import hashlib
import os
import pathlib
import subprocess
import sys

REAL, BUILD, OBJECTS = os.environ["FBLE_REAL"], pathlib.Path(os.environ["FBLE_BUILD"]), os.environ["FBLE_OBJECTS"]


def is_fresh(program, folders):
    if not program.exists():
        return False
    made = program.stat().st_mtime_ns
    return all(f.stat().st_mtime_ns < made for folder in folders for f in pathlib.Path(folder).rglob("*.fble"))


def main(command, *arguments):
    if command not in ("run", "eval"):
        os.execv(REAL, [REAL, command, *arguments])
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    own, rest = given[:end], given[end + 1:]
    source, options = [], []
    while own:
        (options if own[0].startswith("--") else source).extend([own.pop(0)] + ([own.pop(0)] if own else []))
    if "--profile-blocks" in options:  # chosen when compiling; test_compiled.py looks at both
        at = options.index("--profile-blocks")
        del options[at:at + 2]
    folders = [source[i + 1] for i, word in enumerate(source) if word == "-I"]
    program = BUILD / hashlib.sha1(repr((command, source)).encode()).hexdigest()
    if not is_fresh(program, folders):
        made = subprocess.run([REAL, "compile", "--profile", *source, "-o", program, "--build-dir", OBJECTS,
                               *(["--eval"] if command == "eval" else [])])
        if made.returncode:
            sys.exit(made.returncode if command == "eval" else 112 + made.returncode)
    os.execv(program, [program, *options, "--", *rest])


main(*sys.argv[1:])

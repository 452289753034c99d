#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ouro prints, case by case: tests/golden/run.py OURO [--update] [WORD]

cases.txt has a name and the arguments per line; NAME.want has what came out. --update writes the .want files anew:
look at the difference before it is committed.
"""
import os, shlex, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def outcome(ouro, arguments):
    done = subprocess.run([ouro] + shlex.split(arguments), cwd=os.path.join(HERE, "inputs"), stdin=subprocess.DEVNULL,
                          capture_output=True, env={"PATH": os.environ["PATH"], "TERM": "xterm"})
    err = done.stderr.decode()
    return f"status {done.returncode}\n{done.stdout.decode()}" + (f"-- stderr\n{err}" if err else "")


def main():
    ouro = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv
    words = [a for a in sys.argv[2:] if not a.startswith("-")]
    failed = 0
    for line in open(os.path.join(HERE, "cases.txt")):
        if line.startswith("#") or not line.strip():
            continue
        name, arguments = line.strip().split(":", 1)
        if words and words[0] not in name:
            continue
        path = os.path.join(HERE, name + ".want")
        got = outcome(ouro, arguments)
        if update:
            open(path, "w").write(got)
        want = open(path).read() if os.path.exists(path) else "(no file)"
        good = got == want
        failed += not good
        print("ok" if good else "not ok", f"ouro_{name}")
        if not good:
            print(f"want:\n{want}\ngot:\n{got}", file=sys.stderr)
    return failed > 0


sys.exit(main())

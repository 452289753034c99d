# SPDX-License-Identifier: MIT
"""Reads files of test programs, whose format is explained in cases.h."""
import re


def read_cases(file):
    """(name, words of what is expected, whether the main module is alone, files by name) of each case."""
    preludes, cases, prelude, to = {"none": ""}, [], None, None
    for line in open(file, encoding="utf-8", errors="surrogateescape"):
        if m := re.match(r"=== prelude (\S+)", line):
            prelude, to = m.group(1), None
            preludes[prelude] = ""
        elif m := re.match(r"=== (\S+) \((\w+)( alone)?\) (\w+(?: \d+:\d+)?)", line):
            to, name = {"Main.fble": preludes[m.group(2)]}, "Main.fble"
            cases.append((m.group(1), m.group(4).split(), bool(m.group(3)), to))
        elif m := re.match(r"--- (.+)", line):
            name = m.group(1)
            to[name] = ""
        elif to is not None and not line.startswith(">>>"):
            to[name] += line
        elif to is None and prelude:
            preludes[prelude] += line
    return cases

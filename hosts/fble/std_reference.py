#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the reference of the standard library: std_reference.py [--check]

Takes the comments and the types of everything that a module of std exports, and puts them behind the
marker in docs/fble-std.md; what stands before it is written by hand. With --check, only says whether the page
is as it should be. A name without a comment is an error.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "fble-std.md"
MARKER = "<!-- From here on written by hosts/fble/std_reference.py. -->\n"
# What others use first; the rest follows by name.
FIRST = ["Unit", "Bool", "Maybe", "Order", "Pair", "Int", "Int/Show", "List", "Char", "String", "Map", "Set",
         "Stream", "Monad", "Io", "Io/Cli", "Io/Console", "Io/Env", "Io/File/Text", "Io/File/Binary", "Io/Thread",
         "Io/Profile",
         "Test", "Show", "Eq", "Cmp", "Random", "State"]
NAME = r"('[^']*'|[^\s(){}<>,;=.]+?@?)"


def exports(text):
    """The names of the last struct of a module."""
    found = re.search(r"^@\(([^)]*)\);\s*\Z", text, re.M)
    return [name.strip() for name in found.group(1).split(",")]


def header(text):
    """The comment at the top, without the licence."""
    lines = []
    for line in text.split("\n")[1:]:
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    return " ".join(lines)


def type_of(after):
    """(name, what it is) of the definition at the start of a text."""
    alias = re.match(NAME + r" = ", after)
    if alias and alias.group(1).endswith("@"):
        body = re.match(r"(.*?);\n\n", after[alias.end():], re.S).group(1)
        return alias.group(1), "private" if ".%(" in body else " ".join(body.split())
    value = re.match(r"([^=]*?)\s" + NAME + r" =[ \n]", after)
    foreign = re.match(r"([^\n=]*) " + NAME + r";\n", after)
    found = foreign if foreign and (not value or foreign.end() < value.end()) else value
    return (found.group(2), " ".join(found.group(1).split())) if found else (None, None)


def entries(text):
    """name -> (what it is, the comment before it)."""
    found = {}
    for block in re.finditer(r"(?:^#[^\n]*\n)+", text, re.M):
        if text[block.end():].startswith("\n"):  # a comment of its own
            continue
        name, what = type_of(text[block.end():])
        if name:
            comment = " ".join(line[1:].strip() for line in block.group().strip().split("\n"))
            found.setdefault(name, (what, comment))
    return found


def section(path):
    text = path.read_text(encoding="latin1")
    known = entries(text)
    lines = [f"### /Std/{path.relative_to(HERE / 'std/Std').with_suffix('')}%\n\n{header(text)}\n\n"]
    for name in exports(text):
        if name not in known:
            sys.exit(f"{path}: {name} has no comment")
        what, comment = known[name]
        lines.append(f"- **`{name}`** `{what}`: {comment}\n")
    return "".join(lines)


def main():
    names = sorted(str(p.relative_to(HERE / "std/Std"))[:-5] for p in (HERE / "std/Std").rglob("*.fble"))
    order = FIRST + [name for name in names if name not in FIRST]
    before, marker, now = PAGE.read_text().partition(MARKER)
    want = "\n" + "\n".join(section(HERE / "std/Std" / (name + ".fble")) for name in order)
    if "--check" in sys.argv:
        sys.exit(None if marker and now == want else f"{PAGE}: run {sys.argv[0]}")
    PAGE.write_text(before + MARKER + want)


main()

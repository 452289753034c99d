#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files for vim: test_vim.py FBLE [WORD...]

A real vim, without a screen and without anybody's settings, loads editors/vim. It must indent sources of ours, from
which all indentation was taken, as they were; colour what is what; and read the errors of fble check.
"""
import json, os, pathlib, shutil, sys

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TESTS + "/../../../tests/support")
from suite import ROOT, arguments, case, main, read, run, same, skip, write

FBLE, = arguments("FBLE")
HOST = pathlib.Path(TESTS).parent


def vim(*commands, **environment):
    """Ex commands, in their order, in one vim."""
    if not shutil.which("vim") or "+syntax" not in run("vim", "--version").out:
        skip("there is no vim that can colour")
    write("commands.vim", "\n".join(commands) + "\nqall!\n")
    line = ["vim", "-u", "NONE", "-i", "NONE", "-N", "-n", "-es", "--not-a-term",
            "--cmd", f"set runtimepath^={ROOT}/editors/vim encoding=utf-8 nomore",
            "-c", "filetype plugin indent on | syntax on", "-S", "commands.vim"]
    return run(*line, status=0, timeout=120, env={**os.environ, "HOME": os.getcwd(), **environment})


@case
def files_are_known_by_their_names():
    write("A.fble", "")
    write("A.fble.@", "")
    vim("for name in ['A.fble', 'A.fble.@', 'New.fble']", "  execute 'edit ' .. name",
        "  call writefile([&filetype .. ' ' .. &shiftwidth .. ' ' .. &commentstring], 'out', 'a')", "endfor")
    same(read("out"), "fble 2 # %s\n" * 3)


@case
def sources_without_indentation_get_theirs_back():
    names = ["std/Std/List.fble", "std/Std/Io/Console.fble", "std/Std/Map.fble", "std/Std/Int.fble",
             "tests/std/Values.fble", "examples/Md5/Word.fble", "examples/Json/Print.fble"]
    commands = []
    for i, name in enumerate(names):
        flat = "\n".join(line.lstrip(" ") for line in read(HOST / name).split("\n"))
        assert flat != read(HOST / name)
        write(f"{i}.fble", flat)
        commands += [f"edit {i}.fble", "normal! gg=G", "write"]
    vim(*commands)
    for i, name in enumerate(names):
        same(read(f"{i}.fble"), read(HOST / name), name)


@case
def quoted_words_keep_their_blanks_and_brackets_in_them_do_not_count():
    text = "f = (U@ a) {\n  x = Str|'({[\n two\n   ';  # ({[\n  y;\n};\nx, y,\n  z .= /A%;\n(U@) { U@; }\ng =\n  a;\n"
    write("A.fble", "\n".join(line if i in (2, 3) else line.lstrip() for i, line in enumerate(text.split("\n"))))
    vim("edit A.fble", "normal! gg=G", "write")
    same(read("A.fble"), text)


GROUPS = """\
# a 'comment' @ /Path%
Type@, value(.other) .= /Std/'4 x'/List%;
(Type@) { Type@; } Name = <@ A@>(A@ 'a b') { a.?(tag: x, : y); };
Unit@ z := Str|'it''s # text'; Int|42.?(p: -1);
"""


@case
def what_is_what_has_colours():
    write("A.fble", GROUPS)
    vim("function! Name(line, column)", "  return synIDattr(synID(a:line, a:column, 1), 'name')", "endfunction",
        "edit A.fble", "let all = []", "for row in range(1, line('$'))",
        "  call add(all, map(range(1, len(getline(row))), {_, c -> Name(g:row, c)}))", "endfor",
        "call writefile([json_encode(all)], 'out')")
    lines = [line.encode() for line in GROUPS.split("\n")]
    groups = json.loads(read("out"))

    def group(line, word, nth=0):
        at = -1
        for _ in range(nth + 1):
            at = lines[line - 1].index(word.encode(), at + 1)
        found = set(groups[line - 1][at:at + len(word)])
        return found.pop().replace("fble", "") if len(found) == 1 else sorted(found)

    same([group(1, lines[0].decode()), group(2, "Type@"), group(2, "value"), group(2, ".="),
          group(2, "/Std/'4 x'/List%")], ["Comment", "Type", "", "Operator", "Module"])
    same([group(3, "Name"), group(3, "Type@", 1), group(3, "@", 2), group(3, "'a b'"), group(3, ".?"),
          group(3, "tag")], ["Definition", "Type", "Kind", "Quoted", "Operator", "Tag"])
    same([group(4, "'it''s # text'"), group(4, ":="), group(4, "42"), group(4, "-"), group(4, "z")],
         ["Literal", "Operator", "Literal", "Error", ""])


@case
def make_lists_the_errors_of_check():
    write("A.fble", "x = *()();\ny = z;\n*()();\n")
    vim("edit A.fble", "silent! make!", "call writefile([json_encode(map(getqflist(), {_, e -> [bufname(e.bufnr), "
        "e.lnum, e.col, e.type, e.text]}))], 'out')", PATH=f"{os.path.dirname(FBLE)}:{os.environ['PATH']}",
        FBLE_PACKAGE_PATH=str(HOST))
    same(json.loads(read("out")), [["A.fble", 2, 5, "e", "z is not defined"]])


main()

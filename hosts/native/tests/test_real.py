#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that we did not write: every function is called as often as callgrind says. test_real.py BUILD [WORD...]

The same executable runs twice: under `ouro run`, and, with profiling off, under callgrind. With hooks (--all) inlining
is off, because callgrind sees machine code and the hooks see functions: also that of functions which ask for it, as
many of the C++ library do. With sleds all of the compiler's optimisation is on. Clones that gcc makes of a function
count as the function.
"""
import os, re
import real
from native import BUILD, OURO, record, totals
from suite import case, main, run, same, write

FLAGS = ["-O1", "-g", "-fno-inline", "-fno-partial-inlining", "-fno-ipa-icf", "-fno-ipa-cp", "-fno-ipa-sra",
         "-D__always_inline__=__unused__", "-Dalways_inline=unused"]
# The C++ library has no code for what it expects to be inlined.
STRINGS = "#include <string>\ntemplate class std::allocator<char>;\ntemplate class std::basic_string<char>;\n"


# What the compiler and the C library put into every program.
STARTUP = {"_start", "_init", "_fini", "deregister_tm_clones", "register_tm_clones", "frame_dummy",
           "__do_global_dtors_aux", "_dl_relocate_static_pie", "(below main)", "atexit"}


def plain(name):
    """Without what gcc adds to the names of clones, and callgrind to recursive ones."""
    name = re.sub(r"\.(constprop|isra|part)\.\d+.*$", "", re.sub(r"'\d+$", "", name))
    return re.sub(r" \[clone .*\]$", "", name)


def callgrind_counts(path, exe, not_ours):
    """{function: calls} for the functions of the program itself."""
    tables, counts = {"fn": {}, "ob": {}}, {}

    def resolve(kind, text):
        number, name = re.match(r"\((\d+)\)(?: (.*))?$", text).groups()
        if name is not None:
            tables[kind][number] = name
        return tables[kind][number]

    here = callee_object = callee = ""
    with open(path) as f:
        for line in f:
            kind, _, text = line.rstrip("\n").partition("=")
            if kind == "ob":
                here = resolve("ob", text)
            elif kind == "fn":
                resolve("fn", text)
                callee_object = ""
            elif kind == "cob":
                callee_object = resolve("ob", text)
            elif kind == "cfn":
                callee = resolve("fn", text)
            elif kind == "calls":
                # The object of what is called is named only if it is another.
                name = plain(callee)
                known = not_ours | STARTUP
                if (callee_object or here) == exe and name not in known and not name.startswith("0x"):
                    counts[name] = counts.get(name, 0) + int(text.split()[0])
                callee_object = ""
    return counts


def is_counted_as_by_callgrind(name, functions, *more):
    builds, arguments = real.PROGRAMS[name]
    folder = os.getcwd()
    cc, cxx = [OURO, "cc", *more], [OURO, "c++", *more]
    if name == "zopflipng" and more:  # links the objects of its folder
        run(*cxx, *FLAGS, "-c", write("strings.cc", STRINGS), "-o", "strings.o", status=0)
    exe = builds(folder, cc, cxx, FLAGS if more else ["-O2", "-g"])
    ours = record(exe, *arguments(folder, 2), options=("--clock", "off", "--max-nodes", "2000000"))
    theirs = run("valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out", exe, *arguments(folder, 2),
                 status=0, timeout=900)
    if name != "minigzip":
        same(ours.out, theirs.out)
    libraries = [os.path.join(BUILD, name) for name in ("libouro-native.a", "libouro-native-sleds.a")]
    library = run("nm", "--defined-only", "-P", *libraries, status=0).out
    not_ours = {plain(line.split()[0]) for line in library.splitlines() if " " in line}
    counted = callgrind_counts("callgrind.out", exe, not_ours)
    assert len(counted) >= functions, f"callgrind saw {len(counted)} functions only"
    got = {}
    for function, calls in totals().items():
        got[plain(function)] = got.get(plain(function), 0) + calls
    same(got, counted)


for name, sentence, functions in (
        ("minigzip", "minigzip_calls_are_those_of_callgrind", 2),
        ("zopflipng", "zopflipng_calls_are_those_of_callgrind", 200),
        ("duktape", "duktape_by_its_makefile_calls_are_those_of_callgrind", 400),
        ("sqlite3", "sqlite3_by_its_configure_calls_are_those_of_callgrind", 800)):
    case(is_counted_as_by_callgrind, sentence, name, functions, "--all")
for name, functions in ("minigzip", 2), ("duktape", 200), ("sqlite3", 500), ("cmark", 70):
    case(is_counted_as_by_callgrind, f"{name}_with_sleds_calls_are_those_of_callgrind", name, functions)

main()

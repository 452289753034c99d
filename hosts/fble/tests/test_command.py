#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line of fble: test_command.py FBLE PLAIN [WORD...]

Runs the program as a user does: options, exit status, what goes where, the shape of the messages,
JSON, dependencies. PLAIN is built without the sanitizers, which need more memory than the one case
that has little of it.
"""
import json, os, re, resource, socket, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../tests/support")
from hostile import HOSTILE, quiet
from suite import ROOT, arguments, case, has, lacks, main, read, run, same, write

FBLE, PLAIN = arguments("FBLE", "PLAIN")
UNIT = "*()();\n"
HOST = os.path.dirname(HERE)


def fble(*words, status=None, cwd=None, **environment):
    return run(FBLE, *words, status=status, cwd=cwd, timeout=60, env={**os.environ, **environment})


def commands():
    return re.findall(r"^  ([a-z]+) {2,}", fble("help").out, re.M)


def document(*path):
    return read(os.path.join(ROOT, "docs", *path))


@case
def a_good_file_is_silent():
    write("A.fble", UNIT)
    same(fble("check", "A.fble"), (0, "", ""))


@case
def a_file_is_a_module_of_its_folder():
    write("sub/A.fble", "x = /B%; y = /A/C%; @(x, y);")
    write("sub/B.fble", UNIT)
    write("sub/A/C.fble", UNIT)
    same(fble("check", "sub/A.fble"), (0, "", ""))
    same(fble("check", "A.fble", cwd="sub"), (0, "", ""))
    same(fble("check", os.path.abspath("sub/A.fble"), cwd="/"), (0, "", ""))


@case
def a_module_is_found_on_the_search_path():
    write("one/A.fble", "/B%;")
    write("two/B.fble", UNIT)
    same(fble("check", "-I", "one", "-Itwo", "-m", "/A%").status, 0)
    same(fble("check", "--include", "one", "--include=two", "--module=/A%").status, 0)
    same(fble("check", "-I", "one", "-m", "/A%").status, 2)


@case
def a_package_beside_the_program_is_found():
    line = [PLAIN, "check", "-p", "std", "-m", "/Std/Set%"]
    for path, status in (("", 0), ("packages", 2)):
        run(*line, status=status, env={**os.environ, "FBLE_PACKAGE_PATH": path})
        write("packages/std/Std/Set.fble", "broken")


@case
def the_first_directory_wins():
    write("one/A.fble", UNIT)
    write("two/A.fble", "broken")
    same(fble("check", "-I", "one", "-I", "two", "-m", "/A%").status, 0)
    same(fble("check", "-I", "two", "-I", "one", "-m", "/A%").status, 2)


@case
def a_file_adds_the_search_path_after_its_folder():
    write("here/A.fble", "/B%;")
    write("lib/B.fble", UNIT)
    same(fble("check", "here/A.fble", "-I", "lib").status, 0)


@case
def packages_come_from_the_package_path():
    write("pkgs/std/A.fble", UNIT)
    write("M.fble", "/A%;")
    path = ":".join(map(os.path.abspath, ("none", "pkgs")))
    same(fble("check", "-p", "std", "M.fble", FBLE_PACKAGE_PATH=path).status, 0)
    same(fble("check", "--package", "std", "M.fble", FBLE_PACKAGE_PATH=path).status, 0)
    has(fble("check", "-p", "no", "M.fble", FBLE_PACKAGE_PATH=path, status=4).err, "no", "FBLE_PACKAGE_PATH")


@case
def quoted_module_paths_reach_the_loader():
    write("a b/C.fble", UNIT)
    same(fble("check", "-I", ".", "-m", "/'a b'/C%").status, 0)


@case
def an_error_has_a_place_a_line_and_a_caret():
    write("A.fble", "x = *()();\n\ty = zz; @(x, y);\n")
    code, out, err = fble("check", "A.fble")
    same((code, out), (2, ""))
    same(err, "A.fble:2:6: error: zz is not defined\n  \ty = zz; @(x, y);\n  \t    ^\n")


@case
def a_hint_follows_the_caret():
    write("A.fble", "@(first: *()(), second: *()()).frist;\n")
    _, _, err = fble("check", "A.fble")
    same(err.splitlines()[-1],
         "  hint: field 'frist' of *(*() first, *() second): did you mean 'first'?")


# An expression of a wrong type in every place that compares types, and where the two types were declared. The module
# begins with line 1 of MISMATCHES; A@ is of another module.
MISMATCHES = "A@, List@, U@ .= /Lib%; B@ = *(A@ a); a = A@(x: U@()); b = B@(a); F = (B@ b) { b; };\n"
MISMATCH = {
    "F(a);": ["M.fble:1:25: note: B@", "Lib.fble:2:1: note: A@"],
    "A@ y = b; y;": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "B@(b);": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "A@(y: b);": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "a.?(x: a, y: b);": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "b.@(a: b);": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "B@ z(.a) .= b; z;": ["M.fble:1:25: note: B@", "Lib.fble:2:1: note: A@"],
    "G = (List@<A@> l) { l; }; G[a, b];": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "G = (List@<A@> l) { l; }; G(List@<B@>(n: U@()));": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
    "F(@(a: a, b: b));": ["M.fble:1:25: note: B@"],  # the other is where the message is
    "s = @(a: a, b: b); F(s);": ["M.fble:1:25: note: B@", "M.fble:2:5: note: *(A@ a, B@ b)"],
    "z = { B@ = *(A@ b); B@(a); }; B@ y = z; y;": ["M.fble:1:25: note: B@", "M.fble:2:7: note: B@"],
    "<@ T@>(T@ t) { F(t); };": ["M.fble:1:25: note: B@", "M.fble:2:4: note: T@"],
    "G = ((A@) { B@; } f) { f; }; G((A@ q) { q; });": ["M.fble:1:25: note: B@", "Lib.fble:2:1: note: A@"],
    "<<@>@ M@>(M@<A@> m, (M@<B@>) { U@; } f) { f(m); };": ["M.fble:1:25: note: B@", "Lib.fble:2:1: note: A@"],
    "G = (<@ T@>(T@) { A@; } f) { f; }; G(<@ S@>(S@ _) { b; });": ["Lib.fble:2:1: note: A@", "M.fble:1:25: note: B@"],
}


@case
def a_mismatch_says_where_the_types_were_declared():
    write("Lib.fble", "U@ = *(); List@ = <@ T@> { L@ = +(*(T@ h, L@ t) c, U@ n); L@; };\n"
                      "A@ = +(U@ x, A@ y); @(A@, List@, U@);")
    for text, notes in MISMATCH.items():
        write("M.fble", MISMATCHES + text)
        said = [line for line in fble("check", "-I", ".", "-m", "/M%", status=2).err.splitlines() if ": note: " in line]
        same(said, [note + " is declared here" for note in notes], text)
        found = json.loads(fble("check", "--json", "-I", ".", "-m", "/M%", status=2).out)["diagnostics"][0]
        noted = [f"{n['file']}:{n['line']}:{n['column']}: note: {n['message']}" for n in found["notes"]]
        same(noted, said, text)
    write("H.fble", MISMATCHES + "@(v: a);")
    write("H.fble.@", MISMATCHES + "B@ v; @(v);")
    has(fble("check", "-I", ".", "-m", "/H%", status=2).err, "H.fble.@:1:25: note: B@ is", "Lib.fble:2:1: note: A@ is")


@case
def the_caret_stands_right_after_multibyte_letters():
    write("A.fble", "größe = zz; größe;\n")
    _, _, err = fble("check", "A.fble")
    lines = err.splitlines()
    assert lines[0].startswith("A.fble:1:11: error"), err
    same(lines[2], "  " + " " * 8 + "^")
    write("B.fble", "'a\u202eb' = zz; 'a\u202eb';\n")
    lines = fble("check", "B.fble")[2].splitlines()
    assert lines[1].strip().startswith("'a\\u202eb' = zz"), lines
    same(lines[2].index("^"), lines[1].index("zz"))


@case
def nothing_in_a_source_is_sent_to_a_terminal_that_it_would_obey():
    write("A.fble", f"x = '{HOSTILE}'; # {HOSTILE}\n")
    write(f"B{HOSTILE}.fble", f"# {HOSTILE}\n@({HOSTILE}: zz, '{HOSTILE}': yy).'{HOSTILE}';\n")
    write("C.fble", f"# {HOSTILE}\nzz; # {HOSTILE}\n")
    for words in (["check", "A.fble"], ["check", f"B{HOSTILE}.fble"], ["check", "C.fble"], ["check", HOSTILE],
                  ["check", "-m", HOSTILE], ["check", "--json", f"B{HOSTILE}.fble"], ["check", "--" + HOSTILE],
                  [HOSTILE], ["run", "A.fble"], ["run", "--profile", f"missing/{HOSTILE}.pb", "A.fble"],
                  ["memory", HOSTILE], ["help", HOSTILE],
                  ["compile", "A.fble", "-o", HOSTILE], ["compile", HOSTILE], ["deps", HOSTILE]):
        done = fble(*words)
        assert done.status, words
        assert done.out + done.err, words
        quiet((done.out + done.err).replace("\t", ""), words)
    lines = fble("check", "C.fble").err.splitlines()
    same(lines[2].index("^"), 2)
    write(f"D{HOSTILE}.fble", UNIT)
    quiet(fble("disassemble", f"D{HOSTILE}.fble", status=0).out, "disassemble")


@case
def long_lines_are_cut_around_the_caret():
    write("A.fble", "x = *()(); " + "a = x; " * 1000 + "zz;" + " # end" * 1000 + "\n")
    _, _, err = fble("check", "A.fble")
    lines = err.splitlines()
    assert all(len(line) < 120 for line in lines), max(map(len, lines))
    same(lines[1][len(lines[2]) - 1:][:2], "zz")


@case
def several_errors_in_the_order_of_the_file():
    write("A.fble", "a = zz; b = yy; @(a, b, c: xx);\n")
    _, _, err = fble("check", "A.fble")
    places = [line.split(":")[1:3] for line in err.splitlines() if ": error:" in line]
    same(places, [["1", "5"], ["1", "13"], ["1", "28"]])


@case
def warnings_do_not_fail():
    write("A.fble", "x = *()(); *();\n")
    code, _, err = fble("check", "A.fble")
    same(code, 0)
    assert err.startswith("A.fble:1:1: warning: "), err


@case
def nothing_is_called_unused_where_a_dependency_is_broken():
    write("A.fble", "x = /B%; unused = *()(); x.y;\n")
    write("B.fble", "zz;\n")
    err = fble("check", "A.fble", status=2).err
    has(err, "B.fble:1:1: error")
    lacks(err, "warning")


@case
def a_missing_main_module_is_reported_at_its_path():
    code, _, err = fble("check", "-I", ".", "-m", "/No/Such%")
    same(code, 2)
    assert err.startswith('"/No/Such%":1:1: error: '), err


@case
def a_file_that_cannot_be_read_is_another_error():
    same(fble("check", "No.fble").status, 5)
    os.mkdir("Dir.fble")
    same(fble("check", "Dir.fble").status, 5)
    if os.getuid():
        write("Shut.fble", UNIT)
        os.chmod("Shut.fble", 0)
        same(fble("check", "Shut.fble").status, 5)


@case
def a_file_that_fails_to_open_is_another_error():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("A.fble")
        write("B.fble", "/A%;")
        code, _, err = fble("check", "B.fble")
    same(code, 5)
    assert err.startswith("A.fble:1:1: error: cannot read the file: "), err


@case
def an_empty_search_path_is_pointed_out():
    has(fble("check", "-m", "/A%").err, "give it with -I")


@case
def very_many_messages_are_cut():
    write("A.fble", "".join(f"a{i} = zz{i};\n" for i in range(250)) + "*();\n")
    _, _, err = fble("check", "A.fble")
    same(err.count(": error:"), 100)
    same(err.splitlines()[-1], "150 more messages are not shown")
    same(len(json.loads(fble("check", "--json", "A.fble").out)["diagnostics"]), 250)


@case
def warnings_do_not_hide_errors():
    write("Lib.fble", "".join(f"a{i} = *()();\n" for i in range(250)) + "*()();\n")
    write("A.fble", "b = /Lib%;\nzz;\n")
    _, _, err = fble("check", "-I", ".", "-m", "/A%", status=2)
    has(err, "A.fble:2:1: error: ")
    same((err.count(": warning:"), err.splitlines()[-1]), (99, "151 more messages are not shown"))


@case
def usage_errors_are_told():
    write("A.fble", UNIT)
    for line in ("", "nosuch", "check", "check -m", "check -m A", "check -m /A",
                 "check --nosuch A.fble", "check A.txt", "check A.fble B.fble",
                 "check A.fble -m /A%", "check .fble", "deps", "help nosuch"):
        done = fble(*line.split())
        same(done.status, 4, line)
        assert done.err, line


@case
def help_goes_to_stdout():
    for line in ("--help", "-h", "help", "help check", "check --help", "help deps"):
        code, out, err = fble(*line.split())
        same((code, err), (0, ""))
        assert out.startswith("usage: fble"), out
    has(fble("help", "check").out, "-p")


@case
def the_version_is_one_line():
    code, out, _ = fble("--version")
    same(code, 0)
    name, version = out.split()
    same(name, "fble")
    assert version[0].isdigit(), version
    for command in commands():
        same(fble(command, "--version")[:2], (0, out))


@case
def every_option_is_in_the_manual_and_in_the_completions():
    bash, zsh = document("completions", "fble.bash"), document("completions", "_fble")
    fish = document("completions", "fble.fish")
    for command in commands():
        text = fble("help", command).out
        page = document("man", "fble-compile.1" if command == "compile" else "fble.1").replace("\\-", "-")
        wanted = re.findall(r"^  (?:-. [A-Z]+, |    )(--[a-z-]+)", text, re.M)
        assert len(wanted) > 2, command
        for option in wanted:
            has(page, option, about=f"{command}, the manual")
            has(bash, option, about=f"{command}, the completions")
            has(zsh, option, about=f"{command}, the completions")
            has(fish, f"-l {option[2:]} ", about=f"{command}, the completions")
        has(fish, f"-a {command} ", about=command)
        has(bash, command, about=command)
        has(zsh, command, about=command)
        has(page, command, about=command)
        has(text, "\nexamples:\n  fble " + command, about=command)


@case
def bash_completes_commands_options_and_values():
    def complete(*words):
        line = (f"source {ROOT}/docs/completions/fble.bash; COMP_WORDS=({' '.join(words)}); "
                f"COMP_CWORD={len(words) - 1}; _fble; echo \"${{COMPREPLY[@]}}\"")
        done = run("bash", "-c", line, env={**os.environ, "FBLE_PACKAGE_PATH": os.getcwd()})
        same(done.err, "")
        return done.out.split()
    write("mine/A.fble", UNIT)
    write("Program.fble", UNIT)
    same(complete("fble", "di"), ["disassemble"])
    same(complete("fble", "help", "co"), ["compile"])
    same(complete("fble", "run", "--profile-m"), ["--profile-metrics", "--profile-max-nodes"])
    same(complete("fble", "compile", "--l"), ["--library"])
    same(complete("fble", "run", "--profile-compact", "lo"), ["loops"])
    same(complete("fble", "run", "-p", "mi"), ["mine"])
    same(complete("fble", "run", "-p", "mine", "Pro"), ["Program.fble"])
    same(complete("fble", "run", "Program.fble", "--", "--pro"), [])


@case
def double_dash_ends_the_options():
    write("-x.fble", UNIT)
    same(fble("check", "--", "-x.fble").status, 0)


@case
def json_is_for_editors():
    write("A.fble", 'x = *()(); @(a: "\\.\x01, first: x).frist;\n')
    code, out, err = fble("check", "--json", "A.fble")
    same((code, err), (2, ""))
    found = json.loads(out)
    same(found["errors"], 1)
    first = found["diagnostics"][0]
    place = (first["file"], first["line"], first["column"], first["severity"])
    same(place, ("A.fble", 1, 17, "error"))
    write("B.fble", "x = *()(); *();\n")
    code, out, _ = fble("check", "--json", "B.fble")
    same((code, json.loads(out)["warnings"]), (0, 1))
    write("C.fble", UNIT)
    same(json.loads(fble("check", "--json", "C.fble").out)["diagnostics"], [])


@case
def json_replaces_what_is_not_utf8():
    write("A.fble", b"\xff\xc3\xa4\xf0;\n")
    code, out, _ = fble("check", "--json", "A.fble")
    same(code, 2)
    same(json.loads(out)["diagnostics"][0]["message"], "\ufffdä\ufffd is not defined")
    write("B.fble", 'a"\\\x01;\n')
    same(json.loads(fble("check", "--json", "B.fble").out)["diagnostics"][0]["message"],
         'a"\\\x01 is not defined')


@case
def the_standard_input_is_checked_as_a_module_of_the_current_folder():
    def check(text, *words, status):
        return run(FBLE, "check", *words, "-", stdin=text, status=status)
    write("B.fble", "@(x: *()());")
    same(check("/B%.x;", status=0), (0, "", ""))
    same(check("x = /B%.x; y;", status=2).err.split("\n")[0], "<stdin>:1:12: error: y is not defined")
    same(json.loads(check("/B%.y;", "--json", status=2).out)["diagnostics"][0]["file"], "<stdin>")
    same(check("", status=2).err.split(": ")[0], "<stdin>:1:1")
    check("*()();\0", status=2)
    # Private types depend on the module's path, and the file of that path need not be there, or is not read.
    private = "A@ = *().%(@/P%); A@();"
    check(private, status=2)
    check(private, "-m", "/P/Q%", status=0)
    write("P.fble", "nothing;")
    check(private, "-m", "/P%", status=0)
    has(check(private, "-m", "/'a/b'%", status=4).err, "no file can have the name of /'a/b'%")
    has(run(FBLE, "eval", "-", stdin=UNIT, status=4).err, "a file must be called NAME.fble")


@case
def a_standard_input_that_cannot_be_read_is_another_error():
    folder = os.open(".", os.O_RDONLY)
    try:
        has(run(FBLE, "check", "-", stdin=folder, status=5).err, "cannot read the standard input")
    finally:
        os.close(folder)


@case
def headers_are_enough_for_checking_alone():
    write("A.fble", "x = /H%; x.a;")
    write("H.fble", "this is no program")
    write("H.fble.@", "*() a; @(a);")
    same(fble("check", "--alone", "A.fble"), (0, "", ""))
    same(fble("check", "A.fble").status, 2)


@case
def deps_is_a_rule_for_make():
    write("A.fble", "x = /B%; y = /'c d'%; @(x, y);")
    write("B.fble", UNIT)
    write("B.fble.@", "*() x; x;")
    write("c d.fble", "/B%;")
    code, out, err = fble("deps", "-I", ".", "-m", "/A%")
    same((code, err), (0, ""))
    same(out, "A: \\\n  A.fble \\\n  B.fble.@ \\\n  B.fble \\\n  c\\ d.fble\n")
    rule = fble("deps", "-t", "a.out", "--alone", "A.fble").out
    same(rule.replace(" \\\n ", ""), "a.out: A.fble B.fble.@ c\\ d.fble\n")


@case
def make_reads_the_rule():
    write("A.fble", "x = /'c$ d#%e'%; x;")
    write("c$ d#%e.fble", UNIT)
    write("rule.mk", fble("deps", "-t", "all", "A.fble").out)
    write("Makefile", "include rule.mk\nall:\n\t@echo made\n")
    same(run("make", "-s"), (0, "made\n", ""))


@case
def make_reads_every_name_that_it_can():
    for i, name in enumerate((":", "=", "+=", "|", "*", "?", "[x]", "~", "\\", "\\ ", "\\#", "\\:",
                              "\\\\", "$(x)", "a = b", "%", "(", "'", '"', "`", "&", "!", "-x")):
        folder = str(i)
        write(f"{folder}/x.fble", UNIT)  # a pattern must not take it for another file
        write(f"{folder}/{name}.fble", UNIT)
        for target in ("out", name + "t"):
            module = "/'" + name.replace("'", "''") + "'%"
            code, rule, err = fble("deps", "-I", ".", "-m", module, "-t", target, cwd=folder)
            same((code, err), (0, ""))
            write(f"{folder}/rule.mk", rule)
            shown = run("make", "-rRpnf", "rule.mk", cwd=folder).out
            has(shown, f"\n{target}: {name}.fble\n", about=f"make misread {rule!r}")


@case
def a_name_that_make_cannot_read_is_refused():
    for name in ("a;b", "a\nb"):
        write(name + ".fble", UNIT)
        code, out, err = fble("deps", name + ".fble")
        same((code, out), (5, ""))
        has(err, "make cannot name the file")


@case
def output_that_cannot_be_written_is_an_error():
    write("A.fble", UNIT)
    for words in (("deps", "A.fble"), ("check", "--json", "A.fble"), ("help",)):
        with open("/dev/full", "w") as full:
            done = subprocess.run([FBLE, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        same(done.returncode, 5)
        has(done.stderr, "cannot write the output")


@case
def options_of_one_command_are_unknown_to_the_other():
    write("A.fble", UNIT)
    same(fble("deps", "--json", "A.fble")[:2], (4, ""))
    same(fble("check", "-t", "x", "A.fble").status, 4)


@case
def a_file_that_cannot_be_looked_at_is_not_missing():
    os.symlink("L.fble", "L.fble")
    write("A.fble", "/L%;")
    code, _, err = fble("check", "A.fble")
    same(code, 5)
    assert err.startswith("L.fble:1:1: error: cannot read the file: "), err
    code, _, err = fble("check", "L.fble")
    same(code, 5)
    assert err.startswith("fble check: cannot read L.fble: "), err


TESTS = """
Unit@ .= /Std/Unit%; B = /Std/Bool%; Str, StringE .= /Std/String%; One, Two .= /Std/Int%;
Tests, Test, Pass, Fail, SameInt, Holds .= /Std/Test%;
Tests[
  { Unit@ _ := Test(Str|'is fine'); Pass; },
  { Unit@ _ := Test(Str|'is wrong'); SameInt(One, Two); },
  { Unit@ _ := Test(Str|'breaks'); Unit@ _ = B.True.false; Pass; },
  { Unit@ _ := Test(StringE|'two\\nlines\\x1b[0m'); Fail(StringE|'one\\n\\x1b two\\n'); },
  Test(Str|'goes on', (Unit@ _) { Holds(B.True); })];
"""
SAID = """\
ok /T% is fine
not ok /T% is wrong
    sub/T.fble:6:38: expected 2, got 1
not ok /T% breaks
    sub/T.fble:7:53: error: the union has another tag, in /T%
not ok /T% two lines [0m
    sub/T.fble:8:51: one
      two
ok /T% goes on
"""


def test(*words, status):
    return run(FBLE, "test", "-p", "std", *words, status=status, env={**os.environ, "FBLE_PACKAGE_PATH": HOST})


@case
def tests_are_run_and_said_to_be_fine_or_not():
    write("sub/T.fble", TESTS)
    same(test("sub/T.fble", status=1), (1, SAID + "# 2 passed, 3 failed\n", ""))
    same(test("-w", "fine", "--word", "goes", "sub/T.fble", status=0).out,
         "ok /T% is fine\nok /T% goes on\n# 2 passed, 0 failed, 3 left out\n")
    has(test("-w", "nothing", "sub/T.fble", status=5).err, "there was no test to run")
    same(test("-I", "sub", "-m", "/T%", "-w", "goes", status=0).out.split("\n")[0], "ok /T% goes on")


@case
def tests_are_found_in_a_folder_by_their_type():
    write("sub/T.fble", TESTS)
    write("sub/Deep/Er.fble", "T = /Std/Test%; T.Tests[T.Test(/Std/String%.Str|one, (*() _) { T.Pass; })];")
    write("sub/Helper.fble", "T = /Std/Test%; @(pass: T.Pass);")  # uses the framework, is no module of tests
    write("sub/Other.fble", UNIT)
    write("sub/Broken.fble", "not Fble")
    write("sub/no fble.txt", "")
    os.symlink(".", "sub/loop")
    same(test("sub", "-w", "one", "-w", "fine", status=0).out,
         "ok /Deep/Er% one\nok /T% is fine\n# 2 passed, 0 failed, 4 left out\n")
    # Below a folder of the search path they are modules of that.
    write("sub/Deep/Private.fble", "T@ = *().%(@/Deep%); T = /Std/Test%; t = T@();"
          "T.Tests[T.Test(/Std/String%.Str|two, (*() _) { _ = t; T.Pass; })];")
    same(test("-I", "sub", "sub/Deep", status=0).out.split("\n")[-2], "# 2 passed, 0 failed")
    has(test("sub/Deep", status=1).out, "not ok /Private% (it does not compile)")


@case
def a_module_of_tests_that_does_not_compile_or_fails_is_one_that_failed():
    write("sub/A.fble", "Tests .= /Std/Test%; Tests[x];")
    write("sub/B.fble", "Unit@ _ = /Std/Bool%.True.false; /Std/Test%.Tests[];".replace("Unit@", "*()"))
    write("sub/C.fble", "T = /Std/Test%; T.Tests[T.Test(/Std/String%.Str|last, (*() _) { T.Pass; })];")
    got = test("sub", status=1)
    same(got.out, "not ok /A% (it does not compile)\nnot ok /B% (it fails)\nok /C% last\n# 1 passed, 2 failed\n")
    has(got.err, "sub/A.fble:1:28: error: x is not defined", "sub/B.fble:1:25: error: the union has another tag")


@case
def what_is_no_test_is_refused():
    write("A.fble", UNIT)
    write("empty/README", "")
    has(test("A.fble", status=5).err, "not a module of type /Std/Test%.Tests@: /A%")
    has(test("empty", status=5).err, "there is no module of tests in the folder empty")
    has(test(status=5).err, "there is no module of tests in the folder .")
    has(test("missing.fble", status=5).err, "cannot read missing.fble")
    has(test("A.fble", "empty", status=4).err, "one file at a time")
    write("sub/T.fble", TESTS)
    write("sub/U.fble", TESTS)
    has(test("sub", "--profile", "t.pb", status=5).err, "a profile is of one module")
    test("sub/T.fble", "--profile", "t.pb", status=1)
    assert os.path.getsize("t.pb") > 100


@case
def deps_does_not_check_types():
    write("A.fble", "zz;")
    same(fble("deps", "A.fble").status, 0)
    write("B.fble", "/No%;")
    same(fble("deps", "B.fble")[:2], (2, ""))


@case
def running_out_of_memory_is_said():
    write("A.fble", "x = *()();\n" * 500000 + "x;\n")
    limit = 128 << 20
    done = run(PLAIN, "check", "A.fble", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    same((done.status, done.err), (5, "fble: out of memory\n"))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line of fble: test_command.py FBLE PLAIN

Runs the program as a user does: options, exit status, what goes where, the shape of the messages,
JSON, dependencies. One case per function; its name is the sentence. PLAIN is built without the
sanitizers, which need more memory than the one case that has little of it.
"""
import json, os, re, resource, socket, subprocess, sys, tempfile

FBLE = os.path.abspath(sys.argv[1])
PLAIN = os.path.abspath(sys.argv[2])
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs")
UNIT = "*()();\n"


def run(folder, *arguments, **environment):
    done = subprocess.run([FBLE, *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=60, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def a_good_file_is_silent(t):
    write(t, "A.fble", UNIT)
    same(run(t, "check", "A.fble"), (0, "", ""))


def a_file_is_a_module_of_its_folder(t):
    write(t, "sub/A.fble", "x = /B%; y = /A/C%; @(x, y);")
    write(t, "sub/B.fble", UNIT)
    write(t, "sub/A/C.fble", UNIT)
    same(run(t, "check", "sub/A.fble"), (0, "", ""))
    same(run(t + "/sub", "check", "A.fble"), (0, "", ""))
    same(run("/", "check", t + "/sub/A.fble"), (0, "", ""))


def a_module_is_found_on_the_search_path(t):
    write(t, "one/A.fble", "/B%;")
    write(t, "two/B.fble", UNIT)
    same(run(t, "check", "-I", "one", "-Itwo", "-m", "/A%")[0], 0)
    same(run(t, "check", "--include", "one", "--include=two", "--module=/A%")[0], 0)
    same(run(t, "check", "-I", "one", "-m", "/A%")[0], 2)


def a_package_beside_the_program_is_found(t):
    line = [PLAIN, "check", "-p", "std", "-m", "/Std/Set%"]
    for path, status in (("", 0), ("packages", 2)):
        done = subprocess.run(line, cwd=t, capture_output=True, timeout=60,
                              env={**os.environ, "FBLE_PACKAGE_PATH": path})
        same(done.returncode, status)
        write(t, "packages/std/Std/Set.fble", "broken")


def the_first_directory_wins(t):
    write(t, "one/A.fble", UNIT)
    write(t, "two/A.fble", "broken")
    same(run(t, "check", "-I", "one", "-I", "two", "-m", "/A%")[0], 0)
    same(run(t, "check", "-I", "two", "-I", "one", "-m", "/A%")[0], 2)


def a_file_adds_the_search_path_after_its_folder(t):
    write(t, "here/A.fble", "/B%;")
    write(t, "lib/B.fble", UNIT)
    same(run(t, "check", "here/A.fble", "-I", "lib")[0], 0)


def packages_come_from_the_package_path(t):
    write(t, "pkgs/std/A.fble", UNIT)
    write(t, "M.fble", "/A%;")
    path = f"{t}/none:{t}/pkgs"
    same(run(t, "check", "-p", "std", "M.fble", FBLE_PACKAGE_PATH=path)[0], 0)
    same(run(t, "check", "--package", "std", "M.fble", FBLE_PACKAGE_PATH=path)[0], 0)
    code, _, err = run(t, "check", "-p", "no", "M.fble", FBLE_PACKAGE_PATH=path)
    same(code, 4)
    assert "no" in err and "FBLE_PACKAGE_PATH" in err, err


def quoted_module_paths_reach_the_loader(t):
    write(t, "a b/C.fble", UNIT)
    same(run(t, "check", "-I", ".", "-m", "/'a b'/C%")[0], 0)


def an_error_has_a_place_a_line_and_a_caret(t):
    write(t, "A.fble", "x = *()();\n\ty = zz; @(x, y);\n")
    code, out, err = run(t, "check", "A.fble")
    same((code, out), (2, ""))
    same(err, "A.fble:2:6: error: zz is not defined\n  \ty = zz; @(x, y);\n  \t    ^\n")


def a_hint_follows_the_caret(t):
    write(t, "A.fble", "@(first: *()(), second: *()()).frist;\n")
    _, _, err = run(t, "check", "A.fble")
    same(err.splitlines()[-1],
         "  hint: field 'frist' of *(*() first, *() second): did you mean 'first'?")


def the_caret_stands_right_after_multibyte_letters(t):
    write(t, "A.fble", "größe = zz; größe;\n")
    _, _, err = run(t, "check", "A.fble")
    lines = err.splitlines()
    assert lines[0].startswith("A.fble:1:11: error"), err
    same(lines[2], "  " + " " * 8 + "^")


def long_lines_are_cut_around_the_caret(t):
    write(t, "A.fble", "x = *()(); " + "a = x; " * 1000 + "zz;" + " # end" * 1000 + "\n")
    _, _, err = run(t, "check", "A.fble")
    lines = err.splitlines()
    assert all(len(line) < 120 for line in lines), max(map(len, lines))
    same(lines[1][len(lines[2]) - 1:][:2], "zz")


def several_errors_in_the_order_of_the_file(t):
    write(t, "A.fble", "a = zz; b = yy; @(a, b, c: xx);\n")
    _, _, err = run(t, "check", "A.fble")
    places = [line.split(":")[1:3] for line in err.splitlines() if ": error:" in line]
    same(places, [["1", "5"], ["1", "13"], ["1", "28"]])


def warnings_do_not_fail(t):
    write(t, "A.fble", "x = *()(); *();\n")
    code, _, err = run(t, "check", "A.fble")
    same(code, 0)
    assert err.startswith("A.fble:1:1: warning: "), err


def nothing_is_called_unused_where_a_dependency_is_broken(t):
    write(t, "A.fble", "x = /B%; unused = *()(); x.y;\n")
    write(t, "B.fble", "zz;\n")
    code, _, err = run(t, "check", "A.fble")
    same(code, 2)
    assert "B.fble:1:1: error" in err and "warning" not in err, err


def a_missing_main_module_is_reported_at_its_path(t):
    code, _, err = run(t, "check", "-I", ".", "-m", "/No/Such%")
    same(code, 2)
    assert err.startswith('"/No/Such%":1:1: error: '), err


def a_file_that_cannot_be_read_is_another_error(t):
    same(run(t, "check", "No.fble")[0], 5)
    os.mkdir(t + "/Dir.fble")
    same(run(t, "check", "Dir.fble")[0], 5)
    if os.getuid():
        write(t, "Shut.fble", UNIT)
        os.chmod(t + "/Shut.fble", 0)
        same(run(t, "check", "Shut.fble")[0], 5)


def a_file_that_fails_to_open_is_another_error(t):
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(t)  # the name of a socket must be short
        server.bind("A.fble")
        write(t, "B.fble", "/A%;")
        code, _, err = run(t, "check", "B.fble")
        os.chdir("/")
    same(code, 5)
    assert err.startswith("A.fble:1:1: error: cannot read the file: "), err


def an_empty_search_path_is_pointed_out(t):
    assert "give it with -I" in run(t, "check", "-m", "/A%")[2]


def very_many_messages_are_cut(t):
    write(t, "A.fble", "".join(f"a{i} = zz{i};\n" for i in range(250)) + "*();\n")
    _, _, err = run(t, "check", "A.fble")
    same(err.count(": error:"), 100)
    same(err.splitlines()[-1], "150 more messages are not shown")
    same(len(json.loads(run(t, "check", "--json", "A.fble")[1])["diagnostics"]), 250)


def usage_errors(t):
    write(t, "A.fble", UNIT)
    for line in ("", "nosuch", "check", "check -m", "check -m A", "check -m /A",
                 "check --nosuch A.fble", "check A.txt", "check A.fble B.fble",
                 "check A.fble -m /A%", "check .fble", "deps", "help nosuch"):
        arguments = line.split()
        code, _, err = run(t, *arguments)
        same((arguments, code), (arguments, 4))
        assert err, arguments


def help_goes_to_stdout(t):
    for line in ("--help", "-h", "help", "help check", "check --help", "help deps"):
        code, out, err = run(t, *line.split())
        same((code, err), (0, ""))
        assert out.startswith("usage: fble"), out
    assert "-p" in run(t, "help", "check")[1]


def the_version_is_one_line(t):
    code, out, _ = run(t, "--version")
    same(code, 0)
    name, version = out.split()
    same(name, "fble")
    assert version[0].isdigit(), version
    for command in commands(t):
        same(run(t, command, "--version")[:2], (0, out))


def commands(t):
    return re.findall(r"^  ([a-z]+) {2,}", run(t, "help")[1], re.M)


def document(*path):
    with open(os.path.join(DOCS, *path)) as f:
        return f.read()


def every_option_is_in_the_manual_and_in_the_completions(t):
    bash, zsh = document("completions", "fble.bash"), document("completions", "_fble")
    for command in commands(t):
        text = run(t, "help", command)[1]
        page = document("man", "fble-compile.1" if command == "compile" else "fble.1").replace("\\-", "-")
        wanted = re.findall(r"^  (?:-. [A-Z]+, |    )(--[a-z-]+)", text, re.M)
        assert len(wanted) > 2, command
        for option in wanted:
            assert option in page, f"{command} {option} is not in the manual"
            assert option in bash and option in zsh, f"{command} {option} is not in the completions"
        assert command in bash and command in zsh and command in page, command
        assert "\nexamples:\n  fble " + command in text, command


def bash_completes_commands_options_and_values(t):
    def complete(*words):
        line = (f"source {DOCS}/completions/fble.bash; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
                "_fble; echo \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", line], cwd=t, capture_output=True, text=True,
                              env={**os.environ, "FBLE_PACKAGE_PATH": t})
        same(done.stderr, "")
        return done.stdout.split()
    write(t, "mine/A.fble", UNIT)
    write(t, "Program.fble", UNIT)
    same(complete("fble", "di"), ["disassemble"])
    same(complete("fble", "help", "co"), ["compile"])
    same(complete("fble", "run", "--profile-m"), ["--profile-metrics", "--profile-max-nodes"])
    same(complete("fble", "compile", "--l"), ["--library"])
    same(complete("fble", "run", "--profile-compact", "lo"), ["loops"])
    same(complete("fble", "run", "-p", "mi"), ["mine"])
    same(complete("fble", "run", "-p", "mine", "Pro"), ["Program.fble"])
    same(complete("fble", "run", "Program.fble", "--", "--pro"), [])


def double_dash_ends_the_options(t):
    write(t, "-x.fble", UNIT)
    same(run(t, "check", "--", "-x.fble")[0], 0)


def json_is_for_editors(t):
    write(t, "A.fble", 'x = *()(); @(a: "\\.\x01, first: x).frist;\n')
    code, out, err = run(t, "check", "--json", "A.fble")
    same((code, err), (2, ""))
    found = json.loads(out)
    same(found["errors"], 1)
    first = found["diagnostics"][0]
    place = (first["file"], first["line"], first["column"], first["severity"])
    same(place, ("A.fble", 1, 17, "error"))
    write(t, "B.fble", "x = *()(); *();\n")
    code, out, _ = run(t, "check", "--json", "B.fble")
    same((code, json.loads(out)["warnings"]), (0, 1))
    write(t, "C.fble", UNIT)
    same(json.loads(run(t, "check", "--json", "C.fble")[1])["diagnostics"], [])


def json_replaces_what_is_not_utf8(t):
    with open(t + "/A.fble", "wb") as f:
        f.write(b"\xff\xc3\xa4\xf0;\n")
    code, out, _ = run(t, "check", "--json", "A.fble")
    same(code, 2)
    same(json.loads(out)["diagnostics"][0]["message"], "\ufffdä\ufffd is not defined")
    write(t, "B.fble", 'a"\\\x01;\n')
    same(json.loads(run(t, "check", "--json", "B.fble")[1])["diagnostics"][0]["message"],
         'a"\\\x01 is not defined')


def headers_are_enough_for_checking_alone(t):
    write(t, "A.fble", "x = /H%; x.a;")
    write(t, "H.fble", "this is no program")
    write(t, "H.fble.@", "*() a; @(a);")
    same(run(t, "check", "--alone", "A.fble"), (0, "", ""))
    same(run(t, "check", "A.fble")[0], 2)


def deps_is_a_rule_for_make(t):
    write(t, "A.fble", "x = /B%; y = /'c d'%; @(x, y);")
    write(t, "B.fble", UNIT)
    write(t, "B.fble.@", "*() x; x;")
    write(t, "c d.fble", "/B%;")
    code, out, err = run(t, "deps", "-I", ".", "-m", "/A%")
    same((code, err), (0, ""))
    same(out, "A: \\\n  A.fble \\\n  B.fble.@ \\\n  B.fble \\\n  c\\ d.fble\n")
    rule = run(t, "deps", "-t", "a.out", "--alone", "A.fble")[1]
    same(rule.replace(" \\\n ", ""), "a.out: A.fble B.fble.@ c\\ d.fble\n")


def make_reads_the_rule(t):
    write(t, "A.fble", "x = /'c$ d#%e'%; x;")
    write(t, "c$ d#%e.fble", UNIT)
    write(t, "rule.mk", run(t, "deps", "-t", "all", "A.fble")[1])
    write(t, "Makefile", "include rule.mk\nall:\n\t@echo made\n")
    made = subprocess.run(["make", "-s"], cwd=t, capture_output=True, text=True)
    same((made.returncode, made.stdout, made.stderr), (0, "made\n", ""))


def make_reads_every_name_that_it_can(t):
    for i, name in enumerate((":", "=", "+=", "|", "*", "?", "[x]", "~", "\\", "\\ ", "\\#", "\\:",
                              "\\\\", "$(x)", "a = b", "%", "(", "'", '"', "`", "&", "!", "-x")):
        folder = f"{t}/{i}"
        write(folder, "x.fble", UNIT)  # a pattern must not take it for another file
        write(folder, name + ".fble", UNIT)
        for target in ("out", name + "t"):
            module = "/'" + name.replace("'", "''") + "'%"
            code, rule, err = run(folder, "deps", "-I", ".", "-m", module, "-t", target)
            same((code, err), (0, ""))
            write(folder, "rule.mk", rule)
            shown = subprocess.run(["make", "-rRpnf", "rule.mk"], cwd=folder, capture_output=True,
                                   text=True).stdout
            assert f"\n{target}: {name}.fble\n" in shown, f"make misread {rule!r}"


def a_name_that_make_cannot_read_is_refused(t):
    for name in ("a;b", "a\nb"):
        write(t, name + ".fble", UNIT)
        code, out, err = run(t, "deps", name + ".fble")
        same((code, out), (5, ""))
        assert "make cannot name the file" in err, err


def output_that_cannot_be_written_is_an_error(t):
    write(t, "A.fble", UNIT)
    for arguments in (("deps", "A.fble"), ("check", "--json", "A.fble"), ("help",)):
        with open("/dev/full", "w") as full:
            done = subprocess.run([FBLE, *arguments], cwd=t, stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        same(done.returncode, 5)
        assert "cannot write the output" in done.stderr, done.stderr


def options_of_one_command_are_unknown_to_the_other(t):
    write(t, "A.fble", UNIT)
    same(run(t, "deps", "--json", "A.fble")[:2], (4, ""))
    same(run(t, "check", "-t", "x", "A.fble")[0], 4)


def a_file_that_cannot_be_looked_at_is_not_missing(t):
    os.symlink("L.fble", os.path.join(t, "L.fble"))
    write(t, "A.fble", "/L%;")
    code, _, err = run(t, "check", "A.fble")
    same(code, 5)
    assert err.startswith("L.fble:1:1: error: cannot read the file: "), err
    code, _, err = run(t, "check", "L.fble")
    same(code, 5)
    assert err.startswith("fble check: cannot read L.fble: "), err


def deps_does_not_check_types(t):
    write(t, "A.fble", "zz;")
    same(run(t, "deps", "A.fble")[0], 0)
    write(t, "B.fble", "/No%;")
    same(run(t, "deps", "B.fble")[:2], (2, ""))


def running_out_of_memory_is_said(t):
    write(t, "A.fble", "x = *()();\n" * 500000 + "x;\n")
    limit = 128 << 20
    done = subprocess.run([PLAIN, "check", "A.fble"], cwd=t, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    same((done.returncode, done.stderr), (5, "fble: out of memory\n"))


def main():
    failed = 0
    for name, case in list(globals().items()):
        if not callable(case) or name in ("run", "write", "same", "main", "commands", "document") or isinstance(case, type):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
                print("ok", name)
            except Exception as problem:
                failed += 1
                print(f"{name}: {problem}", file=sys.stderr)
                print("not ok", name)
    return failed > 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ouro run`, `ouro cc` and `ouro c++` as commands, and names for addresses: test_run.py BUILD [WORD]"""
import os, re, signal, subprocess
import real
from native import Failure, expect, run_cases

SMALL = """#include <stdio.h>
__attribute__((noinline)) static int twice(int n) { __asm__ volatile("" : "+r"(n)); return 2 * n; }
__attribute__((noinline)) int visible(int n) { n = twice(n); __asm__ volatile("" : "+r"(n)); return n; }
int main(int argc, char **argv) { printf("%d %s\\n", visible(21), argc > 1 ? argv[1] : ""); return 7; }
"""
WANT = {"main": 1, "main;visible": 1, "main;visible;twice": 1}
cases = []


def case(function):
    cases.append((function.__name__, function))
    return function


def need(condition, text):
    if not condition:
        raise Failure(text)


def small(host, way="gcc", *flags):
    return host.compile(way, [real.write(host.path("small.c"), SMALL)], "small", *flags)


def report(host, output="out.pb"):
    return host.sh([host.ouro, "report", "--self", "--metric", "calls", host.path(output)]).stdout


# ---------------------------------------------------------------- names

for way in ("gcc", "clang", "xray", "static"):
    def lines(host, way=way):
        host.run(small(host, way), status=7)
        text = report(host)
        for name, line in (("twice", 2), ("visible", 3), ("main", 4)):
            need(re.search(rf"{name}  \S*small\.c:{line}$", text, re.M), f"{name} is not at line {line}:\n{text}")
    cases.append((f"functions_have_files_and_lines_{way}", lines))


@case
def a_stripped_program_without_debug_file_has_offsets(host):
    exe = small(host)
    host.sh(["strip", exe])
    host.run(exe, status=7)
    names = [p.split(";")[-1] for p in host.paths()]
    need(len(names) == 3 and all(re.match(r"small\+0x[0-9a-f]+$", n) for n in names), f"{names}")
    shown = host.sh([host.ouro, "run", "-o", host.path("x.pb"), exe], check=False).stderr
    need("3 of 3 functions have no name" in shown, shown)


@case
def a_stripped_program_finds_its_debug_file_by_build_id(host):
    exe = small(host)
    build_id = re.search(r"Build ID: (\w+)", host.sh(["readelf", "-n", exe]).stdout).group(1)
    folder = host.path(f"debug/.build-id/{build_id[:2]}")
    os.makedirs(folder)
    host.sh(["objcopy", "--only-keep-debug", exe, f"{folder}/{build_id[2:]}.debug"])
    host.sh(["strip", exe])
    host.run(exe, status=7, options=("--clock", "off", "--debug-folder", host.path("debug")))
    expect(host.paths(), WANT)
    need("small.c:2" in report(host), report(host))


@case
def a_stripped_program_finds_its_debug_file_by_its_link(host):
    exe = small(host)
    host.sh(["objcopy", "--only-keep-debug", exe, exe + ".debug"])
    host.sh(["strip", exe])
    host.sh(["objcopy", "--add-gnu-debuglink=" + exe + ".debug", exe])
    host.run(exe, status=7)
    expect(host.paths(), WANT)


@case
def names_can_be_put_in_later(host):
    exe = small(host)
    host.run(exe, status=7, options=("--clock", "off", "--live", host.path("live")))
    live = [os.path.join(host.path("live"), f) for f in os.listdir(host.path("live")) if f.endswith(".ouro")]
    need(len(live) == 1, f"{live}")
    host.sh([host.ouro, "run", "--symbolise", "-q", "-o", host.path("later.pb"), *live])
    expect(host.paths("later.pb"), WANT)
    host.sh([host.ouro, "run", "--symbolise", "-q", *live, "-o", host.path("later.folded")])
    need("main;visible;twice 1" in open(host.path("later.folded")).read(), "another format")


@case
def a_program_that_was_built_anew_gives_no_wrong_names(host):
    exe = small(host)
    host.run(exe, status=7, options=("--clock", "off", "--live", host.path("live")))
    other = SMALL.replace("static int twice", "static int thrice").replace("twice(n)", "thrice(n)")
    host.compile("gcc", [real.write(host.path("small.c"), other)], "small")
    live = [os.path.join(host.path("live"), f) for f in os.listdir(host.path("live")) if f.endswith(".ouro")]
    host.sh([host.ouro, "run", "--symbolise", "-q", *live, "-o", host.path("later.pb")])
    names = host.totals(output="later.pb")
    need(all("+0x" in n for n in names), f"{names}")


# ---------------------------------------------------------------- ouro run

@case
def the_summary_is_not_in_the_output_of_the_program(host):
    done = host.sh([host.ouro, "run", "-o", host.path("out.pb"), small(host), "word"], check=False)
    need(done.returncode == 7 and done.stdout == "42 word\n", f"{done}")
    need("the profile is in" in done.stderr and "twice" in done.stderr, done.stderr)


@case
def options_of_the_program_are_its_own(host):
    done = host.sh([host.ouro, "run", "-q", "-o", host.path("out.pb"), small(host), "--help"], check=False)
    need(done.stdout == "42 --help\n", done.stdout + done.stderr)


@case
def the_profile_is_named_after_the_program(host):
    small(host)
    host.sh([host.ouro, "run", "-q", "./small"], check=False)
    need(os.path.exists(host.path("small.pb")), f"{os.listdir(host.folder)}")


@case
def any_format_can_be_written(host):
    host.run(small(host), status=7, output="out.folded")
    need("main;visible;twice" in open(host.path("out.folded")).read(), "folded")
    host.run(small(host), status=7, output="out.pb.gz")
    need(open(host.path("out.pb.gz"), "rb").read(2) == b"\x1f\x8b", "gzip")


@case
def errors_say_what_to_do(host):
    def stderr(*arguments):
        return host.sh([host.ouro, "run", *arguments], check=False).stderr
    need("cannot run /no/such: No such file" in stderr("/no/such"), "no program")
    need(host.sh([host.ouro, "run", "/no/such"], check=False).returncode == 127, "127")
    need("Build it with `ouro cc`" in stderr("true"), stderr("true"))
    need("which program?" in stderr("--memory"), "no program named")
    need("--clock is cpu, wall or off" in stderr("--clock", "sun", "true"), "clock")
    need("--hz is 1 to 100000" in stderr("--hz", "0", "true"), "hz")
    need("--max-nodes is 2" in stderr("--max-nodes", "1", "true"), "nodes")
    need("--compact is" in stderr("--compact", "x", "true"), "rule")
    need("needs -o" in stderr("--symbolise", "x"), "symbolise")
    need(host.sh([host.ouro, "run", "--nonsense"], check=False).returncode == 2, "usage")
    garbage = real.write(host.path("garbage.ouro"), "not a profile")
    done = host.sh([host.ouro, "run", "--symbolise", garbage, "-o", host.path("x.pb")], check=False)
    need(done.returncode == 1 and not os.path.exists(host.path("x.pb")), done.stderr)


@case
def compaction_and_cap_are_passed_on(host):
    exe = host.compile("gcc", ["deep.c"], "deep", "-pthread")
    host.run(exe, options=("--clock", "off", "--compact", "none", "--max-nodes", "2000"))
    stats = host.totals()
    need(stats["[pruned]"] > 1000000 and sum(stats.values()) == 2000004, f"{stats}")


@case
def nothing_is_left_behind(host):
    exe = real.write(host.path("show"), "#!/bin/sh\necho $OURO_NATIVE\n" + small(host) + "\n")
    os.chmod(exe, 0o755)
    folder = host.run(exe, status=7).stdout.split()[0]
    need("ouro-run-" in folder and not os.path.exists(folder), folder)
    expect(host.paths(), WANT)


@case
def ctrl_c_ends_the_program_and_not_the_profile(host):
    source = real.write(host.path("loop.c"), "#include <unistd.h>\n__attribute__((noinline)) static void tick(void) "
                        "{ __asm__ volatile(\"\"); }\nint main(void) { for (long i = 0;; i++) { tick(); if (i == 1000) "
                        "{ if (write(1, \"x\", 1) < 0) return 1; } } }\n")
    exe = host.compile("gcc", [source], "loop")
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([host.ouro, "run", "-q", "-o", host.path("out.pb"), exe], stdout=subprocess.PIPE,
                              start_new_session=True, cwd=host.folder) as child:
            child.stdout.read(1)
            if number == signal.SIGINT:
                os.killpg(child.pid, number)  # as a terminal does
            else:
                child.send_signal(number)
            need(child.wait(60) == 128 + number, f"{child.returncode}")
        need(host.paths()["main;tick"] > 1000, f"{host.paths()}")


@case
def a_signal_ends_the_viewer_too(host):
    exe = small(host)
    for number in (signal.SIGINT, signal.SIGTERM):
        for whole_group in (False, True):  # a terminal sends Ctrl-C to all of them
            with subprocess.Popen([host.ouro, "run", "--view", "-o", host.path("out.pb"), exe], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, start_new_session=True, text=True, cwd=host.folder,
                                  env={**os.environ, "BROWSER": "true"}) as child:
                said = ""
                while "http://" not in said and (line := child.stderr.readline()):
                    said += line
                need("http://" in said, said)
                (os.killpg if whole_group else os.kill)(child.pid, number)
                try:
                    need(child.wait(60) == 7, f"{child.returncode}")  # the program's own
                    need(not child.stderr.read(), "the viewer says something")  # its end is the viewer's, too
                finally:
                    try:
                        os.killpg(child.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass


@case
def a_program_is_off_without_ouro_run(host):
    exe = small(host)
    done = host.sh([exe], check=False)
    need(done.returncode == 7 and sorted(os.listdir(host.folder)) == ["small", "small.c"], f"{os.listdir(host.folder)}")


@case
def a_live_file_can_be_read_while_the_program_runs(host):
    source = real.write(host.path("loop.c"), "#include <unistd.h>\n__attribute__((noinline)) static void tick(void) "
                        "{ __asm__ volatile(\"\"); }\nint main(void) { for (int i = 0; i < 1000; i++) tick(); "
                        "if (write(1, \"x\", 1) < 0) return 1; char c; return (int)read(0, &c, 1); }\n")
    exe = host.compile("gcc", [source], "loop")
    with subprocess.Popen([host.ouro, "run", "-q", "--live", host.path("live"), "-o", host.path("out.pb"), exe],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=host.folder) as child:
        child.stdout.read(1)
        live = os.path.join(host.path("live"), os.listdir(host.path("live"))[0])
        host.sh([host.ouro, "run", "--symbolise", "-q", live, "-o", host.path("now.pb")])
        expect(host.paths("now.pb"), {"main": 1, "main;tick": 1000})
        child.stdin.close()
        child.wait(60)


# ---------------------------------------------------------------- ouro cc

@case
def cc_compiles_and_links_apart(host):
    real.write(host.path("small.c"), SMALL)
    for step in (["-c", "small.c", "-o", "small.o"], ["small.o", "-o", "small"]):
        host.sh([host.ouro, "cc", "-Werror", "-Wall", *step])
    host.run(host.path("small"), status=7)
    expect(host.paths(), WANT)


@case
def cc_is_the_compiler_for_everything_else(host):
    real.write(host.path("small.c"), SMALL)
    need(host.sh([host.ouro, "cc", "--version"]).stdout == host.sh(["cc", "--version"]).stdout, "--version")
    need("twice" in host.sh([host.ouro, "cc", "-E", "small.c"]).stdout, "-E")
    host.sh([host.ouro, "cc", "-S", "small.c", "-o", "small.s"])
    need("__cyg_profile_func_enter" in open(host.path("small.s")).read(), "-S")
    host.sh([host.ouro, "cc", "-fsyntax-only", "small.c"])
    host.sh([host.ouro, "cc", "-x", "c", "small.c", "-o", "small"])
    failed = host.sh([host.ouro, "cc", "nothing.c"], check=False)
    need(failed.returncode == 1 and "nothing.c" in failed.stderr, failed.stderr)


@case
def cc_does_not_run_itself(host):
    real.write(host.path("small.c"), SMALL)
    for value in ("ouro cc", host.ouro + " cc", host.build + "/ouro-cc"):
        host.sh([host.ouro, "cc", "small.c", "-o", "small"], env=dict(os.environ, CC=value), timeout=60)
    shown = host.sh([host.ouro, "cc", "small.c", "-o", "small"],
                    env=dict(os.environ, CC="clang", OURO_CC_SHOW="1")).stderr
    need(shown.startswith("clang -g -finstrument-functions"), shown)
    missing = host.sh([host.ouro, "cc", "small.c"], check=False, env=dict(os.environ, OURO_CC="no-such-compiler"))
    need(missing.returncode == 127 and "cannot run no-such-compiler" in missing.stderr, missing.stderr)


@case
def cxx_leaves_system_headers_out_unless_asked(host):
    source = real.write(host.path("v.cpp"), "#include <vector>\nint main() { std::vector<int> v; "
                        "for (int i = 0; i < 9; i++) v.push_back(i); return v.size() != 9; }\n")
    exe = host.compile("gcc", [source], "v")
    host.run(exe)
    expect(host.paths(), {"main": 1})
    host.sh([host.ouro, "c++", "--all", "-O1", source, "-o", "v"])
    host.run(exe)
    need(host.totals().get("std::vector<int, std::allocator<int> >::push_back(int const&)") == 9, f"{host.totals()}")


# ---------------------------------------------------------------- examples

@case
def the_examples_work(host):
    native = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    include = ["-I" + os.path.join(native, "../../include"), "-I" + native]
    host.run(host.compile("gcc", [native + "/examples/phases.cpp"], "phases", *include))
    paths = host.paths()
    need(paths.get("main;report(unsigned int);make") == 20 and
         paths.get("main;report(unsigned int);make;numbers(unsigned int)") == 20 and
         paths.get("main;report(unsigned int);make;sort") == 20, f"{paths}")
    host.run(host.compile("gcc", [native + "/examples/generators.c"], "generators"))
    paths = host.paths()
    need(paths.get("main;next;squares;give") == paths.get("main;next;powers;give") == 100000, f"{paths}")


# ---------------------------------------------------------------- perf

@case
def perf_stacks_are_shown_by_the_recipe(host):
    """docs/native.md: perf record -g, perf script | ouro report -; on an interpreter that recurses."""
    exe = real.build_duktape(host.folder, ["gcc"], ["g++"], ["-O2", "-g", "-fno-omit-frame-pointer", "-fno-inline"])
    script = real.write(host.path("deep.js"), "function f(n) { return n ? [n].map(function (x) { return f(x - 1); })"
                        "[0] + 1 : 0; }\nfor (var i = 0; i < 5000; i++) f(15);\n")
    done = host.sh(["perf", "record", "-e", "cpu-clock", "-g", "-o", host.path("perf.data"), exe, script], check=False)
    if done.returncode:
        print(f"# perf cannot record here: {done.stderr.strip().splitlines()[-1:]}")
        return
    text = host.sh(["perf", "script", "-i", host.path("perf.data")]).stdout
    need("duk_js_execute_bytecode" in text, "perf saw no symbols: " + text[:500])
    done = host.sh([host.ouro, "report", "--overall", "-"], stdin_text=text)
    need(re.search(r"duk__?js_execute_bytecode", done.stdout), done.stdout)
    host.sh([host.ouro, "convert", "--compact", "none", "-", host.path("raw.pb")], stdin_text=text)
    folded = host.sh([host.ouro, "convert", "--to", "folded", "-", "-"], stdin_text=text).stdout
    uncompacted = host.sh([host.ouro, "convert", "--to", "folded", host.path("raw.pb"), "-"]).stdout
    depth = lambda t: max(line.count(";") for line in t.splitlines())
    total = lambda t: sum(int(line.rsplit(" ", 1)[1]) for line in t.splitlines())
    need(total(folded) == total(uncompacted) > 0, "samples are lost")
    need(depth(folded) < depth(uncompacted), f"{depth(folded)} {depth(uncompacted)}: not compacted")


run_cases(cases)

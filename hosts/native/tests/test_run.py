#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ouro run`, `ouro cc` and `ouro c++` as commands, and names for addresses: test_run.py BUILD [WORD...]"""
import io, os, re, signal, subprocess, tarfile
import real, sources
from native import BUILD, OURO, build, paths, record, totals
from suite import ROOT, case, has, main, read, run, same, skip, write

SMALL = """#include <stdio.h>
__attribute__((noinline)) static int twice(int n) { __asm__ volatile("" : "+r"(n)); return 2 * n; }
__attribute__((noinline)) int visible(int n) { n = twice(n); __asm__ volatile("" : "+r"(n)); return n; }
int main(int argc, char **argv) { printf("%d %s\\n", visible(21), argc > 1 ? argv[1] : ""); return 7; }
"""
WANT = {"main": 1, "main;visible": 1, "main;visible;twice": 1}


def small(way="gcc", *flags):
    return build(way, [write("small.c", SMALL)], "small", *flags)


def report(output="out.pb"):
    return run(OURO, "report", "--self", "--metric", "calls", output, status=0).out


# ---------------------------------------------------------------- names

def functions_have_files_and_lines(way):
    record(small(way), status=7)
    text = report()
    for name, line in (("twice", 2), ("visible", 3), ("main", 4)):
        assert re.search(rf"{name}  \S*small\.c:{line}$", text, re.M), f"{name} is not at line {line}:\n{text}"


for way in ("gcc", "clang", "xray", "static"):
    case(functions_have_files_and_lines, f"functions_have_files_and_lines_{way}", way)


@case
def a_stripped_program_without_debug_file_has_offsets():
    exe = small()
    run("strip", exe, status=0)
    record(exe, status=7)
    names = [p.split(";")[-1] for p in paths()]
    same(len(names), 3, names)
    assert all(re.match(r"small\+0x[0-9a-f]+$", n) for n in names), names
    shown = run(OURO, "run", "-o", "x.pb", exe).err
    has(shown, "3 of 3 functions have no name")


@case
def a_stripped_program_finds_its_debug_file_by_build_id():
    exe = small()
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", exe, status=0).out).group(1)
    folder = f"debug/.build-id/{build_id[:2]}"
    os.makedirs(folder)
    run("objcopy", "--only-keep-debug", exe, f"{folder}/{build_id[2:]}.debug", status=0)
    run("strip", exe, status=0)
    record(exe, status=7, options=("--clock", "off", "--debug-folder", os.path.abspath("debug")))
    same(paths(), WANT)
    has(report(), "small.c:2")


@case
def a_stripped_program_finds_its_debug_file_by_its_link():
    exe = small()
    run("objcopy", "--only-keep-debug", exe, exe + ".debug", status=0)
    run("strip", exe, status=0)
    run("objcopy", "--add-gnu-debuglink=" + exe + ".debug", exe, status=0)
    record(exe, status=7)
    same(paths(), WANT)


@case
def names_can_be_put_in_later():
    exe = small()
    record(exe, status=7, options=("--clock", "off", "--live", "live"))
    live = [os.path.join("live", f) for f in os.listdir("live") if f.endswith(".ouro")]
    same(len(live), 1, live)
    run(OURO, "run", "--symbolise", "-q", "-o", "later.pb", *live, status=0)
    same(paths("later.pb"), WANT)
    run(OURO, "run", "--symbolise", "-q", *live, "-o", "later.folded", status=0)
    has(read("later.folded"), "main;visible;twice 1")


@case
def a_program_that_was_built_anew_gives_no_wrong_names():
    exe = small()
    record(exe, status=7, options=("--clock", "off", "--live", "live"))
    other = SMALL.replace("static int twice", "static int thrice").replace("twice(n)", "thrice(n)")
    build("gcc", [write("small.c", other)], "small")
    live = [os.path.join("live", f) for f in os.listdir("live") if f.endswith(".ouro")]
    run(OURO, "run", "--symbolise", "-q", *live, "-o", "later.pb", status=0)
    names = totals(output="later.pb")
    assert all("+0x" in n for n in names), names


# ---------------------------------------------------------------- sources that are fetched

def refused(function, *arguments):
    try:
        function(*arguments)
    except SystemExit as reason:
        return str(reason)
    raise AssertionError("was not refused")


@case
def a_package_with_another_hash_is_refused():
    write("a.tgz", "abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of FIPS 180-2, B.1
    sources.check_hash("a.tgz", known)
    write("a.tgz", "abd")
    has(refused(sources.check_hash, "a.tgz", known), "a.tgz is not the file that it should be", known)
    for name, (_, wanted) in sources.NPM.items():
        assert re.fullmatch("[0-9a-f]{64}", wanted), name


@case
def an_archive_that_would_write_elsewhere_is_refused():
    kinds = {"link": tarfile.SYMTYPE, "hard link": tarfile.LNKTYPE, "device": tarfile.CHRTYPE, "pipe": tarfile.FIFOTYPE}
    members = [(name, tarfile.REGTYPE) for name in ("../out", "a/../../out", "/" + os.getcwd() + "/out", "a/..")]
    for name, kind in members + list(kinds.items()):
        with tarfile.open("a.tgz", "w:gz") as t:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, os.path.abspath("out")
            t.addfile(member)
        has(refused(sources.unpack, "a.tgz", "in"), f"{name.lstrip('/')} does not belong")
        same(sorted(set(os.listdir()) - {"in"}), ["a.tgz"], name)


@case
def an_archive_of_files_is_unpacked_with_the_usual_rights():
    with tarfile.open("a.tgz", "w:gz") as t:
        for name, mode in (("a/one.c", 0o666), ("a/two", 0o6777)):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.uid = 3, mode, 4321
            t.addfile(member, io.BytesIO(b"abc"))
    sources.unpack("a.tgz", "in")
    made = {name: os.stat("in/a/" + name) for name in os.listdir("in/a")}
    same({name: (read("in/a/" + name), s.st_mode & 0o7777, s.st_uid) for name, s in made.items()},
         {"one.c": ("abc", 0o644, os.getuid()), "two": ("abc", 0o755, os.getuid())})


# ---------------------------------------------------------------- ouro run

@case
def the_summary_is_not_in_the_output_of_the_program():
    done = run(OURO, "run", "-o", "out.pb", small(), "word")
    same((done.status, done.out), (7, "42 word\n"))
    has(done.err, "the profile is in", "twice")


@case
def options_of_the_program_are_its_own():
    done = run(OURO, "run", "-q", "-o", "out.pb", small(), "--help")
    same(done.out, "42 --help\n", done.err)


@case
def the_profile_is_named_after_the_program():
    small()
    run(OURO, "run", "-q", "./small")
    assert os.path.exists("small.pb"), os.listdir()


@case
def any_format_can_be_written():
    record(small(), status=7, output="out.folded")
    has(read("out.folded"), "main;visible;twice")
    record(small(), status=7, output="out.pb.gz")
    same(open("out.pb.gz", "rb").read(2), b"\x1f\x8b")


@case
def errors_say_what_to_do():
    def stderr(*arguments):
        return run(OURO, "run", *arguments).err
    has(stderr("/no/such"), "cannot run /no/such: No such file")
    run(OURO, "run", "/no/such", status=127)
    has(stderr("true"), "Build it with `ouro cc`")
    has(stderr("--memory"), "which program?")
    has(stderr("--clock", "sun", "true"), "--clock is cpu, wall or off")
    has(stderr("--hz", "0", "true"), "--hz is 1 to 100000")
    has(stderr("--max-nodes", "1", "true"), "--max-nodes is 2")
    has(stderr("--compact", "x", "true"), "--compact is")
    has(stderr("--symbolise", "x"), "needs -o")
    run(OURO, "run", "--nonsense", status=2)
    garbage = write("garbage.ouro", "not a profile")
    run(OURO, "run", "--symbolise", garbage, "-o", "x.pb", status=1)
    assert not os.path.exists("x.pb")


@case
def compaction_and_cap_are_passed_on():
    exe = build("gcc", ["deep.c"], "deep", "-pthread")
    record(exe, options=("--clock", "off", "--compact", "none", "--max-nodes", "2000"))
    calls = totals()
    assert calls["[pruned]"] > 1000000, calls
    same(sum(calls.values()), 2000004, calls)


@case
def nothing_is_left_behind():
    exe = write("./show", "#!/bin/sh\necho $OURO_NATIVE\n" + small() + "\n")
    os.chmod(exe, 0o755)
    folder = record(exe, status=7).out.split()[0]
    has(folder, "ouro-run-")
    assert not os.path.exists(folder), folder
    same(paths(), WANT)


@case
def ctrl_c_ends_the_program_and_not_the_profile():
    source = write("loop.c", "#include <unistd.h>\n__attribute__((noinline)) static void tick(void) "
                   "{ __asm__ volatile(\"\"); }\nint main(void) { for (long i = 0;; i++) { tick(); if (i == 1000) "
                   "{ if (write(1, \"x\", 1) < 0) return 1; } } }\n")
    exe = build("gcc", [source], "loop")
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([OURO, "run", "-q", "-o", "out.pb", exe], stdout=subprocess.PIPE,
                              start_new_session=True) as child:
            child.stdout.read(1)
            if number == signal.SIGINT:
                os.killpg(child.pid, number)  # as a terminal does
            else:
                child.send_signal(number)
            same(child.wait(60), 128 + number)
        assert paths()["main;tick"] > 1000, paths()


@case
def a_signal_ends_the_viewer_too():
    exe = small()
    for number in (signal.SIGINT, signal.SIGTERM):
        for whole_group in (False, True):  # a terminal sends Ctrl-C to all of them
            with subprocess.Popen([OURO, "run", "--view", "-o", "out.pb", exe], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, start_new_session=True, text=True,
                                  env={**os.environ, "BROWSER": "true"}) as child:
                said = ""
                while "http://" not in said and (line := child.stderr.readline()):
                    said += line
                has(said, "http://")
                (os.killpg if whole_group else os.kill)(child.pid, number)
                try:
                    same(child.wait(60), 7)  # the program's own
                    same(child.stderr.read(), "", "what the viewer says")  # its end is the viewer's, too
                finally:
                    try:
                        os.killpg(child.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass


@case
def a_program_is_off_without_ouro_run():
    run(small(), status=7)
    same(sorted(os.listdir()), ["small", "small.c"])


@case
def a_live_file_can_be_read_while_the_program_runs():
    source = write("loop.c", "#include <unistd.h>\n__attribute__((noinline)) static void tick(void) "
                   "{ __asm__ volatile(\"\"); }\nint main(void) { for (int i = 0; i < 1000; i++) tick(); "
                   "if (write(1, \"x\", 1) < 0) return 1; char c; return (int)read(0, &c, 1); }\n")
    exe = build("gcc", [source], "loop")
    with subprocess.Popen([OURO, "run", "-q", "--live", "live", "-o", "out.pb", exe],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.read(1)
        live = os.path.join("live", os.listdir("live")[0])
        run(OURO, "run", "--symbolise", "-q", live, "-o", "now.pb", status=0)
        same(paths("now.pb"), {"main": 1, "main;tick": 1000})
        child.stdin.close()
        child.wait(60)


# ---------------------------------------------------------------- ouro cc

@case
def cc_compiles_and_links_apart():
    write("small.c", SMALL)
    for step in (["-c", "small.c", "-o", "small.o"], ["small.o", "-o", "small"]):
        run(OURO, "cc", "-Werror", "-Wall", *step, status=0)
    record("./small", status=7)
    same(paths(), WANT)


@case
def cc_is_the_compiler_for_everything_else():
    write("small.c", SMALL)
    same(run(OURO, "cc", "--version", status=0).out, run("cc", "--version", status=0).out)
    has(run(OURO, "cc", "-E", "small.c", status=0).out, "twice")
    run(OURO, "cc", "-S", "small.c", "-o", "small.s", status=0)
    has(read("small.s"), "__cyg_profile_func_enter")
    run(OURO, "cc", "-fsyntax-only", "small.c", status=0)
    run(OURO, "cc", "-x", "c", "small.c", "-o", "small", status=0)
    has(run(OURO, "cc", "nothing.c", status=1).err, "nothing.c")


@case
def cc_does_not_run_itself():
    write("small.c", SMALL)
    for value in ("ouro cc", OURO + " cc", BUILD + "/ouro-cc"):
        run(OURO, "cc", "small.c", "-o", "small", env=dict(os.environ, CC=value), timeout=60, status=0)
    shown = run(OURO, "cc", "small.c", "-o", "small", env=dict(os.environ, CC="clang", OURO_CC_SHOW="1"), status=0).err
    assert shown.startswith("clang -g -finstrument-functions"), shown
    missing = run(OURO, "cc", "small.c", env=dict(os.environ, OURO_CC="no-such-compiler"), status=127)
    has(missing.err, "cannot run no-such-compiler")


@case
def cxx_leaves_system_headers_out_unless_asked():
    source = write("v.cpp", "#include <vector>\nint main() { std::vector<int> v; "
                   "for (int i = 0; i < 9; i++) v.push_back(i); return v.size() != 9; }\n")
    exe = build("gcc", [source], "v")
    record(exe)
    same(paths(), {"main": 1})
    run(OURO, "c++", "--all", "-O1", source, "-o", "v", status=0)
    record(exe)
    same(totals().get("std::vector<int, std::allocator<int> >::push_back(int const&)"), 9, totals())


# ---------------------------------------------------------------- examples

@case
def recursion_is_told_of_functions_and_not_of_addresses():
    record(build("gcc", [ROOT + "/hosts/native/examples/ranking.c"], "ranking"))
    shown = run(OURO, "report", "--block", "sort", "out.pb", status=0).out
    has(shown, f"recursed {totals()['sort'] - 2:,} times directly\n")
    has(run(OURO, "report", "--knots", "out.pb", status=0).out, "\nsort\n")
    mutual = write("mutual.c", "void odd(int); void even(int n) { if (n) odd(n - 1); }\nvoid odd(int n) { even(n); }\n"
                   "int main(void) { even(9); }\n")
    record(build("gcc", [mutual], "mutual"))
    has(run(OURO, "report", "--block", "odd", "out.pb", status=0).out, "recursed 8 times through others")
    has(run(OURO, "report", "out.pb", status=0).out, "3 blocks\n")  # nothing else came into being


@case
def the_examples_work():
    native = ROOT + "/hosts/native"
    include = [f"-I{ROOT}/include", "-I" + native]
    record(build("gcc", [native + "/examples/phases.cpp"], "phases", *include))
    got = paths()
    for block in "", ";numbers(unsigned int)", ";sort":
        same(got.get("main;report(unsigned int);make" + block), 20, got)
    record(build("gcc", [native + "/examples/generators.c"], "generators"))
    got = paths()
    for generator in "squares", "powers":
        same(got.get(f"main;next;{generator};give"), 100000, got)


# ---------------------------------------------------------------- perf

@case
def perf_stacks_are_shown_by_the_recipe():
    """docs/native.md: perf record -g, perf script | ouro report -; on an interpreter that recurses."""
    exe = real.build_duktape(os.getcwd(), ["gcc"], ["g++"], ["-O2", "-g", "-fno-omit-frame-pointer", "-fno-inline"])
    script = write("deep.js", "function f(n) { return n ? [n].map(function (x) { return f(x - 1); })"
                   "[0] + 1 : 0; }\nfor (var i = 0; i < 5000; i++) f(15);\n")
    done = run("perf", "record", "-e", "cpu-clock", "-g", "-o", "perf.data", exe, script)
    if done.status:
        skip(f"perf cannot record here: {done.err.strip().splitlines()[-1:]}")
    text = run("perf", "script", "-i", "perf.data", status=0).out
    has(text, "duk_js_execute_bytecode")
    done = run(OURO, "report", "--overall", "-", stdin=text, status=0)
    assert re.search(r"duk__?js_execute_bytecode", done.out), done.out
    run(OURO, "convert", "--compact", "none", "-", "raw.pb", stdin=text, status=0)
    folded = run(OURO, "convert", "--to", "folded", "-", "-", stdin=text, status=0).out
    uncompacted = run(OURO, "convert", "--to", "folded", "raw.pb", "-", status=0).out
    depth = lambda t: max(line.count(";") for line in t.splitlines())
    total = lambda t: sum(int(line.rsplit(" ", 1)[1]) for line in t.splitlines())
    assert total(folded) == total(uncompacted) > 0, "samples are lost"
    assert depth(folded) < depth(uncompacted), f"{depth(folded)} {depth(uncompacted)}: not compacted"


main()

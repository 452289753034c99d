#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiled programs: test_compiled.py FBLE OURO FBLE_CHECKED [WORD...]

Whatever the interpreter does, compiled code does too: all conformance programs, the tests of the standard library and
the programs, errors, profiles path by path. Then what only compiled code has: compilers and their flags, objects that
are kept, libraries for the interpreter, the symbols. FBLE_CHECKED has the sanitizers.
"""
import concurrent.futures, os, pathlib, re, resource, shutil, signal, subprocess, sys, tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TESTS + "/../../../tests/support")
import suite
from suite import Done, arguments, case, has, main, same, write

FBLE, OURO, CHECKED = arguments("FBLE", "OURO", "FBLE_CHECKED")
WORK = tempfile.TemporaryDirectory()  # objects that all cases share
OBJECTS = os.path.join(WORK.name, "objects")
NUMBERS = """U@ = *(); U@ u = U@(); Flag@ = +(U@ on, U@ off); Flag@ on = Flag@(on: u); Flag@ off = Flag@(off: u);
N@ = +(N@ s, U@ z); N@ zero = N@(z: u); N@ one = N@(s: zero);
(N@, N@) { N@; } Twice = (N@ n, N@ to) { n.?(z: to); Twice(n.s, N@(s: N@(s: to))); };
D = (N@ n) { Twice(n, zero); };
K = (N@ n) { D(D(D(D(D(D(D(D(D(D(n)))))))))); };
"""
# A loop of a million rounds through two functions and an unknown one, and recursion a million deep.
LOOPS = NUMBERS + """
(N@, (N@) { N@; }) { N@; } Even = (N@ n, (N@) { N@; } f) { n.?(z: n); Odd(n.s, f); },
(N@, (N@) { N@; }) { N@; } Odd = (N@ n, (N@) { N@; } f) { n.?(z: n); Even(f(n).s, f); };
(N@) { N@; } Copy = (N@ n) { n.?(z: n); N@(s: Copy(n.s)); };
M = K(K(one));
Id = (N@ n) { n; };
Even(Copy(M), Id).z;
"""
MIX = """U@ = *(); B@ = +(U@ t, U@ f); L@ = +(*(B@ head, L@ tail) items, U@ empty);
(L@, B@, (B@, B@) { B@; }) { B@; } Fold = (L@ l, B@ s, (B@, B@) { B@; } f) {
  l.?(empty: s); Fold(l.items.tail, f(l.items.head, s), f);
};
Not = (B@ b) { b.?(t: B@(f: U@()), f: B@(t: U@())); };
@(U@, B@, L@, Fold, Not);
"""
MIX_MAIN = """U@, B@, L@, Fold, Not .= /Lib%;
t = B@(t: U@()); f = B@(f: U@());
Cons = (B@ b, L@ l) { L@(items: @(head: b, tail: l)); };
Xor = (B@ a, B@ b) { a.?(t: Not(b), f: b); };
Fold(Cons(t, Cons(f, Cons(t, Cons(t, L@(empty: U@()))))), f, Xor).t;
"""


def without_warnings(text):
    return re.sub(r"^[^\n]*: warning: .*\n  .*\n  .*\n  hint: .*\n", "", text, flags=re.M)


def run(*line, **more):
    done = suite.run(*line, **more)
    return Done(done.status, done.out, without_warnings(done.err))


def compiled(*options, output="out", flags="-O0", cc="cc", jobs="1", cwd=None):
    done = run(FBLE, "compile", "-o", output, "--build-dir", OBJECTS, "-j", jobs, *options, status=0, cwd=cwd,
               env={**os.environ, "CFLAGS": flags, "CC": cc}, timeout=600)
    same(done.out, "")
    return done.err


def values(file, metric):
    """Path -> value, of a profile."""
    done = run(OURO, "convert", "--to", "folded", "--metric", metric, file, "-", status=0)
    same(done.err, "")
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in done.out.splitlines()}


def same_profiles(one, other, metrics=("calls", "instructions")):
    for metric in metrics:
        want = values(one, metric)
        assert want, metric
        same(values(other, metric), want, metric)


def read_cases(file):
    """The format is explained in cases.h."""
    preludes, cases, prelude, to = {"none": ""}, [], None, None
    for line in open(file, encoding="utf-8", errors="surrogateescape"):
        if m := re.match(r"=== prelude (\S+)", line):
            prelude, to = m.group(1), None
            preludes[prelude] = ""
        elif m := re.match(r"=== (\S+) \((\w+)( alone)?\) ([^:]*(?:\d:\d+)?)", line):
            to, name = {"Main.fble": preludes[m.group(2)]}, "Main.fble"
            cases.append((m.group(1), m.group(4).split()[0], bool(m.group(3)), to))
        elif m := re.match(r"--- (.+)", line):
            name = m.group(1)
            to[name] = ""
        elif to is not None and not line.startswith(">>>"):
            to[name] += line
        elif to is None and prelude:
            preludes[prelude] += line
    return cases


def does_the_same(name, expected, alone, files):
    """True if the program was looked at. Several run at a time, each in a folder of its own."""
    if alone or expected == "error":
        return False
    os.mkdir(name)
    for file, text in files.items():
        write(os.path.join(name, file), text)
    module = "-I", ".", "-m", "/Main%"
    if expected in ("constant", "growth"):
        compiled(*module, "--library", "--no-profile", output="lib.so", cwd=name)
        small, large, mine, more = (int(run(FBLE, "memory", *options, *module, n, status=0, cwd=name).out)
                                    for options in ((), ("--compiled", "lib.so")) for n in ("1000", "2000"))
        sizes = f"{name}: {small} and {large} interpreted, {mine} and {more} compiled"
        same(more > mine + 1000, expected == "growth", sizes)
        assert more < 1.3 * large + 1000, sizes
    else:
        compiled(*module, "--eval", "--no-profile", cwd=name)
        same(run("./out", cwd=name), run(FBLE, "eval", *module, cwd=name), name)
    return True


@case
def the_programs_of_the_reference_do_the_same():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = [pool.submit(does_the_same, *one) for one in read_cases(os.path.join(TESTS, "reference.cases"))]
    looked_at = sum(one.result() for one in done)
    assert looked_at > 78, looked_at


# As much of a framework as fble test knows: its types.
FRAMEWORK = """U@ = *(); P@ = +(U@ 1, P@ 2p0, P@ 2p1); I@ = +(P@ n, U@ 0, P@ p); C@ = *(I@ code);
S@ = +(*(C@ head, S@ tail) items, U@ empty); R@ = +(U@ passed, S@ failed); Test@ = *(S@ name, (U@) { R@; } run);
Tests@ = +(*(Test@ head, Tests@ tail) items, U@ empty); B@ = +(U@ t, U@ f);
P@ 3 = P@(2p1: P@(1: U@())); C@ a = @(code: I@(p: P@(2p1: P@(2p0: P@(2p0: P@(2p0: P@(2p0: 3)))))));
Tests = (Tests@ t) { t; }; S@ name = S@(items: @(head: a, tail: S@(empty: U@())));
@(U@, R@, Test@, Tests@, Tests, name, B@);"""
MINE = """U@, R@, Test@, Tests, name, B@ .= /Std/Test%;
Tests[Test@(name, (U@ _) { R@(passed: U@()); }), Test@(name, (U@ _) { R@(failed: name); }),
  Test@(name, (U@ u) { R@(passed: B@(t: u).f); })];"""


@case
def tests_run_compiled_as_interpreted():
    for name, text in (("Std/Test", FRAMEWORK), ("One", MINE), ("Two", MINE)):
        write(f"m/{name}.fble", text)
    for module in ("/One%", "/Two%"):
        compiled("-I", "m", "-m", module, "--library", "--no-profile", output=module[1:-1] + ".so")
    want = run(FBLE, "test", "m", status=1)
    has(want.out, "ok /One% a\nnot ok /One% a\n    m/One.fble:2:71: a\nnot ok /One% a\n    m/One.fble:3:44: error: ",
        "# 2 passed, 4 failed")
    same(run(FBLE, "test", "--compiled", "One.so", "--compiled", "Two.so", "m"), want)


@case
def the_tests_of_the_library_and_the_programs_pass():
    """Each of them is a case here, too."""
    done = run(sys.executable, os.path.join(TESTS, "test_std.py"), os.path.join(TESTS, "compiled_fble.py"), timeout=900,
               env={**os.environ, "FBLE_REAL": FBLE, "FBLE_BUILD": WORK.name, "CFLAGS": "-O1"})
    for line in done.out.splitlines():
        print(re.sub("^(not ok|ok) ", r"\1 compiled_", line), flush=True)
    same((done.status, done.err), (0, ""))


def does_a_million_rounds(cc, flags):
    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, resource.RLIM_INFINITY))

    folder = f"{cc} {flags}"
    write(os.path.join(folder, "Main.fble"), LOOPS)
    compiled("Main.fble", "--eval", "--no-profile", cc=cc, flags=flags, cwd=folder)
    same(run("./out", preexec_fn=small_stack, cwd=folder), (0, "", ""), folder)


@case
def every_compiler_and_every_flag_makes_real_tail_calls_and_deep_recursion():
    ways = [(cc, flags) for cc in ("gcc", "clang") if shutil.which(cc)
            for flags in ("-O0", "-O1", "-O2", "-Og", "-Os -g", "-O3 -fno-optimize-sibling-calls",
                          "-O2 -finstrument-functions", "-O1 -fsanitize=address")
            if cc == "gcc" or "-f" not in flags]
    assert len(ways) > 7, ways
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = [pool.submit(does_a_million_rounds, *way) for way in ways]
    for one in done:
        one.result()


@case
def profiles_are_the_same_path_by_path():
    write("Main.fble", LOOPS.replace("K(K(one))", "K(one)"))
    for cc, flags in (("cc", "-O2"), ("clang", "-O0")):
        compiled("Main.fble", "--eval", flags=flags, cc=cc if shutil.which(cc) else "cc")
        for more in ([], ["--profile-metrics", "objects,instructions,bytes"], ["--profile-period", "100"],
                     ["--profile-compact", "none", "--profile-max-nodes", "5000"]):
            same(run(FBLE, "eval", "--profile", "i.pb", *more, "Main.fble"), (0, "", ""))
            same(run("./out", "--profile", "c.pb", *more), (0, "", ""))
            same_profiles("i.pb", "c.pb", ["calls", "instructions"] + ["objects", "bytes"] * ("bytes" in str(more)))


@case
def finer_blocks_are_chosen_when_compiling():
    write("Main.fble", LOOPS.replace("K(K(one))", "D(D(one))"))
    compiled("Main.fble", "--eval", "--profile-blocks", "all")
    same(run(FBLE, "eval", "--profile", "i.pb", "--profile-blocks", "all", "Main.fble"), (0, "", ""))
    same(run("./out", "--profile", "c.pb", "--profile-blocks", "all"), (0, "", ""))
    same_profiles("i.pb", "c.pb")
    done = run("./out", "--profile", "c.pb", "--profile-blocks=functions", status=4)
    has(done.err, "compiled with --profile-blocks functions")
    same(run("./out"), (0, "", ""))


@case
def a_failing_program_has_a_place_a_trace_and_a_profile():
    write("Main.fble", NUMBERS + "G = (Flag@ f) { f.on; };\n"
          "(N@) { U@; } Down = (N@ n) { n.?(z: G(off)); U@ x = Down(n.s); x; };\n@(a: G(on), b: Down(D(D(one))));\n")
    compiled("Main.fble", "--eval")
    want = run(FBLE, "eval", "--profile", "i.pb", "Main.fble")
    same(want.status, 3)
    has(want.err, "Main.fble:6:", "called by /Main%.Down")
    same(run("./out", "--profile", "c.pb"), want)
    same(run("./out"), want)
    same_profiles("i.pb", "c.pb")


@case
def programs_take_options_before_their_arguments():
    write("Main.fble", "*();")
    compiled("Main.fble", "--eval")
    same(run("./out", "some", "--profile", "x"), (0, "", ""))
    for line in (["--profile"], ["--profile", "a.pb", "b"], ["--profile-metrics", "nonsense", "--profile", "a"]):
        code, _, err = run("./out", *line)
        same(code, 4, line)
        assert err, line
    for value in ("e.pb", "--profile e.pb --profile-metrics instructions"):
        same(run("./out", "x", env={**os.environ, "FBLE_PROFILE": value}), (0, "", ""))
        assert values("e.pb", "instructions")
        os.remove("e.pb")
    same(run("./out", env={**os.environ, "FBLE_PROFILE": "--profile e.pb more"}).status, 4)
    compiled("Main.fble", "--eval", "--no-profile")
    has(run("./out", "--profile", "a.pb", status=4).err, "--no-profile")


@case
def signals_write_the_profile():
    write("Main.fble", NUMBERS + "(N@) { U@; } A = (N@ n) { B(n); }, (N@) { U@; } B = (N@ n) { A(n); }; A(one);\n")
    compiled("Main.fble", "--eval", flags="-O2")
    for number in (signal.SIGINT, signal.SIGTERM):
        child = subprocess.Popen(["./out", "--profile", "s.pb"], stderr=subprocess.PIPE, text=True)
        try:
            child.wait(1)
        except subprocess.TimeoutExpired:
            child.send_signal(number)
        err = child.communicate(timeout=60)[1]
        same(child.returncode, -number)
        has(err, "error: interrupted")
        assert values("s.pb", "calls"), err


@case
def a_changed_module_is_compiled_alone():
    def build(*options):
        said = compiled("-I", ".", "-m", "/Main%", "--eval", "--verbose", "--build-dir", "objects", *options)
        return re.search(r"(\d+) of (\d+) files", said).groups()

    write("Lib.fble", MIX)
    write("Main.fble", MIX_MAIN)
    same(build(), ("5", "5"))
    same(build(), ("0", "5"))
    write("Lib.fble", MIX + "# a comment at the end changes the hash of the source, which is in the module\n")
    same(build(), ("2", "5"))
    write("Main.fble", MIX_MAIN.replace("Xor).t", "Xor).f"))
    same(build(), ("2", "5"))
    same(run("./out").status, 3)
    same(build("--no-profile"), ("1", "3"))
    write("Main.fble", MIX_MAIN)
    same(build(), ("0", "5"))
    same(run("./out"), (0, "", ""))


@case
def compiled_libraries_serve_interpreted_programs():
    write("Lib.fble", MIX)
    write("Main.fble", MIX_MAIN)
    compiled("-I", ".", "-m", "/Lib%", "--library", output="lib.so", flags="-O2")
    same(run(FBLE, "eval", "-I", ".", "-m", "/Main%", "--profile", "i.pb"), (0, "", ""))
    same(run(FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so", "--profile", "c.pb"), (0, "", ""))
    same_profiles("i.pb", "c.pb")
    same(run(FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so"), (0, "", ""))
    write("Main.fble", MIX_MAIN.replace("Xor).t", "Xor).f"))
    want = run(FBLE, "eval", "-I", ".", "-m", "/Main%", status=3)
    same(run(FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so"), want)
    write("Lib.fble", MIX + "# other\n")
    has(run(FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so", status=2).err, "has changed since")
    has(run(FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", FBLE, status=5).err, "cannot use")


@case
def the_collector_finds_everything_with_the_sanitizers():
    # Memory is collected at every turn and given back at once, so that what was forgotten is found.
    bits = "U@ = *(); U@ u = U@(); B@ = +(U@ 0, U@ 1); L@ = +(*(B@ h, L@ t) c, U@ n);\n"
    write("Main.fble", bits + """
S@ = *(L@ all, L@ odd, (L@) { L@; } f);
(L@, L@) { L@; } Rev = (L@ a, L@ to) { a.?(n: to); Rev(a.c.t, L@(c: @(h: a.c.h, t: to))); };
(L@) { L@; } Copy = (L@ a) { a.?(n: a); L@ rest = Copy(a.c.t); L@(c: @(h: a.c.h, t: rest)); };
(L@, (B@) { (L@) { L@; }; }) { L@; } Each = (L@ a, (B@) { (L@) { L@; }; } f) {
  a.?(n: a); Copy(f(a.c.h, Each(a.c.t, f)));
};
(L@) { L@; } Go = (L@ a) {
  L@(L@) { L@; } Same = (L@ x) { x.?(n: x); Other(x); }, (L@) { L@; } Other = (L@ x) { Copy(Rev(x, L@(n: u))); };
  S@ s = S@(a, L@(n: u), Same);
  Add = (B@ b)(L@ l) { L@(c: @(h: b, t: s.@(odd: l).odd)); };
  s.f(Each(Rev(a, s.odd), Add));
};
(L@ a) { Go(Go(Go(a))); };
""".replace("L@(L@) { L@; } Same", "(L@) { L@; } Same"))
    memory = "memory", "-I", ".", "-m", "/Main%"
    for flags in ("-O0 -fsanitize=address", "-O2"):
        compiled("-I", ".", "-m", "/Main%", "--library", output="lib.so", flags=flags)
        run(CHECKED, *memory, "12345", status=0)
        for more in ((), ("--profile", "x.pb")):
            same(run(CHECKED, *memory, "--compiled", "lib.so", *more, "12345", status=0).err, "")


@case
def symbols_have_the_names_of_functions():
    write("Main.fble", LOOPS.replace("K(K(one))", "K(one)"))
    for cc in ("gcc", "clang"):
        if not shutil.which(cc):
            continue
        compiled("Main.fble", "--eval", flags="-O2 -g", cc=cc)
        names = run("nm", "out").out
        has(names, " t /Main%.Even~", " t /Main%.Twice~")
        lines = run("objdump", "-d", "-l", "--no-show-raw-insn", "out").out
        assert re.search(r"Main\.fble:8\b", lines), "no lines of the source"


@case
def the_c_can_be_read_and_compiled_by_hand():
    write("Lib.fble", MIX)
    write("Main.fble", MIX_MAIN)
    same(run(FBLE, "compile", "--eval", "--no-profile", "-I", ".", "-m", "/Main%", "--emit-c", "c/d"), (0, "", ""))
    build = os.path.dirname(FBLE)
    same(run("cc", "-Wall", "-Wno-unused", "-o", "out", "-I", build + "/packages/vm", "-I",
             build + "/packages/../../include", "c/d/Main.c", "c/d/Lib.c", "c/d/main.c",
             build + "/libfble_runtime.a", "-rdynamic", "-ldl", "-lm", "-lpthread"), (0, "", ""))
    same(run("./out"), (0, "", ""))


@case
def odd_requests_are_refused():
    write("Main.fble", "*();")
    write("Bad.fble", "*(;")
    for status, line, environment in (
            (4, ["Main.fble"], {}), (4, ["-o", "x"], {}), (4, ["Main.fble", "-o", "x", "-j", "0"], {}),
            (4, ["Main.fble", "-o", "x", "--library", "--eval"], {}), (2, ["Bad.fble", "-o", "x"], {}),
            (2, ["Main.fble", "-o", "x"], {}),
            (5, ["Main.fble", "--eval", "-o", "no/such/x"], {}),
            (5, ["Main.fble", "--eval", "-o", "x"], {"CC": "no-such-compiler"}),
            (5, ["Main.fble", "--eval", "-o", "x"], {"CFLAGS": "--no-such-flag"}),
            (5, ["Main.fble", "--eval", "-o", "x"], {"CFLAGS": "'"})):
        code, _, err = run(FBLE, "compile", "--build-dir", "o", *line, env={**os.environ, **environment})
        same(code, status, line)
        assert err, line
    assert not os.path.exists("x")


@case
def an_installed_fble_compiles():
    build = os.path.dirname(FBLE)
    run("meson", "install", "--quiet", "--no-rebuild", "-C", build, "--destdir", os.getcwd(), status=0)
    found = list(pathlib.Path.cwd().rglob("bin/fble"))
    same(len(found), 1, found)
    write("Main.fble", "Unit@ .= /Std/Unit%; Unit@();\n")
    same(run(found[0], "compile", "-p", "std", "--eval", "--no-profile", "Main.fble", "-o", "out", "--build-dir", "o",
             env={**os.environ, "CFLAGS": "-O0"}), (0, "", ""))
    same(run("./out"), (0, "", ""))


main()

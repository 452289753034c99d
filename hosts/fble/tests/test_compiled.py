#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiled programs: test_compiled.py FBLE OURO FBLE_CHECKED

Whatever the interpreter does, compiled code does too: all conformance programs, the tests of the standard library and
the programs, errors, profiles path by path. Then what only compiled code has: compilers and their flags, objects that
are kept, libraries for the interpreter, the symbols. FBLE_CHECKED has the sanitizers.
"""
import concurrent.futures, os, pathlib, re, resource, shutil, signal, subprocess, sys, tempfile

FBLE, OURO, CHECKED = (os.path.abspath(a) for a in sys.argv[1:4])
TESTS = pathlib.Path(__file__).resolve().parent
HOST = TESTS.parent
WORK = tempfile.TemporaryDirectory()
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


def write(folder, name, text):
    path = pathlib.Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def without_warnings(text):
    return re.sub(r"^[^\n]*: warning: .*\n  .*\n  .*\n  hint: .*\n", "", text, flags=re.M)


def run(folder, *line, timeout=120, **more):
    done = subprocess.run(line, cwd=folder, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout.decode(), without_warnings(done.stderr.decode(errors="surrogateescape"))


def compiled(folder, *options, output="out", status=0, flags="-O0", cc="cc", jobs="1"):
    got = run(folder, FBLE, "compile", "-o", output, "--build-dir", OBJECTS, "-j", jobs, *options,
              env={**os.environ, "CFLAGS": flags, "CC": cc}, timeout=600)
    same((got[0], got[1]), (status, ""))
    return got[2]


def same(got, want):
    assert got == want, f"got {str(got)[:1500]!r}, want {str(want)[:1500]!r}"


def values(folder, file, metric):
    """Path -> value, of a profile."""
    code, out, err = run(folder, OURO, "convert", "--to", "folded", "--metric", metric, file, "-")
    same((code, err), (0, ""))
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.splitlines()}


def same_profiles(folder, one, other, metrics=("calls", "instructions")):
    for metric in metrics:
        want = values(folder, one, metric)
        assert want, metric
        same(values(folder, other, metric), want)


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


def check_case(case):
    name, expected, alone, files = case
    if alone or expected == "error":
        return None
    with tempfile.TemporaryDirectory() as t:
        for file, text in files.items():
            write(t, file, text)
        if expected in ("constant", "growth"):
            compiled(t, "-I", ".", "-m", "/Main%", "--library", "--no-profile", output="lib.so")
            sizes = [run(t, FBLE, "memory", *more, "-I", ".", "-m", "/Main%", n)
                     for more in ((), ("--compiled", "lib.so")) for n in ("1000", "2000")]
            assert all(s[0] == 0 for s in sizes), (name, sizes)
            small, large, mine, more = (int(s[1]) for s in sizes)
            grows = more > mine + 1000
            assert grows == (expected == "growth"), (name, sizes)
            assert more < 1.3 * large + 1000, (name, sizes)
        else:
            compiled(t, "-I", ".", "-m", "/Main%", "--eval", "--no-profile")
            same((name, run(t, "./out")), (name, run(t, FBLE, "eval", "-I", ".", "-m", "/Main%")))
    return name


def the_programs_of_the_reference_do_the_same():
    cases = read_cases(TESTS / "reference.cases")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = [name for name in pool.map(check_case, cases) if name]
    assert len(done) > 78, done


def the_tests_of_the_library_and_the_programs_pass():
    line = [sys.executable, TESTS / "test_std.py", TESTS / "compiled_fble.py"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900,
                          env={**os.environ, "FBLE_REAL": FBLE, "FBLE_BUILD": WORK.name, "CFLAGS": "-O1"})
    for case in done.stdout.splitlines():
        print(re.sub("ok ", "ok compiled_", case, count=1), flush=True)
    same((done.returncode, done.stderr), (0, ""))


def every_compiler_and_every_flag_makes_real_tail_calls_and_deep_recursion():
    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, resource.RLIM_INFINITY))

    def check(way):
        cc, flags = way
        with tempfile.TemporaryDirectory() as t:
            write(t, "Main.fble", LOOPS)
            compiled(t, "Main.fble", "--eval", "--no-profile", cc=cc, flags=flags)
            same((way, run(t, "./out", preexec_fn=small_stack)), (way, (0, "", "")))

    ways = [(cc, flags) for cc in ("gcc", "clang") if shutil.which(cc)
            for flags in ("-O0", "-O1", "-O2", "-Og", "-Os -g", "-O3 -fno-optimize-sibling-calls",
                          "-O2 -finstrument-functions", "-O1 -fsanitize=address")
            if cc == "gcc" or "-f" not in flags]
    assert len(ways) > 7, ways
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(check, ways))


def profiles_are_the_same_path_by_path():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", LOOPS.replace("K(K(one))", "K(one)"))
        for cc, flags in (("cc", "-O2"), ("clang", "-O0")):
            compiled(t, "Main.fble", "--eval", flags=flags, cc=cc if shutil.which(cc) else "cc")
            for more in ([], ["--profile-metrics", "objects,instructions,bytes"], ["--profile-period", "100"],
                         ["--profile-compact", "none", "--profile-max-nodes", "5000"]):
                same(run(t, FBLE, "eval", "--profile", "i.pb", *more, "Main.fble"), (0, "", ""))
                same(run(t, "./out", "--profile", "c.pb", *more), (0, "", ""))
                same_profiles(t, "i.pb", "c.pb", ["calls", "instructions"] + ["objects", "bytes"] * ("bytes" in str(more)))


def finer_blocks_are_chosen_when_compiling():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", LOOPS.replace("K(K(one))", "D(D(one))"))
        compiled(t, "Main.fble", "--eval", "--profile-blocks", "all")
        same(run(t, FBLE, "eval", "--profile", "i.pb", "--profile-blocks", "all", "Main.fble"), (0, "", ""))
        same(run(t, "./out", "--profile", "c.pb", "--profile-blocks", "all"), (0, "", ""))
        same_profiles(t, "i.pb", "c.pb")
        code, out, err = run(t, "./out", "--profile", "c.pb", "--profile-blocks=functions")
        assert code == 4 and "compiled with --profile-blocks functions" in err, err
        same(run(t, "./out"), (0, "", ""))


def a_failing_program_has_a_place_a_trace_and_a_profile():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", NUMBERS + "G = (Flag@ f) { f.on; };\n"
              "(N@) { U@; } Down = (N@ n) { n.?(z: G(off)); U@ x = Down(n.s); x; };\n@(a: G(on), b: Down(D(D(one))));\n")
        compiled(t, "Main.fble", "--eval")
        want = run(t, FBLE, "eval", "--profile", "i.pb", "Main.fble")
        assert want[0] == 3 and "Main.fble:6:" in want[2] and "called by /Main%.Down" in want[2], want
        same(run(t, "./out", "--profile", "c.pb"), want)
        same(run(t, "./out"), want)
        same_profiles(t, "i.pb", "c.pb")


def programs_take_options_before_their_arguments():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", "*();")
        compiled(t, "Main.fble", "--eval")
        same(run(t, "./out", "some", "--profile", "x"), (0, "", ""))
        for line in (["--profile"], ["--profile", "a.pb", "b"], ["--profile-metrics", "nonsense", "--profile", "a"]):
            code, _, err = run(t, "./out", *line)
            assert code == 4 and err, (line, code, err)
        for value in ("e.pb", "--profile e.pb --profile-metrics instructions"):
            same(run(t, "./out", "x", env={**os.environ, "FBLE_PROFILE": value}), (0, "", ""))
            assert values(t, "e.pb", "instructions")
            os.remove(os.path.join(t, "e.pb"))
        assert run(t, "./out", env={**os.environ, "FBLE_PROFILE": "--profile e.pb more"})[0] == 4
        compiled(t, "Main.fble", "--eval", "--no-profile")
        code, _, err = run(t, "./out", "--profile", "a.pb")
        assert code == 4 and "--no-profile" in err, err


def signals_write_the_profile():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", NUMBERS + "(N@) { U@; } A = (N@ n) { B(n); }, (N@) { U@; } B = (N@ n) { A(n); }; A(one);\n")
        compiled(t, "Main.fble", "--eval", flags="-O2")
        for number in (signal.SIGINT, signal.SIGTERM):
            child = subprocess.Popen(["./out", "--profile", "s.pb"], cwd=t, stderr=subprocess.PIPE, text=True)
            try:
                child.wait(1)
            except subprocess.TimeoutExpired:
                child.send_signal(number)
            err = child.communicate(timeout=60)[1]
            same(child.returncode, -number)
            assert "error: interrupted" in err and values(t, "s.pb", "calls"), err


def a_changed_module_is_compiled_alone():
    def build(*options):
        return re.search(r"(\d+) of (\d+) files", compiled(t, "-I", ".", "-m", "/Main%", "--eval", "--verbose", "--build-dir",
                                                            "objects", *options)).groups()

    with tempfile.TemporaryDirectory() as t:
        write(t, "Lib.fble", MIX)
        write(t, "Main.fble", MIX_MAIN)
        same(build(), ("5", "5"))
        same(build(), ("0", "5"))
        write(t, "Lib.fble", MIX + "# a comment at the end changes the hash of the source, which is in the module\n")
        same(build(), ("2", "5"))
        write(t, "Main.fble", MIX_MAIN.replace("Xor).t", "Xor).f"))
        same(build(), ("2", "5"))
        assert run(t, "./out")[0] == 3
        same(build("--no-profile"), ("1", "3"))
        write(t, "Main.fble", MIX_MAIN)
        same(build(), ("0", "5"))
        same(run(t, "./out"), (0, "", ""))


def compiled_libraries_serve_interpreted_programs():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Lib.fble", MIX)
        write(t, "Main.fble", MIX_MAIN)
        compiled(t, "-I", ".", "-m", "/Lib%", "--library", output="lib.so", flags="-O2")
        same(run(t, FBLE, "eval", "-I", ".", "-m", "/Main%", "--profile", "i.pb"), (0, "", ""))
        same(run(t, FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so", "--profile", "c.pb"), (0, "", ""))
        same_profiles(t, "i.pb", "c.pb")
        same(run(t, FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so"), (0, "", ""))
        write(t, "Main.fble", MIX_MAIN.replace("Xor).t", "Xor).f"))
        want = run(t, FBLE, "eval", "-I", ".", "-m", "/Main%")
        assert want[0] == 3
        same(run(t, FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so"), want)
        write(t, "Lib.fble", MIX + "# other\n")
        code, _, err = run(t, FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", "lib.so")
        assert code == 2 and "has changed since" in err, err
        code, _, err = run(t, FBLE, "eval", "-I", ".", "-m", "/Main%", "--compiled", FBLE)
        assert code == 5 and "cannot use" in err, err


def the_collector_finds_everything_with_the_sanitizers():
    # Memory is collected at every turn and given back at once, so that what was forgotten is found.
    with tempfile.TemporaryDirectory() as t:
        bits = "U@ = *(); U@ u = U@(); B@ = +(U@ 0, U@ 1); L@ = +(*(B@ h, L@ t) c, U@ n);\n"
        write(t, "Main.fble", bits + """
S@ = *(L@ all, L@ odd, (L@) { L@; } f);
(L@, L@) { L@; } Rev = (L@ a, L@ to) { a.?(n: to); Rev(a.c.t, L@(c: @(h: a.c.h, t: to))); };
(L@) { L@; } Copy = (L@ a) { a.?(n: a); L@ rest = Copy(a.c.t); L@(c: @(h: a.c.h, t: rest)); };
(L@, (B@) { (L@) { L@; }; }) { L@; } Each = (L@ a, (B@) { (L@) { L@; }; } f) { a.?(n: a); Copy(f(a.c.h, Each(a.c.t, f))); };
(L@) { L@; } Go = (L@ a) {
  L@(L@) { L@; } Same = (L@ x) { x.?(n: x); Other(x); }, (L@) { L@; } Other = (L@ x) { Copy(Rev(x, L@(n: u))); };
  S@ s = S@(a, L@(n: u), Same);
  Add = (B@ b)(L@ l) { L@(c: @(h: b, t: s.@(odd: l).odd)); };
  s.f(Each(Rev(a, s.odd), Add));
};
(L@ a) { Go(Go(Go(a))); };
""".replace("L@(L@) { L@; } Same", "(L@) { L@; } Same"))
        for flags in ("-O0 -fsanitize=address", "-O2"):
            compiled(t, "-I", ".", "-m", "/Main%", "--library", output="lib.so", flags=flags)
            want = run(t, CHECKED, "memory", "-I", ".", "-m", "/Main%", "12345")
            assert want[0] == 0, want
            got = run(t, CHECKED, "memory", "-I", ".", "-m", "/Main%", "--compiled", "lib.so", "12345")
            assert got[0] == 0 and not got[2], got
            got = run(t, CHECKED, "memory", "-I", ".", "-m", "/Main%", "--compiled", "lib.so", "--profile", "x.pb", "12345")
            assert got[0] == 0 and not got[2], got


def symbols_have_the_names_of_functions():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", LOOPS.replace("K(K(one))", "K(one)"))
        for cc in ("gcc", "clang"):
            if not shutil.which(cc):
                continue
            compiled(t, "Main.fble", "--eval", flags="-O2 -g", cc=cc)
            names = run(t, "nm", "out")[1]
            assert " t /Main%.Even~" in names and " t /Main%.Twice~" in names, names[:500]
            lines = run(t, "objdump", "-d", "-l", "--no-show-raw-insn", "out")[1]
            assert re.search(r"Main\.fble:8\b", lines), "no lines of the source"


def the_c_can_be_read_and_compiled_by_hand():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Lib.fble", MIX)
        write(t, "Main.fble", MIX_MAIN)
        same(run(t, FBLE, "compile", "--eval", "--no-profile", "-I", ".", "-m", "/Main%", "--emit-c", "c/d"), (0, "", ""))
        build = os.path.dirname(FBLE)
        same(run(t, "cc", "-Wall", "-Wno-unused", "-o", "out", "-I", build + "/packages/vm", "-I",
                 build + "/packages/../../include", "c/d/Main.c", "c/d/Lib.c", "c/d/main.c",
                 build + "/libfble_runtime.a", "-rdynamic", "-ldl", "-lm", "-lpthread"), (0, "", ""))
        same(run(t, "./out"), (0, "", ""))


def odd_requests_are_refused():
    with tempfile.TemporaryDirectory() as t:
        write(t, "Main.fble", "*();")
        write(t, "Bad.fble", "*(;")
        for status, line, environment in (
                (4, ["Main.fble"], {}), (4, ["-o", "x"], {}), (4, ["Main.fble", "-o", "x", "-j", "0"], {}),
                (4, ["Main.fble", "-o", "x", "--library", "--eval"], {}), (2, ["Bad.fble", "-o", "x"], {}),
                (2, ["Main.fble", "-o", "x"], {}),
                (5, ["Main.fble", "--eval", "-o", "no/such/x"], {}), (5, ["Main.fble", "--eval", "-o", "x"], {"CC": "no-such-compiler"}),
                (5, ["Main.fble", "--eval", "-o", "x"], {"CFLAGS": "--no-such-flag"}), (5, ["Main.fble", "--eval", "-o", "x"], {"CFLAGS": "'"})):
            code, _, err = run(t, FBLE, "compile", "--build-dir", "o", *line, env={**os.environ, **environment})
            assert code == status and err, (line, code, err)
        assert not os.path.exists(os.path.join(t, "x"))


def an_installed_fble_compiles():
    with tempfile.TemporaryDirectory() as t:
        build = os.path.dirname(FBLE)
        done = subprocess.run(["meson", "install", "--quiet", "--no-rebuild", "-C", build, "--destdir", t],
                              capture_output=True, text=True, timeout=120)
        same(done.returncode, 0)
        found = [p for p in pathlib.Path(t).rglob("bin/fble")]
        assert len(found) == 1, found
        write(t, "Main.fble", "Unit@ .= /Std/Unit%; Unit@();\n")
        same(run(t, found[0], "compile", "-p", "std", "--eval", "--no-profile", "Main.fble", "-o", "out", "--build-dir", "o",
                 env={**os.environ, "CFLAGS": "-O0"}), (0, "", ""))
        same(run(t, "./out"), (0, "", ""))


HELPERS = {write, without_warnings, run, compiled, same, values, same_profiles, read_cases, check_case}


def main():
    failed = 0
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    for name, case in list(globals().items()):
        if not callable(case) or case in HELPERS or isinstance(case, type) or name == "main" or word not in name:
            continue
        try:
            case()
            print("ok", name, flush=True)
        except Exception as problem:
            failed += 1
            print(f"{name}: {str(problem)[:3000]}", file=sys.stderr)
            print("not ok", name, flush=True)
    return failed > 0


if __name__ == "__main__":
    status = main()
    WORK.cleanup()
    sys.exit(status)

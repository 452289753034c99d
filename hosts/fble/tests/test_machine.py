#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that run, from outside: test_machine.py FBLE OURO WITHOUT_PROFILES LIBFNV

Signals, limits, profiles in all formats and sizes, functions in C. WITHOUT_PROFILES is the same fble with profiling
compiled out: without --profile, both execute the same number of instructions, which callgrind counts.
"""
import os, re, resource, shutil, signal, subprocess, sys, tempfile, time

FBLE, OURO, WITHOUT, LIBFNV = (os.path.abspath(a) for a in sys.argv[1:5])
HOST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBERS = """U@ = *(); U@ u = U@(); Flag@ = +(U@ on, U@ off); Flag@ on = Flag@(on: u);
N@ = +(N@ s, U@ z); N@ one = N@(s: N@(z: u));
(N@, N@) { N@; } Twice = (N@ n, N@ to) { n.?(z: to); Twice(n.s, N@(s: N@(s: to))); };
D = (N@ n) { Twice(n, N@(z: u)); };
K = (N@ n) { D(D(D(D(D(D(D(D(D(D(n)))))))))); };
"""
ENDLESS = NUMBERS + "(N@) { U@; } A = (N@ n) { B(n); }, (N@) { U@; } B = (N@ n) { A(n); }; A(one);\n"


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text)


def run(folder, *arguments, program=FBLE, **more):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, **more)
    return done.returncode, done.stdout, without_warnings(done.stderr)


def without_warnings(text):
    return re.sub(r"^[^\n]*: warning: .*\n  .*\n  .*\n  hint: .*\n", "", text, flags=re.M)


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def paths(folder, file, metric="calls"):
    """Path -> value, of a profile."""
    code, out, err = run(folder, "convert", "--to", "folded", "--metric", metric, file, "-", program=OURO)
    same((code, err), (0, ""))
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.splitlines()}


def interrupted(folder, number, *arguments, stdin=subprocess.DEVNULL):
    process = subprocess.Popen([FBLE, *arguments], cwd=folder, stdin=stdin, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(number)
    err = process.communicate(timeout=60)[1]
    return process.returncode, without_warnings(err)


def signals_write_the_profile(t):
    write(t, "A.fble", ENDLESS)
    for number in (signal.SIGINT, signal.SIGTERM):
        code, err = interrupted(t, number, "eval", "--profile", "a.pb", "A.fble")
        same(code, -number)
        assert "error: interrupted" in err, err
        assert any(p.endswith(";/A%.A;/A%.B") or "/A%.B" in p for p in paths(t, "a.pb"))
        os.remove(os.path.join(t, "a.pb"))


def a_program_that_waits_for_input_is_interrupted(t):
    write(t, "A.fble", """Unit@ .= /Std/Unit%; Int@, Zero .= /Std/Int%; List@ .= /Std/List%; String@ .= /Std/String%;
Monad@ .= /Std/Monad%; Io@ .= /Std/Io%; Main .= /Std/Io/Cli%; File@, GetByte, GetStdin .= /Std/Io/File/Binary%;
Maybe@ .= /Std/Maybe%;
Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> io, List@<String@> _) {
  File@ f := m.do(io.run(GetStdin)); Maybe@<Int@> _ := m.do(io.run(GetByte(f))); m.return(Zero); });
""")
    code, err = interrupted(t, signal.SIGINT, "run", "-p", "std", "--profile", "a.pb", "A.fble", stdin=subprocess.PIPE)
    same(code, -signal.SIGINT)
    assert "interrupted" in err, err
    assert os.path.exists(os.path.join(t, "a.pb"))


def without_a_profile_signals_do_what_they_always_do(t):
    write(t, "A.fble", ENDLESS)
    same(interrupted(t, signal.SIGINT, "eval", "A.fble"), (-signal.SIGINT, ""))


def a_run_time_error_has_a_profile(t):
    write(t, "A.fble", "U@ = *(); F@ = +(U@ a, U@ b); F = (F@ f) { f.b; }; x = F(F@(a: U@())); x;")
    code, _, err = run(t, "eval", "--profile", "a.pb", "A.fble")
    same((code, err.splitlines()[0]), (3, "A.fble:1:46: error: the union has another tag, in /A%.F"))
    same(paths(t, "a.pb"), {"/A%": 1, "/A%;/A%.F": 1})


def every_format_is_written(t):
    write(t, "A.fble", NUMBERS + "K(one);")
    for name in ("p", "p.pb", "p.pb.gz", "p.folded", "p.svg", "p.html", "p.speedscope.json", "p.callgrind"):
        same(run(t, "eval", "--profile", name, "A.fble"), (0, "", ""))
        assert os.path.getsize(os.path.join(t, name)) > 50, name
    left = [n for n in os.listdir(t) if "tmp" in n]
    same(left, [])
    code, out, _ = run(t, "report", "p.pb.gz", program=OURO)
    same(code, 0)
    assert "/A%.Twice" in out
    with open(os.path.join(t, "p.svg")) as f:
        assert "<svg" in f.read()
    same(run(t, "eval", "--profile", "no/such/p.pb", "A.fble")[0], 5)
    code, _, err = run(t, "eval", "--profile", "p.unknown", "A.fble")
    same(code, 5)


def without_the_tool_other_formats_are_refused_at_once(t):
    write(t, "A.fble", ENDLESS)
    alone = os.path.join(t, "bin")
    os.mkdir(alone)
    shutil.copy(FBLE, alone)
    code, _, err = run(t, "eval", "--profile", "p.svg", "A.fble", program=os.path.join(alone, "fble"), env={"PATH": ""})
    same(code, 5)
    assert "neither beside fble nor in PATH" in err, err


def what_cannot_be_converted_is_kept_as_pprof(t):
    write(t, "A.fble", NUMBERS + "K(one);")
    code, _, err = run(t, "eval", "--profile", "p.strange", "A.fble")
    same(code, 5)
    assert "the profile is in p.strange.tmp.pb" in err, err
    same(paths(t, "p.strange.tmp.pb")["/A%;/A%.K"], 1)


def a_live_profile_is_readable_later(t):
    write(t, "A.fble", NUMBERS + "K(one);")
    same(run(t, "eval", "--profile-live", "a.ouro", "--profile-max-nodes", "1000", "A.fble"), (0, "", ""))
    same(paths(t, "a.ouro")["/A%;/A%.K"], 1)


def odd_options_are_refused(t):
    write(t, "A.fble", NUMBERS + "u;")
    for name, value in (("metrics", "x"), ("metrics", "time,time"), ("metrics", ""), ("blocks", "some"), ("compact", "all"),
                        ("max-nodes", "1"), ("max-nodes", "x"), ("period", "0"), ("period", "-1")):
        code, _, err = run(t, "eval", "--profile", "p.pb", "--profile-" + name, value, "A.fble")
        same(code, 4)
        assert "--profile-" + name in err, err
    same(run(t, "check", "--profile", "p.pb", "A.fble")[0], 4)
    same(run(t, "run", "--profile")[0], 116)


def metrics_are_what_was_asked_for(t):
    write(t, "A.fble", NUMBERS + "K(K(one));")
    same(run(t, "eval", "--profile", "p.pb", "--profile-metrics", "objects,instructions,bytes,time", "A.fble")[0], 0)
    out = run(t, "report", "p.pb", program=OURO)[1]
    # direct comes from a label of the samples, see docs/pprof-mapping.md.
    same(re.search(r"metrics: (.*) \(", out).group(1), "calls, recursions, objects, instructions, bytes, time, direct")
    totals = {metric: sum(paths(t, "p.pb", metric).values()) for metric in ("objects", "instructions", "bytes")}
    # 2 + 4 + ... + 2^20 unions around pointers (the last 30 or so of each number are immediates), 16 bytes each.
    assert 1900000 < totals["objects"] < 2100000, totals
    same(totals["bytes"], 16 * totals["objects"])
    # By period: all but a remainder.
    same(run(t, "eval", "--profile", "q.pb", "--profile-period", "1000", "A.fble")[0], 0)
    some = sum(paths(t, "q.pb", "instructions").values())
    assert totals["instructions"] - 1000 < some <= totals["instructions"] and some % 1000 == 0, (totals, some)


def ten_million_tail_calls_have_a_small_profile(t):
    steps = "(N@, N@) { U@; } Go = (N@ n, N@ m) { n.?(z: m.?(s: Go(D(D(K(one))), m.s), z: u)); Step(n, m); }, " \
            "(N@, N@) { U@; } Step = (N@ n, N@ m) { Go(n.s, m); };\n"
    write(t, "A.fble", NUMBERS + steps + "Go(one, D(D(K(one))));")
    write(t, "B.fble", NUMBERS + steps + "Go(one, D(one));")
    for name in "AB":
        same(run(t, "eval", "--profile", name + ".pb", name + ".fble"), (0, "", ""))
    many, few = paths(t, "A.pb"), paths(t, "B.pb")
    assert sum(n for p, n in many.items() if p.endswith("Step")) > 10000000
    same({p.replace("/A%", "/B%") for p in many if ".Go" in p}, {p for p in few if ".Go" in p})
    assert os.path.getsize(os.path.join(t, "A.pb")) < 4096


def deep_recursion_has_a_small_profile(t):
    write(t, "A.fble", NUMBERS + "(N@) { N@; } C = (N@ n) { n.?(z: n); N@(s: C(n.s)); }; C(D(D(D(D(D(D(D(K(one)))))))));")
    same(run(t, "eval", "--profile", "a.pb", "A.fble"), (0, "", ""))
    same(paths(t, "a.pb")["/A%;/A%.C"], 131073)
    assert os.path.getsize(os.path.join(t, "a.pb")) < 4096


def instructions(program, folder, *arguments):
    out = os.path.join(folder, "callgrind.out")
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, "--toggle-collect=fble_run",
                           program, *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "LD_BIND_NOW": "1"})  # looking up symbols is not ours
    same(done.returncode, 0)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def off_means_off(t):
    """Not one instruction is executed for profiles: as many as in a program that has no profiling in it."""
    write(t, "A.fble", NUMBERS + "F = (N@ a, N@ b) { @(a, b); }; P = F(one); x = P(one); K(x.a);")
    count = instructions(FBLE, t, "eval", "A.fble")
    assert count > 100000
    same(count, instructions(WITHOUT, t, "eval", "A.fble"))
    threads = ["run", "-I", os.path.join(HOST, "examples"), "-I", os.path.join(HOST, "std"), "-m", "/Pipeline%"]
    same(instructions(FBLE, t, *threads), instructions(WITHOUT, t, *threads))
    assert instructions(FBLE, t, "eval", "--profile", "p.pb", "A.fble") > count


def too_much_memory_is_said(t):
    write(t, "A.fble", NUMBERS + "(N@) { N@; } F = (N@ n) { N@(s: F(N@(s: n))); }; F(one);")
    limit = 300 << 20
    for more in ((), ("--profile", "p.pb", "--profile-max-nodes", "1000")):
        same(run(t, "eval", *more, "A.fble", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))),
             (5, "", "fble: out of memory\n"))


def functions_in_c_come_from_shared_objects(t):
    program = os.path.join(HOST, "examples", "foreign", "Fnv.fble")
    out = run(t, "run", "-p", "std", "--foreign", LIBFNV, program, "--", "", "hello", "ä")[1].split()
    same([int(n) for n in out], [fnv(b""), fnv(b"hello"), fnv("ä".encode())])
    code, _, err = run(t, "run", "-p", "std", program)
    same(code, 115)
    assert "nobody has supplied the foreign value Fnv of /Fnv%" in err, err
    code, _, err = run(t, "run", "-p", "std", "--foreign", "./none.so", program)
    same(code, 117)
    assert "cannot load ./none.so" in err, err


def fnv(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 % 2**32
    return value


def the_status_of_a_program_is_its_own(t):
    for number, status in (("0", 0), ("7", 7), ("111", 111), ("112", 112), ("1000", 112)):
        write(t, "A.fble", "Int@, Int .= /Std/Int%; List@ .= /Std/List%; String@ .= /Std/String%; Monad@ .= /Std/Monad%; "
                           "Io@ .= /Std/Io%; Main .= /Std/Io/Cli%;\n"
                           f"Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> _, List@<String@> _) {{ m.return(Int|{number}); }});")
        same(run(t, "run", "-p", "std", "A.fble")[0], status)
    write(t, "A.fble", "zz;")
    same(run(t, "run", "A.fble")[0], 114)
    same(run(t, "run")[0], 116)
    same(run(t, "run", "No.fble")[0], 117)


def only_programs_are_run(t):
    for text in ("*()();", "U@ = *(); +(U@ a, U@ b)(a: U@());", "U@ = *(); (U@ a) { a; };", "U@ = *(); (U@ a, U@ b, U@ _) { @(a, b); };"):
        write(t, "A.fble", text)
        code, _, err = run(t, "run", "A.fble")
        same(code, 114)
        assert "A.fble:1:1: error: the module's value cannot be run" in err, err
    write(t, "A.fble", "*()();")
    same(run(t, "memory", "A.fble", "5")[0], 2)


def files_that_nobody_has_are_closed_when_there_are_too_many(t):
    write(t, "A.fble", """Int@, Int, Zero, One, IsZero, Previous .= /Std/Int%; Str, String@ .= /Std/String%; List@ .= /Std/List%;
Maybe@ .= /Std/Maybe%; Monad@ .= /Std/Monad%; Io@ .= /Std/Io%; Main .= /Std/Io/Cli%; File@, Open .= /Std/Io/File/Binary%;
Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> io, List@<String@> _) {
  (Int@) { M@<Int@>; } Go = (Int@ n) {
    IsZero(n).?(true: m.return(Zero));
    Maybe@<File@> f := m.do(io.run(Open(Str|'/dev/null', Str|'r')));
    f.?(nothing: m.return(One));
    Go(Previous(n));
  };
  Go(Int|200);
});
""")
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    same(run(t, "run", "-p", "std", "A.fble", preexec_fn=limit), (0, "", ""))


def what_does_not_fit_is_a_compile_error(t):
    tags = ", ".join(f"U@ t{i}" for i in range(70000))
    write(t, "A.fble", f"U@ = *(); B@ = +({tags}); B@(t69999: U@()).t69999;")
    code, _, err = run(t, "eval", "A.fble")
    same(code, 2)
    assert "error: a struct or union has too many fields" in err, err
    write(t, "A.fble", f"U@ = *(); u = U@(); B@ = *({tags}); B@({', '.join(70000 * ['u'])}).t69999;")
    same(run(t, "eval", "A.fble")[0], 2)


def with_all_blocks_overall_numbers_are_exact_too(t):
    write(t, "A.fble", NUMBERS + """(N@, N@) { N@; } Ack = (N@ a, N@ b) {
  a.?(z: N@(s: b));
  b.?(z: Ack(a.s, one));
  Ack(a.s, Ack(a, b.s));
};
Ack(N@(s: one), N@(s: one));
""")
    same(run(t, "eval", "--profile", "a.pb", "--profile-blocks", "all", "A.fble")[0], 0)
    same(run(t, "eval", "--profile", "b.pb", "--profile-blocks", "all", "--profile-compact", "loops", "A.fble")[0], 0)
    same(paths(t, "a.pb"), paths(t, "b.pb"))


def memory_prints_a_number(t):
    write(t, "A.fble", NUMBERS + "B@ = +(U@ 0, U@ 1); L@ = +(*(B@ h, L@ t) c, U@ n); (L@ l) { l; };")
    code, out, err = run(t, "memory", "A.fble", "5")
    same((code, err), (0, ""))
    assert 0 <= int(out) < 5000
    same(run(t, "memory", "A.fble")[0], 4)
    for number in ("x", "", "5x", "99999999999999999999999"):
        same(run(t, "memory", "A.fble", number)[0], 4)
    same(run(t, "memory", "--", "A.fble", "-5")[0], 4)


def code_can_be_looked_at(t):
    write(t, "A.fble", NUMBERS + "K(one);")
    code, out, err = run(t, "disassemble", "A.fble")
    same((code, err), (0, ""))
    assert "/A%.Twice  A.fble:3:" in out and "TAIL_CODE    /A%.Twice" in out and "SWITCH" in out, out


def main():
    failed = 0
    helpers = ("write", "run", "without_warnings", "same", "paths", "interrupted", "instructions", "fnv", "main")
    for name, case in list(globals().items()):
        if not callable(case) or name in helpers or isinstance(case, type):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
                print("ok", name, flush=True)
            except Exception as problem:
                failed += 1
                print(f"{name}: {problem}", file=sys.stderr)
                print("not ok", name, flush=True)
    return failed > 0


sys.exit(main())

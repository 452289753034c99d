#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that run, from outside: test_machine.py FBLE OURO WITHOUT_PROFILES LIBFNV [WORD...]

Signals, limits, profiles in all formats and sizes, functions in C. WITHOUT_PROFILES is the same fble with profiling
compiled out: without --profile, both execute the same number of instructions, which callgrind counts.
"""
import json, os, re, resource, shutil, signal, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../tests/support")
import without_memory
from suite import Done, arguments, case, has, main, read, run, same, write

FBLE, OURO, WITHOUT, LIBFNV = arguments("FBLE", "OURO", "WITHOUT_PROFILES", "LIBFNV")
HOST = os.path.dirname(HERE)
NUMBERS = """U@ = *(); U@ u = U@(); Flag@ = +(U@ on, U@ off); Flag@ on = Flag@(on: u);
N@ = +(N@ s, U@ z); N@ one = N@(s: N@(z: u));
(N@, N@) { N@; } Twice = (N@ n, N@ to) { n.?(z: to); Twice(n.s, N@(s: N@(s: to))); };
D = (N@ n) { Twice(n, N@(z: u)); };
K = (N@ n) { D(D(D(D(D(D(D(D(D(D(n)))))))))); };
"""
ENDLESS = NUMBERS + "(N@) { U@; } A = (N@ n) { B(n); }, (N@) { U@; } B = (N@ n) { A(n); }; A(one);\n"


def without_warnings(text):
    return re.sub(r"^[^\n]*: warning: .*\n  .*\n  .*\n  hint: .*\n", "", text, flags=re.M)


def fble(*words, program=FBLE, **more):
    done = run(program, *words, **more)
    return Done(done.status, done.out, without_warnings(done.err))


def paths(file, metric="calls"):
    """Path -> value, of a profile."""
    done = run(OURO, "convert", "--to", "folded", "--metric", metric, file, "-", status=0)
    same(done.err, "")
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in done.out.splitlines()}


def interrupted(number, *words, stdin=subprocess.DEVNULL):
    process = subprocess.Popen([FBLE, *words], stdin=stdin, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(number)
    err = process.communicate(timeout=60)[1]
    return process.returncode, without_warnings(err)


def instructions(program, *words):
    done = run("valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out", "--toggle-collect=fble_run",
               program, *words, status=0, env={**os.environ, "LD_BIND_NOW": "1"})  # looking up symbols is not ours
    return int(re.search(r"Collected : (\d+)", done.err).group(1))


def fnv(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 % 2**32
    return value


@case
def signals_write_the_profile():
    write("A.fble", ENDLESS)
    for number in (signal.SIGINT, signal.SIGTERM):
        code, err = interrupted(number, "eval", "--profile", "a.pb", "A.fble")
        same(code, -number)
        has(err, "error: interrupted")
        assert any("/A%.B" in path for path in paths("a.pb")), paths("a.pb")
        os.remove("a.pb")


@case
def a_program_that_waits_for_input_is_interrupted():
    write("A.fble", """Unit@ .= /Std/Unit%; Int@, Zero .= /Std/Int%; List@ .= /Std/List%; String@ .= /Std/String%;
Monad@ .= /Std/Monad%; Io@ .= /Std/Io%; Main .= /Std/Io/Cli%; File@, GetByte, GetStdin .= /Std/Io/File/Binary%;
Maybe@ .= /Std/Maybe%;
Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> io, List@<String@> _) {
  File@ f := m.do(io.run(GetStdin)); Maybe@<Int@> _ := m.do(io.run(GetByte(f))); m.return(Zero); });
""")
    code, err = interrupted(signal.SIGINT, "run", "-p", "std", "--profile", "a.pb", "A.fble", stdin=subprocess.PIPE)
    same(code, -signal.SIGINT)
    has(err, "interrupted")
    assert os.path.exists("a.pb")


@case
def without_a_profile_signals_do_what_they_always_do():
    write("A.fble", ENDLESS)
    same(interrupted(signal.SIGINT, "eval", "A.fble"), (-signal.SIGINT, ""))


@case
def a_run_time_error_has_a_profile():
    write("A.fble", "U@ = *(); F@ = +(U@ a, U@ b); F = (F@ f) { f.b; }; x = F(F@(a: U@())); x;")
    code, _, err = fble("eval", "--profile", "a.pb", "A.fble")
    same((code, err.splitlines()[0]), (3, "A.fble:1:46: error: the union has another tag, in /A%.F"))
    same(paths("a.pb"), {"/A%": 1, "/A%;/A%.F": 1})


@case
def every_format_is_written():
    write("A.fble", NUMBERS + "K(one);")
    for name in ("p", "p.pb", "p.pb.gz", "p.folded", "p.svg", "p.html", "p.speedscope.json", "p.callgrind"):
        same(fble("eval", "--profile", name, "A.fble"), (0, "", ""))
        assert os.path.getsize(name) > 50, name
    left = [n for n in os.listdir(".") if "tmp" in n]
    same(left, [])
    code, out, _ = run(OURO, "report", "p.pb.gz")
    same(code, 0)
    has(out, "/A%.Twice")
    has(read("p.svg"), "<svg")
    same(fble("eval", "--profile", "no/such/p.pb", "A.fble").status, 5)
    code, _, err = fble("eval", "--profile", "p.unknown", "A.fble")
    same(code, 5)


@case
def without_the_tool_other_formats_are_refused_at_once():
    write("A.fble", ENDLESS)
    os.mkdir("bin")
    shutil.copy(FBLE, "bin")
    done = fble("eval", "--profile", "p.svg", "A.fble", program="bin/fble", env={"PATH": ""}, status=5)
    has(done.err, "neither beside fble nor in PATH")
    write("B.fble", NUMBERS + "K(one);")
    fble("eval", "--profile", "p.pb.gz", "B.fble", program="bin/fble", env={"PATH": ""}, status=0)
    same(paths("p.pb.gz")["/B%;/B%.K"], 1)


@case
def what_cannot_be_converted_is_kept_as_pprof():
    write("A.fble", NUMBERS + "K(one);")
    has(fble("eval", "--profile", "p.strange", "A.fble", status=5).err, "the profile is in p.strange.tmp.pb")
    same(paths("p.strange.tmp.pb")["/A%;/A%.K"], 1)
    kept = re.search("the profile is in (.*), as pprof", fble("eval", "--profile", "p.strange", "A.fble", status=5).err)
    assert kept and kept[1] != "p.strange.tmp.pb", "what stands there stays"
    same(paths(kept[1])["/A%;/A%.K"], 1)


@case
def files_of_an_installed_package_have_plain_paths():
    """FBLE is in bin, and its packages are in ../share/fble."""
    os.mkdir("bin")
    shutil.copy(FBLE, "bin/fble")
    write("share/fble/mine/Lib.fble", "U@ = *(); U@ u = U@(); F = (U@ x) { x; }; F(u);\n")
    write("A.fble", "/Lib%;\n")
    fble("eval", "-p", "mine", "--profile", "a.pb", "A.fble", program="bin/fble", status=0)
    rows = json.loads(run(OURO, "report", "--self", "--json", "--metric", "calls", "a.pb", status=0).out)["rows"]
    has({r["file"] for r in rows}, os.path.realpath("share/fble/mine/Lib.fble"))
    same([r["file"] for r in rows if ".." in r["file"]], [])


@case
def a_live_profile_is_readable_later():
    write("A.fble", NUMBERS + "K(one);")
    same(fble("eval", "--profile-live", "a.ouro", "--profile-max-nodes", "1000", "A.fble"), (0, "", ""))
    same(paths("a.ouro")["/A%;/A%.K"], 1)


@case
def odd_options_are_refused():
    write("A.fble", NUMBERS + "u;")
    for name, value in (("metrics", "x"), ("metrics", "time,time"), ("metrics", ""), ("blocks", "some"),
                        ("compact", "all"), ("max-nodes", "1"), ("max-nodes", "x"), ("period", "0"), ("period", "-1")):
        has(fble("eval", "--profile", "p.pb", "--profile-" + name, value, "A.fble", status=4).err, "--profile-" + name)
    same(fble("check", "--profile", "p.pb", "A.fble").status, 4)
    same(fble("run", "--profile").status, 116)


@case
def metrics_are_what_was_asked_for():
    write("A.fble", NUMBERS + "K(K(one));")
    same(fble("eval", "--profile", "p.pb", "--profile-metrics", "objects,instructions,bytes,time", "A.fble").status, 0)
    out = run(OURO, "report", "p.pb").out
    same(re.search(r"metrics: (.*) \(", out).group(1), "calls, objects, instructions, bytes, time")
    totals = {metric: sum(paths("p.pb", metric).values()) for metric in ("objects", "instructions", "bytes")}
    # 2 + 4 + ... + 2^20 unions around pointers (the last 30 or so of each number are immediates), 16 bytes each.
    assert 1900000 < totals["objects"] < 2100000, totals
    same(totals["bytes"], 16 * totals["objects"])
    # By period: all but a remainder.
    same(fble("eval", "--profile", "q.pb", "--profile-period", "1000", "A.fble").status, 0)
    some = sum(paths("q.pb", "instructions").values())
    assert totals["instructions"] - 1000 < some <= totals["instructions"], (totals, some)
    same(some % 1000, 0, (totals, some))


@case
def ten_million_tail_calls_have_a_small_profile():
    steps = "(N@, N@) { U@; } Go = (N@ n, N@ m) { n.?(z: m.?(s: Go(D(D(K(one))), m.s), z: u)); Step(n, m); }, " \
            "(N@, N@) { U@; } Step = (N@ n, N@ m) { Go(n.s, m); };\n"
    write("A.fble", NUMBERS + steps + "Go(one, D(D(K(one))));")
    write("B.fble", NUMBERS + steps + "Go(one, D(one));")
    for name in "AB":
        same(fble("eval", "--profile", name + ".pb", name + ".fble"), (0, "", ""))
    many, few = paths("A.pb"), paths("B.pb")
    assert sum(n for p, n in many.items() if p.endswith("Step")) > 10000000, many
    same({p.replace("/A%", "/B%") for p in many if ".Go" in p}, {p for p in few if ".Go" in p})
    assert os.path.getsize("A.pb") < 4096, os.path.getsize("A.pb")


@case
def deep_recursion_has_a_small_profile():
    write("A.fble", NUMBERS + "(N@) { N@; } C = (N@ n) { n.?(z: n); N@(s: C(n.s)); }; C(D(D(D(D(D(D(D(K(one)))))))));")
    same(fble("eval", "--profile", "a.pb", "A.fble"), (0, "", ""))
    same(paths("a.pb")["/A%;/A%.C"], 131073)
    assert os.path.getsize("a.pb") < 4096, os.path.getsize("a.pb")


@case
def off_means_off():
    """Not one instruction is executed for profiles: as many as in a program that has no profiling in it."""
    write("A.fble", NUMBERS + "F = (N@ a, N@ b) { @(a, b); }; P = F(one); x = P(one); K(x.a);")
    count = instructions(FBLE, "eval", "A.fble")
    assert count > 100000
    same(count, instructions(WITHOUT, "eval", "A.fble"))
    threads = ["run", "-I", os.path.join(HOST, "examples"), "-I", os.path.join(HOST, "std"), "-m", "/Pipeline%"]
    same(instructions(FBLE, *threads), instructions(WITHOUT, *threads))
    assert instructions(FBLE, "eval", "--profile", "p.pb", "A.fble") > count


@case
def a_program_without_memory_says_where_it_was_and_writes_its_profile():
    for name in without_memory.write_modules():
        line = "eval", "-I", ".", "-m", f"/{name}%"
        plain = fble(*line, preexec_fn=without_memory.limited)
        for more in [], ["--profile-metrics", "objects,bytes"]:
            done = fble(*line, "--profile", f"{name}.pb", "--profile-max-nodes", "1000", *more,
                        preexec_fn=without_memory.limited)
            without_memory.says_so(name, done, paths(f"{name}.pb"))
            os.remove(f"{name}.pb")
        same(plain.err.splitlines()[0], done.err.splitlines()[0])


@case
def a_program_that_reads_too_much_says_where_it_was():
    write("A.fble", """Unit@ .= /Std/Unit%; Int .= /Std/Int%; List@ .= /Std/List%; String@ .= /Std/String%;
Monad@ .= /Std/Monad%; Io@ .= /Std/Io%; Main .= /Std/Io/Cli%; Console .= /Std/Io/Console%;
Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> io, List@<String@> _args) {
  PrintLine, ReadAll .= Console(m, io); String@ text := m.do(ReadAll); Unit@ _ := m.do(PrintLine(text));
  m.return(Int|0);
});
""")
    with open("/dev/zero", "rb") as zeros:
        done = fble("run", "-p", "std", "--profile", "p.pb", "--profile-max-nodes", "10000", "A.fble", stdin=zeros,
                    preexec_fn=without_memory.limited)
    same((done.status, done.out), (117, ""))
    assert re.match(r"\S+\.fble:\d+:\d+: error: out of memory, in /Std/", done.err), done.err
    assert sum(paths("p.pb").values()) > 10_000


@case
def functions_in_c_come_from_shared_objects():
    program = os.path.join(HOST, "examples", "foreign", "Fnv.fble")
    out = fble("run", "-p", "std", "--foreign", LIBFNV, program, "--", "", "hello", "ä").out.split()
    same([int(n) for n in out], [fnv(b""), fnv(b"hello"), fnv("ä".encode())])
    has(fble("run", "-p", "std", program, status=115).err, "nobody has supplied the foreign value Fnv of /Fnv%")
    has(fble("run", "-p", "std", "--foreign", "./none.so", program, status=117).err, "cannot load ./none.so")
    # A name without a folder is a file of the current folder, for every option that takes one.
    shutil.copy(LIBFNV, "here.so")
    out = fble("run", "-p", "std", "--foreign", "here.so", program, "--", "hello", status=0).out
    same(int(out), fnv(b"hello"))
    has(fble("run", "-p", "std", "--foreign", "none.so", program, status=117).err, "cannot load none.so")
    has(fble("run", "-p", "std", "--compiled", "here.so", program, status=117).err, "cannot use here.so")


@case
def the_status_of_a_program_is_its_own():
    for number, status in (("0", 0), ("7", 7), ("111", 111), ("112", 112), ("1000", 112)):
        write("A.fble", "Int@, Int .= /Std/Int%; List@ .= /Std/List%; String@ .= /Std/String%; Monad@ .= /Std/Monad%; "
                           "Io@ .= /Std/Io%; Main .= /Std/Io/Cli%;\n"
                           f"Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> _, List@<String@> _) {{ m.return(Int|{number}); }});")
        same(fble("run", "-p", "std", "A.fble").status, status)
    write("A.fble", "zz;")
    same(fble("run", "A.fble").status, 114)
    same(fble("run").status, 116)
    same(fble("run", "No.fble").status, 117)


@case
def only_programs_are_run():
    for text in ("*()();", "U@ = *(); +(U@ a, U@ b)(a: U@());", "U@ = *(); (U@ a) { a; };",
                 "U@ = *(); (U@ a, U@ b, U@ _) { @(a, b); };"):
        write("A.fble", text)
        has(fble("run", "A.fble", status=114).err, "A.fble:1:1: error: the module's value cannot be run")
    write("A.fble", "*()();")
    same(fble("memory", "A.fble", "5").status, 2)


# A program that knows nothing of the standard library. Its types are laid out as those of Main@, with names of its own.
OWN_MAIN = """U@ = *(); P@ = +(U@ one, P@ even, P@ odd); I@ = +(P@ less, U@ zero, P@ more); C@ = *(I@ number);
L@ = <@ T@> { X@ = +(*(T@ first, X@ others) cell, U@ end); X@; };
<<@>@ M@>(*(@<M@> M@, <@ X@>(X@) { M@<X@>; } give, <@ X@>(M@<X@>)<@ Y@>((X@) { M@<Y@>; }) { M@<Y@>; } then) m,
          *(<@ X@>((U@) { X@; }) { M@<X@>; } go) _, L@<L@<C@>> args) {
  args.?(cell: m.then(m.give(I@(more: P@(odd: P@(one: U@())))), (I@ i) { m.give(i); }), : m.give(I@(zero: U@())));
};
"""


@case
def what_is_run_has_the_whole_type_of_a_program():
    write("A.fble", OWN_MAIN)
    same(fble("run", "A.fble"), (0, "", ""))
    same(fble("run", "A.fble", "--", "x"), (3, "", ""))
    std = ("Int@, Int .= /Std/Int%; List@ .= /Std/List%; String@, Str .= /Std/String%; "
           "Monad@ .= /Std/Monad%; Io@ .= /Std/Io%;\n")
    wanted = "should have type <<@>@ M@>(Monad@<M@>, Io@<M@>, List@<String@>) { M@<Int@>; }, but has type "
    for text, found in (
            ("L@ = +(*(*() h, L@ t) c, *() n);\n<@ M@>(L@ a, L@ _, L@ _) { (L@ _) { a.c.t; }; };", "<@ M@>(L@, L@"),
            ("*()();", "*()\n"),
            ("*();", "@<*()>"),
            (OWN_MAIN.replace("P@ less, U@ zero,", "U@ zero, P@ less,"), "{ M@<I@>; }"),
            (OWN_MAIN.replace("cell, U@ end", "cell, U@ end, U@ other"), "L@<L@<C@>>"),
            (OWN_MAIN.replace("number);", "number, U@ u);"), "L@<L@<C@>>"),
            (std + "<<@>@ M@>(Monad@<M@> m, Io@<M@> _, List@<String@> _) { m.return(Str|a); };", "{ M@<String@>; }"),
            (std + "<<@>@ M@>(Monad@<M@> m, Io@<M@> _, List@<Int@> _) { m.return(Int|1); };", "List@<Int@>) {"),
            (std + "<<@>@ M@>(Io@<M@> _, Monad@<M@> m, List@<String@> _) { m.return(Int|1); };", "(Io@<M@>, Monad@"),
            (std + "<<@>@ M@>(Monad@<M@> m, Io@<M@> _) { m.return(Int|1); };", "(Monad@<M@>, Io@<M@>) {"),
            (std + "<<@>@ M@>(Monad@<M@> m, Io@<M@> _, List@<String@> _, Int@ i) { m.return(i); };", "Int@) {"),
            (std + "(List@<String@> _) { Int|1; };", "(List@<String@>) { Int@; }")):
        write("A.fble", text)
        said = re.escape("A.fble:1:1: error: the module's value cannot be run: a program, /Std/Io/Cli%.Main@, ")
        for line, status in (("run",), 114), (("compile", "-o", "x", "--build-dir", "o"), 2):
            err = fble(*line, "-p", "std", "A.fble", status=status).err
            assert re.search(said + re.escape(wanted) + ".*" + re.escape(found), err + "\n"), err
    assert not os.path.exists("x")


@case
def what_memory_is_measured_of_takes_a_number():
    write("A.fble", "N@ = +(*(+(*() 0, *() 1) h, N@ t) c, *() n); (N@ n) { n; };")
    assert int(fble("memory", "A.fble", "5", status=0).out) >= 0
    for text in ("N@ = +(*(+(*() 0, *() 1, *() 2) h, N@ t) c, *() n); (N@ n) { n; };",
                 "N@ = +(*() n, *(+(*() 0, *() 1) h, N@ t) c); (N@ n) { n; };",
                 "N@ = +(N@ s, *() z); (N@ n) { n.s; };"):
        write("A.fble", text)
        has(fble("memory", "A.fble", "5", status=2).err, "called with a number: it should have type (Bits@) {")


@case
def files_that_nobody_has_are_closed_when_there_are_too_many():
    write("A.fble", """Int@, Int, Zero, One, IsZero, Previous .= /Std/Int%; Str, String@ .= /Std/String%;
List@ .= /Std/List%; Maybe@ .= /Std/Maybe%; Monad@ .= /Std/Monad%; Io@ .= /Std/Io%; Main .= /Std/Io/Cli%;
File@, Open .= /Std/Io/File/Binary%;
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
    same(fble("run", "-p", "std", "A.fble", preexec_fn=limit), (0, "", ""))


@case
def what_does_not_fit_is_a_compile_error():
    tags = ", ".join(f"U@ t{i}" for i in range(70000))
    text = f"U@ = *(); B@ = +({tags}); B@(t69999: U@()).t69999;"
    write("A.fble", text)
    has(fble("eval", "A.fble", status=2).err, f"A.fble:1:{text.index('B@(t') + 1}: error: a struct or union "
        "that is used here has more than 65535 fields")
    write("A.fble", f"U@ = *(); u = U@(); B@ = *({tags}); B@({', '.join(70000 * ['u'])}).t69999;")
    same(fble("eval", "A.fble").status, 2)


@case
def with_all_blocks_overall_numbers_are_exact_too():
    write("A.fble", NUMBERS + """(N@, N@) { N@; } Ack = (N@ a, N@ b) {
  a.?(z: N@(s: b));
  b.?(z: Ack(a.s, one));
  Ack(a.s, Ack(a, b.s));
};
Ack(N@(s: one), N@(s: one));
""")
    same(fble("eval", "--profile", "a.pb", "--profile-blocks", "all", "A.fble").status, 0)
    same(fble("eval", "--profile", "b.pb", "--profile-blocks", "all", "--profile-compact", "loops", "A.fble").status, 0)
    same(paths("a.pb"), paths("b.pb"))


@case
def memory_prints_a_number():
    write("A.fble", NUMBERS + "B@ = +(U@ 0, U@ 1); L@ = +(*(B@ h, L@ t) c, U@ n); (L@ l) { l; };")
    code, out, err = fble("memory", "A.fble", "5")
    same((code, err), (0, ""))
    assert 0 <= int(out) < 5000
    same(fble("memory", "A.fble").status, 4)
    for number in ("x", "", "5x", "99999999999999999999999"):
        same(fble("memory", "A.fble", number).status, 4)
    same(fble("memory", "--", "A.fble", "-5").status, 4)


@case
def code_can_be_looked_at():
    write("A.fble", NUMBERS + "K(one);")
    code, out, err = fble("disassemble", "A.fble")
    same((code, err), (0, ""))
    has(out, "/A%.Twice  A.fble:3:", "TAIL_CODE    /A%.Twice", "SWITCH")


@case
def functions_of_other_modules_are_called_directly():
    write("Lib.fble", """U@ = *(); U@ u = U@(); F = (U@ a) { a; };
Make = (U@ a) { b = a; (U@ _) { b; }; }; G = Make(u); @(U@, F, G);
""")
    write("Again.fble", "F .= /Lib%; @(F);")
    write("A.fble", """U@, F, G .= /Lib%; L = /Lib%; Other(.F) .= /Again%;
H = (U@ a) { b = F(a); c = L.F(b); d = Other(c); e = G(d); /Lib%.F(e); };
H(U@());
""")
    out = fble("disassemble", "-I", ".", "-m", "/A%", status=0).out
    same([out.count(call + "/Lib%.F") for call in ("CALL_CODE    ", "TAIL_CODE    ")], [3, 1])
    same(out.count(" CALL  "), 1)  # what G is is known when it runs
    same(fble("eval", "-I", ".", "-m", "/A%"), (0, "", ""))


@case
def what_a_module_exports_in_the_end_may_not_be_its_value():
    both = """U@ = *(); U@ u = U@(); B@ = +(U@ t, U@ f); B@ t = B@(t: u); B@ f = B@(f: u);
Yes = (U@ _) { t; }; No = (U@ _) { f; };
"""
    write("Guarded.fble", both + "t.?(t: @(B@, U@, F: Yes)); @(B@, U@, F: No);")
    write("Bound.fble", both + """R@ = *((U@) { B@; } F, U@ u); Other = ((U@) { R@; } _) { R@(Yes, u); };
U@ x := Other; y = x; @(F: No, u: y);
""")
    write("A.fble", "U@, F .= /Guarded%; G(.F), u .= /Bound%; U@ _ = G(u).t; F(U@()).t;")
    same(fble("eval", "-I", ".", "-m", "/A%"), (0, "", ""))


main()

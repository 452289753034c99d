#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiled programs: test_compiled.py FBLE OURO FBLE_CHECKED [WORD...]

Whatever the interpreter does, compiled code does too: all conformance programs, the tests of the standard library and
the programs, errors, profiles path by path. Then what only compiled code has: compilers and their flags, objects that
are kept, libraries for the interpreter, the symbols. FBLE_CHECKED has the sanitizers.
"""
import concurrent.futures, os, pathlib, pty, random, re, resource, shutil, signal, subprocess, sys, tempfile, time

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [TESTS + "/../../../tests/support", TESTS + "/programs"]
import model
import objects
import suite
import without_memory
from cases import read_cases
from suite import Done, arguments, case, has, lacks, main, same, skip, write

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


def compiled(*options, output="out", flags="-O0", cc="cc", jobs="1", cwd=None, **environment):
    done = run(FBLE, "compile", "-o", output, "--build-dir", OBJECTS, "-j", jobs, *options, status=0, cwd=cwd,
               env={**os.environ, "CFLAGS": flags, "CC": cc, **environment}, timeout=600)
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


def below(folder, text):
    """The same module with all of its paths below a folder."""
    for token, after in reversed(list(zip(*[model.tokens(text)[i:] for i in (0, 1)]))):
        if token.kind == "/" and after.kind == "word" and text[:token.start].rstrip()[-1:] in PATHS_COME_AFTER:
            text = f"{text[:token.start]}/{folder}{text[token.start:]}"
    return text


def write_programs(folder, programs):
    """All of them as one package, in which modules of different programs cannot meet."""
    for name, _, _, files in programs:
        for file, text in files.items():
            text = text.encode(errors="surrogateescape").decode("latin-1")
            write(os.path.join(folder, name, file), below(name, text).encode("latin-1"))


PATHS_COME_AFTER = ["", *"=;{(,@:[<"]
EXECUTABLES = 8  # one of so many programs is an executable, too


def takes_memory(name, line, expected):
    """Of a library of that line, as much as interpreted."""
    small, large, mine, more = (int(run(FBLE, "memory", *options, *line, n, status=0).out)
                                for options in ((), ("--compiled", "lib.so")) for n in ("200", "400"))
    sizes = f"{name}: {small} and {large} interpreted, {mine} and {more} compiled"
    same(more > mine + 1000, expected == "growth", sizes)
    assert more < 1.3 * large + 1000, sizes


@case
def the_programs_of_the_reference_do_the_same():
    programs = [(name.replace("-", ""), words[0], alone, files)
                for name, words, alone, files in read_cases(os.path.join(TESTS, "reference.cases"))
                if not alone and words[0] != "error"]
    assert len(programs) > 78, len(programs)
    write_programs("p", programs)
    compiled("-p", "p", "--library", output="lib.so", jobs="2", FBLE_PACKAGE_PATH=os.getcwd())
    for i, (name, expected, _, _) in enumerate(programs):
        line = "-I", os.path.abspath("p"), "-m", f"/{name}/Main%"
        if expected in ("constant", "growth"):
            takes_memory(name, line, expected)
            continue
        want = run(FBLE, "eval", *line)
        same(run(FBLE, "eval", "--compiled", "lib.so", *line), want, name)
        if i % EXECUTABLES == 0:
            compiled(*line, "--eval")
            same(run("./out"), want, name)


# ---------------------------------------------------------------- arguments

FLAGS = "U@ = *(); u = U@(); Flag@ = +(U@ on, U@ off); on = Flag@(on: u); off = Flag@(off: u);\n"


def portions(chance, values):
    """Applies g0 to the values, some at a time: by plain calls, and by tail calls while others wait for the result, in
    a function that was tail-called itself or in a plain call."""
    lines, step = [], 0
    while values:
        some = chance.randint(1, min(len(values), 4))
        more = chance.randint(0, min(len(values) - some, 4)) if chance.random() < 0.7 else -1
        now, values = values[:some], values[some:]
        if more < 0:
            lines.append(f"g{step + 1} = g{step}({', '.join(now)});")
        else:
            waiting, values = values[:more], values[more:]
            most = chance.randint(0, min(len(values), 3))
            last, values = values[:most], values[most:]
            lines += [f"S{step} = (U@ _) {{ g{step}({', '.join(now)}); }};",
                      f"T{step} = (U@ _) {{ S{step}({', '.join(['u', *waiting])}); }};",
                      f"g{step + 1} = T{step}({', '.join(['u', *last])});"]
        step += 1
    return lines, step


def any_portions(chance):
    """A function that is several in turn, applied to its arguments in portions, and a look at all that arrived."""
    parts = [chance.randint(1, 5) for _ in range(chance.randint(1, 4))]
    names = [f"a{i}" for i in range(sum(parts))]
    values = [chance.choice(["on", "off"]) for _ in names]
    text, left = "", list(names)
    for count in parts:
        taken, left = left[:count], left[count:]
        text += f"({', '.join('Flag@ ' + name for name in taken)}) {{ y{len(left)} = {taken[-1]}; "
    lines, step = portions(chance, values)
    looks = [f"U@ _ = g{step}.{name}.{value};" for name, value in zip(names, values)]
    return "\n".join([f"g0 = {text}@({', '.join(names)}){'; }' * len(parts)};", *lines, *looks, "u;"])


def arguments_come_in_any_portions(cc, flags):
    seed = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))
    print(f"# seed {seed}")
    chance = random.Random(seed)
    text = FLAGS + "".join(f"x{i} = {{ {any_portions(chance)} }};\n" for i in range(30))
    write("Main.fble", text + "u;\n")
    module = "-I", ".", "-m", "/Main%"
    compiled(*module, "--eval", "--profile", flags=flags, cc=cc)
    run("./out", status=0)
    run("./out", "--profile", "mine.pb", status=0)
    run(FBLE, "eval", *module, "--profile", "want.pb", status=0)
    same_profiles("want.pb", "mine.pb")
    for metrics in ("objects", "time"):
        run("./out", "--profile", "more.pb", "--profile-metrics", metrics, status=0)
        same_profiles("want.pb", "more.pb", ["calls"])


for name, cc, flags in (("gcc", "gcc", "-O1"), ("clang", "clang", "-O1"),
                        ("the_trampoline", "gcc", "-O1 -finstrument-functions")):
    case(arguments_come_in_any_portions, f"arguments_come_in_any_portions_with_{name}", cc, flags)

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
        compiled("-I", "m", "-m", module, "--library", output=module[1:-1] + ".so")
    want = run(FBLE, "test", "m", status=1)
    has(want.out, "ok /One% a\nnot ok /One% a\n    m/One.fble:2:71: a\nnot ok /One% a\n    m/One.fble:3:44: error: ",
        "# 2 passed, 4 failed")
    same(run(FBLE, "test", "--compiled", "One.so", "--compiled", "Two.so", "m"), want)


@case
def the_tests_of_the_library_and_the_programs_pass():
    """Each of them is a case here, too."""
    done = run(sys.executable, os.path.join(TESTS, "test_std.py"), os.path.join(TESTS, "compiled_fble.py"), timeout=900,
               env={**os.environ, "FBLE_REAL": FBLE, "FBLE_BUILD": WORK.name, "CFLAGS": objects.FLAGS, "CC": "cc",
                    "FBLE_OBJECTS": objects.with_library(FBLE)})
    for line in done.out.splitlines():
        print(re.sub("^(not ok|ok) ", r"\1 compiled_", line), flush=True)
    same((done.status, done.err), (0, ""))


def does_a_million_rounds(cc, flags):
    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, resource.RLIM_INFINITY))

    folder = f"{cc} {flags}"
    write(os.path.join(folder, "Main.fble"), LOOPS)
    compiled("Main.fble", "--eval", cc=cc, flags=flags, cwd=folder)
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
        compiled("Main.fble", "--eval", "--profile", flags=flags, cc=cc if shutil.which(cc) else "cc")
        for more in ([], ["--profile-metrics", "objects,instructions,bytes"], ["--profile-period", "100"],
                     ["--profile-compact", "none", "--profile-max-nodes", "5000"]):
            same(run(FBLE, "eval", "--profile", "i.pb", *more, "Main.fble"), (0, "", ""))
            same(run("./out", "--profile", "c.pb", *more), (0, "", ""))
            same_profiles("i.pb", "c.pb", ["calls", "instructions"] + ["objects", "bytes"] * ("bytes" in str(more)))


@case
def totals_are_the_same_under_any_cap():
    """Where the cap leaves no room, code runs in accounts, where a place of a call or a return says nothing."""
    write("Main.fble", LOOPS.replace("K(K(one))", "K(one)"))
    compiled("Main.fble", "--eval", "--profile", flags="-O1")
    same(run(FBLE, "eval", "--profile", "whole.pb", "Main.fble"), (0, "", ""))
    whole = {metric: sum(values("whole.pb", metric).values()) for metric in ("calls", "instructions")}
    for cap in ("2", "3", "4", "5", "7", "20", "500"):
        for more in ([], ["--profile-compact", "none"]):
            same(run("./out", "--profile", "capped.pb", "--profile-max-nodes", cap, *more), (0, "", ""))
            same({metric: sum(values("capped.pb", metric).values()) for metric in whole}, whole, cap)


@case
def time_is_charged_where_it_is_spent_and_shown_first():
    """Nearly all of the time is spent in Busy, which only loops, and in what it calls."""
    write("Main.fble", NUMBERS + """
(N@, N@, (N@) { N@; }) { N@; } Busy = (N@ n, N@ again, (N@) { N@; } f) {
  n.?(s: Busy(f(n).s, again, f));
  again.?(z: n);
  Busy(K(K(one)), again.s, f);
};
Id = (N@ n) { n; };
Main = (N@ n) { N@ m = Busy(zero, n, Id); m; };
Main(D(D(D(one)))).z;
""")
    compiled("Main.fble", "--eval", "--profile", flags="-O1")
    for line in (["./out"], [FBLE, "eval"]):
        for metrics in ("time", "time,instructions", "instructions,time"):
            more = ["Main.fble"] if len(line) > 1 else []
            same(run(*line, "--profile", "t.pb", "--profile-metrics", metrics, *more), (0, "", ""))
            has(run(OURO, "report", "t.pb", status=0).out, f" {metrics.split(',')[0]}\n")
            rows = run(OURO, "report", "--self", "--metric", "time", "t.pb", status=0).out.splitlines()
            share = sum(float(re.search(r"([\d.]+)%", row).group(1)) for row in rows
                        if re.search(r"/Main%\.(Busy|Id|Twice)\b", row))
            assert share > 90, rows


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
    compiled("Main.fble", "--eval", "--profile")
    want = run(FBLE, "eval", "--profile", "i.pb", "Main.fble")
    same(want.status, 3)
    has(want.err, "Main.fble:6:", "called by /Main%.Down")
    same(run("./out", "--profile", "c.pb"), want)
    same(run("./out"), want)
    same_profiles("i.pb", "c.pb")


@case
def programs_take_options_before_their_arguments():
    write("Main.fble", "*();")
    compiled("Main.fble", "--eval", "--profile")
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
    compiled("Main.fble", "--eval")
    has(run("./out", "--profile", "a.pb", status=4).err, "compiled without --profile")


for at, (cc, flags) in enumerate((("gcc", "-O1"), ("gcc", "-O0"), ("clang", "-O1"))):
    def without(cc=cc, flags=flags, at=at):
        if not shutil.which(cc):
            skip(f"there is no {cc}")
        names = without_memory.write_modules()
        compiled("-I", ".", "-m", "/Takes%", "--library", "--profile", output="takes.so", cc=cc, flags=flags)
        compiled("-I", ".", "-m", f"/{names[at]}%", "--eval", "--profile", cc=cc, flags=flags)
        for name in names:
            line = [FBLE, "eval", "-I", ".", "-m", f"/{name}%", "--compiled", "takes.so"]
            for line in [line] + [["./out"]] * (name == names[at]):
                for more in [], ["--profile-metrics", "objects,bytes"]:
                    options = "--profile", "p.pb", "--profile-max-nodes", "1000", *more
                    without_memory.says_so(name, run(*line, *options, preexec_fn=without_memory.limited),
                                           values("p.pb", "calls"))
                    os.remove("p.pb")

    case(without, f"a_program_without_memory_says_where_it_was_by_{cc}_{flags[1:]}")


@case
def signals_write_the_profile():
    write("Main.fble", NUMBERS + "(N@) { U@; } A = (N@ n) { B(n); }, (N@) { U@; } B = (N@ n) { A(n); }; A(one);\n")
    compiled("Main.fble", "--eval", "--profile", flags="-O2")
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
    same(build(), ("3", "3"))
    same(build(), ("0", "3"))
    same(build("--profile"), ("3", "5"))  # a second object of each module, and another main
    write("Lib.fble", MIX + "# a comment at the end changes the hash of the source, which is in the module\n")
    same(build(), ("1", "3"))
    write("Main.fble", MIX_MAIN.replace("Xor).t", "Xor).f"))
    same(build("--profile"), ("3", "5"))
    same(run("./out").status, 3)
    same(build(), ("0", "3"))
    write("Main.fble", MIX_MAIN)
    same(build(), ("0", "3"))
    same(run("./out"), (0, "", ""))


def kept(status=0, options=(), before=None, **environment):
    """Compiles with these variables: how many of how many files, and what was said."""
    clean = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    done = run(FBLE, "compile", "--eval", "--verbose", "Main.fble", "-o", "out", "-j", "1", *options, status=status,
               preexec_fn=before, env={**clean, "CFLAGS": "-O0", **environment})
    found = re.search(r"(\d+) of (\d+) files", done.err)
    return found and found.groups(), done.err


def spoil(folder, how):
    """Ways in which a folder may be somebody else's."""
    if how == "others may write to it":
        os.chmod(folder, 0o777)
    elif how == "it is a link or a file":
        os.rename(folder, folder + ".real")
        os.symlink(os.path.abspath(folder + ".real"), folder)
    elif how == "it belongs to another user":
        os.chown(folder, 65534, -1)


SPOILS = ["others may write to it", "it is a link or a file"] + ["it belongs to another user"] * (os.geteuid() == 0)


@case
def objects_are_kept_where_nobody_else_can_write():
    write("Main.fble", "*();")
    for variable in ({"XDG_CACHE_HOME": os.path.abspath("x")}, {"HOME": os.path.abspath("h")}):
        for made in ("2", "2"), ("0", "2"):
            same(kept(before=lambda: os.umask(0o002), **variable)[0], made, variable)
    for folder in ("x", "x/fble", "h/.cache", "h/.cache/fble"):
        same(os.stat(folder).st_mode & 0o777, 0o700, folder)
    for name in os.listdir("x/fble"):
        if name.endswith(".o"):
            same(os.stat("x/fble/" + name).st_mode & 0o777, 0o600, name)


@case
def a_folder_that_may_be_somebody_elses_is_not_used():
    write("Main.fble", "*();")
    for how in SPOILS:
        kept(XDG_CACHE_HOME=os.path.abspath("x"))
        spoil("x/fble", how)
        made, said = kept(XDG_CACHE_HOME=os.path.abspath("x"), HOME=os.path.abspath("h"))
        same(made, ("2", "2"), how)
        has(said, f"not using the objects in {os.path.abspath('x/fble')}: {how}\n")
        shutil.rmtree("x")
        shutil.rmtree("h")
        kept(options=("--build-dir", "o"))
        spoil("o", how)
        has(kept(options=("--build-dir", "o"), status=5)[1], f"cannot keep objects in o: {how}")
        run("rm", "-rf", "o", "o.real", status=0)


@case
def a_folder_that_came_with_the_sources_is_not_used():
    write("Main.fble", "*();")
    kept(options=("--build-dir", ".fble"))
    os.chmod(".fble", 0o755)  # as version control makes it
    has(kept(options=("--build-dir", ".fble"), status=5)[1], "cannot keep objects in .fble: its mode is not 0700")
    shutil.copytree(".fble", ".cache/fble")
    shutil.copytree(".fble", "fble")
    os.mkdir("h")
    for here in (".", "", "fble/.."):
        made, said = kept(XDG_CACHE_HOME=here, HOME=os.path.abspath("h"))
        lacks(said, " .fble/", " ./", " fble/", about=here)
        same(made, ("2", "2"), here)
        shutil.rmtree("h/.cache")
        lacks(kept(XDG_CACHE_HOME=os.path.abspath("h"), HOME=here)[1], " .fble/", " ./", " fble/", about=here)
        shutil.rmtree("h/fble")


@case
def who_has_no_home_gets_a_folder_for_once():
    if os.geteuid() or run("true", preexec_fn=lambda: os.setuid(54321)).status or \
            run(FBLE, "--version", preexec_fn=lambda: os.setuid(54321)).status:
        skip("cannot become a user without a home")
    os.chmod(".", 0o777)
    write("Main.fble", "*();")
    os.mkdir("t")
    os.chmod("t", 0o777)
    for _ in range(2):
        made, said = kept(TMPDIR=os.path.abspath("t"), before=lambda: os.setuid(54321))
        same(made, ("2", "2"))
        has(said, os.path.abspath("t/fble-"))
        same((os.listdir("t"), sorted(os.listdir())), ([], ["Main.fble", "out", "t"]))


@case
def an_object_that_may_be_somebody_elses_is_made_again():
    write("Main.fble", "*();")
    kept(options=("--build-dir", "o"))
    objects = sorted(f for f in os.listdir("o") if f.endswith(".o"))
    for how in SPOILS:
        spoil("o/" + objects[0], how)
        same(kept(options=("--build-dir", "o"))[0], ("1", "2"), how)
        same(kept(options=("--build-dir", "o"))[0], ("0", "2"), how)
        run("rm", "-f", f"o/{objects[0]}.real", status=0)


@case
def objects_are_made_again_when_a_header_of_the_runtime_changes():
    """An installation of its own, in which every header that an object includes is changed in turn."""
    os.makedirs("bin")
    os.makedirs("lib/fble/include")
    shutil.copy(FBLE, "bin/fble")
    os.symlink(os.path.join(os.path.dirname(os.path.abspath(FBLE)), "libfble_runtime.a"), "lib/fble/libfble_runtime.a")
    root = pathlib.Path(TESTS).parent.parent.parent
    for header in [*(root / "hosts/fble/vm").glob("*.h"), root / "include/ouro.h", root / "include/ouro_site.h"]:
        shutil.copy(header, "lib/fble/include")
    write("Main.fble", "*();")

    def make():
        line = ["bin/fble", "compile", "Main.fble", "--eval", "--verbose", "-o", "out", "--build-dir", "."]
        return run(*line, status=0, env={**os.environ, "CFLAGS": "-O0 -H"}).err

    included = sorted(set(re.findall(r"^\.+ \S*lib/fble/include/(\w+\.h)$", make(), flags=re.M)))
    assert {"compiled.h", "machine.h", "ouro.h", "ouro_site.h"} <= set(included), included
    has(make(), "0 of ")
    for header in included:
        with open("lib/fble/include/" + header, "a") as f:
            f.write("// changed\n")
        assert "0 of " not in make(), header


def at_a_terminal(*line):
    """What a command shows at a terminal."""
    here, there = pty.openpty()
    child = subprocess.Popen([str(word) for word in line], stdout=there, stderr=there, stdin=subprocess.DEVNULL,
                             env={**os.environ, "CFLAGS": "-O0"})
    os.close(there)
    shown = b""
    try:
        while part := os.read(here, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(here)
    same(child.wait(60), 0)
    return shown.decode()


@case
def a_terminal_shows_how_far_it_is():
    write("Lib.fble", MIX)
    write("Main.fble", MIX_MAIN)
    line = FBLE, "compile", "-I", ".", "-m", "/Main%", "--eval", "-o", "out", "--build-dir", "o", "-j", "1"
    same(re.findall(r"fble compile: (\d) of 3 files", at_a_terminal(*line)), ["0", "1", "2"])
    same("files" in at_a_terminal(*line), False)
    same("files" in run(*line, "--build-dir", "other", status=0, env={**os.environ, "CFLAGS": "-O0"}).err, False)
    same(run("./out"), (0, "", ""))


LEAVES = """U@ = *(); u = U@(); B@ = +(U@ t, U@ f); t = B@(t: u); f = B@(f: u);
P@ = *(B@ a, B@ b); L@ = +(*(B@ head, L@ tail) items, U@ empty); M@ = *(P@ p);
Xor = (B@ a, B@ b) { a.?(t: b.?(t: f, f: t), f: b.?(t: t, f: f)); };
First = (P@ p) { p.a; };
Swap = (P@ p) { P@(p.b, p.a); };
Head = (L@ l) { l.items.head; };
(L@, B@) { B@; } Sum = (L@ l, B@ b) { l.?(empty: b); Sum(l.items.tail, Xor(Head(l), b)); };
Cons = (B@ head, L@ tail) { L@(items: @(head, tail)); };
l = Cons(t, Cons(f, Cons(t, L@(empty: u))));
"""


# Functions that are computed where they are called (to_c/leaf.c), and what they leave to a call.
for name, text, status in (
        ("give_their_values", "U@ _ = Sum(l, f).f; First(Swap(Swap(P@(Xor(t, f), f)))).t;", 0),
        ("fail_as_calls_do", "F = (L@ e) { x = Head(e); Xor(x, t); }; F(L@(empty: u));", 3),
        ("see_what_is_not_there_yet", "P@ p = { b = First(p); P@(b, b); }; p.a;", 3),
        ("see_through_what_is_there_now", "M@ m = M@(q), P@ q = P@(Xor(t, f), t); First(Swap(m.p)).t;", 0)):
    def leaves(text=text, status=status):
        write("Main.fble", LEAVES + text)
        want = run(FBLE, "eval", "Main.fble", "--profile", "i.pb", status=status)
        for cc, flags in (("gcc", "-O1"), ("gcc", "-O0"), ("clang", "-O2")):
            compiled("Main.fble", "--eval", "--profile", flags=flags, cc=cc)
            same(run("./out"), want)
            same(run("./out", "--profile", "c.pb"), want)
            same_profiles("i.pb", "c.pb")

    case(leaves, "functions_that_call_nothing_" + name)


@case
def compiled_libraries_serve_interpreted_programs():
    write("Lib.fble", MIX)
    write("Main.fble", MIX_MAIN)
    compiled("-I", ".", "-m", "/Lib%", "--library", "--profile", output="lib.so", flags="-O2")
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
Cons = (B@ h, L@ t) { L@(c: @(h, t)); }; Swap = (L@ a, L@ to) { L@(c: @(h: a.c.h, t: L@(c: @(h: a.c.h, t: to)))); };
(L@, L@) { L@; } Leaves = (L@ a, L@ to) {
  a.?(n: to); L@ b = Cons(a.c.h, to); L@ c = Swap(a, b); L@ d = L@(c: @(h: b.c.h, t: c)); Leaves(a.c.t, Cons(a.c.h, d));
};
(L@ a) { Go(Leaves(Go(Go(a)), L@(n: u))); };
""".replace("L@(L@) { L@; } Same", "(L@) { L@; } Same"))
    memory = "memory", "-I", ".", "-m", "/Main%"
    for flags in ("-O0 -fsanitize=address", "-O2"):
        compiled("-I", ".", "-m", "/Main%", "--library", "--profile", output="lib.so", flags=flags)
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
    same(run(FBLE, "compile", "--eval", "-I", ".", "-m", "/Main%", "--emit-c", "c/d"), (0, "", ""))
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
    same(run(found[0], "compile", "-p", "std", "--eval", "Main.fble", "-o", "out", "--build-dir", "o",
             env={**os.environ, "CFLAGS": "-O1"}), (0, "", ""))
    same(run("./out"), (0, "", ""))


main()

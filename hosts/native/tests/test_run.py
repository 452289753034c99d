#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ouro run`, `ouro cc` and `ouro c++` as commands, and names for addresses: test_run.py BUILD [WORD...]"""
import io, json, os, re, resource, shlex, shutil, signal, subprocess, tarfile, tempfile, time
import real, sources
from native import BUILD, OURO, build, paths, record, totals
from suite import ROOT, case, has, lacks, main, read, run, same, skip, write

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


for way in ("gcc", "clang", "sleds", "sleds-clang", "static"):
    case(functions_have_files_and_lines, f"functions_have_files_and_lines_{way}", way)


@case
def names_of_c_are_not_demangled():
    """`f` is float to a demangler, `v` void, `Pi` int*."""
    write("c.c", "__attribute__((noinline)) int f(int n) { __asm__ volatile(\"\" : \"+r\"(n)); return n; }\n"
          "__attribute__((noinline)) int v(int n) { return f(n) + 1; }\n"
          "__attribute__((noinline)) int Pi(int n) { return v(n) + 1; }\nint main(void) { return Pi(5); }\n")
    record(build("gcc", ["c.c"], "c"), status=7)
    same(paths(), {"main": 1, "main;Pi": 1, "main;Pi;v": 1, "main;Pi;v;f": 1})


def functions_inside_functions_have_lines(way):
    """A lambda and a member of a local class, beside addr2line."""
    source = write("inner.cpp", """template <class T> __attribute__((noinline)) int call(T t) { return t(3); }
int main(int argc, char **) {
    auto lambda = [argc](int n) __attribute__((noinline)) {
        __asm__ volatile("" : "+r"(n));
        return n + argc;
    };
    struct local {
        __attribute__((noinline)) int member(int n) {
            __asm__ volatile("" : "+r"(n));
            return n;
        }
    };
    return call(lambda) + local().member(2) + 1;
}
""")
    record(build(way, [source], "inner"), status=7)
    text = report()
    for name, line in (("lambda\\(int\\)#1}::operator\\(\\)|operator\\(\\)", 3), ("local::member\\(int\\)", 8)):
        assert re.search(rf"({name}).*inner\.cpp:{line}$", text, re.M), f"{name} is not at line {line}:\n{text}"
    for address, name in re.findall(r"^(\w+) \w (.*)$", run("nm", "inner", status=0).out, re.M):
        if name.startswith("_ZZ"):
            place = run("addr2line", "-e", "inner", address, status=0).out.split("/")[-1].split()[0]
            has(text, place)


for way in ("gcc", "clang"):
    case(functions_inside_functions_have_lines, f"functions_inside_functions_have_lines_{way}", way)


@case
def destructors_that_do_different_things_have_different_names():
    source = write("d.cpp", """struct base { virtual ~base(); int n = 1; };
__attribute__((noinline)) base::~base() { __asm__ volatile("" : "+m"(n)); }
struct derived : virtual base { ~derived() override; };
__attribute__((noinline)) derived::~derived() { __asm__ volatile("" : "+m"(n)); }
struct last : derived { ~last() override; };
__attribute__((noinline)) last::~last() { __asm__ volatile("" : "+m"(n)); }
int main() { base *b = new last; delete b; derived d; return 0; }
""")
    record(build("gcc-O0", [source], "d"))
    got = totals()
    want = {"last::~last() [deleting]": 1, "last::~last()": 1,
            "derived::~derived() [base]": 1, "derived::~derived()": 1}
    same({n: got.get(n) for n in want}, want, got)


@case
def long_names_are_short_in_tables_and_whole_in_json():
    write("t.cpp", "template <class A, class B> struct pair { A a; B b; };\nusing p = pair<pair<int, char>, pair<long, "
          "pair<char, short>>>;\ntemplate <class T> __attribute__((noinline)) int take(T *t, int n) { __asm__ volatile"
          "(\"\" : \"+r\"(n)); return t ? n : 0; }\nint main() { pair<p, pair<p, p>> x{}; return take(&x, 7); }\n")
    record(build("gcc", ["t.cpp"], "t"), status=7)
    has(report(), "  int take<...>(pair<...>*, int)  t.cpp:3\n")
    whole = run(OURO, "report", "--self", "--metric", "calls", "--json", "out.pb", status=0).out
    has(whole, "int take<pair<pair<pair<int, char>, pair<long, pair<char, short> > >", os.getcwd() + "/t.cpp")


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
    live = [os.path.join("live", f) for f in os.listdir("live")]
    same([f.endswith(".ouro") for f in live], [True], live)  # and nothing else
    run(OURO, "run", "--symbolise", "-q", "-o", "later.pb", *live, status=0)
    same(paths("later.pb"), WANT)
    run(OURO, "run", "--symbolise", "-q", *live, "-o", "later.folded", status=0)
    has(read("later.folded"), "main;visible;twice 1")


@case
def a_live_file_that_is_followed_has_its_names_in_the_store():
    record(small(), status=7, options=("--clock", "off", "--live", "live"))
    run(OURO, "push", "--store", "s.db", "--follow", "--once", "live", status=0)
    run(OURO, "convert", "--store", "s.db", "stored.pb", status=0)
    same(paths("stored.pb"), WANT)


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


def file_of(profile):
    """What `go tool pprof` calls it."""
    return re.search(r"^File: (.*)$", run("go", "tool", "pprof", "-top", profile, status=0).out, re.M).group(1)


@case
def the_file_in_go_tool_pprof_is_the_program():
    small()
    run("cp", "small", "other", status=0)
    if not shutil.which("go"):
        skip("go is not installed")
    record("./small", status=7, options=("--clock", "off", "--live", "live"))
    same(file_of("out.pb"), "small")
    record("sh", "-c", "./small; ./other", status=7, options=("--clock", "off", "--live", "two"))
    same(file_of("out.pb"), "sh")
    live = {folder: [os.path.join(folder, f) for f in sorted(os.listdir(folder))] for folder in ("live", "two")}
    for folder, want in ("live", "small"), ("two", "merged"):
        run(OURO, "run", "--symbolise", "-q", *live[folder], "-o", "later.pb", status=0)
        same(file_of("later.pb"), want)
        run(OURO, "merge", *live[folder], "-o", "sum.pb", status=0)
        same(file_of("sum.pb"), want)


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
    has(stderr("--clock", "off", "true"), "Build it with `ouro cc`")
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
def an_output_that_cannot_be_written_is_told_before_the_program_runs():
    exe = small()
    for output, why in (("x.bogus", "its extension names no format"), ("no/such/x.pb", "No such file or directory"),
                        (".", "Is a directory")):
        done = run(OURO, "run", "-o", output, exe, status=1)
        same(done.out, "", "the program ran")
        has(done.err, f"cannot write {output}: ", why if output != "." else "")


@case
def a_recording_that_cannot_be_written_is_kept():
    exe = small()
    script = write("./remove", f"#!/bin/sh\n{exe}\nrm -rf there\n")
    os.chmod(script, 0o755)
    os.mkdir("there")
    done = run(OURO, "run", "-q", "--clock", "off", "-o", "there/x.pb", script, status=1)
    folder = re.search(r"kept: ouro run --symbolise (\S+)/\*\.ouro", done.err).group(1)
    try:
        run(OURO, "run", "-q", exe)  # a later run leaves it alone
        live = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".ouro")]
        run(OURO, "run", "--symbolise", "-q", "-o", "later.pb", *live, status=0)
        same(paths("later.pb"), WANT)
    finally:
        shutil.rmtree(folder)


@case
def a_program_that_cannot_be_run_is_the_only_reason():
    write("text", "no program")
    done = run(OURO, "run", "./text", status=126)
    same(done.err, "ouro run: cannot run ./text: Permission denied\n")
    script = write("./126", "#!/bin/sh\nexit 126\n")
    os.chmod(script, 0o755)
    has(run(OURO, "run", "--clock", "off", script, status=126).err, "nothing was recorded")


@case
def a_stack_that_overflowed_is_suspected():
    write("tail.c", "__attribute__((noinline)) int loop(long n) { __asm__ volatile(\"\" : \"+r\"(n)); "
          "return n ? loop(n - 1) : 7; }\nint main(void) { return loop(10000000); }\n")
    run("gcc", "-O2", "tail.c", "-o", "plain", status=0)
    run("./plain", status=7)
    done = run(OURO, "run", "-o", "x.pb", "--clock", "off", build("gcc", ["tail.c"], "tail"), status=128 + 11)
    has(done.err, "its stack may have overflowed", "--hooks")
    done = run(OURO, "run", "-o", "x.pb", "--clock", "off", build("sleds", ["tail.c"], "tail"), status=7)
    assert "overflowed" not in done.err, done.err


@case
def compaction_and_cap_are_passed_on():
    exe = build("gcc", ["deep.c"], "deep", "-pthread")
    record(exe, options=("--clock", "off", "--compact", "none", "--max-nodes", "2000"))
    calls = totals()
    assert calls["[pruned]"] > 1000000, calls
    same(sum(calls.values()), 2000004, calls)


@case
def a_limit_on_the_size_of_files_is_a_cap():
    """The status is the program's, whatever could be recorded."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200 << 10, 200 << 10))
    source = write("bushy.c", """#include <stdio.h>
static int (*all[8])(int);
#define APART __attribute__((noinline)) static
APART unsigned at(void) { static unsigned s = 1; return (s = s * 1103515245 + 12345) >> 16 & 7; }
#define F(n) APART int f##n(int d) { return d ? all[at()](d - 1) + 1 : n - n; }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
static int (*all[8])(int) = {f0, f1, f2, f3, f4, f5, f6, f7};
int main(int argc, char **argv) {
    int sum = 0;
    for (int i = 0; i < 4000; i++) sum += all[at()](9);
    return printf("%d\\n", sum) && argc == 1 ? 3 : 0;
}
""")
    for way in ("gcc", "sleds"):
        done = run(OURO, "run", "-o", "out.pb", "--tiny", "--clock", "off", build(way, [source], "bushy"), status=3,
                   preexec_fn=limit)
        same(done.out, "36000\n")
        has(done.err, "its disk had no space for more paths")
        same(sum(totals().values()), 80001, way)
    run("gcc", "-O2", source, "-o", "plain", status=0)
    for how in ("--timer", "--sample"):
        same(run(OURO, "run", "-o", "out.pb", how, "./plain", status=3, preexec_fn=limit).out, "36000\n")


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


def loop():
    """Counts, writes a byte, and ends with its input."""
    source = write("loop.c", "#include <unistd.h>\n__attribute__((noinline)) static void tick(void) "
                   "{ __asm__ volatile(\"\"); }\nint main(void) { for (int i = 0; i < 1000; i++) tick(); "
                   "if (write(1, \"x\", 1) < 0) return 1; char c; return (int)read(0, &c, 1); }\n")
    return build("gcc", [source], "loop")


@case
def a_live_file_can_be_read_while_the_program_runs():
    exe = loop()
    with subprocess.Popen([OURO, "run", "-q", "--live", "live", "-o", "out.pb", exe],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.read(1)
        live = os.path.join("live", os.listdir("live")[0])
        run(OURO, "run", "--symbolise", "-q", live, "-o", "now.pb", status=0)
        same(paths("now.pb"), {"main": 1, "main;tick": 1000})
        same(paths(live), {"main": 1, "main;tick": 1000}, "without a step in between")
        assert re.search(r"tick  loop\.c:2$", report(live), re.M), report(live)
        child.stdin.close()
        child.wait(60)


# ---------------------------------------------------------------- on, off and threads

SWITCHED = """#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) void counted(void) { __asm__ volatile(""); }
__attribute__((noinline)) void inner(int n) { for (int i = 0; i < n; i++) counted(); }
static int lines(void) {
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        int n = 0;
        sscanf(line, "%d", &n);
        inner(n);
        printf("%d\\n", n);
        fflush(stdout);
    }
    return 0;
}
static void *start(void *p) { inner(*(int *)p); return p; }
int main(int argc, char **argv) {
    (void)argv;
    if (argc == 1) return lines();
    pthread_t t[2];
    int n[2] = {30, 40};
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, start, &n[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    pthread_setname_np(pthread_self(), "renamed");
    inner(5);
    return 0;
}
"""


@case
def a_run_adds_up_its_own_live_files_alone():
    """Beside those of an earlier run, and of one that goes on meanwhile."""
    shared, program, waits = ("--clock", "off", "--live", "live"), small(), loop()
    with subprocess.Popen([OURO, "run", "-q", "-o", "waits.pb", *shared, waits], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        child.stdout.read(1)
        for _ in range(2):
            record("sh", "-c", f"{program}; {program}", status=7, options=shared)
            same(paths(), {path: 2 * n for path, n in WANT.items()})
        child.stdin.close()
        same(child.wait(60), 0)
    same(paths("waits.pb"), {"main": 1, "main;tick": 1000})
    before = sorted(os.listdir("live"))
    same(len(before), 5, before)
    run(OURO, "run", "-q", "--timer", "--live", "live", "-o", "sampled.pb", program, status=7)
    left = sorted(os.listdir("live"))
    same([f for f in before if f not in left], [], "files of other runs stay")
    same([f for f in left if not f.endswith(".ouro")], [])
    run(OURO, "run", "--symbolise", "-q", *(os.path.join("live", f) for f in before), "-o", "all.pb", status=0)
    all_of_them = paths("all.pb")
    same((all_of_them["main;tick"], all_of_them["main;visible"]), (1000, 4))


def children_of(pid):
    return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]


def recording_is_switched_while_it_runs(way, *more):
    """Each line is answered when its calls have been made, so a switch comes between two lines."""
    exe = build(way, [write("switched.c", SWITCHED)], "switched", "-pthread", *more)
    with subprocess.Popen([OURO, "run", "-q", "--tiny", "--off", "--clock", "off", "-o", "out.pb", exe], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        def line(n):
            child.stdin.write(f"{n}\n")
            child.stdin.flush()
            same(child.stdout.readline(), f"{n}\n")
        line(1)
        program = children_of(child.pid)[0]
        for how, n in (("on", 10), ("off", 100), ("on", 1000), ("on", 10000), ("off", 100000)):
            run(OURO, "record", how, str(program), status=0)
            line(n)
        child.stdin.close()
        same(child.wait(60), 0)
    same(paths(), {"main;lines;inner": 3, "main;lines;inner;counted": 11010})


for way in ("gcc-O0", "static", "sleds", "sleds-clang"):
    case(recording_is_switched_while_it_runs, f"recording_is_switched_while_it_runs_{way}", way,
         *(["-fno-inline", "-fno-optimize-sibling-calls"] if way != "gcc-O0" else []))


SLEEPER = """#include <time.h>
static int sleeps(void) { return nanosleep(&(struct timespec){0, 20000000}, 0) != 0; }
int main(void) { int broken = 0; for (int i = 0; i < 10; i++) broken += sleeps(); return broken; }
"""


@case
def what_is_switched_off_gets_no_signals_of_a_timer():
    exe = build("gcc-O0", [write("sleeper.c", SLEEPER)], "sleeper")
    for clock in ("cpu", "wall"):
        run(OURO, "run", "--off", "-q", "--clock", clock, "-o", "out.pb", exe, status=0)


@case
def a_process_that_does_not_record_is_left_alone():
    with subprocess.Popen(["sleep", "100"]) as child:
        has(run(OURO, "record", "on", str(child.pid), status=1).err, "it does not record")
        same(child.poll(), None)
        child.kill()
    has(run(OURO, "record", "on", str(child.pid), status=1).err, "No such process")
    run(OURO, "record", "maybe", "1", status=2)
    has(run(OURO, "record", "--help", status=0).out, "ouro record off PID")


@case
def names_of_threads_are_roots_if_asked():
    exe = build("gcc-O0", [write("switched.c", SWITCHED)], "switched", "-pthread")
    record(exe, "threads", options=("--clock", "off", "--by", "thread"))
    same(paths(), {"switched;main": 1, "switched;start": 2, "switched;start;inner": 2,
                   "switched;start;inner;counted": 70, "renamed;main;inner": 1, "renamed;main;inner;counted": 5})
    run(OURO, "convert", "--select", "renamed", "out.pb", "one.pb", status=0)  # the viewer's filter, too
    same(paths("one.pb"), {"renamed;main;inner": 1, "renamed;main;inner;counted": 5})


# ---------------------------------------------------------------- ouro cc

@case
def cc_compiles_and_links_apart():
    write("small.c", SMALL)
    for step in (["-c", "small.c", "-o", "small.o"], ["small.o", "-o", "small"]):
        run(OURO, "cc", "-Werror", "-Wall", *step, status=0)
    record("./small", status=7)
    same(paths(), WANT)


@case
def cc_finds_the_headers_of_ouro_after_all_others():
    if not os.path.exists(os.path.join(BUILD, "../hosts/native/ouro-native.h")):
        skip("the build folder is not in the source tree")
    source = write("h.c", "#include <ouro-native.h>\n#include <ouro-slice.h>\n"
                   "int main(void) { ouro_slice_here(); return 0; }\n")
    write("h.cpp", "#include <ouro.hpp>\n#include <ouro-slice.h>\n#include <cstdlib>\n"
          "int main() { return EXIT_SUCCESS; }\n")
    for compiler in "gcc", "clang":
        env = dict(os.environ, OURO_CC=compiler, OURO_CXX={"gcc": "g++", "clang": "clang++"}[compiler])
        strict = ("-O2", "-Wall", "-Wextra", "-Werror")
        run(OURO, "cc", *strict, source, "-o", "h", env=env, status=0)
        run("./h", status=0)
        run(OURO, "cc", *strict, "-c", source, "-o", "h.o", env=env, status=0)
        run(OURO, "cc", *strict, "h.o", "-o", "h", env=env, status=0)
        run(OURO, "c++", *strict, "h.cpp", "-o", "hh", env=env, status=0)
        has(run(OURO, "cc", "-E", source, env=env, status=0).out, "ouro_slice_here")
    os.mkdir("mine")
    write("mine/ouro-slice.h", "#define ouro_slice_here() (void)0\n#define MINE\n")
    write("m.c", '#include <ouro-slice.h>\n#ifndef MINE\n#error "not mine"\n#endif\nint main(void) { return 0; }\n')
    run(OURO, "cc", "-Imine", "m.c", "-o", "m", status=0)


@case
def cc_is_the_compiler_for_everything_else():
    write("small.c", SMALL)
    same(run(OURO, "cc", "--version", status=0).out, run("cc", "--version", status=0).out)
    has(run(OURO, "cc", "-E", "small.c", status=0).out, "twice")
    for more, word in ([], "__patchable_function_entries"), (["--hooks"], "__cyg_profile_func_enter"):
        run(OURO, "cc", *more, "-S", "small.c", "-o", "small.s", status=0)
        has(read("small.s"), word)
    run(OURO, "cc", "-S", "-fsanitize=address", "small.c", "-o", "small.s", status=0)
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
    assert shown.startswith("clang -g -fpatchable-function-entry=5"), shown
    missing = run(OURO, "cc", "small.c", env=dict(os.environ, OURO_CC="no-such-compiler"), status=127)
    has(missing.err, "cannot run no-such-compiler")


def cxx_links_programs_of_the_standard_library(standard):
    write("v.cpp", "#include <map>\n#include <string>\n#include <vector>\nint main() { std::vector<std::string> v; "
          "v.push_back(\"a\"); std::map<int, int> m; m[1] = 2; return (int)v.size() + m[1] - 3; }\n")
    for more in [], ["--hooks"]:
        run(OURO, "c++", *more, "-O2", "-std=" + standard, "v.cpp", "-o", "v", env=dict(os.environ, OURO_CXX="clang++"),
            status=0)
        record("./v")
        same(totals()["main"], 1)


for standard in "c++11", "c++17", "c++20":
    case(cxx_links_programs_of_the_standard_library, f"clang_links_programs_of_the_standard_library_{standard}",
         standard)


TINY = """static int tiny(int n) { return n * 3 + 1; }
int tiny_in_name(int n);
__attribute__((noinline)) int leaf(int n) { return n ^ 5; }
__attribute__((noinline)) int tiny_in_name(int n) { for (int i = 0; i < 3; i++) n += leaf(n); return n; }
int main(void) { int sum = 0; for (int i = 0; i < 10; i++) sum += tiny_in_name(tiny(i)); return sum == 0; }
"""


@case
def tiny_functions_have_no_hooks_unless_asked():
    """`leaf` is left out. `tiny` is, too, but gcc leaves out by a part of the name, and would leave out another."""
    source = write("t.c", TINY)
    exe = build("hooks", [source], "t")
    record(exe)
    same(totals(), {"main": 1, "tiny_in_name": 10, "tiny": 10})
    has(run(OURO, "run", "-o", "x.pb", exe, status=0).err, "1 tiny function is not counted (leaf)", "--tiny")
    record(build("gcc", [source], "t"))
    same(totals(), {"main": 1, "tiny_in_name": 10, "tiny": 10, "leaf": 30})
    run(OURO, "cc", "--hooks", "-O2", "-c", source, "-o", "t.o", "-MMD", "-MF", "t.d", status=0)
    same(read("t.d").split(), ["t.o:", "t.c"], "dependencies are those of one compilation")
    same(sorted(f for f in os.listdir() if f.startswith("t.")), ["t.c", "t.d", "t.o"])


INLINED = """#define ALWAYS static inline __attribute__((always_inline))
__attribute__((noinline)) int leaf(int n) { return n ^ 5; }
__attribute__((noinline)) int apart(int n) { return n + leaf(n); }
ALWAYS int inlined(int n) { return apart(n) + apart(n + 1); }
ALWAYS int large(int n) { %s return n; }
int main(void) { int sum = inlined(1) + inlined(2) + large(3); return sum == 0; }
""" % " ".join(f"n = apart(n) * {i} + n / 3;" for i in range(40))


@case
def functions_that_are_only_inlined_have_no_hooks_unless_they_are_large_or_asked_for():
    source = write("i.c", INLINED)
    for way, wanted in (("hooks", {"main": 1, "large": 1, "apart": 44}),
                        ("gcc", {"main": 1, "large": 1, "apart": 44, "inlined": 2, "leaf": 44})):
        record(build(way, [source], "i"))
        same(totals(), wanted)


@case
def a_function_with_a_loop_is_not_tiny():
    """It may be all of the time."""
    for ending, source in ((".c", """static volatile int n;
static __attribute__((noinline)) void loops(int m) { for (int i = 0; i < m; i++) n++; }
static __attribute__((noinline)) void again(int m) { again: n++; if (m-- > 0) goto again; }
static __attribute__((noinline)) void straight(int m) { if (m > 3) n = 7; else n = m; }
int main(void) { loops(3); again(4); straight(5); return 0; }
"""), (".cpp", """static volatile int n;
namespace here { struct box { __attribute__((noinline)) void loops(int m) { while (m-- > 0) n = n + 1; }
__attribute__((noinline)) void straight(int m) { n = m; } }; }
int main() { here::box b; b.loops(3); b.straight(4); return 0; }
""")):
        record(build("hooks", [write("l" + ending, source)], "l"))
        names = "".join(sorted(totals()))
        has(names, "loops")
        lacks(names, "straight")
        same("again" in names, ending == ".c")


@case
def tiny_members_have_no_hooks_unless_asked():
    source = write("t.cpp", """namespace here {
struct box { int n; __attribute__((noinline)) int get() const { return n; } int far(); };
__attribute__((noinline)) int box::far() { int sum = 0; for (int i = 0; i < 9; i++) sum += get(); return sum; }
}
int main() { here::box b{3}; return b.far() != 27; }
""")
    record(build("hooks", [source], "t"))
    same(totals(), {"main": 1, "here::box::far()": 1})
    record(build("gcc", [source], "t"))
    same(totals()["here::box::get() const"], 9)


@case
def clang_leaves_out_what_it_inlines_unless_asked():
    source = write("t.c", TINY)
    for more, counted in (([], None), (["--hooks"], None), (["--tiny"], 10)):
        run(OURO, "cc", *more, "-O2", source, "-o", "t", env=dict(os.environ, OURO_CC="clang"), status=0)
        record("./t")
        same(totals().get("tiny"), counted)


SLEDS = """#define APART __attribute__((noinline))
static volatile int n;
APART int leaf(int m) { return m ^ 5; }
APART void branches(int m) { if (m > 3) n = 7; else n = m; }
APART void loops(int m) { for (int i = 0; i < m; i++) n++; }
APART int calls(int m) { return n = leaf(m) + 1; }
APART int calls_calls(int m) { return n = calls(m) + 1; }
APART void longer(int m) { %s }
APART void calls_many(int m) { longer(m); longer(n); longer(m); longer(n); longer(m); }
APART int recurs(int m) { return m > 0 ? n = recurs(m - 1) + 1 : 0; }
APART int tail(int m) { n = m; return leaf(m + 1); }
APART int by_pointer(int (*f)(int)) { n = 1; return f(3); }
int main(void) {
    for (int i = 0; i < 10; i++) {
        branches(i); loops(i); calls(i); calls_calls(i); calls_many(i); recurs(1); tail(i); by_pointer(leaf);
    }
    return 0;
}
""" % ("n = m;" * 12)


@case
def tiny_functions_are_left_out_unless_asked_for():
    """By their code: no jump back or out of it, at most 160 bytes, and no call but of such as make none; 62
    instructions in all."""
    source = write("s.c", SLEDS)
    for compiler in "gcc", "clang":
        run(OURO, "cc", "-O2", source, "-o", "s", env=dict(os.environ, OURO_CC=compiler), status=0)
        said = run(OURO, "run", "-o", "out.pb", "--clock", "off", "./s", status=0).err
        has(said, "4 tiny functions are not counted (leaf, branches, calls, longer); `ouro run --tiny`")
        large = {"main": 1, "loops": 10, "calls_calls": 10, "calls_many": 10, "recurs": 20, "tail": 10,
                 "by_pointer": 10}
        same(totals(), large)
        lacks(run(OURO, "run", "--tiny", "-o", "out.pb", "--clock", "off", "./s", status=0).err, "tiny")
        same(totals(), {**large, "leaf": 40, "branches": 10, "calls": 20, "longer": 50})
    run(OURO, "cc", "-O0", source, "-o", "s", status=0)
    lacks(run(OURO, "run", "-o", "out.pb", "--clock", "off", "./s", status=0).err, "tiny")
    same(totals()["leaf"], 40)


@case
def functions_are_left_out_by_name():
    source = write("s.c", SLEDS)
    run(OURO, "cc", "-O2", source, "-o", "s", status=0)
    record("./s", options=("--clock", "off", "--without", "loops,leaf,nothing"))
    same(totals(), {"main": 1, "branches": 10, "calls": 20, "calls_calls": 10, "calls_many": 10, "longer": 50,
                    "recurs": 20, "tail": 10, "by_pointer": 10})
    source = write("t.cpp", """namespace here {
struct box { int n; __attribute__((noinline)) int get() { return n++; } int far(); };
__attribute__((noinline)) int box::far() { int sum = 0; for (int i = 0; i < 9; i++) sum += get(); return sum; }
}
int main() { here::box b{3}; return b.far() != 63; }
""")
    run(OURO, "c++", "-O2", source, "-o", "t", status=0)
    record("./t")
    same(totals(), {"main": 1, "here::box::far()": 1, "here::box::get()": 9})
    for name in "here::box::get", "get", "box::get":
        record("./t", options=("--clock", "off", "--without", name))
        same(totals(), {"main": 1, "here::box::far()": 1})


@case
def functions_that_are_called_most_are_named_with_the_option_that_leaves_them_out():
    source = write("often.c", """#define APART __attribute__((noinline))
APART int often(int n) { __asm__ volatile("" : "+r"(n)); return n; }
APART int seldom(void) { int s = 0; for (int i = 0; i < 2000000; i++) s += often(1); return s; }
int main(void) { return seldom() != 2000000; }
""")
    said = run(OURO, "run", "-o", "x.pb", "--clock", "off", build("gcc", [source], "often"), status=0).err
    has(said, "1 function makes 100% of the calls")  # `seldom` is not worth a word
    option = re.search(r"CFLAGS='(.*)'", said).group(1)
    same(option, "-finstrument-functions-exclude-function-list=often")
    record(build("gcc", [source], "often", option))
    same(paths(), {"main": 1, "main;seldom": 1})
    exe = build("sleds", [source], "often")
    said = run(OURO, "run", "-o", "x.pb", "--tiny", "--clock", "off", exe, status=0).err
    has(said, "\n  ouro run --without often\n")


MANY = """#define APART __attribute__((noinline))
#define STAY(n) __asm__ volatile("" : "+r"(n))
namespace level {
template <class T> struct table {
    T n = 0;
    APART T next(T by) { STAY(by); return n += by; }
};
namespace {
APART int hidden(int n) { STAY(n); return n + 1; }
}
struct box {
    int n = 0;
    APART int put(int by) { STAY(by); return n += by; }
    APART int put_all(int by) { STAY(by); return n += 2 * by; }
};
APART int many(int times) {
    table<int> t;
    box b;
    int sum = 0;
    for (int i = 0; i < times; i++) sum += t.next(i) + hidden(i) + b.put(i) + b.put_all(i);
    return sum;
}
}
int main() { return level::many(400000) == 1; }
"""
MANY_CALLED = {"main", "level::many(int)", "level::table<int>::next(int)", "level::(anonymous namespace)::hidden(int)",
               "level::box::put(int)", "level::box::put_all(int)"}


def advice(exe):
    """What is called most, as it is said: how many functions, and the line that leaves them out."""
    said = run(OURO, "run", "-o", "x.pb", "--tiny", "--clock", "off", exe, status=0).err
    found = re.search(r"(\d+) functions? makes? (\d+)% of the calls. Leave (?:it|them) out with\n  (.*)\n", said)
    assert found, said
    return int(found[1]), int(found[2]), found[3]


@case
def advice_for_sleds_of_cxx_leaves_out_what_it_names():
    for way in "sleds", "sleds-clang":
        exe = build(way, [write("many.cpp", MANY)], "many")
        count, percent, line = advice(exe)
        same((count, percent), (4, 100))
        same(set(totals(output="x.pb")), MANY_CALLED)
        run("sh", "-c", line.replace("ouro run", f"{OURO} run --tiny -q -o out.pb", 1) + " " + exe, status=0)
        same(set(totals()), {"main", "level::many(int)"})


@case
def advice_for_hooks_of_cxx_is_for_the_compiler_of_cxx_and_no_part_of_another_name():
    exe = build("hooks", [write("many.cpp", MANY)], "many", "-fno-inline")
    run(OURO, "c++", "--tiny", "-O2", "many.cpp", "-o", "many", status=0)
    count, percent, line = advice(exe)
    same((count, percent), (3, 75))  # `put` is a part of `put_all`
    # A Makefile has what is said in its variable.
    write("Makefile", "many: many.cpp\n\t$(CXX) $(CXXFLAGS) $< -o $@\n")
    run("make", "-B", "many", f"CXX={OURO} c++ --tiny -O2", *shlex.split(line), status=0)
    record(exe)
    same(set(totals()), {"main", "level::many(int)", "level::box::put(int)"})


@case
def cxx_by_any_linker_has_sleds():
    """Two files with the same inline functions and templates; some versions of gcc mix up their sleds."""
    write("both.h", """#include <algorithm>
#include <vector>
template <class T> __attribute__((noinline)) T sum(const std::vector<T> &v) {
    T s = 0;
    for (auto x : v) s += x;
    return s;
}
inline __attribute__((noinline)) int inlined(int n) { for (int i = 0; i < n; i++) n ^= i * 3; return n; }
static __attribute__((noinline)) int sorted(int n) {
    std::vector<int> v;
    for (int i = 0; i < 10000; i++) v.push_back(i * n % 10007);
    std::sort(v.begin(), v.end());
    return sum(v) + inlined(n);
}
""")
    write("one.cpp", '#include "both.h"\nint other(int);\nint main() { return sorted(7919) + other(7) == 1; }\n')
    write("two.cpp", '#include "both.h"\nint other(int n) { return sorted(n) + sorted(n + 1); }\n')
    tried = 0
    for flags in (["-fuse-ld=bfd"], ["-fuse-ld=lld"], ["-fuse-ld=gold"], ["-fuse-ld=mold"], ["-static"],
                  ["-ffunction-sections", "-Wl,--gc-sections"], ["-s"]):
        if flags[0].startswith("-fuse-ld=") and not shutil.which("ld." + flags[0][9:]):
            continue
        run(OURO, "c++", "-O2", "one.cpp", "two.cpp", "-o", "both", *flags, status=0)
        record("./both")
        if flags == ["-s"]:  # no names
            assert sum(totals().values()) > 3000 and len(totals()) >= 8, totals()
            continue
        found = {name.split("(")[0].split("<")[0]: n for name, n in totals().items()}
        same({name: found.get(name) for name in ("main", "other", "int sum", "inlined")},
             {"main": 1, "other": 1, "int sum": 3, "inlined": 3})
        assert found.get("void std::__introsort_loop", 0) > 1000, found
        tried += 1
    assert tried >= 3, tried


@case
def what_the_hooks_cost_is_not_in_the_time():
    """Nearly all that the program does is to call: so much time is the hooks', and both sum up to what it used."""
    source = write("calls.c", """#include <stdio.h>
#include <time.h>
__attribute__((noinline)) static int often(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void) {
    struct timespec t;
    do {
        for (int i = 0; i < 100000; i++) often(i);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 400000000);
    printf("%ld\\n", t.tv_sec * 1000000000 + t.tv_nsec);
}
""")
    done = run(OURO, "run", "-o", "out.pb", build("gcc", [source], "calls"), status=0)
    time, recording = (sum(totals(metric=m).values()) for m in ("time", "recording"))
    assert recording > time / 4 > 0, (time, recording)
    assert 0.8 < (time + recording) / int(done.out) < 1.2, (time, recording, done.out)
    ticks = sum(totals(metric="samples").values())
    assert 0.8 < ticks / (time / 1e9 * 997) < 1.2, (ticks, time)
    assert re.search(r"^recording: \d+\.\d+%, taken out", done.err, re.M), done.err
    assert re.search(r"self ms +overall ms +samples +calls  block", done.err), done.err


def ticks_of(*options, folder="."):
    """Of a program that uses 400 ms: how many ticks there were per second of that, and what was said."""
    exe = build("sleds", ["ticks.c"], os.path.join(folder, "ticks"), "-pthread")
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if folder != "." else []
    out = os.path.join(folder, "out.pb")
    said = run(*as_nobody, OURO, "run", "-o", out, *options, exe, "400", status=0).err
    return sum(totals(metric="samples", output=out).values()) / 0.4, said


@case
def there_are_as_many_ticks_as_asked_for():
    """Also more than the kernel's own, which are 100 to 1,000 a second."""
    for hz in 97, 997, 5000:
        per_second, said = ticks_of("--hz", str(hz))
        assert 0.85 < per_second / hz < 1.15, (hz, per_second)
        assert "perf events" not in said, said


@case
def without_perf_events_the_rate_is_asked_for_or_told():
    with open("/proc/sys/kernel/perf_event_paranoid") as level:
        if os.getuid() or int(level.read()) < 2:
            skip("every user may have perf events here, or the test cannot become another user")
    folder = tempfile.mkdtemp(dir="/tmp")
    os.chmod(folder, 0o777)
    try:
        rate = 1 / time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
        per_second, said = ticks_of(folder=folder)
        # By chance a busy kernel looks more often than usual while the program runs.
        assert per_second < rate * 2, (per_second, rate)
        has(said, f"time has only {rate:.0f} ticks per second. `--hz N` gets more")
        per_second, said = ticks_of("--hz", "997", folder=folder)
        assert per_second > 0.85 * 997, per_second
        has(said, f"ticks may end a sleep or poll of the program early. They do not without --hz, at {rate:.0f}")
        per_second, said = ticks_of("--hz", f"{rate / 2:.0f}", folder=folder)
        assert "perf events" not in said, said
        # A thread that waits gets one signal at most, whatever the rate.
        exe = os.path.join(folder, "ticks")
        done = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", OURO, "run", "-q", "-o",
                   folder + "/out.pb", "--hz", "5000", exe, "sleep", status=0)
        assert int(re.search(r"ended early: (\d+)", done.out)[1]) <= 40, done.out
        charged = sum(totals(metric="time", output=folder + "/out.pb").values()) / 1e6
        assert 40 < charged < 90, charged  # it works for 60 ms, and waits for 200
    finally:
        shutil.rmtree(folder)


# Each part takes as long as 50 ticks of a timer like the recorder's: on a busy machine few ticks of the kernel find the
# program running, however much processor time it uses. The last is ten calls of a library that was opened late.
IN_LIBRARIES = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define NOT_RECORDED __attribute__((no_instrument_function, patchable_function_entry(0)))
static char from[1 << 20], to[1 << 20];
static volatile int ticks;
NOT_RECORDED static void count(int number) { ticks += number > 0; }
NOT_RECORDED static void count_ticks(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = count, .sa_flags = SA_RESTART}, NULL);
    timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
}
__attribute__((noinline)) static void copies(int dies) {
    for (int end = ticks + 50; ticks < end;)
        for (int i = 0; i < 20; i++) {
            memcpy(to, from, sizeof to);
            __asm__ volatile("" : : "r"(to) : "memory");
        }
    if (dies) kill(getpid(), SIGKILL);
}
__attribute__((noinline)) static void own(void) {
    for (int end = ticks + 50; ticks < end;)
        for (volatile int i = 0; i < 1000000; i++) {}
}
__attribute__((noinline)) static void turn(void (*spin)(volatile int *)) {
    spin(&ticks);
    __asm__ volatile("");
}
__attribute__((noinline)) static void opened(const char *path) {
#ifdef STATIC
    void spin(volatile int *);
    (void)path;
#else
    void (*spin)(volatile int *) = (void (*)(volatile int *))dlsym(dlopen(path, RTLD_NOW), "spin");
#endif
    for (int i = 0; i < 10; i++) turn(spin);
}
int main(int argc, char **argv) {
    count_ticks();
    copies(argc == 1);
    own();
    opened(argv[1]);
}
"""
SPIN = """void spin(volatile int *ticks) {
    for (int end = *ticks + 5; *ticks < end;)
        for (volatile int i = 0; i < 1000000; i++) {}
}
"""


def in_libc(ticks):
    """What `copies` spends in functions of libc, by their names, or by their places if it has no symbols."""
    return sum(n for path, n in ticks.items()
               if re.fullmatch(r"main;copies;(__mem\w+|memcpy\S*|\S+\+0x[0-9a-f]+)", path))


def time_in_libraries_is_theirs(way):
    run("gcc", "-shared", "-fPIC", "-O2", write("spin.c", SPIN), "-o", "spin.so", status=0)
    program = build(way, [write("parts.c", IN_LIBRARIES)], "parts", "-ldl")
    record(program, os.path.abspath("spin.so"), options=())
    ticks = paths(metric="samples")
    of = lambda path: ticks.get("main;" + path, 0)  # noqa: E731
    assert in_libc(ticks) > 4 * of("copies") and in_libc(ticks) > 10, ticks
    assert of("own") > 4 * sum(n for path, n in ticks.items() if path.startswith("main;own;")), ticks
    assert of("opened;turn;spin") > 2 * (of("opened;turn") + of("opened;turn;spin.so")), ticks
    same({path: n for path, n in paths().items() if n},
         {"main": 1, "main;copies": 1, "main;own": 1, "main;opened": 1, "main;opened;turn": 10})


for way in ("gcc", "clang", "sleds", "sleds-clang"):
    case(time_in_libraries_is_theirs, f"time_in_libraries_is_theirs_{way}", way)


@case
def time_in_libraries_survives_a_kill():
    """Where no event has come since it was there first, it is the library's as a whole."""
    record(build("gcc", [write("parts.c", IN_LIBRARIES)], "parts", "-ldl"), status=137, options=())
    ticks = paths(metric="samples")
    assert ticks.get("main;copies;libc.so.6", 0) + in_libc(ticks) > 10, ticks


@case
def time_in_a_static_library_is_theirs():
    record(build("static", [write("parts.c", IN_LIBRARIES), write("spin.c", SPIN)], "parts", "-DSTATIC"),
           os.path.abspath("none"), options=())
    ticks = paths(metric="samples")
    assert in_libc(ticks) > 4 * ticks.get("main;copies", 0), ticks


# A tiny function, one that is left out by its name, one that has no sled, and one that is counted, each for as long.
UNCOUNTED = """#include <stdlib.h>
#define APART __attribute__((noinline))
#define TURN n = (n ^ n >> 7) * 2654435761u
APART unsigned tiny(unsigned n) { TURN; TURN; TURN; TURN; TURN; TURN; TURN; TURN; return n; }
APART unsigned counted(unsigned n, int times) { for (int i = 0; i < times; i++) TURN; return n; }
APART unsigned excluded(unsigned n, int times) { for (int i = 0; i < times; i++) TURN; return n + 1; }
__attribute__((noinline, patchable_function_entry(0), no_instrument_function))
unsigned bare(unsigned n, int times) { for (int i = 0; i < times; i++) TURN; return n + 2; }
APART unsigned turns(unsigned n) {
    for (int i = 0; i < 50; i++) n = tiny(n);
    return bare(excluded(counted(n, 400), 400), 400);
}
int main(int argc, char **argv) {
    unsigned n = 1;
    for (int i = 0; i < 120000; i++) n = turns(n);
    if (argc > 1) exit(bare(n, atoi(argv[1])) == 1);
    return n == 1;
}
"""


def shares(output):
    """{function: percent of all samples}, and how many samples there are."""
    found = totals(metric="samples", output=output)
    return {name: 100 * n / sum(found.values()) for name, n in found.items()}, sum(found.values())


def time_in_uncounted_functions_is_theirs(way):
    """As in samples of the same program while it does not record."""
    exe = build(way, [write("uncounted.c", UNCOUNTED)], "uncounted")
    run(OURO, "run", "-q", "-o", "out.pb", "--without", "excluded", exe, status=0)
    run(OURO, "run", "-q", "-o", "sampled.pb", "--sample", exe, status=0)
    (ours, count), (theirs, sampled) = shares("out.pb"), shares("sampled.pb")
    calls = totals()
    same({name: calls.get(name, 0) for name in ("tiny", "counted", "excluded", "bare")},
         {"tiny": 0, "counted": 120000, "excluded": 0, "bare": 0})
    table = run(OURO, "report", "--self", "out.pb", status=0).out
    rows = json.loads(run(OURO, "report", "--self", "--json", "out.pb", status=0).out)["rows"]
    same({r["name"]: r["calls"] for r in rows if r["name"] in ("tiny", "counted", "excluded", "bare")},
         {"tiny": None, "counted": 120000, "excluded": None, "bare": None})
    for name in "tiny", "counted", "excluded", "bare":
        assert re.search(("not counted" if name != "counted" else "120,000") + rf"  {name}\b", table), table
        share = theirs[name] / 100
        allowed = 3 + 400 * (share * (1 - share) * (1 / count + 1 / sampled)) ** 0.5  # percent; four times its error
        assert share > 0.1 and abs(ours.get(name, 0) - theirs[name]) < allowed, (name, ours, theirs, count, sampled)
    same({path for path in paths(metric="samples") if path.endswith(";tiny")}, {"main;turns;tiny"})


for way in ("sleds", "sleds-clang", "sleds-static"):
    case(time_in_uncounted_functions_is_theirs, f"time_in_uncounted_functions_is_theirs_{way}", way)


@case
def time_in_code_of_the_kernel_is_its_functions():
    """It has no file, but symbols."""
    source = write("clock.c", "#include <time.h>\n__attribute__((noinline)) static long now(void) {\n"
                   "    struct timespec t;\n    clock_gettime(CLOCK_MONOTONIC, &t);\n    return t.tv_sec;\n}\n"
                   "int main(void) { long n = 0; for (int i = 0; i < 3000000; i++) n += now(); return n == 0; }\n")
    run(OURO, "run", "-q", "--tiny", "-o", "out.pb", build("sleds", [source], "clock"), status=0)
    ticks = totals(metric="samples")
    lacks(" ".join(ticks), "linux-vdso")
    assert any(re.fullmatch("__(vdso|kernel)_clock_gettime", name) for name in ticks), ticks


@case
def time_of_a_function_without_events_is_its_own_at_the_end():
    exe = build("sleds", [write("uncounted.c", UNCOUNTED)], "uncounted")
    run(OURO, "run", "-q", "-o", "out.pb", "--without", "excluded,turns", exe, "300000000", status=0)
    ours, _ = shares("out.pb")
    assert ours["bare"] > 40, ours
    same(totals().get("bare", 0), 0)


# ---------------------------------------------------------------- build systems

def project():
    write("x.c", "int other(int);\nint main(void) { return other(6); }\n")
    write("y.cpp", "extern \"C\" __attribute__((noinline)) int other(int n) { return n + 1; }\n")
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(x C CXX)\nadd_executable(x x.c y.cpp)\n")
    write("meson.build", "project('x', 'c', 'cpp')\nexecutable('x', 'x.c', 'y.cpp')\n")
    write("configure.ac", "AC_INIT([x], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_PROG_CXX\n"
          "AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n")
    write("Makefile.am", "bin_PROGRAMS = x\nx_SOURCES = x.c y.cpp\n")
    # As a configure script begins: can the compiler make programs, and may a program be run?
    configure = write("configure", """#!/bin/sh
set -e
for word; do case $word in CC=*) CC=${word#CC=} ;; CXX=*) CXX=${word#CXX=} ;; esac; done
here=$(dirname "$0")
echo 'int main(void) { return 0; }' > conftest.c
$CC -o conftest conftest.c 2> conftest.err
[ ! -s conftest.err ] && ./conftest
$CC -E conftest.c > /dev/null
rm -f conftest*
printf 'x: x.o y.o\\n\\t%s -o x x.o y.o\\n' "$CXX" > Makefile
printf 'x.o: %s/x.c\\n\\t%s -O2 -g -c %s/x.c\\n' "$here" "$CC" "$here" >> Makefile
printf 'y.o: %s/y.cpp\\n\\t%s -O2 -g -c %s/y.cpp\\n' "$here" "$CXX" "$here" >> Makefile
""")
    os.chmod(configure, 0o755)
    write("toolchain.cmake", "set(CMAKE_C_COMPILER ouro cc)\nset(CMAKE_CXX_COMPILER ouro c++)\n")
    write("ouro.ini", "[binaries]\nc = ['ouro', 'cc']\ncpp = ['ouro', 'c++']\n")


BY_VARIABLES = {"CC": "ouro cc", "CXX": "ouro c++"}
BUILD_SYSTEMS = {
    "cmake_with_ninja": (BY_VARIABLES, "cmake -G Ninja -B b . && cmake --build b"),
    "cmake_with_make": (BY_VARIABLES, "cmake -G 'Unix Makefiles' -B b . && cmake --build b"),
    "a_cmake_toolchain_file": ({}, "cmake -G Ninja --toolchain toolchain.cmake -B b . && cmake --build b"),
    "meson": (BY_VARIABLES, "meson setup b && ninja -C b"),
    "a_meson_native_file": ({}, "meson setup --native-file ouro.ini b && ninja -C b"),
    "a_configure_script": ({}, "mkdir b && cd b && ../configure CC='ouro cc --tiny' CXX='ouro c++ --tiny' && make"),
    "autotools": ({}, "autoreconf -i && mkdir b && cd b && "
                  "../configure CC='ouro cc --tiny' CXX='ouro c++ --tiny' && make"),
}


def a_project_is_built(variables, commands):
    for word in re.findall(r"cmake|meson|ninja|autoreconf|make", commands):
        if not shutil.which(word):
            skip(word + " is not installed")
    project()
    clean = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX", "OURO_CC", "OURO_CXX")}
    run("sh", "-ec", commands, env={**clean, "PATH": BUILD + ":" + os.environ["PATH"], **variables}, status=0)
    record("b/x", status=7)
    same(paths(), {"main": 1, "main;other": 1})


for name, how in BUILD_SYSTEMS.items():
    case(a_project_is_built, f"a_project_is_built_by_{name}", *how)


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

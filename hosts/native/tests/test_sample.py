#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that are not instrumented, sampled by `ouro run`: test_sample.py BUILD [WORD...]

Programs say themselves how long they run: until they have used so much processor time.
"""
import json, os, re, shutil, signal, subprocess, time
from native import OURO, paths, totals
from suite import case, has, lacks, main, run, same, skip, write

BUSY = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long sink;
static double used(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
#define WORK(name) __attribute__((noinline, noclone)) void name(double seconds) { \\
    double end = used(CLOCK_THREAD_CPUTIME_ID) + seconds; \\
    while (used(CLOCK_THREAD_CPUTIME_ID) < end) for (int i = 0; i < 20000; i++) sink += i; \\
    sink++; }
"""

def compile_plain(text, *flags, name="program"):
    source = write(name + (".cpp" if "template" in text else ".c"), BUSY + text)
    run("g++" if "template" in text else "gcc", "-O2", "-g", source, "-o", name, "-pthread", *flags, status=0)
    return os.path.abspath(name)


def sample(*command, options=(), status=0):
    for _ in range(5):  # shares are true if no sample was lost; on a busy machine some may be
        done = run(OURO, "run", "-o", "out.pb", *options, "--", *command, status=status)
        if " lost" not in done.err:
            break
    if "perf events" in done.err:
        skip("perf events are not permitted")
    return done


def wait_for_work(pid, seconds):
    """Until the process has used so much more processor time."""
    used = lambda: int(open(f"/proc/{pid}/schedstat").read().split()[0]) / 1e9
    start = used()
    while used() < start + seconds:
        time.sleep(0.01)


def shares(metric="time"):
    """{function: its part of the whole, with what it calls}"""
    got, whole = {}, 0
    for path, n in paths(metric=metric).items():
        whole += n
        for block in set(path.split(";")):
            got[block] = got.get(block, 0) + n
    return {block: n / whole for block, n in got.items()}


def about(got, want, error=0.15):
    assert abs(got - want) <= error, f"{got:.2f} is not about {want}"


TWO = "WORK(one) WORK(two)\nint main(void) { one(0.3); two(0.1); return 7; }\n"


def a_program_that_is_not_instrumented_is_sampled(*flags):
    done = sample(compile_plain(TWO, *flags), status=7)
    has(done.err, "not instrumented, so sampled", "samples at 997 Hz", "the profile is in out.pb")
    about(shares()["one"], 0.75)
    about(shares()["two"], 0.25)
    about(shares()["main"], 1, 0.05)
    whole = sum(paths(metric="time").values())
    assert 0.3e9 < whole < 0.6e9, whole


for name, flags in {"": [], "_with_frame_pointers": ["-fno-omit-frame-pointer"], "_static": ["-static"],
                    "_without_pie": ["-no-pie"]}.items():
    case(a_program_that_is_not_instrumented_is_sampled, "a_program_that_is_not_instrumented_is_sampled" + name, *flags)


@case
def a_timer_samples_where_perf_events_are_forbidden():
    exe = compile_plain("""WORK(in_thread) WORK(in_child) WORK(in_main)
static void *start(void *p) { in_thread(0.2); return p; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, start, NULL);
    pthread_join(t, NULL);
    pid_t child = fork();
    if (child == 0) { in_child(0.2); _exit(0); }
    waitpid(child, NULL, 0);
    in_main(0.2);
    return 7;
}""")
    done = run(OURO, "run", "-o", "out.pb", "--timer", exe, status=7)
    has(done.err, "samples at 997 Hz", "by a timer")
    for name in "in_thread", "in_child", "in_main":
        about(shares()[name], 1 / 3, 0.12)
    whole = sum(paths(metric="time").values())
    assert 0.4e9 < whole < 0.8e9, whole


@case
def a_stripped_program_has_its_functions_apart():
    exe = compile_plain(TWO)
    run("strip", exe, status=0)
    sample(exe, status=7)
    parts = sorted((n for name, n in totals(metric="time").items() if name.startswith("program+0x")), reverse=True)
    about(parts[0] / sum(parts), 0.75)
    said = run(OURO, "run", "-o", "x.pb", exe, status=7).err
    without, functions = map(int, re.search(r"(\d+) of (\d+) functions have no name", said).groups())
    assert without < functions, said  # those of the C library have names


@case
def a_debug_file_names_a_sampled_program_later():
    exe = compile_plain(TWO)
    run("objcopy", "--only-keep-debug", exe, "program.debug", status=0)
    run("strip", exe, status=0)
    run("objcopy", "--add-gnu-debuglink=program.debug", exe, status=0)
    sample(exe, status=7)
    about(shares()["one"], 0.75)


@case
def threads_forks_and_exec_are_followed():
    other = compile_plain("WORK(other) int main(void) { other(0.1); return 0; }", name="other")
    exe = compile_plain("""WORK(in_thread) WORK(in_child) WORK(in_main)
static void *start(void *p) { in_thread(0.1); return p; }
int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, NULL, start, NULL);
    pthread_join(t, NULL);
    pid_t child = fork();
    if (child == 0) { in_child(0.1); _exit(0); }
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) { execv(argv[argc - 1], argv); _exit(1); }
    waitpid(child, NULL, 0);
    in_main(0.1);
}""")
    sample(exe, other)
    for name in "in_thread", "in_child", "in_main", "other":
        about(shares()[name], 0.25)


@case
def recursion_is_compacted():
    sample(compile_plain("""WORK(leaf) void even(int n); void odd(int n);
__attribute__((noinline)) void even(int n) { if (n) odd(n - 1); else leaf(0.2); sink++; }
__attribute__((noinline)) void odd(int n) { if (n) even(n - 1); else leaf(0.2); sink++; }
int main(void) { even(60); }"""))
    deepest = max(sum(block in ("even", "odd") for block in path.split(";")) for path in paths(metric="time"))
    assert deepest < 10, deepest  # of 60
    about(shares()["leaf"], 1, 0.05)


def knots(output="out.pb"):
    """{the names of a group: (how deep; whether one calls itself, whether others; the number of calls)}"""
    rows = json.loads(run(OURO, "report", "--knots", "--json", output, status=0).out)["rows"]
    return {" ".join(sorted(block["name"] for block in row["blocks"])):
            (row["deepest"], row["direct"] != 0, row["through"] != 0, row["calls"]) for row in rows}


@case
def what_stacks_show_of_recursion_is_reported():
    """However the same program is sampled: 100 calls of itself, 62 of two by turns; how often is not counted."""
    exe = compile_plain("""WORK(leaf) void even(int n); void odd(int n);
__attribute__((noinline)) void even(int n) { if (n) odd(n - 1); else leaf(0.1); sink++; }
__attribute__((noinline)) void odd(int n) { if (n) even(n - 1); else leaf(0.1); sink++; }
__attribute__((noinline)) void itself(int n) { if (n > 1) itself(n - 1); else leaf(0.1); sink++; }
int main(void) { itself(100); even(61); }""")
    want = {"itself": (100, True, False, None), "even odd": (31, False, True, None)}
    ways = {"run": lambda: sample(exe),
            "timer": lambda: run(OURO, "run", "-q", "--timer", "-o", "out.pb", exe, status=0)}
    if not run("perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", "perf.data", exe).status:
        ways["perf.data"] = lambda: run(OURO, "convert", "perf.data", "out.pb", status=0)
        write("script.txt", run("perf", "script", "-i", "perf.data", status=0).out)
        ways["perf script"] = lambda: run(OURO, "convert", "script.txt", "out.pb", status=0)
    for way, record in ways.items():
        record()
        got = knots()
        same({names: got.get(names) for names in want}, want, way)
        run(OURO, "merge", "out.pb", "out.pb", "-o", "sum.pb", status=0)
        got = knots("sum.pb")
        same({names: got.get(names) for names in want}, want, way + ", merged")
        text = run(OURO, "report", "--block", "itself", "out.pb", status=0).out
        has(text, "  recursed ", "directly")
        same("not counted" in text, way != "perf script", way)


@case
def a_program_that_is_killed_keeps_what_its_stacks_showed():
    exe = compile_plain("""WORK(leaf)
__attribute__((noinline)) void itself(int n) { if (n > 1) itself(n - 1); else leaf(0.2); sink++; }
int main(void) { itself(20); raise(9); }""".replace("WORK", "#include <signal.h>\nWORK", 1))
    sample(exe, status=137)
    same(knots().get("itself"), (20, True, False, None))


BINARIES = """WORK(leaf)
void first(void); void second(void);
#ifdef UPSIDE_DOWN
__attribute__((noinline)) void first(void) { leaf(0.1); sink++; }
__attribute__((noinline)) void second(void) { first(); sink++; }
int main(void) { second(); sink++; }
#else
__attribute__((noinline)) void second(void) { leaf(0.1); sink++; }
__attribute__((noinline)) void first(void) { second(); sink++; }
int main(int argc, char **argv) { first(); sink++; return execv(argv[1], argv + 1); }
#endif
"""


def a_block_belongs_to_a_binary(*strip):
    """Two programs of one source: one calls second from first, the other first from second."""
    compile_plain(BINARIES, name="one")
    run("gcc", "-O2", "-g", "-DUPSIDE_DOWN", "one.c", "-o", "two", status=0)
    for exe in "one", "two":
        if strip:
            run("strip", *strip, exe, status=0)
    sample(os.path.abspath("one"), os.path.abspath("two"))
    same([names for names in knots() if re.search("first|second|leaf|main|_start", names)], [])
    rows = json.loads(run(OURO, "report", "--json", "out.pb", status=0).out)["rows"]
    rows = [row for row in rows if "/ld-linux" not in row["file"]]  # has a _start, too
    for name in "first", "second", "main", "_start":
        blocks = [(r["name"], r["file"], r["line"]) for r in rows if re.match(name + r"\b", r["name"])]
        assert len(blocks) == 2 or "-s" in strip, (name, blocks)
    for exe in "one", "two":
        assert any(re.search(f"/{exe}\\b", r["file"]) and r["overall"] for r in rows), (exe, rows)


for name, flags in {"": [], "_without_debug_information": ["-g"], "_stripped": ["-s"]}.items():
    case(a_block_belongs_to_a_binary, "a_block_belongs_to_a_binary" + name, *flags)


@case
def a_stack_that_is_too_long_says_so():
    sample(compile_plain("""WORK(leaf)
__attribute__((noinline)) void deep(int n) { char room[512]; room[n] = 1; __asm__ volatile("" : : "r"(room) : "memory");
    if (n) deep(n - 1); else leaf(0.2); sink++; }
int main(void) { deep(400); }"""))
    about(shares().get("[truncated]", 0), 1, 0.05)
    about(shares()["leaf"], 1, 0.05)


@case
def waiting_is_charged_where_it_waits():
    exe = compile_plain("WORK(works) __attribute__((noinline)) void waits(void) { usleep(300000); sink++; }\n"
                        "int main(void) { works(0.1); waits(); }")
    sample(exe)
    assert shares().get("waits", 0) < 0.1, shares()
    done = sample(exe, options=("--wall",))
    if "without the kernel's part" in done.err:
        skip("switches of threads are the kernel's")
    waited = [n for p, n in paths(metric="waited").items() if "waits" in p.split(";")]
    assert 0.25e9 < sum(waited), waited


@case
def a_process_that_runs_is_attached_to_and_left():
    exe = compile_plain("""WORK(busy)
int main(void) { if (write(1, "x", 1) < 0) return 1; for (;;) busy(0.1); }""")
    with subprocess.Popen([exe], stdout=subprocess.PIPE) as child:
        try:
            child.stdout.read(1)
            done = run(OURO, "run", "--pid", str(child.pid), "--duration", "0.5", "-o", "out.pb")
            if "perf events" in done.err:
                skip("perf events are not permitted")
            same(done.status, 0, done.err)
            about(shares()["busy"], 1, 0.1)
            same(child.poll(), None, "it goes on")
            with subprocess.Popen([OURO, "run", "--pid", str(child.pid), "-o", "again.pb"], text=True,
                                  stderr=subprocess.PIPE) as recorder:
                has(recorder.stderr.readline(), "Ctrl-C ends")
                wait_for_work(child.pid, 0.3)
                recorder.send_signal(signal.SIGINT)
                has(recorder.stderr.read(), "the profile is in again.pb")
                same(recorder.wait(60), 0)
            same(child.poll(), None, "it goes on")
        finally:
            child.kill()
    gone = run(OURO, "run", "--pid", str(child.pid), status=1)
    has(gone.err, "there is no process")


@case
def samples_that_were_lost_are_charged_to_lost():
    """The recorder stands still while the program runs, so that its rings become full."""
    exe = compile_plain("""WORK(busy)
int main(void) { if (write(1, "x", 1) < 0) return 1; char c; return read(0, &c, 1) < 0 || (busy(1), 0); }""")
    with subprocess.Popen([OURO, "run", "-o", "out.pb", "--hz", "20000", exe], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        recorder.stdout.read(1)
        program = int(open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()[0])
        recorder.send_signal(signal.SIGSTOP)
        recorder.stdin.write("x")
        recorder.stdin.flush()
        while open(f"/proc/{program}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
            time.sleep(0.01)
        recorder.send_signal(signal.SIGCONT)
        said = recorder.stderr.read()
        same(recorder.wait(60), 0)
    if "perf events" in said or " lost" not in said:
        skip("nothing is lost here")
    lost = int(re.search(r" ([\d,]+) lost", said).group(1))
    same(paths(metric="samples")["[lost]"], lost)
    same(paths(metric="time")["[lost]"], lost * 50000)


@case
def an_instrumented_program_is_counted_unless_samples_are_asked_for():
    source = write("i.c", BUSY + TWO)
    run(OURO, "cc", "-O2", source, "-o", "program", status=0)
    run(OURO, "run", "-q", "-o", "out.pb", "./program", status=7)
    same(totals()["one"], 1)
    for option in "--sample", "--timer":
        done = sample("./program", options=(option,), status=7)
        has(done.err, "sampled")
        got = paths(metric="samples")
        assert any(";one" in path for path in got), got  # how many of them is luck on a busy machine
        has(run(OURO, "report", "out.pb", status=0).out, "calls are not known")


@case
def a_program_that_ends_at_once_says_why_there_is_nothing():
    has(run(OURO, "run", "-o", "out.pb", "--hz", "1", "true", status=0).err,
        "nothing was recorded: true ended before the first sample")


def self_shares_of_perf(file):
    text = run("perf", "report", "-i", file, "--no-children", "--stdio", "-g", "none", "-F", "overhead,sym",
               status=0).out
    rows = re.findall(r"^\s*([\d.]+)%\s+\[[.k]\] (\S+)", text, re.M)
    return {name: float(share) / 100 for share, name in rows}


@case
def the_functions_are_those_of_perf():
    """Beside perf record on the same program; shares within 4 points, because both are samples of a short run."""
    exe = compile_plain("WORK(one) WORK(two) WORK(three) WORK(four)\n"
                        "int main(void) { one(0.4); two(0.3); three(0.2); four(0.1); return 0; }\n")
    if run("perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o", "perf.data", exe).status:
        skip("perf cannot record here")
    sample(exe)
    theirs, ours = self_shares_of_perf("perf.data"), totals(metric="time")
    whole = sum(ours.values())
    top = sorted(theirs, key=lambda name: -theirs[name])[:4]
    same(set(top), {"one", "two", "three", "four"}, theirs)
    for name in top:
        about(ours.get(name, 0) / whole, theirs[name], 0.06)


@case
def perf_data_is_read_directly_and_says_what_perf_says():
    exe = compile_plain("WORK(one) WORK(two)\nint main(void) { one(0.3); two(0.1); return 0; }\n")
    for more in ["-g"], ["--call-graph", "dwarf"], []:
        if run("perf", "record", "-q", "-e", "cpu-clock", "-F", "997", *more, "-o", "perf.data", exe).status:
            skip("perf cannot record here")
        done = run(OURO, "convert", "perf.data", "out.pb", status=0)
        same(done.err, "", "it was not read directly")
        theirs, ours = self_shares_of_perf("perf.data"), totals(metric="time")
        for name in "one", "two":  # the same samples: the same shares, to what perf prints
            about(ours.get(name, 0) / sum(ours.values()), theirs[name], 0.0002)
        has(run(OURO, "report", "perf.data", status=0).out, "perf.data: ")
    about(shares()["one"], 0.75)


# Options of each linker that place segments differently; the first is its default.
LINKERS = {
    "bfd": ["", "-z,noseparate-code", "-z,max-page-size=0x200000"],
    "gold": ["", "--rosegment"],
    "lld": ["", "-z,separate-code", "--no-rosegment", "-z,max-page-size=65536"],
    "mold": ["", "-z,separate-code"],
}
# lld's own has 8 bytes.
BUILD_IDS = {"bfd": "--build-id=0x" + "0123456789abcdef" * 4, "gold": "--build-id=0x9f" + "00" * 11}
CHAIN = """WORK(leaf)
void in_library(void (*f)(double), double seconds);
__attribute__((noinline)) void outer(double seconds) { in_library(leaf, seconds); sink++; }
int main(void) { outer(0.12); return 0; }
"""
CHAIN_LIBRARY = """static volatile long sink;
__attribute__((noinline)) static void helper(void (*f)(double), double seconds) { f(seconds); sink++; }
void in_library(void (*f)(double), double seconds) { helper(f, seconds); sink++; }
"""


def whole_chains(*names, about):
    got = shares()
    low = {name: round(got.get(name, 0), 2) for name in names if got.get(name, 0) < 0.95}
    assert not low, f"{about}: {low} of {got}"


def linked_chain(linker, layout, *pie):
    flags = [f"-fuse-ld={linker}", *([f"-Wl,{layout}"] if layout else [])]
    write("chain.c", CHAIN_LIBRARY)
    run("gcc", "-O2", "-fPIC", "-shared", "chain.c", "-o", "libchain.so", *flags, status=0)
    return compile_plain(CHAIN, *flags, *pie, os.path.abspath("libchain.so"))


def stacks_are_whole_whichever_linker_made_the_binary(linker):
    if not shutil.which(f"ld.{linker}"):
        skip(f"there is no ld.{linker}")
    chain = "main", "outer", "in_library", "helper", "leaf"
    for layout in LINKERS[linker]:
        for pie in (["-pie"], ["-no-pie", "-fno-pie"]) if not layout else [["-pie"]]:
            exe = linked_chain(linker, layout, *pie)
            sample(exe)
            whole_chains(*chain, about=(layout, pie))
    exe = linked_chain(linker, BUILD_IDS.get(linker, ""), "-pie")
    run(OURO, "run", "-q", "--timer", "-o", "out.pb", exe, status=0)
    whole_chains(*chain, about="by a timer")
    if run("perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", "perf.data", exe).status:
        skip("perf cannot record here")
    run(OURO, "convert", "perf.data", "out.pb", status=0)
    whole_chains(*chain, about="perf.data")


for name in LINKERS:
    case(stacks_are_whole_whichever_linker_made_the_binary, f"stacks_are_whole_of_what_{name}_linked", name)


@case
def stacks_of_a_rust_program_are_whole():
    if run("rustc", "--version").status if shutil.which("rustc") else True:
        skip("there is no rustc")
    write("chain.rs", """use std::hint::black_box;
#[no_mangle] #[inline(never)] pub extern "C" fn leaf(n: u64) -> u64 {
    (0..n).fold(0, |s, i| black_box(s ^ i * 31))
}
#[no_mangle] #[inline(never)] pub extern "C" fn outer(n: u64) -> u64 { leaf(n) + 1 }
fn main() { assert!(outer(black_box(150_000_000)) > 0) }
""")
    lld = ["-C", "link-arg=-fuse-ld=lld"]
    for flags in [], lld, [*lld, "-C", "relocation-model=static"]:
        if run("rustc", "-O", *flags, "chain.rs", "-o", "chain").status and flags:
            continue  # there is no lld
        sample("./chain")
        whole_chains("main", "outer", "leaf", about=flags)


# Each function works in a clone. gcc makes those of by_member, by_constant and unlikely; it splits functions too
# rarely for a test, so `halves` has the symbol by hand.
CLONES = """#include <stdlib.h>
WORK(leaf)
struct pair { long a, b, c, d; };
static __attribute__((noinline)) void by_member(const struct pair *p) { leaf(0.04); sink += p->a; }
static __attribute__((noinline)) void by_constant(long n, int kind) { leaf(0.04); if (kind != 7) abort(); sink += n; }
__attribute__((cold)) void rare(void) { leaf(0.04); sink++; }
__attribute__((noinline)) void unlikely(long n) { if (n == 3) { rare(); sink++; } sink++; }
static void half(long n) __asm__("halves.part.0");
static __attribute__((noinline)) void half(long n) { leaf(0.04); sink += n; }
__attribute__((noinline)) void halves(long n) { if (n) half(n); sink++; }
int main(int argc, char **argv) {
    struct pair p = {argc, argc, 3, 4};
    by_member(&p);
    by_constant(argc, 7);
    unlikely(argc + 2);
    halves(argc);
}
"""


def clones_have_the_name_of_their_function(*flags):
    exe = compile_plain(CLONES)
    symbols = run("nm", exe, status=0).out
    has(symbols, "by_member.", "by_constant.", "unlikely.cold", "halves.part.0")
    if flags:
        run("strip", *flags, exe, status=0)
    by = {"run": lambda: sample(exe),
          "timer": lambda: run(OURO, "run", "-q", "--timer", "-o", "out.pb", exe, status=0)}
    if not run("perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", "perf.data", exe).status:
        by["perf.data"] = lambda: run(OURO, "convert", "perf.data", "out.pb", status=0)
        write("script.txt", run("perf", "script", "-i", "perf.data", status=0).out)
        by["perf script"] = lambda: run(OURO, "convert", "script.txt", "out.pb", status=0)
    # With debug information, the name made by hand is the function's own.
    names = ["by_member", "by_constant", "unlikely", *(["halves"] if flags else [])]
    for way, record in by.items():
        record()
        got = shares("samples")
        same([name for name in got if re.search(r"\.(isra|constprop|cold)", name)], [], (way, got))
        rows = [row["name"] for row in json.loads(run(OURO, "report", "--json", "out.pb", status=0).out)["rows"]]
        for name in names:
            assert 0.08 < got.get(name, 0) < 0.5, (way, name, got)
            same(rows.count(name), 1, (way, name))
        if flags and way != "perf script":  # its text does not say what is a part
            lacks("".join(paths(metric="samples")), "halves;halves;")


case(clones_have_the_name_of_their_function)
case(clones_have_the_name_of_their_function, "clones_have_the_name_of_their_function_without_debug_information", "-g")


def clones_are_counted_under_the_name_of_their_function(way):
    source = write("clones.c", BUSY + CLONES)
    for debug in ["-g"], []:
        run(OURO, "cc", way, "-O2", *debug, source, "-o", "clones", status=0)
        assert re.search(r" by_\w+\.(isra|constprop|cold)", run("nm", "clones", status=0).out)
        run(OURO, "run", "-q", "--tiny", "-o", "out.pb", "./clones", status=0)
        got = {name: n for name, n in totals().items() if name.startswith(("by_", "unlikely"))}
        same(got, {"by_member": 1, "by_constant": 1, "unlikely": 1}, debug)


for way in "--sleds", "--hooks":
    case(clones_are_counted_under_the_name_of_their_function,
         f"clones_are_counted_under_the_name_of_their_function_with_{way[2:]}", way)


# gcc inlines the beginning of `split`, of which the rest is a function then. `split` itself calls that, too.
SPLIT = """int total;
static __attribute__((noinline)) int step(int n) { total += n; return total; }
int split(int n) {
    if (n & 1) return 0;
    for (int i = 0; i < 50; i++) total += step(i) ^ n;
    for (int i = 0; i < 50; i++) total ^= step(i) + n;
    return total;
}
static int use(int n) { return split(n) + 1; }
int (*volatile from_outside)(int) = split;
int main(void) {
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += from_outside(i);
    for (int i = 0; i < 1000; i++) sum += use(i);
    return sum == 1;
}
"""


@case
def a_function_that_gcc_would_split_is_counted_once():
    source = write("split.c", SPLIT)
    run("gcc", "-O2", source, "-o", "split", status=0)
    has(run("nm", "split", status=0).out, "split.part.0")
    run(OURO, "cc", "-O2", source, "-o", "split", status=0, env={**os.environ, "OURO_CC": "gcc"})
    run(OURO, "run", "-q", "--tiny", "-o", "out.pb", "./split", status=0)
    same({name: totals().get(name) for name in ("main", "split", "step")}, {"main": 1, "split": 2000, "step": 100000})
    lacks(run(OURO, "report", "--block", "split", "out.pb", status=0).out, "recursed")


@case
def perf_data_that_is_not_read_directly_is_read_by_perf():
    exe = compile_plain("WORK(one)\nint main(void) { one(0.1); return 0; }\n")
    if run("perf", "record", "-q", "-e", "cpu-clock,task-clock", "-g", "-o", "perf.data", exe).status:
        skip("perf cannot record here")
    done = run(OURO, "report", "--overall", "perf.data", status=0)
    has(done.err, "perf.data: read by perf script, because it has several events")
    has(done.out, " one  ")


@case
def broken_perf_data_is_refused():
    exe = compile_plain("WORK(a)\nint main(void) { a(0.05); return 0; }\n")
    if run("perf", "record", "-q", "-e", "cpu-clock", "-g", "-o", "perf.data", exe).status:
        skip("perf cannot record here")
    whole = open("perf.data", "rb").read()
    for size in (8, 20, 103, 104, 200, 300, len(whole) // 2):
        with open("cut.data", "wb") as f:
            f.write(whole[:size])
        done = run(OURO, "report", "cut.data")
        assert done.status in (0, 1), (size, done.status, done.err)


main()

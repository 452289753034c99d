#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/gallery.md: docs/gallery/make.py BUILD

Runs each program of this folder through Ouro and through the other profilers that are installed, and writes down what
each says beside what the program itself counted. A figure is wrong if it is off by more than NEAR points, or by a tenth
if it is a number. tests/scripts/gallery asks for the same figures again and holds the page against them.
"""
import collections, glob, json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "gallery.md")
NEAR = 12  # sampled shares of some hundred samples vary by a few points

# what: of what a share or a number was asked; says: the tool's figure, None: it has none
Answer = collections.namedtuple("Answer", "tool what says text")


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def found(pattern, text):
    """The first group as a number; None where the text does not have it."""
    match = re.search(pattern, text, re.MULTILINE)
    return float(match.group(1).replace(",", "")) if match else None


class Piece:
    """One program. `truth` is by question; a question that ends with % asks for a share. None: there is no truth, what
    the tools say is only shown."""

    def __init__(self, build, work):
        self.build, self.work, self.answers, self.truth = build, work, [], {}
        self.source = os.path.join(HERE, self.file)
        self.ouro = os.path.join(build, "ouro")

    def path(self, name):
        return os.path.join(self.work, name)

    def says(self, tool, what, figure, text=None):
        self.answers.append(Answer(tool, what, figure, text))

    def is_right(self, answer):
        truth = self.truth[answer.what]
        if truth is None or answer.says is None:
            return True  # nothing is said
        return abs(answer.says - truth) <= (NEAR if answer.what.endswith("%") else truth / 10)

    def compile(self, name, *flags, compiler=("gcc",)):
        run(*compiler, *flags, "-g", "-o", self.path(name), self.source)
        return self.path(name)

    # ------------------------------------------------------------ the others' figures

    def perf(self, size):
        """The text of perf report without its trees, and the file; None where perf may not record."""
        program, data = self.compile("plain", *self.FRAMES), self.path("perf.data")
        try:
            run("perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o", data, program, size)
        except (RuntimeError, FileNotFoundError):
            return None, data
        return run("perf", "report", "-i", data, "--children", "--stdio", "-g", "none"), data

    def callgrind(self, size):
        out = self.path("callgrind.out")
        run("valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, self.compile("plain", *self.FRAMES), size)
        return run("callgrind_annotate", "--inclusive=yes", "--tree=caller", "--threshold=100", out)

    def gprof(self, size):
        program = self.compile("counted", "-pg", *self.FRAMES)
        run(program, size, cwd=self.work)
        return run("gprof", "-b", program, self.path("gmon.out"))

    def uftrace(self, size):
        program, data = self.compile("counted", "-pg", *self.FRAMES), self.path("uftrace.data")
        shutil.rmtree(data, ignore_errors=True)
        run("uftrace", "record", "-d", data, program, size)
        return run("uftrace", "report", "-d", data), sum(map(os.path.getsize, glob.glob(data + "/*")))

    # ------------------------------------------------------------ ours

    def record(self, *command):
        profile = self.path(type(self).__name__ + ".pb.gz")
        run(self.ouro, command[0], "-q", "-o", profile, *command[1:])
        return profile

    def rows(self, profile, *options):
        return json.loads(run(self.ouro, "report", "--json", *options, profile))

    def overall(self, profile, name, *options):
        """The share of a block, in percent."""
        answer = self.rows(profile, "--overall", *options)
        return 100 * sum(row["overall"] for row in answer["rows"] if row["name"] == name) / answer["total"]

    def calls(self, profile, name, *options):
        return sum(row["calls"] for row in self.rows(profile, "--overall", *options)["rows"] if row["name"] == name)

    def asked_by(self, profile, block, caller, *options):
        """Of a block that calls nothing: the share of what it was charged below this caller, in percent."""
        rows = self.rows(profile, "--block", block, *options)["callers"]
        return 100 * sum(r["overall"] for r in rows if r["name"] == caller) / sum(r["overall"] for r in rows)


class Circle(Piece):
    title = "More than 100 percent"
    file, language = "circle.c", "c"
    FRAMES = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    reported = """A function that calls itself, or that is called again by what it calls, is on the stack many
times. A tool that adds up the time of each of these frames counts the same second again and again. People see 1,277%,
15,903% or 561,365% and ask: [rbspy](https://github.com/rbspy/rbspy/issues/23),
[Tracy](https://github.com/wolfpld/tracy/issues/159),
[honest-profiler](https://github.com/jvm-profiling-tools/honest-profiler/issues/186),
[pprofile](https://github.com/vpelletier/pprofile/issues/24),
[ProFi](https://github.com/mindreframer/ProFi.lua/issues/3), [Python's sampling
profiler](https://github.com/python/cpython/issues/142374),
[webgrind](https://github.com/jokkedk/webgrind/issues/33). gprof avoids it by making one function of the circle, and
then divides time by the number of calls. perf counts a frame once, but cuts the stack after 127 frames, so that the
beginning of the program has next to nothing."""
    moral = """In Ouro, overall is what was charged to the paths that contain a block, and each path counts once.
There is nothing to cut: a turn around the circle is the same path."""

    def measure(self):
        even, odd = map(float, run(self.compile("plain", *self.FRAMES), "20").split())
        self.truth = {"in `main`, %": 100, "in `even`, %": 100, "`work` that `odd` asked for, %": odd}
        main, in_even, for_odd = self.truth
        program = self.compile("ours", *self.FRAMES, compiler=(self.ouro, "cc"))
        profile = self.record("run", program, "5000")
        self.says("Ouro", main, self.overall(profile, "main"))
        self.says("Ouro", in_even, self.overall(profile, "even"))
        self.says("Ouro", for_odd, self.asked_by(profile, "work", "odd"))
        text = self.callgrind("4")
        self.says("callgrind", main, found(r"\(([\d.,]+)%\)  \*  \S*circle.c:main", text))
        self.says("callgrind", in_even, found(r"\(\s*([\d.,]+)%\)  \*  \S*circle.c:even'2", text))
        asked = [found(rf"\(\s*([\d.,]+)%\)  < \S*circle.c:{f}'2 .*\n(?:.*<.*\n)*.*\*  \S*circle.c:work", text)
                 for f in ("odd", "even")]
        self.says("callgrind", for_odd, 100 * asked[0] / sum(asked) if all(asked) else None)
        text = self.gprof("600")
        self.says("gprof", main, found(r"^\[\d+\] +([\d.]+) .* main \[", text))
        cycle = found(r"^\[\d+\] +[\d.]+ +[\d.]+ +([\d.]+) .*<cycle 1 as a whole>", text)
        parts = [found(rf"^ +[\d.]+ +([\d.]+) +\d+ +{f} <cycle 1>", text) for f in ("even", "odd")]
        self.says("gprof", in_even, 100 * parts[0] / cycle if cycle and parts[0] else None)
        self.says("gprof", for_odd, 100 * parts[1] / cycle if cycle and parts[1] else None)
        text, _ = self.perf("600")
        if text:
            self.says("perf", main, found(r"^ +([\d.]+)% .*\] main$", text))
            self.says("perf", in_even, found(r"^ +([\d.]+)% .*\] even$", text))


class Deep(Piece):
    title = "Stacks that are cut off"
    file, language = "deep.go", "go"
    reported = """Most recorders keep a number of frames and drop the rest, on the side of the root. Then a deep
call seems to come from nowhere, and what began it looks cheap: [Go keeps
64](https://github.com/golang/go/issues/56029) (for memory [128 since Go
1.23](https://github.com/golang/go/issues/69590), before that [32](https://github.com/golang/go/issues/43669)),
[gperftools 64](https://github.com/gperftools/gperftools/issues/1194), [Dart
128](https://github.com/flutter/devtools/issues/579), and perf 127."""
    moral = """Nobody can put back what the recorder dropped, so Ouro says the same of this file. What Ouro records
itself has no such limit: see `main` in the first table, whose program goes a thousand calls deep."""

    def measure(self):
        program, profile = self.path("deep"), self.path("deep.pb.gz")
        run("go", "build", "-gcflags=-l", "-o", program, self.source, env={**os.environ, "GOCACHE": self.path("go")})
        self.truth = {"in `request`, %": float(run(program, profile, "2000"))}  # some hundred samples
        (what,) = self.truth
        text = run("go", "tool", "pprof", "-top", "-cum", "-nodefraction=0", program, profile)
        # Where no sample was taken near the root, the function is on no stack, and not in the table.
        self.says("go tool pprof", what, found(r"([\d.]+)%  main\.request$", text) or 0.0)
        self.says("Ouro, of the same file", what, self.overall(profile, "main.request"))


class States(Piece):
    title = "Tail calls that leave no trace"
    file, language = "states.c", "c"
    FRAMES = ["-O2", "-fno-omit-frame-pointer"]
    reported = """A call at the end of a function may take its caller's place on the stack. A tool that looks at the
stack sees `main` and `work`, and nothing between them ([an example](https://github.com/oven-sh/bun/issues/16704), and
[what LLVM does about it](https://github.com/llvm/llvm-project/pull/75823)). A tool that follows calls and returns
waits for returns that never come: callgrind takes the states for ever deeper recursion, and uftrace stops at its
limit of 1,024."""
    moral = """Ouro's third event beside `enter` and `exit` is `replace`. A million tail calls are the same few
paths, and each is counted. In C, `ouro cc` keeps tail calls, with gcc and clang ([more](native.md#sleds-and-hooks))."""

    def measure(self):
        size = "600000"
        calls, share = run(self.compile("plain", *self.FRAMES), size).split()
        self.truth = {"calls of `parse`": float(calls), "in `parse`, %": 100,
                      "`work` that `parse` asked for, %": float(share)}
        count, inside, asked = self.truth
        program = self.compile("ours", "-O2", compiler=(self.ouro, "cc"))
        profile = self.record("run", program, size)
        self.says("Ouro", count, self.calls(profile, "parse"))
        profile = self.record("run", program, "3000000")  # some hundred samples
        self.says("Ouro", inside, self.overall(profile, "parse"))
        self.says("Ouro", asked, self.asked_by(profile, "work", "parse"))
        text = self.gprof(size)
        self.says("gprof", count, found(r" (\d+) +[\d.]+ +[\d.]+ +parse$", text))
        self.says("gprof", inside, found(r"^\[\d+\] +([\d.]+) .* parse \[", text))
        shares = {name: float(seconds or 0) for seconds, name in
                  re.findall(r"^ +([\d.]+) +0\.00 +\d+/\d+ +(reader|parse|emit) \[", text, re.MULTILINE)}
        self.says("gprof", asked, 100 * shares["parse"] / sum(shares.values()) if any(shares.values()) else None)
        text, _ = self.perf(size)
        if text:
            self.says("perf", inside, found(r"^ +([\d.]+)% .*\] parse$", text) or 0.0)
        if shutil.which("uftrace"):
            text, _ = self.uftrace(size)
            self.says("uftrace", count, found(r" (\d+)  parse$", text))
        text = self.callgrind("20000")
        self.says("callgrind, of 20,000 calls", inside, found(r"\(\s*([\d.,]+)%\)  \*  \S*states.c:parse'2", text))


class StatesInLua(Piece):
    title = "Tail calls in a language that has them"
    file, language = "states.lua", "lua"
    reported = """Lua, Scheme and most functional languages promise that a call in tail position takes no stack, and
programs rely on it. A profiler that reads the stack finds the function that began the chain, or the one that stands
there now."""
    moral = """Ouro's Lua host sees tail calls as what they are. It counts instructions
here, and each call of `work` has eight besides its loop: so 59.8% are right."""

    def measure(self):
        self.truth = {"`work` that `parse` asked for, %": float(run("lua5.4", self.source, "1000"))}
        (asked,) = self.truth
        profile = self.record("lua", "--precise", "--instructions", self.source, "5000")
        self.says("Ouro", asked, self.asked_by(profile, "work", "parse", "--metric", "instructions"))
        text = run("luajit", "-joff", "-jp=f2-", self.source, "100000") if shutil.which("luajit") else ""
        if "%" in text:
            self.says("LuaJIT's `-jp`", asked, found(r"^ *(\d+)% +parse +[<>]", text) or 0.0)


class Fan(Piece):
    title = "Every stack another one"
    file, language = "fan.c", "c"
    FRAMES = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    reported = """A program with two functions can have more different stacks than samples. Profiles get as large as
the run is long, and flame graphs become a field of grass: [samply](https://github.com/mstange/samply/issues/16),
[Firefox](https://github.com/firefox-devtools/profiler/issues/243),
[async-profiler](https://github.com/async-profiler/async-profiler/issues/234),
[inferno](https://github.com/jonhoo/inferno/issues/275)."""
    moral = """Ouro compacts turns around a circle while it records. The number of paths follows the code: run it ten
times longer, and there are as many."""

    def measure(self):
        lefts, rights = map(float, run(self.compile("plain", *self.FRAMES), "12000").split())
        self.truth = {"calls of `left`": lefts, "paths or stacks": None, "bytes": None}
        count, different, size = self.truth
        program = self.compile("ours", *self.FRAMES, compiler=(self.ouro, "cc"))
        profile = self.record("run", program, "12000")
        self.says("Ouro", count, self.calls(profile, "left"))
        self.says("Ouro", different, len(self.rows(profile, "--sequences", "--metric", "calls")["rows"]))
        self.says("Ouro", size, os.path.getsize(profile))
        text, data = self.perf("12000")
        if text:
            script = self.path("script.txt")
            with open(script, "w") as out:
                out.write(run("perf", "script", "-i", data))
            folded = run(self.ouro, "convert", "--compact", "none", "--to", "folded", script, "-")
            self.says("perf, about 500 samples", different, len(folded.splitlines()))
            self.says("perf, about 500 samples", size, os.path.getsize(data))
        if shutil.which("uftrace"):
            text, bytes_ = self.uftrace("12000")
            self.says("uftrace", count, found(r" (\d+)  left$", text))
            self.says("uftrace", size, bytes_)


class Tree(Piece):
    title = "Whose recursion is it?"
    file, language = "tree.py", "python"
    reported = """A table of callers ends after one step. If two callers share a function that calls itself, the
leaves are called by that function, whoever began: the question that matters cannot be asked any more."""
    moral = """Ouro keeps paths. `ouro report --select job --overall` is the answer, and reading a `.prof` file says
that it has callers only."""

    def measure(self):
        self.truth = {"calls of `leaf` for `job`, %": float(run("python3", self.source, "10"))}
        (asked,) = self.truth
        if glob.glob(os.path.join(self.build, "ouro-python")):
            profile = self.record("python", "--precise", self.source, "10")
            left, whole = (self.calls(profile, "leaf", *select) for select in (["--select", "job"], []))
            self.says("Ouro", asked, 100 * left / whole)
        out = self.path("tree.prof")
        run("python3", "-m", "cProfile", "-o", out, self.source, "10")
        text = run("python3", "-c", "import pstats, sys; pstats.Stats(sys.argv[1]).print_callers('leaf')", out)
        callers = re.findall(r"\((\w+)\)$", text, re.MULTILINE)
        self.says("cProfile", asked, None, "all calls are of `" + "`, `".join(callers) + "`")


PIECES = [Circle, Deep, States, StatesInLua, Fan, Tree]


# ---------------------------------------------------------------- the page


def number(what, value):
    return f"{value:,.1f}%" if what.endswith("%") else f"{value:,.0f}"


def figure(piece, answer):
    if answer.says is None:
        return answer.text or "nothing"
    return number(answer.what, answer.says) + ("" if piece.is_right(answer) else " ✗")


def table(piece):
    tools = list(dict.fromkeys(answer.tool for answer in piece.answers))
    cells = {(answer.tool, answer.what): answer for answer in piece.answers}
    head = ["", *(what.replace(", %", "") for what in piece.truth)]
    truth = ["" if v is None else f"**{number(k, v)}**" for k, v in piece.truth.items()]
    lines = [head, ["---"] * len(head), ["**counted by the program**", *truth]]
    for tool in tools:
        row = [cells.get((tool, what)) for what in piece.truth]
        lines.append([tool, *("" if a is None else figure(piece, a) for a in row)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def section(piece):
    with open(piece.source) as f:
        source = f.read().rstrip()
    code = f"```{piece.language}\n{source}\n```"
    return "\n\n".join([f"## {piece.title}", piece.reported, code, table(piece), piece.moral]) + "\n"


HEAD = """# The gallery of recursion

What profilers say of programs that recurse and tail call, beside what the programs counted themselves. Each program is
in [docs/gallery](gallery/README.md); `docs/gallery/make.py build` runs it through Ouro and through the others that are
installed (Debian 12's, with the options that their manuals give for call graphs) and writes this page.

In the tables, "in `f`" is the share of the time in the function `f` and in all that it calls, and "`work` that `f`
asked for" is the share of the time of `work` that was spent in calls by `f`. The tools take samples, so a share may
differ by a few points. ✗ marks a share that is off by more than 12 percentage points, and a count that is off by more
than a tenth. An empty cell is a question that the tool does not answer. The tests ask again and hold this page against
what they find.

None of these tools is bad: each is right about the programs it was made for. Recursion is where the usual way of adding
up ends.
"""


def measured(kind, build):
    with tempfile.TemporaryDirectory() as work:
        piece = kind(build, work)
        piece.measure()
        return piece


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
    sections = [section(measured(kind, build)) for kind in PIECES]
    with open(PAGE, "w") as out:
        out.write("\n".join([HEAD, *sections]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the time true, and what does it cost? shares.py BUILD [PROGRAM]

cmark, Lua and pigz (zopfli), built with -O2. Three questions, a table each:
1. The program built by `ouro cc`, recorded: its shares of time beside those of the plain program, sampled. The same
   of clang, beside clang's plain program.
   Shares are self, as perf has them: of functions that both builds have, without what they spend in libraries.
   What is inlined counts for its caller, the kernel for the function that it was entered from. All libraries are one
   row, [libraries], because each tool has other names for their functions, and that row counts as any other.
   Libraries by caller are told, too, but not judged: a function that ends by a jump into a library (l_alloc of Lua, to
   realloc) has left the plain program's stack by then, and its caller gets the time. Ours knows it. So a function that
   has such a jump is left out of paths that end in a library, on both sides.
   A shared machine is slow at times, and shares are others then (lua_geti of the plain program 10% in a fast run, 8%
   in a slow one). So runs are short, and the two programs take turns.
2. The plain program: `ouro run` beside `perf record -g`: shares, top ten, processor time, memory, size of the file.
   Shares are self, of functions of the program, of libraries and of the kernel.
3. Both, idle and recorded: processor time by that of the plain program.
"""
import collections, itertools, math, os, re, resource, shutil, subprocess, sys, tempfile
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests"))
import real  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "../../../bench"))
from figures import figure, rounds  # noqa: E402

ROUNDS = rounds(4)
TURNS = 10 * ROUNDS  # for shares; where the kernel has 250 ticks a second, so has ours, whatever is asked for
PROGRAMS = {"cmark": 60, "lua": 12, "pigz": 3}
LONG = {"cmark": 2, "lua": 2, "pigz": 1}
KINDS = (("gcc", "plain", "ours"), ("clang", "clang", "theirs"))


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def heading(*cells):
    print()
    row(*cells)
    row(*["---"] * len(cells))


def base(name):
    """Without what gcc adds to the names of clones."""
    return re.sub(r"\.(constprop|isra|part|cold)\b.*", "", name)


Turn = collections.namedtuple("Turn", "rows time samples recording")


class Ways:
    """What a path counts for."""
    def __init__(self, program, both, jumpers, nameless):
        self.program, self.both, self.jumpers, self.nameless = program, both, jumpers, nameless

    def is_library(self, path):
        return path[-1] not in self.program and not path[-1].startswith(self.nameless)

    def last(self, path, without=()):
        return next((block for block in reversed(path) if block in self.both and block not in without), "-")

    def own(self, path):
        return "[libraries]" if self.is_library(path) else self.last(path)

    def caller(self, path):
        return "libraries < " + self.last(path, self.jumpers) if self.is_library(path) else None


def shares(turns, way):
    """{name: part of the time}, and the number of samples."""
    sums, whole = collections.Counter(), sum(turn.time for turn in turns)
    for path, n in (row for turn in turns for row in turn.rows):
        sums[way(path)] += n / whole
    return sums, sum(turn.samples for turn in turns)


def variance(share, samples):
    return share * (1 - share) / max(1, samples)


Gap = collections.namedtuple("Gap", "name plain ours chance")  # in percent; chance: one standard deviation


def gaps(plain, ours, way):
    """The differences of shares, the largest first."""
    (a, n), (b, m) = shares(plain, way), shares(ours, way)
    found = [Gap(name, 100 * a[name], 100 * b[name], 100 * math.sqrt(variance(a[name], n) + variance(b[name], m)))
             for name in (set(a) | set(b)) - {None}]
    return sorted(found, key=lambda gap: -abs(gap.plain - gap.ours))


def told(some):
    return "; ".join(f"{g.name} {g.plain:.1f}, {g.ours:.1f} ±{g.chance:.1f}" for g in some)


class Bench:
    def __init__(self, build, folder, name):
        self.ouro, self.folder, self.name = os.path.join(build, "ouro"), folder, name
        make, arguments = real.PROGRAMS[name]
        self.made = {}
        for way, cc in (("plain", ["gcc"]), ("ours", [self.ouro, "cc"]), ("clang", ["clang"]),
                        ("theirs", [self.ouro, "cc", "--xray"])):
            if name == "pigz" and way in ("clang", "theirs"):
                continue
            os.mkdir(f"{folder}/{way}")
            self.made[way] = make(f"{folder}/{way}", cc, ["g++"], ["-O2", "-g"])
        self.arguments = arguments(folder, PROGRAMS[name])
        os.mkdir(f"{folder}/long")
        self.long = arguments(f"{folder}/long", LONG[name] * PROGRAMS[name])

    def run(self, *command, **more):
        return real.run(list(command), self.folder, **more).stdout.decode(errors="replace")

    def folded(self, file, metric="time", *options):
        lines = self.run(self.ouro, "convert", "--to", "folded", "--metric", metric, *options, file, "-").splitlines()
        return [([base(b) for b in path.split(";")], int(n)) for path, n in (line.rsplit(" ", 1) for line in lines)]

    def record(self, way, options=()):
        self.run(self.ouro, "run", "-q", *options, "-o", "out.pb", self.made[way], *self.long)

    def symbols(self, way):
        text = self.run("nm", "--defined-only", self.made[way])
        return {base(line.split()[2]) for line in text.splitlines() if line.split()[1] in "tTwW"}

    def jumpers(self, way):
        """Functions with a jump into a library."""
        text, found = self.run("objdump", "-d", "--no-show-raw-insn", self.made[way]), set()
        for body in re.split(r"\n(?=\w+ <[^>]+>:)", text):
            name = re.match(r"\w+ <([^>@]+)>:", body)
            if name and re.search(r"\tjmp .*@plt>", body):
                found.add(base(name[1]))
        return found

    def turns(self, without, instrumented):
        """[Turn] of the plain program, and of ours."""
        plain, ours = [], []
        for _ in range(TURNS):
            self.record(without, ["--sample"])
            plain.append(self.turn(0, "--fold-match", r"^\[kernel\]$"))
            self.record(instrumented)
            ours.append(self.turn(self.sum("recording")))
        return plain, ours

    def turn(self, recording, *options):
        rows = self.folded("out.pb", "time", *options)
        return Turn(rows, sum(n for _, n in rows), self.sum("samples"), recording)

    def sum(self, metric):
        return sum(n for _, n in self.folded("out.pb", metric))

    def ways(self, without, instrumented, plain):
        symbols = self.symbols(without)
        seen = {block for turn in plain for path, _ in turn.rows for block in path}  # else inlined wherever it matters
        both = symbols & seen & {path[-1] for path, _ in self.folded("out.pb", "calls")}
        nameless = os.path.basename(self.made[without]) + "+0x"
        return Ways(symbols | self.symbols(instrumented), both, self.jumpers(without), nameless)

    def honest(self, without, instrumented):
        """Gaps of shares, those of libraries by caller, what is taken out, time by plain time."""
        plain, ours = self.turns(without, instrumented)
        ways = self.ways(without, instrumented, plain)
        spent, taken = sum(t.time for t in ours), sum(t.recording for t in ours)
        return (gaps(plain, ours, ways.own), gaps(plain, ours, ways.caller), taken / (taken + spent),
                spent / sum(t.time for t in plain))

    def usage(self, *command):
        """Processor seconds, and peak of memory in MB, of a command and all its children."""
        text = self.run(sys.executable, "-c", "import resource, subprocess, sys\n"
                        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
                        "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
                        "print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)", *command)
        return [float(word) for word in text.split()]

    def sampled_by(self, tool, hz, arguments):
        exe = [self.made["plain"], *arguments]
        return {"perf": ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), "-g", "-o", "perf.data", *exe],
                "ouro": [self.ouro, "run", "-q", "--sample", "--hz", str(hz), "-o", "out.pb", *exe], "bare": exe}[tool]

    def beside_perf(self):
        """What each costs at 997 samples a second; shares by many more, because those of 200 samples are chance."""
        used, shares = {}, {"perf": {}, "ouro": {}}
        for tool in ["perf", "ouro", "bare"] * (ROUNDS + 2):
            seconds, memory = self.usage(*self.sampled_by(tool, 997, self.arguments))
            before = used.get(tool, (1e9, 0))
            used[tool] = (min(before[0], seconds), max(before[1], memory))
        sizes = {"perf": os.path.getsize(self.folder + "/perf.data"), "ouro": os.path.getsize(self.folder + "/out.pb")}
        for _ in range(2):
            for tool in shares:
                self.usage(*self.sampled_by(tool, 4999, self.long))
            kept = [row for row in self.folded("out.pb") if row[0][-1] != "[lost]"]
            for tool, got in (("perf", self.perf_shares()), ("ouro", self_shares(kept))):
                for function, share in got.items():
                    shares[tool][function] = shares[tool].get(function, 0) + share / 2
        return shares, used, sizes

    def perf_shares(self):
        text = self.run("perf", "report", "-i", "perf.data", "--no-children", "--stdio", "-g", "none", "-F",
                        "overhead,sym")
        got = {}
        for share, name in re.findall(r"^\s*([\d.]+)%\s+\[[.k]\] (\S+)", text, re.M):
            got[base(name)] = got.get(base(name), 0) + float(share)
        return got

    def costs(self, plain, ours):
        """{way: processor seconds}, the best of several that take turns."""
        best = {}
        for _ in range(ROUNDS + 2):
            for way, exe in (("plain", plain), ("idle", ours), ("recorded", ours)):
                data = tempfile.mkdtemp(prefix="ouro-bench-", dir="/dev/shm")
                env = {"OURO_NATIVE": data} if way == "recorded" else {}
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                real.run([self.made[exe], *self.arguments], self.folder, env)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                best[way] = min(best.get(way, 1e9), after.ru_utime - before.ru_utime)
                shutil.rmtree(data)
        return best


def self_shares(rows):
    """{function: percent}"""
    sums, whole = collections.Counter(), sum(n for _, n in rows)
    for path, n in rows:
        sums[path[-1]] += 100 * n / whole
    return sums


def main():
    build = os.path.abspath(sys.argv[1])
    wanted = [name for name in PROGRAMS if name in sys.argv[2:] or not sys.argv[2:]]
    benches, folder = {}, tempfile.mkdtemp(prefix="ouro-bench-")
    for name in wanted:
        os.mkdir(f"{folder}/{name}")
        benches[name] = Bench(build, f"{folder}/{name}", name)
    print("Shares are self, as perf has them. Time in libraries is one row of its own, [libraries], on both sides.")
    heading("instrumented", "with", "recording, taken out", "time by plain time",
            "largest differences of a share, libraries apart (plain, ours, ± chance)", "of libraries by caller")
    # pigz by clang says nothing that the others do not.
    both = [(n, k) for n, k in itertools.product(benches, KINDS) if (n, k[0]) != ("pigz", "clang")]
    for name, (kind, plain, ours) in both:
        own, by_caller, taken, ratio = benches[name].honest(plain, ours)
        row(name, kind, f"{100 * taken:.0f}%", f"{ratio:.2f}", told(own[:3]), told(by_caller[:2]))
        gap = abs(own[0].plain - own[0].ours)
        figure("native", f"{name}, {kind}: shares of time, against samples of the plain program",
               "within 3 points", f"{gap:.1f}", gap <= 3)
    heading("sampled", "shares, largest difference", "of perf's top ten", "bare", "perf", "ouro", "memory: perf",
            "ouro", "file: perf", "ouro")
    for name, bench in benches.items():
        shares, used, sizes = bench.beside_perf()
        top = sorted(shares["perf"], key=lambda f: -shares["perf"][f])[:10]
        ours = sorted(shares["ouro"], key=lambda f: -shares["ouro"][f])[:10]
        worst = max(top, key=lambda f: abs(shares["perf"][f] - shares["ouro"].get(f, 0)))
        gap = abs(shares["perf"][worst] - shares["ouro"].get(worst, 0))
        row(name, f"{gap:.1f} ({worst})", len(set(top) & set(ours)), f"{used['bare'][0]:.2f} s",
            f"{used['perf'][0]:.2f} s", f"{used['ouro'][0]:.2f} s", f"{used['perf'][1]:.0f} MB",
            f"{used['ouro'][1]:.0f} MB", f"{sizes['perf'] / 1e3:,.0f} KB", f"{sizes['ouro'] / 1e3:,.0f} KB")
        figure("native", f"{name}: shares of a sampled program, against perf's", "within 2 points", f"{gap:.1f}",
               gap <= 2)
        figure("native", f"{name}: processor time of sampling at 997 Hz", "<= perf's",
               f"{used['ouro'][0]:.2f} s (perf {used['perf'][0]:.2f})", used["ouro"][0] <= used["perf"][0])
    heading("ouro cc", "with", "plain", "idle", "recorded", "idle by plain", "recorded by plain")
    for name, (kind, plain, ours) in both:
        best, most = benches[name].costs(plain, ours), 3 if kind == "clang" else 2
        idle, recorded = best["idle"] / best["plain"], best["recorded"] / best["plain"]
        row(name, kind, *(f"{best[way]:.2f} s" for way in ("plain", "idle", "recorded")), f"{idle:.2f}",
            f"{recorded:.2f}")
        if name != "pigz":
            case = f"{name}, {kind}"
            figure("native", f"{case}: idle, by the plain program", "<= 1.3", f"{idle:.2f}", idle <= 1.3)
            figure("native", f"{case}: recorded, by the plain program", f"<= {most}", f"{recorded:.2f}",
                   recorded <= most)
    shutil.rmtree(folder, ignore_errors=True)


main()

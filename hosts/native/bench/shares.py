#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the time true, and what does it cost? shares.py BUILD [PROGRAM]

cmark, Lua and pigz (zopfli), built with -O2. Three questions, a table each:
1. The program built by `ouro cc`, recorded: its shares of time beside those of the plain program, sampled. The same
   of clang, beside clang's plain program.
2. The plain program: `ouro run` beside `perf record -g`: shares, top ten, processor time, memory, size of the file.
3. Both, idle and recorded: processor time by that of the plain program.
Shares are self, of functions that both builds have; what is inlined or in a library counts for its caller.
"""
import itertools, os, re, resource, shutil, subprocess, sys, tempfile
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests"))
import real  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "../../../bench"))
from figures import figure, rounds  # noqa: E402

ROUNDS = rounds(4)
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
        # Shares need ticks: a share of 5% is good to 1 point after 500. ROUNDS=8 gives that many.
        os.mkdir(f"{folder}/long")
        self.long = arguments(f"{folder}/long", LONG[name] * PROGRAMS[name])

    def run(self, *command, **more):
        return real.run(list(command), self.folder, **more).stdout.decode(errors="replace")

    def folded(self, file, metric="time"):
        lines = self.run(self.ouro, "convert", "--to", "folded", "--metric", metric, file, "-").splitlines()
        return [([base(b) for b in path.split(";")], int(n)) for path, n in (line.rsplit(" ", 1) for line in lines)]

    def record(self, way, options=()):
        self.run(self.ouro, "run", "-q", *options, "-o", "out.pb", self.made[way], *self.long)

    def symbols(self, way):
        text = self.run("nm", "--defined-only", self.made[way])
        return {base(line.split()[2]) for line in text.splitlines() if line.split()[1] in "tTwW"}

    def honest(self, without, instrumented):
        """Largest difference of a share, its function; what is taken out; time by plain time."""
        plain, ours, taken = [], [], 0
        for _ in range(ROUNDS):
            self.record(without, ["--sample"])
            plain += self.folded("out.pb")
            self.record(instrumented)
            ours += self.folded("out.pb")
            taken += sum(n for _, n in self.folded("out.pb", "recording"))
        seen = {block for path, _ in plain for block in path}  # else it was inlined wherever it matters
        both = self.symbols(without) & seen & {path[-1] for path, _ in self.folded("out.pb", "calls")}
        a, b = self_shares(plain, both), self_shares(ours, both)
        worst = sorted(set(a) | set(b), key=lambda f: -abs(a.get(f, 0) - b.get(f, 0)))
        spent = sum(n for _, n in ours)
        gaps = [(f, a.get(f, 0), b.get(f, 0)) for f in worst[:3]]
        return gaps, taken / (taken + spent), spent / sum(n for _, n in plain)

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
        for tool in ["perf", "ouro", "bare"] * (ROUNDS - 1):
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


def self_shares(rows, known=None):
    """{function: percent}. What is not known counts for the last that is."""
    sums, whole = {}, 0
    for path, n in rows:
        if known is not None:
            path = [block for block in path if block in known] or ["-"]
        sums[path[-1]] = sums.get(path[-1], 0) + n
        whole += n
    return {function: 100 * n / whole for function, n in sums.items()}


def main():
    build = os.path.abspath(sys.argv[1])
    wanted = [name for name in PROGRAMS if name in sys.argv[2:] or not sys.argv[2:]]
    benches, folder = {}, tempfile.mkdtemp(prefix="ouro-bench-")
    for name in wanted:
        os.mkdir(f"{folder}/{name}")
        benches[name] = Bench(build, f"{folder}/{name}", name)
    heading("instrumented", "with", "recording, taken out", "time by plain time",
            "largest differences of a share (plain, ours)")
    # pigz by clang says nothing that the others do not.
    both = [(n, k) for n, k in itertools.product(benches, KINDS) if (n, k[0]) != ("pigz", "clang")]
    for name, (kind, plain, ours) in both:
        gaps, taken, ratio = benches[name].honest(plain, ours)
        row(name, kind, f"{100 * taken:.0f}%", f"{ratio:.2f}", "; ".join(f"{f} {a:.1f}, {b:.1f}" for f, a, b in gaps))
        gap = abs(gaps[0][1] - gaps[0][2])
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

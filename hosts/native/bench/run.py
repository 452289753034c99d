#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What profiling costs a native program, side by side: run.py BUILD [PROGRAM]

The same programs, built and run as each profiler wants it: bare; with hooks that do nothing (the floor); by `ouro cc`,
which has sleds, and by `ouro cc --all`, which has hooks in inlined functions, too; uftrace; gprof; callgrind. Processor
time of all processes, the best of several runs, which take turns. A program with sleds that nobody uses is compared
with clang's code without them, both with functions that begin a cache line: else five bytes more move a function across
lines, or out of them, which can cost more than a sled. Prints a table for README.md.
"""
import concurrent.futures, os, resource, shutil, subprocess, sys, tempfile
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests"))
import real  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "../../../bench"))
from figures import figure, rounds  # noqa: E402

ROUNDS = rounds(4)
FLAGS = ["-O2"]


def build_calls(folder, cc, cxx, flags):
    real.run([*cc, *flags, HERE + "/calls.c", "-o", "calls"], folder)
    return folder + "/calls"


# Only when they are asked for: one takes longer to build than all others together, the other runs for too short a time.
ON_DEMAND = ("sqlite3", "zopflipng")

# Name: build, arguments for a size, the size, the divisor of the size for uftrace and callgrind (their times are
# multiplied by it), and whether it does little but call.
PROGRAMS = {
    "fib": (build_calls, lambda folder, n: ["fib", str(n)], 1280, 64, True),
    "walk": (build_calls, lambda folder, n: ["walk", str(n)], 1280, 64, True),
    "duktape": (*real.PROGRAMS["duktape"], 16, 1, True),
    "sqlite3": (*real.PROGRAMS["sqlite3"], 64, 8, True),
    "zopflipng": (*real.PROGRAMS["zopflipng"], 4, 1, False),
    "minigzip": (*real.PROGRAMS["minigzip"], 160, 4, False),
}


class Bench:
    def __init__(self, build, folder):
        self.ouro, self.folder = os.path.join(build, "ouro"), folder
        real.run(["gcc", "-O2", "-c", HERE + "/empty_hooks.c", "-o", "empty_hooks.o"], folder)
        self.hooks = folder + "/empty_hooks.o"

    def folder_of(self, *names):
        path = os.path.join(self.folder, *[n.split()[0] for n in names])
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def build_all(self, name, build):
        """{way: executable}"""
        ways = {
            "bare": ("gcc", "g++", []),
            "flag": ("gcc", "g++", ["-finstrument-functions"]),
            "usual": (self.ouro + " cc", self.ouro + " c++", []),
            "ours": (self.ouro + " cc --all", self.ouro + " c++ --all", []),
            "gprof": ("gcc", "g++", ["-pg"]),
            "clang": ("clang", "clang++", ["-falign-functions=64"]),
            "sleds": (self.ouro + " cc --xray", self.ouro + " c++ --xray", ["-falign-functions=64"]),
        }
        def build_one(way):
            if way == "floor":
                return self.build_floor(name, build)
            cc, cxx, more = ways[way]
            return build(self.folder_of(name, way), cc.split(), cxx.split(), FLAGS + more)

        first = build_one("bare")  # which fetches the sources, too
        others = [*ways, "floor"][1:]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return {"bare": first, **dict(zip(others, pool.map(build_one, others)))}

    def build_floor(self, name, build):
        for compiler in ("gcc", "g++"):
            path = real.write(f"{self.folder}/floor-{compiler}",
                              "#!/bin/sh\nfor word; do [ \"$word\" = -c ] && exec " + compiler +
                              f" -finstrument-functions \"$@\"; done\nexec {compiler} -finstrument-functions \"$@\" "
                              f"{self.hooks}\n")
            os.chmod(path, 0o755)
        return build(self.folder_of(name, "floor"), [self.folder + "/floor-gcc"], [self.folder + "/floor-g++"], FLAGS)

    def seconds(self, command, folder, env=None):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        real.run(command, folder, env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def commands(self, made, arguments, data):
        """{case: (command, environment)}"""
        plain = {case: ([made[case], *arguments], {}) for case in ("bare", "floor", "gprof", "clang", "sleds")}
        recorded = {case: ([made[case], *arguments], {"OURO_NATIVE": data, "OURO_NATIVE_CLOCK": "cpu"})
                    for case in ("usual", "ours")}
        return {**plain, **recorded,
                "uftrace": (["uftrace", "record", "-d", data + "/uftrace", made["flag"], *arguments], {}),
                "callgrind": (["valgrind", "--tool=callgrind", "--callgrind-out-file=" + data + "/callgrind",
                               made["bare"], *arguments], {})}

    def measure(self, name):
        build, arguments, size, divisor, heavy = PROGRAMS[name]
        made = self.build_all(name, build)
        files = self.folder_of(name, "files")
        best = {}
        for turn in range(ROUNDS):
            for case in ("bare", "floor", "usual", "ours", "gprof", "clang", "sleds", "uftrace", "callgrind"):
                slow = case in ("uftrace", "callgrind")
                if turn > 0 and slow:
                    continue
                data = self.folder_of(name, "data")
                part = divisor if slow else 1
                command, env = self.commands(made, arguments(files, size // part), data)[case]
                best[case] = min(best.get(case, 1e9), self.seconds(command, files, env) * part)
        return best, made, heavy

    def data_size(self, name, case, made, factor):
        """Bytes that a recording of a run `factor` times as long takes."""
        _, arguments, size, divisor, _ = PROGRAMS[name]
        data, files = self.folder_of(name, "data"), self.folder_of(name, "files")
        command, env = self.commands(made, arguments(files, size // divisor * factor), data)[case]
        real.run(command, files, env)
        if case == "ours":
            live = [os.path.join(data, f) for f in os.listdir(data)]
            real.run([self.ouro, "run", "--symbolise", "-q", *live, "-o", data + "/out.pb"], data)
            return os.path.getsize(data + "/out.pb")
        return sum(os.path.getsize(os.path.join(at, f)) for at, _, names in os.walk(data) for f in names)


def row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    build = os.path.abspath(sys.argv[1])
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    wanted = [n for n in PROGRAMS if word in n and (word or n not in ON_DEMAND)]
    folder = tempfile.mkdtemp(prefix="ouro-bench-")
    bench = Bench(build, folder)
    row(["program", "bare", "floor", "`ouro cc`", "`ouro cc --all`", "gprof", "uftrace", "callgrind",
         "`ouro cc` / floor, added", "`--all` / floor, added", "idle sleds against clang"])
    row(["---"] * 11)
    sizes = []
    for name in wanted:
        best, made, heavy = bench.measure(name)
        added = {case: best[case] - best["bare"] for case in best}
        floor = added["floor"] if added["floor"] > 0.02 * best["bare"] else float("nan")
        usual, ratio = added["usual"] / floor, added["ours"] / floor
        goal = " (to reach: 2.0)" if heavy else ""
        missed = " MISSED" if heavy and ratio > 2.0 else ""
        missed += " above gprof" if added["ours"] > added["gprof"] else ""
        missed += " ABOVE UFTRACE" if added["ours"] > added["uftrace"] else ""
        missed += " ABOVE CALLGRIND" if added["ours"] > added["callgrind"] else ""
        if heavy and ratio == ratio:
            figure("native", f"{name}: added, by what empty hooks add", "<= 2.0", f"{usual:.2f}", usual <= 2)
            figure("native", f"{name}: added by --all, by what empty hooks add", "<= 2.0", f"{ratio:.2f}", ratio <= 2)
        figure("native", f"{name}: added, against uftrace, callgrind and gprof", "below the first two",
               f"{added['ours']:.2f} s; {added['uftrace']:.2f}, {added['callgrind']:.2f}, {added['gprof']:.2f} s",
               added["ours"] < min(added["uftrace"], added["callgrind"]))
        sleds = (best["sleds"] / best["clang"] - 1) * 100
        late = " MISSED" if heavy and usual > 2.0 else ""
        row([name, *[f"{best[c]:.2f} s" for c in ("bare", "floor", "usual", "ours", "gprof", "uftrace", "callgrind")],
             "-" if usual != usual else f"{usual:.2f}{goal}{late}",
             "-" if ratio != ratio else f"{ratio:.2f}{goal}{missed}",
             f"{sleds:+.1f}%" + (" MISSED" if sleds > 2 else "")])
        figure("native", f"{name}: idle sleds, against clang, aligned alike", "<= 2%", f"{sleds:+.1f}%", sleds <= 2)
        if name in ("walk", "sqlite3"):
            sizes.append((name, [[bench.data_size(name, case, made, f) for f in (1, 4)]
                                 for case in ("ours", "uftrace")]))
    print()
    row(["size of the recording", "ours", "ours, 4 times as long", "uftrace", "uftrace, 4 times as long"])
    row(["---"] * 5)
    for name, (ours, theirs) in sizes:
        row([name, *[f"{n / 1e3:,.1f} KB" for n in ours + theirs]])
        figure("native", f"{name}: size of the recording, 4 times as long", "flat",
               f"{ours[0] / 1e3:,.0f} and {ours[1] / 1e3:,.0f} KB; "
               f"uftrace {theirs[0] / 1e3:,.0f} and {theirs[1] / 1e3:,.0f} KB", ours[1] < 1.1 * ours[0])
    shutil.rmtree(folder, ignore_errors=True)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs, recorded in precise mode and by a naive model in Lua: random_programs.py OURO OURO_LUA [SEED]

Calls, tail calls, errors through pcall and xpcall, coroutines that are resumed here and there, yield, fail, are closed
and collected, metamethods, callbacks from C. Every path of the uncompacted tree must have the same number of calls.
"""
import os, random, subprocess, sys, tempfile, time

OURO, HOST = (os.path.abspath(a) for a in sys.argv[1:3])
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.lua")
PROGRAMS = 150


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = self.random.randint(2, 7)
        self.lines = ["fuel, coroutines = %d, {}" % self.random.randint(20, 400), "local meta = {}"]
        names = [f"f{i}" for i in range(self.count)]
        for name in names:
            self.function(name)
        self.lines += ["meta.__index = f0", "meta.__close = f1",
                       "function start()", "    while fuel > 0 do", "        budget = 3", "        pcall(f0, 1)", "        fuel = fuel - 1",
                       "    end", "end",
                       "FUNCTIONS = {%s, 'start'}" % ", ".join(f"'{n}'" for n in names)]

    def other(self):
        return f"f{self.random.randrange(self.count)}"

    def function(self, name):
        self.lines += [f"function {name}(n)", "    fuel = fuel - 1", "    if fuel <= 0 then return 0 end",
                       # The model's hook needs C stack of its own, so a program must not depend on its end.
                       "    if type(n) ~= 'number' then n, budget = 6, budget - 1 end",
                       "    if n > 9 or budget < 0 then return 0 end"]
        for _ in range(self.random.randint(1, 4)):
            self.lines += ["    " + line for line in self.statement()]
        if self.random.random() < 0.5:
            self.lines.append(f"    return {self.other()}(n + 1)")
        self.lines.append("end")

    def statement(self):
        kind, f = self.random.randrange(12), self.other()
        if kind < 3:
            return [f"local x = {f}(n + 1)"]
        if kind == 3:
            return [f"pcall({f}, n + 1)"]
        if kind == 4:
            return ["if fuel % 3 == 0 then error('x') end"]
        if kind == 5:
            return [f"xpcall({f}, {self.other()}, n + 1)"]
        if kind == 6:
            return [f"if #coroutines < 6 then local co = coroutine.create({f}) note(co) coroutines[#coroutines + 1] = co",
                    "    coroutine.resume(co, n + 1) end"]
        if kind == 7:
            return ["if #coroutines > 0 then coroutine.resume(coroutines[fuel % #coroutines + 1], n + 1) end"]
        if kind == 8:
            return ["if coroutine.isyieldable() then coroutine.yield(n) end"]
        if kind == 9:
            return ["if #coroutines > 3 then local co = table.remove(coroutines, 1)",
                    "    if coroutine.status(co) == 'suspended' or coroutine.status(co) == 'dead' then",
                    "        coroutine.close(co) end co = nil", "    if fuel % 5 == 0 then collectgarbage('step') end end"]
        if kind == 10:
            return ["local t = setmetatable({}, meta)", "local y = t.field"]
        if self.random.random() < 0.5:
            return [f"for i = 1, {self.random.randint(1, 3)} do local x = {f}(n + 1) end"]
        return [f"do local t <close> = setmetatable({{}}, meta) {f}(n + 1) end"]

    def text(self):
        return "\n".join(self.lines) + "\n"


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def counts(text):
    return {path: int(n) for path, n in (line.rsplit(" ", 1) for line in text.splitlines())}


def compare(seed, options):
    with open("program.lua", "w") as f:
        f.write(Program(seed).text())
    with open("main.lua", "w") as f:
        f.write("function note() end dofile('program.lua') pcall(start)")
    want = counts(run("lua5.4", MODEL, "program.lua"))
    run(HOST, *options, "--compact", "none", "--quiet", "-o", "program.pb", "main.lua")
    text = run(OURO, "convert", "--to", "folded", "--metric", "calls", "program.pb", "-")
    prefix = "main chunk;pcall;"
    got = {path[len(prefix):]: n for path, n in counts(text).items() if path.startswith(prefix + "start")}
    got = {path: n for path, n in got.items() if not path.endswith("(gc)")}
    wrong = [f"{p}: {got.get(p)}, the model says {want.get(p)}" for p in {**want, **got} if got.get(p) != want.get(p)]
    assert not wrong, "\n".join(sorted(wrong)[:10])
    return sum(want.values())


def main():
    first = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time() * 1000) % 10**9
    programs = 1 if len(sys.argv) > 3 else PROGRAMS
    failed = events = 0
    print(f"# seed {first}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for i in range(programs):
            options = [["--precise"], ["--memory"], ["--instructions=7"]][(first + i) % 3]
            try:
                events += compare(first + i, options)
            except Exception as e:
                failed += 1
                print(f"{e}\nrepeat with: random_programs.py {OURO} {HOST} {first + i} ({options})", file=sys.stderr)
        os.chdir("/")
    print("# %d programs, %d calls" % (programs, events))
    print("not ok" if failed else "ok", "random_programs_count_as_the_naive_model_does")
    return failed > 0


sys.exit(main())

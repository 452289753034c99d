#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs, recorded in precise mode and by a naive model in Lua: random_programs.py OURO OURO_LUA [WORD...]

Calls, tail calls, errors through pcall and xpcall, coroutines that are resumed here and there, yield, fail, are closed
and collected, metamethods, callbacks from C. Every path of the uncompacted tree must have the same number of calls.
The seed is OURO_SEED or the clock; a given seed is one program, otherwise there are many from there on.
Programs for Lua 5.1 have no tail calls, which its hooks do not tell from calls.
"""
import os, random, re, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../tests/support")
from suite import arguments, case, main, run, same, write

OURO, HOST = arguments("OURO", "OURO_LUA")
MODEL = os.path.join(HERE, "model.lua")
SEED = os.environ.get("OURO_SEED")
LUA = (re.search(r"lua5\.[135]", os.path.basename(HOST)) or ["lua5.4"])[0]
NEW = LUA in ("lua5.4", "lua5.5")  # variables and coroutines can be closed
PROGRAMS = 1 if SEED else 150 if LUA == "lua5.4" else 60
WAYS = ["--precise"], ["--memory"], ["--instructions=7"]


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = self.random.randint(2, 7)
        self.lines = ["fuel, coroutines = %d, {}" % self.random.randint(20, 400), "local meta = {}"]
        names = [f"f{i}" for i in range(self.count)]
        for name in names:
            self.function(name)
        self.lines += ["meta.__index = f0", "meta.__close = f1",
                       "function start()", "    while fuel > 0 do", "        budget = 3", "        pcall(f0, 1)",
                       "        fuel = fuel - 1",
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
            call = f"{self.other()}(n + 1)"
            self.lines.append(f"    return ({call})" if LUA == "lua5.1" else f"    return {call}")
        self.lines.append("end")

    def statement(self):
        kind, f = self.random.randrange(12), self.other()
        if kind < 3:
            return [f"local x = {f}(n + 1)"]
        if kind == 3:
            return [f"pcall({f}, n + 1)"]
        if kind == 4:
            return ["if fuel % 3 == 0 and not closing then error('x') end"]
        if kind == 5:
            return [f"xpcall({f}, {self.other()}, n + 1)"]
        if kind == 6:
            return [f"if #coroutines < 6 then local co = coroutine.create({f}) note(co)",
                    "    coroutines[#coroutines + 1] = co coroutine.resume(co, n + 1) end"]
        if kind == 7:
            return ["if #coroutines > 0 then coroutine.resume(coroutines[fuel % #coroutines + 1], n + 1) end"]
        if kind == 8:
            # Lua 5.1 cannot yield across pcall, which is an error there.
            inside = "coroutine.running()" if LUA == "lua5.1" else "coroutine.isyieldable()"
            return [f"if {inside} then coroutine.yield(n) end"]
        if kind == 9:
            return ["if #coroutines > 3 then local co = table.remove(coroutines, 1)",
                    *(["    if coroutine.status(co) == 'suspended' or coroutine.status(co) == 'dead' then",
                       # An error while Lua closes a coroutine that waits in xpcall goes to the handler of that xpcall,
                       # which has left the stack: what is called then is what happens to be there.
                       "        closing = true coroutine.close(co) closing = false end"] if NEW else []),
                    "    co = nil",
                    "    if fuel % 5 == 0 then collectgarbage('step') end end"]
        if kind == 10:
            return ["local t = setmetatable({}, meta)", "local y = t.field"]
        if self.random.random() < 0.5:
            return [f"for i = 1, {self.random.randint(1, 3)} do local x = {f}(n + 1) end"]
        if not NEW:
            return [f"do local t = setmetatable({{}}, meta) {f}(n + 1) end"]
        return [f"do local t <close> = setmetatable({{}}, meta) {f}(n + 1) end"]

    def text(self):
        return "\n".join(self.lines) + "\n"


def counts(*command):
    text = run(*command, status=0, timeout=100).out
    return {path: int(n) for path, n in (line.rsplit(" ", 1) for line in text.splitlines())}


def compare(seed, options):
    """The number of calls, which are all where the model has them."""
    write("program.lua", Program(seed).text())
    write("main.lua", "function note() end dofile('program.lua') pcall(start)")
    want = counts(LUA, MODEL, "program.lua")
    run(HOST, *options, "--compact", "none", "--quiet", "-o", "program.pb", "main.lua", status=0, timeout=100)
    prefix = "main chunk;pcall;"
    got = {path.removeprefix(prefix): n
           for path, n in counts(OURO, "convert", "--to", "folded", "--metric", "calls", "program.pb", "-").items()
           if path.startswith(prefix + "start") and not path.endswith("(gc)")}
    same(got, want)
    return sum(want.values())


@case
def random_programs_count_as_the_naive_model_does():
    first = int(SEED or time.time() * 1000 % 10**9)
    print(f"# seed {first}")
    problems, calls = [], 0
    for seed in range(first, first + PROGRAMS):
        try:
            calls += compare(seed, WAYS[seed % 3])
        except Exception as problem:
            problems.append(f"OURO_SEED={seed}, {' '.join(WAYS[seed % 3])}:\n{problem}")
    print(f"# {PROGRAMS} programs, {calls} calls")
    assert not problems, f"{len(problems)} programs differ\n" + "\n".join(problems[:3])


main()

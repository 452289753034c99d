#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lua 5.1, Lua 5.3 and LuaJIT, with their programs and modules: versions.py OURO BUILD [WORD...]

The cases of cases.py that are written for every version must be counted as in Lua 5.4. A version that is not installed
here, or that Ouro was built without, is skipped.
"""
import os, re, shutil, signal, subprocess, sys, textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import suite
from cases import CASES
from signals import has_run, send
from suite import arguments, case, has, main, same, skip, write

OURO, BUILD = arguments("OURO", "BUILD")
MODULES = {"lua5.1": "5.1", "lua5.3": "5.3", "lua5.4": "5.4", "lua5.5": "5.5", "luajit": "5.1"}
# What a script must not use. A case with it is not for that version.
LACKS = {"lua5.3": ["<close>", "<const>", "coroutine.close", "incremental"]}
LACKS["lua5.1"] = LACKS["lua5.3"] + ["goto", "load(", "__len", "coroutine.yield() error", "os.exit(true"]


def environment(folder):
    return dict(os.environ, OURO=OURO, LUA_CPATH=f"{BUILD}/hosts/lua/{folder}/?.so", LUA_INIT="")


def host(version):
    program = f"{BUILD}/ouro-{version}"
    if not os.path.exists(program):
        skip(f"built without {version}")
    return program


def run(*command, status=0, folder="5.1", **more):
    return suite.run(*command, status=status, timeout=60, env=environment(folder), **more)


def interpreter(version, text, status=0, folder=None):
    """Under the system's own interpreter, which loads the module."""
    host(version)
    if not shutil.which(version):
        skip(f"{version} is not installed")
    return run(version, write("script.lua", textwrap.dedent(text)), status=status, folder=folder or MODULES[version])


def folded(profile, metric="calls"):
    result = {}
    for line in run(OURO, "convert", "--to", "folded", "--metric", metric, profile, "-").out.splitlines():
        path, amount = line.rsplit(" ", 1)
        path = re.sub(r"^main chunk;?", "", path)
        if path:
            result[path] = result.get(path, 0) + int(amount)
    return result


def compare(got, want):
    for path, calls in want.items():
        if path != "..." and calls is not None:
            same(got.get(path), calls, f"{path} of {got}")
    extra = {path: n for path, n in got.items() if path not in want and not path.endswith("(gc)")}
    assert "..." in want or not extra, extra


def is_counted(version, text, want):
    write("script.lua", textwrap.dedent(text))
    run(host(version), "--precise", "--compact", "none", "--quiet", "-o", "script.pb", "script.lua")
    compare(folded("script.pb"), want)


def is_counted_in_the_module(version, text, want):
    """The module compacts by loops, which keeps the calls of each block."""
    interpreter(version, 'local o = require "ouro"\no.start{mode = "precise", metrics = {"memory", "instructions"}}\n' +
                textwrap.dedent(text) + '\no.stop() o.write("script.pb")\n')

    def totals(paths):
        result = {}
        for path, calls in paths.items():
            name = path.split(";")[-1]
            if calls is not None and name not in ("...", "(gc)", "collectgarbage", "(anonymous)"):
                result[name] = result.get(name, 0) + calls
        return result
    got = totals(folded("script.pb"))
    for name, calls in totals(want).items():
        same(got.get(name), calls, f"{name} of {got}")


for version in ("lua5.1", "lua5.3"):
    for name, (text, want) in CASES.items():
        if not any(word in text for word in LACKS[version]):
            case(is_counted, f"{version}_counts_{name}", version, text, want)
            if "os.exit" not in text and "os_exit" not in name:
                case(is_counted_in_the_module, f"{version}_counts_{name}_in_the_module", version, text, want)


def long_chains(version):
    """Two hundred thousand tail calls are a handful of paths, and end where they began."""
    is_counted(version, """
        local even
        local function odd(n) if n == 0 then return false end return even(n - 1) end
        even = function(n) if n == 0 then return true end return odd(n - 1) end
        local function after() end
        even(3) after() pcall(even, 2) after()
        local function self(n) if n > 0 then return self(n - 1) end error("x") end
        pcall(self, 2) after()
    """, {"even": 1, "even;odd": 1, "even;odd;even": 1, "even;odd;even;odd": 1, "after": 3, "pcall": 2,
          "pcall;even": 1, "pcall;even;odd": 1, "pcall;even;odd;even": 1, "pcall;self": 1, "pcall;self;self": 1,
          "pcall;self;self;self": 1, "pcall;self;self;self;error": 1})
    write("long.lua", "local function f(n) if n > 0 then return f(n - 1) end end f(200000) f(200000)")
    run(host(version), "--precise", "--quiet", "-o", "long.pb", "long.lua")
    got = folded("long.pb")
    same((sum(got.values()), len(got) < 5), (400002, True), got)


def sampled(version):
    """A path goes through the scheduler that resumes a coroutine."""
    write("script.lua", textwrap.dedent("""
        local function spin() local x = 0 for i = 1, 2e7 do x = x + i end return x end
        local function task() spin() coroutine.yield() spin() end
        local function scheduler(step) step() step() end
        scheduler(coroutine.wrap(task))
        local created = coroutine.create(task)
        print(coroutine.resume(created))
        print(coroutine.resume(created))
        print(coroutine.resume(created))
        print(pcall(coroutine.wrap(function() error("inside") end)))
        print(coroutine.resume(coroutine.create(function() coroutine.resume(created) error({}) end)) == false)
    """))
    plain = run(version, "script.lua") if shutil.which(version) else None
    ours = run(host(version), "--quiet", "-o", "script.pb", "script.lua")
    if plain:
        same(ours.out, plain.out)
    got = folded("script.pb", "time")
    assert got.get("scheduler;step;task;spin", 0) > 20e6, got
    assert got.get("coroutine.resume;task;spin", 0) > 20e6, got


def errors_are_as_in(version):
    if not shutil.which(version):
        skip(f"{version} is not installed")
    for text in ("local function f() local x = nil; return x.y end f()", "error({})", "local = 1", "os.exit(3)",
                 "print(arg[0], #arg, ...)", "coroutine.wrap(function() error('inside') end)()"):
        write("script.lua", text)
        plain = run(version, "script.lua", "a", "b", status=None)
        for options in ([], ["--precise"]):
            ours = run(host(version), *options, "--quiet", "-o", "out.pb", "script.lua", "a", "b", status=plain.status)
            same(ours.out, plain.out)
            # A traceback ends in the function of the host, which is another one here.
            same(ours.err.split("\n")[:3], plain.err.split("\n")[:3])


for version in ("lua5.1", "lua5.3"):
    case(long_chains, f"{version}_keeps_long_chains_of_tail_calls_small", version)
    case(sampled, f"{version}_samples_a_coroutine_below_who_resumed_it", version)
    case(errors_are_as_in, f"{version}_prints_errors_as_the_interpreter_does", version)


@case
def what_is_typed_into_lua_5_1_is_run():
    done = run(host("lua5.1"), "--quiet", "-o", "typed.pb", "-i", stdin="=5 + 1\nfor i = 1, 2 do\nprint(i)\nend\nx x\n")
    same(re.sub(r"^.*\n", "", done.out, count=1), "> 6\n> >> >> 1\n2\n> > \n")
    has(done.err, "lua5.1: stdin:1: '=' expected near 'x'")


# ---------------------------------------------------------------- the right module for a Lua

@case
def a_wrong_pairing_of_lua_and_module_says_so():
    text = 'local ok, message = pcall(require, "ouro") print(ok, message)'
    tried = 0
    for version, own in MODULES.items():
        for folder in sorted(set(MODULES.values())):
            if not shutil.which(version) or not os.path.exists(f"{BUILD}/hosts/lua/{folder}/ouro.so"):
                continue
            tried += 1
            done = run(version, write("script.lua", text), folder=folder)
            if own == folder:
                has(done.out, "true\t")
            else:
                has(done.out, f"false\tthis ouro.so is the module for Lua {folder}, but Lua {own} has loaded it")
    assert tried >= 1


@case
def ouro_runs_the_lua_that_is_named():
    names = {"lua5.1": "Lua 5.1", "lua5.3": "Lua 5.3", "lua5.4": "Lua 5.4", "lua5.5": "Lua 5.5", "luajit": "LuaJIT 2.1"}
    for version, text in names.items():
        if version == "lua5.4" or os.path.exists(f"{BUILD}/ouro-{version}"):
            done = run(OURO, version, "--quiet", "-o", "v.pb", "-e", "print(jit and jit.version or _VERSION)")
            has(done.out, text)
            has(run(OURO, version, "--version").out, text)


# ---------------------------------------------------------------- LuaJIT

@case
def luajit_has_its_own_profiler_with_lines():
    write("t.lua", "local M = {}\nfunction M.spin(n)\n  local x = 0 for i = 1, n do x = x + i % 3 end return x\nend\n"
          "local function outer()\n  return (M.spin(1e8))\nend\nouter() print(arg[0], ...) os.exit(3)")
    host("luajit")
    for command in (["luajit"], ["lua", "--luajit"]):
        done = run(OURO, *command, "--quiet", "t.lua", "x", status=3)
        same((done.out, done.err), ("t.lua\tx\n", ""))
        same(max((got := folded("t.pb.gz", "cpu")), key=got.get), "outer;M.spin", got)
        rows = run(OURO, "report", "--overall", "--csv", "t.pb.gz").out
        has(rows, "M.spin,t.lua,2,", "outer,t.lua,5,", "main chunk,t.lua,1,")
    write("t.lua", "error('x')")
    has(run(host("luajit"), "t.lua", status=1).err, "luajit: t.lua:1: x")
    run(host("luajit"), "missing.lua", status=1)


@case
def luajit_counts_the_time_that_passed_and_not_its_timers_ticks():
    write("t.lua", "local c = os.clock local t = c() local n = 0 while c() - t < 0.5 do n = n + 1 end")
    run(host("luajit"), "--quiet", "-o", "t.pb", "t.lua")
    paths = run(OURO, "convert", "--to", "folded", "--metric", "cpu", "t.pb", "-").out.splitlines()
    total = sum(int(path.rsplit(" ", 1)[1]) for path in paths)
    assert 400e6 < total < 700e6, total


@case
def luajit_says_on_how_many_samples_its_times_rest():
    write("t.lua", "local e = os.clock() + 0.05 while os.clock() < e do end")
    said = run(host("luajit"), "-o", "t.pb", "t.lua", status=0).err
    has(said, ": too few to trust the shares.", " samples  block\n")


@case
def luajit_refuses_what_it_cannot_in_words():
    for option in ("--precise", "--memory", "--instructions"):
        done = run(host("luajit"), option, write("t.lua", ""), status=2)
        has(done.err, "LuaJIT calls no hooks in compiled code", option)
    hint = run(host("luajit"), "-o", "t.pb", "t.lua").err
    has(hint, "one per millisecond of processor time")
    assert "--precise" not in hint
    interpreter("luajit", """
        local ouro = require "ouro"
        local ok, message = pcall(ouro.start, {mode = "precise"})
        assert(not ok and message:find("LuaJIT calls no hooks", 1, true), message)
    """)


@case
def luajit_loads_the_module():
    interpreter("luajit", """
        local ouro = require "ouro"
        local function spin(n) local x = 0 for i = 1, n do x = x + i % 3 end return x end
        ouro.start()
        local mark = ouro.block "hot"
        local x = spin(1e8)
        mark()
        local y = spin(1e8)
        ouro.stop()
        assert(ouro.write("m.pb"))
        assert(ouro.stop() == false)
        ouro.start() ouro.stop()
    """)
    got = folded("m.pb", "cpu")
    assert got.get("hot;spin", 0) > 10e6 and got.get("spin", 0) > 10e6, got


def luajit_ended_by(numbers, text):
    child = subprocess.Popen([host("luajit"), "--quiet", "-o", "end.pb", write("t.lua", text)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=environment("5.1"))
    try:
        child.stdout.readline()
        has_run(child, 0.4)
        send(child, numbers)
        child.communicate(timeout=60)
    finally:
        child.kill()
    same(child.returncode, -numbers[0])
    return folded("end.pb", "cpu")


@case
def luajit_keeps_its_profile_when_a_signal_ends_it():
    ready = "print('ready') io.flush() "
    for text in ("local function spin() while true do pcall(function() while true do end end) end end spin()",
                 "local function spin() local x = 0 while true do x = x + 1 end end spin()",
                 "local s = ('a'):rep(3000) local function spin() return s:find(('a*'):rep(6) .. 'b') end "
                 "local x = spin()"):
        got = luajit_ended_by([signal.SIGTERM], ready + text)
        assert sum(n for path, n in got.items() if "spin" in path) > 50e6, (text, got)
    got = luajit_ended_by([signal.SIGINT, signal.SIGINT], ready + text)
    assert sum(n for path, n in got.items() if "spin" in path) > 50e6, got



@case
def luajit_leaves_a_profile_however_it_ends():
    """By C functions that end the process, or become another one."""
    ready = ("local ffi = require 'ffi' ffi.cdef[[int raise(int); void _exit(int); void exit(int); "
             "int execv(const char *, const char *const *);]] local e = os.clock() + 0.1 "
             "local function spin() repeat until os.clock() > e end spin() ")
    for text, status in (("ffi.C.raise(9)", -9), ("ffi.C.raise(11)", -11), ("ffi.C._exit(3)", 3), ("ffi.C.exit(4)", 4),
                         ("ffi.C.execv('/bin/true', ffi.new('const char *[2]', {'true'}))", 0)):
        run(host("luajit"), "--quiet", "-o", "end.pb", write("t.lua", ready + text), status=status)
        assert folded("end.pb", "cpu").get("spin", 0) > 10e6, (text, folded("end.pb", "cpu"))
        run(OURO, "convert", "end.pb", "end.pb")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs under ouro-lua and compares what was counted: run.py OURO OURO_LUA LUA_MODULES PROGRAMS [WORD...]

The folder of the module is named by the version: the same cases are for Lua 5.4 and 5.5.
"""
import json, os, re, resource, signal, subprocess, sys, textwrap, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import suite
from cases import CASES
from hostile import quiet
from signals import has_run, send
from suite import ROOT, arguments, case, has, main, read, same, skip, write

OURO, HOST, MODULES, PROGRAMS = arguments("OURO", "OURO_LUA", "LUA_MODULES", "PROGRAMS")
LUA = "lua" + os.path.basename(MODULES)  # the interpreter
NAME = "lua" if LUA == "lua5.4" else LUA  # how the host calls itself
ENVIRONMENT = dict(os.environ, OURO=OURO, LUA_CPATH=MODULES + "/?.so", ASAN_OPTIONS="detect_leaks=1")


def run(*command, status=0, **more):
    return suite.run(*command, status=status, timeout=60, env=ENVIRONMENT, **more)


def script(text):
    return write("script.lua", textwrap.dedent(text))


def module(text, status=0):
    """Under an unmodified lua, which loads the module."""
    return run(LUA, script(text), status=status)


def folded(profile, metric="calls"):
    """Paths and their amounts, without the main chunk at the front."""
    lines = run(OURO, "convert", "--to", "folded", "--metric", metric, profile, "-").out.splitlines()
    result = {}
    for line in lines:
        path, amount = line.rsplit(" ", 1)
        path = re.sub(r"^main chunk;?", "", path)
        if path:
            result[path] = result.get(path, 0) + int(amount)
    return result


def record(text, *options, status=0, metric="calls", arguments=(), **more):
    done = run(HOST, *options, "--quiet", "-o", "script.pb", script(text), *arguments, status=status, **more)
    return done, folded("script.pb", metric) if os.path.exists("script.pb") else None


def precise(text, *options, **more):
    return record(text, "--precise", "--compact", "none", *options, **more)


def compare(got, want):
    others = "..." in want
    for path, calls in want.items():
        if path != "..." and (calls is not None or path not in got):
            same(got.get(path), calls, f"{path} of {got}")
    extra = [path for path in got if path not in want and not path.endswith("(gc)")]
    assert others or not extra, f"not expected: {[(p, got[p]) for p in extra]}"


def is_counted(text, want):
    compare(precise(text)[1], want)


def is_counted_in_the_module(text, want):
    """The same from inside an unmodified lua, with returns and instructions asked for as well."""
    write("script.lua", 'local o = require "ouro"\no.start{mode = "precise", metrics = {"memory", "instructions"}}\n'
          'local closing <close> = setmetatable({}, {__close = function() o.stop() o.write("script.pb") end})\n' +
          textwrap.dedent(text))
    run(LUA, "script.lua")
    got = folded("script.pb")
    for path in ["setmetatable", "(anonymous)", "__close", "closing"]:
        if path not in want:
            got.pop(path, None)
    if "setmetatable" in want:
        got["setmetatable"] -= 1
    compare_contexts(got, want)


def compare_contexts(got, want):
    """The module compacts by loops: compare the calls of each block, which that keeps."""
    def totals(paths):
        result = {}
        for path, calls in paths.items():
            name = path.split(";")[-1]
            if calls is not None and name not in ("...", "(gc)"):
                result[name] = result.get(name, 0) + calls
        return result
    mine, others = totals(want), totals(got)
    for name, calls in mine.items():
        if name not in ("collectgarbage", "(anonymous)"):
            same(others.get(name), calls, f"{name} of {got}")


for name, (text, want) in CASES.items():
    case(is_counted, name, text, want)
    if "os_exit" not in name:
        case(is_counted_in_the_module, name + "_in_the_module", text, want)


# ---------------------------------------------------------------- coroutines that were there before

@case
def coroutines_created_before_the_start():
    module("""
        local ouro = require "ouro"
        local function work() end
        local function body() coroutine.yield() work() coroutine.yield() work() end
        local created, wrapped = coroutine.create(body), coroutine.wrap(body)
        coroutine.resume(created) wrapped()
        ouro.start{mode = "precise"}
        coroutine.resume(created) wrapped()
        ouro.stop()
        ouro.write("script.pb")
        coroutine.resume(created) wrapped()
    """)
    same(folded("script.pb"), {
        "coroutine.resume": 1, "coroutine.resume;body;work": 1, "coroutine.resume;body;coroutine.yield": 1,
        "wrapped": 1, "wrapped;body;work": 1, "wrapped;body;coroutine.yield": 1})


@case
def a_start_inside_a_coroutine():
    module("""
        local ouro = require "ouro"
        local function work() end
        local function body() ouro.start{mode = "precise"} work() coroutine.yield() work() end
        local co = coroutine.create(body)
        local function one() coroutine.resume(co) work() end
        local function two() coroutine.resume(co) work() end
        one() two()
        ouro.stop()
        ouro.write("script.pb")
    """)
    same(folded("script.pb"), {
        "one;coroutine.resume;body;work": 1, "one;coroutine.resume;body;coroutine.yield": 1, "one;work": 1,
        "two": 1, "two;coroutine.resume": 1, "two;coroutine.resume;body;work": 1, "two;work": 1})


@case
def a_stack_overflow_is_an_error_like_others():
    _, got = record("""
        local function f() return 1 + f() end
        local function after() end
        pcall(f) after()
    """, "--precise")
    got.pop("pcall;f;(gc)", None)
    assert got.pop("pcall;f") > 10000, got
    same(got, {"pcall": 1, "after": 1})


# ---------------------------------------------------------------- metrics

@case
def instructions_are_exact_one_by_one():
    program = """
        local function f(n) local s = 0 for i = 1, n do s = s + i end return s end
        local function g() return f(10) end
        f(100) g() pcall(error)
    """
    _, got = precise(program, "--instructions=1", metric="instructions")
    write("model.lua", """local total, names = {}, {}
        debug.sethook(function()
            local i = debug.getinfo(2, "S")
            local k = i.linedefined
            total[k] = (total[k] or 0) + 1
        end, "", 1)
        """ + "dofile('script.lua') debug.sethook() for k, n in pairs(total) do print(k, n) end")
    lines = dict(map(int, line.split()) for line in run(LUA, "model.lua").out.splitlines())
    f = sum(n for path, n in got.items() if path.split(";")[-1] == "f")
    g = sum(n for path, n in got.items() if path.split(";")[-1] == "g")
    same(f, lines[2], (got, lines))
    same(g, lines[3], (got, lines))


@case
def memory_is_charged_to_who_allocates():
    done, got = precise("""
        local keep = {}
        local function big() keep[1] = ("x"):rep(1000000) end
        local function small() keep[2] = {} end
        big() small()
    """, "--memory", metric="allocated")
    assert 1000000 <= got["big;string.rep"] < 3100000, got
    assert 40 <= got["small"] < 400, got
    assert folded("script.pb", "allocations")["small"] <= 3


@case
def every_cycle_of_the_collector_is_a_call_of_gc():
    """A finalizer of the script counts them, too."""
    for options in ([], ["--memory"]):
        done, got = precise("""
            local cycles, mt = 0, {}
            function mt.__gc(object) cycles = cycles + 1 setmetatable(object, mt) end
            setmetatable({}, mt)
            for i = 1, 20 do collectgarbage() end
            for i = 1, 1e5 do local garbage = {i} end
            print(cycles)
        """, *options)
        same(sum(n for path, n in got.items() if path.endswith("(gc)")), int(done.out), options)


@case
def what_is_freed_goes_to_gc():
    _, got = precise("""
        local function drop() local s = ("x"):rep(500000) s = nil end
        for i = 1, 20 do drop() end
        collectgarbage()
    """, "--memory", metric="freed")
    assert sum(n for path, n in got.items() if path.endswith("(gc)")) >= 19 * 500000, got
    assert all(path.endswith("(gc)") for path in got), got


# ---------------------------------------------------------------- sampling

@case
def sampling_finds_who_takes_the_time():
    """The script looks at the clock itself: on a busy machine no part takes as long as another like it."""
    done, got = record("""
        local function clock()
            local f <close> = io.open("/proc/uptime")
            return f:read("n")
        end
        local function long() local x = 0 for i = 1, 3e7 do x = x + i end end
        local function short() local x = 0 for i = 1, 3e6 do x = x + i end end
        local co = coroutine.wrap(function() long() coroutine.yield() long() end)
        local times = {clock()}
        for i, part in ipairs{long, short, co, co} do part() times[i + 1] = clock() end
        for i = 2, #times do print(times[i] - times[i - 1]) end
    """, metric="time")
    direct, short, first, second = (float(line) * 1e9 for line in done.out.splitlines())

    def agrees(path, elapsed):
        sampled = sum(n for p, n in got.items() if re.match(path + "(;|$)", p))
        return abs(sampled - elapsed) < 0.1 * elapsed + 60e6

    assert agrees("long", direct), (got, done.out)
    assert agrees("short", short), (got, done.out)
    assert agrees("part;\\(anonymous\\);long", first + second), (got, done.out)


@case
def sampled_stacks_tell_how_deep_functions_recurse():
    record("""
        local function spin() local x = 0 for i = 1, 2e7 do x = x + i end return x end
        local function itself(n) local x if n > 1 then x = itself(n - 1) else x = spin() end return x end
        local even, odd
        function even(n) local x if n > 0 then x = odd(n - 1) else x = spin() end return x end
        function odd(n) local x if n > 0 then x = even(n - 1) else x = spin() end return x end
        itself(100) even(61)
    """, metric="time")
    rows = json.loads(run(OURO, "report", "--knots", "--json", "script.pb").out)["rows"]
    same({" ".join(sorted(block["name"] for block in row["blocks"])): (row["deepest"], row["direct"], row["through"])
          for row in rows}, {"itself": (100, None, 0), "even odd": (31, 0, None)})


@case
def sampling_sees_long_c_functions():
    _, got = record("""
        local s = ("a"):rep(150)
        local function match() return s:find(("a*"):rep(3) .. "b") end
        match()
    """, metric="time")
    same(max(got, key=got.get), "match;string.find", got)


@case
def sampling_with_marks_errors_and_hooks():
    _, got = record("""
        local ouro = require "ouro"
        local function spin() local x = 0 for i = 1, 2e7 do x = x + i end end
        local function f() local done <close> = ouro.block "hot" spin() error("x") end
        pcall(f)
        local n = 0
        debug.sethook(function() n = n + 1 end, "", 1000)
        spin()
        assert(select(1, debug.gethook()))
        debug.sethook()
        assert(n > 10000, n)
    """, metric="time")
    assert got.get("pcall;f;hot;spin", 0) > 20e6, got
    assert got.get("spin", 0) > 20e6, got


@case
def sampling_a_deep_stack_stays_cheap():
    _, got = record("""
        local function deep(n) if n == 0 then local x = 0 for i = 1, 5e7 do x = x + i end return x end
            return (deep(n - 1)) end
        deep(15000)
    """, metric="time")
    assert max(got, key=got.get).startswith("deep"), got


@case
def what_the_profiler_itself_takes_on_a_deep_stack_is_not_charged():
    program = """
        local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
        for i = 1, 40 do deep(50000) end
    """
    before = time.monotonic()
    _, got = record(program, metric="time")
    passed = (time.monotonic() - before) * 1e9
    assert 0 < sum(got.values()) <= passed, (got, passed)


# ---------------------------------------------------------------- errors and the command line

def like_lua(text, *arguments, status=1):
    plain = run(LUA, script(text), *arguments, status=status)
    for options in ([], ["--precise"], ["--memory", "--instructions"]):
        if os.path.exists("out.pb"):
            os.remove("out.pb")
        ours = run(HOST, *options, "--quiet", "-o", "out.pb", "script.lua", *arguments, status=status)
        same(ours.out, plain.out)
        same(ours.err, plain.err.replace(LUA + ": ", NAME + ": "))
        yield os.path.exists("out.pb")


@case
def an_error_has_its_traceback_and_a_profile():
    assert all(like_lua("""
        local function f() local x = nil; return x.y end
        print("before", ...)
        pcall(error, "caught")
        local function g() f() end
        g()
    """, "one", "two"))


@case
def error_objects_and_coroutine_errors():
    assert all(like_lua("error(setmetatable({}, {__tostring = function() return 'object' end}))"))
    assert all(like_lua("error({})"))
    assert all(like_lua("local w = coroutine.wrap(function() error('inside') end) w()"))
    assert all(like_lua("local co = coroutine.create(function() error('x') end)\n"
                        "print(coroutine.resume(co)) error('y')"))


@case
def exit_statuses_are_the_scripts():
    assert all(like_lua("os.exit(7)", status=7))
    assert all(like_lua("print(arg[0], arg[1], #arg, ...) os.exit(false, true)", "a", status=1))
    assert all(like_lua("coroutine.wrap(function() os.exit(3) end)()", status=3))
    assert all(like_lua("io.write('no newline')", status=0))


@case
def a_syntax_error_or_no_script_writes_nothing():
    assert not any(like_lua("local = 1"))
    done = run(HOST, "-o", "none.pb", "missing.lua", status=1)
    assert done.err.startswith(f"{NAME}: cannot open missing.lua"), done.err
    assert not os.path.exists("none.pb")


@case
def every_compaction_rule_can_be_asked_for():
    script = """
        local a, b
        function a(n) if n > 0 then b(n - 1) end return n end
        function b(n) if n > 0 then a(n - 1) end return n end
        a(9)
    """
    for rule, longest in (("loops", 4), ("cycles", 3), ("edges", 3), ("edges:1", 2), ("edges:2", 3), ("edges:3", 4),
                          ("none", 10)):
        paths = record(script, "--precise", "--compact", rule)[1]
        same(sum(paths.values()), 10, (rule, paths))
        same(max(path.count(";") + 1 for path in paths), longest, (rule, paths))


@case
def the_command_line_is_understood_or_refused():
    for arguments in (["--nonsense", "x.lua"], [], ["--hz", "0", "x.lua"], ["--hz", "x", "x.lua"], ["-o"],
                      ["--compact", "x", "x.lua"], ["--max-nodes", "1", "x.lua"], ["--instructions=0", "x.lua"]):
        done = run(HOST, *arguments, status=2)
        assert done.err.startswith(f"ouro {NAME}: "), done
        same(done.out, "")
    has(run(HOST, "--help").out, "--precise")
    has(run(HOST, "--version").out, "Lua " + LUA[3:])
    assert run(OURO, NAME, "--help").out == run(HOST, "--help").out or "asan" in HOST
    write("t.lua", "local function f() end for i = 1, 3e7 do if i % 10000 == 0 then f() end end print(arg[0], ...)")
    done = run(HOST, "--hz=500", "t.lua", "--precise", "x")
    same(done.out, "t.lua\t--precise\tx\n")
    has(done.err, "main chunk", "t.pb.gz")
    with open("t.pb.gz", "rb") as f:
        same(f.read(2), b"\x1f\x8b")
    done = run(HOST, "--quiet", "-o", "in.pb", "--", "-", "y", stdin="print(...)")
    same(done.out, "y\n")
    same(done.err, "")
    write("t.lua", "print(1)")
    done = run(HOST, "-o", "/nowhere/x.pb", "t.lua", status=1)
    has(done.err, "cannot write /nowhere/x.pb")


@case
def options_of_lua_are_done_as_lua_does_them():
    for arguments in (["-e", "print(1, ...)"], ["-eprint(2)", "-lstring", "-e", "print(string.rep('x', 3))"],
                      ["-l", "s=string", "-e", "print(s.rep('y', 3))"], ["-W", "-e", "warn('loud')"],
                      ["-e", "warn('silent')"], ["-e", "x = 1", script("print(x, arg[0], ...)"), "a"],
                      ["-e", "error('no')"], ["-l", "no.such.module"], ["-e", "x x"], ["-v"],
                      ["-E", "-e", "print(package.cpath)"]):
        plain = run(LUA, *arguments, status=None)
        ours = run(HOST, "--quiet", "-o", "out.pb", *arguments, status=plain.status)
        same(ours.out, plain.out, arguments)
        same(ours.err.split("\n")[0], plain.err.replace(LUA + ": ", NAME + ": ").split("\n")[0], arguments)
    assert run(HOST, "-e", status=2).err.startswith(f"ouro {NAME}: this option needs an argument: -e")
    has(run(OURO, LUA, "-q", "-e", "print(_VERSION)").out, "Lua " + LUA[3:]) if "asan" not in HOST else None


@case
def lua_init_is_obeyed_as_lua_does():
    more = dict(ENVIRONMENT, LUA_INIT="print('not this')")
    more["LUA_INIT_" + LUA[3:].replace(".", "_")] = "print('init')"
    done = suite.run(HOST, "--quiet", "-o", "out.pb", "-e", "print(1)", status=0, timeout=60, env=more)
    same(done.out, "init\n1\n")


@case
def what_is_typed_is_run_and_recorded():
    typed = "local x = 5\ny = 6\ny + 1\nfor i = 1, 2 do\nprint(i)\nend\nx x\nerror('no')\nprint('end')\n"
    done = run(HOST, "--precise", "--quiet", "-o", "typed.pb", "-i", stdin=typed)
    same(re.sub(r"^.*\n", "", done.out, count=1), "> > > 7\n> >> >> 1\n2\n> > > end\n> \n")
    has(done.err, f"{NAME}: stdin:1: syntax error near 'x'", f"{NAME}: stdin:1: no")
    same(folded("typed.pb")["print"], 4)


@case
def processor_time_does_not_pass_while_a_script_waits():
    waits = "local f = io.popen('sleep 0.5') f:read('a') f:close() local x = 0 for i = 1, 2e7 do x = x + i end"
    wall = record(waits, metric="time")[1]
    assert sum(wall.values()) > 400e6, wall
    cpu = record(waits, "--cpu", metric="cpu")[1]
    assert not any("read" in path and n > 100e6 for path, n in cpu.items()), cpu
    module("""
        local ouro = require "ouro"
        ouro.start{clock = "cpu"}
        local x = 0 for i = 1, 2e7 do x = x + i end
        ouro.stop()
        ouro.write("m.pb")
    """)
    has(run(OURO, "report", "--metric", "time", "m.pb", status=2).err, "no metric is called time", "cpu")


@case
def every_option_is_in_the_manual_and_in_the_completions():
    texts = [read(os.path.join(ROOT, "docs", path)).replace("\\-", "-")
             for path in ("man/ouro-lua.1", "completions/ouro.bash", "completions/_ouro")]
    options = set(re.findall(r"--[a-z-]+", run(HOST, "--help").out))
    assert len(options) > 10
    for option in options:
        assert all(option in text for text in texts), option


@case
def an_interrupt_writes_the_profile():
    write("t.lua", "print('ready') io.flush() local function spin() while true do end end spin()")
    for options in ([], ["--precise"]):
        child = subprocess.Popen([HOST, *options, "--quiet", "-o", "int.pb", "t.lua"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        child.stdout.readline()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        same(child.returncode, 1, errors)
        has(errors, "interrupted!")
        assert folded("int.pb", "time").get("spin", 0) > 100e6, folded("int.pb", "time")


# A C function that takes longer than anybody waits.
LONG = """
    local s = ("a"):rep(3000)
    local function match() return s:find(("a*"):rep(6) .. "b") end
    print("ready") io.flush()
    match()
"""


def ended_by(numbers, *options):
    """Sends signals, one after the other, to a script inside a long C function. Where its time went."""
    child = subprocess.Popen([HOST, *options, "--quiet", "-o", "long.pb", script(LONG)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        child.stdout.readline()
        has_run(child, 0.4)
        send(child, numbers)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    same((child.returncode, errors), (-numbers[0], ""))
    return folded("long.pb", "time")


@case
def a_second_interrupt_inside_a_long_c_function_keeps_the_profile():
    for options in ([], ["--precise"]):
        got = ended_by([signal.SIGINT, signal.SIGINT], *options)
        assert got.get("match;string.find", 0) > 100e6, (options, got)


@case
def the_end_of_a_script_inside_a_long_c_function_keeps_the_profile():
    assert ended_by([signal.SIGTERM]).get("match;string.find", 0) > 100e6


@case
def a_signal_that_ends_the_script_writes_the_profile():
    scripts = {"spin": "local function spin() while true do pcall(function() while true do end end) end end spin()",
               "in a coroutine": "coroutine.wrap(function() while true do end end)()",
               "waits": "io.read() while true do end"}
    for name, script in scripts.items():
        write("t.lua", "local t = os.clock() while os.clock() < t + 0.1 do end print('ready') io.flush() " + script)
        for options in ([], ["--precise"]):
            for number in (signal.SIGTERM, signal.SIGHUP):
                child = subprocess.Popen([HOST, *options, "--quiet", "-o", "term.pb", "t.lua"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
                child.stdout.readline()
                time.sleep(0.3)
                child.send_signal(number)
                child.wait(timeout=60)
                _, errors = child.communicate(timeout=60)
                same((child.returncode, errors), (-number, ""), name)
                assert sum(folded("term.pb", "time").values()) > 50e6, (name, folded("term.pb", "time"))
                os.remove("term.pb")


def ended_abruptly(number, options):
    """The next command has the profile, from the output or from the live file beside it."""
    spin = "local function spin() for i = 1, 1e5 do end end "
    write("t.lua", spin + "local e = os.clock() + 0.05 repeat spin() until os.clock() > e print('ready') io.flush() "
          "while true do spin() end")
    command = [HOST, *options, "--quiet", "-o", "end.pb.gz", "t.lua"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as child:
        child.stdout.readline()
        child.send_signal(number)
        _, errors = child.communicate(timeout=60)
    if "asan" not in HOST:  # which reports crashes
        same((child.returncode, errors), (-number, ""))
    assert folded("end.pb.gz", "time").get("spin", 0) > 10e6, folded("end.pb.gz", "time")
    run(OURO, "convert", "end.pb.gz", "end.pb.gz")
    same(run(OURO, "report", "end.pb.gz").err, "")


for name in "KILL", "QUIT", "USR1", "ALRM", "XCPU", "SEGV", "TRAP", "RTMIN":
    for options in ([], ["--precise"]):
        case(ended_abruptly, f"sig{name.lower()}_leaves_a_profile_{(options or ['--sampling'])[0][2:]}",
             getattr(signal, f"SIG{name}"), options)


@case
def the_newer_one_of_the_output_and_the_live_file_is_read():
    write("t.lua", "local function f() end for i = 1, tonumber(arg[1]) do f() end "
          "if arg[2] then print('ready') io.flush() while true do end end")
    for words, calls in ((["1"], 1), (["2", "kill"], 2), (["3"], 3)):
        with subprocess.Popen([HOST, "--precise", "--quiet", "-o", "x.pb", "t.lua", *words], stdout=subprocess.PIPE,
                              env=ENVIRONMENT) as child:
            if len(words) > 1:
                child.stdout.readline()
                same(run(OURO, "report", "x.pb").err, "ouro: x.pb: its program still runs: reading x.pb.live\n")
                child.kill()
        same(folded("x.pb")["f"], calls)
        told = "ouro: x.pb: its program ended without writing it: reading x.pb.live\n"
        same(run(OURO, "report", "x.pb").err, told if len(words) > 1 else "")
        same(os.path.exists("x.pb.live"), len(words) > 1)


@case
def an_output_that_cannot_be_written_is_refused_before_the_script_begins():
    write("t.lua", "print('begun')")
    os.mkdir("folder")
    for name, reason in (("nowhere/x.pb", "No such file or directory"), ("folder", "Is a directory"),
                         ("t.lua/x.pb", "Not a directory")):
        same(run(HOST, "-o", name, "t.lua", status=1),
             (1, "", f"ouro {NAME}: cannot write {name}: {reason}; name another file with -o\n"))
    same(sorted(os.listdir(".")), ["folder", "t.lua"])


@case
def a_recording_without_a_live_file_is_told():
    write("t.lua", "local n = 0")
    os.makedirs("x.pb.live/full")
    told = run(HOST, "--quiet", "--precise", "-o", "x.pb", "t.lua", status=0).err
    same(told, f"ouro: cannot make the live file {os.path.abspath('x.pb.live')}: Is a directory; the recording is in "
         "memory until the end, and kill -9 or a crash would lose it. --live FILE keeps it elsewhere.\n")
    assert os.path.exists("x.pb")
    same(run(HOST, "--quiet", "--precise", "--live", "l", "-o", "x.pb", "t.lua", status=0).err, "")


@case
def a_change_of_the_working_folder_does_not_move_the_output():
    """By LUA_INIT and by the script: a program in C that gives Lua a chdir."""
    os.mkdir("other")
    write("chdir.c", """
        #include <lua.h>
        #include <unistd.h>
        static int change(lua_State *L) { return lua_pushinteger(L, chdir(lua_tostring(L, 1))), 1; }
        int luaopen_chdir(lua_State *L) { return lua_pushcfunction(L, change), 1; }
    """)
    flags = suite.run("pkg-config", "--cflags", LUA, status=0).out.split()
    run("cc", "-shared", "-fPIC", *flags, "chdir.c", "-o", "chdir.so")
    write("t.lua", "assert(require 'chdir' '..' == 0)")
    more = dict(ENVIRONMENT, LUA_CPATH=os.path.abspath("?.so"))
    for options, files in ((["-o", "x.pb"], ["x.pb"]), ([], ["t.pb.gz"]),
                           (["-o", "y.pb", "--live", "l"], ["l", "y.pb"])):
        before = set(os.listdir("."))
        said = suite.run(HOST, "--precise", *options, "t.lua", status=0, timeout=60, env=more).err
        same(sorted(set(os.listdir(".")) - before), files)
        has(said, f"the profile is in {os.path.abspath(files[-1])}\n")


@case
def c_code_that_sets_all_signals_to_default_ends_nothing():
    write("reset.c", """
        #include <lua.h>
        #include <signal.h>
        static int reset(lua_State *L) {
            for (int i = 1; i <= SIGRTMAX; i++) signal(i, SIG_DFL);
            return (void)L, 0;
        }
        int luaopen_reset(lua_State *L) { return lua_pushcfunction(L, reset), 1; }
    """)
    flags = suite.run("pkg-config", "--cflags", LUA, status=0).out.split()
    run("cc", "-shared", "-fPIC", *flags, "reset.c", "-o", "reset.so")
    write("t.lua", """
        local function work() local stop = os.clock() + 0.05; while os.clock() < stop do end end
        work() require "reset" () work()
    """)
    more = dict(ENVIRONMENT, LUA_CPATH=os.path.abspath("?.so"))
    for mode in [], ["--precise"]:
        suite.run(HOST, "--quiet", *mode, "-o", "x.pb", "t.lua", status=0, timeout=60, env=more)


@case
def a_live_file_survives_a_kill():
    write("t.lua", "local function spin() while true do end end print('ready') io.flush() spin()")
    child = subprocess.Popen([HOST, "--precise", "--live", "live.ouro", "--max-nodes", "1000", "t.lua"],
                             stdout=subprocess.PIPE, env=ENVIRONMENT)
    child.stdout.readline()
    time.sleep(0.2)
    child.kill()
    child.communicate(timeout=60)
    same(folded("live.ouro")["spin"], 1)


@case
def a_limit_on_the_size_of_files_is_a_cap():
    """`ulimit -f`, on the live file and on the profile."""
    write("t.lua", """
        collectgarbage("stop") -- each Lua has cycles of its own
        local s, f = 1, {}
        local function random(n) s = (s * 1103515245 + 12345) % 2147483648 return s // 65536 % n + 1 end
        for i = 1, 9 do f[i] = load(("\\n"):rep(i) .. "local f, random = ... return function(d) " ..
            "if d > 0 then f[random(9)](d - 1) end return d end")(f, random) end
        for i = 1, 2000 do f[random(9)](8) end
        os.exit(3)""")
    for size, full in (96 << 10, True), (100 << 20, False):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        run(HOST, "--precise", "--quiet", "--live", "live.ouro", "-o", "out.pb", "t.lua", status=3,
            preexec_fn=limit)
        calls = folded("live.ouro")
        same(sum(calls.values()), 36029, size)
        same(any("[pruned]" in path for path in calls), full)


# ---------------------------------------------------------------- the module

@case
def the_module_says_what_is_wrong():
    module("""
        local ouro = require "ouro"
        local function fails(text, f, ...)
            local ok, message = pcall(f, ...)
            assert(not ok and message:find(text, 1, true), message)
        end
        fails("nothing was recorded", ouro.write, "x.pb")
        fails("nothing was recorded", ouro.report)
        assert(ouro.stop() == false)
        fails("there is no option", ouro.start, {modes = 1})
        fails("mode must be", ouro.start, {mode = "x"})
        fails("clock must be", ouro.start, {clock = "x"})
        fails("hz must be", ouro.start, {hz = 0})
        fails("max_nodes must be", ouro.start, {max_nodes = "x"})
        fails("no metric", ouro.start, {mode = "precise", metrics = {"x"}})
        fails("list of names", ouro.start, {metrics = 1})
        fails("precise", ouro.start, {metrics = "memory"})
        fails("table expected", ouro.start, 1)
        fails("cannot make a profile", ouro.start, {live = "/nowhere/x.ouro"})
        ouro.start()
        fails("already", ouro.start)
        assert(ouro.stop() == true and ouro.stop() == false)
        local ok, message = ouro.write("/nowhere/x.pb.gz")
        assert(ok == nil and message:find("/nowhere"), message)
        assert(ouro.report():find("sampling counts no calls"))
        local m = ouro.block "nothing runs"
        m() m()
    """)


@case
def a_report_sends_a_terminal_nothing_that_it_would_obey():
    done = module("""
        local ouro = require "ouro"
        local evil = "\\27[31m\\xc2\\x9b2J\\xe2\\x80\\xae\\xff\\n\\t"
        local f = load("local function g() end for i = 1, 10 do g() end", "=" .. evil)
        ouro.start {mode = "precise"}
        f()
        ouro.block(evil)
        ouro.stop()
        io.write(ouro.report())
    """)
    same(done.err, "")
    has(done.out, "\ufffd[31m\ufffd2J")
    quiet(done.out, "ouro.report")


@case
def a_report_of_samples_has_a_dash_for_calls():
    done = module("""
        local ouro = require "ouro"
        ouro.start()
        local x = 0 for i = 1, 3e7 do x = x + i end
        ouro.stop()
        io.write(ouro.report())
    """)
    row = [line.split() for line in done.out.splitlines() if "main chunk" in line][0]
    same(row[2], "-", done.out)


@case
def c_functions_have_their_standard_names_then_the_shortest():
    _, got = precise("""
        package.loaded["a.list"] = {push = table.insert, ["then"] = print}
        require "ouro"
        table.insert({}, 1)
        local length, other = string.len, string.upper
        string.len, string.upper = nil, nil
        package.loaded["long.name.of.it"] = {f = length}
        package.loaded["short"] = {f = length, e = other}
        package.loaded["shore"] = {f = other}
        length("x") other("x")
        pcall(require, "no.such.module")
    """)
    same({path: n for path, n in got.items() if "require" not in path and path != "pcall"},
         {"table.insert": 1, "short.f": 1, "shore.f": 1})
    same((got["require;package.searchers[1]"], got["require;luaopen_ouro"]), (1, 1), got)
    same([got.get(f"pcall;require;package.searchers[{i}]") for i in range(1, 5)], [1] * 4, got)


@case
def profile_returns_what_the_function_does():
    module("""
        local ouro = require "ouro"
        local function f(a, b) return b, a, nil end
        local x, y, z = ouro.profile(f, 1, 2)
        assert(x == 2 and y == 1 and z == nil)
        assert(ouro.stop() == false)
        local ok, e = pcall(ouro.profile, error, "text", 0)
        assert(not ok and e == "text" and ouro.stop() == false)
        local co = coroutine.wrap(function() return ouro.profile(function() return coroutine.yield(1) end) end)
        assert(co() == 1 and co(5) == 5 and ouro.stop() == false)
        ouro.start{mode = "precise"}
        assert(ouro.profile(f, 1, 2) == 2)
        assert(ouro.stop() == true)
    """)


@case
def starting_and_stopping_again_and_again():
    module("""
        local ouro = require "ouro"
        local resume, sethook = coroutine.resume, debug.sethook
        local function f(n) if n > 0 then return f(n - 1) end coroutine.wrap(function() coroutine.yield() end)() end
        for i = 1, 50 do
            ouro.start{mode = i % 2 == 0 and "precise" or "sampling", max_nodes = 1000}
            f(5)
            local wrapped = coroutine.wrap(function() for j = 1, 3 do coroutine.yield(j) end end)
            wrapped()
            ouro.stop()
            assert(wrapped() == 2)
            assert(coroutine.resume == resume and debug.sethook == sethook and debug.gethook() == nil)
        end
    """)


@case
def the_garbage_collector_is_counted_once_per_cycle():
    module("""
        local ouro = require "ouro"
        collectgarbage("incremental")
        for round = 1, 3 do
            ouro.start{mode = "precise"}
            collectgarbage() collectgarbage() collectgarbage("count")
            ouro.stop()
        end
        ouro.write("gc.pb")
    """)
    same(folded("gc.pb")["collectgarbage;(gc)"], 2)


@case
def a_small_cap_holds():
    done, got = precise("""
        local t = {}
        for i = 1, 200 do t[i] = load("local next = ... if next then return (next()) end", "=c" .. i) end
        for i = 1, 200 do t[i](t[i % 200 + 1]) end
    """, "--max-nodes", "50")
    assert sum(got.values()) >= 599, sum(got.values())


@case
def ten_million_transitions_make_a_small_profile():
    done = run(HOST, "--precise", "-o", "machine.pb", os.path.join(PROGRAMS, "machine.lua"))
    got = folded("machine.pb")
    assert len(got) < 60, len(got)
    total = {}
    for path, calls in got.items():
        name = path.split(";")[-1]
        total[name] = total.get(name, 0) + calls
    counts = dict(line.split() for line in done.out.splitlines())
    for state in ("red", "green", "amber"):
        # The one that saw that nothing was left made no transition.
        same(total[state], int(counts[state]) + (state == counts["last"]), (state, total, counts))
    same(sum(int(counts[s]) for s in ("red", "green", "amber")), 10_000_000)


# ---------------------------------------------------------------- real programs

# program: calls of functions that can be known by hand; `calls NAME N` in the output are checked, too.
KNOWN = {
    "formulas.lua": {"compute": 14, "nested": 4 + sum(range(1, 13))},
    "nbody.lua": {"advance": 20000, "energy": 2},
    "queens.lua": {"place": 2057},
    "hanoi.lua": {"move": 2**16 - 1, "transfer": 2**15 - 1},
}


def counts_what_it_knows(name):
    path = os.path.join(PROGRAMS, name)
    plain = run(LUA, path, cwd=PROGRAMS)
    for options in (["--precise"], [], ["--memory"]):
        output = os.path.join(os.getcwd(), "program.pb")
        ours = run(HOST, *options, "--quiet", "-o", output, path, cwd=PROGRAMS)
        same(ours.out, plain.out, ours.err)
        same(ours.err, "")
        if options:
            total = {}
            for p, calls in folded(output).items():
                last = p.split(";")[-1]
                total[last] = total.get(last, 0) + calls
            want = dict(KNOWN.get(name, {}))
            for line in plain.out.splitlines():
                m = re.match(r"calls (\S+) (\d+)$", line)
                if m:
                    want[m.group(1)] = int(m.group(2))
            assert want, "a program must know something to be compared"
            for block, calls in want.items():
                same(total.get(block), calls, f"{block} of {total}")


for name in sorted(os.listdir(PROGRAMS)):
    if name.endswith(".lua") and name != "machine.lua":
        case(counts_what_it_knows, f"{name[:-4]}_counts_what_it_knows_of_its_calls", name)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs under ouro-lua and compares what was counted: run.py OURO OURO_LUA [LUA_MODULES] [PROGRAMS]"""
import os, re, subprocess, sys, tempfile, textwrap, traceback

from cases import CASES

OURO, HOST, MODULES, PROGRAMS = (os.path.abspath(a) for a in sys.argv[1:5])
ENVIRONMENT = dict(os.environ, OURO=OURO, LUA_CPATH=MODULES + "/?.so", ASAN_OPTIONS="detect_leaks=1")
TESTS = []


def test(function):
    TESTS.append((function.__name__, function))
    return function


def run(*command, status=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, stdin=more.pop("stdin", None if "input" in more else subprocess.DEVNULL),
                          env=more.pop("env", ENVIRONMENT), **more)
    assert status is None or done.returncode == status, \
        f"{command}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}"
    return done


def folded(profile, metric="calls"):
    """Paths and their amounts, without the main chunk at the front."""
    lines = run(OURO, "convert", "--to", "folded", "--metric", metric, profile, "-").stdout.splitlines()
    result = {}
    for line in lines:
        path, amount = line.rsplit(" ", 1)
        path = re.sub(r"^main chunk;?", "", path)
        if path:
            result[path] = result.get(path, 0) + int(amount)
    return result


def record(script, *options, status=0, metric="calls", arguments=(), **more):
    with open("script.lua", "w") as f:
        f.write(textwrap.dedent(script))
    done = run(HOST, *options, "--quiet", "-o", "script.pb", "script.lua", *arguments, status=status, **more)
    return done, folded("script.pb", metric) if os.path.exists("script.pb") else None


def precise(script, *options, **more):
    return record(script, "--precise", "--compact", "none", *options, **more)


def compare(got, want):
    others = "..." in want
    for path, calls in want.items():
        if path != "..." and (calls is not None or path not in got):
            assert got.get(path) == calls, f"{path}: {got.get(path)}, not {calls}\nall: {got}"
    extra = [path for path in got if path not in want and not path.endswith("(gc)")]
    assert others or not extra, f"not expected: {[(p, got[p]) for p in extra]}"


def case(name, script, want):
    compare(precise(script)[1], want)


def module_case(name, script, want):
    """The same from inside an unmodified lua, with returns and instructions asked for as well."""
    body = textwrap.dedent(script)
    with open("script.lua", "w") as f:
        f.write('local o = require "ouro"\no.start{mode = "precise", metrics = {"memory", "instructions"}}\n')
        f.write('local closing <close> = setmetatable({}, {__close = function() o.stop() o.write("script.pb") end})\n')
        f.write(body)
    run("lua5.4", "script.lua")
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
            assert others.get(name) == calls, f"{name}: {others.get(name)}, not {calls}\nall: {got}"


for name, (script, want) in CASES.items():
    TESTS.append((name, lambda n=name, s=script, w=want: case(n, s, w)))
    if "os_exit" not in name:
        TESTS.append((name + "_in_the_module", lambda n=name, s=script, w=want: module_case(n, s, w)))


# ---------------------------------------------------------------- coroutines that were there before

@test
def coroutines_created_before_the_start():
    script = """
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
    """
    with open("script.lua", "w") as f:
        f.write(script)
    run("lua5.4", "script.lua")
    got = folded("script.pb")
    assert got == {"coroutine.resume": 1, "coroutine.resume;body;work": 1, "coroutine.resume;body;coroutine.yield": 1,
                   "wrapped": 1, "wrapped;body;work": 1, "wrapped;body;coroutine.yield": 1}, got


@test
def a_start_inside_a_coroutine():
    with open("script.lua", "w") as f:
        f.write("""
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
    run("lua5.4", "script.lua")
    got = folded("script.pb")
    assert got == {"one;coroutine.resume;body;work": 1, "one;coroutine.resume;body;coroutine.yield": 1, "one;work": 1,
                   "two": 1, "two;coroutine.resume": 1, "two;coroutine.resume;body;work": 1, "two;work": 1}, got


@test
def a_stack_overflow_is_an_error_like_others():
    _, got = record("""
        local function f() return 1 + f() end
        local function after() end
        pcall(f) after()
    """, "--precise")
    got.pop("pcall;f;(gc)", None)
    assert got.pop("pcall;f") > 10000 and got == {"pcall": 1, "after": 1}, got


# ---------------------------------------------------------------- metrics

@test
def instructions_are_exact_one_by_one():
    program = """
        local function f(n) local s = 0 for i = 1, n do s = s + i end return s end
        local function g() return f(10) end
        f(100) g() pcall(error)
    """
    _, got = precise(program, "--instructions=1", metric="instructions")
    with open("model.lua", "w") as f:
        f.write("""local total, names = {}, {}
        debug.sethook(function()
            local i = debug.getinfo(2, "S")
            local k = i.linedefined
            total[k] = (total[k] or 0) + 1
        end, "", 1)
        """ + "dofile('script.lua') debug.sethook() for k, n in pairs(total) do print(k, n) end")
    lines = dict(map(int, line.split()) for line in run("lua5.4", "model.lua").stdout.splitlines())
    f = sum(n for path, n in got.items() if path.split(";")[-1] == "f")
    g = sum(n for path, n in got.items() if path.split(";")[-1] == "g")
    assert f == lines[2] and g == lines[3], (got, lines)


@test
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


@test
def what_is_freed_goes_to_gc():
    _, got = precise("""
        local function drop() local s = ("x"):rep(500000) s = nil end
        for i = 1, 20 do drop() end
        collectgarbage()
    """, "--memory", metric="freed")
    assert sum(n for path, n in got.items() if path.endswith("(gc)")) >= 19 * 500000, got
    assert all(path.endswith("(gc)") for path in got), got


# ---------------------------------------------------------------- sampling

@test
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
    direct, short, first, second = (float(line) * 1e9 for line in done.stdout.splitlines())

    def agrees(path, elapsed):
        sampled = sum(n for p, n in got.items() if re.match(path + "(;|$)", p))
        return abs(sampled - elapsed) < 0.1 * elapsed + 60e6

    assert agrees("long", direct) and agrees("short", short), (got, done.stdout)
    assert agrees("part;\\(anonymous\\);long", first + second), (got, done.stdout)


@test
def sampling_sees_long_c_functions():
    _, got = record("""
        local s = ("a"):rep(150)
        local function match() return s:find(("a*"):rep(3) .. "b") end
        match()
    """, metric="time")
    assert max(got, key=got.get) == "match;string.find", got


@test
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
    assert got.get("pcall;f;hot;spin", 0) > 20e6 and got.get("spin", 0) > 20e6, got


@test
def sampling_a_deep_stack_stays_cheap():
    _, got = record("""
        local function deep(n) if n == 0 then local x = 0 for i = 1, 5e7 do x = x + i end return x end
            return (deep(n - 1)) end
        deep(15000)
    """, metric="time")
    assert max(got, key=got.get).startswith("deep"), got


# ---------------------------------------------------------------- errors and the command line

def like_lua(script, *arguments, status=1):
    with open("script.lua", "w") as f:
        f.write(textwrap.dedent(script))
    plain = run("lua5.4", "script.lua", *arguments, status=status)
    for options in ([], ["--precise"], ["--memory", "--instructions"]):
        if os.path.exists("out.pb"):
            os.remove("out.pb")
        ours = run(HOST, *options, "--quiet", "-o", "out.pb", "script.lua", *arguments, status=status)
        assert ours.stdout == plain.stdout, ours.stdout
        assert ours.stderr == plain.stderr.replace("lua5.4: ", "lua: "), ours.stderr + plain.stderr
        yield os.path.exists("out.pb")


@test
def an_error_has_its_traceback_and_a_profile():
    assert all(like_lua("""
        local function f() local x = nil; return x.y end
        print("before", ...)
        pcall(error, "caught")
        local function g() f() end
        g()
    """, "one", "two"))


@test
def error_objects_and_coroutine_errors():
    assert all(like_lua("error(setmetatable({}, {__tostring = function() return 'object' end}))"))
    assert all(like_lua("error({})"))
    assert all(like_lua("local w = coroutine.wrap(function() error('inside') end) w()"))
    assert all(like_lua("local co = coroutine.create(function() error('x') end) print(coroutine.resume(co)) error('y')"))


@test
def exit_statuses_are_the_scripts():
    assert all(like_lua("os.exit(7)", status=7))
    assert all(like_lua("print(arg[0], arg[1], #arg, ...) os.exit(false, true)", "a", status=1))
    assert all(like_lua("coroutine.wrap(function() os.exit(3) end)()", status=3))
    assert all(like_lua("io.write('no newline')", status=0))


@test
def a_syntax_error_or_no_script_writes_nothing():
    assert not any(like_lua("local = 1"))
    done = run(HOST, "-o", "none.pb", "missing.lua", status=1)
    assert done.stderr.startswith("lua: cannot open missing.lua"), done.stderr
    assert not os.path.exists("none.pb")


@test
def every_compaction_rule_can_be_asked_for():
    script = """
        local a, b
        function a(n) if n > 0 then b(n - 1) end return n end
        function b(n) if n > 0 then a(n - 1) end return n end
        a(9)
    """
    for rule, longest in ("loops", 4), ("cycles", 3), ("edges", 3), ("edges:1", 2), ("edges:2", 3), ("edges:3", 4), ("none", 10):
        paths = record(script, "--precise", "--compact", rule)[1]
        assert sum(paths.values()) == 10, (rule, paths)
        assert max(path.count(";") + 1 for path in paths) == longest, (rule, paths)


@test
def the_command_line():
    for arguments in (["--nonsense", "x.lua"], [], ["--hz", "0", "x.lua"], ["--hz", "x", "x.lua"], ["-o"],
                      ["--compact", "x", "x.lua"], ["--max-nodes", "1", "x.lua"], ["--instructions=0", "x.lua"]):
        done = run(HOST, *arguments, status=2)
        assert done.stderr.startswith("ouro lua: ") and not done.stdout, done
    assert "--precise" in run(HOST, "--help").stdout
    assert "Lua 5.4" in run(HOST, "--version").stdout
    assert run(OURO, "lua", "--help").stdout == run(HOST, "--help").stdout or "asan" in HOST
    with open("t.lua", "w") as f:
        f.write("local function f() end for i = 1, 3e7 do if i % 10000 == 0 then f() end end print(arg[0], ...)")
    done = run(HOST, "--hz=500", "t.lua", "--precise", "x")
    assert done.stdout == "t.lua\t--precise\tx\n", done.stdout
    assert "main chunk" in done.stderr and "t.pb.gz" in done.stderr, done.stderr
    with open("t.pb.gz", "rb") as f:
        assert f.read(2) == b"\x1f\x8b"
    done = run(HOST, "--quiet", "-o", "in.pb", "--", "-", "y", input="print(...)")
    assert done.stdout == "y\n" and not done.stderr, done
    with open("t.lua", "w") as f:
        f.write("print(1)")
    done = run(HOST, "-o", "/nowhere/x.pb", "t.lua", status=1)
    assert "cannot write /nowhere/x.pb" in done.stderr, done.stderr


@test
def every_option_is_in_the_manual_and_in_the_completions():
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs")
    texts = [open(os.path.join(docs, *path)).read().replace("\\-", "-") for path in
             (("man", "ouro-lua.1"), ("completions", "ouro.bash"), ("completions", "_ouro"))]
    options = set(re.findall(r"--[a-z-]+", run(HOST, "--help").stdout))
    assert len(options) > 10
    for option in options:
        assert all(option in text for text in texts), option


@test
def luajit_has_its_own_profiler():
    program = os.path.join(os.path.dirname(OURO), "ouro-luajit")
    if not os.path.exists(program):
        return  # built without
    with open("t.lua", "w") as f:
        f.write("local function spin(n) local x = 0 for i = 1, n do x = x + i % 3 end return x end\n"
                "local function outer() return (spin(1e8)) end outer() print(arg[0], ...) os.exit(3)")
    done = run(OURO, "lua", "--luajit", "--quiet", "t.lua", "x", status=3)
    assert done.stdout == "t.lua\tx\n" and not done.stderr, done
    assert max((got := folded("t.pb.gz", "time")), key=got.get) == "outer;spin", got
    assert "cannot do" in run(program, "--precise", "t.lua", status=2).stderr
    with open("t.lua", "w") as f:
        f.write("error('x')")
    assert "luajit: t.lua:1: x" in run(program, "t.lua", status=1).stderr
    run(program, "missing.lua", status=1)


@test
def an_interrupt_writes_the_profile():
    import signal, time
    with open("t.lua", "w") as f:
        f.write("print('ready') io.flush() local function spin() while true do end end spin()")
    for options in ([], ["--precise"]):
        child = subprocess.Popen([HOST, *options, "--quiet", "-o", "int.pb", "t.lua"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        child.stdout.readline()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 1 and "interrupted!" in errors, errors
        assert folded("int.pb", "time").get("spin", 0) > 100e6, folded("int.pb", "time")


@test
def a_signal_that_ends_the_script_writes_the_profile():
    import signal, time
    scripts = {"spin": "local function spin() while true do pcall(function() while true do end end) end end spin()",
               "in a coroutine": "coroutine.wrap(function() while true do end end)()",
               "waits": "io.read() while true do end"}
    for name, script in scripts.items():
        with open("t.lua", "w") as f:
            f.write("local t = os.clock() while os.clock() < t + 0.1 do end print('ready') io.flush() " + script)
        for options in ([], ["--precise"]):
            for number in (signal.SIGTERM, signal.SIGHUP):
                child = subprocess.Popen([HOST, *options, "--quiet", "-o", "term.pb", "t.lua"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
                child.stdout.readline()
                time.sleep(0.3)
                child.send_signal(number)
                child.wait(timeout=60)
                _, errors = child.communicate(timeout=60)
                assert child.returncode == -number and errors == "", (name, child.returncode, errors)
                assert sum(folded("term.pb", "time").values()) > 50e6, (name, folded("term.pb", "time"))
                os.remove("term.pb")


@test
def a_live_file_survives_a_kill():
    import signal, time
    with open("t.lua", "w") as f:
        f.write("local function spin() while true do end end print('ready') io.flush() spin()")
    child = subprocess.Popen([HOST, "--precise", "--live", "live.ouro", "--max-nodes", "1000", "t.lua"],
                             stdout=subprocess.PIPE, env=ENVIRONMENT)
    child.stdout.readline()
    time.sleep(0.2)
    child.kill()
    child.communicate(timeout=60)
    assert folded("live.ouro")["spin"] == 1


# ---------------------------------------------------------------- the module

def module(script, status=0):
    with open("script.lua", "w") as f:
        f.write(textwrap.dedent(script))
    return run("lua5.4", "script.lua", status=status)


@test
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
        assert(ouro.report():find("calls"))
        local m = ouro.block "nothing runs"
        m() m()
    """)


@test
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


@test
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


@test
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
    assert folded("gc.pb")["collectgarbage;(gc)"] == 2, folded("gc.pb")


@test
def a_small_cap_holds():
    done, got = precise("""
        local t = {}
        for i = 1, 200 do t[i] = load("local next = ... if next then return (next()) end", "=c" .. i) end
        for i = 1, 200 do t[i](t[i % 200 + 1]) end
    """, "--max-nodes", "50")
    assert sum(got.values()) == 600 or sum(got.values()) >= 599, sum(got.values())


@test
def ten_million_transitions_make_a_small_profile():
    done = run(HOST, "--precise", "-o", "machine.pb", os.path.join(PROGRAMS, "machine.lua"))
    got = folded("machine.pb")
    assert len(got) < 60, len(got)
    total = {}
    for path, calls in got.items():
        name = path.split(";")[-1]
        total[name] = total.get(name, 0) + calls
    counts = dict(line.split() for line in done.stdout.splitlines())
    for state in ("red", "green", "amber"):
        # The one that saw that nothing was left made no transition.
        assert total[state] == int(counts[state]) + (state == counts["last"]), (state, total, counts)
    assert sum(int(counts[s]) for s in ("red", "green", "amber")) == 10_000_000


# ---------------------------------------------------------------- real programs

# program: calls of functions that can be known by hand; `calls NAME N` in the output are checked, too.
KNOWN = {
    "nbody.lua": {"advance": 20000, "energy": 2},
    "queens.lua": {"place": 2057},
    "hanoi.lua": {"move": 2**16 - 1, "transfer": 2**15 - 1},
}


def program(name):
    path = os.path.join(PROGRAMS, name)
    plain = run("lua5.4", path, cwd=PROGRAMS)
    for options in (["--precise"], [], ["--memory"]):
        output = os.path.join(os.getcwd(), "program.pb")
        ours = run(HOST, *options, "--quiet", "-o", output, path, cwd=PROGRAMS)
        assert ours.stdout == plain.stdout and not ours.stderr, ours.stderr
        if options:
            total = {}
            for p, calls in folded(output).items():
                last = p.split(";")[-1]
                total[last] = total.get(last, 0) + calls
            want = dict(KNOWN.get(name, {}))
            for line in plain.stdout.splitlines():
                m = re.match(r"calls (\S+) (\d+)$", line)
                if m:
                    want[m.group(1)] = int(m.group(2))
            assert want, "a program must know something to be compared"
            for block, calls in want.items():
                assert total.get(block) == calls, f"{block}: {total.get(block)}, not {calls}\n{total}"


for name in sorted(os.listdir(PROGRAMS)):
    if name.endswith(".lua") and name != "machine.lua":
        TESTS.append(("program_" + name[:-4], lambda n=name: program(n)))


def main():
    failed = 0
    wanted = sys.argv[5] if len(sys.argv) > 5 else ""
    for name, function in TESTS:
        if wanted not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                function()
                print("ok", name, flush=True)
            except Exception:
                failed += 1
                traceback.print_exc()
                print("not ok", name, flush=True)
            os.chdir("/")
    return failed > 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices of Lua programs: slices.py OURO BUILD CHECKED [WORD...]

--slice, in every version of Lua, and ouro.slice in programs that load the module. CHECKED has the sanitizers.
"""
import json, os, shutil, sys, textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import suite
from suite import arguments, case, has, main, same, write

OURO, BUILD, CHECKED = arguments("OURO", "BUILD", "CHECKED")
EXAMPLES = os.path.join(HERE, "..", "examples")
HOSTS = [host for host in (f"{BUILD}/ouro-lua", CHECKED, f"{BUILD}/ouro-lua5.1", f"{BUILD}/ouro-lua5.3",
                         f"{BUILD}/ouro-lua5.5")
         if os.path.exists(host)]


def run(*command, status=0, folder="5.4"):
    environment = dict(os.environ, OURO=OURO, LUA_CPATH=f"{BUILD}/hosts/lua/{folder}/?.so", LUA_INIT="")
    return suite.run(*command, status=status, timeout=120, env=environment)


def report(*options):
    return json.loads(run(OURO, "report", "--slices", "--json", *options, "x.pb").out)


def record(host, text, *options, status=0):
    script = write("script.lua", textwrap.dedent(text))
    return run(host, "--quiet", "-o", "x.pb", "--compact", "none", *options, script, status=status)


def slices(host, text, *options, **more):
    record(host, text, *options, **more)
    return report()["slices"]


def calls_of(number):
    rows = run(OURO, "report", "--metric", "calls", "--label", f"slice={number}", "--json", "x.pb").out
    return {row["name"]: row["calls"] for row in json.loads(rows)["rows"] if row["calls"]}


@case
def every_call_of_a_function_is_a_slice():
    for host in HOSTS:
        for more in ([], ["--memory"], ["--instructions=7"]):
            same(slices(host, """
                local function work(n) if n > 0 then work(n - 1) end end
                local function frame(n) work(n) end
                for i = 1, 7 do frame(i) work(1) end
            """, "--slice", "frame", *more), 7)
            for number in (1, 4, 7):
                same(calls_of(number), {"frame": 1, "work": number + 1})


@case
def a_function_is_found_by_its_name_or_the_last_part_of_it():
    for host in HOSTS:
        text = "Game = {} function Game.update() end for i = 1, 3 do Game.update() end"
        for name, count in (("update", 3), ("Game.update", 3), ("date", 0), ("Game", 0)):
            same(slices(host, text, "--slice", name), count)
        same(slices(host, "Game = {} function Game:update() end Game:update()", "--slice", "update"), 1)


@case
def recursive_calls_belong_to_the_outermost():
    for host in HOSTS:
        same(slices(host, """
            local function deep(n) if n > 0 then deep(n - 1) end end
            deep(50) deep(3)
        """, "--slice", "deep"), 2)
        same(calls_of(1), {"deep": 51})


@case
def a_tail_call_of_itself_begins_the_next_slice():
    for host in HOSTS:
        want = 1 if host.endswith("5.1") else 21  # 5.1 tells tail calls as calls
        same(slices(host, """
            local function loop(n) if n > 0 then return loop(n - 1) end end
            loop(20)
        """, "--slice", "loop"), want)


@case
def what_is_tail_called_is_part_of_the_slice():
    for host in HOSTS:
        same(slices(host, """
            local function work() end
            local function rest() work() work() end
            local function frame() work() return rest() end
            local function via() return frame() end
            for i = 1, 3 do via() work() end
        """, "--slice", "frame"), 3)
        same(calls_of(2), {"frame": 1, "rest": 1, "work": 3})


@case
def an_error_ends_a_slice():
    for host in HOSTS:
        same(slices(host, """
            local function work() end
            local function frame(n) work() if n == 2 then error("x") end end
            for i = 1, 4 do pcall(frame, i) end
        """, "--slice", "frame"), 4)
        same(calls_of(4), {"frame": 1, "work": 1})


@case
def a_slice_goes_on_while_its_coroutine_waits():
    for host in HOSTS:
        same(slices(host, """
            local function work() end
            local function frame() work() coroutine.yield() work() end
            local co = coroutine.create(function() frame() frame() end)
            local function one() coroutine.resume(co) end
            local function two() coroutine.resume(co) work() end
            one() two() one()
        """, "--slice", "frame"), 2)
        got = calls_of(1)
        same((got["frame"], got["work"]), (1, 2))


@case
def a_coroutine_that_is_thrown_away_ends_its_slice():
    for host in HOSTS:
        same(slices(host, """
            local function frame() coroutine.yield() end
            for i = 1, 3 do coroutine.wrap(function() frame() end)() collectgarbage() collectgarbage() end
        """, "--slice", "frame"), 3)


@case
def a_slice_that_is_open_at_the_end_is_shown_as_open():
    for host in HOSTS:
        record(host, "local function frame(n) if n == 3 then os.exit(0) end end for i = 1, 3 do frame(i) end",
               "--slice", "frame")
        got = run(OURO, "report", "--slices", "x.pb").out
        has(got, "2 frames")
        has(got, "1 frame is still open")


@case
def a_name_that_nobody_has_is_said_with_those_that_are_near():
    for host in HOSTS:
        text = "local function frame() end frame()"
        has(record(host, text, "--slice", "ram").err,
            "no function ram was called, so there are no slices; there are frame")
        has(record(host, text, "--slice", "nobody").err, "no function nobody was called, so there are no slices\n")
        has(record(host, text, "--slice", "frame", "--slice-by", "calls", status=1).err,
            'there is no metric "calls" to slice by')
    if os.path.exists(f"{BUILD}/ouro-luajit"):
        has(run(f"{BUILD}/ouro-luajit", "--slice", "f", "script.lua", status=2).err, "leave out --slice")


PROGRAM = """
    local ouro = require "ouro"
    local function work() for i = 1, 1000 do end end
    ouro.slice() -- nothing is recorded yet
    ouro.start{%s}
    work()
    for i = 1, 10 do ouro.slice() work() end
    ouro.slice(false)
    work()
    ouro.stop()
    ouro.slice()
    ouro.write("x.pb")
"""


@case
def a_program_says_itself_where_a_slice_ends():
    for version, folder in (("lua5.5", "5.5"), ("lua5.4", "5.4"), ("lua5.3", "5.3"), ("lua5.1", "5.1"),
                            ("luajit", "5.1")):
        if not shutil.which(version) or not os.path.exists(f"{BUILD}/hosts/lua/{folder}/ouro.so"):
            continue
        modes = ["", 'slice_by = "duration"'] + ([] if version == "luajit" else ['mode = "precise"'])
        for mode in modes:
            run(version, write("script.lua", textwrap.dedent(PROGRAM % mode)), folder=folder)
            same(report()["slices"], 10, f"{version} {mode}")
        if version != "luajit":
            same(calls_of(3)["work"], 1)
            program = textwrap.dedent(PROGRAM % 'mode = "precise", slice = "work"')
            run(version, write("script.lua", program), folder=folder)
            same(report()["slices"], 12)


@case
def the_module_says_what_is_wrong_with_its_options():
    if not shutil.which("lua5.4"):
        return
    for options, message in (('slice = "f"', 'slice needs mode = "precise"'), ("slice = {}", "slice must be a string"),
                             ('slice_by = "x"', 'there is no metric "x" to slice by')):
        script = write("script.lua", f'require "ouro".start{{{options}}}')
        has(run("lua5.4", script, status=1).err, message)


@case
def the_example_says_why_some_of_its_frames_are_slow():
    for host in HOSTS:
        run(host, "--instructions=10", "--slice", "frame", "--slice-by", "instructions", "--quiet", "-o", "x.pb",
            os.path.join(EXAMPLES, "game.lua"))
        got = report("--metric", "instructions")
        same((got["slices"], got["metric"]), (600, "instructions"))
        same(got["slowest"] > 3 * got["median"], True)
        sweep = [row for row in got["rows"] if row["name"] == "sweep"]
        same((len(sweep), sweep[0]["typical"]), (1, 0))


main()

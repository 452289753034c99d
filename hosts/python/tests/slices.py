#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices of Python programs, by --slice and by ouro.slice(): slices.py OURO PACKAGES [WORD...]"""
import json, os, sys, textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import suite
from suite import arguments, case, has, main, same, skip, write

OURO, PACKAGES = arguments("OURO", "PACKAGES")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3.11") else "python3"
BARE = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "OURO"))}
BARE["PYTHONDONTWRITEBYTECODE"] = "1"
EXAMPLES = os.path.join(HERE, "..", "examples")
PATIENCE = 120


def run(*words, status=0, **more):
    return suite.run(*words, status=status, timeout=PATIENCE, env={**BARE, **more})


def record(text, *options, status=0):
    script = write("script.py", textwrap.dedent(text))
    return run(OURO, "python", "--python", PYTHON, "-q", "--compact", "none", "-o", "x.pb", *options, script,
               status=status)


def report(*options):
    return json.loads(run(OURO, "report", "--slices", "--json", *options, "x.pb").out)


def slices(text, *options, **more):
    record(text, *options, **more)
    return report()["slices"]


def calls_of(number):
    rows = run(OURO, "report", "--metric", "calls", "--label", f"slice={number}", "--json", "x.pb").out
    return {row["name"]: row["calls"] for row in json.loads(rows)["rows"] if row["calls"]}


@case
def every_call_of_a_function_is_a_slice():
    for more in ([], ["--memory"]):
        same(slices("""
            def work(n):
                if n: work(n - 1)
            def frame(n): work(n)
            for i in range(1, 8): frame(i); work(1)
        """, "--slice", "frame", *more), 7)
        for number in (1, 4, 7):
            same(calls_of(number), {"frame": 1, "work": number + 1})


@case
def a_method_is_found_by_its_name_or_the_last_part_of_it():
    text = """
        class Game:
            def update(self): pass
        for i in range(3): Game().update()
    """
    for name, count in (("update", 3), ("Game.update", 3), ("date", 0)):
        same(slices(text, "--slice", name), count)


@case
def recursive_calls_belong_to_the_outermost():
    same(slices("""
        def deep(n):
            if n: deep(n - 1)
        deep(50); deep(3)
    """, "--slice", "deep"), 2)
    same(calls_of(1), {"deep": 51})


@case
def an_exception_ends_a_slice():
    same(slices("""
        def work(): pass
        def frame(n):
            work()
            if n == 2: raise ValueError
        for i in range(4):
            try: frame(i)
            except ValueError: pass
            work()
    """, "--slice", "frame"), 4)
    same((calls_of(3), calls_of(4)), ({"frame": 1, "work": 1}, {"frame": 1, "work": 1}))


@case
def a_coroutine_has_a_slice_for_each_stretch_that_it_runs():
    same(slices("""
        import asyncio
        async def frame():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        async def main(): await asyncio.gather(frame(), frame())
        asyncio.run(main())
    """, "--slice", "frame"), 6)


@case
def each_thread_has_its_own_slices():
    same(slices("""
        import threading
        def work(): pass
        def frame(): work()
        def run():
            for i in range(5): frame()
        threads = [threading.Thread(target=run) for i in range(3)]
        for t in threads: t.start()
        for t in threads: t.join()
        frame()
    """, "--slice", "frame"), 16)


@case
def a_slice_goes_on_while_its_greenlet_waits():
    if run(PYTHON, "-c", "import greenlet", status=None).status:
        skip("there is no module greenlet")
    same(slices("""
        from greenlet import greenlet, getcurrent
        def work(): pass
        def frame(): work(); main.switch(); work()
        def body():
            for i in range(2): frame()
        main, g = getcurrent(), greenlet(body)
        g.switch(); work(); g.switch(); g.switch()
    """, "--slice", "frame"), 2)


@case
def a_slice_that_is_open_at_the_end_is_shown_as_open():
    record("""
        import os
        def frame(n):
            if n == 2: os._exit(0)
        for i in range(3): frame(i)
    """, "--slice", "frame")
    got = run(OURO, "report", "--slices", "x.pb").out
    has(got, "2 frames")
    has(got, "1 frame is still open")


@case
def a_name_that_nobody_has_is_said_with_those_that_are_near():
    text = "def frame_of_mine(): pass\nframe_of_mine()\n"
    has(record(text, "--slice", "ame_of").err,
        "no function ame_of was called, so there are no slices; there are frame_of_mine")
    has(record(text, "--slice", "nobody").err, "no function nobody was called, so there are no slices\n")
    has(record(text, "--slice", "frame_of_mine", "--slice-by", "calls", status=None).err,
        "there is no metric calls to slice by")


PROGRAM = """
    import ouro
    def work(): return sum(range(1000))
    ouro.slice()  # nothing is recorded yet
    ouro.start("x.pb"{})
    work()
    for i in range(10): ouro.slice(); work()
    ouro.slice(False)
    work()
    ouro.stop()
    ouro.slice()
"""


@case
def a_program_says_itself_where_a_slice_ends():
    for options, count in (("", 10), (", gil=True", 10), (", precise=True", 10), (', slice="work"', 12)):
        run(PYTHON, write("script.py", textwrap.dedent(PROGRAM).format(options)), PYTHONPATH=PACKAGES)
        same(report()["slices"], count, options)
        if "precise" in options:
            same(calls_of(3), {"work": 1, "builtins.sum": 1})


@case
def the_example_says_why_some_of_its_frames_are_slow():
    run(OURO, "python", "--python", PYTHON, "-q", "--memory", "--slice", "frame", "--slice-by", "allocated",
        "-o", "x.pb", os.path.join(EXAMPLES, "game.py"))
    got = report("--metric", "allocated")
    same((got["slices"], got["metric"]), (400, "allocated"))
    same(got["slowest"] > 5 * got["median"], True)
    same(got["rows"][0]["name"], "Game.tidy.<locals>.<listcomp>")
    same(got["rows"][0]["typical"], 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices of Fble programs: test_slices.py FBLE OURO [WORD...]

Every call of a function is a slice: --slice, interpreted and compiled, whatever the metrics are and wherever the
collector and the stack come in between. A program that says itself where a frame ends. The example.
"""
import json, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../tests/support")
import objects
from suite import arguments, case, has, main, run, same, write

FBLE, OURO = arguments("FBLE", "OURO")
HOST = os.path.dirname(HERE)
EXAMPLES = ["-I", HOST + "/examples", "-I", HOST + "/std"]
NUMBERS = """U@ = *(); U@ u = U@(); N@ = +(N@ s, U@ z); N@ zero = N@(z: u);
(N@, N@) { N@; } Add = (N@ a, N@ b) { a.?(z: b); N@(s: Add(a.s, b)); };
S = (N@ n) { N@(s: n); };
one = S(zero); two = S(one); four = Add(two, two); eight = Add(four, four); hundred = {
  a = Add(eight, four); b = Add(a, a); c = Add(b, b); d = Add(c, c); Add(d, four); };
"""
# Seven calls, each with a tree of its own: Work is called from a function that Frame tail-calls, too.
FRAMES = NUMBERS + """
(N@) { N@; } Work = (N@ n) { n.?(z: n); N@(s: Work(n.s)); };
Rest = (N@ n) { Work(n); };
Frame = (N@ n) { N@ m = Work(n); Rest(m); };
(N@) { N@; } Run = (N@ n) { n.?(z: zero); N@ _ = Frame(n); N@ x = Run(n.s); x; };
Run(S(S(S(four))));
"""
METRICS = (["--profile-metrics", "instructions"], ["--profile-metrics", "objects,instructions"],
           ["--profile-period", "10"])


def compiled(*options, flags="-O0", folder="objects"):
    run(FBLE, "compile", "--profile", "--build-dir", folder, "-o", "out", *options, status=0, timeout=600,
        env={**os.environ, "CFLAGS": flags, "CC": "cc"})
    return ["./out"]


def slices(line, *options, by="instructions", status=0, after=()):
    """The report of a run, without what a clock says."""
    written = run(*line, "--profile", "x.pb", *options, "--slice-by", by, *after, status=status, timeout=120)
    if status: return written
    return json.loads(run(OURO, "report", "--slices", "--json", "x.pb", status=0).out)


def without_chance(report):
    """All that does not depend on which slices were chosen evenly. Where all are kept, none was."""
    return report if report["slices"] <= 32 else {**report, "rows": [], "slow": 0, "typical": 0}


def both(text, name, *all_options, flags="-O0"):
    """Interpreted and compiled, with several options. They must agree in everything. The last report."""
    write("A.fble", text)
    program = compiled("--eval", "A.fble", flags=flags)
    for options in all_options or ([],):
        interpreted = slices([FBLE, "eval", "A.fble"], "--slice", name, *options)
        other = slices(program, "--slice", name, *options, after=["--"])
        same(without_chance(other), without_chance(interpreted))
    return interpreted


def calls_of(number):
    """Calls by block in one slice, from the labels that the profile's samples have."""
    rows = run(OURO, "report", "--metric", "calls", "--label", f"slice={number}", "--json", "x.pb", status=0).out
    return {row["name"]: row["calls"] for row in json.loads(rows)["rows"] if row["calls"]}


@case
def every_call_of_a_function_is_a_slice():
    same(both(FRAMES, "/A%.Frame", *METRICS)["slices"], 7)


@case
def a_slice_has_what_its_call_did_and_no_more():
    for line in ([FBLE, "eval", "A.fble"], None):
        write("A.fble", FRAMES)
        slices(line or compiled("--eval", "A.fble"), "--slice", "/A%.Frame", "--profile-compact", "none")
        for number in (1, 4, 7):
            n = 8 - number
            same(calls_of(number), {"/A%.Frame": 1, "/A%.Rest": 1, "/A%.Work": 2 * (n + 1)})


@case
def a_slice_ends_with_the_call_and_not_with_the_next():
    # What Run itself does between two frames is in no slice.
    got = both(FRAMES, "/A%.Frame")
    same([row["name"] for row in got["rows"] if row["name"] == "/A%.Run"], [])


@case
def a_tail_call_of_itself_begins_the_next_slice():
    loop = "(N@) { N@; } Loop = (N@ n) { n.?(z: n); Loop(Add(zero, n.s)); };\n"
    same(both(NUMBERS + loop + "Loop(hundred);", "/A%.Loop", *METRICS)["slices"], 101)
    around = "(N@) { N@; } Loop = (N@ n) { n.?(z: n); Back(n.s); }, (N@) { N@; } Back = (N@ n) { Loop(n); };\n"
    same(both(NUMBERS + around + "Loop(hundred);", "/A%.Loop")["slices"], 101)


@case
def recursive_calls_belong_to_the_outermost():
    deep = "(N@) { N@; } Deep = (N@ n) { n.?(z: n); N@(s: Deep(n.s)); };\n"
    text = NUMBERS + deep + "x = Deep(hundred); y = Deep(four); @(x, y);"
    same(both(text, "/A%.Deep", *METRICS)["slices"], 2)
    # Also where a frame above tail-calls it.
    tail = deep + "Via = (N@ n) { Deep(n); };\n(N@) { N@; } Out = (N@ n) { n.?(z: n); N@(s: Via(Out(n.s))); };\n"
    same(both(NUMBERS + tail + "Out(eight);", "/A%.Out")["slices"], 1)
    same(both(NUMBERS + tail + "Out(eight);", "/A%.Deep")["slices"], 8)


@case
def the_stack_and_the_collector_may_come_in_between():
    # A million deep: frames move to other chunks, and the collector leaves its barrier in them.
    text = NUMBERS + """
(N@, N@) { N@; } Grow = (N@ n, N@ to) { n.?(z: to); Grow(n.s, Add(hundred, to)); };
(N@) { N@; } Deep = (N@ n) { n.?(z: n); N@(s: Deep(n.s)); };
big = Grow(hundred, zero);
Frame = (N@ n) { N@ m = Deep(n); Deep(m); };
(N@) { N@; } Loop = (N@ n) { n.?(z: n); N@ _ = Frame(big); Loop(n.s); };
(N@) { N@; } Above = (N@ n) { n.?(z: Loop(four)); N@(s: Above(n.s)); };
Above(big);
"""
    for name, count in (("Frame", 4), ("Loop", 5), ("Deep", 8)):
        same(both(text, f"/A%.{name}", flags="-O1")["slices"], count)


@case
def arguments_that_are_too_many_or_too_few_are_calls_like_others():
    text = NUMBERS + """
Frame = (N@ a) { N@ sum = Add(a, a); (N@ b) { Add(sum, b); }; };
Plus = (N@ a, N@ b) { Add(a, b); };
Half = Plus(four);
x = Frame(two)(two); y = Frame(four)(one); z = Half(two); v = Half(four);
@(x, y, z, v);
"""
    # The function that Frame gives has the same name, and is called after Frame has returned.
    same(both(text, "/A%.Frame")["slices"], 4)
    same(both(text, "/A%.Plus")["slices"], 2)


@case
def a_name_that_is_nobodys_is_an_error_that_says_who_is_near():
    write("A.fble", FRAMES)
    for line in ([FBLE, "eval", "A.fble"], compiled("--eval", "A.fble")):
        done = slices(line, "--slice", "frame", status=4)
        has(done.err, "no block is called frame; there are /A%.Frame")
        has(slices(line, "--slice", "/A%.Nobody", status=4).err, "ouro report shows the names of a profile, such as")
        has(slices(line, "--slice", "/A%.Frame", by="calls", status=4).err, "--slice-by calls: expected duration or a")
        has(run(*line, "--slice", "/A%.Frame", status=4).err, "--slice needs a profile: --profile FILE")


@case
def a_function_that_is_not_called_has_no_slices_and_that_is_said():
    write("A.fble", NUMBERS + "Never = (N@ n) { n; };\nAdd(two, two);")
    done = run(FBLE, "eval", "--profile", "x.pb", "--slice", "/A%.Never", "A.fble", status=0)
    has(done.err, "/A%.Never was not called: the profile has no slices")


@case
def a_live_file_has_the_slices_too():
    write("A.fble", FRAMES)
    run(FBLE, "eval", "--profile-live", "x.ouro", "--slice", "/A%.Frame", "A.fble", status=0)
    same(json.loads(run(OURO, "report", "--slices", "--json", "x.ouro", status=0).out)["slices"], 7)


@case
def a_program_that_fails_leaves_its_slice_open():
    write("A.fble", FRAMES.replace("Rest = (N@ n) { Work(n); };", "Rest = (N@ n) { Work(n.s.s.s.s); };"))
    run(FBLE, "eval", "--profile", "x.pb", "--slice", "/A%.Frame", "A.fble", status=3)
    got = run(OURO, "report", "--slices", "x.pb", status=0).out
    has(got, "4 Frames by duration")
    has(got, "1 Frame is still open")


def example(line, *options, after=()):
    return slices(line, *options, after=["--", *after])


@case
def the_example_says_why_some_of_its_frames_are_slow():
    interpreted = [FBLE, "run", *EXAMPLES, "-m", "/Game%"]
    folder = objects.with_library(FBLE)
    for line in (interpreted, compiled(*EXAMPLES, "-m", "/Game%", flags=objects.FLAGS, folder=folder)):
        for more, count in ((["--slice", "/Game%.Frame"], 200), ([], 201)):
            got = example(line, *more, after=["200"])
            same(got["slices"], count)
            same(got["slowest"] > 5 * got["median"], True)
            tidy = [row for row in got["rows"] if row["name"] == "/Game%.Tidy"]
            same((len(tidy), tidy[0]["typical"]), (1, 0))
            same(re.sub(r".*[%.]", "", got["rows"][0]["name"]), "CompareFrom")


main()

# SPDX-License-Identifier: MIT
"""Recursion and findings: what the API says of them, against the model and against `ouro report`."""
import json
from answers import each, filters, make, report
from harness import Server
from pprof import Profile
from suite import case, same, write


@case
def every_block_says_whether_and_how_deep_it_recursed():
    for s, model, asked, rnd, names in each():
        for question in "blocks", "knots", "overview":
            for b in s.api(question, limit=1000, **asked)["blocks"]:
                deepest = model.recursion(b["name"])
                same(b["recursion"] and b["recursion"]["deepest"], deepest, b["name"])
                if b["recursion"]:
                    assert b["recursion"]["direct"] + b["recursion"]["through"] > 0, b


@case
def recursion_that_compaction_took_away_is_told():
    nodes = [{"id": 1, "callFrame": {"functionName": "(root)"}, "children": [2]}]
    nodes += [{"id": i, "callFrame": {"functionName": "ack", "url": "a.js"}, "children": [i + 1] if i < 470 else []}
              for i in range(2, 471)]
    write("a.cpuprofile", json.dumps({"nodes": nodes, "samples": [470], "timeDeltas": [5]}))
    with Server("a.cpuprofile") as s:
        a = s.api("overview")
        same(a["knot_count"], 1)
        row = a["knots"][0]
        same((row["direct"], row["through"], row["deepest"], row["member_count"]), (468, 0, 469, 1))
        same(a["blocks"][row["members"][0]]["recursion"], {"direct": 468, "through": 0, "deepest": 469})
        same(s.api("around", block="ack")["recursive"], True)
        same(s.api("profile")["files"][0]["recursion"], "steps")


@case
def how_deep_samples_went_around_a_circle_is_not_known_without_a_note():
    """As of older recorders: the path has even twice, and may stand for more."""
    p = Profile((("calls", "count"), ("recursions", "count"), ("time", "nanoseconds")))
    p.add(["main", "even", "odd", "even"], [0, 0, 5])
    write("sampled.pb", p.bytes())
    with Server("sampled.pb") as s:
        (row,) = s.api("knots")["rows"]
        same([row[key] for key in ("deepest", "direct", "through")], [None, 0, None])
        names = s.api("knots")["names"]
        same({names[m["block"]]: m["deepest"] for m in row["member_rows"]}, {"even": None, "odd": 1})


@case
def metrics_that_were_not_counted_are_not_listed():
    p = Profile((("calls", "count"), ("recursions", "count"), ("time", "nanoseconds")))
    p.add(["main", "f"], [0, 0, 5])
    write("sampled.pb", p.bytes())
    p.add(["main", "f"], [3, 1, 5])
    write("counted.pb", p.bytes())
    for file, names in ("sampled.pb", ["time"]), ("counted.pb", ["calls", "time"]):
        with Server(file) as s:
            same([m["name"] for m in s.api("profile")["files"][0]["metrics"]], names, file)
            same([m["metric"] for m in s.api("overview")["totals"]], names, file)


@case
def calls_that_nobody_counted_are_null_whatever_is_chosen():
    """In slice 2, work was not entered. Nobody counts the calls of tiny, which is the first block."""
    p = Profile((("calls", "count"), ("recursions", "count"), ("time", "nanoseconds")))
    p.add(["tiny"], [0, 0, 2], [("slice", "2")])
    p.add(["main"], [1, 0, 1], [("slice", "1")])
    p.add(["main", "work"], [3, 0, 5], [("slice", "1")])
    p.add(["main", "work"], [0, 0, 4], [("slice", "2")])
    p.add(["main", "work", "tiny"], [0, 0, 2], [("slice", "2")])
    write("a.pb", p.bytes())

    def calls(answer, rows):
        return {answer["names"][r["block"]]: r["calls"] for r in rows if r["block"] is not None}

    with Server("a.pb") as s:
        for chosen, main, work in ({}, 1, 3), ({"label": "slice=2"}, 0, 0):
            a = s.api("blocks", sort="-calls", **chosen)
            same(calls(a, a["rows"]), {"main": main, "work": work, "tiny": None})
            same(a["names"][a["rows"][2]["block"]], "tiny")
            a = s.api("around", block="work", **chosen)
            same((a["calls"], calls(a, a["callees"]["rows"])), (work, {"tiny": None}))
            a = s.api("around", block="tiny", **chosen)
            same((a["calls"], calls(a, a["callers"]["rows"])), (None, {"work": None}))
            a = s.api("tree", hot="true", **chosen)
            same(calls(a, a["rows"]), {"main": main, "work": work, "tiny": None})


@case
def the_members_and_edges_of_a_knot_are_those_of_the_report():
    for seed in 1, 2:
        paths, names = make(seed)
        want = report("--knots", "p.pb")["rows"]
        with Server("p.pb") as s:
            a = s.api("knots", limit=1000)
        same(len(a["rows"]), len(want))
        for got, knot in zip(a["rows"], want):
            for key in "direct", "through", "deepest":
                same(got[key], knot[key], key)
                same([m[key] for m in got["member_rows"]], [b[key] for b in knot["blocks"]][:20])
            same([m["block"] for m in got["member_rows"]], got["members"])
            edges = [{**e, "from": a["names"][e["from"]], "to": a["names"][e["to"]]} for e in got["edges"]]
            same(edges, knot["edges"])
            same(len(edges), min(60, got["edge_count"]))


@case
def findings_are_the_sentences_of_the_report():
    for s, model, asked, rnd, names in each():
        a = s.api("overview", **asked)
        arguments = [f"--{k}={v}" for k in ("select", "exclude", "fold") for v in asked[k]]
        want = report("--metric", asked["metric"], *arguments, "p.pb")["findings"]
        said = ["".join(part if isinstance(part, str) else a["names"][part["block"]] for part in f["text"])
                for f in a["findings"]]
        same(said, [f["text"] for f in want])
        same([f["kind"] for f in a["findings"]], [f["kind"] for f in want])
        for f in a["findings"]:
            same(sorted(f), ["kind", "link", "text", "value"])
            assert f["link"]["page"] in ("block", "paths", "recursion", "self"), f
            assert f["link"]["page"] != "block" or f["link"]["block"] is not None, f

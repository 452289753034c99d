# SPDX-License-Identifier: MIT
"""Flame graphs that are not the tree itself: upside down, callers and callees of a block; and what a search finds."""
import collections
from answers import each
from harness import Server
from suite import case, same, write


def rows_of(a, flame, top=()):
    """{path of a box: value}, the path beginning with `top`, which is row 0."""
    paths = []
    for up, b in zip(flame["parent"], flame["block"]):
        paths.append(top if up is None else paths[up] + (a["names"][b],))
    same(len(set(paths)), len(paths))
    return dict(zip(paths, flame["value"]))


def endings(model):
    """{blocks at the end of a path, the last first: value}"""
    sums = collections.Counter()
    for path, value in model.paths.items():
        for n in range(1, len(path) + 1):
            sums[path[:-n - 1:-1]] += value
    return sums


@case
def upside_down_are_the_ends_of_paths_and_their_callers():
    for s, model, asked, rnd, names in each():
        want = {p: v for p, v in endings(model).items() if v}
        a = s.api("flame", invert="true", limit=8000, **asked)
        same(rows_of(a, a), {(): model.left, **want})
        same((a["at"], a["hidden"], a["hidden_more"]), ({"id": None, "block": None, "level": 0, "above": []}, 0, False))
        ids = dict(zip(rows_of(a, a), a["id"]))
        for top in rnd.sample(list(want), min(4, len(want))):
            part = s.api("flame", invert="true", path=ids[top], limit=8000, **asked)
            same(rows_of(part, part, top), {p: v for p, v in want.items() if p[:len(top)] == top})
            same((part["at"]["id"].split(".")[1], part["at"]["level"]), (str(len(top)), len(top)))
            same([part["names"][x["block"]] for x in part["at"]["above"]], list(top[:-1]))
            for i, above in enumerate(part["at"]["above"]):
                other = s.api("flame", invert="true", path=above["id"], limit=1, **asked)
                same(other["value"], [want[top[:i + 1]]])
        few = s.api("flame", invert="true", limit=4, **asked)
        if len(want) > 3:
            same((len(few["value"]), few["hidden_more"]), (4, True))


@case
def an_inverted_path_that_is_gone_is_everything():
    write("a.folded", "main;f;g 3\nmain;h 2\n")
    with Server("a.folded") as s:
        a = s.api("flame", invert="true")
        g = dict(zip(rows_of(a, a), a["id"]))["g", "f"]
        same(s.api("flame", invert="true", path=g)["value"], [3, 3])
        same(s.api("flame", 404, invert="true", path=g, exclude="f")["error"]["code"], "no-such-path")
        same(s.api("flame", invert="true", path=g, exclude="f", nearest="true")["at"]["level"], 0)
        same(s.api("flame", 404, invert="true", path=g[:12] + "4")["error"]["code"], "no-such-path")
        for bad in "x", g[:11], g[:12], g[:12] + "0", g[:12] + "-1", g + "x", g[:12] + "9" * 30:
            status = 404 if bad.endswith("99") else 400
            s.api("flame", status, invert="true", path=bad)


@case
def callers_and_callees_of_a_block_as_graphs():
    for s, model, asked, rnd, names in each():
        for block in rnd.sample(sorted(model.blocks()), min(3, len(model.blocks()))):
            a = s.api("sandwich", block=block, limit=8000, **asked)
            callers, callees = collections.Counter(), collections.Counter()
            for path, value in model.paths.items():
                if block not in path:
                    continue
                at = path.index(block)
                for n in range(at + 1):
                    callers[path[at - n:at + 1][::-1]] += value
                for n in range(at + 1, len(path) + 1):
                    callees[path[at:n]] += value
            for name, want in ("callers", callers), ("callees", callees):
                want[block,] += 0
                got = rows_of(a, a[name], (block,))
                same(got, {p: v for p, v in want.items() if v or len(p) == 1}, (block, name))
        s.api("sandwich", 400, **asked)
        s.api("sandwich", 404, block="nobody", **asked)


@case
def a_search_finds_paths_the_most_expensive_first():
    for s, model, asked, rnd, names in each():
        for text in "f1", "BOLD", "größe":
            nodes = {p: v for p, v in model.nodes().items() if v[1] > 0 and text.lower() in p[-1].lower()}
            a = s.api("matches", search=text, limit=1000, **asked)
            same(a["count"], len(nodes))
            same(sorted((a["names"][r["block"]], r["level"], r["self"], r["overall"]) for r in a["rows"]),
                 sorted((p[-1], len(p), *v) for p, v in nodes.items()))
            values = [r["overall"] for r in a["rows"]]
            same(values, sorted(values, reverse=True))
            same(a["matched"], model.matched(lambda b: text.lower() in b.lower()))
            for r in a["rows"][:2]:
                at = s.api("flame", path=r["id"], limit=1, **asked)
                same((at["value"], at["at"]["level"]), ([r["overall"]], r["level"]))
            f = s.api("flame", search=text, limit=50, **asked)
            same({f["names"][b] for b in f["found"]}, {n for n in f["names"] if text.lower() in n.lower()})
    with Server("p.pb") as s:
        same(s.api("matches", 400)["error"]["code"], "no-search")
        same(s.api("flame")["found"], [])

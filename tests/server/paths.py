# SPDX-License-Identifier: MIT
"""Paths by their ids: in the flame graph, in tables, in the call tree with open rows, after filters."""
import random
from answers import each, make
from harness import Server
from suite import case, same, write


def paths_by_id(s, **asked):
    """{path: id} of all paths."""
    a = s.api("sequences", limit=1000, sort="length", **asked)
    return {tuple(a["names"][b] for b in r["path"]): r["id"] for r in a["rows"]}


def place(a):
    at = a["at"]
    above = tuple(a["names"][x["block"]] for x in at["above"])
    return above + (() if at["block"] is None else (a["names"][at["block"]],))


@case
def an_id_names_one_path_in_every_answer():
    for s, model, asked, rnd, names in each():
        ids = paths_by_id(s, **asked)
        same(len(set(ids.values())), len(ids))
        for path in rnd.sample(list(ids), min(4, len(ids))):
            by_id = s.api("flame", path=ids[path], limit=50, **asked)
            same({**by_id, "generation": 0},
                 {**s.api("flame", at=list(path), limit=50, **asked), "generation": 0})
            same(place(by_id), path)
            same((by_id["at"]["id"], by_id["at"]["level"]), (ids[path], len(path)))
            same([x["id"] for x in by_id["at"]["above"]], [ids[path[:n]] for n in range(1, len(path))])
            paths = []
            for up, b, id_ in zip(by_id["parent"], by_id["block"], by_id["id"]):
                paths.append(path if up is None else paths[up] + (by_id["names"][b],))
                same(id_, ids[paths[-1]])
            level = s.api("tree", path=ids[path], limit=1000, **asked)
            same({level["names"][r["block"]] for r in level["rows"]}, set(model.children(path)))
        same(s.api("flame", limit=1, **asked)["at"], {"id": None, "block": None, "level": 0, "above": []})


def naive_rows(model, top, open_, level=0, limit=1000):
    """The call tree, opened on the way to the open paths: (path, level, open); (path, level, n): n are hidden."""
    children = sorted(model.children(top).items(), key=lambda c: -c[1][1])
    rows = []
    for name, _ in children[:limit if level else None]:
        path = top + (name,)
        is_open = any(o[:len(path)] == path for o in open_)
        rows.append((path, level, is_open))
        if is_open:
            rows += naive_rows(model, path, open_, level + 1, limit)
    if level and len(children) > limit:
        rows.append((top, level, len(children) - limit))
    return rows


@case
def the_tree_is_open_on_the_way_to_what_is_named():
    for s, model, asked, rnd, names in each():
        values = [v for _, v in model.nodes(passed=True).values()]
        ids = paths_by_id(s, **asked)
        for top in (), rnd.choice(list(ids) or [()]):
            open_ = rnd.sample(list(ids), min(3, len(ids)))
            limit = rnd.choice([1, 2, 1000])
            where = {"path": ids[top]} if top else {}
            a = s.api("tree", open=[ids[o] for o in open_] + ["AAAAAAAAAAA"], open_limit=limit, limit=1000,
                      **where, **asked)
            want = naive_rows(model, top, open_, limit=limit)
            got, path = [], top
            for r in a["rows"]:
                caller = top + path[len(top):len(top) + r["level"]]
                path = caller if r["block"] is None else caller + (a["names"][r["block"]],)
                got.append((path, r["level"], r["hidden"] or r["open"]))
                if path in ids:
                    same(r["id"], ids[path])
            # Equal siblings may stand in any order, and with a limit any of them may be shown.
            if limit == 1000:
                same(sorted(got), sorted(want))
            if limit == 1000 and len(set(values)) == len(values):
                same(got, want)
            rows = [g[0] for g in got]
            for end in a["open"]:
                path = next(p for p, i in ids.items() if i == end["id"])
                shown = [i for i, p in enumerate(rows) if not a["rows"][i]["hidden"] and path[:len(p)] == p]
                same(end["row"], shown[-1] if shown else None)


@case
def the_tree_opens_along_the_hottest_path():
    write("hot.folded", "a;b;c;d 60\na;b;c;e 20\na;b;f 9\na;g;h 5\na;i 6\nj;k 50\n")
    with Server("hot.folded") as s:
        a = s.api("tree", hot="true")
        same([(a["names"][r["block"]], r["open"]) for r in a["rows"]],
             [("a", True), ("b", True), ("c", True), ("d", False), ("e", False), ("f", False), ("i", False),
              ("g", False), ("j", False)])
        same(len(a["open"]), 1)
        same(s.api("tree", open=a["open"][0]["id"])["rows"], a["rows"])
        # Of two that are alike one is followed as long as it is not small: here 40 and 39, then 4 and 2.
        write("even.folded", "m;a;x;p 4\nm;a;x;q 2\nm;a;y 34\nm;b;z 39\nm;a;x;p;r 1\n")
        with Server("even.folded") as even:
            c = even.api("tree", hot="true")
            same([c["names"][r["block"]] for r in c["rows"]], ["m", "a", "y", "x", "b"])
        b = s.api("tree", hot="true", at=["a", "g"])
        same([b["names"][r["block"]] for r in b["rows"]], ["h"])


@case
def what_is_left_of_a_path_is_its_longest_prefix():
    for s, model, asked, rnd, names in each():
        ids = paths_by_id(s)
        left = {p for p in model.nodes(passed=True)}
        for path in rnd.sample(list(ids), 5):
            want = path
            while want and want not in left:
                want = want[:-1]
            for where in {"path": ids[path]}, {"at": list(path)}:
                a = s.api("flame", limit=1, nearest="true", **where, **asked)
                same(place(a), want, (path, asked))
                if want == path:
                    s.api("flame", limit=1, **where, **asked)
                elif "path" in where:
                    same(s.api("flame", 404, limit=1, **where, **asked)["error"]["code"], "no-such-path")
        same(s.api("flame", limit=1, nearest="true", at=["f0", "nobody"])["at"]["level"], 1)
        same(s.api("flame", limit=1, nearest="true", path="AAAAAAAAAAA")["at"]["level"], 0)


@case
def an_id_of_the_other_file_is_found_by_its_labels():
    write("a.folded", "main;f;g 3\nmain;h 2\n")
    write("b.folded", "extra 9\nmain;h;i 1\nmain;f;j 4\n")
    with Server("a.folded", "b.folded") as s:
        ids = paths_by_id(s)
        other = paths_by_id(s, side="after")
        same(ids["main", "f"], other["main", "f"])
        for path in ("main", "f", "g"), ("main", "h"):
            a = s.api("tree", path=ids[path], nearest="true", side="after")
            same(place(a), path[:2])


@case
def what_is_no_id_is_refused():
    make(0)
    with Server("p.pb") as s:
        for bad in "x", "f0", "AAAAAAAAAAAA", "_AAAAAAAAAA", "AAAAAAAAAA%":
            for question in "flame", "tree":
                same(s.api(question, 400, path=bad)["error"]["code"], "bad-path")
            same(s.api("tree", 400, open=bad)["error"]["code"], "bad-path")
        same(s.api("tree", 404, path="AAAAAAAAAAA")["error"]["code"], "no-such-path")


@case
def boxes_that_are_not_sent_are_counted_by_the_reason():
    rnd = random.Random(3)
    deep = ";".join(f"d{i}" for i in range(500))
    write("deep.folded", deep + " 1000000\n" + "".join(f"wide{i} {rnd.randrange(1, 400)}\n" for i in range(300)))
    with Server("deep.folded") as s:
        a = s.api("flame", limit=100)
        same((len(a["value"]), a["hidden"], a["hidden_deep"]), (100, 701, 401))
        a = s.api("flame", limit=600)
        same((a["hidden"], a["hidden_deep"]), (201, 0))

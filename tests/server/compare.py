# SPDX-License-Identifier: MIT
"""Two files: which blocks are the same, the sentence, and metrics that both have."""
import csv, io, json
from answers import make
from harness import Server
from model import Model
from pprof import Profile
from suite import case, has, run, same, write

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def placed(name, stacks, unit="none"):
    """A speedscope file of stacks of (name, file, line), each with a weight."""
    frames = sorted({frame for stack, _ in stacks for frame in stack})
    write(name, json.dumps({
        "$schema": SCHEMA, "shared": {"frames": [{"name": n, "file": f, "line": l} for n, f, l in frames]},
        "profiles": [{"type": "sampled", "name": "x", "unit": unit,
                      "samples": [[frames.index(frame) for frame in stack] for stack, _ in stacks],
                      "weights": [weight for _, weight in stacks]}]}))
    return name


def checkouts():
    """The same program in two folders. `init` stands in two files, `parse` moved to another line."""
    def one(root, line, parse, more=()):
        main = ("main", f"{root}/src/main.c", 9)
        return [([main, ("parse", f"{root}/src/parse.c", line)], parse),
                ([main, ("init", f"{root}/src/a.c", 5)], 7), ([main, ("init", f"{root}/lib/a.c", 5)], 11), *more]
    placed("before.json", one("/home/me/main", 20, 100))
    placed("after.json", one("/tmp/branch", 33, 240, [([("main", "/tmp/branch/src/main.c", 9),
                                                        ("extra", "/tmp/branch/src/x.c", 1)], 144)]))
    return "before.json", "after.json"


@case
def another_folder_of_the_checkout_is_no_change():
    with Server(*checkouts()) as s:
        a = s.api("compare")
        rows = {(r["name"], r["file"]): r for r in a["rows"]}
        same({k: (r["self_before"], r["self_after"], r["state"], r["matched"]) for k, r in rows.items()}, {
            ("main", "/tmp/branch/src/main.c"): (0, 0, "slower", "name"),
            ("parse", "/tmp/branch/src/parse.c"): (100, 240, "slower", "name"),
            ("init", "/tmp/branch/src/a.c"): (7, 7, "same", "path"),
            ("init", "/tmp/branch/lib/a.c"): (11, 11, "same", "path"),
            ("extra", "/tmp/branch/src/x.c"): (0, 144, "new", None)})
        same(a["states"]["gone"], 0)
        table = list(csv.DictReader(io.StringIO(s.get("/api/v1/compare?format=csv&sort=name")[2].decode())))
        same([(r["name"], r["file"], r["line"], r["matched"]) for r in table],
             [("extra", "/tmp/branch/src/x.c", "1", ""), ("init", "/tmp/branch/lib/a.c", "5", "path"),
              ("init", "/tmp/branch/src/a.c", "5", "path"), ("main", "/tmp/branch/src/main.c", "9", "name"),
              ("parse", "/tmp/branch/src/parse.c", "33", "name")])


@case
def a_filter_finds_its_block_in_the_other_checkout():
    with Server(*checkouts()) as s:
        blocks = s.api("compare")["blocks"]
        label = next(b["label"] for b in blocks if b["file"] == "/tmp/branch/lib/a.c")
        a = s.api("compare", select=label)
        same((a["left_before"], a["left_after"]), (11, 11))
        a = s.api("compare", exclude=[label, "init@/home/me/main/src/a.c:5"])
        same((a["left_before"], a["left_after"]), (100, 384))
        same(s.api("around", block=label)["self"], 11)  # of the other side, too
        same(s.api("around", block="extra", status=404)["error"]["code"], "no-such-block")
        same(s.api("around", block="nothing", side="after", status=404)["error"]["code"], "no-such-block")


@case
def the_sentence_names_the_blocks_that_changed_most():
    files = checkouts()
    with Server(*files) as s:
        for asked in {}, {"search": "init"}, {"state": "same"}, {"limit": 1, "sort": "name"}:
            a = s.api("compare", **asked)
            same([(a["blocks"][r["block"]]["name"], r["change"], r["state"]) for r in a["leading"]],
                 [("extra", 144, "new"), ("parse", 140, "slower")])
            same(a["changed"], 2)
        same(s.api("compare", exclude=["extra", "parse"])["leading"], [])
    out = run(Server.ouro, "diff", *files, status=0).out.splitlines()
    same(out[0], "samples: 118 -> 402, +240.68%: extra new +144, parse +140")
    has(out, "  +144  +35.82%       0    144     +144  +35.82%  new  extra")
    json_ = json.loads(run(Server.ouro, "diff", "--json", *files, status=0).out)
    same(json_["summary"], "+240.68%: extra new +144, parse +140")
    same({(r["name"], r["line"], r["matched"]) for r in json_["rows"]},
         {("main", 9, "name"), ("parse", 33, "name"), ("init", 5, "path"), ("extra", 1, None)})


@case
def only_a_metric_that_both_have_in_the_same_unit_is_compared():
    for name, types in ("a.pb", (("calls", "count"), ("time", "nanoseconds"), ("only", "count"))), \
                       ("b.pb", (("time", "milliseconds"), ("calls", "count"))):
        p = Profile(types)
        p.add(["main", "f"], list(range(3, 3 + len(types))))
        write(name, p.bytes())
    with Server("a.pb", "b.pb") as s:
        same(s.api("compare")["metric"], "calls")
        has(s.api("compare", metric="time", status=404)["error"]["message"], "time counts nanoseconds before and")
        has(s.api("compare", metric="only", status=404)["error"]["message"], "no metric is called only")
    same(run(Server.ouro, "diff", "a.pb", "b.pb", status=0).out.splitlines()[0], "calls: 3 -> 4, +33.33%: f +1")
    has(run(Server.ouro, "diff", "--metric", "time", "a.pb", "b.pb", status=2).err,
        "time counts nanoseconds in a.pb and milliseconds in b.pb")


# ---------------------------------------------------------------- the difference flame graph

def boxes(answer):
    """Every box by its path below row 0: (before, after, self_before, self_after), and its row."""
    paths, found = [()], {}
    for i in range(len(answer["value"])):
        if i:
            paths.append(paths[answer["parent"][i]] + (answer["names"][answer["block"][i]],))
        keys = "before", "after", "self_before", "self_after"
        found[paths[i]] = (*(answer[k][i] for k in keys), i)
    same(len(found), len(paths))  # no path twice
    return found


def check_boxes(answer, x, y, side, at=()):
    """All boxes of a side at and below a path, beside what the models of both sides say."""
    nodes = {"before": x.nodes(), "after": y.nodes()}
    nodes["before"][()], nodes["after"][()] = (0, x.left), (0, y.left)
    want = {}
    for path, (_, overall) in nodes[side].items():
        if path[:len(at)] == tuple(at) and (overall > 0 or path == tuple(at)):
            (p, q), (r, s) = nodes["before"].get(path, (0, 0)), nodes["after"].get(path, (0, 0))
            want[path[len(at):]] = (q, s, p, r)
    got = boxes(answer)
    same({path: numbers[:4] for path, numbers in got.items()}, want)
    same(answer["value"], answer[side])
    return got


@case
def the_difference_flame_graph_is_that_of_the_model():
    before, names = make(1, "a.pb")
    after, _ = make(2, "b.pb")
    with Server("a.pb", "b.pb") as s:
        for chosen in {}, {"fold": ["f1"]}, {"exclude": ["f5"]}, {"select": ["f3"]}:
            x, y = Model(before[1], **chosen), Model(after[1], **chosen)
            for side in "before", "after":
                a = s.api("difference", side=side, limit=8000, **chosen)
                same((a["left_before"], a["left_after"], a["total_before"], a["total_after"]),
                     (x.left, y.left, x.total, y.total))
                got = check_boxes(a, x, y, side)
                for path in sorted(got)[::40]:
                    zoomed = s.api("difference", side=side, limit=8000, path=a["id"][got[path][4]] or "", **chosen)
                    check_boxes(zoomed, x, y, side, path)


@case
def the_difference_is_the_flame_graph_of_a_side():
    make(1, "a.pb")
    make(2, "b.pb")
    with Server("a.pb", "b.pb") as s:
        for asked in {"limit": 7}, {"side": "after"}, {"side": "after", "metric": "samples", "fold": "f2"}:
            a, b = s.api("difference", **asked), s.api("flame", **asked)
            same({key: a[key] for key in b}, b)
        code = lambda status, **asked: s.api("difference", status=status, **asked)["error"]["code"]
        same(code(400, limit=0), "bad-number")
        same(code(404, path="AAAAAAAAAAA"), "no-such-path")
        same(code(404, metric="nope"), "no-such-metric")
        same(s.api("difference", path="AAAAAAAAAAA", nearest="true")["at"]["id"], None)
    with Server("a.pb") as s:
        same(s.api("difference", status=404)["error"]["code"], "no-comparison")


@case
def a_difference_of_two_checkouts_pairs_the_paths():
    with Server(*checkouts()) as s:
        a = s.api("difference", side="after")
        named = [(None if b is None else a["names"][b], p, q)
                 for b, p, q in zip(a["block"], a["before"], a["after"])]
        same(sorted(named, key=str), sorted([(None, 118, 402), ("main", 118, 402), ("parse", 100, 240),
                                             ("init", 7, 7), ("init", 11, 11), ("extra", 0, 144)], key=str))
        # A path of one checkout is found in the other.
        for i, label in enumerate(a["labels"]):
            if label.startswith("init@"):
                row = a["block"].index(i)
                b = s.api("difference", side="before", path=a["id"][row], nearest="true")
                same((b["value"], b["labels"][b["block"][0]][-9:]), ([a["value"][row]], label[-9:]))


@case
def a_difference_counts_in_the_decimals_of_both():
    write("a.folded", "main;f 1.5\n")
    write("b.folded", "main;f 2\n")
    with Server("a.folded", "b.folded") as s:
        for side, decimals, width in ("before", 1, 15), ("after", 0, 2):
            a = s.api("difference", side=side)
            same((a["decimals"], a["value"]), (decimals, [width] * 3))
            same((a["decimals_both"], a["total_before"], a["left_after"]), (1, 15, 20))
            same((a["before"], a["self_after"]), ([15] * 3, [0, 0, 20]))

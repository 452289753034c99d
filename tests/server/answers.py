# SPDX-License-Identifier: MIT
"""What the API answers, against the model and against `ouro report --json`."""
import csv, io, json, random, urllib.parse
from harness import Server
from model import Model
from pprof import Profile
from suite import case, has, run, same, write

TYPES = (("samples", "count"), ("time", "nanoseconds"))


def make(seed, name="p.pb", blocks=14, stacks=120):
    """A random profile with recursion, as a file and as {path: value} per metric."""
    rnd, p = random.Random(seed), Profile(TYPES)
    names = [f"f{i}" for i in range(blocks - 2)] + ["<b>bold</b>", "größe ☃"]
    paths = ({}, {})
    before = ["f0"]
    for _ in range(stacks):
        path = before[:rnd.randrange(1, len(before) + 1)]
        path = path + [rnd.choice(names) for _ in range(rnd.randrange(6))]
        if rnd.random() < 0.3:
            path += path[-3:] * rnd.randrange(1, 3)
        before = path = path[:24]
        values = [rnd.randrange(1, 100), rnd.randrange(1, 10**12)]
        p.add(path, values)
        for m in 0, 1:
            paths[m][tuple(path)] = paths[m].get(tuple(path), 0) + values[m]
    write(name, p.bytes())
    return paths, names


def filters(rnd, names):
    pick = lambda most: rnd.sample(names[1:], rnd.randrange(most))
    return {"select": pick(2), "exclude": pick(2), "fold": pick(4)}


def rows(answer, *keys):
    """{name: values} of a table of blocks."""
    return {answer["names"][r["block"]]: tuple(r[k] for k in keys) for r in answer["rows"]}


def report(*arguments):
    return json.loads(run(Server.ouro, "report", "--json", *arguments, status=0).out)


def each():
    """Servers on random profiles with the model of each of some filters."""
    for seed in range(4):
        rnd = random.Random(seed)
        paths, names = make(seed)
        with Server("p.pb") as s:
            for _ in range(6):
                chosen, m = filters(rnd, names), rnd.randrange(2)
                asked = dict(chosen, metric=TYPES[m][0])
                yield s, Model(paths[m], **chosen), asked, rnd, names


@case
def blocks_are_those_of_the_model():
    for s, model, asked, rnd, names in each():
        a = s.api("blocks", limit=1000, **asked)
        same(rows(a, "self", "overall"), model.blocks())
        same((a["total"], a["left"], a["count"]), (model.total, model.left, len(model.blocks())))


@case
def tables_are_sorted_and_cut_as_asked():
    for s, model, asked, rnd, names in each():
        want = model.blocks()
        for column, key in (("self", lambda n: want[n][0]), ("overall", lambda n: want[n][1]),
                            ("name", lambda n: n.encode())):
            for sign in "", "-":
                got = list(rows(s.api("blocks", limit=1000, sort=sign + column, **asked), "self"))
                keys = [key(n) for n in got]
                same(keys, sorted(keys, reverse=bool(sign)), (column, sign))
                offset, limit = rnd.randrange(len(want) + 2), rnd.randrange(5)
                a = s.api("blocks", limit=limit, offset=offset, sort=sign + column, **asked)
                same(list(rows(a, "self")), got[offset:offset + limit])
                same(a["count"], len(want))
                same(a["offset"], offset)


@case
def search_finds_names_in_any_case_and_script():
    for s, model, asked, rnd, names in each():
        want = model.blocks()
        for text in "F1", "GRÖSSE", "größe", "Größe ☃", "BOLD", "nothing", "f0.C":
            found = {n for n in want if text.lower() in n.lower() or
                     n != "(folded)" and text.lower() in (n + ".c").lower()}
            a = s.api("blocks", search=text, limit=1000, **asked)
            same(set(rows(a, "self")), found, text)
            t = s.api("total", search=text, **asked)
            same((t["matched"], t["block_count"]), (model.matched(lambda b: b in found), len(found)))


@case
def sequences_are_the_paths_of_the_model():
    for s, model, asked, rnd, names in each():
        for sort in "-self", "-overall", "length", "-length":
            a = s.api("sequences", limit=1000, sort=sort, **asked)
            got = [(tuple(a["names"][b] for b in r["path"]), r["self"], r["overall"]) for r in a["rows"]]
            want = model.nodes()
            same(a["count"], len(want))
            assert {p: (x, y) for p, x, y in got}.items() <= want.items()
            same(len(got), min(1000, len(want)))
            keys = [len(p) if "length" in sort else x if "self" in sort else y for p, x, y in got]
            same(keys, sorted(keys, reverse=sort[0] == "-"), sort)
        everything = s.api("sequences", limit=1000, sort="-self", **asked)["rows"]
        far = s.api("sequences", limit=7, offset=5, sort="-self", **asked)["rows"]
        same([(r["self"], r["overall"]) for r in far], [(r["self"], r["overall"]) for r in everything[5:12]])


@case
def what_stands_around_a_sequence():
    for s, model, asked, rnd, names in each():
        for _ in range(6):
            path = rnd.choice(list(model.paths) or [("f0",)])
            start = rnd.randrange(len(path))
            sequence = path[start:start + rnd.randrange(1, 4)]
            if not model.paths:
                break
            a = s.api("around", block=sequence, in_limit=1000, out_limit=1000, **asked)
            self_, overall, callers, callees, recursive = model.around(sequence)
            same((a["self"], a["overall"], a["recursive"]), (self_, overall, recursive), sequence)
            side = lambda name: {a["names"][r["block"]] if r["block"] is not None else None: r["overall"]
                                 for r in a[name]["rows"]}
            same(side("callers"), callers, sequence)
            same(side("callees"), callees, sequence)
            same([a["names"][b] for b in a["sequence"]], list(sequence))
            same(a["callers"]["count"], len(callers))
            same(a["callees"]["count"], len(callees))


@case
def the_tree_level_by_level():
    for s, model, asked, rnd, names in each():
        at = []
        while True:
            a = s.api("tree", at=at, limit=1000, **asked)
            want = model.children(at)
            same(rows(a, "self", "overall"), want, at)
            counts = {a["names"][r["block"]]: r["children"] for r in a["rows"]}
            same(counts, {n: len(model.children(at + [n])) for n in want})
            if not want:
                break
            at.append(rnd.choice(list(want)))


def check_flame(flame, names, model, at, limit, total):
    nodes = {p: v for p, v in model.nodes().items() if p[:len(at)] == tuple(at)}
    if not at:
        nodes[()] = (0, total)
    paths = []
    for i, (up, b) in enumerate(zip(flame["parent"], flame["block"])):
        paths.append(tuple(at) if i == 0 else paths[up] + (names[b],))
    assert flame["parent"][0] is None
    same(len(set(paths)), len(paths))
    same(len(paths), min(limit, len(nodes)))
    values = dict(zip(paths, flame["value"]))
    same(values, {p: nodes[p][1] for p in paths})
    same(dict(zip(paths, flame["self"])), {p: nodes[p][0] for p in paths})
    # The widest are sent, and the widest child stands at its parent's left edge.
    hidden = [v for p, (_, v) in nodes.items() if p not in values]
    assert not hidden or max(hidden) <= min(values.values())
    same(flame["hidden"], len(nodes) - len(paths))
    same(flame["depth"], [len(p) - len(at) for p in paths])
    for i, p in enumerate(paths):
        children = [j for j, up in enumerate(flame["parent"]) if up == i and j]
        left = flame["x"][i]
        for j in sorted(children, key=lambda j: flame["x"][j]):
            same(flame["x"][j], left)
            left += flame["value"][j]
        widths = [flame["value"][j] for j in sorted(children, key=lambda j: flame["x"][j])]
        same(widths, sorted(widths, reverse=True))


@case
def the_flame_graph_is_the_tree():
    for s, model, asked, rnd, names in each():
        for limit in 1, 3, 20, 8000:
            at = list(rnd.choice(list(model.nodes()) or [()]))
            for where in [], at:
                a = s.api("flame", at=where, limit=limit, **asked)
                check_flame(a, a["names"], model, where, limit, model.left)
                same([a["names"][b] for b in a["ancestors"]], where[:-1])


@case
def the_overview_is_the_tops_of_the_others():
    for s, model, asked, rnd, names in each():
        a = s.api("overview", **asked)
        for table, column in ("self", 0), ("overall", 1):
            got = [(a["names"][r["block"]], r["self"], r["overall"]) for r in a[table]]
            want = sorted((v[column] for v in model.blocks().values() if v[column]), reverse=True)[:10]
            same([r[1 + column] for r in got], want)
            same({n: (x, y) for n, x, y in got}, {n: model.blocks()[n] for n, _, _ in got})
        check_flame(a["flame"], a["names"], model, [], 500, model.left)
        whole = s.api("profile")["files"][0]["metrics"]
        same([(t["metric"], t["total"]) for t in a["totals"]], [(m["name"], m["total"]) for m in whole])
        same(a["left"], model.left)


@case
def files_and_lines_count_each_path_once():
    for s, model, asked, rnd, names in each():
        a = s.api("files", limit=1000, **asked)
        of = lambda b: None if b == "(folded)" else b + ".c"
        same({r["file"]: (r["self"], r["overall"]) for r in a["rows"]}, model.grouped(of))
        assert all(r["lines"] == 1 and not r["readable"] for r in a["rows"])
        for column in "file", "self", "overall":
            for sign in "", "-":
                got = [r[column] for r in s.api("files", limit=1000, sort=sign + column, **asked)["rows"]]
                key = (lambda name: name or "") if column == "file" else None  # without a file: first
                same(got, sorted(got, key=key, reverse=sign == "-"), column)
                same(len(got), len(a["rows"]), column)
        for name in names[:3]:
            if name not in model.blocks():
                continue
            one = s.api("source", file=name + ".c", **asked)
            same([(r["self"], r["overall"]) for r in one["rows"]], [model.blocks()[name]])
            assert one["text"] is None
            same(one["reason"], "it is not there")


@case
def the_report_says_the_same():
    for seed in range(3):
        paths, names = make(seed)
        with Server("p.pb") as s:
            for filters_, arguments in ({}, ()), ({"fold": ["f1", "f2"]}, ("--fold", "f1", "--fold", "f2")), \
                    ({"select": ["f3"], "exclude": ["f4"]}, ("--select", "f3", "--exclude", "f4")):
                want = report("--overall", *arguments, "p.pb")
                a = s.api("blocks", limit=1000, sort="-overall", **filters_)
                got = [(a["names"][r["block"]], r["self"], r["overall"]) for r in a["rows"] if r["overall"]]
                same(got, [(r["name"], r["self"], r["overall"]) for r in want["rows"]])
                same((a["total"], a["left"]), (want["total"], want["left"]))
                want = report("--block", "f0", *arguments, "p.pb")
                a = s.api("around", block="f0", in_limit=1000, out_limit=1000, **filters_)
                for side in "callers", "callees":
                    same([(a["names"][r["block"]] if r["block"] is not None else "(root)", r["overall"])
                          for r in a[side]["rows"]], [(r["name"], r["overall"]) for r in want[side]])
                want = report("--knots", *arguments, "p.pb")["rows"]
                a = s.api("knots", limit=1000, **filters_)
                same(a["count"], len(want))
                for got, knot in zip(a["rows"], want):
                    same([a["names"][b] for b in got["members"]], [b["name"] for b in knot["blocks"]][:20])
                    same([got[k] for k in ("self", "overall", "deepest")],
                         [knot[k] for k in ("self", "overall", "deepest")])
                    same((got["member_count"], got["in_count"]), (len(knot["blocks"]), len(knot["in"])))


@case
def csv_has_every_row():
    paths, names = make(5)
    with Server("p.pb") as s:
        for question, more in (("blocks", ""), ("sequences", ""), ("around", "&block=f0"), ("tree", "&at=f0"),
                               ("knots", ""), ("files", ""), ("source", "&file=f1.c"), ("find", "&text=f")):
            status, headers, data = s.get(f"/api/v1/{question}?format=csv{more}")
            same(status, 200, question)
            same(headers["Content-Type"], "text/csv; charset=utf-8", question)
            table = list(csv.reader(io.StringIO(data.decode())))
            same(len({len(row) for row in table}), 1, question)
            if question == "blocks":
                same({r[0]: (int(r[4]), int(r[5])) for r in table[1:]}, Model(paths[1]).blocks())
        same(s.get("/api/v1/flame?format=csv")[0], 400)


@case
def the_best_fits_are_found_first():
    write("a.folded", "main;parse_all;reparse 3\nmain;parse 2\nmain;do_parse 5\nmain;PARSER 9\nmain;other 7\n")
    with Server("a.folded") as s:
        a = s.api("find", text="parse")
        same([a["names"][r["block"]] for r in a["rows"]], ["parse", "PARSER", "parse_all", "do_parse", "reparse"])


@case
def two_profiles_are_compared_by_block():
    before, _ = make(1, "a.pb")
    after, _ = make(2, "b.pb")
    with Server("a.pb", "b.pb") as s:
        assert s.url.endswith("/compare")
        same(s.api("profile")["compare"], True)
        for chosen in {}, {"fold": ["f1"]}, {"exclude": ["f5"]}:
            x, y = Model(before[1], **chosen), Model(after[1], **chosen)
            a = s.api("compare", limit=1000, **chosen)
            same((a["left_before"], a["left_after"]), (x.left, y.left))
            same((a["total_before"], a["total_after"]), (x.total, y.total))
            want, b, c = {}, x.blocks(), y.blocks()
            for n in set(b) | set(c):
                p, q = b.get(n, (0, 0)), c.get(n, (0, 0))
                change = (q[0] - p[0]) or (q[1] - p[1])
                want[n] = (p[0], q[0], p[1], q[1], "new" if n not in b else "gone" if n not in c else
                           "slower" if change > 0 else "faster" if change < 0 else "same")
            keys = "self_before", "self_after", "overall_before", "overall_after", "state"
            same({r["name"]: tuple(r[k] for k in keys) for r in a["rows"]}, want)
            changes = [abs(r["self_after"] - r["self_before"]) for r in a["rows"]]
            same(changes, sorted(changes, reverse=True))
            for r in a["rows"]:
                block = a["blocks"][r["block"]]
                side = s.api("blocks", side=block["side"], search=block["name"], **chosen)
                has(side["labels"], block["label"])
            slower = s.api("compare", limit=1000, state=["slower", "new"], **chosen)
            same(slower["count"], sum(v[4] in ("slower", "new") for v in want.values()))
            same(slower["states"], a["states"])
            same(sum(a["states"].values()), len(want))
        # A block that only one file has filters the other without an error.
        write("c.folded", "main;here 5\nmain;both 1\n")
        write("d.folded", "main;there 7\nmain;both 1\n")
    with Server("c.folded", "d.folded") as s:
        a = s.api("compare", select=["here"])
        same((a["left_before"], a["left_after"]), (5, 0))
        same(s.api("blocks", side="after", exclude="here")["left"], 8)
        same(s.api("blocks", status=404, exclude="nowhere")["error"]["code"], "no-such-block")
        same(s.api("compare", status=400, state=["new", "bogus"])["error"]["code"], "bad-state")


@case
def files_with_other_metrics_are_compared_by_one_that_both_have():
    for name, types in ("a.pb", ("calls", "alpha")), ("b.pb", ("beta", "calls")), ("c.pb", ("gamma",)):
        p = Profile(tuple((t, "count") for t in types))
        p.add(["main", "f"], list(range(3, 3 + len(types))))
        write(name, p.bytes())
    with Server("a.pb", "b.pb") as s:
        a = s.api("compare")
        same((a["metric"], a["total_before"], a["total_after"]), ("calls", 3, 4))
        same(s.api("compare", status=404, metric="alpha")["error"]["code"], "no-such-metric")
    with Server("a.pb", "c.pb") as s:
        has(s.api("compare", status=404)["error"]["message"], "no metric in common")


@case
def decimals_of_both_sides_are_made_the_same():
    write("a.folded", "main;f 1.5\n")
    write("b.folded", "main;f 2\n")
    with Server("a.folded", "b.folded") as s:
        a = s.api("compare")
        same((a["decimals"], a["total_before"], a["total_after"]), (1, 15, 20))
        table = s.get("/api/v1/compare?format=csv&sort=name")[2].decode().splitlines()
        same(table[1], "f,,1.5,2,1.5,2,slower,name,0")


@case
def exports_are_what_convert_writes():
    paths, _ = make(7)
    with Server("p.pb") as s:
        for name in "svg", "html", "folded", "speedscope", "pprof":
            status, headers, data = s.get(f"/api/v1/export?as={name}&fold=f1")
            same(status, 200)
            assert headers["Content-Disposition"].startswith('attachment; filename="p.pb.')
            if name != "pprof":  # it has what the tree holds, not what the file had besides
                want = run(Server.ouro, "convert", "--fold", "f1", "--to", name, "p.pb", "-", status=0, text=False).out
                same(data, want, name)
            else:
                write("q.pb", data)
                got = {r["name"]: r["self"] for r in report("--self", "q.pb")["rows"]}
                same(got, {n: v[0] for n, v in Model(paths[1], fold=["f1"]).blocks().items() if v[0]})
        inner = urllib.parse.quote(next(p[1] for p in paths[1] if len(p) > 1))
        whole, part = (s.get("/api/v1/export?as=svg" + at)[2] for at in ("", "&at=f0&at=" + inner))
        assert part.startswith(b"<?xml")
        assert part != whole, "a part of the graph is the whole"
        same(s.get("/api/v1/export?as=exe")[0], 400)


@case
def odd_profiles_are_answered():
    write("empty.folded", "")
    write("zero.folded", "main;f 0\n")
    write("one.folded", "f 1\n")
    write("long.folded", "main;" + "x" * 5000 + " 1\n")
    write("deep.folded", ";".join(f"f{i}" for i in range(3000)) + " 1\n")
    write("same.folded", "f;f;f 3\n")
    for name in "zero", "one", "long", "deep", "same":
        with Server(name + ".folded") as s:
            for q in "profile", "overview", "blocks", "sequences", "flame", "tree", "knots", "files":
                s.api(q)
    with Server("zero.folded") as s:
        same(s.api("blocks")["total"], 0)
    with Server("deep.folded") as s:
        a = s.api("sequences", sort="-length", limit=1)
        row = a["rows"][0]
        same(row["length"], 3000)
        same([a["names"][b] for b in row["path"]], [f"f{i}" for i in [*range(200), *range(2800, 3000)]])
        line = s.get("/api/v1/sequences?format=csv&sort=-length&limit=1")[2].decode().splitlines()[1]
        assert line.startswith('"f0;f1;')
        has(line, ";f199;(2600 more);f2800;")
        assert line.endswith(";f2999\",3000,1,1")
    with Server("same.folded") as s:
        everything = s.api("blocks", fold="f")
        same([(n, r["self"]) for n, r in zip(everything["names"], everything["rows"])], [("(folded)", 3)])
        same(everything["blocks"][0]["mark"], "folded")
        same(s.api("around", fold="f", block="(folded)")["overall"], 3)
        same(s.api("blocks", select="f")["left"], 3)


@case
def empty_profiles_are_told():
    p = Profile()
    write("none.pb", p.bytes())
    with Server("none.pb") as s:
        for q in "overview", "blocks", "sequences", "flame", "tree", "knots", "files":
            same(s.api(q)["total"], 0, q)
        same(s.api("flame")["value"], [0])


@case
def labels_find_their_blocks_again():
    names = ["f", "f", "g@f.c:1", "<script>alert(1)</script>", "a&b=c", "x+y z%41", "naïve", '"\\\n\t\x01', "🐍" * 50]
    p = Profile()
    for i, name in enumerate(names):
        p.add(["main", f"{name}#{i}" if i < 2 else name], [i + 1])
    write("p.pb", p.bytes())
    write("bytes.folded", b"main;a\xff 1\nmain;a\xfe 2\nmain;\xc3( 4\nmain;a\xef\xbf\xbd 8\nmain;ok 16\n")
    for file in "p.pb", "bytes.folded":
        with Server(file) as s:
            a = s.api("blocks", limit=1000)
            same(len(set(a["labels"])), len(a["labels"]))
            for row, label in zip(a["rows"], a["labels"]):
                one = s.api("around", block=label)
                same((one["self"], one["overall"]), (row["self"], row["overall"]), label)
                same(one["labels"][one["sequence"][0]], label)
                left = s.api("blocks", select=label)["left"]
                same(left, row["overall"])


@case
def an_ambiguous_name_lists_candidates():
    write("p.speedscope.json", json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "f", "file": "a.c", "line": 3}, {"name": "f", "file": "b.c", "line": 4},
                              {"name": "f", "file": "b.c", "line": 4, "col": 9}, {"name": "g"}]},
        "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 6,
                      "samples": [[0], [1], [2], [3]], "weights": [1, 2, 3, 4]}]}))
    with Server("p.speedscope.json") as s:
        a = s.api("blocks")
        same(set(a["labels"]), {"f@a.c:3", "f@b.c:4:0", "f@b.c:4:9", "g"})
        e = s.api("around", block="f", status=400)["error"]
        same(e["code"], "ambiguous-block")
        same(set(e["candidates"]), {"f@a.c:3", "f@b.c:4:0", "f@b.c:4:9"})
        same(s.api("around", block="f@b.c:4:9")["self"], 3)
        e = s.api("around", block="F", status=404)["error"]
        same(e["code"], "no-such-block")
        has(e["candidates"], "f@a.c:3")
        same(s.api("around", block="a.c:3")["self"], 1)


@case
def every_table_has_one_order_and_one_page_in_json_and_csv():
    write("c.folded", "main;a;b;a;b 5\nmain;c;d;c 3\nmain;x;[pruned] 2\nmain;x 1\ny;x 4\n")
    with Server("c.folded", "c.folded") as s:
        one, other = (s.api("knots", sort=sign + "overall") for sign in ("", "-"))
        same([r["overall"] for r in one["rows"]], [3, 5])
        same([r["overall"] for r in other["rows"]], [5, 3])
        page = s.api("around", block="x", in_limit=1, in_offset=1)["callers"]
        same((page["count"], [r["overall"] for r in page["rows"]]), (2, [3]))
        table = s.get("/api/v1/around?block=x&in_limit=1&in_offset=1&format=csv")[2].decode().splitlines()
        same(table[1:], ["x,,0,0,5,7,,block", "main,,0,0,,3,,caller", "[pruned],,0,0,,2,,callee"])
        message = s.api("blocks", status=400, sort="none")["error"]["message"]
        same(message, "sort is one of self, overall, calls, name, file; - in front for descending")
        blocks = {b["name"]: b for b in s.api("compare")["blocks"]}
        same(blocks["[pruned]"]["mark"], "pruned")
        same([key for key in ("mark", "column") if key in blocks["x"]], [])

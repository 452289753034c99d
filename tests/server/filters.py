# SPDX-License-Identifier: MIT
"""Filters by labels and by regular expressions: the API and the command against a look at every sample."""
import json, random, re, urllib.parse
from harness import Server
from pprof import Profile
from suite import case, has, run, same, write

TYPES = (("samples", "count"), ("time", "nanoseconds"))
KEYS = {"thread": ["main", "worker 1", "größe"], "host": ["a", "b=c"]}


def make(seed, name="l.pb"):
    """A random profile with labels, as a file and as a list of samples."""
    rnd, p, samples = random.Random(seed), Profile(TYPES), []
    for _ in range(80):
        path = [f"f{rnd.randrange(6)}" for _ in range(rnd.randrange(1, 6))]
        labels = [(key, value) for key in KEYS for value in KEYS[key] if rnd.random() < 0.3]
        values = [rnd.randrange(1, 50), rnd.randrange(1, 10**9)]
        p.add(path, values, labels)
        samples.append((path, values, labels))
    write(name, p.bytes())
    return samples


def holds(labels, condition):
    key, value, unwanted = condition
    there = [v for k, v in labels if k == key]
    return (not there) if value == "" else value in there


def passes(labels, conditions):
    if any(c[2] and holds(labels, c) for c in conditions):
        return False
    wanted = [c for c in conditions if not c[2]]
    return all(any(holds(labels, c) for c in wanted if c[0] == key) for key in {c[0] for c in wanted})


def text(condition):
    return f"{condition[0]}{'!=' if condition[2] else '='}{condition[1]}"


def random_conditions(rnd):
    keys = [rnd.choice(list(KEYS)) for _ in range(rnd.randrange(4))]
    return [(key, rnd.choice(KEYS[key] + [""]), rnd.random() < 0.3) for key in keys]


def overall(samples, metric):
    out = {}
    for path, values, _ in samples:
        for name in set(path):
            out[name] = out.get(name, 0) + values[metric]
    return out


def shown(answer):
    return {answer["names"][r["block"]]: r["overall"] for r in answer["rows"]}


@case
def labels_leave_what_a_look_at_every_sample_leaves():
    for seed in range(3):
        rnd, samples = random.Random(seed), make(seed)
        with Server("l.pb") as s:
            for _ in range(12):
                conditions = random_conditions(rnd)
                left = [one for one in samples if passes(one[2], conditions)]
                got = s.api("blocks", metric="time", label=[text(c) for c in conditions])
                same(shown(got), overall(left, 1), conditions)
                same((got["total"], got["left"]), (sum(v[1] for _, v, _ in samples), sum(v[1] for _, v, _ in left)))
                told = json.loads(run(Server.ouro, "report", "--overall", "--json", "--metric", "time", *[
                    part for c in conditions for part in ("--label", text(c))], "l.pb", status=0).out)
                same({r["name"]: r["overall"] for r in told["rows"]}, overall(left, 1), conditions)


@case
def labels_lists_keys_and_the_values_that_could_be_chosen_besides():
    samples = make(7)
    with Server("l.pb") as s:
        same(s.api("profile")["files"][0]["label_count"], 2)
        keys = s.api("labels")["rows"]
        same({r["key"]: r["values"] for r in keys}, {key: len(values) for key, values in KEYS.items()})
        for conditions in [], [("thread", "main", False)], [("thread", "main", False), ("host", "a", True)]:
            for key in KEYS:
                others = [c for c in conditions if c[0] != key]
                left = [one for one in samples if passes(one[2], others)]
                want = {v: sum(values[0] for _, values, l in left if (key, v) in l) for v in KEYS[key]}
                want[""] = sum(values[0] for _, values, l in left if key not in dict(l))
                got = s.api("labels", key=key, metric="samples", label=[text(c) for c in conditions])
                same({r["value"]: r["amount"] for r in got["rows"]}, {v: n for v, n in want.items() if n or v})
                amounts = [r["amount"] for r in got["rows"]]
                same(amounts, sorted(amounts, reverse=True))
        same([r["value"] for r in s.api("labels", key="thread", search="MAI")["rows"]], ["main"])
        same([r["value"] for r in s.api("labels", key="thread", search="/^w.*[0-9]$/")["rows"]], ["worker 1"])
        page = s.api("labels", key="thread", limit=1, offset=1)
        same((len(page["rows"]), page["count"], page["offset"]), (1, 4, 1))
        has(s.api("labels", status=404, key="nope")["error"]["message"], "nope")


@case
def a_label_that_makes_no_sense_is_refused():
    make(1)
    with Server("l.pb") as s:
        same(s.api("blocks", status=400, label="thread")["error"]["code"], "bad-label")
        same(s.api("blocks", status=404, label="thread=nobody")["error"]["code"], "no-such-label")
        same(s.api("blocks", status=404, label="nothing=1")["error"]["code"], "no-such-label")
    has(run(Server.ouro, "report", "--label", "thread=nobody", "l.pb", status=2).err, "thread has no value nobody")
    has(run(Server.ouro, "view", "--label", "x", "l.pb", status=2).err, "a label is KEY=VALUE")


@case
def a_label_that_only_one_of_two_files_has_leaves_nothing_of_the_other():
    make(2, "a.pb")
    p = Profile(TYPES)
    p.add(["f0", "g"], [1, 1], [("thread", "other")])
    write("b.pb", p.bytes())
    with Server("a.pb", "b.pb") as s:
        got = s.api("compare", label="thread=other", metric="samples")
        same((got["left_before"], got["left_after"]), (0, 1))
        same(s.api("blocks", label="thread=other", side="before")["rows"], [])


@case
def expressions_filter_the_blocks_that_they_match():
    for seed in range(3):
        rnd, samples = random.Random(seed), make(seed)
        with Server("l.pb") as s:
            for expression in "^f[0-2]$", "3", "f4|f5", "^nothing$", "F1$", r"f\d\.c$":
                # The file of f1 is f1.c.
                found = lambda name: bool(re.search(expression, name, re.I) or re.search(expression, name + ".c", re.I))
                some = lambda path: any(map(found, path))
                got = s.api("blocks", metric="samples", **{"select-match": expression})
                same(shown(got), overall([one for one in samples if some(one[0])], 0), expression)
                got = s.api("blocks", metric="samples", **{"exclude-match": expression})
                same(shown(got), overall([one for one in samples if not some(one[0])], 0), expression)
                folded = s.api("blocks", metric="samples", **{"fold-match": expression})
                same(folded["left"], folded["total"])
                assert not [name for name in shown(folded) if found(name)], expression
            both = s.api("blocks", metric="samples", **{"select-match": ["f0", "f1"]})
            same(shown(both), overall([one for one in samples if "f0" in one[0] and "f1" in one[0]], 0))
            search = s.api("blocks", search="/^f[01]$/")
            same(sorted(shown(search)), ["f0", "f1"])
    told = json.loads(run(Server.ouro, "report", "--overall", "--json", "--select-match", "^f3$", "--fold-match", "[45]",
                          "l.pb", status=0).out)
    assert not {r["name"] for r in told["rows"]} & {"f4", "f5"}
    has(run(Server.ouro, "report", "--select-match", "nope", "l.pb", status=2).err, "matches nope")
    has(run(Server.ouro, "report", "--fold-match", "(", "l.pb", status=2).err, "without its )")


@case
def an_expression_that_is_wrong_or_hostile_is_refused_and_hangs_nothing():
    p = Profile(TYPES)
    rnd = random.Random(5)
    for i in range(400):
        p.add(["".join(rnd.choice("ab") for _ in range(4000))], [1, 1])
    write("long.pb", p.bytes())
    with Server("long.pb") as s:
        for parameter in "select-match", "exclude-match", "fold-match":
            error = s.api("blocks", status=400, **{parameter: "a(b"})["error"]
            same(error["code"], "bad-pattern")
            has(error["message"], "a ( without its )")
        same(s.api("blocks", status=400, search="/[z/")["error"]["code"], "bad-pattern")
        same(s.api("find", status=400, text="/*/")["error"]["code"], "bad-pattern")
        same(s.api("total", status=400, search="/(?=x)/")["error"]["code"], "bad-pattern")
        for expression in "^(a+)+$", "(a|b)*a(a|b){300}!", "((a?){30}){30}c":
            got = s.get("/api/v1/total?" + urllib.parse.urlencode({"search": f"/{expression}/"}))
            assert got[0] in (200, 400), got
        has(s.api("total", status=400, search="/(a|b)*a(a|b){300}!/")["error"]["message"], "takes too long")


@case
def pprof_after_a_label_filter_keeps_the_labels():
    samples = make(3)
    run(Server.ouro, "convert", "--label", "thread=main", "l.pb", "main.pb", status=0)
    left = [one for one in samples if ("thread", "main") in one[2]]
    with Server("main.pb") as s:
        same(s.api("overview", metric="samples")["total"], sum(v[0] for _, v, _ in left))
        hosts = {r["value"]: r["amount"] for r in s.api("labels", key="host", metric="samples")["rows"]}
        same(hosts["a"], sum(v[0] for _, v, l in left if ("host", "a") in l))


@case
def perf_and_speedscope_have_labels_too():
    write("perf.txt", "".join(f"cmd 7/{tid} [00{tid}] 1.{i}: 100 cycles:\n\t10 f{i % 3}+0x1 (/bin/x)\n\n"
                              for i, tid in enumerate([1, 1, 2, 3, 2])))
    with Server("perf.txt") as s:
        same([r["key"] for r in s.api("labels")["rows"]], ["comm", "pid", "tid", "cpu"])
        same({r["value"]: r["amount"] for r in s.api("labels", key="tid", metric="samples")["rows"]},
             {"1": 2, "2": 2, "3": 1})
        same(s.api("blocks", label=["tid=1", "tid=3"], metric="cycles")["left"], 300)
    frames = {"frames": [{"name": "a"}, {"name": "b"}]}
    profiles = [{"type": "sampled", "name": name, "unit": "none", "startValue": 0, "endValue": 2, "samples": [[0], [0, 1]],
                 "weights": [1, weight]} for name, weight in (("main", 2), ("io", 5))]
    write("t.speedscope.json", json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                                           "shared": frames, "profiles": profiles}))
    with Server("t.speedscope.json") as s:
        same({r["value"]: r["amount"] for r in s.api("labels", key="thread")["rows"]}, {"io": 6, "main": 3})
        same(shown(s.api("blocks", label="thread=io")), {"a": 6, "b": 5})


@case
def many_values_are_paged():
    p = Profile((("samples", "count"),))
    for i in range(20000):
        p.add(["main", f"f{i % 7}"], [1 + i % 3], [("request", f"r{i:05}")])
    write("many.pb", p.bytes())
    with Server("many.pb") as s:
        got = s.api("labels", key="request")
        same((len(got["rows"]), got["count"]), (100, 20000))
        same(s.api("labels", key="request", search="r1999")["count"], 10)
        same(s.api("blocks", label=["request=r00001", "request=r00002"])["left"], 5)

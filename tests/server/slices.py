# SPDX-License-Identifier: MIT
"""Slices: what is said of them and what is left when some are chosen, against a look at each. The files are made
by hand, so that every duration is known."""
import bisect, random
from harness import Server, becomes
from life import Writer
from pprof import Profile, msg, num, varint
from suite import case, has, lacks, same, write

TYPES = (("calls", "count"), ("recursions", "count"), ("direct", "count"), ("time", "nanoseconds"))
BLOCKS = ("think", "draw", "collect")
SECOND = 10**9
KINDS = {1: "slowest", 2: "last", 4: "evenly"}


def bucket(value):
    octave = value.bit_length() - 1
    return value if value < 128 else (octave - 7) * 128 + (value >> (octave - 7))


def least(bucket):
    return bucket if bucket < 128 else (128 + bucket % 128) << (bucket // 128 - 1)


def heat_row(duration):
    octave = duration.bit_length() - 1
    return 0 if duration < 256 else (octave - 8) * 4 + (duration >> (octave - 2) & 3)


def numbers(field, values):
    return msg(field, b"".join(map(varint, values)))


def counts(field, found):
    out, before = [], 0
    for index in sorted(found):
        out += [index - before, found[index]]
        before = index
    return numbers(field, out)


class Frames:
    """Random frames of a game, of which some are kept: a profile, and what is in it."""

    def __init__(self, seed, count=300, rows=None):
        rnd, at = random.Random(seed), 5_000_000
        self.all, self.kept = [], {}
        rows = count if rows is None else rows
        histogram, heat = {}, {}
        for n in range(1, count + 1):
            slow = rnd.random() < 0.02
            duration = rnd.randrange(40, 60) * 1_000_000 if slow else rnd.randrange(8, 17) * 1_000_000 + n
            self.all.append((n, at, duration, slow))
            histogram[bucket(duration)] = histogram.get(bucket(duration), 0) + 1
            cell = (at - 5_000_000) // 2**28 * 128 + heat_row(duration)
            heat[cell] = heat.get(cell, 0) + 1
            at += duration
        slowest = sorted(self.all, key=lambda f: -f[2])[:8]
        for why, some in (1, slowest), (2, self.all[-8:]), (4, rnd.sample(self.all, 8)):
            for one in some:
                self.kept[one[0]] = self.kept.get(one[0], 0) | why
        p, rest = Profile(TYPES), 3
        self.paths = {}
        for n, start, duration, slow in self.all:
            labels = [("slice", str(n)), ("slice_duration", f"{duration} nanoseconds")]
            labels += [("slice_kind", KINDS[k]) for k in KINDS if self.kept.get(n, 0) & k]
            self.paths[n] = [(name, 1000 * (i + 1) + n) for i, name in enumerate(BLOCKS) if name != "collect" or slow]
            for name, value in self.paths[n]:
                p.add(["main", name], [1, 0, 0, value], labels if n in self.kept else ())
        self.total = sum(value for n in self.paths for _, value in self.paths[n])
        table = []
        for n, start, duration, slow in self.all[:rows]:
            table += [5_000_000 if n == 1 else 0, duration, 0, 0, 0, 0]
        body = num(1, 0) + msg(2, b"frame") + num(3, 0) + num(4, count) + num(5, max(f[2] for f in self.all))
        body += numbers(6, [0] * 4) + numbers(8, table) + counts(9, histogram) + counts(11, heat)
        body += num(12, 5_000_000) + num(13, 2**28)
        for n, why in sorted(self.kept.items()):
            _, start, duration, _ = self.all[n - 1]
            totals = [0, 0, 0, sum(v for _, v in self.paths[n]) + rest]
            body += msg(14, numbers(1, [n, start, duration, why]) + numbers(2, totals) + numbers(3, [0, 0, 0, rest]))
        p.extra = msg(1000, body)
        self.bytes = p.bytes()

    def rank(self, part):
        durations = sorted(f[2] for f in self.all)
        return durations[max(0, -(-len(durations) * part // 100) - 1)]

    def meant(self, choice):
        """The numbers of the frames, and of those that have trees."""
        end = max(f[1] + f[2] for f in self.all)
        tests = {"slowest": lambda f: f[2] > self.rank(99), "typical": lambda f: f[2] <= self.rank(90),
                 "last": lambda f: f[1] >= end - 10 * SECOND}
        found = [f[0] for f in self.all if tests.get(choice, choice)(f)]
        return found, [n for n in found if self.kept.get(n, 0) & (4 if choice == "typical" else 7)]

    def values(self, numbers):
        out = {}
        for n in numbers:
            for name, value in self.paths[n]:
                out[name] = out.get(name, 0) + value
        return out


def shown(answer):
    return {answer["names"][r["block"]]: r["self"] for r in answer["rows"] if r["self"]}


@case
def slices_are_summed_up_as_a_look_at_each_says():
    for seed in range(3):
        f = Frames(seed)
        write("f.pb", f.bytes)
        with Server("f.pb") as s:
            got = s.api("slices")
            same([got[k] for k in ("name", "by", "unit", "count")], ["frame", "duration", "nanoseconds", 300])
            same([got[k] for k in ("median", "p90", "p99", "slowest")], [f.rank(k) for k in (50, 90, 99, 100)])
            same(got["exact"], True)
            same({k["slice"]: k["why"] for k in got["kept"]},
                 {str(n): [KINDS[k] for k in KINDS if why & k] for n, why in f.kept.items()})
            durations = {}
            for one in f.all:
                durations[least(bucket(one[2]))] = durations.get(least(bucket(one[2])), 0) + 1
            same({a: b for a, b in got["histogram"]}, durations)
            heat, cells = got["heat"], {}
            for _, start, duration, _ in f.all:
                cell = (start - heat["from"]) // heat["step"], bisect.bisect(heat["least"], duration) - 1
                cells[cell] = cells.get(cell, 0) + 1
            same({(c, r): n for c, r, n in heat["cells"]}, cells)
            for choice in "slowest", "typical", "last":
                found, trees = f.meant(choice)
                said = got["choices"][choice]
                same((said["count"], said["kept"]), (len(found), len(trees)), choice)
            same(s.api("profile")["files"][0]["slices"], 300)


@case
def chosen_slices_are_what_every_question_answers_about():
    for seed in range(3):
        f = Frames(seed + 10)
        write("f.pb", f.bytes)
        within = lambda a, b, c=0, d=99: lambda one: a <= one[1] / SECOND < b and c <= one[2] / SECOND < d
        choices = [("slowest", "slowest"), ("typical", "typical"), ("last", "last"), ("1-2", within(1, 2)),
                   ("1.5-3,0.02-", within(1.5, 3, 0.02)), (",0.03-0.05", within(0, 99, 0.03, 0.05)),
                   (str(f.all[-1][0]), lambda one: one is f.all[-1])]
        with Server("f.pb") as s:
            for text, choice in choices:
                found, trees = f.meant(choice)
                got = s.api("blocks", slices=text, metric="time")
                same(shown(got), f.values(trees), text)
                same(got["slices"], {"count": len(found), "exact": True, "kept": len(trees), "rest": 3 * len(trees)})
                same((got["total"], got["left"]), (f.total, sum(f.values(trees).values())))
                same(s.api("flame", slices=text, metric="time")["value"][0], got["left"])
                both = s.api("blocks", slices=text, metric="time", select="collect")
                same(both["left"], f.values(trees).get("collect", 0))
                picked = [n for n in trees if f.kept[n] & 1]
                kinds = s.api("blocks", slices=text, metric="time", label="slice_kind=slowest")
                same(kinds["left"], sum(f.values(picked).values()))
                one = s.api("blocks", slices=text, metric="time", label=[f"slice={n}" for n in sorted(f.kept)[:5]])
                same(one["left"], sum(f.values([n for n in trees if n in sorted(f.kept)[:5]]).values()))
            # A choice without trees says so, and nothing else.
            alone = next(one[0] for one in f.all if one[0] not in f.kept)
            got = s.api("blocks", slices=str(alone))
            same((got["slices"]["count"], got["slices"]["kept"], got["left"], got["rows"]), (1, 0, 0, []))
            got = s.api("labels", slices="slowest", key="slice", metric="time")
            same({r["value"]: r["amount"] for r in got["rows"] if r["amount"] and r["value"]},
                 {str(n): sum(v for _, v in f.paths[n]) for n in f.meant("slowest")[1]} | {
                     str(n): sum(v for _, v in f.paths[n]) for n in f.kept})


@case
def slices_beyond_the_table_are_counted_by_histogram_and_heat_map():
    f = Frames(5, rows=40)
    write("f.pb", f.bytes)
    with Server("f.pb") as s:
        got = s.api("slices", slices="1-2")
        same((got["exact"], got["count"]), (False, 300))
        same((got["choices"]["slowest"]["exact"], got["chosen"]["exact"]), (True, False))
        same(sum(n for _, _, n in got["heat"]["cells"]), 300)
        same(sum(got["heat"]["sums"]), 300)
        found, _ = f.meant("slowest")
        assert abs(got["choices"]["slowest"]["count"] - len(found)) <= 2, got["choices"]
        assert 0 < got["chosen"]["count"] < 300


@case
def slow_slices_are_compared_with_typical_ones_per_slice():
    for seed in range(3):
        f = Frames(seed + 20)
        write("f.pb", f.bytes)
        slow, typical = f.meant("slowest")[1], f.meant("typical")[1]
        per = lambda numbers: {name: round(value * 1000 / len(numbers)) for name, value in f.values(numbers).items()}
        with Server("f.pb") as s:
            ask = dict(slices="slowest", against="typical", metric="time")
            got = s.api("compare", **ask)
            same((got["per_slice"], got["decimals"]), (True, 3))
            same((got["slices_before"]["kept"], got["slices_after"]["kept"]), (len(typical), len(slow)))
            known = [r for r in got["rows"] if r["name"] in BLOCKS]
            rows = {r["name"]: (r["self_before"], r["self_after"], r["state"]) for r in known}
            before, after = per(typical), per(slow)
            same({n: r[:2] for n, r in rows.items()}, {n: (before.get(n, 0), after[n]) for n in after})
            same(rows["collect"][2], "new")
            same(got["left_after"], sum(after.values()))
            same(got["total_after"], got["left_after"])
            for side, left in ("before", before), ("after", after):
                graph = s.api("difference", side=side, **ask)
                same((graph["left"], graph["value"][0]), (sum(left.values()),) * 2)
                same((graph["before"][0], graph["after"][0]), (sum(before.values()), sum(after.values())))
            folded = s.api("compare", fold="collect", **ask)
            same((folded["left_after"], folded["total_after"]), (got["left_after"],) * 2)
            alone = s.api("compare", select="collect", **ask)
            same((alone["left_before"], alone["left_after"]), (0, after["collect"]))
            same(alone["total_after"], got["left_after"])
            # A path by its id, on both sides.
            at = graph["id"][1]
            same(s.api("difference", side="before", path=at, nearest="true", **ask)["at"]["id"], at)


@case
def mistakes_about_slices_are_told():
    f = Frames(1)
    write("f.pb", f.bytes)
    write("a.folded", "main;a 5\n")
    with Server("f.pb") as s:
        code = lambda question="blocks", status=400, **p: s.api(question, status=status, **p)["error"]["code"]
        for bad in "x", "", "5-2", "1.5", "1-2,", "slowest,typical", "-1e9", "9" * 30 + "-", "1/2/3":
            same(code(slices=bad), "bad-slices", bad)
            same(code("slices", slices=bad), "bad-slices", bad)
            same(code("compare", slices="slowest", against=bad), "bad-slices", bad)
        same(code(slices="last", last="3"), "bad-slices")
        same(code(slices="last", during="3-4"), "bad-slices")
        same(code("compare", against="typical"), "bad-slices")
        same(code("compare", status=404, slices="typical"), "no-comparison")
        same(code(status=404, side="after", slices="typical"), "no-such-side")
        for bad in "x", "5-2", "-", "1e400-", "nan-inf", "5", "-3":
            same(code(during=bad), "bad-number", bad)
        same(code(during="1-2", last=5), "bad-number")
    with Server("a.folded") as s:
        same(s.api("profile")["files"][0]["slices"], 0)
        same(s.api("slices", status=404)["error"]["code"], "no-slices")
        same(s.api("blocks", status=404, slices="slowest")["error"]["code"], "no-slices")
    with Server("f.pb", "a.folded") as s:
        same(s.api("blocks", slices="slowest", side="after", metric="samples", status=200)["left"], 0)
        same(s.api("compare", status=400, slices="slowest", against="typical")["error"]["code"], "bad-slices")


@case
def a_file_that_is_saved_says_which_slices_it_has():
    f = Frames(2)
    write("f.pb", f.bytes)
    with Server("f.pb") as s:
        page = s.get("/api/v1/export?as=svg&slices=slowest&metric=time")[2].decode()
        has(page, "slices slowest")
        lacks(s.get("/api/v1/export?as=svg&metric=time")[2].decode(), "slowest")


@case
def a_stretch_of_the_time_that_was_watched_has_what_happened_then():
    w = Writer("live.ouro")
    w.step("main.before")
    with Server("live.ouro") as s:
        ends = []
        for n in range(1, 4):
            w.step(f"main.new{n}")
            becomes(lambda: s.api("blocks", last=1000000)["total"], 10 * n)
            grown = s.api("history", seconds=1000000)
            ends.append(grown["now"] - grown["slices"][-1]["to"])
        during = lambda a, b: s.api("blocks", during=f"{a:.6f}-{'' if b is None else f'{b:.6f}'}")
        gap = 0.00001  # of rounding
        for (a, b), want in {(0, None): {"new1", "new2", "new3"}, (0, ends[0] - gap): {"new1"},
                             (ends[0] + gap, ends[1] - gap): {"new2"}, (ends[1] + gap, None): {"new3"},
                             (ends[2] + gap, None): set()}.items():
            got = during(a, b)
            same({got["names"][r["block"]] for r in got["rows"] if r["self"]}, want, (a, b, ends))
            same(got["total"], 10 * len(want))
            if b:
                assert got["during"][0] < got["during"][1] and abs(got["during"][1] - b) < 3 * gap, (got["during"], b)
        w.end()

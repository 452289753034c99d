# SPDX-License-Identifier: MIT
"""A store instead of files: every choice is answered as `ouro merge` of the same files would be, charts and offers as a
list of all slices would; what makes no sense is a sentence, and SQL is data."""
import os, random, sqlite3, threading, time
from harness import Server
from pprof import Profile, num, random_profile
from suite import case, has, lacks, run, same, write

SEED = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))
SERVICES, HOSTS, BUILDS = ["web", "db", "mail"], ["a1", "a2", "b1"], ["7", "8"]
END = 1794800000  # seconds; a choice has whole ones


def ouro(*words):
    return run(Server.ouro, *words, status=0).out


def push(name, labels, store="s.db"):
    words = [w for key, value in labels.items() for w in ("--label", f"{key}={value}")]
    ouro("push", "--store", store, *words, name)


class Slices:
    """Random slices in s.db, and the same in a list: (file, labels, when they ended)."""

    def __init__(self, dice, count):
        self.all = []
        for i in range(count):
            p = random_profile(dice.randrange(10 ** 9), True)
            ended = END - dice.randrange(5000)
            p.extra += num(9, (ended - 10) * 10 ** 9) + num(10, 10 * 10 ** 9)
            labels = {"service": dice.choice(SERVICES), "host": dice.choice(HOSTS), "build": dice.choice(BUILDS)}
            push(write(f"p{i}.pb", p.bytes()), labels)
            self.all.append((f"p{i}.pb", labels, ended))

    def files(self, fits):
        return [name for name, labels, ended in self.all if fits(labels, ended)]


def a_choice(dice):
    """Text, and what it means."""
    service, build = dice.choice(SERVICES), dice.choice(BUILDS)
    since = END - dice.randrange(1, 6000)
    return dice.choice([
        ("", lambda l, t: True),
        (f"service={service}", lambda l, t: l["service"] == service),
        (f"build!={build} host=a*", lambda l, t: l["build"] != build and l["host"][0] == "a"),
        (f"service=db,{service} since={since}", lambda l, t: l["service"] in ("db", service) and t > since),
        (f"until={since} build={build}", lambda l, t: t <= since and l["build"] == build),
    ])


def merged(files, name):
    ouro("merge", "--compact", "loops", *files, "-o", name)
    return name


def told(s, question, **more):
    """The rows of an answer, blocks by their names, whatever their order."""
    answer = s.api(question, limit=1000, metric="samples", **more)
    rows = []
    for row in answer["rows"]:
        named = {k: answer["names"][v] if k == "block" else [answer["names"][b] for b in v] if k == "blocks" else v
                 for k, v in row.items()}
        rows.append(sorted((k, str(v)) for k, v in named.items()))
    return answer["total"], sorted(rows)


# ---------------------------------------------------------------- the same as files

@case
def a_choice_is_answered_as_the_merged_files_are():
    print(f"# the seed is {SEED}")
    dice = random.Random(SEED)
    slices = Slices(dice, 14)
    with Server("--store", "s.db") as s:
        for i in range(6):
            where, fits = a_choice(dice)
            files = slices.files(fits)
            if not files:
                same(s.api("overview", where=where)["total"], 0, where)
                continue
            with Server(merged(files, f"m{i}.pb")) as of_file:
                same(told(s, "blocks", where=where), told(of_file, "blocks"), where)
                some = sorted(set(s.api("blocks", where=where, metric="samples")["names"]))[:1]
                same(told(s, "blocks", where=where, select=some), told(of_file, "blocks", select=some), (where, some))
                folded = [sorted(server.get("/api/v1/export?as=folded&metric=samples" + more)[2].split(b"\n"))
                          for server, more in ((s, "&where=" + where.replace(" ", "+")), (of_file, ""))]
                same(folded[0], folded[1], where)


@case
def two_choices_are_compared_as_two_files_are():
    dice = random.Random(SEED + 1)
    slices = Slices(dice, 10)
    choices = [(f"build={b}", slices.files(lambda l, t: l["build"] == b)) for b in BUILDS]
    if not all(files for _, files in choices):
        return
    files = [merged(names, f"{i}.pb") for i, (_, names) in enumerate(choices)]
    with Server("--store", "s.db") as s, Server(*files) as of_files:
        sides = {"where": choices[0][0], "with": choices[1][0]}
        both = ((s, sides), (of_files, {}))
        a, b = (server.api("compare", limit=1000, metric="samples", **more) for server, more in both)

        def key(row):
            return sorted((k, str(v)) for k, v in row.items() if k != "block")
        same(sorted(map(key, a["rows"])), sorted(map(key, b["rows"])))
        same([a["total_before"], a["total_after"], a["states"]], [b["total_before"], b["total_after"], b["states"]])
        same(*(server.api("blocks", side="after", metric="samples", **more)["total"] for server, more in both))
        same([f["choice"] for f in s.api("profile", **sides)["files"]], [c for c, _ in choices])
        same(s.api("compare", status=404, where="build=7")["error"]["code"], "no-comparison")


# ---------------------------------------------------------------- choosing

def amount(name):
    """The samples of a file, as `ouro report` counts them."""
    lines = ouro("convert", "--to", "folded", "--metric", "samples", name, "-").splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


@case
def a_chart_has_every_slice_in_its_step():
    dice = random.Random(SEED + 2)
    slices = Slices(dice, 12)
    amounts = {name: amount(name) for name, _, _ in slices.all}
    with Server("--store", "s.db") as s:
        for _ in range(8):
            where, fits = a_choice(dice)
            by, steps, values = dice.choice(["service", "host", "build", ""]), dice.randrange(3, 40), dice.randrange(4)
            got = s.api("series", where=where, by=by, steps=steps, values=values, metric="samples")
            want = {}
            for name, labels, ended in slices.all:
                if fits(labels, ended):
                    place = (labels.get(by), (ended * 1000 - got["from"] - 1) // got["step"])
                    want[place] = want.get(place, 0) + amounts[name]
            assert got["steps"] <= steps and all(0 <= step < got["steps"] for _, step in want), (got["steps"], want)
            rows = {row["value"]: row["sums"] for row in got["rows"]}
            assert len(rows) <= values
            for value, sums in rows.items():
                same(sums, [want.get((value, i), 0) for i in range(got["steps"])], (where, value))
            for i in range(got["steps"]):
                sums = [r["sums"][i] for r in got["rows"]] + ([got["other"]["sums"][i]] if got["other"] else [])
                same(sum(sums), sum(n for (_, step), n in want.items() if step == i), (where, by, i))


@case
def what_is_offered_is_what_the_choice_has():
    slices = Slices(random.Random(SEED + 3), 8)
    with Server("--store", "s.db") as s:
        got = s.api("offer", where="host=a*")
        there = [(labels, ended) for _, labels, ended in slices.all if labels["host"][0] == "a"]
        same(got["slices"], len(there))
        if there:
            same([got["first"], got["last"]], [min(t for _, t in there) * 1000, max(t for _, t in there) * 1000])
        for label in got["labels"]:
            want = {}
            for labels, _ in there:
                want[labels[label["name"]]] = want.get(labels[label["name"]], 0) + 1
            same({row["value"]: row["slices"] for row in label["rows"]}, want, label["name"])
        same([label["name"] for label in s.api("offer", name="build")["labels"]], ["build"])
        same(s.api("profile")["store"], {"title": "s.db"})
        same([m["name"] for m in s.api("profile")["files"][0]["metrics"]], ["samples", "bytes"])


@case
def an_empty_store_has_nothing_to_choose_and_says_so():
    write("x.folded", "main 1\n")
    push("x.folded", {})
    db = sqlite3.connect("s.db")
    db.executescript("DELETE FROM samples; DELETE FROM slices; DELETE FROM metrics;")
    db.close()
    with Server("--store", "s.db") as s:
        same([s.api("offer")["slices"], s.api("offer")["first"], s.api("offer")["metrics"]], [0, None, []])
        same([s.api("series", by="host")["rows"], s.api("series")["metric"]], [[], None])
        same(s.api("profile")["files"][0]["default_metric"], None)
        same(s.api("overview", where="")["total"], 0)


# ---------------------------------------------------------------- news

@case
def what_comes_is_seen_by_who_asks_for_it_fresh():
    write("x.folded", "main;f 3\n")
    write("y.folded", "main;g 4\n")
    push("x.folded", {"host": "a"})
    with Server("--store", "s.db") as s:
        def total(**more):
            return s.api("blocks", limit=1, where="host=a", **more)["total"]
        first = s.api("profile", where="host=a")["generation"]
        same(total(), 3)
        same(s.api("profile", where="host=a", fresh=0)["generation"], first, "nothing is new")
        push("y.folded", {"host": "a"})
        same(total(), 3, "who does not ask for news has the pages of one moment")
        same(total(fresh=100000), 3)
        end = time.monotonic() + 60
        while total(fresh=0) != 7 and time.monotonic() < end:  # a store is asked a fifth of the time at most
            time.sleep(0.05)
        same(total(), 7)
        assert s.api("profile", where="host=a")["generation"] > first
        same(s.api("blocks", limit=1, where="host=b")["total"], 0)


@case
def an_answer_is_known_by_its_tag_until_it_changes():
    write("x.folded", "main;f 3\n")
    push("x.folded", {})
    with Server("--store", "s.db") as s:
        status, headers, _ = s.get("/api/v1/blocks?where=")
        same(status, 200)
        same(s.get("/api/v1/blocks?where=", headers={"If-None-Match": headers["ETag"]})[0], 304)
        same(s.get("/api/v1/blocks?where=service%3Dx", headers={"If-None-Match": headers["ETag"]})[0], 200)
        assert s.get("/api/v1/series")[1]["ETag"] is None


@case
def many_choices_at_the_same_time_are_each_their_own():
    for i in range(24):
        write(f"{i}.folded", f"main;f{i} {i + 1}\n")
        push(f"{i}.folded", {"number": i})
    problems = []
    with Server("--store", "s.db") as s:
        def ask(dice):
            try:
                for _ in range(25):
                    i = dice.randrange(24)
                    same(s.api("blocks", limit=1, where=f"number={i}")["total"], i + 1)
                    same(s.api("compare", **{"where": f"number={i}", "with": "number=3"})["total_after"], 4)
            except Exception as e:
                problems.append(e)
        threads = [threading.Thread(target=ask, args=(random.Random(SEED + n),)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    same(problems, [])


@case
def the_smallest_paths_become_one_and_totals_stay():
    write("x.folded", "".join(f"main;f{i} {i}\n" for i in range(1, 101)))
    push("x.folded", {})
    with Server("--store", "s.db", "--paths", "10") as s:
        answer = s.api("blocks", where="", limit=1000)
        same(answer["total"], 5050)
        rows = {answer["names"][r["block"]]: r["self"] for r in answer["rows"]}
        same([rows["[pruned]"], rows["f100"], len(rows)], [sum(range(1, 91)), 100, 12])
        same([b["mark"] for b in answer["blocks"] if b["name"] == "[pruned]"], ["pruned"])


# ---------------------------------------------------------------- bad questions

@case
def what_makes_no_sense_is_refused_in_a_sentence():
    write("x.folded", "main;f 3\n")
    push("x.folded", {})
    with Server("--store", "s.db") as s:
        for where, words in (("service", "expected NAME=VALUE"), ("since=yesterday", "is no time"),
                             ("since=1h until=2h", "nothing is meant"), ('service="a', "quote is open")):
            for question in "blocks", "offer", "series", "profile":
                error = s.api(question, status=400, where=where)["error"]
                same(error["code"], "bad-choice", (question, where))
                has(error["message"], words)
            same(s.api("compare", status=400, **{"where": "", "with": where})["error"]["code"], "bad-choice")
        same(s.api("blocks", status=400)["error"]["code"], "no-choice")
        same(s.api("blocks", status=400, where="", fresh="x")["error"]["code"], "bad-number")
        same(s.api("blocks", status=404, where="", side="after")["error"]["code"], "no-such-side")
        for wrong in ({"steps": 0}, {"steps": 601}, {"values": 201}, {"from": "x"}, {"until": "-1"},
                      {"from": "9" * 30}):
            same(s.api("series", status=400, **wrong)["error"]["code"], "bad-number", wrong)
        same(s.api("series", status=404, metric="x")["error"]["code"], "no-such-metric")
        # Times at the ends of what can be said.
        for times in ({"from": 1, "until": 2}, {"from": 4 * 10 ** 18, "until": 1}, {"from": 1, "until": 4 * 10 ** 18}):
            assert s.api("series", **times)["steps"] <= 120
    with Server("x.folded") as s:
        for question in "offer", "series":
            same(s.api(question, status=404)["error"]["code"], "no-such-question")


ODD = ["'; DROP TABLE slices; --", '"; DELETE FROM samples; --', "x' OR '1'='1", "%", "_", "\\", "a\nb", "a,b c", "*",
       "é" * 100, "${x}", "<script>alert(1)</script>", "x" * 5000]


@case
def labels_and_choices_of_any_text_are_data():
    write("x.folded", "main;f 3\n")
    for value in ODD:
        push("x.folded", {"host": value})
    with open("s.db", "rb"):
        before = sqlite3.connect("s.db").execute("SELECT count(*), sum(length(packed)) FROM samples").fetchall()
    with Server("--store", "s.db") as s:
        for value in ODD:
            spelled = "".join("\\" + c if c in '\\",* \n\t' else c for c in value)
            same(s.api("blocks", limit=1, where="host=" + spelled)["total"], 3, value)
            same(s.api("series", where="host=" + spelled, by="host")["rows"][0]["value"], value)
            s.api("series", by=value)
            s.api("offer", name=value)
            s.api("series", status=404, metric=value)
        rows = s.api("offer", name="host")["labels"][0]["rows"]
        same(sorted(row["value"] for row in rows), sorted(ODD))
        same(s.api("blocks", limit=1, where="")["total"], 3 * len(ODD))
    after = sqlite3.connect("s.db").execute("SELECT count(*), sum(length(packed)) FROM samples").fetchall()
    same(after, before)


@case
def nobody_asks_a_store_without_the_secret_or_writes_to_it():
    write("x.folded", "main;secret_function 3\n")
    push("x.folded", {"host": "private-host"})
    with Server("--store", "s.db", secret=True) as s:
        for question in "offer", "series", "profile", "profile?where=", "blocks?where=":
            status, _, data = s.get("/api/v1/" + question)
            same(status, 403, question)
            lacks(data, b"private", b"secret_function", about=question)
            same(s.get("/api/v1/" + question, headers=s.cookie)[0], 200, question)
            same(s.get("/api/v1/" + question, headers={**s.cookie, "Host": "evil.example"})[0], 400)
            same(s.get("/api/v1/" + question, headers={**s.cookie, "Origin": "http://evil.example"})[0], 403)
            for method in "POST", "PUT", "DELETE", "PATCH":
                assert s.get("/api/v1/" + question, method=method, headers=s.cookie)[0] in (405, 413)


@case
def a_store_that_breaks_meanwhile_is_an_error_and_not_the_end():
    write("x.folded", "main;f 3\n")
    push("x.folded", {"host": "a"})
    with Server("--store", "s.db") as s:
        same(s.api("blocks", limit=1, where="host=a")["total"], 3)
        db = sqlite3.connect("s.db")
        db.executescript("UPDATE samples SET packed = x'ffffff';")
        db.close()
        same(s.api("blocks", limit=1, where="host=a")["total"], 3, "what was asked stays")
        has(s.api("blocks", status=503, where="")["error"]["message"], "damaged")
        has(s.api("series", status=503)["error"]["message"], "damaged")
        same(s.api("offer")["slices"], 1)


@case
def the_command_says_what_is_wrong_before_a_page_is_opened():
    write("x.folded", "main;f 3\n")
    push("x.folded", {})
    for words, sentence in ((("--where", "a=b"), "--where chooses from a store"),
                            (("--store", "s.db", "x.folded"), "found both"),
                            (("--store", "s.db", "--where", "x"), "expected NAME=VALUE"),
                            (("--store", "none.db"), "ouro push"), (("--store", "x.folded"), "not a database")):
        done = run(Server.ouro, "view", "--no-open", *words)
        assert done.status, words
        has(done.err, sentence)
    with Server("--store", "s.db", "--where", "host=a since=2h") as s:
        has(s.url, "/fleet?where=host%3Da%20since%3D2h")
    with Server("--store", "s.db", "--where", "build=7", "--with", "build=8") as s:
        has(s.url, "/compare?where=build%3D7&with=build%3D8")

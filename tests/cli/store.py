#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles of many machines: tests/cli/store.py OURO [WORD...]

push, store, and --store of report, diff and convert, held against `ouro merge` of the same files, and keys against
hashlib. The store is a file, or what OURO_TEST_STORE says: a URL in which {} stands for a name of the case's own.
tests/store/run.py runs the same cases on servers.
"""
import hashlib, json, os, random, sqlite3, struct, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
from pprof import Profile, random_profile
from suite import arguments, case, has, lacks, main, run, same, write

OURO, = arguments("OURO")
STORE = os.environ.get("OURO_TEST_STORE", "s.db")
IN_A_FILE = STORE == "s.db"
SEED = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))


def ouro(*words, status=0, stdin=""):
    done = run(OURO, *words, status=status, stdin=stdin)
    return done.out if status == 0 else done.err


def store():
    """The store of this case: every case has a folder of its own."""
    return STORE.replace("{}", os.path.basename(os.getcwd()))


def of_a_file(function):
    """A case that looks into the file."""
    return case(function) if IN_A_FILE else function


def push(*words, **more):
    return ouro("push", "--store", store(), *words, **more)


def folded(*words):
    """Paths and their values."""
    lines = ouro("convert", "--to", "folded", *words, "-").splitlines()
    return dict((path, int(n)) for path, n in (line.rsplit(" ", 1) for line in lines))


def chosen(where, *words):
    return folded("--store", store(), "--where", where, *words)


@case
def the_sum_of_a_choice_is_that_of_merge():
    print(f"# the seed is {SEED}")
    dice, names = random.Random(SEED), {}
    for i in range(12 if IN_A_FILE else 6):
        name = write(f"p{i}.pb", random_profile(dice.randrange(10 ** 9), True).bytes())
        labels = {"service": dice.choice(["web", "db"]), "host": dice.choice(["a1", "a2", "b1"])}
        names[name] = labels
        push("--service", labels["service"], "--label", "host=" + labels["host"], name)
    for where, fits in (("", lambda l: True), ("service=web", lambda l: l["service"] == "web"),
                        ("host=a*", lambda l: l["host"][0] == "a"), ("host!=a1", lambda l: l["host"] != "a1"),
                        ("service=db host=b1,a2", lambda l: l["service"] == "db" and l["host"] in ("b1", "a2"))):
        files = [n for n, l in names.items() if fits(l)]
        if not files:
            has(ouro("convert", "--store", store(), "--where", where, "none.pb", status=1), f"matches {where};")
            continue
        for metric in "samples", "bytes":
            ouro("merge", "--compact", "loops", *files, "-o", "sum.pb")
            same(chosen(where, "--metric", metric), folded("--metric", metric, "sum.pb"), (where, metric))


@case
def a_choice_of_nothing_says_what_is_there():
    push(write("x.folded", "main;f 3\n"))
    choice = ("--store", store(), "--where", "service=nothing")
    for words in (["convert", *choice, "none.pb"], ["convert", *choice, "none.html"],
                  ["diff", *choice, "--with", "service=x"], ["diff", "--store", store(), "--where", "service=x",
                                                             "--with", "service=nothing"]):
        has(ouro(*words, status=1), "matches service=nothing; `ouro store ", "` lists what is there")
    same([f for f in os.listdir() if f.startswith("none")], [])
    for how in [], ["--self", "--json"], ["--tree"], ["--knots"], ["--self", "--csv"]:
        has(ouro("report", *choice, *how, status=1), "no sample in ", "matches service=nothing; `ouro store ")


@case
def terms_of_other_languages_are_errors_that_show_the_form():
    push(write("x.folded", "main;f 3\n"))
    for where in ('{service="x"}', 'service=~"x"', "service=~x", "service!~x", "service==x", "service>x", "service{}",
                  "x"):
        has(ouro("report", "--store", store(), "--where", where, status=2), "expected NAME=VALUE or NAME!=VALUE at",
            "write service=web host!=a*, with spaces between terms")
    push("--service", "~x=", "x.folded")
    same(chosen('service="~x="'), {"main;f": 3})
    same(chosen("service=x,"), {"main;f": 3})


@case
def a_push_counts_the_paths_that_a_report_of_it_counts():
    write("x.folded", "main;f;g 3\nmain;h;i;j 4\n")
    has(push("x.folded"), "6 paths as slice 0")
    has(ouro("report", "--store", store()), "6 paths, 6 blocks")


@case
def a_folder_that_is_not_there_cannot_be_followed_once():
    has(push("--follow", "--once", "nowhere", status=1), "nowhere: No such file or directory; with --once")
    os.mkdir("empty")
    push("--follow", "--once", "empty")


@case
def what_has_no_time_is_shown_by_its_calls():
    p = Profile((("calls", "count"), ("time", "nanoseconds")))
    p.add(["main", "f"], [3, 0])
    push(write("calls.pb", p.bytes()))
    shown = json.loads(ouro("report", "--store", store(), "--self", "--json"))
    same((shown["metric"], [(r["name"], r["self"]) for r in shown["rows"] if r["self"]]), ("calls", [("f", 3)]))
    p.add(["main", "f"], [1, 70])
    push("--build", "2", write("both.pb", p.bytes()))
    same(json.loads(ouro("report", "--store", store(), "--self", "--json"))["metric"], "time")
    write("other.folded", "main 5\n")
    push("--service", "other", "other.folded")
    same(json.loads(ouro("report", "--store", store(), "--where", "service=other", "--self", "--json"))["total"], 5)


@case
def the_same_profile_with_the_same_labels_counts_once():
    write("x.folded", "main;f 3\nmain;g 4\n")
    has(push("--build", "7", "x.folded"), "3 paths as slice 0")
    has(push("--build", "7", "x.folded"), "is in the store already")
    has(push("--build", "8", "x.folded"), "3 paths")
    same(chosen("build=7"), {"main;f": 3, "main;g": 4})
    same(chosen(""), {"main;f": 6, "main;g": 8})
    is_in = json.loads(ouro("store", store(), "--json"))
    same([is_in[n] for n in ("recordings", "slices", "rows", "paths", "blocks")], [2, 2, 4, 3, 3])
    has(ouro("store", store()), "recordings   2", "service", "  x  (2 slices)", "build", "  7  (1 slice)")


@of_a_file
def keys_are_those_of_hashlib():
    write("x.folded", "main;f;main 3\n")
    push("x.folded")

    def text(s):
        return struct.pack("<I", len(s)) + s

    def block(name):
        return hashlib.sha256(text(name) + text(b"") + struct.pack("<II", 0, 0)).digest()[:16]

    def node(parent, name):
        return hashlib.sha256(parent + block(name)).digest()[:16]
    first = node(bytes(16), b"main")
    second = node(first, b"f")
    with sqlite3.connect("s.db") as db:
        keys = [row[0] for row in db.execute("SELECT key FROM nodes ORDER BY id")]
    same(keys, [first, second, node(second, b"main")])


@case
def two_checkouts_are_one_by_their_root():
    frame = '{"shared":{"frames":[{"name":"f","file":"%s/src/f.c","line":3}]},"profiles":[{"type":"sampled",' \
            '"name":"x","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[%d]}],' \
            '"$schema":"https://www.speedscope.app/file-format-schema.json"}'
    write("a.speedscope.json", frame % ("/home/a/web", 2))
    write("b.speedscope.json", frame % ("/build/b", 5))
    push("--root", "/home/a/web", "a.speedscope.json")
    push("--root", "/build/b/", "b.speedscope.json")
    rows = json.loads(ouro("report", "--store", store(), "--self", "--json"))["rows"]
    same([(r["name"], r["file"], r["line"], r["self"]) for r in rows], [("f", "src/f.c", 3, 7)])


@case
def diff_and_its_limit_compare_two_choices():
    write("x.folded", "main;f 100\n")
    write("y.folded", "main;f 104\nmain;g 20\n")
    push("--build", "7", "x.folded")
    push("--build", "8", "y.folded")
    words = ["diff", "--store", store(), "--where", "build=7", "--with", "build=8"]
    has(ouro(*words), "100 -> 124", "g new +20")
    ouro(*words, "--fail-above", "30")
    has(ouro(*words, "--fail-above", "5", status=3), "grew by 24.00%")


@case
def labels_may_hold_anything():
    odd = ["a b", "it's", 'say "x"', "a\\b", "x,y", "*", "a\nb", "'; DROP TABLE slices; --", "é\xff", "x" * 10000, ""]
    write("x.folded", "f 1\n")
    for value in odd:
        push("--label", "odd=" + value, "x.folded")
    for value in odd:
        quoted = "".join("\\" + c if c in '\\*",' or c.isspace() else c for c in value)
        same(chosen("odd=" + quoted), {"f": 1}, value[:40])
    same(chosen(""), {"f": len(odd)})
    listed = json.loads(ouro("store", store(), "--json"))["labels"]
    same(len([l for l in listed if l["name"] == "odd"]), len(odd))


@case
def several_pushes_at_once_lose_nothing():
    for i in range(6):
        write(f"{i}.folded", "".join(f"main;f{n} {n + i}\n" for n in range(1, 200)))
    pushes = [subprocess.Popen([OURO, "push", "--store", store(), f"{i}.folded"], stdout=subprocess.DEVNULL)
              for i in range(6)]
    same([p.wait() for p in pushes], [0] * 6)
    same(chosen(""), {f"main;f{n}": 6 * n + 15 for n in range(1, 200)})


@case
def a_push_that_is_killed_leaves_the_slice_whole_or_not_at_all():
    print(f"# the seed is {SEED}")
    dice = random.Random(SEED)
    paths, rounds = (20000, 12) if IN_A_FILE else (3000, 6)
    write("x.folded", "".join(f"main;f{n};g{n % 7} {n}\n" for n in range(1, paths)))
    total = sum(range(1, paths))
    for i in range(rounds):
        p = subprocess.Popen([OURO, "push", "--store", store(), "--label", f"n={i}", "x.folded"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * 0.2)
        p.kill()
        p.wait()
        done = run(OURO, "convert", "--store", store(), "--where", f"n={i}", "--to", "folded", "-")
        if done.status == 0:
            has([0, total], sum(int(line.rsplit(" ", 1)[1]) for line in done.out.splitlines()))
        push("--label", f"n={i}", "x.folded")
        same(sum(chosen(f"n={i}").values()), total, i)


@case
def what_is_old_is_forgotten():
    write("x.folded", "f 1\n")
    os.utime("x.folded", (time.time() - 40 * 86400,) * 2)
    push("--label", "age=old", "x.folded")
    write("y.folded", "f 2\n")
    push("y.folded")
    same(chosen("since=30d"), {"f": 2})
    same(chosen("until=35d"), {"f": 1})
    has(run(OURO, "store", store(), "--keep", "30d", status=0).err, "1 slices forgotten")
    same(chosen(""), {"f": 2})


@case
def paths_beyond_a_limit_are_one_and_totals_stay():
    write("x.folded", "".join(f"main;f{n} {n}\n" for n in range(1, 101)))
    push("x.folded")
    few = chosen("", "--paths", "10")
    same((len(few), few["main;f100"], few["[pruned]"], sum(few.values())), (11, 100, sum(range(1, 91)), 5050))


@case
def a_report_without_a_choice_says_that_it_is_of_the_whole_store():
    write("x.folded", "f 1\n")
    push("x.folded")
    same(ouro("report", "--store", store()).splitlines()[0], "the whole store: 1 sample")
    same(ouro("report", "--store", store(), "--where", "service=x").splitlines()[0], "service=x: 1 sample")


@case
def times_may_be_anything():
    for n, when in enumerate((1, 2, 86400, time.time(), time.time() - 86400, 4102444800, 7258118400)):
        write(f"{n}.folded", f"f {10 ** n}\n")
        os.utime(f"{n}.folded", (when, when))
        push("--service", "x", f"{n}.folded")  # a clock that is set back, and one that is ahead
    same(chosen("service=x"), {"f": 1111111})
    same(chosen("since=2030-01-01"), {"f": 1100000})
    same(chosen("since=1 until=1971-01-01"), {"f": 110})


@case
def mistakes_are_told_in_words():
    write("x.folded", "f 1\n")
    has(ouro("report", "--store", store(), status=1), "ouro push --store")
    has(ouro("push", "x.folded", status=2), "expected --store FILE.db")
    has(push("--label", "x", "x.folded", status=2), "expected NAME=VALUE")
    has(push("--label", "since=1", "x.folded", status=2), "no labels")
    has(ouro("report", "--where", "a=b", "x.folded", status=2), "--store FILE.db")
    # The tables are there, and nothing is in them.
    has(ouro("convert", "--to", "folded", "--store", store(), "-", status=1), "no sample is in ", "`ouro push --store ")
    push("x.folded")
    has(ouro("report", "--store", store(), "--where", "since=soon", status=2), "soon is no time")
    has(ouro("report", "--store", "gopher://x/y", status=1), "no store is reached like this")


@of_a_file
def files_that_are_no_stores_are_told_in_words():
    write("x.folded", "f 1\n")
    has(ouro("report", "--store", "none.db", status=1), "none.db", "ouro push --store")
    lacks(os.listdir("."), "none.db")
    push("x.folded")
    has(ouro("report", "--store", "x.folded", status=1), "x.folded", "not a database")
    with sqlite3.connect("other.db") as db:
        db.execute("CREATE TABLE t (x)")
    has(push("--store", "other.db", "x.folded", status=1), "a database of another program")
    with sqlite3.connect("s.db") as db:
        db.execute("PRAGMA user_version=99")
    has(ouro("report", "--store", "s.db", status=1), "version 99", "use a newer ouro")


main()

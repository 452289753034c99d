#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ouro command as a whole: tests/cli/run.py OURO [WORD...]

Against `go tool pprof`, callgrind_annotate and perf where they are installed; round trips between formats; what is said
about files that are no profiles; terminals, pipes and exit statuses.
"""
import collections, fcntl, gzip, html.parser, json, os, pty, random, re, resource, shutil, struct, sys, termios
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
from pprof import Profile, msg, num, random_profile, varint
from suite import ROOT, arguments, case, has, lacks, main, read, run, same, skip, write

OURO, = arguments("OURO")


def ouro(*words, status=0, stdin=""):
    """What it prints; on stderr if it is to fail."""
    done = run(OURO, *words, status=status, stdin=stdin)
    return done.out if status == 0 else done.err


def rows(*arguments):
    return {r["name"]: r for r in json.loads(ouro("report", "--json", *arguments))["rows"]}


def folded(*arguments):
    """Paths and their values, from any format."""
    lines = ouro("convert", "--to", "folded", *arguments, "-").splitlines()
    return dict((path, int(n)) for path, n in (line.rsplit(" ", 1) for line in lines))


def go_pprof(*arguments):
    done = run("go", "tool", "pprof", *arguments, status=0)
    same([line for line in done.err.splitlines() if "arning" in line or "rror" in line], [])
    return done.out


def go_top(path, metric):
    """name -> (flat, cum)"""
    text = go_pprof("-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-sample_index=" + metric, path)
    found = {}
    for line in text.splitlines():
        m = re.match(r"\s*(-?\d+)\s+\S+\s+\S+\s+(-?\d+)\s+\S+\s+(.*)$", line)
        if m:
            found[m.group(3).replace(" (inline)", "")] = (int(m.group(1)), int(m.group(2)))
    return found


# ---------------------------------------------------------------- go tool pprof

@case
def flat_and_cum_of_go_tool_pprof_without_recursion():
    for seed in range(3):
        write("a.pb", random_profile(seed, False).bytes())
        for metric in "samples", "bytes":
            want = go_top("a.pb", metric)
            got = {n: (r["self"], r["overall"]) for n, r in rows("--overall", "--metric", metric, "a.pb").items()}
            same(got, want, (seed, metric))


@case
def go_tool_pprof_reads_what_we_write():
    for seed in range(3):
        write("a.pb", random_profile(seed, True).bytes())
        for out, options in (("b.pb", []), ("b.pb.gz", ["--compact", "none"]),
                             ("b.pb", ["--fold", "f1", "--select", "f2"])):
            ouro("convert", *options, "a.pb", out)
            for metric in "samples", "bytes":
                want = go_top(out, metric)
                got = {n: (r["self"], r["overall"]) for n, r in rows("--overall", "--metric", metric, out).items()}
                same(got, want, (seed, out, options, metric))


@case
def the_sum_has_the_file_of_its_parts_if_they_agree():
    def file_of(*parts):
        ouro("merge", *parts, "-o", "sum.pb")
        return re.search(r"^File: (.*)$", go_pprof("-top", "sum.pb"), re.M).group(1)
    for seed, name in enumerate(("a.pb", "b.pb")):
        write(name, random_profile(seed, False).bytes())  # both are of /bin/program
    ouro("convert", "a.pb", "c.folded")
    same(file_of("a.pb", "b.pb"), "program")
    same(file_of("--compact", "loops", "a.pb", "b.pb"), "program")
    same(file_of("a.pb", "c.folded"), "merged")
    same(file_of("a.pb", "c.folded", "a.pb"), "merged")
    same(file_of("c.folded"), "c.folded")
    same(file_of("sum.pb", "sum.pb"), "c.folded")


@case
def go_tool_pprof_reads_what_every_reader_read():
    inputs = os.path.join(ROOT, "tests", "golden", "inputs")
    for name in sorted(os.listdir(inputs)):
        ouro("convert", os.path.join(inputs, name), "c.pb.gz")
        has(go_pprof("-top", "c.pb.gz"), "Type:", about=name)


def labelled():
    p = Profile((("cpu", "nanoseconds"),))
    p.add(["main", ("serve", "inlined"), "leaf"], [10], [("request", "home")])
    p.add(["main", ("serve", "inlined"), "leaf"], [20], [("request", "login")])
    p.add(["main", "idle"], [5])
    return p.bytes()


@case
def labels_mappings_and_inlined_lines_survive_a_round_trip():
    write("a.pb", labelled())
    ouro("convert", "a.pb", "b.pb.gz")
    same(go_pprof("-raw", "a.pb"), go_pprof("-raw", "b.pb.gz"))
    ouro("convert", "--select", "leaf", "a.pb", "c.pb")
    raw = go_pprof("-raw", "c.pb")
    has(raw, "request:[home]", "request:[login]", "abcdef")
    same([name for name, row in rows("--self", "c.pb").items() if row["self"]], ["leaf"])
    same(rows("--overall", "a.pb")["inlined"]["overall"], 30)


GO_PROGRAM = """package main

import ("context"; "os"; "runtime"; "runtime/pprof"; "sort"; "strings")

type node struct{ l, r *node }

func build(d int) *node { if d == 0 { return &node{} }; return &node{build(d - 1), build(d - 1)} }
func (n *node) count() int { if n.l == nil { return 1 }; return n.l.count() + n.r.count() + 1 }
func work(context.Context) {
	for i := 0; i < 20; i++ {
		build(15).count()
		s := strings.Split(strings.Repeat("b a c ", 20000), " ")
		sort.Strings(s)
	}
}
func main() {
	f, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(f)
	pprof.Do(context.Background(), pprof.Labels("kind", "one"), work)
	pprof.Do(context.Background(), pprof.Labels("kind", "two"), work)
	pprof.StopCPUProfile()
	runtime.GC()
	h, _ := os.Create("heap.pb.gz")
	pprof.WriteHeapProfile(h)
	h.Close()
}
"""


@case
def profiles_that_a_go_program_wrote_on_the_spot():
    write("main.go", GO_PROGRAM)
    run("go", "run", "main.go", status=0)
    for path, metric in ("cpu.pb.gz", "samples"), ("heap.pb.gz", "alloc_objects"), ("heap.pb.gz", "inuse_objects"):
        want = {re.sub(r" \((partial-)?inline\)", "", n): v for n, v in go_top(path, metric).items()}
        known = rows("--overall", "--metric", metric, path).items()
        got = {n: (r["self"], r["overall"]) for n, r in known if r["overall"]}
        same(got, {n: v for n, v in want.items() if v[1]}, (path, metric))
        ouro("convert", path, "again.pb.gz")
        same(go_pprof("-raw", path), go_pprof("-raw", "again.pb.gz"))


# ---------------------------------------------------------------- round trips

@case
def every_format_that_can_be_read_keeps_totals_per_path():
    for seed in range(3):
        write("a.pb", random_profile(seed, True).bytes())
        want = folded("a.pb")
        same(sum(want.values()), json.loads(ouro("report", "--json", "a.pb"))["total"])
        for out in "b.pb", "b.pb.gz", "b.speedscope.json", "b.folded", "b.folded.gz":
            ouro("convert", "a.pb", out)
            ouro("convert", "--compact", "none", out, "c.pb")
            same(folded("c.pb"), want, out)


@case
def a_metric_can_be_made_the_one_that_is_shown_first():
    write("a.pb", random_profile(1, True).bytes())
    for options in [], ["--compact", "none"]:
        for metric in "samples", "bytes":
            ouro("convert", "--metric", metric, *options, "a.pb", "b.pb")
            same(json.loads(ouro("report", "--json", "b.pb"))["metric"], metric, (options, metric))
            has(go_pprof("-top", "b.pb"), f"Type: {metric}\n")


@case
def json_has_the_same_paths():
    write("a.pb", random_profile(1, True).bytes())
    p = json.loads(ouro("convert", "--to", "json", "a.pb", "-"))
    names, paths = [b["name"] for b in p["blocks"]], [""]
    sums = collections.Counter()
    for n in range(1, len(p["nodes"]["parent"])):
        up = paths[p["nodes"]["parent"][n]]
        paths.append((up + ";" if up else "") + names[p["nodes"]["block"][n]])
        sums[paths[n]] += p["nodes"]["self"][p["default_metric"]][n]
    same({k: v for k, v in sums.items() if v}, folded("a.pb"))


@case
def what_is_made_of_a_profile_with_slices_has_them_or_says_that_it_has_not():
    file = os.path.join(ROOT, "tests/golden/inputs/slices.pb.gz")

    def slices(name):
        return json.loads(ouro("report", "--slices", "--json", name))

    whole = slices(file)
    for options in ((), ("--min", "0.01"), ("--compact", "edges"), ("--exclude", "load")):
        ouro("convert", *options, file, "a.pb")
        got = slices("a.pb")
        same([got[key] for key in ("slices", "median", "p99", "slowest", "slow", "typical")],
             [whole[key] for key in ("slices", "median", "p99", "slowest", "slow", "typical")])
        same([row["name"] for row in got["rows"] if row["name"] == "load"], [] if "load" in options else ["load"])
    ouro("merge", file, "a.pb", file, "-o", "sum.pb.gz")
    same(slices("sum.pb.gz")["slices"], 3 * whole["slices"])
    write("b.folded", "main;f 3\n")
    merged = run(OURO, "merge", "b.folded", file, "-o", "c.pb", status=0)
    has(merged.err, "slices are kept only of files whose metrics are")
    divided = run(OURO, "convert", "--period", "10", file, "d.pb", status=0)
    has(divided.err, "--period leaves out what is known of slices")
    has(ouro("report", "--slices", "d.pb"), "has no slices")


@case
def merging_adds_and_period_and_min_keep_totals():
    for seed in range(3):
        write(f"{seed}.pb", random_profile(seed, True).bytes())
    ouro("merge", "0.pb", "1.pb", "2.pb", "-o", "sum.pb.gz")
    want = collections.Counter()
    for seed in range(3):
        want.update(folded(f"{seed}.pb"))
    same(folded("sum.pb.gz"), dict(want))
    total = sum(want.values())
    same(sum(folded("--period", "7", "sum.pb.gz").values()), total // 7)
    same(sum(folded("--min", "1", "sum.pb.gz").values()), total)
    assert len(folded("--min", "1", "sum.pb.gz")) < len(want)


@case
def formats_are_found_by_content_whatever_the_name():
    write("a.pb", random_profile(1, True).bytes())
    want = folded("a.pb")
    for to in "pprof", "speedscope", "folded":
        ouro("convert", "--to", to, "a.pb", "anything")
        same(folded("--compact", "none", "anything"), want, to)


@case
def pipes_are_read_and_written():
    data = open(os.path.join(ROOT, "tests", "golden", "inputs", "perf.txt"), "rb").read()
    ouro("convert", "--from", "perf", "-", "out.pb.gz", stdin=data)
    same(rows("--self", "--metric", "samples", "out.pb.gz")["memcpy"]["self"], 1)
    packed = run(OURO, "convert", "--to", "pprof", "out.pb.gz", "-", text=False).out
    has(ouro("report", "-", stdin=packed), "memcpy")
    has(ouro("report", "-", stdin=gzip.compress(packed)), "memcpy")


# ---------------------------------------------------------------- properties

@case
def overall_is_at_most_everything_and_self_adds_up_under_every_rule():
    for seed in range(2):
        write("a.pb", random_profile(seed, True).bytes())
        for rule in "loops", "cycles", "edges:1", "edges", "edges:3", "none":
            report = json.loads(ouro("report", "--overall", "--json", "--compact", rule, "a.pb"))
            same(sum(r["self"] for r in report["rows"]), report["total"], (seed, rule))
            same(report["left"], report["total"], (seed, rule))
            assert max(r["overall"] for r in report["rows"]) <= report["total"]


@case
def callers_add_up_to_the_entries_of_a_block():
    write("a.pb", random_profile(3, True, (("calls", "count"), ("time", "count"))).bytes())
    for name in "f1", "f7", "main":
        report = json.loads(ouro("report", "--block", name, "--json", "a.pb"))
        calls = [r["calls"] for r in report["callers"]]
        whole = report["rows"][0]["calls"]
        assert sum(calls) == whole if whole is not None else set(calls) == {None}, (name, calls, whole)


@case
def the_json_shape_is_the_pinned_one():
    write("a.pb", random_profile(3, True).bytes())
    for table in "--self", "--overall":
        report = json.loads(ouro("report", table, "--json", "--top", "2", "a.pb"))
        same(list(report), ["metric", "unit", "total", "left", "rows"])
        same(len(report["rows"]), 2)
        same(list(report["rows"][0]), ["name", "file", "line", "column", "self", "overall", "calls"])


@case
def tables_for_programs_have_every_block():
    """Beside the stacks themselves, of random profiles; what a filter leaves as well."""
    for _ in range(8):
        seed = random.randrange(1 << 32) if "OURO_SEED" not in os.environ else int(os.environ["OURO_SEED"])
        chance = random.Random(seed)
        stacks = {";".join(chance.choices("abcdefgh", k=chance.randint(1, 6))): chance.randint(1, 9) for _ in range(6)}
        write("a.folded", "".join(f"{stack} {n}\n" for stack, n in stacks.items()))
        chosen = chance.choice([s.split(";")[-1] for s in stacks])
        for filters in [], ["--select", chosen], ["--exclude", chosen]:
            left = {stack: n for stack, n in stacks.items()
                    if not filters or (chosen in stack.split(";")) == (filters[0] == "--select")}
            blocks = {block for stack in left for block in stack.split(";")}
            selfs = {block: sum(n for stack, n in left.items() if stack.endswith(block)) for block in blocks}
            for table in [], ["--self"], ["--overall"]:
                about = f"OURO_SEED={seed} {table} {filters}"
                report = json.loads(ouro("report", *table, "--json", *filters, "a.folded"))["rows"]
                same({row["name"]: row["self"] for row in report}, selfs, about)
                same(len(report), len(blocks), about)
                lines = ouro("report", *table, "--csv", *filters, "a.folded").splitlines()[1:]
                same(sorted(line.split(",")[0] for line in lines), sorted(blocks), about)
                few = json.loads(ouro("report", *table, "--json", "--top", "3", *filters, "a.folded"))["rows"]
                same(few, report[:3], about)


# ---------------------------------------------------------------- other people's tools

@case
def callgrind_annotate_reads_what_we_write():
    if not shutil.which("callgrind_annotate"):
        skip("no callgrind_annotate")
    write("a.pb", random_profile(2, False).bytes())
    ouro("convert", "--metric", "samples", "a.pb", "callgrind.out")
    text = run("callgrind_annotate", "--threshold=100", "callgrind.out", status=0).out
    total = sum(r["self"] for r in rows("--self", "--metric", "samples", "a.pb").values())
    has(text, f"{total:,} (100.0%)")
    lines = re.findall(r"^\s*([\d,]+) \([ \d.]+%\).*?:(\w+)(?: \[|$)", text, re.M)
    got = {name: int(count.replace(",", "")) for count, name in lines}
    for name, row in rows("--self", "--metric", "samples", "a.pb").items():
        same(got.get(name, 0), row["self"], row)


@case
def speedscope_files_have_what_the_schema_asks_for():
    write("a.pb", random_profile(2, True).bytes())
    ouro("convert", "a.pb", "a.speedscope.json")
    p = json.load(open("a.speedscope.json"))
    same(p["$schema"], "https://www.speedscope.app/file-format-schema.json")
    assert set(p) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    for f in p["shared"]["frames"]:
        assert set(f) <= {"name", "file", "line", "col"}
        assert isinstance(f["name"], str)
    same([q["name"] for q in p["profiles"]], ["samples", "bytes"])
    for q in p["profiles"]:
        same(set(q), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
        same(q["type"], "sampled")
        same(len(q["samples"]), len(q["weights"]))
        assert q["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        same(sum(q["weights"]), q["endValue"])
        assert all(0 <= i < len(p["shared"]["frames"]) for s in q["samples"] for i in s)


@case
def pictures_are_well_formed_and_need_nothing_else():
    p = Profile()
    p.add(["main", "<script>alert(1)</script>", "a&b\x01"], [10])
    write("a.pb", p.bytes())
    ouro("convert", "a.pb", "a.svg")
    tree = xml.etree.ElementTree.parse("a.svg")
    titles = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}title")]
    has(titles, "<script>alert(1)</script> 10, 100.00%")
    ouro("convert", "--to", "report", "a.pb", "a.html")
    tags = []
    reader = html.parser.HTMLParser()
    reader.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    reader.feed(read("a.html"))
    assert {"table", "svg", "h1"} <= {t for t, _ in tags}
    assert not {"script", "link", "img", "iframe"} & {t for t, _ in tags}
    assert all(a.get("href", "#").startswith("#") for _, a in tags)


@case
def perf_data_that_was_recorded_on_the_spot():
    if not shutil.which("perf") or not shutil.which("cc"):
        skip("no perf")
    write("w.c", "volatile long x; __attribute__((noinline)) long fib(int n)"
          "{ return n < 2 ? n : fib(n - 1) + fib(n - 2); } int main(void) { x = fib(34); return 0; }")
    run("cc", "-O1", "-fno-omit-frame-pointer", "w.c", "-o", "a b", status=0)
    if run("perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-o", "p.data", "./a b").status:
        skip("perf record is not allowed")
    text = run("perf", "script", "-i", "p.data", text=False).out
    write("p.txt", text)
    samples = len(re.findall(rb"^a b +\d+ ", text, re.M))
    # Rarely one is taken while perf's process becomes the program, under another name.
    all_samples = len(re.findall(rb"^\S.* \d+ +(?:\[\d+\] +)?\d+\.\d+: ", text, re.M))
    report = json.loads(ouro("report", "--overall", "--metric", "samples", "--json", "p.txt"))
    found = {r["name"]: r for r in report["rows"]}
    assert samples > 10
    same((report["total"], found["a b"]["overall"]), (all_samples, samples))
    assert found["fib"]["self"] > samples / 2
    assert found["fib"]["overall"] <= samples
    ouro("convert", "p.txt", "p.pb.gz")
    has(go_pprof("-top", "p.pb.gz"), "fib")


@case
def a_cpuprofile_that_node_wrote_on_the_spot():
    if not shutil.which("node"):
        skip("no node")
    write("w.js", "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
          "for (let i = 0; i < 200; i++) fib(22);\n")
    run("node", "--cpu-prof", "--cpu-prof-name=a.cpuprofile", "w.js", status=0)
    p = json.load(open("a.cpuprofile"))
    # Names may stand several times.
    found = json.loads(ouro("report", "--json", "--overall", "--metric", "samples", "a.cpuprofile"))["rows"]
    same(sum(r["self"] for r in found), len(p["samples"]))
    fib = [r for r in found if r["name"] == "fib"]
    same(len(fib), 1, fib)
    same(fib[0]["line"], 1)
    assert 0 < fib[0]["overall"] <= len(p["samples"]), fib
    # Steps back of the clock are taken from the next interval; only one at the very end is lost.
    total = json.loads(ouro("report", "--json", "--metric", "time", "a.cpuprofile"))["total"]
    assert abs(total - 1000 * sum(p["timeDeltas"])) < 1e6


# ---------------------------------------------------------------- what is no profile

@case
def each_kind_of_file_that_is_no_profile_has_its_sentence():
    packed = gzip.compress(random_profile(1, False).bytes())
    write("cut.pb.gz", packed[:len(packed) // 2])
    write("empty", b"")
    write("elf", open(OURO, "rb").read(4096))
    write("cut.pb", random_profile(1, False).bytes()[:-100])
    write("noise", bytes(range(255, 0, -1)) * 20)
    os.mkdir("folder")
    for name, sentence in (("cut.pb.gz", "the gzip data ends in the middle; is the file cut off?"),
                           ("empty", "the file is empty"), ("elf", "an executable (ELF), not a profile"),
                           ("folder", "a directory; a profile is a file"), ("cut.pb", "is the file cut off?"),
                           ("noise", "not a profile of a known kind"),
                           ("nowhere", "cannot open: No such file or directory")):
        message = ouro("report", name, status=1)
        assert message.startswith(f"ouro: {name}: "), message
        has(message, sentence)
        same(message.count("\n"), 1)


@case
def an_empty_profile_is_an_empty_report():
    sentence = "There is nothing to show: no path was charged anything.\n"
    write("empty.pb", Profile().bytes())
    for option in (), ("--self",), ("--overall",), ("--sequences",), ("--tree",), ("--knots",):
        same(ouro("report", *option, "empty.pb"), "empty.pb: 0 samples\n" + sentence)
    same(json.loads(ouro("report", "--json", "empty.pb")),
         {"metric": "samples", "unit": "count", "total": 0, "left": 0, "rows": [],
          "findings": [{"kind": "empty", "text": sentence.strip()}]})
    write("some.folded", "a 1\n")
    for files in ("empty.pb", "some.folded"), ("some.folded", "empty.pb"):
        has(ouro("diff", *files, status=1), "the profile is empty")


@case
def sizes_are_in_units_of_1024():
    for value, text in (10239, "10,239 B "), (10240, "10.00 KiB "), (10 << 20, "10.00 MiB "), (10 << 30, "10.00 GiB "):
        p = Profile((("space", "bytes"),))
        p.add(["a"], [value])
        write("a.pb", p.bytes())
        has(ouro("report", "a.pb"), f"a.pb: {text}space\n")


@case
def time_is_shown_first_where_there_is_one():
    write("a.perf", "p 1 1.5: 7 cpu-clock:\n\t5 f (x)\n\n")
    has(ouro("report", "a.perf"), "a.perf: 7 ns cpu-clock\n")
    write("b.perf", "p 1 1.5: 7 cycles:\n\t5 f (x)\n\n")
    has(ouro("report", "b.perf"), "b.perf: 1 sample\n")
    node = '{"nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"samples":[1]'
    write("a.cpuprofile", node + ',"timeDeltas":[5]}')
    has(ouro("report", "a.cpuprofile"), "a.cpuprofile: 5,000 ns time\n")
    write("b.cpuprofile", node + "}")
    has(ouro("report", "b.cpuprofile"), "b.cpuprofile: 1 sample\n")


@case
def calls_that_nobody_counted_are_not_zeros():
    p = Profile((("calls", "count"), ("recursions", "count"), ("time", "nanoseconds")))
    p.add(["main", "f"], [0, 0, 5])
    write("sampled.pb", p.bytes())
    text = ouro("report", "sampled.pb")
    has(text, "calls are not known, the file has samples")
    has(text, "metrics: time (--metric chooses)")
    has(ouro("report", "--metric", "calls", "sampled.pb", status=2),
        "sampled.pb: calls are not counted, because the program was sampled; there is time")
    assert "calls  block" not in text, text
    for row in json.loads(ouro("report", "--json", "sampled.pb"))["rows"]:
        same(row["calls"], None)
    for row in json.loads(ouro("report", "--json", "--block", "f", "sampled.pb"))["callers"]:
        same(row["calls"], None)


TYPES = (("calls", "count"), ("recursions", "count"), ("time", "nanoseconds"))


@case
def zero_calls_of_a_slice_are_known_from_calls_that_nobody_counted():
    """main and work began before the second slice. Nobody counts the calls of tiny."""
    p = Profile(TYPES)
    p.add(["main"], [1, 0, 1], [("slice", "1")])
    p.add(["main", "work"], [3, 0, 5], [("slice", "1")])
    p.add(["main", "work"], [0, 0, 4], [("slice", "2")])
    p.add(["main", "work", "tiny"], [0, 0, 2], [("slice", "2")])
    write("a.pb", p.bytes())
    for filters, work in ((), "3"), (("--label", "slice=2"), "0"):
        text = ouro("report", "--self", *filters, "a.pb")
        has(text, f"  {work}  work  work.c:3\n", "  not counted  tiny  tiny.c:3\n")
        text = ouro("report", "--block", "work", *filters, "a.pb")
        has(text, f"%), {work} calls\n", "  not counted  tiny\n")
        has(ouro("report", "--block", "tiny", *filters, "a.pb"), "%), calls not counted\n", "  not counted  work\n")
        found = json.loads(ouro("report", "--json", "--block", "tiny", *filters, "a.pb"))
        same([row["calls"] for row in found["rows"] + found["callers"]], [None, None])
        for way in "--self", "--overall", "--tree", "--sequences":
            got = {name: row["calls"] for name, row in rows(way, *filters, "a.pb").items()}
            same((got["work"], got["tiny"]), (int(work), None), way)
            table = ouro("report", way, "--csv", *filters, "a.pb").splitlines()
            got = {line.split(",")[0]: line.split(",")[6] for line in table}
            same((got["work"], got["tiny"]), (work, ""), way)
        ouro("convert", "--to", "report", *filters, "a.pb", "a.html")
        has(read("a.html"), f"<td>{work}<td>work ", "<td>not counted<td>tiny ")
    lacks(ouro("report", "--label", "slice=2", "a.pb"), "calls are not known")


@case
def what_filters_leave_is_counted_where_the_whole_is():
    """Random profiles and filters. As a metric, calls are numbers: the oracle."""
    for seed in range(12):
        rnd, p, counted = random.Random(seed), Profile(TYPES), set()
        names = ["main", *"abcdefg", "tiny", "libc"]
        for _ in range(40):
            path = ["main"] + rnd.choices(names[1:], k=rnd.randrange(1, 5))
            calls = 0 if path[-1] in ("tiny", "libc") else rnd.choice((0, 0, 1, 5))
            if calls:
                counted.add(path[-1])
            p.add(path, [calls, 0, rnd.randrange(9)], [("slice", str(rnd.randrange(4)))])
        write("a.pb", p.bytes())
        filters = [w for w in (("--label", "slice=1"), ("--select", rnd.choice(names[:3])), ("--exclude", "g"),
                               ("--fold", "f")) if rnd.random() < 0.5 for w in w]
        as_metric = rows("--metric", "calls", *filters, "a.pb")
        asked = rows("--metric", "time", *filters, "a.pb")
        counted |= {name for name, row in as_metric.items() if row["self"]}  # the callers of f, if it is folded
        for name, row in asked.items():
            same(row["calls"], as_metric[name]["self"] if name in counted else None, (seed, filters, name))
        for name in list(asked)[:4]:
            found = json.loads(ouro("report", "--json", "--block", name, "--metric", "time", *filters, "a.pb"))
            same(found["rows"][0]["calls"], asked[name]["calls"], (seed, filters, name))
            for row in found["callees"]:
                same(row["calls"] is None, row["name"] not in counted, (seed, filters, name))
            for row in found["callers"]:
                same(row["calls"] is None, name not in counted, (seed, filters, name))
        for knot in json.loads(ouro("report", "--knots", "--json", "--metric", "time", *filters, "a.pb"))["rows"]:
            same(knot["calls"] is None, not counted & {b["name"] for b in knot["blocks"]}, (seed, filters))
            for edge in knot["edges"]:
                same(edge["calls"] is None, edge["to"] not in counted, (seed, filters))
            for row in knot["out"]:
                same(row["calls"] is None, row["name"] not in counted, (seed, filters))


@case
def a_program_without_recursion_has_none():
    p = Profile((("calls", "count"), ("recursions", "count"), ("time", "nanoseconds")))
    p.add(["main", "f"], [3, 0, 5])
    write("counted.pb", p.bytes())
    for text in ouro("report", "counted.pb"), ouro("report", "--knots", "counted.pb"):
        assert "not known" not in text, text
    has(ouro("report", "--knots", "counted.pb"), "no recursion")


@case
def how_deep_samples_went_around_a_circle_is_not_known_without_a_note():
    p = Profile((("calls", "count"), ("recursions", "count"), ("time", "nanoseconds")))
    p.add(["main", "even", "odd", "even"], [0, 0, 5])
    write("sampled.pb", p.bytes())
    has(ouro("report", "sampled.pb"), " 2 blocks    even, odd\n")
    text = ouro("report", "--knots", "sampled.pb")
    has(text, "  2 blocks, self ", "  recursed through others; how often is not counted: the program was sampled\n")
    (knot,) = json.loads(ouro("report", "--knots", "--json", "sampled.pb"))["rows"]
    same([knot[key] for key in ("deepest", "direct", "through")], [None, 0, None])
    same({b["name"]: b["deepest"] for b in knot["blocks"]}, {"even": None, "odd": 1})
    has(ouro("report", "--knots", "--csv", "sampled.pb"), ",5,,,0,\n")


@case
def one_is_no_plural():
    p = Profile((("calls", "count"), ("recursions", "count")))
    p.add(["main"], [1, 0])
    p.add(["main", "f"], [1000, 0])
    p.add(["main", "g"], [1, 0])
    write("a.pb", p.bytes())
    has(ouro("report", "--block", "main", "a.pb"), "%), 1 call\n", "  1,000 calls  f\n", "      1 call   g\n")
    has(ouro("report", "--block", "f", "a.pb"), "%), 1,000 calls\n")
    write("a.folded", "a 1\n")
    has(ouro("report", "a.folded"), "a.folded: 1 sample\n")


@case
def nothing_of_a_negative_total_is_no_negative_share():
    write("a.folded", "a;b -5000\na;c 0\na;d 1\n")
    has(ouro("report", "a.folded"), "-4,999", "100.02%", " 0.00%")
    assert "-0.00%" not in ouro("report", "a.folded")
    write("two.folded", "a;b -5 -5\na;c 0 -1\n")
    assert "-0.00%" not in ouro("diff", "two.folded")


@case
def what_turns_the_direction_of_writing_is_an_escape():
    write("a.folded", "a\u202eb;c\u061cd\u2069 5\n")
    has(ouro("report", "a.folded"), "a\\u202eb", "c\\u061cd\\u2069")


@case
def comments_tell_the_recursion_of_compacted_paths_and_damaged_ones_nothing():
    good = "# ouro recursion 5 2 9 3 0 1 f f.c"
    bad = ["# ouro recursion", "# ouro recursion 5 2 9 3 0 1", "# ouro recursion 5 2 9 3 0 99 f f.c",
           "# ouro recursion -5 2 9 3 0 1 g g.c", "# ouro recursion 99999999999999999999 2 9 3 0 1 g g.c",
           "# ouro recursion 5 2 4294967296 3 0 1 g g.c", "# ouro recursion x 2 9 3 0 1 g g.c", "#", "ouro recursion"]
    for comments, packed in ([good], False), (bad, False), ([*bad, good], True):
        p = Profile()
        p.add(["main", "f", "g"], [500])
        numbers = [p.s(text) for text in comments] + [10**9]  # the last is no string of the file
        p.extra = msg(13, b"".join(map(varint, numbers))) if packed else b"".join(num(13, n) for n in numbers)
        write("a.pb", p.bytes())
        rows = json.loads(ouro("report", "--knots", "--json", "a.pb"))["rows"]
        same([(r["blocks"][0]["name"], r["direct"], r["through"], r["deepest"]) for r in rows],
             [("f", 5, 2, 9)] if good in comments else [])


@case
def go_tool_pprof_does_not_show_what_we_say_of_recursion():
    write("a.folded", "main;f;f;f 500\nmain;g;h;g 200\n")
    ouro("convert", "a.folded", "a.pb.gz")
    lacks(go_pprof("-top", "a.pb.gz"), "recursion")
    has(go_pprof("-comments", "a.pb.gz"), "# ouro recursion 2 0 3 0 0 1 f", "# ouro recursion 0 1 2 0 0 1 g")
    same(ouro("report", "--knots", "a.pb.gz").replace("a.pb.gz", "a.folded"), ouro("report", "--knots", "a.folded"))


@case
def two_gigabytes_of_zeros_are_refused_at_once():
    with open("zeros", "wb") as f:
        f.truncate(2 << 30)
    has(ouro("report", "zeros", status=1), "nothing but zeros")
    packed = run("sh", "-c", "head -c 200000000 /dev/zero | gzip -1", text=False).out
    write("zeros.gz", packed)
    has(ouro("report", "zeros.gz", status=1), "nothing but zeros")


@case
def errors_in_the_middle_name_the_byte_or_the_line():
    data = bytearray(random_profile(1, False).bytes())
    at = data.index(b"\x12", 40)
    data[at + 1] = 0xff
    write("bad.pb", bytes(data))
    assert re.match(r"ouro: bad.pb: byte [\d,]+: ", ouro("report", "bad.pb", status=1))
    write("bad.folded", "a;b 1\n" * 1500 + "a;b\n")
    has(ouro("report", "bad.folded", status=1), "bad.folded: line 1,501: expected a path, a space and a count")


@case
def an_output_is_only_replaced_by_a_complete_one():
    write("good.pb", random_profile(1, False).bytes())
    write("out.pb", b"old")
    write("bad.pb", random_profile(1, False).bytes()[:-50])
    ouro("convert", "bad.pb", "out.pb", status=1)
    same(open("out.pb", "rb").read(), b"old")
    os.symlink("out.pb", "link.pb")
    ouro("convert", "good.pb", "link.pb")
    assert os.path.islink("link.pb")
    same(folded("out.pb"), folded("good.pb"))
    has(ouro("convert", "good.pb", "no/such/folder.pb", status=1), "cannot write")
    has(ouro("convert", "--to", "pprof", "good.pb", "/dev/full", status=1), "cannot write")
    assert os.path.exists("/dev/full")
    same([n for n in os.listdir(".") if n.endswith(".tmp")], [])


@case
def blocks_of_one_name_are_told_apart():
    write("a.speedscope.json", json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {
        "frames": [{"name": "f", "file": "x.c", "line": 3}, {"name": "f", "file": "y.c", "line": 9}]}, "profiles": [
            {"type": "sampled", "name": "s", "unit": "none", "startValue": 0, "endValue": 3, "samples": [[0], [1]],
             "weights": [1, 2]}]}))
    message = ouro("report", "--select", "f", "a.speedscope.json", status=2)
    has(message, "2 blocks are called f; say which: f@x.c:3, f@y.c:9")
    same(json.loads(ouro("report", "--select", "f@y.c:9", "--json", "a.speedscope.json"))["left"], 2)


# ---------------------------------------------------------------- terminals and sizes

def in_terminal(*arguments):
    """What comes out of a terminal with 80 columns."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.environ.pop("NO_COLOR", None)
        os.execv(OURO, [OURO, *arguments])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
    out = b""
    try:
        while True:
            part = os.read(fd, 65536)
            if not part:
                break
            out += part
    except OSError:
        pass
    os.waitpid(pid, 0)
    return out.decode()


@case
def colours_and_bars_only_on_a_terminal():
    write("a.folded", "main;read 3\nmain;write 1\n")
    has(in_terminal("report", "a.folded"), "\033[1m")
    has(in_terminal("report", "a.folded"), "█")
    plain = ouro("report", "a.folded")
    lacks(plain, "\033", "█")
    lacks(in_terminal("report", "--colour", "never", "a.folded"), "\033")


@case
def long_names_are_cut_on_a_terminal_and_whole_elsewhere():
    name = "日本" * 100
    write("a.folded", f"{name} 3\n")
    has(ouro("report", "--self", "a.folded"), name)
    lacks(in_terminal("report", "--self", "a.folded"), name)


@case
def control_characters_do_not_reach_the_terminal():
    write("a.folded", b"evil\x1b]0;x\x07 3\n")
    lacks(ouro("report", "--from", "folded", "a.folded"), "\x1b]")


@case
def fractions_and_names_that_are_no_text_keep_their_columns():
    write("a.folded", b"main;a\xff\xfeb 1000.25\nmain 3.5\n")
    lines = ouro("report", "--self", "a.folded").splitlines()
    has(lines[-2], "1,000.25", about=lines)
    has(lines[-1], " 3.5 ", about=lines)
    same(lines[-2].index("%"), lines[-1].index("%"))


@case
def a_path_of_a_million_blocks_works():
    write("a.folded", ";".join(f"f{i}" for i in range(1000000)) + " 5\n")
    report = json.loads(ouro("report", "--self", "--json", "a.folded"))
    same(report["rows"][0]["name"], "f999999")
    same(report["rows"][0]["self"], 5)
    ouro("convert", "a.folded", "a.pb.gz")
    same(json.loads(ouro("report", "--overall", "--json", "--top", "1", "a.pb.gz"))["rows"][0]["overall"], 5)
    ouro("convert", "a.folded", "a.svg")
    has(ouro("report", "--tree", "a.folded"), "(1000000 deep) f999999")


@case
def running_out_of_memory_is_a_sentence():
    write("a.folded", "".join(f"main;f{i};g{i * 7 % 1000};h{i} 1\n" for i in range(300000)))
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (40 << 20, 40 << 20))
    for words in ["report", "a.folded"], ["convert", "a.folded", "b.pb"], ["convert", "a.folded", "b.html"]:
        has(run(OURO, *words, status=1, preexec_fn=limit).err, "out of memory", about=words)
    assert not os.path.exists("b.pb")


@case
def progress_is_shown_on_a_terminal_only_and_only_if_it_takes_long():
    write("a.folded", "".join(f"main;f{i} 1\n" for i in range(200000)))
    lacks(in_terminal("report", "a.folded"), "reading")
    os.environ["OURO_PROGRESS"] = "0"
    try:
        shown = in_terminal("report", "a.folded")
        assert re.search(r"\rreading a.folded: +\d+%", shown), shown
        has(shown, "\r\033[K")
        has(in_terminal("merge", "a.folded", "a.folded", "-o", "b.pb"), "\rmerging: 2 of 2")
        shown = in_terminal("convert", "a.folded", "b.json")
        assert re.search(r"\rwriting b.json: \d+.\d MiB", shown), shown
        same(run(OURO, "convert", "a.folded", "b.json", status=0).err, "")
        same(run(OURO, "report", "a.folded", status=0).err, "")
    finally:
        del os.environ["OURO_PROGRESS"]


@case
def every_option_is_in_the_manual_and_in_the_completions():
    bash = read(os.path.join(ROOT, "docs", "completions", "ouro.bash"))
    zsh = read(os.path.join(ROOT, "docs", "completions", "_ouro"))
    run("bash", "-n", os.path.join(ROOT, "docs", "completions", "ouro.bash"), status=0)
    for command in "view", "report", "diff", "convert", "merge", "push", "store", "serve":
        text = ouro("help", command)
        page = read(os.path.join(ROOT, "docs", "man", f"ouro-{command}.1")).replace("\\-", "-")
        wanted = set(re.findall(r"^  .*?(--[a-z-]+)", text, re.M)) | set(re.findall(r"--(?:json|csv)", text))
        assert wanted, command
        for option in wanted:
            has(page, option, about=(command, option))
            has(bash, option, about=(command, option))
            has(zsh, option, about=(command, option))
        has(text, "Examples:")
        has(page, "EXAMPLES", "EXIT STATUS")
        same(ouro(command, "--version"), ouro("--version"))


@case
def every_format_is_in_the_documents_and_in_the_completions():
    def document(*path):
        return read(os.path.join(ROOT, "docs", *path))
    page, table = document("man", "ouro.1").replace("\\-", "-"), document("file-formats.md")
    formats = re.findall(r"^  ([a-z]+) +([r-])([w-])  ", ouro("help"), re.M)
    assert len(formats) > 9
    for name, reads, writes in formats:
        has(page, name, about=name)
        assert re.search(f"^\\|.*{name}", table, re.M | re.I), name
        for option, listed in ("from", reads == "r"), ("to", writes == "w"):
            for shell in "ouro.bash", "_ouro":
                lists = re.findall(rf"--{option}(?:\).words='|\[[^]]*\]:format:\()([a-z ]+)",
                                   document("completions", shell))
                assert lists, (name, option, shell)
                assert all((name in words.split()) == listed for words in lists), (name, option, shell)


@case
def bash_completes_commands_options_and_formats():
    script = os.path.join(ROOT, "docs", "completions", "ouro.bash")
    def complete(*words):
        line = (f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _ouro; "
                "echo \"${COMPREPLY[@]}\"")
        return run("bash", "-c", line, status=0).out.split()
    same(complete("ouro", "rep"), ["report"])
    has(complete("ouro", "report", "--s"), "--sequences")
    same(complete("ouro", "convert", "--to", "spe"), ["speedscope"])
    same(complete("ouro", "report", "--compact", "lo"), ["loops"])


SPEEDSCOPE = ('{"$schema":"https://www.speedscope.app/file-format-schema.json",'
              '"shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":%s}')
SAMPLED = '[{"type":"sampled","name":"x","unit":"none","startValue":0,"endValue":9,"samples":%s,"weights":%s}]'
EVENTED = '[{"type":"evented","name":"x","unit":"none","startValue":0,"endValue":9,"events":%s}]'
BROKEN_JSON = [
    ("cpuprofile", '{"nodes":[{"callFrame":{}}]}', "node 0: expected an object with an id"),
    ("cpuprofile", '{"nodes":[{"id":1},{"id":1}]}', "node 1: the id 1 stands twice"),
    ("cpuprofile", '{"nodes":[{"id":1,"children":[2]},{"id":2},{"id":3,"children":[2]}]}',
     "nodes[2]: child 2 has two parents"),
    ("cpuprofile", '{"nodes":[{"id":1,"parent":7}]}', "nodes[0]: its parent is not in the file"),
    ("cpuprofile", '{"nodes":[{"id":1}],"samples":[2]}', "samples[0]: node 2 is not in the file"),
    ("cpuprofile", '{"nodes":[{"id":1}],"samples":[1],"timeDeltas":[1e300]}', "samples[0]: expected a time below 9e18"),
    ("cpuprofile", '{"nodes":[{"id":1,"hitCount":-4}]}', "node 0: expected a hitCount"),
    ("speedscope", SPEEDSCOPE % "7", "expected a list of profiles"),
    ("speedscope", SPEEDSCOPE % (SAMPLED % ("3", "[]")), "profiles[0]: expected a list of samples"),
    ("speedscope", SPEEDSCOPE % (SAMPLED % ("[[0]]", "[1e300]")), "a number below 9e18"),
    ("speedscope", SPEEDSCOPE % (SAMPLED % ("[[0]]", "[1,2]")), "2 weights for 1 samples"),
    ("speedscope", SPEEDSCOPE % (EVENTED % "0"), "profiles[0]: expected a list of events"),
    ("speedscope", SPEEDSCOPE % (EVENTED % '[{"type":"X","at":1,"frame":0}]'), "the type O or C"),
    ("speedscope", SPEEDSCOPE % (EVENTED % '[{"type":"O","at":1,"frame":0},{"type":"C","at":2,"frame":1}]'),
     "a close of the frame that was opened last"),
]


@case
def broken_json_profiles_say_which_item_is_wrong():
    for format, text, message in BROKEN_JSON:
        said = ouro("report", "--from", format, "-", status=1, stdin=text.encode())
        has(said, message, about=(text, said))
        same(said.count("\n"), 1, (text, said))


@case
def json_profiles_charge_the_root_and_count_fractions():
    write("a.cpuprofile", '{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},'
          '{"id":2,"callFrame":{"functionName":"f"}}],"samples":[1,2,2],"timestamps":[10,12,15]}')
    same(folded("--metric", "time", "a.cpuprofile"), {"f": 5000})
    same(folded("--metric", "samples", "a.cpuprofile"), {"(root)": 1, "f": 2})
    write("b.json", SPEEDSCOPE % (SAMPLED % ("[[],[0],[0,1]]", "[1,0.5,0.25]")))
    lines = ouro("convert", "--to", "folded", "b.json", "-").splitlines()
    same(sorted(lines), ["(root) 1", "a 0.5", "a;b 0.25"], lines)


@case
def wrong_options_are_told_apart():
    write("a.folded", "a;b 3\n")
    for words, message in [(("convert", "a.folded"), "expected an input and an output"),
                           (("diff", "a", "b", "c"), "expected two files"),
                           (("report", "--min", "x", "a.folded"), "expected a percentage"),
                           (("report", "--compact", "x", "a.folded"), "expected loops, cycles"),
                           (("report", "--colour", "x", "a.folded"), "expected auto, always or never")]:
        has(ouro(*words, status=2), message, about=words)
    has(ouro("report", "--from", "svg", "a.folded", status=1), "can be written but not read")
    same(ouro("--help"), ouro("help"))
    assert ouro("report", "--tree", "--csv", "a.folded").splitlines()[0].endswith("depth")


@case
def long_sequences_are_shortened_and_calls_are_shown():
    write("long.folded", ";".join(f"frame{i}" for i in range(60)) + " 3\n")
    assert re.search(r"frame0 / .* / \.\.\. \d+ more / .*frame59", ouro("report", "--sequences", "long.folded"))
    p = Profile((("calls", "count"), ("time", "nanoseconds")))
    p.add(["main", "f"], [1234, 10])
    write("calls.pb", p.bytes())
    text = ouro("report", "--self", "--metric", "time", "calls.pb")
    has(text, "calls", "1,234")
    around = ouro("report", "--select", "g1", "--block", "f", "-", stdin=b"f;g0 1\nf;g1 1\n")
    assert re.search(r"1 +50\.00% +100\.00% +g1", around), around


@case
def the_version_is_the_headers():
    header = read(os.path.join(ROOT, "include", "ouro.h"))
    version = re.search(r'^#define OURO_VERSION "(\d+\.\d+\.\d+)"$', header, re.M).group(1)
    same(ouro("--version"), f"ouro {version}\n")
    changes = read(os.path.join(ROOT, "CHANGELOG.md"))
    same(re.search(r"^## (\d\S+)", changes, re.M).group(1), version, "the newest version in CHANGELOG.md")


@case
def a_host_is_a_program_beside_ouro_or_in_a_named_folder():
    os.mkdir("hosts")
    write("hosts/ouro-lua", '#!/bin/sh\necho "$# $1|$2|$OURO"\nexit 7\n')
    os.chmod("hosts/ouro-lua", 0o755)
    beside = {**os.environ, "OURO_LIBEXEC": os.path.abspath("hosts")}
    same(run(OURO, "lua", "a b", "--view", env=beside), (7, f"2 a b|--view|{OURO}\n", ""))
    # The host knows its own help.
    assert run(OURO, "help", "lua", env=beside).out.startswith("1 --help|")
    shutil.copy(OURO, "ouro")
    has(run("./ouro", "c++", status=1).err, "OURO_LIBEXEC")
    write("hosts/ouro-run", b"\0 no program")
    os.chmod("hosts/ouro-run", 0o755)
    has(run("./ouro", "run", status=1, env=beside).err, "cannot run")


import terminal  # noqa: its cases register themselves

main()

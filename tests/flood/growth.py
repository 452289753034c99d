# SPDX-License-Identifier: MIT
"""Inputs of hostile shapes, in two sizes: the cost grows as the input does."""
import counted, gzip, json, os, shapes
from counted import MOST, PEAK, STEPS, TIMES, Counters, cost, grows_with
from harness import Server
from pprof import Profile, msg, num, varint
from suite import Failure, case, run, same, write

N = 2048
RECORD = None  # set by run.py

# Formats that spell out each path cannot say a long chain whose every node is charged without being long themselves.
SPELLED = {"folded": shapes.folded, "perf": shapes.perf, "pb": shapes.pprof, "speedscope.json": shapes.speedscope}
TREES = {"evented.json": shapes.evented, "cpuprofile": shapes.cpuprofile}
SHAPES = ["deep", "recursive", "lookback", "star", "bush", "one_name", "long_names", "ladder"]
LONG = ["long_ladder", "valued_chain"]


def made(name, form, tree):
    if form is shapes.live:
        shapes.live(tree, RECORD, name)
        return name
    return write(name, form(tree))


def check(make, about, status=0):
    """Reads both sizes of what `make(n)` gives as a file's name."""
    grows_with(*(cost("report", make(n), status=status) for n in (N, TIMES * N)), about)


def reads(extension, form, shape):
    check(lambda n: made(f"{n}.{extension}", form, getattr(shapes, shape)(n)), f"{shape} as {extension}")


for extension, form in {**SPELLED, **TREES, "ouro": shapes.live}.items():
    for shape in SHAPES + LONG * (extension not in SPELLED):
        case(reads, f"reading_{extension.split('.')[0]}_is_linear_in_a_{shape}", extension, form, shape)


# ---------------------------------------------------------------- ids, texts and numbers of single formats

FORMS = {
    "pprof_ids_far_apart": lambda n: shapes.pprof(shapes.star(n), ids=lambda i: (i + 1) << 40 | 1),
    "pprof_ids_that_differ_in_high_bits": lambda n: shapes.pprof(shapes.star(n), ids=lambda i: (i + 1) << 50),
    "pprof_with_many_metrics": lambda n: shapes.pprof(shapes.bush(n // 16), types=200),
    "pprof_with_a_long_mapping": lambda n: long_mapping(n),
    "pprof_with_one_location_again_and_again": lambda n: repeated_location(n),
    "pprof_with_unpacked_lists": lambda n: unpacked(n),
    "pprof_labels": lambda n: labelled(n),
    "cpuprofile_ids_that_differ_in_high_bits": lambda n: shapes.cpuprofile(shapes.star(n), ids=lambda i: 2.0**40 * i),
    "folded_with_backslashes": lambda n: b"main;" + b"\\\\;a\\;" * n + b"x 1\n",
    "folded_with_semicolons": lambda n: b"main" + b";" * 16 * n + b"x 1\n",
    "folded_with_decimals": lambda n: b"".join(b"main;f%d 1.%s\n" % (i, b"1" * (i % 10)) for i in range(n)),
    "folded_with_two_counts": lambda n: b"".join(b"main;f%d %d 1\n" % (i, i) for i in range(n)),
    "folded_names_of_odd_bytes": lambda n: shapes.folded(shapes.odd_bytes(n)),
    "perf_headers_without_frames": lambda n: b"program 1/1 [000] 1.000001: 1000 cycles:\n\n" * n,
    "perf_events": lambda n: b"".join(b"program 1/1 [000] 1.1: 10 event%d:\n\t1 f (x)\n\n" % i for i in range(n)),
    "perf_parentheses": lambda n: b"program 1/1 [000] 1.1: 10 cycles:\n" +
                                  b"\t1 f%s (x)\n" % (b"(" * 8 + b")" * 8) * n + b"\n",
    "perf_inlined_frames": lambda n: b"program 1/1 [000] 1.1: 10 cycles:\n" +
                                     b"".join(b"\t1 f%d (inlined)\n" % i for i in range(n)) + b"\t1 main (x)\n\n",
    "speedscope_of_many_profiles": lambda n: many_profiles(n // 8),
    "many_gzip_members": lambda n: b"".join(gzip.compress(b"main;f%d 1\n" % i) for i in range(n // 8)),
    "zeros_in_gzip_members": lambda n: gzip.compress(b"\0" * 65535 + b"x 1\n") + gzip.compress(b"") * n,
}


def pprof_of(*parts):
    return b"".join([msg(1, num(1, 1) + num(2, 2)), *parts,
                     *(msg(6, s) for s in (b"", b"samples", b"count", b"f", b"file"))])


def long_mapping(n):
    """Locations without symbols, all in a mapping of many fields."""
    mapping = msg(3, num(1, 1) + num(9, 1) * n + num(5, 4))
    return pprof_of(mapping, *(msg(4, num(1, i) + num(2, 1) + num(3, 4096 + i)) for i in range(1, n)),
                    msg(2, msg(1, varint(1)) + msg(2, varint(1))))


def repeated_location(n):
    line = msg(4, num(1, 1) + num(2, 1))
    return pprof_of(msg(4, num(1, 1) + line * 8), msg(5, num(1, 1) + num(2, 3)),
                    msg(2, msg(1, varint(1) * n) + msg(2, varint(1))))


def unpacked(n):
    functions = [msg(4, num(1, i) + msg(4, num(1, i) + num(2, 1))) + msg(5, num(1, i) + num(2, 3)) for i in (1, 2)]
    return pprof_of(*functions, *(msg(2, num(1, 1 + i % 2) * 4 + num(2, 1)) for i in range(n)))


def labelled(n):
    return pprof_of(msg(4, num(1, 1) + msg(4, num(1, 1))), msg(5, num(1, 1) + num(2, 3)),
                    msg(2, msg(1, varint(1)) + msg(2, varint(1)) + msg(3, num(1, 3) + num(2, 4)) * n))


def many_profiles(n):
    one = '{"type":"sampled","name":"x","unit":"none","samples":[[0]],"weights":[1]}'
    return ('{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},'
            f'"profiles":[{",".join([one] * n)}]}}').encode()


def reads_bytes(name):
    check(lambda n: write(f"{n}.in", FORMS[name](n)), name, status=1 if "zeros" in name else 0)


for name in FORMS:
    case(reads_bytes, f"reading_{name}_is_linear", name)


# ---------------------------------------------------------------- labels

LABELLED = {
    "values": lambda n: ([("k", f"v{i}")] for i in range(n)),
    "keys": lambda n: ([("k", "v0")] + [(f"k{i}", "v") for i in order] for order in (range(n), range(n)[::-1])),
    "sets": lambda n: ([("k", f"v{i}"), ("k", f"v{i + 1}"), ("l", "x")] for i in range(n)),
    "long_values": lambda n: ([("k", "v0"), ("k", f"{i}" + "v" * 64)] for i in range(n // 4)),
}
FILTERS = {"wanted": ["--label", "k=v0"], "unwanted": ["--label", "k!=v0"], "missing": ["--label", "k="]}


def with_labels(name, n):
    p = Profile()
    for i, labels in enumerate(LABELLED[name](n)):
        p.add(["main", f"f{i % 50}"], [1], labels)
    return write(f"{n}.pb", p.bytes())


def filters_labels(name):
    for about, words in FILTERS.items():
        small, large = (cost("report", *words, with_labels(name, n)) for n in (N, TIMES * N))
        grows_with(small, large, f"{about} of {name}")


for name in LABELLED:
    case(filters_labels, f"filtering_by_labels_is_linear_in_many_{name}", name)


# ---------------------------------------------------------------- questions

QUESTIONS = {
    "summary": ["report"], "self": ["report", "--self"], "overall": ["report", "--overall", "--top", "1000000"],
    "sequences": ["report", "--sequences", "--csv"], "tree": ["report", "--tree", "--min", "0"],
    "tree_json": ["report", "--tree", "--json"], "self_json": ["report", "--self", "--json"],
    "overall_csv": ["report", "--overall", "--csv"], "knots": ["report", "--knots", "--json"],
    "knots_text": ["report", "--knots"],
    "block": ["report", "--block", "f1"], "block_json": ["report", "--block", "f1", "--json"],
    "sequence": ["report", "--block", "f1", "--block", "f2", "--csv"],
    "select": ["report", "--select", "f1"], "exclude": ["report", "--exclude", "f1"],
    "fold": ["report", "--fold", "f1"],
    "select_match": ["report", "--select-match", "^f[12]$"], "fold_match": ["report", "--fold-match", "(f|g)*1$"],
    "loops": ["report", "--compact", "loops"], "edges_1": ["report", "--compact", "edges:1"],
    "edges_2": ["report", "--compact", "edges:2"], "edges_3": ["report", "--compact", "edges:3"],
    "plain": ["report", "--compact", "none"], "min": ["report", "--self", "--min", "1"],
}
TO = ["pprof", "folded", "speedscope", "callgrind", "html", "report", "svg", "json"]
ASKED = ["deep", "recursive", "lookback", "star", "bush", "long_names", "ladder"]


def inputs(shape):
    """A file of each size, in a format that can say the shape shortly."""
    for n in (N, TIMES * N):
        yield write(f"{n}.cpuprofile", shapes.cpuprofile(getattr(shapes, shape)(n) + [(0, "f1", 1), (0, "f2", 1)]))


def answers(shape):
    small, large = inputs(shape)
    for name, words in QUESTIONS.items():
        grows_with(cost(*words, small), cost(*words, large), f"{name} of {shape}")
    for rule in ("cycles",):  # at most 2,048 lengths are tried, so its cost becomes linear late
        grows_with(cost("report", "--compact", rule, small), cost("report", "--compact", rule, large),
                   f"{rule} of {shape}", most=TIMES * MOST)
    for to in TO:
        grows_with(cost("convert", "--to", to, small, "out"), cost("convert", "--to", to, large, "out"),
                   f"{shape} to {to}")
    for words in (["diff"], ["diff", "--json"], ["merge", "-o", "sum.pb"],
                  ["merge", "--compact", "edges", "-o", "sum.pb"]):
        grows_with(cost(*words, small, small), cost(*words, large, large), f"{' '.join(words)} of {shape}")
    grows_with(cost("convert", "--period", "2", "--min", "0.1", small, "out.pb"),
               cost("convert", "--period", "2", "--min", "0.1", large, "out.pb"), f"shrinking {shape}")


for shape in ASKED:
    case(answers, f"every_question_is_linear_in_a_{shape}", shape)


# ---------------------------------------------------------------- blocks of one name, compared

# Where the blocks called f are, by number and side: a file and a line.
PLACES = {
    "lines_of_a_file": lambda i, after: ("x.js", 3 * i + after),
    "a_file_each": lambda i, after: (f"/{after}/{i}/x.c", 1),
    "files_that_are_as_deep_as_they_like": lambda i, after: (f"{after}/" + "d/" * (i % 24) + "x.c", i),
    "files_that_get_closer_and_closer": lambda i, after: ("d/" * (i % 16 if after else 20) + "x.c", i),
    "a_long_path": lambda i, after: (f"{after}/" + "folder/" * 100 + f"{i % 2}/x.c", i),
}


def placed(n, after, where):
    """Not as many after as before, so that no order of lines settles it."""
    frames = [{"name": "f", "file": file, "line": line} for file, line in
              (where(i, after) for i in range(n - n // 3 * after))]
    return write(f"{n}-{after}.speedscope.json", json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
        "profiles": [{"type": "sampled", "name": "x", "unit": "none", "samples": [[i] for i in range(len(frames))],
                      "weights": [1] * len(frames)}]}))


def matches(name):
    grows_with(*(cost("diff", placed(n, 0, PLACES[name]), placed(n, 1, PLACES[name])) for n in (N, TIMES * N)),
               f"one name in {name}")


for name in PLACES:
    case(matches, f"comparing_blocks_of_one_name_is_linear_in_{name}", name)


# ---------------------------------------------------------------- the viewer

ASKS = ["profile", "overview", "blocks", "blocks?sort=-self&limit=1000", "blocks?search=f", "blocks?format=csv",
        "sequences", "sequences?format=csv", "around?block=f1", "around?block=f1&block=f2", "neighbourhood?block=f1",
        "flame", "flame?limit=8000", "flame?invert=true", "flame?invert=true&limit=8000", "sandwich?block=f1",
        "matches?search=f", "tree", "tree?hot=true", "knots", "files", "find?search=f", "total", "compare",
        "difference", "difference?side=after&limit=8000", "blocks?select=f1", "overview?exclude=f1",
        "flame?fold=f1", "export?as=svg", "export?as=html", "export?as=pprof", "export?as=folded",
        "export?as=speedscope"]


def ask(file):
    """The cost of each request to a viewer of the file, compared with itself."""
    counters, costs = Counters(), {}
    with Server(file, file, env=counters.env()) as viewer:
        for question in ASKS:
            counters.forget_peak()
            before, held = counters[STEPS], counters[PEAK]
            status, _, body = viewer.get(f"/api/v1/{question}")
            if status >= 500:
                raise Failure(f"{question}: status {status}: {body[:300]}")
            costs[question] = status, counters[STEPS] - before, counters[PEAK] - held
    return costs


def views(shape):
    small, large = map(ask, inputs(shape))
    for question in ASKS:
        if small[question][0] != large[question][0]:
            raise Failure(f"{question}: status {small[question][0]} and {large[question][0]}")
        grows_with(small[question][1:], large[question][1:], f"{question} of {shape}")


for shape in ASKED:
    case(views, f"every_request_to_the_viewer_is_linear_in_a_{shape}", shape)


# ---------------------------------------------------------------- hashes

@case
def names_that_collided_cost_no_more_than_twice_what_random_ones_cost():
    chosen = shapes.colliding_names(8 * N)
    other = [os.urandom(8).hex().encode() for _ in chosen]
    costs = [cost("report", write(name, b"".join(b"main;" + x + b" 1\n" for x in names)))
             for name, names in (("other", other), ("chosen", chosen))]
    grows_with(*costs, "colliding names instead of random ones", most=2)


@case
def the_output_does_not_depend_on_the_key_of_the_process():
    tree = write("bush.folded", shapes.folded(shapes.bush(N)))
    for words in (["report"], ["report", "--knots", "--json"], ["report", "--fold", "f3"],
                  ["convert", "--to", "pprof", tree], ["convert", "--to", "callgrind", tree]):
        words = words + (["-"] if words[0] == "convert" else [tree])
        first = run(counted.COUNTED, *words, status=0, text=False).out
        for _ in range(3):
            same(run(counted.COUNTED, *words, status=0, text=False).out, first, words)

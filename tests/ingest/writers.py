#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles to servers of others: tests/ingest/writers.py OURO [WORD...]

`ouro push --store pyroscope+http://...` against our own `ouro serve` and, with its body read by protoc, against the
limits that Pyroscope has; `--store otlp+http://...` as protoc decodes it. What a server refuses is told.
"""
import collections, gzip, http.server, json, os, random, re, sys, threading, time, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../cli", HERE + "/../support"]
from harness import Serve
from pprof import random_profile
from suite import ROOT, arguments, case, has, lacks, main, run, same, write

Serve.ouro, = arguments("OURO")
SEED = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))
Posted = collections.namedtuple("Posted", "path query headers body")


def ouro(*words, status=0, env=None):
    done = run(Serve.ouro, *words, status=status, env=dict(os.environ, **env) if env else None)
    return done.out if status == 0 else done.err


def folded(*words):
    lines = ouro("convert", "--to", "folded", *words, "-").splitlines()
    return dict((path, int(n)) for path, n in (line.rsplit(" ", 1) for line in lines))


class Server:
    """Somebody else's: keeps what it gets, and answers as it is told."""

    def __init__(self, status=200, answer=b""):
        got = self.got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                target = urllib.parse.urlsplit(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers["Content-Encoding"] == "gzip":
                    body = gzip.decompress(body)
                got.append(Posted(target.path, dict(urllib.parse.parse_qsl(target.query)), self.headers, body))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


# ---------------------------------------------------------------- what protoc says

def decoded(body, message, proto):
    """A message as protoc prints it, as nested dicts of lists."""
    write("body", body)
    with open("body", "rb") as f:
        text = run("protoc", "--proto_path=" + os.path.join(ROOT, "tests", "oracle"), "--decode=" + message, proto,
                   stdin=f, status=0).out
    top = collections.defaultdict(list)
    open_ones = [top]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            open_ones.pop()
        elif line.endswith("{"):
            inner = collections.defaultdict(list)
            assert not line[0].isdigit(), f"an unknown field: {line}"
            open_ones[-1][line[:-2]].append(inner)
            open_ones.append(inner)
        else:
            name, value = line.split(": ", 1)
            assert not name.isdigit(), f"an unknown field: {line}"
            open_ones[-1][name].append(json.loads(value) if "\\" not in value else value[1:-1])
    return top


def pprof_paths(body):
    """{metric: {path: sum}}, and the depths, of a pprof body."""
    p = decoded(body, "perftools.profiles.Profile", "profile.proto")
    strings = p["string_table"]
    functions = {f["id"][0]: strings[f["name"][0]] for f in p["function"]}
    names = {l["id"][0]: functions[l["line"][0]["function_id"][0]] for l in p["location"]}
    metrics = [strings[t["type"][0]] for t in p["sample_type"]]
    sums = {m: collections.Counter() for m in metrics}
    for s in p["sample"]:
        path = ";".join(names[i] for i in reversed(s["location_id"]))
        for m, v in zip(metrics, s["value"]):
            sums[m][path] += v
    return sums, [len(s["location_id"]) for s in p["sample"]], p


# ---------------------------------------------------------------- Pyroscope

@case
def what_goes_to_pyroscope_comes_back_by_our_own_server():
    print(f"# the seed is {SEED}")
    dice = random.Random(SEED)
    files = [write(f"{i}.pb", random_profile(dice.randrange(10 ** 9), True).bytes()) for i in range(4)]
    with Serve("--token", "geheim") as s:
        store = s.url.replace("http://", "pyroscope+http://")
        for i, name in enumerate(files):
            ouro("push", "--store", store, "--service", "web", "--build", str(i % 2), "--label", "zone=a, {b}", name,
                 env={"OURO_TOKEN": "geheim"})
        has(ouro("push", "--store", store, files[0], status=1), "401", "the token is missing or wrong")
    ouro("merge", "--compact", "loops", *files, "-o", "sum.pb")
    ouro("merge", "--compact", "loops", *files[::2], "-o", "even.pb")
    for metric in "samples", "bytes":
        for where, file in ("service=web", "sum.pb"), ("build=0 zone=\"a_ _b_\"", "even.pb"):
            got = folded("--store", "s.db", "--where", where, "--metric", metric)
            same(got, folded("--metric", metric, file), where)


@case
def a_body_for_pyroscope_is_what_its_agents_send():
    write("x.pb", random_profile(SEED, True).bytes())
    ouro("convert", "--compact", "loops", "x.pb", "y.pb")
    with Server() as s:
        ouro("push", "--store", f"pyroscope+http://user:p%40ss@{s.address}/prefix/", "--service", "shop/web",
             "--label", "host=a1", "--label", "9 x=\u00fc,{}", "x.pb")
    one, = s.got
    same(one.path, "/prefix/ingest")
    same(one.query["name"], "shop/web{_9_x=\u00fc___,host=a1}")
    same((one.query["format"], one.query["spyName"]), ("pprof", "ouro"))
    assert int(one.query["from"]) <= int(one.query["until"])
    same(one.headers["Authorization"], "Basic dXNlcjpwQHNz")
    sums, _, _ = pprof_paths(one.body)
    for metric in "samples", "bytes":
        same(dict(sums[metric]), folded("--metric", metric, "y.pb"), metric)
    top = run("go", "tool", "pprof", "-top", "-sample_index=bytes", "body", status=0, env=dict(os.environ, HOME="."))
    has(top.out, f"of {sum(sums['bytes'].values())} total")


@case
def what_pyroscope_does_not_take_is_summed_up_and_said():
    deep = ";".join(f"f{i}" for i in range(1500))
    lines = [f"{deep} 7", f"{deep};leaf 5", ";".join(f"f{i}" for i in range(1000)) + " 11"]
    lines += [f"main;g{i % 100};h{i} {i + 1}" for i in range(17000)]
    write("x.folded", "\n".join(lines))
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    with Server() as s:
        done = run(Serve.ouro, "push", "--store", f"pyroscope+http://{s.address}", "x.folded", status=0)
    sums, depths, _ = pprof_paths(s.got[0].body)
    got = sums["samples"]
    same(sum(got.values()), total)
    assert len(depths) <= 16000 and max(depths) <= 1000 and len(s.got[0].body) <= 4 << 20, (len(depths), max(depths))
    # The deep ones are too small to be kept: of the paths with places of their own, all are as they were.
    small = got.pop("[pruned]")
    same(set(got) - {line.rsplit(" ", 1)[0] for line in lines}, set())
    same(small, total - sum(got.values()))
    same(min(got.values()), 17000 - len(got) + 1)
    has(done.err, "summed up in [pruned]: 0 paths that are too deep, 1,004 of the smallest")


@case
def a_path_that_is_too_deep_keeps_its_root():
    names = [f"f{i}" for i in range(1500)]
    write("x.folded", f"{';'.join(names)} 7\n{';'.join(names[:1200])} 5\n{';'.join(names[:1000])} 3\nmain;g 2\n")
    with Server() as s:
        done = run(Serve.ouro, "push", "--store", f"pyroscope+http://{s.address}", "x.folded", status=0)
    sums, _, _ = pprof_paths(s.got[0].body)
    same(dict(sums["samples"]), {";".join(names[:999]) + ";[pruned]": 12, ";".join(names[:1000]): 3, "main;g": 2})
    has(done.err, "2 paths that are too deep, 0 of the smallest")


@case
def a_body_that_would_be_too_long_has_fewer_paths():
    chains = [[f"{c}{i}" for i in range(999)] for c in "abcdefghij"]
    lines = [";".join(names[:depth]) for names in chains for depth in range(1, 1000, 2)]
    write("x.folded", "\n".join(f"{line} {i + 1}" for i, line in enumerate(lines)))
    with Server() as s:
        done = run(Serve.ouro, "push", "--store", f"pyroscope+http://{s.address}", "x.folded", status=0)
    got = folded(write("sent.pb", s.got[0].body))
    assert len(s.got[0].body) <= 4 << 20 and 1000 < len(got) < 5000, (len(s.got[0].body), len(got))
    same(sum(got.values()), 5000 * 5001 // 2)
    has(done.err, "of the smallest")


# ---------------------------------------------------------------- OpenTelemetry

def otlp_paths(body):
    """{metric: {path: sum}}, checked: every index is in its table, and the first row of each is empty."""
    request = decoded(body, "ExportProfilesServiceRequest", "otlp_profiles.proto")
    d, = request["dictionary"]
    strings = d["string_table"]
    for name in "mapping", "location", "function", "link", "attribute", "stack":
        same(dict(d[name + "_table"][0]), {}, name)
    same(strings[0], "")
    same(len(strings), len(set(strings)))
    names = {}
    for i, location in enumerate(d["location_table"][1:], 1):
        line, = location["lines"]
        names[i] = strings[d["function_table"][line["function_index"][0]]["name_strindex"][0]]
    resource, = request["resource_profiles"]
    scope, = resource["scope_profiles"]
    sums, used = {}, set()
    for p in scope["profiles"]:
        type, = p["sample_type"]
        same(p["period_type"], p["sample_type"])
        same(p["period"], [1])
        metric = strings[type["type_strindex"][0]]
        assert metric not in sums
        sums[metric] = collections.Counter()
        for s in p["samples"]:
            stack = s["stack_index"][0]
            assert 0 < stack < len(d["stack_table"])
            used.add(stack)
            value, = s["values"]
            sums[metric][";".join(names[i] for i in reversed(d["stack_table"][stack]["location_indices"]))] += value
    same(used, set(range(1, len(d["stack_table"]))))
    attributes = {a["key"][0]: a["value"][0]["string_value"][0] for a in resource["resource"][0]["attributes"]}
    return sums, attributes, scope, strings


@case
def protoc_decodes_what_goes_by_otlp():
    write("x.pb", random_profile(SEED, True).bytes())
    ouro("convert", "--compact", "loops", "x.pb", "y.pb")
    with Server() as s:
        for _ in range(2):
            ouro("push", "--store", f"otlp+http://{s.address}", "--service", "web", "--build", "7",
                 "--label", "host=a1", "--label", "zone=b", "x.pb", env={"OURO_TOKEN": "t"})
    one, again = s.got
    same(one.path, "/v1development/profiles")
    same((one.headers["Content-Type"], one.headers["Authorization"]), ("application/x-protobuf", "Bearer t"))
    same(one.body, again.body)
    sums, attributes, scope, _ = otlp_paths(one.body)
    same(attributes, {"service.name": "web", "service.version": "7", "host.name": "a1", "zone": "b"})
    same(scope["scope"][0]["name"], ["ouro"])
    same(len({p["profile_id"][0] for p in scope["profiles"]}), 2)
    same(len({p["time_unix_nano"][0] for p in scope["profiles"]}), 1)
    for metric in "samples", "bytes":
        same(dict(sums[metric]), folded("--metric", metric, "y.pb"), metric)


@case
def a_deep_path_by_otlp_is_summed_up_and_said():
    names = [f"f{i}" for i in range(3000)]
    write("x.folded", f"{';'.join(names)} 7\nmain;g 2\n")
    with Server() as s:
        done = run(Serve.ouro, "push", "--store", f"otlp+http://{s.address}/", "x.folded", status=0)
    same(dict(otlp_paths(s.got[0].body)[0]["samples"]), {";".join(names[:1023]) + ";[pruned]": 7, "main;g": 2})
    has(done.err, "1 paths that are too deep")


# ---------------------------------------------------------------- what servers say

@case
def what_a_server_refuses_is_told_without_the_password():
    write("x.folded", "main;f 3\n")
    for scheme in "pyroscope", "otlp":
        for status, answer in (401, b"who are you\nreally"), (422, b"too many labels"), (500, b""):
            with Server(status, answer) as s:
                err = ouro("push", "--store", f"{scheme}+http://user:geheim@{s.address}", "x.folded", status=1)
            has(err, f"the server answers {status}", answer.decode().split("\n")[0])
            lacks(err, "geheim", "really")
        err = ouro("push", "--store", f"{scheme}+http://user:geheim@{s.address}", "x.folded", status=1)
        has(err, s.address)
        lacks(err, "geheim")
        with Server() as s:
            ouro("push", "--store", f"{scheme}+http://user@{s.address}", "x.folded",
                 env={"OURO_STORE_PASSWORD": "p@ss", "OURO_TOKEN": "x"})
        same(s.got[0].headers["Authorization"], "Basic dXNlcjpwQHNz")
    for noise in b"\x0a", b"\x0a\xff\xff", b"{}", bytes(100):  # whoever answers 200 has taken it
        with Server(200, noise) as s:
            ouro("push", "--store", f"otlp+http://{s.address}", "x.folded")
    partial = b"\x0a\x0c\x08\x02\x12\x08too wide"
    with Server(200, partial) as s:
        has(ouro("push", "--store", f"otlp+http://{s.address}", "x.folded", status=1),
            "the server refuses 2 profiles: too wide")


@case
def servers_of_others_are_only_written_to():
    write("x.folded", "main;f 3\n")
    for store in ("pyroscope+http://127.0.0.1:1", "pyroscope+https://127.0.0.1:1", "otlp+http://127.0.0.1:1",
                  "otlp+https://[::1]:1"):
        for words in (["report", "--store", store], ["store", store], ["convert", "--store", store, "y.pb"],
                      ["diff", "--store", store, "--where", "a=1", "--with", "a=2"]):
            has(ouro(*words, status=1), "can only be written to", about=words)
    for wrong in "pyroscope+http://", "pyroscope+http://?x=1", "otlp+http:x", "otlp+http://h/p?x":
        has(ouro("push", "--store", wrong, "x.folded", status=1), "expected SCHEME://HOST:PORT", about=wrong)


main()

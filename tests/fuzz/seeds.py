#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets into subfolders of a folder: files (the golden inputs and some pprof files, with
a byte in front), requests, ingest, fble and lua (short sources)."""
import glob, gzip, marshal, os, re, sys

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..")
sys.path.insert(0, os.path.join(here, "..", "cli"))
from pprof import Profile, msg, num, random_profile, varint

SOURCE_MOST = 2000  # bytes: longer ones are fuzzed slowly


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(folder, seeds):
    folder = os.path.join(sys.argv[1], folder)
    os.makedirs(folder)
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


def files():
    inputs = os.path.join(root, "tests", "golden", "inputs")
    seeds = {name: read(os.path.join(inputs, name)) for name in os.listdir(inputs)}
    small = Profile()
    small.add(["main", ("serve", "inlined"), "leaf"], [10], [("request", "home")])
    small.add(["main", "leaf"], [-1])
    seeds["small.pb"] = small.bytes()
    unnamed = Profile()
    unnamed.add(["/bin/program+0x10", "/bin/program+0x24", ("/bin/library+0x30", "inlined")], [3])
    unnamed.add(["/bin/program+0x10", "/bin/program+0x31"], [4])
    seeds["unnamed.pb"] = unnamed.bytes()
    sliced = Profile((("calls", "count"), ("recursions", "count"), ("direct", "count"), ("time", "nanoseconds")))
    sliced.add(["main", "draw"], [1, 0, 0, 9], [("slice", "2"), ("slice_kind", "slowest")])
    sliced.add(["main", "draw"], [1, 0, 0, 5])
    row = lambda *values: b"".join(map(varint, values))
    kept = msg(1, row(2, 900, 800, 1)) + msg(2, row(1, 0, 0, 9)) + msg(3, row(0, 0, 0, 0))
    table = row(100, 800, 1, 0, 0, 5, 0, 800, 1, 0, 0, 9)
    sliced.extra = msg(1000, msg(2, b"frame") + num(4, 2) + num(5, 800) + msg(8, table) +
                       msg(9, row(456, 2)) + msg(11, row(6, 2)) + num(12, 100) + num(13, 1000) + msg(14, kept))
    seeds["sliced.pb"] = sliced.bytes()
    seeds["random.pb"] = random_profile(1, True).bytes()
    seeds["small.prof"] = marshal.dumps({("f.py", 1, "f"): (1, 3, 0.5, 1.5, {("f.py", 1, "f"): (2, 2, 0.25, 0.5)})})
    seeds["small.pb.gz"] = gzip.compress(seeds["small.pb"], mtime=0)
    seeds["two members.gz"] = gzip.compress(b"main;a 1\n", mtime=0) + gzip.compress(b"main;b 2\n", mtime=0)
    return {name: bytes([i]) + data for i, (name, data) in enumerate(sorted(seeds.items()))}


QUESTIONS = ["profile", "overview", "blocks?sort=-self&limit=5&offset=1&search=p", "sequences?sort=length&format=csv",
             "around?block=parse&block=lex&in_limit=3", "neighbourhood?block=lex&limit=3",
             "flame?at=main&at=parse&limit=20", "tree?at=main&sort=name", "knots", "files", "source?file=x&map=a%3Db",
             "compare?state=new&sort=-overall", "find?text=a", "total?search=eval",
             "export?as=svg&fold=parse",
             "blocks?select=main&exclude=lex&fold=eval&fold=a%40b.c%3A1&metric=samples&side=after",
             "slices?slices=0.5-1,0.001-0.01", "compare?slices=slowest&against=typical&limit=2",
             "difference?slices=2&against=last&side=after", "labels?slices=typical&label=slice%3D2",
             "blocks?slices=,0.001-&during=1-2", "blocks?during=0.5-&last=3", "history?steps=2&seconds=9",
             "blocks?select=%EF%BF%BD%EF%BF%BD"]


def ingest():
    """A line with the target, one with the type of the content, and the body."""
    small = Profile()
    small.add(["main", "leaf"], [10])
    raw = small.bytes()
    parts = {b"profile": gzip.compress(raw, mtime=0), b"prev_profile": raw,
             b"sample_type_config": b'{"samples":{"cumulative":true}}'}
    form = b"".join(b'--b0\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % part
                    for part in parts.items()) + b"--b0--\r\n"

    def field(number, data):
        return bytes([number << 3 | 2, len(data) & 127 | 128, len(data) >> 7]) + data

    series = field(1, field(1, b"service_name") + field(2, b"web")) + field(2, field(1, raw))
    times = b"&from=1700000000&until=1700000010"
    return {"folded": b"/ingest?name=web.cpu{host=a1}" + times + b"&sampleRate=97\n\nmain;f;g 3\nmain;f;f 4\n",
            "lines": b'/ingest?name=web.wall{a="b, c"}&format=lines&units=samples&spyName=x\n\nmain;f\nmain;g\n',
            "pprof": b"/ingest?name=web&format=pprof" + times + b"\n\n" + raw,
            "form": b"/ingest?name=web&format=pprof\nmultipart/form-data; boundary=b0\n" + form,
            "message": b"/push.v1.PusherService/Push\napplication/proto\n" + field(1, series)}


def fble():
    """The modules of the test cases: each begins with a line `-- NAME`, or the case's own `==`."""
    seeds = {}
    for path in glob.glob(os.path.join(root, "hosts", "fble", "tests", "*.cases")):
        for i, text in enumerate(re.split(rb"^(?:--|==).*\n", read(path), flags=re.M)):
            if 0 < len(text) < SOURCE_MOST:
                seeds[f"{os.path.basename(path)}-{i}"] = text
    return seeds


def lua():
    paths = glob.glob(os.path.join(root, "hosts", "lua", "**", "*.lua"), recursive=True)
    return {os.path.relpath(path, root).replace("/", "-"): read(path)[:SOURCE_MOST] for path in paths}


write("files", files())
write("requests", {str(i): bytes([i]) + b"/api/v1/" + q.encode() for i, q in enumerate(QUESTIONS)})
write("ingest", ingest())
write("fble", fble())
write("lua", lua())

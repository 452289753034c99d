#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets into subfolders of a folder: files (the golden inputs and some pprof files, with
a byte in front), wire (more pprof files), requests, ingest, perfdata, fble and lua (short sources)."""
import glob, gzip, marshal, os, re, struct, sys

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


def wire_types():
    """Pprof files with one field more: each field of each message, as each of protobuf's types of field."""
    small = Profile()
    small.add(["main", "leaf"], [10], [("request", "home")])
    values = {0: varint(1), 1: struct.pack("<Q", 1), 2: b"\1\1", 5: struct.pack("<I", 1)}
    messages = {"sample_type": (1,), "sample": (2,), "label": (2, 3), "mapping": (3,), "location": (4,), "line": (4, 4),
                "function": (5,), "profile": ()}
    seeds = {}
    for name, path in messages.items():
        for number in range(1, 16):
            for kind, value in values.items():
                field = varint(number << 3 | kind) + value
                for outer in reversed(path):
                    field = msg(outer, field)
                seeds[f"{name}-{number}-{kind}"] = b"\0" + small.bytes() + field
    return seeds


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


def perf_records():
    """One record of each kind, for samples of ip, thread, time, period, chain, registers and stack."""
    ids = struct.pack("<IIQ", 7, 7, 100)
    record = lambda kind, misc, body: struct.pack("<IHH", kind, misc, 8 + len(body)) + body
    text = lambda t: t + b"\0" * (8 - len(t) % 8)
    chain = struct.pack("<5Q", 4, 2**64 - 128, 0xffffffff81000010, 2**64 - 512, 0x1010)
    stack = struct.pack("<3Q", 0x1020, 0x1030, 0)
    sample = struct.pack("<QIIQQ", 0x1010, 7, 7, 200, 1000) + chain + struct.pack("<Q", 2) + struct.pack(
        "<9Q", *range(0x1000, 0x1090, 16)) + struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", 16)
    return b"".join([
        record(3, 1 << 13, struct.pack("<II", 7, 7) + text(b"program") + ids),
        record(1, 2, struct.pack("<IIQQQ", 7, 7, 0x1000, 0x1000, 0) + text(b"/bin/sh") + ids),
        record(10, 2, struct.pack("<IIQQQIIQQII", 7, 7, 0x1800, 0x100, 0, 0, 0, 0, 0, 5, 2) + text(b"/none") + ids),
        record(1, 1, struct.pack("<IIQQQ", 2**32 - 1, 0, 0, 9, 9) + text(b"[kernel.kallsyms]_text") + ids),
        record(7, 0, struct.pack("<IIIIQ", 8, 7, 8, 7, 150) + ids), record(9, 2, sample), record(14, 1 << 13, ids),
        record(9, 1, sample), record(14, 0, ids), record(68, 0, b""), record(2, 0, struct.pack("<QQ", 1, 5) + ids),
        record(9, 2, sample[:24] + struct.pack("<Q", 1) + sample[32:]),
        record(4, 0, struct.pack("<IIIIQ", 8, 7, 8, 7, 400) + ids)])


def perf_data():
    """A small perf.data: header, attributes, records, build ids."""
    kinds = 1 | 2 | 4 | 256 | 32 | 4096 | 8192
    attributes = struct.pack("<IIQQQQQ", 1, 128, 0, 997, kinds, 0, 1 << 18) + b"\0" * 24
    attributes = (attributes + struct.pack("<QQ", 0, 0x1ff)).ljust(128, b"\0") + struct.pack("<QQ", 0, 0)
    records = perf_records()
    at = 104 + len(attributes)
    ids = struct.pack("<IHHI", 0, 2, 36 + 8, 7) + bytes(range(24)) + b"/bin/sh\0"
    head = b"PERFILE2" + struct.pack("<8Q", 104, len(attributes), 104, len(attributes), at, len(records), 0, 0)
    whole = head + struct.pack("<4Q", 1 << 2, 0, 0, 0) + attributes + records
    whole += struct.pack("<QQ", len(whole) + 16, len(ids)) + ids
    return {"whole": whole, "cut": whole[:at + 100], "pipe": b"PERFILE2" + struct.pack("<Q", 16) + records}


write("files", files())
write("wire", wire_types())
write("perfdata", perf_data())
write("requests", {str(i): bytes([i]) + b"/api/v1/" + q.encode() for i, q in enumerate(QUESTIONS)})
write("ingest", ingest())
write("fble", fble())
write("lua", lua())

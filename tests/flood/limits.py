# SPDX-License-Identifier: MIT
"""Inputs that ask for more than their size deserves, files that change while they are read, exports that explode."""
import counted, gzip, os, random, shapes, subprocess, threading, time
from counted import PEAK, STEPS, Counters
from harness import Server
from pprof import msg, num, varint
from suite import Failure, case, has, read, run, same, write

OURO = RECORD = None  # set by run.py
MEMORY = 600 << 20    # what a small file may take: the budget's 256 MB, and the columns being copied
STEPS_MOST = 2_000_000_000


def refused(*words, about=None, peak=MEMORY):
    """The command ends soon, in little memory, with one line that names the way out. Gives the line."""
    counters = Counters()
    done = subprocess.run([counted.COUNTED, *words], env=counters.env(), stdin=subprocess.DEVNULL, capture_output=True)
    line = done.stderr.decode(errors="replace")
    same((done.returncode, line.count("\n")), (1, 1), about or line)
    has(line, "too much for a file of", "--limit", about=about)
    if counters[PEAK] > peak or counters[STEPS] > STEPS_MOST:
        raise Failure(f"{about}: {counters[PEAK]:,} bytes and {counters[STEPS]:,} steps until it was refused")
    return line


# ---------------------------------------------------------------- small files, large trees

def repeated(lines, times, functions=2):
    """One location with many lines, again and again on a path."""
    location = num(1, 1) + b"".join(msg(4, num(1, 1 + i % functions) + num(2, 1)) for i in range(lines))
    out = msg(1, num(1, 1) + num(2, 2)) + msg(2, msg(1, varint(1) * times) + msg(2, varint(1))) + msg(4, location)
    out += b"".join(msg(5, num(1, 1 + i) + num(2, 3 + i)) for i in range(functions))
    return out + b"".join(msg(6, s) for s in [b"", b"samples", b"count"] + [b"f%d" % i for i in range(functions)])


AMPLIFIED = {
    "few_lines_and_many_samples": lambda: repeated(200, 200_000),
    "many_lines_and_few_samples": lambda: repeated(200_000, 200),
    "lines_of_many_functions": lambda: repeated(2_000, 20_000, 500),
}


def is_refused(name):
    data = AMPLIFIED[name]()
    refused("report", write("a.pb", data))
    refused("diff", write("a.pb.gz", gzip.compress(data, 1)), "a.pb")


for name in AMPLIFIED:
    case(is_refused, f"a_tree_that_is_too_large_for_its_file_is_refused_with_{name}", name)


@case
def the_limit_can_be_raised():
    write("a.pb.gz", gzip.compress(repeated(200, 20_000)))
    refused("report", "a.pb.gz", "--limit", "100M")
    has(run(OURO, "report", "--limit", "1G", "a.pb.gz", status=0).out, "4,000,000 paths")
    has(run(OURO, "report", "--compact", "edges", "a.pb.gz", status=0).out, "a.pb.gz: 1 sample")


@case
def the_limit_is_a_size():
    write("a.folded", "main 1\n")
    for good in ("100000000", "500M", "4G", "1T", "300000K"):
        run(OURO, "report", "--limit", good, "a.folded", status=0)
    for bad in ("", "x", "-1", "0", "4GB", "4 G", "1.5G", "99999999T", "99999999999999999999"):
        done = run(OURO, "report", "--limit", bad, "a.folded", status=2)
        has(done.err, "expected a size such as 500M or 4G", about=bad)


@case
def metrics_count_as_memory():
    """200 columns for each node, of which a byte makes one."""
    tree = shapes.deep(150)
    body = shapes.pprof(tree, types=200)
    path = varint(1) + varint(2) * 300_000
    refused("report", write("a.pb", body + msg(2, msg(1, path) + msg(2, b"\1" * 200))))


@case
def a_sum_may_cost_what_its_parts_may():
    for name in ("a.pb", "b.pb"):
        write(name, repeated(100, 10_000))
    run(OURO, "merge", "a.pb", "b.pb", "-o", "sum.json", status=0)


@case
def what_gzip_unpacks_is_in_proportion_too():
    packed = gzip.compress(b"main;" + b"a" * 10_000_000 + b" 1\n", 9, mtime=0) * 40
    has(refused("report", write("a.gz", packed)), "when it is unpacked")
    has(run(OURO, "report", "--limit", "1G", "a.gz", status=0).out, "a.gz: 40 samples")


@case
def json_that_is_packed_is_in_proportion_too():
    value = b'{"functionName":[' + b"[]," * 4_000_000 + b"0]}"
    has(refused("report", write("a.gz", gzip.compress(value, 9))), "of memory for its values")
    refused("report", "--limit", "100M", write("a.json", value[:3_000_000] + b"0]}"), peak=200 << 20)


@case
def a_live_file_of_holes_is_refused():
    shapes.live(shapes.star(100), RECORD, "a.ouro")
    os.truncate("a.ouro", 1 << 40)
    refused("report", "a.ouro")


@case
def work_is_in_proportion():
    """Under edges:1, a new step at the end of a chain, one at its beginning, and so on: each goes a long way."""
    tree = [(-1, "main", 1)] + [(i, f"f{i}", 0) for i in range(12_000)]
    end = len(tree) - 1
    for i in range(12_000):
        tree += [(end, f"x{i}", 0), (len(tree), "main", 0), (len(tree) + 1, f"y{i}", 1)]
    write("a.cpuprofile", shapes.cpuprofile(tree))
    has(refused("report", "--compact", "edges:1", "a.cpuprofile"), "steps of work")


# ---------------------------------------------------------------- what cannot be read

@case
def devices_are_refused_and_pipes_are_read():
    for device in ("/dev/zero", "/dev/full", "/dev/urandom"):
        has(run(OURO, "report", device, status=1).err, "a device; a profile is a file or comes through a pipe")
    has(run(OURO, "report", "-", stdin="main 1\n", status=0).out, "1 sample")
    os.mkfifo("pipe")
    writer = subprocess.Popen(["sh", "-c", "echo 'main 7' > pipe"])
    has(run(OURO, "report", "pipe", status=0).out, "7 samples")
    same(writer.wait(), 0)


def endless(begin, again, size=None):
    """Bytes that begin like a profile and go on for ever, or up to a size."""
    yield begin
    block = again * (1 + (1 << 16) // len(again))
    sent = len(begin)
    while size is None or sent + len(block) < size:
        yield block
        sent += len(block)


def piped(blocks, *words, status=1):
    """What the command says of a pipe, and the most memory that it takes."""
    counters = Counters()
    reader = subprocess.Popen([counted.COUNTED, "report", *words, "-"], env=counters.env(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for block in blocks:
            reader.stdin.write(block)
        reader.stdin.close()
    except BrokenPipeError:
        pass
    reader.stdin = None
    out, err = reader.communicate()
    same(reader.returncode, status, err)
    return (err if status else out).decode(), counters[PEAK]


# With what is said of it, and the most memory: what a window can hold needs no more than that.
ENDLESS = {
    "text": (b"", b"y\n", (), "not a profile of a known kind", 8 << 20),
    "noise": (b"", b"\1\n\xff", (), "not a profile of a known kind", 8 << 20),
    "zeros": (b"", b"\0", (), "nothing but zeros", 8 << 20),
    "folded_stacks": (b"", b"main;f 1\n", ("--limit", "50M"), "more than 50 MB to read", 8 << 20),
    "one_line": (b"", b"main;f", (), "more than 256 MB to read", 300 << 20),
    "json": (b'{"nodes":[', b"1,", (), "more than 256 MB to read", 300 << 20),
    "pprof": (msg(1, num(1, 1)), msg(6, b"text"), (), "more than 256 MB to read", 300 << 20),
    "gzip": (gzip.compress(b"main 1\n"), b"noise", (), "more than 256 MB to read", 300 << 20),
    "blanks": (b"", b"\n", ("--limit", "50M"), "more than 50 MB to read", 60 << 20),
}


def is_refused_early(begin, again, words, says, most):
    said, peak = piped(endless(begin, again), *words)
    has(said, says, "--limit" if "to read" in says else "")
    if peak > most:
        raise Failure(f"{peak:,} bytes of memory")


for name, how in ENDLESS.items():
    case(is_refused_early, f"a_pipe_without_end_is_refused_that_has_{name}", *how)


@case
def a_long_pipe_of_stacks_is_read_through_a_window():
    """As perf script writes them, or folded."""
    perf = b"".join(b"x %d 1.%06d: 1 cycles:\n\t1 f+0x1 (/x)\n\t2 main+0x2 (/x)\n\n" % (i, i) for i in range(1000))
    for name, block in ("folded", b"main;f 1\nmain;g 1\n" * 1000), ("perf", perf):
        blocks = 1 + (40 << 20) // len(block)
        said, peak = piped((block for _ in range(blocks)), status=0)
        has(said, f"{blocks * (2000 if name == 'folded' else 1000):,} samples", about=name)
        if peak > 20 << 20:
            raise Failure(f"{name}: {peak:,} bytes of memory")


def large(form):
    """Some 3 MB: more than a window, and things in it that are larger than one."""
    rnd = random.Random(7)
    tree = shapes.bush(4_000)
    tree += [(0, "long_" + "x" * 1_500_000, 1)] + [(rnd.randrange(4_000), f"g{rnd.randrange(3_000)}", 2)
                                                   for _ in range(20_000)]
    return form(tree)


def says_the_same(form):
    """A file can be read twice, a pipe cannot."""
    data, seed = large(form), int(os.environ.get("OURO_SEED", time.time_ns()))
    print(f"# seed {seed}", flush=True)
    rnd = random.Random(seed)
    cuts = [len(data)] + [rnd.randrange(1 << 16, len(data)) for _ in range(6)]
    for cut in cuts:
        whole = bytearray(data[:cut])
        if cut != len(data) and rnd.random() < 0.5:
            whole[rnd.randrange(len(whole))] ^= 1 << rnd.randrange(8)
        write("file", bytes(whole))
        words = ["report", "--self", "--json", "--limit", "1G"]
        file, pipe = run(OURO, *words, "file"), run(OURO, *words, "-", stdin=bytes(whole))
        pipe_err = pipe.err.replace("standard input:", "file:", 1)
        same((file.status, file.err), (pipe.status, pipe_err), f"seed {seed}, {cut} bytes")
        same(file.out == pipe.out, True, f"seed {seed}, {cut} bytes")


for form in (shapes.folded, shapes.perf, shapes.pprof):
    case(says_the_same, f"a_large_{form.__name__}_file_says_what_its_bytes_say_through_a_pipe", form)


def cut_while_read(name, data, seconds=1.5):
    """Another process cuts the file and writes it again, as fast as it can: reading works, or says why not."""
    write(name, data)
    stop = threading.Event()

    def cut():
        with open(name, "r+b") as f:
            while not stop.is_set():
                os.ftruncate(f.fileno(), 0)
                os.pwrite(f.fileno(), data, 0)
    cutter, end, runs = threading.Thread(target=cut), time.monotonic() + seconds, 0
    cutter.start()
    try:
        while time.monotonic() < end or runs < 10:
            done = run(OURO, "report", name)
            if done.status not in (0, 1) or (done.status == 1 and done.err.count("\n") != 1):
                raise Failure(f"exit status {done.status} in run {runs}: {done.err}")
            runs += 1
    finally:
        stop.set()
        cutter.join()


@case
def a_live_file_that_is_cut_while_it_is_read_is_an_error():
    shapes.live(shapes.star(20_000), RECORD, "whole.ouro")
    with open("whole.ouro", "rb") as f:
        cut_while_read("a.ouro", f.read())


@case
def files_that_are_cut_while_they_are_read_are_an_error():
    tree = shapes.bush(40_000)
    for name, form in (("a.folded", shapes.folded), ("a.pb", shapes.pprof), ("a.perf", shapes.perf)):
        cut_while_read(name, form(tree), seconds=0.8)


# ---------------------------------------------------------------- exports

def exploding():
    """A chain whose every node is charged: 1.5 MB that are 800 MB when each path is spelled out."""
    return write("chain.cpuprofile", shapes.cpuprofile(shapes.valued_chain(16_000)))


@case
def an_export_stops_at_a_limit_and_leaves_what_was_there():
    chain = exploding()
    for words in (["--to", "folded"], ["--to", "folded", "--limit", "40M"], ["--to", "speedscope", "--limit", "40M"]):
        write("out", "as it was\n")
        has(refused("convert", *words, chain, "out", peak=64 << 20), "to write", about=words)
        same((read("out"), sorted(os.listdir("."))), ("as it was\n", ["chain.cpuprofile", "counters", "out"]), words)


@case
def a_report_of_all_paths_stops_at_a_limit():
    done = run(OURO, "report", "--limit", "40M", "--sequences", "--csv", exploding(), status=1, text=False)
    has(done.err, b"to write", b"--limit")


@case
def the_viewer_sends_exports_from_a_file_and_stops_at_a_limit():
    counters = Counters()
    with Server("--limit", "40M", exploding(), env=counters.env()) as viewer:
        for question in ("export?as=folded", "export?as=speedscope", "sequences?format=csv", "export?as=json",
                         "export?as=svg", "export?as=html"):
            counters.forget_peak()
            held = counters[PEAK]
            status, headers, body = viewer.get(f"/api/v1/{question}")
            if question in ("export?as=folded", "export?as=speedscope"):
                same(status, 500, question)
                has(body.decode(), "cannot-write", "to write", "--limit", about=question)
            if counters[PEAK] - held > 32 << 20:
                raise Failure(f"{question}: {counters[PEAK] - held:,} bytes")


@case
def an_export_of_the_viewer_is_what_convert_writes():
    file = write("a.folded", shapes.folded(shapes.bush(3000)))
    with Server(file) as viewer:
        for name in ("folded", "speedscope", "pprof", "svg", "html"):
            status, headers, body = viewer.get(f"/api/v1/export?as={name}")
            wanted = run(OURO, "convert", "--to", name, file, "-", status=0, text=False).out
            same((status, body == wanted, headers["Content-Length"]), (200, True, str(len(wanted))), name)


# ---------------------------------------------------------------- modes

def mode(name):
    return oct(os.stat(name).st_mode & 0o7777)


@case
def what_is_replaced_keeps_its_mode():
    write("a.folded", "main;f 3\n")
    old = os.umask(0o022)
    try:
        for before in (0o600, 0o640, 0o644, 0o400, 0o666):
            for words in (["convert", "a.folded", "out.pb"], ["merge", "a.folded", "-o", "out.pb"]):
                write("out.pb", "before")
                os.chmod("out.pb", before)
                run(OURO, *words, status=0)
                same(mode("out.pb"), oct(before), words)
                os.remove("out.pb")
        os.symlink("target.pb", "link.pb")
        write("target.pb", "before")
        os.chmod("target.pb", 0o600)
        run(OURO, "convert", "a.folded", "link.pb", status=0)
        same((mode("target.pb"), os.path.islink("link.pb")), ("0o600", True))
        run(OURO, "convert", "a.folded", "new.pb", status=0)
        same(mode("new.pb"), "0o644")
        os.umask(0o077)
        run(OURO, "convert", "a.folded", "private.pb", status=0)
        same(mode("private.pb"), "0o600")
    finally:
        os.umask(old)

# SPDX-License-Identifier: MIT
"""Foreign texts on a terminal and in CSV: names of blocks, files, metrics and units, and names of files on disk, that
hold what a terminal or a spreadsheet would obey."""
import csv, fcntl, io, json, os, pty, struct, sys, termios, unicodedata
from hostile import DIRECTIONS, HOSTILE, is_obeyed, quiet
from pprof import Profile
from suite import case, has, lacks, run, same, write

OURO = os.path.abspath(sys.argv[1])
OBEYED = [chr(i) for i in range(1, 0x110000) if is_obeyed(chr(i)) and not 0xd800 <= i < 0xe000]
BROKEN = ["\udc9b31m", "\udcff", "\udcc0\udc9b", "\udced\udca0\udc80", "end\udce2\udc80", "\udcf5\udc80\udc80\udc80"]
FORMULAS = ["=1+1", "+1", "-1", "@sum(a)", "\t=1", "\r=1", "＝1", "＋1", "－1", "＠1", "-[Object method]", "a;=1", "a,=1",
            '"=1', "'=1"]


def shown(name):
    """What a terminal gets for a name: the model. What turns the direction of writing is an escape."""
    turns = lambda c: unicodedata.bidirectional(c) in DIRECTIONS or c in "\u200e\u200f\u061c"
    return "".join(f"\\u{ord(c):04x}" if turns(c) else "\ufffd" if is_obeyed(c) else c for c in name)


def hostile_profile(names):
    p = Profile([("a" + HOSTILE, HOSTILE), ("b" + HOSTILE, "count")])
    for i, name in enumerate(names):
        p.add(["main", name], [i + 1, 1])
        p.add(["main", name, "loop" + HOSTILE, name], [1, 1])
    return p.bytes()


TABLES = [[], ["--self"], ["--overall"], ["--sequences"], ["--tree", "--min", "0"], ["--knots"], ["--block", "main"],
          ["--fold", "main"], ["--metric", "b" + HOSTILE]]


@case
def no_table_sends_a_terminal_what_it_would_obey():
    names = [f"f{c}g" for c in OBEYED if c != "\0"] + BROKEN + [HOSTILE]
    assert len(names) > 150
    write(HOSTILE + ".pb", hostile_profile(names))
    write(HOSTILE + "2.pb", hostile_profile(["new" + HOSTILE, *names]))
    files = HOSTILE + ".pb", HOSTILE + "2.pb"
    for table in TABLES:
        for as_ in [], ["--csv"], ["--json"], ["--colour", "never", "--top", "1000"]:
            done = run(OURO, "report", *table, *as_, files[0], status=0)
            quiet(done.out + done.err, (table, as_))
    for as_ in [], ["--csv"], ["--json"]:
        done = run(OURO, "diff", *as_, "--fail-above", "0", *files)
        same(done.status, 3)
        has(done.err, "grew by")
        quiet(done.out + done.err, as_)


@case
def names_are_shown_as_the_model_says_and_json_has_them_whole():
    names = [f"f{c}g" for c in OBEYED] + BROKEN + ["ok\u200cok", "क्‍ष", "e\u0301", "名前", "🙂"]
    write("a.pb", hostile_profile(names))
    table = run(OURO, "report", "--self", "--top", "1000", "a.pb", status=0).out
    for name in names:
        has(table, "  " + shown(name) + "  ", about=name)
    rows = json.loads(run(OURO, "report", "--self", "--json", "a.pb", status=0).out)["rows"]
    whole = {n.encode(errors="surrogateescape").decode(errors="replace") for n in names if n not in BROKEN}
    same(whole - {r["name"] for r in rows}, set())


@case
def no_message_sends_a_terminal_what_it_would_obey():
    write("a.pb", hostile_profile(["f", HOSTILE]))
    write("odd", b"\x1b[31m\x9b;\xe2\x80\xae no profile")
    write(HOSTILE, "not a profile " + HOSTILE)
    write("bad.folded", f"a;b 1\na;{HOSTILE} x{HOSTILE}\n")
    write("bad.json", '{"nodes":[{"id":"' + HOSTILE + '"')
    for words in (["report", "missing" + HOSTILE], ["report", HOSTILE], ["report", "odd"], ["report", "bad.folded"],
                  ["report", "--from", "folded", "bad.folded"], ["report", "--from", "cpuprofile", "bad.json"],
                  ["report", "--metric", HOSTILE, "a.pb"], ["report", "--block", HOSTILE + "x", "a.pb"],
                  ["report", "--from", HOSTILE, "a.pb"], ["report", "--fold", HOSTILE + "x", "a.pb"],
                  ["report", "--top", HOSTILE, "a.pb"], ["report", "--" + HOSTILE, "a.pb"], [HOSTILE],
                  ["help", HOSTILE], ["convert", "a.pb", HOSTILE], ["convert", "a.pb", f"missing/{HOSTILE}.pb"],
                  ["merge", "a.pb", HOSTILE, "-o", "b.pb"], ["merge", "a.pb", "-o", f"missing/{HOSTILE}.pb"],
                  ["view", "--no-open", "--source", HOSTILE + "x", "a.pb"], ["view", "--no-open", HOSTILE],
                  ["view", "--no-open", "--fold", HOSTILE + "x", "a.pb"],
                  ["view", "--no-open", "--metric", HOSTILE, "a.pb"],
                  ["view", "--no-open", "--host", HOSTILE, "a.pb"], ["diff", "a.pb", HOSTILE],
                  ["run", "--" + HOSTILE], ["run", "./" + HOSTILE], ["lua", "--" + HOSTILE], ["lua", "--luajit"]):
        done = run(OURO, *words)
        assert done.status != 0, words
        assert done.err, words
        quiet(done.out + done.err, words)


def on_a_terminal(columns, *words, **env):
    """What it prints on a terminal of so many columns."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(OURO, [OURO, *words], dict(os.environ, TERM="xterm", **env))
    out = b""
    try:
        while part := os.read(fd, 65536):
            out += part
    except OSError:
        pass
    same(os.waitpid(pid, 0)[1], 0)
    os.close(fd)
    return out.decode(errors="surrogateescape")


def width(text):
    return sum(0 if unicodedata.combining(c) or c in "\u200c\u200d" else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@case
def rows_fit_the_terminal_whatever_the_names_hold():
    names = [HOSTILE * 20, "名前" * 40, "e\u0301" * 100, "x\udc9b" * 60, "🙂" * 70, "\ue000" * 90]
    write(HOSTILE + ".pb", hostile_profile(names))
    for columns in 40, 61, 80:
        text = on_a_terminal(columns, "report", "--self", "--colour", "never", HOSTILE + ".pb", OURO_PROGRESS="0")
        lines = text.replace("\r\n", "\n").split("\n")
        quiet("\n".join(lines).replace("\r", "").replace("\x1b[K", ""), columns)  # ours: progress, on stderr
        cut = [line for line in lines if line.endswith("…")]
        same(len(cut), len(names), text)
        for line in cut:
            assert columns - 1 <= width(line) <= columns, (columns, width(line), line)


def cells(*words):
    text = run(OURO, *words, status=0).out
    quiet(text, words)
    return list(csv.reader(io.StringIO(text), strict=True))


def guarded(name):
    """What a cell of CSV holds: the model. Tabs and returns are replaced, but a cell that began with one is marked."""
    return ("'" if name[:1] in tuple("=+-@\t\r＝＋－＠") else "") + shown(name)


@case
def a_cell_of_csv_is_never_a_formula_and_a_number_stays_one():
    write("a.pb", hostile_profile(FORMULAS + ["plain", HOSTILE]))
    got = {row[0] for row in cells("report", "--self", "--csv", "a.pb")[1:]}
    same({guarded(n) for n in FORMULAS + ["plain", HOSTILE]} - got, set())
    for table in TABLES:
        for row in cells("report", *table, "--csv", "a.pb"):
            lacks("=+-@\t\r", *(c[0] for c in row if c), about=row)
    # Another separator than ours does not open a cell either.
    text = run(OURO, "report", "--knots", "--csv", "a.pb", status=0).out
    for line in text.splitlines()[1:]:
        for cell in next(csv.reader([line], delimiter=";")):
            lacks("=+@", cell[:1], about=line) if cell else None
    write("b.folded", "main;a -5\nmain;b 9\n")
    write("c.folded", "main;a -7\nmain;b 9\n")
    has(cells("report", "--self", "--csv", "b.folded"), ["a", "", "0", "0", "-5", "-5", ""])
    has([row[:4] for row in cells("diff", "--csv", "b.folded", "c.folded")], ["a", "", "-5", "-7"])

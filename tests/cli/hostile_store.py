#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's ClickHouse server: tests/cli/hostile_store.py OURO [WORD...]

A server of the test's own answers the statements of `ouro`. One answer at a time is made hostile: numbers that no
metric has, lists longer than the answer, answers without an end, paths without an end. Each command ends with one
line that says why, and takes no more memory than --limit allows.
"""
import contextlib, http.server, itertools, os, struct, subprocess, sys, threading, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
from suite import arguments, case, has, main, same

OURO, = arguments("OURO")
MB = 1 << 20


def text(t):
    return bytes([len(t)]) + t.encode()


def key(n):
    return struct.pack(">QQ", n, n)


def metric(decimals=0):
    return struct.pack("<Q", 5) + short_metric(decimals)


def short_metric(decimals=0):
    return text("samples") + text("count") + struct.pack("<I", decimals)


def value(node=1, amount=7):
    return struct.pack("<Q", 5) + key(node) + struct.pack("<qd", amount, amount)


def node(n=1, parent=b"\0" * 16, up=b"\0"):
    return key(n) + parent + key(100) + up


def block():
    return key(100) + text("f") + text("a.c") + struct.pack("<II", 3, 1)


# By what a statement has: its rows. The first that fits counts.
HONEST = {"ouro_meta": text("version") + text("1"),
          "SELECT metric, name": metric(),
          "SELECT name, unit": short_metric(),
          "count(), min(last), max(last)": key(7) + struct.pack("<QQQ", 1, 1000, 2000),
          "SELECT label_set": key(7) + b"\1" + text("host") + b"\1" + text("a"),
          "FROM ouro_nodes WHERE": node(),
          "FROM ouro_blocks WHERE": block(),
          "SELECT uniqExact(recording)": struct.pack("<5Q", 1, 1, 1, 1000, 2000),
          "FROM ouro_samples": value(),
          "": struct.pack("<Q", 1)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        sql = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["query"][0]
        part = next(part for part in self.server.answers if part in sql)
        rows = self.server.answers[part]
        rows = rows() if callable(rows) else rows
        self.send_response(200)
        self.send_header(*("Content-Length", len(rows)) if isinstance(rows, bytes) else ("Connection", "close"))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            for part in [rows] if isinstance(rows, bytes) else rows:
                self.wfile.write(part)

    def log_message(self, *_):
        pass


class Server:
    """answers: rows, an endless iterable of rows, or a function that gives one of these."""

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.answers = dict(HONEST)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/db"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def ask(self, command, part=None, answer=None, limit=None):
        """(status, out, err, most memory in bytes)"""
        self.server.answers = {**HONEST, **({part: answer} if part is not None else {})}
        words = {"report": ["report", "--store", self.url], "store": ["store", self.url],
                 "chosen": ["report", "--store", self.url, "--where", "host=a"]}[command]
        with open("out", "w+b") as out, open("err", "w+b") as err:
            child = subprocess.Popen([OURO, *words, *(["--limit", limit] if limit else [])], stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            return child.returncode, out.read().decode(), err.read().decode(), usage.ru_maxrss * 1024

    def refuses(self, words, *how, **more):
        status, out, err, memory = self.ask(*how, **more)
        same((status, out, err.count("\n")), (1, "", 1), f"{how[:2]}: {err}")
        has(err, words, about=how[:2])
        return memory


@case
def an_honest_server_is_believed():
    with Server() as s:
        for command, words in ("report", "f"), ("chosen", "f"), ("store", "host"):
            status, out, err, _ = s.ask(command)
            same((status, err), (0, ""))
            has(out, words, about=command)


@case
def decimals_that_no_metric_has_are_refused():
    with Server() as s:
        for decimals in 19, 63, 64, 2 ** 31, 2 ** 32 - 1:
            s.refuses("too many decimals", "report", "SELECT metric, name", metric(decimals))
        same(s.ask("report", "SELECT metric, name", metric(18))[0], 0)


@case
def lists_and_texts_that_are_longer_than_the_answer_are_refused():
    most = b"\xff" * 8 + b"\x7f"  # 2^63 - 1
    with Server() as s:
        for length in b"\2", b"\x7f", b"\xff\xff\xff\xff\x0f", most, b"\xff" * 20:
            for command, part, answer in (
                    ("report", "FROM ouro_nodes WHERE", node(up=length + key(3))),
                    ("report", "FROM ouro_blocks WHERE", key(100) + length + b"f"),
                    ("report", "SELECT metric, name", struct.pack("<Q", 5) + length + b"s"),
                    ("chosen", "SELECT label_set", key(7) + length + b"\1"),
                    ("store", "SELECT label_set", key(7) + b"\1" + text("host") + length)):
                s.refuses("makes no sense", command, part, answer)
        for part, rows in HONEST.items():
            for command in ("report", "chosen", "store"):
                status, _, err, _ = s.ask(command, part, rows[:-1])
                assert (status == 0) == (err == ""), (part, err)


@case
def answers_without_an_end_take_no_more_memory_than_is_allowed():
    """Valid rows, each of them another one, and zeros."""
    with Server() as s:
        usual = max(s.ask(command)[3] for command in ("report", "chosen", "store"))
        zeros = lambda: itertools.repeat(bytes(65536))
        values = lambda: (b"".join(value(n) for n in range(i, i + 1000)) for i in itertools.count(1, 1000))
        nodes = lambda: (b"".join(node(n) for n in range(i, i + 1000)) for i in itertools.count(1, 1000))
        s.refuses("is it a ClickHouse server?", "report", "ouro_meta", zeros)
        for command, part, answer in (
                ("report", "SELECT metric, name", zeros), ("report", "FROM ouro_samples", zeros),
                ("report", "FROM ouro_samples", values), ("report", "FROM ouro_nodes WHERE", nodes),
                ("report", "FROM ouro_blocks WHERE", zeros), ("chosen", "SELECT label_set", zeros),
                ("store", "SELECT uniqExact(recording)", zeros), ("store", "count(), min(last), max(last)", zeros),
                ("store", "SELECT label_set", zeros)):
            memory = s.refuses("answers with more than 8,388,608 bytes; ask for less, or allow more by --limit",
                               command, part, answer, limit="8M")
            assert memory < usual + 8 * MB + 4 * MB, (command, part, memory, usual)


@case
def paths_without_an_end_are_refused():
    """Every round of asking for ancestors finds one more."""
    with Server() as s:
        count = itertools.count(1)

        def another():
            n = next(count)
            return node(n, parent=key(n + 1))
        s.refuses("answers with more than 1,048,576 bytes", "report", "FROM ouro_nodes WHERE", another, limit="1M")
        assert next(count) < 300, "rounds are not counted"


main()

# SPDX-License-Identifier: MIT
"""The viewer on shards: the same answers as of a file, and what it says when one of them is down."""
import contextlib, json, os, socket, subprocess, threading, time
import urllib.error, urllib.parse, urllib.request

from faults import PATHS, given, of_servers, one, push, push_values, servers, two, without
from suite import case, has, lacks, same

PATIENCE = 120  # seconds, for a busy machine


class View:
    """`ouro view --store`, which ends with the case."""

    def __init__(self, url, *words):
        self.child = subprocess.Popen([given["ouro"], "view", "--no-open", "--no-secret", "--store", url, *words],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.child.stdout.readline().decode().split("/fleet")[0].strip()
        if not self.url:
            raise AssertionError(self.child.communicate()[1].decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.communicate()

    def ask(self, question, status=200, **parameters):
        try:
            target = f"{self.url}/api/v1/{question}?{urllib.parse.urlencode(parameters)}"
            with urllib.request.urlopen(target, timeout=120) as answer:
                got, data = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            got, data = refusal.code, refusal.read()
        same(got, status, (question, parameters, data[:500]))
        return json.loads(data)


@case
def the_viewer_shows_what_the_shards_have():
    push(two(), "--service", "web", "--label", "host=a")
    with View(two()) as v:
        same(v.ask("overview", where="service=web")["total"], sum(PATHS.values()))
        rows = v.ask("blocks", where="", limit=1000)
        same({rows["blocks"][r["block"]]["name"]: r["self"] for r in rows["rows"] if r["self"]},
             {path.split(";")[1]: n for path, n in PATHS.items()})
        same([r["value"] for r in v.ask("series", by="host")["rows"]], ["a"])
        same(v.ask("series", by="host")["rows"][0]["total"], sum(PATHS.values()))
        same(v.ask("offer", where="service=web")["slices"], 1)
        same(v.ask("profile", where="")["files"][0]["missing"], None)
        title = v.ask("profile")["store"]["title"]
        has(title, "127.0.0.1:")
        lacks(title, "cluster", "@")


@of_servers
def a_shard_that_is_down_is_named_on_every_answer_and_its_numbers_come_back():
    push(two())
    whole = sum(PATHS.values())
    with View(two()) as v:
        with without(servers()[1]):
            file = v.ask("profile", where="")["files"][0]
            has(file["missing"], "the shard 127.0.0.1:", "does not answer")
            part = v.ask("overview", where="")["total"]
            assert part < whole, part  # nothing, if the row of the slice is on the other shard
            assert v.ask("series")["missing"]
        file = v.ask("profile", where="", fresh=0)["files"][0]
        for _ in range(600):  # at most a fifth of the time is spent on asking
            if not file["missing"]:
                break
            file = v.ask("profile", where="", fresh=0)["files"][0]
        same(file["missing"], None)
        same(v.ask("overview", where="")["total"], whole)


@of_servers
def a_strict_viewer_has_no_answer_of_a_part():
    push(two())
    with View(two(), "--strict") as v:
        with without(servers()[1]):
            same(v.ask("blocks", status=503, where="")["error"]["code"], "no-store")
            same(v.ask("series", status=503)["error"]["code"], "no-store")
        same(v.ask("overview", where="")["total"], sum(PATHS.values()))


@case
def a_chart_of_more_sums_than_fit_into_one_answer_has_the_same_totals():
    push_values(400)  # with 600 steps these are 240,000
    with View(one()) as v:
        chart = v.ask("series", by="id", steps=600, values=3)
        parts = [*chart["rows"], chart["other"]]
        same([sum(part["sums"]) for part in parts], [part["total"] for part in parts])
        same((len(chart["rows"]), chart["other"]["values"]), (3, 398))
        same(sum(part["total"] for part in parts), 401 * sum(PATHS.values()))
        few = v.ask("series", steps=3)
        same(few["rows"][0]["total"], 401 * sum(PATHS.values()))


# ---------------------------------------------------------------- many viewers

class Gate(threading.Thread):
    """A proxy that counts the statements that have a word in them, and holds them while it is shut."""

    def __init__(self, port, word):
        super().__init__(daemon=True)
        self.to, self.word, self.count, self.open = port, word, 0, threading.Event()
        self.lock, self.listener = threading.Lock(), socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open.set()
        self.start()

    def run(self):
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", self.to))
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, asks):
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                if asks and self.word in part.split(b"\r\n", 1)[0]:
                    with self.lock:
                        self.count += 1
                    self.open.wait(PATIENCE)
                sink.sendall(part)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def wait(self, count):
        wait_until(lambda: self.count >= count)


def wait_until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def in_threads(count, function):
    """Starts threads; returns them, and the list that gets their results."""
    got = []
    threads = [threading.Thread(target=lambda: got.append(function())) for _ in range(count)]
    for t in threads:
        t.start()
    return threads, got


def thread_count(v):
    return len(os.listdir(f"/proc/{v.child.pid}/task"))


@case
def a_question_does_not_wait_for_another_one():
    push(one())
    gate = Gate(servers()[0].http, b"ouro_samples")
    with View(f"{gate.url}/{os.path.basename(os.getcwd())}") as v:
        gate.open.clear()
        threads, got = in_threads(1, lambda: v.ask("overview", where="")["total"])
        gate.wait(1)
        same(v.ask("offer")["slices"], 1)
        same(v.ask("series")["rows"][0]["total"], sum(PATHS.values()))
        same(got, [])
        gate.open.set()
        threads[0].join()
    same(got, [sum(PATHS.values())])


@case
def questions_that_are_the_same_share_one_answer():
    push(one())
    for word, ask in ((b"ouro_samples", lambda v: v.ask("overview", where="service=x")["total"]),
                      (b"ouro_label_sets", lambda v: v.ask("offer", where="service=x")["slices"])):
        gate = Gate(servers()[0].http, word)
        with View(f"{gate.url}/{os.path.basename(os.getcwd())}") as v:
            alone = ask(v)
            once, before = gate.count, thread_count(v)
        with View(f"{gate.url}/{os.path.basename(os.getcwd())}") as v:
            gate.count = 0
            gate.open.clear()
            threads, got = in_threads(12, lambda: ask(v))
            gate.wait(1)
            wait_until(lambda: thread_count(v) >= before + 11)  # each has its connection
            gate.open.set()
            for t in threads:
                t.join()
        same(got, [alone] * 12)
        assert gate.count < 3 * once, (word, gate.count, once)


@case
def a_chart_whose_time_is_given_does_not_ask_what_can_be_chosen():
    push(one())
    gate = Gate(servers()[0].http, b"ouro_label_sets")
    with View(f"{gate.url}/{os.path.basename(os.getcwd())}") as v:
        offer, asked = v.ask("offer"), gate.count
        chart = v.ask("series", **{"from": offer["first"] - 1, "until": offer["last"]})
        same(gate.count, 2 * asked)  # the sets of the chart itself
        same({**v.ask("series"), "now": 0}, {**chart, "now": 0})

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What profiling agents send: tests/ingest/run.py OURO [WORD...]

`ouro serve` with requests in every layout that agents have, held against `ouro merge` of the same profiles; with a
real agent, Pyroscope's for Node; and with who sends too much, or may not.
"""
import base64, collections, gzip, http.client, json, os, random, resource, signal, socket, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../cli", HERE + "/../support"]
from harness import SLOW, Serve, form, status_from
from pprof import msg, random_profile
from suite import arguments, case, has, lacks, main, run, same, write

# As in tests/server: a thread of libmicrohttpd may be finished and not yet joined when the process exits.
os.environ.setdefault("TSAN_OPTIONS", "report_thread_leaks=0")
Serve.ouro, = arguments("OURO")
SEED = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))
TIMES = {"from": 1700000000, "until": 1700000010}
PUSH = "/push.v1.PusherService/Push"


def ouro(*words, status=0):
    done = run(Serve.ouro, *words, status=status)
    return done.out if status == 0 else done.err


def folded(*words):
    lines = ouro("convert", "--to", "folded", *words, "-").splitlines()
    return dict((path, int(n)) for path, n in (line.rsplit(" ", 1) for line in lines))


def chosen(where="", *words, store="s.db"):
    return folded("--store", store, "--where", where, *words)


def message(raw, **labels):
    pairs = b"".join(msg(1, msg(1, k.encode()) + msg(2, v.encode())) for k, v in labels.items())
    return msg(1, pairs + msg(2, msg(1, raw)))


def until(holds):
    """Waits for a state."""
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


# ---------------------------------------------------------------- a real agent

def an_agent_fills_the_store(agent):
    if not os.path.exists(os.path.join(HERE, "node_modules", agent)):
        raise AssertionError(f"{agent} is not here; tools/bootstrap test installs it")
    write("token", "geheim\n")
    with Serve("--token-file", "token") as s:
        same(run("node", os.path.join(HERE, "burn.js"), agent, s.url, "geheim", status=0).out, "sent\n")
        same(s.counters()["accepted_total"], 1)
    where = ["--store", "s.db", "--where", "service=shop.burner build=7 zone='a b'".replace("'", '"')]
    report = json.loads(ouro("report", *where, "--self", "--json", "--metric", "wall", "--top", "1"))
    has(report["rows"][0]["name"], "fibonacci")
    assert report["rows"][0]["self"] * 2 > report["total"], report
    same(report["unit"], "nanoseconds")
    labels = {(l["name"], l["value"]) for l in json.loads(ouro("store", "s.db", "--json"))["labels"]}
    has(labels, ("host", socket.gethostname()), ("spy", "nodespy"))


case(an_agent_fills_the_store, "an_agent_for_node_fills_the_store", "@pyroscope/nodejs")
case(an_agent_fills_the_store, "an_agent_for_node_that_sends_forms_fills_the_store", "pyroscope-forms")


# ---------------------------------------------------------------- layouts

@case
def every_layout_gives_the_sums_of_merge():
    print(f"# the seed is {SEED}")
    dice = random.Random(SEED)
    raws = [random_profile(dice.randrange(10 ** 9), True).bytes() for _ in range(6)]
    for i, raw in enumerate(raws):
        write(f"{i}.pb", raw)
    with Serve() as s:
        same(s.send(raws[0], format="pprof", **TIMES), 200)
        same(s.send(gzip.compress(raws[1]), format="pprof", **TIMES), 200)
        kind, body = form(profile=gzip.compress(raws[2]), sample_type_config=b"{}")
        same(s.send(body, format="pprof", type=kind, **TIMES), 200)
        kind, body = form(profile=raws[3])
        same(s.send(body, type=kind, **TIMES), 200)
        headers = {"Content_Type": "application/proto", "Content_Encoding": "gzip"}
        same(s.ask("POST", PUSH, gzip.compress(message(gzip.compress(raws[4]), service_name="web")), **headers),
             (200, ""))
        same(s.ask("POST", PUSH, message(raws[5], service_name="web") + message(raws[0], service_name="db"))[0], 200)
        same(s.counters()["accepted_total"], 6)
    ouro("merge", "--compact", "loops", *(f"{i}.pb" for i in range(6)), "-o", "sum.pb")
    ouro("convert", "--compact", "loops", "0.pb", "one.pb")
    for metric in "samples", "bytes":
        same(chosen("service=web", "--metric", metric), folded("--metric", metric, "sum.pb"), metric)
        same(chosen("service=db", "--metric", metric), folded("--metric", metric, "one.pb"), metric)


@case
def texts_are_times_by_their_sample_rate():
    with Serve() as s:
        same(s.send("main;f 3\nmain;g 1\n", name="web.cpu{host=a1}", **TIMES), 200)
        same(s.send("main;f\nmain;f\n", name="web.cpu", format="lines", sampleRate=1000, **TIMES), 200)
        same(s.send("main;f 7\n", name="web.alloc_space", units="bytes", **TIMES), 200)
    same(chosen("", "--metric", "cpu"), {"main;f": 32000000, "main;g": 10000000})
    same(chosen("host=a1", "--metric", "cpu"), {"main;f": 30000000, "main;g": 10000000})
    same(chosen("", "--metric", "alloc_space"), {"main;f": 7})
    none = ("--store", "s.db", "--where", "until=1700000009")
    has(ouro("convert", *none, "none.pb", status=1), "matches until=1700000009;")
    same(len(chosen("since=1700000009 until=1700000010")), 2)


@case
def what_is_sent_again_counts_once():
    with Serve() as s:
        for _ in range(3):
            same(s.send("main;f 3\n", **TIMES), 200)
        same(s.send("main;f 3\n", **dict(TIMES, until=1700000011)), 200)
        counted = s.counters()
        same([counted[n] for n in ("accepted_total", "known_total", "rows_total")], [4, 2, 2])
    with Serve() as s:
        same(s.send("main;f 3\n", **TIMES), 200)
    same(chosen(), {"main;f": 60000000})


@case
def many_agents_at_once_lose_nothing():
    def work(s, i):
        for j in range(10):
            got.append(s.send(f"main;f{j} {i + 1}\n", units="objects", sampleRate=100 + i, **TIMES))

    got = []
    with Serve() as s:
        threads = [threading.Thread(target=work, args=(s, i)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    same(got, [200] * 80)
    same(chosen(), {f"main;f{j}": 36 for j in range(10)})


# ---------------------------------------------------------------- who may send

def basic(password):
    return "Basic " + base64.b64encode(b"anybody:" + password.encode()).decode()


@case
def only_who_knows_the_token_may_send():
    write("token", "from: a file \nand more\n")
    for how, token, env in ((["--token", "geheim"], "geheim", None), (["--token-file", "token"], "from: a file", None),
                            ([], "from outside", {"OURO_TOKEN": "from outside"})):
        with Serve(*how, env=env) as s:
            for wrong in None, "Bearer " + token[:-1], "Bearer " + token + "x", token, basic("x"), basic(""), "Basic !":
                headers = {"Authorization": wrong} if wrong else {}
                status, text = s.ask("POST", "/ingest?name=web", "main;f 3\n", **headers)
                same(status, 401, (how, wrong))
                has(text, "token")
            for right in "Bearer " + token, "bearer " + token, basic(token):
                same(s.ask("POST", "/ingest?name=web", "main;f 3\n", Authorization=right), (200, ""), (how, right))
            with open(f"/proc/{s.child.pid}/cmdline", "rb") as f:
                lacks(f.read(), token.encode())
            same(s.ask("GET", "/")[0], 200)


@case
def a_page_of_another_site_may_not_send():
    kind, body = form(profile=b"main;f 3\n")
    with Serve() as s:
        for origin in "https://example.com", "null", s.url:
            status, text = s.ask("POST", "/ingest?name=web", body, Content_Type=kind, Origin=origin)
            same((status, text), (403, "pages of other sites may not send\n"), origin)
        same(s.counters()["accepted_total"], 0)


@case
def the_command_line_is_checked():
    serve = [Serve.ouro, "serve", "--store", "s.db"]
    write("empty", "\n")
    for words, sentence in ((["--listen", "0.0.0.0:0"], "give a token"), (["--listen", "[::]:0"], "give a token"),
                            (["--token", ""], "the token is empty"), (["--token-file", "empty"], "is empty"),
                            (["--token-file", "none"], "No such file"), (["x"], "expected no file"),
                            (["--token", "a", "--token-file", "empty"], "not both"),
                            (["--listen", "127.0.0.1:65536"], "expected ADDRESS:PORT")):
        has(run(*serve, *words, status=2).err, sentence, about=words)
    lacks(os.listdir(), "s.db")
    with Serve() as s:
        has(run(*serve, "--listen", f"127.0.0.1:{s.port}", status=1).err, "cannot listen")
    os.mkdir("folder")
    has(run(Serve.ouro, "serve", "--store", "folder", "--listen", "127.0.0.1:0", status=1).err, "folder")


# ---------------------------------------------------------------- too much, and damaged

@case
def what_makes_no_sense_is_refused_with_a_sentence():
    kind, body = form(other=b"main;f 3\n")
    with Serve() as s:
        for path, data, type, status, sentence in (
                ("/ingest", "f 1\n", "", 400, "expected ?name="),
                ("/ingest?name={}", "f 1\n", "", 400, "no name"),
                ("/ingest?name=web&from=x", "f 1\n", "", 400, "seconds since 1970"),
                ("/ingest?name=web&format=pprof", "f 1\n", "", 400, "byte"),
                ("/ingest?name=web&format=tree", "f 1\n", "", 415, "there are pprof, folded"),
                ("/ingest?name=web", body, kind, 400, "no part `profile`"),
                ("/ingest?name=web", b"\x1f\x8b\x08 and no more", "", 400, "gzip"),
                ("/elsewhere", "f 1\n", "", 404, "/ingest"),
                (PUSH, b"\x0a\x02\x12\x00", "", 400, "service_name")):
            got, text = s.ask("POST", path, data, Content_Type=type)
            same(got, status, (path, text))
            has(text, sentence)
        same(s.ask("PUT", "/ingest?name=web", "f 1\n")[0], 405)
        same(s.ask("GET", "/ingest")[0], 404)
        same(s.ask("POST", "/ingest?name=web", "f 1\n", Content_Encoding="zstd")[0], 415)
        same(s.send("f 1\n"), 200)
        same(s.counters()["refused_total{status=\"400\"}"], 7)


@case
def what_is_too_large_is_refused():
    with Serve("--limit", "16M") as s:
        same(status_from(s.begin(b"", (16 << 20) + 1)), 413)
        same(status_from(s.begin(b"", 1 << 62)), 413)
        same(s.send(gzip.compress(b"main;f " * (10 << 20), 1)), 413)
        same(s.send("\n".join(f"main;{i} 1" for i in range(300000))), 413)
        long = ";".join(["a", "b"] * 400000)
        assert s.send(f"{long} 1\n") in (200, 413)
        same(s.send("f 1\n"), 200)


@case
def too_many_requests_are_told_to_come_again():
    with Serve() as s:
        held = [s.begin(b"main", 9) for _ in range(64)]
        until(lambda: s.counters()["in_flight"] == 64)
        same(s.send("main;g 5\n", units="objects"), 429)
        for c in held:
            c.sendall(b";f 3\n")
        same({status_from(c) for c in held}, {200})
        until(lambda: s.counters()["in_flight"] == 0)
        same(s.send("main;g 5\n", units="objects"), 200)
        for c in held:
            c.close()
    same(chosen("", "--metric", "objects"), {"main;g": 5})


def still_open(c):
    """Nothing came on a connection, not even its end."""
    try:
        c.setblocking(False)
        return c.recv(1) is None
    except BlockingIOError:
        return True
    except OSError:
        return False


FLOODS = {"headers": b"POST /ingest?name=web HTTP/1.1\r\nHost: x\r\n",
          "bodies_of_strangers": b"POST /ingest?name=web HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nmain",
          "nothing": b""}


def locks_nobody_out(sent):
    """The agent gives up long before the time that a request may take, so it waits for no crowd to go. An agent that
    is sending when the crowd comes is not cut off, and of the crowd the oldest are."""
    token = "Bearer abc"
    with Serve("--token", "abc") as s:
        sending = socket.create_connection(("127.0.0.1", s.port), timeout=SLOW)
        sending.sendall(b"POST /ingest?name=web&units=objects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\n"
                        b"Content-Length: 9\r\n\r\nmain")
        until(lambda: s.counters()["in_flight"] == 1)
        crowd = []
        for _ in range(1000):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=SLOW)
            try:
                c.sendall(sent)
            except OSError:
                pass
            crowd.append(c)
        for i in range(20):
            c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=15)
            c.request("POST", "/ingest?name=web&units=objects", f"main;g{i} 1\n", {"Authorization": token})
            same(c.getresponse().status, 200, f"post {i}")
            c.close()
        kept = [i for i, c in enumerate(crowd) if still_open(c)]
        assert kept, "all of the crowd is gone"
        assert len(kept) <= 192, f"{len(kept)} connections are open"
        same(kept, list(range(1000 - len(kept), 1000)), "the last of the crowd are left")
        sending.sendall(b";f 3\n")
        same(status_from(sending), 200)
        for c in [sending, *crowd]:
            c.close()
    same(sum(chosen("", "--metric", "objects").values()), 23)


for name, sent in FLOODS.items():
    case(locks_nobody_out, f"a_flood_of_connections_locks_no_agent_out_that_sends_{name}", sent)


@case
def complete_posts_are_all_answered_however_many_come_together():
    """The server stands still while they arrive, so it finds all of them unread. Some are told to come again; the
    others are stored."""
    with Serve() as s:
        s.child.send_signal(signal.SIGSTOP)
        try:
            posts = [s.begin(f"main;f{i:03} 1\n".encode(), 12, "/ingest?name=web&units=objects") for i in range(900)]
        finally:
            s.child.send_signal(signal.SIGCONT)
        got = collections.Counter(map(status_from, posts))
        for c in posts:
            c.close()
    same(sorted(got), [200, 429][:len(got)], got)
    same(sum(chosen("", "--metric", "objects").values()), got[200])


@case
def too_many_bytes_are_told_to_come_again():
    most, part = 16 << 20, bytes(1 << 20)
    with Serve() as s:
        held = [s.begin(b"", most) for _ in range(8)]
        for c in held:
            for _ in range(15):
                c.sendall(part)
        until(lambda: s.send("main;g 5\n") == 429)
        for c in held:
            c.close()
        until(lambda: s.send("main;g 5\n") == 200)


@case
def a_store_that_fails_is_tried_again():
    with Serve() as s:
        same(s.send("main;f 3\n", **TIMES), 200)
        before = resource.prlimit(s.child.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(s.child.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        many = "\n".join(f"main;f{i} 1" for i in range(5000))
        status, text = s.ask("POST", "/ingest?name=web&from=1700000000&until=1700000010", many)
        same(status, 503, text)
        resource.prlimit(s.child.pid, resource.RLIMIT_FSIZE, before)
        same(s.send(many, **TIMES), 200)
        same(s.send(many, **TIMES), 200)
        same(s.counters()["rows_total"], 5001)
    got = chosen()
    same((len(got), sum(got.values())), (5001, 50030000000))


@case
def what_is_on_its_way_at_the_end_is_stored():
    def refused():
        try:
            socket.create_connection(("127.0.0.1", s.port), timeout=1).close()
        except OSError:
            return True
        return False

    with Serve() as s:
        c = s.begin(b"main;f", 9)
        until(lambda: s.counters()["in_flight"] == 1)
        s.child.terminate()
        until(refused)
        c.sendall(b" 3\n")
        same(status_from(c), 200)
        c.close()
        s.child.wait()
    same(chosen(), {"main;f": 30000000})


main()

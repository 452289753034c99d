# SPDX-License-Identifier: MIT
"""Starting, following a live file, and ending."""
import http.client, json, os, random, re, shutil, signal, socket, stat, subprocess, threading, time
import harness
from harness import Server, becomes
from suite import ROOT, case, has, lacks, read, run, same, skip, write

SMALL = "main;parse;lex 10\nmain;eval;apply 20\n"


def fails(*arguments, status, **more):
    done = run(Server.ouro, "view", "--no-open", *arguments, status=status, timeout=60, **more)
    same(done.out, "")
    return done.err


@case
def it_prints_an_address_and_ends_when_told():
    write("a.folded", SMALL)
    for how in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        s = Server("a.folded")
        same(s.url, f"http://127.0.0.1:{s.port}/")
        assert s.port > 1000
        same(s.api("profile")["files"][0]["title"], "a.folded")
        s.stop(how)


@case
def standard_input_is_a_file_too():
    read, w = os.pipe()
    os.write(w, SMALL.encode())
    os.close(w)
    with Server("-", stdin=read) as s:
        os.close(read)
        a = s.api("profile")["files"][0]
        same((a["title"], a["format"], a["live"]), ("standard input", "folded", False))
        same(s.api("blocks")["total"], 30)


@case
def options_choose_what_is_there_and_what_is_shown_first():
    write("a.folded", SMALL)
    total = lambda s: sum(r["self"] for r in s.api("blocks")["rows"])
    with Server("--period", "5", "a.folded") as s:
        same(total(s), 30 // 5)
    with Server("--min", "60", "a.folded") as s:
        answer = s.api("blocks")
        same(total(s), 30)
        lacks([answer["names"][r["block"]] for r in answer["rows"]], "lex")
    with Server("--exclude", "apply", "a.folded") as s:
        has(s.url, "exclude=apply")


@case
def mistakes_are_told_before_anything_starts():
    write("a.folded", SMALL)
    has(fails("-", "-", status=2), "read once only")
    has(fails(status=2), "expected a file")
    has(fails("a.folded", "a.folded", "a.folded", status=2), "ouro merge")
    has(fails("missing.pb", status=1), "No such file")
    has(fails("--fold", "nope", "a.folded", status=2), "no block is called nope")
    has(fails("--metric", "nope", "a.folded", status=2), "no metric is called nope")
    has(fails("--source", "missing", "a.folded", status=2), "--source")
    has(fails("--source", "a.folded", "a.folded", status=2), "not a folder")
    has(fails("--port", "70000", "a.folded", status=2), "ports end")
    has(fails("--port", "-1", "a.folded", status=2), "--port")
    has(fails("--host", "256.1.1.1", "a.folded", status=1), "256.1.1.1")


@case
def a_port_that_is_taken_is_told():
    write("a.folded", SMALL)
    with Server("a.folded") as s:
        said = fails("--port", str(s.port), "a.folded", status=1)
        has(said, str(s.port), "in use")


@case
def the_start_state_is_in_the_address():
    write("a.folded", SMALL + "main;a&b=c d 1\n")
    with Server("--fold", "a&b=c d", "--select", "main", "--metric", "samples", "a.folded") as s:
        assert s.url.endswith("/?metric=samples&select=main&fold=a%26b%3Dc%20d")


@case
def other_addresses_can_be_listened_on():
    write("a.folded", SMALL)
    with Server("--host", "localhost", "a.folded") as s:
        same(s.line("/api/v1/profile", f"localhost:{s.port}"), 200)
    with Server("--host", "0.0.0.0", "a.folded") as s:
        same(s.line("/api/v1/profile", f"127.0.0.1:{s.port}"), 200)
        same(s.line("/api/v1/profile", f"evil.example:{s.port}"), 400)
        same(s.line("/api/v1/profile", f"10.1.2.3:{s.port}"), 400)
    with Server("--host", "127.0.0.5", "a.folded") as s:
        same(s.host, "127.0.0.5")
        same(s.line("/api/v1/profile", f"127.0.0.5:{s.port}"), 200)


def opened(*arguments, **env):
    """What is printed, and what a browser with spaces in its name is given; ends the viewer."""
    write("browser with spaces", "#!/bin/sh\n{ printf '%s\\n' \"$#\" \"$1\"; case $1 in file:*) cat \"${1#file://}\"; "
                                 "stat -c %a \"${1#file://}\"; esac; } > opened.new\nmv opened.new opened\n")
    os.chmod("browser with spaces", stat.S_IRWXU)
    env = dict(os.environ, BROWSER=os.path.abspath("browser with spaces"), **env)
    child = subprocess.Popen([Server.ouro, "view", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    url = child.stdout.readline().decode().strip()
    becomes(lambda: os.path.exists("opened"), True)
    text = read("opened")
    os.unlink("opened")
    # The browser is waited for, and so is the process that a sanitizer forks at the end: SIGCHLD is not ignored.
    becomes(lambda: read(f"/proc/{child.pid}/task/{child.pid}/children"), "")
    ignored = int(re.search(r"SigIgn:\s*(\S+)", read(f"/proc/{child.pid}/status"))[1], 16)
    assert not ignored >> signal.SIGCHLD - 1 & 1
    child.terminate()
    same(child.communicate(timeout=60), (b"", b""))
    same(child.returncode, 0)
    return url, text


@case
def the_browser_gets_the_address_as_one_argument():
    write("a.folded", SMALL + "main;$(touch pwned);`touch pwned` 1\n")
    url, text = opened("--no-secret", "--fold", "$(touch pwned)", "a.folded")
    same(text, f"1\n{url}\n")
    assert not os.path.exists("pwned")


@case
def the_secret_is_in_no_argument_but_in_a_file_of_ours():
    write("a.folded", SMALL)
    for folder in "XDG_RUNTIME_DIR", "TMPDIR":
        os.makedirs(folder, exist_ok=True)
        env = {"XDG_RUNTIME_DIR": "", "TMPDIR": "missing", folder: folder}
        url, text = opened("--select", "main", "a.folded", **env)
        count, name, *page, mode = text.splitlines()
        same((count, mode), ("1", "600"))
        assert name.startswith(f"file://{os.getcwd()}/{folder}/ouro-view-") and name.endswith(".html"), name
        lacks(name, url.split("secret=")[1][:32])
        has("\n".join(page), f"0; url={url.replace('&', '&amp;')}\"")
        same(os.listdir(folder), [], "left behind")


@case
def without_a_screen_only_the_address_is_printed():
    write("a.folded", SMALL)
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    child = subprocess.Popen([Server.ouro, "view", "a.folded"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    line = child.stdout.readline()
    assert line.startswith(b"http://127.0.0.1:")
    child.terminate()
    out, err = child.communicate(timeout=60)
    same((child.returncode, out, err), (0, b"", b""))


@case
def the_commands_for_curl_in_the_document_work():
    if not shutil.which("curl"):
        skip("curl is not installed")
    text = read(os.path.join(ROOT, "docs", "api.md")).split("## The secret")[1].split("\n## ")[0]
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    same(len(lines), 4)
    with socket.socket() as s:  # a port that is free now
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    write("program.pb.gz", SMALL)
    lines = [line.replace("8000", str(port)) for line in lines]
    script = "\n".join([*lines[:2], "viewer=$!", "while [ ! -s address ]; do sleep 0.05; done", *lines[2:],
                        "kill $viewer; wait $viewer"])
    ouro = f"ouro() {{ exec {Server.ouro} \"$@\"; }}\n"
    answer = json.loads(run("sh", "-c", ouro + script, status=0, timeout=60).out)
    same((answer["total"], answer["rows"][0]["self"]), (30, 20))
    for name in "address", "jar":
        same(stat.S_IMODE(os.stat(name).st_mode), 0o600, name)


def big():
    rnd = random.Random(3)
    write("big.folded", "".join(";".join(f"f{rnd.randrange(3000)}" for _ in range(14)) + " 1\n" for _ in range(15000)))
    return "big.folded"


@case
def it_ends_while_it_is_busy():
    for _ in range(3):
        s = Server(big())
        request = lambda i: f"GET /api/v1/overview?fold=f{i} HTTP/1.1\r\nHost: {s.authority}\r\n\r\n".encode()
        asking = [socket.create_connection((s.host, s.port)) for _ in range(8)]
        for i, c in enumerate(asking):
            c.sendall(request(i))
        time.sleep(0.05)
        s.stop()
        for c in asking:
            c.close()


@case
def a_slow_request_keeps_nobody_waiting():
    """While filters of a large profile are made, a question that is ready is answered between them."""
    with Server(big()) as s:
        s.api("blocks", limit=1)
        done, stop = [], threading.Event()

        def slow(i):
            k = i
            while not stop.is_set():
                s.api("overview", fold=f"f{k}")
                done.append("slow")
                k += 3
        threads = [threading.Thread(target=slow, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        quick = 0
        c = http.client.HTTPConnection(s.host, s.port, timeout=60)
        while len(done) < 6:
            c.request("GET", "/api/v1/blocks?limit=1")
            c.getresponse().read()
            quick += 1
        stop.set()
        for t in threads:
            t.join()
        c.close()
        assert quick > len(done), (quick, len(done))


@case
def what_is_known_is_not_sent_again():
    write("a.folded", SMALL)
    with Server("a.folded") as s:
        status, h, data = s.get("/api/v1/blocks")
        same(s.get("/api/v1/blocks", headers={"If-None-Match": h["ETag"]})[0], 304)
        same(s.get("/api/v1/blocks", headers={"If-None-Match": '"other"'})[0], 200)
        same(s.get("/")[0], 200)
        assert s.get("/")[1]["ETag"]
        page = s.get("/")[1]["ETag"]
        same(s.get("/flame", headers={"If-None-Match": page})[0], 304)
        old = h["ETag"]
    with Server("a.folded") as s:  # another run may show another file
        same(s.get("/api/v1/blocks", headers={"If-None-Match": old})[0], 200)


@case
def every_page_address_is_the_page():
    write("a.folded", SMALL)
    with Server("a.folded") as s:
        pages = {s.get(p)[2] for p in ("/", "/self", "/overall", "/paths", "/block?block=main", "/flame?at=main",
                                       "/tree", "/recursion", "/source?file=x", "/compare")}
        same(len(pages), 1)
        has(pages.pop().lower(), b"<!doctype html>")


# ---------------------------------------------------------------- live files

class Writer:
    def __init__(self, path):
        self.child = subprocess.Popen([harness.LIVE_WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.child.stdout.readline()

    def step(self, path):
        self.child.stdin.write(path.encode() + b"\n")
        self.child.stdin.flush()
        same(self.child.stdout.readline(), b"done\n")

    def end(self, kill=False):
        if kill:
            self.child.kill()
        self.child.stdin.close()
        self.child.wait(60)
        self.child.stdout.close()


@case
def a_live_file_whose_disk_was_full_says_so():
    w = Writer("live.ouro")
    w.step("main.parse")
    for full in 0, 1:
        with open("live.ouro", "r+b") as f:
            f.seek(380)  # as live_format.h has it
            f.write(bytes([full, 0, 0, 0]))
        with Server("live.ouro", quiet=not full) as s:
            same(s.api("profile")["files"][0]["no_space"], bool(full))
    w.end(False)


@case
def a_live_file_is_followed():
    for kill in False, True:
        w = Writer("live.ouro")
        w.step("main.parse")
        with Server("live.ouro") as s:
            file = lambda: s.api("profile")["files"][0]
            same((file()["live"], file()["running"]), (True, True))
            first = s.api("blocks")
            label = first["labels"][0]
            same(first["total"], 10)
            etag = s.get("/api/v1/blocks")[1]["ETag"]
            for n in range(2, 5):
                w.step("main.parse")
                w.step(f"main.new{n}")
                becomes(lambda: s.api("blocks")["total"], 10 + 20 * (n - 1))
            later = s.api("blocks")
            assert later["generation"] > first["generation"]
            has(later["labels"], label)
            same(s.get("/api/v1/blocks", headers={"If-None-Match": etag})[0], 200)
            has(later["names"], "new4")
            same(s.api("blocks", select="new4")["left"], 10)
            w.end(kill)
            becomes(lambda: file()["running"], False)
            last = s.api("profile")["generation"]
            time.sleep(1)
            same(s.api("profile")["generation"], last)  # nothing changes any more
        os.unlink("live.ouro")


@case
def a_live_file_that_goes_away_or_breaks_keeps_its_last_state():
    w = Writer("live.ouro")
    w.step("main")
    with Server("live.ouro") as s:
        same(s.api("blocks")["total"], 10)
        os.unlink("live.ouro")
        time.sleep(0.6)
        same(s.api("blocks")["total"], 10)
        write("live.ouro", b"OUROLIVE" + b"\xff" * 5000)
        time.sleep(0.6)
        same(s.api("blocks")["total"], 10)
        os.unlink("live.ouro")
        w.end()
        again = Writer("live.ouro")  # the program is started once more
        again.step("other")
        again.step("other")
        becomes(lambda: (s.api("blocks")["total"], s.api("blocks")["names"]), (20, ["other"]))
        again.end()


@case
def a_live_file_that_becomes_something_else_keeps_nobody_waiting():
    """A pipe without a writer, devices without an end, a folder, a socket: also while they are put in its place."""
    w = Writer("live.ouro")
    w.step("main")
    socket.socket(socket.AF_UNIX).bind("socket")
    os.mkfifo("pipe")
    os.mkdir("folder")
    os.link("live.ouro", "true")
    others = ["pipe", "/dev/zero", "/dev/tty", "/dev/stdin", "socket", "folder", "/proc/kmsg", "live.ouro"]
    with Server("live.ouro") as s:
        stop = threading.Event()

        def swap():
            while not stop.is_set():
                for other in ("pipe", "true", "/dev/zero", "true"):
                    os.symlink(other, "new")
                    os.replace("new", "live.ouro")

        for other in others:
            os.symlink(other, "new")
            os.replace("new", "live.ouro")
            time.sleep(0.5)  # the next question finds that it is time to look
            same(s.api("blocks")["total"], 10, other)
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for _ in range(8):
                time.sleep(0.4)
                same(s.api("blocks")["total"], 10)
        finally:
            stop.set()
            thread.join()
        os.replace("true", "live.ouro")
        w.step("main")
        becomes(lambda: s.api("blocks")["total"], 20)
    w.end()


@case
def a_live_file_is_asked_by_many_while_it_grows():
    w = Writer("live.ouro")
    w.step("main")
    with Server("live.ouro") as s:
        stop, problems = threading.Event(), []

        def ask():
            last = 0
            while not stop.is_set():
                try:
                    a = s.api("overview", fold="main") if last % 2 else s.api("blocks")
                    assert a["generation"] >= last
                    same(a["left"], a["total"])
                    last = a["generation"]
                except Exception as e:
                    problems.append(e)
                    return
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        for i in range(40):
            w.step(f"main.f{i % 9}.g{i}")
            time.sleep(0.05)
        stop.set()
        for t in threads:
            t.join()
        assert not problems, problems[0]
        becomes(lambda: s.api("blocks")["total"], 410)
    w.end()


@case
def two_live_files_are_compared():
    a, b = Writer("a.ouro"), Writer("b.ouro")
    a.step("main.f")
    b.step("main.f")
    with Server("a.ouro", "b.ouro") as s:
        same(s.api("compare")["total_after"], 10)
        b.step("main.g")
        becomes(lambda: s.api("compare")["total_after"], 20)
        same(s.api("compare")["total_before"], 10)
    a.end()
    b.end()

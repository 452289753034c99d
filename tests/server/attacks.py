# SPDX-License-Identifier: MIT
"""What a hostile page, profile or client would try. Each case is a promise of SECURITY.md."""
import json, os, random, re, signal, socket, subprocess, threading, time, urllib.parse
from harness import Server, becomes
from pprof import Profile
from suite import case, has, lacks, run, same, skip, write

SMALL = "main;parse;lex 10\nmain;eval;apply 20\n"


def small(*more, **how):
    write("small.folded", SMALL)
    return Server("small.folded", *more, **how)


# ---------------------------------------------------------------- who may ask

@case
def a_host_header_that_is_not_ours_is_refused():
    with small() as s:
        port = s.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            same(s.line("/api/v1/profile", host), 200, host)
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:0{port}",
                     f"127.0.0.1:{port}@evil.example", f"127.0.0.1.evil.example:{port}",
                     f"evil.example#127.0.0.1:{port}",
                     f"127.0.0.2:{port}", f"0.0.0.0:{port}", f"[::1]evil:{port}", f"[::1:{port}", f"localhost.:{port}",
                     f"127.0.0.1:{port}:80", f"127.0.0.1:{port}x", f"2130706433:{port}", f"127.1:{port}", ":", "[", ""):
            assert s.line("/api/v1/profile", host) != 200, host
            assert s.line("/", host) != 200, host


@case
def requests_without_or_with_two_hosts_are_refused():
    with small() as s:
        a = f"Host: {s.authority}\r\n"
        for headers in "", a + "Host: evil.example\r\n", "Host: evil.example\r\n" + a, a + a:
            answer = s.raw(f"GET /api/v1/profile HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
            has(answer.split(b"\r\n")[0], b" 400 ", about=headers)
        answer = s.raw(b"GET /api/v1/profile HTTP/1.0\r\n\r\n")
        has(answer.split(b"\r\n")[0], b" 400 ")
        # A whole address as the target does not go round the check.
        answer = s.raw(f"GET http://evil.example/api/v1/profile HTTP/1.1\r\n{a}Connection: close\r\n\r\n".encode())
        has(answer.split(b"\r\n")[0], b" 400 ")


@case
def other_origins_may_not_read():
    with small() as s:
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"https://{s.authority}"},
                        {"Origin": f"http://{s.host}:{s.port + 1}"}, {"Origin": ""}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "odd"}):
            status, answer, data = s.get("/api/v1/profile", headers=headers)
            same(status, 403, headers)
            lacks(data, b"small", about=headers)
        for headers in ({"Origin": f"http://{s.authority}"}, {"Sec-Fetch-Site": "same-origin"},
                        {"Sec-Fetch-Site": "none"}):
            status, answer, data = s.get("/api/v1/profile", headers=headers)
            same(status, 200)
            same([h for h in answer if h.lower().startswith("access-control")], [])
        same(s.get("/api/v1/profile", "OPTIONS", {"Origin": "http://evil.example"})[0], 403)
        same(s.get("/api/v1/profile", "OPTIONS")[0], 405)


@case
def every_answer_has_the_headers_that_protect_it():
    with small() as s:
        for path in "/", "/flame", "/nothing", "/api/v1/profile", "/api/v1/nothing", "/api/v1/export?as=html", "/%ff":
            status, h, _ = s.get(path)
            policy = h["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'")
            has(policy, "frame-ancestors 'none'")
            assert "script-src" not in policy or re.search(r"script-src 'self';", policy)
            lacks(policy, "unsafe-eval", "http", "*")
            same(h["X-Content-Type-Options"], "nosniff")
            same(h["Referrer-Policy"], "no-referrer")
            same(h["Cross-Origin-Resource-Policy"], "same-origin", path)
            same(h["Cross-Origin-Opener-Policy"], "same-origin")
            same(h["X-Frame-Options"], "DENY")
        # What is made of names, and pages only, may be HTML: the page to share is handed out as a file, without rights.
        status, h, _ = s.get("/api/v1/export?as=html")
        assert h["Content-Disposition"].startswith("attachment")
        has(h["Content-Security-Policy"], "sandbox")


# ---------------------------------------------------------------- the secret

QUESTIONS = ["profile", "overview", "blocks", "sequences", "around?block=main", "neighbourhood?block=main", "flame",
             "tree", "knots", "files", "source?file=a.c", "compare", "difference", "find?text=main",
             "total?search=main", "export?as=folded", "nothing", ""]
PAGES = ["/", "/self", "/overall", "/paths", "/block", "/flame", "/tree", "/recursion", "/source", "/compare"]


@case
def without_the_secret_nothing_is_shown():
    write("a.c", "DATA\n")
    with Server(named("a.c"), secret=True) as s:
        targets = ["/api/v1/" + q for q in QUESTIONS] + PAGES + ["/nothing", "/api", "/../a.c", "/?secret="]
        for target in targets:
            for method in "GET", "HEAD", "POST", "OPTIONS":
                status, h, data = s.get(target, method)
                same(status, 403, (method, target))
                lacks(data, b"DATA", b"speedscope", s.secret.encode(), about=target)
                same((h["Set-Cookie"], h["Cache-Control"]), (None, "no-store"), target)
        status, h, data = s.get("/%")  # newer versions of libmicrohttpd refuse this without asking us
        assert status in (400, 403), status
        same(h["Set-Cookie"], None)
        lacks(data, b"DATA", b"speedscope", s.secret.encode())
        has(s.get("/flame")[2], b"<!doctype html>", b"ouro view")
        same(json.loads(s.get("/api/v1/blocks")[2])["error"]["code"], "no-secret")
        # What is sent if nothing is known must not tell either.
        same(s.get("/api/v1/profile", headers={"If-None-Match": "*"})[0], 403)
        for public in "/style.css", "/icon.svg", "/main.js", "/theme.js":
            same(s.get(public)[0], 200, public)
        for target in targets[:13]:
            assert s.get(target, headers=s.cookie)[0] in (200, 404), target
        same(s.get("/api/v1/profile", "POST", headers=s.cookie)[0], 405)


@case
def only_the_whole_secret_opens():
    with small(secret=True) as s:
        same(re.fullmatch("[0-9a-f]{32}", s.secret) is not None, True, s.secret)
        name = f"ouro-{s.port}"
        flip = lambda i: s.secret[:i] + ("0" if s.secret[i] != "0" else "1") + s.secret[i + 1:]
        wrong = ["", s.secret[:-1], s.secret + "0", s.secret[1:], s.secret.upper() + " ", "0" * 32, "%" + s.secret,
                 f'"{s.secret}"', *map(flip, range(32))]
        if s.secret.upper() != s.secret:
            wrong.append(s.secret.upper())
        for text in wrong:
            same(s.get("/api/v1/profile", headers={"Cookie": f"{name}={text}"})[0], 403, text)
            same(s.get("/?secret=" + urllib.parse.quote(text))[0], 403, text)
        for cookies in (f"ouro-{s.port + 1}={s.secret}", f"x{name}={s.secret}", f"{name}x={s.secret}", s.secret, name,
                        f"a=b, {name}={s.secret}", f"{name} ={s.secret}", ";" * 1000, f"a={name}={s.secret}"):
            same(s.get("/api/v1/profile", headers={"Cookie": cookies})[0], 403, cookies)
        # Another port of the same host may have set cookies of any name, before ours or behind it.
        for cookies in (f"a=b; {name}={s.secret}", f"{name}=x; {name}={s.secret}; c", f"{name}={s.secret};{name}=x"):
            same(s.get("/api/v1/profile", headers={"Cookie": cookies})[0], 200, cookies)
        # The API takes it as a cookie only: addresses are kept and shown.
        same(s.get(f"/api/v1/profile?secret={s.secret}")[0], 403)
        same(s.get("/api/v1/profile", headers={"Authorization": "Bearer " + s.secret})[0], 403)
        first = s.secret
    with small(secret=True) as s:
        assert s.secret != first


@case
def the_first_visit_sets_a_cookie_and_the_secret_leaves_the_address():
    write("small.folded", SMALL + "main;a b&c 1\n")
    with Server("small.folded", "--fold", "a b&c", secret=True) as s:
        target = s.url[s.url.index("/", 8):]
        same(target, f"/?secret={s.secret}&fold=a%20b%26c")
        status, h, data = s.get(target)
        same(status, 200)
        same(h["Set-Cookie"], f"ouro-{s.port}={s.secret}; Path=/; HttpOnly; SameSite=Strict")
        same(h["Refresh"], "0; url=/?fold=a%20b%26c")
        same((h["Cache-Control"], h["Referrer-Policy"], h["ETag"]), ("no-store", "no-referrer", None))
        lacks(data, s.secret.encode())
        # Who has the cookie already and comes with an old secret is led on.
        status, h, _ = s.get("/flame?a=1&secret=old&b=2", headers=s.cookie)
        same((status, h["Set-Cookie"], h["Refresh"]), (200, None, "0; url=/flame?a=1&b=2"))
        # It leads nowhere else, whatever the address holds.
        for path in "//evil.example/", "/\\evil.example", "/.//evil.example", "http://evil.example/", "/api/v1/blocks":
            assert s.line(f"{path}?secret={s.secret}") in (400, 403, None), path
        h = s.get(f"/?secret={s.secret}&x=%0d%0aSet-Cookie:%20a=b&y=<\"'>")[1]
        same((h["Refresh"], h.get_all("Set-Cookie")),
             ("0; url=/?x=%0d%0aSet-Cookie:%20a=b&y=%3C%22%27%3E", [h["Set-Cookie"]]))
        # Not even its length is told by where the address is cut.
        same(s.line("/?secret=" + "0" * 70000), 403)


@case
def a_link_from_another_site_is_tried_again_by_a_page_of_ours():
    """Browsers leave a strict cookie out if another site led here."""
    with small(secret=True) as s:
        for site, again in ("cross-site", "0; url=/flame?at=main"), ("same-site", "0; url=/flame?at=main"), \
                ("same-origin", None), ("none", None):
            status, h, body = s.get("/flame?at=main", headers={"Sec-Fetch-Site": site})
            same((status, h["Refresh"]), (403, again), site)
            same(b"locked" in body, not again, site)
            same(s.get("/api/v1/blocks", headers={"Sec-Fetch-Site": site})[1]["Refresh"], None)


@case
def two_viewers_keep_their_cookies_apart():
    with small(secret=True) as a, small(secret=True) as b:
        both = {"Cookie": f"{a.cookie['Cookie']}; {b.cookie['Cookie']}"}
        for s, other in (a, b), (b, a):
            same(s.get("/api/v1/profile", headers=both)[0], 200)
            same(s.get("/api/v1/profile", headers=other.cookie)[0], 403)
            same(s.get("/api/v1/profile", headers={"Cookie": f"ouro-{s.port}={other.secret}"})[0], 403)


@case
def another_user_of_the_machine_gets_nothing():
    """As one of them: the port, the file that leads the browser there, the process."""
    if os.getuid() != 0:
        skip("only root can become another user")
    write("small.folded", SMALL)
    write("browser", "#!/bin/sh\nprintf %s \"$1\" > opened.new\nmv opened.new opened\n")
    os.chmod("browser", 0o755)
    os.makedirs("run")
    for folder in os.getcwd(), "run":
        os.chmod(folder, 0o755)
    env = dict(os.environ, BROWSER=os.path.abspath("browser"), XDG_RUNTIME_DIR=os.path.abspath("run"))
    child = subprocess.Popen([Server.ouro, "view", "small.folded"], stdout=subprocess.PIPE, env=env)
    try:
        url = child.stdout.readline().decode().strip()
        becomes(lambda: os.path.exists("opened"), True)
        door = urllib.parse.unquote(open("opened").read()[len("file://"):])
        has(open(door).read(), url)
        code = """
import encodings.idna, os, sys, urllib.request, urllib.error  # before the files are another's
os.setgroups([]); os.setgid(65534); os.setuid(65534)
port, pid, door = sys.argv[1:]
seen = []
for name in door, f"/proc/{pid}/environ", f"/proc/{pid}/mem", f"/proc/{pid}/fd/0":
    try:
        seen.append(open(name, "rb").read())
    except OSError:
        pass
for name in f"/proc/{pid}/cmdline", f"/proc/{pid}/status":
    seen.append(open(name, "rb").read())
for path in "/", "/api/v1/profile", "/api/v1/blocks":
    try:
        seen.append(urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").read())
    except urllib.error.HTTPError as e:
        seen.append(b"%d " % e.code + e.read())
sys.stdout.buffer.write(b"|".join(seen))
"""
        port = urllib.parse.urlsplit(url).port
        seen = run("/usr/bin/env", "python3", "-c", code, port, child.pid, door, status=0).out
        same(seen.count("403 "), 3, seen)
        lacks(seen, url.split("secret=")[1], "parse", "lex")
    finally:
        child.terminate()
        child.wait(60)
        child.stdout.close()
    same(os.listdir("run"), [])


@case
def only_get_and_head():
    with small() as s:
        for method in "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND":
            status, h, data = s.get("/api/v1/profile", method)
            same(status, 405, method)
            same(h["Allow"], "GET, HEAD", method)
        same(s.get("/api/v1/profile", "POST", body="x" * 100000)[0], 405)
        status, h, data = s.get("/api/v1/profile", "HEAD")
        same(status, 200)
        same(data, b"")
        assert int(h["Content-Length"]) > 100
        same(s.get("/api/v1/profile", "GET", body="hello")[0], 413)
        has((413, 400, None), s.line("/api/v1/profile", more="Transfer-Encoding: chunked\r\n"))


# ---------------------------------------------------------------- files

@case
def page_paths_do_not_escape():
    write("secret.js", "secret")
    write("web/index.html", "<!doctype html>page")
    write("web/main.js", "// script")
    os.symlink("../secret.js", "web/link.js")
    os.symlink("/etc", "web/etc")
    os.mkfifo("web/fifo.js")
    write("small.folded", SMALL)
    for env in dict(os.environ), dict(os.environ, OURO_ASSETS=os.path.abspath("web")):
        with Server("small.folded", env=env) as s:
            for path in ("/../secret.js", "/..%2fsecret.js", "/%2e%2e/secret.js", "/%2e%2e%2fsecret.js", "//etc/passwd",
                         "/link.js", "/etc/passwd", "/etc/hostname.js", "/fifo.js", "/./main.js/../../secret.js",
                         "/main.js%00.html", "/main.js/", "/\\..\\secret.js", "/..\\secret.js", "/%252e%252e/secret.js",
                         "/" + "../" * 30 + "etc/passwd", "/" + "a/" * 4000, "/web", "/model/", "/.git/config"):
                status = s.line(path)
                assert status in (400, 404), (path, status)
            if env.get("OURO_ASSETS"):
                same(s.get("/main.js")[2], b"// script")
                same(s.get("/paths")[2], b"<!doctype html>page")
                write("web/main.js", "// newer")
                same(s.get("/main.js")[2], b"// newer")


def named(*files):
    """A profile that names these source files."""
    write("p.speedscope.json", json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": f"f{i}", "file": f, "line": i + 1} for i, f in enumerate(files)]},
        "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": len(files),
                      "samples": [[i] for i in range(len(files))], "weights": [1] * len(files)}]}))
    return "p.speedscope.json"


@case
def sources_stay_inside_their_roots():
    here = os.getcwd()
    write("root/src/a.c", "int a;\r\nint b;\n\nlast")
    write("root/other.c", "not named")
    write("outside/secret.c", "SECRET")
    write("rootless/secret.c", "SECRET")
    os.symlink("../../outside/secret.c", "root/src/out.c")
    os.symlink("../../outside", "root/src/folder")
    os.symlink("a.c", "root/src/in.c")
    os.symlink(f"{here}/root/src/a.c", "root/src/absolute.c")
    os.symlink("loop.c", "root/src/loop.c")
    os.mkfifo("root/src/fifo.c")
    os.mkdir("root/src/folder.c")
    bad = ["../outside/secret.c", "src/../../outside/secret.c", f"{here}/outside/secret.c", "src/out.c",
           "src/folder/secret.c", "src/fifo.c", "src/folder.c", "src/loop.c", "/dev/zero", "/dev/stdin", "/etc/passwd",
           "/proc/self/environ", f"{here}/rootless/secret.c", "", ".", "..", "/", "src/a.c/..", "src/missing.c",
           "x" * 300, "x/" * 3000, "src/a.c\n", f"{here}/root/../outside/secret.c", "file:///etc/passwd", "~/.bashrc",
           f"file://{here}/outside/secret.c", f"file://{here}/root/src/%2e%2e/%2E%2e/outside/secret.c", "file://",
           f"file://elsewhere{here}/root/src/a.c", "file:///etc/passwd%00.c", "file://src/a.c", "file:///%"]
    good = ["src/a.c", f"{here}/root/src/a.c", "src/in.c", "src/absolute.c", "src/../src/a.c",
            f"file://{here}/root/src/a.c", f"file://localhost{here}/root/src/a.c", f"file://{here}/root/src/%61.c"]
    with Server(named(*good, *bad), "--source", "root") as s:
        for name in good:
            a = s.api("source", file=name)
            same(a["text"], ["int a;", "int b;", "", "last"], name)
            assert a["reason"] is None, name
        for name in bad:
            if name == "":
                continue
            a = s.api("source", file=name)
            assert a["text"] is None, name
            assert a["reason"], name
        readable = {r["file"] for r in s.api("files", limit=1000)["rows"] if r["readable"]}
        same(readable, set(good))
        # Inside the root, but no block of the profile is there.
        for name in "other.c", "src/b.c", f"{here}/root/other.c", "SRC/A.C", "src//a.c":
            same(s.api("source", file=name, status=404)["error"]["code"], "no-such-file", name)
        same(s.line("/api/v1/source?file=src/a.c%00"), 400)
    with Server(named("src/a.c", "a.c"), "--source", "root/src", "--source", "root") as s:
        assert s.api("source", file="a.c")["text"]
        assert s.api("source", file="src/a.c")["text"]
    with Server(named("outside/secret.c", "root/src/a.c")) as s:  # without --source: the working folder
        same(s.api("source", file="outside/secret.c")["text"], ["SECRET"])
        same(s.api("profile")["source"]["roots"], [os.path.realpath(here)])


@case
def a_mapped_source_stays_inside_its_roots():
    write("root/src/a.c", "int a;\n")
    write("root/src/other.c", "OTHER")
    write("root/.git/a.c", "SECRET")
    write("outside/src/a.c", "SECRET")
    name = "/build/x/src/a.c"
    with Server(named(name, "file:///build/x/src/a.c", "webpack:///x/src/a.c"), "--source", "root") as s:
        text = lambda *maps, file=name: s.api("source", file=file, map=maps)["text"]
        same(text(), None)
        for maps in ["/build/x=."], ["/build/x/="], ["/build/x/src=src"], ["/other=x", "/build/x=."], \
                    ["/build/x/=."], [f"/build/x={os.getcwd()}/root"]:
            same(text(*maps), ["int a;"], maps)
        for maps in ["/build/x=../outside"], ["/build/x/src=.git"], ["/build/x/sr=src"], \
                    [f"/build/x={os.getcwd()}/outside"], ["/build/x/src/a.c=src/other.c"], \
                    ["/build/x/src=/proc/self"], ["/build/x=x", "/build/x=."]:
            same(text(*maps), None, maps)
        same(text("/build/x=.", file="file:///build/x/src/a.c"), ["int a;"])
        same(text("webpack:///x=.", file="webpack:///x/src/a.c"), ["int a;"])
        for bad in "/build/x", "", "=.":
            same(s.api("source", file=name, map=bad, status=400)["error"]["code"], "bad-map", bad)
            same(s.api("files", map=bad, status=400)["error"]["code"], "bad-map", bad)
        readable = lambda **more: [r["file"] for r in s.api("files", **more)["rows"] if r["readable"]]
        same(readable(), [])
        same(readable(map="/build/x=."), [name, "file:///build/x/src/a.c"])
    with Server(named(name), "--source", "root", "--source-map", "/build/x=.") as s:
        same(s.api("source", file=name)["text"], ["int a;"])
        same(s.api("source", file=name, map="/build/x=nowhere")["text"], None)  # the page's come first
    has(run(Server.ouro, "view", "--no-open", "--source-map", "x", "p.speedscope.json", status=2).err, "FROM=TO")


@case
def only_sources_are_shown():
    """A home folder is often the working folder: what is hidden or is no source is not shown, also by a link."""
    good = ["a.c", "sub/B.FBLE", "x.py", "lib.v1.2/a.lua", "a.b.rs", "to_good.c", "strange.myext", "UPPER.C"]
    bad = [".ssh/id_rsa", ".ssh/key.c", "sub/.git/config", "sub/.hidden.c", ".c", "id_rsa", "password.txt", "key.pem",
           "a.json", "a.env", "a.c.bak", "a.c~", "settings.ini", "folder.c/data", "to_key.c", "to_hidden.c",
           "in_hidden/a.c", "a.", "a. c", "strange.MYEXT", "a.toml"]
    for name in good + bad:
        if not name.startswith("to_") and not name.startswith("in_hidden/"):
            write(name, "DATA\n")
    os.symlink("a.c", "to_good.c")
    os.symlink("key.pem", "to_key.c")
    os.symlink(".ssh/key.c", "to_hidden.c")
    write(".hidden/a.c", "DATA\n")
    os.symlink(".hidden", "in_hidden")
    with Server(named(*good, *bad), "--source-extension", ".myext") as s:
        for name in good:
            same(s.api("source", file=name)["text"], ["DATA"], name)
        for name in bad:
            a = s.api("source", file=name)
            same(a["text"], None, name)
            has(a["reason"], "--source-extension", about=name)
        same({r["file"] for r in s.api("files", limit=1000)["rows"] if r["readable"]}, set(good))
    # A folder that was named is looked into, however it is called.
    write(".config/tool/a.lua", "DATA\n")
    with Server(named("a.lua", "b.myext"), "--source", ".config/tool") as s:
        same(s.api("source", file="a.lua")["text"], ["DATA"])
        same(s.api("source", file="b.myext")["text"], None)


@case
def a_source_that_is_swapped_is_never_read_outside():
    """A link is moved to and fro while it is asked for; what is outside is never shown."""
    write("root/a/x.c", "inside")
    write("outside/x.c", "SECRET")
    with Server(named("link/x.c"), "--source", "root") as s:
        stop = threading.Event()

        def swap():
            targets = ["a", "../outside"]
            while not stop.is_set():
                for t in targets:
                    os.symlink(t, "root/link.new")
                    os.replace("root/link.new", "root/link")
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            seen = [str(s.api("source", file="link/x.c")["text"]) for _ in range(400)]
        finally:
            stop.set()
            thread.join()
        same([t for t in seen if "SECRET" in t], [])


@case
def large_binary_and_odd_sources_are_told():
    write("big.c", b"x" * (9 << 20))
    write("binary.c", b"a\0b")
    write("latin.c", b"caf\xe9\n<script>\n")
    write("empty.c", "")
    with Server(named("big.c", "binary.c", "latin.c", "empty.c")) as s:
        has(s.api("source", file="big.c")["reason"], "larger")
        has(s.api("source", file="binary.c")["reason"], "not text")
        same(s.api("source", file="latin.c")["text"], ["caf\ufffd", "<script>"])
        same(s.api("source", file="empty.c")["text"], [])


# ---------------------------------------------------------------- names are text

@case
def names_are_never_markup():
    evil = ['<img src=x onerror=alert(1)>', '"><script>alert(1)</script>', "</script><svg/onload=alert(1)>", "]]>",
            "&lt;",
            "\u2028\u2029", "\x00".strip("\x00") + "\x1b[31m", "'; DROP TABLE", "${7*7}", "javascript:alert(1)"]
    p = Profile()
    for i, name in enumerate(evil):
        p.add(["main", name], [i + 1])
    write("<img src=x onerror=1>.pb", p.bytes())
    with Server("<img src=x onerror=1>.pb") as s:
        for q in "profile", "overview", "blocks", "sequences", "flame", "knots", "files", "blocks?search=<b>&sort=name":
            status, h, data = s.get("/api/v1/" + urllib.parse.quote(q, safe="?=&"))
            same(h["Content-Type"], "application/json; charset=utf-8")
            same(h["X-Content-Type-Options"], "nosniff")
            json.loads(data)
        a = s.api("blocks", limit=1000)
        assert set(evil) <= set(a["names"])
        for q in ("around?block=<script>", "blocks?sort=<script>", "source?file=<script>", "<script>",
                  "blocks?metric=<script>"):
            status, h, data = s.get("/api/v1/" + urllib.parse.quote(q, safe="?="))
            assert 400 <= status < 500, q
            assert h["Content-Type"].startswith("application/json"), q
        for kind in "svg", "html":
            status, h, data = s.get("/api/v1/export?as=" + kind)
            for name in [*evil, "<img src=x"]:  # the page has scripts of its own, the picture has none
                if "<" in name:
                    lacks(data, name.encode(), about=kind)
            if kind == "svg":
                lacks(data, b"<script", about=kind)
            assert re.fullmatch(r'attachment; filename="[A-Za-z0-9._-]+"', h["Content-Disposition"])


# ---------------------------------------------------------------- malformed

@case
def malformed_requests_are_refused():
    with small() as s:
        for target in ("/api/v1/blocks?search=%", "/api/v1/blocks?search=%4", "/api/v1/blocks?search=%zz", "/%", "/%00",
                       "/api/v1/blocks?search=%00", "/api/v1/blocks?search=%ff", "/api/v1/blocks?search=%c3%28",
                       "/api/v1/blocks?%ed%a0%80=1", "/api/v1/blocks?search=%f5%80%80%80", "*", "api", "/a#b",
                       "/api/v1/blocks?limit=-1", "/api/v1/blocks?limit=1001",
                       "/api/v1/blocks?limit=99999999999999999999",
                       "/api/v1/blocks?offset=-1", "/api/v1/blocks?offset=4294967296", "/api/v1/blocks?limit=1e3",
                       "/api/v1/blocks?limit=0x10", "/api/v1/blocks?limit=", "/api/v1/blocks?limit=+1",
                       "/api/v1/flame?limit=0", "/api/v1/flame?limit=8001", "/api/v1/blocks?sort=",
                       "/api/v1/blocks?sort=-", "/api/v1/blocks?sort=nope",
                       "/api/v1/blocks?side=left", "/api/v1/blocks?format=xml", "/api/v1/around", "/api/v1/find",
                       "/api/v1/total", "/api/v1/around?block=main&in_limit=-5", "/api/v1/neighbourhood",
                       "/api/v1/neighbourhood?block=main&limit=21", "/api/v1/neighbourhood?block=main&block=lex",
                       "/api/v1/knots?sort=name",
                       "/api/v1/blocks?" + "a&" * 1100, "/api/v1/export", "/api/v1/source"):
            same(s.line(target), 400, target)
        for target in ("/api/v1/", "/api/v1", "/api/v2/blocks", "/api/v1/blocks/", "/api/v1/BLOCKS", "/api/v1//blocks",
                       "/api/v1/blocks?metric=nope", "/api/v1/blocks?side=after", "/api/v1/flame?at=lex",
                       "/api/v1/around?block=nope", "/api/v1/tree?at=main&at=main", "/api/v1/compare", "/favicon.ico"):
            same(s.line(target), 404, target)
        same(s.api("blocks", offset=4294967295, limit=1000)["rows"], [])
        same(s.api("blocks", limit=0)["count"], 5)
        same(s.line("/api/v1/blocks?format=csv&limit=100000"), 200)
        same(s.line("/api/v1/blocks?format=csv&limit=100001"), 400)


@case
def too_long_is_refused_and_the_server_lives():
    with small() as s:
        same(s.line("/api/v1/blocks?search=" + "x" * 60000), 200)
        same(s.line("/api/v1/blocks?search=" + "x" * 70000), 414)
        for target, headers in ("/" + "x" * 500000, ""), ("/", "X-A: " + "y" * 500000 + "\r\n"), \
                ("/", "".join(f"X-{i}: {i}\r\n" for i in range(20000))):
            has((400, 413, 414, 431, None), s.line(target, more=headers))
        for junk in b"\0" * 1000, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 5000, b"\x16\x03\x01\x02\x00\x01\x00", \
                b"GET / HTTP/1.1\r\nHost\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", os.urandom(5000):
            s.raw(junk, half=True)
        same(s.api("profile")["generation"], 1)


@case
def filters_in_any_number_are_answered_or_too_long():
    """Many small parameters take more of the library's memory than one long one."""
    with small() as s:
        for part, few in ("fold=eval&", 200), ("search=some_function_with_a_long_name%28int%29&", 200), ("&", 200), \
                ("x&", 200), ("fold=%65val&", 200), ("?", 200), ("?a&", 200):
            for size, want in (900, (few,)), (8000, (few, 400)), (30000, (few, 400)), (55000, (few, 400)), \
                    (100000, (414,)), (158000, (414,)), (400000, (414,)):
                has(want, s.line("/api/v1/blocks?" + part * (size // len(part))), about=(part, size))


@case
def an_address_of_no_page_is_a_page_for_browsers():
    with small() as s:
        for path in "/nosuch", "/nosuch/deeper?fold=eval", "/index.php":
            status, h, data = s.get(path, headers={"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"})
            same((status, h["Content-Type"]), (404, "text/html; charset=utf-8"), path)
            has(data, b"There is no such page", b'href="/"')
            status, h, data = s.get(path)
            same((status, json.loads(data)["error"]["code"]), (404, "no-such-page"), path)
    with small(secret=True) as s:  # which says nothing of what is there to those who lack it
        for path, kind in ("/nosuch", "text/html"), ("/api/v1/profile", "application/json"):
            status, h, data = s.get(path, headers={"Accept": "text/html"})
            same((status, h["Content-Type"], b"This profile is locked" in data),
                 (403, kind + "; charset=utf-8", kind == "text/html"), path)


@case
def random_targets_are_answered():
    rnd = random.Random(7)
    words = ["blocks", "flame", "around", "tree", "sequences", "find", "total", "source", "files", "overview", "knots",
             "export", "compare", "profile", "?", "&", "=", "%", "%41", "main", "parse", "block", "at", "select",
             "fold", "exclude", "limit", "offset", "sort", "-self", "metric", "samples", "search", "as", "svg", "text",
             "9", "0", "-1"]
    with small() as s:
        for _ in range(600):
            target = "/api/v1/" + rnd.choice(words[:14]) + "?" + "".join(
                rnd.choice(words[14:] + ["&", "="] * 8) for _ in range(rnd.randrange(14)))
            status, h, data = s.get(target)
            assert status in (200, 400, 404), (target, status)
            if h["Content-Type"].startswith("application/json; charset"):
                json.loads(data)


# ---------------------------------------------------------------- time and room

@case
def slow_senders_are_cut_off():
    with small() as s:
        with socket.create_connection((s.host, s.port), timeout=60) as c:
            c.sendall(b"GET / HTTP/1.1\r\n")
            started = time.monotonic()
            ended = False
            while time.monotonic() - started < 40 and not ended:
                try:
                    c.sendall(b"X: y\r\n")  # never silent, never done
                    c.settimeout(0.5)
                    ended = c.recv(1) == b""
                except socket.timeout:
                    pass
                except OSError:
                    ended = True
            assert ended, "still open after 40 seconds"
            same(s.api("profile")["generation"], 1)


@case
def too_many_connections_do_not_lock_others_out():
    with small() as s:
        crowd = []
        try:
            for _ in range(300):
                c = socket.socket()
                c.settimeout(5)
                c.connect((s.host, s.port))
                c.setblocking(False)
                try:
                    c.send(b"GET / HTTP/1.1\r\n")
                except OSError:
                    pass
                crowd.append(c)

            def answered():
                try:
                    return s.get("/api/v1/profile")[0] == 200
                except OSError:
                    return False
            becomes(answered, True, 30)
        finally:
            for c in crowd:
                c.close()
        becomes(answered, True, 30)


def status_of_answer(c):
    """Returns 0 if the connection ended without an answer."""
    try:
        with c.makefile("rb") as answer:
            return int((answer.readline().split() or [0, 0])[1])
    except ConnectionError:
        return 0


@case
def complete_requests_are_all_answered_however_many_come_together():
    """The server stands still while they arrive, so it finds all of them unread, as on a busy machine. Every fifth one
    lacks its end and makes room."""
    with small() as s:
        whole = f"GET /api/v1/profile HTTP/1.1\r\nHost: {s.authority}\r\n\r\n".encode()
        for count, every in (300, 301), (300, 5):
            s.child.send_signal(signal.SIGSTOP)
            try:
                clients = [socket.create_connection((s.host, s.port), timeout=60) for _ in range(count)]
                for i, c in enumerate(clients, 1):
                    c.sendall(whole[:-2] if i % every == 0 else whole)
            finally:
                s.child.send_signal(signal.SIGCONT)
            got = [status_of_answer(c) for i, c in enumerate(clients, 1) if i % every]
            for c in clients:
                c.close()
            same(got.count(200), len(got), sorted(set(got)))
            becomes(lambda: len(os.listdir(f"/proc/{s.child.pid}/task")) < 10, True)


@case
def a_client_that_goes_away_or_does_not_read_harms_nobody():
    rnd = random.Random(1)
    write("big.folded", "".join(f"main;f{rnd.randrange(400)};g{i} 1\n" for i in range(20000)))
    with Server("big.folded") as s:
        request = f"GET /api/v1/sequences?format=csv HTTP/1.1\r\nHost: {s.authority}\r\n\r\n".encode()
        open_ = []
        for i in range(30):
            c = socket.create_connection((s.host, s.port))
            c.sendall(request * 3)
            if i % 2:
                c.close()
            else:
                open_.append(c)
        same(s.api("blocks")["count"], 20401)
        for c in open_:
            c.close()


@case
def the_same_new_filter_asked_often_at_once():
    rnd = random.Random(2)
    write("big.folded", "".join(";".join(f"f{rnd.randrange(60)}" for _ in range(12)) + " 1\n" for _ in range(8000)))
    with Server("big.folded") as s:
        want, got = {}, []
        lock = threading.Lock()

        def ask(i):
            question = "blocks", "overview", "knots", "flame", "sequences"
            a = s.api(question[i % 5], fold=[f"f{i // 5 % 7}"], exclude=[f"f{i // 35 % 3 + 10}"])
            with lock:
                key = (i // 5 % 7, i // 35 % 3)
                got.append(want.setdefault(key, a["left"]) == a["left"])
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(60)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        same(len(got), 60)
        assert all(got)
        for key, left in want.items():
            same(s.api("blocks", fold=[f"f{key[0]}"], exclude=[f"f{key[1] + 10}"])["left"], left)


@case
def more_filters_than_the_cache_holds():
    write("many.folded", "".join(f"main;f{i};g{i % 7} {i + 1}\n" for i in range(150)))
    with Server("many.folded") as s:
        for _ in range(2):
            for i in range(150):
                same(s.api("blocks", select=f"f{i}", limit=1)["left"], i + 1)


# ---------------------------------------------------------------- memory

def megabytes(s, what="RssAnon"):
    """What the server has taken from the system: now, or VmHWM at most."""
    with open(f"/proc/{s.child.pid}/status") as f:
        return int(re.search(what + r":\s+(\d+) kB", f.read()).group(1)) / 1024


def is_plain():
    """Sanitizers have an allocator of their own, which keeps what is freed."""
    with open(Server.ouro, "rb") as f:
        return not re.search(rb"__[at]san_init", f.read())


@case
def many_filters_at_once_are_all_answered():
    """More than there are views, and than are at work."""
    rnd = random.Random(4)
    count = 90 if is_plain() else 20
    write("big.folded", "".join(";".join(f"f{rnd.randrange(900)}" for _ in range(14)) + " 1\n" for _ in range(9000)))
    with Server("big.folded") as s:
        got = []
        ask = lambda i: got.append(s.get(f"/api/v1/total?search=x&fold=f{i}")[0])
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        same(got, [200] * count)


@case
def clients_that_do_not_fetch_their_answers_take_a_bounded_memory_and_it_is_given_back():
    count = 60 if is_plain() else 6
    write("wide.folded", "".join(f"main;{i:0600} 1\n" for i in range(10000)))
    with Server("wide.folded") as s:
        target = "/api/v1/sequences?format=csv"
        size = len(s.get(target)[2]) / 2**20
        start = megabytes(s)
        crowd = []
        for _ in range(count):
            c = socket.create_connection((s.host, s.port))
            c.sendall(f"GET {target} HTTP/1.1\r\nHost: {s.authority}\r\n\r\n".encode())
            crowd.append(c)
        # Others are answered meanwhile, also those who fetch much.
        same(s.api("blocks", limit=1)["total"], 10000)
        time.sleep(count / 6)  # as long as it takes to make all of them, if they were made
        most = megabytes(s, "VmHWM") - start
        for c in crowd:
            c.close()
        same(len(s.get(target)[2]) / 2**20, size)
        if not is_plain():
            return
        assert count * size > 340, size  # what they would take
        # Unsent answers, and those that are made: a table, a buffer, and its copy while it grows.
        assert most < 128 + 8 * 3 * size + 30, (most, size)
        becomes(lambda: megabytes(s) < start + 64 + 20, True)

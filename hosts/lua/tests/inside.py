#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lua inside other programs, with the examples of ../examples/inside: inside.py OURO BUILD [WORD...]

What is not installed is skipped. The servers may be unpacked in a folder of the cache: `tools/bootstrap test` puts them
there, with the libraries that they need and the system lacks.
"""
import glob, os, platform, re, shutil, socket, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import suite
from suite import arguments, case, has, main, same, skip, write

OURO, BUILD = arguments("OURO", "BUILD")
EXAMPLES = os.path.join(HERE, "..", "examples", "inside")
CACHE = os.environ.get("OURO_CACHE") or os.path.expanduser("~/.cache/ouro")
SERVERS = f"{CACHE}/servers-{platform.freedesktop_os_release().get('VERSION_CODENAME')}"
LIBRARIES = ":".join(glob.glob(f"{SERVERS}/usr/lib/*-linux-gnu*"))
MODULES = {"lua5.1": "5.1", "lua5.3": "5.3", "lua5.4": "5.4", "luajit": "5.1"}
if os.path.exists(f"{BUILD}/hosts/lua/5.5/ouro.so"):  # not every system has it
    MODULES["lua5.5"] = "5.5"


def environment(folder, **more):
    return dict(os.environ, OURO=OURO, LUA_CPATH=f"{BUILD}/hosts/lua/{folder}/?.so", **more)


def needs(program):
    if not shutil.which(program):
        skip(f"{program} is not installed")


def unpacked(path):
    """A file of a server's packages."""
    found = [place + path for place in (SERVERS, "") if os.path.exists(place + path)]
    return found[0] if found else skip(f"{path} is not here; tools/bootstrap test unpacks it")


def needs_module(folder):
    if not os.path.exists(f"{BUILD}/hosts/lua/{folder}/ouro.so"):
        skip(f"built without Lua {folder}")


def run(*command, status=0, folder="5.1", **more):
    return suite.run(*command, status=status, timeout=100, env=environment(folder), **more)


def paths(profile, metric="cpu"):
    lines = run(OURO, "convert", "--to", "folded", "--metric", metric, profile, "-").out.splitlines()
    return {path: int(n) for path, n in (line.rsplit(" ", 1) for line in lines)}


def embedded(version, static):
    """The example as its comment says, with a shared or a static Lua."""
    needs_module(MODULES[version])
    asked = suite.run("pkg-config", "--cflags", "--libs", *(["--static"] if static else []), version)
    if asked.status != 0:
        skip(f"{version} has no headers here")
    flags = asked.out.split()
    if static:
        archive = f"-l:lib{version if version != 'luajit' else 'luajit-5.1'}.a"
        flags = [archive if flag.startswith("-llua") else flag for flag in flags] + ["-Wl,-E"]
    run("cc", os.path.join(EXAMPLES, "embed.c"), *flags, "-o", "embed")
    write("script.lua", "local function spin() local x = 0 for i = 1, 3e7 do x = x + i % 3 end return x end\n"
          "local y = spin()\n")
    done = run("./embed", "script.lua", folder=MODULES[version])
    same((done.out, done.err), ("", ""))
    got = paths("embed.pb.gz", "cpu" if version == "luajit" else "time")
    assert sum(n for path, n in got.items() if "spin" in path) > 10e6, got


for version in MODULES:
    case(embedded, f"a_c_program_that_embeds_{version}_is_recorded_by_three_lines", version, False)
case(embedded, "a_c_program_with_lua_inside_is_recorded_by_three_lines", "lua5.4", True)


@case
def a_c_program_that_hides_its_lua_is_not_harmed():
    needs_module("5.4")
    flags = suite.run("pkg-config", "--cflags", "--libs", "--static", "lua5.4").out.split()
    if not flags:
        skip("lua5.4 has no headers here")
    flags = ["-l:liblua5.4.a" if flag.startswith("-llua") else flag for flag in flags]
    run("cc", os.path.join(EXAMPLES, "embed.c"), *flags, "-o", "embed")
    done = run("./embed", write("script.lua", "print(require 'ouro')"), folder="5.4")
    has(done.out, "true")
    has(done.err, "attempt to index a boolean value")


# ---------------------------------------------------------------- Neovim

@case
def the_start_of_a_neovim_plugin_is_recorded():
    needs("nvim")
    needs_module("5.1")
    os.makedirs("site/plugin")
    write("site/plugin/slow.lua", "local function build_index()\n  local t = {}\n"
          "  for i = 1, 2000000 do t[i % 1000 + 1] = tostring(i) end\n  return t\nend\nvim.g.size = #build_index()\n")
    run("nvim", "--clean", "--headless", "--cmd", "set runtimepath^=site", "--cmd", "lua require('ouro').start()",
        "-c", "lua local o = require('ouro') o.stop() o.write('start.pb.gz')", "-c", "qa")
    got = paths("start.pb.gz")
    assert sum(n for path, n in got.items() if "build_index" in path) > 10e6, got
    has(run(OURO, "report", "--overall", "--csv", "start.pb.gz").out, "build_index,")


@case
def a_script_of_neovim_records_itself():
    needs("nvim")
    needs_module("5.1")
    write("script.lua", "local ouro = require 'ouro'\nouro.start()\n"
          "local function spin() local x = 0 for i = 1, 3e7 do x = x + i % 3 end return x end\n"
          "local y = spin()\nouro.stop()\nassert(ouro.write('script.pb.gz'))\n")
    version = re.search(r"v(\d+)\.(\d+)", run("nvim", "--version").out)
    if (int(version[1]), int(version[2])) >= (0, 9):
        run("nvim", "-l", "script.lua")
    else:
        run("nvim", "--clean", "--headless", "-c", "luafile script.lua", "-c", "qa")
    assert any("spin" in path for path in paths("script.pb.gz"))


# ---------------------------------------------------------------- Redis

@case
def a_script_of_redis_is_recorded_outside_of_it():
    server, cli = unpacked("/usr/bin/redis-server"), unpacked("/usr/bin/redis-cli")
    if not os.path.exists(f"{BUILD}/ouro-lua5.1"):
        skip("built without Lua 5.1")
    write("count.lua", "local function add(key, n) return redis.call('INCRBY', key, n) end\n"
          "for i = 1, tonumber(ARGV[1]) do add(KEYS[1], i) end\n"
          "redis.call('RPUSH', KEYS[2], 'a b', 'c\"\\n')\n"
          "local list = redis.call('LRANGE', KEYS[2], 0, -1)\n"
          "assert(redis.call('GET', 'nobody') == false and redis.pcall('NONSENSE').err)\n"
          "return redis.call('GET', KEYS[1]) .. ' ' .. #list .. ' ' .. list[2]\n")
    server = subprocess.Popen([server, "--port", "0", "--unixsocket", os.path.abspath("s"), "--save", "",
                               "--daemonize", "no", "--dir", os.getcwd()], stdout=subprocess.DEVNULL,
                              env=environment("5.1", LD_LIBRARY_PATH=LIBRARIES))
    try:
        cli = f"env LD_LIBRARY_PATH={LIBRARIES} {cli} -s {os.path.abspath('s')}"
        until(lambda: suite.run(*cli.split(), "ping").out == "PONG\n", server)
        inside = run(*cli.split(), "--eval", "count.lua", "n", "list", ",", "20").out
        run(*cli.split(), "flushall")
        done = suite.run(f"{BUILD}/ouro-lua5.1", "--precise", "--quiet", "-o", "count.pb",
                         os.path.join(EXAMPLES, "redis_outside.lua"), "count.lua", "n", "list", ",", "20",
                         status=0, timeout=100, env=environment("5.1", REDIS_CLI=cli))
        same(done.out, "210 2 c\"\n\n")
        has(inside, "210 2 c")
        calls = paths("count.pb", "calls")
        same(sum(n for path, n in calls.items() if path.endswith("add;redis.call")), 20, calls)
    finally:
        server.terminate()
        server.wait(timeout=60)


@case
def without_a_server_of_redis_the_script_ends_with_a_message():
    cli = f"env LD_LIBRARY_PATH={LIBRARIES} {unpacked('/usr/bin/redis-cli')} -s nobody"
    if not os.path.exists(f"{BUILD}/ouro-lua5.1"):
        skip("built without Lua 5.1")
    write("one.lua", "return redis.call('GET', KEYS[1])\n")
    done = suite.run(f"{BUILD}/ouro-lua5.1", "--quiet", os.path.join(EXAMPLES, "redis_outside.lua"), "one.lua", "n",
                     status=1, timeout=100, env=environment("5.1", REDIS_CLI=cli))
    has(done.err, f"no server answers `{cli} ping`")


def until(ready, process):
    """Waits for a server, as long as it lives."""
    end = time.monotonic() + 60
    while not ready():
        assert process.poll() is None and time.monotonic() < end, "the server did not start"
        time.sleep(0.05)


# ---------------------------------------------------------------- nginx

def get(path, target):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(path)
        s.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
        answer = b""
        while part := s.recv(65536):
            answer += part
    return answer.decode()


@case
def a_worker_of_nginx_records_its_handlers():
    needs_module("5.1")
    program = unpacked("/usr/sbin/nginx")
    http_lua, ndk = (unpacked(f"/usr/lib/nginx/modules/{name}_module.so") for name in ("ngx_http_lua", "ndk_http"))
    shutil.copy(os.path.join(EXAMPLES, "nginx.conf"), "nginx.conf")
    os.mkdir("logs")
    write("modules.conf", f"load_module {ndk};\nload_module {http_lua};\n")
    write("lua.conf", f'lua_package_path "{SERVERS}/usr/share/lua/5.1/?.lua;;";\n'
          f'lua_package_cpath "{BUILD}/hosts/lua/5.1/?.so;;";\n')
    write("listen.conf", f"listen unix:{os.path.abspath('s')};\n")
    server = subprocess.Popen([program, "-p", os.getcwd(), "-c", os.path.abspath("nginx.conf")],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=environment("5.1", LD_LIBRARY_PATH=LIBRARIES))
    try:
        until(lambda: os.path.exists("s"), server)
        has(get("s", "/work"), "\r\n100\n")
        has(get("s", "/profile"), "\r\ntrue\n")
        got = paths("logs/nginx.pb.gz")
        assert sum(n for path, n in got.items() if "render" in path) > 10e6, got
    finally:
        server.terminate()
        server.wait(timeout=60)


main()

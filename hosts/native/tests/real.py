# SPDX-License-Identifier: MIT
"""Real programs, built with their own build files where they have some, and a run of each. For tests and benchmarks."""
import os, random, shutil, struct, subprocess, zlib
import sources

SQL = """create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
  insert into t select i, 'text ' || (i * 7919 % 1000), i * 5 from n;
create index u on t(b);
select count(*), sum(c) from t where b like 'text 1%';
select b, sum(c) from t group by b order by 2 desc limit 5;
with recursive fib(n, a, b) as (select 1, 0, 1 union all select n + 1, b, a + b from fib where n < 60)
  select max(a) from fib;
delete from t where a % 3 = 0;
select count(*) from t a join t b on a.b = b.b where a.a < 40;
"""
SCRIPT = """function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var sum = 0;
for (var i = 0; i < %d; i++) {
  var words = ('some words to split ' + i).split(' ').map(function (w) { return w.toUpperCase(); });
  try { if (i %% 7 == 0) throw new Error('e' + i); } catch (e) { sum += e.message.length; }
  sum += words.join('').replace(/[AEIOU]/g, '').length + JSON.stringify({ a: words }).length;
}
print(fib(%d), sum);
"""


def run(command, folder, env=None, **more):
    done = subprocess.run(command, cwd=folder, stdin=more.pop("stdin", subprocess.DEVNULL), capture_output=True,
                          env=dict(os.environ, **(env or {})), timeout=900, **more)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return done


def text_file(path, size):
    """Text of a kind, the same every time."""
    words = random.Random(7)
    with open(path, "w") as f:
        while f.tell() < size:
            f.write("".join(words.choice("aeioubcdfghjklmnpqrst    ") for _ in range(70)) + "\n")
    return path


def picture(path, width, height):
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in (x * y & 255, x * 3 & 255, (x ^ y) & 255))
                    for y in range(height))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
    return path


# Each builds into a folder with a compiler (a list of words) and flags, and returns the executable.

def build_minigzip(folder, cc, cxx, flags):
    run([*cc, *flags, sources.minigzip(), "-o", "minigzip", "-lz"], folder)
    return os.path.join(folder, "minigzip")


def build_zopflipng(folder, cc, cxx, flags):
    src = sources.zopfli()
    c = [f for f in sorted(os.listdir(src + "/zopfli")) if f.endswith(".c") and f != "zopfli_bin.c"]
    for f in c:
        run([*cc, *flags, "-c", f"{src}/zopfli/{f}", "-o", f + ".o"], folder)
    for f in ("zopflipng_bin.cc", "zopflipng_lib.cc", "lodepng/lodepng.cpp", "lodepng/lodepng_util.cpp"):
        run([*cxx, *flags, "-c", f"{src}/zopflipng/{f}", "-o", os.path.basename(f) + ".o"], folder)
    objects = [f for f in os.listdir(folder) if f.endswith(".o")]
    run([*cxx, *flags, *objects, "-o", "zopflipng", "-lm"], folder)
    return os.path.join(folder, "zopflipng")


def build_duktape(folder, cc, cxx, flags):
    """By its own Makefile, which nobody has touched."""
    shutil.copytree(sources.duktape(), folder + "/duktape")
    run(["make", "-f", "Makefile.cmdline", "CC=" + " ".join(cc), "CCOPTS=-std=c99 -Wall -Isrc/ -Iexamples/cmdline "
         "-D_POSIX_C_SOURCE=200809L " + " ".join(flags)], folder + "/duktape")
    return os.path.join(folder, "duktape", "duk")


def build_sqlite(folder, cc, cxx, flags):
    """By its own configure."""
    shutil.copytree(sources.sqlite(), folder + "/sqlite")
    run(["./configure", "CC=" + " ".join(cc), "CFLAGS=" + " ".join(flags), "--disable-shared", "--disable-readline",
         "--disable-threadsafe"], folder + "/sqlite")
    run(["make", "sqlite3"], folder + "/sqlite")
    return os.path.join(folder, "sqlite", "sqlite3")


def build_cmark(folder, cc, cxx, flags):
    """By its own CMakeLists.txt."""
    run(["cmake", "-B", "cmark", "-DCMAKE_BUILD_TYPE=None", "-DCMARK_TESTS=OFF", "-DCMARK_SHARED=OFF",
         "-DCMAKE_C_FLAGS=" + " ".join(flags), sources.debian_source("cmark")], folder, {"CC": " ".join(cc)})
    run(["cmake", "--build", "cmark", "--target", "cmark_exe"], folder)
    return os.path.join(folder, "cmark", "src", "cmark")


def build_lua(folder, cc, cxx, flags):
    """By its own Makefile."""
    shutil.copytree(sources.debian_source("lua5.4"), folder + "/lua")
    run(["make", "-C", "src", "lua", "CC=" + " ".join(cc), "MYCFLAGS=-DLUA_USE_POSIX " + " ".join(flags)],
        folder + "/lua")
    return os.path.join(folder, "lua", "src", "lua")


def build_pigz(folder, cc, cxx, flags):
    """By its own Makefile."""
    shutil.copytree(sources.debian_source("pigz"), folder + "/pigz")
    run(["make", "pigz", "CC=" + " ".join(cc), "CFLAGS=" + " ".join(flags)], folder + "/pigz")
    return os.path.join(folder, "pigz", "pigz")


def markdown(path, n):
    with open(os.path.join(sources.debian_source("cmark"), "test", "spec.txt")) as f:
        return write(path, f.read() * n)


LUA = """local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local sum = 0
for round = 1, %d do
  sum = sum + fib(24)
  local t, parts, m = {}, {}, {}
  for i = 1, 20000 do t[i] = (i * 7919) %% 10007 end
  table.sort(t)
  for i = 1, 8000 do parts[#parts + 1] = string.format("%%d:%%s", i, tostring(i * 2)) end
  for w in table.concat(parts, ","):gmatch("%%d+") do sum = sum + #w end
  for i = 1, 20000 do local k = "k" .. (i %% 500); m[k] = (m[k] or 0) + i end
  local o = setmetatable({}, {__index = function(_, k) return k end})
  for i = 1, 20000 do sum = sum + o[i] end
end
print(sum)
"""

# Name: how to build it, and its arguments for a run of a size, files made in a folder.
PROGRAMS = {
    "minigzip": (build_minigzip, lambda folder, n: ["-c", text_file(folder + "/text", 20000 * n)]),
    "zopflipng": (build_zopflipng, lambda folder, n: ["--iterations=1", picture(folder + "/in.png", 16 * n, 16),
                                                      missing(folder + "/out.png")]),
    "duktape": (build_duktape, lambda folder, n: [write(folder + "/script.js", SCRIPT % (20 * n, 10 + n))]),
    "sqlite3": (build_sqlite, lambda folder, n: ["-batch", "-init",
                                                 write(folder + "/input.sql", SQL.format(rows=300 * n)),
                                                 ":memory:", ""]),
    "cmark": (build_cmark, lambda folder, n: [markdown(folder + "/spec.md", n)]),
    "lua": (build_lua, lambda folder, n: [write(folder + "/script.lua", LUA % n)]),
    "pigz": (build_pigz, lambda folder, n: ["-11", "-c", "-p", "2", markdown(folder + "/text.md", 1),
                                            *[folder + "/text.md"] * ((n - 1) // 4)]),
}


def missing(path):
    if os.path.exists(path):
        os.remove(path)
    return path


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path

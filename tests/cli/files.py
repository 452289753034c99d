#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files and the environment, in every program of ours: tests/cli/files.py BUILD [WORD...]

What holds for all that writes a profile: it is complete or not there, also after a power loss; it is never a standard
stream of somebody; it never goes through a link that somebody else has put there. And what holds for programs with
rights of their own: they do not obey their caller's environment.
"""
import itertools, os, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../support")
from suite import ROOT, arguments, case, has, lacks, main, read, run, same, skip, write

BUILD, = arguments("BUILD")
OURO, FBLE = os.path.join(BUILD, "ouro"), os.path.join(BUILD, "fble")
WORK = tempfile.TemporaryDirectory(prefix="ouro-files-")
ENVIRONMENT = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "hosts/lua/?.so"),
               "PATH": BUILD + ":" + os.environ["PATH"]}
INPUT = "main;eval;apply;eval 7\nmain;read 2\n"
FBLE_TEXT = "U@ = *(); (U@) { U@; } F = (U@ u) { u; }; F(F(U@()));\n"
LUA_TEXT = "local function f(n) return n == 0 and 0 or 1 + f(n - 1) end\nfor i = 1, 100 do f(10) end\nprint(5) io.stdout:flush()\n"
NATIVE_TEXT = """#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static int is_closed(int fd) { return fcntl(fd, F_GETFD) < 0; }
int main(int argc, char **argv) { /* which of the streams are closed, as it says? */
    int bits = is_closed(0) | is_closed(1) << 1 | is_closed(2) << 2;
    if (write(1, "hello\\n", 6) < 0 && write(2, "hello\\n", 6) < 0) bits |= 0;
    return argc > 1 && atoi(argv[1]) != bits;
}
"""
EMBEDDED_TEXT = """#include <ouro.h>
#include <unistd.h>
int main(int argc, char **argv) {
    ouro_profile *p = ouro_profile_new(&(ouro_options){.path = argc > 2 ? argv[2] : NULL, .max_nodes = 1000});
    ouro_block b = ouro_add_block(p, &(ouro_block_info){.name = "main"});
    ouro_thread *t = ouro_thread_new(p);
    ouro_position caller = ouro_enter(t, b);
    ouro_sample(t, 7);
    ssize_t n = write(1, "hello\\n", 6);
    ouro_exit(t, caller);
    ouro_thread_free(t);
    int failed = ouro_profile_write(p, argv[1]);
    ouro_profile_free(p);
    return failed || n == 0;
}
"""
made = {}


def program(name):
    """A program that is built once for all cases."""
    path = os.path.join(WORK.name, name)
    if name not in made:
        source = write(f"{path}.c", {"native": NATIVE_TEXT, "embedded": EMBEDDED_TEXT}.get(name, ""))
        if name == "embedded":
            run("cc", source, "-I", f"{ROOT}/include", f"{BUILD}/libouro.a", "-pthread", "-o", path, status=0)
        elif name == "native":
            run(OURO, "cc", "-O1", source, "-o", path, status=0)
        elif name == "compiled":
            write(f"{WORK.name}/Main.fble", FBLE_TEXT)
            run(FBLE, "compile", "--eval", "--build-dir", f"{WORK.name}/objects", f"{WORK.name}/Main.fble", "-o", path,
                status=0, env={**os.environ, "CFLAGS": "-O0"})
        made[name] = path
    return path


def inputs():
    write("in.folded", INPUT)
    write("Main.fble", FBLE_TEXT)
    write("script.lua", LUA_TEXT)
    write("module.lua", 'local o = require "ouro"\no.start{mode = "precise", live = arg[2]}\n' + LUA_TEXT +
          "o.stop()\nassert(o.write(arg[1]))\n")


# Everything that writes a finished profile, by name: the file, and the command after which it is there.
WRITERS = {f"convert to {end}": (f"out.{end}", lambda out: [OURO, "convert", "in.folded", out]) for end in
           ("pb", "pb.gz", "folded", "speedscope.json", "callgrind", "html", "svg", "json")}
WRITERS.update({
    "merge": ("out.pb", lambda out: [OURO, "merge", "in.folded", "in.folded", "-o", out]),
    "embedded": ("out.pb", lambda out: [program("embedded"), out]),
    "run": ("out.pb", lambda out: [OURO, "run", "-q", "--clock", "off", "-o", out, program("native")]),
    "lua": ("out.pb", lambda out: [OURO, "lua", "-q", "--precise", "-o", out, "script.lua"]),
    "lua packed": ("out.pb.gz", lambda out: [OURO, "lua", "-q", "--precise", "-o", out, "script.lua"]),
    "lua module": ("out.pb", lambda out: ["lua5.4", "module.lua", out]),
    "lua module packed": ("out.pb.gz", lambda out: ["lua5.4", "module.lua", out]),
    "fble": ("out.pb", lambda out: [FBLE, "eval", "--profile", out, "Main.fble"]),
    "fble converted": ("out.folded", lambda out: [FBLE, "eval", "--profile", out, "Main.fble"]),
    "compiled": ("out.pb", lambda out: [program("compiled"), "--profile", out]),
    "compiled converted": ("out.pb.gz", lambda out: [program("compiled"), "--profile", out]),
})
# The same for live files.
LIVE = {
    "embedded": lambda live: [program("embedded"), "other.pb", live],
    "lua": lambda live: [OURO, "lua", "-q", "--precise", "-o", "other.pb", "--live", live, "script.lua"],
    "lua module": lambda live: ["lua5.4", "module.lua", "other.pb", live],
    "fble": lambda live: [FBLE, "eval", "--profile-live", live, "Main.fble"],
    "compiled": lambda live: [program("compiled"), "--profile-live", live],
}


def calls(file):
    """What a profile says, in any format."""
    if file.endswith((".html", ".svg", ".json", ".callgrind")):
        return read(file)
    done = run(OURO, "convert", "--to", "folded", "--metric", "calls", file, "-")
    if done.status:  # it never had calls
        done = run(OURO, "convert", "--to", "folded", file, "-", status=0)
    return sorted(done.out.splitlines())


# ---------------------------------------------------------------- power loss

def on_disk(name):
    out, command = WRITERS[name]
    inputs()
    shim = os.path.join(WORK.name, "order.so")
    if not os.path.exists(shim):
        run("cc", "-D_GNU_SOURCE", "-shared", "-fPIC", f"{HERE}/order.c", "-o", shim, "-ldl", status=0)
    log = os.path.abspath(write("log", ""))
    run(*command(out), status=0, env={**ENVIRONMENT, "LD_PRELOAD": shim, "ORDER_LOG": log})
    lines = [line.split(" ") for line in read(log).splitlines()]
    place = os.path.realpath(out)
    renames = [i for i, line in enumerate(lines) if line[0] == "renamed" and line[2] == place]
    assert renames, f"{out} was not renamed to its place: {lines}"
    at, file = renames[-1], lines[renames[-1]][1]
    folder = "{0.st_dev}:{0.st_ino}".format(os.stat("."))
    written = max((i for i, line in enumerate(lines) if line[:2] == ["written", file]), default=-1)
    same([i > written for i, line in enumerate(lines[:at]) if line[:2] == ["synced", file]][-1:], [True],
         f"the file is on the disk before it has its name: {lines}")
    assert ["synced", folder] in [line[:2] for line in lines[at:]], f"the name is not on the disk: {lines}"


for name in WRITERS:
    case(on_disk, f"a_finished_profile_is_on_the_disk_before_it_has_its_name_{name.replace(' ', '_')}", name)


# ---------------------------------------------------------------- standard streams

def closing(which):
    def close():
        for fd in which:
            os.close(fd)
    return close


SUBSETS = [which for n in (1, 2, 3) for which in itertools.combinations((0, 1, 2), n)]


def streams(name):
    out, command = WRITERS[name]
    inputs()
    os.mkdir("open")
    run(*command("open/" + out), status=0, env=ENVIRONMENT)
    for which in SUBSETS:
        run(*command(out), env=ENVIRONMENT, preexec_fn=closing(which))  # some fail, for their output is lost
        same(calls(out), calls("open/" + out), f"{which} are closed")
        os.remove(out)


for name in WRITERS:
    case(streams, f"closed_streams_do_not_get_into_the_profile_{name.replace(' ', '_')}", name)


def live_streams(name):
    inputs()
    run(*LIVE[name]("open.ouro"), status=0, env=ENVIRONMENT)
    for which in SUBSETS:
        run(*LIVE[name]("live.ouro"), env=ENVIRONMENT, preexec_fn=closing(which))
        same(calls("live.ouro"), calls("open.ouro"), f"{which} are closed")
        os.remove("live.ouro")


for name in LIVE:
    case(live_streams, f"closed_streams_do_not_get_into_the_live_file_{name.replace(' ', '_')}", name)


@case
def a_program_finds_the_streams_as_its_caller_left_them():
    exe = program("native")
    for which in [(), *SUBSETS]:
        bits = sum(1 << fd for fd in which)
        run(OURO, "run", "-q", "-o", "out.pb", "--", exe, bits, status=0, preexec_fn=closing(which))
        has("".join(calls("out.pb")), "main;is_closed 3", about=f"{which} are closed")


@case
def output_that_cannot_be_written_is_an_error():
    inputs()
    for command in ([OURO, "report", "in.folded"], [OURO, "convert", "--to", "pprof", "in.folded", "-"],
                    [FBLE, "help"], [FBLE, "deps", "Main.fble"]):
        assert run(*command, preexec_fn=closing([1])).status != 0, command


# ---------------------------------------------------------------- links

def link_is_left(name):
    """Names that others could guess are not used: what is new is new."""
    out, command = WRITERS[name]
    inputs()
    victim = write("victim", "precious\n")
    for end in (".plain", ".new", ".tmp.pb", ".tmp", ".part"):
        os.symlink(os.path.abspath(victim), out + end)
    run(*command(out), status=0, env=ENVIRONMENT)
    same(read(victim), "precious\n")
    left = {f for f in os.listdir() if f.startswith(".ouro-")}
    same(left, set())


for name in WRITERS:
    case(link_is_left, f"a_link_beside_the_profile_is_not_followed_{name.replace(' ', '_')}", name)


main()

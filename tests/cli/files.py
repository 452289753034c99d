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
ENVIRONMENT = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "hosts/lua/5.4/?.so"),
               "PATH": BUILD + ":" + os.environ["PATH"]}
INPUT = "main;eval;apply;eval 7\nmain;read 2\n"
FBLE_TEXT = "U@ = *(); (U@) { U@; } F = (U@ u) { u; }; F(F(U@()));\n"
LUA_TEXT = """local function f(n) return n == 0 and 0 or 1 + f(n - 1) end
for i = 1, 100 do f(10) end
print(5)
io.stdout:flush()
"""
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
            run(FBLE, "compile", "--profile", "--eval", "--build-dir", f"{WORK.name}/objects",
                f"{WORK.name}/Main.fble", "-o", path, status=0, env={**os.environ, "CFLAGS": "-O0"})
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


@case
def the_note_of_a_failure_follows_no_link_and_truncates_nothing():
    victim = os.path.abspath(write("victim", "precious\n"))
    os.mkdir("folder")
    exe = program("native")
    notes = " ".join(f"folder/$$.{e}.failed" for e in range(1, 134))
    for make in ("ln -s", "ln"):
        script = (f"for n in {notes} folder/native.$$.ouro.failed; do {make} {victim} $n; done\n"
                  f"export OURO_NATIVE=$PWD/folder OURO_NATIVE_NODES=4000000000\nexec {exe}\n")
        run("sh", "-c", script, status=0)
        same(read(victim), "precious\n", make)
    lacks([f[-5:] for f in os.listdir("folder")], ".ouro", about="the profile should have failed")


# ---------------------------------------------------------------- programs with rights of their own

def give_rights(exe):
    """Makes the program setgid, to a group that is not ours: that needs no rights if we have several."""
    groups = [65534] if os.geteuid() == 0 else [g for g in os.getgroups() if g != os.getgid()]
    if not groups:
        skip("neither root nor a member of a second group")
    os.chown(exe, -1, groups[0])
    os.chmod(exe, 0o2755)
    write("asks.c", "#include <sys/auxv.h>\nint main(void) { return getauxval(AT_SECURE) == 1 ? 0 : 1; }\n")
    run("cc", "asks.c", "-o", "asks", status=0)
    os.chown("asks", -1, groups[0])
    os.chmod("asks", 0o2755)
    if run("./asks").status:
        skip("setgid has no effect in this file system")
    return exe


def native_ignores(*flags, env={}):
    write("native.c", NATIVE_TEXT)
    run(OURO, "cc", *flags, "native.c", "-o", "program", status=0, env={**os.environ, **env})
    os.mkdir("folder")
    obeying = {**os.environ, "OURO_NATIVE": os.path.abspath("folder"), "OURO_NATIVE_MEMORY": "1"}
    run("./program", status=0, env=obeying)
    same([f.split(".")[-1] for f in os.listdir("folder")], ["ouro"], "without rights")
    os.remove("folder/" + os.listdir("folder")[0])
    give_rights("program")
    run("./program", status=0, env=obeying)
    run("./program", status=0, env={**obeying, "OURO_NATIVE_NODES": "4000000000"})  # fails, and would leave a note
    same(os.listdir("folder"), [], "with rights")
    said = run(OURO, "run", "-o", "out.pb", "./program", status=0).err
    has(said, "has rights of its own")
    lacks(os.listdir("."), "out.pb")


for name, flags, env in (("gcc", [], {}), ("static", ["-static"], {}), ("clang", [], {"OURO_CC": "clang"})):
    case(lambda flags=flags, env=env: native_ignores(*flags, env=env),
         f"a_privileged_program_does_not_obey_OURO_NATIVE_{name}")


@case
def a_privileged_program_does_not_obey_FBLE_PROFILE():
    exe = write("program", open(program("compiled"), "rb").read())
    os.chmod(exe, 0o755)
    for value in ("out.pb", "--profile out.pb", "--profile-live out.ouro"):
        run("./program", status=0, env={**os.environ, "FBLE_PROFILE": value})
        assert os.path.exists(out := value.split()[-1]), value
        os.remove(out)
    give_rights("program")
    before = sorted(os.listdir())
    for value in ("out.pb", "--profile out.pb", "--profile-live out.ouro", "--nonsense"):
        run("./program", status=0, env={**os.environ, "FBLE_PROFILE": value})
        same(sorted(os.listdir()), before, value)
    for option in (["--profile", "out.pb"], ["--profile=out.pb"], ["--profile-live", "x"], ["--foreign", "./x.so"]):
        has(run("./program", *option, status=4).err, "does not obey --")
        same(sorted(os.listdir()), before, option)


@case
def a_privileged_program_records_what_it_asks_for_itself():
    exe = write("program", open(program("embedded"), "rb").read())
    give_rights(exe)
    run("./program", "out.pb", "live.ouro", status=0)
    same(calls("out.pb"), ["main 1"])
    same(calls("live.ouro"), ["main 1"])


# ---------------------------------------------------------------- ouro run and its folder

@case
def a_program_with_a_name_as_long_as_names_get_is_recorded():
    for length in (200, 250, 255):
        name = write("n" * length, open(program("native"), "rb").read())
        os.chmod(name, 0o755)
        run(OURO, "run", "-q", "-o", "out.pb", f"./{name}", status=0)
        has("".join(calls("out.pb")), "main;is_closed 3")


def privately(script):
    """Runs a script where file systems can be mounted, and nobody else sees them."""
    if run("unshare", "-m", "true").status:
        skip("may not mount file systems")
    return run("unshare", "-m", "sh", "-ec", script, status=0, env={**os.environ, "TMPDIR": os.getcwd()})


@case
def a_full_folder_is_told_before_the_program_runs():
    os.mkdir("full")
    for limit in ("size=64k", "nr_inodes=1"):
        done = privately(f"mount -t tmpfs -o {limit} tmpfs full; {OURO} run --live full -o out.pb {program('native')}"
                         " || echo status $?")
        same(done.out, "status 1\n")
        has(done.err, f"cannot make live files in {os.path.abspath('full')}: No space left on device")


@case
def a_folder_that_fills_up_is_the_reason_that_is_told():
    os.mkdir("full")
    exe = program("native")
    # Room for the file that `ouro run` tries; then the program takes the room, in bytes or in names. The scripts have
    # the word that marks instrumented programs: else they are sampled, if they run long enough for a sample.
    word = "# __cyg_profile_func_enter"
    write("fills", f"#!/bin/sh\n{word}\ncat /dev/zero > $OURO_NATIVE/zeros\nexec {exe}\n")
    write("names",
          f"#!/bin/sh\n{word}\nfor i in 1 2 3 4 5 6 7 8; do touch $OURO_NATIVE/$i 2>/dev/null; done\nexec {exe}\n")
    for limit, script in (("size=2m", "fills"), ("nr_inodes=5", "names")):
        os.chmod(script, 0o755)
        done = privately(f"mount -t tmpfs -o {limit} tmpfs full; {OURO} run --live full -o out.pb ./{script}"
                         " 2>err || echo status $?; cat err")
        has(done.out, "status 1", "not recorded" if script == "fills" else "nothing was recorded",
            f"in {os.path.abspath('full')}: No space left on device", about=script)
        lacks(done.out, "instrumented function")


@case
def what_a_killed_run_left_is_removed_by_the_next():
    write("waits.c", """#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    FILE *f = fopen("part", "w");
    fprintf(f, "%d", getpid());
    fclose(f);
    rename("part", "started");
    for (;;) pause();
}
""")
    run(OURO, "cc", "waits.c", "-o", "waits", status=0)
    exe = program("native")
    done = privately(f"""
mount -t tmpfs -o size=1g,mode=1777 tmpfs /dev/shm
{OURO} run -q ./waits & run=$!
while [ ! -e started ]; do sleep 0.05; done
kill -9 $run
wait $run || true
left=$(echo /dev/shm/ouro-run-*)
echo "left $left"
{OURO} run -o out.pb {exe} 2>err1 >/dev/null; cat err1
echo "recording $(echo /dev/shm/ouro-run-*)"
kill -9 $(cat started)
while kill -0 $(cat started) 2>/dev/null; do sleep 0.05; done
mkdir -m 0755 /dev/shm/ouro-run-aaaaaa; mkdir -m 0700 /dev/shm/ouro-run-bbbbbb /dev/shm/ouro-run-longer1 elsewhere
mkdir -m 0700 /dev/shm/ouro-run-dddddd; chown 65534 /dev/shm/ouro-run-bbbbbb
echo keep > elsewhere/keep; ln -s $PWD/elsewhere /dev/shm/ouro-run-cccccc; : > /dev/shm/ouro-run-eeeeee
{OURO} run -o out.pb {exe} 2>err2 >/dev/null; cat err2
echo "kept $(echo /dev/shm/ouro-run-*)"
cat elsewhere/keep
""").out
    left = done.split("\n")[0].removeprefix("left ")
    has(left, "/dev/shm/ouro-run-")
    before, after = done.split("\nrecording ")
    lacks(before, "removed", about="the program still records")
    same(after.split("\n")[0], left)
    has(after, f"ouro run: removed {left} (", "MB), left by a run that was killed", "\nkeep\n")
    has(after, "ouro run: removed /dev/shm/ouro-run-dddddd (0.0 MB)")
    same(after.split("\nkept ")[1].split("\n")[0],
         " ".join(f"/dev/shm/ouro-run-{n}" for n in ("aaaaaa", "bbbbbb", "cccccc", "eeeeee", "longer1")))


main()

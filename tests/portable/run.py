#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another machine against this one: tests/portable/run.py BUILD OTHER SYSROOT CPU ORDER [WORD...]

BUILD has this machine's programs, OTHER those of a machine with that CPU and order of bytes (little or big), and their
wrappers in OTHER/emulated; qemu-user runs them with the libraries of SYSROOT. tools/portable makes all of it.
"""
import os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../support", HERE + "/../cli"]
from pprof import random_profile
from suite import ROOT, arguments, case, has, main, read, run, same, skip, write

BUILD, OTHER, SYSROOT, CPU, ORDER = arguments("BUILD", "OTHER", "SYSROOT", "CPU", "ORDER")
CPU, ORDER = os.path.basename(CPU), os.path.basename(ORDER)
FORMATS = ("pprof", "folded", "speedscope", "callgrind", "html", "svg", "json")
INPUTS = os.path.join(ROOT, "tests/golden/inputs")


def here(program, *words, **more):
    return run(os.path.join(BUILD, program), *words, **more)


def there(program, *words, **more):
    return run(os.path.join(OTHER, "emulated", program), *words, **more)


def both(program, *words):
    """What a program writes to its output, which must be the same."""
    outputs = [where(program, *words, text=False) for where in (here, there)]
    same(*(tuple(o) for o in reversed(outputs)), f"{program} {' '.join(words)}")
    return outputs[0].out


def calls(file):
    """The paths of a profile with their calls; the folders in which the two were built do not count."""
    return sorted(here("ouro", "convert", "--to", "folded", "--metric", "calls", file, "-", status=0).out.splitlines())


@case
def every_format_is_read_and_written_alike():
    files = [os.path.join(INPUTS, name) for name in sorted(os.listdir(INPUTS))]
    for seed in range(3):
        files.append(write(f"{seed}.pb", random_profile(seed, seed % 2 == 0).bytes()))
        here("ouro", "convert", f"{seed}.pb", f"{seed}.pb.gz", status=0)
        files.append(f"{seed}.pb.gz")
    for file in files:
        for kind in FORMATS:
            assert both("ouro", "convert", "--to", kind, file, "-"), (file, kind)
        both("ouro", "report", "--json", file)


@case
def packed_files_of_the_other_are_read_here():
    file = os.path.join(INPUTS, "small.folded")
    there("ouro", "convert", file, "there.pb.gz", status=0)
    same(here("ouro", "convert", "--to", "folded", "there.pb.gz", "-", status=0).out,
         here("ouro", "convert", "--to", "folded", file, "-", status=0).out)


FBLE = ["-p", "std", os.path.join(ROOT, "hosts/fble/tests/std/Basics.fble")]


@case
def fble_programs_have_the_same_profile():
    for where, name in (here, "here.pb"), (there, "there.pb"):
        where("fble", "eval", "--profile", name, *FBLE, status=0)
    assert len(calls("here.pb")) > 100
    same(calls("there.pb"), calls("here.pb"))
    for metric in "recursions", "instructions":
        same(*(here("ouro", "convert", "--to", "folded", "--metric", metric, name, "-", status=0).out
               for name in ("there.pb", "here.pb")), metric)


@case
def lua_programs_have_the_same_profile():
    script = os.path.join(ROOT, "hosts/lua/examples/queens.lua")
    for where, name in (here, "here.pb"), (there, "there.pb"):
        where("ouro-lua", "--quiet", "--precise", "-o", name, script, "5", status=0)
    same(calls("there.pb"), calls("here.pb"))


@case
def a_live_file_is_read_where_the_byte_order_is_the_same_and_else_refused():
    here("fble", "eval", "--profile-live", "here.ouro", *FBLE, status=0)
    there("fble", "eval", "--profile-live", "there.ouro", *FBLE, status=0)
    own = here("ouro", "convert", "--to", "folded", "--metric", "calls", "here.ouro", "-", status=0).out
    same(there("ouro", "convert", "--to", "folded", "--metric", "calls", "there.ouro", "-", status=0).out, own)
    for where, file in (here, "there.ouro"), (there, "here.ouro"):
        if (ORDER == "little") == (sys.byteorder == "little"):
            same(where("ouro", "convert", "--to", "folded", "--metric", "calls", file, "-", status=0).out, own)
        else:
            same(where("ouro", "report", file),
                 (1, "", f"ouro: {file}: byte 12: written on a machine with the other byte order; read it there\n"))


@case
def c_programs_are_recorded_and_their_names_found_here():
    if ORDER != sys.byteorder:
        skip("the live file cannot be read here")
    triple = CPU + "-linux-gnu"
    write("program.c", """#define KEPT(n) __asm__ volatile("" : "+r"(n))
__attribute__((noinline)) static int twice(int n) { KEPT(n); return 2 * n; }
__attribute__((noinline)) int visible(int n) { n = twice(n) + twice(1); KEPT(n); return n; }
int main(void) { return visible(20) != 42; }
""")
    compiler = [f"{triple}-gcc", f"--sysroot={SYSROOT}"]
    run(*compiler, "-g", "-O1", "-finstrument-functions", "program.c", os.path.join(OTHER, "libouro-native.a"),
        "-pthread", "-o", "program", status=0)
    os.mkdir("live")
    run(f"qemu-{CPU}", "-L", SYSROOT, "./program", status=0, env={**os.environ, "OURO_NATIVE": os.path.abspath("live")})
    here("ouro", "run", "--symbolise", "-q", *(f"live/{name}" for name in os.listdir("live")), "-o", "out.pb", status=0)
    same(calls("out.pb"), ["main 1", "main;visible 1", "main;visible;twice 2"])
    has(here("ouro", "report", "--metric", "calls", "out.pb", status=0).out, "program.c:2")


main()

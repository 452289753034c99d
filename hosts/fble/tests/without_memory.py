# SPDX-License-Identifier: MIT
"""Functions that take memory until there is none, each in another way, and where they must say so."""
import re, resource

from suite import same, write

LIMIT = 48 << 20
TAKES = """U@ = *(); N@ = +(*(N@ a, N@ b) s, U@ z); F@ = (N@) { N@; }; N@ z = N@(z: U@()); Id = (N@ n) { n; };
(N@) { N@; } Deep = (N@ n) { N@ m = Deep(n); m.?(z: n); m; };
(N@) { N@; } Struct = (N@ n) { Struct(
  N@(s: @(a: n, b: z))); };
(N@) { N@; } Branch = (N@ n) { n.?(s: Branch(N@(s: @(a: z, b: n))), z: Branch(
    N@(s: @(a: n, b: n)))); };
(F@) { N@; } Closure = (F@ f) { Closure(
  (N@ n) { f(n); }); };
Pass = (F@ f, N@ n) { f(n); };
(F@) { N@; } Partial = (F@ f) { Partial(
  Pass(f)); };
(F@) { N@; } Let = (F@ f) { F@ h = { F@ g = h;
  (N@ n) { n.?(s: f(n), z: g(n)); }; }; Let(h); };
(N@) { N@; } Both = (N@ n) {
  N@(s: @(a: n, b: Both(N@(s: @(a: n, b: n))))); };
@(Deep, Struct, Branch, Closure, Partial, Let, Both, z, Id);
"""
# What each is called with, and the places at which it may run out: of stack, of room for an object.
FUNCTIONS = {"Deep": ("z", ["2:37"]), "Struct": ("z", ["4:3"]), "Branch": ("z", ["5:46"]), "Closure": ("Id", ["8:3"]),
             "Partial": ("Id", ["11:3"]), "Let": ("Id", ["12:29"]), "Both": ("z", ["15:20", "15:25"])}


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def write_modules():
    """A module of the functions, and one for each that calls it. Gives their names."""
    write("Takes.fble", TAKES)
    for name, (given, _) in FUNCTIONS.items():
        write(f"{name}.fble", f"m = /Takes%; m.{name}(m.{given});\n")
    return list(FUNCTIONS)


def says_so(name, done, calls):
    """The run of a module has failed at the right place, and its profile has the calls of the function."""
    same((done.status, done.out), (5, ""), name)
    place, block = re.match(r"Takes\.fble:(\d+:\d+): error: out of memory, in (.*)\n", done.err).groups()
    same((block, place in FUNCTIONS[name][1]), (f"/Takes%.{name}", True), done.err[:200])
    lines = done.err.splitlines()  # the error, and 30 of the callers: of a loop of tail calls there is none
    same(len(lines), 32 if name in ("Deep", "Both") else 1, done.err[:2000])
    found = sum(n for path, n in calls.items() if path.endswith(block))
    assert found > 50_000, (name, calls)

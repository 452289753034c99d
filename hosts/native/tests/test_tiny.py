#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny functions are found by their code: beside objdump's decoding of programs that are there. test_tiny.py BUILD

The C library has code for processors of all kinds; `ouro` has small functions of all kinds.
"""
import os, platform, random, re, subprocess
from native import BUILD, HERE
from suite import case, main, run, same, skip, write

HOST = os.path.dirname(HERE)
UNKNOWN, PLAIN, END, JUMP, BRANCH, CALL = range(6)
STEPS_MOST = 62
CALLED = r"(?:rex\.W |addr32 |bnd )*call +([0-9a-f]+)"
# What a tiny function does not have, and what no compiler writes.
NOT_TINY = re.compile(r"call +\*|notrack|bnd|jmp +\*|rep|repz|repnz|data16|syscall|hlt|jrcxz|jecxz|loop|xend|xtest"
                      r"|xabort|xbegin|rdpkru|wrpkru|rdpmc|in |out |int|\(bad\)")


def reader(*options):
    if platform.machine() != "x86_64":
        skip("it decodes the code of x86-64")
    run("cc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", HOST,
        f"{HERE}/programs/tiny.c", f"{HOST}/instruction.c", f"{HOST}/tiny_code.c", "-o", "tiny", status=0)

    def ask(lines):
        done = subprocess.run(["./tiny", *options], input="".join(line + "\n" for line in lines), text=True,
                              capture_output=True, check=True)
        return [[int(n) for n in line.split()] for line in done.stdout.splitlines()]
    return ask


def disassembled(path):
    """(address, bytes, text) of each instruction."""
    for line in run("objdump", "-d", "--insn-width=16", path, status=0).out.splitlines():
        m = re.match(r" +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)", line)
        if m:
            yield int(m[1], 16), m[2].replace(" ", ""), m[3]


def libc():
    return run("cc", "-print-file-name=libc.so.6", status=0).out.strip()


def lengths_are_those_of_objdump(path):
    codes = {code: text for _, code, text in disassembled(path) if "(bad)" not in text}
    assert len(codes) > 10000, len(codes)
    unknown = []
    # Zeros behind it: a length that is too long would be one.
    for (code, text), (kind, size, _) in zip(codes.items(), reader()(code + "00" * 8 for code in codes)):
        if kind != UNKNOWN:
            same(size, len(code) // 2, f"{code} {text}")
        elif not NOT_TINY.match(text):
            unknown.append(text)
        if re.match(r"ret|ud2", text):
            assert kind in (END, UNKNOWN), text
        elif re.match(r"j[a-z]+ +[0-9a-f]", text) and not NOT_TINY.match(text):
            same(kind, JUMP if text.startswith("jmp") else BRANCH, text)
        same(kind == CALL, re.match(CALLED, text) is not None, text)
    assert len(unknown) < len(codes) / 100, unknown[:20]


for name, path in ("the_c_library", libc), ("ouro", lambda: os.path.join(BUILD, "ouro")):
    case(lambda path=path: lengths_are_those_of_objdump(path()),
         f"lengths_of_instructions_of_{name}_are_those_of_objdump")


def longest(edges, at, known):
    """The most instructions from here to an end; None: a loop. Of a small graph, so recursion is deep enough."""
    if at not in known:
        known[at] = None  # until it is known
        ways = [longest(edges, to, known) for to in edges[at][0]]
        if None in ways:
            return None
        known[at] = edges[at][1] + max(ways, default=0)
    return known[at]


def steps(functions, start, may_call=True):
    """By the text of objdump: the longest way, callees included; None: a call of others, a way out, a loop."""
    if start not in functions:
        return None
    body, end = functions[start]
    if body[0][1] == "55" and body[1][1] == "4889e5":
        return None  # not optimised
    edges = {}
    for (at, _, text), (after, _, _) in zip(body, body[1:] + [(end, "", "")]):
        jump, call = re.match(r"(j[a-z]+) +([0-9a-f]+)", text), re.match(CALLED, text)
        to = ([] if re.match(r"ret|ud2", text) else [int(jump[2], 16)] if jump and jump[1] == "jmp" else
              [int(jump[2], 16), after] if jump else [after])
        inner = (steps(functions, int(call[1], 16), False) if may_call else None) if call else 0
        edges[at] = None if NOT_TINY.match(text) or inner is None else (to, 1 + inner)
    seen, left = set(), [start]
    while left:
        at = left.pop()
        if edges.get(at) is None:
            return None
        if at not in seen:
            seen.add(at)
            left += edges[at][0]
    return longest(edges, start, {})


def functions_are_tiny_that_objdump_shows_to_be(path):
    symbols = run("nm", "--defined-only", path, status=0).out.splitlines()
    starts = sorted({int(s.split()[0], 16) for s in symbols if s.split()[1] in "tT"})
    code = {at: (at, text, words) for at, text, words in disassembled(path)}
    ordered, functions, here = sorted(code), {}, 0
    for start, end in zip(starts, starts[1:]):
        while here < len(ordered) and ordered[here] < start:
            here += 1
        body = [code[at] for at in ordered[here:here + 200] if at < end]
        if body and body[0][0] == start and 8 <= end - start <= 175 and body[-1][0] + len(body[-1][1]) // 2 == end:
            functions[start] = (body, end)
    assert len(functions) > 300, len(functions)
    got = reader("tiny")(f"{start:x} " + "".join(c for _, c, _ in body) for start, (body, _) in functions.items())
    wanted = {start: steps(functions, start) for start in functions}
    wrong = [(hex(start), one, wanted[start]) for start, (one,) in zip(functions, got)
             if one != (wanted[start] is not None and wanted[start] <= STEPS_MOST)]
    same(wrong, [])
    assert 20 < sum(one for (one,) in got) < len(functions) - 20, "both kinds"
    return sum(one for start, (one,) in zip(functions, got) if steps(functions, start, False) is None)


@case
def functions_of_ouro_are_tiny_that_objdump_shows_to_be():
    functions_are_tiny_that_objdump_shows_to_be(os.path.join(BUILD, "ouro"))


def callers(rng):
    """C functions that call those before them, with branches and loops here and there."""
    for i in range(600):
        lines = []
        for _ in range(rng.randrange(1, 6)):
            callee = rng.randrange(max(0, i - 30), i) if i and rng.random() < 0.5 else None
            line = f"n ^= f{callee}(n);" if callee is not None else "n = n * 3 + a[n & 7];"
            lines.append(rng.choice(["%s", "%s", "if (n > 5) { %s }", "if (n & 1) { %s } else n += 2;"]) % line)
        if rng.random() < 0.1:
            lines.append("while (n > 1000) n /= a[0];")
        yield "__attribute__((noinline)) int f%d(int n) { %s return n; }" % (i, " ".join(lines))


@case
def functions_that_call_are_tiny_that_objdump_shows_to_be():
    seed = int(os.environ.get("OURO_SEED", random.randrange(1 << 32)))
    print(f"# OURO_SEED={seed}", flush=True)
    write("callers.c", "\n".join(["extern volatile int a[8]; volatile int a[8];", *callers(random.Random(seed)),
                                  "int main(void) { return f599(1); }"]))
    for compiler, level in ("gcc", "-O1"), ("gcc", "-O2"), ("clang", "-O2"):
        run(compiler, level, "callers.c", "-o", "callers", status=0)
        assert functions_are_tiny_that_objdump_shows_to_be("callers") > 10, "some of them call others"


main()

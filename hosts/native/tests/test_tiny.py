#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny functions are found by their code: beside objdump's decoding of programs that are there. test_tiny.py BUILD

The C library has code for processors of all kinds; `ouro` has small functions of all kinds.
"""
import os, platform, re, subprocess
from native import BUILD, HERE
from suite import case, main, run, same, skip

HOST = os.path.dirname(HERE)
UNKNOWN, PLAIN, END, JUMP, BRANCH = range(5)
# What a tiny function does not have, and what no compiler writes.
NOT_TINY = re.compile(r"call|notrack|bnd|jmp +\*|rep|repz|repnz|data16|syscall|hlt|jrcxz|jecxz|loop|xend|xtest|xabort"
                      r"|xbegin|rdpkru|wrpkru|rdpmc|in |out |int|\(bad\)")


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
    assert len(unknown) < len(codes) / 100, unknown[:20]


for name, path in ("the_c_library", libc), ("ouro", lambda: os.path.join(BUILD, "ouro")):
    case(lambda path=path: lengths_are_those_of_objdump(path()),
         f"lengths_of_instructions_of_{name}_are_those_of_objdump")


def has_loop(edges, at, state):
    """Of a small graph, so recursion is deep enough."""
    state[at] = "open"
    for to in edges[at]:
        if state.get(to) == "open" or (to not in state and has_loop(edges, to, state)):
            return True
    state[at] = "done"
    return False


def is_tiny(function, end):
    """By the text of objdump: no call, no way out, no loop on a way from its beginning."""
    edges, known = {}, {}
    for (at, _, text), (after, _, _) in zip(function, function[1:] + [(end, "", "")]):
        jump = re.match(r"(j[a-z]+) +([0-9a-f]+)", text)
        known[at] = not NOT_TINY.match(text)
        edges[at] = ([] if re.match(r"ret|ud2", text) else [int(jump[2], 16)] if jump and jump[1] == "jmp" else
                     [int(jump[2], 16), after] if jump else [after])
    seen, left = set(), [function[0][0]]
    while left:
        at = left.pop()
        if at not in edges or not known[at]:
            return False
        if at not in seen:
            seen.add(at)
            left += edges[at]
    return not has_loop(edges, function[0][0], {})


@case
def functions_are_tiny_that_objdump_shows_to_be():
    path = os.path.join(BUILD, "ouro")
    symbols = run("nm", "--defined-only", path, status=0).out.splitlines()
    starts = sorted({int(s.split()[0], 16) for s in symbols if s.split()[1] in "tT"})
    code = {at: (at, text, words) for at, text, words in disassembled(path)}
    ordered, functions, here = sorted(code), [], 0
    for start, end in zip(starts, starts[1:]):
        while here < len(ordered) and ordered[here] < start:
            here += 1
        body = [code[at] for at in ordered[here:here + 200] if at < end]
        if body and body[0][0] == start and 8 <= end - start <= 175 and body[-1][0] + len(body[-1][1]) // 2 == end:
            functions.append((body, end))
    assert len(functions) > 300, len(functions)
    got = reader("tiny")(["".join(c for _, c, _ in body) for body, _ in functions])
    wrong = [(body[0][0], one) for (body, end), (one,) in zip(functions, got)
             if one != (is_tiny(body, end) and not "".join(c for _, c, _ in body).startswith("554889e5"))]
    same([(hex(at), one) for at, one in wrong], [])
    assert 20 < sum(one for (one,) in got) < len(functions) - 20, "both kinds"


main()

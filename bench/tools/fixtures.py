#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the profiles that the benchmarks read: bench/tools/fixtures.py OURO FOLDER

wide.pb: 200,000 paths of 20,000 blocks, mean depth 11. deep.pb: 400,000 paths, mean depth 118. The same bytes every
time. Existing files are kept.
"""
import os, random, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/cli"))
from pprof import msg, num, varint  # the encoder of the tests, which shares no code with ours


def walk(rnd, blocks, deepest, stop):
    """Stacks, root first, that share most of their path with the one before, as those of programs do."""
    stack = [0]
    while True:
        del stack[max(1, len(stack) - rnd.randrange(12)):]
        while len(stack) < deepest and (len(stack) == 1 or rnd.random() > stop):
            stack.append((stack[-1] * 7919 + rnd.randrange(12) * 104729 + 1) % blocks)
        yield tuple(stack)


def make(path, blocks, paths, deepest, stop, seed=1):
    rnd, ids = random.Random(seed), [varint(b + 1) for b in range(blocks)]
    strings = ["", "calls", "count", "time", "nanoseconds", "program"]
    body = bytearray(msg(1, num(1, 1) + num(2, 2)) + msg(1, num(1, 3) + num(2, 4)))
    seen = set()
    for stack in walk(rnd, blocks, deepest, stop):
        if stack in seen:
            continue
        seen.add(stack)
        values = varint(rnd.randrange(1, 100)) + varint(rnd.randrange(1, 10**6))
        body += msg(2, msg(1, b"".join(ids[b] for b in reversed(stack))) + msg(2, values))
        if len(seen) == paths:
            break
    body += msg(3, num(1, 1) + num(5, 5) + num(7, 1) + num(8, 1) + num(9, 1))
    for b in range(blocks):
        body += msg(4, num(1, b + 1) + num(2, 1) + msg(4, num(1, b + 1) + num(2, 10 + b % 500)))
    for b in range(blocks):
        strings += [f"fn_{b}", f"src/file{b % 200}.c"]
        body += msg(5, num(1, b + 1) + num(2, len(strings) - 2) + num(4, len(strings) - 1) +
                    num(5, 10 + b % 500))
    for text in strings:
        body += msg(6, text.encode())
    with open(path, "wb") as f:
        f.write(body)


def perf_text(folded, path):
    """The stacks of a folded file as perf script prints them."""
    with open(folded) as lines, open(path, "w") as out:
        for n, line in enumerate(lines):
            stack = line.rpartition(" ")[0].split(";")
            out.write("my prog  4711/4712 [001]  %d.%06d:     250000 cycles:u: \n" % (n // 1000, n % 1000))
            for name in reversed(stack):
                at = sum(map(ord, name)) * 40503 + len(name)
                out.write("\t    %12x %s+0x%x (/usr/lib/libsomething.so.6)\n" % (0x7f0000000000 + at, name, at & 255))
            out.write("\n")


def large(deep, path, size):
    """deep.pb with its samples again and again, up to `size` bytes: concatenated messages are one message."""
    data = open(deep, "rb").read()
    first = 12  # behind the two sample types
    end = data.rindex(msg(3, num(1, 1) + num(5, 5) + num(7, 1) + num(8, 1) + num(9, 1)))
    with open(path, "wb") as f:
        f.write(data[:first])
        while f.tell() + len(data) - end < size:
            f.write(data[first:end])
        f.write(data[end:])


def fixtures(ouro, folder):
    at = lambda name: os.path.join(folder, name)
    for name, arguments in (("wide.pb", (20000, 200000, 80, 0.25)), ("deep.pb", (20000, 400000, 120, 0.05)),
                            ("small.pb", (4000, 28000, 80, 0.25))):
        if not os.path.exists(at(name)):
            make(at(name), *arguments)
    for pb, out in ("wide.pb", "wide.folded"), ("deep.pb", "deep.folded"):
        subprocess.run([ouro, "convert", at(pb), at(out)], check=True)
    perf_text(at("wide.folded"), at("wide.perf"))
    large(at("deep.pb"), at("large.pb"), 2 << 30)
    with open(at("long.folded"), "w") as f:
        f.write(";".join(f"f{i}" for i in range(1000000)) + " 1\n")


if __name__ == "__main__":
    fixtures(sys.argv[1], sys.argv[2])

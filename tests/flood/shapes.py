# SPDX-License-Identifier: MIT
"""Trees of hostile shapes, and files of every format that say them.

A tree is a list of nodes (parent, name, value), parents before children; the parent of the first level is -1.
"""
import json, os, random, struct, subprocess, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
from pprof import msg, num, varint  # an encoder that shares no code with ours


# ---------------------------------------------------------------- trees

def chain(names, value=0):
    """One path; only its end is charged if `value` is 0."""
    return [(i - 1, name, value or int(i == len(names) - 1)) for i, name in enumerate(names)]


def deep(n):
    return chain([f"f{i}" for i in range(n)])


def recursive(n):
    """Two blocks that call each other, then another, again and again: much to compact."""
    return chain([("eval", "apply", f"f{i % 7}")[i % 3] for i in range(n)])


def lookback(n):
    """The same block again and again, each time below another one."""
    return chain([f"f{i}" if i % 2 else "a" for i in range(n)])


def star(n):
    return [(-1, "main", 1)] + [(0, f"f{i}", 1) for i in range(n)]


def bush(n):
    """Each node has two children: as many levels as n has bits, all of few blocks."""
    return [(-1, "main", 1)] + [((i - 1) // 2, f"f{i % 31}", 1 + i % 5) for i in range(1, n)]


def one_name(n):
    return [(-1, "main", 1), (0, "x" * (16 * n), 1)]


def long_names(n):
    """Names that differ in their last letters only."""
    return [(-1, "main", 1)] + [(0, "a_common_beginning_" * 4 + str(i), 1) for i in range(n // 4)]


def ladder(n, depth=40):
    """Two chains whose ends get children in turns."""
    tree, ends = [(-1, "main", 1)], []
    for side in "ab":
        above = 0
        for i in range(depth):
            tree.append((above, f"{side}{i}", 0))
            above = len(tree) - 1
        ends.append(above)
    return tree + [(ends[i % 2], f"x{i}", 1) for i in range(n)]


def long_ladder(n):
    return ladder(n // 2, n // 4)


def valued_chain(n):
    return chain([f"f{i}" for i in range(n)], value=1)


def odd_bytes(n):
    """Names that look alike when they are shown: they differ in bytes that are no characters."""
    return [(-1, "main", 1)] + [(0, b"f" + bytes([128 + i // 64 % 64, 128 + i % 64]) + b"%d" % (i // 4096), 1)
                                for i in range(n)]


def colliding_names(n, seed=1):
    """16 bytes each, with equal hashes under the function that was used before names were hashed with a key."""
    mask, factor, rnd, names = (1 << 64) - 1, 0x9FB21C651E98DF25, random.Random(seed), []
    while len(names) < n:
        word = rnd.getrandbits(64)
        state = ((16 * 0x9E3779B97F4A7C15 ^ word) * factor) & mask
        name = struct.pack("<QQ", word, state ^ state >> 35 ^ 0x4142434445464748)
        if not any(byte <= 32 or byte in b";\\#" for byte in name):
            names.append(name)
    return names


# ---------------------------------------------------------------- files

def paths(tree):
    """The path of each node that is charged, root first, with its value."""
    for node, (_, _, value) in enumerate(tree):
        path, at = [], node
        while value and at >= 0:
            path.append(tree[at][1])
            at = tree[at][0]
        if value:
            yield path[::-1], value


def text(name):
    return name if isinstance(name, bytes) else name.encode()


def folded(tree):
    return b"".join(b";".join(map(text, path)) + b" %d\n" % value for path, value in paths(tree))


def perf(tree):
    out = []
    for i, (path, _) in enumerate(paths(tree)):
        out.append(b"program 1/1 [000] %d.%06d: 1000 cycles:\n" % (i, i))
        out += [b"\t%x %s+0x1 (/usr/bin/program)\n" % (4096 + len(name), text(name)) for name in reversed(path)]
        out.append(b"\n")
    return b"".join(out)


def numbered(tree):
    blocks = {}
    for _, name, _ in tree:
        blocks.setdefault(name, len(blocks))
    return blocks


def pprof(tree, ids=lambda i: i + 1, types=1, file=b""):
    """ids: the id of function and location number i."""
    blocks = numbered(tree)
    out = [msg(1, num(1, 1) + num(2, 2)) * types]
    for path, value in paths(tree):
        stack = b"".join(varint(ids(blocks[name])) for name in reversed(path))
        out.append(msg(2, msg(1, stack) + msg(2, varint(value) * types)))
    for name, i in blocks.items():
        out.append(msg(4, num(1, ids(i)) + msg(4, num(1, ids(i)) + num(2, 1))))
        out.append(msg(5, num(1, ids(i)) + num(2, i + 4) + num(4, 3)))
    return b"".join(out + [msg(6, s) for s in (b"", b"samples", b"count", file, *map(text, blocks))])


def speedscope(tree):
    blocks = numbered(tree)
    stacks = [([blocks[name] for name in path], value) for path, value in paths(tree)]
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                       "shared": {"frames": [{"name": name} for name in blocks]},
                       "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1,
                                     "samples": [s for s, _ in stacks], "weights": [v for _, v in stacks]}]}).encode()


def preorder(tree):
    """(depth, node), children in the order of the list; None as a node when one is left."""
    children = [[] for _ in range(len(tree) + 1)]
    for node, (parent, _, _) in enumerate(tree):
        children[parent].append(node)
    stack = [(0, node) for node in reversed(children[-1])]
    while stack:
        depth, node = stack.pop()
        yield depth, node
        stack += [(depth + 1, child) for child in reversed(children[node])]


def evented(tree):
    blocks, events, open_frames, time = numbered(tree), [], [], 0

    def close(depth):
        while len(open_frames) > depth:
            events.append({"type": "C", "frame": open_frames.pop(), "at": time})
    for depth, node in preorder(tree):
        close(depth)
        open_frames.append(blocks[tree[node][1]])
        events.append({"type": "O", "frame": open_frames[-1], "at": time})
        time += tree[node][2]
    close(0)
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                       "shared": {"frames": [{"name": name} for name in blocks]},
                       "profiles": [{"type": "evented", "name": "x", "unit": "none", "startValue": 0, "endValue": time,
                                     "events": events}]}).encode()


def cpuprofile(tree, ids=lambda i: i + 1, nested=False):
    nodes = [{"id": ids(0), "callFrame": {"functionName": "(root)"}, "hitCount": 0}]
    for node, (parent, name, value) in enumerate(tree):
        nodes.append({"id": ids(node + 1), "callFrame": {"functionName": name}, "hitCount": value,
                      "parent": ids(parent + 1)})
    return json.dumps({"nodes": nodes, "startTime": 0, "endTime": 1}).encode()


def live(tree, program, path):
    """Through the recorder itself."""
    blocks = numbered(tree)
    lines = [str(len(blocks)), *blocks]
    lines += [f"{depth} {blocks[tree[node][1]]} {tree[node][2]}" for depth, node in preorder(tree)]
    subprocess.run([program, path], input="\n".join(lines).encode(), check=True)

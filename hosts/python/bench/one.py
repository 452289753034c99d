# SPDX-License-Identifier: MIT
"""One program under one recorder: one.py MODE PROGRAM SIZE. MODE is none, floor, precise, sampling, cprofile or
yappi."""
import io, json, sys, time, tokenize


def fib(n):
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)
    f(n)


class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def count(self):
        return 1 + (self.left.count() + self.right.count() if self.left else 0)


def trees(depth):
    def make(d):
        return Node(make(d - 1), make(d - 1)) if d else Node(None, None)
    for _ in range(3):
        make(depth).count()


def tokens(n):
    list(tokenize.generate_tokens(io.StringIO("def f(a, b=[1, 2]): return a + b[0] * 'x'\n" * n).readline))


def dumps(n):
    value = {"a": [1, 2.5, None, True, {"b": "text", "c": [[], {}]}]}
    for _ in range(n):
        json.dumps(value, indent=1)


def generators(n):
    def numbers(k):
        yield k
        if k:
            yield from numbers(k - 1)
    for _ in range(n):
        for _ in numbers(6):
            pass


def methods(n):
    for i in range(n):
        x = []
        x.append(i)
        x.append(len(x))
        x.pop()
        "a,b".split(",")


def deep(depth):
    """A recursion that stays deep for a second of processor time."""
    sys.setrecursionlimit(10**6)

    def down(n):
        if n:
            return down(n - 1)
        for _ in range(5 * 10**7):
            pass
    down(depth)


def recorder(mode):
    """(start, stop)"""
    if mode == "floor":
        import floor
        return floor.start, floor.stop
    if mode in ("precise", "sampling"):
        import ouro
        return lambda: ouro.start(precise=mode == "precise"), ouro.stop
    if mode == "cprofile":
        import cProfile
        profile = cProfile.Profile()
        return profile.enable, profile.disable
    if mode == "yappi":
        import yappi
        return lambda: yappi.start(builtins=True), yappi.stop
    return (lambda: None), (lambda: None)


if __name__ == "__main__":
    mode, program, size = sys.argv[1:]
    program, size = globals()[program], int(size)
    start, stop = recorder(mode)
    program(1 if program is not deep else 10)
    start()
    began = time.process_time()
    program(size)
    ended = time.process_time()
    stop()
    print(ended - began)

# SPDX-License-Identifier: MIT
"""Makes small pprof files for the tests, by hand: an encoder that shares no code with ours."""
import random


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, value):
    return varint(field << 3) + varint(value)


def msg(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


class Profile:
    def __init__(self, types=(("samples", "count"),)):
        self.strings = {"": 0}
        self.types, self.functions, self.samples = types, {}, []
        self.extra = b""

    def s(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def function(self, name):
        return self.functions.setdefault(name, len(self.functions) + 1)

    def add(self, path, values, labels=()):
        """A path, root first, of names; a name may be a tuple: inlined, the outermost first."""
        self.samples.append((path, values, labels))

    def bytes(self):
        body, locations = bytearray(), {}
        for name, unit in self.types:
            body += msg(1, num(1, self.s(name)) + num(2, self.s(unit)))
        for path, values, labels in self.samples:
            ids = b"".join(varint(locations.setdefault(f, len(locations) + 1)) for f in reversed(path))
            sample = msg(1, ids) + msg(2, b"".join(map(varint, values)))
            for key, value in labels:
                sample += msg(3, num(1, self.s(key)) + num(2, self.s(value)))
            body += msg(2, sample)
        body += msg(3, num(1, 1) + num(2, 0x400000) + num(3, 0x800000) + num(5, self.s("/bin/program")) +
                    num(6, self.s("abcdef")) + num(7, 1) + num(8, 1) + num(9, 1))
        for frame, id in locations.items():
            lines = b""
            for name in reversed(frame if isinstance(frame, tuple) else (frame,)):
                lines += msg(4, num(1, self.function(name)) + num(2, 7))
            body += msg(4, num(1, id) + num(2, 1) + num(3, 0x400000 + id * 16) + lines)
        for name, id in self.functions.items():
            body += msg(5, num(1, id) + num(2, self.s(name)) + num(4, self.s(f"{name}.c")) + num(5, 3))
        for text in self.strings:
            body += msg(6, text.encode(errors="surrogateescape"))
        return bytes(body) + self.extra


def random_profile(seed, recursive, types=(("samples", "count"), ("bytes", "count"))):
    rnd, p = random.Random(seed), Profile(types)
    for _ in range(300):
        names = [f"f{i}" for i in range(40)]
        rnd.shuffle(names)
        path = names[:rnd.randrange(1, 12)]
        if recursive and rnd.random() < 0.5:
            path = path[:3] * rnd.randrange(1, 4) + path
        p.add(["main"] + path, [rnd.randrange(1, 1000) for _ in types])
    return p

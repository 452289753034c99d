# SPDX-License-Identifier: MIT
"""Programs that call, recurse, yield, await, raise and run threads at random; their counts do not depend on time."""
import random

HEAD = '''
import threading

class Stop(Exception):
    pass

class Tick:
    def __await__(self):
        yield

def drive(coroutines):
    """A scheduler: steps each coroutine in turn until all have ended."""
    waiting = list(coroutines)
    while waiting:
        left = []
        for each in waiting:
            try:
                each.send(None)
                left.append(each)
            except StopIteration:
                pass
            except Stop:
                pass
        waiting = left

class Guard:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return False
'''


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = self.random.randint(4, 9)
        self.kinds = [self.random.choice(["plain", "plain", "generator", "coroutine", "async"]) for _ in
                      range(self.count)]

    def use(self, i, depth, inside):
        """A statement that runs function i from inside a function of a kind."""
        kind, call = self.kinds[i], f"f{i}({depth})"
        if kind == "plain":
            return self.random.choice([f"{call}", f"[{call} for _ in range(2)]", f"list(map(f{i}, [{depth}]))",
                                       f"sorted([2, 1], key=lambda x: ({call}, x)[1])"])
        if kind == "generator":
            choices = [f"for x in {call}: str(x)", f"next({call}, None)", f"list({call})", f"cut({call})",
                       f"hurt({call})"]
            if inside == "generator":
                choices += [f"yield from {call}"] * 3
            return self.random.choice(choices)
        if kind == "coroutine":
            if inside in ("coroutine", "async"):
                return f"await {call}"
            return f"drive([{call}, {call}])"
        if inside in ("coroutine", "async"):
            return f"async for x in {call}: len([x])"
        return f"drive([through({call})])"

    def statement(self, inside):
        r = self.random.random()
        target = self.random.randrange(self.count)
        use = self.use(target, "n - 1", inside)
        if r < 0.12:
            return ["if n % 3 == 1: raise Stop(n)"]
        if r < 0.35:
            return ["try:", "    " + use, "except Stop:", "    str(n)"]
        if r < 0.45:
            return ["try:", "    " + use, "finally:", "    len('x')"]
        if r < 0.55:
            return ["with Guard():", "    " + use]
        if r < 0.65 and inside in ("generator", "async"):
            return ["yield n"]
        if r < 0.7 and inside in ("coroutine", "async"):
            return ["await Tick()"]
        return [use]

    def function(self, i):
        kind = self.kinds[i]
        head = "async def" if kind in ("coroutine", "async") else "def"
        lines = [f"{head} f{i}(n):", "    if n <= 0:"]
        lines += ["        yield n", "        return"] if kind in ("generator", "async") else ["        return n"]
        for _ in range(self.random.randint(1, 3)):
            lines += ["    " + line for line in self.statement(kind)]
        if kind in ("generator", "async"):
            lines.append("    yield n")
        return lines

    def text(self):
        lines = [HEAD, "def cut(generator):", "    for x in generator:", "        break", "    generator.close()",
                 "def hurt(generator):", "    try:", "        next(generator)", "        generator.throw(Stop(1))",
                 "    except (Stop, StopIteration):", "        pass",
                 "async def through(generator):", "    async for x in generator:", "        await Tick()"]
        for i in range(self.count):
            lines += self.function(i)
        lines += ["def body(n):"]
        for i in range(self.count):
            lines += ["    try:", "        " + self.use(i, "n", "plain"), "    except Stop:", "        pass"]
        lines += ["body(3)"]
        for _ in range(self.random.randint(0, 2)):
            lines += ["thread = threading.Thread(target=body, args=(2,))", "thread.start()", "thread.join()"]
        return "\n".join(lines) + "\n"

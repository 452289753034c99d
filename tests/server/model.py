# SPDX-License-Identifier: MIT
"""Every answer of the viewer, computed the slow and obvious way from a list of paths."""
import collections


def steps_before(path, n):
    """Distinct steps of the first n blocks; the step from the root is one."""
    return len({(path[i - 1] if i else None, path[i]) for i in range(n)})


def loops(stack):
    """The design's sentence: a step may be repeated only after something new."""
    path, visited = [], set()
    for x in stack:
        target = None
        if path and path[-1] == x:
            target = len(path)
        elif path:
            distinct, q = steps_before(path, len(path)), len(path)
            while q > 1 and steps_before(path, q - 1) == distinct:
                q -= 1
            for end in range(len(path), q - 1, -1):
                if end >= 2 and path[end - 2] == path[-1] and path[end - 1] == x:
                    target = end
                    break
        path = path[:target] if target else path + [x]
        visited.add(tuple(path))
    return tuple(path), visited


class Model:
    """paths: {path: value}, root first, of one metric; compacted by `loops` where a block was folded."""

    def __init__(self, paths, select=(), exclude=(), fold=()):
        self.total = sum(paths.values())
        self.whole = list(paths)  # recursion of a block is that of all stacks, whatever the filters leave
        self.paths = collections.Counter()
        self.passed = set()  # positions that compaction went through; some of them are charged nothing
        for path, value in paths.items():
            if not set(select) <= set(path) or set(exclude) & set(path):
                continue
            if fold:
                path, passed = loops([b for b in path if b not in fold])
                self.passed |= passed
                path = path or ("(folded)",)
            self.paths[tuple(path)] += value
        self.left = sum(self.paths.values())

    def blocks(self):
        """name -> (self, overall)"""
        self_, overall = collections.Counter(), collections.Counter()
        for path, value in self.paths.items():
            self_[path[-1]] += value
            for b in set(path):
                overall[b] += value
        return {b: (self_[b], overall[b]) for b in set(overall) | {p[-1] for p in self.passed}}

    def nodes(self, passed=False):
        """path -> (self, overall), for every prefix of a path; those that were only passed if asked for"""
        overall = collections.Counter(dict.fromkeys(self.passed, 0) if passed else {})
        for path, value in self.paths.items():
            for n in range(1, len(path) + 1):
                overall[path[:n]] += value
        return {p: (self.paths.get(p, 0), v) for p, v in overall.items()}

    def children(self, at=()):
        return {p[-1]: v for p, v in self.nodes(passed=True).items() if p[:-1] == tuple(at)}

    def around(self, sequence):
        """self, overall, {caller: overall}, {callee: overall}, recursive"""
        sequence, n = tuple(sequence), len(sequence)
        self_ = overall = 0
        callers, callees = collections.Counter(), collections.Counter()
        recursive = n == 1 and any(path.count(sequence[0]) > 1 for path in self.whole)
        for path, value in [*self.paths.items(), *((p, 0) for p in self.passed)]:
            ends = [i + n for i in range(len(path) - n + 1) if path[i:i + n] == sequence]
            recursive |= len(ends) > 1
            overall += value if ends else 0
            self_ += value if ends and ends[-1] == len(path) else 0
            for caller in {path[e - n - 1] if e > n else None for e in ends}:
                callers[caller] += value
            for callee in {path[e] for e in ends if e < len(path)}:
                callees[callee] += value
        return self_, overall, dict(callers), dict(callees), recursive

    def matched(self, found):
        return sum(v for p, v in self.paths.items() if any(found(b) for b in p))

    def grouped(self, group):
        """Self and overall of what `group` gives for a block; None is no group."""
        self_, overall = collections.Counter(), collections.Counter()
        for path, value in [*self.paths.items(), *((p, 0) for p in self.passed)]:
            for g in {group(b) for b in path} - {None}:
                overall[g] += value
            if group(path[-1]) is not None:
                self_[group(path[-1])] += value
        return {g: (self_[g], overall[g]) for g in overall}

    def recursion(self, block):
        """direct or through > 0, and the most occurrences on one stack; None: it never stood there twice"""
        deepest = max(path.count(block) for path in self.whole)
        return deepest if deepest > 1 else None

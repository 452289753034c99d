# SPDX-License-Identifier: MIT
"""Makes a failing program small: shrink(files, fails, seconds) gives the smallest files found that still fail.

Works on the trees of model.py: leaves out statements, many at a time at first; leaves out definitions, arms, slots and
elements of lists; puts a part of an expression, or something very small, in place of the whole. Most of that is not
well typed, so `fails` has to say False for what does not compile, quickly.
"""
import time

import model

LEAST = ["U@()", "*()()"]


def children(value):
    """The nodes directly below one."""
    if isinstance(value, model.Node):
        yield value
    elif isinstance(value, (list, tuple)) and not isinstance(value, (model.Name, model.Token)):
        for part in value:
            yield from children(part)


def below(node):
    for key, value in vars(node).items():
        if key not in ("kind", "pos", "start", "end"):
            yield from (n for n in children(value) if n.end is not None)


def without_item(text, start, end):
    """The span of an item of a list, with one comma beside it."""
    after = end
    while after < len(text) and text[after] in model.SPACE:
        after += 1
    if text[after:after + 1] == ",":
        return start, after + 1
    before = start
    while before > 0 and text[before - 1] in model.SPACE:
        before -= 1
    return (before - 1, end) if text[before - 1:before] == "," else None


def edits(text):
    """(start, end, new text) of everything to try: first what a module exports, since the rest hangs on that, then the
    largest."""
    parser = model.Parser(text)
    result = parser.module().result
    found, exported = [], []
    if result.kind == "export":
        exported = [(*(without_item(text, n.start, n.end) or (0, 0)), "") for n, _ in result.slots]
    for node in parser.nodes:
        if node.kind == "body" and node.start is not None:
            starts = [s.start for s in node.statements] + [node.result.start]
            last = step = len(starts) - 1
            while step:
                found += [(starts[i], starts[min(i + step, last)], "") for i in range(0, last, step)]
                step //= 2
        elif node.kind in ("let", "guard", "import", "bind", "foreign"):
            for _, name, value in (node.defs if node.kind == "let" and len(node.defs) > 1 else ()):
                found.append((*(without_item(text, name.start, value.end) or (0, 0)), ""))
        elif node.end is not None:
            found += [(node.start, node.end, text[n.start:n.end]) for n in below(node)]
            found += [(node.start, node.end, least) for least in LEAST if node.end - node.start > len(least)]
            items = {"list": lambda: [(i.start, i.end) for i in node.items],
                     "export": lambda: [(n.start, max(n.end, v.end or 0)) for n, v in node.slots],
                     "select": lambda: [(n.start, b.end) for n, b in node.arms]}.get(node.kind, list)()
            found += [(*(without_item(text, *item) or (0, 0)), "") for item in items]
    found = [e for e in dict.fromkeys(found) if e[1] - e[0] > len(e[2])]
    return exported + sorted(found, key=lambda e: (e[1] - e[0]) - len(e[2]), reverse=True)


def one_smaller(files, fails, until, tried):
    """With one edit that was not tried before, or None."""
    for name, text in sorted(files.items(), key=lambda item: -len(item[1])):
        try:
            all_edits = edits(text)
        except model.Malformed:
            continue
        for start, end, new in all_edits:
            if time.monotonic() > until:
                return None
            changed = {**files, name: text[:start] + new + text[end:]}
            mark = hash((name, changed[name]))
            if end > start and mark not in tried:
                tried.add(mark)
                if fails(changed):
                    return changed
    return None


def plain(text):
    """The same tokens, a statement per line."""
    pieces = []
    for token, after in zip(model.tokens(text)[:-1], model.tokens(text)[1:]):
        pieces.append(text[token.start:token.end])
        if token.kind == ";" and after.kind != "}":
            pieces.append("\n")
        elif token.kind in ("word", "@", ")", "}", ";", ",", ":", "=", "{", ".=", ":=") and \
                after.kind in ("word", "=", ".=", ":=", "{", "}") or token.kind in (",", ":", "=", ":=", ".=", "{"):
            pieces.append(" " if after.kind not in ("@", ";") else "")
    return "".join(pieces) + "\n"


def shrink(files, fails, seconds=60):
    until = time.monotonic() + seconds
    readable = {name: plain(text) for name, text in files.items()}
    files = readable if fails(readable) else files
    for name in [name for name in files if name.endswith(".@")]:  # what a header has, the module must have
        without = {n: t for n, t in files.items() if n != name}
        files = without if fails(without) else files
    tried = set()
    while (smaller := one_smaller(files, fails, until, tried)) is not None:
        files = smaller
    used = {name: text for name, text in files.items() if fails({n: t for n, t in files.items() if n != name})}
    for name in used:
        without = {n: t for n, t in files.items() if n != name}
        if fails(without):
            files = without
    return files


def shown(files):
    return "".join(f"--- {name}\n{text}" for name, text in files.items())

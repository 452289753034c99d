# SPDX-License-Identifier: MIT
"""Compares call counts with cProfile, function by function. cProfile counts a generator that goes on as a call."""
import json, re


def of_cprofile(file):
    """{name: calls}: `file:line:name` for Python, `module.name` or `class.name` for C."""
    rows = {}
    with open(file) as f:
        for key, calls in json.load(f).items():
            method = re.fullmatch(r"<method '(.*)' of '(.*)' objects>", key)
            function = re.fullmatch(r"<built-in method (.*)>", key)
            name = f"{method[2]}.{method[1]}" if method else function[1] if function else key
            # A C method that a class in Python overrides is called by the overriding function's text.
            name = re.sub(r"<function (?:.*\.)?(\w+) at 0x.*>", r"\1", name)
            name = re.sub(" of type object at 0x.*", "", name)  # one name for the __new__ of all classes
            rows[name] = rows.get(name, 0) + calls
    return rows


def of_ouro(calls, resumes):
    """The same from two answers of `ouro report --self --json`."""
    rows = {}
    for answer, column in ((calls, "calls"), (resumes, "self")):
        for row in json.loads(answer)["rows"]:
            name = row["name"]
            if row["file"]:
                name = f"{row['file']}:{row['line']}:{name.rsplit('.', 1)[-1]}"
            rows[name] = rows.get(name, 0) + (row[column] or 0)  # None: entered before the recording
    return {name: calls for name, calls in rows.items() if calls}


def same_c_function(ours, theirs):
    """cProfile leaves out the class or the module of some: `fromkeys` is our `dict.fromkeys`."""
    return ours == theirs or ours.endswith("." + theirs) or theirs.endswith("." + ours)


def compare(ours, theirs, ignored=lambda name: False):
    """[(name, ours, theirs)] of what differs."""
    ours = {name: calls for name, calls in ours.items() if not ignored(name)}
    theirs = {name: calls for name, calls in theirs.items() if not ignored(name)}
    different = []
    for name in sorted(set(ours) & set(theirs)):
        if ours[name] != theirs[name]:
            different.append((name, ours[name], theirs[name]))
    rest = {name: calls for name, calls in ours.items() if name not in theirs}
    for name, calls in sorted(theirs.items()):
        if name in ours:
            continue
        # Bare names of cProfile: one name for the functions of several classes.
        fits = [other for other in rest
                if same_c_function(other, name) or short(other) == short(name) and ":" not in name]
        mine = sum(rest.pop(other) for other in fits)
        if mine != calls:
            different.append((name, mine, calls))
    return different + [(name, calls, 0) for name, calls in sorted(rest.items())]


def short(name):
    return name.rsplit(".", 1)[-1]

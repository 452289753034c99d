#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random well-typed Fble programs: generate.py SEED [SIZE [FOLDER]]

A program is a few modules. Body has the value, and Check looks at everything in it, by accesses that fail if a tag is
another one than the model (model.py) has found. Or the program has to fail, and the model says where. The same seed
makes the same program.

How: `expr(type, scope, depth)` makes an expression of a type as text, by one of the forms that can. What terminates is
only sure of the forms of recursion made here: on something smaller, or on fuel. Types of the generator are tuples:

    ("n", name, arguments)   a declared type     ("f", argument, result)    a function
    ("v", name)              a type parameter    ("s", fields), ("u", fields)   a struct or union in place
    ("a", name, argument)    a type parameter of kind <@>@, applied
    ("t", type)              the type of a type, of which a function's argument can be
    ("k", text, hole, body)  of kind <@>@: the body with the argument in place of the type parameter `hole`; a fifth
                             member is the one that it is around
"""
import concurrent.futures
import os
import random
import sys
import threading

import model
import undefined
from model import quoted

UNIT = ("n", "U", ())
# What a name is made with. C, assemblers, linkers and terminals have their own ideas about most of these.
PLAIN = ["x", "go", "it", "acc", "f2_4", "s5", "m", "fp", "hp", "a", "int", "goto", "main", "0", "2p1", "_", "NULL",
         "L1"]
ODD = ["a b", "%s", "*/", "/*", "//", "??/", "$", "a.b", "a,b", "(", "#", "é", "\xff", "'", "\\", "\\n", "a-b", ".text",
       "%rax", "-O2", "~7", "a:b", "", "very long " * 30]
HOSTILE = ['"', 'a"b', "a@plt", "@", "\n", "a\nb", "\\\"", '"; int x;', "\t", "\r", "a@@V1", "\x01", "@GOTPCREL"]


def function(arguments, result):
    for argument in reversed(arguments):
        result = ("f", argument, result)
    return result


def spine(kind):
    """Arguments and result."""
    arguments = []
    while kind[0] == "f":
        arguments.append(kind[1])
        kind = kind[2]
    return arguments, kind


def put(kind, binds):
    """A type with type parameters replaced."""
    if kind[0] == "v":
        return binds.get(kind[1], kind)
    if kind[0] == "a":
        head, argument = binds.get(kind[1], ("v", kind[1])), put(kind[2], binds)
        return ("a", head[1], argument) if head[0] == "v" else put(head[3], {head[2]: argument})
    if kind[0] == "k":
        return kind
    if kind[0] == "t":
        return ("t", put(kind[1], binds))
    if kind[0] == "n":
        return ("n", kind[1], tuple(put(a, binds) for a in kind[2]))
    if kind[0] == "f":
        return ("f", put(kind[1], binds), put(kind[2], binds))
    return (kind[0], tuple((name, put(t, binds)) for name, t in kind[1]))


def match(pattern, kind, free, binds):
    """Finds what the free parameters of the pattern stand for."""
    if pattern[0] == "v" and pattern[1] in free:
        return binds.setdefault(pattern[1], kind) == kind
    if pattern[0] != kind[0]:
        return False
    if pattern[0] == "n":
        return pattern[1] == kind[1] and all(match(p, k, free, binds) for p, k in zip(pattern[2], kind[2]))
    if pattern[0] == "f":
        return match(pattern[1], kind[1], free, binds) and match(pattern[2], kind[2], free, binds)
    if pattern[0] == "a":
        return pattern[1] == kind[1] and match(pattern[2], kind[2], free, binds)
    return pattern == kind


def mentions(kind, what):
    return kind == what or any(mentions(part, what) for part in kind if isinstance(part, tuple))


class Declared:
    """A type's name, parameters, and its struct or union."""

    def __init__(self, name, params, form, base=None, opaque=None):
        self.name, self.params, self.form, self.base, self.opaque = name, params, form, base, opaque
        self.used = set()  # those of the parameters that the form mentions


class Scope:
    def __init__(self, names=None, known=None, makers=(), polys=None):
        self.names, self.known, self.makers, self.polys = names or {}, known or {}, makers, polys or {}

    def bind(self, *pairs):
        """With more variables, which hide others of the same name."""
        new = dict(pairs)
        names = {**{n: t for n, t in self.names.items() if n not in new}, **new}
        return Scope(names, {n: k for n, k in self.known.items() if n not in new},
                     tuple(m for m in self.makers if not set(m[2]) & set(new)),
                     {n: p for n, p in self.polys.items() if n not in new})

    def know(self, name, tag):
        return Scope(self.names, {**self.known, name: tag}, self.makers, self.polys)

    def make(self, kind, maker, needs):
        return Scope(self.names, self.known, self.makers + ((kind, maker, needs),), self.polys)

    def poly(self, name, params, kind):
        new = self.bind((name, UNIT))
        del new.names[name]
        new.polys[name] = params, kind
        return new


class Generator:
    def __init__(self, seed, size, words=1, errors=0.0, prefix="M"):
        """words: 0 plain names, 1 odd ones, too, 2 hostile ones, too. errors: how often an expression fails."""
        self.dice = random.Random(f"{seed} {size}")
        self.size, self.words, self.errors = size, words, errors
        self.types, self.count, self.hot, self.room = {}, 0, 0, 0
        self.package, self.ranks, self.prefix = None, {}, prefix
        self.root, self.hidden, self.keepers = None, None, {}
        self.higher, self.interleaved = set(), set()

    # ---------------------------------------------------------------- small things

    def chance(self, p):
        return self.dice.random() < p

    def pick(self, items):
        return items[self.dice.randrange(len(items))]

    def word(self, scope=None):
        """Any word. Words are drawn again and again, so that names hide one another, but for values of a type
        parameter, which cannot be made anew."""
        pool = PLAIN
        if self.words and self.chance(0.12):
            pool = ODD
        if self.words > 1 and self.chance(0.08):
            pool = HOSTILE
        word = self.pick(pool)
        word = word if self.chance(0.3) else word + str(self.dice.randrange(30))
        return self.word(scope) if scope and scope.names.get(word, UNIT)[0] == "v" else word

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}" if self.chance(0.8) else f"{self.word()}{stem}{self.count}"

    def words_apart(self, count, scope=None):
        found = []
        while len(found) < count:
            word = self.word(scope)
            if word not in found and word != "_":
                found.append(word)
        return found

    def type(self, kind):
        """A type as text."""
        if kind[0] == "v":
            return quoted(kind[1]) + "@"
        if kind[0] == "a":
            return f"{quoted(kind[1])}@<{self.type(kind[2])}>"
        if kind[0] == "t":
            return f"@<{self.type(kind[1])}>"
        if kind[0] == "k":
            return kind[1]
        if kind[0] == "n":
            return quoted(kind[1]) + "@" + ("<" + ", ".join(map(self.type, kind[2])) + ">" if kind[2] else "")
        if kind[0] == "f":
            arguments, result = spine(kind)
            cut = self.dice.randint(1, len(arguments))
            rest = function(arguments[cut:], result)
            return f"({', '.join(map(self.type, arguments[:cut]))}) {{ {self.type(rest)}; }}"
        return ("*(" if kind[0] == "s" else "+(") + self.fields(kind[1]) + ")"

    def fields(self, fields):
        return ", ".join(f"{self.type(t)} {quoted(name)}" for name, t in fields)

    def shape(self, kind):
        """("s" or "u", fields), or None for functions, parameters and types that are opaque here."""
        if kind[0] in "su":
            return kind
        if kind[0] != "n":
            return None
        declared = self.types[kind[1]]
        if declared.opaque and not self.inside or declared.form is None:
            return None
        return put(declared.form, dict(zip(declared.params, kind[2])))

    def has_inside(self, kind, param):
        """Whether the structure of a type mentions the parameter; a name's arguments may not be used by it."""
        if kind[0] == "v":
            return kind[1] == param
        if kind[0] == "a":
            return self.has_inside(kind[2], param)
        if kind[0] == "t":
            return self.has_inside(kind[1], param)
        if kind[0] == "f":
            return self.has_inside(kind[1], param) or self.has_inside(kind[2], param)
        if kind[0] == "n":
            declared = self.types[kind[1]]
            return any(self.has_inside(a, param) and p in declared.used for p, a in zip(declared.params, kind[2]))
        return any(self.has_inside(t, param) for _, t in kind[1])

    # ---------------------------------------------------------------- types

    def some_type(self, depth=2, functions=True, params=()):
        """A random type of those that were declared."""
        roll = self.dice.random()
        if params and roll < 0.5:
            return ("v", self.pick(params))
        if functions and roll < 0.2 and depth > 0:
            arguments = [self.some_type(depth - 1, False, params) for _ in range(self.dice.randint(1, 3))]
            return function(arguments, self.some_type(depth - 1, self.chance(0.3), params))
        declared = self.pick(self.usual())
        if depth <= 0 and declared.params:
            return UNIT
        return ("n", declared.name, tuple(self.some_type(depth - 1, functions and self.chance(0.2), params)
                                          for _ in declared.params))

    def usual(self):
        """The declared types that are a struct or a union."""
        return [d for d in self.types.values() if d.form]

    @property
    def inside(self):
        """Whether the module can look into private types."""
        return self.package == self.hidden or self.package.startswith(self.hidden + "/")

    def declare(self, name, params, form, base=None, private=""):
        """The statement. A type that mentions itself and has parameters goes through an inner name."""
        self.types[name] = Declared(name, params, form, base, private)
        self.types[name].used = {p for p in params if self.has_inside(form, p)}
        me, typed = ("n", name, tuple(("v", p) for p in params)), ", ".join("@ " + quoted(p) + "@" for p in params)
        if not params:
            return f"{quoted(name)}@ = {self.type(form)}{private};"
        if not mentions(form, me):
            return f"{quoted(name)}@ = <{typed}> {{ {self.type(form)}{private}; }};"
        self.types[name].params = ()
        inner = ("n", self.fresh("X"), ())
        text = self.type(self.replaced(form, me, inner))
        self.types[name].params = params
        word = quoted(inner[1])
        return f"{quoted(name)}@ = <{typed}> {{ {word}@ = {text}; {word}@{private}; }};"

    def replaced(self, kind, old, new):
        if kind == old:
            return new
        if kind[0] == "n":
            return ("n", kind[1], tuple(self.replaced(a, old, new) for a in kind[2]))
        if kind[0] == "f":
            return ("f", self.replaced(kind[1], old, new), self.replaced(kind[2], old, new))
        if kind[0] in "va":
            return kind
        return (kind[0], tuple((name, self.replaced(t, old, new)) for name, t in kind[1]))

    def declare_types(self):
        """The usual ones first: recursion counts on them. Then any."""
        s, z, h, t, c, n = self.words_apart(6)
        texts = [self.declare("U", (), ("s", ()))]
        texts.append(self.declare("B", (), ("u", tuple((w, UNIT) for w in self.words_apart(2))), base=0))
        nat = [(s, ("n", "N", ())), (z, UNIT)]
        self.dice.shuffle(nat)
        texts.append(self.declare("N", (), ("u", tuple(nat)), base=nat.index((z, UNIT))))
        cell = ("s", ((h, ("v", "T")), (t, ("n", "L", (("v", "T"),)))))
        texts.append(self.declare("L", ("T",), ("u", ((c, cell), (n, UNIT))), base=1))
        letters = [("l%d" % i if self.chance(0.3) else "abcdefgh"[i], UNIT) for i in range(self.dice.randint(1, 8))]
        texts.append(self.declare("D", (), ("u", tuple(letters)), base=0))
        for _ in range(self.dice.randint(2, 4 + min(10, self.size // 40))):
            texts.append(self.any_declaration())
        return texts + self.declare_constructors()

    def declare_constructors(self):
        """Types of kind <@>@, some of them after an argument, and the record that goes with one: how to make a value,
        and how to chain two."""
        v, some, none = self.words_apart(3)
        hole = ("v", "A")
        texts = [self.declare("Id", ("A",), ("s", ((v, hole),))),
                 self.declare("Op", ("A",), ("u", ((some, hole), (none, UNIT))), base=1)]
        more = {"Fn": "<@ A@> { (U@) { A@; }; }", "St": "<@ S@, @ A@> { (S@) { *(A@ v, S@ s); }; }",
                "Co": "<@ R@, @ A@> { ((A@) { R@; }) { R@; }; }", "Tr": "<<@>@ M@, @ A@> { M@<Op@<A@>>; }",
                "Ap": "<<<@>@, @>@ T@, <@>@ M@, @ A@> { T@<M@, A@>; }",
                "Mo": "<<@>@ M@> { *(@<M@> M@, <@ A@>(A@) { M@<A@>; } give, "
                      "<@ A@>(M@<A@>)<@ B@>((A@) { M@<B@>; }) { M@<B@>; } then); }"}
        for name, text in more.items():
            texts.append(f"{name}@ = {text};")
            self.types[name] = Declared(name, ("M",), None)
            self.types[name].used = {"M"}
        return texts

    def any_declaration(self):
        name = self.fresh("T") if self.chance(0.85) else self.word() + f"T{self.count}{len(self.types)}"
        params = tuple(f"P{i}{len(self.types)}" for i in range(self.dice.choice([0, 0, 1, 1, 2])))
        many = self.dice.choice([0, 1, 2, 2, 3, 3, 4, 6])
        if self.chance(0.03):
            many = self.dice.choice([20, 70, 300])
        fields = [(word, self.some_type(1, True, params)) for word in self.words_apart(many)]
        private = f".%(@/{self.path(self.hidden)}%)" if self.chance(0.3) else ""
        if self.chance(0.5):
            return self.declare(name, params, ("s", tuple(fields)), private=private)
        me = ("n", name, tuple(("v", p) for p in params))
        fields = fields or [(self.word(), UNIT)]
        base = self.dice.randrange(len(fields))
        if len(fields) > 1:  # recursive, once or twice, but for the base
            for at in self.dice.sample(range(len(fields)), self.dice.randint(0, min(2, len(fields) - 1))):
                inner = me if self.chance(0.5) else ("s", ((self.word(), me), ("p" + self.word(), fields[at][1])))
                if at != base:
                    fields[at] = fields[at][0], inner
        return self.declare(name, params, ("u", tuple(fields)), base, private)

    # ---------------------------------------------------------------- expressions

    def default(self, kind, scope):
        """The least value of a type; it always ends."""
        names = [n for n, t in scope.names.items() if t == kind]
        if kind[0] == "v" or names and self.chance(0.5):
            return quoted(self.pick(names))
        if kind[0] == "t":
            return self.type(kind[1])
        if kind[0] == "a":
            return f"{self.record(('v', kind[1]), scope)}.give({self.default(kind[2], scope)})"
        if kind[0] == "n" and kind[1] == "Mo":
            return self.record(kind[2][0], scope)
        if kind[0] == "n" and self.shape(kind) is None:
            return self.kept(kind, scope)
        if kind[0] == "f":
            param = self.word(scope)
            inner = scope.bind((param, kind[1]))
            return f"({self.type(kind[1])} {quoted(param)}) {{ {self.default(kind[2], inner)}; }}"
        sort, fields = self.shape(kind)
        if sort == "s":
            return f"{self.type(kind)}({', '.join(self.default(t, scope) for _, t in fields)})"
        base = self.types[kind[1]].base if kind[0] == "n" else 0
        return f"{self.type(kind)}({quoted(fields[base][0])}: {self.default(fields[base][1], scope)})"

    def leaf(self, kind, scope):
        found = [quoted(n) for n, t in scope.names.items() if t == kind]
        found += [f"{quoted(n)}.{quoted(tag)}" for n, tag in scope.known.items()
                  for name, t in (self.shape(scope.names[n]) or ("s", ()))[1] if name == tag and t == kind]
        return self.pick(found) if found and self.chance(0.85) else self.default(kind, scope)

    def expr(self, kind, scope, depth):
        self.room -= 1
        if kind[0] == "t":
            return self.type(kind[1])
        if self.errors and self.chance(self.errors):
            return self.failing(kind, scope)
        if depth <= 0 or self.room < 0:
            return self.leaf(kind, scope)
        for maker in self.dice.choices(self.FORMS, self.WEIGHTS, k=6):
            text = maker(self, kind, scope, depth - 1)
            if text is not None:
                return text
        return self.leaf(kind, scope)

    def variable(self, kind, scope, depth):
        return self.leaf(kind, scope)

    def made(self, kind, scope, depth):
        """A recursive call, where there is one to make."""
        makers = [m for m in scope.makers if m[0] == kind]
        return self.pick(makers)[1](scope, depth) if makers else None

    def value(self, kind, scope, depth):
        if kind[0] == "f":
            return self.literal_function(kind, scope, depth)
        shape = self.shape(kind)
        if shape is None:
            return None
        sort, fields = shape
        if sort == "u":
            name, inner = self.pick(fields)
            if mentions(inner, kind) and self.chance(0.5):
                name, inner = fields[self.types[kind[1]].base]
            return f"{self.type(kind)}({quoted(name)}: {self.expr(inner, scope, depth)})"
        if len(fields) > 20:
            depth = 0
        values = [self.expr(t, scope, depth) for _, t in fields]
        if self.chance(0.4):
            slots = [quoted(n) if v == quoted(n) and self.chance(0.7) else f"{quoted(n)}: {v}"
                     for (n, _), v in zip(fields, values)]
            return f"@({', '.join(slots)})"
        return f"{self.type(kind)}({', '.join(values)})"

    def tall(self, kind, scope, depth):
        """A number or list of some length, or another value of a recursive type."""
        ways = self.down(kind)
        if not ways:
            return None
        fields, word = dict(self.shape(kind)[1]), self.type(kind)
        text = self.leaf(kind, scope)
        for _ in range(self.dice.randint(1, 7)):
            tag, way = self.pick(ways)
            if way:
                slots = [text if "." + quoted(f) == way else self.leaf(t, scope) for f, t in fields[tag][1]]
                text = f"{self.type(fields[tag])}({', '.join(slots)})"
            text = f"{word}({quoted(tag)}: {text})"
        return text

    def literal_function(self, kind, scope, depth):
        """Parameters together or one by one, with statements in between or without."""
        arguments, _ = spine(kind)
        taken = self.dice.randint(1, len(arguments))
        params, inner, rest = [], scope, kind
        for _ in range(taken):
            name = self.word(inner)
            params.append(f"{self.type(rest[1])} {quoted(name)}")
            inner, rest = inner.bind((name, rest[1])), rest[2]
        return f"({', '.join(params)}) {{ {self.body(rest, inner, depth)} }}"

    def applied(self, kind, scope, depth):
        """A function's variable, with as many arguments as it takes to get the type: too few, all, or more."""
        found = []
        for name, t in scope.names.items():
            arguments = []
            while t[0] == "f":
                arguments.append(t[1])
                t = t[2]
                if t == kind:
                    found.append((name, list(arguments)))
        if not found:
            return None
        name, arguments = self.pick(found)
        return self.call(quoted(name), arguments, scope, depth)

    def call(self, head, arguments, scope, depth):
        given = [self.expr(a, scope, depth) for a in arguments]
        cut = self.dice.randint(1, len(given))
        if cut < len(given) and self.chance(0.3):  # f(a)(b)
            return f"{head}({', '.join(given[:cut])})({', '.join(given[cut:])})"
        return f"{head}({', '.join(given)})"

    def applied_poly(self, kind, scope, depth):
        found = []
        for name, (params, t) in scope.polys.items():
            arguments, binds = [], {p: self.constructor(scope) for p in params if p in self.higher}
            t = put(t, binds)
            while t[0] == "f":
                arguments.append(t[1])
                t = t[2]
                more = dict(binds)
                if match(t, kind, params, more):
                    found.append((name, params, list(arguments), more))
        if not found:
            return None
        return self.call_poly(*self.pick(found), scope, depth)

    def call_poly(self, name, params, arguments, binds, scope, depth):
        for param in params:
            if param not in binds:
                binds[param] = self.some_type(1)
        head, given = quoted(name), [put(a, binds) for a in arguments]
        shown, kinds = [self.type(binds[p]) for p in params], scope.polys[name][1]
        if name in self.interleaved and len(given) > 1:  # <M@>(m)<A@>(a)
            if self.has_inside(kinds[2][1], params[1]) and self.chance(0.6):
                return self.call(head, given, scope, depth)
            first = f"<{shown[0]}>" if self.chance(0.5) else ""
            head += f"{first}({self.expr(given[0], scope, depth)})<{shown[1]}>"
            return self.call(head, given[1:], scope, depth)
        if name in self.interleaved:
            return self.call(head, given, scope, depth)
        if not all(self.has_inside(kinds[1], p) for p in params) or self.chance(0.4):
            head += "<" + ", ".join(shown) + ">"
        return self.call(head, given, scope, depth)

    def applied_literal(self, kind, scope, depth):
        arguments = [self.some_type(1) for _ in range(self.dice.randint(1, 3))]
        head = self.literal_function(function(arguments, kind), scope, depth)
        return self.call(head, arguments, scope, depth)

    def applied_list(self, kind, scope, depth):
        if self.chance(0.4):
            word = "".join(self.pick(self.types["D"].form[1])[0] for _ in range(self.dice.randint(0, 8)))
            element, suffix = ("n", "D", ()), "|" + quoted(word)
        else:
            element = self.some_type(1)
            suffix = "[" + ", ".join(self.expr(element, scope, depth - 1) for _ in range(self.dice.randint(0, 4))) + "]"
        of = ("n", "L", (element,))
        heads = [quoted(n) for n, t in scope.names.items() if t == ("f", of, kind)]
        if heads and self.chance(0.7):
            return self.pick(heads) + suffix
        return self.literal_function(("f", of, kind), scope, depth) + suffix

    def accessed(self, kind, scope, depth):
        """A field of a variable, of an export made for it, or of a type that has such a field."""
        shapes = [(n, self.shape(t)) for n, t in scope.names.items()]
        found = [f"{quoted(n)}.{quoted(f)}" for n, shape in shapes if shape and shape[0] == "s"
                 for f, t in shape[1] if t == kind]
        if found and self.chance(0.7):
            return self.pick(found)
        if self.chance(0.5):
            names = self.words_apart(self.dice.randint(1, 3))
            at = self.dice.randrange(len(names))
            kinds = [kind if i == at else self.some_type(1) for i in range(len(names))]
            slots = ", ".join(f"{quoted(n)}: {self.expr(k, scope, depth)}" for n, k in zip(names, kinds))
            return f"@({slots}).{quoted(names[at])}"
        for declared in self.dice.sample(self.usual(), 5):
            for name, t in declared.form[1]:
                binds = {}
                if declared.form[0] == "s" and len(declared.form[1]) < 9 and match(t, kind, declared.params, binds):
                    whole = ("n", declared.name, tuple(binds.get(p, UNIT) for p in declared.params))
                    if self.shape(whole):
                        return f"{self.expr(whole, scope, depth)}.{quoted(name)}"
        return None

    def unwrapped(self, kind, scope, depth):
        """A union that is made and taken apart at once."""
        names = self.words_apart(self.dice.randint(1, 3))
        whole = ("u", tuple((n, kind if i == 0 else self.some_type(0)) for i, n in enumerate(names)))
        return f"{self.type(whole)}({quoted(names[0])}: {self.expr(kind, scope, depth)}).{quoted(names[0])}"

    def copied(self, kind, scope, depth):
        shape = self.shape(kind)
        if not shape or shape[0] != "s" or not shape[1]:
            return None
        chosen = sorted(self.dice.sample(range(len(shape[1])), self.dice.randint(1, min(3, len(shape[1])))))
        slots = ", ".join(f"{quoted(shape[1][i][0])}: {self.expr(shape[1][i][1], scope, depth)}" for i in chosen)
        return f"{self.expr(kind, scope, depth)}.@({slots})"

    def some_union(self, scope):
        """Something to select on: its text, its type, its variable or None."""
        names = [n for n, t in scope.names.items() if (shape := self.shape(t)) and shape[0] == "u"]
        if names and self.chance(0.8):
            name = self.pick(names)
            return quoted(name), scope.names[name], name
        kind = self.some_type(1)
        shape = self.shape(kind)
        if not shape or shape[0] != "u":
            kind = ("n", self.pick(["B", "N", "D"]), ())
        return None, kind, None

    def selected(self, kind, scope, depth, guard=False):
        text, of, name = self.some_union(scope)
        if text is None:
            text = self.expr(of, scope, depth - 1)
        fields = self.shape(of)[1]
        chosen = list(range(len(fields)))
        default = guard or self.chance(0.3)
        if default:
            most = min(len(fields), 6 if self.chance(0.9) else 300)
            chosen = sorted(self.dice.sample(chosen, self.dice.randint(1, most)))
        if len(chosen) > 8:
            depth = 0
        arms = []
        for i in chosen:
            inner = scope.know(name, fields[i][0]) if name else scope
            arms.append(f"{quoted(fields[i][0])}: {self.expr(kind, inner, depth)}")
        if default and not guard:
            arms.append(f": {self.expr(kind, scope, depth)}")
        return f"{text}.?({', '.join(arms)})"

    def block(self, kind, scope, depth):
        return f"{{ {self.body(kind, scope, depth)} }}"

    def chained(self, kind, scope, depth):
        """An action, then another."""
        if kind[0] != "a":
            return None
        record, of = self.record(("v", kind[1]), scope), self.some_type(1)
        if self.chance(0.3):
            shown = f"<{self.type(kind[2])}>" if self.chance(0.5) else ""
            return f"{record}.give{shown}({self.expr(kind[2], scope, depth)})"
        first, name = self.expr(("a", kind[1], of), scope, depth), self.word(scope)
        if self.chance(0.5):
            rest = self.body(kind, scope.bind((name, of)), depth)
            return f"{{ {self.type(of)} {quoted(name)} := {record}.then({first}); {rest} }}"
        shown = f"<{self.type(of)}>" if self.chance(0.3) else ""
        then = f"{record}.then{shown}({first})" + (f"<{self.type(kind[2])}>" if self.chance(0.3) else "")
        return f"{then}({self.literal_function(('f', of, kind), scope, depth)})"

    def cast(self, kind, scope, depth):
        return f"{self.expr(kind, scope, depth)}.%(@/{quoted(self.root)}%)" if kind[0] == "n" else None

    FORMS = [variable, made, value, tall, applied, applied_poly, applied_literal, applied_list, accessed, unwrapped,
             copied, selected, block, cast, chained]
    WEIGHTS = [2, 12, 5, 4, 9, 6, 1.2, 1.5, 3, 0.6, 2, 6, 2, 0.3, 12]

    # ---------------------------------------------------------------- errors

    def failing(self, kind, scope):
        """An expression of the type that fails, if it is evaluated."""
        if self.chance(0.5):
            return f"{{ {undefined.body(self, kind, scope)} }}"
        t, x, f = self.type(kind), quoted(self.word()), quoted(self.word())
        return self.pick([
            lambda: f"+({t} {f}, U@ 'other{self.count}')('other{self.count}': U@()).{f}",
            lambda: f"{{ *({t} {f}) {x} = *({t} {f})({x}.{f}); {x}.{f}; }}",
            lambda: f"{{ (U@) {{ {t}; }} {x} = {{ {t} _x = {x}(U@()); (U@ _u) {{ _x; }}; }}; {x}(U@()); }}",
            lambda: f"{{ +({t} {f}) {x} = {x}.?({f}: {x}); {x}.{f}; }}",
            lambda: f"{{ {t} {x} = {x}; {x}; }}",
            lambda: f"{{ {t} {x} = yy, {t} yy = {x}; {x}; }}" if x != "yy" else f"{{ {t} {x}; {x}; }}",
            lambda: f"{{ {t} {x}; {x}; }}",
            lambda: f"{{ *({t} {f}, U@ u1) {x} = {x}.@(u1: U@()); {x}.{f}; }}" if f != "u1" else f"{{ {t} {x}; {x}; }}",
        ])()

    # ---------------------------------------------------------------- bodies

    def body(self, kind, scope, depth):
        """Statements and a result."""
        parts = []
        while depth > 0 and self.room > 0 and len(parts) < 12 and self.chance(0.45):
            text, scope, ends = self.statement(kind, scope, depth)
            parts.append(text)
            if ends:
                return " ".join(parts)
        return " ".join(parts + [self.expr(kind, scope, depth) + ";"])

    def statement(self, kind, scope, depth):
        """Text, the scope after it, and whether it has the rest of the body in it."""
        roll = self.dice.random()
        if roll < 0.35:
            return (*self.let(scope, depth), False)
        if roll < 0.5:
            return self.selected(kind, scope, depth - 1, guard=True) + ";", scope, False
        if roll < 0.6:
            return (*self.imported(scope, depth), False)
        if roll < 0.7:
            return self.bound(kind, scope, depth), scope, True
        if roll < 0.85 and self.hot < 2:
            return (*self.recursion(scope, depth), False)
        if roll < 0.92:
            return (*self.aliases(scope, depth), False)
        return (*self.cycle(scope, depth), False)

    def let(self, scope, depth):
        pairs = [(name, self.some_type(2)) for name in self.words_apart(self.dice.randint(1, 3), scope)]
        texts = []
        inside, early = self.in_the_let(scope, pairs)
        for name, t in pairs:
            value = self.expr(t, inside, depth - 1)
            texts.append(f"{self.type(t) + ' ' if early else self.annotation(t, scope)}{quoted(name)} = {value}")
        return ", ".join(texts) + ";", scope.bind(*pairs)

    def in_the_let(self, scope, pairs):
        """The scope of the definitions of a let, and whether the new variables are in it. They have no values there, so
        they are not, unless the program may fail."""
        inside, early = scope.bind(*pairs), bool(self.errors) and self.chance(0.3)
        for name, _ in pairs if not early else ():
            del inside.names[name]
        return inside, early

    def annotation(self, kind, scope):
        if self.chance(0.6):
            return ""
        return (self.type_of(kind, scope) if self.chance(0.3) else self.type(kind)) + " "

    def type_of(self, kind, scope):
        """A type by an expression of it, which is not evaluated, or by a type that is chosen, named or held."""
        shown = self.type(kind)
        return self.pick([
            lambda: f"@<{self.leaf(kind, scope)}>",
            lambda: f"@<{self.failing(kind, scope)}>",
            lambda: f"@<{self.expr(kind, scope, 1)}>" if not self.errors else shown,
            lambda: f"{{ Q@ = {shown}; Q@; }}",
            lambda: f"{{ @<{shown}> Q@ = {shown}; Q@; }}",
            lambda: f"@(q: U@(), Q@: {shown}).Q@",
            lambda: f"<@ Q@> {{ Q@; }}<{shown}>",
            lambda: f"{{ Q@ .= @(Q@: {shown}); Q@; }}",
        ])()

    def imported(self, scope, depth):
        fields = self.words_apart(self.dice.randint(1, 3), scope)
        kinds = [self.some_type(1) for _ in fields]
        slots = ", ".join(f"{quoted(f)}: {self.expr(k, scope, depth - 1)}" for f, k in zip(fields, kinds))
        picks, pairs = [], []
        for name, (f, k) in zip(self.words_apart(len(fields), scope), zip(fields, kinds)):
            if self.chance(0.5):
                name = f
            if name in dict(pairs):
                continue
            pairs.append((name, k))
            picks.append((self.type(k) + " " if self.chance(0.3) else "") + quoted(name) +
                         (f"(.{quoted(f)})" if name != f else ""))
        return f"{', '.join(picks)} .= @({slots});", scope.bind(*pairs)

    def bound(self, kind, scope, depth):
        arguments = [self.some_type(1) for _ in range(self.dice.randint(1, 2))]
        result = kind if self.chance(0.6) else self.some_type(1)
        head = ("f", function(arguments, result), kind)
        names = [n for n, t in scope.names.items() if t == head]
        callee = quoted(self.pick(names)) if names else self.literal_function(head, scope, depth - 1)
        params = [(self.word(scope), a) for a in arguments]
        text = ", ".join(f"{self.type(a)} {quoted(n)}" for n, a in params)
        inner = scope
        for pair in params:
            inner = inner.bind(pair)
        return f"{text} := {callee}; {self.body(result, inner, depth - 1)}"

    def aliases(self, scope, depth):
        """Variables of one let that stand for one another."""
        kind, names = self.some_type(1), self.words_apart(3, scope)
        inside, _ = self.in_the_let(scope, [(n, kind) for n in names])
        value = self.expr(kind, inside, depth - 1)
        order = list(zip(names, [quoted(names[1]), value, quoted(self.pick(names[:2]))]))
        self.dice.shuffle(order)
        text = ", ".join(f"{self.type(kind)} {quoted(n)} = {v}" for n, v in order)
        return text + ";", scope.bind(*[(n, kind) for n in names])

    def cycle(self, scope, depth):
        """Structs that refer to one another, or streams that are functions."""
        a, b = self.words_apart(2, scope)
        v, n, c, r = "v", "n", self.fresh("c"), self.fresh("R")
        kind = self.some_type(1, functions=False)
        hidden = scope.bind((a, UNIT), (b, UNIT))
        del hidden.names[a], hidden.names[b]
        first, second = self.expr(kind, hidden, depth - 1), self.expr(kind, hidden, depth - 1)
        if self.chance(0.5):
            declared, there = f"*({self.type(kind)} {v}, {quoted(r)}@ {n})", f".{n}"
            make = lambda value, to: f"@({v}: {value}, {n}: {quoted(to)})"
        else:
            declared, there = f"*({self.type(kind)} {v}, (U@) {{ {quoted(r)}@; }} {n})", f".{n}(U@())"
            make = lambda value, to: f"@({v}: {value}, {n}: (U@ _) {{ {quoted(to)}; }})"
        way = there * self.dice.randint(0, 5)
        text = (f"{quoted(c)} = {{ {quoted(r)}@ = {declared}; {quoted(r)}@ {quoted(a)} = {make(first, b)}, "
                f"{quoted(r)}@ {quoted(b)} = {make(second, a)}; {quoted(a)}{way}.{v}; }};")
        return text, scope.bind((c, kind))

    # ---------------------------------------------------------------- recursion

    def down(self, kind):
        """How a value of a recursive union gets smaller: (tag, the path to the smaller one) for each tag."""
        ways = []
        shape = self.shape(kind)
        if not shape or shape[0] != "u":
            return ways
        for tag, inner in shape[1]:
            if inner == kind:
                ways.append((tag, ""))
            elif inner[0] == "s":
                ways += [(tag, "." + quoted(f)) for f, t in inner[1] if t == kind]
        return ways

    def recursion(self, scope, depth, top=False):
        """One function, or several in one let, that call themselves on something smaller."""
        names = self.words_apart(self.dice.choice([1, 1, 1, 2, 3]), scope)
        small = [("n", d.name, tuple(self.some_type(0, False) for _ in d.params)) for d in self.usual()]
        small = [kind for kind in small if self.down(kind)]
        over = self.pick(small) if self.chance(0.6) else ("n", "N", ())
        kinds = {}
        for name in names:
            more = [self.some_type(1) for _ in range(self.dice.randint(0, 3))]
            kinds[name] = ("f", over, function(more, self.some_type(1, self.chance(0.3))))
        hidden = scope.bind(*kinds.items())
        for name in names:
            del hidden.names[name]
        self.hot += 1
        texts = [f"{self.type(kinds[n])} {quoted(n)} = {self.recursive(n, kinds, over, hidden, depth)}" for n in names]
        self.hot -= 1
        return ", ".join(texts) + ";", scope.bind(*kinds.items())

    def recursive(self, me, kinds, over, scope, depth):
        arguments, result = spine(kinds[me])
        taken = self.dice.randint(1, len(arguments)) if self.chance(0.3) else len(arguments)
        rest = function(arguments[taken:], result)
        params = self.words_apart(taken, scope)
        inner = scope.bind(*zip(params, arguments))
        calls = [self.dice.choice([1, 1, 1, 2])]

        def maker(tag, way, name):
            def make(at, deep):
                if calls[0] <= 0:
                    return self.leaf(rest, at)
                calls[0] -= 1
                others, _ = spine(kinds[name])
                given = [f"{quoted(params[0])}.{quoted(tag)}{way}"]
                given += [self.expr(a, at, min(deep, 1)) for a in others[1:]]
                wanted = len(others) - (len(spine(rest)[0]))
                return f"{quoted(name)}({', '.join(given[:wanted])})"
            return make

        arms = []
        ways = self.down(over)
        default = None
        for tag, _ in self.shape(over)[1]:
            known = inner.know(params[0], tag)
            here = known
            for t, way in ways:
                for name in kinds:
                    if t == tag and name not in params and spine(kinds[name])[1] == result and \
                            len(spine(kinds[name])[0]) >= len(spine(rest)[0]) + 1 and self.gives(kinds[name], rest):
                        here = here.make(rest, maker(tag, way, name), (name, params[0]))
            if here is not known:
                body = self.body(rest, here, max(1, min(depth, 3)))
                arms.append((tag, f"{{ {body} }}"))
            else:
                arms.append((tag, self.expr(rest, known, min(depth, 2))))
        head = ", ".join(f"{self.type(a)} {quoted(p)}" for a, p in zip(arguments, params))
        on = quoted(params[0])
        if self.chance(0.4) and len(arms) > 1:  # a guard for all but the last recursive one
            recursive = [a for a in arms if a[0] in dict(ways)]
            last = self.pick(recursive)
            others = ", ".join(f"{quoted(t)}: {b}" for t, b in arms if t != last[0])
            return f"({head}) {{ {on}.?({others}); {last[1]}; }}"
        return f"({head}) {{ {on}.?({', '.join(f'{quoted(t)}: {b}' for t, b in arms)}); }}"

    def gives(self, kind, rest):
        """Whether applying some arguments of the type gives `rest`."""
        while kind != rest:
            if kind[0] != "f":
                return False
            kind = kind[2]
        return True

    # ---------------------------------------------------------------- modules

    def top(self, scope):
        """A definition of a module: text and scope. It sees some of what is there, and not what calls too much: a rank
        is how deep calls of definitions nest."""
        before, rank = scope, self.dice.randrange(4)
        scope = self.some_of(scope, rank)
        text, after = self.definition(scope)
        names = {n: t for n, t in after.names.items() if scope.names.get(n) != t}
        whole = before.bind(*names.items())
        for name, (params, kind) in after.polys.items():
            if name not in scope.polys:
                whole = whole.poly(name, params, kind)
                names[name] = kind
        self.ranks.update(dict.fromkeys(names, rank + 1))
        return text, whole

    def some_of(self, scope, rank):
        able = [n for n in [*scope.names, *scope.polys] if self.ranks.get(n, 0) <= rank]
        able = set(self.dice.sample(able, min(len(able), 15)))
        return Scope({n: t for n, t in scope.names.items() if n in able}, {}, (),
                     {n: p for n, p in scope.polys.items() if n in able})

    def definition(self, scope):
        self.room = 150
        roll = self.dice.random()
        depth = self.dice.randint(2, 5)
        if roll < 0.3:
            return self.recursion(scope, depth, True)
        if roll < 0.4:
            return self.poly_function(scope, depth)
        if roll < 0.5:
            return self.generic_function(scope, depth)
        if roll < 0.6:
            return self.cycle(scope, depth)
        if roll < 0.65:
            return self.object(scope)
        if roll < 0.7:
            return self.let(scope, depth)
        kind = function([self.some_type(2) for _ in range(self.dice.randint(1, 4))], self.some_type(2))
        name = self.fresh("f")
        return f"{quoted(name)} = {self.literal_function(kind, scope, depth)};", scope.bind((name, kind))

    def poly_function(self, scope, depth):
        params = tuple(f"A{self.count}{i}" for i in range(self.dice.randint(1, 2)))
        arguments = [self.some_type(1, True, params) for _ in range(self.dice.randint(0, 2))]
        arguments += [("v", p) for p in params]
        arguments += [("t", self.some_type(1, True, params)) for _ in range(self.dice.choice([0, 0, 1, 2]))]
        self.dice.shuffle(arguments)
        kind = function(arguments, self.some_type(1, True, params))
        name = self.fresh("p")
        kinds = ", ".join(f"@ {quoted(p)}@" for p in params)
        return (f"{quoted(name)} = <{kinds}> {{ {self.whole_function(kind, scope, depth)}; }};",
                scope.poly(name, params, kind))

    def generic_function(self, scope, depth):
        """For any type of kind <@>@ that comes with a record; and what it does for one."""
        self.count += 1
        m, a, name = f"M{self.count}", f"A{self.count}", self.fresh("g")
        params = (m, a) if self.chance(0.6) else (m,)
        record = ("n", "Mo", (("v", m),))
        arguments = [self.some_type(1, True, params[1:]) for _ in range(self.dice.randint(0, 2))]
        arguments += [("v", p) for p in params[1:]]
        arguments += [("a", m, self.some_type(1, True, params[1:])) for _ in range(self.dice.choice([0, 1, 1, 2]))]
        self.dice.shuffle(arguments)
        kind = function([record, *arguments], ("a", m, self.some_type(1, True, params[1:])))
        self.higher.add(m)
        apart = len(params) > 1 and self.chance(0.5)
        if apart:
            self.interleaved.add(name)
        names = [f"mon{self.count}", *self.words_apart(len(arguments))]
        parts = [f"{self.type(t)} {quoted(n)}" for t, n in zip([record, *arguments], names)]
        kinds = [f"<@>@ {m}@"] + [f"@ {a}@"] * (len(params) - 1)
        body = self.body(spine(kind)[1], scope.bind(*zip(names, [record, *arguments])), depth)
        if apart:
            head = f"<{kinds[0]}>({parts[0]})<{kinds[1]}>({', '.join(parts[1:])})"
        else:
            head = f"<{', '.join(kinds)}>({', '.join(parts)})"
        text, after = f"{quoted(name)} = {head} {{ {body} }};", scope.poly(name, params, kind)
        binds, used = {m: self.constructor(Scope())}, self.fresh("h")
        if len(params) > 1:
            binds[a] = self.some_type(1)
        value = self.call_poly(name, params, spine(kind)[0], dict(binds), after, 1)
        return f"{text} {quoted(used)} = {value};", after.bind((used, put(spine(kind)[1], binds)))

    def constructor(self, scope):
        """A type of kind <@>@."""
        known = [t[2][0] for t in scope.names.values() if t[0] == "n" and t[1] == "Mo"]
        if known and self.chance(0.6):
            return self.pick(known)
        kind = self.plain_constructor(scope)
        if self.chance(0.2):  # around another one
            text = f"Tr@<{self.type(kind)}>" if self.chance(0.5) else f"Ap@<Tr@, {self.type(kind)}>"
            kind = ("k", text, "*", put(("a", "m", ("n", "Op", (("v", "*"),))), {"m": kind}), kind) \
                if kind[0] == "k" else kind
        return kind

    def plain_constructor(self, scope):
        hole, other = ("v", "*"), self.pick([("n", "N", ()), ("n", "B", ())])
        shown = self.type(other)
        return self.pick([
            self.identity(),
            ("k", "<@ Z@> { Id@<Z@>; }", "*", ("n", "Id", (hole,))),
            ("k", "Op@", "*", ("n", "Op", (hole,))),
            ("k", "L@", "*", ("n", "L", (hole,))),
            ("k", "Fn@", "*", ("f", UNIT, hole)),
            ("k", f"St@<{shown}>", "*", ("f", other, ("s", (("v", hole), ("s", other))))),
            ("k", f"Co@<{shown}>", "*", ("f", ("f", hole, other), other)),
        ])

    def record(self, kind, scope):
        """What goes with a type of kind <@>@: a variable, or a new record."""
        names = [quoted(n) for n, t in scope.names.items() if t == ("n", "Mo", (kind,))]
        if names and (kind[0] == "v" or self.chance(0.5)):
            return self.pick(names)
        return self.new_record(kind)

    def new_record(self, kind):
        text = kind[1]
        if len(kind) > 4:  # around another one
            (some, _), (none, _) = self.types["Op"].form[1]
            inner = self.new_record(kind[4])
            give = f"on.give(Op@<Va@>({quoted(some)}: a))"
            then = (f"on.then(x)((Op@<Va@> o) {{ o.?({quoted(some)}: f(o.{quoted(some)}), "
                    f"{quoted(none)}: on.give(Op@<Vb@>({quoted(none)}: o.{quoted(none)}))); }})")
            return f"{{ on = {inner}; {self.record_text(text, give, then)}; }}"
        give, then = self.actions(kind)
        return self.record_text(text, give, then)

    def record_text(self, text, give, then):
        return (f"@(M@: {text}, give: <@ Va@>(Va@ a) {{ {give}; }}, "
                f"then: <@ Va@>({text}<Va@> x)<@ Vb@>((Va@) {{ {text}<Vb@>; }} f) {{ {then}; }})")

    def actions(self, kind):
        """A value, and one after another."""
        body = kind[3]
        if body[0] == "f" and body[1] == UNIT:
            return "(U@ _u) { a; }", self.pick(["f(x(U@()))", "(U@ u) { f(x(u), u); }"])
        if body[0] == "f" and body[1][0] == "f":
            other = self.type(body[2])
            return (f"((Va@) {{ {other}; }} k) {{ k(a); }}",
                    f"((Vb@) {{ {other}; }} k) {{ x((Va@ y) {{ f(y, k); }}); }}")
        if body[0] == "f":
            other = self.type(body[1])
            return (f"({other} s) {{ @(v: a, s); }}",
                    f"({other} s) {{ " + self.pick(["y = x(s); f(y.v, y.s); }", "v, t(.s) .= x(s); f(v)(t); }"]))
        if body[1] == "Id":
            return "Id@(a)", f"f(x.{quoted(self.types['Id'].form[1][0][0])})"
        if body[1] == "Op":
            (some, _), (none, _) = self.types["Op"].form[1]
            return (f"Op@<Va@>({quoted(some)}: a)",
                    f"x.?({quoted(some)}: f(x.{quoted(some)}), {quoted(none)}: Op@<Vb@>({quoted(none)}: U@()))")
        (cell, (_, ((head, _), (tail, _)))), (end, _) = self.types["L"].form[1]
        cell, head, tail, end = map(quoted, (cell, head, tail, end))
        pair = lambda of, h, t: f"L@<{of}>({cell}: @({head}: {h}, {tail}: {t}))"
        return (pair("Va@", "a", f"L@<Va@>({end}: U@())"),
                f"(L@<Vb@>, L@<Va@>) {{ L@<Vb@>; }} add = (L@<Vb@> bs, L@<Va@> as) {{ bs.?({cell}: "
                f"{pair('Vb@', f'bs.{cell}.{head}', f'add(bs.{cell}.{tail}, as)')}, {end}: as.?({cell}: "
                f"add(f(as.{cell}.{head}), as.{cell}.{tail}), {end}: bs)); }}; add(L@<Vb@>({end}: U@()), x)")

    def whole_function(self, kind, scope, depth):
        """All parameters at once, so that there is a value of every type parameter."""
        arguments, result = spine(kind)
        names, parts = self.words_apart(len(arguments)), []
        inner = scope.bind(*[(n, t) for n, t in zip(names, arguments) if t[0] != "t"])
        for a, n in zip(arguments, names):
            if a[0] == "t" and n not in inner.names:  # a type, whose name stands for the one it is
                parts.append(f"{quoted(n)}@ {quoted(n)} = {self.leaf(a[1], inner)};")
                inner = inner.bind((n, a[1]))
        head = ", ".join(f"{self.type(a)} {quoted(n)}" + "@" * (a[0] == "t") for a, n in zip(arguments, names))
        return f"({head}) {{ {' '.join(parts)} {self.body(result, inner, depth)} }}"

    def object(self, scope):
        """Recursion through a field: an object's method is given the object, and fuel."""
        o, m, name = self.fresh("O"), quoted(self.word()), self.fresh("o")
        word, extra = quoted(o), self.some_type(1, functions=False)
        n, s = ("n", "N", ()), None
        (tag, _), = self.down(n)
        zero = next(t for t, _ in self.types["N"].form[1] if t != tag)
        me, fuel, it = ("me1", "fuel1", "it1")
        inner = scope.bind((me, UNIT), (fuel, n), (it, extra))
        del inner.names[me]
        step = self.expr(extra, inner.know(fuel, tag), 2)
        text = (f"{word}@ = *(({word}@, N@, {self.type(extra)}) {{ {self.type(extra)}; }} {m}, U@ u); "
                f"{quoted(name)} = {{ {word}@ ob = @({m}: ({word}@ {me}, N@ {fuel}, {self.type(extra)} {it}) {{ "
                f"{fuel}.?({quoted(zero)}: {it}); {me}.{m}({me}, {fuel}.{quoted(tag)}, {step}); }}, u: U@()); "
                f"ob.{m}(ob); }};")
        return text, scope.bind((name, function([n, extra], extra)))

    def module(self, imports, scope, count, exports):
        """Text of a module with so many definitions, and what it exports."""
        parts = [imports]
        for _ in range(count):
            text, scope = self.top(scope)
            parts.append(text)
        return parts, scope

    def program(self):
        """Files by name, and the modules that have the value and that can look at everything in it."""
        files = {}
        folder = self.root = self.word_for_file()
        self.hidden = f"{folder}/{self.word_for_file()}In"
        several = self.size > 15 and self.chance(0.6)
        self.package = f"{folder}/{self.word_for_file()}"
        statements = self.declare_types()
        everything = ", ".join(f"{quoted(n)}@" for n in self.types)
        imports = " ".join(statements)
        if several:
            files[self.package + ".fble"] = self.layout(imports + f" @({everything});")
            if self.chance(0.3):
                files[self.package + ".fble.@"] = self.layout(imports + f" @({everything});")
            imports = f"{everything} .= /{self.path(self.package)}%;"
            self.keep(files, imports)
        left, modules = self.size // 6, []
        while several and left > 1 and self.chance(0.8):
            count = self.dice.randint(1, min(left, 40))
            left -= count
            modules.append(self.library(files, imports, modules, count))
        self.package = f"{self.hidden}/Body" if not several or self.chance(0.3) else f"{folder}/Body"
        inside, scope = self.uses(modules)
        parts, scope = self.module(imports + self.kept_names(several) + inside, scope, max(1, left), False)
        kinds = {}
        for i in range(self.dice.randint(2, 6) + min(self.size // 4, 40)):
            text, kinds[f"r{i}"] = self.result(scope)
            parts.append(f"r{i} = {text};")
        files[self.package + ".fble"] = self.layout(" ".join(parts) + f" @({', '.join(kinds)});")
        self.header(files, imports, {n: self.type(t) for n, t in kinds.items()})
        self.last = imports, modules
        return files, self.package, f"{self.hidden}/Check"

    def actions_for_any(self, files):
        """A module with actions for any type of kind <@>@: what a program of type Main@ runs. Gives its path."""
        imports, modules = self.last
        self.package = f"{self.hidden}/Actions"
        inside, scope = self.uses(modules)
        parts, scope = self.module(imports + inside, scope, 2, False)
        scope = self.some_of(scope, 9).bind(("mon0", ("n", "Mo", (("v", "M"),))))
        names, types = [], ["Mo@"]
        for i in range(self.dice.randint(1, 4)):
            self.room, kind = 60, self.some_type(1, functions=False)
            names.append(f"a{i}: {self.expr(('a', 'M', kind), scope, 4)}")
            types.append(f"A{i}@: {self.type(kind)}")
        files[f"{self.package}.fble"] = self.layout(
            f"{' '.join(parts)} @({', '.join(types)}, "
            f"Actions: <<@>@ M@>(Mo@<M@> mon0) {{ @({', '.join(names)}); }});")
        files["Pure.fble"] = f"{imports} /{self.path(self.package)}%.Actions({self.new_record(self.identity())});\n"
        return self.package

    def undefined_values(self, pairs):
        """A module that fails at once by a pair of a use and a way, if there is one pair. Otherwise a module of
        functions that fail, one for each pair."""
        self.root = self.word_for_file()
        self.package = self.hidden = f"{self.root}/Undefined"
        parts = self.declare_types()
        for i, (use, way) in enumerate(pairs):
            kind = self.some_type(1)
            text = undefined.body(self, kind, Scope(), use, way)
            if len(pairs) > 1:
                text = undefined.position(self, self.type(kind), f"{{ {text} }}")
                text = f"f{i} = (U@ _un) {{ {self.type(kind)} und = {self.default(kind, Scope())}; {text} }};"
            parts.append(text)
        if len(pairs) > 1:
            parts.append(f"@({', '.join(f'f{i}' for i in range(len(pairs)))});")
        return {f"{self.package}.fble": self.layout(" ".join(parts))}, self.package

    def identity(self):
        return ("k", "Id@", "*", ("n", "Id", (("v", "*"),)))


    def header(self, files, imports, kinds):
        """Sometimes: what dependents see of the module instead of its source."""
        if self.chance(0.4):
            declared = " ".join(f"{t} {quoted(n)};" for n, t in kinds.items())
            files[self.package + ".fble.@"] = self.layout(f"{imports} {declared} @({', '.join(map(quoted, kinds))});")

    def keep(self, files, imports):
        """A module with a value of every private type, or a function that makes one of its parameters' values, for
        modules that cannot."""
        self.package, parts = f"{self.hidden}/Keep", []
        for declared in self.types.values():
            if not declared.opaque:
                continue
            params = [("v", p) for p in declared.params]
            names = {f"k{i}": p for i, p in enumerate(params)}
            value = self.default(("n", declared.name, tuple(params)), Scope(names))
            if params:
                kinds = ", ".join(f"@ {self.type(p)}" for p in params)
                value = f"<{kinds}>({', '.join(f'{self.type(p)} {n}' for n, p in names.items())}) {{ {value}; }}"
            self.keepers[declared.name] = f"keep{len(parts)}"
            parts.append(f"keep{len(parts)} = {value};")
        if parts:
            files[self.package + ".fble"] = self.layout(
                f"{imports} {' '.join(parts)} @({', '.join(self.keepers.values())});")

    def kept_names(self, several):
        if not several or self.inside or not self.keepers:
            return ""
        return f" {', '.join(self.keepers.values())} .= /{self.path(self.hidden + '/Keep')}%;"

    def kept(self, kind, scope):
        """A value of a private type."""
        text = self.keepers[kind[1]]
        if not kind[2]:
            return text
        types = ", ".join(map(self.type, kind[2]))
        return f"{text}<{types}>({', '.join(self.default(a, scope) for a in kind[2])})"

    def result(self, scope):
        """Something to look at: mostly what a function of the module gives."""
        self.room = 60
        calls = [(n, spine(t)) for n, t in scope.names.items() if t[0] == "f"]
        if not calls or self.chance(0.3):
            kind = self.some_type(2, functions=False)
            return self.expr(kind, self.some_of(scope, 9), 4), kind
        name, (arguments, kind) = self.pick(calls)
        few = self.some_of(scope, 9)
        given = [self.tall(a, few, 2) or self.expr(a, few, 2) for a in arguments]
        return f"{quoted(name)}({', '.join(given)})", kind

    def library(self, files, imports, before, count):
        """A module: its path, and what it exports."""
        path = f"{self.hidden if self.chance(0.4) else self.root}/{self.word_for_file()}{len(before)}"
        self.package = path
        inside, scope = self.uses(before)
        own = set(scope.names) | set(scope.polys)
        parts, scope = self.module(imports + self.kept_names(True) + inside, scope, count, True)
        names = [n for n in list(scope.names) + list(scope.polys) if n not in own]
        files[path + ".fble"] = self.layout(" ".join(parts) + f" @({', '.join(map(quoted, names))});")
        self.header(files, imports, {n: self.type(scope.names[n]) if n in scope.names else
                                     self.poly_type(n, *scope.polys[n]) for n in names})
        return (path, {n: t for n, t in scope.names.items() if n in names},
                {n: p for n, p in scope.polys.items() if n in names})

    def poly_type(self, name, params, kind):
        kinds = [("<@>@ " if p in self.higher else "@ ") + quoted(p) + "@" for p in params]
        if name in self.interleaved:
            return f"<{kinds[0]}>({self.type(kind[1])})<{kinds[1]}> {{ {self.type(kind[2])}; }}"
        return f"<{', '.join(kinds)}> {{ {self.type(kind)}; }}"

    def uses(self, modules):
        """Imports of some of what some modules have."""
        text, scope = "", Scope()
        for path, names, polys in modules:
            chosen = [n for n in [*names, *polys] if self.chance(0.5)][:20]
            if not chosen:
                continue
            text += f" {', '.join(map(quoted, chosen))} .= /{self.path(path)}%;"
            scope = scope.bind(*[(n, names[n]) for n in chosen if n in names])
            for n in chosen:
                if n in polys:
                    scope = scope.poly(n, *polys[n])
        return text, scope

    def path(self, file):
        return "/".join(map(quoted, file.split("/")))

    def word_for_file(self):
        while True:
            word = self.word()
            if "/" not in word and word and "\0" not in word and len(word) < 200 and word.isascii():
                return self.prefix + word

    # ---------------------------------------------------------------- layout

    def layout(self, text):
        """The same tokens with other space between them, so that lines and columns mean something."""
        out, column, before, loose = [], 0, "", self.dice.random() * 0.1
        for token in model.tokens(text)[:-1]:
            piece = text[token.start:token.end]
            space = ""
            if before == "word" and token.kind == "word":
                space = " "
            if column > 90 or before == ";" and self.chance(0.7):
                space = "\n" + " " * self.dice.randrange(5)
            elif self.chance(loose):
                space = self.pick([" ", "\t", "\n", " # 'a' comment\n", "\r\n", "\n\n", "  "])
            elif before in (",", ":", "=", "{", ";") or token.kind in ("}", "="):
                space = " "
            out += [space, piece]
            whole = space + piece
            column = len(whole) - whole.rindex("\n") if "\n" in whole else column + len(whole)
            before = token.kind
        return "".join(out) + "\n"


# ---------------------------------------------------------------- programs with their results

def leaves(value, way="", depth=0):
    """Accesses that reach everything in a value, up to a depth."""
    value = model.force(value)
    if isinstance(value, model.Union) and depth < 40:
        yield from leaves(value.value, way + "." + quoted(value.name), depth + 1)
    elif isinstance(value, model.Struct) and value.names and depth < 40:
        for name, inner in zip(value.names, value.values):
            if "\0" not in name:
                yield from leaves(inner, way + "." + quoted(name), depth + 1)
    else:
        yield way


class Made:
    """A program: its main module's name, its files, and either where it fails, (file, (line, column)), or how often
    each block is called; and a main module that does not look at the value."""

    def __init__(self, name, files, fails, calls, body):
        self.name, self.files, self.fails, self.calls, self.body = name, files, fails, calls, body

    def write(self, folder):
        for name, text in self.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(text.encode("latin-1"))


def undefined_values(seed, pairs, name="Main"):
    """A program that uses a value that is not there yet, by a pair of a use and a way of undefined.py. Or a module of
    functions that do, one for each pair."""
    generator = Generator(seed, 20, 2, prefix=name)
    files, body = generator.undefined_values(pairs)
    files[f"{name}.fble"] = f"/{generator.path(body)}%;\n"
    return evaluated(name, files)


def failures(made):
    """Where each function of such a module fails."""
    return [(failure.file, failure.pos) for failure in model.failures(made.files, made.name)]


def main_module(body, value):
    """Looks at everything in the value of the body."""
    lines = [f"r = {body}"]
    for way in leaves(value):
        if len(lines) > 300:
            break
        lines.append(f"_ = r{way};")
    return "\n".join(lines) + "\nr;\n"


def evaluated(name, files, body=None):
    """The program, with what the model says of it."""
    try:
        return Made(name, files, None, model.run(files, name)[1], body)
    except model.Failed as failure:
        return Made(name, files, (failure.file, failure.pos), None, body)


def make(seed, size, words=1, errors=0.0, name="Main"):
    """The first program of the seed that a model can evaluate. Names of modules begin with `name`."""
    for attempt in range(1000):
        generator = Generator(f"{seed}.{attempt}", size, words, errors, name)
        try:
            files, body, check = generator.program()
        except RecursionError:
            continue
        main, whole = f"{name}.fble", f"/{generator.path(body)}%;\n"
        files[main] = whole
        try:
            value, _ = model.run(files, body)
            files[f"{check}.fble"] = main_module(whole.strip(), value)
            files[main] = f"/{generator.path(check)}%;\n"
        except model.Failed:
            if not errors:
                raise
        except model.TooMuch:
            continue
        return evaluated(name, files, whole)
    raise RuntimeError(f"no program of seed {seed}")


PROGRAM = """Unit@ .= /Std/Unit%%;
Int .= /Std/Int%%;
List@ .= /Std/List%%;
String@, Str .= /Std/String%%;
Monad@, Each .= /Std/Monad%%;
Io@ .= /Std/Io%%;
Main .= /Std/Io/Cli%%;
Console .= /Std/Io/Console%%;
a = /%s%%;
Main(<<@>@ M@>(Monad@<M@> m, Io@<M@> io, List@<String@> args) {
  PrintLine, Error, ReadAll .= Console(m, io);
  a.Mo@<M@> mo = @(M@: m.M@, give: m.return, then: m.do);
  r = a.Actions(mo);
%s  m.return(Int|%d);
});
"""


def tags(value, way=""):
    """Accesses that reach unions, with their tags."""
    value = model.force(value)
    if isinstance(value, model.Union):
        yield way, value.name
        yield from tags(value.value, way + "." + quoted(value.name))
    elif isinstance(value, model.Struct):
        for name, inner in zip(value.names, value.values):
            yield from tags(inner, way + "." + quoted(name))


class Command:
    """A program of type Main@, with how it is run and what it says."""

    def __init__(self, made, words, stdin):
        self.made, self.words, self.stdin = made, words, stdin
        self.status, self.out, self.err = 0, "", ""


def command(seed, size, words=1):
    """A program of type Main@: it runs actions, says what they give, and echoes its arguments and its input. What the
    actions give is known from the model, with the simplest type of actions."""
    for attempt in range(1000):
        generator = Generator(f"{seed}.{attempt}", size, words, prefix="Main")
        try:
            files, _, _ = generator.program()
            actions = generator.actions_for_any(files)
            value = model.force(model.run(files, "Pure")[0])
        except (RecursionError, model.TooMuch):
            continue
        del files["Pure.fble"]
        dice = generator.dice
        done = Command(Made("Main", files, None, None, None), ["a", "", "é b", "-x"][:dice.randrange(5)], "in\nput\n")
        steps = [step(f"a{i}", inner) for i, inner in enumerate(value.values)] + [echo, read, complain]
        dice.shuffle(steps)
        done.status = dice.randrange(112)
        lines = [line for at, one in enumerate(steps) for line in one(done, at)]
        files[f"{actions}Main.fble"] = PROGRAM % (generator.path(actions), "".join(lines), done.status)
        files["Main.fble"] = f"/{generator.path(actions + 'Main')}%;\n"
        return done
    raise RuntimeError(f"no program of seed {seed}")


def step(name, value):
    """Runs an action and says some of what it gave."""
    def lines(done, at):
        yield f"  a.{name.upper()}@ x{at} := m.do(r.{name});\n"
        for way, tag in list(tags(model.force(value).values[0]))[:5]:
            done.out += f"{at} yes\n"
            yield f"  Unit@ _ := m.do(PrintLine(x{at}{way}.?({quoted(tag)}: Str|'{at} yes', : Str|'{at} no')));\n"
    return lines


def echo(done, at):
    done.out += "".join(f"{word}\n" for word in done.words)
    yield "  Unit@ _ := m.do({ String@ s := Each(m, args); PrintLine(s); });\n"


def read(done, at):
    done.out += done.stdin + "\n"
    yield "  String@ text := m.do(ReadAll); Unit@ _ := m.do(PrintLine(text));\n"


def complain(done, at):
    done.err += "no\n"
    yield "  Unit@ _ := m.do(Error(Str|'no'));\n"


def deep(function, *arguments):
    """Calls a function with a stack that is large enough for the model, and gives what it gives or raises."""
    result = concurrent.futures.Future()

    def call():
        try:
            result.set_result(function(*arguments))
        except BaseException as e:  # SystemExit, too: it is a suite's status
            result.set_exception(e)

    old = threading.stack_size(512 << 20)
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    threading.stack_size(old)
    return result.result()


if __name__ == "__main__":
    made = deep(make, sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60, 1,
                float(os.environ.get("ERRORS", "0")))
    if len(sys.argv) > 3:
        made.write(sys.argv[3])
    else:
        for name, text in made.files.items():
            print(f"--- {name}\n{text}", end="")

# SPDX-License-Identifier: MIT
"""A naive model of Fble: reads sources and evaluates them, by the language reference and by nothing else.

It has no types, since Fble erases them; of types as values it knows what is needed at run time, the names of fields. A
program that would not be well-typed means nothing here. Everything is a Python object, calls are Python's calls, and
nothing is fast.

    value, calls = run({"Main.fble": "...", "Lib.fble": "..."}, "Main")     # or raises Failed, or TooMuch

Sources are text with one character per byte (latin-1), so that columns are bytes.
"""
import collections
import re
import sys

SPACE = " \t\n\v\f\r"
PUNCTUATION = "(){}[]<>;,:?=.+*-!$@~&|%/^"
Token = collections.namedtuple("Token", "kind text pos start end")  # kind: "word", "end", or the punctuation itself


class Failed(Exception):
    """A run-time error, at a line and column of a file."""

    def __init__(self, file, pos):
        super().__init__(f"{file}:{pos[0]}:{pos[1]}")
        self.file, self.pos = file, pos


class TooMuch(Exception):
    """The program takes too long for a model, or does not say which of two errors is shown."""


class Malformed(Exception):
    """The source is no Fble, or the types in it do not fit so badly that the model noticed."""


# ---------------------------------------------------------------- tokens

TOKEN = re.compile(r"""(?P<space>(?:[ \t\n\v\f\r]|\#[^\n]*)+)
                     | '(?P<quoted>(?:[^']|'')*)(?:'|$)
                     | (?P<mark>[*+]\( | \.[?@%]\( | \.= | := | \(\. | [][(){}<>;,:?=.+*\-!$@~&|%/^])
                     | (?P<word>[^][(){}<>;,:?=.+*\-!$@~&|%/^ \t\n\v\f\r\#']+)""", re.X)


def tokens(text):
    found, at, line, begin = [], 0, 1, 0
    while at < len(text):
        part = TOKEN.match(text, at)
        pos, start, at = (line, at - begin + 1), at, part.end()
        kind, said = part.lastgroup, part.group(part.lastgroup)
        if kind == "mark":
            found.append(Token(said, said, pos, start, at))
            continue
        if kind != "space":
            found.append(Token("word", said.replace("''", "'") if kind == "quoted" else said, pos, start, at))
        if "\n" in said:
            line, begin = line + said.count("\n"), text.rindex("\n", start, at) + 1
    found.append(Token("end", "", (line, at - begin + 1), at, at))
    return found


def quoted(word):
    plain = word and not any(c in SPACE + PUNCTUATION + "'#" for c in word)
    return word if plain else "'" + word.replace("'", "''") + "'"


# ---------------------------------------------------------------- trees

class Node:
    """kind, position, the text from start to end, and what the kind has: see Parser."""

    def __init__(self, kind, pos, start, **has):
        self.kind, self.pos, self.start, self.end = kind, pos, start, None
        self.__dict__.update(has)


Name = collections.namedtuple("Name", "text pos start end")  # of a variable, field or tag; of a type with \0 at the end


class Parser:
    def __init__(self, text):
        self.all, self.at, self.paths, self.nodes = tokens(text), 0, [], []

    @property
    def token(self):
        return self.all[self.at]

    def done(self, node):
        node.end = self.all[self.at - 1].end
        self.nodes.append(node)
        return node

    def node(self, kind, first, **has):
        return self.done(Node(kind, first.pos, first.start, **has))

    def next(self, kind=None):
        token = self.token
        if kind and token.kind != kind:
            raise Malformed(f"{token.pos}: expected {kind}, found {token.kind} {token.text!r}")
        self.at += 1
        return token

    def skip(self, kind):
        if self.token.kind == kind:
            self.at += 1
            return True
        return False

    def some(self, end, item):
        """Items with commas between them, up to `end`."""
        items = []
        while not self.skip(end):
            if items:
                self.next(",")
            items.append(item())
        return items

    def name(self):
        word = self.next("word")
        kind = "@" if self.skip("@") else ""
        return Name(word.text + "\0" * bool(kind), word.pos, word.start, self.all[self.at - 1].end)

    def module(self):
        body = self.body()
        self.next("end")
        return body

    # -- statements. A body is a list of statements and a result, so that long ones do not nest.

    def body(self):
        first, statements = self.token, []
        while True:
            start = self.token
            node = self.expr()
            if self.token.kind == ";" and self.all[self.at + 1].kind in ("}", "end"):
                self.next()
                return self.node("body", first, statements=statements, result=node)
            if self.skip(";"):
                if node.kind != "select" or node.default:
                    raise Malformed(f"{self.token.pos}: a guard is a select without a default")
                statements.append(self.node("guard", start, select=node))
            else:
                statements.append(self.statement(start, node))

    def statement(self, start, node):
        items = [self.item(node)]
        if items[0][3] is None and self.skip(";"):
            return self.node("foreign", start, type=items[0][0], name=items[0][1])
        while self.skip(","):
            items.append(self.item(self.expr()))
        kind = self.next().kind if items[0][3] is None else "="
        if kind == "=":
            self.next(";")
            return self.node("let", start, defs=[(t, n, d) for t, n, _, d in items])
        value = self.expr()
        self.next(";")
        if kind == ".=":
            return self.node("import", start, picks=[(t, n, f) for t, n, f, _ in items], value=value)
        if kind == ":=":
            return self.node("bind", start, params=[(t, n) for t, n, _, _ in items], function=value)
        raise Malformed(f"{start.pos}: what is {kind}?")

    def item(self, node):
        """[Type] name [(.field)] [= definition]."""
        kind = None
        if self.token.kind == "word":
            kind, name = node, self.name()
        elif node.kind == "var":
            name = node.name
        else:
            raise Malformed(f"{self.token.pos}: a name was expected")
        field = definition = None
        if self.skip("(."):
            field = self.name()
            self.next(")")
        elif self.skip("="):
            definition = self.expr()
        return kind, name, field, definition

    # -- expressions

    def expr(self):
        first, node = self.token, self.atom()
        while True:
            kind = self.token.kind
            if kind == "(" and self.all[self.at + 1].kind == "word" and (
                    self.all[self.at + 2].kind == ":" or
                    self.all[self.at + 2].kind == "@" and self.all[self.at + 3].kind == ":"):
                self.next()
                name = self.name()
                self.next(":")
                argument = self.expr()
                self.next(")")
                node = self.node("union", first, head=node, name=name, argument=argument)
            elif self.skip("("):
                node = self.node("apply", first, head=node, arguments=self.some(")", self.expr))
            elif self.skip("."):
                node = self.node("access", first, object=node, name=self.name())
            elif self.skip(".@("):
                node = self.node("copy", first, object=node, slots=self.some(")", self.slot))
            elif self.skip(".?("):
                arms = self.some(")", self.arm)
                default = arms.pop()[1] if arms[-1][0] is None else None
                node = self.node("select", first, object=node, arms=arms, default=default)
            elif self.skip(".%("):
                package = self.expr()
                self.next(")")
                node = self.node("private", first, object=node, package=package)
            elif self.skip("<"):
                node = self.node("tapply", first, head=node, arguments=self.some(">", self.expr))
            elif self.skip("["):
                node = self.node("list", first, head=node, items=self.some("]", self.expr))
            elif self.skip("|"):
                node = self.node("literal", first, head=node, word=self.next("word"))
            else:
                return node

    def arm(self):
        name = None if self.token.kind == ":" else self.name()
        self.next(":")
        return name, self.expr()

    def slot(self):
        name = self.name()
        if self.skip(":"):
            return name, self.expr()
        return name, Node("var", name.pos, name.start, name=name)

    def path(self):
        words = []
        while self.skip("/"):
            words.append(self.next("word").text)
        self.next("%")
        return tuple(words)

    def param(self):
        return self.expr(), self.name()

    def kind(self):
        if self.skip("<"):
            self.some(">", self.kind)
            self.kind()
        else:
            self.next("@")

    def tparam(self):
        self.kind()
        return self.name()

    def block(self):
        first = self.token
        if self.skip("{"):
            body = self.body()
            self.next("}")
            return body
        if self.skip("<"):
            params = self.some(">", self.tparam)
            return self.node("poly", first, params=params, body=self.block())
        self.next("(")
        head, names = [], []
        while not self.skip(")"):
            if head:
                self.next(",")
            head.append(self.expr())
            if self.token.kind == "word":
                names.append(self.name())
        if names:
            return self.node("function", first, params=list(zip(head, names)), body=self.block())
        return self.node("function_type", first, arguments=head, result=self.block())

    def atom(self):
        first = self.token
        if first.kind == "word":
            return self.node("var", first, name=self.name())
        if first.kind == "/":
            self.paths.append(self.path())
            return self.node("path", first, words=self.paths[-1])
        if self.skip("*("):
            return self.node("struct_type", first, fields=self.some(")", self.param))
        if self.skip("+("):
            return self.node("union_type", first, fields=self.some(")", self.param))
        if self.skip("@"):
            if self.skip("("):
                return self.node("export", first, slots=self.some(")", self.slot))
            if self.skip("<"):
                inside = self.expr()
                self.next(">")
                return self.node("typeof", first, inside=inside)
            self.path()
            return self.node("package", first)
        return self.block()


# ---------------------------------------------------------------- values

Struct = collections.namedtuple("Struct", "names values")
Union = collections.namedtuple("Union", "name value")
TStruct = collections.namedtuple("TStruct", "names fields")  # fields: functions that give their types
TUnion = collections.namedtuple("TUnion", "names fields")
TPoly = collections.namedtuple("TPoly", "param apply")  # of types only: the argument is put into the body
TOther = collections.namedtuple("TOther", "")
TYPES = TStruct, TUnion, TPoly, TOther
Closure = collections.namedtuple("Closure", "code env given")
Code = collections.namedtuple("Code", "params body label file")


class Placeholder:
    def __init__(self):
        self.value = None


class Env:
    """The names of one construct, and the scope around them."""

    def __init__(self, names, outer):
        self.names, self.outer = names, outer

    def find(self, name):
        env = self
        while env:
            if name in env.names:
                return env.names[name]
            env = env.outer
        raise Malformed(f"no {name!r}")


def force(value):
    while isinstance(value, Placeholder) and value.value is not None:
        value = value.value
    return value


def is_type(value):
    return isinstance(force(value), TYPES)


# ---------------------------------------------------------------- evaluation

class Module:
    def __init__(self, model, path, file, body):
        self.model, self.path, self.file, self.body = model, path, file, body
        self.label = "/" + "/".join(path) + "%"

    def fail(self, pos):
        raise Failed(self.file, pos)


class Model:
    def __init__(self, files, budget):
        self.files, self.budget, self.values, self.calls = files, budget, {}, collections.Counter()

    def load(self, path):
        if path not in self.values:
            file = "/".join(path) + ".fble"
            parser = Parser(self.files[file])
            body = parser.module()
            for dependency in parser.paths:
                if "/".join(dependency) + ".fble" in self.files:
                    self.load(dependency)
            module = Module(self, path, file, body)
            self.calls[module.label] += 1
            self.values[path] = self.eval(body, None, module, module.label)
        return self.values[path]

    def eval(self, node, env, module, label):
        self.budget -= 1
        if self.budget < 0:
            raise TooMuch()
        return getattr(self, "do_" + node.kind)(node, env, module, label)

    # -- bodies

    def do_body(self, node, env, module, label):
        for i, statement in enumerate(node.statements):
            if statement.kind == "guard":
                select = statement.select
                tag = self.tag(select, env, module, label)
                for name, branch in select.arms:
                    if name.text == tag:
                        return self.eval(branch, env, module, label)
            elif statement.kind == "bind":
                function = self.eval(statement.function, env, module, label)
                rest = Node("body", None, None, statements=node.statements[i + 1:], result=node.result)
                closure = self.closure(statement.params, rest, env, module, label)
                return self.apply(function, [closure], module, statement.pos)
            else:
                env = getattr(self, "do_" + statement.kind)(statement, env, module, label)
        return self.eval(node.result, env, module, label)

    def do_let(self, node, env, module, label):
        places = {name.text: Placeholder() for _, name, _ in node.defs}
        inner = Env(places, env)
        found = {name.text: self.eval(value, inner, module, label + "." + name.text.replace("\0", "@"))
                 for _, name, value in node.defs}
        for name, value in found.items():
            if value is not places[name]:
                places[name].value = value
        for _, name, _ in reversed(node.defs):
            value, seen = places[name.text], set()
            while isinstance(value, Placeholder) and value.value is not None and id(value) not in seen:
                seen.add(id(value))
                value = value.value
            if isinstance(value, Placeholder) and (id(value) in seen or value in places.values()):
                module.fail(name.pos)
        return Env({name: force(place) for name, place in places.items()}, env)

    def do_import(self, node, env, module, label):
        value = force(self.eval(node.value, env, module, label))
        if isinstance(value, Placeholder):
            module.fail(node.picks[0][1].pos)
        return Env({name.text: self.field(value, (field or name).text) for _, name, field in node.picks}, env)

    def do_foreign(self, node, env, module, label):
        module.fail(node.name.pos)

    # -- types

    def do_struct_type(self, node, env, module, label):
        return TStruct([name.text for _, name in node.fields],
                       [lambda t=t: self.eval(t, env, module, label) for t, _ in node.fields])

    def do_union_type(self, node, env, module, label):
        return TUnion([name.text for _, name in node.fields],
                      [lambda t=t: self.eval(t, env, module, label) for t, _ in node.fields])

    def do_function_type(self, node, env, module, label):
        return TOther()

    do_package = do_typeof = do_function_type

    def do_poly(self, node, env, module, label, skip=0):
        names = {param.text: TOther() for param in node.params[skip:]}
        value = self.eval(node.body, Env(names, env), module, label)
        if not is_type(value):
            return value

        def apply(argument):
            inner = Env({node.params[skip].text: argument}, env)
            if skip + 1 == len(node.params):
                return self.eval(node.body, inner, module, label)
            return self.do_poly(node, inner, module, label, skip + 1)

        return TPoly(node.params[skip].text, apply)

    def do_tapply(self, node, env, module, label):
        head = self.eval(node.head, env, module, label)
        for argument in node.arguments:
            head = force(head)
            if not isinstance(head, TPoly):
                return head
            head = head.apply(self.eval(argument, env, module, label))
        return head

    def do_private(self, node, env, module, label):
        return self.eval(node.object, env, module, label)

    def without_polys(self, kind):
        kind = force(kind)
        while isinstance(kind, TPoly):
            kind = force(kind.apply(TOther()))
        return kind

    # -- values

    def do_var(self, node, env, module, label):
        return env.find(node.name.text)

    def do_path(self, node, env, module, label):
        return self.values[node.words]

    def do_function(self, node, env, module, label):
        return self.closure(node.params, node.body, env, module, label)

    def closure(self, params, body, env, module, label):
        """Functions that only give a function are one."""
        while True:
            if body.kind == "body" and not body.statements:
                body = body.result
            elif body.kind == "poly":
                env, body = Env({param.text: TOther() for param in body.params}, env), body.body
            elif body.kind == "function":
                params, body = params + body.params, body.body
            else:
                return Closure(Code([(t, n.text) for t, n in params], body, label, module), env, ())

    def do_export(self, node, env, module, label):
        return Struct([name.text for name, _ in node.slots],
                      [self.eval(value, env, module, label) for _, value in node.slots])

    def do_union(self, node, env, module, label):
        self.eval(node.head, env, module, label)
        return Union(node.name.text, self.eval(node.argument, env, module, label))

    def field(self, value, name):
        return value.values[value.names.index(name)]

    def do_access(self, node, env, module, label):
        value = force(self.eval(node.object, env, module, label))
        if isinstance(value, Struct):
            return self.field(value, node.name.text)
        if isinstance(value, Union) and value.name == node.name.text:
            return value.value
        return module.fail(node.name.pos)

    def do_copy(self, node, env, module, label):
        value, *slots = self.operands([node.object, *(slot for _, slot in node.slots)], env, module, label)
        value = force(value)
        if isinstance(value, Placeholder):
            module.fail(node.pos)
        values = list(value.values)
        for (name, _), slot in zip(node.slots, slots):
            values[value.names.index(name.text)] = slot
        return Struct(value.names, values)

    def tag(self, node, env, module, label):
        value = force(self.eval(node.object, env, module, label))
        if isinstance(value, Placeholder):
            module.fail(node.pos)
        return value.name

    def do_select(self, node, env, module, label):
        tag = self.tag(node, env, module, label)
        branch = next((branch for name, branch in node.arms if name.text == tag), node.default)
        return self.eval(branch, env, module, label)

    # -- calls

    def operands(self, nodes, env, module, label):
        """Their values. The language leaves their order open: if it decides which error is shown, a program is of no
        use."""
        values, failure = [], None
        for node in nodes:
            try:
                values.append(self.eval(node, env, module, label))
            except Failed as found:
                if failure:
                    raise TooMuch() from None
                failure = found
        if failure and any(isinstance(force(value), Placeholder) for value in values):
            raise TooMuch()
        if failure:
            raise failure
        return values

    def do_apply(self, node, env, module, label):
        head, *arguments = self.operands([node.head, *node.arguments], env, module, label)
        if is_type(head):
            return Struct(self.without_polys(head).names, arguments)
        return self.apply(head, arguments, module, node.pos)

    def apply(self, function, arguments, module, pos):
        while arguments:
            function = force(function)
            if isinstance(function, Placeholder):
                module.fail(pos)
            code, given = function.code, function.given + tuple(arguments)
            if len(given) < len(code.params):
                return Closure(code, function.env, given)
            taken = len(code.params) - len(function.given)
            names = {name: value for (_, name), value in zip(code.params, given)}
            self.calls[code.label] += 1
            function = self.eval(code.body, Env(names, function.env), code.file, code.label)
            arguments = arguments[taken:]
        return function

    def list_type(self, function):
        """The names of a list and its elements' type, from the type of a function's next parameter."""
        code = function.code
        kind = self.eval(code.params[len(function.given)][0], function.env, code.file, code.label)
        kind = self.without_polys(kind)
        cell = self.without_polys(kind.fields[0]())
        return kind.names, cell.names, cell.fields[0]

    def make_list(self, node, function, items, module):
        function = force(function)
        if isinstance(function, Placeholder):
            module.fail(node.pos)
        tags, fields, _ = self.list_type(function)
        value = Union(tags[1], Struct([], []))
        for item in reversed(items):
            value = Union(tags[0], Struct(fields, [item, value]))
        return self.apply(function, [value], module, node.pos)

    def do_list(self, node, env, module, label):
        function, *items = self.operands([node.head, *node.items], env, module, label)
        return self.make_list(node, function, items, module)

    def letter(self, kind, word, searched):
        kind = self.without_polys(kind)
        if not isinstance(kind, TUnion) or id(kind) in searched:
            return None
        for name, field in zip(kind.names, kind.fields):
            inside = self.without_polys(field())
            if inside == TStruct([], []):
                if name and word.startswith(name):
                    return Union(name, Struct([], [])), len(name)
            elif found := self.letter(inside, word, searched | {id(kind)}):
                return Union(name, found[0]), found[1]
        return None

    def do_literal(self, node, env, module, label):
        function = force(self.eval(node.head, env, module, label))
        if isinstance(function, Placeholder):
            module.fail(node.pos)
        kind, rest, items = self.list_type(function)[2](), node.word.text, []
        while rest:
            value, length = self.letter(kind, rest, frozenset())
            items.append(value)
            rest = rest[length:]
        return self.make_list(node, function, items, module)


def failures(files, main):
    """How each function of the module's value fails, applied to the unit."""
    sys.setrecursionlimit(20_000)
    model = Model(files, 10_000_000)
    value, found = model.load(tuple(main.split("/"))), []
    for function in value.values:
        try:
            model.apply(function, [Struct([], [])], None, None)
        except Failed as failure:
            found.append(failure)
    return found


def run(files, main, budget=300_000):
    """The value of the module, and how often every block was called."""
    sys.setrecursionlimit(20_000)
    model = Model(files, budget)
    try:
        return model.load(tuple(main.split("/"))), model.calls
    except RecursionError:
        raise TooMuch() from None

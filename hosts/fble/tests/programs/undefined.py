# SPDX-License-Identifier: MIT
"""Expressions that fail because they use a variable whose let is still being evaluated.

A *use* is an operation that needs the value: a call, a field, a select. A *way* is how the variable comes to where it
is used: by an alias, an argument, a field, a capture. Every use is combined with every way; `position` adds what
stands around it, so that calls are tail calls or not. body() gives a body of any type:

    T@ und = DEFAULT; W@ unx = { T@ unv = WAY(USE(unx)); VALUE(unv); }; USE(unx);

A use is a function of the generator and the text of the type T@ that it shall have. It gives three: the type W@ of the
variable as text, the use as a function of an expression, and a value of type W@ as a function of one of type T@. All
names begin with `un`, so they hide none of the program's.
"""
from model import quoted

UNIT = "U@()"


def calls(count):
    def use(g, t):
        params = ", ".join(f"U@ _un{i}" for i in range(count))
        return (f"({', '.join(['U@'] * count)}) {{ {t}; }}", lambda e: f"{e}({', '.join([UNIT] * count)})",
                lambda v: f"({params}) {{ {v}; }}")
    return use


def call_with_more(g, t):
    return (f"(U@) {{ (U@) {{ {t}; }}; }}", lambda e: f"{e}({UNIT}, {UNIT})",
            lambda v: f"(U@ _una) {{ unm = {v}; (U@ _unb) {{ unm; }}; }}")


def call_with_fewer(g, t):
    return (f"(U@, U@) {{ {t}; }}", lambda e: f"{{ unp = {e}({UNIT}); unp({UNIT}); }}",
            lambda v: f"(U@ _una, U@ _unb) {{ {v}; }}")


def call_in_two_portions(g, t):
    kind, _, value = call_with_fewer(g, t)
    return kind, lambda e: f"{e}({UNIT})({UNIT})", value


def on_a_list(g, t):
    items = ", ".join([UNIT] * g.dice.randrange(4))
    return f"(L@<U@>) {{ {t}; }}", lambda e: f"{e}[{items}]", lambda v: f"(L@<U@> _una) {{ {v}; }}"


def on_a_literal(g, t):
    word = quoted("".join(g.pick(g.types["D"].form[1])[0] for _ in range(g.dice.randrange(4))))
    return f"(L@<D@>) {{ {t}; }}", lambda e: f"{e}|{word}", lambda v: f"(L@<D@> _una) {{ {v}; }}"


def bind(g, t):
    return (f"((U@) {{ {t}; }}) {{ {t}; }}", lambda e: f"{{ U@ _unb := {e}; und; }}",
            lambda v: f"((U@) {{ {t}; }} _unk) {{ {v}; }}")


def polymorphic_call(g, t):
    given = g.pick(["", "<U@>"])
    return (f"<@ Z@> {{ (Z@) {{ {t}; }}; }}", lambda e: f"{e}{given}({UNIT})", lambda v: f"<@ Z@>(Z@ _una) {{ {v}; }}")


def call_of_a_cast(g, t):
    kind, _, value = calls(1)(g, t)
    return kind, lambda e: f"{e}.%(@/{quoted(g.root)}%)({UNIT})", value


def field(g, t):
    return f"*({t} q, U@ r)", lambda e: f"{e}.q", lambda v: f"@(q: {v}, r: {UNIT})"


def only_field(g, t):
    return f"*({t} q)", lambda e: f"{e}.q", lambda v: f"@(q: {v})"


def payload(g, t):
    return f"+(U@ p, {t} q)", lambda e: f"{e}.q", lambda v: f"+(U@ p, {t} q)(q: {v})"


def only_payload(g, t):
    return f"+({t} q)", lambda e: f"{e}.q", lambda v: f"+({t} q)(q: {v})"


def imported(g, t):
    return f"*(U@ p, {t} q)", lambda e: f"{{ uni(.q) .= {e}; uni; }}", lambda v: f"@(p: {UNIT}, q: {v})"


def copy(g, t):
    kind, _, value = field(g, t)
    return kind, lambda e: f"{e}.@(r: {UNIT}).q", value


def copy_of_all(g, t):
    kind, _, value = field(g, t)
    return kind, lambda e: f"{e}.@(q: und, r: {UNIT}).q", value


def selects(count, arms):
    def use(g, t):
        kind = "+(" + ", ".join(f"U@ q{i}" for i in range(count)) + ")"
        return (kind, lambda e: arms.format(e=e, all=", ".join(f"q{i}: und" for i in range(count))),
                lambda v: f"{{ {t} _unw = {v}; {kind}(q0: {UNIT}); }}")
    return use


USES = {"call": calls(1), "call of two": calls(2), "call of three": calls(3), "call of five": calls(5),
        "call with more": call_with_more, "call with fewer": call_with_fewer, "call in portions": call_in_two_portions,
        "list": on_a_list, "literal": on_a_literal, "bind": bind, "polymorphic call": polymorphic_call,
        "call of a cast": call_of_a_cast, "field": field, "only field": only_field, "payload": payload,
        "only payload": only_payload, "import": imported, "copy": copy, "copy of all": copy_of_all,
        "select": selects(2, "{e}.?({all})"), "select of one": selects(1, "{e}.?({all})"),
        "select with a default": selects(3, "{e}.?(q1: und, : und)"),
        "select of many": selects(12, "{e}.?({all})"), "guard": selects(2, "{{ {e}.?(q0: und); und; }}")}


def position(g, t, text):
    """A body whose result is the expression, or that needs its value: as a tail or not."""
    return g.pick([
        f"{text};", f"{text};", f"{t} unr = {text}; unr;", f"{{ {text}; }};", f"({t} unr) {{ unr; }}({text});",
        f"+(U@ p, U@ q)(q: {UNIT}).?(p: und, q: {text});", f"+(U@ p, U@ q)(q: {UNIT}).?(p: und); {text};",
        f"@(unr: {text}).unr;", f"+({t} p, U@ q)(p: {text}).p;", f"*({t} p, U@ q)({text}, {UNIT}).p;"])


def argument(g, w, t, use):
    """One of some arguments of a function that is known."""
    count = g.dice.randint(1, 5)
    at = g.dice.randrange(count)
    params = ", ".join(f"{w} uny" if i == at else f"U@ _un{i}" for i in range(count))
    given = ", ".join("unx" if i == at else UNIT for i in range(count))
    return f"{{ ung = ({params}) {{ {position(g, t, use('uny'))} }}; ung({given}); }}"


def element(g, w, t, use):
    cell, _ = g.types["L"].form[1][0]
    head, _ = g.types["L"].form[1][0][1][1][0]
    return f"(L@<{w}> unl) {{ {position(g, t, use(f'unl.{quoted(cell)}.{quoted(head)}'))} }}[unx]"


def by_let(value, name="uny"):
    """A variable, or something in one, has the value."""
    return lambda g, w, t, use: f"{{ {value(w)} {position(g, t, use(name))} }}"


CHOICE = f"+(U@ p, U@ q)(q: {UNIT}).?(p: unx, q: unx)"
WAYS = {
    "direct": lambda g, w, t, use: use("unx"),
    "alias": by_let(lambda w: f"{w} uny = unx;"),
    "field": by_let(lambda w: f"uns = @(q: unx, r: {UNIT});", "uns.q"),
    "only field": by_let(lambda w: "uns = @(q: unx);", "uns.q"),
    "payload": by_let(lambda w: f"+({w} q, U@ r) uns = +({w} q, U@ r)(q: unx);", "uns.q"),
    "select": by_let(lambda w: f"{w} uny = {CHOICE};"),
    "selected": lambda g, w, t, use: f"{{ {position(g, t, use(CHOICE))} }}",
    "result": by_let(lambda w: f"ung = ({w} uny) {{ uny; }}; {w} uny = ung(unx);"),
    "returned": by_let(lambda w: f"ung = ({w} uny) {{ uny; }};", "ung(unx)"),
    "returned by an unknown function": by_let(lambda w: f"ung = {{ _ = {UNIT}; ({w} uny, U@ _u) {{ uny; }}; }};",
                                              f"ung(unx, {UNIT})"),
    "argument": argument,
    "argument of an unknown function":
        lambda g, w, t, use: f"(({w}) {{ {t}; }} unh) {{ unh(unx); }}(({w} uny) {{ {position(g, t, use('uny'))} }})",
    "held by a partial application":
        lambda g, w, t, use: f"{{ ung = ({w} uny, U@ _un) {{ {position(g, t, use('uny'))} }}; unp = ung(unx); "
                             f"unp({UNIT}); }}",
    "element": element,
    "capture": lambda g, w, t, use: f"(U@ _un) {{ {position(g, t, use('unx'))} }}({UNIT})",
    "capture of several functions":
        lambda g, w, t, use: f"{{ (U@) {{ {t}; }} ung = (U@ _un) {{ {position(g, t, use('unx'))} }}, (U@) {{ {t}; }} "
                             f"unh = (U@ unu) {{ ung(unu); }}; unh({UNIT}); }}",
}


def body(g, kind, scope, use=None, way=None):
    t, default = g.type(kind), g.default(kind, scope)
    w, needs, value = USES[use or g.pick(list(USES))](g, t)
    carried = WAYS[way or g.pick(list(WAYS))](g, w, t, needs)
    inside = f"{{ {t} unv = {carried}; {value('unv')}; }}"
    if g.chance(0.2):  # another variable of the same let
        return f"{t} und = {default}; {w} unz = {inside}, {w} unx = {value('und')}; {needs('unz')};"
    return f"{t} und = {default}; {w} unx = {inside}; {needs('unx')};"

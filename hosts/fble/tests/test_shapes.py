#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of unusual shapes: test_shapes.py FBLE OURO [WORD...]

Calls where branches meet, arguments that wait, names of any bytes. They compile with every compiler that is here, and
do what the interpreter does.
"""
import itertools, os, random, re, resource, shutil, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../../tests/support")
from suite import arguments, case, has, main, read, run, same, write

FBLE, OURO = arguments("FBLE", "OURO")
WORK = tempfile.TemporaryDirectory()  # objects that all cases share
OBJECTS = os.path.join(WORK.name, "objects")
SEED = int(os.environ.get("OURO_SEED", random.randrange(1 << 32)))
COMPILERS = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
NUMBERS = "U@ = *(); U@ u = U@(); B@ = +(U@ a, U@ b, U@ c); N@ = +(N@ s, U@ z); N@ zero = N@(z: u);\n"


def compiled(*options, cc="cc", flags="-O1", kind="--eval", to="out"):
    return run(FBLE, "compile", kind, "-o", to, "--build-dir", OBJECTS, *options, status=0, timeout=600,
               env={**os.environ, "CFLAGS": flags, "CC": cc})


def does_the_same(*options, cc="cc", flags="-O1"):
    """The interpreter and the compiled program agree that the program is fine."""
    same(run(FBLE, "eval", *options), (0, "", ""))
    same(without_slow(compiled(*options, cc=cc, flags=flags).err, flags), "", (cc, flags))
    same(run("./out"), (0, "", ""), (cc, flags))


def without_slow(err, flags):
    return err.replace(f'fble compile: with CFLAGS="{flags}" calls do not become jumps, so programs are about '
                       "two times slower; -O1 is fine\n", "", 1)


def number(n, of="zero"):
    return "N@(s: " * n + of + ")" * n


# What an arm is, and what it adds to n.
ARMS = {"value": ("n", 0), "call": ("Twice(n)", 2), "other": ("_f(n)", 2), "two": ("Twice(_f(n))", 4)}
# How the arms are put together. Those without a tag c of their own give it what b has.
FORMS = {"guard": "{{ t.?(a: {0}); {1}; }}", "default": "t.?(a: {0}, : {1})",
         "select": "t.?(a: {0}, b: {1}, c: {2})", "guards": "{{ t.?(a: {0}); t.?(b: {1}); {2}; }}",
         "nested": "t.?(a: {0}, : {{ N@ k = t.?(b: {1}, : {2}); k; }})"}


def joining(form, arms, tail):
    """Bodies of functions whose branches meet before `tail`; what each adds to n, for the tags a, b and c."""
    select = FORMS[form].format(*(ARMS[arm][0] for arm in arms))
    adds = [ARMS[arm][1] for arm in arms]
    if "{2}" not in FORMS[form]:
        adds[2] = adds[1]
    ends = (number(tail, "m"), tail), (f"{number(tail)}{'.s' * tail}.?(z: m, : zero)", 0), \
        (f"Twice({number(tail, 'm')})", tail + 2)
    return [(f"N@ m = {select}; {end};", [add + more for add in adds]) for end, more in ends]


@case
def branches_that_meet_after_calls_compile_in_every_mix():
    lines, checks = [NUMBERS + "Twice = (N@ n) { N@(s: N@(s: n)); };"], []
    mixes = itertools.product(FORMS, itertools.product(ARMS, repeat=2), ("value", "call"), (1, 20))
    bodies = [body for form, arms, last, tail in mixes for body in joining(form, (*arms, last), tail)]
    for body, adds in random.sample(bodies, 60):
        name = f"F{len(lines)}"
        lines.append(f"{name} = (B@ t, N@ n, (N@) {{ N@; }} _f) {{ {body} }};")
        checks += [f"{name}(B@({tag}: u), zero, Twice){'.s' * add}.z" for tag, add in zip("abc", adds)]
    lines += [f"@({', '.join(f'x{i}: {check}' for i, check in enumerate(checks))});"]
    write("Main.fble", "\n".join(lines))
    does_the_same("Main.fble", flags="-O0")


def same_profiles(metrics, interpreted, other):
    """Both command lines must agree on every path. Gives what each metric has."""
    for line, to in (interpreted, "i.pb"), (other, "c.pb"):
        same(run(*line, "--profile", to, "--profile-metrics", metrics).status, 0)
    found = {}
    for metric in ("calls", *metrics.split(",")):
        texts = [run(OURO, "convert", "--to", "folded", "--metric", metric, file, "-", status=0).out
                 for file in ("i.pb", "c.pb")]
        same(*(sorted(text.splitlines()) for text in texts), metric)
        found[metric] = texts[0]
    return found


MAIN = FBLE, "eval", "-I", ".", "-m", "/Main%"
LIBRARY = *MAIN, "--compiled", "lib.so"
FEW = 8  # one of so many checks is compiled


def write_library(lines, names, checks):
    """A module of functions, with a few of the checks, which so are compiled together with what they look at. Another
    module has all of them: compilers take long for checks, and calls from the interpreter find the same functions."""
    slots = [*names, *(f"x{i}: {check}" for i, check in enumerate(checks[::FEW]))]
    write("Lib.fble", "\n".join([*lines, f"@({', '.join(slots)});"]))
    slots = ", ".join(f"x{i}: {check}" for i, check in enumerate(checks))
    used = [name for name in names if re.search(rf"\b{name}" + r"\b" * (name[-1] != "@"), slots)]
    write("Main.fble", f"{', '.join(used)} .= /Lib%;\n@({slots});")


def library(*options, cc="gcc", flags="-O1"):
    compiled("-I", ".", "-m", "/Lib%", *options, cc=cc, flags=flags, kind="--library", to="lib.so")


def same_everywhere(metrics):
    """What write_library wrote does the same by every compiler, and on every path of its profiles. Gives its C."""
    same(run(*MAIN), (0, "", ""))
    does_the_same("-I", ".", "-m", "/Lib%", flags="-O0")
    for cc in reversed(COMPILERS):  # gcc's is looked at below
        library(*["--profile"] * (cc == "gcc"), cc=cc)
        same(run(*LIBRARY), (0, "", ""), cc)
    for some in ("instructions", metrics):
        same_profiles(some, MAIN, LIBRARY)
    run(FBLE, "compile", "--eval", "-I", ".", "-m", "/Lib%", "--emit-c", "c", status=0)
    return "".join(read(os.path.join("c", name)) for name in os.listdir("c"))


# Of what tables are made: types by their tags. Values with the tag `o` are objects, so a table does not serve them.
TESTED = {"A@": "ab", "B@": "abc", "C@": "abcde", "O@": "oa"}
RESULTS = 5


def select_tree(types, depth):
    """A tree of selects on some of the arguments x0, x1..., each once on a path, that ends in results."""
    left = [i for i, kind in enumerate(types) if kind]
    if not left or random.random() < (0, .1, .3, .5)[depth]:
        return random.randrange(RESULTS)
    i = random.choice(left)
    rest = [None if k == i else kind for k, kind in enumerate(types)]
    return i, {tag: select_tree(rest, depth + 1) for tag in TESTED[types[i]]}


def tree_text(tree, leaf):
    if isinstance(tree, int):
        return leaf.format(tree)
    return f"x{tree[0]}.?({', '.join(f'{tag}: {tree_text(branch, leaf)}' for tag, branch in tree[1].items())})"


def tree_result(tree, tags):
    while not isinstance(tree, int):
        tree = tree[1][tags[tree[0]]]
    return tree


@case
def selects_that_only_look_up_a_result_do():
    """Trees of selects over all tags, with results that are constants or globals, of this module or another."""
    results = ", ".join(f"U@ t{i}" for i in range(RESULTS))
    write("Other.fble", "U@ = *(); +(U@ a, U@ b)(b: U@());")
    lines = [f"U@ = *(); U@ u = U@(); A@ = +(U@ a, U@ b); B@ = +(U@ a, U@ b, U@ c); R@ = +({results});",
             "C@ = +(U@ a, U@ b, U@ c, U@ d, U@ e); O@ = +(*(U@ x, U@ y) o, U@ a); S@ = *(R@ r, U@ u, U@ w);",
             *(f"S@ s{i} = S@(R@(t{i}: u), u, u); R@ r{i} = R@(t{i}: u);" for i in range(RESULTS)),
             "G = (A@ x, B@ y) { x.?(a: /Other%, b: y.?(a: /Other%, : A@(a: u))); }; O@ o = O@(o: @(x: u, y: u));"]
    checks = ["G(A@(a: u), B@(a: u)).b", "G(A@(b: u), B@(c: u)).a", "C@(a: u).a", "o.o.x",
              *(f"s{i}.r.t{i}" for i in range(RESULTS)), *(f"r{i}.t{i}" for i in range(RESULTS))]
    for n in range(40):
        types = random.choices(list(TESTED), k=random.randint(1, 4))
        leaf, field = random.choice([("s{}", ".r"), ("r{}", ""), ("R@(t{}: u)", "")])
        tree = select_tree(types, 0)
        parameters = ", ".join(f"{kind} {'' if f'x{i}.' in tree_text(tree, leaf) else '_'}x{i}"
                               for i, kind in enumerate(types))
        lines.append(f"F{n} = ({parameters}) {{ {tree_text(tree, leaf)}; }};")
        every = list(itertools.product(*(TESTED[kind] for kind in types)))
        for tags in random.sample(every, min(len(every), 30)):
            given = ", ".join("o" if tag == "o" else f"{kind}({tag}: u)" for kind, tag in zip(types, tags))
            checks.append(f"F{n}({given}){field}.t{tree_result(tree, tags)}")
    # An argument that has no value yet is no error unless it is looked at.
    lines.append("(A@, A@) { A@; } H = (A@ x, A@ y) { x.?(a: A@(b: u), b: y.?(a: x, b: A@(a: u))); };")
    lines.append("(A@, A@) { A@; } I = (A@ x, A@ y) { x.?(a: A@(b: u), b: y.?(a: A@(b: u), b: A@(a: u))); };")
    checks += ["{ A@ x = H(A@(a: u), x); x.b; }", "{ A@ x = I(A@(a: u), x); x.b; }"]
    names = "U@ u A@ B@ R@ C@ O@ S@ G o H I".split() + [f"{x}{i}" for x in "sr" for i in range(RESULTS)]
    write_library(lines, names + [f"F{n}" for n in range(40)], checks)
    text = same_everywhere("instructions,objects")
    assert text.count("FBLE_CHOOSE") > 20
    write("Main.fble", f"U@ = *(); U@ u = U@(); A@ = +(U@ a, U@ b);\n{lines[-1]}\nA@ x = I(A@(b: u), x); x;")
    compiled("-I", ".", "Main.fble")
    done = run("./out")
    same(done, run(FBLE, "eval", "-I", ".", "Main.fble"))
    assert done.status, done


# What a branch on the bits {0} of a and {1} of b does, F being the function, and the same in Python.
ALIKE = {"0: {F}(a.{0}, b.{1})": lambda f, a, b: "0" + f(a, b), "1: {F}(a.{0}, b.{1})": lambda f, a, b: "1" + f(a, b),
         "0: {F}(b.{1}, a.{0})": lambda f, a, b: "0" + f(b, a), "1: {F}(a.{0}, a.{0})": lambda f, a, b: "1" + f(a, a),
         "0: Turn({F}(a.{0}, b.{1}))": lambda f, a, b: "0" + turn(f(a, b)),
         "{F}(a.{0}, b.{1})": lambda f, a, b: turn(f(a, b)), "1: b.{1}": lambda f, a, b: "1" + b}


def turn(bits):
    return {"0": "1", "1": "0", "e": "e"}[bits[0]] + bits[1:]


def alike_model(ways):
    def f(a, b):
        return a if b == "e" else b if a == "e" else ALIKE[ways[a[0] + b[0]]](f, a[1:], b[1:])
    return f


def alike_text(name, ways):
    """A function of two chains of bits, with that way of ALIKE for each pair of bits."""
    def branch(x, y):
        text = ways[x + y].format(x, y, F=name)
        return f"T@({text})" if ": " in text else f"Turn({text})"
    bits = ", ".join(f"{x}: b.?(e: a, 0: {branch(x, '0')}, 1: {branch(x, '1')})" for x in "01")
    return f"(T@, T@) {{ T@; }} {name} = (T@ a, T@ b) {{ a.?(e: b, {bits}); }};"


def chain_of(bits):
    return "".join("e: u" if bit == "e" else f"{bit}: T@(" for bit in bits) + ")" * (len(bits) - 1)


@case
def branches_that_are_alike_are_one_call():
    """Functions like the addition of numbers, of chains that are immediates, objects, or not there yet."""
    print(f"# the seed is {SEED}")
    dice, checks, models = random.Random(SEED), [], []
    lines = ["U@ = *(); U@ u = U@(); T@ = +(U@ e, T@ 0, T@ 1); T@ e = T@(e: u);",
             "Turn = (T@ t) { t.?(e: t, 0: T@(1: t.0), 1: T@(0: t.1)); };"]
    for n in range(6):
        some = dice.sample(list(ALIKE), 3)
        ways = {"00": some[0], "01": dice.choice(some), "10": dice.choice(some), "11": dice.choice(some)}
        if not n:  # three that are alike, and one that is not
            ways = dict(zip(("00", "01", "10", "11"), (list(ALIKE)[k] for k in (0, 1, 1, 2))))
        models.append(alike_model(ways))
        lines.append(alike_text(f"F{n}", ways))
    given = ["".join(dice.choices("01", k=k)) + "e" for k in (0, 3, 33, 36, 38)]
    lines += [f"T@ t{i} = T@({chain_of(bits)});" for i, bits in enumerate(given)]
    for n, (i, a), (j, b) in itertools.product(range(6), enumerate(given), enumerate(given)):
        if min(i, j) > 2 or dice.random() < .2:
            checks.append(f"F{n}(t{i}, t{j}).{'.'.join(models[n](a, b))}")
    # So often that memory runs out while results are wrapped.
    lines += ["(T@, T@) { T@; } Often = (T@ n, T@ x) { n.?(e: x);",
              " ".join(f"T@ _y{n} = F{n}(t3, t4);" for n in range(6)),
              "Often(n.?(e: n, 0: n.0, 1: n.1), Often(n.?(e: n, 0: n.0, 1: n.1), _y5)); };"]
    checks.append(f"Often(T@({chain_of('0' * 11 + 'e')}), e)")
    checks.append("{ T@ x = F0(e, e); x.e; }")
    names = "U@ u T@ e Turn Often".split() + [f"F{n}" for n in range(6)] + [f"t{i}" for i in range(len(given))]
    write_library(lines, names, checks)
    text = same_everywhere("instructions,objects,bytes")
    assert text.count("const alike") >= 1
    # What fails within such calls says where they were made.
    for n in range(3):
        write("Main.fble", "\n".join([*lines[:2], lines[2 + n], f"T@ t = T@({chain_of(given[4])});",
                                      f"T@ x = F{n}(t, T@(0: T@(1: T@(1: T@(0: x))))); x;"]))
        compiled("Main.fble")
        done, want = run("./out"), run(FBLE, "eval", "Main.fble")
        same(done.status, want.status)
        assert want.err.endswith(done.err) and (not want.status or "is not there yet" in done.err), (done, want)


# What a function of a few lines does with the lists {0} and {1}: gives one of them another value, {2}, or returns.
LEAF_LINES = ["1L@ {2} = Cons({0}.?(c: {0}.c.h, n: B@(a: u)), {1});", "0L@ {2} = Rest({0});",
              "1L@ {2} = Pick(Flip(First({1})), {0}, {1});",
              "1L@ {2} = L@(c: @(h: Both(First({0}), First({1})), t: Cons(First({0}), {1})));",
              "0L@ {2} = Copy(Cons(Both(First({1}), First({0})), Rest({0})));",
              "1L@ {2} = First({1}).?(a: Cons(First({0}), {1}), : Rest({1}));",
              " First({0}).?(b: Cons(Flip(First({1})), {1}));"]


def calls_of_leaves(dice):
    names, lines = ["x", "y"], []
    for n in range(dice.randint(2, 8)):
        which, line = dice.choice([(line[0], line[1:]) for line in LEAF_LINES])
        lines.append(line.format(*names, f"v{n}"))
        if which != " ":
            names[int(which)] = f"v{n}"
    return " ".join([*lines, "Pick(First({0}), {1}, Copy({0}));".format(*names)])


@case
def leaves_in_a_row_are_computed_where_they_are_called():
    """Short functions that call nothing, before and after one another, branches and calls."""
    print(f"# the seed is {SEED}")
    dice, calls, names = random.Random(SEED), "", [f"F{n}" for n in range(8)]
    lines = ["U@ = *(); U@ u = U@(); B@ = +(U@ a, U@ b, U@ c); L@ = +(*(B@ h, L@ t) c, U@ n); L@ nil = L@(n: u);",
             "Cons = (B@ h, L@ t) { L@(c: @(h, t)); }; First = (L@ l) { l.?(c: l.c.h, n: B@(c: u)); };",
             "Rest = (L@ l) { l.?(c: l.c.t, n: l); }; Flip = (B@ b) { b.?(a: B@(b: u), b: B@(c: u), c: B@(a: u)); };",
             "Both = (B@ x, B@ y) { x.?(a: y.?(a: B@(b: u), : B@(a: u)), b: y.?(b: B@(c: u), : x), c: y); };",
             "Pick = (B@ b, L@ x, L@ y) { b.?(a: x, b: L@(c: @(h: b, t: y)), c: y); };",
             "(L@) { L@; } Copy = (L@ l) { l.?(n: l); L@(c: @(h: l.c.h, t: Copy(l.c.t))); };",
             *(f"{name} = (L@ x, L@ y) {{ {calls_of_leaves(dice)} }};" for name in names)]
    for n, name in enumerate(names):
        calls += f" L@ y{n + 1} = {name}(x, y{n});"
    lines.append(f"(L@, L@, L@) {{ L@; }} Go = (L@ x, L@ y0, L@ n) {{ n.?(n: y0);{calls} Go(y0, y8, n.c.t); }};")
    six = "nil"
    for tag in "abcabc":
        six = f"L@(c: @(h: B@({tag}: u), t: {six}))"
    write_library(lines, "U@ u B@ L@ nil Go".split() + names, [f"Go({six}, nil, {six})"])
    text = same_everywhere("instructions,objects,bytes")
    assert text.count("FBLE_LEAF_HERE(") > 8


@case
def steps_that_gcc_would_like_to_clone_compile():
    # A join that allocates nothing and is always jumped to with the same arguments.
    write("Main.fble", NUMBERS + "Twice = (N@ n) { N@(s: N@(s: n)); };\n" + f"""
F = (B@ b, N@ n) {{ N@ m = b.?(a: Twice(n), b: Twice(n), c: Twice(n)); m{'.s' * 24}; }};
F(B@(c: u), {number(22)}).z;
""")
    for cc, flags in itertools.product(COMPILERS, ("-O2", "-O3 -fno-inline")):
        does_the_same("Main.fble", cc=cc, flags=flags)


@case
def arguments_that_wait_are_taken_alike():
    """Calls, instructions and objects on every path, where tail calls give too few arguments and others wait."""
    write("Main.fble", NUMBERS + f"""
F = (N@ _, N@ b, N@ _) {{ b; }}; G = (N@ n) {{ F(n); }}; H = (N@ n, N@ m) {{ F(n, m); }}; L = (N@ _, N@ m) {{ G(m); }};
(N@) {{ N@; }} Go = (N@ n) {{
  n.?(z: n); N@ _ = G(n, n.s, n); N@ _ = H(n, n.s, n); N@ m = L(n, n, n.s, n); Next(n, m, n);
}},
(N@, N@, N@) {{ N@; }} Next = (N@ n) {{ More(n, n); }}, (N@, N@, N@, N@) {{ N@; }} More = (N@ _n, N@ m) {{ Tail(m); }},
(N@, N@, N@) {{ N@; }} Tail = (N@ _, N@ b, N@ _) {{ Go(b); }};
Go({number(40)}).z;
""")
    same(compiled("--profile", "Main.fble", flags="-O1").status, 0)
    metrics = "instructions,objects,bytes"
    for metric, text in same_profiles(metrics, (FBLE, "eval", "Main.fble"), ("./out",)).items():
        same(bool(text), metric in ("calls", "instructions"), metric)  # nothing is allocated


# Arms after a value that takes i instructions, what they add to it, and what f and g are.
ENDS = {"{}": 0, "f({})": 1, "Two({})": 3, "Leaf({})": 1, "N@(s: f({}))": 2, "N@(s: Two({}))": 4, "N@(s: Leaf({}))": 2,
        "g({}, n)": 1, "N@(s: g({}, n))": 2, "{{ N@ m = Leaf({}); f(Leaf(m)); }}": 3}


@case
def blocks_with_more_places_than_numbers_do_the_same():
    """Calls, tail calls and returns of one function, and of its branches; no two charge the same."""
    count, rounds = 66, 4  # there are 64 numbers
    arms, checks = [], []
    for i in range(count):
        end = list(ENDS)[i % len(ENDS)]
        arms.append(f"t{i}: {end.format(number(i + 1, 'n'))}")
        checks.append(f"Again({number(rounds)}, T@(t{i}: u)){'.s' * (i + 1 + ENDS[end])}.z")
    write_library([NUMBERS + f"""
Leaf = (N@ n) {{ N@(s: n); }};
Two = (N@ n) {{ N@ m = Leaf(Leaf(n)); m.?(s: Leaf(m), z: n); }};
Add = (N@ n) {{ N@ k = Leaf(n); (N@ m) {{ m.?(s: m); k; }}; }};
T@ = +({", ".join(f"U@ t{i}" for i in range(count))});
F = (T@ t, N@ n, (N@) {{ N@; }} f, (N@) {{ (N@) {{ N@; }}; }} g) {{ t.?({", ".join(arms)}); }};
(N@, T@) {{ N@; }} Again = (N@ k, T@ t) {{ N@ n = F(t, zero, Leaf, Add); k.?(z: n); Again(k.s, t); }};
"""], "U@ N@ u zero T@ Again".split(), checks)
    for options in (), ("--profile-blocks", "all"):
        library("--profile", *options)
        for metrics in "instructions", "objects,instructions,bytes":
            same_profiles(metrics, (*MAIN, *options), (*LIBRARY, *options))


def quoted(name):
    return "'" + name.replace("'", "''") + "'"


ODD_NAMES = ["", "'", '"', 'a"b', "\\", "a\\", "\\n", "a@plt", "@", "@@GLIBC_2.2", "new\nline", "\r", "\t", "\x7f",
             "%s%n", "%", "$1", "#", "//", "/*", "*/", "a,b", "a;b", "a:b", ".L1", "0", "-1", "a b", "größe", "日本", "😀",
             "\udcff\udc80", "f0", "codes", "fp", "main", "int", "??/", "`", "$(true)", "x" * 5000, "ß" * 3000,
             *(chr(byte) for byte in range(1, 128) if not chr(byte).isalnum())]


@case
def any_name_compiles():
    names = [quoted(name) for name in dict.fromkeys(ODD_NAMES)]
    lines = ["U@ = *(); f = (U@ u) { u; };"]
    for name in names:  # each is a symbol twice, of a function and of what comes after its call
        lines.append(f"{name} = {{ {name} = (U@ u) {{ U@ y = f(u); f(y); }}; {name}; }};")
    lines.append(f"U@ r = {names[0]}(U@()); @({', '.join(f'{name}: {name}(r)' for name in names)});")
    write("Main.fble", "\n".join(lines))
    for cc, flags in itertools.product(COMPILERS, ("-O0 -g", "-O2")):
        does_the_same("Main.fble", cc=cc, flags=flags)
    symbols = run("nm", "out", status=0).out
    has(symbols, " t /Main%.größe.größe~", " t /Main%.a%40plt.a%40plt~", " t /Main%.a b.a b~")


@case
def modules_and_folders_of_any_name_compile():
    names = [name for name in ODD_NAMES if 1 < len(name.encode(errors="surrogateescape")) < 100
             and "/" not in name and name != "."]
    for name in names:
        write(os.path.join("in", name, name + ".fble"), f"@({quoted(name)}: (*() u) {{ u; }});")
    used = ", ".join(f"x{i}: /{quoted(name)}/{quoted(name)}%.{quoted(name)}(*()())" for i, name in enumerate(names))
    write("in/Main.fble", f"@({used});")
    does_the_same("-I", "in", "-m", "/Main%", flags="-O0")


def chain(n, indent=""):
    """So many variables, of which one at a time is needed."""
    return "".join(f"{indent}x{i + 1} = Id(x{i});\n" for i in range(n))


@case
def a_hundred_thousand_variables_are_few_if_one_at_a_time_is_needed():
    start = NUMBERS + "Id = (N@ n) { n; }; x0 = { _ = B@(a: u); N@(s: zero); };\n"
    write("Top.fble", start + chain(100000) + "x100000.s.z;")
    write("Inside.fble", start + "F = (N@ x0) {\n" + chain(100000, "  ") + "  x100000;\n}; F(x0).s.z;")
    guards = [chain(n).replace(";\n", "; x0.?(z: x0);\n") + f"x{n};\n}}; F(x0).s.z;" for n in (50000, 300)]
    write("Guards.fble", start + "F = (N@ x0) {\n" + guards[0])
    for file in ("Top.fble", "Inside.fble", "Guards.fble"):
        same(run(FBLE, "eval", file), (0, "", ""), file)
    write("Main.fble", start + "F = (N@ x0) {\n" + guards[1])
    does_the_same("Main.fble")
    frame = re.search(r"/Main%\.F.*?(\d+) slots", run(FBLE, "disassemble", "Main.fble", status=0).out, re.S)
    assert int(frame.group(1)) < 12, frame.group(0)


@case
def what_is_too_large_has_a_place_near_it():
    fields = ", ".join(f"U@ f{i}" for i in range(66000))
    many = "".join(f"y{i} = Id(x0);\n" for i in range(65600))
    for text, place, message in (
            (f"S@ = *({fields});\nx = S@({', '.join(['u'] * 66000)}); x;", "3:5", "65535 fields"),
            (f"S@ = *({fields});\nF = (S@ s) {{\n  b = @(a: s.f1, c: s.f65999); b; }}; F;", "4:21", "65535 fields"),
            (f"T@ = +({fields});\nF = (T@ t) {{\n  @(a: u,\n b: t.?(f7: u, : u)); }}; F;", "5:5", "65535 fields"),
            (f"\n {{ @({', '.join(f'f{i}: u' for i in range(66000))}); }};", "3:4", "65535 fields"),
            ("Id = (U@ n) { n; }; x0 = u; F = (U@ x0) {\n" + many + "@(" + ", ".join(f"y{i}" for i in range(64000)) +
             ", r: @(" + ", ".join(f"y{i}" for i in range(64000, 65600)) + "));\n}; F(x0);", None,
             "too many values are needed")):
        write("Main.fble", "U@ = *(); U@ u = U@();\n" + text)
        err = run(FBLE, "eval", "Main.fble", status=2).err
        at = re.search(r"^Main\.fble:(\d+):(\d+): error: (.*)", err, re.M)
        has(at.group(3), message)
        if place:
            same(f"{at.group(1)}:{at.group(2)}", place, message)
        assert int(at.group(1)) > 1 and int(at.group(2)) > 0, at.group(0)
    fields = fields[:fields.index(", U@ f65000")]
    write("Main.fble", "U@ = *(); U@ u = U@();\n"
          f"S@ = *({fields}); T@ = +({fields});\n"
          f"S@ s = S@({', '.join(['u'] * 65000)}); t = T@(f64999: s.f64999);\n"
          "U@ r = t.?(f64999: u, : t.f0); s.@(f64999: r);")
    same(run(FBLE, "eval", "Main.fble"), (0, "", ""))


def names(name, n):
    return ", ".join(f"{name}{i}" for i in range(n))


CAPTURES = "((U@) { U@; }) { U@; } A = ((U@) { U@; } f) { f(u); }; _ = A((U@ _) { _ = "
AFTER = "N@ m = t.?(%s); " + number(40, "m") + ";"
# Programs whose size is n, in one function F each.
LONG = {
    "a select of many tags": lambda n: many_tags(n, "t.?(%s);", "N@(s: n)", ".s.z"),
    "a select of many calls": lambda n: many_tags(n, "t.?(%s);", "Id(N@(s: n))", ".s.z"),
    "a select before other code": lambda n: many_tags(n, AFTER, "N@(s: n)", ".s.s.s"),
    "calls before other code": lambda n: many_tags(n, AFTER, "Id(n)", ".s.s.s"),
    "few of many tags": lambda n: many_tags(n, "t.?(t3: n, t9: Id(n), : N@(s: Id(n)));", "", ".s.z"),
    "live values": lambda n: many_values(n, "Id(n)", "y7.z"),
    "live structs": lambda n: many_values(n, "S@(n, n)", "y7.a.z"),
    "selects one after the other": lambda n: many_values(n, "b.?(a: S@(n, n), : S@(n, zero))", "y7.a.z"),
    "selects with calls": lambda n: many_values(n, "b.?(a: S@(n, n), : S@(n, Id(n)))", "y7.a.z"),
    "nested selects": lambda n: many_values(max(n // 60, 8), "b.?(a: " * 60 + "zero" + ", : n)" * 60, "y7.z"),
    "a list": lambda n: f"L@ = +(*(N@ h, L@ t) c, U@ n); F = (L@ l) {{ l; }}; _ = B@(a: u); "
                        f"F[{', '.join(['zero'] * n)}].c.h.z;",
    "captures": lambda n: many_values(n, "Id(n)", "y7.z").replace("@(y", CAPTURES + f"@({names('y', n)}); u; }}); @(y"),
}


def many_tags(n, body, arm, access):
    arms = ", ".join(f"t{i}: {arm}" for i in range(n))
    return (f"Id = (N@ n) {{ n; }}; T@ = +({', '.join(f'U@ t{i}' for i in range(n))}); _ = B@(a: u);\n"
            f"F = (T@ t, N@ n) {{ _ = Id(n); {body.replace('%s', arms)} }}; F(T@(t{n - 1}: u), zero){access};")


def many_values(n, value, access):
    lets = "\n".join(f"y{i} = {value};" for i in range(n))
    return (f"Id = (N@ n) {{ n; }}; S@ = *(N@ a, N@ b); _ = S@(zero, zero);\n"
            f"F = (N@ n, B@ b) {{ _ = Id(n); _ = b;\n{lets}\n@({names('y', n)}); }}; F(zero, B@(b: u)).{access};")


def functions(file):
    """The lines of each function of the C in a file."""
    found = re.findall(r"^static fble_any_step \w+\([^;]*?{\n.*?^}\n(?=\n)", read(file), re.M | re.S)
    return [text.count("\n") for text in found]


@case
def a_library_has_all_modules_of_a_package_whatever_they_are_called():
    for name in ("Plain", "A b/C's", "x@y/4.2", "new\nline"):
        write(f"pkg/{name}.fble", "*();")
    run(FBLE, "compile", "--library", "-p", "pkg", "--emit-c", "c", "-o", "pkg.so", "--build-dir", OBJECTS, status=0,
        env={**os.environ, "FBLE_PACKAGE_PATH": ".", "CFLAGS": "-O1"})
    made = sum(len([f for f in files if f.endswith(".c")]) for _, _, files in os.walk("c"))
    same(made, 5, run("find", "c").out)  # and the list of them


@case
def c_functions_are_short_whatever_the_size_of_the_program():
    """So the time that compilers take is in proportion to the size: twice the program, twice the C."""
    for about, program in LONG.items():
        sizes = []
        for n in (1000, 2000):
            write("Main.fble", NUMBERS + program(n))
            same(run(FBLE, "eval", "Main.fble"), (0, "", ""), about)
            run(FBLE, "compile", "--eval", "--emit-c", "c", "Main.fble", status=0)
            longest = max(functions("c/Main.c"))
            assert longest < 3000, (about, n, longest)
            sizes.append(os.path.getsize("c/Main.c"))
        assert sizes[1] < 2.7 * sizes[0], (about, sizes)  # which slots are live is a bit per slot and call


@case
def long_programs_do_the_same():
    for i, program in enumerate(LONG.values()):
        write(f"M{i}.fble", NUMBERS + program(600))
    write("Main.fble", f"@({', '.join(f'm{i}: /M{i}%' for i in range(len(LONG)))});")
    does_the_same("-I", ".", "-m", "/Main%", flags="-O0")


# A loop of 300,000 rounds through two functions and an unknown one, and recursion as deep.
ROUNDS = NUMBERS + """
(N@, N@) { N@; } Twice = (N@ n, N@ to) { n.?(z: to); Twice(n.s, N@(s: N@(s: to))); };
D = (N@ n) { Twice(n, zero); }; K = (N@ n) { D(D(D(D(D(D(n)))))); };
(N@, (N@) { N@; }) { N@; } Even = (N@ n, (N@) { N@; } f) { n.?(z: n); Odd(n.s, f); },
(N@, (N@) { N@; }) { N@; } Odd = (N@ n, (N@) { N@; } f) { n.?(z: n); Even(f(n).s, f); };
(N@) { N@; } Copy = (N@ n) { n.?(z: n); N@(s: Copy(n.s)); };
Id = (N@ n) { n; };
Even(Copy(K(K(K(N@(s: zero))))), Id).z;
"""


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, resource.RLIM_INFINITY))


def runs_on_a_small_stack(cc, flags):
    """Does the compiler make jumps of calls? Says so if not. The program runs in any case, also with a profile."""
    folder = f"{cc} {flags}"
    write(os.path.join(folder, "Main.fble"), ROUNDS)
    err = run(FBLE, "compile", "--profile", "--eval", "-o", "out", "--build-dir", OBJECTS, "--verbose", "Main.fble",
              status=0, cwd=folder, env={**os.environ, "CFLAGS": flags, "CC": cc}, timeout=600).err
    for options in ((), ("--profile", "p.pb")):
        same(run("./out", *options, preexec_fn=small_stack, cwd=folder), (0, "", ""), (folder, options))
    direct = " -DFBLE_DIRECT " in err
    same(without_slow(err, flags) == err, direct, folder)
    return direct


@case
def flags_that_do_no_harm_keep_direct_jumps():
    for flags in ("-O1", "-O2 -fwrapv -fno-math-errno", "-Os -march=native", "-O2 -fstack-protector-all",
                  "-O2 -flto -g3", "-O1 -fsanitize=undefined", "-O2 -fno-optimize-sibling-calls"):
        assert runs_on_a_small_stack("gcc", flags), flags


def gcc_guarantees_tail_calls():
    """Version 15 and later do, without optimization, too."""
    return run("gcc", "-E", "-P", "-", stdin="__has_attribute(musttail)\n", status=0).out.strip() == "1"


@case
def flags_that_need_the_trampoline_say_so():
    assert not runs_on_a_small_stack("gcc", "-O1 -finstrument-functions")
    for flags in ("-O0", "-Og", "-O1 --coverage"):
        same(runs_on_a_small_stack("gcc", flags), gcc_guarantees_tail_calls(), flags)
    if "clang" in COMPILERS:
        for flags in ("-O0", "-O1 -fsanitize=address"):
            assert runs_on_a_small_stack("clang", flags), flags


@case
def the_compiler_is_asked_once():
    write("Main.fble", "*()();")
    write("compiler", '#!/bin/sh\necho "$@" >> calls\nexec cc "$@"\n')
    os.chmod("compiler", 0o755)
    line = FBLE, "compile", "--eval", "-o", "out", "--build-dir", "o", "Main.fble"
    calls = []
    for flags in ("-O1", "-O1", "-O1 -g", "-O0", "-O0"):
        write("calls", "")
        run(*line, status=0, env={**os.environ, "CC": os.path.abspath("compiler"), "CFLAGS": flags})
        calls.append(len(read("calls").splitlines()))
    questions = 1 if gcc_guarantees_tail_calls() else 3  # about -O0, beside two units and linking
    same(calls, [4, 1, 4, 3 + questions, 1])
    same([name for name in os.listdir("o") if not re.fullmatch(r"[0-9a-f]+\.(c|o|probe)", name)], [])


print(f"# OURO_SEED={SEED}")
random.seed(SEED)
main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The standard library and the programs: test_std.py FBLE [WORD...]

Checks every module, runs the tests that are written in Fble (a wrong answer is a run-time error), compares
integers, maps and text with Python's own, and runs every program on known inputs: against md5sum, wc and
Python where they know the answer. Every program runs again with profiles of functions and of all blocks, which
must change nothing.
"""
import collections, ctypes, hashlib, itertools, json, math, os, pathlib, random, re, sys

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TESTS + "/../../../tests/support")
import suite
from suite import ROOT, arguments, case, has, main, read, same, write

FBLE, = arguments("FBLE")
HOST = pathlib.Path(TESTS).parent
FOLDERS = {"std": HOST / "std", "examples": HOST / "examples", "programs": HOST / "bench" / "programs",
           "tests": HOST / "tests" / "std"}


def fble(command, folder, module, *arguments, options=(), stdin="", **environment):
    """A module of one of the folders above, or of another."""
    line = [FBLE, command, "-I", os.path.abspath(FOLDERS.get(folder, folder)), "-p", "std", "-m", module, *options]
    if command == "run":
        line += ["--", *arguments]
    return suite.run(*line, stdin=stdin, env={**os.environ, "FBLE_PACKAGE_PATH": str(HOST), **environment})


def modules(folder):
    return ["/" + str(p.relative_to(folder).with_suffix("")) + "%" for p in sorted(folder.rglob("*.fble"))]


def run(module, *arguments, stdin="", status=0, errors="", folder="examples"):
    """Runs a program without and with profiles; gives what it printed."""
    got = fble("run", folder, module, *arguments, stdin=stdin)
    same((got.status, got.err), (status, errors))
    for options in (["--profile", "profile.pb"], ["--profile", "profile.pb", "--profile-blocks", "all"]):
        same(fble("run", folder, module, *arguments, stdin=stdin, options=options), got)
        assert os.path.getsize("profile.pb") > 100
        os.remove("profile.pb")
    return got.out


# The library.

@case
def every_module_checks_without_a_warning():
    for folder in FOLDERS:
        for module in modules(FOLDERS[folder]):
            same(fble("check", folder, module), (0, "", ""))


@case
def the_page_of_reference_is_up_to_date():
    suite.run(sys.executable, HOST / "std_reference.py", "--check", status=0)


@case
def the_programs_of_the_page_run():
    page = read(os.path.join(ROOT, "docs", "fble-std.md"))
    programs = re.findall(r"```fble\n(.*?)```", page, re.S)
    want = [(["you", "Zoë"], "", "hello\nhello, you\nhello, Zoë\n"), ([], "b\na\nb\n", "1 a\n2 b\n"),
            ([], "", "1\n4\n9\n")]
    write("Sums.fble", programs.pop())
    shown = suite.run(FBLE, "test", "-p", "std", "Sums.fble", env={**os.environ, "FBLE_PACKAGE_PATH": str(HOST)})
    same((shown.status, shown.err), (1, ""))
    has(page, shown.out.replace("\n", "\n    ").strip())
    same(len(programs), len(want))
    for text, (arguments, stdin, out) in zip(programs, want):
        write("Page.fble", text)
        same(fble("run", ".", "/Page%", *arguments, stdin=stdin), (0, out, ""))


@case
def what_is_private_stays_private():
    for text in ("/Std/Int%.Zero.0;", "/Std/Int%.Int@(0: *()());", "/Std/Char%.Space.code;",
                 "/Std/Char%.Char@(/Std/Int%.Zero);",
                 "/Std/Io/File/Binary%.GetStdin(*()());", "/Std/Io/Thread%.Yield(*()());",
                 "I = /Std/Int%; /Std/Map%.Empty<I.Int@, I.Int@>(I.Compare).tree;", "/Std/Io/File/Binary%.File@();",
                 "I = /Std/Int%; S = /Std/Set%; /Std/Map%.Keys(S.Empty<I.Int@>(I.Compare));"):
        write("Peek.fble", text)
        same(fble("check", ".", "/Peek%")[0], 2)
    write("Peek.fble", "/Std/Int%.Zero;")
    same(fble("check", ".", "/Peek%"), (0, "", ""))


def evaluates(module):
    same(fble("eval", "tests", module), (0, "", ""))


for name in ("Basics", "Layouts", "Ints", "Lists", "Strings", "Maps", "Monads"):
    case(evaluates, f"the_tests_of_{name}_pass", f"/{name}%")


@case
def a_failed_assertion_is_a_run_time_error():
    status, out, errors = fble("eval", "tests", "/Fails%")
    same((status, out), (3, ""))
    same(errors.split("\n")[0], "this must be seen")
    assert re.search(r"Abort\.fble:\d+:\d+: error: ", errors), errors


@case
def a_trace_goes_to_stderr_in_order():
    same(fble("eval", "tests", "/Tracing%"), (0, "", "first é\nsecond\nthird\n"))


@case
def integers_agree_with_python():
    dice = random.Random(1)
    number = lambda: dice.choice([-1, 1]) * dice.getrandbits(dice.choice([1, 3, 8, 33, 64, 200]))
    ops = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
           "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
           "==": lambda a, b: a == b, "gcd": lambda a, b: math.gcd(a, b),
           "/": lambda a, b: "%d %d" % divmod(a, b), "hex": lambda a, b: f"{a:x} {b:x}",
           "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "**": lambda a, b: a ** b}
    lines = []
    for op in ops:
        for _ in range(60):
            a, b = number(), number()
            if op in ("<<", ">>", "**"):
                b = dice.randrange(12)
            if op in ("==", "<=", "<") and dice.random() < 0.3:
                b = a
            lines.append((op, a, b or (7 if op == "/" else 0)))
    out = run("/Calc%", stdin="".join(f"{o} {a} {b}\n" for o, a, b in lines), folder="tests").split("\n")[:-1]
    same(len(out), len(lines))
    for (op, a, b), got in zip(lines, out):
        same(got, str(ops[op](a, b)), f"{a} {op} {b}")


def answers(*lines):
    """What Extras says to each line."""
    got = fble("run", "tests", "/Extras%", stdin="".join(line + "\n" for line in lines))
    same((got.status, got.err), (0, ""))
    return got.out.split("\n")[:-1]


@case
def square_roots_agree_with_python():
    dice = random.Random(4)
    numbers = [*range(20)] + [dice.getrandbits(dice.choice([5, 31, 64, 300])) for _ in range(40)]
    numbers += [n ** 2 + d for n in (7, 10 ** 9, 3 ** 50) for d in (-1, 0, 1)]
    same(answers(*(f"sqrt {n}" for n in numbers)), [f"{math.isqrt(n)} {math.isqrt(n) ** 2 == n}" for n in numbers])


@case
def a_square_root_below_zero_is_a_run_time_error():
    write("Root.fble", "/Std/Int/Sqrt%.Sqrt(/Std/Int%.Int|'-1');")
    same(fble("eval", ".", "/Root%")[0], 3)


@case
def random_numbers_are_those_of_the_standard_of_cpp():
    same(answers("next 1 10000"), ["399268537"])  # C++ says so of minstd_rand, [rand.predef]


def below(seed, n, count):
    """The same by other means: digits to the base of all outcomes, drawn again where they would favour some."""
    state, base = seed % (2 ** 31 - 1) or 1, 2 ** 31 - 2
    while count:
        value, span = 0, 1
        while span < n:
            state = state * 48271 % (base + 1)
            value, span = value * base + state - 1, span * base
        if value < span // n * n:
            count -= 1
            yield value % n


@case
def random_numbers_below_agree_with_python():
    asked = [(1, 6), (0, 2), (-5, 10), (2 ** 31 - 1, 100), (77, 2 ** 31 - 3), (3, 3 * 2 ** 29), (12345, 10 ** 30),
             (9, 1)]
    want = ["List[" + ", ".join(map(str, reversed([*below(s, n, 20)]))) + "]" for s, n in asked]
    same(answers(*(f"below {s} {n}" for s, n in asked)), want)


@case
def classes_of_characters_are_those_of_c():
    names = "cntrl graph print blank alnum punct xdigit digit upper lower alpha space".split()
    classes = [getattr(ctypes.CDLL(None), "is" + name) for name in names]
    codes, want = [*range(256), 0x391, 0x2028, 0x1d7ce], []
    for code in codes:
        bits = [code < 128] + [code < 128 and f(code) != 0 for f in classes]
        value = f"Just({int(chr(code), 16)})" if bits[7] else "Nothing"
        want.append("".join(map(str, map(int, bits))) + " " + value)
    same(answers(*(f"class {code}" for code in codes)), want)


@case
def shown_texts_are_read_back():
    texts = ["plain", "it's", r"back\\slash", r"\n\t\r\0\x1f\x7f", r"é 漢 😀 \u{10ffff}", "''''", "tab\there"]
    shown = answers(*texts)
    assert all(re.fullmatch(r"'[^\x00-\x1f\x7f]*'", one) for one in shown), shown
    again = [f"S.Eq(S.StringE|{one}, S.StringE|'%s')" % text.replace("'", "''") for one, text in zip(shown, texts)]
    write("Shown.fble", "S = /Std/String%; A = /Std/Abort%; @(" + ", ".join(
        f"a{i}: A.Assert(S.Str|a{i}, {one})" for i, one in enumerate(again)) + ");")
    same(fble("eval", ".", "/Shown%"), (0, "", ""))


@case
def orders_sort_as_python_does():
    dice = random.Random(5)
    pairs = [(dice.choice(["a", "b", "ab", "é"]), dice.randrange(-5, 5)) for _ in range(40)]
    want = sorted(sorted(pairs, key=lambda p: p[1]), key=lambda p: p[0], reverse=True)
    shown = "List[" + ", ".join(f"Pair('{a}', {n})" for a, n in want) + "]"
    same(answers("sort " + " ".join(f"{a} {n}" for a, n in pairs)), [shown])


@case
def the_tests_that_the_framework_runs_pass():
    got = suite.run(FBLE, "test", "-p", "std", FOLDERS["tests"], env={**os.environ, "FBLE_PACKAGE_PATH": str(HOST)})
    same((got.status, got.err), (0, ""))
    has(got.out, "ok /Values% a sorted list is in order\n", "\n# 16 passed, 0 failed\n")


@case
def maps_agree_with_python():
    dice = random.Random(2)
    lines, table, want = [], {}, []
    for _ in range(1500):
        key, what = str(dice.randrange(120)), dice.choice(["put", "put", "remove", "get"])
        if what == "put":
            table[key] = str(dice.randrange(1000))
        elif what == "remove":
            table.pop(key, None)
        else:
            want.append(table.get(key, "-"))
        lines.append(f"{what} {key} {table[key] if what == 'put' else ''}\n")
    want += [f"{k} {table[k]}" for k in sorted(table)]
    same(run("/Keys%", stdin="".join(lines), folder="tests").split("\n")[:-1], want)


@case
def text_goes_in_and_out():
    text = "plain\n\nüñí 漢字 😀\tend\n \u07ff\u0800\uffff\U0010ffff\nno newline at the end"
    want = "".join(f"{i}: {line}\n" for i, line in enumerate(text.split("\n"), 1))
    same(run("/Echo%", stdin=text, folder="tests"), want)


@case
def an_empty_input_has_no_lines():
    same(run("/Echo%", folder="tests"), "")


@case
def files_arguments_and_the_environment_work():
    got = fble("run", "tests", "/Files%", os.getcwd(), "é€", "", FBLE_TEST_VARIABLE="välue")
    same(got, (7, "fine\n", "this is an error\n"))
    same(pathlib.Path("bytes").read_bytes(), bytes(range(256)))
    same(read("text"), "one\n\nthree: é€😀\nlast")


@case
def threads_and_links_work():
    same(run("/Threads%", folder="tests"), "fine\n")


@case
def a_deadlock_is_an_error():
    status, out, errors = fble("run", "tests", "/Deadlock%")
    same((status, out), (115, ""))
    has(errors, "deadlock")


# Another library with the same paths and structures, but names of its own where the reference has none or where they do
# not matter to a host.
OTHER = {
    "Std/Unit": "@(Unit@: *());",
    "Std/Maybe": "U@ = *(); @(Maybe@: <@ T@> { +(T@ some, U@ none); });",
    "Std/List": "U@ = *(); @(List@: <@ T@> { L@ = +(*(T@ first, L@ rest) pair, U@ nil); L@; });",
    "Std/Int/IntP": "U@ = *(); IntP@ = +(U@ one, IntP@ even, IntP@ odd); @(IntP@);",
    "Std/Int": "U@ = *(); P@ = /Std/Int/IntP%.IntP@; Int@ = +(P@ minus, U@ zero, P@ plus).%(@/Std/Int%);"
               "IntP = (P@ p) { Int@(plus: p); }; @(Int@, Zero: Int@(zero: U@()), IntP);",
    "Std/Char": "Int@ .= /Std/Int%; Char@ = *(Int@ point).%(@/Std/Char%); @(Char@, Code: (Char@ c) { c.point; });",
    "Std/String": "List@ .= /Std/List%; Char@ .= /Std/Char%; @(String@: List@<Char@>);",
    "Std/Io": "U@ = *(); External@ = <@ A@> { (U@) { A@; }.%(@/Std/Io/''%); };"
              "@(External@, Io@: <<@>@ M@> { *(<@ A@>(External@<A@>) { M@<A@>; } lift); });",
    "Std/Monad": "@(Monad@: <<@>@ M@> { *(@<M@> T@, <@ A@>(A@) { M@<A@>; } unit,"
                 "<@ A@>(M@<A@>)<@ B@>((A@) { M@<B@>; }) { M@<B@>; } bind); });",
    "Std/Io/File/Binary": "U@ = *(); External@ .= /Std/Io%; Int@ .= /Std/Int%; Maybe@ .= /Std/Maybe%;"
                          "File@ = +(U@ x).%(@/Nobody%); External@<File@> GetStdin; External@<File@> GetStdout;"
                          "(File@) { External@<Maybe@<Int@>>; } GetByte; (File@, Int@) { External@<U@>; } PutByte;"
                          "@(File@, GetStdin, GetStdout, GetByte, PutByte);",
    "Main": """
U@ = *(); Monad@ .= /Std/Monad%; Io@ .= /Std/Io%; List@ .= /Std/List%; String@ .= /Std/String%; Maybe@ .= /Std/Maybe%;
Int@, IntP, Zero .= /Std/Int%; IntP@ .= /Std/Int/IntP%; B = /Std/Io/File/Binary%; Code .= /Std/Char%;
one = IntP@(one: U@());
<<@>@ M@>(Monad@<M@> m, Io@<M@> io, List@<String@> args) {
  B.File@ in := m.bind(io.lift(B.GetStdin));
  B.File@ out := m.bind(io.lift(B.GetStdout));
  (String@) { M@<U@>; } Print = (String@ s) {
    s.?(nil: m.unit(U@()));
    U@ _ := m.bind(io.lift(B.PutByte(out, Code(s.pair.first))));
    Print(s.pair.rest);
  };
  (U@) { M@<Int@>; } Copy = (U@ _) {
    Maybe@<Int@> byte := m.bind(io.lift(B.GetByte(in)));
    byte.?(none: m.unit(IntP(IntP@(odd: IntP@(even: one)))));
    U@ _ := m.bind(io.lift(B.PutByte(out, byte.some)));
    Copy(U@());
  };
  U@ _ := m.bind(Print(args.pair.rest.pair.first));
  Copy(U@());
};"""}


@case
def another_library_of_the_same_structures_runs():
    for name, text in OTHER.items():
        write(f"other/{name}.fble", text)
    done = suite.run(FBLE, "run", "-I", os.path.abspath("other"), "-m", "/Main%", "--", "first", "second ",
                     stdin=b"and \xff\0\n", text=False)
    same((done.status, done.out), (5, b"second and \xff\0\n"))


@case
def a_loop_of_actions_takes_no_memory():
    text = "x\n" * 30000
    sizes = []
    for part in (text[:2000], text):
        suite.run("python3", "-c", "import resource, subprocess, sys\n"
                  "subprocess.run(sys.argv[2:], stdin=sys.stdin, stdout=subprocess.DEVNULL, check=True)\n"
                  "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))",
                  "size", FBLE, "run", "-I", FOLDERS["tests"], "-p", "std", "-m", "/Echo%", stdin=part, status=0,
                  env={**os.environ, "FBLE_PACKAGE_PATH": str(HOST)})
        sizes.append(int(read("size")))
    assert sizes[1] < sizes[0] + 4096, sizes


# The programs. Each checks itself too, and exits with 1 if it is wrong.

def bench(module, *arguments):
    return run(module, *arguments, folder="programs")


@case
def queens_are_counted():
    for n, ways in [(0, 1), (1, 1), (3, 0), (6, 4), (7, 40)]:
        same(bench("/Queens%", str(n)), f"{n} queens: {ways} ways\n")


@case
def binary_trees_have_their_nodes():
    lines = bench("/BinaryTrees%", "6").split("\n")
    same(lines[0], "stretch tree of depth 7: 255 nodes")
    same(lines[1], "64 trees of depth 4: 1984 nodes")
    same(lines[3], "long lived tree of depth 6: 127 nodes")


def fannkuch(n):
    """Sum and maximum, by the order of the usual benchmark."""
    row, count, sign, total, most, r = list(range(n)), [0] * n, 1, 0, 0, n
    while True:
        while r != 1:
            count[r - 1], r = r, r - 1
        flips, p = 0, row[:]
        while p[0]:
            p[:p[0] + 1], flips = p[:p[0] + 1][::-1], flips + 1
        most, total, sign = max(most, flips), total + sign * flips, -sign
        while True:
            if r == n:
                return total, most
            row[:r + 1] = row[1:r + 1] + row[:1]
            count[r] -= 1
            if count[r] > 0:
                break
            r += 1


@case
def pancakes_are_flipped():
    for n in (2, 3, 5, 6):
        total, most = fannkuch(n)
        same(bench("/Fannkuch%", str(n)), f"{total}\nPfannkuchen({n}) = {most}\n")


@case
def programs_whose_call_sites_have_many_targets_find_what_python_finds():
    for n in (1, 2, 9, 20):
        primes = sum(all(k % d for d in range(2, k)) for k in range(2, n + 1))
        has(bench("/Monads%", str(n)), f"{primes} primes in ")
    for n in (1, 5):
        words = [w for w in itertools.product("abc", repeat=n) if all(a != b for a, b in zip(w, w[1:]))]
        same(bench("/Streams%", str(n)), f"{len(words)} words\n")
    for n in (1, 4):
        has(bench("/Circuit%", str(n)), f"{n} bits, ", " gates, 1 carries\n")
    for n in (0, 4):
        has(bench("/Parse%", str(n)), " characters\n")


@case
def shapes_are_drawn():
    for n in (1, 6, 9):
        *rows, last = bench("/Render%", str(n)).splitlines()
        diamond = sum(abs(x) + abs(y) <= n for x in range(-n, n + 1) for y in range(-n, n + 1))
        same(last, f"{diamond} points in the diamond")
        same([row[::-1] for row in rows], rows)
        same([len(row) for row in rows], [2 * n + 1] * (2 * n + 1))


def pi_digits(n):
    """By Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    unity = 10 ** (n + 20)
    def atan(x):
        term, total, k = unity // x, 0, 0
        while term:
            total += (-1) ** k * (term // (2 * k + 1))
            term, k = term // (x * x), k + 1
        return total
    return str(16 * atan(5) - 4 * atan(239))[:n]


@case
def digits_of_pi_are_right():
    for n in (1, 10, 60):
        same(bench("/Pi%", str(n)), pi_digits(n) + "\n")


@case
def the_glider_comes_back():
    for n in (5, 9):
        rows = [".#.", "..#", "###"] + ["..."] * (n - 3)
        want = "".join(r + "." * (n - 3) + "\n" for r in rows) + f"after {4 * n} generations\n"
        same(bench("/Life%", str(n)), want)


SUDOKU = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLVED = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
HARD = "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......"


@case
def sudoku_is_solved():
    rows = lambda s: "".join(s[i:i + 9] + "\n" for i in range(0, 81, 9))
    same(run("/Sudoku%", stdin=rows(SUDOKU)), rows(SOLVED))
    same(run("/Sudoku%", stdin=SUDOKU + "\n\n" + SUDOKU), rows(SOLVED) * 2)
    hard = run("/Sudoku%", stdin=HARD.replace(".", "0"))
    grid = hard.split("\n")[:-1]
    same([len(grid), set(map(len, grid))], [9, {9}])
    groups = grid + ["".join(c) for c in zip(*grid)]
    groups += ["".join(grid[r + i][c:c + 3] for i in range(3)) for r in (0, 3, 6) for c in (0, 3, 6)]
    assert all(sorted(g) == list("123456789") for g in groups), hard
    assert all(h in (".", s) for h, s in zip(HARD, "".join(grid))), hard


@case
def bad_sudoku_is_refused():
    same(run("/Sudoku%", stdin="12.", status=1, errors="a puzzle has 81 digits or dots\n"), "")
    same(run("/Sudoku%", stdin="11" + SUDOKU[2:], status=1, errors="there is no solution\n"), "")


@case
def md5_agrees_with_md5sum():
    for text in ("", "abc", "a" * 55, "b" * 56, "c" * 63, "d" * 64, "e" * 65, "x\n\0é" * 60):
        want = suite.run("md5sum", stdin=text, status=0).out
        same(run("/Md5%", stdin=text), want)
    same(run("/Md5%", "200"), hashlib.md5(b"a" * 200).hexdigest() + "  -\n")


@case
def words_are_counted_as_wc_does():
    text = "the quick brown fox\n  the lazy dog\tthe\n\nend without newline é"
    for t in ("", "\n", "one", text):
        want = " ".join(suite.run("wc", stdin=t, status=0, env={**os.environ, "LC_ALL": "C.UTF-8"}).out.split())
        same(run("/WordCount%", stdin=t), want + "\n")
    most = sorted(collections.Counter(text.split()).items(), key=lambda item: (-item[1], item[0]))[:3]
    same(run("/WordCount%", "3", stdin=text).split("\n")[1:-1], [f"{n:7} {w}" for w, n in most])


def formulas(dice):
    """Formulas of a few variables, and whether one can be true, by trying everything."""
    for _ in range(12):
        names = range(1, dice.randrange(3, 7))
        length = lambda: dice.randrange(1, 3) + 1 if len(names) > 2 else 1
        clauses = [[v * dice.choice([-1, 1]) for v in dice.sample(names, length())]
                   for _ in range(dice.randrange(4, 22))]
        possible = any(all(any((v > 0) == bits[abs(v) - 1] for v in c) for c in clauses)
                       for bits in itertools.product([False, True], repeat=len(names)))
        yield clauses, possible


@case
def sat_agrees_with_trying_everything():
    seen = set()
    for clauses, possible in formulas(random.Random(3)):
        text = f"c a comment\np cnf 9 {len(clauses)}\n" + "".join(" ".join(map(str, c)) + " 0\n" for c in clauses)
        lines = run("/Sat%", stdin=text).split("\n")
        same(lines[0], "s SATISFIABLE" if possible else "s UNSATISFIABLE")
        seen.add(possible)
        if possible:
            model = set(map(int, lines[1].split()[1:-1]))
            assert all(model & set(c) for c in clauses), (clauses, model)
            assert not any(-v in model for v in model), (clauses, model)
    same(seen, {True, False})


@case
def pigeons_do_not_fit():
    same(run("/Sat%", "pigeons", "3"), "s UNSATISFIABLE\n")


@case
def bad_formulas_are_refused():
    same(run("/Sat%", stdin="1 x 0\n", status=1, errors="this is no formula\n"), "")


@case
def json_agrees_with_python():
    value = {"": [], "empty": {}, "n": [0, -1, 12345678901234567890, 1.5, -0.25], "t": True, "f": False, "z": None,
             "s": "quote \" backslash \\ slash / tab \t newline \n control \u0001 \u001f del \x7f é 漢 😀",
             "deep": [[[{"a": [1, [2, [3]]]}]]]}
    for v in (value, [], {}, "x", 7, None, [True, [False]]):
        want = json.dumps(v, indent=2, ensure_ascii=False) + "\n"
        for text in (json.dumps(v), json.dumps(v, ensure_ascii=False, indent=1), " \n" + json.dumps(v) + "\t\r\n"):
            same(run("/Json%", stdin=text), want)
    same(run("/Json%", stdin="[1.50e+3, 0E-1, \"\\/\\u00e9\"]"), "[\n  1.50e+3,\n  0E-1,\n  \"/é\"\n]\n")


@case
def bad_json_is_refused_with_its_place():
    for text, line, column in (("", 1, 1), ("[1,]", 1, 4), ("{\"a\" 1}", 1, 6), ("[01]", 1, 3), ("\n\n  tru", 3, 3),
                               ("[1] x", 1, 5), ("\"\t\"", 1, 2), ("\"\\x\"", 1, 3), ("[1", 1, 3), ("-", 1, 2),
                               ("{1:2}", 1, 2), ("1.", 1, 3), ("\"\\u12g4\"", 1, 6)):
        same(run("/Json%", stdin=text, status=1, errors=f"no JSON: line {line}, column {column}\n"), "")


@case
def tic_tac_toe_is_never_lost():
    out = run("/TicTacToe%", stdin="1\n9\n2\n3\n4\n5\n6\n7\n8\n")
    assert out.rstrip().endswith(("you lost", "draw")), out
    same(run("/TicTacToe%", stdin="5").split("\n")[-2], "you gave up")


@case
def tic_tac_toe_is_never_lost_by_anybody():
    assert re.fullmatch(r"won \d+, draw \d+, lost 0\n", fble("run", "examples", "/TicTacToe%", "all").out)


@case
def a_pipeline_of_threads_gives_primes():
    primes = [n for n in range(2, 61) if all(n % d for d in range(2, n))]
    same(run("/Pipeline%", "60"), "".join(f"{p}\n" for p in primes))
    same(run("/Pipeline%", "1"), "")


main()

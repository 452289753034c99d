# SPDX-License-Identifier: MIT
"""What every suite in Python stands on.

    from suite import arguments, case, has, main, run, same, write

    OURO, = arguments("OURO")           # what the suite is given, as absolute paths

    @case
    def a_block_is_reported_with_its_value():
        write("a.folded", "main;f 3\\n")
        done = run(OURO, "report", "--csv", "a.folded")
        same((done.status, done.err), (0, ""))
        has(done.out, "f,,,,3")

    main()

A case is a function that `case` was told of, and its name is a sentence. It runs in an empty folder of its own, which
goes away. It fails by an exception: `same`, `has` and `lacks` say what was expected and what came; a plain `assert`
shows its line and the values of the names in it.

The output is `ok NAME` or `not ok NAME` per case, as tools/run_tests counts it, with the reasons of a failure indented
below its name, and a closing comment. Words on the command line choose the cases whose names contain one of them.
VERBOSE=1 tells how long each case took. The exit status is 0 if no case failed and one passed.
"""
import collections, difflib, os, pprint, re, subprocess, sys, tempfile, time, traceback

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LINES_SHOWN, COLUMNS_SHOWN = 120, 1000

Case = collections.namedtuple("Case", "name function arguments")
Done = collections.namedtuple("Done", "status out err")
cases, words = {}, []


class Failure(AssertionError):
    """Something is not as expected; the text says what came."""


class Skip(Exception):
    """Something that the case needs is not here."""


def arguments(*names):
    """What stands on the command line under these names, as absolute paths. What follows chooses cases."""
    given = sys.argv[1:]
    if len(given) < len(names):
        sys.exit(f"usage: {sys.argv[0]} {' '.join(names)} [WORD...]")
    words[:] = given[len(names):]
    return [os.path.abspath(a) for a in given[:len(names)]]


def case(function, name=None, *given):
    """Registers a case: `@case`, or case(FUNCTION, NAME, ARGUMENTS...) for one of several of a kind."""
    name = name or function.__name__
    if name in cases:
        raise ValueError(f"two cases are called {name}")
    cases[name] = Case(name, function, given)
    return function


# ---------------------------------------------------------------- what a case does

def run(*command, status=None, stdin="", text=True, timeout=300, **more):
    """Runs a command and gives (status, out, err). With `status`, another one fails the case.

    Bytes that are no UTF-8 stay apart in the texts, as surrogates; text=False gives bytes.
    """
    command = [str(word) for word in command]
    if isinstance(stdin, str):
        stdin = stdin.encode(errors="surrogateescape")
    source = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **source, **more)
    out, err = (part.decode(errors="surrogateescape") if text else part for part in (done.stdout, done.stderr))
    if status is not None and done.returncode != status:
        raise Failure(f"expected the exit status {status}, got {done.returncode}: {' '.join(command)}\n"
                      f"{cut(shown(out))}\n{cut(shown(err))}")
    return Done(done.returncode, out, err)


def write(name, data):
    """Writes text or bytes into a file of the case's folder, makes the folders above it, and gives the name back."""
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    with open(name, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode(errors="surrogateescape"))
    return name


def read(name):
    """The text of a file, with the ends of its lines as they are."""
    with open(name, encoding="utf-8", errors="surrogateescape", newline="") as f:
        return f.read()


def same(got, want, about=None):
    """Fails with a difference unless the two are equal. `about` says which one of several it was."""
    if got != want:
        raise Failure(told(difference(got, want), about))


def has(whole, *parts, about=None):
    """Fails unless each part is in the whole: a text, a list, the keys of a dict."""
    for part in parts:
        if part not in whole:
            raise Failure(told(f"expected {part!r} in\n{cut(shown(whole))}", about))


def lacks(whole, *parts, about=None):
    """Fails if one of the parts is in the whole."""
    for part in parts:
        if part in whole:
            raise Failure(told(f"expected no {part!r} in\n{cut(shown(whole))}", about))


def skip(reason):
    """Leaves the case out."""
    raise Skip(reason)


# ---------------------------------------------------------------- what a failure shows

def shown(value):
    """Text as it is; everything else with a line per item where it is long."""
    return value if isinstance(value, str) else pprint.pformat(value, width=110)


def cut(text):
    lines = [line[:COLUMNS_SHOWN] for line in text.splitlines()]
    more = [f"... {len(lines) - LINES_SHOWN} more lines"] if len(lines) > LINES_SHOWN else []
    return "\n".join(lines[:LINES_SHOWN] + more)


def difference(got, want):
    """Both if they are short, otherwise the lines that differ."""
    if max(len(repr(got)), len(repr(want))) < 200:
        return f"expected {want!r}\n     got {got!r}"
    pair = [shown(value).splitlines() for value in (want, got)]
    lines = list(difflib.unified_diff(*pair, "expected", "got", n=2, lineterm=""))
    if not lines:  # they differ in what lines do not show
        return cut(f"expected {want!r}\n     got {got!r}")
    return cut("\n".join(lines))


def told(problem, about):
    if about is None:
        return problem
    return f"{about if isinstance(about, str) else repr(about)}"[:COLUMNS_SHOWN] + f":\n{problem}"


def values_of_the_line(problem):
    """The names in the line of the suite that failed, with their values."""
    frames = [frame for frame, _ in traceback.walk_tb(problem.__traceback__)]
    lines = [entry.line for entry in traceback.extract_tb(problem.__traceback__)]
    not_ours = os.path.dirname(os.__file__), __file__  # Python's own library, and this file
    ours = [i for i, frame in enumerate(frames) if not frame.f_code.co_filename.startswith(not_ours)]
    if not ours:
        return []
    known, values = frames[ours[-1]].f_locals, {}
    for first, *rest in (name.split(".") for name in re.findall(r"\b[A-Za-z_][\w.]*", lines[ours[-1]])):
        name, value = first, known.get(first, print)
        while rest and not callable(getattr(value, rest[0], print)):  # s.url of s.url.endswith(...)
            name, value = f"{name}.{rest[0]}", getattr(value, rest.pop(0))
        if not callable(value):
            values[name] = f"{name} = {value!r}"[:COLUMNS_SHOWN]
    return list(values.values())


def explained(problem):
    """The traceback without the frames of this file."""
    whole = traceback.TracebackException.from_exception(problem)
    whole.stack = traceback.StackSummary.from_list([f for f in whole.stack if f.filename != __file__])
    lines = "".join(whole.format()).splitlines()
    if not isinstance(problem, Failure):
        lines += values_of_the_line(problem)
    return "\n".join("    " + line for line in lines)


# ---------------------------------------------------------------- running

def passes(one):
    """Runs a case in a folder of its own and prints what became of it. None if it was left out."""
    start, started, problem = os.getcwd(), time.monotonic(), None
    with tempfile.TemporaryDirectory(prefix="ouro-suite-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            one.function(*one.arguments)
        except Skip as reason:
            print(f"# {one.name} was left out: {reason}", flush=True)
            return None
        except (Exception, SystemExit) as e:
            problem = e
        finally:
            os.chdir(start)
    took = f" # {time.monotonic() - started:.1f} s" if "VERBOSE" in os.environ else ""
    print(f"ok {one.name}{took}" if problem is None else f"not ok {one.name}\n{explained(problem)}", flush=True)
    return problem is None


def main():
    """Runs the cases that were asked for, and ends the program."""
    sys.stdout.reconfigure(errors="backslashreplace")
    chosen = [one for one in cases.values() if not words or
              any(word in f"{one.function.__module__}.{one.name}".removeprefix("__main__.") for word in words)]
    results = [passes(one) for one in chosen]
    good, bad, out = (results.count(r) for r in (True, False, None))
    print(f"# {good} passed, {bad} failed" + f", {out} left out" * bool(out) + ", no case has the word" * (not chosen))
    sys.exit(bad > 0 or good == 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs of Debian's packages, and test suites of Python: real.py OURO PACKAGES [WORD...]

Each program runs twice under cProfile and once under Ouro. A line per program says whether the call counts are equal,
function by function. A function that differs is listed with the reason, if it is known: mostly that cProfile itself
counted something else in its second run. Then test suites of Python run under `ouro python --precise`, and must pass,
and pip installs the package into a virtual environment. It takes minutes; `make test` does without. The exit status is
1 if something differs without a reason, or fails.
"""
import os, subprocess, sys, tempfile, textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
import oracle

OURO, PACKAGES = map(os.path.abspath, sys.argv[1:3])
WORDS = sys.argv[3:]
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
ENVIRONMENT = dict(os.environ, PYTHONPATH=PACKAGES, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")

TEXT = """
Title
=====

A paragraph with *emphasis*, ``code``, a link_ and a footnote [1]_.

.. _link: https://example.org
.. [1] The footnote.

- a list

  1. of lists

.. table::

   ===== =====
   a     b
   ===== =====
   1     2
   ===== =====

.. code:: python

   def f(): return 1
""" * 5

# module that is needed: command line of the harness
PROGRAMS = {
    "docutils writes a document": ("docutils", ["-m", "docutils", "text.rst", "text.html"]),
    "sympy simplifies": ("sympy", """
        from sympy import simplify, sin, cos, symbols, integrate, factor
        import sympy.core.random
        sympy.core.random.seed(0)
        x, y = symbols("x y")
        simplify(sin(x)**2 + cos(x)**2 + (x**2 - y**2) / (x - y))
        factor(x**4 - y**4)
        integrate(x * sin(x), x)
    """),
    "pycodestyle reads a package": ("pycodestyle", ["-m", "pycodestyle", "--exit-zero", "/usr/lib/python3.11/json"]),
    "black formats a file": ("black", ["-m", "black", "-q", "--check", "/usr/lib/python3.11/this.py"]),
    "jinja2 renders": ("jinja2", """
        import jinja2
        text = "{% macro m(n) %}{% if n %}<{{ n }}>{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(9) }}" \\
               "{% for x in range(50) %}{{ loop.index }}{{ x|string|upper }}{% endfor %}"
        for _ in range(5): jinja2.Template(text).render()
    """),
    "mako renders": ("mako", """
        from mako.template import Template
        Template("<%def name='d(n)'>${n}% if n:\\n${d(n - 1)}\\n% endif\\n</%def>"
                 "% for x in range(40):\\n${x} ${str(x) | h}\\n% endfor\\n").render()
    """),
    "the compiler in Python": ("ast", """
        import ast, dis, io, tokenize
        text = open("/usr/lib/python3.11/heapq.py").read()
        tree = ast.parse(text)
        ast.unparse(tree)
        dis.dis(compile(tree, "x", "exec"), file=io.StringIO())
    """),
    "asyncio runs tasks": ("asyncio", """
        import asyncio
        async def leaf(n):
            await asyncio.sleep(0)
            return n
        async def numbers(n):
            for i in range(n): yield await leaf(i)
        async def main():
            total = sum([i async for i in numbers(50)])
            await asyncio.gather(*[leaf(i) for i in range(50)])
            return total
        asyncio.run(main())
    """),
    "test_generators": ("test.test_generators", ["-m", "unittest", "-q", "test.test_generators"]),
    "test_coroutines": ("test.test_coroutines", ["-m", "unittest", "-q", "test.test_coroutines"]),
}

KNOWN = {  # program: why it differs
    "test_generators": "an interrupt at the entry of a generator ends a frame that never began; cProfile counts that "
                       "as a return of its caller",
}

SUITES = ["test_generators", "test_coroutines", "test_asyncgen", "test_contextlib", "test_contextlib_async",
          "test_exceptions", "test_richcmp", "test_sys_setprofile", "test_generator_stop", "test_yield_from",
          "test_with", "test_threading_local", "test_thread", "test_dynamic", "test_userdict", "test_json",
          "test_recursion", "test_asyncio.test_tasks", "test_asyncio.test_locks", "test_functools", "test_itertools"]


def is_chosen(name):
    return not WORDS or any(word in name for word in WORDS)


def is_there(module):
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", code], capture_output=True).returncode == 0


def harness(mode, output, words):
    done = subprocess.run([PYTHON, HERE + "/harness.py", mode, output, *words], env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=3000)
    if not os.path.exists(output):
        raise SystemExit(f"{' '.join(words)} under {mode}: {done.stderr[-2000:]}")


def rows(metric):
    return subprocess.run([OURO, "report", "--self", "--json", "--top", "1000000", "--metric", metric, "ours.pb"],
                          capture_output=True, text=True, check=True).stdout


def own(name):
    return "harness.py:" in name or "_lsprof" in name or PACKAGES in name


def compare(name, needed, words):
    """True unless something differs without a reason."""
    if not is_there(needed):
        print(f"left out   {name}: {needed} is not installed", flush=True)
        return True
    if isinstance(words, str):
        with open("program.py", "w") as f:
            f.write(textwrap.dedent(words))
        words = ["program.py"]
    with open("text.rst", "w") as f:
        f.write(TEXT)
    for mode, output in (("cprofile", "first.json"), ("counts", "ours.pb"), ("cprofile", "second.json")):
        harness(mode, output, words)
    first, second = oracle.of_cprofile("first.json"), oracle.of_cprofile("second.json")
    ours = oracle.of_ouro(rows("calls"), rows("resumes"))
    different = oracle.compare(ours, first, own)
    unsteady = {row[0] for row in oracle.compare(second, first, own)}
    good = bool(unsteady) or not different or name in KNOWN
    calls = sum(ours.values())
    print(f"{'different' if different else 'equal    '}  {name}: {len(first)} functions, {calls} calls", flush=True)
    for block, mine, theirs in different[:20]:
        why = KNOWN.get(name, "the program differs from run to run" if unsteady else "why is not known")
        why = "cProfile's own two runs differ" if block in unsteady else why
        print(f"           {block}: {mine}, cProfile {theirs}: {why}")
    for file in ("first.json", "second.json", "ours.pb"):
        os.remove(file)
    return good


def passes(suite):
    command = [OURO, "python", "--python", PYTHON, "--precise", "-q", "-o", "suite.pb", "-m", "test", suite]
    plain = [PYTHON, "-m", "test", suite]
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
    if done.returncode == 0:
        print(f"passes     {suite}", flush=True)
        return True
    alone = subprocess.run(plain, env=environment, capture_output=True, text=True, timeout=3000)
    if alone.returncode:
        print(f"left out   {suite}: it fails without us, too", flush=True)
        return True
    print(f"FAILS      {suite}\n" + textwrap.indent((done.stdout + done.stderr)[-3000:], "           "), flush=True)
    return False


def installs():
    """pip, offline, with setuptools alone."""
    code = "import ouro\nwith ouro.profile('x.pb', precise=True): print(1)"
    commands = [[PYTHON, "-m", "venv", "--system-site-packages", "venv"],
                ["venv/bin/python3", "-m", "pip", "install", "--no-index", "--no-build-isolation", HERE + "/.."],
                ["venv/bin/python3", "-c", code],
                [OURO, "python", "--python", "venv/bin/python3", "-q", "-c", "import ouro; print(ouro.running())"]]
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"}
    for command in commands:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000)
        if done.returncode:
            print("FAILS      pip install\n" + textwrap.indent((done.stdout + done.stderr)[-3000:], "           "))
            return False
    print("passes     pip install", flush=True)
    return True


def main():
    good = True
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, (needed, words) in PROGRAMS.items():
            if is_chosen(name):
                good = compare(name, needed, words) and good
        for suite in SUITES:
            if is_chosen(suite):
                good = passes(suite) and good
        if is_chosen("pip install"):
            good = installs() and good
        os.chdir("/")
    print("all is equal, and all suites pass" if good else "see above")
    return 0 if good else 1


sys.exit(main())

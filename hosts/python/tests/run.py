#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs under `ouro python` and with `import ouro`: run.py OURO PACKAGES [WORD...]"""
import glob, json, os, re, signal, subprocess, sys, textwrap, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../../tests/support"]
import oracle, suite
from suite import arguments, case, has, lacks, main, read, same, skip, write

OURO, PACKAGES = arguments("OURO", "PACKAGES")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3.11") else "python3"
BARE = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "OURO"))}
BARE["PYTHONDONTWRITEBYTECODE"] = "1"
WITH_MODULE = dict(BARE, PYTHONPATH=PACKAGES, OURO=OURO)
PATIENCE = 120
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored


def python(*words, status=0, **more):
    return suite.run(PYTHON, *words, status=status, env=more.pop("env", BARE), **more)


def module(text, status=0):
    """A program that imports ouro itself."""
    return python(write("program.py", textwrap.dedent(text)), status=status, env=WITH_MODULE)


def ouro(*words, status=0, **more):
    return suite.run(OURO, "python", "--python", PYTHON, *words, status=status, env=more.pop("env", BARE), **more)


def script(text):
    return write("script.py", textwrap.dedent(text))


def precise(text, *options, status=0):
    ouro("--precise", "-q", "--compact", "none", "-o", "script.pb", *options, script(text), status=status)
    return folded()


def folded(file="script.pb", metric="calls", inside="<module>"):
    """{path: amount}, from the program's first frame on."""
    text = suite.run(OURO, "convert", "--to", "folded", "--metric", metric, file, "-", status=0).out
    result = {}
    for path, amount in (line.rsplit(" ", 1) for line in text.splitlines()):
        blocks = path.split(";")
        if inside in blocks:
            path = ";".join(blocks[blocks.index(inside) + 1:])
            result[path] = result.get(path, 0) + int(amount)
    return {path: amount for path, amount in result.items() if amount and path}


def rows(file, metric):
    return suite.run(OURO, "report", "--self", "--json", "--top", "1000000", "--metric", metric, file, status=0).out


def calls_of(file, name, metric="calls"):
    """Functions that were entered before the recording have None: their calls are not counted."""
    column = "calls" if metric == "calls" else "self"
    return sum(row[column] or 0 for row in json.loads(rows(file, metric))["rows"] if row["name"] == name)


def needs(name):
    if python("-c", f"import {name}", status=None).status:
        skip(f"{name} is not installed")


# ---------------------------------------------------------------- paths

@case
def calls_and_c_functions_are_counted_by_path():
    same(precise("""
        class Shape:
            def area(self): return abs(self.width())
            def width(self): return -3
        def total(n): return sum(Shape().area() for _ in range(n))
        total(2)
        [].append(total(1))
    """), {"builtins.__build_class__": 1, "builtins.__build_class__;Shape": 1,
           "total": 2, "total;builtins.sum": 2, "total;builtins.sum;total.<locals>.<genexpr>": 2,
           "total;builtins.sum;total.<locals>.<genexpr>;Shape.area": 3,
           "total;builtins.sum;total.<locals>.<genexpr>;Shape.area;Shape.width": 3,
           "total;builtins.sum;total.<locals>.<genexpr>;Shape.area;builtins.abs": 3, "list.append": 1})


@case
def the_end_of_the_interpreter_is_not_the_programs():
    """It waits for threads if anybody has imported threading; what the program registered is recorded."""
    precise("""
        import atexit, threading
        def late(): late_in_thread()
        def late_in_thread(): pass
        atexit.register(late)
        worker = threading.Thread(target=late_in_thread)
        worker.start()
    """)
    same([calls_of("script.pb", name) for name in ("_shutdown", "Thread._stop", "late", "late_in_thread")],
         [0, 0, 1, 2])


@case
def a_generator_that_goes_on_is_a_resume_and_no_call():
    same(precise("""
        def count(n):
            while n:
                yield n
                n -= 1
        for x in count(3): pass
    """), {"count": 1})
    same(folded(metric="resumes"), {"count": 3})


@case
def a_coroutine_stands_below_its_awaiter():
    got = precise("""
        import types
        @types.coroutine
        def pause(): yield
        async def leaf(): await pause()
        async def one(): await leaf()
        async def two(): await leaf()
        def step(task):
            try: task.send(None)
            except StopIteration: pass
        a, b = one(), two()
        for _ in range(2): step(a); step(b)
    """)
    for path in ("step;coroutine.send;one;leaf;pause", "step;coroutine.send;two;leaf;pause"):
        same(got.get(path), 1, path)
        same(folded(metric="resumes").get(path), 1, path)


@case
def an_async_generator_stands_below_who_iterates():
    got = precise("""
        async def numbers():
            for i in range(3): yield i
        async def reader():
            async for i in numbers(): str(i)
        try: reader().send(None)
        except StopIteration: pass
    """)
    same((got["coroutine.send;reader;numbers"], folded(metric="resumes")["coroutine.send;reader;numbers"]), (1, 3))


@case
def an_exception_leaves_any_number_of_frames():
    got = precise("""
        def dive(n):
            if n == 0: raise ValueError
            dive(n - 1)
        def after(): pass
        def caught():
            try: dive(50)
            except ValueError: pass
            after()
        caught(); after()
    """)
    same((got["caught;after"], got["after"], sum(n for path, n in got.items() if path.endswith("dive"))), (1, 1, 51))


@case
def an_interrupt_at_the_entry_of_a_function_leaves_the_path_alone():
    got = precise("""
        import signal
        signal.signal(signal.SIGALRM, lambda *a: 1 / 0)
        def after(): pass
        def entered(): pass
        def tried():
            for _ in range(200):
                try:
                    signal.raise_signal(signal.SIGALRM)
                    entered()
                except ZeroDivisionError: pass
                after()
        def outer(): tried(); after()
        outer(); after()
    """)
    same((got["outer;tried;after"], got["outer;after"], got["after"]), (200, 1, 1))


@case
def deep_recursion_in_a_thread_with_a_large_stack_is_one_path():
    ouro("--precise", "-q", "-o", "script.pb", script("""
        import sys, threading
        sys.setrecursionlimit(10**6)
        threading.stack_size(512 << 20)
        def down(n): return n and down(n - 1)
        t = threading.Thread(target=down, args=(200000,))
        t.start(); t.join()
    """))
    same(calls_of("script.pb", "down"), 200001)
    has(suite.run(OURO, "report", "--knots", "script.pb").out, "down")


@case
def threads_are_recorded_however_they_are_started():
    got = precise("""
        import threading, _thread
        def work(): pass
        def bare(lock): work(); lock.release()
        t = threading.Thread(target=work); t.start(); t.join()
        lock = _thread.allocate_lock(); lock.acquire()
        _thread.start_new_thread(bare, (lock,)); lock.acquire()
    """)
    same(calls_of("script.pb", "work"), 2)
    assert got["_thread.start_new_thread"] == 1, got


@case
def threads_that_run_already_are_recorded_from_the_start_on():
    module("""
        import ouro, threading
        def work(): pass
        go, done, ready = threading.Event(), threading.Event(), threading.Event()
        def body():
            ready.set(); go.wait()
            for _ in range(5): work()
            done.set()
        t = threading.Thread(target=body); t.start(); ready.wait()
        with ouro.profile("script.pb", precise=True, compact="none"):
            go.set(); done.wait()
        t.join()
    """)
    same(folded(inside="Thread.run").get("body;work"), 5)
    same(folded(inside="Thread.run").get("body"), None)


@case
def greenlets_switch_stacks():
    needs("greenlet")
    got = precise("""
        from greenlet import greenlet
        def leaf(): pass
        def ping():
            for _ in range(3): leaf(); pong_.switch()
        def pong():
            for _ in range(2): leaf(); ping_.switch()
            leaf()
        ping_, pong_ = greenlet(ping), greenlet(pong)
        ping_.switch()
        leaf()
    """)
    paths = {path: n for path, n in got.items() if path.split(";")[0] in ("leaf", "greenlet.greenlet.switch")}
    same(paths, {"greenlet.greenlet.switch": 1, "greenlet.greenlet.switch;ping": 1,
                 "greenlet.greenlet.switch;ping;leaf": 3, "greenlet.greenlet.switch;ping;greenlet.greenlet.switch": 3,
                 "greenlet.greenlet.switch;ping;greenlet.greenlet.switch;pong": 1,
                 "greenlet.greenlet.switch;ping;greenlet.greenlet.switch;pong;leaf": 3,
                 "greenlet.greenlet.switch;ping;greenlet.greenlet.switch;pong;greenlet.greenlet.switch": 2, "leaf": 1})


@case
def names_have_their_class_file_and_line():
    precise("""
        class A:
            def m(self): return [x for x in (1,)]
        A().m()
        exec("def made(): pass\\nmade()")
    """)
    by_name = {row["name"]: row for row in json.loads(rows("script.pb", "calls"))["rows"]}
    same((by_name["A.m"]["file"], by_name["A.m"]["line"]), (os.path.abspath("script.py"), 3))
    has(by_name, "A.m.<locals>.<listcomp>", "made")
    same(by_name["made"]["file"], "<string>")


@case
def code_that_is_compiled_again_and_again_is_one_block():
    precise("""
        for i in range(300): exec("def made(): pass\\nmade()")
    """)
    same([row["calls"] for row in json.loads(rows("script.pb", "calls"))["rows"] if row["name"] == "made"], [300])


# ---------------------------------------------------------------- as cProfile counts

PROGRAMS = {
    "json": "import json\nfor i in range(20): json.loads(json.dumps({'a': [i, {'b': i}]}, indent=1))\n",
    "classes": "import dataclasses, enum\n@dataclasses.dataclass(order=True)\nclass P:\n    x: int\n    y: int = 0\n"
               "class E(enum.Enum):\n    A = 1\n    B = 2\n"
               "sorted(P(i % 3, i) for i in range(20))\n[E(1), E['B'], list(E)]\n",
    "regular": "import re, tokenize, io\nlist(tokenize.generate_tokens(io.StringIO('a = [1, (2)]\\n' * 9).readline))\n"
               "re.sub(r'(a|b)*c', lambda m: m[0].upper(), 'abcabc' * 5)\n",
    "generators": "import itertools\ndef walk(t):\n    for x in t:\n"
                  "        if isinstance(x, list): yield from walk(x)\n"
                  "        else: yield x\nlist(walk([1, [2, [3, [4]]]]))\nlist(itertools.islice(walk([[5], 6]), 1))\n",
    "contexts": "import contextlib, collections, functools\n@contextlib.contextmanager\ndef c():\n    yield 1\n"
                "@functools.lru_cache\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nwith c(): f(30)\n"
                "collections.Counter('abc' * 9).most_common(2)\ndict.fromkeys('abc')\n",
}


def counts_are_those_of_cprofile(text):
    write("program.py", text)
    for mode, output in (("cprofile", "theirs.json"), ("counts", "ours.pb")):
        python(HERE + "/harness.py", mode, output, "program.py", env=dict(WITH_MODULE, PYTHONHASHSEED="0"))
    ours = oracle.of_ouro(rows("ours.pb", "calls"), rows("ours.pb", "resumes"))
    theirs = oracle.of_cprofile("theirs.json")
    own = lambda name: "harness.py:" in name or "_lsprof" in name or PACKAGES in name
    same(oracle.compare(ours, theirs, own), [])
    assert len(ours) > 8, ours


for name, text in PROGRAMS.items():
    case(counts_are_those_of_cprofile, f"counts_are_those_of_cprofile_{name}", text)


# ---------------------------------------------------------------- as Python runs it

@case
def arguments_streams_and_the_main_module_are_those_of_python():
    text = """
        import sys, os
        print(sys.argv, sys.path, __name__, __file__, sys.stdin.read(), sorted(os.environ))
        print(sys._getframe().f_back, sys.flags.optimize, file=sys.stderr)
    """
    script(text)
    want = python("-O", "script.py", "a", "b c", stdin="text")
    got = ouro("-q", "-O", "script.py", "a", "b c", stdin="text")
    same(got._replace(out=got.out.replace("'OURO', ", "")), want)


@case
def modules_code_and_standard_input_run_too():
    write("package/__main__.py", "import sys; print('main', sys.argv[1:])")
    write("package/__init__.py", "")
    same(ouro("-q", "-m", "package", "x").out, "main ['x']\n")
    assert os.path.exists("package.pb.gz")
    same(ouro("-q", "package").out, "main []\n")
    same(ouro("-q", "-c", "import sys; print(sys.argv)", "y").out, "['-c', 'y']\n")
    same(ouro("-q", "-", "z", stdin="import sys; print(sys.argv)").out, "['-', 'z']\n")
    assert os.path.exists("python.pb.gz")


ENDS = {
    "an_exception": "def f(): raise KeyError('x')\nf()",
    "sys_exit": "import sys; sys.exit(7)",
    "sys_exit_with_a_text": "import sys; sys.exit('no')",
    "os_exit": "import os; print('x', flush=True); os._exit(9)",
    "a_syntax_error": "def (",
    "an_abort": "import os; os.abort()",
    "a_crash": "import ctypes; ctypes.string_at(0)",
    "sigterm": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)\nwhile True: signal.pause()",
    "a_keyboard_interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT)\nwhile True: signal.pause()",
    "an_atexit_function": "import atexit; atexit.register(print, 'bye'); 1/0",
}


def ends_as_without_us(text, mode):
    write("script.py", "def work(): return sum(range(1000))\nwork()\n" + text + "\n")
    want = python("script.py", status=None)
    got = ouro("-q", *mode, "-o", "script.pb", "script.py", status=None)
    same(got, want)
    if text == "def (":
        return
    assert os.path.exists("script.pb"), "there is no profile"
    if mode:
        same(calls_of("script.pb", "work"), 1)


for name, text in ENDS.items():
    case(ends_as_without_us, f"{name}_ends_the_program_as_without_us_precise", text, ["--precise"])
    case(ends_as_without_us, f"{name}_ends_the_program_as_without_us_sampling", text, [])


SLOW = """
    import os, signal, sys, time
    def work():
        sum(range(1000))
    def busy():
        end = time.process_time() + 0.05
        while time.process_time() < end: work()
    work(); busy()
"""
# What comes after it. None of these leaves Python a moment.
ABRUPT = {f"sig{name}": f"os.kill(os.getpid(), signal.SIG{name.upper()}); time.sleep(60)" for name in
          ("kill", "quit", "usr1", "usr2", "alrm", "xcpu", "segv", "trap", "sys", "poll", "rtmin")}
ABRUPT |= {
    "a_c_stack_overflow": "sys.setrecursionlimit(10**9)\ndef f(_): return list(map(f, [0]))\nf(0)",
    "exec": "os.execv('/bin/true', ['true'])",
    "libcs_exit": "import ctypes; ctypes.CDLL(None).exit(5)",
    "libcs__exit": "import ctypes; ctypes.CDLL(None)._exit(6)",
}


def ends_abruptly(text, mode):
    """The next command has the profile, from the output or from the live file beside it."""
    write("script.py", textwrap.dedent(SLOW) + text + "\n")
    want = python("script.py", status=None)
    same(ouro("-q", *mode, "-o", "script.pb", "script.py", status=None), want)
    if mode:
        assert calls_of("script.pb", "work") > 1
    assert calls_of("script.pb", "work" if not mode else "builtins.sum", "time") > 0
    suite.run(OURO, "convert", "script.pb", "script.pb", status=0)
    same(suite.run(OURO, "report", "script.pb", status=0).err, "")


for name, text in ABRUPT.items():
    case(ends_abruptly, f"{name}_leaves_a_profile_precise", text, ["--precise"])
    case(ends_abruptly, f"{name}_leaves_a_profile_sampling", text, [])


def a_child_ends_abruptly(end, mode):
    """As above, in a child of fork and in a child of that one; the parent's recording is not disturbed."""
    write("script.py", textwrap.dedent(SLOW) + textwrap.dedent("""
        def child(depth):
            pid = os.fork()
            if pid:
                os.waitpid(pid, 0)
                return pid
            work(); busy()
            if depth: print(os.getpid(), child(depth - 1), flush=True)
            END
        child(1)
    """).replace("END", textwrap.indent(end, "    ").strip()))
    pids = ouro("-q", *mode, "-o", "script.pb", "script.py", status=0).out.split()
    names = ["script.pb", f"script-{pids[0]}.pb", f"script-{pids[0]}-{pids[1]}.pb"]
    for name in names:
        if mode:
            assert calls_of(name, "work") > 1
            same(calls_of(name, "child"), [1, 1, 0][names.index(name)])
        assert calls_of(name, "work" if not mode else "builtins.sum", "time") > 0
        suite.run(OURO, "convert", name, name, status=0)
        same(suite.run(OURO, "report", name, status=0).err, "")


for name in ("sigkill", "sigquit", "sigsegv", "a_c_stack_overflow", "exec", "libcs__exit"):
    case(a_child_ends_abruptly, f"{name}_in_a_child_leaves_a_profile_precise", ABRUPT[name], ["--precise"])
    case(a_child_ends_abruptly, f"{name}_in_a_child_leaves_a_profile_sampling", ABRUPT[name], [])


@case
def a_child_records_below_the_frames_that_are_open_at_the_fork():
    write("script.py", textwrap.dedent("""
        import os, sys
        def work(): pass
        def steps():
            for _ in range(2):
                work()
                yield
        def outer(end):
            going = steps()
            next(going)
            if os.fork() == 0:
                next(going)
                work()
                end()
            os.wait()
        outer([lambda: os._exit(0), lambda: os.kill(os.getpid(), 9)][len(sys.argv) > 1])
        work()
    """))
    for words in ([], ["kill"]):
        ouro("-q", "--precise", "--memory", "-o", "x.pb", "script.py", *words)
        live = glob.glob("x-*.pb.live")
        same(len(live), len(words))
        child = live[0][:-5] if live else glob.glob("x-*.pb")[0]
        same(calls_of(child, "work"), 2)
        same(calls_of("x.pb", "work"), 2)
        paths = folded(child)
        same([paths.get(path) for path in ("outer", "outer;work", "outer;builtins.next", "outer;builtins.next;steps",
                                           "outer;builtins.next;steps;work")], [None, 1, 1, None, 1])
        for name in glob.glob("x-*"):
            os.remove(name)


@case
def the_newer_one_of_the_output_and_the_live_file_is_read():
    write("script.py", "import os, sys\ndef work(): pass\nfor _ in range(int(sys.argv[1])): work()\n"
          "if len(sys.argv) > 2: os.kill(os.getpid(), 9)\n")
    record = ["-q", "--precise", "-o", "x.pb.gz", "script.py"]
    for words, calls, files in ((["1"], 1, ["x.pb.gz"]), (["2", "kill"], 2, ["x.pb.gz", "x.pb.gz.live"]),
                                (["3", "kill"], 3, ["x.pb.gz", "x.pb.gz.live"]), (["4"], 4, ["x.pb.gz"])):
        ouro(*record, *words, status=-9 if "kill" in words else 0)
        same(sorted(glob.glob("x.pb.gz*")), files)
        same(calls_of("x.pb.gz", "work"), calls)
        told = suite.run(OURO, "report", "x.pb.gz", status=0).err
        same(told, "ouro: x.pb.gz: its program ended without writing it: reading x.pb.gz.live\n" * ("kill" in words))
    if os.geteuid() == 0:  # a live file of somebody else's is none
        ouro(*record, "5", "kill", status=-9)
        os.chown("x.pb.gz.live", 65534, 65534)
        same(calls_of("x.pb.gz", "work"), 4)


@case
def a_recording_that_goes_on_is_read_from_its_live_file():
    write("script.py", "def work(): pass\nwork()\nprint('ready', flush=True)\ninput()\n")
    command = [OURO, "python", "--python", PYTHON, "-q", "--precise", "-o", "x.pb", "script.py"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": BARE}
    with subprocess.Popen(command, **pipes) as first:
        first.stdout.readline()
        done = suite.run(OURO, "report", "--metric", "calls", "x.pb", status=0)
        has(done.out, "work")
        same(done.err, "ouro: x.pb: its program still runs: reading x.pb.live\n")
        with subprocess.Popen(command, **pipes) as second:  # the same output
            second.stdout.readline()
            first.communicate("\n", timeout=PATIENCE)
            same(calls_of("x.pb", "work"), 1)
            assert os.path.exists("x.pb.live"), "the second one's live file is gone"
            second.kill()
    same((first.returncode, second.returncode), (0, -9))


@case
def an_output_that_cannot_be_written_is_refused_before_the_program_begins():
    os.mkdir("folder")
    for name, reason in (("nowhere/x.pb", "No such file or directory"), ("folder", "Is a directory"),
                         ("/proc/x.pb", "No such file or directory"), ("script.py/x.pb", "Not a directory")):
        write("script.py", "print('begun')")
        same(ouro("-o", name, "script.py", status=1),
             (1, "", f"ouro python: cannot write {name}: {reason}; name another file with -o\n"))
    same(sorted(os.listdir(".")), ["folder", "script.py"])
    module("""
        import ouro
        try: ouro.start("nowhere/x.pb")
        except FileNotFoundError as error: assert error.filename.endswith("nowhere/x.pb")
        assert not ouro.running()
        try: ouro.start("x.pb", live="nowhere/x")
        except FileNotFoundError as error: assert error.filename == "nowhere/x"
    """)


@case
def a_recording_without_a_live_file_is_told_once():
    os.makedirs("x.pb.live/full")
    write("script.py", "import os\nfor _ in range(2):\n if os.fork() == 0: os._exit(0)\n os.wait()\n")
    told = ouro("-q", "--precise", "-o", "x.pb", "script.py").err
    same(told, f"ouro: cannot make the live file {os.path.abspath('x.pb.live')}: Is a directory; the recording is in "
         "memory until the end, and kill -9 or a crash would lose it. --live FILE keeps it elsewhere.\n")
    assert os.path.exists("x.pb")
    same(ouro("-q", "--precise", "--live", "l", "-o", "x.pb", "script.py").err, "")


@case
def an_output_that_cannot_be_written_at_the_end_names_the_live_file():
    ends = {"": 0, "os._exit(3)": 3, "os.kill(os.getpid(), 15)": -15, "os.abort()": -6}
    for number, (end, status) in enumerate(ends.items()):
        name = f"{number}.pb"
        write("script.py", f"import os\ndef work(): pass\nwork()\nos.makedirs('{name}/full')\n{end}\n")
        told = ouro("-q", "--precise", "-o", name, "script.py", status=status).err
        has(told, "ouro: cannot write the profile: ", "Is a directory",
            f"\nThe recording is in {os.path.abspath(name)}.live.\n")
        same(calls_of(name + ".live", "work"), 1)
    module("""
        import os, ouro
        ouro.start("x.pb")
        os.makedirs("x.pb/full")
        try: ouro.stop()
        except IsADirectoryError as error: assert error.__notes__ == [f"The recording is in {os.getcwd()}/x.pb.live."]
        else: assert False
    """)


@case
def a_change_of_the_working_folder_does_not_move_the_output():
    os.mkdir("other")
    write("script.py", "import os\nos.chdir('other')\n")
    for options, files in ((["-o", "x.pb"], ["x.pb"]), ([], ["script.pb.gz"]),
                           (["-o", "y.pb", "--live", "l"], ["l", "y.pb"])):
        before = set(os.listdir("."))
        said = ouro("--precise", *options, "script.py").err
        same(sorted(set(os.listdir(".")) - before), files)
        has(said, f"the profile is in {os.path.abspath(files[-1])}\n")
    same(os.listdir("other"), [])


@case
def a_device_or_a_pipe_has_no_live_file():
    write("script.py", "def work(): pass\nwork()\n")
    before = os.listdir("/dev")
    ouro("-q", "--precise", "-o", "/dev/null", "script.py")
    same(os.listdir("/dev"), before)
    os.mkfifo("pipe")
    with open("read.pb", "wb") as to, subprocess.Popen(["cat", "pipe"], stdout=to):
        ouro("-q", "--precise", "-o", "pipe", "script.py")
    same((calls_of("read.pb", "work"), sorted(os.listdir("."))), (1, ["pipe", "read.pb", "script.py"]))


@case
def a_live_file_survives_kill_9():
    text = "import os, signal\ndef work(): pass\nfor _ in range(100): work()\nos.kill(os.getpid(), signal.SIGKILL)\n"
    write("script.py", text)
    ouro("-q", "--precise", "--live", "live.ouro", "script.py", status=-signal.SIGKILL)
    same(calls_of("live.ouro", "work"), 100)


@case
def sigterm_is_obeyed_inside_a_long_c_function():
    write("script.py", "def work(): pass\nwork()\nprint('ready', flush=True)\nsum(range(10**12))\n")
    child = subprocess.Popen([OURO, "python", "--python", PYTHON, "-q", "--precise", "-o", "script.pb", "script.py"],
                             stdout=subprocess.PIPE, env=BARE)
    child.stdout.readline()
    child.terminate()
    same(child.wait(PATIENCE), -signal.SIGTERM)
    child.stdout.close()
    same(calls_of("script.pb", "work"), 1)


@case
def a_handler_of_the_program_is_its_own():
    write("script.py", "import os, signal, sys\nassert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
          "signal.signal(signal.SIGTERM, lambda *a: sys.exit(3))\n"
          "os.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n")
    ouro("-q", "--precise", "script.py", status=3)


@case
def another_version_of_python_is_told_in_words():
    code = "import sys; sys.version_info = (3, 9, 1); import sitecustomize"
    write("python3.9", f'#!/bin/sh\nexec {PYTHON} -S -c "{code}"\n')
    os.chmod("python3.9", 0o755)
    done = suite.run(OURO, "python", "--python", "./python3.9", "x.py", env=BARE)
    same((done.status, done.out), (1, ""))
    has(done.err, "this is Python 3.9.1", "Ouro records Python 3.11", "--python PATH")


@case
def a_python_that_is_not_there_is_told():
    done = suite.run(OURO, "python", "--python", "./nothing", "x.py", env=BARE)
    same((done.status, done.err), (1, "ouro python: cannot run ./nothing: No such file or directory\n"))


@case
def a_virtual_environment_is_used():
    os.makedirs("env/bin")
    write("env/bin/python3", f'#!/bin/sh\necho the environment >&2\nexec {PYTHON} "$@"\n')
    os.chmod("env/bin/python3", 0o755)
    done = suite.run(OURO, "python", "-q", "-c", "print(1)", env=dict(BARE, VIRTUAL_ENV=os.path.abspath("env")))
    same(done, (0, "1\n", "the environment\n"))


@case
def command_lines_that_make_no_sense_are_refused():
    for words, message in ((["--hz", "0", "x"], "--hz needs 1 to 100000"), (["--nothing", "x"], "no option --nothing"),
                           ([], "which script"), (["-I", "x"], "would not load Ouro under -I"),
                           (["--compact", "x", "y"], "there is no rule x")):
        done = suite.run(OURO, "python", *words, env=BARE)
        same(done.status, 2)
        has(done.err, message)


@case
def the_summary_says_where_the_time_went():
    write("script.py", "def work(): return 1\nfor _ in range(1000): work()\n")
    done = ouro("--precise", "script.py")
    same(done.out, "")
    has(done.err, "metrics: calls", "Overall", "ouro python: the profile is in script.pb.gz")


@case
def the_summary_recommends_precise_only_where_it_was_not_given():
    hint = "--precise sees all"
    has(ouro("nobody.py", status=2).err, hint)
    done = ouro("--precise", "nobody.py", status=2)
    has(done.err, "ouro python: nothing was called")
    lacks(done.err, hint)


# ---------------------------------------------------------------- sampling

@case
def sampling_sees_who_runs_in_every_thread():
    write("script.py", textwrap.dedent("""
        import threading, time
        def until(end):
            while time.process_time() < end: pass
        def first(): until(time.process_time() + 0.3)
        def second(): until(time.process_time() + 0.3)
        t = threading.Thread(target=first); t.start(); second(); t.join()
    """))
    ouro("-q", "-o", "script.pb", "script.py")
    has(folded(inside="Thread.run", metric="time"), "first;until")
    has(folded(metric="time"), "second;until")


@case
def sampled_stacks_tell_how_deep_functions_recurse():
    write("script.py", textwrap.dedent("""
        import time
        def until(end):
            while time.process_time() < end: pass
        def itself(n): return itself(n - 1) if n > 1 else until(time.process_time() + 0.3)
        def even(n): return odd(n - 1) if n else until(time.process_time() + 0.3)
        def odd(n): return even(n - 1) if n else until(time.process_time() + 0.3)
        itself(100); even(61)
    """))
    ouro("-q", "-o", "script.pb", "script.py")
    rows = json.loads(suite.run(OURO, "report", "--knots", "--json", "script.pb", status=0).out)["rows"]
    same({" ".join(sorted(block["name"] for block in row["blocks"])): (row["deepest"], row["direct"], row["through"])
          for row in rows}, {"itself": (100, None, 0), "even odd": (31, 0, None)})


@case
def waiting_for_the_gil_and_native_time_are_told_apart():
    write("script.py", textwrap.dedent("""
        import threading, hashlib, time
        data = b"x" * (1 << 24)
        def native():
            end = time.thread_time() + 0.2
            while time.thread_time() < end: hashlib.sha256(data).digest()
        def spin():
            end = time.thread_time() + 0.3
            while time.thread_time() < end: pass
        native()
        both = [threading.Thread(target=spin) for _ in range(2)]
        for t in both: t.start()
        for t in both: t.join()
    """))
    ouro("-q", "--gil", "-o", "script.pb", "script.py")
    assert calls_of("script.pb", "native", "native") > calls_of("script.pb", "native", "time") // 2
    assert calls_of("script.pb", "spin", "gil_wait") > calls_of("script.pb", "spin", "time") // 10
    assert calls_of("script.pb", "native", "gil_wait") < calls_of("script.pb", "native", "time") // 5


ALL_TIME = """
    import _thread, json, sys, time
    import ouro
    clock, hz = sys.argv[1], int(sys.argv[2])
    read = time.monotonic if clock == "wall" else time.thread_time
    inner, starts, ended = {}, {}, []
    def busy():
        while time.monotonic() < end: sum(range(1000))
    def waits():
        while time.monotonic() < end: time.sleep(0.001); sum(range(1000))
    def deep(n=200):
        return deep(n - 1) if n else busy()
    def short():
        sum(range(1000))
    def thread(function):
        name = function.__name__
        def run():
            first = read()
            function()
            inner[name] = inner.get(name, 0) + read() - first
            ended.append(name)
        run.__code__ = run.__code__.replace(co_qualname=f"the {name} thread")
        starts.setdefault(name, time.monotonic())
        _thread.start_new_thread(run, ())
    ouro.start("time.pb", hz=hz, clock=clock)
    end = time.monotonic() + 0.4
    for function in busy, waits, deep:
        thread(function)
    for count in range(1, 21):
        thread(short)
        while ended.count("short") < count: time.sleep(0.0001)
    while len(ended) < 23: time.sleep(0.01)
    ouro.stop()
    last = time.monotonic()
    json.dump({name: (inner[name], last - starts[name]) for name in inner}, sys.stdout)
"""


def no_time_is_lost(clock, hz):
    """What is recorded of a thread lies between what it measures itself and what is measured around it."""
    write("program.py", textwrap.dedent(ALL_TIME))
    others = [subprocess.Popen([PYTHON, "-c", "while True: pass"]) for _ in range(3)]
    try:
        measured = json.loads(python("program.py", clock, hz, env=WITH_MODULE).out)
    finally:
        for other in others:
            other.kill()
            other.wait()
    lines = suite.run(OURO, "convert", "--to", "folded", "--metric", "time", "time.pb", "-", status=0).out.splitlines()
    got = {name: sum(int(line.rsplit(" ", 1)[1]) for line in lines if f"the {name} thread" in line) / 1e9
           for name in measured}
    same({name: got[name] for name, (least, most) in measured.items() if not least <= got[name] <= most}, {}, measured)


for clock, hz in (("wall", 251), ("wall", 1000), ("wall", 5000), ("cpu", 1000)):
    case(no_time_is_lost, f"no_{clock}_time_of_a_thread_is_lost_on_a_busy_machine_at_{hz}_hz", clock, hz)


@case
def a_child_of_fork_is_charged_its_own_time_alone():
    """Also if other threads of the parent are in the middle of a sample."""
    write("script.py", textwrap.dedent("""
        import os, threading, time
        def parents():
            while not ended: sum(range(1000))
        ended = []
        threads = [threading.Thread(target=parents) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(5):
            time.sleep(0.02)
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        ended.append(1)
    """))
    ouro("-q", "--hz", "5000", "-o", "script.pb", "script.py")
    children = glob.glob("script-*.pb")
    same(len(children), 5)
    same([calls_of(name, "parents", "time") for name in children], [0] * 5)


@case
def a_report_says_on_how_many_samples_its_times_rest():
    write("script.py", "import time\ndef spin(end):\n    while time.thread_time() < end: pass\n"
          "spin(time.thread_time() + 0.05)\n")
    said = ouro("--cpu", "-o", "script.pb", "script.py").err
    assert 0 < calls_of("script.pb", "spin", "samples") < 100
    has(said, ": too few to trust the shares.", " samples  block\n")
    ouro("-q", "--precise", "-o", "script.pb", "script.py")
    lacks(suite.run(OURO, "report", "script.pb", status=0).out, "samples")


@case
def processor_time_leaves_out_what_sleeps():
    write("script.py", "import time\ndef nap(): time.sleep(0.5)\nnap()\n"
          "def spin():\n    end = time.thread_time() + 0.3\n"
          "    while time.thread_time() < end: pass\nspin()\n")
    ouro("-q", "--cpu", "-o", "script.pb", "script.py")
    assert calls_of("script.pb", "spin", "time") > 5 * calls_of("script.pb", "nap", "time")


@case
def a_deep_stack_is_sampled_whole():
    write("script.py", textwrap.dedent("""
        import sys, time
        sys.setrecursionlimit(10**6)
        def down(n):
            if n: return down(n - 1)
            end = time.thread_time() + 0.3
            while time.thread_time() < end: pass
        down(50000)
    """))
    ouro("-q", "-o", "script.pb", "--compact", "none", "script.py")
    text = suite.run(OURO, "report", "--self", "--metric", "time", "script.pb", status=0).out
    has(text, "down")
    ouro("-q", "-o", "script.pb", "script.py")
    assert max(len(path.split(";")) for path in folded(metric="time")) < 5


# ---------------------------------------------------------------- inside a program

@case
def a_block_a_function_and_start_and_stop_record():
    module("""
        import ouro
        def work(): pass
        with ouro.profile("block.pb.gz", precise=True): work(); work()
        @ouro.profile("function.pb", precise=True)
        def called(n): work(); return n and called(n - 1)
        assert called(2) == 0 and called.__name__ == "called"
        ouro.start(precise=True); work(); ouro.snapshot("early.pb"); work()
        assert ouro.running() and ouro.stop() and not ouro.running() and not ouro.stop()
        ouro.snapshot("late.pb"); work()
    """)
    same([calls_of(file, "work") for file in ("block.pb.gz", "function.pb", "early.pb", "late.pb")], [2, 3, 1, 2])


@case
def decorated_coroutines_and_generators_are_recorded():
    module("""
        import asyncio, ouro
        def work(): pass
        @ouro.profile("a.pb", precise=True)
        async def task(): work(); await asyncio.sleep(0); work()
        asyncio.run(task())
        @ouro.profile("g.pb", precise=True)
        def numbers(): work(); yield 1; work()
        assert list(numbers()) == [1]
    """)
    same([calls_of(file, "work") for file in ("a.pb", "g.pb")], [2, 2])


@case
def a_second_recording_at_the_same_time_is_refused():
    has(module("""
        import ouro
        ouro.start()
        try: ouro.start()
        except RuntimeError as error: print(error)
        ouro.stop()
        ouro.start(precise=True); ouro.stop()
        try: ouro.start(live="/nowhere/x")
        except OSError as error: print(error)
        assert not ouro.running()
    """).out, "a recording runs already", "/nowhere/x")


@case
def a_hook_of_the_programs_own_is_kept():
    out = module("""
        import ouro, sys
        def work(): pass
        seen = []
        def hook(frame, event, arg): seen.append((frame.f_code.co_name, event))
        with ouro.profile("script.pb", precise=True):
            sys.setprofile(hook)
            assert sys.getprofile() is hook
            work()
            sys.setprofile(None)
            work()
        assert sys.getprofile() is None
        print(seen.count(("work", "call")), seen.count(("work", "return")))
    """).out
    same(out, "1 1\n")
    same(calls_of("script.pb", "work"), 2)


@case
def another_profiler_that_takes_the_hook_is_told():
    write("script.py", "import cProfile\ndef work(): pass\nwork()\np = cProfile.Profile(); p.enable(); work()\n")
    done = ouro("--precise", "-o", "script.pb", "script.py")
    has(done.err, "another profiler took the hook")
    same(calls_of("script.pb", "work"), 1)


SIGNALS = """
    import signal, sys, threading, time
    got, wanted = [], [signal.SIG_DFL if sys.argv[1] == "default" else lambda number, frame: got.append(number)]
    def work():
        end = time.process_time() + 0.02
        while time.process_time() < end: sum(range(1000))
    def before(): work()
    def after(): work()
    def set_all(numbers):
        for number in numbers:
            try: signal.signal(number, wanted[0])
            except (OSError, ValueError): pass
    other = threading.Thread(target=before)
    other.start()
    before()
    numbers = sorted(signal.valid_signals() - {signal.SIGINT, signal.SIGCHLD})
    if sys.argv[2] == "old": numbers = [signal.SIGPROF, signal.SIGVTALRM, signal.SIGALRM]
    if sys.argv[2] == "newest first": numbers.reverse()
    if sys.argv[2] == "ours": numbers = [signal.SIGURG]
    set_all(numbers)
    after()
    threads = [threading.Thread(target=after) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in [other, *threads]: thread.join()
    assert not got, got
"""


def no_tick_reaches_a_program(action, which, mode):
    """Nor kills it, whatever it does with which signals."""
    write("script.py", textwrap.dedent(SIGNALS))
    said = ouro(*mode, "--hz", "5000", "-o", "script.pb", "script.py", action, which).err
    totals = json.loads(suite.run(OURO, "report", "--overall", "--json", "--top", "1000000", "--metric", "time",
                                  "script.pb", status=0).out)["rows"]
    seen = {row["name"] for row in totals if row["overall"]}
    has(seen, "before")
    if which == "old":
        lacks(said, "uses signal")
    elif (action, which) == ("handler", "all") or (action, which) == ("handler", "newest first"):
        has(said, "no other is free, so time was not recorded from then on")
        lacks(seen, "after")
    else:
        has(said, "itself: ticks came by signal")
    if which in ("old", "ours"):
        has(seen, "after")


for action in "default", "handler":
    for which in "old", "ours", "all", "newest first":
        for mode in [], ["--precise"]:
            case(no_tick_reaches_a_program, f"no_tick_reaches_a_program_that_sets_{which.replace(' ', '_')}_signals_to_"
                 f"{action}_{(mode or ['--sampling'])[0][2:]}", action, which, mode)


@case
def c_code_that_sets_all_signals_to_default_ends_nothing():
    write("script.py", textwrap.dedent("""
        import ctypes, signal, time
        def work():
            end = time.process_time() + 0.05
            while time.process_time() < end: sum(range(1000))
        work()
        libc = ctypes.CDLL(None)
        for number in signal.valid_signals() - {signal.SIGSEGV, signal.SIGBUS}: libc.signal(number, 0)
        work()
    """))
    for mode in [], ["--precise"]:
        ouro("-q", *mode, "--hz", "5000", "-o", "script.pb", "script.py")
        assert calls_of("script.pb", "builtins.sum" if mode else "work", "time") > 0


@case
def a_signal_that_is_no_tick_does_what_it_did():
    for mode in [], ["--precise"]:
        write("script.py", "import os, signal\ndef f(): pass\nf()\nos.kill(os.getpid(), signal.SIGURG)\nf()\n")
        ouro("-q", *mode, "-o", "script.pb", "script.py")
        if mode: same(calls_of("script.pb", "f"), 2)
        write("script.py", "import os, signal\nsignal.signal(signal.SIGURG, signal.SIG_IGN)\ndef f(): pass\nf()\n"
              "os.kill(os.getpid(), signal.SIGRTMAX - 4)\nwhile True: signal.pause()\n")
        ouro("-q", *mode, "script.py", status=-(signal.SIGRTMAX - 4))
        for name in "SIGPROF", "SIGVTALRM":
            write("script.py", f"import os, signal\nos.kill(os.getpid(), signal.{name})\nwhile True: pass\n")
            ouro("-q", *mode, "script.py", status=-getattr(signal, name))
            timer = "signal.ITIMER_PROF" if name == "SIGPROF" else "signal.ITIMER_VIRTUAL"
            write("script.py", f"import signal\nn = []\nsignal.signal(signal.{name}, lambda *a: n.append(1))\n"
                  f"signal.setitimer({timer}, 0.002, 0.002)\nwhile len(n) < 5: pass\nsignal.setitimer({timer}, 0)\n")
            ouro("-q", *mode, "script.py")


@case
def recordings_follow_each_other_in_both_modes():
    module("""
        import ouro, threading
        def work(): return sum(range(2000))
        def many():
            for _ in range(300): work()
        for i in range(6):
            with ouro.profile(f"{i}.pb", precise=i % 2 == 0, hz=1000, **({"memory": True} if i == 4 else {})):
                threads = [threading.Thread(target=many) for _ in range(3)]
                for t in threads: t.start()
                for t in threads: t.join()
    """)
    same([calls_of(f"{i}.pb", "work") for i in (0, 2, 4)], [900, 900, 900])


@case
def a_sub_interpreter_cannot_load_the_module():
    out = module("""
        import ouro, _xxsubinterpreters as subs
        one = subs.create()
        try: subs.run_string(one, "import ouro")
        except subs.RunFailedError as error: print(error)
    """).out
    has(out, "only the main interpreter can be recorded")


@case
def allocations_are_charged_to_who_makes_them():
    write("script.py", textwrap.dedent("""
        def make(): return [bytes(5000) for _ in range(100)]
        def idle(): pass
        make(); idle(); idle()
    """))
    ouro("-q", "--memory", "-o", "script.pb", "script.py")
    by_path = folded(metric="allocated")
    made = by_path["make;make.<locals>.<listcomp>"]
    assert 500000 < made < 520000, made
    assert by_path.get("idle", 0) < 100, by_path


@case
def children_of_fork_write_a_file_each():
    write("script.py", textwrap.dedent("""
        import os, multiprocessing
        def parent(): pass
        def child(n=0): return n
        parent()
        pid = os.fork()
        if pid == 0:
            child()
            os._exit(0)
        os.waitpid(pid, 0)
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                pool.map(child, [1, 2, 3])
                pool.close()
                pool.join()
        parent()
    """))
    ouro("-q", "--precise", "-o", "script.pb", "script.py")
    children = [name for name in glob.glob("script-*.pb")]
    same(len(children), 3)
    same(calls_of("script.pb", "parent"), 2)
    same([sum(calls_of(name, block) for name in children) for block in ("child", "parent")], [4, 0])
    ouro("-q", "-o", "sampled.pb", "script.py")
    same(len(glob.glob("sampled-*.pb")), 3)


@case
def pytest_records_its_tests():
    needs("pytest")
    write("test_it.py", "def work(): pass\ndef test_one(): work()\ndef test_two(): work()\n")
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "ouro.pytest_plugin", "--ouro=t.pb",
                  "--ouro-precise", env=WITH_MODULE)
    has(done.out, "2 passed", "the profile is in t.pb")
    same(calls_of("t.pb", "work"), 2)


@case
def ipython_has_a_magic():
    needs("IPython")
    write("cell.ipy", "%load_ext ouro\ndef work(): return 1\n%ouro -p -o line.pb work(); work()\n")
    done = python("-m", "IPython", "--colors=NoColor", "cell.ipy", env=dict(WITH_MODULE, HOME=os.getcwd()))
    has(done.out, "work", "the profile is in line.pb")
    same(calls_of("line.pb", "work"), 2)


main()

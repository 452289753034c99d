#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores on ClickHouse servers: tests/store/run.py OURO [WORD...]

Runs the cases of tests/cli/store.py and the model of tests/unit/test_store.c on one server and on two shards, and
beside them the faults of faults.py on servers of their own, which are killed and held. All of that runs on
clickhouse-server, which Debian has in the oldest version that Ouro supports, and on the current engine (current.py),
except for the cases that need what that engine does not have. Most of a fault is waiting, so these groups run at the
same time, each in a process. With words, cases run one after the other. What is not installed is left out, with a
line that says so.
"""
import contextlib, functools, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
import current, faults, following, posting, shards, view  # noqa
from suite import arguments, case, cases, main, skip, words

OURO, = arguments("OURO")
MODEL_ONLY = "a cluster of the current engine agrees"  # the model asks all that is special in a cluster
GROUP = os.environ.get("OURO_STORE_GROUP", "")  # of this process; its servers are in OURO_STORE_URL, or its own


def the_same_cases_as_on_a_file(url):
    """The suite prints its own cases; here is said whether all were good."""
    done = subprocess.run([sys.executable, HERE + "/../cli/store.py", OURO, *words], stdout=subprocess.PIPE,
                          env={**os.environ, "OURO_TEST_STORE": url})
    print(done.stdout.decode(errors="replace"), end="", flush=True)
    if done.returncode:
        raise AssertionError("some of the cases above failed")


def the_model_agrees(url):
    """The unit's cases against a naive model: sums, charts, what can be chosen, what is forgotten."""
    unit = os.path.dirname(OURO) + "/tests/test_store_plain"
    if not os.path.exists(unit):
        skip("test_store_plain is not built: ninja suites")
    for word in "of_the_model too_many what_is_old can_be_chosen without_any a_recording several".split():
        done = subprocess.run([unit, word], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "OURO_TEST_STORE": url})
        if done.returncode:
            raise AssertionError(done.stdout.decode(errors="replace"))


# ---------------------------------------------------------------- groups

def run_healthy(name, url):
    cases.clear()
    case(the_model_agrees, f"{name}_with_the_model", url)
    if GROUP != MODEL_ONLY:
        case(the_same_cases_as_on_a_file, f"{name}_with_the_cases_of_a_file", url)
    main()


def on(servers, one, name):
    """The case `one`, as a case of these servers."""
    @functools.wraps(one.function)
    def run_there(*given):
        faults.use(OURO, servers)
        one.function(*given)
    case(run_there, name, *one.arguments)


def run_alone():
    """Those that have servers of their own."""
    for name in set(cases) - faults.ALONE:
        del cases[name]
    faults.use(OURO, None)
    main()


def run_faults(oldest, newest):
    """The others share servers; None: there are none."""
    known = list(cases.values())
    cases.clear()
    for one in known:
        if oldest and (words or one.name not in faults.ALONE):
            on(oldest, one, one.name)
        if newest and one.name not in faults.OF_SERVERS:
            on(newest, one, "on_the_current_engine_" + one.name)
    main()


def run_faults_of_the_oldest():
    with shards.Shards(2, secure=True) as servers:
        run_faults(servers, None)


def run_faults_of_the_current():
    with shards.Current(1) as servers:
        run_faults(None, servers)


def run_words():
    with contextlib.ExitStack() as stack:
        run_faults(shards.SERVER and stack.enter_context(shards.Shards(2, secure=True)),
                   current.LIBRARY and stack.enter_context(shards.Current(1)))


class Group:
    """A process that runs some of the cases, and what it says."""

    def __init__(self, name, url=""):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, __file__, OURO], stdin=subprocess.DEVNULL, stdout=self.said,
                                        preexec_fn=shards.end_with_the_test,
                                        env={**os.environ, "OURO_STORE_GROUP": name, "OURO_STORE_URL": url})

    def end(self):
        """Waits, and prints what it said; true if all was good."""
        status = self.process.wait()
        self.said.seek(0)
        print(self.said.read().decode(errors="replace"), end="", flush=True)
        return status == 0


def run_oldest():
    with shards.Shards(2) as servers:
        groups = [Group("faults"), Group("alone"), Group("two shards agree", servers.url("{}", cluster="fleet")),
                  Group("one server agrees", servers.url("{}"))]
        return all([group.end() for group in groups])


def run_current():
    with shards.Current(1) as servers:
        groups = [Group("faults of the current"), Group("the current engine agrees", servers.url("{}")),
                  Group(MODEL_ONLY, servers.url("{}", cluster="one"))]
        return all([group.end() for group in groups])


def run_all():
    if not shards.SERVER:
        print("# tests/store on clickhouse-server was left out: it is not installed")
    if not current.LIBRARY:
        print("# tests/store on the current ClickHouse was left out: npm has no @chdb/lib for this machine, or `npm ci`"
              " in tests/store was not run (tools/bootstrap test does it)")
    if words and (shards.SERVER or current.LIBRARY):
        run_words()
    good = [run_oldest() if shards.SERVER else True, run_current() if current.LIBRARY else True]
    return 0 if all(good) else 1


OF_GROUPS = {"faults": run_faults_of_the_oldest, "alone": run_alone, "faults of the current": run_faults_of_the_current}
if GROUP:
    OF_GROUPS.get(GROUP, lambda: run_healthy(GROUP.replace(" ", "_"), os.environ["OURO_STORE_URL"]))()
sys.exit(run_all())

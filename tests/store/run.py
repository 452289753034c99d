#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores on ClickHouse servers: tests/store/run.py OURO [WORD...]

Runs the cases of tests/cli/store.py and the model of tests/unit/test_store.c on one server and on two shards, and
beside them the faults of faults.py on servers of their own, which are killed and held. Most of a fault is waiting, so
these groups run at the same time, each in a process. With words, cases run one after the other. Without
clickhouse-server all is left out with a line that says so.
"""
import os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
import faults, following, shards, view  # noqa
from suite import arguments, case, cases, main, skip, words

OURO, = arguments("OURO")
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
    case(the_same_cases_as_on_a_file, f"{name}_with_the_cases_of_a_file", url)
    main()


def run_faults(alone):
    """Those that have servers of their own, or the others, which share two."""
    for name in list(cases):
        if (name in faults.ALONE) != alone:
            del cases[name]
    faults.use(OURO, None)
    if alone:
        main()
    with shards.Shards(2, secure=True) as servers:
        faults.use(OURO, servers)
        main()


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


def run_groups():
    with shards.Shards(2) as servers:
        groups = [Group("faults"), Group("alone"), Group("two shards agree", servers.url("{}", cluster="fleet")),
                  Group("one server agrees", servers.url("{}"))]
        return 0 if all([group.end() for group in groups]) else 1


def run_all():
    if not shards.SERVER:
        print("# tests/store was left out: clickhouse-server is not installed")
        return 0
    if GROUP in ("faults", "alone"):
        run_faults(GROUP == "alone")
    if GROUP:
        run_healthy(GROUP.replace(" ", "_"), os.environ["OURO_STORE_URL"])
    if not words:
        return run_groups()
    with shards.Shards(2, secure=True) as servers:
        faults.use(OURO, servers)
        main()


sys.exit(run_all())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores on ClickHouse servers: tests/store/run.py OURO [WORD...]

Starts two servers of its own, and runs the cases of tests/cli/store.py on one of them and on both as shards, then the
faults of faults.py. Without clickhouse-server all is left out with a line that says so.
"""
import os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
import faults, following, shards, view  # noqa
from suite import arguments, case, cases, main, skip, words

OURO, = arguments("OURO")


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


def run_all():
    if not shards.SERVER:
        cases.clear()
        words.clear()
        case(lambda: print("# clickhouse-server is not installed: tools/bootstrap test does that"),
             "without_clickhouse_server_these_cases_are_left_out")
        main()
    with shards.Shards(2) as servers:
        faults.use(OURO, servers)
        if not words:
            case(the_same_cases_as_on_a_file, "one_server_does_what_a_file_does", servers.url("{}"))
            case(the_model_agrees, "one_server_agrees_with_the_model", servers.url("{}"))
            case(the_model_agrees, "two_shards_agree_with_the_model", servers.url("{}", cluster="fleet"))
            case(the_same_cases_as_on_a_file, "two_shards_do_what_a_file_does", servers.url("{}", cluster="fleet"))
        main()


sys.exit(run_all())

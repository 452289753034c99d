#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The viewer's server from outside: tests/server/run.py OURO LIVE_WRITER [WORD...]

answers.py and filters.py hold the API against a naive model and against `ouro report`, recursion.py the same for
recursion and findings; attacks.py does what a hostile page, profile or client would do; life.py and recent.py start,
follow and end it; paths.py asks by the ids of paths, inverted.py for trees that are not the profile's own,
neighbourhood.py for the call graph around a block, slices.py for slices and for a part of the time, store.py for
choices from a store. The same cases run on builds
with sanitizers, which is what finds the races and the bad reads. A word may be the name of one of these files.
"""
import os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../cli", HERE + "/../support"]
import harness, suite

# libmicrohttpd is stopped while connections end; one of its own threads may be finished and not yet joined when the
# process exits. Races and everything else are still reported.
os.environ.setdefault("TSAN_OPTIONS", "report_thread_leaks=0")
harness.Server.ouro, harness.LIVE_WRITER = suite.arguments("OURO", "LIVE_WRITER")
import answers, attacks, compare, filters, inverted, life, neighbourhood, paths, recent, recursion, slices  # noqa
import store  # noqa

suite.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The viewer's server from outside: tests/server/run.py OURO LIVE_WRITER [WORD]

answers.py holds the API against a naive model and against `ouro report`; attacks.py does what a hostile page, profile
or client would do; life.py starts, follows and ends it. The same cases run on builds with sanitizers, which is what
finds the races and the bad reads.
"""
import os, sys, tempfile, traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "cli")]
import harness

harness.Server.ouro = os.path.abspath(sys.argv[1])
harness.LIVE_WRITER = os.path.abspath(sys.argv[2])
import answers, attacks, life  # noqa: the cases register themselves


def main():
    word, failed = sys.argv[3] if len(sys.argv) > 3 else "", 0
    for case in harness.CASES:
        if word not in case.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                case()
                print("ok", case.__name__, flush=True)
            except Exception:
                failed += 1
                traceback.print_exc()
                print("not ok", case.__name__, flush=True)
            os.chdir("/")
    return failed > 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The viewer's server from outside: tests/server/run.py OURO LIVE_WRITER [WORD...]

answers.py holds the API against a naive model and against `ouro report`; attacks.py does what a hostile page, profile
or client would do; life.py starts, follows and ends it. The same cases run on builds with sanitizers, which is what
finds the races and the bad reads.
"""
import os, sys, tempfile, time, traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "cli")]
import harness

# libmicrohttpd is stopped while connections end; one of its own threads may be finished and not yet joined when the
# process exits. Races and everything else are still reported.
os.environ.setdefault("TSAN_OPTIONS", "report_thread_leaks=0")
harness.Server.ouro = os.path.abspath(sys.argv[1])
harness.LIVE_WRITER = os.path.abspath(sys.argv[2])
import answers, attacks, life  # noqa: the cases register themselves


def main():
    words, failed = sys.argv[3:] or [""], 0
    for case in harness.CASES:
        if not any(word in f"{case.__module__}.{case.__name__}" for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            started = time.monotonic()
            try:
                case()
                print("ok", case.__name__, f"# {time.monotonic() - started:.1f} s" if "VERBOSE" in os.environ else "",
                      flush=True)
            except Exception:
                failed += 1
                traceback.print_exc()
                print("not ok", case.__name__, flush=True)
            os.chdir("/")
    return failed > 0


sys.exit(main())

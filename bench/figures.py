# SPDX-License-Identifier: MIT
"""One list of all figures: each benchmark tells what was to reach and what it reached; bench/all makes the table.

The list is a file of tab-separated lines that OURO_FIGURES names; without it, nothing is noted.
"""
import os


def rounds(usual):
    """How often a timed run is repeated: ROUNDS, else as usual."""
    return int(os.environ.get("ROUNDS", usual))


def verdict(good):
    return "-" if good is None else "ok" if good else "MISSED"


def figure(part, case, goal, reached, good=None):
    """`good` is None for what is only reported."""
    if "OURO_FIGURES" in os.environ:
        with open(os.environ["OURO_FIGURES"], "a") as f:
            f.write("\t".join((part, case, goal, reached, verdict(good))) + "\n")

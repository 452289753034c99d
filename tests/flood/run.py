#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs that flood the tools: tests/flood/run.py OURO_COUNTED RECORD OURO [WORD...]; see README.md."""
import os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "server"),
                os.path.join(HERE, "..", "cli")]
sys.dont_write_bytecode = True
from suite import arguments, main
import counted, harness

counted.COUNTED, RECORD, OURO = arguments("OURO_COUNTED", "RECORD", "OURO")
harness.Server.ouro = counted.COUNTED
import growth, limits
growth.RECORD = limits.RECORD = RECORD
limits.OURO = OURO
main()

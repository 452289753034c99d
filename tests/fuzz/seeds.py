#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets into a folder: the golden inputs and some pprof files."""
import os, sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "cli"))
from pprof import Profile, random_profile

out = sys.argv[1]
inputs = os.path.join(here, "..", "golden", "inputs")
seeds = {name: open(os.path.join(inputs, name), "rb").read() for name in os.listdir(inputs)}
small = Profile()
small.add(["main", ("serve", "inlined"), "leaf"], [10], [("request", "home")])
small.add(["main", "leaf"], [-1])
seeds["small.pb"] = small.bytes()
seeds["random.pb"] = random_profile(1, True).bytes()
for i, (name, data) in enumerate(sorted(seeds.items())):
    with open(os.path.join(out, name), "wb") as f:
        f.write(bytes([i]) + data)

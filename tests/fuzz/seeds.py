#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets into two folders: the golden inputs and some pprof files; requests."""
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
unnamed = Profile()
unnamed.add(["/bin/program+0x10", "/bin/program+0x24", ("/bin/library+0x30", "inlined")], [3])
unnamed.add(["/bin/program+0x10", "/bin/program+0x31"], [4])
seeds["unnamed.pb"] = unnamed.bytes()
seeds["random.pb"] = random_profile(1, True).bytes()
for i, (name, data) in enumerate(sorted(seeds.items())):
    with open(os.path.join(out, name), "wb") as f:
        f.write(bytes([i]) + data)

requests = sys.argv[2]
os.makedirs(requests, exist_ok=True)
QUESTIONS = ["profile", "overview", "blocks?sort=-self&limit=5&offset=1&search=p", "sequences?sort=length&format=csv",
             "around?block=parse&block=lex&in_limit=3", "flame?at=main&at=parse&limit=20", "tree?at=main&sort=name",
             "knots",
             "files", "source?file=x", "compare?state=new&sort=-overall", "find?text=a", "total?search=eval",
             "export?as=svg&fold=parse",
             "blocks?select=main&exclude=lex&fold=eval&fold=a%40b.c%3A1&metric=samples&side=after",
             "blocks?select=%EF%BF%BD%EF%BF%BD"]
for i, question in enumerate(QUESTIONS):
    with open(os.path.join(requests, str(i)), "wb") as f:
        f.write(bytes([i]) + b"/api/v1/" + question.encode())

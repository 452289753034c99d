# SPDX-License-Identifier: MIT
"""Objects of compiled modules that all suites of a build share, in a folder beside fble.

The name of an object is a hash of all that it depends on, so what is there is right; see to_c/build.c. The standard
library takes longest. with_library() compiles it, once however many suites ask for it at the same time.
"""
import fcntl, os, shutil

from suite import run

FLAGS = "-O1"
STD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "std")  # as it is named in the objects
MOST = 500 << 20  # bytes; older builds have left the rest


def folder(fble):
    """The objects beside this fble, which are made with FLAGS."""
    return os.path.join(os.path.dirname(fble), "tests", "fble-objects")


def clean(objects):
    files = [entry.stat().st_size for entry in os.scandir(objects)] if os.path.isdir(objects) else []
    if sum(files) > MOST:
        shutil.rmtree(objects)


def with_library(fble):
    """The same folder, with the objects of every module of the library for programs, without and with profiles."""
    objects = folder(fble)
    os.makedirs(os.path.dirname(objects), exist_ok=True)
    with open(objects + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        clean(objects)
        names = sorted(os.path.relpath(os.path.join(at, name), STD)[:-len(".fble")]
                       for at, _, files in os.walk(STD) for name in files if name.endswith(".fble"))
        main = objects + ".fble"
        with open(main, "w", encoding="utf-8") as f:
            f.write(f"@({', '.join(f'm{i}: /{name}%' for i, name in enumerate(names))});\n")
        run(fble, "compile", "--profile", "--eval", "-I", STD, main, "-o", objects + ".out", "--build-dir", objects,
            status=0, timeout=900, env={**os.environ, "CFLAGS": FLAGS, "CC": "cc"})
    return objects

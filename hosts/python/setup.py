# SPDX-License-Identifier: MIT
"""pip install --no-build-isolation hosts/python: the package for the Python that runs pip, from this source tree."""
import glob, os, re, sys

from setuptools import Extension, setup

if sys.version_info[:2] != (3, 11):
    sys.exit("Ouro records Python 3.11; this is %d.%d (%s)" % (sys.version_info[:2] + (sys.executable,)))

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
root = os.path.join("..", "..")
with open(os.path.join(root, "include", "ouro.h")) as header:
    version = re.search(r'#define OURO_VERSION "(.*)"', header.read())[1]
own = [name for name in sorted(glob.glob("*.c")) if name != "main.c"]
shared = sorted(glob.glob(os.path.join("..", "shared", "*.c")))
library = sorted(glob.glob(os.path.join(root, "src", "lib", "*.c")))

setup(
    name="ouro",
    version=version,
    description="call-path profiler for programs that recurse",
    license="MIT",
    python_requires="==3.11.*",
    packages=["ouro"],
    ext_modules=[Extension(
        "ouro._ouro", own + shared + library, libraries=["z", "pthread"], define_macros=[("_GNU_SOURCE", None)],
        include_dirs=[os.path.join(root, *folder) for folder in (["include"], ["src", "common"], ["src", "lib"],
                                                               ["hosts", "shared"])],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden"], extra_link_args=["-Wl,-z,nodelete"])],
    # Objects of ../../src go two folders up from here, which is still inside `build`.
    options={"build": {"build_temp": os.path.join("build", "temp", "objects")}},
    entry_points={"pytest11": ["ouro = ouro.pytest_plugin"]},
)

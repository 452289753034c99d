# SPDX-License-Identifier: MIT
"""The package for the Python that builds it. pip calls this through build_backend.py, which collects the sources."""
import glob, os, re, sys

from setuptools import Extension, setup

if sys.version_info[:2] != (3, 11):
    sys.exit("Ouro records Python 3.11; this is %d.%d (%s)" % (sys.version_info[:2] + (sys.executable,)))
if not os.path.isdir("sources"):
    sys.exit("setup.py: the recorder's sources are not here; build with `pip install .` or `python3 -m build`")

with open("sources/include/ouro.h") as header:
    version = re.search(r'#define OURO_VERSION "(.*)"', header.read())[1]
code = [file for folder in (".", "sources/hosts/shared", "sources/src/lib")
        for file in sorted(glob.glob(os.path.join(folder, "*.c")))]

setup(
    name="ouro",
    version=version,
    description="call-path profiler for programs that recurse",
    license="MIT",
    license_files=["sources/LICENSE"],
    python_requires="==3.11.*",
    packages=["ouro"],
    ext_modules=[Extension(
        "ouro._ouro", code, libraries=["z", "pthread"], define_macros=[("_GNU_SOURCE", None)],
        include_dirs=["sources/include", "sources/src/common", "sources/src/lib", "sources/hosts/shared"],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden"], extra_link_args=["-Wl,-z,nodelete"])],
    entry_points={"pytest11": ["ouro = ouro.pytest_plugin"]},
)

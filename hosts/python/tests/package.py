#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The packages for pip: package.py OURO [WORD...]

They are built offline by the setuptools and the wheel of the system. A source package is taken to an empty folder,
where pip builds and installs it without the tree.
"""
import os, shutil, sys, tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../tests/support")
from suite import ROOT, arguments, case, has, lacks, main, run, same

OURO, = arguments("OURO")
PYTHON = "/usr/bin/python3"
# How well the module is compiled does not matter here.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP", "OURO"))},
               "CFLAGS": "-O0", "PYTHONDONTWRITEBYTECODE": "1"}


def python(*words, **more):
    return run(PYTHON, *words, status=0, env={**ENVIRONMENT, **more})


def tree():
    """A copy of what git knows, which is as clean as a checkout."""
    files = run("git", "-C", ROOT, "ls-files", "-z", "hosts/python", "hosts/shared", "include", "src/lib", "src/common",
                "LICENSE", status=0).out.split("\0")
    for file in filter(os.path.exists, (os.path.join(ROOT, name) for name in files if name)):
        to = os.path.join("tree", os.path.relpath(file, ROOT))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(file, to)


def files(folder):
    return sorted(os.path.join(place, name) for place, folders, names in os.walk(folder) for name in folders + names)


def install(package):
    """pip installs a package into a folder, in which Python then finds it, and it works."""
    python("-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--target", "site", package)
    code = "import ouro\ndef f(): pass\nwith ouro.profile('x.pb', precise=True): f()\nprint(ouro.__file__)"
    has(python("-c", code, PYTHONPATH="site").out, f"{os.getcwd()}/site/ouro/")
    has(run(OURO, "report", "--metric", "calls", "x.pb", status=0).out, " f")


@case
def the_source_package_is_built_and_installed_without_the_tree():
    tree()
    before = files("tree")
    code = "import sys\nsys.path.insert(0, '.')\nimport build_backend\nbuild_backend.build_sdist(sys.argv[1])"
    run(PYTHON, "-c", code, os.getcwd(), status=0, env=ENVIRONMENT, cwd="tree/hosts/python")
    same(files("tree"), before)
    package, = (name for name in os.listdir() if name.endswith(".tar.gz"))
    shutil.rmtree("tree")
    with tarfile.open(package) as archive:
        lacks(" ".join(archive.getnames()), "/tests", "/bench", "__pycache__")
        has(" ".join(archive.getnames()), "/sources/LICENSE", "/sources/include/ouro_site.h")
    install(package)


@case
def the_tree_is_installed_and_stays_as_it_was():
    tree()
    before = files("tree")
    install("tree/hosts/python")
    same(files("tree"), before)


@case
def setup_py_says_how_to_build():
    tree()
    done = run(PYTHON, "setup.py", "sdist", env=ENVIRONMENT, cwd="tree/hosts/python", status=1)
    has(done.err, "build with `pip install .` or `python3 -m build`")


main()

# SPDX-License-Identifier: MIT
"""Builds wheels and source packages with setuptools, in a temporary folder that holds all that they need.

The extension module is compiled with the recorder's sources, which are outside of this folder. A source package has
them below `sources`, and is built as it is. In the tree, this copies them and the package to such a folder, so a build
leaves nothing in the tree, and both builds are the same.
"""
import contextlib, os, shutil, tempfile

from setuptools import build_meta

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ["LICENSE", "include", "src/common", "src/lib", "hosts/shared"]
OF_THE_TREE_ONLY = ["bench", "examples", "tests", "start", "meson.build", "main.c", "build", "dist", "*.egg-info"]
not_packed = shutil.ignore_patterns(*OF_THE_TREE_ONLY, "__pycache__", ".*")


@contextlib.contextmanager
def complete_folder():
    """The current folder is a copy of this one, with the sources."""
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(HERE, os.path.join(folder, "ouro"), ignore=not_packed)
        if not os.path.isdir(os.path.join(HERE, "sources")):
            for name in SOURCES:
                to, file = os.path.join(copy, "sources", name), os.path.join(HERE, "..", "..", name)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                (shutil.copytree if os.path.isdir(file) else shutil.copy)(file, to)
        os.chdir(copy)
        try:
            yield
        finally:
            os.chdir(start)


def get_requires_for_build_wheel(settings=None):
    with complete_folder():
        return build_meta.get_requires_for_build_wheel(settings)


def get_requires_for_build_sdist(settings=None):
    with complete_folder():
        return build_meta.get_requires_for_build_sdist(settings)


def prepare_metadata_for_build_wheel(folder, settings=None):
    folder = os.path.abspath(folder)
    with complete_folder():
        return build_meta.prepare_metadata_for_build_wheel(folder, settings)


def build_wheel(folder, settings=None, metadata=None):
    folder, metadata = os.path.abspath(folder), metadata and os.path.abspath(metadata)
    with complete_folder():
        return build_meta.build_wheel(folder, settings, metadata)


def build_sdist(folder, settings=None):
    folder = os.path.abspath(folder)
    with complete_folder():
        return build_meta.build_sdist(folder, settings)

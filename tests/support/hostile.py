# SPDX-License-Identifier: MIT
"""Texts that a terminal would obey instead of showing them. Which characters these are is asked of Python's Unicode
tables, not of src/common/printable.h."""
import unicodedata
from suite import same

# Format characters that are seen (signs that stand before a number), and the two that names are written with.
SEEN = {*range(0x600, 0x606), 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd, 0x200c, 0x200d}
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_obeyed(c):
    return (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and ord(c) not in SEEN or
            unicodedata.bidirectional(c) in DIRECTIONS or c in "\u180e\ufffe\uffff")


# As a name; the bytes that are no UTF-8 are surrogates, as `run` and `write` of suite.py have them.
HOSTILE = "\x1b[31m\x9b2J\x07\u202eevil\u2066\u2028\u2029\x7f\t\r\u200f\u061c\U000e0041\udc9b\ufeff"


def quiet(text, about):
    for line in text.split("\n"):
        same([hex(ord(c)) for c in line if is_obeyed(c)], [], (about, line))

# SPDX-License-Identifier: MIT
"""%load_ext ouro: the magics %ouro (a statement) and %%ouro (a cell) for IPython and Jupyter."""
import os, shlex, tempfile

import ouro

USAGE = """%ouro [-p] [-o FILE] STATEMENT, or %%ouro [-p] [-o FILE] above a cell

-p, --precise      record every call instead of sampling
-o, --output FILE  keep the profile: pprof, packed if the name ends in .gz
"""


def options_of(line, is_cell):
    """(options, the rest of the line)"""
    precise, output = False, None
    words = line.split()
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-p", "--precise"):
            precise = True
        elif word in ("-o", "--output") and words:
            output = shlex.split(words.pop(0))[0]
        else:
            raise ValueError(USAGE)
    rest = line
    for _ in range(len(line.split()) - len(words)):
        rest = rest.lstrip().partition(" ")[2]
    if is_cell and words:
        raise ValueError(USAGE)
    return {"precise": precise, "output": output}, rest


def record(shell, text, precise, output):
    code = compile(shell.transform_cell(text), "<cell>", "exec")
    with tempfile.TemporaryDirectory() as folder:
        file = output or os.path.join(folder, "cell.pb")
        with ouro.profile(file, precise=precise):
            exec(code, shell.user_ns)
        try:
            print(ouro.report(file))
        except (OSError, ouro_failed()) as error:
            print(f"ouro: no report: {error}")
    if output:
        print(f"the profile is in {output}")


def ouro_failed():
    import subprocess
    return subprocess.CalledProcessError


def load(shell):
    def magic(line, cell=None):
        options, rest = options_of(line, cell is not None)
        record(shell, rest if cell is None else cell, **options)

    magic.__doc__ = USAGE
    shell.register_magic_function(magic, "line_cell", "ouro")

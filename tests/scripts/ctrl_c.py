#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command in a terminal, types Ctrl-C when it shows a word: ctrl_c.py WORD COMMAND...

Prints all that was shown. The exit status is 0 if the command ended by itself or by the Ctrl-C, within a minute of it.
"""
import os, pty, select, signal, sys, time

word, command = sys.argv[1].encode(), sys.argv[2:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background command would ignore it
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
shown, typed, until = b"", False, time.monotonic() + 300
while time.monotonic() < until:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the last one that had it open is gone
            break
    if word in shown and not typed:
        os.write(terminal, b"\x03")
        typed, until = True, time.monotonic() + 60
else:
    os.killpg(child, signal.SIGKILL)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.write(shown.decode(errors="replace"))
sys.exit(0 if typed and status in (0, 130, -signal.SIGINT) else 1)

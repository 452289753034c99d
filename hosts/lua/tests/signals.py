# SPDX-License-Identifier: MIT
"""Signals for a script that runs, at the right moment: by what /proc says of it, and not by how long one has waited."""
import os, time


def until(ready, process):
    end = time.monotonic() + 60
    while process.poll() is None and not ready():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def processor_time(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_run(process, seconds):
    """Waits until it had so much more processor time."""
    start = processor_time(process)
    until(lambda: processor_time(process) >= start + seconds, process)


def is_pending(process):
    with open(f"/proc/{process.pid}/status") as file:
        return any(int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd")))


def send(process, numbers):
    """One after the other: the next one when the last has arrived."""
    for number in numbers[:-1]:
        process.send_signal(number)
        until(lambda: not is_pending(process), process)
        has_run(process, 0.02)
    process.send_signal(numbers[-1])

# SPDX-License-Identifier: MIT
"""What a command costs, by the counters of ouro_counted."""
import mmap, os, struct, subprocess
from suite import Failure

COUNTED = None  # set by run.py
STEPS, BYTES, PEAK = range(3)
TIMES = 4  # how much larger the larger input is
MOST = 6   # how much more it may cost: sorting takes a little more than four times as long


class Counters:
    """A file in this folder that a counted program maps."""

    def __init__(self, name="counters"):
        with open(name, "wb") as f:
            f.write(bytes(24))
        self.path = os.path.abspath(name)
        with open(name, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 24)

    def env(self):
        return {**os.environ, "OURO_COUNTERS": self.path}

    def __getitem__(self, which):
        return struct.unpack_from("Q", self.map, 8 * which)[0]

    def forget_peak(self):
        struct.pack_into("Q", self.map, 8 * PEAK, self[BYTES])


def cost(*arguments, status=0):
    """(steps, peak of memory) of a command."""
    counters = Counters()
    done = subprocess.run([COUNTED, *arguments], env=counters.env(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
    if done.returncode != status:
        raise Failure(f"exit status {done.returncode}: {' '.join(arguments)}\n{done.stderr.decode(errors='replace')}")
    return counters[STEPS], counters[PEAK]


def grows_with(small, large, about, most=MOST, noise=(200_000, 2_000_000)):
    """Fails if the larger input cost out of proportion. `noise`: steps and bytes that anything may cost."""
    for what, a, b, free in zip(("steps", "bytes of memory"), small, large, noise):
        if b > most * a + free:
            raise Failure(f"{about}: {a:,} {what} for an input, {b:,} for one that is {TIMES} times as large: "
                          f"{b / max(a, 1):.1f} times, at most {most} are in proportion")

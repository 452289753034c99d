# SPDX-License-Identifier: MIT
"""A live file that is followed into two shards, while the pusher, a server and at last the program are killed."""
import os, random, signal, subprocess, time

import faults
from faults import SEED, folded, ouro, servers, two
from suite import case, run, same

PATIENCE = 240  # seconds, for a busy machine


class Following:
    def __init__(self, url):
        self.process = subprocess.Popen([faults.given["ouro"], "push", "--store", url, "--follow", "--every", "10ms",
                                         "web.ouro"], stderr=subprocess.DEVNULL)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


class Recorder:
    def __init__(self):
        program = os.path.dirname(faults.given["ouro"]) + "/tests/follow_recorder"
        self.process = subprocess.Popen([program, "web.ouro"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        same(self.process.stdout.readline(), "done\n")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        same(self.process.stdout.readline(), "done\n")

    def kill(self):
        self.process.kill()
        self.process.communicate()


def disturb(dice, url, following):
    """Kills something at some moment, and starts it again. The pusher that goes on afterwards."""
    time.sleep(dice.random() / 4)
    what = dice.choice(["pusher", "pusher", "server", "nothing"])
    if what == "pusher":
        following.end(signal.SIGKILL)
        return Following(url)
    if what == "server":
        shard = dice.choice(servers().shards)
        shard.kill()
        shard.start()
        shard.wait()
    return following


@case
def whatever_is_killed_the_shards_have_what_the_program_recorded():
    print(f"# the seed is {SEED}")
    dice, url, recorder = random.Random(SEED), two(), Recorder()
    following = Following(url)
    try:
        for _ in range(12):
            for _ in range(dice.randrange(1, 30)):
                recorder.tell(f"random {dice.randrange(10 ** 6)} {dice.randrange(1, 200)}")
            following = disturb(dice, url, following)
        recorder.kill()
        status = following.end(signal.SIGTERM)
    finally:
        recorder.kill()
        following.process.kill()
        following.process.wait()
    # The last round may have met a server that was not there yet: the next push sends the rest.
    if status:
        ouro("push", "--store", url, "--follow", "--once", "web.ouro")
    for metric in "samples", "calls":
        done = run(faults.given["ouro"], "convert", "--to", "folded", "--metric", metric, "web.ouro", "-", status=0)
        lines = (line.rsplit(" ", 1) for line in done.out.splitlines())
        wanted = {path: int(n) for path, n in lines if int(n)}
        same({path: n for path, n in folded(url, "", "--metric", metric).items() if n}, wanted, metric)

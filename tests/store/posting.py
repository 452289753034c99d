# SPDX-License-Identifier: MIT
"""`ouro serve` into ClickHouse: what was answered with 200 is in the store, once, whatever is killed."""
import os, random, resource, signal, sys, threading, time

import faults
from faults import SEED, folded, one, servers, two
from suite import case, has, same

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ingest"))
from harness import Serve  # noqa

TIMES = {"from": 1700000000, "until": 1700000010}
PATIENCE = 240  # seconds, for a busy machine


class Posted(Serve):
    """`ouro serve` whose journal is in the folder of the case."""

    def __init__(self, url, **more):
        Serve.ouro = faults.given["ouro"]
        super().__init__(store=url, env={"XDG_STATE_HOME": os.getcwd()}, **more)

    def post(self, number):
        """A profile of its own for each number; the status."""
        return self.send(f"main;f{number % 7} {number}\n", units="objects", name=f"web{{n=n{number % 5}}}", **TIMES)

    def wait_for_the_store(self):
        end = time.monotonic() + PATIENCE
        while self.counters()["journal_bytes"]:
            assert time.monotonic() < end, "the store does not have all"
            time.sleep(0.02)

    def kill(self):
        self.child.kill()
        self.child.communicate()

    def stop(self, check=True):
        if self.child.returncode != -signal.SIGKILL:
            super().stop(check)


def sums(numbers):
    """What paths have after these posts."""
    paths = {}
    for number in numbers:
        path = f"main;f{number % 7}"
        paths[path] = paths.get(path, 0) + number
    return paths


def journal():
    folder = os.getcwd() + "/ouro/serve"
    return [os.path.join(folder, name) for name in os.listdir(folder)]


@case
def many_posts_are_few_inserts():
    def inserts():
        told = servers()[0].ask("SELECT value FROM system.events WHERE event = 'InsertQuery'")
        return int(told or 0)

    def work(first):
        got.extend(s.post(number) for number in range(first, first + 50))

    got = []
    with Posted(one()) as s:
        same(s.post(1000), 200)
        s.wait_for_the_store()
        before = inserts()
        threads = [threading.Thread(target=work, args=(50 * i + 1,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        s.wait_for_the_store()
        assert inserts() - before < 200, (before, inserts())
        same(s.counters()["rows_total"], 401)
        same(s.post(7), 200)
        s.wait_for_the_store()
        same([s.counters()[n] for n in ("accepted_total", "known_total", "rows_total")], [402, 1, 401])
    same((got, journal()), ([200] * 400, []))
    same(folded(one()), sums([*range(1, 401), 1000]))


@case
def posts_are_taken_while_the_store_is_down_and_outlive_a_kill():
    with Posted(one()) as s:
        same(s.post(1), 200)
        s.wait_for_the_store()
        servers()[0].kill()
        try:
            same([s.post(number) for number in range(2, 40)], [200] * 38)
            s.kill()
        finally:
            servers()[0].start()
            servers()[0].wait()
    with Posted(one()) as s:
        s.wait_for_the_store()
        same(s.post(40), 200)
    same((folded(one()), journal()), (sums(range(1, 41)), []))  # a server that ends stores what it has


@case
def a_post_that_was_written_in_part_does_not_exist():
    print(f"# the seed is {SEED}")
    dice = random.Random(SEED)
    with Posted(one()) as s:
        servers()[0].kill()
        try:
            same([s.post(number) for number in range(1, 20)], [200] * 19)
            s.kill()
        finally:
            servers()[0].start()
            servers()[0].wait()
    file = max(journal())  # the newest: the sender may have taken the first posts already
    with open(file, "r+b") as f:
        size = f.seek(0, os.SEEK_END)
        f.truncate(size - dice.randrange(1, 60))  # of the last one
    with Posted(one()) as s:
        s.wait_for_the_store()
    same((folded(one()), journal()), (sums(range(1, 19)), []))


@case
def a_journal_that_cannot_grow_refuses_and_keeps_what_it_has():
    with Posted(one()) as s:
        servers()[0].kill()
        try:
            resource.prlimit(s.child.pid, resource.RLIMIT_FSIZE, (5000, 5000))
            got = [s.post(number) for number in range(1, 100)]
            s.kill()
        finally:
            servers()[0].start()
            servers()[0].wait()
    taken = [number for number, status in enumerate(got, 1) if status == 200]
    has(got, 503)
    assert len(taken) > 10 and set(got) == {200, 503}, got
    with Posted(one()) as s:
        s.wait_for_the_store()
    same(folded(one()), sums(taken))


@case
def whatever_is_killed_each_post_counts_once():
    print(f"# the seed is {SEED}")
    dice, url, ended, lock = random.Random(SEED), two(), threading.Event(), threading.Lock()
    numbers, serving = [], [Posted(url)]

    def agent():
        """Sends each profile until it is taken."""
        while not ended.is_set():
            with lock:
                number = len(numbers) + 1
                numbers.append(number)
            while not is_taken(number):
                time.sleep(0.01)

    def is_taken(number):
        try:
            return serving[0].post(number) == 200
        except OSError:
            return False

    threads = [threading.Thread(target=agent) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for _ in range(8):
            time.sleep(dice.random() / 3)
            if dice.random() < 0.5:
                serving[0].kill()
                serving[0] = Posted(url)
            else:
                shard = dice.choice(servers().shards)
                shard.kill()
                shard.start()
                shard.wait()
    finally:
        ended.set()
        for t in threads:
            t.join()
        serving[0].kill()
    with Posted(url) as s:
        s.wait_for_the_store()
    same((folded(url), journal()), (sums(numbers), []), len(numbers))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Live files that are followed: tests/cli/follow.py OURO RECORDER [WORD...]

ouro push --follow, with programs that are recorded (recorder.c), and anything killed at any moment. What is in the
store is held against the live files themselves, by `ouro convert`.
"""
import contextlib, json, os, pty, random, re, shutil, signal, sqlite3, struct, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../support"]
from suite import Failure, arguments, case, has, lacks, main, read, run, same, write

OURO, RECORDER = arguments("OURO", "RECORDER")
SEED = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))
PATIENCE = int(os.environ.get("OURO_PATIENCE", 240))  # seconds, for a busy machine
METRICS = "samples", "calls"


class Program:
    """A process that is gone when the case is over."""
    def __init__(self, *command, **more):
        self.process = subprocess.Popen([str(c) for c in command], text=True, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    kill = __exit__


class Recorder(Program):
    def __init__(self, path, *words):
        super().__init__(RECORDER, path, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answer()

    def answer(self):
        same(self.process.stdout.readline(), "done\n")

    def tell(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            self.answer()

    def end(self):
        self.process.stdin.close()
        same(self.process.wait(PATIENCE), 0)


class Pusher(Program):
    """What it says goes into a file, so that nobody waits for a pipe."""
    count = 0

    def __init__(self, *words, store="s.db", every="10ms"):
        Pusher.count += 1
        self.log = f"pusher{Pusher.count}.log"
        with open(self.log, "w", encoding="utf-8") as log:
            super().__init__(OURO, "push", "--store", store, "--follow", "--every", every, *words, stderr=log)

    def said(self):
        return read(self.log)

    def says(self, *parts):
        until(lambda: all(part in self.said() for part in parts), lambda: f"{parts} in {self.said()!r}")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def until(holds, what=lambda: "it to hold"):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"waited in vain for {what()}")
        time.sleep(0.01)


def paths(*words):
    done = run(OURO, "convert", "--to", "folded", *words, "-")
    if done.status:
        return {} if "no sample " in done.err else done.err
    return dict((path, int(n)) for path, n in (line.rsplit(" ", 1) for line in done.out.splitlines()) if int(n))


def recorded(path, metric="samples"):
    return paths("--metric", metric, path)


def stored(where="", metric="samples", store="s.db"):
    return paths("--metric", metric, "--store", store, "--where", where)


def comes(where, path, metrics=METRICS):
    """Waits until the store has what the file has, and not more."""
    for metric in metrics:
        until(lambda: stored(where, metric) == recorded(path, metric),
              lambda: f"{metric} of {path}: {recorded(path, metric)}, not {stored(where, metric)}")


def sent_once(*words):
    return run(OURO, "push", "--store", "s.db", "--follow", "--once", *words, status=0).err


def rows(question, *values):
    with contextlib.closing(sqlite3.connect("s.db", timeout=60)) as db:
        return db.execute(question, values).fetchall()


# ---------------------------------------------------------------- following

@case
def what_can_never_be_followed_is_told_at_once():
    for url in "pyroscope+http://127.0.0.1:1", "otlp+http://127.0.0.1:1":
        has(run(OURO, "push", "--store", url, "--follow", ".", status=1).err, "cannot say what it has of a live file")
    has(run(OURO, "push", "--store", "gopher://x", "--follow", ".", status=1).err, "no store is reached like this")


@case
def what_a_program_adds_is_in_the_store_after_the_next_round():
    with Recorder("web.ouro") as r, Pusher("web.ouro") as p:
        r.tell("step main.f 3", "step main.f.main.f 2")
        comes("service=web", "web.ouro")
        r.tell("step main.g 4", "random 7 300")
        comes("service=web", "web.ouro")
        same([n for n, in rows("SELECT number FROM slices ORDER BY number")],
             list(range(len(rows("SELECT number FROM slices")))))
        r.tell("step main.f 1")
        r.end()
        p.says("web.ouro: ended")
        same((stored("service=web"), p.stop()), (recorded("web.ouro"), 0))
        same(p.said(), "ouro: web.ouro: following\nouro: web.ouro: ended, all of it is in the store\n")


@case
def nothing_new_is_no_slice():
    with Recorder("web.ouro") as r, Pusher("web.ouro"), Recorder("tick.ouro") as tick, Pusher("tick.ouro"):
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        for i in range(5):  # rounds that are seen by their slices
            tick.tell("step f 1")
            until(lambda: stored("service=tick") == {"f": i + 1})
        same(len(rows("SELECT 1 FROM slices NATURAL JOIN labels WHERE value = 'web'")), 1)


@case
def a_folder_is_followed_with_all_that_comes_and_goes():
    os.makedirs("live/nested")
    write("live/notes.txt", "no live file")
    write("live/empty.ouro", "")
    with Recorder("live/a.ouro") as a, Recorder("live/nested/n.ouro") as n, Pusher("live/") as p:
        a.tell("step main.a 1")
        n.tell("step main.n 1")
        comes("service=a", "live/a.ouro")
        with Recorder("live/b.ouro") as b:
            b.tell("step main.b 2")
            comes("service=b", "live/b.ouro")
            b.tell("step main.b 5")
            b.end()
        p.says("live/b.ouro: ended")
        same(stored("service=b"), {"main;b": 7})
        a.tell("step main.a 5")
        a.kill()
        p.says("live/a.ouro: ended")
        same(stored("service=a"), {"main;a": 6})
        same((stored("service=n"), p.stop()), ({}, 0))
        lacks(p.said(), "notes", "empty", "nested")
    lacks(sent_once("live"), "live/")  # all of it is there


@case
def a_file_that_is_removed_is_followed_to_its_end():
    with Recorder("web.ouro") as r, Pusher(".") as p:
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        os.remove("web.ouro")
        r.tell("step main.f 4")
        r.end()
        p.says("web.ouro: ended")
        same(stored("service=web"), {"main;f": 7})


@case
def another_program_under_the_same_name_is_another_recording():
    with Recorder("web.ouro") as r, Pusher("web.ouro") as p:
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        with Recorder("web.ouro") as again:
            again.tell("step main.g 5")
            until(lambda: stored("service=web") == {"main;f": 3, "main;g": 5})
            r.tell("step main.f 10")
            r.end()
            p.says("ended")
            again.tell("step main.g 2")
            until(lambda: stored("service=web") == {"main;f": 13, "main;g": 7})
        same(len(rows("SELECT DISTINCT recording FROM slices")), 2)


@case
def what_is_counted_after_a_reset_is_another_recording():
    with Recorder("web.ouro") as r, Pusher("web.ouro"):
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        r.tell("reset", "step main.f 2", "step main.h 1")
        until(lambda: stored("service=web") == {"main;f": 5, "main;h": 1})
        r.tell("reset")
        r.tell("step main.f 1")
        until(lambda: stored("service=web") == {"main;f": 6, "main;h": 1})
        same(len(rows("SELECT DISTINCT recording FROM slices")), 3)
        same(rows("SELECT 1 FROM samples WHERE count < 0"), [])
    run(OURO, "push", "--store", "s.db", "web.ouro", status=0)
    same(stored(""), {"main;f": 6, "main;h": 1})


@case
def a_file_that_holds_another_recording_from_now_on_is_another_one():
    with Recorder("a.ouro") as a, Recorder("b.ouro") as b:
        a.tell("step main.a 1")
        b.tell("step main.b 2")
    shutil.copy("a.ouro", "x.ouro")
    with Recorder("tick.ouro"), Pusher("x.ouro", "tick.ouro") as p:
        comes("service=x", "a.ouro")
        with open("b.ouro", "rb") as new, open("x.ouro", "r+b") as x:
            x.truncate(0)
            x.write(new.read())
        until(lambda: stored("service=x") == {"main;a": 1, "main;b": 2}, p.said)


@case
def a_file_that_is_cut_is_said_once_and_the_others_go_on():
    with Recorder("web.ouro") as r, Recorder("cut.ouro") as c, Pusher("web.ouro", "cut.ouro") as p:
        c.tell("step main.f 1")
        comes("service=cut", "cut.ouro")
        shutil.copy("cut.ouro", "short.ouro")
        os.truncate("short.ouro", 9000)
        os.rename("short.ouro", "cut.ouro")
        p.says("cut.ouro: ", "is it cut off?")
        for i in range(3):
            r.tell("step main.g 2")
            comes("service=web", "web.ouro")
        c.tell("step main.f 4")
        c.end()
        until(lambda: stored("service=cut") == {"main;f": 5})
        same(p.said().count("is it cut off?"), 1)


@case
def evicted_paths_leave_the_sum_as_the_file_has_it():
    print(f"# the seed is {SEED}")
    with Recorder("web.ouro", 40) as r, Pusher("web.ouro") as p:
        for i in range(12):
            r.tell(f"random {SEED + i} 400")
            comes("service=web", "web.ouro", ("samples",))
        r.end()
        p.says("ended")
    comes("service=web", "web.ouro")
    has(recorded("web.ouro"), *[path for path in recorded("web.ouro") if "[pruned]" in path])


@case
def every_rule_and_every_set_of_metrics_has_its_sums():
    with contextlib.ExitStack() as all_of_them:
        rules = "loops", "cycles", "edges:2", "none"
        for i, rule in enumerate(rules):
            r = all_of_them.enter_context(Recorder(f"{i}.ouro", 0, rule, *["time", "bytes", f"m{i}"][:i]))
            r.tell(f"random {i + 3} 200")
        all_of_them.enter_context(Pusher("."))
        for i, rule in enumerate(rules):
            first = "time" if i else "samples"
            for metric in ["calls", "recursions", first]:
                until(lambda: stored(f"service={i}", metric) ==
                      paths("--compact", "loops", "--metric", metric, f"{i}.ouro"), lambda: (rule, metric))


@case
def labels_are_those_of_the_options_the_file_and_the_program():
    with Recorder("web.1.ouro") as r:
        r.tell("step f 1")
        sent_once("--build", "7", "--label", "dc=eu", "--label", "program=mine", "web.1.ouro")
        labels = dict(rows("SELECT name, value FROM labels"))
        host = labels.pop("host")
        same(labels, {"service": "web", "build": "7", "dc": "eu", "program": "mine", "pid": str(r.process.pid)})
        same(host, os.uname().nodename)
    with Recorder("other.ouro") as r:
        r.tell("step f 1")
        sent_once("--service", "db", "other.ouro")
        has(dict(rows("SELECT value, name FROM labels")), "db", os.path.basename(RECORDER))


@case
def a_live_file_that_is_pushed_has_the_labels_of_one_that_is_followed():
    with Recorder("web.1.ouro") as r, Recorder("none.ouro", 0, "none") as n:
        for recorder in r, n:
            recorder.tell("step f 1")
        sent_once("--build", "7", "web.1.ouro")
        r.tell("step f 1")
        run(OURO, "push", "--store", "s.db", "--build", "7", "web.1.ouro", status=0)
        same(rows("SELECT count(*), count(DISTINCT label_set) FROM slices"), [(2, 1)])
        run(OURO, "push", "--store", "s.db", "--label", "pid=mine", "none.ouro", status=0)
        labels = dict(rows("SELECT name, value FROM labels WHERE label_set = 2"))
        same((labels["pid"], labels["program"]), ("mine", os.path.basename(RECORDER)))


@case
def files_are_named_by_their_root():
    with Recorder("web.ouro") as r:
        r.tell("step f 1")
        sent_once("--root", "/srv/web", "web.ouro")
        same(rows("SELECT DISTINCT file FROM blocks"), [("x.c",)])
        sent_once("web.ouro")  # another root moves what was sent
        same((stored(""), len(rows("SELECT 1 FROM slices"))), ({"f": 1}, 2))


@case
def once_sends_what_is_new_and_ends():
    with Recorder("web.ouro") as r:
        r.tell("step f 1")
        has(sent_once("web.ouro"), "web.ouro: following")
        sent_once("web.ouro")
        r.tell("step f 2")
        sent_once("web.ouro")
        same((stored(""), [n for n, in rows("SELECT number FROM slices ORDER BY id")]), ({"f": 3}, [0, 1]))
    run(OURO, "push", "--store", "s.db", "web.ouro", status=0)  # the other way to send a file
    same((stored(""), len(rows("SELECT 1 FROM slices"))), ({"f": 3}, 2))


@case
def what_was_forgotten_of_a_recording_that_goes_on_is_not_sent_again():
    def grow_old():
        with contextlib.closing(sqlite3.connect("s.db")) as db:
            db.execute("UPDATE slices SET ended = ended - 40 * 86400 * 1000")
            db.commit()

    def keep(words):
        has(run(OURO, "store", "s.db", "--keep", "30d", status=0).err, words)
    with Recorder("web.ouro") as r:
        for step in "step main.f 3", "step main.g 1":
            r.tell(step)
            sent_once("web.ouro")
        grow_old()
        r.tell("step main.h 5")
        sent_once("web.ouro")
        keep("2 slices forgotten")
        sent_once("web.ouro")
        same(stored(""), {"main;h": 5})
        grow_old()
        r.tell("step main.f 4")
        sent_once("web.ouro")
        keep("1 slices forgotten")
        sent_once("web.ouro")
        same((stored(""), len(rows("SELECT 1 FROM slices"))), ({"main;f": 4}, 1))
        has(run(OURO, "push", "--store", "s.db", "web.ouro", status=0).out, "nothing new")
    grow_old()
    keep("1 slices forgotten")
    same(rows("SELECT * FROM forgotten"), [])


# ---------------------------------------------------------------- ends and faults

def ends_by(number):
    with Recorder("web.ouro") as r, Pusher("web.ouro", every="24h") as p:
        p.says("following")
        until(lambda: rows("SELECT 1 FROM sqlite_master"))
        r.tell("step main.f 3")
        same(p.stop(number), 0)
        same(stored("service=web"), {"main;f": 3})


for name in "SIGTERM", "SIGINT", "SIGHUP":
    case(ends_by, f"a_last_slice_is_sent_after_{name}", getattr(signal, name))


@contextlib.contextmanager
def locked_store():
    with contextlib.closing(sqlite3.connect("s.db", timeout=60, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


@case
def an_outage_is_said_once_and_its_end_once_and_nothing_is_lost():
    with Recorder("web.ouro") as r, Recorder("db.ouro") as d, Pusher("web.ouro", "db.ouro") as p:
        r.tell("step main.f 3")
        d.tell("step main.f 1")
        comes("service=web", "web.ouro")
        comes("service=db", "db.ouro")
        with locked_store():
            r.tell("step main.f 4")
            p.says("database is locked", "nothing is lost")
            r.tell("step main.f 5", "step main.g 6")
        p.says("the store is back")
        comes("service=web", "web.ouro")
        same((p.said().count("locked"), p.said().count("back")), (2, 1))  # locked: the engine's words, twice in a line
        with locked_store():
            r.tell("step main.f 1")
            same(p.stop(), 1)
        has(p.said(), "not all is in the store")
    sent_once("web.ouro", "db.ouro")
    same(stored("service=web"), recorded("web.ouro"))


@case
def a_store_that_was_removed_is_made_again_and_gets_all():
    with Recorder("web.ouro") as r, Pusher("web.ouro") as p:
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        for name in [n for n in os.listdir(".") if n.startswith("s.db")]:
            os.remove(name)
        r.tell("step main.f 4")
        p.says("moved or removed", "the store is back")
        comes("service=web", "web.ouro")


@case
def a_store_in_a_followed_folder_is_left_alone():
    with Recorder("web.ouro") as r, Pusher(".", store="own.ouro") as p:
        r.tell("step main.f 3")
        until(lambda: stored("", store="own.ouro") == {"main;f": 3})
        r.tell("step main.f 4")
        r.end()
        p.says("ended")
        same((stored("", store="own.ouro"), p.said().count("own.ouro")), ({"main;f": 7}, 0))


@case
def a_second_pusher_is_told_and_takes_over():
    with Recorder("web.ouro") as r, Recorder("db.ouro") as d, Pusher("web.ouro") as first:
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        with Pusher("web.ouro", "db.ouro") as second:
            second.says("web.ouro: another ouro push follows it")
            d.tell("step main.g 1")
            comes("service=db", "db.ouro")
            r.tell("step main.f 4")
            comes("service=web", "web.ouro")
            first.kill()
            second.says("web.ouro: following")
            r.tell("step main.f 5")
            comes("service=web", "web.ouro")
            same(second.said().count("another ouro push"), 1)


@case
def a_copy_is_not_sent_as_long_as_its_original_is():
    with Recorder("web.ouro") as r, Pusher(".") as p:
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        shutil.copy("web.ouro", "zcopy")  # the pusher must not find half of it
        os.rename("zcopy", "zcopy.ouro")
        p.says("zcopy.ouro: has the recording of ./web.ouro")
        r.tell("step main.f 4")
        comes("", "web.ouro")
        r.end()
        p.says("ended")
        same((stored(""), p.said().count("zcopy")), ({"main;f": 7}, 1))


@case
def a_clock_that_runs_backwards_makes_slices_that_end_after_they_begin():
    day = 86400 * 10 ** 9
    with Recorder("web.ouro") as r:
        with open("web.ouro", "r+b") as f:  # it began tomorrow
            f.seek(88)
            f.write(struct.pack("=Q", time.time_ns() + day))
        r.tell("step main.f 3")
        sent_once("web.ouro")
        r.tell("step main.f 4")
        r.end()
        with open("web.ouro", "r+b") as f:  # and ended yesterday
            f.seek(96)
            f.write(struct.pack("=Q", time.time_ns() - day))
        sent_once("web.ouro")
    same(stored(""), {"main;f": 7})
    same(rows("SELECT count(*) FROM slices WHERE began <= ended"), [(2,)])


@case
def a_disk_without_space_is_said_by_everybody_who_reads_the_file():
    words = "its disk ha"  # has, or had
    with Recorder("web.ouro") as r, Pusher("web.ouro") as p:
        r.tell("step main.f 3")
        comes("service=web", "web.ouro")
        lacks(run(OURO, "report", "web.ouro", status=0).err, words)
        with open("web.ouro", "r+b") as f:
            f.seek(380)  # as live_format.h has it
            f.write(struct.pack("=I", 1))
        r.tell("step main.g 3")  # a new path: the file is read as a whole
        p.says("its disk has no space")
        r.tell("step main.h 3")
        comes("service=web", "web.ouro")
        same(p.said().count("no space"), 1)
    done = run(OURO, "report", "--self", "--json", "--select", "f", "web.ouro", status=0)
    has(done.err, words)
    same(json.loads(done.out)["no_space"], True)
    has(run(OURO, "push", "--store", "s.db", "web.ouro", status=0).err, words)


class Terminal:
    """A pusher whose messages go to a terminal. It is read without end, so that nobody waits."""
    def __init__(self, *words):
        self.text, (self.end, other) = "", pty.openpty()
        self.process = subprocess.Popen([OURO, "push", "--store", "s.db", "--follow", "--every", "10ms", *words],
                                        stderr=other)
        os.close(other)
        os.set_blocking(self.end, False)

    def read(self):
        with contextlib.suppress(OSError):  # nothing yet, or the other end is closed
            while part := os.read(self.end, 65536):
                self.text += part.decode()
        return self.text

    def shows(self, pattern):
        until(lambda: re.search(pattern, self.read()), lambda: f"{pattern!r} in {self.text!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.end)


@case
def on_a_terminal_one_line_says_what_goes_on_and_gives_way_to_messages():
    with Recorder("web.ouro") as r, Terminal("web.ouro", "later.ouro") as t:
        r.tell("step main.f 3")
        t.shows(r"\r1 files, \d+ slices sent\x1b\[K")
        with locked_store():
            r.tell("step main.f 4")
            t.shows(r", waiting for the store\x1b\[K")
        t.shows(r"\r\x1b\[Kouro: s.db: the store is back\r\n")
        with Recorder("later.ouro") as later:
            later.tell("step main.g 1")
            t.shows(r"\r\x1b\[Kouro: later.ouro: following\r\n")
            t.shows(r"\r2 files, \d+ slices sent\x1b\[K")
        t.process.send_signal(signal.SIGTERM)
        while t.process.poll() is None:
            t.read()
            time.sleep(0.01)
        assert t.read().endswith("\r\x1b[K") or t.text.endswith("\r\n"), t.text[-200:]  # nothing is left of the line
        same(t.process.returncode, 0)
    lines = [line.rsplit("\r", 1)[-1] for line in t.text.replace("\r\n", "\n").split("\n")[:-1]]
    same([line for line in lines if not line.startswith("\x1b[Kouro: ") and not line.startswith("ouro: ")], [])


@case
def what_is_no_live_file_or_not_there_is_said():
    write("x.folded", "f 1\n")
    with Pusher("x.folded", "later.ouro") as p:
        p.says("x.folded: not a live file", "later.ouro: No such file or directory; waiting for it")
        with Recorder("later.ouro") as r:
            r.tell("step f 1")
            comes("service=later", "later.ouro")
        same((p.said().count("x.folded"), p.said().count("No such")), (1, 1))
    has(run(OURO, "push", "--store", "s.db", "--every", "5s", "x.folded", status=2).err, "for --follow")
    has(run(OURO, "push", "--store", "s.db", "--follow", "--every", "5", "x", status=2).err, "500ms, 10s or 5m")
    has(run(OURO, "push", "--store", "s.db", "--follow", "--compact", "none", "x", status=2).err, "as they are")


@case
def a_path_that_is_missing_is_waited_for_only_in_a_folder_that_is_there():
    write("file", "")
    for path, words in (("typo/live", "make its folder first"), ("typo/a.ouro", "make its folder first"),
                        ("/nowhere/live/", "make its folder first"), ("file/live", "Not a directory")):
        err = run(OURO, "push", "--store", "s.db", "--follow", path, status=1).err
        has(err, path, words)
        lacks(err, "waiting")
    with Pusher("later", "./later2/") as p:
        p.says("later: No such file or directory; waiting for it", "later2: No such file or directory; waiting for it")
        os.mkdir("later")
        with Recorder("later/web.ouro") as r:
            r.tell("step f 1")
            comes("service=web", "later/web.ouro")
        same(p.stop(), 0)
        same(p.said().count("waiting for it"), 2)


# ---------------------------------------------------------------- killed at any moment

@case
def whatever_is_killed_the_sums_are_those_of_the_recorders():
    print(f"# the seed is {SEED}")
    dice, count = random.Random(SEED), 0
    os.mkdir("live")

    def new_recorder():
        nonlocal count
        count += 1
        r = Recorder(f"live/r{count}.ouro", dice.choice([30, 300, 3000]))
        r.process.stdin.write(f"run {dice.randrange(10 ** 9)}\n")
        r.process.stdin.flush()
        r.answer()
        return r

    with contextlib.ExitStack() as held:
        programs = [held.enter_context(new_recorder()) for _ in range(2)]
        pushers = [held.enter_context(Pusher("live"))]
        for _ in range(40):
            time.sleep(dice.random() * 0.04)  # where the kill falls, not a wait
            what = dice.randrange(10)
            if what < 5:
                pushers.pop().kill()
                pushers.append(held.enter_context(Pusher("live")))
            elif what < 7:
                programs.pop(0).kill()
                programs.append(held.enter_context(new_recorder()))
            elif what < 9:
                with locked_store():
                    time.sleep(dice.random() * 0.2)
            else:
                pushers[0].stop()
                pushers = [held.enter_context(Pusher("live"))]
        for program in programs + pushers:
            program.kill()
    sent_once("live")
    for i in range(1, count + 1):
        for metric in METRICS:
            same(stored(f"service=r{i}", metric), recorded(f"live/r{i}.ouro", metric), (i, metric))
    doubled = rows("SELECT recording, number FROM slices GROUP BY 1, 2 HAVING count(*) > 1")
    same((doubled, len(rows("SELECT DISTINCT recording FROM slices"))), ([], count))


main()

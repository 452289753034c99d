# SPDX-License-Identifier: MIT
"""What can go wrong with servers: shards that are down, stopped or restarted, connections that are cut, wrong
passwords, other versions, users who may only read. Each case has a database of its own, and leaves the servers
running."""
import contextlib, json, os, random, signal, socket, subprocess, threading, time

from shards import Shards
from suite import case, has, lacks, run, same, skip, write

SEED = int(os.environ.get("OURO_SEED", time.time_ns() % 1_000_000_000))
given, ALONE, OF_SERVERS = {}, set(), set()


def alone(function):
    """A case with servers of its own, which can run beside the others."""
    ALONE.add(function.__name__)
    return of_servers(function)


def of_servers(function):
    """A case about what the current engine does not have: other shards, users, https, settings."""
    OF_SERVERS.add(function.__name__)
    return case(function)


def use(ouro, servers):
    given.update(ouro=ouro, servers=servers)


def servers():
    return given["servers"]


def ouro(*words, status=0, **more):
    done = run(given["ouro"], *words, status=status, **more)
    return done.out if status == 0 else done.err


def database():
    return os.path.basename(os.getcwd())


def one(**more):
    return servers().url(database(), **more)


def two(more=""):
    return servers().url(database(), cluster=servers().cluster) + more


def folded(url, where="", *words, **more):
    lines = ouro("convert", "--store", url, "--where", where, "--to", "folded", *words, "-", **more).splitlines()
    return dict((path, int(n)) for path, n in (line.rsplit(" ", 1) for line in lines))


PATHS = {f"main;f{n}": n for n in range(1, 200)}


def push(url, *words, **more):
    write("x.folded", "".join(f"{path} {n}\n" for path, n in PATHS.items()))
    return ouro("push", "--store", url, *words, "x.folded", **more)


# ---------------------------------------------------------------- shards

class without:
    """with without(shard): it is killed, or held by SIGSTOP; afterwards it runs again."""

    def __init__(self, shard, how=signal.SIGKILL):
        self.shard, self.how = shard, how

    def __enter__(self):
        if self.how == signal.SIGKILL:
            self.shard.kill()
        else:
            self.shard.signal(self.how)

    def __exit__(self, *_):
        if self.how == signal.SIGKILL:
            self.shard.start()
        else:
            self.shard.signal(signal.SIGCONT)
        self.shard.wait()


@of_servers
def of_a_shard_that_was_killed_the_answer_says_what_is_missing():
    url, (first, second) = two(), servers().shards
    for n in range(8):
        push(url, "--label", f"n={n}")
    with without(second):
        done = run(given["ouro"], "report", "--store", url, "--self", "--json", status=0)
        has(done.err, "only a part of the store", f"127.0.0.1:{second.http}")
        lacks(done.err, f"127.0.0.1:{first.http}")
        answer = json.loads(done.out)
        has(answer["missing"], f"127.0.0.1:{second.http}")
        assert answer["total"] < 8 * sum(PATHS.values()), answer["total"]
        has(ouro("report", "--store", url, "--strict", status=1), f"127.0.0.1:{second.http}", "--strict")
        done = run(given["ouro"], "store", url, "--json", status=0)
        has(done.err, "only a part of the store", f"127.0.0.1:{second.http}")
        part = json.loads(done.out)
        has(part["missing"], f"127.0.0.1:{second.http}")
        assert part["slices"] < 8 and part["paths"] == 200, part
        has(ouro("store", url, "--strict", status=1), f"127.0.0.1:{second.http}", "--strict")
    done = run(given["ouro"], "report", "--store", url, "--self", "--json", status=0)
    same((done.err, json.loads(done.out)["total"]), ("", 8 * sum(PATHS.values())))


@alone
def of_a_shard_that_hangs_the_answer_says_what_is_missing():
    with Shards(2, patience=2) as own:  # servers who find soon that another one hangs
        url = own.url(database(), cluster="fleet") + "&timeout=120"
        for n in range(8):  # both shards have some of them
            push(url, "--label", f"n={n}")
        with without(own[1], signal.SIGSTOP):
            has(run(given["ouro"], "report", "--store", url, status=0).err, "only a part", f"127.0.0.1:{own[1].http}")
            missing = run(given["ouro"], "report", "--store", url, "--where", "n=none", status=1).err
            has(missing, "only a part", "in the part of", "that answered")


@of_servers
def a_push_to_shards_of_which_one_is_down_changes_nothing_and_can_be_repeated():
    url, shard = two("&timeout=8"), servers()[1]
    push(url)
    with without(shard):
        has(push(url, "--label", "n=1", status=1), "does not answer")
    push(url, "--label", "n=1")
    same(folded(url), {path: 2 * n for path, n in PATHS.items()})


@of_servers
def the_next_host_is_asked_if_one_does_not_answer():
    push(two())
    with without(servers()[0]):
        done = run(given["ouro"], "report", "--store", two(), status=0)
        has(done.err, f"127.0.0.1:{servers()[0].http}")


@of_servers
def where_no_host_answers_it_is_said():
    push(two())
    with without(servers()[0]), without(servers()[1]):
        for words in (["report"], ["push", "x.folded"]):
            has(ouro(words[0], "--store", two(), *words[1:], status=1), "is the server started")


@case
def a_server_that_is_restarted_in_the_middle_loses_nothing():
    print(f"# the seed is {SEED}")
    dice, url, shard = random.Random(SEED), one(), servers()[0]
    push(url, "--label", "n=first")
    for i in range(3):
        write("x.folded", "".join(f"{path} {n}\n" for path, n in PATHS.items()))
        pusher = subprocess.Popen([given["ouro"], "push", "--store", url, "--label", f"n={i}", "x.folded"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * 0.1)
        with without(shard):
            pass
        pusher.wait()  # it waits for the server for some time, or it says that it could not
        push(url, "--label", f"n={i}")
        same(folded(url, f"n={i}"), PATHS)
    same(folded(url), {path: 4 * n for path, n in PATHS.items()})


# ---------------------------------------------------------------- connections

class Cutter(threading.Thread):
    """A proxy that ends the connection after so many bytes of the client."""

    def __init__(self, port, after):
        super().__init__(daemon=True)
        self.to, self.after, self.left = port, after, 10 ** 9
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()

    def pump(self, source, sink, counted):
        try:
            while True:
                part = source.recv(512)
                if counted:
                    self.left -= len(part)
                if not part or counted and self.left < 0:
                    break
                sink.sendall(part)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut_after(self, count):
        self.left = count


@case
def connections_that_are_cut_lose_nothing_and_double_nothing():
    print(f"# the seed is {SEED}")
    dice, proxy = random.Random(SEED), Cutter(servers()[0].http, 0)
    url = f"http://127.0.0.1:{proxy.port}/{database()}"
    push(url, "--label", "n=first")
    for i in range(8):
        proxy.cut_after(dice.randrange(40000))  # a push sends some 30,000 bytes
        pusher = subprocess.Popen([given["ouro"], "push", "--store", url, "--label", f"n={i}", "x.folded"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while pusher.poll() is None and proxy.left >= 0:
            time.sleep(0.01)
        time.sleep(0.1)
        proxy.cut_after(10 ** 9)
        pusher.wait()
        push(url, "--label", f"n={i}")
        same(folded(url, f"n={i}"), PATHS, i)
    proxy.listener.close()
    same(folded(one()), {path: 9 * n for path, n in PATHS.items()})


@case
def bodies_are_packed_for_other_machines():
    url = f"http://2130706433:{servers()[0].http}/{database()}"  # this machine, by a name that does not look like it
    write("x.folded", "".join(f"main;f{n} {n}\n" for n in range(1, 2000)))
    ouro("push", "--store", url, "x.folded")
    same(folded(one()), {f"main;f{n}": n for n in range(1, 2000)})


@case
def two_commits_of_one_slice_count_once():
    url = one()
    push(url)
    servers()[0].ask("INSERT INTO ouro_samples SELECT service, metric, hour, node, slice + 1, value FROM ouro_samples",
                     database=database())
    servers()[0].ask("INSERT INTO ouro_slices SELECT recording, number, slice + 1, hour, began, ended + 5, service,"
                     " label_set, samples, metrics, totals FROM ouro_slices", database=database())
    same(folded(url), PATHS)
    same(json.loads(ouro("store", url, "--json"))["slices"], 1)


@case
def samples_without_a_commit_do_not_count():
    url = one()
    push(url)
    servers()[0].ask("INSERT INTO ouro_samples SELECT service, metric, hour, node, slice + 1, value FROM ouro_samples",
                     database=database())
    same(folded(url), PATHS)


@alone
def a_full_disk_is_told_and_nothing_is_committed():
    if run("unshare", "-rm", "true").status:
        skip("no namespace can be made here, and so no small disk")
    with Shards(1, disk="6m") as own:
        url = own.url(database())
        push(url)
        dice, refusal = random.Random(SEED), ""
        print(f"# the seed is {SEED}")
        for i in range(40):  # names and values that do not compress
            write("big.folded", "".join(f"f{dice.getrandbits(300):x} {dice.getrandbits(40)}\n" for _ in range(3000)))
            done = run(given["ouro"], "push", "--store", url, "--label", f"big={i}", "big.folded")
            if done.status:
                refusal = done.err
                break
        has(refusal, "disk is full")
        has(ouro("convert", "--store", url, "--where", f"big={i}", "none.pb", status=1), f"matches big={i};")
        same(folded(url, "service=x"), PATHS)


# ---------------------------------------------------------------- passwords and rights

@of_servers
def a_password_is_needed_and_never_shown():
    user = "me:se%3Ac%40r%25t@"
    push(one(user=user))
    same(folded(one(user="me:se:c@r%t@")), PATHS)
    has(ouro("report", "--store", one(user="me:wrong@"), status=1), "user or password is wrong", "me:*@")
    lacks(ouro("report", "--store", one(user="me:wrong@"), status=1), "wrong@")
    has(ouro("report", "--store", one(user="me@"), status=1), "user or password is wrong")
    same(folded(one(user="me@"), env={**os.environ, "OURO_STORE_PASSWORD": "se:c@r%t"}), PATHS)
    write("secret", "se:c@r%t\n")
    same(folded(one(user="me@") + "?password_file=secret"), PATHS)
    has(ouro("report", "--store", one(user="me@") + "?password_file=none", status=1), "password_file none")


@case
def a_password_in_a_url_is_not_in_the_list_of_processes():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and never answers
        url = f"http://me:topsecret@127.0.0.1:{silent.getsockname()[1]}/x?timeout=60"
        for words in (["report", "--store", url], ["report", "--store=" + url], ["store", url]):
            process = subprocess.Popen([given["ouro"], *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            client = silent.accept()[0]  # from now on it is in the middle of its work
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                shown = file.read()
            process.kill()
            process.wait()
            client.close()
            lacks(shown, b"topsecret")
            has(shown, b"me:*@127.0.0.1")


def certificate():
    if not os.path.exists(servers().certificate):
        skip("openssl is not installed: tools/bootstrap test does that")
    return servers().certificate


@of_servers
def a_secure_connection_needs_a_certificate_that_is_trusted():
    url, trust = f"https://127.0.0.1:{servers()[0].https}/{database()}", certificate()
    for words in (["report", "--store", url], ["store", url]):
        has(ouro(*words, status=1), "no secure connection", "SSL_CERT_FILE")
    has(push(url, status=1), "no secure connection")
    push(url + "?ca_file=" + trust)
    same(folded(url + "?ca_file=" + trust), PATHS)
    same(folded(url, env={**os.environ, "SSL_CERT_FILE": trust}), PATHS)
    same(folded(one()), PATHS)
    user = url.replace("://", "://me:se:c@r%t@") + "?ca_file=" + trust
    same(folded(user), PATHS)


def refuse_in_plain_text(listener):
    """What a server says whose port is not for https."""
    with contextlib.suppress(ConnectionError), listener.accept()[0] as client:
        client.recv(65536)
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        client.recv(1)  # until the client has read it


@of_servers
def a_certificate_of_another_name_or_no_certificate_at_all_is_refused():
    push(one())
    trust = certificate()
    name = f"https://localhost:{servers()[0].https}/{database()}?ca_file={trust}"
    has(ouro("report", "--store", name, status=1), "no secure connection", "localhost")
    with socket.create_server(("127.0.0.1", 0)) as plain:
        threading.Thread(target=refuse_in_plain_text, args=(plain,), daemon=True).start()
        url = f"https://127.0.0.1:{plain.getsockname()[1]}/{database()}?ca_file={trust}"
        has(ouro("report", "--store", url, status=1), "no secure connection", "is it a port for https")
    for file in "none.pem", write("x.pem", "no certificate\n"):
        url = f"https://127.0.0.1:{servers()[0].https}/{database()}?ca_file={file}"
        has(ouro("report", "--store", url, status=1), file)


@alone
def a_port_that_does_not_answer_a_secure_greeting_is_told():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/x"
        has(ouro("report", "--store", url, status=1), "no secure connection in time; is it a port for https?")


@of_servers
def who_may_only_read_reads():
    push(one())
    same(folded(one(user="reader@"), "service=x"), PATHS)
    has(push(one(user="reader@"), "--label", "n=1", status=1), "may only read")


@case
def wrong_names_are_told_in_words():
    has(ouro("report", "--store", one(), status=1), "no store in the database", "ouro push --store")
    servers()[0].ask(f"CREATE DATABASE `{database()}`")
    has(ouro("report", "--store", one(), status=1), "no store in the database")
    has(push(servers().url(database(), cluster="none"), status=1), "no cluster none")
    has(ouro("report", "--store", "http://127.0.0.1:1", status=1), "/DATABASE")
    has(ouro("report", "--store", one() + "?clutser=x", status=1), "has no clutser")
    has(ouro("report", "--store", "http://127.0.0.1:1/a'b", status=1), "letters, digits")
    has(ouro("report", "--store", one() + "?cluster=a'b", status=1), "letters, digits")


@case
def a_store_of_another_version_is_refused():
    push(one())
    servers()[0].ask("INSERT INTO ouro_meta VALUES ('version', '99')", database=database())
    for words in (["report"], ["push", "x.folded"]):
        has(ouro(words[0], "--store", one(), *words[1:], status=1), "version 99", "use a newer ouro")


@case
def a_store_of_the_first_days_gets_the_table_that_forgetting_needs():
    for name, cluster in (database() + "-1", ""), (database() + "-2", servers().cluster):
        url = servers().url(name, cluster=cluster)
        write("old.folded", "f 1\n")
        os.utime("old.folded", (time.time() - 40 * 86400,) * 2)
        ouro("push", "--store", url, "old.folded")
        push(url)
        for shard in servers().shards if cluster else servers().shards[:1]:
            shard.ask(f"DROP TABLE `{name}`.ouro_forgotten")
            if cluster:
                shard.ask(f"DROP TABLE `{name}`.ouro_forgotten_all")
        has(run(given["ouro"], "store", url, "--keep", "30d", status=0).err, "1 slices forgotten")
        same(folded(url), PATHS)


# ---------------------------------------------------------------- much of it

def push_values(count):
    """A slice with the label id=v0, and as many more whose labels differ and whose samples are not there."""
    push(one(), "--label", "id=v0")
    ask = lambda sql: servers()[0].ask(sql, database=database())
    ask("INSERT INTO ouro_label_sets SELECT copy, substring(MD5(toString(number)), 1, 16), names,"
        " arrayMap((n, t) -> if(n = 'id', concat('v', toString(number)), t), names, texts)"
        " FROM (SELECT copy, names, texts, number FROM (SELECT 1 AS one, * FROM ouro_label_sets) AS sets"
        f" ALL INNER JOIN (SELECT 1 AS one, number + 1 AS number FROM numbers({count})) AS ids USING one)")
    ask("INSERT INTO ouro_slices SELECT MD5(concat('r', toString(number))), 0, slice + 1 + number, hour, began, ended,"
        " service, MD5(toString(number)), 0, metrics, totals FROM (SELECT * FROM (SELECT 1 AS one, slice, hour, began,"
        " ended, service, metrics, totals FROM ouro_slices) AS slices"
        f" ALL INNER JOIN (SELECT 1 AS one, number + 1 AS number FROM numbers({count})) AS ids USING one)")


@case
def a_hundred_thousand_values_of_a_label_are_no_problem():
    push_values(100000)
    same(folded(one(), "id=v0"), PATHS)
    has(ouro("convert", "--store", one(), "--where", "id=v77,v78", "none.pb", status=1), "matches id=v77,v78;")
    same(folded(one(), "id=v*"), PATHS)
    summary = json.loads(ouro("store", one(), "--json"))
    same((summary["slices"], summary["label_values"]), (100001, 100003))
    has(ouro("store", one()), "100003 values of labels in all; the first 1000 of each label are listed")


@case
def sums_that_do_not_fit_are_refused():
    push(one())
    servers()[0].ask("INSERT INTO ouro_samples SELECT service, metric, hour, node, slice, 9000000000000000000"
                     " FROM ouro_samples", database=database())
    servers()[0].ask("INSERT INTO ouro_samples SELECT service, metric, hour, node, slice, 9000000000000000000"
                     " FROM ouro_samples", database=database())
    has(ouro("report", "--store", one(), status=1), "63 bits")


@case
def deep_paths_are_found_in_few_rounds():
    deep = ";".join(f"f{n}" for n in range(500))
    write("deep.folded", f"{deep} 7\n")
    ouro("push", "--store", two(), "deep.folded")
    same(folded(two()), {deep: 7})

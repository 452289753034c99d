# SPDX-License-Identifier: MIT
"""ClickHouse servers of a test's own: a temporary folder, free ports of the loopback interface, little memory, and
nothing left at the end. Cluster `one` has the first server, cluster `fleet` has all of them.

`Shards` run Debian's clickhouse-server, the oldest version that Ouro supports. `Current` runs the current engine
(current.py), which has no port for other shards, so that its only cluster is `one`."""
import ctypes, os, random, shutil, signal, socket, subprocess, sys, tempfile, time
import urllib.error, urllib.parse, urllib.request

import current

SERVER = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
PATIENCE = 120  # seconds until a server that starts is given up

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{http}</http_port>{secure}<tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
  <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><user_files_path>{folder}/files/</user_files_path>
  <format_schema_path>{folder}/schemas/</format_schema_path>
  <users_config>{folder}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <max_concurrent_queries>50</max_concurrent_queries><max_connections>200</max_connections>
  <mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size>
  <remote_servers>
    <one>{first}</one>
    <fleet>{all}</fleet>
  </remote_servers>
</yandex>
"""
SECURE = "<https_port>{port}</https_port><openSSL><server><certificateFile>{folder}/cert.pem</certificateFile>" \
         "<privateKeyFile>{folder}/key.pem</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>"
SHARD = "<shard><replica><host>127.0.0.1</host><port>{tcp}</port><user>shard</user><password>between</password>" \
        "</replica></shard>"
USERS = """<?xml version="1.0"?>
<yandex>
  <profiles>
    <default><max_memory_usage>2000000000</max_memory_usage><max_threads>2</max_threads>
      <receive_timeout>{patience}</receive_timeout><send_timeout>{patience}</send_timeout></default>
    <readonly><readonly>1</readonly></readonly>
  </profiles>
  <users>{users}</users>
  <quotas><default></default></quotas>
</yandex>
"""
USER = "<{name}><password>{password}</password><networks><ip>127.0.0.1</ip></networks><profile>{profile}</profile>" \
       "<quota>default</quota></{name}>"
PEOPLE = [("default", "", "default"), ("shard", "between", "default"), ("me", "se:c@r%t", "default"),
          ("reader", "", "readonly")]


def free_ports(count):
    """Not those that the kernel gives to connections: a server that is killed finds its own again when it starts."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        end = int(file.read().split()[0])
    ports, sockets, dice = [], [], random.SystemRandom()
    while len(ports) < count:
        port = dice.randrange(10000, end) if end > 20000 else 0
        try:
            sockets.append(socket.create_server(("127.0.0.1", port)))
            ports.append(sockets[-1].getsockname()[1])
        except OSError:
            pass
    for s in sockets:
        s.close()
    return ports


def make_certificate(folder):
    """A certificate for the loopback address that nobody trusts but who is told to."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem", "-days", "2", "-subj", "/CN=ouro",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end_with_the_test():
    """The kernel ends the server when the test ends, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Shard:
    def __init__(self, folder, disk):
        self.folder, self.disk, self.process = folder, disk, None
        for part in ("data", "tmp", "files", "schemas"):
            os.makedirs(f"{folder}/{part}")

    def command(self):
        return [SERVER, "--config-file=" + self.folder + "/config.xml"]

    def start(self):
        output = open(self.folder + "/output", "ab")
        command = self.command()
        if self.disk:  # a disk of its own, as small as wanted, in a namespace that goes with the server
            mount = 'mount -t tmpfs -o size="$1" none data && shift && exec "$@"'
            command = ["unshare", "-rm", "sh", "-c", mount, "sh", self.disk, *command]
        # A process of its own group, so that a ^C at a test ends the servers by stop() and not half-way.
        self.process = subprocess.Popen(command, cwd=self.folder,
                                        stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                                        preexec_fn=end_with_the_test,
                                        env={"PATH": os.environ.get("PATH", ""), "TZ": "UTC", "LC_ALL": "C"})
        output.close()

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/ping", timeout=5) as answer:
                return answer.read() == b"Ok.\n"
        except OSError:
            return False

    def wait(self):
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                tail = open(self.folder + "/output", errors="replace").read()[-2000:]
                raise RuntimeError(f"the server did not start: {tail}")
            time.sleep(0.05)
        if self.process.poll() is not None:
            raise RuntimeError("another server has the port")

    def ask(self, sql, body=b"", **settings):
        query = urllib.parse.urlencode({"query": sql, **settings})
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/?{query}", data=body, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as refusal:
            raise RuntimeError(f"{sql[:300]}: {refusal.read().decode('utf-8', 'replace')[:600]}") from None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Ends it at once; it can be started again."""
        if self.process:
            self.process.kill()
            self.process.wait()


class CurrentShard(Shard):
    def command(self):
        return [sys.executable, current.__file__, self.folder, str(self.http)]


class Shards:
    """with Shards(2) as shards: shards[0].ask("SELECT 1")"""
    kind, cluster = Shard, "fleet"

    def __init__(self, count, patience=60, disk="", secure=False):
        """`patience`: seconds between shards. Version 18.16 obeys only its own settings there. `disk`: its size.
        `secure`: they listen for https, too; their certificate is the file `certificate`."""
        self.folder = tempfile.mkdtemp(prefix="ouro-shards-")
        self.shards = [self.kind(f"{self.folder}/{i}", disk) for i in range(count)]
        self.certificate = self.folder + "/cert.pem"
        self.secure = secure and shutil.which("openssl")
        if self.secure:
            make_certificate(self.folder)
        users = "".join(USER.format(name=n, password=p.replace("&", "&amp;"), profile=r) for n, p, r in PEOPLE)
        for s in self.shards:
            write(s.folder + "/users.xml", USERS.format(patience=patience, users=users))

    def choose_ports(self):
        ports = iter(free_ports(4 * len(self.shards)))
        for s in self.shards:
            s.http, s.tcp, s.inter, s.https = (next(ports) for _ in range(4))
        replicas = [SHARD.format(tcp=s.tcp) for s in self.shards]
        for s in self.shards:
            https = SECURE.format(port=s.https, folder=self.folder) if self.secure else ""
            write(s.folder + "/config.xml", CONFIG.format(folder=s.folder, http=s.http, tcp=s.tcp, inter=s.inter,
                                                          secure=https, first=replicas[0], all="".join(replicas)))

    def start(self):
        """Somebody else may take a port just before the server does: then it is tried with others."""
        for last in False, False, True:
            self.choose_ports()
            try:
                for s in self.shards:
                    s.start()
                for s in self.shards:
                    s.wait()
                return
            except RuntimeError:
                if last:
                    raise
                for s in self.shards:
                    s.kill()

    def __getitem__(self, i):
        return self.shards[i]

    def __len__(self):
        return len(self.shards)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for s in self.shards:
            s.kill()  # also one that a SIGSTOP holds
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database, cluster="", hosts=None, user=""):
        """How the command reaches a database; with a cluster, by all servers."""
        chosen = hosts or (self.shards if cluster else self.shards[:1])
        names = ",".join(f"127.0.0.1:{s.http}" for s in chosen)
        return f"http://{user}{names}/{database}" + (f"?cluster={cluster}" if cluster else "")


class Current(Shards):
    """with Current(1) as servers: a server with the current engine."""
    kind, cluster = CurrentShard, "one"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def obey():
    """For a suite in another language: prints the address of two shards, kills or starts the second one when a line
    says so, and ends with its input."""
    if not SERVER:
        print("none", flush=True)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Shards(2) as servers:
        print(servers.url("shown", cluster="fleet"), flush=True)
        for line in sys.stdin:
            if line == "kill\n":
                servers[1].kill()
            else:
                servers[1].start()
                servers[1].wait()
            print("done", flush=True)


if __name__ == "__main__":
    obey()

# SPDX-License-Identifier: MIT
"""ClickHouse servers of a test's own: a temporary folder, free ports of the loopback interface, little memory, and
nothing left at the end. Cluster `one` has the first server, cluster `fleet` has all of them."""
import ctypes, os, shutil, signal, socket, subprocess, tempfile, time, urllib.error, urllib.parse, urllib.request

SERVER = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
PATIENCE = 120  # seconds until a server that starts is given up

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
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
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def end_with_the_test():
    """The kernel ends the server when the test ends, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Shard:
    def __init__(self, folder, ports):
        self.folder, (self.http, self.tcp, self.inter), self.process, self.disk = folder, ports, None, ""

    def start(self):
        output = open(self.folder + "/output", "ab")
        command = [SERVER, "--config-file=" + self.folder + "/config.xml"]
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
                raise RuntimeError(f"clickhouse-server did not start: {tail}")
            time.sleep(0.05)

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


class Shards:
    """with Shards(2) as shards: shards[0].ask("SELECT 1")"""

    def __init__(self, count, patience=60, disk=""):
        """`patience`: seconds between shards. Version 18.16 obeys only its own settings there. `disk`: its size."""
        self.folder = tempfile.mkdtemp(prefix="ouro-shards-")
        ports = free_ports(3 * count)
        self.shards = [Shard(f"{self.folder}/{i}", ports[3 * i:3 * i + 3]) for i in range(count)]
        replicas = [SHARD.format(tcp=s.tcp) for s in self.shards]
        for s in self.shards:
            s.disk = disk
            for part in ("data", "tmp", "files", "schemas"):
                os.makedirs(f"{s.folder}/{part}")
            write(s.folder + "/config.xml", CONFIG.format(folder=s.folder, http=s.http, tcp=s.tcp, inter=s.inter,
                                                          first=replicas[0], all="".join(replicas)))
            write(s.folder + "/users.xml", USERS.format(patience=patience, users="".join(
                USER.format(name=n, password=p.replace("&", "&amp;"), profile=r) for n, p, r in PEOPLE)))

    def __getitem__(self, i):
        return self.shards[i]

    def __len__(self):
        return len(self.shards)

    def __enter__(self):
        try:
            for s in self.shards:
                s.start()
            for s in self.shards:
                s.wait()
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


def write(path, text):
    with open(path, "w") as file:
        file.write(text)

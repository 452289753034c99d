#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A current ClickHouse, whose engine npm has as a library, behind ClickHouse's HTTP interface:

    tests/store/current.py FOLDER PORT

Answers on 127.0.0.1:PORT as a server does: the statement is in `query=` or in the body, settings and `database=` are in
the address, rows of an INSERT and the table `keys` of a form come as RowBinary. Statements of several connections run
at the same time. Cluster `one` has this server as its only shard. There is no port for other shards, no user and no
https. What was written is on disk, as with a server, so that the process can be killed and started again.
"""
import contextlib, ctypes, glob, gzip, http.server, os, re, sys, threading, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = next(iter(glob.glob(HERE + "/node_modules/@chdb/lib-linux-*/libchdb.so")), None)

CONFIG = """<clickhouse>
  <tcp_port>9000</tcp_port>
  <max_thread_pool_size>200</max_thread_pool_size>
  <remote_servers>
    <one><shard><replica><host>127.0.0.1</host><port>9000</port></replica></shard></one>
  </remote_servers>
</clickhouse>
"""
NOT_SETTINGS = {"query", "database", "keys_structure", "keys_format", "wait_end_of_query"}
UNKNOWN = re.compile("Code: (60|81)[.]")  # a table, a database


class Refusal(Exception):
    """What the engine says of a statement that it does not carry out."""


class Engine:
    def __init__(self, folder):
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        self.library = ctypes.CDLL(LIBRARY)
        for name, result, *arguments in (
                ("connect", ctypes.POINTER(pointer), ctypes.c_int, ctypes.POINTER(text)),
                ("query_n", pointer, pointer, text, size, text, size), ("result_buffer", pointer, pointer),
                ("result_length", size, pointer), ("result_error", text, pointer),
                ("destroy_query_result", None, pointer)):
            function = getattr(self.library, "chdb_" + name)
            function.restype, function.argtypes = result, arguments
        words = ["clickhouse", f"--config-file={folder}/engine.xml", f"--path={folder}/data", "--max_threads=2"]
        self.words = (text * len(words))(*(word.encode() for word in words))
        self.folder, self.lock, self.idle, self.count = folder, threading.Lock(), [], 0

    @contextlib.contextmanager
    def session(self):
        """A session that no other thread uses."""
        with self.lock:
            session = self.idle.pop() if self.idle else None
            self.count += session is None
            number = self.count
        session = session or Session(self, number)
        yield session
        with self.lock:
            self.idle.append(session)


class Session:
    def __init__(self, engine, number):
        self.library, self.settings = engine.library, {}
        self.rows = f"{engine.folder}/rows-{number}"
        self.connection = self.library.chdb_connect(len(engine.words), engine.words)
        if not self.connection:
            raise Refusal("the engine gives no session")

    def ask(self, statement):
        sql, form = statement.encode(), b"TabSeparated"
        result = self.library.chdb_query_n(self.connection[0], sql, len(sql), form, len(form))
        try:
            error = self.library.chdb_result_error(result)
            if error:
                raise Refusal(error.decode("utf-8", "replace"))
            length = self.library.chdb_result_length(result)
            return ctypes.string_at(self.library.chdb_result_buffer(result), length) if length else b""
        finally:
            self.library.chdb_destroy_query_result(result)

    def choose(self, database, settings):
        self.ask(f"USE `{database}`")
        for name in set(self.settings) - set(settings):
            self.ask(f"SET {name} = DEFAULT")
        if settings and settings != self.settings:
            self.ask("SET " + ", ".join(f"{name} = '{value}'" for name, value in settings.items()))
        self.settings = settings

    def insert(self, into, rows):
        """The engine reads rows from a file, where a server reads them from the request."""
        with open(self.rows, "wb") as file:
            file.write(rows)
        return self.ask(f"INSERT INTO {into} FROM INFILE '{self.rows}' FORMAT RowBinary")

    def take_keys(self, structure, form):
        self.ask("DROP TEMPORARY TABLE IF EXISTS keys")
        self.ask(f"CREATE TEMPORARY TABLE keys ({structure}) ENGINE = Memory")
        rows = form.split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]
        if rows:
            self.insert("keys", rows)

    def carry_out(self, given, body):
        settings = {name: value for name, value in given.items() if name not in NOT_SETTINGS}
        self.choose(given.get("database", "default"), settings)
        if "keys_structure" in given:
            self.take_keys(given["keys_structure"], body)
            body = b""
        statement = given.get("query", "")
        found = re.fullmatch(r"INSERT INTO (.*) FORMAT RowBinary\s*", statement, re.DOTALL)
        if found:
            return self.insert(found[1], body)
        return self.ask(statement + body.decode())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

    def log_message(self, *_):
        """Nothing is written for each request."""

    def answer(self, code, body):
        self.send_response(code)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # the connection was cut: nothing is carried out
            self.close_connection = True
            return
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        given = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query, keep_blank_values=True))
        try:
            with self.server.engine.session() as session:
                try:
                    self.answer(200, session.carry_out(given, body))
                except Refusal as refusal:
                    self.answer(404 if UNKNOWN.match(str(refusal)) else 500, str(refusal).encode())
        except (Refusal, OSError) as problem:
            self.answer(500, str(problem).encode())


def serve(folder, port):
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/engine.xml", "w") as file:
        file.write(CONFIG)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.engine = Engine(folder)
    with server.engine.session() as session:
        print(session.ask("SELECT version()").decode().strip(), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(os.path.abspath(sys.argv[1]), int(sys.argv[2]))

# SPDX-License-Identifier: MIT
"""Starts `ouro serve`, sends to it, and makes sure that it ends well."""
import http.client, os, re, signal, socket, subprocess, urllib.parse
from suite import same

SLOW = 120  # seconds, on a machine that does much else


class Serve:
    """With arguments of `ouro serve`. Ends by SIGTERM with status 0 and nothing on stderr, or the case fails."""
    ouro = None  # set by run.py

    def __init__(self, *arguments, store="s.db", env=None):
        self.store = store
        self.child = subprocess.Popen([self.ouro, "serve", "--store", store, "--listen", "127.0.0.1:0", *arguments],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=dict(os.environ, **env) if env else None)
        self.url = self.child.stdout.readline().decode().strip()
        if not self.url:
            raise AssertionError(self.child.communicate()[1].decode())
        self.port = urllib.parse.urlsplit(self.url).port

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.stop(check=kind is None)

    def stop(self, check=True):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        try:
            _, err = self.child.communicate(timeout=SLOW)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.communicate()
            raise AssertionError("it did not end")
        if check or b"Sanitizer" in err:
            same((self.child.returncode, err.decode(errors="replace")), (0, ""))

    def ask(self, method, path, body=None, **headers):
        """(status, text); names of headers with _ for -."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SLOW)
        try:
            c.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def send(self, body, name="web", type=None, **query):
        """POST /ingest; the status."""
        path = "/ingest?" + urllib.parse.urlencode(dict(query, name=name))
        return self.ask("POST", path, body, **({"Content_Type": type} if type else {}))[0]

    def counters(self):
        status, text = self.ask("GET", "/health")
        same(status, 200)
        return {name.removeprefix("ouro_serve_"): int(n) for name, n in re.findall(r"^(\S+) (\d+)$", text, re.M)}

    def begin(self, body, length, path="/ingest?name=web"):
        """A connection on which the first bytes of a request were sent."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=SLOW)
        s.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode() + body)
        return s


def status_from(s):
    """Of the answer on a connection; 0: it was closed without one."""
    text = b""
    while b"\r\n" not in text:
        got = s.recv(4096)
        if not got:
            return 0
        text += got
    return int(text.split()[1])


def form(**parts):
    """(type, body)"""
    body = b"".join(b'--x1y2\r\nContent-Disposition: form-data; name="%s"; filename="%s.pb"\r\n'
                    b"Content-Type: application/octet-stream\r\n\r\n%s\r\n" % (name.encode(), name.encode(), data)
                    for name, data in parts.items())
    return "multipart/form-data; boundary=x1y2", body + b"--x1y2--\r\n"

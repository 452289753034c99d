# SPDX-License-Identifier: MIT
"""Starts `ouro view`, asks it, and makes sure that it ends well."""
import http.client, json, signal, socket, subprocess, time, urllib.parse
from suite import same


def unique(pairs):
    """Browsers keep the last of two members of one name."""
    same(len(dict(pairs)), len(pairs), [name for name, _ in pairs])
    return dict(pairs)


class Server:
    """With arguments of `ouro view`. Ends by SIGTERM with status 0 and nothing on stderr, or the case fails. Without a
    secret, unless it is asked for: then `url` has it, and `cookie` is the header that knows it."""
    ouro = None  # set by run.py

    def __init__(self, *arguments, stdin=None, env=None, quiet=True, secret=False):
        self.quiet = quiet
        how = ["--no-open"] if secret else ["--no-open", "--no-secret"]
        self.child = subprocess.Popen([self.ouro, "view", *how, *arguments], stdin=stdin or subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        line = self.child.stdout.readline().decode().strip()
        if not line:
            raise AssertionError(self.child.communicate()[1].decode())
        self.url = line
        parts = urllib.parse.urlsplit(line)
        self.host, self.port = parts.hostname, parts.port
        self.authority = parts.netloc
        self.secret = dict(urllib.parse.parse_qsl(parts.query)).get("secret") if secret else None
        self.cookie = {"Cookie": f"ouro-{self.port}={self.secret}"}

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.stop(check=kind is None)

    def stop(self, how=signal.SIGTERM, check=True):
        self.child.send_signal(how)
        try:
            out, err = self.child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            out, err = self.child.communicate()
            raise AssertionError("it did not end: " + err.decode(errors="replace"))
        if check or b"Sanitizer" in err:
            same(self.child.returncode, 0, err.decode(errors="replace"))
            assert not (self.quiet and err), err.decode(errors="replace")

    def get(self, path, method="GET", headers=(), body=None):
        """(status, headers, bytes)"""
        c = http.client.HTTPConnection(self.host, self.port, timeout=60)
        c.request(method, path, body=body, headers=dict(headers))
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, r.headers, data

    def api(self, question, status=200, **parameters):
        """A parsed answer. A list as a value is the parameter several times."""
        query = urllib.parse.urlencode(parameters, doseq=True)
        got, headers, data = self.get(f"/api/v1/{question}" + ("?" + query if query else ""))
        same(got, status, (question, parameters, data[:500]))
        same(headers["Content-Type"], "application/json; charset=utf-8")
        answer = json.loads(data.decode("utf-8", "strict"), object_pairs_hook=unique)
        if status == 200 and "blocks" in answer:
            answer["labels"] = [b["label"] for b in answer["blocks"]]
            answer["names"] = [b["name"] for b in answer["blocks"]]
        return answer

    def raw(self, data, timeout=20, half=False):
        """What comes back for these bytes until the server closes."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as s:
            s.sendall(data)
            if half:
                s.shutdown(socket.SHUT_WR)
            out = b""
            try:
                while True:
                    part = s.recv(65536)
                    if not part:
                        break
                    out += part
            except (ConnectionResetError, BrokenPipeError):
                pass
            return out

    def line(self, target, host=None, more="", method="GET"):
        """The status of a request that is written by hand."""
        host = f"Host: {self.authority if host is None else host}\r\n"
        answer = self.raw(f"{method} {target} HTTP/1.1\r\n{host}{more}Connection: close\r\n\r\n".encode("latin-1"))
        return int(answer.split(b" ", 2)[1]) if answer else None


def becomes(get, want, seconds=20):
    """Waits until what `get` gives is the wanted."""
    end, got = time.monotonic() + seconds, get()
    while got != want and time.monotonic() < end:
        time.sleep(0.05)
        got = get()
    same(got, want)

# SPDX-License-Identifier: MIT
"""The viewer on shards: the same answers as of a file, and what it says when one of them is down."""
import json, subprocess, urllib.error, urllib.parse, urllib.request

from faults import PATHS, given, of_servers, push, servers, two, without
from suite import case, has, lacks, same


class View:
    """`ouro view --store`, which ends with the case."""

    def __init__(self, url, *words):
        self.child = subprocess.Popen([given["ouro"], "view", "--no-open", "--no-secret", "--store", url, *words],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.child.stdout.readline().decode().split("/fleet")[0].strip()
        if not self.url:
            raise AssertionError(self.child.communicate()[1].decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.communicate()

    def ask(self, question, status=200, **parameters):
        try:
            target = f"{self.url}/api/v1/{question}?{urllib.parse.urlencode(parameters)}"
            with urllib.request.urlopen(target, timeout=120) as answer:
                got, data = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            got, data = refusal.code, refusal.read()
        same(got, status, (question, parameters, data[:500]))
        return json.loads(data)


@case
def the_viewer_shows_what_the_shards_have():
    push(two(), "--service", "web", "--label", "host=a")
    with View(two()) as v:
        same(v.ask("overview", where="service=web")["total"], sum(PATHS.values()))
        rows = v.ask("blocks", where="", limit=1000)
        same({rows["blocks"][r["block"]]["name"]: r["self"] for r in rows["rows"] if r["self"]},
             {path.split(";")[1]: n for path, n in PATHS.items()})
        same([r["value"] for r in v.ask("series", by="host")["rows"]], ["a"])
        same(v.ask("series", by="host")["rows"][0]["total"], sum(PATHS.values()))
        same(v.ask("offer", where="service=web")["slices"], 1)
        same(v.ask("profile", where="")["files"][0]["missing"], None)
        title = v.ask("profile")["store"]["title"]
        has(title, "127.0.0.1:")
        lacks(title, "cluster", "@")


@of_servers
def a_shard_that_is_down_is_named_on_every_answer_and_its_numbers_come_back():
    push(two())
    whole = sum(PATHS.values())
    with View(two()) as v:
        with without(servers()[1]):
            file = v.ask("profile", where="")["files"][0]
            has(file["missing"], "the shard 127.0.0.1:", "does not answer")
            part = v.ask("overview", where="")["total"]
            assert part < whole, part  # nothing, if the row of the slice is on the other shard
            assert v.ask("series")["missing"]
        file = v.ask("profile", where="", fresh=0)["files"][0]
        for _ in range(600):  # at most a fifth of the time is spent on asking
            if not file["missing"]:
                break
            file = v.ask("profile", where="", fresh=0)["files"][0]
        same(file["missing"], None)
        same(v.ask("overview", where="")["total"], whole)


@of_servers
def a_strict_viewer_has_no_answer_of_a_part():
    push(two())
    with View(two(), "--strict") as v:
        with without(servers()[1]):
            same(v.ask("blocks", status=503, where="")["error"]["code"], "no-store")
            same(v.ask("series", status=503)["error"]["code"], "no-store")
        same(v.ask("overview", where="")["total"], sum(PATHS.values()))

# SPDX-License-Identifier: MIT
"""What happened last in a live file. No case waits for seconds to pass: a window is as long as the server runs, or
ends with the program."""
from harness import Server, becomes
from life import Writer
from suite import case, same, write

LONG = 1000000


@case
def the_last_seconds_have_what_was_charged_since_the_file_was_opened():
    w = Writer("live.ouro")
    w.step("main.before")
    with Server("live.ouro") as s:
        recent = lambda **more: s.api("blocks", last=LONG, **more)
        first = recent()
        same((first["total"], first["rows"]), (0, []))
        same(s.api("history")["slices"], [])
        for n in range(1, 4):
            w.step("main.parse")
            w.step(f"main.new{n}")
            becomes(lambda: recent()["total"], 20 * n)
        now = recent()
        same({now["names"][r["block"]]: (r["self"], r["overall"]) for r in now["rows"]},
             {"main": (0, 60), "parse": (30, 30), "new1": (10, 10), "new2": (10, 10), "new3": (10, 10)})
        assert now["last"] > 0
        same(s.api("blocks")["total"], 70)
        same(recent(select="parse")["left"], 30)
        same(recent(select="parse")["total"], 60)
        same(s.api("overview", last=LONG)["totals"][-1]["total"], 60)
        same(s.api("flame", last=LONG)["value"][0], 60)
        grown = s.api("history", seconds=LONG)
        same(grown["metrics"][-1]["name"], s.api("profile")["files"][0]["default_metric"])
        same(sum(one["totals"][-1] for one in grown["slices"]), 60)
        for one, after in zip(grown["slices"], grown["slices"][1:]):
            same((one["from"] > one["to"], one["to"]), (True, after["from"]))
        w.end()
        becomes(lambda: s.api("profile")["files"][0]["running"], False)
        same(recent()["total"], 60)  # the last state stays
        last = s.api("profile")["generation"]
        same([s.api("blocks", last=1)["total"] for _ in range(2)], [s.api("blocks", last=1)["total"]] * 2)
        same(s.api("profile")["generation"], last)


@case
def the_last_seconds_of_a_file_that_is_not_live_are_empty():
    write("a.folded", "a;b 5\n")
    with Server("a.folded") as s:
        same((s.api("blocks", last=10)["total"], s.api("blocks", last=10)["rows"]), (0, []))
        same(s.api("history")["slices"], [])
        for bad in "0", "-1", "x", "99999999":
            same(s.api("blocks", status=400, last=bad)["error"]["code"], "bad-number")
            same(s.api("history", status=400, seconds=bad)["error"]["code"], "bad-number")

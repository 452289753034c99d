# SPDX-License-Identifier: MIT
"""The call graph around a block, against the model's paths."""
from answers import each
from suite import case, same


def steps(path):
    return set(zip(path, path[1:]))


@case
def the_call_graph_around_a_block_has_the_flows_of_its_paths():
    for s, model, asked, rnd, names in each():
        block = rnd.choice(sorted({b for path in model.paths for b in path}) or ["f0"])
        if not model.paths:
            continue
        a = s.api("neighbourhood", block=block, limit=rnd.randrange(1, 6), **asked)
        through = {path: value for path, value in model.paths.items() if block in path}
        shown = [a["names"][r["block"]] for r in a["rows"]]
        same((shown[0], a["rows"][0]["layer"], len(set(shown))), (block, 0, len(shown)))
        for name, row in zip(shown, a["rows"]):
            same(row["value"], sum(v for p, v in through.items() if name in p), name)
        want = {(i, j): sum(v for p, v in through.items() if (x, y) in steps(p))
                for i, x in enumerate(shown) for j, y in enumerate(shown)}
        same({(f["from"], f["to"]): f["value"] for f in a["flows"]}, {k: v for k, v in want.items() if v})
        every = {step for path in [*model.paths, *model.passed] for step in steps(path)}
        same(a["caller_count"], len({x for x, y in every if y == block} - {block}))
        same(a["callee_count"], len({y for x, y in every if x == block} - {block}))


@case
def a_layer_has_as_many_blocks_as_were_asked_for():
    for s, model, asked, rnd, names in each():
        if "f0" not in {b for path in model.paths for b in path}:
            continue
        layers = [r["layer"] for r in s.api("neighbourhood", block="f0", limit=2, **asked)["rows"]]
        assert max(layers.count(n) for n in (-2, -1, 1, 2)) <= 2, layers
        same(layers, sorted(layers, key=lambda n: (abs(n), n)))

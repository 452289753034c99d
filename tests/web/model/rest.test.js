// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "node:test";
import {HUES, colourBy, coloursOf, hash, palette} from "../../../web/model/colour.js";
import {pieces} from "../../../web/model/source.js";
import {flatten, keyOf, levels, opened, toggled} from "../../../web/model/tree.js";

test("a_block_has_the_same_colour_in_every_answer", () => {
    const a = {name: "f", file: "a.c", mark: null}, b = {name: "g", file: "b.c", mark: null};
    const files = ["a.c", "b.c", "c.c"];
    assert.equal(coloursOf([a, b], "file", files)[1], coloursOf([b], "file", files)[0]);
    assert.equal(coloursOf([a], "block", files)[0], coloursOf([a], "block", [])[0]);
    assert.notEqual(hash("f"), hash("g"));
});

test("every_number_of_a_colour_is_in_the_palette", () => {
    const blocks = Array.from({length: 500}, (_, i) => ({name: "n" + i, file: `f${i % 20}.c`, mark: i % 50 ? null : "pruned"}));
    const files = Array.from({length: 20}, (_, i) => `f${i}.c`);
    for (const dark of [false, true]) {
        const {boxes} = palette(dark);
        for (const by of ["file", "block"]) {
            const numbers = coloursOf(blocks, by, files);
            for (const [i, n] of numbers.entries()) assert.ok(blocks[i].mark ? n === -1 : boxes[n] !== undefined);
        }
        assert.ok(new Set(boxes).size > HUES.length * 3);
    }
});

test("files_are_told_apart_only_if_there_are_some", () => {
    assert.deepEqual([colourBy("", ["a"]), colourBy("", ["a", "b", "c"]), colourBy("block", ["a", "b", "c"]), colourBy("x", [])],
                     ["block", "file", "block", "block"]);
});

test("a_short_file_is_shown_whole_and_a_long_one_around_its_numbers", () => {
    assert.deepEqual(pieces(10, [3], 0, new Set()), [{from: 1, to: 10, shown: true}]);
    assert.deepEqual(pieces(0, [], 0, new Set()), []);
    assert.deepEqual(pieces(10000, [5000], 0, new Set()), [{from: 1, to: 4993, shown: false}, {from: 4994, to: 5006, shown: true},
                                                           {from: 5007, to: 10000, shown: false}]);
    assert.deepEqual(pieces(10000, [5000], 0, new Set([1]))[0], {from: 1, to: 400, shown: true});
    assert.equal(pieces(10000, [], 0, new Set())[0].to, 400);
    assert.ok(pieces(10000, [1], 9999, new Set()).some(p => p.shown && p.from <= 9999 && p.to >= 9999));
});

test("pieces_cover_every_line_once_and_numbers_outside_of_the_file_do_no_harm", () => {
    const hot = Array.from({length: 50}, (_, i) => (i * 7919) % 100000);
    const parts = pieces(70000, hot, 123456, new Set([5, 69990]));
    let next = 1;
    for (const part of parts) {
        assert.equal(part.from, next);
        next = part.to + 1;
    }
    assert.equal(next, 70001);
});

test("opening_a_path_opens_what_leads_there_and_closing_it_does_not_close_that", () => {
    let open = toggled([], ["a", "b", "c"]);
    assert.deepEqual(open, [["a", "b", "c"]]);
    assert.deepEqual(levels([], open), [["a"], ["a", "b"], ["a", "b", "c"]]);
    assert.deepEqual(levels(["a"], open), [["a", "b"], ["a", "b", "c"]]);
    assert.deepEqual(levels(["x"], open), []);
    open = toggled(open, ["a", "b"]);
    assert.deepEqual(open, [["a"]]);
    open = toggled(open, ["a"]);
    assert.deepEqual(open, []);
    assert.deepEqual(opened([["a"]], ["a", "b"]), [["a", "b"]]);
});

test("the_address_holds_a_bounded_number_of_open_paths", () => {
    let open = [];
    for (let i = 0; i < 200; i++) open = toggled(open, ["p" + i]);
    assert.ok(open.length <= 40);
    assert.deepEqual(open.at(-1), ["p199"]);
});

test("levels_of_the_tree_stand_in_the_order_of_the_table", () => {
    const blocks = ["a", "b", "c"].map(label => ({label, name: label}));
    const first = {blocks, rows: [{block: 0}, {block: 1}], count: 2};
    const below = new Map([[keyOf(["a"]), {blocks, rows: [{block: 2}], count: 5}], [keyOf(["a", "c"]), {blocks, rows: [{block: 0}], count: 1}]]);
    const rows = flatten([], first, below);
    assert.deepEqual(rows.map(row => row.hidden ? `+${row.hidden}` : row.path.join("/")), ["a", "a/c", "a/c/a", "+4", "b"]);
    assert.deepEqual(rows.map(row => row.level), [0, 1, 2, 1, 0]);
});

test("a_deep_tree_is_flattened_by_a_loop", () => {
    const below = new Map();
    const path = [];
    const blocks = [{label: "f", name: "f"}];
    for (let i = 0; i < 2000; i++) {
        path.push("f");
        below.set(keyOf(path), {blocks, rows: [{block: 0}], count: 1});
    }
    assert.equal(flatten([], {blocks, rows: [{block: 0}], count: 1}, below).length, 2001);
});

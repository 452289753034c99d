// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {
  HUES,
  colourBy,
  coloursOf,
  groupNumber,
  groupsOf,
  hash,
  palette,
} from "../../../web/model/colour.js";
import {pieces} from "../../../web/model/source.js";
import {endOf, toggled} from "../../../web/model/tree.js";

const groups = names => ({folders: false, names});

test("a_block_has_the_same_colour_in_every_answer", () => {
  const a = {name: "f", file: "a.c", mark: null},
    b = {name: "g", file: "b.c", mark: null};
  const three = groups(["a.c", "b.c", "c.c"]);
  assert.equal(coloursOf([a, b], "file", three)[1], coloursOf([b], "file", three)[0]);
  assert.equal(coloursOf([a], "block", three)[0], coloursOf([a], "block", groups([]))[0]);
  assert.notEqual(hash("f"), hash("g"));
});

test("every_number_of_a_colour_is_in_the_palette", () => {
  const blocks = Array.from({length: 500}, (_, i) => ({
    name: "n" + i,
    file: i % 7 ? `f${i % 20}.c` : null,
    mark: i % 50 ? null : "pruned",
  }));
  for (const dark of [false, true]) {
    const {boxes} = palette(dark);
    for (const by of ["file", "block"]) {
      const numbers = coloursOf(
        blocks,
        by,
        groupsOf(blocks.map(b => ({file: b.file, overall: 1}))),
      );
      for (const [i, n] of numbers.entries())
        assert.ok(blocks[i].mark ? n === -1 : boxes[n] !== undefined);
    }
    assert.ok(new Set(boxes).size > HUES.length * 3);
  }
});

test("few_files_have_hues_of_their_own_of_many_their_folders_have", () => {
  const few = groupsOf([
    {file: "b.c", overall: 5},
    {file: "a/c.c", overall: 9},
    {file: "", overall: 99},
  ]);
  assert.deepEqual(few, {folders: false, names: ["a/c.c", "b.c"]});
  assert.deepEqual(
    [groupNumber("a/c.c", few), groupNumber("z", few), groupNumber(null, few)],
    [0, HUES.length, HUES.length],
  );
  const many = groupsOf(
    Array.from({length: 60}, (_, i) => ({file: `dir${i % 12}/sub/f${i}.c`, overall: i})),
  );
  assert.equal(many.folders, true);
  assert.equal(many.names.length, HUES.length);
  assert.equal(many.names[0], "dir11/sub");
  assert.equal(groupNumber("dir11/sub/new.c", many), 0);
  const older = groupsOf(
    [
      {file: "b.c", overall: 99},
      {file: "n.c", overall: 50},
    ],
    few,
  );
  assert.deepEqual(older.names, ["a/c.c", "b.c", "n.c"], "what has a hue keeps it");
  assert.equal(
    groupsOf(Array.from({length: 9}, (_, i) => ({file: `/f${i}`, overall: 1}))).names[0],
    "/",
  );
});

/** "oklch(L C H)" as linear sRGB, and its luminance. */
function luminance(colour) {
  const [L, C, H] = colour.match(/[\d.]+/g).map(Number);
  const [a, b] = [C * Math.cos((H * Math.PI) / 180), C * Math.sin((H * Math.PI) / 180)];
  const [l, m, s] = [
    L + 0.3963377774 * a + 0.2158037573 * b,
    L - 0.1055613458 * a - 0.0638541728 * b,
    L - 0.0894841775 * a - 1.291485548 * b,
  ].map(x => x ** 3);
  const rgb = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map(x => Math.max(0, Math.min(1, x)));
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

test("labels_of_boxes_are_readable_on_every_colour", () => {
  const contrast = (a, b) =>
    (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  for (const dark of [false, true]) {
    const p = palette(dark);
    for (const box of [...p.boxes, p.none])
      assert.ok(contrast(p.text, box) >= 4.5, `${p.text} on ${box}: ${contrast(p.text, box)}`);
    assert.ok(
      contrast(p.dimmedText, p.dimmed) >= 4.5,
      `dimmed ${contrast(p.dimmedText, p.dimmed)}`,
    );
    assert.ok(contrast(p.foundText, p.found) >= 4.5, "found");
    for (const box of p.boxes) assert.ok(contrast(p.focus, box) >= 1.3);
  }
});

test("files_are_told_apart_only_if_there_are_some", () => {
  const three = groups(["a", "b", "c"]);
  assert.deepEqual(
    [
      colourBy("", groups(["a"])),
      colourBy("", three),
      colourBy("block", three),
      colourBy("x", groups([])),
    ],
    ["block", "file", "block", "block"],
  );
});

test("a_short_file_is_shown_whole_and_a_long_one_around_its_numbers", () => {
  assert.deepEqual(pieces(10, [3], 0, new Set()), [{from: 1, to: 10, shown: true}]);
  assert.deepEqual(pieces(0, [], 0, new Set()), []);
  assert.deepEqual(pieces(10000, [5000], 0, new Set()), [
    {from: 1, to: 4993, shown: false},
    {from: 4994, to: 5006, shown: true},
    {from: 5007, to: 10000, shown: false},
  ]);
  assert.deepEqual(pieces(10000, [5000], 0, new Set([1]))[0], {from: 1, to: 400, shown: true});
  assert.equal(pieces(10000, [], 0, new Set())[0].to, 400);
  assert.ok(
    pieces(10000, [1], 9999, new Set()).some(p => p.shown && p.from <= 9999 && p.to >= 9999),
  );
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

/** A tree of rows, by their levels: "a b. c" is a with b below it. Open are those with rows below. */
function treeOf(text) {
  const rows = text.split(" ").map(word => ({
    id: word.replaceAll(".", ""),
    level: word.length - word.replaceAll(".", "").length,
    hidden: 0,
    open: false,
  }));
  rows.forEach((row, i) => {
    row.open = endOf(rows, i) > i + 1;
  });
  return rows;
}

test("opening_a_row_takes_the_place_of_what_leads_there", () => {
  const rows = treeOf("a b. c.. d. e");
  const index = id => rows.findIndex(row => row.id === id);
  const end = id => ({id, row: index(id)});
  assert.deepEqual(toggled(rows, [end("b")], index("c")), ["c"]);
  assert.deepEqual(toggled(rows, [end("b")], index("e")), ["b", "e"]);
  assert.deepEqual(toggled(rows, [], index("e")), ["e"]);
});

test("closing_a_row_closes_what_is_below_and_nothing_above", () => {
  const rows = treeOf("a b. c.. d. f.. e g.");
  const index = id => rows.findIndex(row => row.id === id);
  const open = [
    {id: "deep below c", row: index("c")},
    {id: "d", row: index("d")},
    {id: "e", row: index("e")},
    {id: "somewhere else", row: null},
  ];
  assert.deepEqual(toggled(rows, open, index("b")), ["d", "e", "somewhere else"]);
  assert.deepEqual(toggled(rows, open.slice(0, 1), index("b")), ["a"], "its caller stays open");
  assert.deepEqual(toggled(rows, open, index("a")), ["e", "somewhere else"]);
  assert.deepEqual(toggled(rows, open.slice(2, 3), index("e")), ["none"], "not the hottest path");
});

test("the_address_holds_a_bounded_number_of_open_paths", () => {
  const rows = treeOf(Array.from({length: 100}, (_, i) => "p" + i).join(" "));
  const open = Array.from({length: 99}, (_, row) => ({id: "p" + row, row}));
  const ids = toggled(rows, open, 99);
  assert.equal(ids.length, 40);
  assert.equal(ids.at(-1), "p99");
});

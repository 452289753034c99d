// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {hotLines, nextHot} from "../../../web/model/source.js";
import {languageOf, tokensOf} from "../../../web/model/syntax.js";

/** Of one kind, line by line. */
const found = (kind, lines, file) =>
  tokensOf(lines, file).map(tokens =>
    tokens.filter(([, of]) => of === kind).map(([text]) => text),
  );

test("tokens_together_are_the_line_whatever_it_holds", () => {
  const lines = [
    'int x = 0x1f; // "no string"',
    "/* a comment",
    'over "lines" */ return "a \\" b" + \'c\';',
    "\"not closed 'at all",
    "",
    "`template ${x}",
    "ends` 12.5e3 'lifetime and 'c'",
    "(* {- --[[ ]] -} *) # ; % ! \u202e <b>",
    "x".repeat(5000),
  ];
  for (const name of "a.c a.js a.py a.rs a.lua a.hs a.ml a.sh a.sql a.clj a.go a.java a.rb a.erl a.fble".split(" ")) {
    const tokens = tokensOf(lines, name);
    assert.deepEqual(
      tokens.map(line => line.map(([text]) => text).join("")),
      lines,
      name,
    );
    assert.ok(tokens.flat().every(([text]) => text.length > 0));
  }
});

test("comments_strings_numbers_and_keywords_are_told_apart", () => {
  const c = ['if (x1 == 0x1F) return "if // no"; // return 5'];
  assert.deepEqual(found("keyword", c, "a.c"), [["if", "return"]]);
  assert.deepEqual(found("number", c, "a.c"), [["0x1F"]]);
  assert.deepEqual(found("string", c, "a.c"), [['"if // no"']]);
  assert.deepEqual(found("comment", c, "a.c"), [["// return 5"]]);
  assert.deepEqual(found("comment", ["x # y", "z"], "a.py"), [["# y"], []]);
  assert.deepEqual(found("keyword", ["SELECT a FROM b"], "a.sql"), [["SELECT", "FROM"]]);
});

test("a_comment_and_a_string_go_over_lines", () => {
  assert.deepEqual(found("comment", ["a /* b", "c", "d */ e"], "a.go"), [["/*", " b"], ["c"], ["d */"]]);
  assert.deepEqual(found("string", ['x = """a', "b", 'c""" + d'], "a.py"), [['"""', "a"], ["b"], ['c"""']]);
});

test("a_lifetime_is_no_string", () => {
  assert.deepEqual(found("string", ["fn f<'a>(x: &'a str) -> char { 'x' }"], "a.rs"), [["'x'"]]);
});

test("what_is_not_known_stays_plain", () => {
  assert.equal(tokensOf(["if x"], "a.unknown"), null);
  assert.equal(tokensOf(["if x"], "Makefile"), null);
  assert.equal(languageOf("A.CPP"), languageOf("b.c"));
});

test("hot_lines_are_visited_from_the_hottest_on_and_around", () => {
  const rows = [
    {line: 3, self: 5},
    {line: 9, self: 50},
    {line: 0, self: 99},
    {line: 20, self: 0},
    {line: 30, self: 7},
  ];
  const hot = hotLines(rows);
  assert.deepEqual(hot, [9, 30, 3]);
  assert.deepEqual([0, 9, 30, 3, 4].map(line => nextHot(hot, line, 1)), [9, 30, 3, 9, 9]);
  assert.deepEqual([0, 9, 30, 3].map(line => nextHot(hot, line, -1)), [3, 3, 9, 30]);
  assert.equal(nextHot([], 5, 1), 0);
});

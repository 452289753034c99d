// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {ariaSort, foot, nextSort, order, window} from "../../../web/model/table.js";

test("numbers_sort_from_the_largest_texts_from_a_and_a_second_click_turns", () => {
  const now = order("", "-self");
  assert.deepEqual(now, {column: "self", descending: true});
  assert.equal(nextSort(now, "self", false), "self");
  assert.equal(nextSort(now, "overall", false), "-overall");
  assert.equal(nextSort(now, "name", true), "name");
  assert.equal(nextSort(order("name", "-self"), "name", true), "-name");
});

test("only_the_sorted_column_says_so", () => {
  assert.equal(ariaSort(order("-self", ""), "self"), "descending");
  assert.equal(ariaSort(order("name", ""), "name"), "ascending");
  assert.equal(ariaSort(order("name", ""), "self"), "none");
});

test("a_table_never_has_more_rows_than_the_server_gives", () => {
  assert.deepEqual(window({offset: 0, rows: 0}), {offset: 0, limit: 100});
  assert.deepEqual(window({offset: 50, rows: 999999}), {offset: 50, limit: 1000});
  assert.deepEqual(window({offset: 0, rows: 0}, 20), {offset: 0, limit: 20});
});

test("from_behind_the_last_row_the_way_back_is_the_last_page", () => {
  assert.equal(foot(50000, 99999999, 0).previous, 49000);
  assert.equal(foot(12, 99999999, 0).previous, 0);
});

test("the_foot_offers_more_rows_then_pages", () => {
  assert.deepEqual(foot(5, 0, 5), {from: 1, to: 5, count: 5, more: 0, next: null, previous: null});
  assert.deepEqual(foot(50000, 0, 100), {
    from: 1,
    to: 100,
    count: 50000,
    more: 300,
    next: null,
    previous: null,
  });
  assert.deepEqual(foot(50000, 0, 1000), {
    from: 1,
    to: 1000,
    count: 50000,
    more: 0,
    next: 1000,
    previous: null,
  });
  assert.deepEqual(foot(50000, 49000, 1000), {
    from: 49001,
    to: 50000,
    count: 50000,
    more: 0,
    next: null,
    previous: 48000,
  });
  assert.deepEqual(foot(0, 0, 0), {from: 0, to: 0, count: 0, more: 0, next: null, previous: null});
});

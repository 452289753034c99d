// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {
  blank,
  changed,
  filtered,
  hasFilters,
  href,
  parse,
  place,
  question,
  settled,
  to,
  unfiltered,
  useFragments,
} from "../../../web/model/url.js";

const odd = [
  "f",
  "a b",
  "x=1&y=2",
  "#?%",
  "<script>",
  "שלום",
  "名前@a/b.c:3:1",
  "+",
  "%41",
  "\u{1F600}",
  "operator==(a, b)",
];

test("every_state_survives_its_address", () => {
  const state = {
    ...blank("tree"),
    metric: "time",
    select: odd,
    exclude: ["g"],
    fold: ["h", "h2"],
    side: "after",
    search: "a&b",
    sort: "-self",
    offset: 1000,
    rows: 300,
    block: odd,
    path: "Dh3-_kq0XzA",
    at: odd,
    open: ["Dh3-_kq0XzA", "AAAAAAAAAAA"],
    file: "a/../b.c",
    line: 7,
    invert: "yes",
    match: 3,
    colour: "file",
    state: ["slower", "new"],
  };
  assert.deepEqual(parse(href(state)), state);
  assert.deepEqual(parse("http://127.0.0.1:8000" + href(state)), state);
});

test("a_page_without_state_has_a_short_address", () => {
  assert.equal(href(blank("overview")), "/");
  assert.equal(href(blank("flame")), "/flame");
  assert.deepEqual(parse("/"), blank("overview"));
});

test("unknown_pages_are_missing", () => {
  for (const path of ["/nothing", "/overview", "/self/", "/__proto__", "/missing"])
    assert.equal(parse(path).page, "missing", path);
});

test("numbers_of_an_address_are_natural_or_nothing", () => {
  for (const text of ["-1", "1e9", "abc", "", "0x10", "99999999999", "1.5", " 1"])
    assert.equal(parse("/self?rows=" + encodeURIComponent(text)).rows, 0, text);
  assert.equal(parse("/self?rows=250").rows, 250);
});

test("a_filter_given_twice_counts_once", () => {
  assert.deepEqual(parse("/self?fold=f&fold=g&fold=f").fold, ["f", "g"]);
  const once = filtered(blank("self"), "fold", "f");
  assert.deepEqual(filtered(once, "fold", "f").fold, ["f"]);
});

test("a_block_is_in_one_filter_at_a_time", () => {
  const state = filtered(filtered(blank("self"), "select", "f"), "exclude", "f");
  assert.deepEqual([state.select, state.exclude, state.fold], [[], ["f"], []]);
});

test("a_new_filter_starts_at_the_first_row", () => {
  const state = filtered(
    {...blank("self"), offset: 2000, rows: 1000, sort: "name", search: "x"},
    "fold",
    "f",
  );
  assert.deepEqual([state.offset, state.rows, state.sort, state.search], [0, 0, "name", "x"]);
});

test("a_path_in_the_address_is_its_id_and_older_ones_are_still_read", () => {
  const old = parse("/tree?at=main&at=f&open=main%1Ff");
  assert.deepEqual([old.path, old.at, old.open], ["", ["main", "f"], []]);
  assert.deepEqual(place(old), {path: "", at: ["main", "f"], nearest: "true"});
  const now = settled(old, {at: {id: "Dh3-_kq0XzA"}});
  assert.equal(href(now), "/tree?path=Dh3-_kq0XzA");
  assert.deepEqual(place({...now, at: ["stale"]}), {path: now.path, at: [], nearest: "true"});
  assert.equal(href(settled(now, {at: {id: null}})), "/tree");
  assert.equal(filtered(now, "fold", "f").path, now.path, "the server knows what is left of it");
});

test("removing_a_filter_leaves_the_others", () => {
  const state = {...blank("self"), select: ["a", "b"], fold: ["c"]};
  assert.deepEqual(unfiltered(state, "select", "a").select, ["b"]);
  assert.deepEqual(unfiltered(state, "select", "a").fold, ["c"]);
  assert.equal(hasFilters(unfiltered({...blank("self"), fold: ["c"]}, "fold", "c")), false);
});

test("another_page_keeps_metric_and_filters_and_nothing_else", () => {
  const state = {
    ...blank("self"),
    metric: "time",
    select: ["a"],
    fold: ["b"],
    side: "after",
    search: "x",
    sort: "name",
    rows: 300,
    at: ["q"],
  };
  const next = to(state, "block", {block: ["z"]});
  assert.deepEqual(next, {
    ...blank("block"),
    metric: "time",
    select: ["a"],
    fold: ["b"],
    side: "after",
    block: ["z"],
  });
});

test("a_change_starts_at_the_first_row_unless_told_where", () => {
  assert.equal(changed({...blank("self"), offset: 1000}, {sort: "name"}).offset, 0);
  assert.equal(changed({...blank("self"), offset: 1000}, {offset: 2000}).offset, 2000);
});

test("a_question_has_metric_filters_and_what_is_added", () => {
  const query = question(
    {
      ...blank("self"),
      metric: "time",
      select: ["a&b", "c"],
      fold: ["d"],
      side: "after",
      search: "not this",
    },
    {at: ["x", "y"], limit: 5, search: "", sort: undefined},
  );
  assert.equal(
    query.toString(),
    "metric=time&select=a%26b&select=c&fold=d&side=after&at=x&at=y&limit=5",
  );
});

test("addresses_of_a_page_that_is_one_file_are_behind_its_number_sign", () => {
  useFragments(true);
  try {
    const state = {...blank("self"), select: ["a#b", "c&d"], metric: "time"};
    const address = href(state);
    assert.ok(address.startsWith("#/self?"), address);
    assert.deepEqual(parse("file:///home/x/profile.html" + address), state);
    assert.equal(parse("file:///home/x/profile.html").page, "overview");
    assert.equal(parse("file:///home/x/profile.html#/nothing").page, "missing");
    assert.equal(href(blank("overview")), "#/");
  } finally {
    useFragments(false);
  }
});

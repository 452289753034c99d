// SPDX-License-Identifier: MIT

import assert from "node:assert/strict";
import {
  allParts,
  filterText,
  labelText,
  named,
  noFilters,
  readNamed,
  typedExpression,
  unnamed,
  withFilters,
  withPart,
  withoutNamed,
  withoutPart,
} from "../../../web/model/filters.js";
import {blank, changed, hasFilters, href, parse, question, to} from "../../../web/model/url.js";
import {test} from "../suite.js";

const some = () =>
  changed(blank("self"), {
    select: ["a&b=c"],
    "fold-match": ["^std::.*/x/"],
    label: ["thread=main", "host!=b=c"],
  });

test("filters_of_every_kind_survive_the_address", () => {
  const state = some();
  assert.deepEqual(parse(href(state)), state);
  assert.equal(question(state).getAll("fold-match")[0], "^std::.*/x/");
  assert.deepEqual(question(to(state, "flame")).getAll("label"), ["thread=main", "host!=b=c"]);
});

test("a_named_set_is_one_parameter_that_means_its_parts", () => {
  const state = named(some(), "parser only & more");
  assert.equal(state.select.length + state.label.length, 0);
  assert.deepEqual(parse(href(state)), state);
  assert.equal(readNamed(state.named[0]).name, "parser only & more");
  assert.deepEqual(allParts(state), allParts(some()));
  assert.equal(String(question(state)), String(question(some())));
  assert.deepEqual(filterText(unnamed(state, state.named[0])), filterText(some()));
  assert.ok(hasFilters(state) && !hasFilters(withoutNamed(state, state.named[0])));
});

test("a_part_in_two_sets_applies_once", () => {
  const once = changed(blank("self"), {select: ["a"]});
  const twice = withPart(named(once, "x"), {kind: "select", value: "a"});
  assert.deepEqual(question(twice).getAll("select"), ["a"]);
});

test("filters_can_be_written_down_and_put_back", () => {
  const state = named(some(), "x");
  const other = withPart(state, {kind: "exclude-match", value: "y"});
  assert.equal(filterText(withFilters(other, filterText(state))), filterText(state));
  assert.equal(filterText(changed(other, noFilters())), "");
  assert.equal(filterText(withoutPart(other, {kind: "exclude-match", value: "y"})), filterText(state));
});

test("labels_and_expressions_are_said_for_people", () => {
  assert.equal(labelText("thread=main"), "thread = main");
  assert.equal(labelText("host!=b=c"), "host ≠ b=c");
  assert.equal(labelText("host="), "without host");
  assert.equal(labelText("host!="), "with host");
  assert.equal(typedExpression("/a.b/"), "a.b");
  assert.equal(typedExpression("/usr"), null);
  assert.equal(typedExpression("//"), null);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {choices, inAddress, shownMetric, usual} from "../../../web/model/metrics.js";

const metric = (name, unit = "count") => ({name, unit});
const file = (own, ...metrics) => ({default_metric: own, metrics});
const two = {
  files: [
    file("time", metric("calls"), metric("time", "nanoseconds"), metric("old")),
    file("new", metric("new"), metric("time", "seconds"), metric("calls")),
  ],
};
const on = (page, more = {}) => ({page, side: "", metric: "", ...more});

test("a_comparison_offers_the_metrics_that_both_files_have_in_the_same_unit", () => {
  assert.deepEqual(choices(two, on("compare")), [
    {name: "calls", reason: ""},
    {name: "time", reason: "nanoseconds before, seconds after"},
    {name: "old", reason: "only before"},
    {name: "new", reason: "only after"},
  ]);
  assert.deepEqual(
    choices(two, on("self", {side: "after"})).map(choice => choice.name),
    ["new", "time", "calls"],
  );
  assert.equal(usual(two, on("compare")), "calls");
  assert.equal(usual(two, on("self")), "time");
  assert.equal(usual(two, on("self", {side: "after"})), "new");
});

test("a_metric_that_a_page_cannot_show_leads_to_one_that_it_can", () => {
  const shown = (page, name, side = "") => shownMetric(two, on(page, {metric: name, side}));
  assert.deepEqual(shown("compare", "calls"), {metric: "calls", instead: ""});
  assert.deepEqual(shown("compare", "old"), {
    metric: "calls",
    instead: "old cannot be compared (only before). This is calls.",
  });
  assert.deepEqual(shown("self", "old", "after"), {
    metric: "new",
    instead: "There is no metric old on this side. This is new.",
  });
  const one = {files: [two.files[0]]};
  assert.equal(
    shownMetric(one, on("self", {metric: "x"})).instead,
    "There is no metric x. This is time.",
  );
  const apart = {files: [file("a", metric("a")), file("b", metric("b"))]};
  assert.deepEqual(shownMetric(apart, on("compare")), {metric: "", instead: ""});
});

test("a_metric_is_left_out_of_the_address_only_if_every_page_shows_it", () => {
  const one = {files: [two.files[0]]};
  assert.equal(inAddress(one, on("self"), "time"), "");
  assert.equal(inAddress(one, on("self"), "calls"), "calls");
  // Without it in the address, the other pages would show time or new.
  assert.equal(inAddress(two, on("compare"), "calls"), "calls");
});

// SPDX-License-Identifier: MIT

import assert from "node:assert/strict";
import {rateOf, rates, stepPath} from "../../../web/model/rates.js";
import {test} from "../suite.js";

const slices = [
  {from: 30, to: 20, totals: [100, 1]},
  {from: 20, to: 4, totals: [0, 0]},
  {from: 4, to: 2, totals: [40, 2]},
];

test("a_rate_is_the_amount_of_a_slice_by_its_seconds", () => {
  assert.deepEqual(
    rates(slices, 0).map(step => step.rate),
    [10, 0, 20],
  );
  assert.deepEqual(rates([{from: 1, to: 1, totals: [5]}], 0), []);
});

test("the_rate_of_now_is_over_the_seconds_that_there_are", () => {
  assert.equal(rateOf(slices, 0, 3), 10, "40 in 4 seconds");
  assert.equal(rateOf(slices, 0, 10), 2, "40 in 20 seconds: a slice is not cut");
  assert.equal(rateOf([], 0, 10), 0);
});

test("a_sparkline_has_steps_in_its_box", () => {
  const path = stepPath(rates(slices, 0), {seconds: 40, width: 100, height: 20});
  assert.equal(
    path,
    "M0 20L25.0 20L25.0 10.5H50.0V20L50.0 20L50.0 20.0H90.0V20L90.0 20L90.0 1.0H95.0V20H100",
  );
  assert.equal(stepPath([], {seconds: 40, width: 100, height: 20}), "M0 20H100");
});

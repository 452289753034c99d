// SPDX-License-Identifier: MIT

import assert from "node:assert/strict";
import {RUN, runText} from "../../../web/model/series.js";
import {
  choiceNoun,
  choiceText,
  durationTicks,
  keptText,
  levelOf,
  readRegion,
  regionChoice,
  rowPlace,
  timeline,
} from "../../../web/model/slices.js";
import {atTime, blank, hasFilters, href, parse, question, to} from "../../../web/model/url.js";
import {filterText, noFilters, withFilters} from "../../../web/model/filters.js";
import {test} from "../suite.js";

const none = {from: null, until: null, least: null, most: null};

test("a_region_becomes_a_choice_and_is_read_again", () => {
  for (const [region, text] of [
    [none, ""],
    [{...none, from: 1_500_000_000, until: 3_000_000_000}, "1.5-3"],
    [{...none, least: 16_000_000}, ",0.016-"],
    [{...none, until: 5_000_000, most: 123}, "-0.005,-0.000000123"],
    [{from: 10e9, until: 20e9, least: 1_048_576, most: 2_097_152}, "10-20,0.001048576-0.002097152"],
  ]) {
    assert.equal(regionChoice(region), text);
    const again = readRegion(text);
    if (!text) assert.equal(again, null);
    else
      for (const key of Object.keys(none))
        assert.equal(again[key] === null ? null : Math.round(again[key]), region[key], text);
  }
  assert.equal(readRegion("slowest"), null);
});

test("a_choice_is_told_in_words", () => {
  assert.equal(choiceText("slowest"), "slowest 1%");
  assert.equal(choiceText("12/3"), "12 of lane 3");
  assert.equal(choiceText("1.5-3,0.016-"), "begun 1.5 s to 3 s, that took at least 16 ms");
  assert.equal(choiceText("2-"), "begun after 2 s");
  assert.equal(choiceText("anything <b>"), "anything <b>");
  assert.equal(choiceNoun("slowest", "frame"), "slowest 1% of frames");
  assert.equal(choiceNoun("typical", "pass"), "typical passes");
  assert.equal(choiceNoun("12", "frame"), "frame 12");
  assert.equal(choiceNoun("2-3", "frame"), "frames begun 2 s to 3 s");
  assert.equal(keptText({count: 15, kept: 15, exact: true}), "all 15");
  assert.equal(keptText({count: 1350, kept: 28, exact: false}), "28 of about 1,350");
});

test("a_part_of_the_time_is_in_the_address_and_only_one_at_a_time", () => {
  const state = atTime({...blank("self"), last: "10"}, {slices: "1.5-3,0.016-"});
  assert.equal(state.last, "");
  assert.deepEqual(parse(href(state)), state);
  assert.equal(question(state).get("slices"), "1.5-3,0.016-");
  assert.ok(hasFilters(state));
  assert.equal(to(state, "flame").slices, "1.5-3,0.016-");
  const versus = {...state, against: "typical"};
  assert.equal(question(versus).get("against"), null, "the comparison alone asks for it");
  assert.deepEqual(withFilters(blank("self"), filterText(versus)).against, "typical");
  assert.equal({...versus, ...noFilters()}.slices, "");
  assert.equal(question(atTime(state, {during: "3-4"})).toString(), "during=3-4");
});

test("rows_of_durations_have_places_and_round_ticks", () => {
  const least = [8, 10, 12, 14, 16, 20];
  assert.equal(rowPlace(least, 8), 0);
  assert.equal(rowPlace(least, 11), 1.5);
  assert.equal(rowPlace(least, 18), 4.5);
  assert.equal(rowPlace(least, 99), 5);
  assert.deepEqual(durationTicks([900, 8000], 4), [1000, 2000, 3000, 5000]);
  for (const [first, last] of [[1, 1e12], [8e6, 9e6], [1, 2], [1e6, 2e6]])
    for (const most of [2, 4, 7]) {
      const ticks = durationTicks([first, last], most);
      assert.ok(ticks.length <= most && ticks.every(tick => tick >= first && tick <= last), `${ticks}`);
    }
  assert.deepEqual([levelOf(1, 1), levelOf(1, 500), levelOf(500, 500)], [6, 1, 6]);
});

test("times_of_a_run_are_short", () => {
  assert.deepEqual(
    [0.0005, 0.35, 2.5, 350, 1500, 12_345, 125_000, 3_725_000].map(runText),
    ["500 ns", "350 µs", "2.5 ms", "350 ms", "1.5 s", "12.3 s", "2 min 5 s", "1 h 2 min 5 s"],
  );
  for (const [from, until] of [[0, 3], [12, 18_500], [0, 7_200_000], [5, 5]]) {
    const ticks = RUN.ticks(from, until, 8);
    assert.ok(ticks.length <= 9 && ticks.every(({time}) => time >= from && time <= until), `${from} ${until}`);
  }
});

test("a_timeline_spreads_what_was_found_over_its_time", () => {
  const grown = {
    now: 20,
    slices: [
      {from: 20, to: 16, totals: [0, 40]},
      {from: 16, to: 15.5, totals: [0, 5]},
      {from: 15.5, to: 0, totals: [0, 31]},
    ],
  };
  const {from, step, steps, sums} = timeline(grown, 1, 20);
  assert.deepEqual([from, step, steps], [0, 1000, 20]);
  assert.equal(sums.reduce((a, b) => a + b), 76);
  assert.deepEqual(sums.slice(0, 6), [10, 10, 10, 10, 6, 2]);
  assert.deepEqual(timeline({now: 3, slices: []}, 0, 10).sums, [0, 0, 0, 0, 0, 0]);
});

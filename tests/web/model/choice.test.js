// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {
  canName,
  moment,
  spelled,
  terms,
  withAge,
  withLabel,
  withTime,
  withoutAny,
  withoutLabel,
  withoutTerm,
  withoutTime,
  written,
} from "../../../web/model/choice.js";
import {
  amountTicks,
  barPaths,
  hasGaps,
  heights,
  lengthOf,
  sparkPath,
  stretch,
  timeTicks,
} from "../../../web/model/series.js";
import {blank, chosen, href, parse, question, to, useStore} from "../../../web/model/url.js";

const ODD = ["a", "a b", "a,b", 'say "x"', "back\\slash", "*", "a\nb", "", "é=!x", "<b>", "since=2h"];

test("a_choice_is_taken_apart_as_the_server_reads_it", () => {
  const [service, host, quoted, since] = terms('service=web  host!=a*,b\\,c  x="a b, c"  since=2h');
  assert.deepEqual(service, {raw: "service=web", name: "service", without: false, values: ["web"]});
  assert.deepEqual([host.without, host.values], [true, ["a*", "b,c"]]);
  assert.deepEqual(quoted.values, ["a b, c"]);
  assert.deepEqual(since.values, ["2h"]);
  assert.deepEqual(terms("  "), []);
  assert.deepEqual(
    terms("nonsense").map(term => [term.name, term.values]),
    [["nonsense", []]],
  );
});

test("every_value_can_be_spelled_and_is_read_back", () => {
  for (const value of ODD) {
    const text = written({name: "host", without: false, values: [value, "other"]});
    assert.equal(terms(text).length, 1, text);
    assert.deepEqual(terms(text)[0].values, [value, "other"], text);
    const [first, second] = terms(withLabel("since=1h", "host", [value]));
    assert.deepEqual([first.values, second.raw], [[value], "since=1h"], "labels stand before times");
  }
  assert.equal(spelled("a*b"), "a\\*b");
  assert.deepEqual(
    [canName("host"), canName("a b"), canName("a=b"), canName("since"), canName("")],
    [true, false, false, false, false],
  );
});

test("a_choice_changes_by_one_thing_and_keeps_the_spelling_of_the_rest", () => {
  const text = 'service="web app" build=7,8 since=2h';
  assert.equal(withoutTerm(text, 1), 'service="web app" since=2h');
  assert.equal(withoutLabel(text, "service"), "build=7,8 since=2h");
  assert.equal(withLabel(text, "build", ["9"]), 'service="web app" build=9 since=2h');
  assert.equal(withLabel(text, "build", ["9"], true), 'service="web app" build!=9 since=2h');
  assert.equal(withLabel(text, "build", []), 'service="web app" since=2h');
  assert.equal(withoutAny("a=b", "host"), "a=b host!=*");
  assert.equal(withoutTime(text + " until=now"), 'service="web app" build=7,8');
  assert.equal(withAge(text, "1d"), 'service="web app" build=7,8 since=1d');
  const time = Date.UTC(2026, 10, 15, 8, 30, 5);
  assert.equal(moment(time), "2026-11-15T08:30:05");
  assert.equal(withTime("a=b since=1h", time, null), "a=b since=2026-11-15T08:30:05");
});

test("a_choice_is_kept_from_page_to_page_and_asked_with_every_question", () => {
  const state = {...blank("fleet"), where: "a=b c", with: "until=now", follow: "yes", by: "host", span: "1-2"};
  assert.deepEqual(parse(href(state)), state);
  const next = to(state, "flame");
  assert.deepEqual([next.where, next.with, next.follow, next.by], ["a=b c", "until=now", "yes", "host"]);
  assert.equal(question(state).toString(), "", "files have no choices");
  useStore(true);
  try {
    assert.equal(question(state, {x: 1}).toString(), "where=a%3Db+c&with=until%3Dnow&x=1");
    assert.equal(chosen(blank("self")).toString(), "where=");
  } finally {
    useStore(false);
  }
});

test("bars_stand_on_each_other_and_reach_the_sum", () => {
  const series = {
    from: 0,
    step: 1000,
    steps: 3,
    rows: [
      {name: "a", sums: [1, 0, 3]},
      {name: "b", sums: [2, 5, -4]},
    ],
  };
  assert.deepEqual(heights(series), [3, 5, 3], "what is less than nothing is not drawn");
  const [a, b] = barPaths(series, {width: 300, height: 100, most: 10});
  assert.match(a, /^M0\.50 100\.00V90\.00H99\.50V100\.00ZM200\.50 100\.00V70\.00/);
  assert.match(b, /^M0\.50 90\.00V70\.00H99\.50V90\.00ZM100\.50 100\.00V50\.00/);
  assert.deepEqual(
    [hasGaps(series), hasGaps({...series, steps: 3, rows: [{name: "a", sums: [1, 0, 1]}]})],
    [false, true],
  );
  assert.equal(sparkPath([0, 0], 10, 5), "M0 5H10");
  assert.equal(sparkPath([1, 2], 10, 5), "M0 5V3.0H5.0V1.0H10.0V5Z");
});

test("lines_are_at_round_amounts_and_round_times", () => {
  assert.deepEqual(amountTicks(530), [0, 200, 400, 600]);
  assert.deepEqual([amountTicks(0), amountTicks(NaN)], [[0], [0]]);
  for (const most of [1, 7, 99, 12345, 3e12]) {
    const ticks = amountTicks(most);
    assert.ok(ticks.at(-1) >= most && ticks.length <= 6, String(most));
  }
  const at = Date.UTC(2026, 10, 15, 23, 10);
  assert.deepEqual(
    timeTicks(at, at + 3600_000, 4).map(tick => tick.text),
    ["15 Nov 23:15", "23:30", "23:45", "16 Nov 00:00"],
  );
  assert.ok(timeTicks(at, at + 9 * 365 * 86400_000, 5).length <= 12);
  assert.equal(stretch(at, at + 60_000), "15 Nov 23:10 to 23:11");
  assert.equal(stretch(at, at + 3600_000), "15 Nov 23:10 to 16 Nov 00:10");
  assert.deepEqual([1000, 90_000, 300_000, 7200_000, 86400_000].map(lengthOf), ["1 s", "90 s", "5 min", "2 h", "1 d"]);
});

// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {aroundCircle, onCircle} from "../../../web/model/circle.js";
import {fitted, portsOf, thickness} from "../../../web/model/graph.js";
import {inLayers, layersOf, withoutCircles} from "../../../web/model/layers.js";

const edge = (from, to, value = 1) => ({from, to, value});

/** The same graphs in every run: no seed to tell. @param {number} seed */
function random(seed) {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** @param {(below: number) => number} rnd @param {number} count */
function randomEdges(rnd, count) {
  const seen = new Map();
  for (let i = 0; i < count * 2; i++) {
    const [from, to] = [rnd(count), rnd(count)];
    seen.set(from + " " + to, edge(from, to, 1 + rnd(1000)));
  }
  return [...seen.values()];
}

/** No box over another, all inside. */
function checkBoxes({boxes, width, height}) {
  boxes.forEach((a, i) => {
    assert.ok(a.x >= 0 && a.x + a.w <= width + 0.01 && a.y >= 0 && a.y + a.h <= height + 0.01);
    for (const b of boxes.slice(i + 1))
      assert.ok(
        a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y,
        `${JSON.stringify(a)} covers ${JSON.stringify(b)}`,
      );
  });
}

/** Arrows begin at the border of a box and end at that of another. */
function checkArrows({boxes, arrows}) {
  const touches = ([x, y], box) =>
    (Math.abs(x - box.x) < 0.2 || Math.abs(x - box.x - box.w) < 0.2) &&
    y >= box.y - 0.2 &&
    y <= box.y + box.h + 0.2;
  for (const arrow of arrows) {
    const [start] = arrow.line.match(/[-\d.]+ [-\d.]+/);
    const [tip] = arrow.head.match(/[-\d.]+ [-\d.]+/);
    assert.ok(touches(start.split(" ").map(Number), boxes[arrow.from]), arrow.line);
    assert.ok(touches(tip.split(" ").map(Number), boxes[arrow.to]), arrow.head);
    assert.ok(!/NaN|Infinity/.test(arrow.line + arrow.head));
  }
}

test("an_arrow_is_as_thick_as_what_flows_and_never_invisible", () => {
  assert.equal(thickness(50, 100), thickness(100, 100) / 2);
  assert.ok(thickness(1, 1e9) > 1);
  assert.ok(thickness(-5, 100) > 0 && thickness(0, 0) > 0);
});

test("arrows_of_a_box_are_together_no_wider_than_it", () => {
  const boxes = [{x: 0, y: 0, w: 10, h: 40}];
  const ends = Array.from({length: 8}, (_, i) => ({box: 0, side: 1, width: i < 7 ? 10 : 5}));
  const widths = fitted(ends, boxes).map(end => end.width);
  assert.ok(widths.reduce((a, b) => a + b) <= 40);
  assert.equal(widths[0], 2 * widths[7], "what is twice as thick stays so");
  assert.deepEqual(fitted(ends.slice(0, 2), boxes), ends.slice(0, 2), "nothing without need");
});

test("the_weakest_arrow_of_a_circle_leads_back", () => {
  const edges = [edge(0, 1, 9), edge(1, 2, 8), edge(2, 0, 3)];
  assert.deepEqual(withoutCircles(3, edges), edges.slice(0, 2));
  assert.deepEqual(withoutCircles(1, [edge(0, 0)]), []);
});

test("callers_stand_left_of_what_they_call_and_callees_right", () => {
  // 1 -> 2 -> 0, and 1 -> 0 at once: 1 is a caller of a caller too.
  const sides = [0, -1, -1, 1, 2];
  const edges = [edge(1, 2, 9), edge(2, 0, 9), edge(1, 0, 1), edge(0, 3, 5), edge(3, 4, 5)];
  assert.deepEqual(layersOf(sides, edges), [0, -2, -1, 1, 2]);
});

test("boxes_of_layers_do_not_overlap_and_arrows_touch_them", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const rnd = random(seed);
    const count = 1 + rnd(21);
    const sides = Array.from({length: count}, (_, i) => (i ? [-2, -1, 1, 2][rnd(4)] : 0));
    const edges = randomEdges(rnd, count);
    for (const room of [340, 1200, 2500]) {
      const drawing = inLayers(sides, edges, room);
      checkBoxes(drawing);
      checkArrows(drawing);
      assert.equal(drawing.arrows.length, edges.length);
    }
  }
});

test("what_flows_forward_is_drawn_from_left_to_right", () => {
  const sides = [0, -1, -2, 1];
  const edges = [edge(2, 1), edge(1, 0), edge(2, 0), edge(0, 3), edge(3, 1)];
  const {boxes, arrows} = inLayers(sides, edges, 1000);
  assert.deepEqual(
    arrows.map(arrow => arrow.back),
    [false, false, false, false, true],
  );
  for (const {from, to, back} of arrows) assert.equal(boxes[from].x < boxes[to].x, !back);
});

test("a_circle_follows_its_strongest_calls", () => {
  const edges = [edge(0, 2, 9), edge(2, 1, 7), edge(1, 3, 5), edge(3, 0, 4), edge(0, 1, 1)];
  assert.deepEqual(aroundCircle(4, edges), [0, 2, 1, 3]);
  assert.deepEqual(aroundCircle(3, []), [0, 1, 2]);
});

test("members_of_a_group_do_not_overlap_on_a_phone_or_on_a_wall", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const rnd = random(seed);
    const count = 1 + rnd(20);
    const edges = randomEdges(rnd, count).filter(({from, to}) => from !== to);
    const loops = Array.from({length: count}, () => rnd(3) === 0);
    for (const room of [320, 700, 2400]) {
      const drawing = onCircle(count, edges, loops, room);
      checkBoxes(drawing);
      checkArrows(drawing);
      assert.ok(drawing.width <= room);
    }
  }
});

test("arrows_of_one_box_end_beside_each_other", () => {
  const boxes = [
    {x: 0, y: 0, w: 10, h: 40},
    {x: 50, y: 0, w: 10, h: 40},
    {x: 50, y: 60, w: 10, h: 40},
  ];
  const ends = [
    {box: 0, side: /** @type {1} */ (1), other: 2, width: 8},
    {box: 0, side: /** @type {1} */ (1), other: 1, width: 8},
  ];
  const [low, high] = portsOf(boxes, ends);
  assert.ok(high < low && low - high >= 8, "in the order of where they lead");
  assert.ok(high >= 0 && low <= 40);
});

test("two_arrows_that_bend_back_lie_inside_each_other", () => {
  const boxes = [
    {x: 50, y: 0, w: 10, h: 40},
    {x: 50, y: 60, w: 10, h: 40},
  ];
  const end = (box, other) => ({box, side: /** @type {-1} */ (-1), other, width: 4, nested: true});
  const [a, b, c, d] = portsOf(boxes, [end(0, 1), end(1, 0), end(1, 0), end(0, 1)]);
  assert.equal(a > d, b < c, "what begins nearer to the other also ends nearer");
});

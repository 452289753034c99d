// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import {test} from "../suite.js";
import {
  between,
  covering,
  eachVisible,
  foundRows,
  hit,
  layout,
  magnified,
  moved,
  step,
  viewIn,
  viewOf,
} from "../../../web/model/flame.js";

// all 100: main 90 (a 60 (b 20), b 30), and 10 that are the root's own
const small = {
  parent: [0, 0, 1, 1, 2],
  block: [0, 1, 2, 3, 3],
  value: [100, 90, 60, 30, 20],
  self: [10, 0, 40, 30, 20],
  x: [0, 0, 0, 60, 0],
  depth: [0, 1, 2, 2, 3],
  recursions: null,
};

/**
 * A random tree in the server's columns: parents before children, children inside their parents.
 */
function random(seed, count) {
  let state = seed;
  const next = n => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % n;
  const flame = {
    parent: [0],
    block: [0],
    value: [1_000_000],
    self: [0],
    x: [0],
    depth: [0],
    recursions: null,
  };
  const used = [0];
  while (flame.value.length < count) {
    const p = next(flame.value.length),
      room = flame.value[p] - used[p];
    if (room < 2) {
      if (next(50) === 0) count--;
      continue;
    }
    const value = 1 + next(room);
    flame.parent.push(p);
    flame.block.push(1 + next(40));
    flame.value.push(value);
    flame.self.push(0);
    flame.x.push(flame.x[p] + used[p]);
    flame.depth.push(flame.depth[p] + 1);
    used[p] += value;
    used.push(0);
  }
  return flame;
}

test("boxes_lie_where_the_numbers_say", () => {
  const l = layout(small);
  assert.deepEqual([...l.x0], [0, 0, 0, 0.6, 0]);
  assert.deepEqual([...l.x1], [1, 0.9, 0.6, 0.9, 0.2]);
  assert.equal(l.levels.length, 4);
});

test("a_zoomed_answer_fills_the_width", () => {
  const l = layout({...small, x: [500, 500, 500, 560, 500], depth: [7, 8, 9, 9, 10]});
  assert.deepEqual([...l.depth], [0, 1, 2, 2, 3]);
  assert.equal(l.x1[0], 1);
  assert.equal(l.x0[3], 0.6);
});

test("the_box_at_a_point_is_the_one_that_a_search_of_all_finds", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const l = layout(random(seed, 400));
    for (let i = 0; i < 300; i++) {
      const x = ((i * 7919 + seed) % 1009) / 1009,
        depth = i % (l.levels.length + 1);
      let want = -1;
      for (let r = 0; r < l.count; r++)
        if (l.depth[r] === depth && l.x0[r] <= x && x < l.x1[r]) want = r;
      assert.equal(hit(l, x, depth), want, `seed ${seed}, x ${x}, depth ${depth}`);
    }
  }
});

test("what_is_drawn_is_on_the_screen_in_order_and_covers_what_it_should", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const l = layout(random(seed, 2000));
    const view = {x0: 0.2, x1: 0.45};
    for (let depth = 0; depth < l.levels.length; depth++) {
      let last = -1,
        drawn = new Set();
      eachVisible(l, depth, view, 1000, 1, (row, left, width) => {
        assert.ok(
          left >= last - 1e-9 && left >= 0 && left + width <= 1001.0001 && width >= 1,
          `seed ${seed}`,
        );
        last = left;
        drawn.add(row);
      });
      for (const row of l.levels[depth]) {
        const isSeen = l.x1[row] > view.x0 && l.x0[row] < view.x1;
        const width = (Math.min(l.x1[row], view.x1) - Math.max(l.x0[row], view.x0)) * 4000;
        if (!isSeen) assert.ok(!drawn.has(row));
        else if (width >= 1)
          assert.ok(drawn.has(row), `seed ${seed}: a box of ${width} pixels is missing`);
      }
    }
  }
});

test("narrow_boxes_are_drawn_about_once_per_pixel", () => {
  const count = 8000;
  const flat = {
    parent: Array(count).fill(0),
    block: Array(count).fill(0),
    value: [count - 1, ...Array(count - 1).fill(1)],
    self: Array(count).fill(0),
    x: [0, ...Array.from({length: count - 1}, (_, i) => i)],
    depth: [0, ...Array(count - 1).fill(1)],
    recursions: null,
  };
  let drawn = 0;
  eachVisible(layout(flat), 1, {x0: 0, x1: 1}, 500, 1, () => drawn++);
  assert.ok(drawn <= 600 && drawn >= 400, String(drawn));
});

test("zooming_starts_here_and_ends_there_and_never_turns_around", () => {
  const cases = [
    [
      {x0: 0, x1: 1},
      {x0: 0.3, x1: 0.31},
    ],
    [
      {x0: 0.3, x1: 0.31},
      {x0: 0, x1: 1},
    ],
    [
      {x0: 0, x1: 0.5},
      {x0: 0.5, x1: 1},
    ],
    [
      {x0: 0, x1: 1},
      {x0: 0, x1: 1e-7},
    ],
    [
      {x0: 0, x1: 1},
      {x0: 1 - 1e-7, x1: 1},
    ],
  ];
  for (const [a, b] of cases) {
    const close = (v, w) =>
      assert.ok(
        Math.abs(v.x0 - w.x0) < 1e-9 && Math.abs(v.x1 - w.x1) < 1e-9,
        JSON.stringify([v, w]),
      );
    close(between(a, b, 0), a);
    close(between(a, b, 1), b);
    let width = a.x1 - a.x0;
    for (let t = 0; t <= 1; t += 0.05) {
      const now = between(a, b, t),
        w = now.x1 - now.x0;
      assert.ok(b.x1 - b.x0 >= a.x1 - a.x0 ? w >= width - 1e-12 : w <= width + 1e-12);
      assert.ok(now.x0 >= Math.min(a.x0, b.x0) - 1e-9 && now.x1 <= Math.max(a.x1, b.x1) + 1e-9);
      width = w;
    }
  }
});

test("arrows_lead_to_the_caller_the_widest_callee_and_the_neighbours", () => {
  const l = layout(small);
  assert.equal(step(l, 0, "ArrowUp"), 0);
  assert.equal(step(l, 0, "ArrowDown"), 1);
  assert.equal(step(l, 1, "ArrowDown"), 2);
  assert.equal(step(l, 2, "ArrowRight"), 3);
  assert.equal(step(l, 3, "ArrowRight"), 3);
  assert.equal(step(l, 3, "ArrowLeft"), 2);
  assert.equal(step(l, 4, "ArrowDown"), 4);
  assert.equal(step(l, 4, "Home"), 0);
});

test("matches_come_the_widest_first", () => {
  const l = layout(small);
  assert.deepEqual(foundRows(l, Uint8Array.from([0, 0, 1, 1])), [2, 3, 4]);
  assert.deepEqual(foundRows(l, Uint8Array.from([0, 0, 0, 0])), []);
});

test("magnifying_keeps_the_point_under_the_pointer_and_stays_inside", () => {
  let state = 7;
  const next = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
  let view = {x0: 0, x1: 1};
  for (let n = 0; n < 3000; n++) {
    const share = next(),
      x = view.x0 + share * (view.x1 - view.x0);
    const before = view;
    view = magnified(view, x, 2 ** (4 * next() - 2));
    assert.ok(view.x0 >= 0 && view.x1 <= 1 + 1e-12 && view.x1 > view.x0, JSON.stringify(view));
    const isFree = view.x0 > 0 && view.x1 < 1;
    if (isFree && before.x1 - before.x0 < 1)
      assert.ok(Math.abs((x - view.x0) / (view.x1 - view.x0) - share) < 1e-5);
    view = moved(view, 2 * next() - 1);
    assert.ok(view.x0 >= 0 && view.x1 <= 1 + 1e-12, JSON.stringify(view));
  }
  assert.deepEqual(magnified({x0: 0.2, x1: 0.4}, 0.3, 1e-9), {x0: 0, x1: 1});
  assert.deepEqual(moved({x0: 0, x1: 1}, 0.5), {x0: 0, x1: 1});
});

test("what_is_magnified_lies_in_a_box_and_is_the_same_part_of_it", () => {
  const l = layout(small);
  assert.equal(covering(l, {x0: 0, x1: 1}), 0);
  assert.equal(covering(l, {x0: 0.1, x1: 0.85}), 1);
  assert.equal(covering(l, {x0: 0.65, x1: 0.85}), 3);
  assert.equal(covering(l, {x0: 0.1, x1: 0.19}), 4);
  assert.equal(covering(l, {x0: 0.95, x1: 0.96}), 0);
  const {x0, x1} = viewIn(l, 3, {x0: 0.65, x1: 0.85});
  assert.ok(Math.abs(x0 - 1 / 6) < 1e-9 && Math.abs(x1 - 5 / 6) < 1e-9);
});

test("a_graph_of_nothing_is_one_box", () => {
  const l = layout({
    parent: [0],
    block: [0],
    value: [0],
    self: [0],
    x: [0],
    depth: [0],
    recursions: null,
  });
  assert.deepEqual(viewOf(l, 0), {x0: 0, x1: 1});
  assert.equal(hit(l, 0.5, 0), 0);
  assert.equal(hit(l, 0.5, 1), -1);
  const none = layout({
    parent: [],
    block: [],
    value: [],
    self: [],
    x: [],
    depth: [],
    recursions: null,
  });
  assert.equal(hit(none, 0.5, 0), -1);
});

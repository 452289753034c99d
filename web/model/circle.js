// SPDX-License-Identifier: MIT
//
// A group of blocks that call each other, on a circle: clockwise along the strongest calls, boxes
// outside, arrows inside. The circle is drawn as two columns that bulge, so that names beside each
// other never overlap.

import {arrowAlong, fitted, loopAt, portsOf, thickness} from "./graph.js";

const HEIGHT = 40,
  BETWEEN = 16,
  NARROWEST = 96,
  WIDEST = 236,
  LOOP = 30, // room for a loop beside a box
  MARGIN = 6;
export const MEMBERS = 20; // as many as can be read

/**
 * Around the circle: from the first member along the strongest arrow to one that is not placed yet.
 * @param {number} count
 * @param {import("./graph.js").Edge[]} edges
 */
export function aroundCircle(count, edges) {
  const order = [];
  const placed = new Set();
  for (let next = 0; next >= 0; ) {
    order.push(next);
    placed.add(next);
    const last = next;
    let best = -1;
    next = -1;
    for (const {from, to, value} of edges) {
      if (from === last && !placed.has(to) && value > best) {
        next = to;
        best = value;
      }
    }
    for (let i = 0; next < 0 && i < count; i++) if (!placed.has(i)) next = i;
  }
  return order;
}

/**
 * @param {number} count of members
 * @param {import("./graph.js").Edge[]} edges
 * @param {boolean[]} loops which members call themselves
 * @param {number} room width that there is
 * @returns {import("./graph.js").Drawing}
 */
export function onCircle(count, edges, loops, room) {
  const order = aroundCircle(count, edges);
  const right = Math.max(1, Math.floor(count / 2));
  const rows = Math.max(right, count - right);
  const step = HEIGHT + BETWEEN;
  const side = MARGIN + (loops.some(Boolean) ? LOOP : 0);
  const w = Math.max(NARROWEST, Math.min(WIDEST, (room - 2 * side) * 0.34));
  const width = Math.min(room, 2 * side + 2 * w + 320);
  const bulge = rows > 1 ? Math.min(60, (width - 2 * side - 2 * w) * 0.25) : 0;
  const height = rows * step - BETWEEN + 2 * MARGIN + 12;
  /** @type {import("./graph.js").Box[]} */
  const boxes = Array.from({length: count}, () => ({x: 0, y: 0, w, h: HEIGHT}));
  order.forEach((box, i) => {
    const onRight = i < right;
    const column = onRight ? right : count - right;
    const row = onRight ? i : count - 1 - i;
    const t = column > 1 ? (2 * row) / (column - 1) - 1 : 0; // -1 at the top, 1 at the bottom
    const inwards = bulge * (1 - Math.sqrt(1 - t * t * 0.96));
    boxes[box].x = onRight ? width - side - w - inwards : side + inwards;
    boxes[box].y = (height - (column * step - BETWEEN)) / 2 + row * step;
  });
  if (count === 1) boxes[0].x = side;
  const onRight = boxes.map((_, i) => order.indexOf(i) < right);
  return {
    width,
    height,
    boxes,
    arrows: [...arrowsOf(edges, boxes, onRight), ...loopsOf(loops, boxes, onRight)],
  };
}

/**
 * @param {boolean[]} loops @param {import("./graph.js").Box[]} boxes @param {boolean[]} onRight
 * @returns {import("./graph.js").Arrow[]}
 */
function loopsOf(loops, boxes, onRight) {
  return boxes.flatMap((box, i) =>
    loops[i]
      ? [{from: i, to: i, value: 0, width: 1.75, back: false, ...loopAt(box, onRight[i] ? 1 : -1)}]
      : [],
  );
}

/**
 * @param {import("./graph.js").Edge[]} edges
 * @param {import("./graph.js").Box[]} boxes
 * @param {boolean[]} onRight
 * @returns {import("./graph.js").Arrow[]}
 */
function arrowsOf(edges, boxes, onRight) {
  const most = Math.max(0, ...edges.map(edge => edge.value));
  const widths = edges.map(edge => thickness(edge.value, most));
  const inner = i => /** @type {-1|1} */ (onRight[i] ? -1 : 1);
  const ends = fitted(
    edges.flatMap(({from, to}, i) => {
      const nested = onRight[from] === onRight[to];
      return [
        {box: from, side: inner(from), other: to, width: widths[i], nested},
        {box: to, side: inner(to), other: from, width: widths[i], nested},
      ];
    }),
    boxes,
  );
  const heights = portsOf(boxes, ends);
  const port = (box, end) => [onRight[box] ? boxes[box].x : boxes[box].x + boxes[box].w, heights[end]];
  return edges.map((edge, i) => {
    const start = port(edge.from, 2 * i),
      end = port(edge.to, 2 * i + 1);
    const same = onRight[edge.from] === onRight[edge.to];
    const reach = same
      ? 12 + Math.abs(start[1] - end[1]) * 0.6
      : Math.max(30, Math.abs(start[0] - end[0]) * 0.45);
    const points = [
      start,
      [start[0] + inner(edge.from) * reach, start[1]],
      [end[0] + inner(edge.to) * reach, end[1]],
      end,
    ];
    const {width} = ends[2 * i];
    return {...edge, width, ...arrowAlong(points, width), back: false};
  });
}

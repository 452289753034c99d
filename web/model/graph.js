// SPDX-License-Identifier: MIT
//
// The geometry of a small graph: where arrows leave and enter boxes, how thick they are, and their
// outlines. Two layouts share it: layers.js for calls around a block, circle.js for recursion.

/**
 * @typedef {{x: number, y: number, w: number, h: number}} Box x, y: its left upper corner
 * @typedef {{from: number, to: number, value: number}} Edge between boxes by their places
 * @typedef {{box: number, side: -1|1, y: number}} Port where an arrow touches a box; side: -1 is the
 *   left edge
 * @typedef {{from: number, to: number, value: number, width: number, line: string, head: string,
 *   back: boolean}} Arrow line and head: outlines for SVG; back: against the direction of reading
 * @typedef {{width: number, height: number, boxes: Box[], arrows: Arrow[]}} Drawing
 */

const THICKEST = 11,
  THINNEST = 1.25;
const PAD = 6; // between the corner of a box and its first arrow

/** Tenths of a pixel. @param {number} n */
export const round = n => Math.round(n * 10) / 10;

/** As thick as what flows, but never invisible. @param {number} value @param {number} most */
export function thickness(value, most) {
  return most > 0 ? Math.max(THINNEST, (THICKEST * Math.max(0, value)) / most) : THINNEST;
}

/**
 * Thinner by the same factor, so that the arrows of every box find room at its edge.
 * @template {{box: number, side: number, width: number}} End
 * @param {End[]} ends
 * @param {Box[]} boxes
 * @returns {End[]}
 */
export function fitted(ends, boxes) {
  const sums = new Map();
  for (const {box, side, width} of ends)
    sums.set(box + " " + side, (sums.get(box + " " + side) ?? 0) + width);
  const room = end => (boxes[end.box].h - 2 * PAD) / sums.get(end.box + " " + end.side);
  const factor = Math.min(1, ...ends.map(room));
  return ends.map(end => ({...end, width: Math.max(THINNEST, end.width * factor)}));
}

/**
 * Ends of arrows along the edges of boxes: beside each other, in the order of where they lead, so
 * that arrows of one box do not cross at once.
 * @param {Box[]} boxes
 * @param {{box: number, side: -1|1, other: number, width: number, nested?: boolean}[]} ends nested:
 *   its arrow bends back to the same side, so two of them lie inside each other
 * @returns {number[]} the height of each end
 */
export function portsOf(boxes, ends) {
  /** @type {Map<string, number[]>} */
  const together = new Map();
  ends.forEach((end, i) => {
    const key = end.box + " " + end.side;
    together.set(key, [...(together.get(key) ?? []), i]);
  });
  const heights = new Array(ends.length).fill(0);
  const middle = i => boxes[i].y + boxes[i].h / 2;
  for (const list of together.values()) {
    const turned = i => (ends[i].nested && middle(ends[i].other) > middle(ends[i].box) ? -1 : 1);
    list.sort((a, b) => middle(ends[a].other) - middle(ends[b].other) || (a - b) * turned(a));
    const box = boxes[ends[list[0]].box];
    const needed = list.reduce((sum, i) => sum + ends[i].width + 2, 0);
    const scale = Math.min(1, (box.h - 2 * PAD) / needed);
    let y = box.y + box.h / 2 - (needed * scale) / 2;
    for (const i of list) {
      const part = (ends[i].width + 2) * scale;
      heights[i] = y + part / 2;
      y += part;
    }
  }
  return heights;
}

/**
 * A curve with its head. The curve ends where the head begins.
 * @param {number[][]} points start, two that it bends towards, end
 * @param {number} width
 */
export function arrowAlong([start, first, second, end], width) {
  const long = 6 + width * 0.7,
    wide = 3.5 + width * 0.55;
  const length = Math.hypot(end[0] - second[0], end[1] - second[1]) || 1;
  const [dx, dy] = [(end[0] - second[0]) / length, (end[1] - second[1]) / length];
  const neck = [end[0] - dx * long, end[1] - dy * long];
  const at = ([x, y]) => `${round(x)} ${round(y)}`;
  // The head overlaps the line by a little: no gap between them.
  const tip = [neck[0] + dx * 0.7, neck[1] + dy * 0.7];
  const bend = [second[0] - dx * long, second[1] - dy * long];
  return {
    line: `M${at(start)}C${at(first)} ${at(bend)} ${at(tip)}`,
    head:
      `M${at(end)}L${at([neck[0] - dy * wide, neck[1] + dx * wide])}` +
      `L${at([neck[0] + dy * wide, neck[1] - dx * wide])}Z`,
  };
}

/** An arrow from a box to itself, beside it. @param {Box} box @param {-1|1} side */
export function loopAt(box, side, width = THINNEST * 1.4) {
  const x = side > 0 ? box.x + box.w : box.x;
  const y = box.y + box.h / 2,
    out = x + side * 34,
    half = Math.min(box.h * 0.3, 12);
  return arrowAlong(
    [
      [x, y - half],
      [out, y - half * 2.2],
      [out, y + half * 2.2],
      [x, y + half],
    ],
    width,
  );
}

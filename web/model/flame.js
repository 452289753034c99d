// SPDX-License-Identifier: MIT
//
// The flame graph without a screen: the layout of the boxes, the box at a point, the visible boxes
// of a view, zooming and moving it, the target of an arrow key. x runs from 0 to 1 over row 0 of
// the answer; depth is 0 there. Loops run over typed arrays, because a frame of 8,000 boxes must
// fit in 16 ms.

/**
 * @typedef {object} Flame the server's columns
 * @property {number[]} parent  @property {number[]} block  @property {number[]} value
 * @property {number[]} self    @property {number[]} x      @property {number[]} depth
 * @property {number[]|null} recursions
 *
 * @typedef {object} Layout
 * @property {number} count
 * @property {Float64Array} x0  @property {Float64Array} x1
 * @property {Int32Array} depth @property {Int32Array} parent @property {Int32Array} block
 * @property {Int32Array[]} levels rows of each depth, left to right
 *
 * @typedef {{x0: number, x1: number}} View the part that is shown
 */

/** @param {Flame} flame @returns {Layout} */
export function layout(flame) {
  const count = flame.value.length;
  const x0 = new Float64Array(count),
    x1 = new Float64Array(count);
  const depth = new Int32Array(count),
    parent = new Int32Array(count),
    block = new Int32Array(count);
  const whole = count ? flame.value[0] : 0,
    base = count ? flame.x[0] : 0,
    top = count ? flame.depth[0] : 0;
  /** @type {number[][]} */
  const rows = [];
  for (let i = 0; i < count; i++) {
    depth[i] = flame.depth[i] - top;
    parent[i] = i ? flame.parent[i] : -1;
    block[i] = flame.block[i] ?? -1;
    x0[i] = whole ? (flame.x[i] - base) / whole : 0;
    x1[i] = whole ? (flame.x[i] - base + flame.value[i]) / whole : i ? 0 : 1;
    (rows[depth[i]] ??= []).push(i);
  }
  const levels = Array.from(rows, row =>
    Int32Array.from((row ?? []).sort((a, b) => x0[a] - x0[b])),
  );
  return {count, x0, x1, depth, parent, block, levels};
}

/**
 * The index of a level's first box that ends right of x.
 * @param {Layout} l
 * @param {Int32Array} level
 * @param {number} x
 */
function firstAfter(l, level, x) {
  let low = 0,
    high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (l.x1[level[middle]] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The box at a point, or -1. @param {Layout} l @param {number} x @param {number} depth */
export function hit(l, x, depth) {
  const level = l.levels[depth];
  if (!level) return -1;
  const row = level[firstAfter(l, level, x)] ?? -1;
  return row >= 0 && l.x0[row] <= x ? row : -1;
}

/**
 * Calls draw(row, left, width) in pixels for the visible boxes of a level, left to right. A box
 * that is narrower than `least` is drawn that wide, and hides the boxes under it.
 * @param {Layout} l
 * @param {number} depth
 * @param {View} view
 * @param {number} pixels
 * @param {number} least
 * @param {(row: number, left: number, width: number) => void} draw */
export function eachVisible(l, depth, view, pixels, least, draw) {
  const level = l.levels[depth];
  if (!level) return;
  const scale = pixels / (view.x1 - view.x0);
  let drawn = -Infinity;
  for (let i = firstAfter(l, level, view.x0); i < level.length && l.x0[level[i]] < view.x1; i++) {
    const row = level[i];
    const left = Math.max(0, (l.x0[row] - view.x0) * scale);
    const right = Math.min(pixels, (l.x1[row] - view.x0) * scale);
    if (right - left < least && right <= drawn) continue;
    draw(row, left, Math.max(right - left, least));
    drawn = Math.max(right, left + least);
  }
}

/**
 * The part of the picture that a box fills when zoomed to.
 * @param {Layout} l
 * @param {number} row
 * @returns {View}
 */
export function viewOf(l, row) {
  return l.x1[row] > l.x0[row] ? {x0: l.x0[row], x1: l.x1[row]} : {x0: 0, x1: 1};
}

/** Interpolates between two views, t from 0 to 1. The width changes by a constant ratio.
 * @param {View} a @param {View} b @param {number} t @returns {View} */
export function between(a, b, t) {
  const ease = t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2;
  const wa = a.x1 - a.x0,
    wb = b.x1 - b.x0;
  if (Math.abs(wa - wb) < 1e-12)
    return {x0: a.x0 + (b.x0 - a.x0) * ease, x1: a.x1 + (b.x1 - a.x1) * ease};
  const width = wa * (wb / wa) ** ease;
  // The point that does not move on the screen while the width changes from wa to wb.
  const fixed = (a.x0 * wb - b.x0 * wa) / (wb - wa);
  const x0 = fixed + ((a.x0 - fixed) * width) / wa;
  return {x0, x1: x0 + width};
}

/** The part inside the picture, not wider than it. @param {View} view @returns {View} */
function inside(view) {
  const width = Math.min(1, view.x1 - view.x0);
  const x0 = Math.min(1 - width, Math.max(0, view.x0));
  return {x0, x1: x0 + width};
}

const NARROWEST = 1e-9; // part of the picture; below it numbers are too coarse

/** Zooms by a factor around a point of the picture, which stays where it is on the screen.
 * @param {View} view @param {number} x @param {number} factor above 1: closer @returns {View} */
export function magnified(view, x, factor) {
  const before = view.x1 - view.x0;
  const width = Math.min(1, Math.max(NARROWEST, before / factor));
  const x0 = x - ((x - view.x0) / before) * width;
  return inside({x0, x1: x0 + width});
}

/** Moves by a part of what is shown. @param {View} view @param {number} by @returns {View} */
export function moved(view, by) {
  const width = view.x1 - view.x0;
  return inside({x0: view.x0 + by * width, x1: view.x1 + by * width});
}

/** The deepest box that all of a view lies in. @param {Layout} l @param {View} view */
export function covering(l, view) {
  let row = 0;
  for (let depth = 1; ; depth++) {
    const next = hit(l, view.x0, depth);
    if (next < 0 || l.x1[next] < view.x1) return row;
    row = next;
  }
}

/** A view inside of a box, as it is when the box fills the picture.
 * @param {Layout} l @param {number} row @param {View} view @returns {View} */
export function viewIn(l, row, view) {
  const width = l.x1[row] - l.x0[row];
  return inside({x0: (view.x0 - l.x0[row]) / width, x1: (view.x1 - l.x0[row]) / width});
}

/** The rows whose block is found, the widest first.
 * @param {Layout} l @param {Uint8Array} found by block @returns {number[]} */
export function foundRows(l, found) {
  const rows = [];
  for (let i = 0; i < l.count; i++) if (l.block[i] >= 0 && found[l.block[i]] === 1) rows.push(i);
  return rows.sort((a, b) => widthOf(l, b) - widthOf(l, a) || a - b);
}

/** The target of an arrow key; the row itself if there is none.
 * @param {Layout} l @param {number} row @param {string} key @returns {number} */
export function step(l, row, key) {
  if (key === "ArrowUp") return l.parent[row] >= 0 ? l.parent[row] : row;
  if (key === "Home") return 0;
  const depth = l.depth[row];
  if (key === "ArrowDown") {
    const level = l.levels[depth + 1] ?? [];
    const children = [...level].filter(child => l.parent[child] === row);
    return children.reduce(
      (best, child) => (widthOf(l, child) > widthOf(l, best) ? child : best),
      children[0] ?? row,
    );
  }
  const level = l.levels[depth];
  const at = level.indexOf(row) + (key === "ArrowRight" ? 1 : -1);
  return level[at] ?? row;
}

/** @param {Layout} l @param {number} row */
function widthOf(l, row) {
  return l.x1[row] - l.x0[row];
}

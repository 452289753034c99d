// SPDX-License-Identifier: MIT
//
// From the slices of a live file (docs/api.md, /history) to sparklines: an amount per second in each
// slice, as steps of a path. Nothing here touches the DOM.

/** @typedef {{from: number, to: number, totals: number[]}} Slice seconds before now */
/** @typedef {{from: number, to: number, rate: number}} Step */

/** @param {Slice[]} slices the oldest first @param {number} metric @returns {Step[]} */
export function rates(slices, metric) {
  return slices
    .filter(({from, to}) => from > to)
    .map(({from, to, totals}) => ({from, to, rate: totals[metric] / (from - to)}));
}

/** The amount per second over the last seconds, of what there is of them.
 * @param {Slice[]} slices @param {number} metric @param {number} seconds @returns {number} */
export function rateOf(slices, metric, seconds) {
  const recent = slices.filter(({to}) => to < seconds);
  if (!recent.length) return 0;
  return recent.reduce((sum, {totals}) => sum + totals[metric], 0) / Math.max(recent[0].from, 1e-3);
}

/**
 * A filled path from the left, `seconds` ago, to the right, now. Time without a slice is on the
 * ground: nothing new was found there.
 * @param {Step[]} steps
 * @param {{seconds: number, width: number, height: number}} box
 * @returns {string} of an SVG path
 */
export function stepPath(steps, {seconds, width, height}) {
  const shown = steps.filter(({to}) => to < seconds);
  const most = Math.max(...shown.map(({rate}) => rate), 0);
  if (!(most > 0)) return `M0 ${height}H${width}`;
  const x = ago => ((1 - Math.min(Math.max(ago, 0), seconds) / seconds) * width).toFixed(1);
  const y = rate => (height - (Math.max(rate, 0) / most) * (height - 1)).toFixed(1);
  const parts = shown.map(
    ({from, to, rate}) => `L${x(from)} ${height}L${x(from)} ${y(rate)}H${x(to)}V${height}`,
  );
  return `M0 ${height}${parts.join("")}H${width}`;
}

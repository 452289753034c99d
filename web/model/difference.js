// SPDX-License-Identifier: MIT
//
// The colours of a difference flame graph. A box is coloured by how much it grew, in steps: red is
// more, blue is less, grey is about the same. The two hues stay apart for people who do not tell red
// from green or blue from yellow, and the steps differ in lightness, too. Boxes also say their
// growth in their names.

/** Growth from which on a step begins. New and gone have a step of their own. */
export const STEPS = [0.01, 0.1, 0.5];
export const MOST = STEPS.length + 1;

const RED = 32,
  BLUE = 252; // degrees of OKLCH
const SHADES = {
  // By step, from 1 on: lightness and chroma.
  light: [
    [0.93, 0.035],
    [0.86, 0.08],
    [0.79, 0.125],
    [0.71, 0.165],
  ],
  dark: [
    [0.35, 0.05],
    [0.39, 0.085],
    [0.45, 0.12],
    [0.51, 0.155],
  ],
};

/**
 * How much a box grew: 0.5 is half as much again, Infinity is new, -1 is gone. Per total, the shares
 * of both sides are compared: a program that only ran longer did not grow.
 * @param {number} before
 * @param {number} after
 * @param {{before: number, after: number}} [totals] compare per total
 */
export function growthOf(before, after, totals) {
  const [from, to] = totals
    ? [totals.before ? before / totals.before : 0, totals.after ? after / totals.after : 0]
    : [before, after];
  if (from === to) return 0;
  return from ? (to - from) / Math.abs(from) : to > 0 ? Infinity : -Infinity;
}

/** The step of a growth: -MOST (gone) to MOST (new), 0 is about the same. @param {number} growth */
export function stepOf(growth) {
  if (growth === Infinity || growth === -Infinity || growth === -1)
    return growth > 0 ? MOST : -MOST;
  const size = STEPS.filter(least => Math.abs(growth) >= least).length;
  return growth < 0 ? -size : size;
}

/** @param {number} step @param {boolean} dark @returns {[number, number, number]} of OKLCH */
export function shade(step, dark) {
  if (!step) return dark ? [0.3, 0.004, 250] : [0.945, 0.003, 250];
  const [lightness, chroma] = SHADES[dark ? "dark" : "light"][Math.abs(step) - 1];
  return [lightness, chroma, step > 0 ? RED : BLUE];
}

/** @param {number} step @param {boolean} dark */
export function colourOf(step, dark) {
  const [lightness, chroma, hue] = shade(step, dark);
  return `oklch(${lightness} ${chroma} ${hue})`;
}

/** What stands behind a name in a box: +36%, 3×, new. Nothing if it is about the same.
 * @param {number} growth */
export function noteOf(growth) {
  if (!stepOf(growth)) return "";
  if (growth === Infinity) return "new";
  if (growth === -1 || growth === -Infinity) return "gone";
  if (growth >= 9.5) return `${Math.round(growth + 1)}×`;
  return `${growth < 0 ? "−" : "+"}${Math.round(Math.abs(growth) * 100)}%`;
}

/** The legend, from gone to new. @returns {{step: number, text: string}[]} */
export function legend() {
  const percents = STEPS.map(least => Math.round(least * 100));
  const range = (i, sign) =>
    i + 1 < percents.length
      ? `${sign}${percents[i]} to ${percents[i + 1]}%`
      : `${sign}${percents[i]}% or more`;
  const side = sign => percents.map((_, i) => range(i, sign));
  return [
    {step: -MOST, text: "gone"},
    ...side("−")
      .map((text, i) => ({step: -(i + 1), text}))
      .reverse(),
    {step: 0, text: "about the same"},
    ...side("+").map((text, i) => ({step: i + 1, text})),
    {step: MOST, text: "new"},
  ];
}

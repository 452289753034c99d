// SPDX-License-Identifier: MIT
//
// Choices among the slices of a recording, as addresses have them and in words, and where things are
// in their heat map. Times of the API are in nanoseconds. Nothing here touches the DOM.

import {compact} from "./format.js";
import {runText} from "./series.js";

const SECOND = 1e9;

/** @typedef {{from: number|null, until: number|null, least: number|null, most: number|null}} Region */

/** A duration with three digits: 11.6 ms. @param {number} nanoseconds */
export function durationText(nanoseconds) {
  const {text, unit} = compact(nanoseconds, "nanoseconds", 0);
  return unit ? `${text} ${unit}` : text;
}

/** The same in a sentence: 30 ms, not 30.0 ms. @param {number} nanoseconds */
function durationWords(nanoseconds) {
  return durationText(nanoseconds).replace(/\.0+(?= |$)/, "");
}

/** Seconds as an address has them, without needless digits. @param {number} nanoseconds */
function seconds(nanoseconds) {
  const text = Math.round(nanoseconds).toString().padStart(10, "0");
  return `${text.slice(0, -9)}.${text.slice(-9)}`.replace(/\.?0+$/, "");
}

/** @param {number|null} a @param {number|null} b */
function range(a, b) {
  return (a ? seconds(a) : "") + "-" + (b === null ? "" : seconds(b));
}

/** The choice of a region, "" if that is everything. @param {Region} region */
export function regionChoice({from, until, least, most}) {
  const times = from || until !== null ? range(from, until) : "";
  const durations = least || most !== null ? "," + range(least, most) : "";
  return times + durations;
}

/** @param {string} text @returns {Region|null} of a choice that is a region */
export function readRegion(text) {
  const number = "(\\d+(?:\\.\\d+)?)?";
  const pattern = new RegExp(`^(?:${number}-${number})?(?:,${number}-${number})?$`);
  const [whole, ...parts] = pattern.exec(text) ?? [];
  if (!whole) return null;
  const [from, until, least, most] = parts.map(part => (part ? Number(part) * SECOND : null));
  return {from, until, least, most};
}

/** @param {number|null} a @param {number|null} b @param {(n: number) => string} text
 * @param {[string, string]} alone words for the first or the second without the other */
function rangeWords(a, b, text, alone) {
  if (a && b !== null) return `${text(a)} to ${text(b)}`;
  if (a) return `${alone[0]} ${text(a)}`;
  return b === null ? "" : `${alone[1]} ${text(b)}`;
}

/** A choice in a few words, for a chip. @param {string} choice */
export function choiceText(choice) {
  const named = {slowest: "slowest 1%", typical: "typical", last: "of the last 10 s"}[choice];
  if (named) return named;
  if (/^\d+(\/\d+)?$/.test(choice)) return choice.replace("/", " of lane ");
  const region = readRegion(choice);
  if (!region) return choice;
  const times = rangeWords(region.from, region.until, n => runText(n / 1e6), ["after", "before"]);
  const durations = rangeWords(region.least, region.most, durationWords, ["at least", "less than"]);
  return [times && `begun ${times}`, durations && `that took ${durations}`].filter(Boolean).join(", ") || "all";
}

/** @param {string} name of one slice */
export function namesOf(name) {
  return /(s|x|ch|sh)$/.test(name) ? name + "es" : name + "s";
}

/** The same as a noun. @param {string} choice @param {string} name of one slice */
export function choiceNoun(choice, name) {
  const text = choiceText(choice);
  if (choice === "slowest") return `slowest 1% of ${namesOf(name)}`;
  if (choice === "typical") return `typical ${namesOf(name)}`;
  return /^\d/.test(text) && !/-/.test(choice) ? `${name} ${text}` : `${namesOf(name)} ${text}`;
}

/** How many of the chosen slices have trees. @param {{count: number, kept: number, exact: boolean}} chosen */
export function keptText({count, kept, exact}) {
  const all = (exact ? "" : "about ") + count.toLocaleString("en");
  return kept >= count ? `all ${all}` : `${kept.toLocaleString("en")} of ${all}`;
}

/** Where a duration is among the rows: 2.5 is the middle of the third.
 * @param {number[]} least of each row and of what is above the last @param {number} duration */
export function rowPlace(least, duration) {
  const last = least.length - 1;
  if (duration <= least[0]) return 0;
  if (duration >= least[last]) return last;
  const row = least.findLastIndex(begin => begin <= duration);
  return row + (duration - least[row]) / (least[row + 1] - least[row]);
}

/** Round durations among the rows, some of them. @param {number[]} least @param {number} most
 * @returns {number[]} */
export function durationTicks(least, most) {
  const first = least[0],
    last = least.at(-1);
  const all = steps => {
    const ticks = [];
    for (let size = 1; size <= last; size *= 10)
      for (const n of steps) if (n * size >= first && n * size <= last) ticks.push(n * size);
    return ticks;
  };
  const choices = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]].map(all);
  const fitting = choices.find(ticks => ticks.length <= most) ?? choices.at(-1);
  return fitting.filter((_, i) => i % Math.ceil(fitting.length / most) === 0);
}

const LEVELS = 6;

/** How dark a cell is, from 1 to 6: few slices must be seen beside many.
 * @param {number} count @param {number} most */
export function levelOf(count, most) {
  if (most <= 1) return LEVELS;
  return 1 + Math.round(((LEVELS - 1) * Math.log(count)) / Math.log(most));
}

/**
 * What a live file got over time, in steps of the same length. A look at the file may be longer or
 * shorter than a step: its amounts are spread evenly over its time.
 * @param {{now: number, slices: {from: number, to: number, totals: number[]}[]}} grown
 * @param {number} metric @param {number} most steps
 * @returns {{from: number, step: number, steps: number, sums: number[]}} in milliseconds
 */
export function timeline({now, slices}, metric, most) {
  const begin = slices.length ? now - slices[0].from : 0;
  const span = Math.max(now - begin, 1e-3);
  const round = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const step = round.find(length => span / length <= most) ?? Math.ceil(span / most);
  const from = Math.floor(begin / step) * step;
  const steps = Math.max(1, Math.ceil((now - from) / step));
  const sums = new Array(steps).fill(0);
  for (const {from: ago, to, totals} of slices) {
    const a = (now - ago - from) / step,
      b = (now - to - from) / step;
    for (let i = Math.max(0, Math.floor(a)); i < steps && i < b; i++) {
      const part = b > a ? (Math.min(b, i + 1) - Math.max(a, i)) / (b - a) : 1;
      sums[i] += totals[metric] * part;
    }
  }
  return {from: from * 1000, step: step * 1000, steps, sums: sums.map(Math.round)};
}

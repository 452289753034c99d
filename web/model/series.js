// SPDX-License-Identifier: MIT
//
// A chart over time: where its bars, its lines and its words go. Nothing here touches the DOM.

/**
 * @typedef {object} Series
 * @property {number} from   milliseconds since 1970
 * @property {number} step   milliseconds
 * @property {number} steps
 * @property {{name: string, sums: number[]}[]} rows the first is at the bottom
 */

const SECOND = 1000,
  MINUTE = 60 * SECOND,
  HOUR = 60 * MINUTE,
  DAY = 24 * HOUR;
const LENGTHS = [
  ...[1, 2, 5, 10, 15, 30].map(n => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map(n => n * MINUTE),
  ...[1, 2, 3, 6, 12].map(n => n * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map(n => n * DAY),
];

/** The sum of all rows, by step; what is less than nothing is not drawn.
 * @param {Series} series @returns {number[]} */
export function heights({rows, steps}) {
  const sums = new Array(steps).fill(0);
  for (const {sums: row} of rows) for (let i = 0; i < steps; i++) sums[i] += Math.max(0, row[i]);
  return sums;
}

/** Whether many steps between the first bar and the last have none. @param {Series} series */
export function hasGaps(series) {
  const sums = heights(series);
  const first = sums.findIndex(Boolean),
    last = sums.findLastIndex(Boolean);
  const empty = sums.slice(first, last).filter(sum => !sum).length;
  return first >= 0 && empty * 4 > last - first;
}

/** Round numbers from 0 to at least `most`: some three lines.
 * @param {number} most @param {number} [lines] @returns {number[]} */
export function amountTicks(most, lines = 3) {
  if (!(most > 0)) return [0];
  const rough = most / lines;
  const size = 10 ** Math.floor(Math.log10(rough));
  const by = [1, 2, 5, 10].map(n => n * size).find(n => n >= rough * 0.999);
  const ticks = [];
  for (let i = 0; i * by < most + by * 0.999; i++) ticks.push(i * by);
  return ticks;
}

/** Round moments with a text each, as many as fit. In UTC, as choices are.
 * @param {number} from @param {number} until @param {number} most
 * @returns {{time: number, text: string}[]} */
export function timeTicks(from, until, most) {
  const by = LENGTHS.find(length => (until - from) / length <= most) ?? LENGTHS.at(-1);
  const ticks = [];
  let day = "";
  for (let time = Math.ceil(from / by) * by; time <= until; time += by) {
    const today = dayOf(time);
    const clock = by >= DAY ? "" : clockOf(time, by < MINUTE);
    ticks.push({
      time,
      text: [today === day ? "" : today, clock].filter(Boolean).join(" ") || today,
    });
    day = today;
  }
  return ticks;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {number} time */
export function dayOf(time) {
  const when = new Date(time);
  return `${when.getUTCDate()} ${MONTHS[when.getUTCMonth()]}`;
}

/** @param {number} time @param {boolean} [seconds] */
export function clockOf(time, seconds = false) {
  return new Date(time).toISOString().slice(11, seconds ? 19 : 16);
}

/** One stretch of time in words. @param {number} from @param {number} until */
export function stretch(from, until) {
  const seconds = from % MINUTE !== 0 || until % MINUTE !== 0;
  const end = dayOf(from) === dayOf(until) ? "" : dayOf(until) + " ";
  return `${dayOf(from)} ${clockOf(from, seconds)} to ${end}${clockOf(until, seconds)}`;
}

/** A length of time in words: 5 min. @param {number} length in milliseconds */
export function lengthOf(length) {
  const units = [
    [DAY, "d"],
    [HOUR, "h"],
    [MINUTE, "min"],
    [SECOND, "s"],
  ];
  const [size, unit] = units.find(([one]) => length >= one && length % one === 0) ?? [SECOND, "s"];
  return `${Math.round((length / size) * 10) / 10} ${unit}`;
}

/** Times in UTC, as choices from a store are. */
export const UTC = {
  room: 96, // pixels for a text below the axis
  ticks: timeTicks,
  stretch: (from, until) => `${stretch(from, until)} UTC`,
  length: lengthOf,
};

/** A time since something began: 350 ms, 12.5 s, 2 min 5 s. @param {number} time in milliseconds */
export function runText(time) {
  const rounded = digits => String(Number(digits));
  if (time < 1e-3) return `${Math.round(time * 1e6)} ns`;
  if (time < 1) return `${rounded((time * 1000).toPrecision(3))} µs`;
  if (time < SECOND) return `${rounded(time.toFixed(time < 10 ? 2 : 0))} ms`;
  if (time < 2 * MINUTE) return `${rounded((time / SECOND).toFixed(time < 10 * SECOND ? 2 : 1))} s`;
  const seconds = Math.round(time / SECOND);
  const parts = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  return parts
    .filter(([n]) => n)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}

/** Round moments of a run. @param {number} from @param {number} until @param {number} most
 * @returns {{time: number, text: string}[]} */
function runTicks(from, until, most) {
  const rough = Math.max(until - from, 1e-6) / most;
  const size = 10 ** Math.floor(Math.log10(rough));
  const round = rough < SECOND ? [1, 2, 5, 10].map(n => n * size) : LENGTHS;
  const by = round.find(length => length >= rough * 0.999) ?? round.at(-1);
  const ticks = [];
  for (let i = Math.ceil(from / by); i * by <= until; i++)
    ticks.push({time: i * by, text: i ? runText(i * by) : "0"});
  return ticks;
}

/** Times since a recording began, or since the viewer looks at it. */
export const RUN = {
  room: 64,
  ticks: runTicks,
  stretch: (from, until) => `${runText(from) || "0"} to ${runText(until)}`,
  length: runText,
};

/**
 * A path per row: one bar per step, on those of the rows before.
 * @param {Series} series
 * @param {{width: number, height: number, most: number}} box most: the amount at its top
 * @returns {string[]} of SVG
 */
export function barPaths({rows, steps}, {width, height, most}) {
  const below = new Array(steps).fill(0);
  const wide = width / steps;
  const gap = wide > 6 ? 1 : 0;
  const y = amount => (height - (most > 0 ? amount / most : 0) * height).toFixed(2);
  return rows.map(({sums}) => {
    let path = "";
    for (let i = 0; i < steps; i++) {
      const value = Math.max(0, sums[i]);
      if (!value) continue;
      const left = (i * wide + gap / 2).toFixed(2),
        right = ((i + 1) * wide - gap / 2).toFixed(2);
      path += `M${left} ${y(below[i])}V${y(below[i] + value)}H${right}V${y(below[i])}Z`;
      below[i] += value;
    }
    return path;
  });
}

/** A small filled line of one row. @param {number[]} sums @param {number} width @param {number} height */
export function sparkPath(sums, width, height) {
  const most = Math.max(0, ...sums);
  if (!most) return `M0 ${height}H${width}`;
  const wide = width / sums.length;
  const y = value => (height - (Math.max(0, value) / most) * (height - 1)).toFixed(1);
  return (
    `M0 ${height}` +
    sums.map((sum, i) => `V${y(sum)}H${((i + 1) * wide).toFixed(1)}`).join("") +
    `V${height}Z`
  );
}

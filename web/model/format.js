// SPDX-License-Identifier: MIT
//
// Numbers as people read them: three digits and a unit, as 4.45 G or 12.3 ms; every digit is in the
// title and in what is copied. Where numbers are to be compared digit by digit (a scale), a column
// has one unit instead. A number that is not zero never looks like zero: "<0.1".

/**
 * @typedef {object} Scale
 * @property {number} by      divide by this
 * @property {string} unit    short, for a heading; "" for plain counts
 * @property {number} digits  after the point
 */

const LADDERS = {
  time: [
    [1, "ns"],
    [1e3, "µs"],
    [1e6, "ms"],
    [1e9, "s"],
  ],
  bytes: [
    [1, "B"],
    [1024, "KiB"],
    [1024 ** 2, "MiB"],
    [1024 ** 3, "GiB"],
    [1024 ** 4, "TiB"],
  ],
  plain: [
    [1, ""],
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
    [1e12, "T"],
  ],
};
const IN_FULL = 1e4; // plain counts below this have all their digits
const TIMES = {
  nanoseconds: 1,
  ns: 1,
  microseconds: 1e3,
  us: 1e3,
  µs: 1e3,
  milliseconds: 1e6,
  ms: 1e6,
  seconds: 1e9,
  s: 1e9,
};
const BYTES = {
  bytes: 1,
  byte: 1,
  b: 1,
  kilobytes: 1024,
  kb: 1024,
  megabytes: 1024 ** 2,
  mb: 1024 ** 2,
};

/**
 * @param {number} value rounded to `digits` after the point, without trailing zeros
 * @param {number} digits
 */
function grouped(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  const [whole, part] = text.split(".");
  const sign = value < 0 && Number(text) !== 0 ? "−" : "";
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
}

/**
 * @param {string} unit
 * @returns {{ladder: any[][], first: number}} `first`: of the ladder's smallest unit
 */
function ladderOf(unit) {
  const key = unit.toLowerCase();
  if (Object.hasOwn(TIMES, key)) return {ladder: LADDERS.time, first: TIMES[key]};
  if (Object.hasOwn(BYTES, key)) return {ladder: LADDERS.bytes, first: BYTES[key]};
  return {ladder: LADDERS.plain, first: 1};
}

/** The scale of a column whose largest number is `most`.
 * @param {string} unit as the profile names it
 * @param {number} decimals of the metric
 * @param {number} most
 * @returns {Scale} */
export function scaleFor(unit, decimals, most) {
  const {ladder, first} = ladderOf(unit ?? "");
  const one = 10 ** decimals;
  const size = (Math.abs(most) / one) * first;
  // The largest unit that leaves three digits before the point: 12,345 ms rather than 12.3 s. Plain
  // counts are shown in full while that is readable.
  const enough = ladder === LADDERS.plain ? 1e4 : 100;
  let at = 0;
  while (at + 1 < ladder.length && size >= ladder[at + 1][0] * enough) at++;
  if (ladder === LADDERS.plain && size < ladder[2][0] * enough) at = 0;
  const by = (one * ladder[at][0]) / first;
  const shown = Math.abs(most) / by;
  const whole = by === 1; // counted in this unit: no digits after the point
  return {
    by,
    unit: ladder[at][1] || named(unit),
    digits: whole ? 0 : shown < 1000 ? 2 : shown < 1e5 ? 1 : 0,
  };
}

/** @param {string} unit */
function named(unit) {
  return unit === "count" || !unit ? "" : unit;
}

/** @param {number|null|undefined} value @param {Scale} scale @returns {string} without the unit */
export function number(value, scale) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const scaled = value / scale.by;
  const least = 10 ** -scale.digits;
  if (Math.abs(scaled) < least / 2) return (scaled < 0 ? "−<" : "<") + least.toFixed(scale.digits);
  return grouped(scaled, scale.digits);
}

/**
 * Three digits and their unit, apart, so that a table can align both.
 * @param {number|null|undefined} value
 * @param {string} unit as the profile names it
 * @param {number} decimals of the metric
 * @returns {{text: string, unit: string}} unit: "" for plain counts that are told in full
 */
export function compact(value, unit, decimals) {
  if (value === null || value === undefined) return {text: "–", unit: ""};
  const {ladder, first} = ladderOf(unit ?? "");
  const size = (Math.abs(value) / 10 ** decimals) * first;
  const plain = ladder === LADDERS.plain;
  if (value === 0 || (plain && size < IN_FULL))
    return {text: grouped(value / 10 ** decimals, value ? decimals : 0), unit: ""};
  let at = 0;
  // 999.6 k is 1.00 M.
  while (at + 1 < ladder.length && size >= ladder[at + 1][0] * 0.9995) at++;
  const shown = size / ladder[at][0];
  const whole = ladder[at][0] === first && decimals === 0; // counted in this unit
  const digits = whole ? 0 : shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
  const least = 10 ** -digits;
  const text = shown < least / 2 ? "<" + least.toFixed(digits) : grouped(shown, digits);
  return {text: (value < 0 ? "−" : "") + text, unit: ladder[at][1]};
}

/** The unit that stands above a column of such numbers: that of plain counts, if it has a name.
 * @param {string} unit */
export function unitAbove(unit) {
  return ladderOf(unit ?? "").ladder === LADDERS.plain ? named(unit) : "";
}

/** Which units stand beside the numbers of a column whose largest is `most`.
 * @param {string} unit @param {number} decimals @param {number} most
 * @returns {""|"unit"|"unit.long"} "": none; "unit": letters, as in 4.45 G */
export function unitsBeside(unit, decimals, most) {
  if (ladderOf(unit ?? "").ladder !== LADDERS.plain) return "unit.long";
  return Math.abs(most) / 10 ** decimals >= IN_FULL ? "unit" : "";
}

/** A number with its unit, for a sentence.
 * @param {number} value @param {string} unit @param {number} decimals */
export function amount(value, unit, decimals) {
  const {text, unit: short} = compact(value, unit, decimals);
  return [text, short, unitAbove(unit)].filter(Boolean).join(" ");
}

/** Every digit, for a title. @param {number} value @param {string} unit @param {number} decimals */
export function exact(value, unit, decimals) {
  const text = grouped(value / 10 ** decimals, decimals);
  return unit && unit !== "count" ? `${text} ${unit}` : text;
}

/** @param {number|null|undefined} value */
export function count(value) {
  return value === null || value === undefined ? "–" : grouped(value, 0);
}

/** Always one digit after the point, so that percentages align. No percentage of zero.
 * @param {number|null|undefined} part @param {number} whole */
export function percent(part, whole) {
  if (part === null || part === undefined || !whole) return "–";
  const value = (100 * part) / whole;
  if (value === 0) return "0.0%";
  if (Math.abs(value) < 0.05) return (value < 0 ? "−<" : "<") + "0.1%";
  // Nearly all must not look like all.
  if (value > 99.95 && value < 100) return ">99.9%";
  return grouped(value, 1) + "%";
}

/** 0 to 1, for a bar. @param {number|null|undefined} part @param {number} whole */
export function share(part, whole) {
  if (!part || !whole) return 0;
  return Math.max(0, Math.min(1, part / whole));
}

/** A change with its sign. @param {number} value @param {Scale} scale */
export function signed(value, scale) {
  const text = number(value, scale);
  return value > 0 ? "+" + text : text;
}

/** @param {number} before @param {number} after */
export function growth(before, after) {
  if (before === after) return "0.0%";
  if (!before) return "new";
  if (!after) return "gone";
  const value = (100 * (after - before)) / Math.abs(before);
  if (Math.abs(value) < 0.05) return value < 0 ? "−<0.1%" : "+<0.1%";
  if (value >= 1000) return "+" + grouped(after / before, 0) + "×";
  return (value > 0 ? "+" : "") + grouped(value, 1) + "%";
}

/** Two numbers, their difference and the growth, all in the unit of the larger one.
 * @param {number} before @param {number} after @param {string} unit @param {number} decimals */
export function change(before, after, unit, decimals) {
  const scale = scaleFor(unit, decimals, Math.max(Math.abs(before), Math.abs(after)));
  const [from, to, by] = [number(before, scale), number(after, scale), signed(after - before, scale)].map(text =>
    scale.unit ? `${text} ${scale.unit}` : text,
  );
  return `${from} → ${to}, ${by}` + (before === after ? "" : ` (${growth(before, after)})`);
}

/** @param {number|null} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1e-3) return grouped(seconds * 1e6, 0) + " µs";
  if (seconds < 1) return grouped(seconds * 1e3, 0) + " ms";
  if (seconds < 120) return grouped(seconds, seconds < 10 ? 2 : 1) + " s";
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (h ? `${grouped(h, 0)} h ` : "") + `${m} min ` + (h ? "" : `${s} s`);
}

/** @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many = one + "s") {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// What the terminal does not print either, see src/common/printable.h; line feeds and tabs are space here.
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;
const ALL_UNSEEN = new RegExp(UNSEEN, "g");

/** Foreign text as it may be shown: what changes the direction of writing is an escape, what cannot be seen
 * is U+FFFD. @param {string} text */
export function visible(text) {
  if (!UNSEEN.test(text)) return text;
  return text
    .replace(DIRECTIONS, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))
    .replace(ALL_UNSEEN, "\ufffd");
}

/** As much of a name as a label has room for; the middle goes, because ends tell names
 * apart, unless too little would be left of both.
 * @param {string} text @param {number} most */
export function shortened(text, most) {
  text = visible(text);
  if (text.length <= most) return text;
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = most < 14 ? most - 1 : Math.ceil((most - 1) * 0.6);
  return (
    letters.slice(0, head).join("") +
    "…" +
    letters.slice(letters.length - (most - 1 - head)).join("")
  );
}

/** The same for a box: what does not fit loses first what stands before its last "/" or "::", as in
 * cmd/internal/ssa.Compile and ns::type::call(int). @param {string} name @param {number} most */
export function boxLabel(name, most) {
  name = visible(name);
  if (name.length <= most) return name;
  const plain = name.match(/^\/?(?:[\w.~@$-]+(?:\/|::))+(?=[\w~<])/);
  return shortened(plain ? name.slice(plain[0].length) : name, most);
}

/** Where a block stands: FILE:LINE:COLUMN as far as it is known.
 * @param {{file?: string|null, line?: number, column?: number}} block */
export function fileLine(block) {
  if (!block.file) return "";
  return (
    block.file + (block.line ? ":" + block.line + (block.column ? ":" + block.column : "") : "")
  );
}

/** The same without the column, for a place that is cut on the left.
 * @param {{file?: string|null, line?: number}} block */
export function lineOf(block) {
  return fileLine({file: block.file, line: block.line});
}

/**
 * The same for a narrow column: the file and the folder it is in.
 * @param {{file?: string|null, line?: number}} block
 */
export function shortFileLine(block) {
  if (!block.file) return "";
  const name = block.file.replace(/^.*[/\\](?=[^/\\]+[/\\][^/\\]+$)/, "");
  return name + (block.line ? ":" + block.line : "");
}

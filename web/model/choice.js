// SPDX-License-Identifier: MIT
//
// A choice from a store as text, `service=web build=7,8 host!=a* since=2h`, taken apart and changed.
// The text is what the address has and what --where takes, so a term keeps its own spelling. Terms
// that make no sense stay as they are: the server says what is wrong with them.

/**
 * @typedef {object} Term
 * @property {string} raw      as it is written
 * @property {string} name
 * @property {boolean} without NAME!=...
 * @property {string[]} values as they are, without quotes and backslashes
 */

const TIMES = ["since", "until"];
const ESCAPED = /[\\",*\s]/g;
const NAME = /^[^=!,\s"]+$/;

/** The words of a choice; spaces in quotes or behind a backslash do not end one.
 * @param {string} text @returns {string[]} */
function words(text) {
  return text.match(/(?:\\[^]|"(?:\\[^]|[^"\\])*"?|[^\s"\\]|\\$)+/g) ?? [];
}

/** @param {string} text what is behind the sign @returns {string[]} */
function valuesOf(text) {
  const values = [""];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') quoted = !quoted;
    else if (c === "," && !quoted) values.push("");
    else if (c === "\\" && i + 1 < text.length) values[values.length - 1] += text[++i];
    else values[values.length - 1] += c;
  }
  return values;
}

/** @param {string} text @returns {Term[]} */
export function terms(text) {
  return words(text).map(raw => {
    const [, name, sign, rest] = /^([^=!]*)(!?=)?([^]*)$/.exec(raw);
    return {
      raw,
      name: sign ? name : raw,
      without: sign === "!=",
      values: sign ? valuesOf(rest) : [],
    };
  });
}

/** Whether a label can be written in a choice. @param {string} name */
export function canName(name) {
  return NAME.test(name) && !TIMES.includes(name);
}

/** @param {string} value @returns {string} that means itself */
export function spelled(value) {
  return value.replace(ESCAPED, "\\$&");
}

/** @param {Pick<Term, "name"|"without"|"values">} term @returns {string} */
export function written({name, without, values}) {
  return `${name}${without ? "!=" : "="}${values.map(spelled).join(",")}`;
}

/** @param {string} text @param {number} index of a term @returns {string} */
export function withoutTerm(text, index) {
  return words(text)
    .filter((_, i) => i !== index)
    .join(" ");
}

/** The same without what it says of a label. @param {string} text @param {string} name */
export function withoutLabel(text, name) {
  return terms(text)
    .filter(term => term.name !== name)
    .map(term => term.raw)
    .join(" ");
}

/** The same with these values of a label, in the place of what it said of it.
 * @param {string} text @param {string} name @param {string[]} values @param {boolean} [without] */
export function withLabel(text, name, values, without = false) {
  const rest = withoutLabel(text, name);
  if (!values.length) return rest;
  // Labels stand before times.
  const all = [...terms(rest).map(term => term.raw), written({name, without, values})];
  const isTime = raw => TIMES.some(time => raw.startsWith(time + "="));
  return [...all.filter(raw => !isTime(raw)), ...all.filter(isTime)].join(" ");
}

/** The slices that do not have the label. @param {string} text @param {string} name */
export function withoutAny(text, name) {
  return [withoutLabel(text, name), `${name}!=*`].filter(Boolean).join(" ");
}

/** A moment as a choice has it, in UTC. @param {number} time in milliseconds */
export function moment(time) {
  return new Date(Math.round(time / 1000) * 1000).toISOString().replace(/\.000Z$/, "");
}

/** The same in another stretch of time; null is open.
 * @param {string} text @param {number|null} since @param {number|null} until */
export function withTime(text, since, until) {
  return [
    withoutTime(text),
    since === null ? "" : `since=${moment(since)}`,
    until === null ? "" : `until=${moment(until)}`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** @param {string} text */
export function withoutTime(text) {
  return TIMES.reduce(withoutLabel, text);
}

/** The last of this age, which moves on. @param {string} text @param {string} age */
export function withAge(text, age) {
  return [withoutTime(text), age ? `since=${age}` : ""].filter(Boolean).join(" ");
}

/** For a heading. @param {string} text */
export function described(text) {
  return text.trim() || "everything";
}

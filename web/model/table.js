// SPDX-License-Identifier: MIT
//
// The window and the order of a table, and the targets of its buttons. Rows come from the server
// already sorted and cut; this is the arithmetic around them.

export const FIRST = 100; // rows at first
export const MOST = 1000; // rows at most; also the server's limit

/**
 * @typedef {{column: string, descending: boolean}} Order
 * @typedef {{offset: number, limit: number}} Window
 */

/** @param {string} sort as in the address @param {string} byDefault the same @returns {Order} */
export function order(sort, byDefault) {
  const text = sort || byDefault;
  return text.startsWith("-")
    ? {column: text.slice(1), descending: true}
    : {column: text, descending: false};
}

/**
 * The order after a click on a heading: numbers start with the largest, texts with A; a second
 * click reverses it.
 * @param {Order} now @param {string} column @param {boolean} isText */
export function nextSort(now, column, isText) {
  const descending = now.column === column ? !now.descending : !isText;
  return (descending ? "-" : "") + column;
}

/** @param {Order} now @param {string} column @returns {"ascending"|"descending"|"none"} */
export function ariaSort(now, column) {
  if (now.column !== column) return "none";
  return now.descending ? "descending" : "ascending";
}

/**
 * @param {{offset: number, rows: number}} state
 * @param {number} first rows at once
 * @returns {Window}
 */
export function window(state, first = FIRST) {
  return {offset: state.offset, limit: Math.min(MOST, Math.max(1, state.rows || first))};
}

/**
 * What the foot of a table offers.
 * @param {number} count rows there are @param {number} offset @param {number} shown
 * @returns {{from: number, to: number, count: number, more: number, next: number|null,
 *   previous: number|null}} more: the number of rows to ask for, 0 if there are no more or no room;
 *   next, previous: offsets
 */
export function foot(count, offset, shown) {
  const end = offset + shown;
  const left = Math.max(0, count - end);
  return {
    from: shown ? offset + 1 : 0,
    to: end,
    count,
    more: left && shown < MOST ? Math.min(MOST, Math.max(shown * 3, FIRST)) : 0,
    next: left && shown >= MOST ? end : null,
    previous: offset > 0 ? Math.max(0, Math.min(offset, count) - MOST) : null,
  };
}

// SPDX-License-Identifier: MIT
//
// Which paths are open in the call tree. The address has only the ends of what is open: the rows
// that lead there are open, too. Rows are the server's, in the order of the table.

/**
 * @typedef {{id: string, level: number, hidden: number, open: boolean}} Row
 * @typedef {{id: string, row: number|null}} End the last row on the way to an open path
 */

const AT_ONCE = 40; // open paths at most, because they are part of the address
const NONE = ["none"]; // no row is open; [] is the server's choice

/** The index behind the last row below a row. @param {Row[]} rows @param {number} index */
export function endOf(rows, index) {
  let end = index + 1;
  while (end < rows.length && rows[end].level > rows[index].level) end++;
  return end;
}

/** The caller's row, or -1. @param {Row[]} rows @param {number} index */
export function callerOf(rows, index) {
  let above = index - 1;
  while (above >= 0 && rows[above].level >= rows[index].level) above--;
  return above;
}

/** @param {Row[]} rows @param {End[]} open @param {number} index a closed row */
function opened(rows, open, index) {
  const onTheWay = new Set();
  for (let at = callerOf(rows, index); at >= 0; at = callerOf(rows, at)) onTheWay.add(rows[at].id);
  return [...open.map(end => end.id).filter(id => !onTheWay.has(id)), rows[index].id];
}

/** @param {Row[]} rows @param {End[]} open @param {number} index an open row */
function closed(rows, open, index) {
  const isIn = (end, top) => end.row !== null && end.row >= top && end.row < endOf(rows, top);
  const rest = open.filter(end => !isIn(end, index));
  const above = callerOf(rows, index);
  const isKept = above >= 0 && !rest.some(end => isIn(end, above));
  return [...rest.map(end => end.id), ...(isKept ? [rows[above].id] : [])];
}

/** Opens a closed row, closes an open one.
 * @param {Row[]} rows @param {End[]} open @param {number} index @returns {string[]} for the address */
export function toggled(rows, open, index) {
  const ids = (rows[index].open ? closed : opened)(rows, open, index);
  return ids.length ? ids.slice(-AT_ONCE) : NONE;
}

// SPDX-License-Identifier: MIT
//
// Which lines of a file are shown: all of a short file, and of a long one those around the lines
// that have numbers. A page never has a hundred thousand rows.

const WHOLE = 600; // lines that are shown without gaps
const AROUND = 6; // lines of context
const AT_ONCE = 400; // lines that a gap opens
const MOST = 3000; // lines that are shown because they have numbers

/** @typedef {{from: number, to: number, shown: boolean}} Piece lines from 1, both ends included */

/** @param {number} lines @param {number[]} hot lines with numbers @param {number} wanted 0: none
 * @param {Set<number>} opened where gaps were opened @returns {Piece[]} */
export function pieces(lines, hot, wanted, opened) {
  if (lines <= WHOLE) return lines ? [{from: 1, to: lines, shown: true}] : [];
  const shown = new Uint8Array(lines + 2);
  const mark = (from, to) => shown.fill(1, Math.max(1, from), Math.min(lines, to) + 1);
  for (const n of [...hot.slice(0, MOST), wanted])
    if (n > 0 && n <= lines) mark(n - AROUND, n + AROUND);
  for (const n of opened) mark(n, n + AT_ONCE - 1);
  if (!hot.length && !wanted) mark(1, AT_ONCE);
  /** @type {Piece[]} */
  const found = [];
  for (let n = 1; n <= lines; n++) {
    const last = found[found.length - 1];
    if (last && last.shown === Boolean(shown[n])) last.to = n;
    else found.push({from: n, to: n, shown: Boolean(shown[n])});
  }
  return found;
}

/** Lines that something was spent in, the hottest first.
 * @param {{line: number, self: number}[]} rows */
export function hotLines(rows) {
  return rows
    .filter(row => row.line > 0 && row.self > 0)
    .sort((a, b) => b.self - a.self || a.line - b.line)
    .map(row => row.line);
}

/** @param {number[]} hot @param {number} line where the reader is @param {1|-1} by
 * @returns {number} 0: there is none */
export function nextHot(hot, line, by) {
  const at = hot.indexOf(line);
  if (at < 0) return (by > 0 ? hot[0] : hot.at(-1)) ?? 0;
  return hot[(at + by + hot.length) % hot.length];
}

/** The folder that a file is in, to be mapped: of a URL without its scheme.
 * @param {string} file */
export function folderOf(file) {
  const path = file.replace(/^file:\/\/(localhost)?(?=\/)/, "");
  const cut = path.lastIndexOf("/");
  return cut > 0 ? path.slice(0, cut) : "";
}

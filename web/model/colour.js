// SPDX-License-Identifier: MIT
//
// The colour of a box. A hue stands for a file, or for a folder if there are many files. The files
// on the most expensive paths have hues of their own, the rest share a grey. If there are too few
// files to tell apart, the hue stands for the block's name. The shade follows the name, so that
// neighbours differ and a block looks the same everywhere. Blocks that are not code of the program
// have no hue.

export const HUES = [250, 160, 75, 310, 200, 110, 20, 285]; // degrees of OKLCH, far apart first
const SHADES = 4;

/** @param {string} text FNV-1a */
export function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

/** @param {string} file @returns {string} */
function folderOf(file) {
  const cut = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"));
  return cut > 0 ? file.slice(0, cut) : cut === 0 ? "/" : "./";
}

/**
 * The files that have a hue of their own, the most expensive first; or folders, if there are too
 *   many files.
 * @typedef {{folders: boolean, names: string[]}} Groups
 * @param {{file: string, overall: number}[]} files
 * @param {Groups|null} [before] the groups of the same live profile before: hues are kept
 * @returns {Groups}
 */
export function groupsOf(files, before = null) {
  const known = files.filter(row => row.file);
  const folders = known.length > HUES.length;
  /** @type {Map<string, number>} */
  const most = new Map();
  for (const {file, overall} of known) {
    const name = folders ? folderOf(file) : file;
    most.set(name, Math.max(most.get(name) ?? -Infinity, overall));
  }
  const names = [...most.keys()].sort((a, b) => most.get(b) - most.get(a) || (a < b ? -1 : 1));
  const kept = before?.folders === folders ? before.names : [];
  return {
    folders,
    names: [...kept, ...names.filter(name => !kept.includes(name))].slice(0, HUES.length),
  };
}

/**
 * @param {string|null|undefined} file
 * @param {Groups} groups
 * @returns {number} HUES.length: none of them
 */
export function groupNumber(file, groups) {
  const found = file ? groups.names.indexOf(groups.folders ? folderOf(file) : file) : -1;
  return found < 0 ? HUES.length : found;
}

/**
 * "file" if there are files to tell apart, else "block".
 * @param {string} wanted
 * @param {Groups} groups
 * @returns {"file"|"block"}
 */
export function colourBy(wanted, groups) {
  if (wanted === "file" || wanted === "block") return wanted;
  return groups.names.length > 2 ? "file" : "block";
}

/** An index into the palette for each block; -1 if it is not code.
 * @param {{name: string, file?: string|null, mark?: string|null}[]} blocks
 * @param {"file"|"block"} by
 * @param {Groups} groups @returns {Int16Array} */
export function coloursOf(blocks, by, groups) {
  return Int16Array.from(blocks, b => {
    if (b.mark) return -1;
    const h = hash(b.name);
    const hue = by === "block" ? h % HUES.length : groupNumber(b.file, groups);
    return hue * SHADES + ((h >>> 8) % SHADES);
  });
}

/**
 * The fill of a box, for a graph whose hues stand for files or blocks.
 * @param {{block: (number|null)[]}} flame
 * @param {{name: string, file?: string|null, mark?: string|null}[]} blocks
 * @param {"file"|"block"} by
 * @param {Groups} groups
 * @returns {(row: number, colours: ReturnType<typeof palette>) => string}
 */
export function fillOf(flame, blocks, by, groups) {
  const numbers = coloursOf(blocks, by, groups);
  return (row, colours) => colours.boxes[numbers[flame.block[row] ?? -1] ?? -1] ?? colours.none;
}

/**
 * The palette, and the colours outside of it.
 * @param {boolean} dark
 */
export function palette(dark) {
  const lightness = dark ? [0.4, 0.43, 0.46, 0.49] : [0.9, 0.875, 0.85, 0.825];
  const chroma = dark ? 0.065 : 0.065;
  const boxes = [];
  for (const hue of HUES) for (const l of lightness) boxes.push(`oklch(${l} ${chroma} ${hue})`);
  for (const l of lightness) boxes.push(`oklch(${l} 0.008 250)`); // other files
  return {
    boxes,
    none: dark ? "oklch(0.33 0 0)" : "oklch(0.93 0 0)",
    text: dark ? "oklch(0.97 0.01 90)" : "oklch(0.22 0.02 250)",
    quiet: dark ? "oklch(0.80 0 0)" : "oklch(0.40 0 0)",
    dimmed: dark ? "oklch(0.28 0.006 250)" : "oklch(0.955 0.003 250)",
    dimmedText: dark ? "oklch(0.68 0 0)" : "oklch(0.50 0 0)",
    found: dark ? "oklch(0.62 0.16 55)" : "oklch(0.80 0.15 70)",
    foundText: dark ? "oklch(0.15 0 0)" : "oklch(0.20 0 0)",
    focus: dark ? "oklch(0.85 0.13 230)" : "oklch(0.45 0.16 255)",
    page: dark ? "oklch(0.19 0.008 250)" : "oklch(0.99 0.002 250)",
  };
}

/**
 * One colour of each hue, for a legend.
 * @param {number} hue index into HUES, HUES.length is "other"
 */
export function legendNumber(hue) {
  return hue * SHADES + 1;
}

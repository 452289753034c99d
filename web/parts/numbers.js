// SPDX-License-Identifier: MIT
//
// A number and its percentages: of the whole profile, and of the part that the filters leave if
// that is not all. In a cell of a table, with a light bar for the second, or in a line of text.
// Numbers are short; the exact one is in the title, and in what is copied from the page.

import {
  amount,
  compact,
  exact,
  percent,
  scaleFor,
  share,
  unitAbove,
  unitsBeside,
} from "../model/format.js";
import {h} from "./dom.js";

/**
 * @typedef {{total: number, left: number, unit: string, decimals: number, metric: string}} Answer
 * @typedef {import("../model/format.js").Scale & {units: string, above: string,
 *   filtered: boolean}} AmountScale units: the class of the units beside numbers, "" if there are none;
 *   above: the unit that stands in the heading; filtered: the filters leave less than all
 */

/** What the numbers of a table have in common. @param {Answer} answer @returns {AmountScale} */
export function scaleOf(answer) {
  const most = Math.max(Math.abs(answer.total), Math.abs(answer.left));
  return {
    ...scaleFor(answer.unit, answer.decimals, most),
    units: unitsBeside(answer.unit, answer.decimals, most),
    above: unitAbove(answer.unit),
    filtered: answer.left !== answer.total,
  };
}

/** The digits, and their unit in a place of its own.
 * @param {{text: string, unit: string}} short @param {string} units a class; "": there are none */
function digits(short, units = "") {
  return [short.text, units ? [" ", h("span." + units, null, short.unit)] : null];
}

/**
 * @param {number|null} value
 * @param {Answer} answer
 * @param {AmountScale} scale
 * @param {string} kind
 */
export function amountCell(value, answer, scale, kind) {
  const known = value !== null && value !== undefined;
  const whole = known ? exact(value, answer.unit, answer.decimals) : null;
  const short = compact(value, answer.unit, answer.decimals);
  return h(
    "td.num." + kind,
    {title: whole},
    h("span.value", {data: known ? {exact: plain(value, answer)} : {}}, digits(short, scale.units)),
    h("span.part", null, percent(value, answer.total)),
    scale.filtered ? h("span.part.of-left", null, percent(value, answer.left)) : null,
    h("span.bar", {vars: {"--share": share(value, answer.left)}, "aria-hidden": "true"}),
  );
}

/** Every digit and nothing else, for a copy. @param {number} value @param {Answer} answer */
function plain(value, answer) {
  return answer.decimals ? (value / 10 ** answer.decimals).toFixed(answer.decimals) : String(value);
}

/**
 * The second line of a heading above such cells.
 * @param {AmountScale} scale
 */
export function amountHead(scale) {
  if (!scale.filtered && !scale.above) return null;
  return h(
    "span.units",
    null,
    h("span.value", null, digits({text: scale.above, unit: ""}, scale.units)),
    h("span.part", null, scale.filtered ? "of all" : ""),
    scale.filtered ? h("span.part.of-left", null, "of left") : null,
  );
}

/**
 * The column of self or overall, which most tables have.
 * @param {"self"|"overall"} kind
 * @returns {import("./table.js").Column}
 */
export function amountColumn(kind) {
  return {
    title: kind === "self" ? "Self" : "Overall",
    sort: kind,
    kind: "num",
    below: answer => amountHead(scaleOf(answer)),
    cell: (row, answer) => amountCell(row[kind], answer, scaleOf(answer), kind),
  };
}

/** A cell with how often something happened.
 * @param {number|null|undefined} value @param {string} [unknown] for null */
export function countCell(value, unknown = NOT_COUNTED) {
  return h("td.calls", null, countValue(value, "unit", unknown));
}

const NOT_COUNTED = "not counted";

/** How often something happened.
 * @param {number|null|undefined} value @param {string} units @param {string} [unknown] for null */
function countValue(value, units, unknown = NOT_COUNTED) {
  const known = value !== null && value !== undefined;
  return h(
    "span.value",
    known ? {title: exact(value, "", 0), data: {exact: String(value)}} : null,
    known ? digits(compact(value, "", 0), units) : unknown,
  );
}

/** @param {string} title @param {number|null} value @param {Answer} answer */
export function figure(title, value, answer) {
  const known = value !== null && value !== undefined;
  return h(
    "div.figure",
    null,
    h("dt", null, title),
    h(
      "dd",
      null,
      h(
        "span.value",
        known
          ? {title: exact(value, answer.unit, answer.decimals), data: {exact: plain(value, answer)}}
          : null,
        known ? amount(value, answer.unit, answer.decimals) : "–",
      ),
      h("span.part", null, percent(value, answer.total), " of all"),
      answer.left === answer.total
        ? null
        : h("span.part.of-left", null, percent(value, answer.left), " of left"),
    ),
  );
}

/** The same for a count, which is a share of nothing.
 * @param {string} title @param {number|null} value @param {string} [after] */
export function countFigure(title, value, after = "") {
  return h(
    "div.figure",
    null,
    h("dt", null, title),
    h(
      "dd",
      null,
      countValue(value, compact(value, "", 0).unit ? "unit" : ""),
      after ? h("span.part", null, after) : null,
    ),
  );
}

/**
 * Whether any row knows how often it was called; profiles of samples do not.
 * @param {{calls?: number|null}[]} rows
 */
export function callsAreKnown(rows) {
  return rows.some(row => row.calls !== null && row.calls !== undefined);
}

/**
 * The text of a selection, with every number in full: a tab between cells, a line per row.
 * @param {Node} node
 * @returns {string}
 */
function copied(node) {
  if (node instanceof Text) return node.data;
  if (node instanceof HTMLElement) {
    if (node.dataset.exact !== undefined) return node.dataset.exact + "\t";
    if (node.matches(".more, .unseen, .bar, svg")) return "";
  }
  const text = [...node.childNodes].map(copied).join("");
  if (!(node instanceof Element)) return text;
  if (/^(td|th)$/i.test(node.localName)) return text.trim().replace(/[ \n]+/g, " ").replace(/ ?\t ?/g, "\t") + "\t";
  return /^(tr|p|h1|h2|h3|li|dt|dd|caption|article|section|figcaption)$/i.test(node.localName)
    ? text.trimEnd() + "\n"
    : text;
}

/** Copies have the exact numbers. */
export function setUpCopies() {
  document.addEventListener("copy", event => {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || !event.clipboardData) return;
    const parts = Array.from({length: selection.rangeCount}, (_, i) =>
      selection.getRangeAt(i).cloneContents(),
    );
    if (!parts.some(part => part.querySelector("[data-exact]"))) return;
    event.clipboardData.setData("text/plain", parts.map(copied).join("\n").trim());
    event.preventDefault();
  });
}

// SPDX-License-Identifier: MIT
//
// A number and its two percentages, of the whole profile and of the part that the filters leave: in
// a cell of a table, with a light bar for the second, or in a line of text.

import {amount, exact, number, percent, scaleFor, share} from "../model/format.js";
import {h} from "./dom.js";

/**
 * @typedef {{total: number, left: number, unit: string, decimals: number, metric: string}} Answer
 */

/** One scale for a table, so that its numbers align. @param {Answer} answer */
export function scaleOf(answer) {
  return scaleFor(
    answer.unit,
    answer.decimals,
    Math.max(Math.abs(answer.total), Math.abs(answer.left)),
  );
}

/**
 * @param {number|null} value
 * @param {Answer} answer
 * @param {import("../model/format.js").Scale} scale
 * @param {string} kind
 */
export function amountCell(value, answer, scale, kind) {
  const known = value !== null && value !== undefined;
  return h(
    "td.num." + kind,
    {title: known ? exact(value, answer.unit, answer.decimals) : null},
    h("span.value", null, number(value, scale)),
    h("span.part", null, percent(value, answer.total)),
    h("span.part.of-left", null, percent(value, answer.left)),
    h("span.bar", {vars: {"--share": share(value, answer.left)}, "aria-hidden": "true"}),
  );
}

/**
 * The second line of a heading above such cells.
 * @param {import("../model/format.js").Scale} scale
 */
export function amountHead(scale) {
  return h(
    "span.units",
    null,
    h("span.value", null, scale.unit),
    h("span.part", null, "of all"),
    h("span.part.of-left", null, "of left"),
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

/** @param {string} title @param {number|null} value @param {Answer} answer */
export function figure(title, value, answer) {
  return h(
    "div.figure",
    null,
    h("dt", null, title),
    h(
      "dd",
      null,
      h(
        "span.value",
        {title: value === null ? null : exact(value, answer.unit, answer.decimals)},
        value === null ? "–" : amount(value, answer.unit, answer.decimals, answer.total),
      ),
      h("span.part", null, percent(value, answer.total), " of all"),
      h("span.part", null, percent(value, answer.left), " of left"),
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

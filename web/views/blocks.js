// SPDX-License-Identifier: MIT
//
// Self and Overall: the same table of all blocks, by their own numbers or by the sums of all paths
// through them.

import {window} from "../model/table.js";
import {question} from "../model/url.js";
import {blockLink, whereOf} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {h} from "../parts/dom.js";
import {amountColumn, countCell} from "../parts/numbers.js";
import {Table} from "../parts/table.js";

const TEXTS = {
  self: ["Self", "Which block spends it: the amount in the block itself, without what it calls."],
  overall: [
    "Overall",
    "Which block leads there: the amount in the block and in everything it calls. Recursion counts once, so " +
      "nothing is above 100%.",
  ],
};

/** @param {import("../main.js").App} app @returns {import("../parts/table.js").Column[]} */
export function blockColumns(app) {
  return [
    amountColumn("self"),
    amountColumn("overall"),
    {
      title: "Calls",
      sort: "calls",
      kind: "calls",
      cell: row => countCell(row.calls),
    },
    {
      title: "Block",
      sort: "name",
      text: true,
      kind: "name",
      cell: (row, answer) =>
        h("th.name", {scope: "row"}, blockLink(app, answer.blocks[row.block], {key: "b"})),
    },
    {
      title: "Where",
      sort: "file",
      text: true,
      kind: "place",
      cell: (row, answer) => h("td.place", null, whereOf(answer.blocks[row.block])),
    },
  ];
}

/**
 * @param {import("../main.js").App} app
 * @param {import("../model/url.js").State} first
 * @returns {import("../main.js").View}
 */
export function mount(app, first) {
  const [title, meaning] = TEXTS[first.page];
  const columns = blockColumns(app);
  if (first.page === "overall") columns.unshift(columns.splice(1, 1)[0]);
  const byDefault = "-" + first.page;
  const table = new Table(app, {
    caption: `Blocks by ${first.page}`,
    columns,
    sort: byDefault,
    search: "Name or file",
  });
  const query = (state, more) =>
    question(state, {search: state.search, sort: state.sort || byDefault, ...more});
  return {
    element: h(
      "div.page",
      null,
      h("div.title", null, h("h1", {tabindex: "-1"}, title), h("p", null, meaning)),
      table.element,
    ),
    title: () => title,
    load: (state, signal) => ask("blocks", query(state, window(state)), signal),
    show: (state, answer) => table.show(state, answer),
    csv: state => apiUrl("blocks", query(state, {format: "csv"})),
  };
}

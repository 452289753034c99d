// SPDX-License-Identifier: MIT
//
// Paths: every canonical path, with the numbers of its end, and of its end and
// everything below.

import {count} from "../model/format.js";
import {window} from "../model/table.js";
import {href, question, to} from "../model/url.js";
import {apiUrl, ask} from "../parts/client.js";
import {h} from "../parts/dom.js";
import {amountColumn} from "../parts/numbers.js";
import {pathLine} from "../parts/path.js";
import {Table} from "../parts/table.js";

/** @param {import("../main.js").App} app @returns {import("../parts/table.js").Column[]} */
function columns(app) {
  return [
    amountColumn("self"),
    amountColumn("overall"),
    {
      title: "Length",
      sort: "length",
      kind: "calls",
      cell: row => h("td.calls", null, count(row.length)),
    },
    {
      title: "Path",
      kind: "name",
      cell: (row, answer, index) => {
        const blocks = row.path.map(b => answer.blocks[b]);
        return h(
          "th.name.path-cell",
          {scope: "row"},
          pathLine(app, blocks, "s" + index, row.length),
          h(
            "a.aside",
            {
              href: href(to(app.state, "flame", {path: row.id})),
              "aria-label": "This path in the flame graph",
            },
            "flame",
          ),
        );
      },
    },
  ];
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const table = new Table(app, {
    caption: "Canonical paths",
    columns: columns(app),
    sort: "-self",
    search: "Name or file on the path",
  });
  const query = (state, more) =>
    question(state, {search: state.search, sort: state.sort || "-self", ...more});
  return {
    element: h(
      "div.page",
      null,
      h(
        "div.title",
        null,
        h("h1", {tabindex: "-1"}, "Paths"),
        h(
          "p",
          null,
          "Paths with their recursion compacted, from the root to where something was spent.",
        ),
      ),
      table.element,
    ),
    title: () => "Paths",
    load: (state, signal) => ask("sequences", query(state, window(state)), signal),
    show: (state, answer) => table.show(state, answer),
    csv: state => apiUrl("sequences", query(state, {format: "csv"})),
  };
}

// SPDX-License-Identifier: MIT
//
// Source: the files that the profile names, and in each the numbers beside the lines. A long file
// is shown around the lines that have numbers; the rest is opened piece by piece.

import {count, plural} from "../model/format.js";
import {window} from "../model/table.js";
import {pieces} from "../model/source.js";
import {changed, href, question, to} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h, unseen} from "../parts/dom.js";
import {amountCell, amountColumn, amountHead, scaleOf} from "../parts/numbers.js";
import {Table} from "../parts/table.js";

/** @param {import("../main.js").App} app @returns {import("../parts/table.js").Column[]} */
function fileColumns(app) {
  return [
    amountColumn("self"),
    amountColumn("overall"),
    {title: "Lines", kind: "calls", cell: row => h("td.calls", null, count(row.lines))},
    {
      title: "File",
      kind: "name",
      cell: row =>
        h(
          "th.name",
          {scope: "row"},
          row.file
            ? h(
                "a",
                {
                  href: href(to(app.state, "source", {file: row.file})),
                  data: {key: "file " + row.file},
                },
                h("bdi", null, row.file),
              )
            : h("span.mark", null, "(not known)"),
          row.file && !row.readable
            ? h(
                "span.tag",
                {title: "The text cannot be shown; the numbers of its lines can."},
                "no text",
              )
            : null,
        ),
    },
  ];
}

class FileView {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.head = h("div.title");
    this.reason = h("p.note");
    this.table = h("div.code-table");
    this.element = h("div.file", null, this.head, this.reason, this.table);
    this.opened = new Set();
    this.file = "";
    this.scrolled = "";
  }

  /**
   * @param {import("../model/url.js").State} state
   * @param {any} answer
   * @returns {boolean} whether it scrolled to a line
   */
  show(state, answer) {
    if (this.file !== state.file) this.opened.clear();
    this.file = state.file;
    this.answer = answer;
    fill(
      this.head,
      h("p.over-title", null, h("a", {href: href(to(state, "source"))}, "Source")),
      h("h1.block-name", {tabindex: "-1"}, h("bdi", null, state.file)),
      h("p", null, `${plural(answer.rows.length, "line")} with numbers`),
    );
    this.reason.hidden = Boolean(answer.text);
    fill(
      this.reason,
      answer.text
        ? null
        : ["The text is not shown: ", h("bdi", null, answer.reason ?? "it cannot be read"), "."],
    );
    this.draw(state);
    const wanted = state.file + ":" + state.line;
    const line =
      state.line && this.scrolled !== wanted ? this.element.querySelector("tr.wanted") : null;
    line?.scrollIntoView({block: "center"});
    this.scrolled = wanted;
    return Boolean(line);
  }

  /** @param {import("../model/url.js").State} state */
  draw(state) {
    const {answer} = this;
    const scale = scaleOf(answer);
    const byLine = new Map(answer.rows.map(row => [row.line, row]));
    const lines = answer.text ? answer.text.length : 0;
    const parts = answer.text
      ? pieces(lines, [...byLine.keys()], state.line, this.opened)
      : answer.rows.map(row => ({from: row.line, to: row.line, shown: true}));
    const rows = parts.flatMap(piece =>
      piece.shown
        ? Array.from({length: piece.to - piece.from + 1}, (_, i) =>
            this.line(piece.from + i, byLine.get(piece.from + i), scale, state),
          )
        : [this.gap(piece, state)],
    );
    const has = Boolean(answer.text);
    fill(
      this.table,
      h(
        "table.rows.code",
        null,
        h("caption.unseen", null, "Lines of " + state.file),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["Self", "Overall"].map(title =>
              h("th.num", {scope: "col"}, h("span.title", null, title), amountHead(scale)),
            ),
            h("th.line", {scope: "col"}, h("span.title", null, "Line")),
            has ? h("th.text", {scope: "col"}, h("span.title", null, "Text")) : null,
            h("th.name", {scope: "col"}, h("span.title", null, "Blocks")),
          ),
        ),
        h("tbody", null, rows),
      ),
    );
  }

  /** @param {number} n @param {any} row */
  line(n, row, scale, state) {
    const {answer, app} = this;
    const text = answer.text?.[n - 1];
    return h(
      state.line === n ? "tr.wanted" : row ? "tr" : "tr.cold",
      null,
      row ? amountCell(row.self, answer, scale, "self") : h("td.num"),
      row ? amountCell(row.overall, answer, scale, "overall") : h("td.num"),
      h(
        "th.line",
        {scope: "row"},
        h(
          "a",
          {
            href: href(changed(state, {line: n})),
            data: {key: "line " + n},
            tabindex: row ? null : "-1",
          },
          n || "–",
        ),
      ),
      answer.text ? h("td.text", null, h("code", {dir: "ltr"}, text ?? "")) : null,
      h(
        "td.name",
        null,
        (row?.blocks ?? []).slice(0, 4).map(b => blockLink(app, answer.blocks[b], {key: "l" + n})),
        row?.blocks.length > 4 ? h("span.part", null, ` and ${row.blocks.length - 4} more`) : null,
      ),
    );
  }

  /** @param {{from: number, to: number}} piece */
  gap(piece, state) {
    const open = () => {
      this.opened.add(piece.from);
      this.draw(state);
    };
    return h(
      "tr.gap",
      null,
      h(
        "td",
        {colspan: 5},
        h(
          "button",
          {type: "button", onclick: open, data: {key: "gap " + piece.from}},
          "⋯ ",
          plural(piece.to - piece.from + 1, "line"),
          unseen(` from ${piece.from}`),
        ),
      ),
    );
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const table = new Table(app, {
    caption: "Source files",
    columns: fileColumns(app),
    sort: "-self",
    search: "File",
    empty: "The profile names no files.",
  });
  const list = h(
    "div.file",
    null,
    h(
      "div.title",
      null,
      h("h1", {tabindex: "-1"}, "Source"),
      h("p", null, "The files that the profile names."),
    ),
    table.element,
  );
  const file = new FileView(app);
  const element = h("div.page");
  const files = (state, more) =>
    question(state, {search: state.search, sort: state.sort || "-self", ...more});
  return {
    element,
    title: state => (state.file ? state.file.slice(0, 200) : "Source"),
    load: (state, signal) =>
      state.file
        ? ask("source", question(state, {file: state.file}), signal)
        : ask("files", files(state, window(state)), signal),
    show(state, answer) {
      const part = state.file ? file : table;
      const shown = state.file ? file.element : list;
      if (element.firstChild !== shown) element.replaceChildren(shown);
      return part.show(state, answer);
    },
    csv: state =>
      state.file
        ? apiUrl("source", question(state, {file: state.file, format: "csv"}))
        : apiUrl("files", files(state, {format: "csv"})),
  };
}

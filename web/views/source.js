// SPDX-License-Identifier: MIT
//
// Source: the files that the profile names, and in each the numbers beside the lines. A long file
// is shown around the lines that have numbers; the rest is opened piece by piece. The hottest lines
// are visited one after the other.

import {percent, plural} from "../model/format.js";
import {window} from "../model/table.js";
import {folderOf, hotLines, nextHot, pieces} from "../model/source.js";
import {tokensOf} from "../model/syntax.js";
import {changed, href, question, to} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h, unseen} from "../parts/dom.js";
import {amountCell, amountColumn, amountHead, countCell, scaleOf} from "../parts/numbers.js";
import {Table} from "../parts/table.js";

const COLOURED = 30000; // lines of a file that has colours

/** @param {import("../main.js").App} app @returns {import("../parts/table.js").Column[]} */
function fileColumns(app) {
  return [
    amountColumn("self"),
    amountColumn("overall"),
    {title: "Lines", kind: "calls", cell: row => countCell(row.lines)},
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

/** The maps that are in the address, and how to add one.
 * @param {import("../main.js").App} app @param {string} file "" on the list of files */
function mapPart(app, file) {
  const {state} = app;
  const field = (id, label, value) => [
    h("label", {for: id}, label),
    h("input", {type: "text", id, value, autocomplete: "off", spellcheck: "false", required: id === "map-from"}),
  ];
  const form = h(
    "form.map",
    null,
    field("map-from", "Files below", folderOf(file)),
    field("map-to", "are here below", "."),
    h("button", {type: "submit"}, "Look there"),
  );
  form.addEventListener("submit", event => {
    event.preventDefault();
    const value = id => form.querySelector("#" + id).value.trim();
    if (value("map-from"))
      app.go(changed(state, {map: [`${value("map-from")}=${value("map-to")}`, ...state.map]}));
  });
  return [
    state.map.length
      ? h(
          "ul.maps",
          {"aria-label": "Folders that are others here"},
          state.map.map(map =>
            h(
              "li.chip",
              null,
              h("bdi", null, map.replace("=", " is ")),
              h(
                "a.remove",
                {
                  href: href(changed(state, {map: state.map.filter(other => other !== map)})),
                  data: {key: "map " + map},
                  "aria-label": "Remove: " + map,
                },
                "×",
              ),
            ),
          ),
        )
      : null,
    form,
  ];
}

class FileView {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.head = h("div.title");
    this.reason = h("div.reason");
    this.hot = h("div.over.hot");
    this.table = h("div.code-table");
    this.element = h("div.file", null, this.head, this.reason, this.hot, this.table);
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
    if (this.answer?.text !== answer.text)
      this.tokens = answer.text && answer.text.length <= COLOURED ? tokensOf(answer.text, state.file) : null;
    this.answer = answer;
    this.hottest = hotLines(answer.rows);
    fill(
      this.head,
      h("p.over-title", null, h("a", {href: href(to(state, "source"))}, "Source")),
      h("h1.block-name", {tabindex: "-1"}, h("bdi", null, state.file)),
      h("p", null, `${plural(answer.rows.length, "line")} with numbers`),
    );
    this.showReason(answer);
    this.showHot(state);
    this.draw(state);
    const wanted = state.file + ":" + state.line;
    const line =
      state.line && this.scrolled !== wanted ? this.element.querySelector("tr.wanted") : null;
    line?.scrollIntoView({block: "center"});
    this.scrolled = wanted;
    return Boolean(line);
  }

  /** What to do if the text is not there. @param {any} answer */
  showReason(answer) {
    this.reason.hidden = Boolean(answer.text) && !this.app.state.map.length;
    fill(
      this.reason,
      answer.text
        ? null
        : h(
            "p.note",
            null,
            "The text is not shown: ",
            h("bdi", null, answer.reason ?? "it cannot be read"),
            ". Was it built elsewhere? Say which folder is which, or start with ",
            h("code", null, "ouro view --source DIR"),
            ".",
          ),
      mapPart(this.app, this.file),
    );
  }

  /** Where the hottest lines are. @param {import("../model/url.js").State} state */
  showHot(state) {
    const {answer, hottest} = this;
    this.hot.hidden = !hottest.length;
    const rank = hottest.indexOf(state.line);
    const row = answer.rows.find(one => one.line === state.line);
    const button = (text, by, letter) =>
      h(
        "button",
        {
          type: "button",
          data: {key: text, letter},
          onclick: () => this.app.go(changed(state, {line: nextHot(hottest, state.line, by)})),
        },
        text,
        " ",
        h("kbd", null, letter),
      );
    fill(
      this.hot,
      button("Next hot line", 1, "n"),
      rank >= 0 ? button("Previous", -1, "N") : null,
      h(
        "p.found",
        null,
        rank >= 0
          ? `Line ${state.line} is number ${rank + 1} of ${plural(hottest.length, "hot line")}: ` +
              `${percent(row.self, answer.total)} of all`
          : `${plural(hottest.length, "line")} with self; the hottest has ` +
              percent(Math.max(...answer.rows.map(one => one.self)), answer.total),
      ),
    );
  }

  /** The text of a line with its colours. @param {number} n */
  code(n) {
    const tokens = this.tokens?.[n - 1];
    return tokens
      ? tokens.map(([text, kind]) => (kind ? h("span." + kind, null, text) : text))
      : (this.answer.text[n - 1] ?? "");
  }

  /** @param {import("../model/url.js").State} state */
  draw(state) {
    const {answer} = this;
    const scale = scaleOf(answer);
    const byLine = new Map(answer.rows.map(row => [row.line, row]));
    this.most = Math.max(1, ...answer.rows.map(row => row.self));
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
              h(
                "th.num." + title.toLowerCase(),
                {scope: "col"},
                h("span.title", null, title),
                amountHead(scale),
              ),
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
    return h(
      state.line === n ? "tr.wanted" : row ? "tr" : "tr.cold",
      null,
      row ? amountCell(row.self, answer, scale, "self") : h("td.num"),
      row ? amountCell(row.overall, answer, scale, "overall") : h("td.num"),
      h(
        "th.line",
        {scope: "row", vars: {"--heat": row ? Math.sqrt(Math.max(0, row.self) / this.most) : 0}},
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
      answer.text ? h("td.text", null, h("code", {dir: "ltr"}, this.code(n))) : null,
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
    empty: "The profile names no files, so there is no source to show. Self lists its blocks.",
  });
  const maps = h("details.maps-of-all", null);
  const list = h(
    "div.file",
    null,
    h(
      "div.title",
      null,
      h("h1", {tabindex: "-1"}, "Source"),
      h("p", null, "The files that the profile names; a click shows the numbers beside the lines."),
    ),
    table.element,
    maps,
  );
  const file = new FileView(app);
  const element = h("div.page");
  const files = (state, more) =>
    question(state, {search: state.search, sort: state.sort || "-self", map: state.map, ...more});
  return {
    element,
    title: state => (state.file ? state.file.slice(0, 200) : "Source"),
    load: (state, signal) =>
      state.file
        ? ask("source", question(state, {file: state.file, map: state.map}), signal)
        : ask("files", files(state, window(state)), signal),
    show(state, answer) {
      const part = state.file ? file : table;
      const shown = state.file ? file.element : list;
      if (element.firstChild !== shown) element.replaceChildren(shown);
      if (!state.file) {
        fill(maps, h("summary", null, "Folders that are others here"), mapPart(app, ""));
        maps.open ||= state.map.length > 0;
        maps.hidden = !state.map.length && answer.rows.every(row => row.readable);
      }
      return part.show(state, answer);
    },
    csv: state =>
      state.file
        ? apiUrl("source", question(state, {file: state.file, format: "csv"}))
        : apiUrl("files", files(state, {format: "csv"})),
  };
}

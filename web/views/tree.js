// SPDX-License-Identifier: MIT
//
// The call tree, opened level by level. Which paths are open is part of the address. Rows of all
// levels are in one table. Deep ones are indented up to a limit, and show their level as a number
// from there on.

import {count, plural} from "../model/format.js";
import {window} from "../model/table.js";
import {flatten, keyOf, levels, opened, toggled} from "../model/tree.js";
import {changed, href, question} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask, askAlong} from "../parts/client.js";
import {fill, h, unseen} from "../parts/dom.js";
import {amountCell, amountHead, callsAreKnown, scaleOf} from "../parts/numbers.js";
import {crumbLine} from "../parts/path.js";
import {Table} from "../parts/table.js";

const CHILDREN = 50; // rows of an opened level; the rest has a page of its own
const INDENTED = 14; // levels
const HOT = 0.5; // a child with this share of its caller is on the hot path

class TreeView {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.table = new Table(app, {
      caption: "Call tree",
      columns: this.columns(),
      sort: "-overall",
      empty: "It calls nothing.",
      kind: "rows.tree",
    });
    this.table.table.addEventListener("keydown", event => this.key(event));
    this.crumbs = h("nav.crumbs", {"aria-label": "Top of the tree"});
    this.element = h(
      "div.page",
      null,
      h(
        "div.title",
        null,
        h("h1", {tabindex: "-1"}, "Call tree"),
        h(
          "p",
          null,
          "Who calls whom, the most expensive first. Recursion is compacted: a block stands again only " +
            "after something new.",
        ),
      ),
      h(
        "div.over",
        null,
        this.crumbs,
        h("button", {type: "button", onclick: () => this.openHot()}, "Open the hot path"),
        h("a.button", {href: "", data: {key: "close all"}}, "Close all"),
      ),
      this.table.element,
    );
  }

  columns() {
    const amounts = kind => ({
      title: kind === "self" ? "Self" : "Overall",
      sort: kind,
      kind: "num",
      below: answer => amountHead(scaleOf(answer)),
      cell: (row, answer) =>
        row.hidden ? h("td", {colspan: 1}) : amountCell(row[kind], answer, scaleOf(answer), kind),
    });
    return [
      amounts("overall"),
      amounts("self"),
      {
        title: "Calls",
        kind: "calls",
        when: answer => callsAreKnown(answer.rows),
        cell: row => h("td.calls", null, row.hidden ? "" : count(row.calls)),
      },
      {title: "Block", sort: "name", text: true, kind: "name", cell: row => this.nameCell(row)},
    ];
  }

  nameCell(row) {
    const {app} = this;
    const deep = row.level > INDENTED;
    const vars = {"--level": Math.min(row.level, INDENTED)};
    if (row.hidden)
      return h(
        "td.name",
        {vars},
        h("span.toggle"),
        h(
          "a",
          {href: href(changed(app.state, {at: row.path, open: [], rows: 0}))},
          `and ${count(row.hidden)} more callees`,
        ),
      );
    const toggle = row.children
      ? h(
          "a.toggle",
          {
            href: href(
              changed(app.state, {
                open: toggled(app.state.open, row.path),
                offset: app.state.offset,
              }),
            ),
            role: "button",
            "aria-expanded": String(Boolean(row.isOpen)),
            tabindex: "-1",
            "aria-label": `${row.found.name.slice(0, 80)}, ${plural(row.children, "callee")}`,
          },
          row.isOpen ? "▾" : "▸",
        )
      : h("span.toggle");
    return h(
      "th.name",
      {scope: "row", vars, data: {path: keyOf(row.path), open: row.isOpen ? "yes" : "no"}},
      toggle,
      unseen(`level ${row.level + 1} `),
      deep ? h("span.level", {"aria-hidden": "true"}, row.level + 1) : null,
      blockLink(app, row.found, {key: "t" + keyOf(row.path), where: true}),
    );
  }

  /** @param {import("../model/url.js").State} state @param {Record<string, any>} more */
  query(state, more) {
    return question(state, {sort: state.sort || "-overall", ...more});
  }

  /** Asks for all open levels at once. */
  async load(state, signal) {
    const first = await askAlong(state.at, at =>
      ask("tree", this.query(state, {at, ...window(state)}), signal),
    );
    const below = new Map();
    await Promise.all(
      levels(first.at, state.open).map(async path => {
        try {
          below.set(
            keyOf(path),
            await ask("tree", this.query(state, {at: path, limit: CHILDREN}), signal),
          );
        } catch (error) {
          // A path that the filters removed is just not open.
          if (signal.aborted || (error.status !== 404 && error.status !== 400)) throw error;
        }
      }),
    );
    this.topCount = first.rows.length;
    return {...first, rows: flatten(first.at, first, below)};
  }

  show(asked, answer) {
    const state = this.app.settle({...asked, at: answer.at});
    const {count: all, offset} = answer;
    // The table counts rows of the first level; the rows of opened levels are added.
    this.table.show(state, {...answer, count: all + answer.rows.length - this.topCount, offset});
    const top = path => href(changed(state, {at: path, open: [], rows: 0}));
    this.crumbs.hidden = !state.at.length;
    fill(
      this.crumbs,
      crumbLine(
        [
          ["all", top([])],
          ...state.at.map(
            (label, i) => /** @type {[string, string]} */ ([label, top(state.at.slice(0, i + 1))]),
          ),
        ],
        "top",
      ),
    );
    const close = this.element.querySelector("[data-key='close all']");
    close.hidden = state.open.length === 0;
    close.href = href(changed(state, {open: []}));
    this.answer = answer;
  }

  /** Follows the most expensive callee for as long as it has most of its caller's share. */
  async openHot() {
    const {app} = this;
    const path = [...app.state.at];
    let overall = this.answer.left;
    for (let n = 0; n < 60; n++) {
      const {rows, blocks} = await ask(
        "tree",
        this.query({...app.state, sort: ""}, {at: path, limit: 1}),
      );
      const label = rows.length ? blocks[rows[0].block].label : null;
      if (
        !label ||
        !rows[0].children ||
        (rows[0].overall < overall * HOT && path.length > app.state.at.length)
      )
        break;
      overall = rows[0].overall;
      path.push(label);
    }
    if (path.length > app.state.at.length)
      app.go(changed(app.state, {open: opened(app.state.open, path)}));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const cell = event.target instanceof Element ? event.target.closest("th[data-path]") : null;
    const toggle = /** @type {HTMLElement|null} */ (cell?.querySelector("a.toggle") ?? null);
    if (!(cell instanceof HTMLElement)) return;
    event.preventDefault();
    const isOpen = cell.dataset.open === "yes";
    if (toggle && isOpen === (event.key === "ArrowLeft")) toggle.click();
    else if (event.key === "ArrowLeft") this.toCaller(cell);
  }

  /** @param {HTMLElement} cell */
  toCaller(cell) {
    const above = keyOf(cell.dataset.path.split("\u001f").slice(0, -1));
    const row = [...this.table.body.querySelectorAll("th[data-path]")].find(
      other => other.dataset.path === above,
    );
    row?.querySelector("a[data-label]")?.focus();
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const view = new TreeView(app);
  return {
    element: view.element,
    title: () => "Call tree",
    load: (state, signal) => view.load(state, signal),
    show: (state, answer) => view.show(state, answer),
    csv: state => apiUrl("tree", view.query(state, {at: state.at, format: "csv"})),
  };
}

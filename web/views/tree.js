// SPDX-License-Identifier: MIT
//
// The call tree, opened along its hottest path and level by level from there. Which paths are open
// is part of the address. Rows of all levels are in one table. Deep ones are indented up to a
// limit, and show their level as a number from there on.

import {count, plural} from "../model/format.js";
import {window} from "../model/table.js";
import {callerOf, toggled} from "../model/tree.js";
import {changed, href, place, question, settled} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h, unseen} from "../parts/dom.js";
import {amountCell, amountHead, callsAreKnown, scaleOf} from "../parts/numbers.js";
import {Matches} from "../parts/matches.js";
import {crumbLine, stepsTo} from "../parts/path.js";
import {Table} from "../parts/table.js";

const CHILDREN = 20; // rows of an opened level; the rest has a page of its own
const INDENTED = 14; // levels
const DEEPEST = 100; // levels in one table; deeper rows lead to a table of their own
const ABOVE = 20; // levels shown above a match that is deeper

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
    this.matches = new Matches(app, "Search in the call tree");
    this.crumbs = h("nav.crumbs", {"aria-label": "Top of the tree"});
    this.hot = h("a.button", {href: "", data: {key: "hot"}}, "Open the hottest path");
    this.none = h("a.button", {href: "", data: {key: "close all"}}, "Close all");
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
      h("div.over", null, this.matches.element, this.hot, this.none),
      this.crumbs,
      this.table.element,
    );
    this.element.addEventListener("keydown", event => this.step(event));
  }

  /** @param {KeyboardEvent} event */
  step(event) {
    const {target} = event;
    const typed = target instanceof Element && target.matches("input, select");
    if (!typed && !event.ctrlKey && !event.metaKey && !event.altKey && this.matches.key(event.key))
      event.preventDefault();
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
        cell: row =>
          h("td.calls", null, row.hidden ? "" : row.calls === null ? "not counted" : count(row.calls)),
      },
      {
        title: "Block",
        sort: "name",
        text: true,
        kind: "name",
        cell: (row, answer, index) => this.nameCell(row, answer, index - answer.offset),
      },
    ];
  }

  /** @param {any} row @param {any} answer @param {number} index */
  nameCell(row, answer, index) {
    const {app} = this;
    const vars = {"--level": Math.min(row.level, INDENTED)};
    const level = answer.at.level + row.level + 1;
    const from = {path: row.id, open: [], rows: 0};
    if (row.hidden)
      return h(
        "td.name",
        {vars},
        h("span.toggle"),
        h("a", {href: href(changed(app.state, from))}, `and ${count(row.hidden)} more callees`),
      );
    const block = answer.blocks[row.block];
    const open = () => ({
      open: toggled(answer.rows, answer.open, index),
      offset: app.state.offset,
    });
    const toggle = row.children
      ? h(
          "a.toggle",
          {
            href: href(changed(app.state, row.level < DEEPEST ? open() : from)),
            role: "button",
            "aria-expanded": String(row.open),
            tabindex: "-1",
            "aria-label": `${block.name.slice(0, 80)}, ${plural(row.children, "callee")}`,
          },
          row.open ? "▾" : "▸",
        )
      : h("span.toggle");
    return h(
      "th.name",
      {scope: "row", vars, data: {row: index, open: row.open ? "yes" : "no"}},
      toggle,
      unseen(`level ${level} `),
      row.level > INDENTED ? h("span.level", {"aria-hidden": "true"}, level) : null,
      blockLink(app, block, {key: "t" + row.id, where: true}),
    );
  }

  /** @param {import("../model/url.js").State} state @param {Record<string, any>} more */
  query(state, more) {
    return question(state, {...place(state), sort: state.sort || "-overall", ...more});
  }

  /**
   * @param {import("../model/url.js").State} state
   * @param {string|undefined} match id of a path whose row is to be shown
   * @param {AbortSignal} signal
   */
  ask(state, match, signal) {
    const open = state.open.filter(id => id !== "none");
    return ask(
      "tree",
      this.query(state, {
        ...window(state),
        open: match ? [...open, match] : open,
        hot: state.open.length ? "" : "true",
        open_limit: CHILDREN,
      }),
      signal,
    );
  }

  async load(state, signal) {
    const found = await this.matches.load(state, signal);
    const match = state.match ? found?.rows[0] : undefined;
    let answer = await this.ask(state, match?.id, signal);
    if (match && !this.rowOf(answer, match.id)) {
      const path = await this.topAbove(match, signal);
      answer = await this.ask({...state, path, at: []}, match.id, signal);
    }
    return {...answer, matches: found, match};
  }

  /** @param {any} answer @param {string} id @returns {number} from 1 on; 0: there is none */
  rowOf(answer, id) {
    return answer.rows.findIndex(row => row.id === id && !row.hidden) + 1;
  }

  /** The top of a tree that shows a match: everything, or a caller some levels above.
   * @param {{id: string, level: number}} match @param {AbortSignal} signal */
  async topAbove(match, signal) {
    if (match.level <= DEEPEST) return "";
    const query = question(this.app.state, {path: match.id, limit: 0});
    return (await ask("tree", query, signal)).at.above.at(-ABOVE).id;
  }

  show(asked, answer) {
    const state = this.app.settle(settled(asked, answer));
    this.answer = answer;
    // The table counts rows of the first level; the rows of opened levels are added.
    const all = answer.count + answer.rows.length - answer.top_count;
    this.table.show(state, {...answer, count: all});
    this.matches.show(state, answer.matches);
    if (answer.match) this.showMatch(this.rowOf(answer, answer.match.id) - 1);
    this.crumbs.hidden = answer.at.id === null;
    const top = path => href(changed(state, {path, open: [], rows: 0}));
    fill(this.crumbs, crumbLine(stepsTo(answer.at, answer.blocks, top), "top"));
    this.hot.hidden = state.open.length === 0;
    this.hot.href = href(changed(state, {open: []}));
    this.none.hidden = !answer.rows.some(row => row.open);
    this.none.href = href(changed(state, {open: ["none"]}));
  }

  /** @param {number} row */
  showMatch(row) {
    const cell = this.table.body.querySelector(`th[data-row="${row}"]`);
    cell?.closest("tr").classList.add("match");
    cell?.scrollIntoView({block: "center"});
    // While the reader types, the field keeps the focus.
    if (!document.activeElement?.matches("input")) cell?.querySelector("a[data-label]")?.focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const cell = event.target instanceof Element ? event.target.closest("th[data-row]") : null;
    const toggle = /** @type {HTMLElement|null} */ (cell?.querySelector("a.toggle") ?? null);
    if (!(cell instanceof HTMLElement)) return;
    event.preventDefault();
    const isOpen = cell.dataset.open === "yes";
    if (toggle && isOpen === (event.key === "ArrowLeft")) toggle.click();
    else if (event.key === "ArrowLeft")
      this.focus(callerOf(this.answer.rows, Number(cell.dataset.row)));
  }

  /** @param {number} row */
  focus(row) {
    this.table.body.querySelector(`th[data-row="${row}"] a[data-label]`)?.focus();
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
    csv: state => apiUrl("tree", view.query(state, {format: "csv"})),
  };
}

// SPDX-License-Identifier: MIT
//
// A table of the server's rows: search as you type, headings that sort, more rows on demand. The
// search field and the table stay in the page while their rows are replaced, so neither a new
// answer nor a live profile disturbs typing or the focus.

import {count} from "../model/format.js";
import {ariaSort, foot, nextSort, order} from "../model/table.js";
import {changed, hasFilters, href} from "../model/url.js";
import {add, fill, h} from "./dom.js";

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {string} [sort]     the server's name of the column; without it, no sorting
 * @property {boolean} [text]    sorts from A first
 * @property {string} [kind]     a class
 * @property {(answer: any) => boolean} [when] false: the column is left out
 * @property {(answer: any) => Node|null} [below] second line of the heading
 * @property {(row: any, answer: any, index: number) => HTMLElement} cell the td, or th
 */

const WAIT = 120; // milliseconds after a key before the server is asked

/** @param {import("../main.js").App} app @param {string} label @param {string} hint */
export function searchField(app, label, hint) {
  let timer = 0;
  const input = h("input", {
    type: "search",
    placeholder: hint,
    "aria-label": label,
    autocomplete: "off",
    spellcheck: "false",
    data: {pageSearch: "yes"},
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => app.go(changed(app.state, {search: input.value, rows: 0}), {replace: true}),
      WAIT,
    );
  });
  input.addEventListener("keydown", event => {
    if (event.key === "Escape" && input.value === "") input.blur();
  });
  return {
    element: h("div.search", null, input),
    /** @param {string} text */
    show(text) {
      if (document.activeElement !== input) input.value = text;
    },
  };
}

export class Table {
  /**
   * @param {import("../main.js").App} app
   * @param {{caption: string, columns: Column[], sort: string, search?: string, empty?: string,
   *   showCaption?: boolean, kind?: string}} options sort: the server's default order; search: hint
   *   of the search field
   */
  constructor(app, options) {
    this.app = app;
    this.options = options;
    this.search = options.search
      ? searchField(app, "Search in: " + options.caption, options.search)
      : null;
    this.found = h("p.found");
    this.head = h("thead");
    this.body = h("tbody");
    this.foot = h("div.foot");
    this.table = h(
      "table." + (options.kind ?? "rows"),
      null,
      h(options.showCaption ? "caption" : "caption.unseen", null, options.caption),
      this.head,
      this.body,
    );
    this.element = h(
      "div.table",
      null,
      this.search ? h("div.over", null, this.search.element, this.found) : null,
      this.table,
      this.foot,
    );
  }

  /** @param {import("../model/url.js").State} state @param {any} answer with rows, count, offset */
  show(state, answer) {
    this.search?.show(state.search);
    const now = order(state.sort, this.options.sort);
    const columns = this.options.columns.filter(column => column.when?.(answer) ?? true);
    fill(
      this.head,
      h(
        "tr",
        null,
        columns.map(column => this.heading(column, state, now, answer)),
      ),
    );
    fill(
      this.body,
      answer.rows.length
        ? answer.rows.map((row, i) =>
            h(
              "tr",
              null,
              columns.map(c => c.cell(row, answer, answer.offset + i)),
            ),
          )
        : h("tr.empty", null, h("td", {colspan: columns.length}, this.nothing(state))),
    );
    fill(this.found, state.search ? `${count(answer.count)} found` : "");
    this.showFoot(state, foot(answer.count, answer.offset, answer.rows.length));
  }

  /** @param {import("../model/url.js").State} state */
  nothing(state) {
    if (state.search)
      return [
        "Nothing here contains “",
        h("bdi", null, state.search),
        "”. Search for a part of a name or a file.",
      ];
    if (hasFilters(state)) return "The filters leave nothing here. Remove one at the top.";
    return this.options.empty ?? "Nothing was recorded here. Choose another metric at the top.";
  }

  /**
   * @param {Column} column
   * @param {import("../model/url.js").State} state
   * @param {import("../model/table.js").Order} now
   */
  heading(column, state, now, answer) {
    const below = column.below?.(answer) ?? null;
    if (!column.sort)
      return h(
        "th." + (column.kind ?? "text"),
        {scope: "col"},
        h("span.title", null, column.title),
        below,
      );
    const next = changed(state, {sort: nextSort(now, column.sort, Boolean(column.text))});
    return h(
      "th." + (column.kind ?? "text"),
      {scope: "col", "aria-sort": ariaSort(now, column.sort)},
      h("a.title", {href: href(next), data: {key: "sort " + column.sort}}, column.title),
      below,
    );
  }

  /** @param {import("../model/url.js").State} state @param {ReturnType<typeof foot>} f */
  showFoot(state, f) {
    const parts = [];
    if (f.count > f.to || f.from > 1)
      parts.push(h("span", null, `${count(f.from)} to ${count(f.to)} of ${count(f.count)}`));
    if (f.previous !== null)
      parts.push(
        h(
          "a.button",
          {href: href(changed(state, {offset: f.previous})), data: {key: "previous"}},
          "Previous",
        ),
      );
    if (f.more)
      parts.push(
        h(
          "button",
          {type: "button", data: {key: "more"}, onclick: () => this.more(state, f.more)},
          "More rows",
        ),
      );
    if (f.next !== null)
      parts.push(
        h("a.button", {href: href(changed(state, {offset: f.next})), data: {key: "next"}}, "Next"),
      );
    fill(this.foot, parts);
    this.foot.hidden = parts.length === 0;
  }

  /** @param {import("../model/url.js").State} state @param {number} rows */
  more(state, rows) {
    this.app.go(changed(state, {rows, offset: state.offset}), {replace: true});
  }
}

/** A small table that does not ask the server: headings do not sort.
 * @param {string} caption
 * @param {{title: string, kind?: string, below?: Node|null}[]} heads
 * @param {HTMLElement[][]} rows
 * @param {string} [empty] */
export function plainTable(caption, heads, rows, empty = "None.") {
  const table = h(
    "table.rows",
    null,
    h("caption", null, caption),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        heads.map(head =>
          h(
            "th." + (head.kind ?? "text"),
            {scope: "col"},
            h("span.title", null, head.title),
            head.below ?? null,
          ),
        ),
      ),
    ),
  );
  const body = h("tbody");
  add(
    body,
    rows.length
      ? rows.map(cells => h("tr", null, cells))
      : [h("tr.empty", null, h("td", {colspan: heads.length}, empty))],
  );
  table.append(body);
  return table;
}

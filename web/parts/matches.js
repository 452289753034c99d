// SPDX-License-Identifier: MIT
//
// The search of a page that shows a tree: a field, what the matches are of all, and buttons to go
// from one match to the next. The server searches, so what is not drawn is found, too.

import {amount, count, percent, plural} from "../model/format.js";
import {changed, question} from "../model/url.js";
import {ApiError, ask} from "./client.js";
import {fill, h} from "./dom.js";
import {searchField} from "./table.js";

export class Matches {
  /** @param {import("../main.js").App} app @param {string} label */
  constructor(app, label) {
    this.app = app;
    this.count = 0;
    this.search = searchField(app, label, "Name, file or /expression/");
    this.said = h("p.found", {role: "status"});
    const button = (by, text, letter, title) =>
      h(
        "button.small",
        {type: "button", title, "aria-label": title, data: {letter}, onclick: () => this.step(by)},
        text,
      );
    this.steps = h(
      "span.steps",
      null,
      button(-1, "‹", "N", "Previous match (N)"),
      (this.number = h("span")),
      button(1, "›", "n", "Next match (n)"),
    );
    this.element = h("div.matches", null, this.search.element, this.steps, this.said);
    this.search.element.addEventListener("keydown", event => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    });
  }

  /** Goes to another match, around the end. @param {number} by */
  step(by) {
    const {state} = this.app;
    if (!this.count) return;
    const next = state.match ? state.match - 1 + by : by > 0 ? 0 : -1;
    const match = ((next + this.count) % this.count) + 1;
    this.app.go(changed(state, {match, offset: state.offset}), {replace: true});
  }

  /** @param {string} key @returns {boolean} whether it was one of ours */
  key(key) {
    if (!this.count || (key !== "n" && key !== "N")) return false;
    this.step(key === "n" ? 1 : -1);
    return true;
  }

  /**
   * What is found in all, and the match that the address says.
   * @param {import("../model/url.js").State} state @param {AbortSignal} signal
   * @returns {Promise<any>} null: nothing is searched; with `problem`, it cannot be
   */
  async load(state, signal) {
    const search = state.search.trim();
    if (!search) return null;
    const offset = Math.max(0, state.match - 1);
    try {
      return await ask("matches", question(state, {search, offset, limit: 1}), signal);
    } catch (error) {
      // Half of an expression that is being typed is no reason to show no page.
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      return {problem: error.message, count: 0, rows: []};
    }
  }

  /**
   * @param {import("../model/url.js").State} state
   * @param {any} found the answer
   * @param {number} [steps] how many matches can be gone to, if not all
   */
  show(state, found, steps = found?.count ?? 0) {
    this.search.show(state.search);
    this.count = steps;
    this.steps.hidden = !steps;
    this.number.textContent = `${state.match ? count(state.match) + " of " : ""}${count(steps)}`;
    this.said.classList.toggle("problem", Boolean(found?.problem));
    fill(this.said, found ? (found.problem ?? this.summary(found)) : "");
  }

  /** @param {any} found */
  summary(found) {
    const {matched, total, left, unit, decimals, block_count: blocks} = found;
    return [
      h("strong", null, percent(matched, total)),
      " of all",
      left === total ? "" : `, ${percent(matched, left)} of left`,
      `: ${amount(matched, unit, decimals, total)} in paths with ${plural(blocks, "block")}`,
    ];
  }
}

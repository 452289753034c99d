// SPDX-License-Identifier: MIT
//
// The dialog of the labels that the samples of a profile have (thread, host, what the profile has),
// with the amounts of their values, the largest first.
//
// A key may have a hundred thousand values: a page of them is asked for at a time, and what is not
// shown is said.

import {amount, percent} from "../model/format.js";
import {readLabel} from "../model/filters.js";
import {changed, question} from "../model/url.js";
import {ask} from "./client.js";
import {fill, h} from "./dom.js";
import {LabelDialog} from "./label_dialog.js";

const WAIT = 120; // milliseconds after the last letter
const PAGE = 100;

class Labels extends LabelDialog {
  /** @param {import("../main.js").App} app @param {string} [key] */
  constructor(app, key = "") {
    super(
      "Filter by label",
      "Search, or /expression/",
      h("button.clear", {type: "button", onclick: () => this.clear()}, "Remove all labels"),
    );
    this.app = app;
    this.key = key;
    this.chosen = new Set(app.state.label);
    this.shown = PAGE;
    this.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.shown = PAGE;
        this.loadValues();
      }, WAIT);
    });
  }

  /** The filters that are not of labels stay; those of labels are what is chosen here. */
  query(more = {}) {
    return question({...this.app.state, label: [...this.chosen]}, more);
  }

  async load() {
    try {
      const {rows} = await ask("labels", this.query({limit: 1000}), this.asked.signal);
      this.rows = rows;
      if (!rows.some(row => row.key === this.key)) this.key = rows[0]?.key ?? "";
      this.showKeys();
      if (this.key) await this.loadValues();
      else fill(this.values, h("p.none", null, "The samples of this profile have no labels."));
    } catch (error) {
      this.showProblem(error);
    }
  }

  showKeys() {
    const chosen = key => [...this.chosen].filter(label => readLabel(label).key === key).length;
    this.listKeys(
      this.rows.map(({key, values}) => ({
        key,
        values: values.toLocaleString("en"),
        chosen: chosen(key),
      })),
      key => this.choose(key),
    );
  }

  /** @param {string} key */
  choose(key) {
    this.key = key;
    this.shown = PAGE;
    this.search.value = "";
    this.showKeys();
    this.loadValues();
  }

  async loadValues() {
    this.asked.abort();
    this.asked = new AbortController();
    const {signal} = this.asked;
    const more = {
      key: this.key,
      search: this.search.value.trim(),
      limit: Math.min(this.shown, 1000),
    };
    try {
      const answer = await ask("labels", this.query(more), signal);
      if (!signal.aborted) this.show(answer);
    } catch (error) {
      if (!signal.aborted) this.showProblem(error);
    }
  }

  /** @param {any} answer */
  show(answer) {
    const whole = Math.max(1, ...answer.rows.map(row => row.amount));
    this.listValues(
      answer.rows.map(row => this.valueOf(answer, row, whole)),
      "No value contains that.",
      this.rest(answer),
    );
  }

  /** @param {any} answer */
  rest({rows, count}) {
    if (count <= rows.length) return null;
    return h(
      "p.rest",
      null,
      `${rows.length.toLocaleString("en")} of ${count.toLocaleString("en")} values. `,
      rows.length < 1000
        ? h("button", {type: "button", data: {key: "more"}, onclick: () => this.showMore()}, "Show more")
        : "Search for the others.",
    );
  }

  showMore() {
    this.shown = Math.min(1000, this.shown * 4);
    this.loadValues();
  }

  /** @param {any} answer @param {any} row @param {number} whole */
  valueOf(answer, row, whole) {
    const only = `${this.key}=${row.value}`,
      without = `${this.key}!=${row.value}`;
    return {
      text: row.value || `without ${this.key}`,
      said: !!row.value,
      share: Math.max(0, row.amount) / whole,
      amount: amount(row.amount, answer.unit, answer.decimals, answer.total),
      part: percent(row.amount, answer.total),
      data: {only, without},
      only: this.chosen.has(only),
      without: this.chosen.has(without),
      set: (struck, on) => (struck ? this.set(without, only, on) : this.set(only, without, on)),
    };
  }

  /** @param {string} label @param {string} other which contradicts it @param {boolean} on */
  set(label, other, on) {
    this.chosen.delete(other);
    if (on) this.chosen.add(label);
    else this.chosen.delete(label);
    this.showChosen();
  }

  clear() {
    this.chosen.clear();
    this.showChosen();
  }

  showChosen() {
    this.showKeys();
    this.mark(data => this.chosen.has(data));
  }

  close() {
    clearTimeout(this.timer);
    super.close();
  }

  apply() {
    const {app} = this,
      label = [...this.chosen];
    const same = label.length === app.state.label.length && label.every(one => app.state.label.includes(one));
    if (!same) app.go(changed(app.state, {label, rows: 0, open: []}));
  }
}

/** @param {import("../main.js").App} app @param {string} [key] which label is shown first */
export function openLabels(app, key = "") {
  if (!app.file?.label_count) return app.say("The samples of this profile have no labels.");
  new Labels(app, key).open();
}

/** @param {import("../main.js").App} app */
export function setUpLabels(app) {
  const button = document.getElementById("labels");
  button.hidden = !app.profile.files.some(file => file.label_count);
  button.addEventListener("click", () => openLabels(app));
}

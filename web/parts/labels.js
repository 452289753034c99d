// SPDX-License-Identifier: MIT
//
// The chooser of labels: on the left the keys (thread, host, what the profile has), on the right the
// values of one with their amounts, the largest first. Values are checked (only these) or struck out
// (without these), and applied in one step, so that undo takes them back in one.
//
// A key may have a hundred thousand values: a page of them is asked for at a time, and what is not
// shown is said.

import {amount, percent} from "../model/format.js";
import {readLabel} from "../model/filters.js";
import {changed, question} from "../model/url.js";
import {ask} from "./client.js";
import {fill, h} from "./dom.js";

const WAIT = 120; // milliseconds after the last letter
const PAGE = 100;

class Chooser {
  /** @param {import("../main.js").App} app @param {string} [key] */
  constructor(app, key = "") {
    this.app = app;
    this.key = key;
    this.chosen = new Set(app.state.label);
    this.shown = PAGE;
    this.asked = new AbortController();
    this.keys = h("ul.keys-list", {"aria-label": "Labels"});
    this.search = h("input", {
      type: "search",
      id: "label-search",
      placeholder: "Search, or /expression/",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Search among the values",
    });
    this.values = h("div.values", {"aria-live": "polite"});
    this.dialog = h(
      "dialog.labels",
      {"aria-labelledby": "labels-title"},
      h("h2", {id: "labels-title"}, "Filter by label"),
      h("div.columns", null, this.keys, h("div.of-key", null, this.search, this.values)),
      h(
        "form.actions",
        {method: "dialog"},
        h("button.primary", {value: "apply"}, "Apply"),
        h("button", {value: ""}, "Cancel"),
        h("button.clear", {type: "button", onclick: () => this.clear()}, "Remove all labels"),
      ),
    );
    this.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.shown = PAGE;
        this.load();
      }, WAIT);
    });
    this.search.addEventListener("keydown", event => this.fromSearch(event));
    this.dialog.addEventListener("close", () => this.end());
    this.dialog.addEventListener("click", event => event.target === this.dialog && this.dialog.close(""));
  }

  async open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.search.focus(); // not later: a reader may be elsewhere when the answer comes
    await this.loadKeys();
  }

  /** Down, from the search to the first value; Enter applies. @param {KeyboardEvent} event */
  fromSearch(event) {
    if (event.key === "Enter") this.dialog.close("apply");
    else if (event.key === "ArrowDown") this.values.querySelector("input")?.focus();
    else return;
    event.preventDefault();
  }

  /** The filters that are not of labels stay; those of labels are what is chosen here. */
  query(more = {}) {
    return question({...this.app.state, label: [...this.chosen]}, more);
  }

  async loadKeys() {
    try {
      const {rows} = await ask("labels", this.query({limit: 1000}), this.asked.signal);
      this.rows = rows;
      if (!rows.some(row => row.key === this.key)) this.key = rows[0]?.key ?? "";
      this.showKeys();
      if (this.key) await this.load();
      else fill(this.values, h("p.none", null, "The samples of this profile have no labels."));
    } catch (error) {
      this.showProblem(error);
    }
  }

  showKeys() {
    fill(
      this.keys,
      this.rows.map(row => {
        const count = [...this.chosen].filter(label => readLabel(label).key === row.key).length;
        return h(
          "li",
          null,
          h(
            "button",
            {
              type: "button",
              data: {key: "key " + row.key},
              "aria-current": row.key === this.key ? "true" : null,
              onclick: () => this.choose(row.key),
            },
            h("bdi.name", null, row.key),
            h("span.count", null, (count ? `${count} of ` : "") + row.values.toLocaleString("en")),
          ),
        );
      }),
    );
  }

  /** @param {string} key */
  choose(key) {
    this.key = key;
    this.shown = PAGE;
    this.search.value = "";
    this.showKeys();
    this.load();
  }

  async load() {
    this.asked.abort();
    this.asked = new AbortController();
    const {signal} = this.asked;
    const more = {key: this.key, search: this.search.value.trim(), limit: Math.min(this.shown, 1000)};
    try {
      const answer = await ask("labels", this.query(more), signal);
      if (!signal.aborted) this.show(answer);
    } catch (error) {
      if (!signal.aborted) this.showProblem(error);
    }
  }

  /** @param {any} error */
  showProblem(error) {
    fill(this.values, h("p.search-problem", {role: "alert"}, h("bdi", null, error.message)));
  }

  /** @param {any} answer */
  show(answer) {
    const {rows, count} = answer;
    const whole = Math.max(1, ...rows.map(row => row.amount));
    const more = count - rows.length;
    fill(
      this.values,
      rows.length
        ? h(
            "ul",
            {"aria-label": `Values of ${this.key}`, onkeydown: event => this.move(event)},
            rows.map((row, i) => this.value(answer, row, i, whole)),
          )
        : h("p.none", null, "No value contains that."),
      more > 0
        ? h(
            "p.rest",
            null,
            `${rows.length.toLocaleString("en")} of ${count.toLocaleString("en")} values. `,
            rows.length < 1000
              ? h("button", {type: "button", data: {key: "more"}, onclick: () => this.showMore()}, "Show more")
              : "Search for the others.",
          )
        : null,
    );
  }

  showMore() {
    this.shown = Math.min(1000, this.shown * 4);
    this.load();
  }

  /** @param {any} answer @param {any} row @param {number} i @param {number} whole */
  value(answer, row, i, whole) {
    const only = `${this.key}=${row.value}`,
      without = `${this.key}!=${row.value}`;
    const box = h("input", {type: "checkbox", id: `value-${i}`, data: {key: only}});
    box.checked = this.chosen.has(only);
    box.addEventListener("change", () => this.set(only, without, box.checked));
    const text = row.value || `without ${this.key}`;
    return h(
      "li",
      {vars: {"--share": Math.max(0, row.amount) / whole}},
      box,
      h("label", {for: `value-${i}`}, h(row.value ? "bdi" : "em", null, text)),
      h("span.amount", null, amount(row.amount, answer.unit, answer.decimals, answer.total)),
      h("span.part", null, percent(row.amount, answer.total)),
      h(
        "button",
        {
          type: "button",
          data: {key: without},
          "aria-pressed": String(this.chosen.has(without)),
          "aria-label": `Without ${text}`,
          onclick: () => this.set(without, only, !this.chosen.has(without)),
        },
        "without",
      ),
    );
  }

  /** @param {string} label @param {string} other which contradicts it @param {boolean} on */
  set(label, other, on) {
    this.chosen.delete(other);
    if (on) this.chosen.add(label);
    else this.chosen.delete(label);
    this.showKeys();
    this.mark();
  }

  /** The same values with other marks. A key that is down on one of them still comes up on it. */
  mark() {
    for (const box of this.values.querySelectorAll("input")) box.checked = this.chosen.has(box.dataset.key);
    for (const button of this.values.querySelectorAll("button[aria-pressed]"))
      button.setAttribute("aria-pressed", String(this.chosen.has(button.dataset.key)));
  }

  clear() {
    this.chosen.clear();
    this.showKeys();
    this.mark();
  }

  /** Arrows go from value to value. @param {KeyboardEvent} event */
  move(event) {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!by) return;
    const boxes = [...this.values.querySelectorAll("input")];
    const row = event.target instanceof Element ? event.target.closest("li") : null;
    const next = boxes.indexOf(row?.querySelector("input")) + by;
    if (next < 0) this.search.focus();
    else boxes[Math.min(next, boxes.length - 1)]?.focus();
    event.preventDefault();
  }

  end() {
    clearTimeout(this.timer);
    this.asked.abort();
    this.dialog.remove();
    const label = [...this.chosen];
    const same = label.length === this.app.state.label.length && label.every(one => this.app.state.label.includes(one));
    if (this.dialog.returnValue === "apply" && !same) this.app.go(changed(this.app.state, {label, rows: 0, open: []}));
  }
}

/** @param {import("../main.js").App} app @param {string} [key] which label is shown first */
export function openLabels(app, key = "") {
  if (!app.file?.label_count) return app.say("The samples of this profile have no labels.");
  new Chooser(app, key).open();
}

/** @param {import("../main.js").App} app */
export function setUpLabels(app) {
  const button = document.getElementById("labels");
  button.hidden = !app.profile.files.some(file => file.label_count);
  button.addEventListener("click", () => openLabels(app));
}

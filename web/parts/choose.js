// SPDX-License-Identifier: MIT
//
// The chooser of a store's labels: on the left the labels, on the right the values of one, with how
// many slices of the choice have them. Values are checked (one of these) or struck out (none of
// these), and applied in one step.

import {canName, terms, withLabel, withoutLabel} from "../model/choice.js";
import {count} from "../model/format.js";
import {ask} from "./client.js";
import {choiceOf, withChoice} from "./choice.js";
import {fill, h} from "./dom.js";

class Chooser {
  /** @param {import("../main.js").App} app @param {string} side */
  constructor(app, side) {
    this.app = app;
    this.side = side;
    this.text = choiceOf(app.state, side);
    this.key = "";
    /** @type {any[]} */ this.labels = [];
    this.asked = new AbortController();
    this.keys = h("ul.keys-list", {"aria-label": "Labels"});
    this.search = h("input", {
      type: "search",
      placeholder: "Search the values",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Search among the values",
      oninput: () => this.showValues(),
    });
    this.values = h("div.values", {"aria-live": "polite"});
    this.dialog = h(
      "dialog.labels",
      {"aria-labelledby": "choose-title"},
      h("h2", {id: "choose-title"}, "Choose by label"),
      h("div.columns", null, this.keys, h("div.of-key", null, this.search, this.values)),
      h(
        "form.actions",
        {method: "dialog"},
        h("button.primary", {value: "apply"}, "Apply"),
        h("button", {value: ""}, "Cancel"),
      ),
    );
    this.search.addEventListener("keydown", event => this.fromSearch(event));
    this.dialog.addEventListener("close", () => this.end());
    this.dialog.addEventListener(
      "click",
      event => event.target === this.dialog && this.dialog.close(""),
    );
  }

  async open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    await this.load();
    this.search.focus();
  }

  /** @param {KeyboardEvent} event */
  fromSearch(event) {
    if (event.key === "Enter") this.dialog.close("apply");
    else if (event.key === "ArrowDown") this.values.querySelector("input")?.focus();
    else return;
    event.preventDefault();
  }

  /** What the choice says of a label. @param {string} name */
  termOf(name) {
    return terms(this.text).find(term => term.name === name) ?? {values: [], without: false};
  }

  /** Counts are those of the choice without the label itself, so that its other values can be seen. */
  async load() {
    const {signal} = this.asked;
    try {
      const all = await ask("offer", new URLSearchParams(), signal);
      this.labels = all.labels.filter(label => canName(label.name));
      if (!this.key)
        this.key =
          this.labels.find(({name}) => name === "service")?.name ?? this.labels[0]?.name ?? "";
      this.showKeys();
      const query = new URLSearchParams({where: withoutLabel(this.text, this.key), name: this.key});
      const [label] = (await ask("offer", query, signal)).labels;
      this.rows = label?.rows ?? [];
      this.cut = label?.more;
      this.showValues();
    } catch (error) {
      if (!signal.aborted)
        fill(this.values, h("p.search-problem", {role: "alert"}, h("bdi", null, error.message)));
    }
  }

  showKeys() {
    fill(
      this.keys,
      this.labels.map(({name, values}) => {
        const chosen = this.termOf(name).values.length;
        return h(
          "li",
          null,
          h(
            "button",
            {
              type: "button",
              data: {key: "key " + name},
              "aria-current": name === this.key ? "true" : null,
              onclick: () => this.choose(name),
            },
            h("bdi.name", null, name),
            h("span.count", null, (chosen ? `${chosen} of ` : "") + count(values)),
          ),
        );
      }),
    );
  }

  /** @param {string} name */
  choose(name) {
    this.key = name;
    this.search.value = "";
    this.load();
  }

  showValues() {
    const search = this.search.value.trim().toLowerCase();
    const rows = this.rows.filter(({value}) => value.toLowerCase().includes(search));
    const most = Math.max(1, ...this.rows.map(row => row.slices));
    fill(
      this.values,
      rows.length
        ? h(
            "ul",
            {"aria-label": `Values of ${this.key}`, onkeydown: event => this.move(event)},
            rows.map((row, i) => this.value(row, i, most)),
          )
        : h(
            "p.none",
            null,
            this.rows.length ? "No value contains that." : "Nothing that is chosen has this label.",
          ),
      this.cut
        ? h(
            "p.rest",
            null,
            "The most frequent values are listed; others can be written in the choice itself.",
          )
        : null,
    );
  }

  /** @param {any} row @param {number} i @param {number} most */
  value({value, slices}, i, most) {
    const term = this.termOf(this.key);
    const there = term.values.includes(value);
    const box = h("input", {type: "checkbox", id: `choose-${i}`, data: {key: "value " + value}});
    box.checked = there && !term.without;
    box.addEventListener("change", () => this.set(value, false, box.checked));
    return h(
      "li",
      {vars: {"--share": slices / most}},
      box,
      h("label", {for: `choose-${i}`}, value ? h("bdi", null, value) : h("em", null, "(empty)")),
      h("span.amount", null, count(slices)),
      h("span.part", null, slices === 1 ? "slice" : "slices"),
      h(
        "button",
        {
          type: "button",
          data: {key: "without " + value},
          "aria-pressed": String(there && term.without),
          "aria-label": `Without ${value}`,
          onclick: () => this.set(value, true, !(there && term.without)),
        },
        "without",
      ),
    );
  }

  /**
   * A label is one of some values, or none of them.
   * @param {string} value
   * @param {boolean} without
   * @param {boolean} on
   */
  set(value, without, on) {
    const term = this.termOf(this.key);
    const others = term.without === without ? term.values.filter(other => other !== value) : [];
    this.text = withLabel(this.text, this.key, on ? [...others, value] : others, without);
    this.showKeys();
    this.showValues();
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
    this.asked.abort();
    this.dialog.remove();
    const {app, side, text} = this;
    if (this.dialog.returnValue === "apply" && text !== choiceOf(app.state, side))
      app.go(withChoice(app.state, side, text));
  }
}

/** @param {import("../main.js").App} app @param {string} side "" or "after" */
export function openChooser(app, side) {
  new Chooser(app, side).open();
}

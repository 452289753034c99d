// SPDX-License-Identifier: MIT
//
// The dialog of a store's labels, with how many slices of the choice have each value.

import {canName, terms, withLabel, withoutLabel} from "../model/choice.js";
import {count} from "../model/format.js";
import {ask} from "./client.js";
import {choiceOf, withChoice} from "./choice.js";
import {h} from "./dom.js";
import {LabelDialog} from "./label_dialog.js";

class Chooser extends LabelDialog {
  /** @param {import("../main.js").App} app @param {string} side */
  constructor(app, side) {
    super("Choose by label", "Search the values");
    this.app = app;
    this.side = side;
    this.text = choiceOf(app.state, side);
    /** @type {any[]} */ this.labels = [];
    /** @type {any[]} */ this.rows = [];
    this.search.addEventListener("input", () => this.showValues());
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
      if (!signal.aborted) this.showProblem(error);
    }
  }

  showKeys() {
    this.listKeys(
      this.labels.map(({name, values}) => ({
        key: name,
        values: count(values),
        chosen: this.termOf(name).values.length,
      })),
      key => this.choose(key),
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
    this.listValues(
      rows.map(row => this.valueOf(row, most)),
      this.rows.length ? "No value contains that." : "Nothing that is chosen has this label.",
      this.cut
        ? h("p.rest", null, "The most frequent values are listed; others can be written in the choice itself.")
        : null,
    );
  }

  /** @param {any} row @param {number} most */
  valueOf({value, slices}, most) {
    const term = this.termOf(this.key);
    const there = term.values.includes(value);
    return {
      text: value || "(empty)",
      said: !!value,
      share: slices / most,
      amount: count(slices),
      part: slices === 1 ? "slice" : "slices",
      data: {only: "value " + value, without: "without " + value},
      only: there && !term.without,
      without: there && term.without,
      set: (without, on) => this.set(value, without, on),
    };
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
    this.mark(data => this.isOn(data));
  }

  /** @param {string} data of a control */
  isOn(data) {
    const {values, without} = this.termOf(this.key);
    return values.some(value => data === (without ? "without " : "value ") + value);
  }

  apply() {
    const {app, side, text} = this;
    if (text !== choiceOf(app.state, side)) app.go(withChoice(app.state, side, text));
  }
}

/** @param {import("../main.js").App} app @param {string} side "" or "after" */
export function openChooser(app, side) {
  new Chooser(app, side).open();
}

// SPDX-License-Identifier: MIT
//
// A dialog of labels: on the left the keys, on the right a search and the values of one of them. Each
// value is checked (only this) or struck out (without this). What is chosen is applied in one step, so
// that undo takes it back in one. labels.js and choose.js say what there is to choose.

import {fill, h} from "./dom.js";

/**
 * A key on the left.
 * @typedef {{key: string, values: string, chosen: number}} Key
 *
 * A value on the right: `data` names its two controls, `part` stands behind the amount.
 * @typedef {{text: string, said: boolean, share: number, amount: string, part: string,
 *   data: {only: string, without: string}, only: boolean, without: boolean,
 *   set: (without: boolean, on: boolean) => void}} Value
 */

export class LabelDialog {
  /** @param {string} title @param {string} placeholder @param {...Node} actions behind Apply and Cancel */
  constructor(title, placeholder, ...actions) {
    this.key = "";
    this.asked = new AbortController();
    this.keys = h("ul.keys-list", {"aria-label": "Labels"});
    this.search = h("input", {
      type: "search",
      placeholder,
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Search among the values",
    });
    this.values = h("div.values", {"aria-live": "polite"});
    this.dialog = h(
      "dialog.labels",
      {"aria-labelledby": "labels-title"},
      h("h2", {id: "labels-title"}, title),
      h("div.columns", null, this.keys, h("div.of-key", null, this.search, this.values)),
      h(
        "form.actions",
        {method: "dialog"},
        h("button.primary", {value: "apply"}, "Apply"),
        h("button", {value: ""}, "Cancel"),
        ...actions,
      ),
    );
    this.search.addEventListener("keydown", event => this.fromSearch(event));
    this.dialog.addEventListener("close", () => this.close());
    this.dialog.addEventListener("click", event => event.target === this.dialog && this.dialog.close(""));
  }

  /** Subclasses fill it, and apply what was chosen. */
  async load() {}
  apply() {}

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.search.focus(); // not later: a reader may be elsewhere when the answer comes
    return this.load();
  }

  close() {
    this.asked.abort();
    this.dialog.remove();
    if (this.dialog.returnValue === "apply") this.apply();
  }

  /** Down, from the search to the first value; Enter applies. @param {KeyboardEvent} event */
  fromSearch(event) {
    if (event.key === "Enter") this.dialog.close("apply");
    else if (event.key === "ArrowDown") this.values.querySelector("input")?.focus();
    else return;
    event.preventDefault();
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

  /** @param {Key[]} keys @param {(key: string) => void} choose */
  listKeys(keys, choose) {
    const button = ({key, values, chosen}) =>
      h(
        "button",
        {
          type: "button",
          data: {key: "key " + key},
          "aria-current": key === this.key ? "true" : null,
          onclick: () => choose(key),
        },
        h("bdi.name", null, key),
        h("span.count", null, (chosen ? `${chosen} of ` : "") + values),
      );
    fill(this.keys, keys.map(key => h("li", null, button(key))));
  }

  /** @param {Value[]} values @param {string} none said if there are none @param {Node?} rest */
  listValues(values, none, rest) {
    const list = () =>
      h(
        "ul",
        {"aria-label": `Values of ${this.key}`, onkeydown: event => this.move(event)},
        values.map((value, i) => this.value(value, i)),
      );
    fill(this.values, values.length ? list() : h("p.none", null, none), rest);
  }

  /** @param {Value} value @param {number} i */
  value(value, i) {
    const {text, said, data, set} = value;
    const box = h("input", {type: "checkbox", id: `value-${i}`, data: {key: data.only}});
    box.checked = value.only;
    box.addEventListener("change", () => set(false, box.checked));
    const without = h(
      "button",
      {
        type: "button",
        data: {key: data.without},
        "aria-pressed": String(value.without),
        "aria-label": `Without ${text}`,
        onclick: () => set(true, without.getAttribute("aria-pressed") !== "true"),
      },
      "without",
    );
    return h(
      "li",
      {vars: {"--share": value.share}},
      box,
      h("label", {for: `value-${i}`}, h(said ? "bdi" : "em", null, text)),
      h("span.amount", null, value.amount),
      h("span.part", null, value.part),
      without,
    );
  }

  /** The same values with other marks. A key that is down on one of them still comes up on it.
   * @param {(data: string) => boolean} isOn
   */
  mark(isOn) {
    for (const box of this.values.querySelectorAll("input")) box.checked = isOn(box.dataset.key);
    for (const button of this.values.querySelectorAll("button[aria-pressed]"))
      button.setAttribute("aria-pressed", String(isOn(button.dataset.key)));
  }

  /** @param {any} error */
  showProblem(error) {
    fill(this.values, h("p.search-problem", {role: "alert"}, h("bdi", null, error.message)));
  }
}

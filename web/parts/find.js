// SPDX-License-Identifier: MIT
//
// "Find a block", on every page: type, choose from the best twenty, go there. A regular expression
// between slashes also offers to filter by all blocks that it matches.

import {typedExpression, withPart} from "../model/filters.js";
import {percent, shortFileLine} from "../model/format.js";
import {href, question, to} from "../model/url.js";
import {ask} from "./client.js";
import {h} from "./dom.js";

const WAIT = 120;
const ACTIONS = {
  "select-match": "Select: only paths with one of",
  "exclude-match": "Exclude: without the paths of",
  "fold-match": "Fold into their callers:",
};

class Find {
  /** @param {import("../main.js").App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    this.app = app;
    this.timer = 0;
    this.asked = new AbortController();
    this.input = h("input", {
      type: "search",
      id: "find-text",
      role: "combobox",
      placeholder: "Find a block",
      title: "A part of a name or file, or a regular expression between slashes: /^std::/",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Find a block",
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      "aria-controls": "found-blocks",
    });
    this.list = h("ul.found-list", {id: "found-blocks", role: "listbox", "aria-label": "Blocks"});
    this.list.hidden = true;
    parent.append(this.input, this.list);
    this.input.addEventListener("input", () => this.later());
    this.input.addEventListener("focus", () => this.input.value && this.later());
    this.input.addEventListener("keydown", event => this.key(event));
    this.input.addEventListener("blur", () => this.close());
    // The field keeps the focus.
    this.list.addEventListener("pointerdown", event => event.preventDefault());
    this.list.addEventListener("click", event => {
      const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
      if (option) this.choose(option);
    });
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), WAIT);
  }

  async look() {
    const text = this.input.value.trim();
    this.asked.abort();
    if (!text) return this.close();
    this.asked = new AbortController();
    const {signal} = this.asked;
    try {
      const answer = await ask("find", question(this.app.state, {text}), signal);
      if (!signal.aborted && document.activeElement === this.input) this.show(answer);
    } catch (error) {
      if (!signal.aborted) this.showProblem(error);
    }
  }

  /** @param {any} error */
  showProblem(error) {
    if (error.code !== "bad-pattern") return this.close();
    this.put([this.none(error.message)]);
  }

  /** @param {string} text */
  none(text) {
    return h("li.none", {role: "option", "aria-disabled": "true", "aria-selected": "false"}, text);
  }

  /** What can be done with all matches. @param {string} expression @param {number} count @param {number} after */
  actions(expression, count, after) {
    return Object.entries(ACTIONS).map(([kind, text], i) =>
      h(
        "li.act",
        {role: "option", id: `found-${after + i}`, "aria-selected": "false", data: {kind, expression}},
        h("span.name", null, `${text} ${count === 1 ? "1 match" : `${count} matches`}`),
      ),
    );
  }

  /** @param {any} answer */
  show(answer) {
    const options = answer.rows.map((row, i) => {
      const block = answer.blocks[row.block];
      return h(
        "li",
        {
          role: "option",
          id: "found-" + i,
          "aria-selected": i ? "false" : "true",
          data: {label: block.label},
        },
        h("bdi.name", null, block.name),
        h("bdi.where", null, shortFileLine(block)),
        h("span.part", null, percent(row.overall, answer.total)),
      );
    });
    const expression = typedExpression(this.input.value.trim());
    if (expression && options.length)
      options.push(...this.actions(expression, answer.count, options.length));
    this.put(options.length ? options : [this.none("No such block")]);
    if (options.length) this.input.setAttribute("aria-activedescendant", "found-0");
  }

  /** @param {HTMLElement[]} options */
  put(options) {
    this.list.replaceChildren(...options);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
  }

  close() {
    this.asked.abort();
    clearTimeout(this.timer);
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {Element} option */
  choose(option) {
    const {label, kind, expression} = /** @type {HTMLElement} */ (option).dataset;
    if (label === undefined && kind === undefined) return;
    this.input.value = "";
    this.close();
    this.input.blur();
    if (kind) this.app.go(withPart(this.app.state, {kind, value: expression}));
    else this.app.go(to(this.app.state, "block", {block: [label]}));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const options = [...this.list.querySelectorAll("[role=option]")];
    const at = options.findIndex(option => option.getAttribute("aria-selected") === "true");
    if (event.key === "Escape") {
      if (this.list.hidden) this.input.blur();
      this.close();
    } else if (event.key === "Enter" && at >= 0 && !this.list.hidden) {
      this.choose(options[at]);
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && options.length) {
      const next = (at + (event.key === "ArrowDown" ? 1 : options.length - 1)) % options.length;
      options.forEach((option, i) => option.setAttribute("aria-selected", String(i === next)));
      options[next].scrollIntoView({block: "nearest"});
      this.input.setAttribute("aria-activedescendant", options[next].id);
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** @param {import("../main.js").App} app */
export function setUpFind(app) {
  new Find(app, document.getElementById("find"));
}

// SPDX-License-Identifier: MIT
//
// "Find a block", on every page: type, choose from the best twenty, go there.

import {percent, shortFileLine} from "../model/format.js";
import {href, question, to} from "../model/url.js";
import {ask} from "./client.js";
import {h} from "./dom.js";

const WAIT = 120;

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
    } catch {
      if (!signal.aborted) this.close();
    }
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
    this.list.replaceChildren(
      ...(options.length
        ? options
        : [
            h(
              "li.none",
              {role: "option", "aria-disabled": "true", "aria-selected": "false"},
              "No such block",
            ),
          ]),
    );
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    if (options.length) this.input.setAttribute("aria-activedescendant", "found-0");
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
    const label = /** @type {HTMLElement} */ (option).dataset.label;
    if (label === undefined) return;
    this.input.value = "";
    this.close();
    this.input.blur();
    this.app.go(to(this.app.state, "block", {block: [label]}));
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

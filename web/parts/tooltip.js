// SPDX-License-Identifier: MIT
//
// The box under the pointer in a flame graph. Only for sighted readers: the same facts are below
// the graph, and read to screen readers, for the box that has the focus.

import {amount, count, fileLine, percent, shortened} from "../model/format.js";
import {h} from "./dom.js";
import {menuIsOpen} from "./menu.js";

const ENDS = ["pointerdown", "keydown", "scroll", "wheel", "contextmenu"];

/** @param {any} flame @param {any[]} blocks @param {any} answer @param {number} row */
export function boxFacts(flame, blocks, answer, row) {
  const block = blocks[flame.block[row]] ?? {
    name: "all",
    file: null,
    line: 0,
    column: 0,
    label: null,
    mark: "root",
  };
  const part = value =>
    `${amount(value, answer.unit, answer.decimals, answer.total)}, ` +
    `${percent(value, answer.total)} of all` +
    (answer.left === answer.total ? "" : `, ${percent(value, answer.left)} of left`);
  const recursions = flame.recursions?.[row] ?? 0;
  return {
    block,
    name: block.name,
    where: fileLine(block),
    overall: part(flame.value[row]),
    // Upside down a box has no self of its own.
    self: flame.self[row] === null ? "" : part(flame.self[row]),
    recursion: recursions ? `↻ entered ${count(recursions)} times by recursion` : "",
  };
}

/** What a box says, in lines: also of a graph that has other numbers.
 * @param {ReturnType<typeof boxFacts>} facts */
export function factLines(facts) {
  const line = (title, text) => (text ? [h("dt", null, title), h("dd", null, text)] : []);
  return h(
    "dl",
    null,
    line(facts.self ? "overall" : "spent", facts.overall),
    line("self", facts.self),
  );
}

export class Tooltip {
  constructor() {
    this.element = h("div.tooltip", {"aria-hidden": "true"});
    this.element.hidden = true;
    document.body.append(this.element);
    // Whatever is done next, it is about something else than the box under the pointer.
    this.hide = () => {
      this.element.hidden = true;
    };
    for (const name of ENDS)
      document.addEventListener(name, this.hide, {capture: true, passive: true});
  }

  /**
   * @param {ReturnType<typeof boxFacts>|null} facts
   * @param {{x: number, y: number}|null} point
   * @param {Node} [lines] instead of those of factLines
   */
  show(facts, point, lines) {
    this.element.hidden = !facts || !point || menuIsOpen();
    if (this.element.hidden) return;
    this.element.replaceChildren(
      h("p.name", null, h("bdi", null, shortened(facts.name, 300))),
      facts.where ? h("p.where", null, h("bdi", {dir: "ltr"}, shortened(facts.where, 200))) : "",
      lines ?? factLines(facts),
      facts.recursion ? h("p", null, facts.recursion) : "",
    );
    const {width, height} = this.element.getBoundingClientRect();
    const {clientWidth, clientHeight} = document.documentElement;
    const below = point.y + 18 + height < clientHeight;
    this.element.style.left = Math.max(4, Math.min(point.x + 12, clientWidth - width - 8)) + "px";
    this.element.style.top = Math.max(4, below ? point.y + 18 : point.y - height - 12) + "px";
  }

  close() {
    this.element.remove();
    for (const name of ENDS) document.removeEventListener(name, this.hide, {capture: true});
  }
}

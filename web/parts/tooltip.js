// SPDX-License-Identifier: MIT
//
// The box under the pointer in a flame graph. Only for sighted readers: the same facts are below
// the graph, and read to screen readers, for the box that has the focus.

import {amount, count, fileLine, percent, shortened} from "../model/format.js";
import {h} from "./dom.js";

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
    `${percent(value, answer.total)} of all, ${percent(value, answer.left)} of left`;
  const recursions = flame.recursions?.[row] ?? 0;
  return {
    block,
    name: block.name,
    where: fileLine(block),
    overall: part(flame.value[row]),
    self: part(flame.self[row]),
    recursion: recursions ? `↻ entered ${count(recursions)} times by recursion` : "",
  };
}

export class Tooltip {
  constructor() {
    this.element = h("div.tooltip", {"aria-hidden": "true"});
    this.element.hidden = true;
    document.body.append(this.element);
  }

  /** @param {ReturnType<typeof boxFacts>|null} facts @param {{x: number, y: number}|null} point */
  show(facts, point) {
    this.element.hidden = !facts || !point;
    if (this.element.hidden) return;
    const line = (title, text) => [h("dt", null, title), h("dd", null, text)];
    this.element.replaceChildren(
      h("p.name", null, h("bdi", null, shortened(facts.name, 300))),
      facts.where ? h("p.where", null, h("bdi", {dir: "ltr"}, shortened(facts.where, 200))) : "",
      h(
        "dl",
        null,
        (
          facts.lines ?? [
            ["overall", facts.overall],
            ["self", facts.self],
          ]
        ).map(([title, text]) => line(title, text)),
      ),
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
  }
}

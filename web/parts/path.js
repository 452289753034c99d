// SPDX-License-Identifier: MIT
//
// A path as a line of links, root first. A long one shows its beginning and its end; the middle is
// opened with a click.

import {count} from "../model/format.js";
import {blockLink} from "./block.js";
import {h} from "./dom.js";

const FIRST = 1,
  LAST = 4;
const CRUMBS = 8;
/** Opened paths stay open when a live profile is shown again. @type {Set<string>} */
const opened = new Set();

/** The arrow after a step, but not after the last one. @param {boolean} isLast */
export function arrow(isLast, sign = "›") {
  return isLast ? null : h("span.arrow", {"aria-hidden": "true"}, sign);
}

/**
 * @param {import("../main.js").App} app
 * @param {import("./block.js").Block[]} blocks of a very long path the first and the last half
 * @param {string} key
 * @param {number} [length] of the whole path
 */
export function pathLine(app, blocks, key, length = blocks.length) {
  const last = blocks.length - 1;
  const skipped = length - blocks.length;
  const gap = i =>
    skipped && i === blocks.length / 2
      ? [h("span", null, `… ${count(skipped)} more …`), arrow(false)]
      : null;
  const link = i =>
    h("li", null, gap(i), blockLink(app, blocks[i], {key: `${key} ${i}`}), arrow(i === last));
  const list = h("ol.path");
  const name = blocks.map(block => block.label).join("\u001f");
  if (blocks.length <= FIRST + LAST + 1 || opened.has(name)) {
    list.append(...blocks.map((_, i) => link(i)));
    return list;
  }
  const hidden = count(length - FIRST - LAST);
  const open = h(
    "button.middle",
    {
      type: "button",
      "aria-label": `Show ${hidden} more blocks of this path`,
      onclick: () => {
        opened.add(name);
        list.replaceChildren(...blocks.map((_, i) => link(i)));
        list.querySelectorAll("a")[FIRST]?.focus();
      },
    },
    `… ${hidden} …`,
  );
  list.append(
    ...blocks.slice(0, FIRST).map((_, i) => link(i)),
    h("li", null, open, arrow(false)),
    ...blocks.slice(-LAST).map((_, i) => link(blocks.length - LAST + i)),
  );
  return list;
}

/**
 * A path as links to its steps, to go back.
 * @param {[string, string][]} steps text and address, the top first
 * @param {string} key */
export function crumbLine(steps, key) {
  return h(
    "ol.path",
    null,
    steps.map(([text, address], i) =>
      h(
        "li",
        null,
        address
          ? h("a", {href: address, data: {key: `${key} ${i}`}}, h("bdi", null, text))
          : h("span.arrow", null, text),
        arrow(i === steps.length - 1),
      ),
    ),
  );
}

/**
 * The steps to a place in the tree for crumbLine. Of many, everything and the nearest.
 * @param {import("./flame_canvas.js").Place} at
 * @param {any[]} blocks
 * @param {(path: string) => string} address by id
 * @returns {[string, string][]} */
export function stepsTo(at, blocks, address) {
  const all = [...at.above, ...(at.id === null ? [] : [{id: at.id, block: at.block}])];
  const near = all.slice(-CRUMBS);
  const left = at.level - near.length;
  return [
    ["all", address("")],
    ...(left > 0 ? [/** @type {[string, string]} */ ([`… ${count(left)} …`, ""])] : []),
    ...near.map(({id, block}) => /** @type {[string, string]} */ ([blocks[block].label, address(id)])),
  ];
}

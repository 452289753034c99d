// SPDX-License-Identifier: MIT
//
// Every mention of a block: a link to its page, and a small menu to select, exclude or fold it. The
// menu's button is not a tab stop (a table of a hundred rows would have two hundred); on the link
// the keys s, e, f do the same at once, and m opens the menu.

import {fileLine, shortFileLine} from "../model/format.js";
import {to, href} from "../model/url.js";
import {h} from "./dom.js";

/**
 * @typedef {{label: string|null, name: string, file: string|null, line: number, column: number,
 *   mark: string|null}} Block
 */

const MARKS = {
  pruned:
    "Paths that were evicted because the profile was full. Their numbers are exact, their names are gone.",
  lost: "Charged while no memory was left.",
  folded: "Paths of which every block is folded.",
  truncated: "Stacks whose beginning was cut off when they were recorded.",
  root: "Everything.",
};

/** @param {string|null|undefined} mark */
export function meaningOf(mark) {
  return MARKS[mark ?? ""] ?? "";
}

/**
 * A blank name is shown in quotes, so that there is something to click on.
 * @param {string} name
 */
export function shownName(name) {
  return name.trim() ? name : `"${name}"`;
}

/**
 * @param {import("../main.js").App} app @param {Block|null} block null: the root
 * @param {{href?: string, key?: string, where?: boolean}} [options] href: the link's target instead
 *   of the block's page; where: with file and line
 */
export function blockLink(app, block, options = {}) {
  if (!block)
    return h("span.block.mark", {title: "The call came from outside of all blocks."}, "(root)");
  if (block.mark === "root" || block.label === null)
    return h("span.block.mark", null, block.name || "(root)");
  const target = options.href ?? href(to(app.state, "block", {block: [block.label]}));
  const where = fileLine(block);
  const name = shownName(block.name);
  const link = h(
    block.mark ? "a.mark" : "a",
    {
      href: target,
      title: [
        block.name.length > 400 ? block.name.slice(0, 400) + "…" : block.name,
        where,
        meaningOf(block.mark),
      ]
        .filter(Boolean)
        .join("\n"),
      data: {
        label: block.label,
        file: block.file ?? "",
        line: block.line ?? 0,
        key: (options.key ?? "") + "\u001f" + block.label,
      },
    },
    h("bdi", null, name.length > 600 ? name.slice(0, 600) + "…" : name),
  );
  const more = h(
    "button.more",
    {
      type: "button",
      tabindex: "-1",
      "aria-haspopup": "menu",
      title: "Select, exclude, fold (s, e, f)",
      "aria-label": "Filter by " + name.slice(0, 80),
    },
    "⋯",
  );
  return h(
    "span.block",
    null,
    h("span.ref", null, link, more),
    options.where && where ? h("bdi.where", {title: where, dir: "ltr"}, shortFileLine(block)) : null,
  );
}

/**
 * The block that an element stands for: the nearest link that has a label.
 * @param {Element|null} element
 */
export function mentioned(element) {
  const holder =
    element?.closest("[data-label]") ?? element?.closest(".block")?.querySelector("[data-label]");
  return holder instanceof HTMLElement ? holder : null;
}

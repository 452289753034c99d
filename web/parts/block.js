// SPDX-License-Identifier: MIT
//
// Every mention of a block: a link to its page, and a small menu to select, exclude or fold it. The
// menu's button is not a tab stop (a table of a hundred rows would have two hundred); on the link
// the keys s, e, f do the same at once, and m opens the menu. A block that recursed has a mark.

import {boxLabel, compact, count, fileLine, lineOf, plural} from "../model/format.js";
import {to, href} from "../model/url.js";
import {h, unseen} from "./dom.js";

/**
 * @typedef {{label: string|null, name: string, file: string|null, line: number, column: number,
 *   mark: string|null, recursion?: Recursion|null}} Block
 * @typedef {{direct: number|null, through: number|null, deepest: number|null}} Recursion how often it
 *   called itself, how often it was entered through others while it was on the stack, and how often
 *   it stood on one stack at most; null: not known
 */

const MARKS = {
  pruned:
    "Paths that were evicted because the profile was full. Their numbers are exact, their names are gone.",
  lost: "Spent while no memory was left to record where.",
  folded: "Paths of which every block is folded.",
  truncated: "Stacks whose beginning was cut off when they were recorded.",
  small: "The smallest paths of the choice, summed up: there were more than the viewer asks for. Totals are exact.",
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

/** @param {string} text @param {number} most */
function cut(text, most) {
  return text.length > most ? text.slice(0, most) + "…" : text;
}

/** @param {number|null} value null: samples do not count it */
function times(value) {
  return value === null ? "" : " " + plural(value, "time");
}

/** In a sentence. @param {Recursion} recursion */
export function recursionText({direct, through, deepest}) {
  const facts = [
    direct === 0 ? "" : "called itself" + times(direct),
    through === 0 ? "" : `entered${times(through)} through others`,
    deepest ? `at most ${count(deepest)} deep` : "",
  ].filter(Boolean);
  return facts.length ? `Recursive: ${facts.join(", ")}` : "Recursive: it can reach itself again";
}

/** ↻ and how deep. @param {Recursion|null|undefined} recursion */
export function recursionMark(recursion) {
  if (!recursion) return null;
  const {text, unit} = compact(recursion.deepest, "", 0);
  return h(
    "span.rec",
    {title: recursionText(recursion)},
    h("span", {"aria-hidden": "true"}, "↻", recursion.deepest > 1 ? " " + text + unit : ""),
    unseen(recursion.deepest > 1 ? `recursive, ${count(recursion.deepest)} deep` : "recursive"),
  );
}

/**
 * Where a block stands. What does not fit is cut on the left, so that the line number survives.
 * @param {Block} block
 */
export function whereOf(block) {
  const where = lineOf(block);
  return where ? h("span.where", {title: fileLine(block)}, h("bdi", {dir: "ltr"}, where)) : null;
}

/**
 * @param {import("../main.js").App} app @param {Block|null} block null: the root
 * @param {{href?: string, key?: string, where?: boolean, most?: number}} [options] href: the link's
 *   target instead of the block's page; where: with file and line; most: letters that there is room for
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
        cut(block.name, 400),
        where,
        meaningOf(block.mark),
        block.recursion ? recursionText(block.recursion) : "",
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
    h("bdi", null, options.most ? boxLabel(name, options.most) : cut(name, 600)),
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
    recursionMark(block.recursion),
    options.where ? whereOf(block) : null,
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

// SPDX-License-Identifier: MIT
//
// The filters at the top of every page: the selected, excluded and folded blocks, each removed with
// a click, and how much of the profile the filters leave.

import {amount, percent, shortened} from "../model/format.js";
import {FILTERS, changed, hasFilters, href, to, unfiltered} from "../model/url.js";
import {fill, h} from "./dom.js";

const MEANINGS = {
  select: "Only paths that contain it",
  exclude: "Without the paths that contain it",
  fold: "Removed from the paths; what was its own goes to its callers",
};

/**
 * @param {import("../model/url.js").State} state
 * @param {"select"|"exclude"|"fold"} filter
 * @param {string} label
 */
function chip(state, filter, label) {
  return h(
    "li.chip." + filter,
    {title: MEANINGS[filter] + ":\n" + label.slice(0, 400)},
    h("span.kind", null, filter),
    h(
      "a.of",
      {href: href(to(state, "block", {block: [label]})), data: {label, key: `of ${filter} ${label}`}},
      h("bdi", null, shortened(label, 60)),
    ),
    h(
      "a.remove",
      {
        href: href(unfiltered(state, filter, label)),
        data: {key: `chip ${filter} ${label}`},
        "aria-label": `Remove: ${filter} ${label.slice(0, 80)}`,
      },
      "×",
    ),
  );
}

/** Of a comparison, both sides. @param {any} answer */
function leftOfBoth(answer) {
  const most = Math.max(answer.total_before, answer.total_after);
  const side = name => [
    h("strong", null, amount(answer["left_" + name], answer.unit, answer.decimals, most)),
    ` left ${name}, `,
    percent(answer["left_" + name], answer["total_" + name]),
  ];
  return h("p.left-over", null, side("before"), "; ", side("after"));
}

/** @param {any} answer */
function leftOver(answer) {
  if (!answer || answer.left === undefined || answer.left === null) return null;
  if (answer.left_after !== undefined) return leftOfBoth(answer);
  return h(
    "p.left-over",
    null,
    h("strong", null, amount(answer.left, answer.unit, answer.decimals, answer.total)),
    " left, ",
    percent(answer.left, answer.total),
    " of ",
    amount(answer.total, answer.unit, answer.decimals),
  );
}

/**
 * @param {import("../main.js").App} app
 * @param {import("../model/url.js").State} state
 * @param {any} answer
 */
export function showFilters(app, state, answer) {
  const bar = document.getElementById("filters");
  bar.hidden = !hasFilters(state);
  if (bar.hidden) return bar.replaceChildren();
  const chips = FILTERS.flatMap(filter => state[filter].map(label => chip(state, filter, label)));
  fill(
    bar,
    h("ul.chips", {"aria-label": "Active filters"}, chips),
    leftOver(answer),
    h(
      "a.clear",
      {href: href(changed(state, {select: [], exclude: [], fold: []})), data: {key: "clear"}},
      "Remove all",
    ),
  );
}

// SPDX-License-Identifier: MIT
//
// The filters at the top of every page, each removed with a click: blocks, regular expressions,
// labels, and sets of them that have a name. How much of the profile they leave, and undo.

import {
  labelText,
  looseParts,
  named,
  noFilters,
  readLabel,
  readNamed,
  unnamed,
  withoutNamed,
  withoutPart,
} from "../model/filters.js";
import {amount, percent, shortened} from "../model/format.js";
import {RUN} from "../model/series.js";
import {choiceText, keptText, namesOf} from "../model/slices.js";
import {FILTERS, changed, hasFilters, href, to, atTime} from "../model/url.js";
import {fill, h} from "./dom.js";
import {openLabels} from "./labels.js";

const MEANINGS = {
  select: "Only paths that contain it",
  exclude: "Without the paths that contain it",
  fold: "Removed from the paths; what was its own goes to its callers",
  "select-match": "Only paths with a block whose name or file matches",
  "exclude-match": "Without the paths with a block whose name or file matches",
  "fold-match": "All blocks that match are removed from the paths",
  label: "Only samples with this label",
};

/** @typedef {import("../model/filters.js").Part} Part */
/** @typedef {import("../model/url.js").State} State */

/** @param {Part} part */
function kindOf({kind, value}) {
  return kind === "label" && readLabel(value).without ? "exclude" : kind.replace("-match", "");
}

/** @param {Part} part @returns {string} for people */
function textOf({kind, value}) {
  if (kind === "label") return labelText(value);
  return kind.endsWith("-match") ? `/${value}/` : value;
}

/** The inside of a chip: a link to the block, a button to the labels, or text.
 * @param {import("../main.js").App} app @param {State} state @param {Part} part */
function inside(app, state, part) {
  const {kind, value} = part;
  const key = `of ${kind} ${value}`;
  const text = h("bdi", null, shortened(textOf(part), 60));
  if (FILTERS.includes(/** @type {any} */ (kind)))
    return h("a.of", {href: href(to(state, "block", {block: [value]})), data: {label: value, key}}, text);
  if (kind === "label")
    return h(
      "button.of",
      {type: "button", data: {key}, onclick: () => openLabels(app, readLabel(value).key)},
      text,
    );
  return h("span.of", null, text);
}

/** @param {import("../main.js").App} app @param {State} state @param {Part} part @param {string} remove */
function chip(app, state, part, remove) {
  const {kind, value} = part;
  const how = kindOf(part);
  const word = kind === "label" ? "label" : how;
  return h(
    "li.chip." + how + (kind.endsWith("-match") ? ".match" : "") + (kind === "label" ? ".label" : ""),
    {title: `${MEANINGS[kind]}:\n${textOf(part).slice(0, 400)}`},
    h("span.kind", null, word),
    inside(app, state, part),
    remove
      ? h(
          "a.remove",
          {
            href: remove,
            data: {key: `chip ${kind} ${value}`},
            "aria-label": `Remove: ${word} ${textOf(part).slice(0, 80)}`,
          },
          "×",
        )
      : null,
  );
}

/** Opened, a named set shows its parts.
 * @param {import("../main.js").App} app @param {State} state @param {string} text */
function namedChip(app, state, text) {
  const {name, parts} = readNamed(text);
  const count = parts.length === 1 ? "1 filter" : `${parts.length} filters`;
  return h(
    "li.chip.named",
    {title: parts.map(part => `${kindOf(part)} ${textOf(part)}`.slice(0, 200)).join("\n")},
    h(
      "details",
      null,
      h("summary", {data: {key: `named ${text}`}}, h("bdi", null, shortened(name, 60)), h("span.kind", null, count)),
      h(
        "div.inside",
        null,
        h(
          "ul.chips",
          {"aria-label": `Filters of ${name}`},
          parts.map(part => chip(app, state, part, "")),
        ),
        h("a", {href: href(unnamed(state, text)), data: {key: `unname ${text}`}}, "Take it apart"),
      ),
    ),
    h(
      "a.remove",
      {
        href: href(withoutNamed(state, text)),
        data: {key: `chip named ${text}`},
        "aria-label": `Remove: ${name.slice(0, 80)}`,
      },
      "×",
    ),
  );
}

/** Only the last seconds of a live file. @param {State} state @param {any} answer */
function lastChip(state, answer) {
  const seconds = Math.round(answer?.last ?? Number(state.last));
  return h(
    "li.chip.last",
    {title: "Only what happened in these seconds; the time between two looks at the file is not cut"},
    h("span.kind", null, "last"),
    h("bdi", null, `${seconds} s`),
    h(
      "a.remove",
      {href: href(changed(state, {last: ""})), data: {key: "chip last"}, "aria-label": `Remove: last ${seconds} s`},
      "×",
    ),
  );
}

/** A stretch of the time that a live file was watched. @param {State} state @param {any} answer */
function duringChip(state, answer) {
  const [from, until] = state.during.split("-").map(Number);
  const [begin, end] = answer?.during ?? [from, until || null];
  const text = end ? RUN.stretch(begin * 1000, end * 1000) : `since ${RUN.length(begin * 1000)}`;
  return h(
    "li.chip.last",
    {title: "Only what happened then; the time between two looks at the file is not cut"},
    h("span.kind", null, "during"),
    h("bdi", null, text),
    h(
      "a.remove",
      {href: href(atTime(state, {})), data: {key: "chip during"}, "aria-label": `Remove: during ${text}`},
      "×",
    ),
  );
}

/**
 * Slices that were chosen, and how many of them can be seen.
 * @param {import("../main.js").App} app @param {State} state
 * @param {"slices"|"against"} kind @param {any} counts of the answer, if there is one
 */
function slicesChip(app, state, kind, counts) {
  const names = namesOf(app.file?.slice_name ?? "slice");
  const text = choiceText(state[kind]);
  const few = counts && counts.kept < counts.count;
  const word = kind === "against" ? "against" : names;
  const without = kind === "against" ? changed(state, {against: ""}) : atTime(state, {});
  const target = kind === "against" && state.page === "compare" ? to(without, "time") : without;
  return h(
    `li.chip.slices.${kind}${few ? ".few" : ""}`,
    {
      title: few
        ? `Only what is known of these ${names}: ${keptText(counts)} have trees`
        : `Only what happened in these ${names}`,
    },
    h("span.kind", null, word),
    h("a.of", {href: href(to(state, "time")), data: {key: `of ${kind}`}}, h("bdi", null, shortened(text, 60))),
    counts ? h("span.trees", null, few ? `${keptText(counts)} have trees` : keptText(counts)) : null,
    h(
      "a.remove",
      {href: href(target), data: {key: `chip ${kind}`}, "aria-label": `Remove: ${word} ${text}`},
      "×",
    ),
  );
}

/** Asks for a name for the loose filters. @param {import("../main.js").App} app */
function askName(app) {
  const input = h("input", {id: "filter-name", type: "text", maxlength: "60", required: true, autocomplete: "off"});
  const dialog = h(
    "dialog.naming",
    {"aria-labelledby": "naming-title"},
    h("h2", {id: "naming-title"}, "Name these filters"),
    h(
      "form",
      {method: "dialog"},
      h("p", null, h("label", {for: "filter-name"}, "The name is part of the address: a shared link shows it.")),
      input,
      h(
        "p.actions",
        null,
        h("button.primary", {value: "name"}, "Name"),
        h("button", {value: "", formnovalidate: true}, "Cancel"),
      ),
    ),
  );
  dialog.addEventListener("close", () => {
    const name = input.value.trim();
    dialog.remove();
    if (dialog.returnValue === "name" && name) app.go(named(app.state, name));
  });
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
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

/** @param {import("../main.js").App} app @param {State} state */
function controls(app, state) {
  const undoable = app.undoable.length > 0;
  return h(
    "p.filter-tools",
    null,
    undoable
      ? h(
          "button",
          {
            type: "button",
            data: {key: "undo"},
            title: "Undo the last change of the filters (u)",
            onclick: () => app.undo(),
          },
          "Undo",
        )
      : null,
    looseParts(state).length
      ? h(
          "button",
          {type: "button", data: {key: "name"}, title: "Give these filters a name", onclick: () => askName(app)},
          "Name…",
        )
      : null,
    hasFilters(state)
      ? h("a.clear", {href: href(changed(state, noFilters())), data: {key: "clear"}}, "Remove all")
      : null,
  );
}

/**
 * @param {import("../main.js").App} app
 * @param {State} state
 * @param {any} answer
 */
export function showFilters(app, state, answer) {
  const bar = document.getElementById("filters");
  bar.hidden = !hasFilters(state) && !app.undoable.length && !state.last && !state.during;
  if (bar.hidden) return bar.replaceChildren();
  const open = new Set(
    [...bar.querySelectorAll("details[open] summary")].map(summary => summary.getAttribute("data-key")),
  );
  const chips = [
    ...(state.last ? [lastChip(state, answer)] : []),
    ...(state.during ? [duringChip(state, answer)] : []),
    ...(state.slices ? [slicesChip(app, state, "slices", answer?.slices_after ?? answer?.slices)] : []),
    ...(state.against ? [slicesChip(app, state, "against", answer?.slices_before)] : []),
    ...state.named.map(text => namedChip(app, state, text)),
    ...looseParts(state).map(part => chip(app, state, part, href(withoutPart(state, part)))),
  ];
  fill(
    bar,
    chips.length ? h("ul.chips", {"aria-label": "Active filters"}, chips) : h("p.none", null, "No filters"),
    hasFilters(state) ? leftOver(answer) : null,
    controls(app, state),
  );
  for (const summary of bar.querySelectorAll("summary"))
    if (open.has(summary.getAttribute("data-key"))) summary.parentElement.setAttribute("open", "");
}

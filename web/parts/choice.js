// SPDX-License-Identifier: MIT
//
// Which part of a store is shown, at the top of every page: a chip per label and time, each removed
// with a click, and the other choice when two are compared. Says what is missing of the answer, of a
// store or of a live file whose disk was full.

import {described, terms, withoutTerm} from "../model/choice.js";
import {shortened} from "../model/format.js";
import {clockOf, dayOf} from "../model/series.js";
import {changed, href, to} from "../model/url.js";
import {openChooser} from "./choose.js";
import {fill, h} from "./dom.js";

/** @typedef {import("../model/url.js").State} State */

// The other side of a comparison is never empty text, which would mean that there is none.
const EVERYTHING = "until=now";

/** The choice of a side. @param {State} state @param {string} side */
export function choiceOf(state, side) {
  return side === "after" ? state.with : state.where;
}

/** The same page with another choice on a side. @param {State} state @param {string} side @param {string} text */
export function withChoice(state, side, text) {
  const change = side === "after" ? {with: text.trim() || EVERYTHING} : {where: text.trim()};
  return changed(state, {...change, rows: 0, open: []});
}

/** @param {string} value of a time */
function timeText(value) {
  const time = /^\d{4}-/.test(value)
    ? Date.parse(value.replace(/Z?$/, value.includes("T") ? "Z" : ""))
    : NaN;
  if (!Number.isNaN(time)) return `${dayOf(time)} ${clockOf(time, time % 60000 !== 0)} UTC`;
  return /^[\d.]+[smhdw]$/.test(value) ? `${value} ago` : value;
}

/** @param {import("../model/choice.js").Term} term */
function textOf({name, values}) {
  const times = name === "since" || name === "until";
  return values.map(value => (times ? timeText(value) : value || "(empty)")).join(", ");
}

/** @param {State} state @param {string} side @param {import("../model/choice.js").Term} term @param {number} i */
function chip(state, side, term, i) {
  const text = textOf(term);
  const word = term.without ? `${term.name} not` : term.name;
  return h(
    term.without ? "li.chip.exclude" : "li.chip.select",
    {title: term.raw.slice(0, 400)},
    h("span.kind", null, h("bdi", null, shortened(word, 40))),
    h("bdi.of", null, shortened(text, 60)),
    h(
      "a.remove",
      {
        href: href(withChoice(state, side, withoutTerm(choiceOf(state, side), i))),
        data: {key: `choice ${side} ${term.raw}`},
        "aria-label": `Remove: ${word} ${text.slice(0, 80)}`,
      },
      "×",
    ),
  );
}

/** @param {import("../main.js").App} app @param {State} state @param {string} side @param {string} title */
function row(app, state, side, title) {
  const text = choiceOf(state, side);
  const chips = terms(text).map((term, i) => chip(state, side, term, i));
  const label = state.with ? `Choice ${title}` : "Choice";
  const edited = state.with && state.page === "fleet";
  const now = (state.side === "after") === (side === "after");
  return h(
    "div.choice",
    {data: {side: side || "before"}},
    edited
      ? h(
          "a.of-side",
          {
            href: href({...state, side}),
            "aria-current": now ? "true" : null,
            data: {key: "edit " + side},
            title: "The chart shows and changes this one",
          },
          title,
        )
      : h("span.of-side", null, state.with ? title : "Shown"),
    chips.length ? h("ul.chips", {"aria-label": label}, chips) : h("p.all", null, described("")),
    h(
      "button.small",
      {
        type: "button",
        data: {key: "add " + side},
        "aria-haspopup": "dialog",
        "aria-label": `Choose labels${state.with ? " " + title : ""}`,
        onclick: () => openChooser(app, side),
      },
      "Labels…",
    ),
  );
}

/** @param {State} state */
function comparing(state) {
  return state.with
    ? h(
        "a.button.small",
        {
          href: href(
            changed(state.page === "compare" ? to(state, "overview") : state, {with: "", side: ""}),
          ),
          data: {key: "no compare"},
        },
        "Stop comparing",
      )
    : h(
        "a.button.small",
        {
          href: href(to(state, "fleet", {with: state.where || EVERYTHING, side: "after"})),
          data: {key: "compare with"},
          title: "Choose what this is compared with: another build, host or time",
        },
        "Compare with…",
      );
}

/** @param {import("../main.js").App} app @param {any} answer @returns {string[]} what is missing: a title, and words */
function missingOf(app, answer) {
  const files = app.profile?.files ?? [],
    part = [...files.map(file => file.missing), answer?.missing].find(Boolean);
  if (part) return ["A part of the store did not answer.", part];
  return files.some(file => file.no_space)
    ? ["The live file could not grow.", "Its disk has no space for more paths; what is cold is in [pruned]."]
    : [];
}

/** Said again only if it changed: a reader's voice speaks of every change.
 * @param {import("../main.js").App} app @param {any} answer */
function showMissing(app, answer) {
  const banner = document.getElementById("missing"),
    [title, words] = missingOf(app, answer);
  banner.hidden = !title;
  if (banner.textContent === (title ? `${title} ${words}` : "")) return;
  fill(banner, title ? [h("strong", null, title), " ", h("bdi", null, words)] : []);
}

/** @param {import("../main.js").App} app @param {State} state @param {any} answer */
export function showChoice(app, state, answer) {
  const bar = document.getElementById("choice");
  showMissing(app, answer);
  bar.hidden = !app.profile?.store;
  if (bar.hidden) return;
  fill(
    bar,
    h(
      "div.choices",
      null,
      row(app, state, "", state.with ? "before" : ""),
      state.with ? row(app, state, "after", "after") : null,
    ),
    h("p.choice-tools", null, comparing(state)),
  );
}

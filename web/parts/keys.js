// SPDX-License-Identifier: MIT
//
// The keys of every page, the menu of a block, and the page of keys. Letters act only while no text
// is typed and no modifier is held, and can be switched off.

import {filtered, href, to} from "../model/url.js";
import {mentioned} from "./block.js";
import {h} from "./dom.js";
import {showHint, wordPart} from "./help.js";
import {openLabels} from "./labels.js";
import {closeMenu, openMenu} from "./menu.js";

const FILTER_KEYS = /** @type {const} */ ({s: "select", e: "exclude", f: "fold"});
/** What each filter does, in six words or less, where it is offered. */
export const EFFECTS = {
  select: "Keep only paths that contain it",
  exclude: "Drop all paths that contain it",
  fold: "Remove it; callers take its self",
};
const SAID = {select: "Only paths with ", exclude: "Without paths with ", fold: "Folded: "};
const KEYS = [
  ["/", "search on this page, or find a block"],
  ["s  e  f", "select, exclude, fold the block that has the focus"],
  ["m", "menu of the block that has the focus"],
  ["u", "undo the last change of the filters"],
  ["l", "filter by labels: thread, host and the like"],
  ["p", "live: pause, or go on; a store: follow it, or stop"],
  ["↑  ↓", "previous and next row of a table"],
  ["→  ←", "open and close a row of the call tree"],
  ["Enter", "follow the link; in the flame graph: zoom in"],
  ["Backspace", "in the flame graph: zoom out"],
  ["arrows", "in the flame graph: to the caller, the widest callee, the neighbours"],
  ["+  -  0", "in the flame graph: magnify, shrink, show the whole width; Shift and ← → move"],
  ["i", "turn the flame graph upside down"],
  ["n  N", "next and previous: match of the search in the flame graph and the call tree, hot line in a source"],
  [
    "g then a letter",
    "go to: l fleet, o overview, i time, s self, a overall, p paths, f flame graph, t call tree, r recursion, c source",
  ],
  ["?", "this page"],
];
const GOES = {
  l: "fleet",
  o: "overview",
  i: "time",
  s: "self",
  a: "overall",
  p: "paths",
  f: "flame",
  t: "tree",
  r: "recursion",
  c: "source",
};

/**
 * @param {import("../main.js").App} app
 * @param {"select"|"exclude"|"fold"} filter
 * @param {string} label
 */
export function applyFilter(app, filter, label) {
  app.say(SAID[filter] + label.slice(0, 80));
  return app.go(filtered(app.state, filter, label));
}

/**
 * @param {import("../main.js").App} app
 * @param {string} label
 * @param {{file?: string, line?: number}} source
 * @param {HTMLElement|null} from @param {{x: number, y: number}|null} [point] */
export function openBlockMenu(app, label, source, from, point = null) {
  const {state} = app;
  openMenu(
    "Block " + label.slice(0, 80),
    [
      ...Object.entries(FILTER_KEYS).map(([key, filter]) => ({
        text: filter[0].toUpperCase() + filter.slice(1),
        more: EFFECTS[filter],
        key,
        act: () => applyFilter(app, filter, label),
      })),
      null,
      {text: "Callers and callees", more: "going in, going out", href: href(to(state, "block", {block: [label]}))},
      {text: "Flame graph of its paths", href: href(filtered(to(state, "flame"), "select", label))},
      ...(source.file
        ? [
            {
              text: "Source",
              href: href(to(state, "source", {file: source.file, line: source.line || 0})),
            },
          ]
        : []),
    ],
    from,
    point,
  );
}

/** @param {EventTarget|null} target */
function types(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, select, textarea"))
  );
}

/** @param {HTMLElement} link */
function placeOf(link) {
  return {file: link.dataset.file, line: Number(link.dataset.line)};
}

/** The block link in the row above or below. @param {Element} from @param {number} by */
function moveRow(from, by) {
  let row = from.closest("tr");
  const at = row ? [...row.querySelectorAll("a[data-label]")].indexOf(from) : -1;
  while (row) {
    row = /** @type {any} */ (by > 0 ? row.nextElementSibling : row.previousElementSibling);
    const links = row?.querySelectorAll("a[data-label]") ?? [];
    const link = links[Math.min(Math.max(at, 0), links.length - 1)];
    if (link instanceof HTMLElement) {
      link.focus();
      return true;
    }
  }
  return false;
}

function search() {
  const field =
    document.querySelector("[data-page-search]") ?? document.getElementById("find-text");
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  }
}

/** Whether letters act; stored by the browser. */
const letters = {
  get on() {
    try {
      return localStorage.getItem("ouro-keys") !== "off";
    } catch {
      return true;
    }
  },
  set on(value) {
    try {
      localStorage.setItem("ouro-keys", value ? "on" : "off");
    } catch {
      /* valid until the page is closed */
    }
  },
};

/** @param {import("../main.js").App} app */
function showHelp(app) {
  const {words, hints} = wordPart(() => showHint(app.state.page));
  const box = h("input", {type: "checkbox", id: "letters"});
  box.checked = letters.on;
  box.addEventListener("change", () => {
    letters.on = box.checked;
  });
  const dialog = h(
    "dialog.help",
    {"aria-labelledby": "help-title"},
    h("h2", {id: "help-title"}, "Keys"),
    h(
      "dl.keys",
      null,
      KEYS.map(([key, text]) => [h("dt", null, h("kbd", null, key)), h("dd", null, text)]),
    ),
    h("h2", null, "Words"),
    words,
    h("p.switches", null, h("label", {for: "letters"}, box, " Letters are keys"), hints),
    h("form", {method: "dialog"}, h("button", {autofocus: true}, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", event => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

/** Keys that belong to nobody: text is typed, a modifier is held, letters are off.
 * @param {KeyboardEvent} event */
function isOurs(event) {
  return (
    !event.defaultPrevented &&
    !event.ctrlKey &&
    !event.metaKey &&
    !event.altKey &&
    !types(event.target) &&
    !document.querySelector("dialog[open]")
  );
}

let going = 0; // the time when "g" was pressed

/** A letter after "g". It comes before every other use of the letter, wherever the focus is.
 * @param {import("../main.js").App} app @param {KeyboardEvent} event */
function prefix(app, event) {
  if (event.key.length !== 1 || !letters.on || !isOurs(event)) return;
  const began = going;
  going = event.key === "g" ? event.timeStamp : 0;
  if (!began || event.timeStamp - began > 1500 || !GOES[event.key]) return;
  if (GOES[event.key] === "fleet" && !app.profile.store) return;
  if (GOES[event.key] === "time" && !app.hasTime) return;
  event.preventDefault();
  event.stopPropagation();
  closeMenu();
  app.go(to(app.state, GOES[event.key]));
}

/**
 * @param {import("../main.js").App} app
 * @param {KeyboardEvent} event
 * @returns {boolean} whether the key was handled
 */
function letter(app, event) {
  const {key} = event;
  const link = event.target instanceof Element ? event.target.closest("[data-label]") : null;
  if (key === "/") search();
  else if (key === "?") showHelp(app);
  else if (key === "u") app.undo();
  else if (key === "l") openLabels(app);
  else if (key === "p") app.live?.toggle();
  else if (link instanceof HTMLElement && FILTER_KEYS[key])
    applyFilter(app, FILTER_KEYS[key], link.dataset.label);
  else if (link instanceof HTMLElement && key === "m")
    openBlockMenu(app, link.dataset.label, placeOf(link), link);
  else return press(key);
  return true;
}

/** A button of the page that has this letter. @param {string} key */
function press(key) {
  const button = document.querySelector(`main [data-letter="${CSS.escape(key)}"]`);
  if (button instanceof HTMLElement) button.click();
  return button !== null;
}

/** @param {import("../main.js").App} app */
export function setUpKeys(app) {
  document.addEventListener("keydown", event => prefix(app, event), {capture: true});
  document.addEventListener("keydown", event => {
    if (!isOurs(event)) return;
    const {target} = event;
    const link = target instanceof Element ? target.closest("a[data-label]") : null;
    const rows = {ArrowDown: 1, ArrowUp: -1};
    const done =
      event.key in rows
        ? Boolean(link && moveRow(link, rows[event.key]))
        : event.key.length === 1 && letters.on && letter(app, event);
    if (done) event.preventDefault();
  });
  document.addEventListener("click", event => {
    const button = event.target instanceof Element ? event.target.closest("button.more") : null;
    const link = button ? mentioned(button) : null;
    if (button instanceof HTMLElement && link)
      openBlockMenu(app, link.dataset.label, placeOf(link), button);
  });
  document.addEventListener("contextmenu", event => {
    // Shift+F10 and the menu key on a block; the pointer keeps the browser's own menu for links.
    const link = event.target instanceof Element ? event.target.closest("a[data-label]") : null;
    if (
      !(link instanceof HTMLElement) ||
      event.button === 2 ||
      (event instanceof PointerEvent && event.pointerType === "mouse")
    )
      return;
    event.preventDefault();
    openBlockMenu(app, link.dataset.label, placeOf(link), link);
  });
  document.getElementById("help").addEventListener("click", () => showHelp(app));
}

// SPDX-License-Identifier: MIT
//
// What the words of the pages mean, for the help, and a hint per page for who is new here. Hints go
// away with a click and come back from the help; the browser remembers that.

import {fill, h} from "./dom.js";

/** @type {[string, string][]} */
const WORDS = [
  ["Block", "a function, or another piece of code that is counted by itself"],
  ["Path", "the blocks from the root down to a place, each called by the one before it"],
  ["Self", "what is spent in a block itself, without what it calls"],
  ["Overall", "what is spent in a block and in everything it calls; recursion counts once"],
  ["Calls", "how often a block was entered, if that was counted; samples do not know it"],
  ["Callers, callees", "going in: who calls it; going out: what it calls"],
  ["Metric", "what is counted: time, instructions, calls; chosen at the top"],
  ["Of all, of left", "percent of the whole profile, and of what the filters leave"],
  ["Select", "keep only the paths that contain a block"],
  ["Exclude", "drop all paths that contain a block"],
  ["Fold", "take a block out of its paths; what it spent itself goes to its callers"],
  ["↻ 12", "recursive: the block stood 12 times on one stack at most, the deepest"],
  ["Direct recursion", "a block that calls itself"],
  ["Mutual recursion", "a group of blocks that call each other in a circle"],
  ["Through others", "entered again by way of other blocks, while it was on the stack already"],
  ["Compacted", "a path repeats a step only after something new; the numbers stay exact"],
  ["Arrow", "a call; as thick as what is spent below it. Dashed: it leads back"],
  ["Hot", "where much is spent; a hot line of a source is darker beside its number"],
  ["4.45 G", "4,450 million; the exact number is in the tooltip and in copies. – is not known"],
  ["[pruned]", "paths given up because the profile was full, or the smallest of a choice; all totals are exact"],
  ["[lost]", "spent while no memory was left to record where, or by threads that were mixed up"],
  ["[truncated]", "stacks whose beginning was cut off when they were recorded"],
  ["Fleet", "what a store has of many machines; a choice of it is looked at on the other pages"],
  ["Slice", "a stretch of a run that the program names: a frame, a request"],
  ["Slice of a store", "what one recording added to a store in a stretch of time"],
  ["(folded)", "paths of which every block is folded"],
  ["(root)", "above all blocks: what nobody in the profile calls"],
];

/** @type {Record<string, string>} */
const HINTS = {
  fleet: "Drag over the chart to choose a time, or use the arrows with Shift and Enter. All pages show what is chosen.",
  time: "Drag over the map to choose slices, or use the arrows with Shift and Enter. All pages show what is chosen.",
  overview: "Each sentence leads to where it can be seen. Point at a name for its menu ⋯, which filters all pages.",
  self: "A name leads to its callers and callees. On a name, the keys s, e and f filter all pages.",
  overall: "A name leads to its callers and callees. On a name, the keys s, e and f filter all pages.",
  paths: "The middle of a long path opens with a click. Search finds every path that a block is on.",
  block: "A caller or callee makes the sequence longer. The boxes of the picture lead to their own pages.",
  flame: "A click zooms in, Backspace zooms out. Press / to search.",
  tree: "→ opens a row and ← closes it.",
  recursion: "Point at a box to see its arrows. ↻ tells how deep it stood on one stack.",
  source: "The darker the line number, the more is spent there. Press n for the next hot line.",
  compare: "Orange takes more than before, blue takes less. Of two files, Side chooses one on the other pages.",
};

/** Whether hints are wanted; stored by the browser. */
export const hints = {
  get on() {
    try {
      return localStorage.getItem("ouro-hints") !== "off";
    } catch {
      return !hints.hidden;
    }
  },
  set on(value) {
    hints.hidden = !value;
    try {
      if (value) localStorage.removeItem("ouro-hints");
      else localStorage.setItem("ouro-hints", "off");
    } catch {
      // No storage: valid until the page is closed.
    }
  },
  hidden: false,
};

/** @param {string} page */
export function showHint(page) {
  const place = document.getElementById("hint");
  const text = hints.on ? HINTS[page] : undefined;
  place.hidden = !text;
  if (!text) return fill(place);
  const close = () => {
    hints.on = false;
    place.hidden = true;
    dispatchEvent(new Event("resize")); // a page may use the room
    document.querySelector("main h1")?.focus({preventScroll: true});
  };
  fill(
    place,
    h("p", null, h("strong", null, "Hint "), text, " ", h("kbd", null, "?"), " explains every word."),
    h("button.small", {type: "button", onclick: close, data: {key: "no hints"}}, "No more hints"),
  );
}

/** The words, and a switch for hints. @param {() => void} changed */
export function wordPart(changed) {
  const box = h("input", {type: "checkbox", id: "hints"});
  box.checked = hints.on;
  box.addEventListener("change", () => {
    hints.on = box.checked;
    changed();
  });
  return {
    words: h(
      "dl.words",
      null,
      WORDS.map(([word, meaning]) => [h("dt", null, word), h("dd", null, meaning)]),
    ),
    hints: h("label", {for: "hints"}, box, " Hints on pages"),
  };
}

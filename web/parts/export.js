// SPDX-License-Identifier: MIT
//
// The export menu: this page as a link, its table as CSV, the filtered profile as a flame graph, as
// a page to share, or as a profile for other tools.

import {question} from "../model/url.js";
import {apiUrl} from "./client.js";
import {inside} from "./inside.js";
import {openMenu} from "./menu.js";

/** @param {import("../main.js").App} app */
async function copyLink(app) {
  try {
    await navigator.clipboard.writeText(location.href);
    app.say("The link is copied.");
    flash("Link copied");
  } catch {
    // Insecure pages have no clipboard: the reader can copy from here.
    prompt("The link to this page:", location.href);
  }
}

/** @param {string} text shown on the button for a moment */
function flash(text) {
  const button = document.getElementById("export");
  button.textContent = text;
  setTimeout(() => {
    button.textContent = "Export";
  }, 1500);
}

/** @param {import("../main.js").App} app @returns {import("./menu.js").Item[]} */
function items(app) {
  const {state} = app;
  const base =
    (app.file?.title || "profile")
      .replace(/.*[/\\]/, "")
      .replace(/[^\w.-]+/g, "_")
      .slice(0, 60) || "profile";
  const as = (kind, more = {}) => apiUrl("export", question(state, {as: kind, ...more}));
  const csv = app.view?.csv?.(state);
  // The picture of an inverted graph is of the whole tree: the file has the tree itself.
  const path = state.page === "flame" && !state.invert ? state.path : "";
  return [
    {text: "Copy the link to this page", act: () => copyLink(app)},
    csv
      ? {
          text: app.view?.csvName ?? "This table as CSV",
          href: csv,
          download: `${base}-${state.page}.csv`,
        }
      : undefined,
    null,
    {text: "Flame graph (SVG)", href: as("svg", {path}), download: base + ".svg"},
    // A page that is one file is shared as it is.
    inside
      ? undefined
      : {text: "A page to share, in one file (HTML)", href: as("html"), download: base + ".html"},
    null,
    {text: "Profile for pprof", href: as("pprof"), download: base + ".pb"},
    {text: "Folded stacks", href: as("folded"), download: base + ".folded"},
    {text: "Profile for speedscope", href: as("speedscope"), download: base + ".speedscope.json"},
  ].filter(item => item !== undefined);
}

/** @param {import("../main.js").App} app */
export function setUpExport(app) {
  const button = document.getElementById("export");
  button.addEventListener("click", () => openMenu("Export", items(app), button));
}

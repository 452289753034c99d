// SPDX-License-Identifier: MIT
//
// An error instead of the page: the server's message, and links to go on.

import {FILTERS, changed, hasFilters, href, to} from "../model/url.js";
import {ApiError} from "./client.js";
import {h} from "./dom.js";

/** For a label that means several blocks: the same page with one of them instead.
 * @param {import("../model/url.js").State} state @param {string} candidate */
function with_(state, candidate) {
  const name = candidate.replace(/@[^@]*$/, "");
  const next = {...state};
  for (const key of [...FILTERS, "block", "at"])
    next[key] = state[key].map(label => (label === name ? candidate : label));
  return next;
}

/** @param {import("../main.js").App} app @param {any} error */
export function showError(app, error) {
  const known = error instanceof ApiError;
  const {state} = app;
  const titles = {0: "No answer", 404: "Not here", 400: "That cannot be answered", 414: "That cannot be asked"};
  const title = known ? (titles[error.status] ?? "Something went wrong") : "Something went wrong";
  if (!known) console.error(error);
  const main = document.getElementById("main");
  main.replaceChildren(
    h(
      "div.notice",
      {role: "alert"},
      h("h1", {tabindex: "-1"}, title),
      h("p", null, h("bdi", null, known ? error.message : String(error?.message ?? error))),
      known && error.candidates.length
        ? [
            h("p", null, "Did you mean:"),
            h(
              "ul",
              null,
              error.candidates
                .slice(0, 20)
                .map(candidate =>
                  h(
                    "li",
                    null,
                    h("a", {href: href(with_(state, candidate))}, h("bdi", null, candidate)),
                  ),
                ),
            ),
          ]
        : null,
      h(
        "p.actions",
        null,
        h(
          "button",
          {type: "button", onclick: () => (app.profile ? app.refresh() : location.reload())},
          "Try again",
        ),
        hasFilters(state)
          ? h(
              "a.button",
              {href: href(changed(state, {select: [], exclude: [], fold: []}))},
              "Remove the filters",
            )
          : null,
        h(
          "a.button",
          {
            href: href(
              to({...state, select: [], exclude: [], fold: [], metric: "", side: ""}, "overview"),
            ),
          },
          "Overview",
        ),
      ),
    ),
  );
  document.title = title + " · Ouro";
  document.getElementById("filters").hidden = true;
}

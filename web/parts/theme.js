// SPDX-License-Identifier: MIT
//
// Light, dark, or the system's theme: a preference of the reader, so the browser stores it, and it
// is not in the address.

import {h} from "./dom.js";

const ORDER = ["auto", "light", "dark"];
const SIGNS = {auto: ["◐", " Auto"], light: ["○", " Light"], dark: ["●", " Dark"]};

function chosen() {
  return document.documentElement.dataset.theme ?? "auto";
}

/** @param {string} theme */
function choose(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("ouro-theme");
    else localStorage.setItem("ouro-theme", theme);
  } catch {
    // No storage: the choice is valid until the page is closed.
  }
}

/** @param {import("../main.js").App} app */
export function setUpTheme(app) {
  const button = document.getElementById("theme");
  const show = () => {
    const [sign, word] = SIGNS[chosen()];
    button.replaceChildren(sign, h("span.theme-word", null, word));
    button.setAttribute("aria-label", `Theme: ${chosen()}`);
    // A canvas does not follow the style sheet and must be drawn again.
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    choose(ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length]);
    show();
    app.say(`Theme: ${chosen()}`);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  matchMedia("print").addEventListener("change", show);
  show();
}

// SPDX-License-Identifier: MIT
//
// Sets the theme before anything is painted, if the reader chose one. A script of its own and not a
// module, because modules wait for the page.

"use strict";
try {
  const chosen = localStorage.getItem("ouro-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the system's theme is used.
}

// SPDX-License-Identifier: MIT
//
// Before anything is painted: light or dark, if the reader chose one. A script of its own, not a
// module, because modules wait for the page.

"use strict";
try {
    const chosen = localStorage.getItem("ouro-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
    // No storage: the system's choice holds.
}

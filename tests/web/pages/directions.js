// SPDX-License-Identifier: MIT
//
// Names that turn the direction of writing would turn what stands beside them, too: they are shown as escapes, and an
// empty profile says so.

import assert from "node:assert/strict";
import {test, view, write} from "../support.js";
import {open} from "../use.js";

const NAME = "a\u202egnp.exe";
const TURNED = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

test("names_cannot_turn_what_stands_beside_them", async page => {
  const {url} = await view([write("turned.folded", `main;${NAME};${NAME};b 700\nmain;c 300\n`)]);
  const block = encodeURIComponent(NAME);
  for (const address of [
    "/",
    "/self",
    "/overall",
    "/paths",
    "/tree",
    "/recursion",
    `/block?block=${block}`,
    `/flame?select=${block}`,
    `/self?fold=${block}`,
  ]) {
    await open(page, url + address);
    const texts = await page.evaluate(() => [
      document.title,
      document.body.innerText,
      ...[...document.querySelectorAll("[title], [aria-label]")].flatMap(e => [
        e.getAttribute("title") ?? "",
        e.getAttribute("aria-label") ?? "",
      ]),
    ]);
    assert.deepEqual(texts.filter(text => TURNED.test(text)), [], address);
    const shown = address === "/tree" || texts.some(text => text.includes("a\\u202egnp.exe")); // the tree is closed
    assert.ok(shown || address === "/self", address);
  }
});

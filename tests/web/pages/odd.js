// SPDX-License-Identifier: MIT
//
// Odd profiles, names that try to be markup, and axe on every page in both themes.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import {visible} from "../../../web/model/format.js";
import * as fixtures from "../fixtures.js";
import {test, view} from "../support.js";
import {fits, open, rowOf, rows} from "../use.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const once = make => {
  let made;
  return () => (made ??= make());
};
const names = once(() => view([fixtures.names()]));
const pair = once(() => view([fixtures.dispatch(), fixtures.after()]));
const bytecode = once(() => view([fixtures.bytecode()]));
const PAGES = ["/", "/self", "/overall", "/paths", "/flame", "/tree", "/recursion", "/source"];

test(
  "names_are_text_on_every_page",
  async page => {
    const {url} = await names();
    const {blocks} = await (await page.request.get(url + "/api/v1/blocks?limit=100")).json();
    const label = name => encodeURIComponent(blocks.find(b => b.name === name).label);
    const [img, script] = [label(fixtures.EVIL[0]), label(fixtures.EVIL[1])];
    const addresses = [
      ...PAGES,
      `/block?block=${img}`,
      `/block?block=${img}&block=${script}`,
      `/self?fold=${img}&exclude=${script}`,
      `/flame?at=${img}&search=${script}`,
      `/tree?open=${img}`,
      `/source?file=${encodeURIComponent("<b>1</b>.c")}`,
      `/self?select=${encodeURIComponent("<img src=x onerror=window.evil=1>@nothing")}`,
      `/self?search=${script}`,
      `/self?metric=${script}`,
      `/self?sort=${script}`,
      `/source?file=${script}`,
    ];
    for (const address of addresses) {
      await open(page, url + address);
      const state = await page.evaluate(() => ({
        evil: "evil" in window,
        made: document.querySelectorAll("main img, main script, main b, [onerror]").length,
      }));
      assert.deepEqual(state, {evil: false, made: 0}, address);
    }
    await open(page, url + "/self");
    for (const name of [...fixtures.EVIL.filter(n => n.trim()), ...fixtures.SCRIPTS.slice(0, 6)])
      await rowOf(page, visible(name));
    const box = await page.locator(".name a", {hasText: /^" "$/}).boundingBox();
    assert.ok(box.width > 10, "a name of a blank can be clicked on");
  },
  {mayFail: /Failed to load resource.*(40\d)/},
);

for (const width of [360, 1280, 2560]) {
  test(
    `nothing_sticks_out_at_${width}_pixels`,
    async page => {
      const {url} = await names();
      const {blocks} = await (await page.request.get(url + "/api/v1/blocks?limit=100")).json();
      const long = encodeURIComponent(blocks.find(b => b.name.length === 5000).label);
      for (const address of [
        ...PAGES,
        `/block?block=${long}&fold=${long}`,
        `/flame?at=${encodeURIComponent(blocks.find(b => b.name === fixtures.EVIL[0]).label)}&at=${long}`,
        `/tree?at=${long}`,
      ]) {
        await page.goto(url + address);
        await page.waitForFunction(() => document.documentElement.dataset.shown === location.href);
        await fits(page);
      }
      await open(page, (await pair()).url + "/compare");
      await fits(page);
    },
    {viewport: {width, height: 800}, mayFail: /Failed to load resource.*(40\d)/},
  );
}

async function showsNumbers(page, address) {
  assert.equal(await page.getByRole("alert").count(), 0, address);
  const text = await page.locator("main").innerText();
  assert.doesNotMatch(text, /NaN|undefined|null|Infinity/, address);
}

test("a_profile_of_nothing_is_told_as_such", async page => {
  const {url} = await view([fixtures.zero()]);
  for (const address of PAGES) {
    await open(page, url + address);
    await showsNumbers(page, address);
  }
  await open(page, url + "/flame");
  assert.match(await page.locator(".note").textContent(), /Nothing was spent here/);
});

test("one_block_is_enough", async page => {
  const {url} = await view([fixtures.one()]);
  for (const address of [
    ...PAGES,
    "/block?block=only",
    "/flame?at=only",
    "/self?exclude=only",
    "/self?fold=only",
    "/flame?fold=only",
  ]) {
    await open(page, url + address);
    await showsNumbers(page, address);
  }
  await open(page, url + "/self?fold=only");
  assert.equal((await rowOf(page, "(folded)"))[0], "7 100.0%");
});

test("negative_values_have_a_sign_and_no_bar", async page => {
  const {url} = await view([fixtures.negative()]);
  for (const address of PAGES) {
    await open(page, url + address);
    assert.doesNotMatch(await page.locator("main").innerText(), /NaN|undefined|Infinity/, address);
  }
  await open(page, url + "/self");
  assert.equal((await rowOf(page, "b"))[0], "−5 −125.0%");
  const widths = await page
    .locator("td.self .bar")
    .evaluateAll(all => all.map(bar => getComputedStyle(bar, "::after").width));
  assert.equal(widths[2], "0px");
});

test("a_metric_that_is_all_zero_has_no_percentages", async page => {
  const {url} = await view([fixtures.halfZero()]);
  await open(page, url + "/");
  const nothing = page.locator(".tile", {has: page.locator(".value", {hasText: /^0\b/})});
  const metric = await nothing.locator(".metric").textContent();
  await open(page, `${url}/self?metric=${encodeURIComponent(metric)}`);
  assert.doesNotMatch(await page.locator("main").innerText(), /NaN|Infinity/);
});

/** @param {import("playwright-core").Page} page @param {string} address */
async function check(page, address) {
  await open(page, address);
  // Through the protocol: the page's own policy would not let a script of another in.
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() =>
    /** @type {any} */ (window).axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      resultTypes: ["violations"],
    }),
  );
  const told = violations.map(
    v =>
      `${v.id}: ${v.help}\n` +
      v.nodes
        .slice(0, 4)
        .map(n => `    ${n.target.join(" ")}  ${n.failureSummary?.split("\n")[1] ?? ""}`)
        .join("\n"),
  );
  assert.deepEqual(told, [], `${address}\n${told.join("\n")}`);
}

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(
    `axe_finds_nothing_on_any_page_in_${colorScheme}`,
    async page => {
      const {url} = await bytecode();
      for (const address of [
        ...PAGES,
        "/block?block=is_even",
        "/block?block=is_even&block=is_odd",
        "/block",
        "/self?select=main&exclude=fib&fold=is_odd",
        "/flame?at=main&search=is",
        "/tree",
        "/tree?open=none",
        "/source?file=demo.c",
        "/self?search=nothing",
        "/self?select=nobody",
      ])
        await check(page, url + address);
      await check(page, (await pair()).url + "/compare");
      await check(page, (await names()).url + "/paths");
    },
    {colorScheme, mayFail: /Failed to load resource.*404/},
  );

  test(
    `axe_finds_nothing_on_a_phone_in_${colorScheme}`,
    async page => {
      const {url} = await bytecode();
      for (const address of ["/", "/self", "/flame", "/recursion"]) await check(page, url + address);
      await page.getByRole("button", {name: "Export"}).click();
      await page.evaluate(axe);
      const {violations} = await page.evaluate(() => /** @type {any} */ (window).axe.run(document));
      assert.deepEqual(
        violations.map(v => v.id),
        [],
      );
    },
    {colorScheme, viewport: {width: 360, height: 740}},
  );
}

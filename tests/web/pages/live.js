// SPDX-License-Identifier: MIT
//
// The last seconds of a live file, its sparklines, and the pause. Windows are long, so that a slow
// machine sees the same.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {growing} from "../growing.js";
import {folder, test} from "../support.js";
import {eventually, leads, open, query, rowOf} from "../use.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("the_last_seconds_of_a_live_file_are_what_happened_since", async page => {
  const {program, step, url, end} = await growing(page, "recent.ouro");
  await open(page, url + "/self?last=100000");
  assert.equal(await page.locator("tbody a[data-label]").count(), 0, "nothing happened since then");
  await step();
  await page.getByRole("link", {name: "late", exact: true}).waitFor();
  await eventually(async () => assert.match((await rowOf(page, "late"))[0], /^100 90\.9%/));
  assert.equal(await page.getByRole("link", {name: "leaf", exact: true}).count(), 0);
  program.stdin.end();
  await page.waitForFunction(() => document.getElementById("live").textContent === "Ended");
  assert.match((await rowOf(page, "late"))[0], /^100 90\.9%/, "the last state stays");
  await leads(page, () => page.getByRole("button", {name: "Last 100000 s"}).click());
  assert.match((await rowOf(page, "leaf"))[0], /^100 45\.5%/);
  await end();
});

test("a_live_file_whose_disk_had_no_space_says_so_on_every_page", async page => {
  const {step, url, end} = await growing(page, "full.ouro");
  await open(page, url + "/");
  const banner = page.locator("#missing");
  assert.equal(await banner.isVisible(), false);
  const file = fs.openSync(path.join(folder, "full.ouro"), "r+");
  fs.writeSync(file, Buffer.from([1, 0, 0, 0]), 0, 4, 380); // as live_format.h has it
  fs.closeSync(file);
  await step(); // a new path: the file is read as a whole
  await banner.waitFor();
  assert.equal(
    await banner.textContent(),
    "The live file could not grow. Its disk has no space for more paths; what is cold is in [pruned].",
  );
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Flame graph"}).click());
  assert.equal(await banner.isVisible(), true);
  await page.evaluate(axe);
  const bad = await page.evaluate(() => globalThis.axe.run("#missing"));
  assert.deepEqual(bad.violations, []);
  await end();
});

test("a_switch_shows_the_last_ten_seconds_on_every_page", async page => {
  const {step, url, end} = await growing(page, "switch.ouro");
  await open(page, url + "/self");
  const button = page.getByRole("button", {name: "Last 10 s"});
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await leads(page, () => button.click());
  assert.equal(query(page).get("last"), "10");
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  assert.match(await page.locator(".chip.last").textContent(), /^last\d+ s×$/);
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Flame graph"}).click());
  assert.equal(query(page).get("last"), "10");
  await leads(page, () => button.click());
  assert.equal(query(page).get("last"), null);
  await step();
  await end();
});

test("sparklines_show_how_fast_each_metric_grows", async page => {
  const {step, url, end} = await growing(page, "spark.ouro");
  await open(page, url + "/");
  await step();
  const path_ = page.locator("#recent summary .sparkline path");
  await page.waitForFunction(() =>
    document.querySelector("#recent summary .sparkline path")?.getAttribute("d").includes("L"),
  );
  assert.match(await path_.getAttribute("d"), /^M0 20L/);
  await page.locator("#recent summary").focus();
  await page.keyboard.press("Enter");
  const list = page.locator("#recent .rates li");
  const names = await list.locator("span:first-child").allTextContents();
  assert.equal(names[0], "calls");
  assert.ok(!names.includes("recursions") && !names.includes("direct"), String(names));
  assert.match(await list.first().locator(".rate").textContent(), /\/s$/);
  await page.keyboard.press("p"); // axe looks at a page that does not change under it
  await eventually(async () => assert.equal(await page.locator("#live").textContent(), "Paused"));
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => /** @type {any} */ (window).axe.run(document));
  assert.deepEqual(
    violations.map(v => `${v.id} ${v.nodes[0]?.target}`),
    [],
  );
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#recent details[open]").count(), 0);
  await end();
});

test("a_key_pauses_and_goes_on", async page => {
  const {step, url, end} = await growing(page, "pause.ouro");
  await open(page, url + "/self");
  await page.keyboard.press("p");
  await eventually(async () => assert.equal(await page.locator("#live").textContent(), "Paused"));
  await step();
  await page.keyboard.press("p");
  await page.getByRole("link", {name: "late", exact: true}).waitFor();
  assert.equal(await page.locator("#live").textContent(), "Live");
  await end();
});

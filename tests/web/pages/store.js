// SPDX-License-Identifier: MIT
//
// Fleet: choosing from a store by chart, chips, labels and text, and the other pages on a choice.
// The numbers are those of five small files whose times are set by hand.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {fileURLToPath} from "node:url";
import {NotHere} from "../firefox/browser.js";
import {PATIENCE, folder, ouro, run, said, start, stop, test, view, write} from "../support.js";
import {eventually, leads, open, query, rowOf, rows, shown} from "../use.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const START = Date.UTC(2026, 10, 15, 12, 0, 0) / 1000; // seconds

/** @param {string} store @param {string} text @param {number} minute @param {Record<string, string>} labels */
function push(store, text, minute, labels) {
  const file = write(`${store}-${minute}-${Object.values(labels).join("-").replace(/\W/g, "_")}.folded`, text);
  fs.utimesSync(file, START + minute * 60, START + minute * 60);
  const words = Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]);
  run(ouro, "push", "--store", store, ...words, file);
}

/** @param {string} name @returns {Promise<{url: string, stop: () => Promise<void>, store: string}>} */
async function fleet(name, options = []) {
  const store = name + ".db";
  for (const ending of ["", "-wal", "-shm"]) fs.rmSync(path.join(folder, store + ending), {force: true});
  push(store, "main;render 60\nmain;read 40\n", 1, {service: "web", host: "w1", build: "7"});
  push(store, "main;render 50\nmain;read 50\n", 2, {service: "web", host: "w2", build: "7"});
  push(store, "main;render 150\nmain;read 50\n", 5, {service: "web", host: "w1", build: "8"});
  push(store, "main;scan 90\n", 5, {service: "db", host: "d1", build: "7"});
  push(store, "main;scan 10\n", 9, {service: "db", host: "d1", build: "8"});
  const server = await view([], ["--store", store, ...options]);
  return {...server, store};
}

/** The page must be gone before the server that it asks.
 * @param {import("playwright-core").Page} page @param {{stop: () => Promise<void>}} server */
async function end(page, server) {
  await page.goto("about:blank");
  await server.stop();
}

/** @param {import("playwright-core").Page} page */
async function chips(page) {
  return page.locator("#choice .chip").evaluateAll(all => all.map(chip => chip.textContent));
}

test("a_store_opens_with_a_chart_and_the_shares_of_its_services", async page => {
  const server = await fleet("opens");
  assert.match(server.address, /\/fleet$/);
  await open(page, server.address);
  assert.match(
    await page.locator(".title p").textContent(),
    /^opens\.db: 5 slices from 2 services, 3 hosts, 2 builds, 15 Nov 12:01 to 12:09 UTC$/,
  );
  assert.match((await rowOf(page, "web"))[0], /^400 80\.0%/);
  assert.match((await rowOf(page, "db"))[0], /^100 20\.0%/);
  const legend = await page.locator(".legend li").evaluateAll(all => all.map(item => item.textContent));
  assert.deepEqual(legend, ["web400, 80.0%", "db100, 20.0%"]);
  assert.equal(await page.locator("#choice").textContent(), "ShowneverythingLabels…Compare with…");
  await page.locator("#stack-by").selectOption("host");
  await page.waitForFunction(() => document.querySelectorAll(".legend li").length === 3);
  assert.equal(query(page).get("by"), "host");
  await end(page, server);
});

/** Two shards of ClickHouse that end with the case. `tell`: kill, or start, the second one. */
async function shards() {
  const child = start("python3", [fileURLToPath(new URL("../../store/shards.py", import.meta.url))]);
  const [, url] = await said(child, /^(http\S+|none)$/m);
  if (url === "none") throw new NotHere("clickhouse-server is not installed");
  const tell = async word => {
    const answered = said(child, /^done$/m);
    child.stdin.write(word + "\n");
    await answered;
  };
  return {url, tell, stop: () => stop(child)};
}

test("the_page_asks_the_store_no_question_twice", async page => {
  const server = await fleet("once");
  /** @type {string[]} */ const asked = [];
  page.on("request", request => {
    const {pathname, search} = new URL(request.url());
    if (/\/(offer|series)$/.test(pathname)) asked.push(pathname + search);
  });
  await open(page, server.address);
  assert.match((await rowOf(page, "web"))[0], /^400 80\.0%/);
  assert.deepEqual([...new Set(asked)], asked);
  assert.equal(asked.filter(path => path.includes("offer")).length, 1);
  for (const path of asked.filter(path => path.includes("series"))) assert.match(path, /from=\d+.*until=\d+/);
  await end(page, server);
});

test("a_shard_that_is_down_is_named_on_the_page_until_it_is_back", async page => {
  const store = await shards();
  const file = write("shards.folded", "main;f 3\nmain;g 4\n");
  for (let n = 0; n < 8; n++) run(ouro, "push", "--store", store.url, "--label", `n=${n}`, file);
  const server = await view([], ["--store", store.url]);
  await open(page, server.url + "/fleet");
  const banner = page.locator("#missing");
  assert.equal(await banner.isVisible(), false);
  await store.tell("kill");
  await open(page, server.url + "/fleet?by=n");
  await banner.waitFor();
  assert.match(
    await banner.textContent(),
    /^A part of the store did not answer\. the shard 127\.0\.0\.1:\d+ does not answer$/,
  );
  await page.evaluate(axe);
  const bad = await page.evaluate(() => globalThis.axe.run("#missing"));
  assert.deepEqual(bad.violations, []);
  await store.tell("start");
  await eventually(async () => {
    await open(page, server.url + "/fleet");
    assert.equal(await banner.isVisible(), false);
  });
  await end(page, server);
  await store.stop();
});

test("a_time_is_chosen_by_dragging_over_the_chart", async page => {
  const server = await fleet("drag");
  await open(page, server.url + "/fleet");
  const box = await page.locator(".timechart").boundingBox();
  const at = share => box.x + 64 + (box.width - 64) * share;
  await leads(page, async () => {
    await page.mouse.move(at(0.02), box.y + 60);
    await page.mouse.down();
    await page.mouse.move(at(0.2), box.y + 60);
    await page.mouse.move(at(0.24), box.y + 60);
    await page.mouse.up();
  });
  assert.match(query(page).get("where"), /^since=2026-11-15T12:0\d:\d\d until=2026-11-15T12:0\d:\d\d$/);
  assert.match((await rowOf(page, "web"))[0], /^200 100\.0%/, "the first two files");
  assert.equal((await chips(page)).length, 2);
  // The same address shows the same, and other pages are of the choice.
  await open(page, page.url());
  assert.match((await rowOf(page, "web"))[0], /^200 100\.0%/);
  await leads(page, () => page.getByRole("link", {name: "Self", exact: true}).first().click());
  assert.match((await rowOf(page, "render"))[0], /^110 55\.0%/);
  await leads(page, () => page.locator("#choice .remove").first().click());
  await leads(page, () => page.locator("#choice .remove").first().click());
  assert.match((await rowOf(page, "render"))[0], /^260 52\.0%/);
  await end(page, server);
});

test("a_time_is_chosen_by_keys_and_taken_back", async page => {
  const server = await fleet("keys");
  await open(page, server.url + "/fleet");
  await page.locator(".timechart").focus();
  await page.keyboard.press("End");
  await page.waitForFunction(() => /time|samples|count/.test(document.getElementById("said").textContent));
  assert.match(await page.locator("#said").textContent(), /UTC\. samples 10$/, "the last step has the last file");
  await page.keyboard.press("Shift+ArrowLeft");
  assert.match(await page.locator("#said").textContent(), /^Chosen, Enter applies: /);
  await leads(page, () => page.keyboard.press("Enter"));
  assert.match((await rowOf(page, "db"))[0], /^10 100\.0%/);
  await page.locator(".timechart").focus();
  await leads(page, () => page.keyboard.press("Escape"));
  assert.equal(query(page).get("where"), null);
  await leads(page, () => page.getByRole("link", {name: "Last 1h"}).click());
  assert.equal(query(page).get("where"), "since=1h");
  await page.getByRole("heading", {name: "Nothing fits this choice"}).waitFor();
  await end(page, server);
});

test("labels_are_chosen_in_a_dialog_and_removed_as_chips", async page => {
  const server = await fleet("labels");
  await open(page, server.url + "/fleet");
  await page.getByRole("button", {name: "Choose labels"}).click();
  await page.getByRole("checkbox", {name: "web"}).check();
  await page
    .locator(".keys-list")
    .getByRole("button", {name: /^build/})
    .click();
  await page.getByRole("button", {name: "Without 8"}).click();
  await leads(page, () => page.getByRole("button", {name: "Apply"}).last().click());
  assert.equal(query(page).get("where"), "service=web build!=8");
  assert.deepEqual(await chips(page), ["serviceweb×", "build not8×"]);
  await leads(page, () => page.getByRole("link", {name: "Overview"}).first().click());
  assert.equal(await page.locator("h1").textContent(), "service=web build!=8");
  assert.equal(await page.locator(".tile .value").first().textContent(), "200");
  await leads(page, () => page.getByRole("link", {name: "Remove: build not 8"}).click());
  assert.equal(await page.locator(".tile .value").first().textContent(), "400");
  await end(page, server);
});

test("two_choices_are_compared", async page => {
  const server = await fleet("compared");
  await open(page, server.url + "/fleet?where=service%3Dweb+build%3D7");
  await leads(page, () => page.getByRole("link", {name: "Compare with…"}).click());
  assert.deepEqual([query(page).get("with"), query(page).get("side")], ["service=web build=7", "after"]);
  await leads(page, async () => {
    await page.locator("#choice-text").fill("service=web build=8");
    await page.keyboard.press("Enter");
  });
  await leads(page, () => page.getByRole("link", {name: "Compare the two"}).click());
  assert.match(await page.locator(".title p").textContent(), /^service=web build=7 → service=web build=8/);
  const [change, before, after] = await rowOf(page, "render");
  assert.match(change, /^\+40 \+36\.4%/);
  assert.match(before, /^110 /);
  assert.match(after, /^150 /);
  await leads(page, () => page.getByRole("link", {name: "Flame graph", exact: true}).first().click());
  assert.equal(query(page).get("side"), "after");
  await leads(page, () => page.locator("#side").selectOption("before"));
  assert.equal(query(page).get("side"), null);
  await leads(page, () => page.getByRole("link", {name: "Stop comparing"}).click());
  assert.equal(query(page).get("with"), null);
  assert.equal(await page.getByRole("link", {name: "Compare", exact: true}).count(), 0);
  await end(page, server);
});

test("a_page_that_follows_shows_what_comes", async page => {
  const server = await fleet("follow");
  await open(page, server.url + "/self?where=service%3Dweb");
  assert.match((await rowOf(page, "render"))[0], /^260 65\.0%/);
  const button = page.getByRole("button", {name: "Follow"});
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await leads(page, () => button.click());
  assert.equal(query(page).get("follow"), "yes");
  push(server.store, "main;late 1000\n", 12, {service: "web", host: "w3", build: "8"});
  await page.getByRole("link", {name: "late", exact: true}).waitFor({timeout: PATIENCE});
  assert.match((await rowOf(page, "late"))[0], /^1,000 71\.4%/);
  await leads(page, () => page.getByRole("link", {name: "Fleet", exact: true}).click());
  assert.match((await rowOf(page, "web"))[0], /^1,400 93\.3%/);
  push(server.store, "main;more 500\n", 13, {service: "mail", host: "m1", build: "8"});
  await page.getByRole("link", {name: "mail", exact: true}).waitFor({timeout: PATIENCE});
  await end(page, server);
});

test("an_empty_store_says_what_to_do", async page => {
  const server = await fleet("empty");
  await server.stop();
  run(ouro, "store", "empty.db", "--keep", "1h");
  const {url, stop} = await view([], ["--store", "empty.db"]);
  await open(page, url + "/fleet");
  await page.getByRole("heading", {name: "The store is empty"}).waitFor();
  assert.match(await page.locator("pre").textContent(), /^ouro push --store empty\.db /);
  await end(page, {stop});
});

test(
  "a_choice_that_makes_no_sense_is_told_and_can_be_mended",
  async page => {
    const server = await fleet("wrong");
    await open(page, server.url + "/self?where=since%3Dyesterday");
    assert.match(await page.locator("#main").textContent(), /yesterday is no time/);
    await leads(page, () => page.locator("#choice .remove").click());
    assert.match((await rowOf(page, "render"))[0], /^260 /);
    await open(page, server.url + "/fleet?where=service");
    assert.match(await page.locator("#main").textContent(), /expected NAME=VALUE/);
    await end(page, server);
  },
  {mayFail: /400/},
);

test("labels_are_text_wherever_they_stand", async page => {
  const server = await fleet("markup");
  const odd = '<img src=x onerror=alert(1)> "a, b" \\ *';
  push(server.store, "main;f 1000\n", 6, {service: odd, host: odd, build: "8"});
  await open(page, server.url + "/fleet");
  assert.equal(await page.locator("main img").count(), 0);
  await leads(page, () => page.locator(".services tbody th a").first().click());
  assert.deepEqual(await chips(page), [`service${odd}×`]);
  assert.match((await rows(page, "Services"))[0][0], /^1,000 /);
  await leads(page, () => page.getByRole("link", {name: "Self", exact: true}).first().click());
  assert.match((await rowOf(page, "f"))[0], /^1,000 100\.0%/);
  await end(page, server);
});

/** @param {import("playwright-core").Page} page */
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    // @ts-ignore
    axe.run(document, {resultTypes: ["violations"]}),
  );
  return found.violations.map(v => `${v.id}: ${v.nodes.map(n => n.html).join(" ")}`);
}

const LOOKED_AT = [
  "/fleet",
  "/fleet?where=service%3Dweb+since%3D2026-11-15T12%3A02&by=host",
  "/fleet?where=build%3D7&with=build%3D8&side=after&follow=yes",
  "/fleet?where=service%3Dnone",
  "/?where=service%3Dweb",
  "/compare?where=build%3D7&with=build%3D8",
];

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(
    `the_pages_of_a_store_are_accessible_in_the_${colorScheme}`,
    async page => {
      const server = await fleet("axe-" + colorScheme);
      for (const address of LOOKED_AT) {
        await open(page, server.url + address);
        assert.deepEqual(await violations(page), [], address);
      }
      await page.getByRole("button", {name: "Choose labels before"}).click();
      await page.getByRole("checkbox", {name: "web"}).waitFor();
      assert.deepEqual(await violations(page), [], "the dialog");
      await end(page, server);
    },
    {colorScheme},
  );
}

test("the_fleet_page_fits_every_width", async page => {
  const server = await fleet("widths");
  for (const width of [390, 800, 2560]) {
    await page.setViewportSize({width, height: 900});
    await open(page, server.url + "/fleet?where=service%3Dweb+host%3Dw1%2Cw2&with=build%3D8");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} at ${width}`);
    assert.ok(await page.locator(".timechart path.bars").first().isVisible());
  }
  await shown(page);
  await end(page, server);
});

// SPDX-License-Identifier: MIT
//
// Time: slices are chosen by buttons, by dragging and with the keys; all pages show what is chosen,
// and say how much of it is known. The timeline of a live file. The numbers are those of frames.js.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import {dispatch} from "../fixtures.js";
import {frames, sliced} from "../frames.js";
import {growing} from "../growing.js";
import {test, view, write} from "../support.js";
import {chips, eventually, fits, leads, open, query, rowOf, rows, shown} from "../use.js";
import {hasPages, onePage} from "./share.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const once = make => {
  let made;
  return () => (made ??= make());
};
const game = once(() => view([sliced()]));
const HOSTILE = "<img src=x onerror=window.evil=1>";

/** Goes to a place of the map, given in parts of its picture. @param {import("playwright-core").Page} page */
async function point(page, x, y) {
  const box = await page.locator(".heatmap svg").boundingBox();
  const right = box.width < 560 ? 76 : 200;
  await page.mouse.move(box.x + 64 + (box.width - 64 - right) * x, box.y + 8 + 240 * (1 - y));
}

/** The key g and a letter. At once: the second counts only for a moment after the first.
 * @param {import("playwright-core").Page} page @param {string} letter */
async function goTo(page, letter) {
  await page.evaluate(keys => {
    for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  }, ["g", letter]);
}

test("slices_are_shown_in_a_heat_map_and_the_slowest_are_one_click_away", async page => {
  const {url} = await game();
  await open(page, url + "/");
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Time"}).click());
  const figures = await page.locator(".time .figure").allTextContents();
  assert.deepEqual(figures.slice(0, 2), ["Frames200by duration", "Median10.3 ms"]);
  assert.ok((await page.locator(".heatmap path.heat").count()) > 1);
  assert.equal(await page.locator(".heatmap circle.tree").count(), 12);
  assert.equal(await page.locator(".heatmap .percentile text").count(), 3);
  await leads(page, () => page.getByRole("link", {name: "Slowest 1% · 2"}).click());
  assert.equal(query(page).get("slices"), "slowest");
  assert.deepEqual(await chips(page), ["frames slowest 1%"]);
  assert.match(await page.locator(".chip.slices").textContent(), /all 2/);
  assert.equal(await page.locator(".heatmap rect.chosen").count(), 1);
  await leads(page, () => page.locator(".onward").getByRole("link", {name: "Self"}).click());
  assert.deepEqual(await chips(page), ["frames slowest 1%"]);
  assert.match((await rowOf(page, "collect"))[0], /^10\.0 µs/);
  await leads(page, () => page.getByRole("link", {name: "Remove: frames slowest 1%"}).click());
  assert.match((await rowOf(page, "collect"))[0], /^20\.0 µs/);
  await leads(page, () => page.keyboard.press("u"));
  assert.equal(query(page).get("slices"), "slowest", "undo knows it, as every filter");
});

test("what_has_no_tree_is_told_never_left_out_silently", async page => {
  const {url} = await game();
  await open(page, url + "/time?slices=typical");
  const all = frames().filter(({slow}) => !slow);
  const p90 = frames().map(({duration}) => duration).sort((a, b) => a - b)[179];
  const typical = all.filter(({duration}) => duration <= p90).length;
  assert.match(await page.locator(".chip.slices.few").textContent(), new RegExp(`5 of ${typical} have trees`));
  assert.match(await page.locator(".note.few").textContent(), new RegExp(`^5 of ${typical} frames have trees`));
  await open(page, url + "/self?slices=3");
  assert.match(await page.locator(".chip.slices.few").textContent(), /0 of 1 have trees/);
  await open(page, url + "/time?slices=3");
  assert.match(await page.locator(".note.few").textContent(), /None of these 1 frame has a tree/);
});

test("a_region_is_chosen_by_dragging", async page => {
  const {url} = await game();
  await open(page, url + "/time");
  await point(page, 0.1, 0.9);
  await page.mouse.down();
  await point(page, 0.6, 0.92);
  await page.locator(".heatmap .choosing").waitFor();
  await leads(page, () => page.mouse.up());
  const [time, durations] = query(page).get("slices").split(",");
  const [from, until] = time.split("-").map(Number);
  assert.equal(durations, undefined, "a drag sideways is about time alone");
  assert.ok(from > 0.15 && from < 0.3 && until > 1.2 && until < 1.5, time);
  // Higher than it is wide: a region of durations, too.
  await point(page, 0.1, 0.4);
  await page.mouse.down();
  await point(page, 0.9, 0.98);
  await leads(page, () => page.mouse.up());
  assert.match(query(page).get("slices"), /^[\d.]+-[\d.]+,[\d.]+-$/);
  const chosen = await page.locator(".chip.slices").textContent();
  assert.match(chosen, /all 3/, "three of the slow ones began there");
  // Along the distribution: durations of all times.
  const box = await page.locator(".heatmap svg").boundingBox();
  await page.mouse.move(box.x + box.width - 150, box.y + 12);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 150, box.y + 90);
  await leads(page, () => page.mouse.up());
  assert.match(query(page).get("slices"), /^,[\d.]+-$/);
  assert.match(await page.locator(".chip.slices").textContent(), /all 4/);
});

test("a_region_is_chosen_with_the_keys", async page => {
  const {url} = await game();
  await open(page, url + "/time");
  await page.locator(".heatmap").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Home");
  for (let i = 0; i < 4; i++) await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Shift+PageDown");
  for (let i = 0; i < 3; i++) await page.keyboard.press("Shift+ArrowUp");
  assert.match(await page.locator("#said").textContent(), /^Chosen, Enter applies: .* × frame$/);
  await leads(page, () => page.keyboard.press("Enter"));
  assert.match(query(page).get("slices"), /^-[\d.]+,-[\d.]+$/);
  assert.equal(await page.evaluate(() => document.activeElement.classList.contains("heatmap")), true);
  await leads(page, () => page.keyboard.press("Escape"));
  assert.equal(query(page).get("slices"), null);
  await leads(page, () => goTo(page, "s"));
  await leads(page, () => goTo(page, "i"));
  assert.equal(new URL(page.url()).pathname, "/time");
});

test("slow_against_typical_is_one_click_and_per_slice", async page => {
  const {url} = await game();
  await open(page, url + "/time");
  await leads(page, () => page.getByRole("link", {name: "Slow against typical"}).click());
  assert.equal(new URL(page.url()).pathname, "/compare");
  assert.match(await page.locator(".compared").textContent(), /All amounts are per frame\.$/);
  assert.match(await page.locator(".headline").textContent(), /^\+454\.5%: collect⋯ new \+5\.00 µs$/);
  assert.deepEqual(await page.locator(".figure dt").allTextContents(), [
    "Typical frames",
    "Slowest 1% of frames",
    "Change",
  ]);
  assert.match((await rowOf(page, "draw"))[1], /^1\.00 µs/, "per frame, though five are typical");
  assert.match((await rowOf(page, "draw"))[2], /^1\.00 µs/, "and two are slow");
  assert.deepEqual(await chips(page), ["frames slowest 1%", "against typical"]);
  await leads(page, () => page.getByRole("link", {name: "Flame graph"}).last().click());
  assert.equal(query(page).get("view"), "flame");
  assert.match(await page.locator(".facts").textContent(), /1,100\.0 ns → 6,100\.0 ns, \+5,000\.0 ns/);
  await leads(page, () => page.locator(".switch").getByRole("link", {name: "Table"}).click());
  await leads(page, () => page.locator("tbody").getByRole("link", {name: "collect", exact: true}).click());
  assert.equal(query(page).get("against"), null);
  assert.equal(query(page).get("slices"), "slowest", "the block is shown where it is");
  await page.goBack();
  await shown(page);
  await leads(page, () => page.getByRole("link", {name: "Remove: against typical"}).click());
  assert.equal(new URL(page.url()).pathname, "/time");
});

test("one_slice_can_be_looked_into", async page => {
  const {url} = await game();
  await open(page, url + "/time");
  const listed = await rows(page, "Slowest frames");
  assert.deepEqual(listed.slice(0, 2).map(cells => [cells[0], cells[2], cells[3]]), [
    ["60.2 ms", "frame 200", "slowest, last"],
    ["60.1 ms", "frame 150", "slowest"],
  ]);
  await leads(page, () => page.getByRole("link", {name: "Flame graph of frame 200"}).click());
  assert.deepEqual(await chips(page), ["frames 200"]);
  assert.match(await page.locator(".left-over").textContent(), /^6\.10 µs left/);
});

test("a_profile_without_slices_has_no_page_of_times", async page => {
  const server = await view([dispatch()]);
  await open(page, server.url + "/");
  assert.equal(await page.locator("#pages").getByText("Time", {exact: true}).count(), 0);
  await open(page, server.url + "/time");
  assert.match(await page.locator(".empty-store").textContent(), /has no slices/);
  await page.goto("about:blank");
  await server.stop();
});

test("names_of_slices_are_text", async page => {
  const server = await view([sliced(HOSTILE, "hostile.pb")]);
  for (const address of ["/time?slices=slowest", "/compare?slices=slowest&against=typical", "/self?slices=200"]) {
    await open(page, server.url + address);
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).evil), undefined);
    assert.equal(await page.locator("main img, #filters img").count(), 0);
  }
  await page.goto("about:blank");
  await server.stop();
});

test("the_time_that_a_live_file_was_watched_can_be_chosen", async page => {
  const {step, url, end} = await growing(page, "watched.ouro");
  await open(page, url + "/time");
  assert.equal(await page.locator(".slices.charted").isVisible(), false, "the program has no slices");
  await step();
  await page.waitForFunction(() => document.querySelector(".watched path.bars")?.getAttribute("d"));
  await page.keyboard.press("p"); // the chart stands still
  await eventually(async () => assert.equal(await page.locator("#live").textContent(), "Paused"));
  await page.locator(".watched .timechart").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await leads(page, () => page.keyboard.press("Enter"));
  assert.match(query(page).get("during"), /^[\d.]+-[\d.]+$/);
  assert.match(await page.locator(".chip.last").textContent(), /^during.* to .*×$/);
  await leads(page, () => page.locator(".watched .onward").getByRole("link", {name: "Self"}).click());
  assert.match((await rowOf(page, "late"))[0], /^100 90\.9%/);
  assert.equal(await page.getByRole("link", {name: "leaf", exact: true}).count(), 0, "that was before");
  await page.goBack();
  await shown(page);
  await leads(page, () => page.getByRole("link", {name: "Last minute"}).click());
  assert.deepEqual([query(page).get("last"), query(page).get("during")], ["60", null]);
  await end();
});

if (hasPages)
  test("a_page_that_is_one_file_has_its_times_if_it_has_the_labels", async page => {
    await open(page, onePage(sliced()) + "#/time");
    assert.equal(await page.locator(".heatmap circle.tree").count(), 12);
    await leads(page, () => page.getByRole("link", {name: "Slowest 1% · 2"}).click());
    await leads(page, () => page.locator(".onward").getByRole("link", {name: "Self"}).click());
    assert.match((await rowOf(page, "collect"))[0], /^10\.0 µs/);
    await leads(page, () => page.locator("nav").getByRole("link", {name: "Time"}).click());
    await leads(page, () => page.getByRole("link", {name: "Slow against typical"}).click());
    assert.match(await page.locator(".headline").textContent(), /collect⋯ new \+5\.00 µs$/);
    // What the viewer saves with filters has no labels: then there is nothing to choose by.
    const {url} = await game();
    const saved = await fetch(url + "/api/v1/export?as=html&select=draw");
    await open(page, pathToFileURL(write("saved.html", await saved.text())).href + "#/");
    assert.equal(await page.locator("#pages").getByText("Time", {exact: true}).count(), 0);
  });

for (const colorScheme of /** @type {const} */ (["light", "dark"]))
  test(
    `axe_finds_nothing_on_the_page_of_times_in_${colorScheme}`,
    async page => {
      const {url} = await game();
      for (const address of ["/time", "/time?slices=typical", "/compare?slices=slowest&against=typical"]) {
        await open(page, url + address);
        await page.evaluate(axe);
        const {violations} = await page.evaluate(() => /** @type {any} */ (window).axe.run(document));
        assert.deepEqual(violations.map(v => `${v.id} ${v.nodes[0]?.target}`), []);
      }
    },
    {colorScheme},
  );

test("the_page_of_times_fits_screens_of_any_width", async page => {
  const {url} = await game();
  for (const width of [390, 800, 1400, 2560]) {
    await page.setViewportSize({width, height: 900});
    for (const address of ["/time?slices=1-2,0.02-", "/compare?slices=slowest&against=typical"]) {
      await open(page, url + address);
      await fits(page);
    }
  }
});

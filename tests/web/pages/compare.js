// SPDX-License-Identifier: MIT
//
// The comparison: metrics that both files have, what is the same block, the sentence, the difference
// flame graph.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import * as fixtures from "../fixtures.js";
import {test, view, write} from "../support.js";
import {fits, leads, leave, open, query, rows} from "../use.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const once = make => {
  let made;
  return () => (made ??= make());
};

/** A file whose metrics have names: one stack, main and f, with a value each.
 * @param {string} name @param {Record<string, number>} values by metric; the first is shown first */
const counted = (name, values) =>
  write(
    name,
    JSON.stringify({
      $schema: "https://www.speedscope.app/file-format-schema.json",
      exporter: "ouro",
      shared: {frames: [{name: "main"}, {name: "f"}]},
      profiles: Object.entries(values).map(([metric, value]) => ({
        type: "sampled",
        name: metric,
        unit: "none",
        startValue: 0,
        endValue: value,
        samples: [[0, 1]],
        weights: [value],
      })),
    }),
  );

/** Neither file shows first what both have. */
const metrics = once(() =>
  view([
    counted("metrics-before.json", {samples: 5, calls: 30, steps: 4}),
    counted("metrics-after.json", {ticks: 9, calls: 40, steps: 6}),
  ]),
);
const apart = once(() =>
  view([counted("apart-before.json", {samples: 5}), counted("apart-after.json", {ticks: 9})]),
);

/** The options of the selector. @param {import("playwright-core").Page} page */
const offered = page =>
  page
    .locator("#metric option")
    .evaluateAll(all => all.map(o => o.textContent + (o.disabled ? " -" : "")));
const totals = page => page.locator(".figures").textContent();

test("a_comparison_shows_the_metric_that_its_selector_says", async page => {
  const {url} = await metrics();
  await open(page, url + "/compare");
  assert.equal(await page.locator("#metric").inputValue(), "calls");
  assert.deepEqual(await offered(page), [
    "samples (only before) -",
    "calls",
    "steps",
    "ticks (only after) -",
  ]);
  assert.match(await totals(page), /Before30calls.*After40calls/);
  await leads(page, () => page.locator("#metric").selectOption("steps"));
  assert.match(await totals(page), /Before4steps.*After6steps/);
  assert.match(await page.locator(".headline").textContent(), /^\+50\.0%: f.* \+2$/);
  // A page without a metric in its address would show another one, so the choice stays in it.
  await leads(page, () => page.locator("#metric").selectOption("calls"));
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Self"}).click());
  assert.equal(await page.locator("#metric").inputValue(), "calls");
});

test("a_metric_that_is_not_there_leads_to_one_that_is", async page => {
  const {url} = await metrics();
  const says = async (address, text, metric) => {
    await open(page, url + address);
    assert.equal(await page.locator("#notice").textContent(), text, address);
    assert.equal(await page.locator("#metric").inputValue(), metric, address);
    assert.equal(query(page).get("metric"), null, address);
    assert.equal(await page.getByRole("alert").count(), 0, address);
  };
  await says("/compare?metric=samples", "samples cannot be compared (only before). This is calls.", "calls");
  await says("/compare?metric=nope", "There is no metric nope. This is calls.", "calls");
  for (const at of ["/?", "/self?", "/paths?", "/block?block=f&", "/flame?", "/tree?", "/recursion?", "/source?"])
    await says(at + "metric=nope", "There is no metric nope on this side. This is samples.", "samples");
  await open(page, url + "/self?metric=samples");
  assert.equal(await page.locator("#notice").isVisible(), false);
  await leads(page, () => page.getByLabel("Side").selectOption("after"));
  assert.match(await page.locator("#notice").textContent(), /no metric samples on this side/);
  assert.equal(await page.locator("#metric").inputValue(), "ticks");
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Overall"}).click());
  assert.equal(await page.locator("#notice").isVisible(), false, "it goes when the reader goes on");
});

test("files_without_a_common_metric_say_so", async page => {
  const {url} = await apart();
  await open(page, url + "/compare");
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.match(await page.locator("main").textContent(), /no metric in common.*Before has samples.*After has ticks/);
  assert.equal(await page.locator("#metric option:checked").textContent(), "none in common");
  await leads(page, () => page.getByRole("link", {name: "After", exact: true}).click());
  assert.equal(await page.locator("#metric").inputValue(), "ticks");
});

// ---------------------------------------------------------------- what is the same

/** The same program in two folders: init stands in two files, parse moved, extra is new. */
const checkouts = once(() => {
  const frames = (root, line) => [
    {name: "main", file: `${root}/src/main.c`, line: 9},
    {name: "parse", file: `${root}/src/parse.c`, line},
    {name: "init", file: `${root}/src/a.c`, line: 5},
    {name: "init", file: `${root}/lib/a.c`, line: 5},
    {name: "extra", file: `${root}/src/x.c`, line: 1},
  ];
  const stacks = [[0, 1], [0, 2], [0, 3], [0, 4]];
  const file = (name, root, line, weights) =>
    fixtures.speedscope(name, frames(root, line), stacks.slice(0, weights.length), weights);
  return view([
    file("checkout-before.json", "/home/me/main", 20, [100, 7, 11]),
    file("checkout-after.json", "/tmp/branch", 33, [240, 7, 11, 144]),
  ]);
});

test("the_same_function_of_another_folder_is_neither_new_nor_gone", async page => {
  const {url} = await checkouts();
  await open(page, url + "/compare");
  const cells = Object.fromEntries((await rows(page)).map(row => [row.at(-1), row.slice(-3, -1)]));
  assert.deepEqual(cells, {
    "extra /tmp/branch/src/x.c:1": ["+ new", "–"],
    "parse /tmp/branch/src/parse.c:33": ["▲ more", "name"],
    "init /tmp/branch/lib/a.c:5": ["= same", "path"],
    "init /tmp/branch/src/a.c:5": ["= same", "path"],
    "main /tmp/branch/src/main.c:9": ["▲ more", "name"],
  });
  const init = page.locator("tr", {hasText: "lib/a.c:5"});
  for (const cell of ["td.matched", "td.state"])
    assert.match(
      await init.locator(cell).getAttribute("title"),
      /longest common end of the path\.\nBefore: \/home\/me\/main\/lib\/a\.c:5/,
    );
});

test("a_comparison_begins_with_what_changed_most", async page => {
  const {url} = await checkouts();
  await open(page, url + "/compare");
  const line = page.locator(".headline");
  const said = async () => (await line.textContent()).replaceAll("⋯", "");
  assert.equal(await said(), "+240.7%: extra new +144 ms, parse +140 ms");
  await leads(page, () => line.getByRole("link", {name: "extra"}).click());
  assert.equal(query(page).get("side"), "after");
  assert.equal(query(page).get("block"), "extra");
  await open(page, url + "/compare?exclude=extra&search=init");
  assert.equal(await said(), "+118.6%: parse +140 ms");
  assert.match(await page.locator(".left-over").textContent(), /100\.0%; .*64\.2%/);
});

test("a_filter_of_the_comparison_is_one_of_both_sides", async page => {
  const {url} = await checkouts();
  await open(page, url + "/compare");
  await page.locator("th.name", {hasText: "lib/a.c:5"}).locator("a").focus();
  await leads(page, () => page.keyboard.press("s"));
  assert.match(
    await page.locator(".left-over").textContent(),
    /^11\.0 ms left before, 9\.3%; 11\.0 ms left after, 2\.7%$/,
  );
  assert.equal(await page.locator(".headline").textContent(), "No block changed.");
});

test("the_comparison_sorts_by_every_column_and_its_csv_is_the_same", async page => {
  const {url} = await checkouts();
  await open(page, url + "/compare");
  for (const title of ["Self, change", "Self before", "Self after", "Overall, change", "State", "Block"]) {
    await leads(page, () => page.getByRole("columnheader", {name: title}).getByRole("link").click());
    const names = (await rows(page)).map(cells => cells.at(-1).split(" ")[0]);
    const csv = await page.evaluate(async () => {
      const {search} = location;
      return (await fetch("/api/v1/compare" + search + "&format=csv")).text();
    });
    assert.deepEqual(csv.trim().split("\n").slice(1).map(line => line.split(",")[0]), names, title);
  }
});

// ---------------------------------------------------------------- the difference flame graph

const pair = once(() => view([fixtures.dispatch(), fixtures.after()]));
const facts = page => page.locator(".facts").textContent();

/** The colour in the middle of a row of boxes, by where it stands: red, blue or grey.
 * @param {import("playwright-core").Page} page @param {number} x 0 to 1 @param {number} row */
async function hue(page, x, row) {
  const [r, , b] = await page.locator(".difference canvas").first().evaluate(
    (canvas, at) => {
      const {width, height} = canvas.getBoundingClientRect();
      const scale = canvas.width / width;
      const place = [at.x * width, Math.min(height - 4, at.row * 19 + 4)].map(v => Math.round(v * scale));
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const c = copy.getContext("2d", {willReadFrequently: true});
      c.drawImage(canvas, 0, 0);
      return [...c.getImageData(place[0], place[1], 1, 1).data];
    },
    {x, row},
  );
  return r > b + 12 ? "red" : b > r + 12 ? "blue" : "grey";
}

test("the_difference_flame_graph_is_red_where_it_grew_and_blue_where_it_shrank", async page => {
  const {url} = await pair();
  await open(page, url + "/compare");
  await leads(page, () => page.getByRole("link", {name: "Flame graph"}).last().click());
  assert.equal(query(page).get("view"), "flame");
  // 98 after: main, run with 86, in it dispatch with 73, in it mul with 33 and call with 25.
  assert.equal(await hue(page, 0.5, 0), "blue", "all: 100 before, 98 after");
  assert.equal(await hue(page, 0.02, 4), "red", "mul: 20 before, 33 after");
  assert.equal(await hue(page, 0.45, 4), "grey", "call: 25 on both sides");
  assert.equal(await hue(page, 0.62, 4), "blue", "add: 30 before, 10 after");
  assert.match(await page.locator(".note").last().textContent(), /What is gone has no width after/);
  const names = await page.locator(".difference .legend li").allTextContents();
  assert.deepEqual([names[0], names.at(-1)], ["−50% or more", "new"]);
  const shown = await page
    .locator(".difference .legend .swatch")
    .evaluateAll(all => all.map(one => getComputedStyle(one).backgroundColor));
  assert.equal(new Set(shown).size, names.length, `each has a colour of its own: ${shown}`);
});

test("the_difference_flame_graph_works_by_keyboard_and_says_both_amounts", async page => {
  const {url} = await pair();
  await open(page, url + "/compare?view=flame");
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"])
    await page.keyboard.press(key);
  assert.match(
    await facts(page),
    /^mul.*overall20 → 33, \+13 \(\+65\.0%\)of total20\.0% → 33\.7%self20 → 33, \+13 \(\+65\.0%\)$/,
  );
  assert.match(await page.locator("#said").textContent(), /^mul, level 4\. Overall 20 → 33/);
  await page.keyboard.press("ArrowUp");
  await leads(page, () => page.keyboard.press("Enter"));
  assert.match(await page.locator(".crumbs").textContent(), /dispatch/);
  assert.match(await facts(page), /^dispatch.*overall80 → 73, −7/);
  await page.locator(".flame").focus();
  await leads(page, () => page.keyboard.press("Backspace"));
  await page.locator(".flame").focus();
  await leads(page, () => page.keyboard.press("e"));
  assert.equal(query(page).getAll("exclude").length, 1, "filters apply to both sides");
  assert.match(await page.locator(".left-over").textContent(), /left before.*left after/);
});

test("the_difference_flame_graph_is_as_wide_as_either_side", async page => {
  const {url} = await pair();
  await open(page, url + "/compare?view=flame");
  await leads(page, () => page.getByLabel("As wide as").selectOption("before"));
  assert.equal(query(page).get("width"), "before");
  const names = await page.locator(".difference .legend li").allTextContents();
  assert.deepEqual([names[0], names.at(-1)], ["gone", "+50% or more"]);
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"])
    await page.keyboard.press(key);
  assert.match(await facts(page), /^gc.*overall8 → 0, −8 \(gone\)/);
  await leads(page, () => page.keyboard.press("o"));
  assert.equal(query(page).get("side"), null, "what is gone is shown before");
  assert.match(await page.locator(".figures").textContent(), /Self8/);
});

test("a_program_that_only_ran_longer_did_not_grow_per_total", async page => {
  const twice = write("twice.folded", fixtures.DISPATCH.replace(/\d+/g, n => String(2 * Number(n))));
  const {url, stop} = await view([fixtures.dispatch(), twice]);
  await open(page, url + "/compare?view=flame");
  assert.equal(await hue(page, 0.02, 4), "red");
  await leads(page, () => page.getByLabel("Compare", {exact: true}).selectOption("total"));
  assert.equal(await hue(page, 0.02, 4), "grey");
  await leave(stop, page);
});

/** What axe finds. @param {import("playwright-core").Page} page */
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => /** @type {any} */ (window).axe.run(document));
  return found.violations.map(v => [v.id, v.nodes[0].target.join(" "), v.nodes[0].failureSummary]);
}

for (const colorScheme of ["light", "dark"])
  test(
    `axe_finds_nothing_on_a_comparison_in_${colorScheme}`,
    async page => {
      for (const [server, address] of [
        [await checkouts(), "/compare"],
        [await checkouts(), "/compare?view=flame&search=init"],
        [await pair(), "/compare?view=flame&width=before&exclude=gc"],
        [await metrics(), "/compare?metric=samples"],
        [await apart(), "/compare"],
      ]) {
        await open(page, server.url + address);
        await fits(page);
        assert.deepEqual(await violations(page), [], address);
      }
      await page.setViewportSize({width: 390, height: 800});
      await open(page, (await pair()).url + "/compare?view=flame");
      await fits(page);
    },
    {colorScheme},
  );

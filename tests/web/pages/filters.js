// SPDX-License-Identifier: MIT
//
// Filters by label and by regular expression, with the pointer and with the keyboard; undo; names.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import {test, view, write} from "../support.js";
import {chips, leads, open, query, rowOf, rows} from "../use.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const once = make => {
  let made;
  return () => (made ??= make());
};

/** Threads main and io, and many requests. */
function labelled() {
  const sample = (thread, at, frame) =>
    `cmd 7/${thread} [00${thread}] 1.${at}: 100 cycles:\n\t20 ${frame}+0x1 (/bin/x)\n\t10 main+0x1 (/bin/x)\n\n`;
  const text = [
    ...Array.from({length: 6}, (_, i) => sample(1, i, "parse_int")),
    ...Array.from({length: 3}, (_, i) => sample(2, i, "parse_text")),
    sample(3, 1, "write_out"),
    ...Array.from({length: 150}, (_, i) => sample(1000 + i, i, "request")),
  ];
  return write("labelled.txt", text.join(""));
}
const perf = once(() => view([labelled()], ["--metric", "samples"]));

test("the_chooser_filters_by_labels_with_the_keyboard_alone", async page => {
  const {url} = await perf();
  await open(page, url + "/overall?metric=samples");
  await page.keyboard.press("l");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", {name: /^tid/}).focus();
  await page.keyboard.press("Enter");
  await dialog.getByText("100 of 153 values.").waitFor();
  await dialog.getByLabel("Search among the values").focus();
  await page.keyboard.type("/^[12]$/");
  await dialog.locator(".values li").nth(2).waitFor({state: "detached"});
  await dialog.locator(".values li").nth(1).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await dialog.getByText("2 of 153").waitFor();
  await dialog.getByLabel("Search among the values").focus();
  await leads(page, () => page.keyboard.press("Enter"));
  assert.deepEqual(query(page).getAll("label"), ["tid=1", "tid=2"]);
  assert.match((await rowOf(page, "parse_int"))[1], /^6 /);
  assert.deepEqual(await chips(page), ["label tid = 1", "label tid = 2"]);
  await leads(page, () => page.keyboard.press("u"));
  assert.deepEqual(query(page).getAll("label"), []);
});

test("the_chooser_leaves_the_focus_where_the_reader_put_it", async page => {
  const {url} = await perf();
  let answer;
  const asked = new Promise(resolve => (answer = resolve));
  await page.route("**/api/v1/labels?*key=*", async route => {
    await asked;
    await route.continue();
  });
  await open(page, url + "/self?metric=samples");
  await page.keyboard.press("l");
  const key = page.getByRole("dialog").getByRole("button", {name: /^tid/});
  await key.focus();
  answer(null);
  await page.getByRole("dialog").locator(".values li").first().waitFor();
  assert.ok(await key.evaluate(e => e === document.activeElement));
});

test("a_value_can_be_left_out", async page => {
  const {url} = await perf();
  await open(page, url + "/self?metric=samples");
  await page.getByRole("button", {name: "Labels"}).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", {name: /^tid/}).click();
  await dialog.getByText("100 of 153 values.").waitFor(); // other labels have a value 1, too
  await dialog.getByRole("button", {name: "Without 1", exact: true}).click();
  await leads(page, () => dialog.getByRole("button", {name: "Apply"}).click());
  assert.deepEqual(query(page).getAll("label"), ["tid!=1"]);
  assert.ok(!(await rows(page)).some(cells => cells.join(" ").includes("parse_int")));
  await page.locator(".chip.label .of").click();
  await page.getByRole("dialog").getByText("1 of 153").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({state: "detached"});
});

test("an_expression_filters_all_blocks_that_it_matches", async page => {
  const {url} = await perf();
  await open(page, url + "/self?metric=samples");
  await page.getByRole("combobox", {name: "Find a block"}).fill("/^parse_/");
  const choice = page.getByRole("option", {name: "Select: only paths with one of 2 matches"});
  await leads(page, () => choice.click());
  assert.deepEqual(query(page).getAll("select-match"), ["^parse_"]);
  assert.deepEqual(await chips(page), ["select /^parse_/"]);
  assert.match(await page.locator(".left-over").textContent(), /^9 left/);
  await leads(page, () => page.getByRole("link", {name: /^Remove: select/}).click());
  assert.equal(await page.locator(".chip").count(), 0);
  await leads(page, () => page.getByRole("button", {name: "Undo"}).click());
  assert.deepEqual(query(page).getAll("select-match"), ["^parse_"]);
  await leads(page, () => page.goBack());
  assert.equal(query(page).getAll("select-match").length, 0, "the back button goes one step back, too");
});

test("a_search_can_be_an_expression_and_says_what_is_wrong_with_it", async page => {
  const {url} = await perf();
  await open(page, url + "/self?metric=samples");
  const field = page.locator("[data-page-search]");
  await field.fill("/^(write|parse)_/");
  await page.locator("tbody tr").nth(3).waitFor({state: "detached"});
  assert.equal((await rows(page)).length, 3);
  await field.fill("/(write/");
  await page.getByText("a ( without its )").waitFor();
  assert.equal(await field.inputValue(), "/(write/");
  assert.equal((await rows(page)).length, 3, "the page stays");
  await field.fill("/write/");
  await page.locator("tbody tr").nth(1).waitFor({state: "detached"});
  assert.equal(await page.locator(".search-problem").count(), 0);
}, {mayFail: /status of 400/});

test("a_named_set_of_filters_travels_in_the_address", async page => {
  const {url} = await perf();
  await open(page, url + "/self?metric=samples&label=tid%3D1&select-match=parse");
  await page.getByRole("button", {name: "Name…"}).click();
  await page.getByLabel(/The name is part of the address/).fill("parser <b>only</b>");
  await leads(page, () => page.keyboard.press("Enter"));
  assert.equal(query(page).getAll("label").length, 0);
  const address = page.url();
  await open(page, address.replace("/self", "/overall"));
  const chip = page.locator(".chip.named");
  assert.match(await chip.locator("summary").textContent(), /^parser <b>only<\/b>2 filters$/);
  assert.match(await page.locator(".left-over").first().textContent(), /^6 left/);
  await chip.locator("summary").click();
  await chip.getByText("tid = 1").waitFor();
  await leads(page, () => chip.getByRole("link", {name: "Take it apart"}).click());
  assert.deepEqual(query(page).getAll("label"), ["tid=1"]);
  assert.deepEqual(query(page).getAll("select-match"), ["parse"]);
});

test("undo_goes_back_through_the_filters_and_stays_on_the_page", async page => {
  const {url} = await perf();
  await open(page, url + "/self?metric=samples");
  await page.getByRole("link", {name: "request", exact: true}).focus();
  await leads(page, () => page.keyboard.press("e"));
  await page.getByRole("link", {name: "write_out", exact: true}).focus();
  await leads(page, () => page.keyboard.press("e"));
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Overall"}).click());
  await leads(page, () => page.keyboard.press("u"));
  assert.deepEqual(query(page).getAll("exclude"), ["request"]);
  await leads(page, () => page.keyboard.press("u"));
  assert.deepEqual(query(page).getAll("exclude"), []);
  assert.match(page.url(), /\/overall/);
  assert.equal(await page.getByRole("button", {name: "Undo"}).count(), 0);
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(
    `axe_finds_nothing_in_the_chooser_and_in_the_filters_in_${colorScheme}`,
    async page => {
      const {url} = await perf();
      const check = async where => {
        await page.evaluate(axe);
        const {violations} = await page.evaluate(() => /** @type {any} */ (window).axe.run(document));
        assert.deepEqual(
          violations.map(v => `${where}: ${v.id} ${v.nodes[0]?.target}`),
          [],
        );
      };
      const named = encodeURIComponent("name=parser&select=parse_int&label=tid!%3D3");
      await open(page, `${url}/self?metric=samples&label=tid%3D1&fold-match=out&named=${named}`);
      await page.locator(".chip.named summary").click();
      await check("filters");
      await page.locator(".chip.named summary").click();
      await page.keyboard.press("l");
      await page.getByRole("dialog").locator(".values li").first().waitFor();
      await check("chooser");
    },
    {colorScheme},
  );
}

// SPDX-License-Identifier: MIT
//
// Compare, live files, source, export, theme, paper, and the keyboard alone.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import * as fixtures from "../fixtures.js";
import {growing} from "../growing.js";
import {folder, ouro, run, test, view} from "../support.js";
import {chips, eventually, leads, link, open, query, rowOf, rows, shown} from "../use.js";

const once = make => {
  let made;
  return () => (made ??= make());
};
const pair = once(() => view([fixtures.dispatch(), fixtures.after()]));
const source = once(() => view([fixtures.withSource()]));
const dispatch = once(() => view([fixtures.dispatch()]));

test("two_files_are_compared_block_by_block", async page => {
  const {url} = await pair();
  await open(page, url + "/compare");
  assert.match(await page.locator(".figures").textContent(), /Before100.*After98.*Change−2−2\.0%/);
  const states = Object.fromEntries((await rows(page)).map(cells => [cells.at(-1), cells]));
  assert.equal(states.add[0], "−20 −36.4%");
  assert.equal(states.add[1], "55 55.0%");
  assert.equal(states.add[2], "35 35.7%");
  assert.equal(states.add[4], "▼ less");
  assert.deepEqual([states.mul[0], states.mul[4]], ["+13 +65.0%", "▲ more"]);
  assert.deepEqual([states.gc[0], states.gc[4]], ["−8 gone", "− gone"]);
  assert.deepEqual([states.sweep[0], states.sweep[4]], ["+13 new", "+ new"]);
  assert.deepEqual([states.setup[0], states.setup[4]], ["0 0.0%", "= same"]);
  await leads(page, () => page.getByRole("link", {name: /new 1/}).click());
  assert.deepEqual(
    (await rows(page)).map(cells => cells.at(-1)),
    ["sweep"],
  );
  await leads(page, () => link(page, "sweep").click());
  assert.equal(query(page).get("side"), "after", "it is only there");
  assert.match(await page.locator(".figures").textContent(), /Self13/);
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Self"}).click());
  await leads(page, () => page.getByLabel("Side").selectOption("before"));
  assert.equal((await rowOf(page, "gc"))[0], "8 8.0%");
});

test("more_is_orange_and_less_is_blue", async page => {
  const {url} = await pair();
  await open(page, url + "/compare");
  const hue = selector =>
    page
      .locator(selector)
      .first()
      .evaluate(e => {
        const [r, g, b] = getComputedStyle(e).color.match(/\d+/g).map(Number);
        return r > b ? (g > b ? "orange" : "red") : "blue";
      });
  assert.equal(await hue("td.change.worse .value"), "orange");
  assert.equal(await hue("td.change.better .value"), "blue");
});

test("the_page_follows_a_live_file_without_losing_the_place", async page => {
  const {program, step, url, end} = await growing(page, "grow.ouro");
  await open(page, url + "/self");
  assert.equal(await page.locator("#live").textContent(), "Live");
  assert.match((await rowOf(page, "leaf"))[0], /^100 90\.9%/);
  await link(page, "leaf").focus();
  await step();
  await page.getByRole("link", {name: "late", exact: true}).waitFor();
  await eventually(async () => assert.match((await rowOf(page, "late"))[0], /^100 45\.5%/));
  assert.equal(
    await page.evaluate(() => document.activeElement?.textContent),
    "leaf",
    "the focus stays where it was",
  );
  await page.locator("#live").click();
  await eventually(async () => assert.equal(await page.locator("#live").textContent(), "Paused"));
  await step();
  await page.locator("#live").click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("tbody tr")].some(row =>
      /^200 ?60\.6%/.test(row.innerText.replace(/\s+/g, " ")),
    ),
  );
  program.stdin.end();
  await page.waitForFunction(() => document.getElementById("live").textContent === "Ended");
  assert.match((await rowOf(page, "late"))[0], /^200 60\.6%/);
  await end();
});

test("the_flame_graph_of_a_live_file_keeps_its_zoom_and_its_focus", async page => {
  const {step, url, end} = await growing(page, "flames.ouro");
  await open(page, url + "/flame?at=main");
  const zoomed = page.url();
  await page.setViewportSize({width: 1280, height: 260});
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  assert.match(await page.locator(".facts").textContent(), /^leaf.*overall.*100,/);
  await page.evaluate(() => scrollTo(0, 170));
  await step();
  await page.waitForFunction(() =>
    /45\.5% of all/.test(document.querySelector(".facts").textContent),
  );
  assert.match(await page.locator(".facts").textContent(), /^leaf/, "the same box");
  assert.equal(await page.evaluate(() => scrollY), 170, "the page does not jump");
  assert.equal(page.url(), zoomed);
  await end();
});

test("source_has_numbers_beside_its_lines", async page => {
  const {url} = await source();
  await open(page, url + "/source");
  const files = await rows(page);
  assert.equal(files[0].at(-1), "program.x");
  await leads(page, () => page.getByRole("link", {name: "program.x"}).click());
  const lines = await rows(page);
  const hot = lines.find(cells => cells[2] === "700");
  assert.deepEqual(hot, [
    "60.0 ms 60.0%",
    "80.0 ms 80.0%",
    "700",
    "line 700 <b>of</b> the program",
    "work",
  ]);
  assert.ok(lines.length < 900, "a long file is not shown whole");
  await page.getByRole("button", {name: "lines from 10"}).click();
  await eventually(async () =>
    assert.ok((await rows(page)).some(cells => cells[3] === "line 200 <b>of</b> the program")),
  );
  await open(page, url + "/block?block=work");
  await leads(page, () => page.getByRole("link", {name: "Source"}).last().click());
  assert.equal(await page.locator("tr.wanted th.line").textContent(), "700");
  await page.waitForFunction(() => {
    const box = document.querySelector("tr.wanted").getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight;
  }); // the line is in sight
  await open(page, url + "/source?file=" + encodeURIComponent("short.x") + "&line=300");
  await page.waitForFunction(() => scrollY > 1000);
});

test("what_may_not_be_read_is_told_with_its_numbers", async page => {
  const {url} = await source();
  await open(page, url + "/source?file=%2Fetc%2Fpasswd");
  assert.match(await page.locator(".note").textContent(), /The text is not shown: /);
  assert.doesNotMatch(await page.content(), /root:x:0:0/);
  assert.deepEqual((await rows(page))[0].slice(0, 3), [
    "20.0 ms 20.0%",
    "20.0 ms 20.0%",
    "1",
  ]);
});

test(
  "everything_is_exported_with_its_filters",
  async (page, context) => {
    const {url} = await dispatch();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(page, url + "/self?exclude=gc");
    const take = async item => {
      await page.getByRole("button", {name: "Export"}).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", {name: item}).click(),
      ]);
      return {name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path())};
    };
    const csv = await take("CSV");
    assert.equal(csv.name, "dispatch.folded-self.csv");
    const text = csv.bytes.toString();
    assert.match(text, /^name,.*self.*overall/);
    assert.ok(/^add,/m.test(text) && !/^gc,/m.test(text), text);
    const svg = (await take("SVG")).bytes.toString();
    assert.ok(
      svg.includes("<svg") && svg.includes("dispatch") && !svg.includes(">gc "),
      "the picture has what is left",
    );
    assert.match((await take("HTML")).bytes.toString(), /<!doctype html>/i);
    fs.writeFileSync(path.join(folder, "export.pb"), (await take("pprof")).bytes);
    assert.match(run(ouro, "report", "export.pb"), /92 samples[^]*55 +59\.78%.*add/);
    assert.match((await take("Folded")).bytes.toString(), /^main;run;dispatch;add 30$/m);
    JSON.parse((await take("speedscope")).bytes.toString());
    await page.getByRole("button", {name: "Export"}).click();
    await page.getByRole("menuitem", {name: "Copy the link"}).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === location.href);
  },
  {around: true},
);

test("every_page_can_be_exported", async page => {
  const {url} = await pair();
  for (const at of [
    "/",
    "/self",
    "/overall",
    "/paths",
    "/block?block=add",
    "/flame",
    "/tree",
    "/recursion",
    "/source",
    "/compare",
  ]) {
    await open(page, url + at + (at === "/" ? "?metric=samples" : ""));
    await page.getByRole("button", {name: "Export"}).click();
    const links = await page
      .getByRole("menuitem")
      .evaluateAll(all => all.filter(e => e.href).map(e => e.href));
    assert.ok(links.length >= 6 && links.some(address => address.includes("format=csv")), at);
    for (const address of links)
      assert.equal((await page.request.get(address)).status(), 200, address);
    await page.keyboard.press("Escape");
  }
});

test(
  "the_theme_is_chosen_and_kept",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/self");
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole("button", {name: "Theme: auto"}).click();
    await page.getByRole("button", {name: "Theme: light"}).click();
    assert.notEqual(await ground(), light);
    await page.reload();
    await shown(page);
    assert.notEqual(await ground(), light);
    await page.getByRole("button", {name: "Theme: dark"}).click();
    assert.equal(await ground(), light);
  },
  {colorScheme: "light"},
);

test("on_paper_there_is_the_table_and_no_buttons", async page => {
  const {url} = await dispatch();
  await open(page, url + "/self?fold=dispatch");
  await page.emulateMedia({media: "print", colorScheme: "dark"});
  assert.equal(await page.locator(".pages").isVisible(), false);
  assert.equal(await page.locator(".tools").isVisible(), false);
  assert.ok((await page.locator("table").isVisible()) && (await page.locator(".chip").isVisible()));
  assert.equal(
    await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
    "rgb(255, 255, 255)",
  );
});

test(
  "with_the_keyboard_alone",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/");
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await leads(page, () => press("g", "s"));
    assert.equal(new URL(page.url()).pathname, "/self");
    await press("/");
    await leads(page, () => page.keyboard.type("a"));
    await press("Tab", "Tab", "Tab", "Tab", "Tab");
    const visible = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(visible, "solid", "what has the focus is seen");
    await link(page, "add").focus();
    await press("ArrowDown");
    assert.equal(await focused(), "dispatch");
    await press("ArrowUp");
    assert.equal(await focused(), "add");
    await press("ArrowDown");
    await leads(page, () => press("f"));
    assert.deepEqual(await chips(page), ["fold dispatch"]);
    assert.notEqual(
      await page.evaluate(() => document.activeElement.tagName),
      "BODY",
      "the focus is not lost with the row",
    );
    await link(page, "add").focus();
    await press("m");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "menuitem");
    await press("ArrowDown");
    await leads(page, () => press("Enter"));
    assert.deepEqual(await chips(page), ["exclude add", "fold dispatch"]);
    await press("?");
    assert.ok(await page.getByRole("dialog").isVisible());
    assert.match(await page.getByRole("dialog").textContent(), /select, exclude, fold/);
    await press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.locator(".chip .remove").first().focus();
    await leads(page, () => press("Enter"));
    await leads(page, () => press("g", "t"));
    await link(page, "main").focus();
    await leads(page, () => press("ArrowLeft")); // the hottest path is open
    assert.equal((await rows(page)).length, 1);
    await leads(page, () => press("ArrowRight"));
    assert.equal(await focused(), "main");
    await press("ArrowDown");
    assert.equal(await focused(), "run");
    await press("ArrowLeft");
    assert.equal(await focused(), "main");
    await leads(page, () => press("ArrowLeft"));
    assert.equal((await rows(page)).length, 1);
    await leads(page, () => page.goBack());
    assert.equal((await rows(page)).length, 3);
  },
  {around: true},
);

test("letters_can_be_switched_off", async page => {
  const {url} = await dispatch();
  await open(page, url + "/self");
  await page.getByRole("button", {name: "Keys and help"}).click();
  await page.getByLabel("Letters are keys").uncheck();
  await page.getByRole("button", {name: "Close"}).click();
  await link(page, "add").focus();
  await page.keyboard.press("e");
  await page.keyboard.press("?");
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(page.url(), url + "/self");
});

test("letters_typed_into_a_field_are_text", async page => {
  const {url} = await dispatch();
  await open(page, url + "/self");
  await page.keyboard.press("/");
  await leads(page, () => page.keyboard.type("set"));
  await page.waitForFunction(() => location.search === "?search=set");
  assert.deepEqual(await chips(page), []);
});

test("going_back_finds_the_place_on_the_page", async page => {
  const {url} = await view([fixtures.wide()]);
  await open(page, url + "/self");
  await page.evaluate(() => scrollTo(0, 1500));
  await leads(page, () => link(page, "block_60").click());
  assert.equal(await page.evaluate(() => scrollY), 0);
  await leads(page, () => page.goBack());
  await page.waitForFunction(() => Math.abs(scrollY - 1500) < 300);
});

// SPDX-License-Identifier: MIT
//
// The flame graph: where a click lands, what a zoom and a search say, and the same without a pointer.

import assert from "node:assert/strict";
import * as fixtures from "../fixtures.js";
import {test, view} from "../support.js";
import {chips, leads, open, zoomedTo} from "../use.js";

let server;
const dispatch = () => (server ??= view([fixtures.dispatch()]));
const ROW = 19;

/**
 * Clicks the box at a share of the width, at a level.
 * @param {import("playwright-core").Page} page
 */
async function click(page, share, level, options = {}) {
  const box = await page.locator(".flame").boundingBox();
  await page.mouse.click(
    box.x + 1 + share * (box.width - 2),
    box.y + 1 + (level + 0.5) * ROW,
    options,
  );
}

const facts = page => page.locator(".facts").textContent();

test("a_click_zooms_a_click_above_zooms_out_and_the_address_knows", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame");
  // Level 0 all, 1 main, 2 run (88 of 100), 3 dispatch (80), 4 add (30), call (25), mul (20)
  await leads(page, () => click(page, 0.4, 3));
  assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch"]);
  assert.match(
    await facts(page),
    /dispatch.*overall.*80, 80\.0% of all.*self.*5, 5\.0% of all/,
  );
  // Now dispatch has the whole width; add is the first 30 of 80.
  await leads(page, () => click(page, 0.2, 4));
  assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch", "add"]);
  await leads(page, () => click(page, 0.5, 1));
  assert.deepEqual(await zoomedTo(page), ["main"]);
  await leads(page, () => page.goBack());
  assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch", "add"]);
  await leads(page, () => page.locator(".crumbs").getByRole("link", {name: "all"}).click());
  assert.deepEqual(await zoomedTo(page), []);
});

test("the_tooltip_tells_self_overall_and_both_percentages", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame?exclude=setup");
  const box = await page.locator(".flame").boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 3.5 * ROW);
  const tip = page.locator(".tooltip");
  await tip.waitFor();
  assert.match(
    await tip.textContent(),
    /^dispatchoverall80, 80\.0% of all, 90\.9% of leftself5, 5\.0% of all, 5\.7% of left/,
  );
  await page.mouse.move(box.x + 0.3 * box.width, box.y - 60);
  await tip.waitFor({state: "hidden"});
});

test(
  "a_search_highlights_and_tells_what_it_found_in_all",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/flame");
    await leads(page, () => page.getByPlaceholder("Name, file").fill("ADD"));
    assert.equal(
      await page.locator(".found").textContent(),
      "55.0% of all: 55 in paths with 1 block",
    );
    const colours = await page.evaluate(() => {
      const canvas = document.querySelector(".flame canvas"),
        ratio = devicePixelRatio,
        c = canvas.getContext("2d");
      const at = (share, level) =>
        [...c.getImageData(share * canvas.width, (level * 19 + 3) * ratio, 1, 1).data].join();
      return {add: at(0.28, 4), mul: at(0.6, 4), main: at(0.6, 1)};
    });
    assert.notEqual(colours.add, colours.mul, "what was found stands out");
    assert.equal(colours.mul, colours.main, "the rest does not");
  },
  {mayFail: /willReadFrequently/},
);

test("arrows_move_enter_zooms_letters_filter", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame");
  await page.locator(".flame").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"])
    await page.keyboard.press(key);
  assert.match(await facts(page), /^dispatch/, "the first key takes the root");
  await page.waitForFunction(() =>
    /^dispatch, level 3\. Overall 80, 80\.0% of all.*Self 5/.test(
      document.getElementById("said").textContent,
    ),
  );
  await page.keyboard.press("ArrowRight");
  assert.match(await facts(page), /^setup|^gc/, "its neighbour");
  await page.keyboard.press("ArrowLeft");
  await leads(page, () => page.keyboard.press("Enter"));
  assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch"]);
  await leads(page, () => page.keyboard.press("Backspace"));
  assert.deepEqual(await zoomedTo(page), ["main", "run"]);
  assert.match(await facts(page), /^dispatch/, "the focus stays on its box");
  await leads(page, () => page.keyboard.press("f"));
  assert.deepEqual(await chips(page), ["fold dispatch"]);
});

test("the_second_button_of_the_mouse_opens_the_menu_of_a_box", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame");
  await click(page, 0.4, 3, {button: "right"});
  await page.getByRole("menu", {name: "Block dispatch"}).waitFor();
  await leads(page, () => page.getByRole("menuitem", {name: "Exclude"}).click());
  assert.deepEqual(await chips(page), ["exclude dispatch"]);
});

test("a_filter_that_takes_the_zoomed_path_away_zooms_out", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame?at=main&at=setup&select=gc");
  assert.deepEqual(await zoomedTo(page), ["main"]);
  assert.match(await facts(page), /^main.*8, 8\.0% of all, 100\.0% of left/);
  await open(page, url + "/flame?at=main&at=somebody");
  assert.deepEqual(await zoomedTo(page), ["main"]);
  await open(page, url + "/tree?at=main&at=setup&select=gc");
  assert.deepEqual(await zoomedTo(page), ["main"]);
});

test("recursion_is_marked", async page => {
  const {url} = await view([fixtures.bytecode()]);
  await open(page, url + "/flame?at=main&at=fib");
  assert.match(await facts(page), /fib.*↻ entered 150,048 times by recursion/);
});

test("a_graph_of_three_thousand_levels_scrolls_in_its_frame", async page => {
  const {url} = await view([fixtures.deep()]);
  await open(page, url + "/flame");
  const size = await page.locator(".flame").evaluate(e => ({
    canvas: e.querySelector("canvas").height,
    frame: e.clientHeight,
    all: e.scrollHeight,
  }));
  assert.ok(size.all > 30000 && size.canvas <= size.frame * 4, JSON.stringify(size));
  await page.locator(".flame").evaluate(e => {
    e.scrollTop = 20000;
  });
  await page.waitForFunction(() => {
    const canvas = document.querySelector(".flame canvas");
    const {data} = canvas.getContext("2d").getImageData(Math.round(canvas.width * 0.9), 10, 1, 1);
    return data[3] > 0;
  });
});

test(
  "a_finger_tells_first_and_zooms_then",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/flame");
    const box = await page.locator(".flame").boundingBox();
    const at = [box.x + 0.3 * box.width, box.y + 3.5 * ROW];
    await page.touchscreen.tap(...at);
    await page.waitForFunction(() =>
      document.querySelector(".facts").textContent.startsWith("dispatch"),
    );
    assert.deepEqual(await zoomedTo(page), []);
    await leads(page, () => page.touchscreen.tap(...at));
    assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch"]);
  },
  {hasTouch: true},
);

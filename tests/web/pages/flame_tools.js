// SPDX-License-Identifier: MIT
//
// Around the flame graph: the tooltip that goes away, keys after "g", upside down, magnifying, moving
// and the map, searching in graphs and trees, a block between its callers and callees.

import assert from "node:assert/strict";
import * as fixtures from "../fixtures.js";
import {test, view} from "../support.js";
import {eventually, leads, link, open, query, rows, zoomedTo} from "../use.js";

let server, deep;
const dispatch = () => (server ??= view([fixtures.dispatch()]));
const deepest = () => (deep ??= view([fixtures.deepest()]));
const ROW = 19;

const facts = page => page.locator(".facts").textContent();
/** A point in a graph, by its share of the width and its level. */
async function point(page, share, level, graph = page.locator(".flame").first()) {
  const box = await graph.boundingBox();
  return [box.x + 1 + share * (box.width - 2), box.y + 1 + (level + 0.5) * ROW];
}
/** The boxes of a level by what their tooltips say, from left to right. */
async function namesOf(page, number) {
  const names = [];
  for (let share = 0.02; share < 1; share += 0.04) {
    await page.mouse.move(...(await point(page, share, number)));
    const tip = page.locator(".tooltip");
    const name = (await tip.isVisible()) ? await tip.locator(".name").textContent() : "";
    if (names.at(-1) !== name) names.push(name);
  }
  return names.filter(Boolean);
}
/** A tooltip follows the pointer a moment later, and so does what the wheel magnifies. */
const levelIs = (page, number, names, why) =>
  eventually(async () => assert.deepEqual(await namesOf(page, number), names, why));
/** What the tooltip says; "" if there is none. */
async function tipOf(page) {
  const tip = page.locator(".tooltip");
  return (await tip.isVisible()) ? tip.textContent() : "";
}

test("the_tooltip_goes_away_with_a_click_a_menu_a_key_and_scrolling", async page => {
  const {url} = await view([fixtures.deep()]);
  await open(page, url + "/flame");
  const tip = page.locator(".tooltip");
  const show = async () => {
    await page.mouse.move(...(await point(page, 0.8, 3)));
    await page.mouse.move(...(await point(page, 0.81, 2)));
    await tip.waitFor();
  };
  await show();
  await page.mouse.click(...(await point(page, 0.81, 2)), {button: "right"});
  await page.getByRole("menu").waitFor();
  assert.ok(!(await tip.isVisible()), "the menu is not covered");
  await page.mouse.move(...(await point(page, 0.9, 4)));
  assert.ok(!(await tip.isVisible()), "nor while the pointer moves beside it");
  await page.keyboard.press("Escape");
  await show();
  await page.keyboard.press("Home");
  assert.ok(!(await tip.isVisible()), "a key");
  await show();
  await page.mouse.wheel(0, 300);
  await tip.waitFor({state: "hidden"});
  await show();
  await leads(page, () => page.mouse.down().then(() => page.mouse.up()));
  assert.ok(!(await tip.isVisible()), "a zoom");
});

test("keys_after_g_go_to_pages_from_the_flame_graph_too", async page => {
  const {url} = await dispatch();
  for (const [key, path] of [
    ["f", "/flame"],
    ["s", "/self"],
    ["o", "/"],
  ]) {
    await open(page, url + "/flame?search=a");
    await page.locator(".flame").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await leads(page, async () => {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
    });
    assert.equal(page.url(), url + path, "no filter, another page");
  }
  await open(page, url + "/self");
  await link(page, "add").focus();
  await leads(page, async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("f");
  });
  assert.equal(page.url(), url + "/flame");
});

test("upside_down_the_hottest_ends_come_first_and_below_them_their_callers", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame");
  await leads(page, () => page.getByRole("button", {name: "Invert"}).click());
  assert.equal(query(page).get("invert"), "yes");
  // add 55, mul 20, setup 12, gc 8, dispatch 5
  await levelIs(page, 1, ["add", "mul", "setup", "gc", "dispatch"]);
  await leads(page, async () => page.mouse.click(...(await point(page, 0.2, 1))));
  assert.match(await facts(page), /^add.*spent55, 55\.0% of all$/);
  assert.equal((await page.locator(".crumbs bdi").allTextContents()).join(" "), "all add");
  assert.match(query(page).get("path"), /^[\w-]{11}\.1$/);
  // add < dispatch < run, then main (30) and call (25)
  await levelIs(page, 4, ["main", "call"]);
  await leads(page, async () => page.mouse.click(...(await point(page, 0.9, 4))));
  assert.match(await facts(page), /^call.*spent25/);
  await leads(page, () => page.goBack());
  await page.locator(".flame").focus();
  await leads(page, () => page.keyboard.press("i"));
  assert.equal(page.url(), url + "/flame", "the same key turns it back");
  await open(page, (await deepest()).url + "/flame?invert=yes");
  await levelIs(page, 1, ["g", "f99999"]);
  assert.match(await page.locator(".note").textContent(), /^Not drawn: 1 box too deep, what is below/);
});

test("i_turns_the_flame_graph_and_n_goes_to_a_match_wherever_the_focus_is", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame");
  await leads(page, () => page.keyboard.press("i"));
  assert.equal(query(page).get("invert"), "yes");
  await leads(page, () => page.keyboard.press("i"));
  assert.equal(page.url(), url + "/flame");
  for (const view of ["flame", "tree"]) {
    await open(page, url + `/${view}?search=add`);
    await leads(page, () => page.keyboard.press("n"));
    assert.equal(query(page).get("match"), "1");
    await leads(page, () => page.keyboard.press("n"));
    assert.equal(query(page).get("match"), "2");
    await leads(page, () => page.keyboard.press("N"));
    assert.equal(query(page).get("match"), "1");
  }
});

test(
  "the_wheel_with_ctrl_and_keys_magnify_dragging_moves_and_nothing_zooms",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/flame");
    const before = page.url();
    await levelIs(page, 2, ["run", "setup"]);
    await page.mouse.move(...(await point(page, 0.99, 2)));
    await page.keyboard.down("Control");
    for (let n = 0; n < 5; n++) await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await levelIs(page, 2, ["setup"], "what is under the pointer stays there");
    // To the right: what lies left of it comes back.
    const [x, y] = await point(page, 0.1, 2);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 500, y, {steps: 4});
    await page.mouse.move(x + 1000, y, {steps: 4});
    await page.mouse.up();
    await levelIs(page, 2, ["run", "setup"]);
    await page.locator(".flame").focus();
    await page.keyboard.press("0");
    await levelIs(page, 2, ["run", "setup"]);
    for (let n = 0; n < 6; n++) await page.keyboard.press("+");
    for (let n = 0; n < 40; n++) await page.keyboard.press("Shift+ArrowRight");
    await levelIs(page, 2, ["setup"]);
    for (let n = 0; n < 9; n++) await page.keyboard.press("-");
    await levelIs(page, 2, ["run", "setup"]);
    assert.equal(page.url(), before, "a drag is no click");
  },
  {around: true},
);

test(
  "what_is_magnified_is_asked_for_again_where_boxes_were_too_narrow",
  async page => {
    const {url} = await view([fixtures.wide()]);
    await open(page, url + "/flame");
    // main, then 50 groups of 2% each, of 1,000 blocks each
    const [x, y] = await point(page, 0.51, 2);
    await page.mouse.move(x, y);
    const name = await page.locator(".tooltip .name").textContent();
    await leads(page, async () => {
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -2400);
      await page.keyboard.up("Control");
    });
    assert.deepEqual(await zoomedTo(page), ["main", name]);
    assert.equal(await page.locator(".note").textContent(), "", "now all are there");
    await page.locator(".flame").focus();
    await page.keyboard.press("0");
    await leads(page, () => page.keyboard.press("-"));
    assert.deepEqual(await zoomedTo(page), ["main"], "smaller than the whole is its caller");
  },
  {around: true},
);

test("a_map_shows_where_a_part_is_and_leads_to_others", async page => {
  const {url} = await view([fixtures.deep()]);
  await open(page, url + "/flame");
  const map = page.locator(".minimap"),
    box = await map.boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await eventually(async () => {
    const scrolled = await page.locator(".flame").evaluate(e => e.scrollTop / e.scrollHeight);
    assert.ok(scrolled > 0.4 && scrolled < 0.6, String(scrolled));
  });
  await open(page, (await dispatch()).url + "/flame");
  assert.ok(!(await map.isVisible()), "all is shown already");
});

test("the_graph_is_as_tall_as_the_window_has_room_for", async page => {
  const {url} = await view([fixtures.deep()]);
  for (const height of [700, 1400]) {
    await page.setViewportSize({width: 1280, height});
    await open(page, url + "/flame");
    await eventually(async () => {
      const end = await page.locator(".note").evaluate(e => e.getBoundingClientRect().bottom);
      assert.ok(end > height - 60 && end <= height, `${end} of ${height}`);
    });
  }
});

test(
  "two_fingers_magnify",
  async (page, context) => {
    const {url} = await dispatch();
    await open(page, url + "/flame");
    const devtools = await context.newCDPSession(page);
    const [x, y] = await point(page, 0.94, 2);
    const touch = (type, ...points) =>
      devtools.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: points.map((far, id) => ({x: x + far, y, id})),
      });
    await touch("touchStart", -20, 5);
    for (let far = 20; far <= 500; far += 40) await touch("touchMove", -far, far / 4);
    await touch("touchEnd");
    const box = await page.locator(".flame").boundingBox();
    await page.mouse.move(box.x + 0.6 * box.width, y);
    await eventually(async () => assert.match(await tipOf(page), /^setup/, "it is wide now"));
  },
  {hasTouch: true},
);

test("next_and_previous_go_to_matches_also_where_nothing_is_drawn", async page => {
  const {url} = await deepest();
  await open(page, url + "/flame");
  await leads(page, () => page.getByPlaceholder("Name, file").fill("f9999"));
  assert.match(await page.locator(".found").textContent(), /^41\.7% of all: 5 in paths with 11 blocks$/);
  assert.equal(await page.locator(".steps span").textContent(), "11");
  await leads(page, () => page.keyboard.press("Enter"));
  assert.match(await facts(page), /^f9999⋯?overall5/);
  assert.equal((await zoomedTo(page)).at(-1), "f9999", "it was too deep");
  assert.equal(await page.locator(".steps span").textContent(), "1 of 11");
  await leads(page, () => page.getByRole("button", {name: "Next match"}).click());
  assert.match(await facts(page), /^f99990/);
  await page.locator(".flame").focus();
  await leads(page, () => page.keyboard.press("n"));
  assert.match(await facts(page), /^f99991/);
  assert.equal((await zoomedTo(page)).at(-1), "f99990", "it is drawn already");
  await leads(page, () => page.keyboard.press("Shift+N"));
  await leads(page, () => page.keyboard.press("Shift+N"));
  await leads(page, () => page.keyboard.press("Shift+N"));
  assert.equal(await page.locator(".steps span").textContent(), "11 of 11", "around the end");
  assert.match(await facts(page), /^f99999/);
});

test(
  "an_expression_is_searched_and_a_wrong_one_is_told_without_losing_the_page",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/flame");
    const field = page.getByPlaceholder("Name, file");
    await leads(page, () => field.fill("/^(add|m.l)$/"));
    assert.equal(
      await page.locator(".found").textContent(),
      "75.0% of all: 75 in paths with 2 blocks",
    );
    assert.equal(await page.locator(".steps span").textContent(), "3");
    for (const name of ["flame", "tree"]) {
      await open(page, `${url}/${name}`);
      await leads(page, () => field.fill("/add(/"));
      assert.match(await page.locator(".found.problem").textContent(), /expression/);
      assert.ok(await page.locator(".flame, table.tree").first().isVisible(), "the page stays");
      assert.ok(await field.evaluate(e => e === document.activeElement), "and so does the field");
      await leads(page, () => field.fill("/add/"));
      assert.match(await page.locator(".found").first().textContent(), /^55\.0% of all/);
    }
  },
  {mayFail: /400/},
);

test("the_call_tree_opens_along_the_hottest_path_by_itself", async page => {
  const {url} = await dispatch();
  await open(page, url + "/tree");
  assert.deepEqual(
    (await rows(page)).map(cells => cells.at(-1)),
    ["main", "run", "dispatch", "add", "call", "mul", "gc", "setup"],
  );
  assert.equal(page.url(), url + "/tree");
  await leads(page, () => page.getByRole("link", {name: "Close all"}).click());
  assert.deepEqual((await rows(page)).map(cells => cells.at(-1)), ["main"]);
  await leads(page, () => page.getByRole("link", {name: "Open the hottest path"}).click());
  assert.equal((await rows(page)).length, 8);
});

test("a_search_in_the_call_tree_opens_the_rows_that_lead_to_a_match", async page => {
  const {url} = await dispatch();
  await open(page, url + "/tree?open=none");
  await leads(page, () => page.getByPlaceholder("Name, file").fill("add"));
  assert.match(await page.locator(".found").first().textContent(), /^55\.0% of all: 55 in paths/);
  assert.equal((await rows(page)).length, 1, "nothing is opened before it is asked for");
  await leads(page, () => page.keyboard.press("Enter"));
  const marked = page.locator("tr.match");
  assert.match(await marked.textContent(), /30.*level 4.*add/);
  await leads(page, () => page.getByRole("button", {name: "Next match"}).click());
  assert.match(await marked.textContent(), /25.*level 7.*add/);
  await marked.locator("a[data-label]").focus();
  await leads(page, () => page.keyboard.press("n"));
  assert.match(await marked.textContent(), /30.*level 4.*add/, "around the end");
  await open(page, (await deepest()).url + "/tree?search=f77777");
  await page.locator("h1").focus();
  await leads(page, () => page.keyboard.press("n"));
  assert.match(await marked.textContent(), /level 77,?778.*f77777/);
  assert.match((await zoomedTo(page)).at(-1), /^f777\d\d$/, "the top is a caller near it");
});

test("a_block_stands_between_its_callers_and_its_callees", async page => {
  const {url} = await dispatch();
  await open(page, url + "/block?block=dispatch");
  const [callers, callees] = [0, 1].map(n => page.locator(".sandwich .flame").nth(n));
  const tells = (graph, share, line, pattern) =>
    eventually(async () => {
      await graph.scrollIntoViewIfNeeded(); // which hides a tooltip a moment later
      const box = await graph.boundingBox();
      const [x, y] = [box.x + share * box.width, box.y + (line + 0.5) * 17];
      await page.mouse.move(x - 2, y);
      await page.mouse.move(x, y);
      assert.match(await tipOf(page), pattern);
    });
  // Callers grow up: main, run, dispatch. Callees grow down: dispatch, then add, call, mul.
  await tells(callers, 0.5, 0, /^mainspent80, 80\.0% of all$/);
  await tells(callers, 0.5, 1, /^runspent80/);
  await tells(callees, 0.1, 1, /^addspent30, 30\.0% of all$/);
  await tells(callees, 0.5, 1, /^callspent25/);
  await callers.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await leads(page, () => page.keyboard.press("Enter"));
  assert.deepEqual(query(page).getAll("block"), ["run"], "a box leads to its block");
  await open(page, url + "/block?block=run&block=dispatch");
  assert.ok(!(await page.locator(".sandwich").isVisible()), "a sequence has none");
});

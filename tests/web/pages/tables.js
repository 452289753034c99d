// SPDX-License-Identifier: MIT
//
// Tables, filters, the block page, addresses: what most of the time is spent with.

import assert from "node:assert/strict";
import http from "node:http";
import * as fixtures from "../fixtures.js";
import {test, view, write} from "../support.js";
import {chips, choose, leads, link, open, query, rowOf, rows, shown, zoomedTo} from "../use.js";

const once = make => {
  let made;
  return () => (made ??= make());
};
const dispatch = once(() => view([fixtures.dispatch()]));
const bytecode = once(() => view([fixtures.bytecode()]));
const wide = once(() => view([fixtures.wide()]));

test("the_overview_says_what_was_recorded_and_where_it_went", async page => {
  const {url} = await bytecode();
  await open(page, url + "/");
  assert.equal(await page.locator("h1").textContent(), "bytecode.pb");
  assert.match(await page.locator(".recorded").textContent(), /Formatpprof.*blocks, .*paths/);
  const tile = page.locator(".tile", {hasText: "instructions"});
  assert.equal(await tile.textContent(), "instructions11.1 M");
  assert.equal(await tile.locator(".value").getAttribute("title"), "11,105,944");
  const self = await rows(page, "self");
  assert.match(self[0].join(" "), /^3\.39 M 30\.5% collatz/);
  assert.match((await rows(page, "overall"))[0].join(" "), /^11\.1 M 100\.0% main/);
  assert.match(
    (await rows(page, "Recursion"))[0].join(" "),
    /6\.00 M 54\.0% is_even is_odd/,
  );
  assert.ok(await page.locator(".small-flame canvas").isVisible());
});

test("the_hottest_block_is_found_followed_and_left_with_the_back_button", async page => {
  const {url} = await dispatch();
  await open(page, url + "/");
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Self"}).click());
  const [hottest] = await rows(page);
  assert.equal(hottest[0], "55 55.0%");
  assert.equal(hottest.at(-2), "add");
  await leads(page, () => link(page, "add").click());
  assert.equal(await page.locator("h1").textContent(), "add");
  assert.equal(
    await page.evaluate(() => document.activeElement?.tagName),
    "H1",
    "the new page has the focus",
  );
  await leads(page, () => page.goBack());
  assert.equal(new URL(page.url()).pathname, "/self");
  assert.equal((await rows(page))[0].at(-2), "add");
  await leads(page, () => page.goForward());
  assert.equal(await page.locator("h1").textContent(), "add");
});

test("folding_a_dispatch_function_gives_its_self_to_its_callers", async page => {
  const {url} = await dispatch();
  await open(page, url + "/overall");
  assert.equal((await rowOf(page, "run"))[1], "0 0.0%");
  await leads(page, () => choose(page, "dispatch", "Fold"));
  assert.deepEqual(query(page).getAll("fold"), ["dispatch"]);
  assert.deepEqual(await chips(page), ["fold dispatch"]);
  await leads(page, () =>
    page.locator(".chip").getByRole("link", {name: "dispatch", exact: true}).click(),
  );
  assert.match(await page.locator("div.title").textContent(), /dispatch.*It is folded/);
  await leads(page, () => page.goBack());
  assert.ok(!(await rows(page)).some(cells => cells.includes("dispatch")), "it is gone");
  assert.equal((await rowOf(page, "run"))[1], "5 5.0%", "its 5 are with run");
  assert.match(await page.locator(".left-over").textContent(), /^100 left, 100\.0% of 100$/);
  await leads(page, () => page.locator(".chip .remove").click());
  assert.deepEqual(await chips(page), []);
  assert.equal((await rowOf(page, "run"))[1], "0 0.0%");
});

test("excluding_and_selecting_show_both_percentages", async page => {
  const {url} = await dispatch();
  await open(page, url + "/self");
  await leads(page, () => choose(page, "call", "Exclude"));
  assert.match(await page.locator(".left-over").textContent(), /^75 left, 75\.0% of 100$/);
  assert.equal((await rowOf(page, "add"))[0], "30 30.0% 40.0%");
  await leads(page, () => choose(page, "dispatch", "Select"));
  assert.match(await page.locator(".left-over").textContent(), /^55 left, 55\.0% of 100$/);
  assert.deepEqual(await chips(page), ["select dispatch", "exclude call"]);
  assert.equal((await rowOf(page, "mul"))[0], "20 20.0% 36.4%");
  await leads(page, () => page.getByRole("link", {name: "Remove all"}).click());
  assert.deepEqual(await chips(page), []);
});

test("a_caller_extends_the_sequence_and_its_ends_can_be_dropped", async page => {
  const {url} = await dispatch();
  await open(page, url + "/block?block=add");
  assert.match(
    await page.locator(".figures").textContent(),
    /^Self5555\.0% of allOverall5555\.0% of all$/,
  );
  assert.equal((await rowOf(page, "dispatch", "Going in"))[0], "55 55.0%");
  const neighbour = name => page.locator(".sides a[data-label]", {hasText: name});
  await leads(page, () => neighbour(/^dispatch$/).click());
  assert.deepEqual(query(page).getAll("block"), ["dispatch", "add"]);
  await leads(page, () => neighbour(/^run$/).click());
  assert.deepEqual(query(page).getAll("block"), ["run", "dispatch", "add"]);
  assert.deepEqual(
    (await rows(page, "Going in")).map(cells => cells.join(" ")),
    ["30 30.0% main", "25 25.0% call"],
  );
  await leads(page, () => page.getByRole("link", {name: "Drop the last"}).click());
  assert.deepEqual(query(page).getAll("block"), ["run", "dispatch"]);
  assert.deepEqual(
    (await rows(page, "Going out")).map(cells => cells.at(-1)),
    ["add", "call", "mul"],
  );
  await leads(page, () => page.goBack());
  assert.deepEqual(query(page).getAll("block"), ["run", "dispatch", "add"]);
});

test("a_copied_address_shows_the_same_to_somebody_else", async (page, context) => {
  const {url} = await dispatch();
  await open(page, url + "/self");
  await leads(page, () => choose(page, "gc", "Exclude"));
  await leads(page, () => page.getByRole("link", {name: "Block"}).click());
  await leads(page, () => page.getByPlaceholder("Name or file").fill("a"));
  const other = await (await context.browser().newContext()).newPage();
  await open(other, page.url());
  assert.deepEqual(await rows(other), await rows(page));
  assert.deepEqual(await chips(other), ["exclude gc"]);
  assert.equal(await other.getByPlaceholder("Name or file").inputValue(), "a");
  assert.equal(await other.locator("th[aria-sort=ascending]").textContent(), "Block");
  assert.deepEqual(
    (await rows(other)).map(cells => cells.at(-2)),
    ["add", "call", "dispatch", "main"],
  );
  await other.context().close();
});

test("search_as_you_type_keeps_the_focus_and_leaves_one_step_of_history", async page => {
  const {url} = await dispatch();
  await open(page, url + "/");
  await leads(page, () => page.locator("nav").getByRole("link", {name: "Self"}).click());
  const field = page.getByPlaceholder("Name or file");
  await leads(page, () => field.pressSequentially("disp", {delay: 5}));
  await page.waitForFunction(() => location.search === "?search=disp");
  await shown(page);
  assert.deepEqual(
    (await rows(page)).map(cells => cells.at(-2)),
    ["dispatch"],
  );
  assert.equal(await page.locator(".found").textContent(), "1 found");
  assert.equal(await field.evaluate(e => e === document.activeElement && e.value), "disp");
  await leads(page, () => page.goBack());
  assert.equal(new URL(page.url()).pathname, "/");
});

test("a_search_without_an_answer_says_so", async page => {
  const {url} = await dispatch();
  await open(page, url + "/self?search=" + encodeURIComponent("<nothing>"));
  assert.match(await page.locator("tr.empty").textContent(), /Nothing here contains “<nothing>”/);
});

test("every_column_sorts_and_says_how", async page => {
  const {url} = await bytecode();
  await open(page, url + "/self");
  const sorted = () =>
    page
      .locator("th[aria-sort=ascending], th[aria-sort=descending]")
      .evaluateAll(all =>
        all.map(th => th.querySelector(".title").textContent + " " + th.getAttribute("aria-sort")),
      );
  assert.deepEqual(await sorted(), ["Self descending"]);
  for (const [column, first] of [
    ["Overall", "main"],
    ["Calls", "is_even"],
    ["Block", "careful"],
  ]) {
    await leads(page, () => page.locator("thead").getByRole("link", {name: column}).click());
    assert.equal((await rows(page))[0].at(-2), first, column);
  }
  await leads(page, () => page.locator("thead").getByRole("link", {name: "Block"}).click());
  assert.deepEqual(await sorted(), ["Block descending"]);
  assert.equal((await rows(page))[0].at(-2), "producer");
});

test("calls_that_nobody_counted_are_said_not_to_be", async page => {
  const sampled = (name, unit, samples, weights) => ({
    type: "sampled",
    name,
    unit,
    startValue: 0,
    endValue: weights.reduce((sum, weight) => sum + weight, 0),
    samples,
    weights,
  });
  const file = write(
    "uncounted.json",
    JSON.stringify({
      $schema: "https://www.speedscope.app/file-format-schema.json",
      exporter: "ouro",
      shared: {frames: [{name: "main"}, {name: "work"}, {name: "tiny"}]},
      profiles: [
        sampled("time", "nanoseconds", [[0, 1], [0, 1, 2]], [5, 4]),
        sampled("calls", "none", [[0], [0, 1]], [1, 3]),
      ],
    }),
  );
  const {url} = await view([file]);
  await open(page, url + "/self?metric=time");
  assert.ok((await rowOf(page, "work")).includes("3"));
  assert.ok((await rowOf(page, "tiny")).includes("not counted"));
  await open(page, url + "/tree?metric=time");
  assert.ok((await rowOf(page, "tiny")).includes("not counted"));
  await open(page, url + "/block?block=tiny&metric=time");
  assert.match(await page.locator(".figures").textContent(), /Callsnot counted$/);
  assert.ok((await rowOf(page, "work", "Callers")).includes("not counted"));
  await open(page, url + "/block?block=work&metric=time");
  assert.match(await page.locator(".figures").textContent(), /Calls3$/);
  assert.ok((await rowOf(page, "tiny", "Callees")).includes("not counted"));
});

test("the_metric_switch_changes_every_number", async page => {
  const {url} = await bytecode();
  await open(page, url + "/self");
  await leads(page, () => page.locator("#metric").selectOption("calls"));
  assert.equal(query(page).get("metric"), "calls");
  assert.match((await rowOf(page, "collatz"))[0], /^218 k 15\.8%$/);
  await leads(page, () => page.goBack());
  assert.match((await rowOf(page, "collatz"))[0], /^3\.39 M 30\.5%$/);
  assert.equal(await page.locator("#metric").inputValue(), "instructions");
});

test("fifty_thousand_blocks_are_shown_a_few_at_a_time", async page => {
  const {url} = await wide();
  await open(page, url + "/self");
  const shownRows = () => page.locator("tbody tr").count();
  assert.equal(await shownRows(), 100);
  assert.match(await page.locator(".foot").textContent(), /1 to 100 of 50,051/);
  await page.getByRole("button", {name: "More rows"}).scrollIntoViewIfNeeded();
  const place = await page.evaluate(() => scrollY);
  await leads(page, () => page.getByRole("button", {name: "More rows"}).click());
  assert.equal(await shownRows(), 300);
  const jump = Math.abs((await page.evaluate(() => scrollY)) - place);
  assert.ok(jump <= 1, "the page does not jump"); // Firefox scrolls by parts of a pixel
  await leads(page, () => page.getByRole("button", {name: "More rows"}).click());
  await leads(page, () => page.getByRole("button", {name: "More rows"}).click());
  assert.equal(await shownRows(), 1000);
  await leads(page, () => page.getByRole("link", {name: "Next"}).click());
  assert.equal(await shownRows(), 1000);
  assert.match(await page.locator(".foot").textContent(), /1,001 to 2,000 of 50,051/);
  await leads(page, () => page.getByPlaceholder("Name or file").fill("block_49999"));
  assert.equal((await rows(page))[0].at(-2), "block_49999");
  assert.equal(await shownRows(), 1);
});

test("find_leads_to_a_block_from_any_page", async page => {
  const {url} = await wide();
  await open(page, url + "/recursion");
  await page.getByLabel("Find a block").fill("block_1234");
  await page.getByRole("option").first().waitFor();
  assert.match(await page.getByRole("option").first().textContent(), /block_1234/);
  await leads(page, () => page.keyboard.press("Enter"));
  assert.equal(await page.locator("h1").textContent(), "block_1234");
});

test("paths_are_rows_with_links", async page => {
  const {url} = await dispatch();
  await open(page, url + "/paths");
  const [first] = await rows(page);
  assert.equal(first[0], "30 30.0%");
  assert.equal(first.at(-1), "main run dispatch add");
  await open(page, url + "/paths?sort=-length");
  assert.equal((await rows(page))[0].at(-2), "7");
  await page.getByRole("button", {name: /Show 2 more blocks/}).click();
  assert.equal((await rows(page))[0].at(-1), "main run dispatch call run dispatch add");
  await leads(page, () =>
    page.getByRole("link", {name: "This path in the flame graph"}).first().click(),
  );
  assert.deepEqual(await zoomedTo(page), [
    "main",
    "run",
    "dispatch",
    "call",
    "run",
    "dispatch",
    "add",
  ]);
});

test("knots_are_told_as_one_with_what_goes_in_and_out", async page => {
  const {url} = await dispatch();
  await open(page, url + "/recursion");
  assert.equal(await page.locator(".group").count(), 1);
  assert.match(await page.locator(".group h2").textContent(), /3 blocks call each other/);
  assert.deepEqual((await rows(page, "Members")).map(cells => cells.at(-1)).sort(), [
    "call",
    "dispatch",
    "run",
  ]);
  assert.equal((await rows(page, "Going in"))[0].at(-1), "main");
  assert.deepEqual(
    (await rows(page, "Going out")).map(cells => cells.at(-1)),
    ["add", "mul", "gc"],
  );
});

test("the_call_tree_opens_where_it_is_asked_and_the_address_keeps_it", async (page, context) => {
  const {url} = await dispatch();
  await open(page, url + "/tree?open=none");
  const names = async p =>
    (
      await p
        .locator("tbody th.name")
        .evaluateAll(all => all.map(th => th.querySelector("bdi").textContent))
    ).join(" ");
  assert.equal(await names(page), "main");
  await leads(page, () => page.getByRole("button", {name: "main, 2 callees"}).click());
  assert.equal(await names(page), "main run setup");
  await leads(page, () => page.getByRole("button", {name: "run, 2 callees"}).click());
  assert.equal(await names(page), "main run dispatch gc setup");
  const other = await context.newPage();
  await open(other, page.url());
  assert.equal(await names(other), "main run dispatch gc setup");
  assert.equal(
    await other.getByRole("button", {name: "run, 2 callees"}).getAttribute("aria-expanded"),
    "true",
  );
  await leads(page, () => page.getByRole("button", {name: "main, 2 callees"}).click());
  assert.equal(await names(page), "main");
  await leads(page, () => page.getByRole("link", {name: "Open the hottest path"}).click());
  assert.match(await names(page), /^main run dispatch add/);
  await leads(page, () => page.goBack());
  assert.equal(await names(page), "main");
});

test(
  "a_block_that_is_not_there_is_told_with_a_way_on",
  async page => {
    const {url} = await dispatch();
    await open(page, url + "/self?select=nothing_like_it");
    assert.match(await page.getByRole("alert").textContent(), /nothing_like_it/);
    await leads(page, () => page.getByRole("link", {name: "Remove the filters"}).click());
    assert.equal((await rows(page)).length, 8);
    await page.goto(url + "/no-such-page").catch(() => {});
  },
  {mayFail: /Failed to load resource/},
);

test(
  "the_server_that_went_away_is_told_and_tried_again",
  async page => {
    const {url, stop} = await view([fixtures.dispatch()]);
    await open(page, url + "/self");
    await stop();
    await leads(page, () => link(page, "add").click());
    assert.match(await page.getByRole("alert").textContent(), /does not answer/);
    assert.ok(await page.getByRole("button", {name: "Try again"}).isVisible());
  },
  {mayFail: /ERR_CONNECTION_REFUSED|Failed to load resource/},
);

test(
  "an_answer_that_breaks_off_is_told_as_none",
  async page => {
    const {url} = await dispatch();
    const broken = http.createServer((_, answer) => {
      answer.writeHead(200, {"content-type": "application/json", "content-length": 1000});
      answer.write("{", () => answer.destroy());
    });
    await new Promise(resolve => broken.listen(0, "127.0.0.1", () => resolve(null)));
    const {port} = /** @type {import("node:net").AddressInfo} */ (broken.address());
    try {
      await page.route("**/api/v1/blocks*", route => route.continue({url: `http://127.0.0.1:${port}/`}));
      await page.goto(url + "/self");
      assert.match(await page.getByRole("alert").textContent(), /does not answer/);
    } finally {
      broken.close();
    }
  },
  {mayFail: /Failed to load resource/},
);

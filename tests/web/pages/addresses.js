// SPDX-License-Identifier: MIT
//
// A path in an address is an id: of any depth, after filters, from a file that changed, in addresses
// that are older than ids.

import assert from "node:assert/strict";
import * as fixtures from "../fixtures.js";
import {test, view} from "../support.js";
import {leads, leave, open, query, rows, shown, zoomedTo} from "../use.js";

let server, deep;
const dispatch = () => (server ??= view([fixtures.dispatch()]));
const deepest = () => (deep ??= view([fixtures.deepest()]));

const ids = page => [...query(page).getAll("path"), ...query(page).getAll("open")];

test("a_path_of_100000_blocks_is_told_whole_and_shown_in_the_flame_graph", async page => {
  const {url} = await deepest();
  await open(page, url + "/paths?sort=-length");
  const [self, , length] = (await rows(page))[0];
  assert.deepEqual([self.split(" ")[0], length], ["5", "100,000"]);
  assert.match(await page.locator("tbody tr").first().textContent(), /f0.*… 99,995 ….*f99999/);
  await leads(page, () => page.getByRole("link", {name: "in the flame graph"}).first().click());
  assert.deepEqual(ids(page).map(id => id.length), [11]);
  assert.match(await page.locator(".facts").textContent(), /^f99999.*overall5,/);
  assert.deepEqual((await zoomedTo(page)).at(-1), "f99999");
  await page.locator(".flame").focus();
  await leads(page, () => page.keyboard.press("Backspace"));
  assert.equal((await zoomedTo(page)).at(-1), "f99998");
});

test("boxes_that_are_not_drawn_are_counted_by_the_reason", async page => {
  const {url} = await deepest();
  await open(page, url + "/flame");
  assert.equal(
    await page.locator(".note").textContent(),
    "Not drawn: 96,002 boxes too deep. Zoom in to see them.",
  );
  const many = await view([fixtures.wide()]);
  await open(page, many.url + "/flame");
  assert.match(
    await page.locator(".note").textContent(),
    /^Not drawn: 4\d,\d{3} boxes too narrow\. Zoom in to see them\.$/,
  );
});

test("zooming_far_down_goes_on_and_the_address_stays_short", async page => {
  const {url} = await deepest();
  await open(page, url + "/flame");
  await page.locator(".flame").focus();
  // To the end of what was sent, then from there, again and again.
  for (let n = 0; n < 3; n++) {
    const last = await page.evaluate(() => {
      const frame = document.querySelector(".flame");
      frame.scrollTop = frame.scrollHeight;
      const box = frame.getBoundingClientRect();
      return {x: box.left + 0.7 * box.width, y: box.bottom - 12};
    });
    await leads(page, () => page.mouse.click(last.x, last.y));
    assert.ok(page.url().length < 60 + url.length, page.url());
  }
  assert.match((await zoomedTo(page)).at(-1), /^f1[12]\d{3}$/);
  assert.equal(await page.getByRole("alert").count(), 0);
});

test("the_call_tree_goes_to_any_depth", async page => {
  const {url} = await deepest();
  const answer = await page.request.get(url + "/api/v1/sequences?sort=-length&offset=40000&limit=1");
  const [row] = (await answer.json()).rows;
  await open(page, `${url}/tree?path=${row.id}`);
  assert.equal((await zoomedTo(page)).at(-1), "f" + (row.length - 1));
  assert.match((await rows(page))[0].at(-1), new RegExp(`f${row.length}$`));
  await open(page, `${url}/tree?open=${row.id}`);
  assert.equal(await page.getByRole("alert").count(), 0);
});

test("an_older_address_with_labels_is_read_and_becomes_an_id", async page => {
  const {url} = await dispatch();
  for (const name of ["flame", "tree"]) {
    await open(page, `${url}/${name}?at=main&at=run&at=dispatch`);
    assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch"]);
  }
});

test("an_id_means_the_same_after_a_restart_and_in_another_file_with_the_path", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame?at=main&at=run&at=dispatch");
  const id = query(page).get("path");
  const {url: other, stop} = await view([fixtures.after(), fixtures.dispatch()]);
  for (const side of ["", "&side=after"]) {
    await open(page, `${other}/flame?path=${id}${side}`);
    assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch"]);
  }
  // gc is gone in one of them: what is there of its path is shown.
  await open(page, `${other}/flame?side=after&at=main&at=run&at=gc`);
  assert.deepEqual(await zoomedTo(page), ["main", "run", "gc"]);
  await leads(page, () => page.locator("#side").selectOption(""));
  assert.deepEqual(await zoomedTo(page), ["main", "run"]);
  await leave(stop, page);
});

test("a_filter_keeps_the_zoom_if_it_leaves_the_path", async page => {
  const {url} = await dispatch();
  await open(page, url + "/flame?at=main&at=run&at=dispatch");
  const id = query(page).get("path");
  await open(page, `${url}/flame?path=${id}&exclude=setup`);
  assert.deepEqual(await zoomedTo(page), ["main", "run", "dispatch"]);
  assert.equal(query(page).get("path"), id);
  await open(page, `${url}/flame?path=${id}&exclude=dispatch`);
  assert.deepEqual(await zoomedTo(page), ["main", "run"]);
  await open(page, `${url}/flame?path=${id}&fold=main`);
  assert.deepEqual(await zoomedTo(page), []);
});

test(
  "an_address_that_is_no_id_is_told_as_such",
  async page => {
    const {url} = await dispatch();
    await page.goto(url + "/flame?path=nonsense");
    await shown(page);
    const told = await page.getByRole("alert").textContent();
    assert.match(told, /nonsense is no id of a path/);
    assert.doesNotMatch(told, /does not answer/);
    // So long that the server closes the connection instead of answering.
    await open(page, url + "/self");
    const long = "?" + Array.from({length: 6000}, (_, i) => "fold=f" + i).join("&");
    await leads(page, () =>
      page.evaluate(query => {
        history.pushState({}, "", "/self" + query);
        dispatchEvent(new PopStateEvent("popstate", {state: {}}));
      }, long),
    );
    assert.match(await page.getByRole("alert").textContent(), /too long/);
  },
  {mayFail: /400|Failed to load resource/},
);

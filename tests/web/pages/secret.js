// SPDX-License-Identifier: MIT
//
// The viewer with its secret, in a real browser: the first visit by the file that the browser is
// given and by the printed address, the cookie, and what is seen without it.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import * as fixtures from "../fixtures.js";
import {folder, test, view, write} from "../support.js";
import {eventually, fits, leave, rows, shown} from "../use.js";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const REFUSED = /Failed to load resource.*403/;

/** Until a page of the viewer has another address than the first one. */
const arrives = async (page, address) => {
  await page.waitForURL(address);
  await shown(page);
};

/** The viewer, and the address that it gave to the browser. */
async function opened(name) {
  const browser = write(`${name}-browser`, `#!/bin/sh\nprintf %s "$1" > ${name}.new && mv ${name}.new ${name}\n`);
  fs.chmodSync(browser, 0o700);
  const env = {...process.env, BROWSER: browser, XDG_RUNTIME_DIR: folder};
  const server = await view([fixtures.dispatch()], ["--fold", "dispatch"], {secret: true, env});
  const given = path.join(folder, name);
  await eventually(async () => assert.ok(fs.existsSync(given), "no browser was started"));
  return {...server, given: fs.readFileSync(given, "utf8")};
}

async function isLocked(page) {
  await page.getByRole("heading", {name: "This profile is locked"}).waitFor();
  assert.doesNotMatch(await page.locator("html").evaluate(e => e.innerHTML), /dispatch/);
}

test("the_file_that_the_browser_is_given_leads_to_the_profile_without_the_secret", async (page, context) => {
  const {url, address, given, stop} = await opened("by-file");
  const secret = new URL(address).searchParams.get("secret");
  assert.match(given, /^file:/);
  const asked = [];
  context.on("request", request => asked.push(request));
  await page.goto(given);
  await arrives(page, `${url}/?fold=dispatch`);
  assert.ok((await rows(page)).length > 0);
  assert.equal(await page.evaluate(() => document.referrer), "");
  const [cookie] = await context.cookies();
  assert.deepEqual(
    [cookie.name, cookie.value, cookie.httpOnly, cookie.sameSite, cookie.expires],
    [`ouro-${new URL(url).port}`, secret, true, "Strict", -1],
  );
  assert.equal(await page.evaluate(() => document.cookie), "");
  // Only the first visit has it in the address, and nobody is told where the reader came from.
  assert.deepEqual(
    asked.filter(request => request.url().includes(secret)).map(request => request.url()),
    [address],
  );
  for (const request of asked) assert.equal((await request.allHeaders()).referer ?? "", "");
  await page.reload();
  await shown(page);
  // A second tab, by an address that somebody typed or kept.
  const second = await context.newPage();
  await second.goto(`${url}/flame`);
  await shown(second);
  await leave(stop, page, second);
  assert.ok(!fs.existsSync(new URL(given)));
});

test("the_printed_address_leads_to_the_profile_and_back_does_not_lead_to_the_secret", async page => {
  const {url, address, stop} = await view([fixtures.dispatch()], [], {secret: true});
  await page.goto(address);
  await arrives(page, `${url}/`);
  const seen = await page.evaluate(() => history.length);
  await page.goBack().catch(() => null);
  assert.ok(!page.url().includes("secret"), `${page.url()}, ${seen} pages`);
  await leave(stop, page);
});

test("a_link_on_another_site_opens_the_page_for_who_was_there_before", async page => {
  const {url, address, stop} = await view([fixtures.dispatch()], [], {secret: true});
  const link = write("link.html", `<a href="${url}/flame">a profile</a>`);
  await page.goto("file://" + link);
  await page.getByRole("link").click();
  await isLocked(page);
  await page.goto(address);
  await arrives(page, `${url}/`);
  await page.goto("file://" + link);
  await page.getByRole("link").click();
  await arrives(page, `${url}/flame`);
  await leave(stop, page);
}, {mayFail: REFUSED});

for (const colorScheme of /** @type {const} */ (["light", "dark"]))
  test(
    `without_the_secret_a_page_says_what_to_do_in_${colorScheme}`,
    async page => {
      const {url, stop} = await view([fixtures.dispatch()], [], {secret: true});
      for (const width of [360, 1280]) {
        await page.setViewportSize({width, height: 800});
        const answer = await page.goto(`${url}/flame?at=main`);
        assert.equal(answer.status(), 403);
        await isLocked(page);
        await fits(page);
        await page.evaluate(axe);
        const {violations} = await page.evaluate(() => /** @type {any} */ (window).axe.run(document));
        assert.deepEqual(violations.map(v => v.id), []);
      }
      const status = await page.evaluate(async () => (await fetch("/api/v1/blocks")).status);
      assert.equal(status, 403);
      await leave(stop, page);
    },
    {mayFail: REFUSED, colorScheme},
  );

test("a_page_whose_viewer_was_started_again_says_what_to_do", async (page, context) => {
  const {url, address, stop} = await view([fixtures.dispatch()], [], {secret: true});
  await page.goto(address);
  await arrives(page, `${url}/`);
  await context.clearCookies();
  await page.getByRole("link", {name: "Self"}).first().click();
  assert.match(await page.getByRole("alert").innerText(), /address that `ouro view` printed/);
  await page.reload();
  await isLocked(page);
  await leave(stop, page);
}, {mayFail: REFUSED});

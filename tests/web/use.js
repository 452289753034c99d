// SPDX-License-Identifier: MIT
//
// What a reader of the pages does, in words: open, wait until it is shown, read a table.

import assert from "node:assert/strict";
import {PATIENCE} from "./support.js";

/** @typedef {import("playwright-core").Page} Page */

/**
 * Repeats a check until its assertions hold. For what a page shows a moment after it was asked: a
 * pointer that moved, a layout, numbers of a program that runs.
 * @template T @param {() => Promise<T>} check @returns {Promise<T>}
 */
export async function eventually(check) {
  const late = Date.now() + PATIENCE;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || Date.now() > late) throw error;
    }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** Until what the address says is on the screen. @param {Page} page */
export async function shown(page) {
  await page.waitForFunction(
    () =>
      document.documentElement.dataset.shown === location.href &&
      !document.querySelector("#main[aria-busy]"),
  );
}

/** @param {Page} page @param {string} address */
export async function open(page, address) {
  await page.goto(address);
  await shown(page);
}

/**
 * Does something that changes the address, and waits for the page that it leads to.
 * @param {Page} page
 * @param {() => Promise<any>} act
 */
export async function leads(page, act) {
  const before = await page.evaluate(() => location.href);
  await act();
  await page.waitForFunction(was => location.href !== was, before);
  await shown(page);
}

/** The rows of a table as texts. @param {Page} page @param {string} [caption] part of it */
export async function rows(page, caption = "") {
  const table = page.locator("table", {has: page.locator("caption", {hasText: caption})}).first();
  return table.locator("tbody tr").evaluateAll(all =>
    all.map(row =>
      [...row.children].map(
        cell =>
          [...cell.querySelectorAll(".value, .part, bdi, code")]
            .filter(e => !e.querySelector(".value, .part, bdi"))
            .map(e => e.textContent.trim())
            .join(" ") || cell.textContent.trim(),
      ),
    ),
  );
}

/**
 * The row of a block: its cells.
 * @param {Page} page
 * @param {string} name
 * @param {string} [caption]
 */
export async function rowOf(page, name, caption = "") {
  const found = (await rows(page, caption)).find(cells =>
    cells.some(cell => cell === name || cell.startsWith(name + " ")),
  );
  assert.ok(found, `no row for ${name}`);
  return found;
}

/** @param {Page} page @param {string} name */
export function link(page, name) {
  return page
    .locator("main a[data-label]", {
      hasText: new RegExp(`^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`),
    })
    .first();
}

/** From the menu of a block. @param {Page} page @param {string} name @param {string} item */
export async function choose(page, name, item) {
  await link(page, name).hover();
  await link(page, name).locator("xpath=..").locator("button.more").click();
  await page.getByRole("menuitem", {name: item}).click();
}

/** @param {Page} page */
export async function chips(page) {
  return page
    .locator(".chip")
    .evaluateAll(all =>
      all.map(
        chip =>
          chip.querySelector(".kind").textContent + " " + chip.querySelector("bdi").textContent,
      ),
    );
}

/** Query of the address. @param {Page} page */
export function query(page) {
  return new URL(page.url()).searchParams;
}

/**
 * Ends a server before the other cases do. A page that still asks it, if only for its icon, would
 * have an error on its console. @param {() => Promise<void>} stop @param {...Page} pages
 */
export async function leave(stop, ...pages) {
  for (const page of pages) await page.goto("about:blank");
  await stop();
}

/** Nothing sticks out to the right. @param {Page} page */
export async function fits(page) {
  await eventually(async () => {
    const by = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(by <= 0, `${page.url()} is ${by} pixels too wide at ${page.viewportSize().width}`);
  });
}

/**
 * The path that a flame graph is zoomed to, or the top of the call tree, as labels. Its address has
 * an id, and nothing of the path itself. @param {Page} page
 */
export async function zoomedTo(page) {
  const steps = await page.locator(".crumbs").first().locator("bdi").allTextContents();
  const id = query(page).get("path") ?? "";
  assert.deepEqual(query(page).getAll("at"), []);
  assert.match(id, steps.length > 1 ? /^[\w-]{11}$/ : /^$/);
  return steps.slice(1);
}

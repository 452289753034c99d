// SPDX-License-Identifier: MIT
//
// What the cases in a browser stand on, beside suite.js: a page for each, servers and a browser
// that end with them, a folder that goes away. Every page is watched: an error on its console fails
// the case. The browser is Chromium, or with OURO_BROWSER=firefox the system's Firefox. Chromium
// without its window (Debian's chromium-headless-shell) takes half the time for a page; cases about
// what a browser has around its pages use the whole of it.

import {spawn, execFileSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {chromium} from "playwright-core";
import {NotHere, launchFirefox} from "./firefox/browser.js";
import * as suite from "./suite.js";

// Milliseconds that a slow machine may take for one thing.
export const PATIENCE = Number(process.env.PATIENCE ?? 120_000);

export const build = path.resolve(process.argv[2] ?? "build");
export const ouro = path.join(build, "ouro");
export const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ouro-web-"));
const running = new Set();

/**
 * At once: cases that run at the same time use the same names, and a server may be reading.
 * @param {string} name @param {string} text
 */
export function write(name, text) {
  const to = path.join(folder, name);
  fs.writeFileSync(to + ".new", text);
  fs.renameSync(to + ".new", to);
  return to;
}

/** @param {string} program @param {...string} args */
export function run(program, ...args) {
  return execFileSync(program, args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** A process of ours. @param {string} program @param {string[]} args @param {any} [options] */
export function start(program, args, options = {}) {
  const child = spawn(program, args, {cwd: folder, stdio: ["pipe", "pipe", "pipe"], ...options});
  running.add(child);
  child.on("exit", () => running.delete(child));
  child.on("error", () => running.delete(child)); // it did not start; said() tells
  return child;
}

/** @param {import("node:child_process").ChildProcess} child @param {RegExp} pattern */
export function said(child, pattern) {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = setTimeout(
      () => reject(new Error(`no ${pattern} after ${PATIENCE} ms: ${text}`)),
      PATIENCE,
    );
    const look = piece => {
      text += piece;
      const found = text.match(pattern);
      if (!found) return;
      clearTimeout(late);
      child.stdout.off("data", look);
      resolve(found);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", piece => {
      text += piece;
    });
    child.on("error", problem => {
      clearTimeout(late);
      reject(problem);
    });
    child.on("exit", code => {
      clearTimeout(late);
      reject(new Error(`ended with ${code}: ${text}`));
    });
  });
}

/**
 * `ouro view`. Anybody may ask it, unless there is to be a secret: then `address` has it.
 * @param {string[]} files
 * @param {string[]} [options]
 * @param {{secret?: boolean, env?: any}} [how]
 * @returns {Promise<{url: string, address: string, stop: () => Promise<void>}>}
 */
export async function view(files, options = [], {secret = false, env = process.env} = {}) {
  const opening = env === process.env ? ["--no-open"] : [];
  const open = secret ? [] : ["--no-secret"];
  const child = start(ouro, ["view", ...opening, ...open, ...options, ...files], {env});
  const [address, url] = await said(child, /(http:\/\/127\.0\.0\.1:\d+)\/\S*(?=\n)/);
  return {url, address, stop: () => stop(child)};
}

/** @param {import("node:child_process").ChildProcess} child */
export async function stop(child) {
  if (!running.has(child)) return;
  const gone = new Promise(resolve => child.on("exit", resolve));
  child.kill("SIGTERM");
  const hard = setTimeout(() => child.kill("SIGKILL"), PATIENCE / 4);
  await gone;
  clearTimeout(hard);
}

const inFirefox = process.env.OURO_BROWSER === "firefox";
const whole = process.env.CHROMIUM ?? "/usr/bin/chromium";
const shell = "/usr/bin/chromium-headless-shell";
const bare = !inFirefox && !process.env.CHROMIUM && fs.existsSync(shell) ? shell : whole;

/** The whole of it. @param {any} [options] of playwright @returns {Promise<any>} */
export async function browser(options = {}) {
  if (inFirefox)
    return launchFirefox({start, said, stop, patience: PATIENCE}, path.join(folder, "firefox"));
  return chromium.launch({
    executablePath: whole,
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    timeout: PATIENCE,
    ...options,
  });
}

/**
 * @param {import("playwright-core").BrowserContext} context
 * @param {RegExp|undefined} expected
 * @param {string[]} wrong grows with what goes wrong
 */
function watch(context, expected, wrong) {
  context.on("page", page => {
    page.on("console", message => {
      if (!["error", "warning"].includes(message.type())) return;
      const text = `console: ${message.text()} ${message.location().url}`;
      if (!expected?.test(text)) wrong.push(text);
    });
    page.on("pageerror", error => wrong.push(`page: ${error.stack ?? error}`));
    page.on("dialog", dialog => {
      wrong.push(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    page.on("request", request => {
      const {protocol, hostname} = new URL(request.url());
      if (protocol.startsWith("http") && hostname !== "127.0.0.1")
        wrong.push(`asked the network: ${request.url()}`);
    });
  });
}

/** By executable. @type {Map<string, Promise<import("playwright-core").Browser>>} */
const shared = new Map();

/** @param {string} executablePath */
function sharedBrowser(executablePath) {
  if (!shared.has(executablePath)) shared.set(executablePath, browser({executablePath}));
  return shared.get(executablePath);
}

/** @returns {Promise<any>} what it needs and the browser's driver does not have, if something */
async function inContext(body, mayFail, executable, options) {
  const all = {viewport: {width: 1280, height: 800}, reducedMotion: "reduce", ...options};
  let context;
  const wrong = [];
  try {
    context = await (await sharedBrowser(executable)).newContext(all);
    context.setDefaultTimeout(PATIENCE);
    watch(context, mayFail, wrong);
    await body(await context.newPage(), context);
  } catch (error) {
    if (error instanceof NotHere) return suite.skipped(error.message);
    wrong.unshift(String(error?.stack ?? error));
  } finally {
    await context?.close();
  }
  if (wrong.length) throw new suite.Failure(wrong.join("\n"));
}

/**
 * A case with a page of its own, in a browser that cases share.
 * @param {string} name
 * @param {(page: import("playwright-core").Page,
 *   context: import("playwright-core").BrowserContext) => Promise<void>} body
 * @param {any} [options] of the browser's context;
 *   mayFail: a pattern of console messages that belong to the case;
 *   around: the case is also about the browser's own keys, zoom, clipboard or downloads
 */
export function test(name, body, {mayFail, around = false, ...options} = {}) {
  suite.test(name, () => inContext(body, mayFail, around ? whole : bare, options));
}

suite.atEnd(async () => {
  for (const one of shared.values()) await (await one.catch(() => null))?.close();
  await Promise.all([...running].map(stop));
  fs.rmSync(folder, {recursive: true, force: true});
});

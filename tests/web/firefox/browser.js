// SPDX-License-Identifier: MIT
//
// The system's Firefox, started without a screen and driven by WebDriver BiDi, its own remote
// protocol. It has the methods of playwright's browser that the cases use, see page.js.

import fs from "node:fs";
import path from "node:path";
import {Page} from "./page.js";
import {openSocket} from "./socket.js";

export const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

/** What the driver does not have: the case is for Chromium alone. */
export class NotHere extends Error {}

// A profile that asks nobody, updates nothing and saves without a question.
const PREFERENCES = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.download.folderList": 2,
  "browser.download.useDownloadDir": true,
  "browser.download.alwaysOpenPanel": false,
  "browser.newtabpage.enabled": false,
  "browser.safebrowsing.downloads.enabled": false,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
  "dom.events.testing.asyncClipboard": true,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "remote.active-protocols": 1,
  "security.fileuri.strict_origin_policy": true,
  "toolkit.telemetry.enabled": false,
  "ui.prefersReducedMotion": 1,
};

const EVENTS = [
  "browsingContext.downloadEnd",
  "browsingContext.downloadWillBegin",
  "browsingContext.userPromptOpened",
  "log.entryAdded",
  "network.beforeRequestSent",
  "network.responseStarted",
];

// prefers-color-scheme, which the remote protocol cannot set: a browser each, started when needed.
const SCHEMES = {dark: 0, light: 1};

/** @param {string} folder @param {"dark"|"light"} scheme */
function writeProfile(folder, scheme) {
  fs.mkdirSync(path.join(folder, "downloads"), {recursive: true});
  const all = {
    ...PREFERENCES,
    "browser.download.dir": path.join(folder, "downloads"),
    "layout.css.prefers-color-scheme.content-override": SCHEMES[scheme],
  };
  fs.writeFileSync(
    path.join(folder, "user.js"),
    Object.entries(all)
      .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
      .join(""),
  );
}

/** Firefox numbers what has a name that was used before. @param {string} folder of the profile */
function emptyDownloads(folder) {
  fs.rmSync(path.join(folder, "downloads"), {recursive: true, force: true});
  fs.mkdirSync(path.join(folder, "downloads"));
}

/** The commands and events of one connection. */
class Connection {
  /** @param {number} patience milliseconds for an answer */
  constructor(patience) {
    this.patience = patience;
    this.last = 0;
    /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
    this.open = new Map();
    /** @type {Set<(method: string, params: any) => void>} */
    this.listeners = new Set();
  }

  /** @param {string} url */
  async connect(url) {
    this.socket = await openSocket(
      url,
      text => this.take(JSON.parse(text)),
      () => this.end(),
    );
  }

  take(message) {
    if (message.type === "event")
      return this.listeners.forEach(listen => listen(message.method, message.params));
    const waiting = this.open.get(message.id);
    this.open.delete(message.id);
    if (message.type === "success") waiting?.resolve(message.result);
    else waiting?.reject(new Error(`${message.error}: ${message.message}`));
  }

  end() {
    for (const {reject} of this.open.values()) reject(new Error("Firefox has ended"));
    this.open.clear();
  }

  /** @param {string} method @param {any} [params] @returns {Promise<any>} */
  send(method, params = {}) {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${method}`)), this.patience);
      const ended = act => value => {
        clearTimeout(late);
        act(value);
      };
      this.open.set(id, {resolve: ended(resolve), reject: ended(reject)});
      this.socket.send(JSON.stringify({id, method, params}));
    });
  }
}

const SAME_SITE = {none: "None", lax: "Lax", strict: "Strict"};

/** Cookies, storage and pages of their own. */
class Context {
  /** @param {any} browser_ @param {Connection} connection @param {string} id @param {any} options */
  constructor(browser_, connection, id, options) {
    this.browser_ = browser_;
    this.connection = connection;
    this.id = id;
    this.options = options;
    this.opened = [];
    /** @type {Page[]} */
    this.pages = [];
    this.patience = connection.patience;
  }

  browser() {
    return this.browser_;
  }

  /** The profile of the browser allows them. */
  async grantPermissions() {}

  get partition() {
    return {type: "storageKey", userContext: this.id};
  }

  async cookies() {
    const {cookies} = await this.connection.send("storage.getCookies", {partition: this.partition});
    return cookies.map(({value, sameSite, expiry = -1, ...cookie}) => ({
      ...cookie,
      value: value.value,
      sameSite: SAME_SITE[sameSite],
      expires: expiry,
    }));
  }

  async clearCookies() {
    await this.connection.send("storage.deleteCookies", {partition: this.partition});
  }

  setDefaultTimeout(patience) {
    this.patience = patience;
  }

  /** @param {string} event @param {(page: Page) => void} listen */
  on(event, listen) {
    if (event === "page") this.opened.push(listen);
    else if (event === "request") {
      for (const page of this.pages) page.on(event, listen);
      this.opened.push(page => page.on(event, listen));
    } else throw new NotHere(`context.on(${event})`);
  }

  async newPage() {
    const {context} = await this.connection.send("browsingContext.create", {
      type: "tab",
      userContext: this.id,
    });
    const page = new Page(this, context);
    this.pages.push(page);
    for (const listen of this.opened) listen(page);
    if (this.options.viewport) await page.setViewportSize(this.options.viewport);
    return page;
  }

  async close() {
    await this.connection.send("browser.removeUserContext", {userContext: this.id});
  }
}

// What a context of playwright has and this one does not.
for (const name of ["newCDPSession", "route"])
  Context.prototype[name] = () => {
    throw new NotHere(`context.${name}`);
  };

const CONTEXT_OPTIONS = ["colorScheme", "hasTouch", "reducedMotion", "viewport"];

/**
 * @typedef {object} Processes of support.js
 * @property {(program: string, args: string[], options: any) => any} start a process that ends with us
 * @property {(child: any, pattern: RegExp) => Promise<any>} said
 * @property {(child: any) => Promise<void>} stop
 * @property {number} patience milliseconds
 */

/** @param {Processes} processes @param {string} folder of the profile @param {"dark"|"light"} scheme */
async function startFirefox({start, said, stop, patience}, folder, scheme) {
  writeProfile(folder, scheme);
  const args = ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0"];
  const env = {...process.env, HOME: folder, MOZ_CRASHREPORTER_DISABLE: "1", TMPDIR: folder};
  const child = start(FIREFOX, args, {env});
  child.stderr.on("data", text => child.stdout.emit("data", text)); // where it says its address
  const [, url] = await said(child, /WebDriver BiDi listening on (ws:\/\/\S+)/);
  const connection = new Connection(patience);
  await connection.connect(url + "/session");
  await connection.send("session.new", {capabilities: {alwaysMatch: {acceptInsecureCerts: false}}});
  await connection.send("session.subscribe", {events: EVENTS});
  const close = async () => {
    await Promise.race([connection.send("browser.close").catch(() => {}), stop(child)]);
    await stop(child);
  };
  return {connection, close};
}

/** @param {Processes} processes @param {string} folder of the profiles */
export async function launchFirefox(processes, folder) {
  /** @type {Map<string, ReturnType<typeof startFirefox>>} */
  const started = new Map();
  const of = scheme => {
    if (!started.has(scheme))
      started.set(scheme, startFirefox(processes, path.join(folder, scheme), scheme));
    return started.get(scheme);
  };
  const browser = {
    async newContext(options = {}) {
      const other = Object.keys(options).find(key => !CONTEXT_OPTIONS.includes(key));
      if (other) throw new NotHere(`a context with ${other}`);
      const {connection} = await of(options.colorScheme ?? "light");
      const {userContext} = await connection.send("browser.createUserContext");
      emptyDownloads(path.join(folder, options.colorScheme ?? "light"));
      return new Context(browser, connection, userContext, options);
    },
    async close() {
      for (const one of started.values()) await (await one.catch(() => null))?.close();
    },
  };
  return browser;
}

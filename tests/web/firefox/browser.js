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
];

/** @param {string} folder */
function writeProfile(folder) {
  fs.mkdirSync(path.join(folder, "downloads"), {recursive: true});
  const all = {...PREFERENCES, "browser.download.dir": path.join(folder, "downloads")};
  fs.writeFileSync(
    path.join(folder, "user.js"),
    Object.entries(all)
      .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
      .join(""),
  );
}

/** The commands and events of one connection. */
class Connection {
  constructor() {
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
      this.open.set(id, {resolve, reject});
      this.socket.send(JSON.stringify({id, method, params}));
    });
  }
}

/** Cookies, storage and pages of their own. */
class Context {
  /** @param {Connection} connection @param {string} id @param {any} options */
  constructor(connection, id, options) {
    this.connection = connection;
    this.id = id;
    this.options = options;
    this.opened = [];
    this.patience = 30_000;
  }

  setDefaultTimeout(patience) {
    this.patience = patience;
  }

  /** @param {string} event @param {(page: Page) => void} listen */
  on(event, listen) {
    if (event !== "page") throw new NotHere(`context.on(${event})`);
    this.opened.push(listen);
  }

  async newPage() {
    const {context} = await this.connection.send("browsingContext.create", {
      type: "tab",
      userContext: this.id,
    });
    const page = new Page(this, context);
    for (const listen of this.opened) listen(page);
    if (this.options.viewport) await page.setViewportSize(this.options.viewport);
    return page;
  }

  async close() {
    await this.connection.send("browser.removeUserContext", {userContext: this.id});
  }
}

// What a context of playwright has and this one does not.
for (const name of ["browser", "clearCookies", "cookies", "grantPermissions", "route"])
  Context.prototype[name] = () => {
    throw new NotHere(`context.${name}`);
  };

const CONTEXT_OPTIONS = ["viewport", "reducedMotion"];

/**
 * @param {(program: string, args: string[], options: any) => any} start a process that ends with us
 * @param {(child: any, pattern: RegExp) => Promise<any>} said
 * @param {(child: any) => Promise<void>} stop
 * @param {string} folder of the profile
 */
export async function launchFirefox(start, said, stop, folder) {
  writeProfile(folder);
  const args = ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0"];
  const env = {...process.env, HOME: folder, MOZ_CRASHREPORTER_DISABLE: "1", TMPDIR: folder};
  const child = start(FIREFOX, args, {env});
  child.stderr.on("data", text => child.stdout.emit("data", text)); // where it says its address
  const [, url] = await said(child, /WebDriver BiDi listening on (ws:\/\/\S+)/);
  const connection = new Connection();
  await connection.connect(url + "/session");
  await connection.send("session.new", {capabilities: {alwaysMatch: {acceptInsecureCerts: false}}});
  await connection.send("session.subscribe", {events: EVENTS});
  return {
    async newContext(options = {}) {
      const other = Object.keys(options).find(key => !CONTEXT_OPTIONS.includes(key));
      if (other) throw new NotHere(`a context with ${other}`);
      const {userContext} = await connection.send("browser.createUserContext");
      return new Context(connection, userContext, options);
    },
    async close() {
      await Promise.race([connection.send("browser.close").catch(() => {}), stop(child)]);
      await stop(child);
    },
  };
}

// SPDX-License-Identifier: MIT
//
// A page of Firefox with the methods of playwright's page that the cases use, so that the same
// cases run in both browsers. A locator is a list of steps, which find.js walks inside the page;
// actions wait until their element is there, and use real keys and a real pointer.

import {NotHere} from "./browser.js";
import {elementsOf} from "./find.js";

const KEYS = {
  Alt: "\uE00A",
  ArrowDown: "\uE015",
  ArrowLeft: "\uE012",
  ArrowRight: "\uE014",
  ArrowUp: "\uE013",
  Backspace: "\uE003",
  Control: "\uE009",
  Delete: "\uE017",
  End: "\uE010",
  Enter: "\uE007",
  Escape: "\uE00C",
  F6: "\uE036",
  Home: "\uE011",
  Meta: "\uE03D",
  PageDown: "\uE00F",
  PageUp: "\uE00E",
  Shift: "\uE008",
  Space: " ",
  Tab: "\uE004",
};
const EVERY = 25; // milliseconds between two looks

const pause = () => new Promise(resolve => setTimeout(resolve, EVERY));

/** A function and its argument as text, for the page. @param {any} value */
function source(value) {
  return typeof value === "function" ? value.toString() : value;
}

/** Texts and patterns, as JSON. @param {string|RegExp|undefined} text */
function pattern(text) {
  return text instanceof RegExp ? {source: text.source, flags: text.flags} : text;
}

class Locator {
  /** @param {Page} page @param {any[]} steps */
  constructor(page, steps) {
    this.page = page;
    this.steps = steps;
  }

  with(step) {
    return new Locator(this.page, [...this.steps, step]);
  }

  locator(css, {has, hasText} = {}) {
    const xpath = css.startsWith("xpath=") ? css.slice(6) : undefined;
    return this.with(xpath ? {xpath} : {css, has: has?.steps, hasText: pattern(hasText)});
  }

  filter({has, hasText}) {
    return this.with({keep: true, has: has?.steps, hasText: pattern(hasText)});
  }

  getByRole(role, {name, exact = false} = {}) {
    return this.with({role, name: pattern(name), exact});
  }

  getByLabel(label, {exact = false} = {}) {
    return this.with({label: pattern(label), exact});
  }

  getByPlaceholder(placeholder, {exact = false} = {}) {
    return this.with({placeholder: pattern(placeholder), exact});
  }

  getByText(text, {exact = false} = {}) {
    return this.with({text: pattern(text), exact});
  }

  first() {
    return this.with({nth: 0});
  }

  last() {
    return this.with({nth: -1});
  }

  nth(n) {
    return this.with({nth: n});
  }

  /** Of all elements, at once. */
  evaluateAll(body, arg) {
    return this.page.inPage(
      `({steps, arg}) => (${source(body)})((${elementsOf})(steps), arg)`,
      {steps: this.steps, arg},
    );
  }

  /** Of the element, once it is there. */
  async evaluate(body, arg) {
    await this.there();
    return this.page.inPage(
      `({steps, arg}) => (${source(body)})((${elementsOf})(steps)[0], arg)`,
      {steps: this.steps, arg},
    );
  }

  there() {
    return this.page.until(async () => (await this.count()) > 0, `no ${JSON.stringify(this.steps)}`);
  }

  count() {
    return this.evaluateAll(all => all.length);
  }

  allTextContents() {
    return this.evaluateAll(all => all.map(one => one.textContent));
  }

  async all() {
    return Array.from({length: await this.count()}, (_, i) => this.nth(i));
  }

  textContent() {
    return this.evaluate(one => one.textContent);
  }

  innerText() {
    return this.evaluate(one => one.innerText);
  }

  inputValue() {
    return this.evaluate(one => one.value);
  }

  getAttribute(name) {
    return this.evaluate((one, key) => one.getAttribute(key), name);
  }

  isVisible() {
    return this.evaluateAll(all => {
      const box = all[0]?.getBoundingClientRect();
      return Boolean(box?.width && box.height && getComputedStyle(all[0]).visibility === "visible");
    });
  }

  async isHidden() {
    return !(await this.isVisible());
  }

  async isDisabled() {
    return this.evaluate(one => Boolean(one.disabled));
  }

  async isEnabled() {
    return !(await this.isDisabled());
  }

  async waitFor({state = "visible"} = {}) {
    const tests = {
      visible: () => this.isVisible(),
      hidden: () => this.isHidden(),
      attached: async () => (await this.count()) > 0,
      detached: async () => (await this.count()) === 0,
    };
    await this.page.until(tests[state], `${JSON.stringify(this.steps)} is not ${state}`);
  }

  boundingBox() {
    return this.evaluate(one => {
      const {x, y, width, height} = one.getBoundingClientRect();
      return {x, y, width, height};
    });
  }

  async scrollIntoViewIfNeeded() {
    await this.evaluate(one => one.scrollIntoView({block: "nearest", inline: "nearest"}));
  }

  async focus() {
    await this.evaluate(one => one.focus());
  }

  /** Where a pointer meets the element and nothing that covers it. */
  async point(position) {
    let at;
    await this.page.until(async () => {
      at = await this.evaluateAll((all, place) => {
        const one = all[0];
        if (!one || one.disabled) return null;
        const seen = () => {
          const box = one.getBoundingClientRect();
          const x = box.left + (place ? place.x : box.width / 2);
          const y = box.top + (place ? place.y : box.height / 2);
          const hit = document.elementFromPoint(x, y);
          return hit && (one.contains(hit) || hit.contains(one)) ? {x, y} : null;
        };
        const at = seen();
        if (at) return at;
        one.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
        return seen();
      }, position);
      return at;
    }, `${JSON.stringify(this.steps)} cannot be reached by a pointer`);
    return at;
  }

  async hover({position} = {}) {
    const {x, y} = await this.point(position);
    await this.page.mouse.move(x, y);
  }

  async click({position, button, modifiers = []} = {}) {
    const {x, y} = await this.point(position);
    for (const key of modifiers) await this.page.keyboard.down(key);
    await this.page.mouse.click(x, y, {button});
    for (const key of modifiers) await this.page.keyboard.up(key);
  }

  async press(key) {
    await this.focus();
    await this.page.keyboard.press(key);
  }

  async pressSequentially(text) {
    await this.focus();
    await this.page.keyboard.type(text);
  }

  async setChecked(so) {
    if ((await this.evaluate(one => one.checked)) !== so) await this.click();
  }

  check() {
    return this.setChecked(true);
  }

  uncheck() {
    return this.setChecked(false);
  }

  async fill(value) {
    await this.evaluate((one, text) => {
      one.focus();
      one.value = text;
      one.dispatchEvent(new InputEvent("input", {bubbles: true}));
      one.dispatchEvent(new Event("change", {bubbles: true}));
    }, value);
  }

  async selectOption(value) {
    await this.evaluate((one, text) => {
      const option = [...one.options].find(o => o.value === text || o.label === text);
      one.value = option.value;
      one.dispatchEvent(new Event("input", {bubbles: true}));
      one.dispatchEvent(new Event("change", {bubbles: true}));
    }, value);
  }

  async dispatchEvent(type) {
    await this.evaluate((one, name) => one.dispatchEvent(new Event(name, {bubbles: true})), type);
  }
}

class Keyboard {
  constructor(page) {
    this.page = page;
  }

  act(...actions) {
    return this.page.act({type: "key", id: "keys", actions});
  }

  down(key) {
    return this.act({type: "keyDown", value: KEYS[key] ?? key});
  }

  up(key) {
    return this.act({type: "keyUp", value: KEYS[key] ?? key});
  }

  /** @param {string} chord like "Control+k" */
  press(chord) {
    const keys = (chord === "+" ? [chord] : chord.split("+")).map(key => KEYS[key] ?? key);
    return this.act(
      ...keys.map(value => ({type: "keyDown", value})),
      ...keys.reverse().map(value => ({type: "keyUp", value})),
    );
  }

  async type(text) {
    for (const letter of text) await this.press(letter === " " ? "Space" : letter);
  }
}

class Mouse {
  constructor(page) {
    this.page = page;
    this.x = 0;
    this.y = 0;
  }

  act(...actions) {
    return this.page.act({type: "pointer", id: "mouse", actions});
  }

  to(x, y) {
    this.x = Math.round(x);
    this.y = Math.round(y);
    return {type: "pointerMove", x: this.x, y: this.y};
  }

  move(x, y) {
    return this.act(this.to(x, y));
  }

  down() {
    return this.act({type: "pointerDown", button: 0});
  }

  up() {
    return this.act({type: "pointerUp", button: 0});
  }

  click(x, y, {button = "left"} = {}) {
    const number = {left: 0, middle: 1, right: 2}[button];
    return this.act(
      this.to(x, y),
      {type: "pointerDown", button: number},
      {type: "pointerUp", button: number},
    );
  }

  dblclick(x, y) {
    const press = [
      {type: "pointerDown", button: 0},
      {type: "pointerUp", button: 0},
    ];
    return this.act(this.to(x, y), ...press, ...press);
  }

  /** Where the pointer is. */
  wheel(deltaX, deltaY) {
    const action = {type: "scroll", x: this.x, y: this.y, deltaX, deltaY};
    return this.page.act({type: "wheel", id: "wheel", actions: [action]});
  }
}

/** A finger. */
class Touchscreen {
  constructor(page) {
    this.page = page;
  }

  tap(x, y) {
    const actions = [
      {type: "pointerMove", x: Math.round(x), y: Math.round(y)},
      {type: "pointerDown", button: 0},
      {type: "pointerUp", button: 0},
    ];
    return this.page.act({type: "pointer", id: "finger", parameters: {pointerType: "touch"}, actions});
  }
}

/** A request that waits for what the case does with it, see Page.route. */
class Route {
  constructor(page, request) {
    this.page = page;
    this.request_ = request;
  }

  /** The server's own answer. */
  fetch() {
    return this.page.request.get(this.request_.url);
  }

  async continue() {
    await this.page.send("network.continueRequest", {request: this.request_.request});
  }

  async fulfill({json}) {
    const header = (name, value) => ({name, value: {type: "string", value}});
    await this.page.send("network.provideResponse", {
      request: this.request_.request,
      statusCode: 200,
      reasonPhrase: "OK",
      headers: [header("Content-Type", "application/json")],
      body: {type: "string", value: JSON.stringify(json)},
    });
  }
}

/** An address with stars, as a pattern. @param {string} glob */
function globPattern(glob) {
  const plain = glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp("^" + plain.replace(/\*\*/g, ".*").replace(/(?<!\.)\*/g, "[^/]*") + "$");
}

/** What the cases listen to. */
const EVENTS = {
  "log.entryAdded": (page, {type, level, text, stackTrace, source: from}) => {
    const place = stackTrace?.callFrames?.[0]?.url ?? "";
    if (/favicon\.ico/.test(text)) return; // the browser asks, not the page
    const policy = text.startsWith("Content-Security-Policy"); // Chromium has it on the console
    if (type === "javascript" && level === "error" && !policy)
      page.emit("pageerror", new Error(text));
    else
      page.emit("console", {
        type: () => (level === "warn" ? "warning" : level),
        text: () => text,
        location: () => ({url: place}),
        from,
      });
  },
  "network.beforeRequestSent": (page, {request, isBlocked}) => {
    if (isBlocked) return page.answer(request);
    const headers = Object.fromEntries(
      request.headers.map(({name, value}) => [name.toLowerCase(), value.value]),
    );
    page.emit("request", {url: () => request.url, allHeaders: async () => headers});
  },
  "network.responseStarted": (page, {navigation, response}) => {
    if (navigation) page.statuses.set(navigation, response.status);
  },
  "browsingContext.userPromptOpened": (page, {message}) =>
    page.emit("dialog", {
      message: () => message,
      dismiss: () =>
        page.send("browsingContext.handleUserPrompt", {context: page.id, accept: false}),
    }),
  "browsingContext.downloadWillBegin": (page, {suggestedFilename, navigation}) => {
    const ended = page.next("downloaded", params => params.navigation === navigation);
    page.emit("download", {
      suggestedFilename: () => suggestedFilename,
      path: async () => (await ended).filepath,
    });
  },
  "browsingContext.downloadEnd": (page, params) => page.emit("downloaded", params),
};

export class Page extends Locator {
  /** @param {any} context @param {string} id */
  constructor(context, id) {
    super(/** @type {any} */ (null), []);
    this.page = this;
    this.context_ = context;
    this.id = id;
    this.address = "about:blank";
    this.size = null;
    this.keyboard = new Keyboard(this);
    this.mouse = new Mouse(this);
    this.touchscreen = new Touchscreen(this);
    /** @type {{pattern: RegExp, handler: (route: Route) => any}[]} */
    this.routes = [];
    /** Of answers, by navigation. @type {Map<string, number>} */
    this.statuses = new Map();
    /** @type {Map<string, Set<(value: any) => void>>} */
    this.listeners = new Map();
    context.connection.listeners.add((method, params) => {
      if ((params.context ?? params.source?.context) === id) EVENTS[method]?.(this, params);
    });
    this.request = {
      get: async url => {
        const answer = await fetch(url);
        return {
          json: () => answer.json(),
          text: () => answer.text(),
          status: () => answer.status,
          ok: () => answer.ok,
          headers: () => Object.fromEntries(answer.headers),
        };
      },
    };
  }

  context() {
    return this.context_;
  }

  /** A page that is being replaced is not there for a moment. */
  async send(method, params) {
    for (let tries = 40; ; tries--) {
      try {
        return await this.context_.connection.send(method, params);
      } catch (error) {
        if (!tries || !/Discarded|no such frame|AbortError/.test(error.message)) throw error;
        await pause();
      }
    }
  }

  on(event, listen) {
    if (!this.listeners.has(event)) this.listeners.set(event, new Set());
    this.listeners.get(event).add(listen);
  }

  emit(event, value) {
    for (const listen of this.listeners.get(event) ?? []) listen(value);
  }

  /** The next event of a kind. */
  next(event, wanted = _ => true) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no ${event}`)), this.context_.patience);
      const listen = value => {
        if (!wanted(value)) return;
        clearTimeout(late);
        this.listeners.get(event).delete(listen);
        resolve(value);
      };
      this.on(event, listen);
    });
  }

  waitForEvent(event) {
    return this.next(event);
  }

  /** @param {() => any} holds @param {string} otherwise */
  async until(holds, otherwise) {
    const late = Date.now() + this.context_.patience;
    for (;;) {
      if (await holds()) return;
      if (Date.now() > late) throw new Error(otherwise);
      await pause();
    }
  }

  /** Calls a function of the page. @param {string} body @param {any} [arg] */
  async inPage(body, arg) {
    const {type, result, exceptionDetails} = await this.send("script.callFunction", {
      functionDeclaration: `async text => {
        if (!document.documentElement) return JSON.stringify({address: location.href});
        const value = await (${body})(text === undefined ? undefined : JSON.parse(text));
        return JSON.stringify({value, address: location.href});
      }`,
      arguments: [arg === undefined ? {type: "undefined"} : {type: "string", value: JSON.stringify(arg)}],
      target: {context: this.id},
      awaitPromise: true,
      userActivation: true,
    });
    if (type === "exception") throw new Error(`in the page: ${exceptionDetails.text}`);
    const {value, address} = JSON.parse(result.value);
    this.address = address;
    return value;
  }

  async evaluate(body, arg) {
    if (typeof body === "function") return this.inPage(source(body), arg);
    const {type, exceptionDetails} = await this.send("script.evaluate", {
      expression: body,
      target: {context: this.id},
      awaitPromise: true,
    });
    if (type === "exception") throw new Error(`in the page: ${exceptionDetails.text}`);
  }

  async waitForFunction(body, arg) {
    await this.until(() => this.inPage(source(body), arg), `never: ${source(body)}`);
  }

  async waitForURL(wanted) {
    const fits = url => (wanted instanceof RegExp ? wanted.test(url) : url === wanted);
    await this.until(async () => fits((await this.look()).address), `never at ${wanted}`);
  }

  async look() {
    await this.inPage("() => null").catch(() => {});
    return this;
  }

  url() {
    return this.address;
  }

  async go(method, params) {
    const result = await this.send(method, {context: this.id, ...params});
    await this.look();
    return result;
  }

  async goto(url) {
    const {navigation} = await this.go("browsingContext.navigate", {url, wait: "complete"});
    return {status: () => this.statuses.get(navigation)};
  }

  /** Requests for an address are answered by the handler. @param {string} glob */
  async route(glob, handler) {
    if (!this.routes.length)
      await this.send("network.addIntercept", {
        phases: ["beforeRequestSent"],
        contexts: [this.id],
      });
    this.routes.push({pattern: globPattern(glob), handler});
  }

  answer(request) {
    const one = this.routes.find(({pattern: wanted}) => wanted.test(request.url));
    const route = new Route(this, request);
    return (one ? one.handler(route) : route.continue()).catch(() => {}); // a page that has gone
  }

  reload() {
    return this.go("browsingContext.reload", {wait: "complete"});
  }

  goBack() {
    return this.go("browsingContext.traverseHistory", {delta: -1});
  }

  goForward() {
    return this.go("browsingContext.traverseHistory", {delta: 1});
  }

  title() {
    return this.inPage("() => document.title");
  }

  content() {
    return this.inPage("() => document.documentElement.outerHTML");
  }

  async setViewportSize(viewport) {
    this.size = viewport;
    await this.send("browsingContext.setViewport", {context: this.id, viewport});
  }

  viewportSize() {
    return this.size;
  }

  async screenshot() {
    const {data} = await this.send("browsingContext.captureScreenshot", {context: this.id});
    return Buffer.from(data, "base64");
  }

  async act(source_) {
    await this.send("input.performActions", {context: this.id, actions: [source_]});
    await this.look();
  }

  async close() {
    await this.send("browsingContext.close", {context: this.id});
  }
}

// What a page of playwright has and this one does not.
for (const name of ["addInitScript", "emulateMedia", "pdf"])
  Page.prototype[name] = () => {
    throw new NotHere(`page.${name}`);
  };

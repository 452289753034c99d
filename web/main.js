// SPDX-License-Identifier: MIT
//
// Starts the page and goes from one page to the next. An address becomes a state, a state becomes a
// question, and the answer is shown; the old page stays until then. Every change of state goes
// through go(), so the back button and a copied address always show the same page.

import {PAGES, href, parse, to, useFragments} from "./model/url.js";
import {ApiError, ask, save} from "./parts/client.js";
import {showFilters} from "./parts/chips.js";
import {fill, h} from "./parts/dom.js";
import {showError} from "./parts/errors.js";
import {setUpExport} from "./parts/export.js";
import {setUpFind} from "./parts/find.js";
import {inside} from "./parts/inside.js";
import {setUpKeys} from "./parts/keys.js";
import {Live} from "./parts/live.js";
import {closeMenu} from "./parts/menu.js";
import {showPart} from "./parts/part.js";
import {setUpTheme} from "./parts/theme.js";
import * as blocks from "./views/blocks.js";
import * as around from "./views/around.js";
import * as compare from "./views/compare.js";
import * as flame from "./views/flame.js";
import * as overview from "./views/overview.js";
import * as paths from "./views/paths.js";
import * as recursion from "./views/recursion.js";
import * as source from "./views/source.js";
import * as tree from "./views/tree.js";

/**
 * @typedef {object} View one page that is shown
 * @property {HTMLElement} element
 * @property {(state: import("./model/url.js").State) => string} title
 * @property {(state: import("./model/url.js").State, signal: AbortSignal) => Promise<any>} load
 * @property {(state: import("./model/url.js").State, answer: any) => boolean|void} show true: the
 *   view has scrolled by itself
 * @property {(state: import("./model/url.js").State) => string|null} [csv] address of a CSV file
 * @property {string} [csvName] what the CSV file holds, if not the page's table
 * @property {() => void} [close]
 */

const VIEWS = {
  overview,
  self: blocks,
  overall: blocks,
  paths,
  block: around,
  flame,
  tree,
  recursion,
  source,
  compare,
};
const NAMES = {
  overview: "Overview",
  self: "Self",
  overall: "Overall",
  paths: "Paths",
  flame: "Flame graph",
  tree: "Call tree",
  recursion: "Recursion",
  source: "Source",
  compare: "Compare",
};

/** @param {string} id @returns {any} */
const at = id => document.getElementById(id);

export class App {
  constructor() {
    this.state = parse(location.href);
    /** @type {any} */ this.profile = null;
    /** @type {View|null} */ this.view = null;
    this.viewPage = "";
    this.main = at("main");
    this.asking = new AbortController();
    /** @type {import("./model/colour.js").Groups|null} */ this.groups = null;
    this.groupsOf = 0; // the profile's generation
    /** @type {any} */ this.answer = null;
  }

  /** The file that the state looks at. */
  get file() {
    return this.profile.files[this.state.side === "after" ? 1 : 0] ?? this.profile.files[0];
  }

  get dark() {
    const chosen = document.documentElement.dataset.theme;
    if (matchMedia("print").matches) return false;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  /**
   * Goes to another state.
   * @param {import("./model/url.js").State} state
   * @param {{replace?: boolean}} [how]
   */
  go(state, how = {}) {
    const address = href(state);
    if (address === href(this.state) && !how.replace) return this.refresh();
    this.keepScroll();
    if (how.replace) history.replaceState(history.state, "", address);
    else history.pushState({top: 0}, "", address);
    return this.arrive(how.replace ? null : {top: 0});
  }

  /**
   * The answer is about less than was asked for: the address is changed to what is shown.
   * @param {import("./model/url.js").State} state
   */
  settle(state) {
    if (href(state) !== href(this.state)) history.replaceState(history.state, "", href(state));
    return (this.state = state);
  }

  /** Keeps the scroll position for the back button. */
  keepScroll() {
    history.replaceState({...history.state, top: scrollY}, "");
  }

  /** Shows the same page with new numbers. */
  refresh() {
    return this.arrive(null);
  }

  /**
   * Shows what the address says.
   * @param {{top: number}|null} scroll where to scroll to; null: stay
   */
  async arrive(scroll) {
    closeMenu();
    this.asking.abort();
    const asking = (this.asking = new AbortController());
    const state = (this.state = parse(location.href));
    const moved = state.page !== this.viewPage;
    let scrolled = false;
    this.main.setAttribute("aria-busy", "true");
    try {
      const view = moved || !this.view ? this.make(state) : this.view;
      this.showFrame(state);
      const answer = view ? await view.load(state, asking.signal) : null;
      if (asking.signal.aborted) return;
      if (!view) throw new ApiError(404, "no-such-page", "There is no such page.", []);
      scrolled = this.put(view, state, answer, moved);
    } catch (error) {
      if (asking.signal.aborted) return;
      this.drop();
      showError(this, error);
    }
    this.main.removeAttribute("aria-busy");
    if (scroll && (scroll.top || !scrolled)) scrollTo(0, scroll.top);
    if (moved && scroll && this.started)
      at("main").querySelector("h1")?.focus({preventScroll: true});
    this.started = true;
    document.documentElement.dataset.shown = location.href;
  }

  /** @param {import("./model/url.js").State} state @returns {View|null} */
  make(state) {
    return PAGES.includes(state.page) ? VIEWS[state.page].mount(this, state) : null;
  }

  /**
   * @param {View} view
   * @param {import("./model/url.js").State} state
   * @param {any} answer
   * @param {boolean} moved
   * @returns {boolean} whether the view has scrolled by itself */
  put(view, state, answer, moved) {
    if (this.view !== view) {
      this.drop();
      this.view = view;
      this.viewPage = state.page;
      this.main.replaceChildren(view.element);
    }
    this.answer = answer;
    const placed = Boolean(view.show(state, answer));
    const title = view.title(state);
    document.title = `${title} · ${this.file?.title || "profile"} · Ouro`;
    showFilters(this, state, answer);
    showPart(this, state);
    if (moved && this.started) this.say(title);
    return placed;
  }

  drop() {
    this.view?.close?.();
    this.view = null;
    this.viewPage = "";
  }

  /** @param {import("./model/url.js").State} state The frame around every page. */
  showFrame(state) {
    const pages = Object.keys(NAMES).filter(page => page !== "compare" || this.profile.compare);
    fill(
      at("pages"),
      pages.map(page =>
        h(
          "li",
          null,
          h(
            "a",
            {
              href: href(to(state, page)),
              data: {key: "page " + page},
              "aria-current": page === state.page ? "page" : null,
            },
            NAMES[page],
          ),
        ),
      ),
    );
    this.showCurrent();
    const {metrics, default_metric: own} = this.file;
    const listed = [...at("metric").options].map(option => option.value);
    // A list that is open must not change under the reader's hand.
    if (listed.join("\n") !== metrics.map(m => m.name).join("\n"))
      fill(
        at("metric"),
        metrics.map(m => h("option", {value: m.name}, m.name)),
      );
    at("metric").value = state.metric || own;
    at("side-pick").hidden = !this.profile.compare || state.page === "compare";
    at("side").value = state.side;
    const names = this.profile.files.map(file => file.title || file.path);
    at("opened").textContent = names.join(" → ");
    at("opened").parentElement.title = this.profile.files.map(file => file.path).join("\n");
  }

  /**
   * On a narrow screen the list of pages scrolls sideways. This brings the current one into sight,
   * without scrolling the page.
   */
  showCurrent() {
    const bar = at("pages").parentElement,
      link = bar.querySelector("[aria-current]");
    if (!link) return;
    const box = link.getBoundingClientRect(),
      room = bar.getBoundingClientRect();
    if (box.left < room.left) bar.scrollLeft -= room.left - box.left;
    else if (box.right > room.right) bar.scrollLeft += box.right - room.right;
  }

  /** Tells screen readers. @param {string} text */
  say(text) {
    at("said").textContent = text;
  }
}

/**
 * A link of a page that is one file, where no server answers.
 * @param {HTMLAnchorElement} link
 * @returns {boolean} whether it is done
 */
function followInside(link) {
  const api = link.getAttribute("href").startsWith("/api/");
  const place = !api && link.hash && !link.hash.startsWith("#/");
  if (api) save(link.getAttribute("href"), link.download);
  // The address is the page's: a place on it cannot have it, too.
  if (place) document.querySelector(link.hash)?.focus();
  return Boolean(api || place);
}

/** @param {App} app */
function setUpLinks(app) {
  document.addEventListener("click", event => {
    if (
      event.defaultPrevented ||
      event.button ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement)) return;
    if (inside && followInside(link)) return event.preventDefault();
    if (link.hasAttribute("download") || link.target) return;
    const url = new URL(link.href);
    const place = url.hash && !inside;
    if (url.origin !== location.origin || place || url.pathname.startsWith("/api/")) return;
    event.preventDefault();
    app.go(parse(url.href));
  });
  addEventListener("popstate", event => app.arrive({top: event.state?.top ?? 0}));
  addEventListener("pagehide", () => app.keepScroll());
  history.scrollRestoration = "manual";
}

/** @param {App} app */
function setUpPicks(app) {
  at("metric").addEventListener("change", () => {
    const {value} = at("metric");
    app.go({...app.state, metric: value === app.file.default_metric ? "" : value, offset: 0});
  });
  at("side").addEventListener("change", () =>
    app.go({...app.state, side: at("side").value, offset: 0}),
  );
}

async function start() {
  useFragments(inside);
  const app = new App();
  const live = new Live(app);
  try {
    app.profile = await ask("profile", null);
  } catch (error) {
    at("main").removeAttribute("aria-busy");
    showError(app, error);
    return;
  }
  setUpLinks(app);
  setUpPicks(app);
  setUpTheme(app);
  setUpExport(app);
  setUpFind(app);
  setUpKeys(app);
  await app.arrive({top: history.state?.top ?? 0});
  live.start();
}

start();

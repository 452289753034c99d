// SPDX-License-Identifier: MIT
//
// Starts the page and goes from one page to the next. An address becomes a state, a state becomes a
// question, and the answer is shown; the old page stays until then. Every change of state goes
// through go(), so the back button and a copied address always show the same page.

import {filterText, withFilters} from "./model/filters.js";
import {visible} from "./model/format.js";
import {choices, inAddress, shownMetric} from "./model/metrics.js";
import {PAGES, chosen, href, parse, to, useFragments, useStore} from "./model/url.js";
import {ApiError, ask, save} from "./parts/client.js";
import {showFilters} from "./parts/chips.js";
import {showChoice} from "./parts/choice.js";
import {fill, h} from "./parts/dom.js";
import {forgetSearchProblem, showError, showSearchProblem} from "./parts/errors.js";
import {setUpExport} from "./parts/export.js";
import {setUpFind} from "./parts/find.js";
import {showHint} from "./parts/help.js";
import {inside} from "./parts/inside.js";
import {setUpKeys} from "./parts/keys.js";
import {setUpLabels} from "./parts/labels.js";
import {Live} from "./parts/live.js";
import {closeMenu} from "./parts/menu.js";
import {setUpCopies} from "./parts/numbers.js";
import {showPart} from "./parts/part.js";
import {setUpTheme} from "./parts/theme.js";
import * as blocks from "./views/blocks.js";
import * as around from "./views/around.js";
import * as compare from "./views/compare.js";
import * as fleet from "./views/fleet.js";
import * as flame from "./views/flame.js";
import * as overview from "./views/overview.js";
import * as paths from "./views/paths.js";
import * as recursion from "./views/recursion.js";
import * as source from "./views/source.js";
import * as time from "./views/time.js";
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
  fleet,
  time,
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
  fleet: "Fleet",
  overview: "Overview",
  time: "Time",
  self: "Self",
  overall: "Overall",
  paths: "Paths",
  flame: "Flame graph",
  tree: "Call tree",
  recursion: "Recursion",
  source: "Source",
  compare: "Compare",
};

const UNDO_MOST = 50;

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
    this.profileOf = ""; // a store: which choice the profile is of
    /** @type {any} */ this.answer = null;
    /** @type {Live|null} */ this.live = null;
    /** A line about the address @type {{text: string, at: string}|null} */ this.notice = null;
  }

  /** Pixels that a page is wide. */
  get room() {
    const {paddingLeft, paddingRight} = getComputedStyle(this.main);
    return this.main.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  }

  /** The file that the state looks at. */
  get file() {
    return this.profile.files[this.state.side === "after" ? 1 : 0] ?? this.profile.files[0];
  }

  /** Whether the file that is looked at has slices, or is live: then it has a page of times. */
  get hasTime() {
    return Boolean(this.file?.slices || this.file?.live);
  }

  get dark() {
    const chosen = document.documentElement.dataset.theme;
    if (matchMedia("print").matches) return false;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  /**
   * Goes to another state.
   * @param {import("./model/url.js").State} state
   * @param {{replace?: boolean, undo?: string[]}} [how] undo: what undo goes back to, from there
   */
  go(state, how = {}) {
    const address = href(state);
    if (address === href(this.state) && !how.replace) return this.refresh();
    this.keepScroll();
    if (how.replace) history.replaceState(history.state, "", address);
    else history.pushState({top: 0, undo: how.undo ?? this.undoAfter(state)}, "", address);
    return this.arrive(how.replace ? null : {top: 0});
  }

  /** The filters of before, the last change at the end. @returns {string[]} */
  get undoable() {
    return history.state?.undo ?? [];
  }

  /** @param {import("./model/url.js").State} state where we go */
  undoAfter(state) {
    const now = filterText(this.state);
    return now === filterText(state) ? this.undoable : [...this.undoable, now].slice(-UNDO_MOST);
  }

  /** Undoes the last change of filters, on the page that is shown. */
  undo() {
    const before = this.undoable;
    if (!before.length) return this.say("There is nothing to undo.");
    this.say("The last change of the filters is undone.");
    return this.go(withFilters(this.state, before.at(-1)), {undo: before.slice(0, -1)});
  }

  /**
   * The answer is about less than was asked for: the address is changed to what is shown.
   * @param {import("./model/url.js").State} state
   */
  settle(state) {
    if (href(state) !== href(this.state)) history.replaceState(history.state, "", href(state));
    return (this.state = state);
  }

  /**
   * An address with a metric that the page cannot show leads to one that it can, and says so until
   * the reader goes on.
   * @param {import("./model/url.js").State} asked
   */
  settleMetric(asked) {
    const {instead} = shownMetric(this.profile, asked);
    const state = instead ? {...asked, metric: ""} : asked;
    if (instead) this.notice = {text: instead, at: href(state)};
    else if (this.notice?.at !== href(state)) this.notice = null;
    const line = at("notice");
    line.hidden = !this.notice;
    if (line.textContent !== (this.notice?.text ?? "")) line.textContent = this.notice?.text ?? "";
    this.state = asked;
    return this.settle(state);
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
    let state = parse(location.href);
    const moved = state.page !== this.viewPage;
    let scrolled = false;
    this.main.setAttribute("aria-busy", "true");
    try {
      await this.meetProfile(state, asking.signal);
      state = this.settleMetric(state);
      const view = moved || !this.view ? this.make(state) : this.view;
      this.showFrame(state);
      const answer = view ? await view.load(state, asking.signal) : null;
      if (asking.signal.aborted) return;
      if (!view) throw new ApiError(404, "no-such-page", "There is no such page.", []);
      scrolled = this.put(view, state, answer, moved);
    } catch (error) {
      if (asking.signal.aborted) return;
      this.state = state;
      showChoice(this, state, null);
      if (!showSearchProblem(this.main, state, error)) {
        this.drop();
        showError(this, error);
      }
    }
    this.main.removeAttribute("aria-busy");
    if (scroll && (scroll.top || !scrolled)) scrollTo(0, scroll.top);
    if (moved && scroll && this.started)
      at("main").querySelector("h1")?.focus({preventScroll: true});
    this.started = true;
    document.documentElement.dataset.shown = location.href;
  }

  /**
   * A store has many profiles: asks what the one of the address is, if that is another than before.
   * @param {import("./model/url.js").State} state @param {AbortSignal} [signal]
   */
  async meetProfile(state, signal) {
    if (!this.profile.store) return;
    const query = state.page === "fleet" ? "" : chosen(state).toString();
    if (query === this.profileOf) return;
    // Who comes anew wants to see what is there now.
    const fresh = this.started ? "" : "&fresh=10";
    const profile = await ask("profile", query ? new URLSearchParams(query + fresh) : null, signal);
    if (signal?.aborted) return;
    this.profile = profile;
    this.profileOf = query;
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
    forgetSearchProblem(this.main);
    // What stands above the page comes first: a page may measure the room that is left.
    showChoice(this, state, answer);
    showFilters(this, state, answer);
    this.live?.recent.show();
    if (this.profile.store) this.live?.show();
    showHint(state.page);
    showPart(this, state);
    const placed = Boolean(view.show(state, answer));
    const title = view.title(state);
    document.title = visible(`${title} · ${this.file?.title || "profile"} · Ouro`);
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
    const there = {
      fleet: this.profile.store,
      time: this.hasTime,
      compare: this.profile.compare || (this.profile.store && state.with) || state.against,
    };
    const pages = Object.keys(NAMES).filter(page => !(page in there) || there[page]);
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
    this.showMetrics(state);
    at("side-pick").hidden = !this.profile.compare || state.page === "compare";
    at("side").value = state.side;
    const names = this.profile.files.map(file => file.title || file.path);
    at("opened").textContent = visible(this.profile.store?.title ?? names.join(" → "));
    at("opened").parentElement.title = this.profile.files.map(file => file.path).join("\n");
  }

  /** @param {import("./model/url.js").State} state */
  showMetrics(state) {
    const all = choices(this.profile, state),
      {metric} = shownMetric(this.profile, state);
    const none = metric ? [] : [h("option", {value: "", disabled: true}, "none in common")];
    const options = all.map(({name, reason}) =>
      h(
        "option",
        {value: name, disabled: Boolean(reason), title: reason || null},
        reason ? `${name} (${reason})` : name,
      ),
    );
    const texts = list => [...list].map(option => option.textContent).join("\n");
    // A list that is open must not change under the reader's hand.
    if (texts(at("metric").options) !== texts([...none, ...options]))
      fill(at("metric"), none, options);
    at("metric").value = metric;
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
    at("said").textContent = visible(text);
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
    const metric = inAddress(app.profile, app.state, at("metric").value);
    app.go({...app.state, metric, offset: 0});
  });
  at("side").addEventListener("change", () =>
    app.go({...app.state, side: at("side").value, offset: 0}),
  );
}

async function start() {
  useFragments(inside);
  const app = new App();
  const live = (app.live = new Live(app));
  try {
    app.profile = await ask("profile", null);
  } catch (error) {
    at("main").removeAttribute("aria-busy");
    showError(app, error);
    return;
  }
  useStore(Boolean(app.profile.store));
  if (app.profile.store) document.querySelector(".brand").setAttribute("href", "/fleet");
  setUpLinks(app);
  setUpPicks(app);
  setUpTheme(app);
  setUpExport(app);
  setUpFind(app);
  setUpLabels(app);
  setUpKeys(app);
  setUpCopies();
  await app.arrive({top: history.state?.top ?? 0});
  live.start();
}

start();

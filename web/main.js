// SPDX-License-Identifier: MIT
//
// Starts the page and leads from one to the next. An address becomes a state, a state becomes a
// question, its answer is shown; what was there stays until then. Every change of state goes through
// go(), so the back button and a copied address always lead to the same thing.

import {PAGES, href, parse, to} from "./model/url.js";
import {ApiError, ask} from "./parts/client.js";
import {showFilters} from "./parts/chips.js";
import {fill, h} from "./parts/dom.js";
import {showError} from "./parts/errors.js";
import {setUpExport} from "./parts/export.js";
import {setUpFind} from "./parts/find.js";
import {setUpKeys} from "./parts/keys.js";
import {Live} from "./parts/live.js";
import {closeMenu} from "./parts/menu.js";
import {setUpTheme} from "./parts/theme.js";
import * as blocks from "./views/blocks.js";
import * as around from "./views/around.js";
import * as compare from "./views/compare.js";
import * as flame from "./views/flame.js";
import * as knots from "./views/knots.js";
import * as overview from "./views/overview.js";
import * as sequences from "./views/sequences.js";
import * as source from "./views/source.js";
import * as tree from "./views/tree.js";

/**
 * @typedef {object} View one page that is shown
 * @property {HTMLElement} element
 * @property {(state: import("./model/url.js").State) => string} title
 * @property {(state: import("./model/url.js").State, signal: AbortSignal) => Promise<any>} load
 * @property {(state: import("./model/url.js").State, answer: any) => void} show
 * @property {(state: import("./model/url.js").State) => string|null} [csv] address of the table as CSV
 * @property {() => void} [close]
 */

const VIEWS = {overview, self: blocks, overall: blocks, sequences, block: around, flame, tree, knots, source, compare};
const NAMES = {overview: "Overview", self: "Self", overall: "Overall", sequences: "Sequences", flame: "Flame graph",
               tree: "Call tree", knots: "Knots", source: "Source", compare: "Compare"};

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

    /** To another state. @param {import("./model/url.js").State} state @param {{replace?: boolean}} [how] */
    go(state, how = {}) {
        const address = href(state);
        if (address === href(this.state) && !how.replace) return this.refresh();
        this.keepPlace();
        if (how.replace) history.replaceState(history.state, "", address);
        else history.pushState({top: 0}, "", address);
        return this.arrive(how.replace ? null : {top: 0});
    }

    /** Where the reader is on the page, for the way back. */
    keepPlace() {
        history.replaceState({...history.state, top: scrollY}, "");
    }

    /** The same again, with new numbers. */
    refresh() {
        return this.arrive(null);
    }

    /** Shows what the address says. @param {{top: number}|null} place where to scroll to; null: stay */
    async arrive(place) {
        closeMenu();
        this.asking.abort();
        const asking = this.asking = new AbortController();
        const state = this.state = parse(location.href);
        const moved = state.page !== this.viewPage;
        this.main.setAttribute("aria-busy", "true");
        try {
            const view = moved || !this.view ? this.make(state) : this.view;
            this.showFrame(state);
            const answer = view ? await view.load(state, asking.signal) : null;
            if (asking.signal.aborted) return;
            if (!view) throw new ApiError(404, "no-such-page", "There is no such page.", []);
            this.put(view, state, answer, moved);
        } catch (error) {
            if (asking.signal.aborted) return;
            this.drop();
            showError(this, error);
        }
        this.main.removeAttribute("aria-busy");
        if (place) scrollTo(0, place.top);
        if (moved && place && this.started) at("main").querySelector("h1")?.focus({preventScroll: true});
        this.started = true;
        document.documentElement.dataset.shown = location.href;
    }

    /** @param {import("./model/url.js").State} state @returns {View|null} */
    make(state) {
        return PAGES.includes(state.page) ? VIEWS[state.page].mount(this, state) : null;
    }

    /** @param {View} view @param {import("./model/url.js").State} state @param {any} answer @param {boolean} moved */
    put(view, state, answer, moved) {
        if (this.view !== view) {
            this.drop();
            this.view = view;
            this.viewPage = state.page;
            this.main.replaceChildren(view.element);
        }
        this.answer = answer;
        view.show(state, answer);
        const title = view.title(state);
        document.title = `${title} · ${this.file?.title || "profile"} · Ouro`;
        showFilters(this, state, answer);
        if (moved && this.started) this.say(title);
    }

    drop() {
        this.view?.close?.();
        this.view = null;
        this.viewPage = "";
    }

    /** @param {import("./model/url.js").State} state What stands around every page. */
    showFrame(state) {
        const pages = Object.keys(NAMES).filter(page => page !== "compare" || this.profile.compare);
        fill(at("pages"), pages.map(page => h("li", null, h("a", {
            href: href(to(state, page)), data: {key: "page " + page}, "aria-current": page === state.page ? "page" : null,
        }, NAMES[page]))));
        document.querySelector("nav [aria-current]")?.scrollIntoView?.({block: "nearest", inline: "nearest"});
        const {metrics, default_metric: own} = this.file;
        fill(at("metric"), metrics.map(m => h("option", {value: m.name}, m.name)));
        at("metric").value = state.metric || own;
        at("side-pick").hidden = !this.profile.compare || state.page === "compare";
        at("side").value = state.side;
        const names = this.profile.files.map(file => file.title || file.path);
        at("opened").textContent = names.join(" → ");
        at("opened").parentElement.title = this.profile.files.map(file => file.path).join("\n");
    }

    /** To screen readers. @param {string} text */
    say(text) {
        at("said").textContent = text;
    }
}

/** @param {App} app */
function setUpLinks(app) {
    document.addEventListener("click", event => {
        if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
        if (!(link instanceof HTMLAnchorElement) || link.hasAttribute("download") || link.target) return;
        const url = new URL(link.href);
        if (url.origin !== location.origin || url.hash || url.pathname.startsWith("/api/")) return;
        event.preventDefault();
        app.go(parse(url.href));
    });
    addEventListener("popstate", event => app.arrive({top: event.state?.top ?? 0}));
    history.scrollRestoration = "manual";
}

/** @param {App} app */
function setUpPicks(app) {
    at("metric").addEventListener("change", () => {
        const {value} = at("metric");
        app.go({...app.state, metric: value === app.file.default_metric ? "" : value, offset: 0});
    });
    at("side").addEventListener("change", () => app.go({...app.state, side: at("side").value, offset: 0}));
}

async function start() {
    const app = new App();
    const live = new Live(app);
    try {
        app.profile = await ask("profile", null);
    } catch (error) {
        at("main").removeAttribute("aria-busy");
        showError(app, error);
        return;
    }
    // Two files: the comparison is what one came for.
    if (app.profile.compare && location.pathname === "/" && !location.search) history.replaceState(null, "", "/compare");
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

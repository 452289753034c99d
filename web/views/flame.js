// SPDX-License-Identifier: MIT
//
// The flame graph: zoom, upside down, search with the total of its matches, recursion marks, keys. The focused
// box is described in words below the graph and to screen readers. The call tree shows the same
// data as a table.

import {HUES, colourBy, fillOf, groupNumber, groupsOf, legendNumber, palette} from "../model/colour.js";
import {foundRows} from "../model/flame.js";
import {plural} from "../model/format.js";
import {blank, changed, href, place, question, settled, to} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {FlameCanvas} from "../parts/flame_canvas.js";
import {applyFilter, openBlockMenu} from "../parts/keys.js";
import {Matches} from "../parts/matches.js";
import {crumbLine, stepsTo} from "../parts/path.js";
import {Tooltip, boxFacts, factLines} from "../parts/tooltip.js";

const FILTERS = {s: "select", e: "exclude", f: "fold"};
const LIMIT = 4000;
const RESTS = 250; // milliseconds after the last movement

/**
 * The files and folders that have hues. They come from the whole profile, whatever the filters,
 * so that colours stay.
 * @param {import("../main.js").App} app @param {AbortSignal} [signal] */
export async function hueGroups(app, signal) {
  const {generation} = app.profile;
  if (!app.groups || (app.groupsOf !== generation && app.groups.names.length < HUES.length)) {
    const answer = await ask(
      "files",
      question({...blank("flame"), where: app.state.where, with: app.state.with}, {limit: 1000, sort: "-overall"}),
      signal,
    );
    app.groups = groupsOf(answer.rows, app.groups);
    app.groupsOf = generation;
  }
  return app.groups;
}

/**
 * What the picture leaves out, and why. Upside down not all of the tree is looked at.
 * @param {{hidden: number, hidden_deep: number, hidden_more: boolean}} answer
 */
export function notDrawn({hidden, hidden_deep: deep, hidden_more: more}) {
  const parts = [
    deep ? `${plural(deep, "box", "boxes")} too deep` : "",
    hidden > deep ? `${plural(hidden - deep, "box", "boxes")} too narrow` : "",
    more ? "what is below them" : "",
  ].filter(Boolean);
  return parts.length ? `Not drawn: ${parts.join(", ")}. Zoom in to see them.` : "";
}

const MEANS = {
  "": "As wide as what was spent on a path and on all below it. ↻ marks recursion.",
  yes: "Upside down: the blocks where something was spent, the hottest first, and below each its callers.",
};

class FlameView {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.tooltip = new Tooltip();
    this.matches = new Matches(app, "Search in the flame graph");
    this.crumbs = h("nav.crumbs", {"aria-label": "Zoom"});
    this.legend = h("ul.legend", {"aria-label": "Colours"});
    this.facts = h("div.facts");
    this.note = h("p.note");
    this.means = h("span");
    this.graph = new FlameCanvas(
      {label: "Flame graph", describedBy: "flame-keys", isDark: () => app.dark, map: true},
      {
        zoom: path => app.go(changed(app.state, {path})),
        looked: () => this.lookCloser(),
        pick: row => this.pick(row, true),
        menu: (row, point) => this.menu(row, point),
        key: (row, key) => this.key(row, key),
        hover: (row, point) => this.tooltip.show(row >= 0 ? this.factsOf(row) : null, point),
      },
    );
    this.graph.frame.classList.add("tall");
    this.fit = () => this.fitWindow();
    addEventListener("resize", this.fit);
    this.table = h("a", {href: "/tree"}, "the call tree");
    this.invert = h(
      "button",
      {type: "button", "aria-pressed": "false", data: {letter: "i"}, onclick: () => this.turn()},
      "Invert ",
      h("kbd", null, "i"),
    );
    this.colour = h(
      "select",
      {
        id: "colour",
        "aria-label": "Colour by",
        onchange: () => app.go(changed(app.state, {colour: this.colour.value}), {replace: true}),
      },
      h("option", {value: "file"}, "colour by file"),
      h("option", {value: "block"}, "colour by block"),
    );
    this.element = h(
      "div.page.wide",
      null,
      h(
        "div.title",
        null,
        h("h1", {tabindex: "-1"}, "Flame graph"),
        h(
          "p",
          null,
          this.means,
          " Click to zoom, Ctrl and the wheel to magnify, drag to move; the same as a table: ",
          this.table,
          ".",
        ),
        h(
          "p.unseen",
          {id: "flame-keys"},
          "Arrows move to the caller, the widest callee and the neighbours. Enter zooms in, Backspace zooms out. " +
            "Plus and minus magnify, 0 shows the whole width, Shift and arrows move. i turns it upside down. " +
            "s, e and f select, exclude and fold; m opens a menu; o goes to the block. " +
            "n and N go to the next and the previous match of the search.",
        ),
      ),
      h("div.over", null, this.matches.element, this.invert, this.colour),
      this.crumbs,
      this.graph.frame,
      this.facts,
      h("div.under", null, this.legend, this.note),
    );
  }

  /** The graph may be as tall as the window has room for. */
  fitWindow() {
    const top = this.graph.frame.getBoundingClientRect().top + scrollY;
    this.graph.frame.style.setProperty("--above", Math.round(top) + "px");
  }

  /** When a magnified picture has come to rest, asks for the boxes that it was too coarse for. */
  lookCloser() {
    clearTimeout(this.resting);
    if (!this.answer.hidden && !this.answer.hidden_more) return;
    this.resting = setTimeout(() => {
      const path = this.graph.closer();
      if (path !== null) this.app.go(changed(this.app.state, {path}), {replace: true});
    }, RESTS);
  }

  turn() {
    const {state} = this.app;
    return this.app.go(changed(state, {invert: state.invert ? "" : "yes", path: ""}));
  }

  /** @param {import("../model/url.js").State} state */
  flameOf(state, search, signal) {
    const invert = state.invert ? "true" : "";
    const at = invert ? {path: state.path, nearest: "true"} : place(state);
    return ask("flame", question(state, {...at, invert, search, limit: LIMIT}), signal);
  }

  async load(state, signal) {
    const [found, groups] = await Promise.all([
      this.matches.load(state, signal),
      hueGroups(this.app, signal),
    ]);
    const search = found?.problem ? "" : state.search.trim();
    let answer = await this.flameOf(state, search, signal);
    const match = state.match && !state.invert ? found?.rows[0]?.id : undefined;
    // A match that is not in the picture is zoomed to.
    if (match && !answer.id.includes(match))
      answer = await this.flameOf({...state, path: match}, search, signal);
    return {...answer, matches: found, groups, match};
  }

  show(asked, answer) {
    const state = this.app.settle(settled(asked, answer));
    const {graph} = this;
    if (this.answer && this.inverted !== state.invert) graph.forget();
    this.inverted = state.invert;
    this.answer = answer;
    const by = colourBy(state.colour, answer.groups);
    this.colour.value = by;
    this.invert.setAttribute("aria-pressed", String(Boolean(state.invert)));
    this.means.textContent = MEANS[state.invert ? "yes" : ""];
    this.table.href = href(to(state, "tree", {path: state.invert ? "" : state.path}));
    const {at, blocks, groups, matches} = answer;
    const searched = matches && !matches.problem;
    graph.show({
      flame: answer,
      blocks,
      at,
      fill: fillOf(answer, blocks, by, groups),
      found: searched ? answer.found : undefined,
    });
    const drawn = state.invert && searched ? foundRows(graph.layout, graph.found) : null;
    this.matches.show(state, matches, drawn?.length);
    this.goToMatch(drawn ? drawn[state.match - 1] : answer.id.indexOf(answer.match));
    this.showCrumbs(state, answer);
    this.showLegend(by, answer);
    const empty = !answer.value?.[0];
    fill(this.note, empty ? "Nothing was spent here." : notDrawn(answer));
    this.pick(graph.focus < 0 ? 0 : graph.focus, false);
    this.fitWindow();
  }

  /** @param {number|undefined} row */
  goToMatch(row) {
    if (row !== undefined && row >= 0) this.graph.setFocus(row);
  }

  showCrumbs(state, {at, blocks}) {
    this.crumbs.hidden = at.id === null;
    const zoomed = path => href(changed(state, {path}));
    fill(this.crumbs, crumbLine(stepsTo(at, blocks, zoomed), "zoom"));
  }

  showLegend(by, answer) {
    const colours = palette(this.app.dark);
    const entry = (n, text) =>
      h(
        "li",
        null,
        h("span.swatch", {vars: {"--colour": colours.boxes[n]}}),
        h("bdi", {title: text}, text),
      );
    const {groups} = answer;
    const seen = new Set(answer.blocks.filter(b => !b.mark).map(b => groupNumber(b.file, groups)));
    fill(
      this.legend,
      by === "file"
        ? [
            groups.names.map((name, i) => (seen.has(i) ? entry(legendNumber(i), name) : null)),
            seen.has(HUES.length)
              ? entry(legendNumber(HUES.length), groups.folders ? "other folders" : "other files")
              : null,
          ]
        : h("li", null, "A colour follows the name of its block."),
    );
    this.colour.options[0].text = groups.folders ? "colour by folder" : "colour by file";
  }

  factsOf(row) {
    return boxFacts(this.graph.flame, this.graph.blocks, this.answer, row);
  }

  /** @param {number} row @param {boolean} aloud */
  pick(row, aloud) {
    if (row < 0 || !this.answer?.value?.length) return fill(this.facts);
    const facts = this.factsOf(row);
    fill(
      this.facts,
      h(
        "p",
        null,
        blockLink(this.app, facts.block, {key: "facts", where: true}),
        facts.recursion ? h("span.tag", null, facts.recursion) : null,
      ),
      factLines(facts),
    );
    const depth = this.graph.at.level + this.graph.layout.depth[row];
    if (aloud)
      this.app.say(
        `${facts.name}, level ${depth}. Overall ${facts.overall}. ` +
          `${facts.self ? `Self ${facts.self}. ` : ""}${facts.recursion}`,
      );
  }

  menu(row, point) {
    const {block} = this.factsOf(row);
    if (block.label !== null)
      openBlockMenu(
        this.app,
        block.label,
        {file: block.file, line: block.line},
        this.graph.element,
        point,
      );
  }

  /** @param {number} row @param {string} key */
  key(row, key) {
    if (this.matches.key(key)) return true;
    const {block} = this.factsOf(row);
    if (block.label === null || block.mark === "root") return false;
    if (FILTERS[key]) applyFilter(this.app, FILTERS[key], block.label);
    else if (key === "m") this.menu(row, this.graph.pointOf(row));
    else if (key === "o") this.app.go(to(this.app.state, "block", {block: [block.label]}));
    else return false;
    return true;
  }

  close() {
    clearTimeout(this.resting);
    removeEventListener("resize", this.fit);
    this.graph.close();
    this.tooltip.close();
  }
}

/** @param {import("../main.js").App} app @returns {import("../main.js").View} */
export function mount(app) {
  const view = new FlameView(app);
  return {
    element: view.element,
    title: () => "Flame graph",
    load: (state, signal) => view.load(state, signal),
    show: (state, answer) => view.show(state, answer),
    csv: state => apiUrl("sequences", question(state, {format: "csv"})),
    csvName: "Paths as CSV",
    close: () => view.close(),
  };
}

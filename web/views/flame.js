// SPDX-License-Identifier: MIT
//
// The flame graph: zoom, search with the total of its matches, recursion marks, keys. The focused
// box is described in words below the graph and to screen readers. The call tree shows the same
// data as a table.

import {HUES, colourBy, fillOf, groupNumber, groupsOf, legendNumber, palette} from "../model/colour.js";
import {amount, count, percent, plural} from "../model/format.js";
import {changed, href, place, question, settled, to} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {apiUrl, ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {FlameCanvas} from "../parts/flame_canvas.js";
import {applyFilter, openBlockMenu} from "../parts/keys.js";
import {crumbLine, stepsTo} from "../parts/path.js";
import {searchField} from "../parts/table.js";
import {Tooltip, boxFacts} from "../parts/tooltip.js";

const FILTERS = {s: "select", e: "exclude", f: "fold"};
const LIMIT = 4000;

/**
 * The files and folders that have hues. They come from the whole profile, whatever the filters,
 * so that colours stay.
 * @param {import("../main.js").App} app @param {AbortSignal} [signal] */
export async function hueGroups(app, signal) {
  const {generation} = app.profile;
  if (!app.groups || (app.groupsOf !== generation && app.groups.names.length < HUES.length)) {
    const answer = await ask(
      "files",
      new URLSearchParams({limit: "1000", sort: "-overall"}),
      signal,
    );
    app.groups = groupsOf(answer.rows, app.groups);
    app.groupsOf = generation;
  }
  return app.groups;
}

/**
 * What the picture leaves out, and why.
 * @param {{hidden: number, hidden_deep: number}} answer
 */
export function notDrawn({hidden, hidden_deep: deep}) {
  const parts = [
    deep ? `${plural(deep, "box", "boxes")} too deep` : "",
    hidden > deep ? `${plural(hidden - deep, "box", "boxes")} too narrow` : "",
  ].filter(Boolean);
  return parts.length ? `Not drawn: ${parts.join(", ")}. Zoom in to see them.` : "";
}

class FlameView {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.tooltip = new Tooltip();
    this.search = searchField(app, "Search in the flame graph", "Highlight name or file");
    this.matched = h("p.found", {role: "status"});
    this.crumbs = h("nav.crumbs", {"aria-label": "Zoom"});
    this.legend = h("ul.legend", {"aria-label": "Colours"});
    this.facts = h("div.facts");
    this.note = h("p.note");
    this.graph = new FlameCanvas(
      {label: "Flame graph", describedBy: "flame-keys", isDark: () => app.dark},
      {
        zoom: path => app.go(changed(app.state, {path})),
        pick: row => this.pick(row, true),
        menu: (row, point) => this.menu(row, point),
        key: (row, key) => this.key(row, key),
        hover: (row, point) => this.tooltip.show(row >= 0 ? this.factsOf(row) : null, point),
      },
    );
    this.table = h("a", {href: "/tree"}, "the call tree");
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
          "As wide as what was charged to a path and all below it. ↻ marks recursion. Click to zoom; " +
            "the same as a table: ",
          this.table,
          ".",
        ),
        h(
          "p.unseen",
          {id: "flame-keys"},
          "Arrows move to the caller, the widest callee and the neighbours. Enter zooms in, Backspace zooms out. " +
            "s, e and f select, exclude and fold; m opens a menu; o goes to the block.",
        ),
      ),
      h("div.over", null, this.search.element, this.matched, this.colour),
      this.crumbs,
      this.graph.element,
      this.facts,
      h("div.under", null, this.legend, this.note),
    );
  }

  async load(state, signal) {
    const search = state.search.trim();
    const [answer, total, groups] = await Promise.all([
      ask("flame", question(state, {...place(state), limit: LIMIT}), signal),
      search ? ask("total", question(state, {search}), signal) : null,
      hueGroups(this.app, signal),
    ]);
    return {...answer, found: total, groups};
  }

  show(asked, answer) {
    const state = this.app.settle(settled(asked, answer));
    this.answer = answer;
    this.search.show(state.search);
    const by = colourBy(state.colour, answer.groups);
    this.colour.value = by;
    this.table.href = href(to(state, "tree", {path: state.path}));
    const {at, blocks, groups} = answer;
    this.graph.show({flame: answer, blocks, at, fill: fillOf(answer, blocks, by, groups)});
    this.graph.search(state.search.trim());
    const {found} = answer;
    fill(
      this.matched,
      found
        ? [
            h("strong", null, amount(found.matched, answer.unit, answer.decimals, answer.total)),
            " in paths with ",
            count(found.block_count),
            found.block_count === 1 ? " block: " : " blocks: ",
            percent(found.matched, answer.total),
            " of all, ",
            percent(found.matched, answer.left),
            " of left",
          ]
        : "",
    );
    this.showCrumbs(state, answer);
    this.showLegend(by, answer);
    const empty = !answer.value?.[0];
    fill(this.note, empty ? "Nothing was charged here." : notDrawn(answer));
    this.pick(this.graph.focus < 0 ? 0 : this.graph.focus, false);
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
      h(
        "dl",
        null,
        h("dt", null, "overall"),
        h("dd", null, facts.overall),
        h("dt", null, "self"),
        h("dd", null, facts.self),
      ),
    );
    const depth = this.graph.at.level + this.graph.layout.depth[row];
    if (aloud)
      this.app.say(
        `${facts.name}, level ${depth}. Overall ${facts.overall}. Self ${facts.self}. ${facts.recursion}`,
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
    const {block} = this.factsOf(row);
    if (block.label === null || block.mark === "root") return false;
    if (FILTERS[key]) applyFilter(this.app, FILTERS[key], block.label);
    else if (key === "m") this.menu(row, this.graph.pointOf(row));
    else if (key === "o") this.app.go(to(this.app.state, "block", {block: [block.label]}));
    else return false;
    return true;
  }

  close() {
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

// SPDX-License-Identifier: MIT
//
// The difference flame graph of the comparison: the boxes are as wide as on one side, and coloured
// by how much they grew. The focused box is described in words, below the graph and to screen
// readers, with what it was before and what it is after.

import {colourOf, growthOf, legend, noteOf, stepOf} from "../model/difference.js";
import {change, fileLine, percent} from "../model/format.js";
import {changed, href, place, question, settled, to} from "../model/url.js";
import {blockLink} from "../parts/block.js";
import {ask} from "../parts/client.js";
import {fill, h} from "../parts/dom.js";
import {FlameCanvas} from "../parts/flame_canvas.js";
import {applyFilter, openBlockMenu} from "../parts/keys.js";
import {crumbLine, stepsTo} from "../parts/path.js";
import {searchField} from "../parts/table.js";
import {Tooltip} from "../parts/tooltip.js";
import {notDrawn} from "./flame.js";

const FILTERS = {s: "select", e: "exclude", f: "fold"};
const LIMIT = 4000;
const EVERYTHING = {name: "all", file: null, line: 0, column: 0, label: null, mark: "root"};

/** The side that gives the widths. @param {import("../model/url.js").State} state */
const widthOf = state => (state.width === "before" ? "before" : "after");

/**
 * What an address of one side has: the side of a file, or the slices of one.
 * @param {import("../model/url.js").State} state @param {boolean} after
 */
export function sideOf(state, after) {
  if (!state.against) return {side: after ? "after" : ""};
  return {side: "", against: "", slices: after ? state.slices : state.against};
}

export class DifferenceGraph {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.tooltip = new Tooltip();
    this.search = searchField(app, "Search in the flame graph", "Highlight name or file");
    this.crumbs = h("nav.crumbs", {"aria-label": "Zoom"});
    this.legend = h("ul.legend", {"aria-label": "Colours"});
    this.facts = h("div.facts");
    this.note = h("p.note");
    this.graph = new FlameCanvas(
      {
        label: "Difference flame graph",
        describedBy: "difference-keys",
        isDark: () => app.dark,
        map: true,
      },
      {
        zoom: path => app.go(changed(app.state, {path})),
        pick: row => this.pick(row, true),
        menu: (row, point) => this.menu(row, point),
        key: (row, key) => this.key(row, key),
        hover: (row, point) => this.hover(row, point),
      },
    );
    this.width = this.select("width", "As wide as", [
      ["after", "as wide as after"],
      ["before", "as wide as before"],
    ]);
    this.per = this.select("per", "Compare", [
      ["", "colour by amount"],
      ["total", "colour by share of the total"],
    ]);
    this.controls = h("div.over.controls", null, this.search.element, this.width, this.per);
    this.element = h(
      "div.difference",
      null,
      h(
        "p.unseen",
        {id: "difference-keys"},
        "Arrows move to the caller, the widest callee and the neighbours. Enter zooms in, Backspace zooms out. " +
          "Plus and minus magnify, 0 shows the whole width, Shift and arrows move. " +
          "s, e and f select, exclude and fold; m opens a menu; o goes to the block.",
      ),
      this.crumbs,
      this.graph.frame,
      this.facts,
      h("div.under", null, this.legend, this.note),
    );
  }

  /** @param {"width"|"per"} key @param {string} label @param {[string, string][]} choices */
  select(key, label, choices) {
    const {app} = this;
    const element = h(
      "select",
      {
        "aria-label": label,
        onchange: () => {
          const value = element.value === choices[0][0] ? "" : element.value;
          app.go(changed(app.state, {[key]: value}), {replace: true});
        },
      },
      choices.map(([value, text]) => h("option", {value}, text)),
    );
    return element;
  }

  /** @param {import("../model/url.js").State} state @param {AbortSignal} signal */
  load(state, signal) {
    const query = question(
      {...state, side: widthOf(state)},
      {...place(state), at: [], search: state.search.trim(), limit: LIMIT, against: state.against},
    );
    return ask("difference", query, signal);
  }

  /** @param {import("../model/url.js").State} asked @param {any} answer */
  show(asked, answer) {
    const state = this.app.settle(settled(asked, answer));
    this.answer = answer;
    this.search.show(state.search);
    this.width.value = widthOf(state);
    this.per.value = state.per;
    const totals = state.per
      ? {before: answer.left_before, after: answer.left_after}
      : undefined;
    this.growths = answer.before.map((before, i) => growthOf(before, answer.after[i], totals));
    this.graph.note = row => noteOf(this.growths[row]);
    this.graph.show({
      flame: answer,
      blocks: answer.blocks,
      at: answer.at,
      fill: row => colourOf(stepOf(this.growths[row]), this.app.dark && !this.graph.printing),
      found: state.search.trim() ? answer.found : undefined,
    });
    this.showCrumbs(state, answer);
    this.showLegend(state);
    fill(this.note, this.noteFor(state, answer));
    this.pick(this.graph.focus < 0 ? 0 : this.graph.focus, false);
  }

  /** What is not in the picture, and what to do about it. */
  noteFor(state, answer) {
    const width = widthOf(state),
      other = width === "after" ? "before" : "after";
    if (!answer.value[0]) return `Nothing was recorded here ${width}. Choose “as wide as ${other}”.`;
    const lacks = width === "after" ? "What is gone" : "What is new";
    return [notDrawn(answer), ` ${lacks} has no width ${width}: “as wide as ${other}” shows it.`];
  }

  showCrumbs(state, {at, blocks}) {
    this.crumbs.hidden = at.id === null;
    const zoomed = path => href(changed(state, {path}));
    fill(this.crumbs, crumbLine(stepsTo(at, blocks, zoomed), "zoom"));
  }

  showLegend(state) {
    const missing = widthOf(state) === "after" ? "gone" : "new";
    fill(
      this.legend,
      legend()
        .filter(entry => entry.text !== missing)
        .map(({step, text}) =>
          h(
            "li",
            null,
            h("span.swatch", {vars: {"--colour": colourOf(step, this.app.dark)}}),
            text,
          ),
        ),
    );
  }

  /** @param {number} row */
  factsOf(row) {
    const {answer} = this;
    const block = answer.blocks[answer.block[row]] ?? EVERYTHING;
    const {unit, decimals_both: decimals} = answer;
    const both = (before, after) => change(before, after, unit, decimals);
    const part = side => percent(answer[side][row], answer["left_" + side]);
    const share = `${part("before")} → ${part("after")}`;
    const overall = both(answer.before[row], answer.after[row]),
      self = both(answer.self_before[row], answer.self_after[row]);
    return {
      block,
      name: block.name,
      where: fileLine(block),
      recursion: "",
      overall,
      self,
      share,
      lines: [
        ["overall", overall],
        ["of total", share],
        ["self", self],
      ],
    };
  }

  /** @param {{lines: string[][]}} facts */
  linesOf(facts) {
    return h(
      "dl",
      null,
      facts.lines.map(([title, text]) => [h("dt", null, title), h("dd", null, text)]),
    );
  }

  /** @param {number} row @param {{x: number, y: number}|null} point */
  hover(row, point) {
    if (row < 0) return this.tooltip.show(null, null);
    const facts = this.factsOf(row);
    this.tooltip.show(facts, point, this.linesOf(facts));
  }

  /** @param {number} row @param {boolean} aloud */
  pick(row, aloud) {
    if (row < 0 || !this.answer?.value?.length) return fill(this.facts);
    const facts = this.factsOf(row);
    const target = this.blockHref(facts.block);
    fill(
      this.facts,
      h("p", null, blockLink(this.app, facts.block, {key: "facts", where: true, href: target})),
      this.linesOf(facts),
    );
    const depth = this.graph.at.level + this.graph.layout.depth[row];
    if (aloud)
      this.app.say(
        `${facts.name}, level ${depth}. Overall ${facts.overall}. Self ${facts.self}. Of total ${facts.share}.`,
      );
  }

  /** The page of a block, on the side that is drawn. @param {any} block */
  blockState(block) {
    const after = widthOf(this.app.state) === "after";
    return {...to(this.app.state, "block", {block: [block.label]}), ...sideOf(this.app.state, after)};
  }

  blockHref(block) {
    return block.label === null ? undefined : href(this.blockState(block));
  }

  menu(row, point) {
    const {block} = this.factsOf(row);
    if (block.label === null) return;
    const where = {file: block.file, line: block.line};
    openBlockMenu(this.app, block.label, where, this.graph.element, point);
  }

  /** @param {number} row @param {string} key */
  key(row, key) {
    const {block} = this.factsOf(row);
    if (block.label === null) return false;
    if (FILTERS[key]) applyFilter(this.app, FILTERS[key], block.label);
    else if (key === "m") this.menu(row, this.graph.pointOf(row));
    else if (key === "o") this.app.go(this.blockState(block));
    else return false;
    return true;
  }

  close() {
    this.graph.close();
    this.tooltip.close();
  }
}

// SPDX-License-Identifier: MIT
//
// A block between its callers, which grow up, and its callees, which grow down: two flame graphs of
// all paths that contain it, each path once. A click goes to the page of the block that is clicked.

import {colourBy, fillOf} from "../model/colour.js";
import {question, to} from "../model/url.js";
import {ask} from "./client.js";
import {h} from "./dom.js";
import {FlameCanvas} from "./flame_canvas.js";
import {openBlockMenu} from "./keys.js";
import {Tooltip, boxFacts} from "./tooltip.js";

const LIMIT = 1000; // boxes of each graph

export class Sandwich {
  /** @param {import("../main.js").App} app */
  constructor(app) {
    this.app = app;
    this.tooltip = new Tooltip();
    this.callers = this.graph("Callers as a flame graph", true);
    this.callees = this.graph("Callees as a flame graph", false);
    this.element = h(
      "section.sandwich",
      null,
      h("h2", null, "Between its callers and its callees"),
      this.callers.frame,
      this.callees.frame,
    );
    this.element.hidden = true;
  }

  /** @param {string} label @param {boolean} up */
  graph(label, up) {
    const {app} = this;
    /** @type {FlameCanvas} */
    const graph = new FlameCanvas(
      {label, up, rowHeight: 17, isDark: () => app.dark},
      {
        zoom: (_, row) => this.go(graph, row),
        pick: row => this.say(graph, row),
        menu: (row, point) => this.menu(graph, row, point),
        key: (row, key) => this.key(graph, row, key),
        hover: (row, point) => this.tooltip.show(row < 0 ? null : this.factsOf(graph, row), point),
      },
    );
    return graph;
  }

  /**
   * @param {import("../model/url.js").State} state
   * @param {AbortSignal} signal
   * @returns {Promise<any>} null: there is none of a sequence
   */
  async load(state, signal) {
    if (state.block.length !== 1) return null;
    return ask("sandwich", question(state, {block: state.block, limit: LIMIT}), signal);
  }

  /** @param {any} answer @param {import("../model/colour.js").Groups} groups */
  show(answer, groups) {
    this.element.hidden = !answer?.callers.value[0];
    if (this.element.hidden) return;
    this.answer = answer;
    const by = colourBy("", groups);
    for (const side of ["callers", "callees"]) {
      const flame = answer[side];
      const fill = fillOf(flame, answer.blocks, by, groups);
      this[side].forget();
      this[side].show({flame, blocks: answer.blocks, fill});
    }
  }

  factsOf(graph, row) {
    return boxFacts(graph.flame, graph.blocks, this.answer, row);
  }

  say(graph, row) {
    const facts = this.factsOf(graph, row);
    this.app.say(`${facts.name}. ${facts.overall}.`);
  }

  go(graph, row) {
    const {block} = this.factsOf(graph, row);
    this.app.go(to(this.app.state, "block", {block: [block.label]}));
  }

  menu(graph, row, point) {
    const {block} = this.factsOf(graph, row);
    openBlockMenu(this.app, block.label, block, graph.element, point);
  }

  key(graph, row, key) {
    if (key !== "m") return false;
    this.menu(graph, row, graph.pointOf(row));
    return true;
  }

  close() {
    this.callers.close();
    this.callees.close();
    this.tooltip.close();
  }
}

// SPDX-License-Identifier: MIT
//
// A small map of a flame graph in the corner of its frame, while only a part of the graph is shown:
// all boxes, and a rectangle around that part. Dragging on the map moves there. It is for pointers;
// keys move the graph itself.

import {eachVisible} from "../model/flame.js";
import {h} from "./dom.js";

const WHOLE = {x0: 0, x1: 1};
const LEAST = 160; // pixels of the graph: the map would cover a smaller one

export class Minimap {
  /** @param {import("./flame_canvas.js").FlameCanvas} graph */
  constructor(graph) {
    this.graph = graph;
    this.element = h("canvas.minimap", {"aria-hidden": "true"});
    this.element.hidden = true;
    this.image = document.createElement("canvas");
    for (const name of ["pointerdown", "pointermove"])
      this.element.addEventListener(name, event => this.point(event));
  }

  /** Called whenever the graph was painted. */
  paint() {
    const {graph, element} = this;
    const {clientHeight, scrollHeight} = graph.element;
    const isAll = graph.isWhole && scrollHeight <= clientHeight + 1;
    element.hidden = graph.printing || isAll || clientHeight < LEAST;
    if (element.hidden || !graph.layout) return;
    const ratio = devicePixelRatio || 1,
      {colours} = graph;
    const width = Math.round(element.clientWidth * ratio),
      height = Math.round(element.clientHeight * ratio);
    if (element.width !== width || element.height !== height) {
      element.width = width;
      element.height = height;
    }
    this.draw(colours, width, height);
    const c = element.getContext("2d");
    c.clearRect(0, 0, width, height);
    c.drawImage(this.image, 0, 0);
    const {x, y, w, h: tall} = this.shown(width, height);
    c.strokeStyle = colours.focus;
    c.lineWidth = 2 * ratio;
    c.strokeRect(x, y, w, tall);
  }

  /** The rectangle of what the graph shows. */
  shown(width, height) {
    const {view, element} = this.graph;
    const all = Math.max(1, element.scrollHeight);
    const w = Math.max(4, (view.x1 - view.x0) * width),
      tall = Math.max(4, (element.clientHeight / all) * height);
    return {
      x: Math.min(width - w, view.x0 * width),
      y: Math.min(height - tall, (element.scrollTop / all) * height),
      w,
      h: Math.min(height, tall),
    };
  }

  /** Draws all boxes once; again only if they or their colours changed. */
  draw(colours, width, height) {
    const {graph, image} = this;
    const key = [graph.layout, graph.found, colours.page, width, height];
    if (this.key?.every((part, i) => part === key[i])) return;
    this.key = key;
    image.width = width;
    image.height = height;
    const c = image.getContext("2d");
    const each = height / graph.depths;
    for (let depth = graph.above.length; depth < graph.depths; depth++) {
      const y = graph.line(depth) * each;
      eachVisible(graph.layout, depth - graph.above.length, WHOLE, width, 1, (row, left, wide) => {
        c.fillStyle = graph.fillOf(row, colours);
        c.fillRect(left, y, wide, Math.max(1, each));
      });
    }
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (!event.buttons) return;
    const {graph, element} = this;
    if (event.type === "pointerdown") element.setPointerCapture(event.pointerId);
    event.preventDefault();
    const box = element.getBoundingClientRect();
    const width = graph.view.x1 - graph.view.x0;
    const x0 = (event.clientX - box.left) / box.width - width / 2;
    const bounded = Math.min(1 - width, Math.max(0, x0));
    const y = (event.clientY - box.top) / box.height;
    graph.element.scrollTop = y * graph.element.scrollHeight - graph.element.clientHeight / 2;
    graph.look({x0: bounded, x1: bounded + width});
  }
}

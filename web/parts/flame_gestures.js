// SPDX-License-Identifier: MIT
//
// What pointers and keys do in a flame graph. A click zooms to a box. Ctrl and the wheel, a pinch,
// + and - magnify; dragging, Shift and the wheel, Shift and the arrows move; 0 shows the whole.

import {magnified, moved, step} from "../model/flame.js";

const DRAGGED = 4; // pixels before a press is no click any more
const PER_KEY = 1.5; // magnification
const PER_KEY_MOVED = 0.2; // part of what is shown
const PER_PIXEL = 1.0025; // magnification, of the wheel
const ONE_TURN = 300; // milliseconds between two events of one turn of the wheel

/** @typedef {import("./flame_canvas.js").FlameCanvas} Graph */

/** @param {Graph} graph */
export function listen(graph) {
  const {element} = graph;
  element.addEventListener("scroll", () => {
    graph.setOver(-1, null);
    graph.draw();
  });
  element.addEventListener("pointerleave", () => graph.setOver(-1, null));
  element.addEventListener("contextmenu", event => contextMenu(graph, event));
  element.addEventListener("wheel", event => wheel(graph, event), {passive: false});
  element.addEventListener("keydown", event => key(graph, event));
  element.addEventListener("blur", () => graph.draw());
  element.addEventListener("focus", () => graph.draw());
  new Pointers(graph);
}

/** Magnifies around a point of the screen. @param {Graph} graph */
function magnify(graph, clientX, factor) {
  graph.look(magnified(graph.view, graph.xAt(clientX), factor));
}

/** @param {Graph} graph @param {WheelEvent} event */
function wheel(graph, event) {
  if (!graph.layout) return;
  const pixels = event.deltaMode ? 20 : 1; // lines, or pixels
  const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
  const isNew = event.timeStamp - graph.wheeled > ONE_TURN;
  graph.wheeled = event.timeStamp;
  // Pinching a touchpad is told as a wheel with Ctrl. Of the whole, a new turn leads to the caller.
  if (event.ctrlKey && event.deltaY > 0 && graph.isWhole) isNew && graph.zoomOut();
  else if (event.ctrlKey) magnify(graph, event.clientX, PER_PIXEL ** (-event.deltaY * pixels));
  else if (sideways && !graph.isWhole)
    graph.look(moved(graph.view, (sideways * pixels) / graph.width));
  else return graph.setOver(-1, null);
  event.preventDefault();
}

/** Presses, drags and pinches. */
class Pointers {
  /** @param {Graph} graph */
  constructor(graph) {
    this.graph = graph;
    /** Those that are down. @type {Map<number, {x: number, y: number}>} */
    this.down = new Map();
    this.dragged = false;
    const {element} = graph;
    element.addEventListener("pointerdown", event => this.press(event));
    element.addEventListener("pointermove", event => this.move(event));
    for (const name of ["pointerup", "pointercancel"])
      element.addEventListener(name, event => this.release(event));
    element.addEventListener("click", event => this.click(event));
  }

  press(event) {
    this.graph.setOver(-1, null);
    if (event.button) return;
    if (!this.down.size) this.dragged = false;
    this.down.set(event.pointerId, {x: event.clientX, y: event.clientY, from: event.clientX});
  }

  move(event) {
    const {graph} = this;
    const was = this.down.get(event.pointerId);
    if (!was && event.pointerType === "touch") return;
    if (was && event.buttons) return this.drag(event, was);
    this.down.delete(event.pointerId); // it was released outside
    const row = graph.rowAt(event);
    graph.element.classList.toggle("pointing", row !== -1);
    graph.setOver(row >= 0 ? row : -1, {x: event.clientX, y: event.clientY});
  }

  /** @param {PointerEvent} event @param {any} was */
  drag(event, was) {
    const {graph} = this;
    const far = Math.hypot(event.clientX - was.x, event.clientY - was.y);
    if (!this.dragged && this.down.size < 2 && far < DRAGGED) return;
    if (!this.dragged) {
      this.dragged = true;
      graph.element.setPointerCapture(event.pointerId);
      graph.element.classList.add("dragging");
    }
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const before = Math.abs(was.x - other.x),
        now = Math.abs(event.clientX - other.x);
      if (before > 8 && now > 8) magnify(graph, (event.clientX + other.x) / 2, now / before);
    } else {
      graph.look(moved(graph.view, (was.x - event.clientX) / graph.width));
      // A finger scrolls by itself.
      if (event.pointerType !== "touch") graph.element.scrollTop += was.y - event.clientY;
    }
    Object.assign(was, {x: event.clientX, y: event.clientY});
  }

  release(event) {
    this.down.delete(event.pointerId);
    if (!this.down.size) this.graph.element.classList.remove("dragging");
  }

  click(event) {
    const {graph} = this;
    if (this.dragged) {
      this.dragged = false;
      return;
    }
    const row = graph.rowAt(event);
    if (row <= -2) return graph.zoomTo(graph.above[-2 - row].id);
    if (row < 0) return;
    const again = row === graph.focus;
    graph.setFocus(row);
    // A finger has no hover: the first tap shows the details, the second zooms.
    if (event.pointerType !== "touch" || again) graph.zoom(row);
  }
}

/** @param {Graph} graph @param {MouseEvent} event */
function contextMenu(graph, event) {
  graph.setOver(-1, null);
  const row = event.clientX || event.clientY ? graph.rowAt(event) : graph.focus;
  if (row < 0 || !graph.handlers.menu) return;
  event.preventDefault();
  graph.setFocus(row);
  graph.handlers.menu(row, {x: event.clientX, y: event.clientY});
}

/** Magnifies or moves. @param {Graph} graph @param {KeyboardEvent} event @returns {boolean} */
function look(graph, {key: pressed, shiftKey}) {
  const {view} = graph;
  const focused = graph.focus < 0 ? null : graph.layout;
  const middle = focused
    ? (focused.x0[graph.focus] + focused.x1[graph.focus]) / 2
    : (view.x0 + view.x1) / 2;
  if (pressed === "+" || pressed === "=") graph.look(magnified(view, middle, PER_KEY));
  else if (pressed === "-" && graph.isWhole) graph.zoomOut();
  else if (pressed === "-") graph.look(magnified(view, middle, 1 / PER_KEY));
  else if (pressed === "0") graph.look({x0: 0, x1: 1});
  else if (shiftKey && pressed === "ArrowLeft") graph.look(moved(view, -PER_KEY_MOVED));
  else if (shiftKey && pressed === "ArrowRight") graph.look(moved(view, PER_KEY_MOVED));
  else return false;
  return true;
}

/** Arrows follow the screen: where the root is at the bottom, up is away from it. */
const UPSIDE_DOWN = {ArrowUp: "ArrowDown", ArrowDown: "ArrowUp"};

/** @param {Graph} graph @param {KeyboardEvent} event */
function key(graph, event) {
  if (!graph.layout || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
    return;
  graph.setOver(-1, null);
  const pressed = (graph.options.up && UPSIDE_DOWN[event.key]) || event.key;
  const row = graph.focus < 0 ? 0 : graph.focus;
  if (look(graph, event)) {
    // done
  } else if (pressed.startsWith("Arrow") || pressed === "Home")
    graph.setFocus(graph.focus < 0 ? 0 : step(graph.layout, row, pressed));
  else if (pressed === "Enter") row ? graph.zoom(row) : graph.setFocus(0);
  else if ((pressed === "Backspace" || pressed === "Escape") && graph.at.id !== null)
    graph.zoomOut();
  else if (!graph.handlers.key?.(row, pressed)) return;
  event.preventDefault();
  event.stopPropagation();
}
